"""Many fits of one model by Levenberg and Marquardt's method, some at a time, each in a lane of its own.

The damping of a lane falls by ten where a step is accepted, and rises by ten where it is not. All lanes are evaluated
together; a problem that has ended hands its lane on to the next one, so that none waits for another.
"""

import math

from tapegrad.engine.kernels.raw_memory import (
    load_f64,
    load_i64,
    load_record,
    load_u8,
    memcpy,
    memset,
    store_f64,
    store_i64,
)
from tapegrad.engine.runtime.compiler import entry_point, inline_njit
from tapegrad.engine.sweep.handle_calls import evaluate
from tapegrad.engine.sweep.handle_words import WAY
from tapegrad.engine.sweep.lanes import MASK, run_block
from tapegrad.optimize.native.loops.batch_sums import is_finite, sum_up
from tapegrad.optimize.native.loops.batch_words import (
    ACTIVE,
    DRAIN,
    EMPTY,
    END,
    FIRST_DAMPING,
    FRESH,
    FTOL,
    GOING,
    GTOL,
    MAX_NFEV,
    NEEDS_SESSION,
    NEXT,
    NOT_IN_LANES,
    PROPOSED,
    SWEEPS,
    XTOL,
    Batch,
)
from tapegrad.optimize.native.loops.covariance import write_covariance
from tapegrad.optimize.native.loops.evaluation import count, is_for_python
from tapegrad.optimize.native.loops.fit_words import (
    BY_GTOL,
    GOES_ON,
    MOST_EVALUATIONS,
    NOT_FINITE,
)
from tapegrad.optimize.native.loops.lanes import damp, decompose, raise_to, solve, take_where
from tapegrad.optimize.native.loops.stopping import reason_to_stop

_LEAST_DAMPING, _MOST_DAMPING = 1e-12, 1e16


# --- problems come and go ----------------------------------------------------------------------------------------


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
    """Let a lane begin with a problem."""
    store_i64(batch.problems, lane, problem)
    store_i64(batch.points, lane, batch.n)
    store_i64(batch.evaluations, lane, 0)
    source = batch.all_data + 8 * batch.n * problem
    for i in range(batch.n):
        store_f64(batch.data, i * batch.lanes + lane, load_f64(source, i))
    if batch.weights != 0:
        _load_weights(batch, lane, problem)
    _load_start(batch, lane)
    for j in range(batch.k):
        store_f64(batch.scale, j * batch.lanes + lane, 0.0)
    store_i64(batch.states, lane, FRESH)


@inline_njit
def _refill(batch):
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
def _lend(batch, lane):
    """Let a lane have parameters at which the model can be computed."""
    for j in range(batch.k):
        store_f64(batch.trial, j * batch.lanes + lane, load_f64(batch.example, j))


@inline_njit
def _empty(batch, lane):
    """Empty a lane. Its parameters stay, so that it has valid numbers, but for those at which there is an error."""
    store_i64(batch.states, lane, EMPTY)
    store_i64(batch.counts, ACTIVE, load_i64(batch.counts, ACTIVE) - 1)
    if load_i64(batch.failed, lane) != 0:
        _lend(batch, lane)


@inline_njit
def _leave_out(batch, lane):
    """Give up a lane whose problem is to be solved by itself."""
    store_i64(batch.out_status, load_i64(batch.problems, lane), NOT_IN_LANES)
    _empty(batch, lane)
    _lend(batch, lane)


@inline_njit
def _load_start(batch, lane):
    """Write where a lane's problem begins."""
    first = load_i64(batch.problems, lane) * batch.k
    for j in range(batch.k):
        store_f64(batch.trial, j * batch.lanes + lane, load_f64(batch.all_starts, first + j))


@inline_njit
def _finish(batch, lane, status):
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


# --- steps -------------------------------------------------------------------------------------------------------


@inline_njit
def _is_held(batch, j, lane):
    """Whether a parameter is at a bound, and the cost falls outwards."""
    at = j * batch.lanes + lane
    value, slope = load_f64(batch.x, at), load_f64(batch.gradient, at)
    below = value <= load_f64(batch.lower, j) and slope > 0.0
    return below or (value >= load_f64(batch.upper, j) and slope < 0.0)


