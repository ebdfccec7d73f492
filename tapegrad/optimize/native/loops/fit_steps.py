"""Steps of a fit: in the trust region and in the box, and bent along the curvature of the residuals [1]_.

References
----------
.. [1] M. K. Transtrum, J. P. Sethna, "Improvements to the Levenberg-Marquardt algorithm for nonlinear least-squares
   minimization", arXiv:1201.5885, 2012.
"""

import math

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.raw_memory import (
    load_f64,
    load_i64,
    memcpy,
    memset,
    store_f64,
    store_i64,
)
from tapegrad.engine.sweep.replays.handle_calls import column
from tapegrad.optimize.native.loops import damped
from tapegrad.optimize.native.loops import fit_fields as fields
from tapegrad.optimize.native.loops.driver import evaluate_trial
from tapegrad.optimize.native.loops.vectors import add_scaled, copy_scaled, dot, is_held, project, take_column

_BEND = 0.1  # where along the step its curvature is looked at, as a part of the step
_MAX_BENT = 0.75  # the longest second-order part of a step, as twice it by the first-order part


@inline_njit
def copy_columns(fit, target):
    """Write all derivatives at the point that was evaluated last, a column for each parameter."""
    size = 8 * fit.n
    for j in range(fit.k):
        source = column(fit.session, j) if fit.rows == 0 else 0
        if fit.rows != 0:
            take_column(target + size * j, fit.rows, j, fit.n, fit.k)
        elif source != 0:
            memcpy(target + size * j, source, size)
        else:
            memset(target + size * j, 0, size)


@inline_njit
def are_finite(fit):
    """Return whether all derivatives at the point that was evaluated last are finite."""
    if fit.rows != 0:
        return math.isfinite(dot(fit.rows, fit.rows, fit.n * fit.k))
    square = 0.0
    for j in range(fit.k):
        source = column(fit.session, j)
        if source != 0:
            square += dot(source, source, fit.n)
    return math.isfinite(square)


@inline_njit
def scaled_length(fit, vector):
    """Length of a change of the parameters in units of their scales."""
    total = 0.0
    for j in range(fit.k):
        total += (load_f64(fit.scale, j) * load_f64(vector, j)) ** 2
    return math.sqrt(total)


@inline_njit
def _load_columns(fit, q):
    """Copy the columns of the free parameters, scaled, to be factored."""
    for c in range(q):
        j = load_i64(fit.free, c)
        target = fit.work + 8 * c * fit.n
        copy_scaled(target, 1.0 / load_f64(fit.scale, j), fit.columns + 8 * j * fit.n, fit.n)
        store_i64(fit.addresses, c, target)


@inline_njit
def _factor_free(fit, q, residuals):
    """Factor the problem of the free parameters; its rank."""
    _load_columns(fit, q)
    if fit.normal != 0 and damped.cholesky(fit.addresses, fit.triangle, fit.n, q):
        for c in range(q):
            store_f64(fit.right, c, dot(load_i64(fit.addresses, c), residuals, fit.n))
        damped.solve_transposed(fit.triangle, fit.right, q)
        return q
    rank = damped.factor(fit.addresses, fit.free, fit.norms, fit.triangle, fit.n, q)
    memcpy(fit.right_side, residuals, 8 * fit.n)
    damped.reflect_all(fit.addresses, fit.norms, fit.right_side, fit.n, q)
    memset(fit.right, 0, 8 * q)
    memcpy(fit.right, fit.right_side, 8 * min(fit.n, q))
    return rank


@inline_njit
def factor_all(fit, residuals):
    """Factor the problem of all parameters; its rank."""
    for j in range(fit.k):
        store_i64(fit.free, j, j)
    return _factor_free(fit, fit.k, residuals)


@inline_njit
def move(fit, q, start):
    """Move from a start along the step of the free parameters; `trial` holds the rest."""
    for c in range(q):
        j = load_i64(fit.free, c)
        store_f64(fit.trial, j, load_f64(start, j) + load_f64(fit.step, c) / load_f64(fit.scale, j))


@inline_njit
def _hold_projected(fit, q):
    """Project the trial, and remove the parameters that were outside from the free ones; return the number left."""
    left = 0
    for c in range(q):
        j = load_i64(fit.free, c)
        value = load_f64(fit.trial, j)
        if load_f64(fit.lower, j) <= value <= load_f64(fit.upper, j):
            store_i64(fit.free, left, j)
            left += 1
    project(fit.trial, fit.lower, fit.upper, fit.k)
    return left


