"""Many fits of one model by Levenberg and Marquardt's method, some at a time, each in a lane of its own.

The damping of a lane falls by ten where a step is accepted, and rises by ten where it is not. All lanes are evaluated
together; a problem that has ended hands its lane on to the next one, so that none waits for another. A lane in which
the model has an error, or takes another branch, is found by itself, and given parameters that are known to be good, so
that it does not disturb others.
"""

import math

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.language.raw_memory import (
    load_f64,
    load_i64,
    load_record,
    load_u8,
    memcpy,
    memset,
    store_f64,
    store_i64,
)
from tapegrad.engine.sweep.replays.handle_calls import evaluate
from tapegrad.engine.sweep.replays.handle_fields import SPECIALIZATION
from tapegrad.engine.sweep.replays.lanes import MASK, run_block
from tapegrad.optimize.native.loops import fit_fields as fields
from tapegrad.optimize.native.loops.batches.lanes import (
    FIRST_DAMPING,
    add_share,
    damp,
    decompose,
    raise_to,
    share_of,
    solve,
    take_where,
)
from tapegrad.optimize.native.loops.batches.problems import finish, leave_out, lend, load_start, refill
from tapegrad.optimize.native.loops.batches.sums import is_finite, sum_up
from tapegrad.optimize.native.loops.cost import LINEAR, reason_to_stop
from tapegrad.optimize.native.loops.driver import MAX_NFEV, PAUSED, count, is_for_python, spend
from tapegrad.optimize.native.loops.vectors import add_scaled, is_held, steepness

FITS = "fits"  # group of entry points
_MIN_DAMPING, _MAX_DAMPING = 1e-12, 1e16
_MAX_STOPPING_DAMPING = 1.0  # a step that is damped more is short for that, and no sign of a minimum


# --- the steps of all lanes, damped and held at bounds ------------------------------------------------------------


