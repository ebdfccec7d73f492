"""Nonlinear least squares by Levenberg and Marquardt's method with a trust region.

Steps are those of Moré [1]_ in parameters that are scaled by the lengths of the Jacobian's columns; the radius changes
as in SciPy's ``trf``. The loop is a machine of states: where Python has to act, it returns, and goes on when it is
called again.

References
----------
.. [1] J. J. Moré, "The Levenberg-Marquardt algorithm: implementation and theory", Lecture Notes in Mathematics 630,
   1978.
"""

import math

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.language.raw_memory import (
    load_f64,
    load_i64,
    load_record,
    memcpy,
    store_f64,
    store_i64,
)
from tapegrad.optimize.native.loops.box import steepness
from tapegrad.optimize.native.loops.evaluation import are_finite, copy_columns, evaluate_trial, is_for_python
from tapegrad.optimize.native.loops.fit_fields import (
    BY_GTOL,
    COST,
    DAMPING,
    F_SCALE,
    FACTORED,
    FINISHED,
    FTOL,
    GOES_ON,
    GTOL,
    MAX_NFEV,
    NFEV,
    NOT_COMPUTED,
    NOT_FINITE,
    OPTIMALITY,
    PHASE,
    PREDICTED,
    PROPOSED,
    RADIUS,
    STATUS,
    TOO_MANY_EVALUATIONS,
    TRYING,
    XTOL,
    FitFields,
)
from tapegrad.optimize.native.loops.fits.fit_covariance import write_covariance
from tapegrad.optimize.native.loops.fits.fit_steps import bend, look_ahead, propose, scaled_length
from tapegrad.optimize.native.loops.losses import LINEAR, rescale
from tapegrad.optimize.native.loops.stopping import reason_to_stop
from tapegrad.optimize.native.loops.vectors import dot, multiply

_FIRST_RADIUS = 0.3  # as a part of the length of the starting point, as in the GNU Scientific Library


# --- a point that is accepted ------------------------------------------------------------------------------------


@inline_njit
def _cost_of_trial(fit):
    """Cost of the residuals that were evaluated last. They are rescaled in place for a robust loss."""
    if fit.loss == LINEAR:
        return 0.5 * dot(fit.values, fit.values, fit.n)
    return rescale(fit.loss, load_f64(fit.settings, F_SCALE), fit.values, fit.factors, fit.n)


@inline_njit
def _take_derivatives(fit):
    """Take over the derivatives that were evaluated last; return whether they are finite. Update the scale by them."""
    if not are_finite(fit):
        return False
    copy_columns(fit, fit.columns)
    for j in range(fit.k):
        column = fit.columns + 8 * j * fit.n
        if fit.loss != LINEAR:
            multiply(column, fit.factors, fit.n)
        store_f64(fit.gradient, j, dot(column, fit.values, fit.n))
        if fit.scaled != 0:
            length = math.sqrt(dot(column, column, fit.n))
            store_f64(fit.scale, j, max(load_f64(fit.scale, j), length))
    memcpy(fit.r, fit.values, 8 * fit.n)
    memcpy(fit.x, fit.trial, 8 * fit.k)
    store_i64(fit.counts, FACTORED, 0)
    return True


@inline_njit
def _finish(fit, status):
    store_i64(fit.counts, STATUS, status)
    store_i64(fit.counts, PHASE, FINISHED)
    store_f64(fit.settings, OPTIMALITY, steepness(fit.x, fit.gradient, fit.lower, fit.upper, fit.k, 1))


@inline_njit
def _finish_if_flat(fit):
    if steepness(fit.x, fit.gradient, fit.lower, fit.upper, fit.k, 1) < load_f64(fit.settings, GTOL):
        _finish(fit, BY_GTOL)


@inline_njit
def _begin(fit):
    """Take the starting point."""
    cost = _cost_of_trial(fit)
    store_f64(fit.settings, COST, cost)
    if not (math.isfinite(cost) and _take_derivatives(fit)):
        _finish(fit, NOT_FINITE)
        return
    for j in range(fit.k):
        if load_f64(fit.scale, j) == 0.0:
            store_f64(fit.scale, j, 1.0)
    radius = _FIRST_RADIUS * scaled_length(fit, fit.x)
    store_f64(fit.settings, RADIUS, radius if radius > 0.0 else 1.0)
    store_i64(fit.counts, PHASE, TRYING)
    _finish_if_flat(fit)


