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
    memset,
    store_f64,
    store_i64,
)
from tapegrad.optimize.native.loops import damped
from tapegrad.optimize.native.loops import fit_fields as fields
from tapegrad.optimize.native.loops.cost import LINEAR, reason_to_stop, rescale, robust_cost
from tapegrad.optimize.native.loops.driver import CHOOSING, FINISHED, PHASE, TRYING, drive, is_for_python
from tapegrad.optimize.native.loops.fit_steps import (
    are_finite,
    bend,
    copy_columns,
    factor_all,
    look_ahead,
    propose,
    scaled_length,
)
from tapegrad.optimize.native.loops.vectors import dot, fill, multiply, norm, steepness

_FIRST_RADIUS = 0.3  # as a part of the length of the starting point, as in the GNU Scientific Library
_MIN_SHARE = 1e-9  # by ten a step it is back at 1 after nine that are rejected


# --- a point that is accepted ------------------------------------------------------------------------------------


@inline_njit
def _cost_of_trial(fit):
    """Cost of the residuals that were evaluated last."""
    if fit.loss == LINEAR:
        return 0.5 * dot(fit.values, fit.values, fit.n)
    return robust_cost(fit.loss, load_f64(fit.settings, fields.F_SCALE), fit.values, fit.n)


@inline_njit
def rescale_residuals(fit):
    """Rescale the residuals that were evaluated last for a robust loss, and write the factors for their derivatives."""
    if fit.loss != LINEAR:
        rescale(fit, fit.values, fit.factors)
        store_f64(fit.settings, fields.SHARE, 1.0)


@inline_njit
def accept_trial(fit):
    """Take over the trial and its residuals."""
    memcpy(fit.r, fit.values, 8 * fit.n)
    memcpy(fit.x, fit.trial, 8 * fit.k)
    store_i64(fit.counts, fields.FACTORED, 0)


@inline_njit
def _take_derivatives(fit):
    """Take over the derivatives that were evaluated last; return whether they are finite. Update the scale by them."""
    if not are_finite(fit):
        return False
    copy_columns(fit, fit.columns)
    rescale_residuals(fit)
    for j in range(fit.k):
        column = fit.columns + 8 * j * fit.n
        if fit.loss != LINEAR:
            multiply(column, fit.factors, fit.n)
        store_f64(fit.gradient, j, dot(column, fit.values, fit.n))
        if fit.scaled != 0:
            store_f64(fit.scale, j, max(load_f64(fit.scale, j), norm(column, fit.n)))
    accept_trial(fit)
    return True


@inline_njit
def _rescale_rows(fit):
    """Multiply the rows of the Jacobian by their factors."""
    for j in range(fit.k):
        multiply(fit.columns + 8 * j * fit.n, fit.factors, fit.n)


@inline_njit
def _take_share(fit, share, rescale_rows):
    """Rescale residuals and rows of the Jacobian for a share of the excess of slopes over curvatures."""
    before = load_f64(fit.settings, fields.SHARE)
    if fit.loss == LINEAR or share == before:
        return
    for i in range(fit.n):
        part = load_f64(fit.curvatures, i)
        factor = math.sqrt((part + share * (1.0 - part)) / (part + before * (1.0 - part)))
        store_f64(fit.factors, i, factor)
        store_f64(fit.r, i, load_f64(fit.r, i) / factor)
    rescale_rows(fit)
    store_f64(fit.settings, fields.SHARE, share)
    store_i64(fit.counts, fields.FACTORED, 0)


@inline_njit
def _next_share(share, good):
    return max(0.1 * share, _MIN_SHARE) if good else min(10.0 * share, 1.0)


@inline_njit
def has_next(fit):
    """Return that there is no other start."""
    return False


@inline_njit
def finish(fit, status, rescale_rows):
    """End a fit at its point."""
    _take_share(fit, 0.0, rescale_rows)
    store_i64(fit.counts, fields.STATUS, status)
    store_i64(fit.counts, PHASE, FINISHED)
    store_f64(fit.settings, fields.OPTIMALITY, steepness(fit.x, fit.gradient, fit.lower, fit.upper, fit.k, 1))


@inline_njit
def _finish_if_flat(fit, rescale_rows):
    if steepness(fit.x, fit.gradient, fit.lower, fit.upper, fit.k, 1) < load_f64(fit.settings, fields.GTOL):
        finish(fit, fields.BY_GTOL, rescale_rows)


@inline_njit
def begin(fit, computed, take_derivatives, rescale_rows):
    """Take the starting point.

    ``take_derivatives(fit)`` takes over those that were evaluated last, and returns whether they are finite;
    ``rescale_rows(fit)`` multiplies the rows of the Jacobian by `factors`.
    """
    if not computed:
        finish(fit, fields.NOT_COMPUTED, rescale_rows)
        return
    cost = _cost_of_trial(fit)
    store_f64(fit.settings, fields.COST, cost)
    if not (math.isfinite(cost) and take_derivatives(fit)):
        finish(fit, fields.NOT_FINITE, rescale_rows)
        return
    for j in range(fit.k):
        if load_f64(fit.scale, j) == 0.0:
            store_f64(fit.scale, j, 1.0)
    radius = _FIRST_RADIUS * scaled_length(fit, fit.x)
    store_f64(fit.settings, fields.RADIUS, radius if radius > 0.0 else 1.0)
    store_i64(fit.counts, PHASE, CHOOSING)
    _finish_if_flat(fit, rescale_rows)