@inline_njit
def _hold(batch, lane):
    """Take what bounds hold out of a lane's system."""
    for j in range(batch.k):
        if _is_held(batch, j, lane):
            for c in range(batch.k):
                low, high = min(j, c), max(j, c)
                place = (high * (high + 1) // 2 + low) * batch.lanes + lane
                store_f64(batch.factor, place, 1.0 if j == c else 0.0)
            store_f64(batch.step, j * batch.lanes + lane, 0.0)


@inline_njit
def _move(batch, lane):
    """Write a lane's trial from its step, which is cut at the bounds."""
    for j in range(batch.k):
        at = j * batch.lanes + lane
        before = load_f64(batch.x, at)
        after = before - load_f64(batch.step, at)
        after = min(max(after, load_f64(batch.lower, j)), load_f64(batch.upper, j))
        store_f64(batch.trial, at, after)


@inline_njit
def _propose(batch):
    """Write the next trial of all lanes that are going."""
    k, row = batch.k, 8 * batch.lanes
    memcpy(batch.factor, batch.matrix, row * (k * (k + 1) // 2))
    memcpy(batch.step, batch.gradient, row * k)
    for j in range(k):
        diagonal = row * (j * (j + 1) // 2 + j)
        raise_to(batch.scale + row * j, batch.matrix + diagonal, batch.lanes)
        damp(
            batch.factor + diagonal,
            batch.matrix + diagonal,
            batch.damping,
            batch.scale + row * j,
            batch.lanes,
        )
    if batch.bounded != 0:
        for lane in range(batch.lanes):
            _hold(batch, lane)
    decompose(batch.factor, k, batch.lanes)
    solve(batch.factor, batch.step, k, batch.lanes)
    for lane in range(batch.lanes):
        if load_i64(batch.states, lane) == GOING:
            _move(batch, lane)


# --- what came of them -------------------------------------------------------------------------------------------


@inline_njit
def _accept(batch):
    """Make the trials of all lanes that are accepted their points."""
    lanes, flags = batch.lanes, batch.accepted
    row = 8 * lanes
    for j in range(batch.k):
        take_where(flags, batch.x + row * j, batch.trial + row * j, lanes)
        take_where(flags, batch.gradient + row * j, batch.tried_gradient + row * j, lanes)
    for c in range(batch.k * (batch.k + 1) // 2):
        take_where(flags, batch.matrix + row * c, batch.tried_matrix + row * c, lanes)
    take_where(flags, batch.cost, batch.tried_cost, lanes)


@inline_njit
def _steepness(batch, lane):
    """The largest slope by a parameter that no bound holds."""
    found = 0.0
    for j in range(batch.k):
        if not _is_held(batch, j, lane):
            found = max(found, abs(load_f64(batch.gradient, j * batch.lanes + lane)))
    return found


@inline_njit
def _predicted(batch, lane):
    """By how much the cost should have fallen, and the squared lengths of step and parameters."""
    gain, length, size = 0.0, 0.0, 0.0
    for j in range(batch.k):
        at = j * batch.lanes + lane
        step = load_f64(batch.trial, at) - load_f64(batch.x, at)
        gain -= step * load_f64(batch.gradient, at)
        length += step * step
        size += load_f64(batch.x, at) ** 2
        for c in range(j + 1):
            other = load_f64(batch.trial, c * batch.lanes + lane) - load_f64(batch.x, c * batch.lanes + lane)
            element = load_f64(batch.matrix, (j * (j + 1) // 2 + c) * batch.lanes + lane)
            gain -= (0.5 if j == c else 1.0) * step * other * element
    return gain, math.sqrt(length), math.sqrt(size)


@inline_njit
def _reason_to_stop(batch, lane, gained):
    """The status with which a lane ends after a step."""
    predicted, length, size = _predicted(batch, lane)
    ftol, xtol = load_f64(batch.settings, FTOL), load_f64(batch.settings, XTOL)
    return reason_to_stop(ftol, xtol, gained, predicted, load_f64(batch.cost, lane), length, size)


@inline_njit
def _change_damping(batch, lane, accepted):
    damping = load_f64(batch.damping, lane)
    changed = max(0.1 * damping, _LEAST_DAMPING) if accepted else min(10.0 * damping, _MOST_DAMPING)
    store_f64(batch.damping, lane, changed)


@inline_njit
def _begin(batch, lane):
    """Take a lane's starting point, or not; the status with which it ends there, or GOES_ON."""
    if not is_finite(batch, lane):
        return NOT_FINITE
    store_f64(batch.accepted, lane, 1.0)
    store_i64(batch.states, lane, GOING)
    store_f64(batch.damping, lane, load_f64(batch.settings, FIRST_DAMPING))
    return GOES_ON


@inline_njit
def _assess(batch, lane):
    """See whether a lane's trial is accepted; the status with which it ends, or GOES_ON."""
    store_f64(batch.accepted, lane, 0.0)
    if load_i64(batch.states, lane) == EMPTY:
        return GOES_ON
    count(batch.evaluations, lane)
    if load_i64(batch.states, lane) == FRESH:
        return _begin(batch, lane)
    finite = is_finite(batch, lane)
    gained = load_f64(batch.cost, lane) - load_f64(batch.tried_cost, lane)
    accepted = finite and gained > 0.0
    store_f64(batch.accepted, lane, 1.0 if accepted else 0.0)
    _change_damping(batch, lane, accepted)
    return _reason_to_stop(batch, lane, gained if finite else -math.inf)


@inline_njit
def _end(batch, lane):
    """End a lane, where there is a reason to."""
    status = load_i64(batch.outcomes, lane)
    arrived = load_f64(batch.accepted, lane) == 1.0
    if arrived and _steepness(batch, lane) < load_f64(batch.settings, GTOL):
        status = BY_GTOL
    if status == GOES_ON and load_i64(batch.evaluations, lane) >= load_i64(batch.counts, MAX_NFEV):
        status = MOST_EVALUATIONS
    if status != GOES_ON:
        _finish(batch, lane, status)


@inline_njit
def _assess_all(batch):
    for lane in range(batch.lanes):
        store_i64(batch.outcomes, lane, _assess(batch, lane))
    _accept(batch)
    for lane in range(batch.lanes):
        if load_i64(batch.states, lane) != EMPTY:
            _end(batch, lane)


@inline_njit
def _prepare(batch):
    """Write the trials of lanes, if that has not been done, and refill others; whether there is more to evaluate."""
    if load_i64(batch.counts, PROPOSED) == 0:
        _propose(batch)
        store_i64(batch.counts, PROPOSED, 1)
    _refill(batch)
    if load_i64(batch.counts, ACTIVE) == 0:
        return False
    return load_i64(batch.counts, NEXT) < load_i64(batch.counts, END) or load_i64(batch.counts, DRAIN) != 0


# --- evaluations -------------------------------------------------------------------------------------------------


@inline_njit
def _leave_out_masked(batch):
    """Give up the lanes in which guards have failed; whether there are any."""
    mask, found = load_i64(batch.workspace, MASK), False
    for lane in range(batch.lanes):
        if load_u8(mask, lane) != 0 and load_i64(batch.states, lane) != EMPTY:
            _leave_out(batch, lane)
            found = True
    return found


@inline_njit
def _run_lanes(batch):
    """Evaluate the lanes, without those that take another way; a status if there is an error in one of the others."""
    status = run_block(0, batch.workspace)
    while _leave_out_masked(batch) and status != 0:
        status = run_block(0, batch.workspace)
    return status


@inline_njit
def _find_errors(batch):
    """Evaluate each lane by itself to find those in which there is an error, and give these other parameters."""
    for lane in range(batch.lanes):
        if load_i64(batch.states, lane) == EMPTY:
            continue
        for j in range(batch.k):
            store_f64(batch.alone, j, load_f64(batch.trial, j * batch.lanes + lane))
        status = evaluate(batch.session)
        if is_for_python(status) or load_i64(batch.session, WAY) != 0:
            _leave_out(batch, lane)  # on another way than all lanes
        elif status != 0:
            store_i64(batch.failed, lane, 1)
            _lend(batch, lane)


@inline_njit
def _evaluate_lanes(batch):
    """Evaluate all lanes, and note in which of them there is an error; NEEDS_SESSION, or 0."""
    memset(batch.failed, 0, 8 * batch.lanes)
    if _run_lanes(batch) == 0:
        return 0
    if batch.session == 0:
        return NEEDS_SESSION
    _find_errors(batch)
    if _run_lanes(batch) != 0:
        for lane in range(batch.lanes):
            if load_i64(batch.states, lane) != EMPTY:
                _leave_out(batch, lane)
    return 0


@inline_njit
def _reject_failed(batch):
    """Let lanes in which there was an error have their own trials again, with results that are not finite."""
    for lane in range(batch.lanes):
        if load_i64(batch.failed, lane) != 0:
            store_f64(batch.check, lane, math.nan)
            if load_i64(batch.states, lane) == FRESH:
                _load_start(batch, lane)
            else:
                _move(batch, lane)


@inline_njit
def _evaluate(batch):
    """Write sums for the trials of all lanes; a status on which Python has to act, or 0."""
    if batch.workspace != 0:
        status = _evaluate_lanes(batch)
        if status == 0:
            sum_up(batch)
            _reject_failed(batch)
        return status
    status = evaluate(batch.session)
    if is_for_python(status):
        return status
    if status == 0:
        sum_up(batch)
    else:
        store_f64(batch.check, 0, math.nan)
    return 0


@inline_njit
def _sweep(batch):
    """Evaluate all lanes, and go on from there; a status on which Python has to act, or 0."""
    status = _evaluate(batch)
    if status != 0:
        return status
    count(batch.counts, SWEEPS)
    store_i64(batch.counts, PROPOSED, 0)
    _assess_all(batch)
    return 0


@entry_point(nogil=True)
def run_batch(words):
    """Go on until the queue is empty, and where lanes are to be drained until they are; or until Python has to act."""
    batch = load_record(words, Batch)
    while _prepare(batch):
        status = _sweep(batch)
        if status != 0:
            return status
    return 0
