"""Many fits of one model by Levenberg and Marquardt's method, some at a time, each in a lane of its own.

The damping of a lane falls by ten where a step is accepted, and rises by ten where it is not. All lanes are evaluated
together; a problem that has ended hands its lane on to the next one, so that none waits for another.
"""

import math

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_f64, load_i64, load_record, store_f64, store_i64
from tapegrad.optimize.native.loops.batches.batch_evaluation import evaluate_trials
from tapegrad.optimize.native.loops.batches.batch_fields import (
    ACTIVE,
    DRAIN,
    EMPTY,
    END,
    FRESH,
    GOING,
    NEXT,
    PROPOSED,
    BatchFields,
)
from tapegrad.optimize.native.loops.batches.batch_problems import finish, refill
from tapegrad.optimize.native.loops.batches.batch_steps import propose
from tapegrad.optimize.native.loops.batches.batch_sums import is_finite
from tapegrad.optimize.native.loops.batches.lanes import take_where
from tapegrad.optimize.native.loops.box import steepness
from tapegrad.optimize.native.loops.evaluation import count
from tapegrad.optimize.native.loops.fit_fields import (
    BY_GTOL,
    FTOL,
    GOES_ON,
    GTOL,
    MAX_NFEV,
    NOT_FINITE,
    TOO_MANY_EVALUATIONS,
    XTOL,
)
from tapegrad.optimize.native.loops.stopping import reason_to_stop

_FIRST_DAMPING, _MIN_DAMPING, _MAX_DAMPING = 1e-3, 1e-12, 1e16


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
    x, gradient = batch.x + 8 * lane, batch.gradient + 8 * lane
    return steepness(x, gradient, batch.lower, batch.upper, batch.k, batch.lanes)


@inline_njit
def _predicted(batch, lane):
    """Return the predicted decrease of the cost, and the squared lengths of step and parameters."""
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
    """Return the status with which a lane ends after a step."""
    predicted, length, size = _predicted(batch, lane)
    ftol, xtol = load_f64(batch.settings, FTOL), load_f64(batch.settings, XTOL)
    return reason_to_stop(ftol, xtol, gained, predicted, load_f64(batch.cost, lane), length, size)


@inline_njit
def _change_damping(batch, lane, accepted):
    damping = load_f64(batch.damping, lane)
    changed = max(0.1 * damping, _MIN_DAMPING) if accepted else min(10.0 * damping, _MAX_DAMPING)
    store_f64(batch.damping, lane, changed)


@inline_njit
def _begin(batch, lane):
    """Take a lane's starting point, or not; the status with which it ends there, or GOES_ON."""
    if not is_finite(batch, lane):
        return NOT_FINITE
    store_f64(batch.accepted, lane, 1.0)
    store_i64(batch.states, lane, GOING)
    store_f64(batch.damping, lane, _FIRST_DAMPING)
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
        status = TOO_MANY_EVALUATIONS
    if status != GOES_ON:
        finish(batch, lane, status)


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
    """Write the trials that are missing, and refill empty lanes; return whether lanes are left to evaluate."""
    if load_i64(batch.counts, PROPOSED) == 0:
        propose(batch)
        store_i64(batch.counts, PROPOSED, 1)
    refill(batch)
    if load_i64(batch.counts, ACTIVE) == 0:
        return False
    return load_i64(batch.counts, NEXT) < load_i64(batch.counts, END) or load_i64(batch.counts, DRAIN) != 0


@inline_njit
def _sweep(batch):
    """Evaluate all lanes, and go on from there; return a status on which Python has to act, or 0."""
    status = evaluate_trials(batch)
    if status != 0:
        return status
    store_i64(batch.counts, PROPOSED, 0)
    _assess_all(batch)
    return 0


@entry_point(nogil=True)
def run_batch(record):
    """Go on until the queue is empty, and where lanes are to be drained until they are; or until Python has to act."""
    batch = load_record(record, BatchFields)
    while _prepare(batch):
        status = _sweep(batch)
        if status != 0:
            return status
    return 0