# --- what came of it ---------------------------------------------------------------------------------------------


@inline_njit
def _move_radius(fit, ratio, length):
    """Shorten or lengthen the radius, and the damping with it."""
    radius = load_f64(fit.settings, fields.RADIUS)
    changed = radius
    if ratio < 0.25:
        changed = 0.25 * length
    elif ratio > 0.75 and length > 0.95 * radius:
        changed = 2.0 * radius
    if changed == 0.0:
        changed = 0.25 * radius
    store_f64(fit.settings, fields.RADIUS, changed)
    store_f64(fit.settings, fields.DAMPING, load_f64(fit.settings, fields.DAMPING) * radius / changed)


@inline_njit
def assess(fit, computed, take_derivatives, rescale_rows):
    """Accept the trial or not, and see whether the fit ends."""
    store_i64(fit.counts, PHASE, CHOOSING)
    cost = _cost_of_trial(fit) if computed else math.inf
    before, predicted = load_f64(fit.settings, fields.COST), load_f64(fit.settings, fields.PREDICTED)
    for j in range(fit.k):
        store_f64(fit.scratch, j, load_f64(fit.trial, j) - load_f64(fit.x, j))
    length = scaled_length(fit, fit.scratch)
    gained = before - cost
    ratio = gained / predicted if predicted > 0.0 else 0.0
    share = load_f64(fit.settings, fields.SHARE)
    accepted = math.isfinite(cost) and gained > 0.0 and take_derivatives(fit)
    if not (math.isfinite(cost) and math.isfinite(ratio)):
        ratio = 0.0
    _take_share(fit, _next_share(share, accepted and ratio > 0.25), rescale_rows)
    stop = fields.GOES_ON
    if math.isfinite(cost) or length == 0.0:
        step, size = norm(fit.scratch, fit.k), norm(fit.x, fit.k)
        stop = reason_to_stop(fit.settings, gained, predicted, before, step, size)
    if accepted:
        store_f64(fit.settings, fields.COST, cost)
    _move_radius(fit, ratio, length)
    if accepted:
        _finish_if_flat(fit, rescale_rows)
    if stop != fields.GOES_ON and load_i64(fit.counts, PHASE) != FINISHED:
        finish(fit, stop, rescale_rows)


@inline_njit
def _choose_step(fit):
    """Write the next trial; return a status on which Python has to act, or 0.

    A step that bends too much is to be proposed anew, within a shorter radius.
    """
    propose(fit)
    if fit.geodesic != 0:
        status = look_ahead(fit)
        if is_for_python(status):
            return status
        if not bend(fit, status == 0):
            _move_radius(fit, 0.0, scaled_length(fit, fit.scratch))
            return 0
    store_i64(fit.counts, PHASE, TRYING)
    return 0


# --- covariance --------------------------------------------------------------------------------------------------


@inline_njit
def _invert_triangle(fit):
    """Write the inverse of the triangle, column by column as rows of `damped`."""
    for c in range(fit.k):
        column = fit.damped + 8 * fit.k * c
        memset(column, 0, 8 * fit.k)
        store_f64(column, c, 1.0)
        damped.solve_upper(fit.triangle, column, column, fit.k)


@inline_njit
def _write_covariance(fit):
    """Write the covariance of the parameters; inf where the data do not determine it."""
    if not (fit.n > fit.k and factor_all(fit, fit.r) == fit.k):
        fill(fit.covariance, math.inf, fit.k * fit.k)
        return
    _invert_triangle(fit)
    variance = 2.0 * load_f64(fit.settings, fields.COST) / (fit.n - fit.k)
    for a in range(fit.k):
        for b in range(fit.k):
            i, j, total = load_i64(fit.free, a), load_i64(fit.free, b), 0.0
            for c in range(max(a, b), fit.k):
                total += load_f64(fit.damped, c * fit.k + a) * load_f64(fit.damped, c * fit.k + b)
            scale = load_f64(fit.scale, i) * load_f64(fit.scale, j)
            store_f64(fit.covariance, i * fit.k + j, variance * total / scale)


@inline_njit
def _begin(fit, computed):
    begin(fit, computed, _take_derivatives, _rescale_rows)


@inline_njit
def _assess(fit, computed):
    assess(fit, computed, _take_derivatives, _rescale_rows)


@inline_njit
def _finish(fit, status):
    finish(fit, status, _rescale_rows)


@entry_point(nogil=True)
def run_fit(record):
    """Go on with a fit until it is finished, or Python has to act; the status of the last evaluation."""
    fit = load_record(record, fields.FitFields)
    status = drive(fit, has_next, _choose_step, _begin, _assess, _finish, fields.TOO_MANY_EVALUATIONS)
    if status == 0 and load_i64(fit.counts, fields.STATUS) >= 0:
        _write_covariance(fit)
    return status