@inline_njit
def _look_along(fit):
    """Write the change of the residuals along the step from `x` to `trial` by their derivatives."""
    memset(fit.along, 0, 8 * fit.n)
    for j in range(fit.k):
        change = load_f64(fit.trial, j) - load_f64(fit.x, j)
        if change != 0.0:
            add_scaled(fit.along, change, fit.columns + 8 * j * fit.n, fit.n)


@inline_njit
def predicted(fit):
    """Return the decrease of the cost along the step, if the residuals are linear."""
    slope = 0.0
    for j in range(fit.k):
        slope += load_f64(fit.gradient, j) * (load_f64(fit.trial, j) - load_f64(fit.x, j))
    return -(slope + 0.5 * dot(fit.along, fit.along, fit.n))


@inline_njit
def list_free(fit):
    """List the parameters that are not held; return their number."""
    count = 0
    for j in range(fit.k):
        if not is_held(fit.x, fit.gradient, fit.lower, fit.upper, j, 1):
            store_i64(fit.free, count, j)
            count += 1
    return count


@inline_njit
def step_in_box(fit, look_along, step_freely):
    """Write the trial of a problem with bounds: those that a step would cross are kept to, and others step anew.

    ``look_along(fit)`` writes the change of the residuals up to the trial to `along`; ``step_freely(fit, q)`` writes
    the step of the free parameters from there.
    """
    memcpy(fit.trial, fit.x, 8 * fit.k)
    q = list_free(fit)
    while q > 0:
        look_along(fit)
        add_scaled(fit.along, 1.0, fit.r, fit.n)
        step_freely(fit, q)
        move(fit, q, fit.x)
        left = _hold_projected(fit, q)
        if left == q:
            break
        q = left
        for c in range(q):
            j = load_i64(fit.free, c)
            store_f64(fit.trial, j, load_f64(fit.x, j))


@inline_njit
def _step_freely(fit, q):
    """Write the step of the free parameters from a point where the residuals are `along`."""
    damped.step_within_radius(fit, q, _factor_free(fit, q, fit.along))


@inline_njit
def _step_anywhere(fit):
    """Write the trial of a problem without bounds. The factored problem is kept while steps are rejected."""
    if load_i64(fit.counts, fields.FACTORED) == 0:
        store_i64(fit.counts, fields.FACTORED, 1 + factor_all(fit, fit.r))
    damped.step_within_radius(fit, fit.k, load_i64(fit.counts, fields.FACTORED) - 1)
    move(fit, fit.k, fit.x)


@inline_njit
def propose(fit):
    """Write the trial, and what it should gain."""
    if fit.bounded != 0:
        step_in_box(fit, _look_along, _step_freely)
    else:
        _step_anywhere(fit)
    _look_along(fit)
    store_f64(fit.settings, fields.PREDICTED, predicted(fit))


# --- the second order of a step ----------------------------------------------------------------------------------


@inline_njit
def look_ahead(fit):
    """Write the second derivative of the residuals along the step, a difference of derivatives.

    Return the status of their evaluation. The trial is left where they are evaluated.
    """
    for j in range(fit.k):
        store_f64(fit.scratch, j, load_f64(fit.trial, j) - load_f64(fit.x, j))
        store_f64(fit.trial, j, load_f64(fit.x, j) + _BEND * load_f64(fit.scratch, j))
    status = evaluate_trial(fit)
    if status == 0:
        copy_columns(fit, fit.work)
        copy_scaled(fit.right_side, -1.0 / _BEND, fit.along, fit.n)
        for j in range(fit.k):
            add_scaled(fit.right_side, load_f64(fit.scratch, j) / _BEND, fit.work + 8 * j * fit.n, fit.n)
    return status


@inline_njit
def _half_acceleration(fit):
    """Write the second-order part of the step, scaled; its length, or 0 where it is not determined."""
    memcpy(fit.values, fit.right_side, 8 * fit.n)
    damping = load_f64(fit.settings, fields.DAMPING)
    rank = factor_all(fit, fit.values)
    if rank < fit.k and damping == 0.0:
        return 0.0
    return damped.damped_step(fit, fit.k, damping, -0.5)


@inline_njit
def bend(fit, computed):
    """Write the trial anew, with the second-order part of the step where there is one; return whether that is short."""
    store_i64(fit.counts, fields.FACTORED, 0)
    for j in range(fit.k):
        store_f64(fit.trial, j, load_f64(fit.x, j) + load_f64(fit.scratch, j))
    if not (computed and math.isfinite(dot(fit.right_side, fit.right_side, fit.n))):
        return True
    length = _half_acceleration(fit)
    if length > 0.0:
        move(fit, fit.k, fit.trial)
    return 2.0 * length <= _MAX_BENT * scaled_length(fit, fit.scratch)
