"""Driver of minimisations: the loop over trials and over starts, where they begin, and where they end.

The loop is a machine of states: where Python has to act, it returns, and goes on when it is called again.
"""

import math

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_f64, load_i64, memcpy, store_f64, store_i64
from tapegrad.engine.sweep.replays.handle_calls import evaluate
from tapegrad.optimize.native.loops.box import steepness
from tapegrad.optimize.native.loops.descents.descent_fields import (
    BY_FTOL,
    BY_GTOL,
    CHOOSING,
    END,
    FINISHED,
    FTOL,
    GTOL,
    LIMIT,
    MAX_NFEV,
    MAX_NIT,
    NEWEST,
    NEXT,
    NFEV,
    NHEV,
    NIT,
    NOT_COMPUTED,
    NOT_FINITE,
    PHASE,
    RADIUS,
    STARTING,
    STATUS,
    STORED,
    TRYING,
    VALUE,
)
from tapegrad.optimize.native.loops.evaluation import count, is_for_python
from tapegrad.optimize.native.loops.vectors import dot, fill


@inline_njit
def _begin_next(run):
    """Begin the next minimisation of the queue; return whether there is one."""
    number = load_i64(run.counts, NEXT)
    if number >= load_i64(run.counts, END):
        return False
    memcpy(run.trial, run.starts + 8 * run.k * number, 8 * run.k)
    for what in (NFEV, NIT, NHEV, STORED, NEWEST, STATUS):
        store_i64(run.counts, what, 0)
    store_f64(run.settings, RADIUS, 1.0)
    store_i64(run.counts, PHASE, STARTING)
    return True


@inline_njit
def finish(run, status):
    """End a minimisation, and write its results."""
    number, size = load_i64(run.counts, NEXT), 8 * run.k
    store_i64(run.counts, PHASE, FINISHED)
    store_i64(run.counts, NEXT, number + 1)
    memcpy(run.out_x + size * number, run.x, size)
    memcpy(run.out_gradient + size * number, run.gradient, size)
    store_f64(run.out_value, number, load_f64(run.settings, VALUE))
    store_i64(run.out_status, number, status)
    store_i64(run.out_evaluations, number, load_i64(run.counts, NFEV))
    store_i64(run.out_iterations, number, load_i64(run.counts, NIT))
    store_i64(run.out_products, number, load_i64(run.counts, NHEV))


@inline_njit
def take_trial(run):
    """Make the trial the current point."""
    store_f64(run.settings, VALUE, load_f64(run.trial_value, 0))
    memcpy(run.x, run.trial, 8 * run.k)
    memcpy(run.gradient, run.trial_gradient, 8 * run.k)


@inline_njit
def is_finite(run):
    """Return whether value and gradient of the trial are finite."""
    gradient = run.trial_gradient
    return math.isfinite(load_f64(run.trial_value, 0)) and math.isfinite(dot(gradient, gradient, run.k))


@inline_njit
def _begin(run):
    """Take the starting point."""
    take_trial(run)
    store_i64(run.counts, PHASE, CHOOSING)
    if not is_finite(run):
        finish(run, NOT_FINITE)
    elif steepness(run.x, run.gradient, run.lower, run.upper, run.k, 1) <= load_f64(run.settings, GTOL):
        finish(run, BY_GTOL)


@inline_njit
def _give_up(run):
    """End a minimisation whose start could not be evaluated."""
    memcpy(run.x, run.trial, 8 * run.k)
    fill(run.gradient, math.nan, run.k)
    store_f64(run.settings, VALUE, math.nan)
    finish(run, NOT_COMPUTED)


@inline_njit
def finish_if_converged(run, before):
    """End a minimisation whose value was `before` an accepted step, where tolerances or limits say so."""
    value = load_f64(run.settings, VALUE)
    size = max(abs(value), abs(before), 1.0)
    if steepness(run.x, run.gradient, run.lower, run.upper, run.k, 1) <= load_f64(run.settings, GTOL):
        finish(run, BY_GTOL)
    elif before - value <= load_f64(run.settings, FTOL) * size:
        finish(run, BY_FTOL)
    elif load_i64(run.counts, NIT) >= load_i64(run.counts, MAX_NIT):
        finish(run, LIMIT)


# --- the loop ----------------------------------------------------------------------------------------------------


@inline_njit
def _advance(run, choose, assess):
    """Evaluate the next trial, and go on from there; return a status on which Python has to act, or 0."""
    if load_i64(run.counts, PHASE) == CHOOSING:
        status = choose(run)
        if status != 0:
            return status
        store_i64(run.counts, PHASE, TRYING)
    status = evaluate(run.session)
    if is_for_python(status):
        return status
    count(run.counts, NFEV)
    if load_i64(run.counts, PHASE) == TRYING:
        assess(run, status == 0)
    elif status != 0:
        _give_up(run)
    else:
        _begin(run)
    return 0


@inline_njit
def go_on(run, choose, assess):
    """Go on with the minimisations until they are finished, or Python has to act; the status of the last evaluation.

    From a new point, `choose` writes the first trial; it returns a status. `assess` is told whether a trial could be
    computed: it accepts it, or writes another one.
    """
    while load_i64(run.counts, PHASE) != FINISHED or _begin_next(run):
        if load_i64(run.counts, NFEV) >= load_i64(run.counts, MAX_NFEV):
            finish(run, LIMIT)
            continue
        status = _advance(run, choose, assess)
        if status != 0:
            return status
    return 0