# --- what came of it ---------------------------------------------------------------------------------------------


@inline_njit
def _move_radius(fit, ratio, length):
    """Shorten or lengthen the radius, and the damping with it."""
    radius = load_f64(fit.settings, RADIUS)
    changed = radius
    if ratio < 0.25:
        changed = 0.25 * length
    elif ratio > 0.75 and length > 0.95 * radius:
        changed = 2.0 * radius
    if changed == 0.0:
        changed = 0.25 * radius
    store_f64(fit.settings, RADIUS, changed)
    store_f64(fit.settings, DAMPING, load_f64(fit.settings, DAMPING) * radius / changed)


@inline_njit
def _length_of(x, k):
    return math.sqrt(dot(x, x, k))


@inline_njit
def _reason_to_stop(fit, gained, predicted):
    """Return the status with which the fit ends after the step in `scratch`."""
    return reason_to_stop(
        load_f64(fit.settings, FTOL),
        load_f64(fit.settings, XTOL),
        gained,
        predicted,
        load_f64(fit.settings, COST),
        _length_of(fit.scratch, fit.k),
        _length_of(fit.x, fit.k),
    )


@inline_njit
def _assess(fit, computed):
    """Accept the trial or not, and see whether the fit ends."""
    cost = _cost_of_trial(fit) if computed else math.inf
    before, predicted = load_f64(fit.settings, COST), load_f64(fit.settings, PREDICTED)
    for j in range(fit.k):
        store_f64(fit.scratch, j, load_f64(fit.trial, j) - load_f64(fit.x, j))
    length = scaled_length(fit, fit.scratch)
    gained = before - cost
    ratio = gained / predicted if predicted > 0.0 else 0.0
    accepted = math.isfinite(cost) and gained > 0.0 and _take_derivatives(fit)
    if not (math.isfinite(cost) and math.isfinite(ratio)):
        ratio = 0.0
    stop = _reason_to_stop(fit, gained, predicted) if math.isfinite(cost) or length == 0.0 else GOES_ON
    if accepted:
        store_f64(fit.settings, COST, cost)
    _move_radius(fit, ratio, length)
    if accepted:
        _finish_if_flat(fit)
    if stop != GOES_ON and load_i64(fit.counts, PHASE) != FINISHED:
        _finish(fit, stop)


@inline_njit
def _prepare(fit):
    """Write the next trial, if there is none yet; return a status on which Python has to act, or 0.

    A step that bends too much is to be proposed anew, within a shorter radius.
    """
    if load_i64(fit.counts, PHASE) != TRYING:
        return 0
    propose(fit)
    if fit.geodesic != 0:
        status = look_ahead(fit)
        if is_for_python(status):
            return status
        if not bend(fit, status == 0):
            _move_radius(fit, 0.0, scaled_length(fit, fit.scratch))
            return 0
    store_i64(fit.counts, PHASE, PROPOSED)
    return 0


@inline_njit
def _advance(fit):
    """Evaluate the next point, and go on from there; return a status on which Python has to act, or 0."""
    status = _prepare(fit)
    if status != 0 or load_i64(fit.counts, PHASE) == TRYING:
        return status
    status = evaluate_trial(fit)
    if is_for_python(status):
        return status
    if load_i64(fit.counts, PHASE) == PROPOSED:
        store_i64(fit.counts, PHASE, TRYING)
        _assess(fit, status == 0)
    elif status == 0:
        _begin(fit)
    else:
        _finish(fit, NOT_COMPUTED)
    return 0


@entry_point(nogil=True)
def run_fit(record):
    """Go on with a fit until it is finished, or Python has to act; the status of the last evaluation."""
    fit = load_record(record, FitFields)
    while load_i64(fit.counts, PHASE) != FINISHED:
        if load_i64(fit.counts, NFEV) >= load_i64(fit.counts, MAX_NFEV):
            _finish(fit, TOO_MANY_EVALUATIONS)
            break
        status = _advance(fit)
        if status != 0:
            return status
    if load_i64(fit.counts, STATUS) >= 0:
        write_covariance(fit)
    return 0
