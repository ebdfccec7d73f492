"""Queue of a batch: problems enter lanes, and leave them with their results."""

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_f64, load_i64, store_f64, store_i64
from tapegrad.optimize.native.loops.batches.batch_fields import ACTIVE, EMPTY, END, FRESH, NEXT, NOT_IN_LANES
from tapegrad.optimize.native.loops.batches.covariance import write_covariance
from tapegrad.optimize.native.loops.evaluation import count


@inline_njit
def _load_weights(batch, lane, problem):
    """Write a problem's weights to a lane, and count those that are not zero."""
    source, counted = batch.all_weights + batch.weights_step * problem, 0
    for i in range(batch.n):
        weight = load_f64(source, i)
        store_f64(batch.weights, i * batch.lanes + lane, weight)
        counted += 1 if weight != 0.0 else 0
    store_i64(batch.points, lane, counted)


@inline_njit
def _load(batch, lane, problem):
    """Load a problem into a lane."""
    store_i64(batch.problems, lane, problem)
    store_i64(batch.points, lane, batch.n)
    store_i64(batch.evaluations, lane, 0)
    source = batch.all_data + 8 * batch.n * problem
    for i in range(batch.n):
        store_f64(batch.data, i * batch.lanes + lane, load_f64(source, i))
    if batch.weights != 0:
        _load_weights(batch, lane, problem)
    load_start(batch, lane)
    for j in range(batch.k):
        store_f64(batch.scale, j * batch.lanes + lane, 0.0)
    store_i64(batch.states, lane, FRESH)


@inline_njit
def refill(batch):
    """Give the next problems of the queue to lanes that are empty."""
    for lane in range(batch.lanes):
        following = load_i64(batch.counts, NEXT)
        if following >= load_i64(batch.counts, END):
            return
        if load_i64(batch.states, lane) == EMPTY:
            _load(batch, lane, following)
            store_i64(batch.counts, NEXT, following + 1)
            count(batch.counts, ACTIVE)


@inline_njit
def lend(batch, lane):
    """Give a lane parameters at which the model can be computed."""
    for j in range(batch.k):
        store_f64(batch.trial, j * batch.lanes + lane, load_f64(batch.example, j))


@inline_njit
def _empty(batch, lane):
    """Empty a lane. Its parameters stay, so that it has valid numbers, but for those at which there is an error."""
    store_i64(batch.states, lane, EMPTY)
    store_i64(batch.counts, ACTIVE, load_i64(batch.counts, ACTIVE) - 1)
    if load_i64(batch.failed, lane) != 0:
        lend(batch, lane)


@inline_njit
def leave_out(batch, lane):
    """Empty a lane whose problem has to be solved alone."""
    store_i64(batch.out_status, load_i64(batch.problems, lane), NOT_IN_LANES)
    _empty(batch, lane)
    lend(batch, lane)


@inline_njit
def load_start(batch, lane):
    """Write the starting point of a lane's problem."""
    first = load_i64(batch.problems, lane) * batch.k
    for j in range(batch.k):
        store_f64(batch.trial, j * batch.lanes + lane, load_f64(batch.all_starts, first + j))


@inline_njit
def finish(batch, lane, status):
    """Write a lane's results, and empty it."""
    problem, k = load_i64(batch.problems, lane), batch.k
    fresh = load_i64(batch.states, lane) == FRESH
    source = batch.trial if fresh else batch.x
    for j in range(k):
        store_f64(batch.out_x, problem * k + j, load_f64(source, j * batch.lanes + lane))
    cost = load_f64(batch.tried_cost, lane) if fresh else load_f64(batch.cost, lane)
    store_f64(batch.out_cost, problem, cost)
    store_i64(batch.out_status, problem, status)
    store_i64(batch.out_evaluations, problem, load_i64(batch.evaluations, lane))
    write_covariance(batch, lane, problem, cost, not fresh)
    _empty(batch, lane)
