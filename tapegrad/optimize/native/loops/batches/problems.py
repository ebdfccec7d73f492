"""Problems of a batch: they enter lanes, and leave them with their results and the covariance of their parameters."""

import math

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_f64, load_i64, store_f64, store_i64
from tapegrad.optimize.native.loops import fit_fields as fields
from tapegrad.optimize.native.loops.driver import count
from tapegrad.optimize.native.loops.vectors import fill

_EPS = 2.220446049250313e-16


# --- into lanes, and out of them -----------------------------------------------------------------------------------


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
    store_i64(batch.states, lane, fields.FRESH)


@inline_njit
def refill(batch):
    """Give the next problems of the queue to lanes that are empty."""
    for lane in range(batch.lanes):
        following = load_i64(batch.counts, fields.NEXT)
        if following >= load_i64(batch.counts, fields.END):
            return
        if load_i64(batch.states, lane) == fields.EMPTY:
            _load(batch, lane, following)
            store_i64(batch.counts, fields.NEXT, following + 1)
            count(batch.counts, fields.ACTIVE)


@inline_njit
def lend(batch, lane):
    """Give a lane parameters at which the model can be computed."""
    for j in range(batch.k):
        store_f64(batch.trial, j * batch.lanes + lane, load_f64(batch.example, j))


@inline_njit
def _empty(batch, lane):
    """Empty a lane. Its parameters stay, so that it has valid numbers, but for those at which there is an error."""
    store_i64(batch.states, lane, fields.EMPTY)
    store_i64(batch.counts, fields.ACTIVE, load_i64(batch.counts, fields.ACTIVE) - 1)
    if load_i64(batch.failed, lane) != 0:
        lend(batch, lane)


@inline_njit
def leave_out(batch, lane):
    """Empty a lane whose problem has to be solved alone."""
    store_i64(batch.out_status, load_i64(batch.problems, lane), fields.NOT_IN_LANES)
    _empty(batch, lane)
    lend(batch, lane)


@inline_njit
def load_start(batch, lane):
    """Write the starting point of a lane's problem."""
    first = load_i64(batch.problems, lane) * batch.k
    for j in range(batch.k):
        store_f64(batch.trial, j * batch.lanes + lane, load_f64(batch.all_starts, first + j))


# --- results, with covariances from the matrix of Gauss and Newton -------------------------------------------------


@inline_njit
def _decompose(matrix, k):
    """Cholesky's decomposition in place, with one over its diagonal; whether the matrix is safely definite."""
    for i in range(k):
        for j in range(i + 1):
            value = load_f64(matrix, i * k + j)
            for c in range(j):
                value -= load_f64(matrix, i * k + c) * load_f64(matrix, j * k + c)
            if i == j:
                if not value > 16.0 * _EPS:  # of a matrix with ones on the diagonal
                    return False
                store_f64(matrix, i * k + i, 1.0 / math.sqrt(value))
            else:
                store_f64(matrix, i * k + j, value * load_f64(matrix, j * k + j))
    return True


@inline_njit
def _invert(factor, inverse, k):
    """Write the inverse of the decomposed matrix, whose factor is inverted in place."""
    for j in range(k):
        for i in range(j + 1, k):
            value = 0.0
            for c in range(j, i):
                value -= load_f64(factor, i * k + c) * load_f64(factor, c * k + j)
            store_f64(factor, i * k + j, value * load_f64(factor, i * k + i))
    for i in range(k):
        for j in range(i + 1):
            value = 0.0
            for c in range(i, k):
                value += load_f64(factor, c * k + i) * load_f64(factor, c * k + j)
            store_f64(inverse, i * k + j, value)
            store_f64(inverse, j * k + i, value)


@inline_njit
def _element(batch, lane, i, j):
    return load_f64(batch.matrix, (i * (i + 1) // 2 + j) * batch.lanes + lane)


@inline_njit
def _write_lengths(batch, lane):
    """Write one over the roots of the diagonal; return whether all of that is positive."""
    for i in range(batch.k):
        square = _element(batch, lane, i, i)
        if not square > 0.0:
            return False
        store_f64(batch.lengths, i, 1.0 / math.sqrt(square))
    return True


@inline_njit
def _invert_lane(batch, lane):
    """Write the inverse of a lane's matrix; return whether there is one."""
    k = batch.k
    if not _write_lengths(batch, lane):
        return False
    for i in range(k):
        for j in range(i + 1):
            size = load_f64(batch.lengths, i) * load_f64(batch.lengths, j)
            store_f64(batch.square, i * k + j, _element(batch, lane, i, j) * size)
    if not _decompose(batch.square, k):
        return False
    _invert(batch.square, batch.inverse, k)
    return True


@inline_njit
def _variance(batch, lane, cost):
    """Return the factor of the inverse of the matrix; infinity if there are not more points than parameters."""
    if batch.absolute != 0:
        return 1.0
    freedom = load_i64(batch.points, lane) - batch.k
    return 2.0 * cost / freedom if freedom > 0 else math.inf


@inline_njit
def _write_covariance(batch, lane, problem, cost, known):
    """Write the covariance of a problem's parameters: nan where the fit never began, inf where data do not say."""
    k, variance = batch.k, _variance(batch, lane, cost)
    target = batch.out_covariance + 8 * k * k * problem
    if not (known and math.isfinite(variance) and _invert_lane(batch, lane)):
        fill(target, math.inf if known else math.nan, k * k)
        return
    for i in range(k):
        for j in range(k):
            size = variance * load_f64(batch.lengths, i) * load_f64(batch.lengths, j)
            store_f64(target, i * k + j, size * load_f64(batch.inverse, i * k + j))


@inline_njit
def finish(batch, lane, status):
    """Write a lane's results, and empty it."""
    problem, k = load_i64(batch.problems, lane), batch.k
    fresh = load_i64(batch.states, lane) == fields.FRESH
    source = batch.trial if fresh else batch.x
    for j in range(k):
        store_f64(batch.out_x, problem * k + j, load_f64(source, j * batch.lanes + lane))
    cost = load_f64(batch.tried_cost, lane) if fresh else load_f64(batch.cost, lane)
    store_f64(batch.out_cost, problem, cost)
    store_i64(batch.out_status, problem, status)
    store_i64(batch.out_evaluations, problem, load_i64(batch.evaluations, lane))
    _write_covariance(batch, lane, problem, cost, not fresh)
    _empty(batch, lane)