@inline_njit
def _hold(batch, lane):
    """Remove the parameters at an active bound from a lane's linear system: unit row and column, zero step."""
    x, gradient = batch.x + 8 * lane, batch.gradient + 8 * lane
    for j in range(batch.k):
        if is_held(x, gradient, batch.lower, batch.upper, j, batch.lanes):
            for c in range(batch.k):
                low, high = min(j, c), max(j, c)
                at = (high * (high + 1) // 2 + low) * batch.lanes + lane
                store_f64(batch.factor, at, 1.0 if j == c else 0.0)
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
def _raise_scale(batch, row, diagonal):
    """Raise a row of the scale to the diagonal of the matrix by slopes.

    That by curvatures grows by orders of magnitude where outliers become few, and the steps would shrink with it.
    """
    if batch.loss != LINEAR:  # `check` is free until the next sums
        memcpy(batch.check, batch.matrix + diagonal, 8 * batch.lanes)
        add_scaled(batch.check, 1.0, batch.excess + diagonal, batch.lanes)
        raise_to(batch.scale + row, batch.check, batch.lanes)
    else:
        raise_to(batch.scale + row, batch.matrix + diagonal, batch.lanes)


@inline_njit
def _propose(batch):
    """Write the next trial of all lanes that are going."""
    k, row = batch.k, 8 * batch.lanes
    memcpy(batch.factor, batch.matrix, row * (k * (k + 1) // 2))
    memcpy(batch.step, batch.gradient, row * k)
    if batch.loss != LINEAR:
        add_share(batch.factor, batch.excess, batch.damping, k * (k + 1) // 2, batch.lanes)
    for j in range(k):
        diagonal = row * (j * (j + 1) // 2 + j)
        _raise_scale(batch, row * j, diagonal)
        damp(batch.factor + diagonal, batch.damping, batch.scale + row * j, batch.lanes)
    if batch.bounded != 0:
        for lane in range(batch.lanes):
            _hold(batch, lane)
    decompose(batch.factor, k, batch.lanes)
    solve(batch.factor, batch.step, k, batch.lanes)
    for lane in range(batch.lanes):
        if load_i64(batch.states, lane) == fields.GOING:
            _move(batch, lane)


# --- the model at the trials of all lanes -------------------------------------------------------------------------


@inline_njit
def _leave_out_masked(batch):
    """Give up the lanes in which guards have failed; return whether there are any."""
    mask, found = load_i64(batch.workspace, MASK), False
    for lane in range(batch.lanes):
        if load_u8(mask, lane) != 0 and load_i64(batch.states, lane) != fields.EMPTY:
            leave_out(batch, lane)
            found = True
    return found


@inline_njit
def _run_lanes(batch):
    """Evaluate the lanes, without those that take another branch; return a status if one of the others fails."""
    status = run_block(batch.workspace)
    while _leave_out_masked(batch) and status != 0:
        status = run_block(batch.workspace)
    return status


@inline_njit
def _find_errors(batch):
    """Evaluate each lane by itself to find those in which there is an error, and give these other parameters."""
    for lane in range(batch.lanes):
        if load_i64(batch.states, lane) == fields.EMPTY:
            continue
        for j in range(batch.k):
            store_f64(batch.alone, j, load_f64(batch.trial, j * batch.lanes + lane))
        status = evaluate(batch.session)
        if is_for_python(status) or load_i64(batch.session, SPECIALIZATION) != batch.specialization:
            leave_out(batch, lane)
        elif status != 0:
            store_i64(batch.failed, lane, 1)
            lend(batch, lane)


@inline_njit
def _evaluate_lanes(batch):
    """Evaluate all lanes, and note in which of them there is an error; NEEDS_SESSION, or 0."""
    memset(batch.failed, 0, 8 * batch.lanes)
    if _run_lanes(batch) == 0:
        return 0
    if batch.session == 0:
        return fields.NEEDS_SESSION
    _find_errors(batch)
    if _run_lanes(batch) != 0:
        for lane in range(batch.lanes):
            if load_i64(batch.states, lane) != fields.EMPTY:
                leave_out(batch, lane)
    return 0


@inline_njit
def _reject_failed(batch):
    """Let lanes in which there was an error have their own trials again, with results that are not finite."""
    for lane in range(batch.lanes):
        if load_i64(batch.failed, lane) != 0:
            store_f64(batch.check, lane, math.nan)
            if load_i64(batch.states, lane) == fields.FRESH:
                load_start(batch, lane)
            else:
                _move(batch, lane)


@inline_njit
def _evaluate_trials(batch):
    """Write sums for the trials of all lanes; return a status on which Python has to act, or 0."""
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


# --- what came of it ----------------------------------------------------------------------------------------------


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
        if batch.loss != LINEAR:
            take_where(flags, batch.excess + row * c, batch.tried_excess + row * c, lanes)
    take_where(flags, batch.cost, batch.tried_cost, lanes)


@inline_njit
def _element(batch, lane, c):
    """Return an element of the matrix that a lane's step was computed with, but for the damping."""
    at = c * batch.lanes + lane
    element = load_f64(batch.matrix, at)
    if batch.loss != LINEAR:
        element += share_of(load_f64(batch.damping, lane)) * load_f64(batch.excess, at)
    return element


@inline_njit
def _predicted(batch, lane):
    """Return the predicted decrease of the cost, and the lengths of step and parameters."""
    gain, length, size = 0.0, 0.0, 0.0
    for j in range(batch.k):
        at = j * batch.lanes + lane
        step = load_f64(batch.trial, at) - load_f64(batch.x, at)
        gain -= step * load_f64(batch.gradient, at)
        length += step * step
        size += load_f64(batch.x, at) ** 2
        for c in range(j + 1):
            other = load_f64(batch.trial, c * batch.lanes + lane) - load_f64(batch.x, c * batch.lanes + lane)
            element = _element(batch, lane, j * (j + 1) // 2 + c)
            gain -= (0.5 if j == c else 1.0) * step * other * element
    return gain, math.sqrt(length), math.sqrt(size)


@inline_njit
def _change_damping(batch, lane, accepted):
    damping = load_f64(batch.damping, lane)
    changed = max(0.1 * damping, _MIN_DAMPING) if accepted else min(10.0 * damping, _MAX_DAMPING)
    store_f64(batch.damping, lane, changed)


@inline_njit
def _begin(batch, lane):
    """Take a lane's starting point, or not; the status with which it ends there, or GOES_ON."""
    if not is_finite(batch, lane):
        return fields.NOT_FINITE
    store_f64(batch.accepted, lane, 1.0)
    store_i64(batch.states, lane, fields.GOING)
    store_f64(batch.damping, lane, FIRST_DAMPING)
    return fields.GOES_ON


@inline_njit
def _assess(batch, lane):
    """See whether a lane's trial is accepted; the status with which it ends, or GOES_ON."""
    store_f64(batch.accepted, lane, 0.0)
    if load_i64(batch.states, lane) == fields.EMPTY:
        return fields.GOES_ON
    count(batch.evaluations, lane)
    if load_i64(batch.states, lane) == fields.FRESH:
        return _begin(batch, lane)
    finite = is_finite(batch, lane)
    gained = load_f64(batch.cost, lane) - load_f64(batch.tried_cost, lane)
    accepted = finite and gained > 0.0
    store_f64(batch.accepted, lane, 1.0 if accepted else 0.0)
    predicted, length, size = _predicted(batch, lane)
    damped = load_f64(batch.damping, lane) > _MAX_STOPPING_DAMPING
    _change_damping(batch, lane, accepted)
    if accepted and damped:
        return fields.GOES_ON
    cost = load_f64(batch.cost, lane)
    return reason_to_stop(batch.settings, gained if finite else -math.inf, predicted, cost, length, size)


@inline_njit
def _end(batch, lane):
    """End a lane, where there is a reason to."""
    status = load_i64(batch.outcomes, lane)
    if load_f64(batch.accepted, lane) == 1.0:
        x, gradient = batch.x + 8 * lane, batch.gradient + 8 * lane
        steepest = steepness(x, gradient, batch.lower, batch.upper, batch.k, batch.lanes)
        status = fields.BY_GTOL if steepest < load_f64(batch.settings, fields.GTOL) else status
    if status == fields.GOES_ON and load_i64(batch.evaluations, lane) >= load_i64(batch.counts, MAX_NFEV):
        status = fields.TOO_MANY_EVALUATIONS
    if status != fields.GOES_ON:
        finish(batch, lane, status)


@inline_njit
def _assess_all(batch):
    for lane in range(batch.lanes):
        store_i64(batch.outcomes, lane, _assess(batch, lane))
    _accept(batch)
    for lane in range(batch.lanes):
        if load_i64(batch.states, lane) != fields.EMPTY:
            _end(batch, lane)


@inline_njit
def _prepare(batch):
    """Write the trials that are missing, and refill empty lanes; return whether lanes are left to evaluate."""
    if load_i64(batch.counts, fields.PROPOSED) == 0:
        _propose(batch)
        store_i64(batch.counts, fields.PROPOSED, 1)
    refill(batch)
    if load_i64(batch.counts, fields.ACTIVE) == 0:
        return False
    waiting = load_i64(batch.counts, fields.NEXT) < load_i64(batch.counts, fields.END)
    return waiting or load_i64(batch.counts, fields.DRAIN) != 0


@inline_njit
def _sweep(batch):
    """Evaluate all lanes, and go on from there; return a status on which Python has to act, or 0."""
    status = _evaluate_trials(batch)
    if status != 0:
        return status
    store_i64(batch.counts, fields.PROPOSED, 0)
    _assess_all(batch)
    return 0


@entry_point(nogil=True, group=FITS)
def run_batch(record):
    """Go on until the queue is empty, and where lanes are to be drained until they are; or until Python has to act."""
    batch = load_record(record, fields.BatchFields)
    while _prepare(batch):
        if not spend(batch.counts):
            return PAUSED
        status = _sweep(batch)
        if status != 0:
            return status
    return 0
