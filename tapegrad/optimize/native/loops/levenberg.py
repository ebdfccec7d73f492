"""One nonlinear least-squares problem by Levenberg and Marquardt's method with a trust region.

Steps are those of Moré [1]_ in parameters that are scaled by the lengths of the Jacobian's columns; the radius changes
as in SciPy's ``trf``. A step may be bent along the curvature of the residuals [2]_. The loop is a machine of states:
where Python has to act, it returns, and goes on when it is called again.

References
----------
.. [1] J. J. Moré, "The Levenberg-Marquardt algorithm: implementation and theory", Lecture Notes in Mathematics 630,
   1978.
.. [2] M. K. Transtrum, J. P. Sethna, "Improvements to the Levenberg-Marquardt algorithm for nonlinear least-squares
   minimization", arXiv:1201.5885, 2012.
"""

import math

from tapegrad.engine.kernels.raw_memory import (
    load_f64,
    load_i64,
    load_record,
    memcpy,
    memset,
    store_f64,
    store_i64,
)
from tapegrad.engine.runtime.compiler import entry_point, inline_njit
from tapegrad.optimize.native.loops import damped
from tapegrad.optimize.native.loops.box import list_free, project, steepness
from tapegrad.optimize.native.loops.evaluation import are_finite, copy_columns, evaluate_trial, is_for_python
from tapegrad.optimize.native.loops.fit_words import (
    ACCELERATED,
    BY_BOTH,
    BY_FTOL,
    BY_GTOL,
    BY_XTOL,
    COST,
    DAMPING,
    F_SCALE,
    FACTORED,
    FINISHED,
    FTOL,
    GTOL,
    MAX_NFEV,
    MOST_EVALUATIONS,
    NFEV,
    NOT_COMPUTED,
    NOT_FINITE,
    OPTIMALITY,
    PHASE,
    PREDICTED,
    PROPOSED,
    RADIUS,
    STATUS,
    TRYING,
    XTOL,
    Fit,
)
from tapegrad.optimize.native.loops.losses import LINEAR, rescale
from tapegrad.optimize.native.loops.radius import step_within_radius
from tapegrad.optimize.native.loops.vectors import add_scaled, copy_scaled, dot, fill, multiply

_EPS = 2.220446049250313e-16
_BEND = 0.1  # where along the step its curvature is looked at, as a part of the step
_MOST_BENT = 0.75  # the longest second-order part of a step, as twice it by the first-order part


# --- a point that is accepted ------------------------------------------------------------------------------------


@inline_njit
def _cost_of_trial(fit):
    """Cost of the residuals that were evaluated last. They are rescaled in place for a robust loss."""
    if fit.loss == LINEAR:
        return 0.5 * dot(fit.values, fit.values, fit.n)
    return rescale(fit.loss, load_f64(fit.settings, F_SCALE), fit.values, fit.factors, fit.n)


@inline_njit
def _take_derivatives(fit):
    """Take over the derivatives that were evaluated last; whether they are finite. Update the scale by them."""
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
def _scaled_length(fit, vector):
    total = 0.0
    for j in range(fit.k):
        total += (load_f64(fit.scale, j) * load_f64(vector, j)) ** 2
    return math.sqrt(total)


@inline_njit
def _finish(fit, status):
    store_i64(fit.counts, STATUS, status)
    store_i64(fit.counts, PHASE, FINISHED)
    store_f64(fit.settings, OPTIMALITY, steepness(fit.x, fit.gradient, fit.lower, fit.upper, fit.k))


@inline_njit
def _finish_if_flat(fit):
    if steepness(fit.x, fit.gradient, fit.lower, fit.upper, fit.k) < load_f64(fit.settings, GTOL):
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
    radius = _scaled_length(fit, fit.x)
    store_f64(fit.settings, RADIUS, radius if radius > 0.0 else 1.0)
    store_i64(fit.counts, PHASE, TRYING)
    _finish_if_flat(fit)


# --- a step ------------------------------------------------------------------------------------------------------


@inline_njit
def _load_columns(fit, q):
    """Copy the columns of the free parameters, scaled, to be factored."""
    for c in range(q):
        j = load_i64(fit.free, c)
        target = fit.work + 8 * c * fit.n
        copy_scaled(target, 1.0 / load_f64(fit.scale, j), fit.columns + 8 * j * fit.n, fit.n)
        store_i64(fit.addresses, c, target)


@inline_njit
def _factor(fit, q, residuals):
    """Factor the problem of the free parameters; its rank."""
    _load_columns(fit, q)
    if fit.normal != 0 and damped.cholesky(fit.addresses, fit.triangle, fit.n, q):
        for c in range(q):
            store_f64(fit.right, c, dot(load_i64(fit.addresses, c), residuals, fit.n))
        damped.solve_transposed(fit.triangle, fit.right, q)
        return q
    rank = damped.factor(fit.addresses, fit.free, fit.norms, fit.triangle, fit.n, q)
    memcpy(fit.right_side, residuals, 8 * fit.n)
    damped.reflect_all(fit.addresses, fit.right_side, fit.n, q)
    memset(fit.right, 0, 8 * q)
    memcpy(fit.right, fit.right_side, 8 * min(fit.n, q))
    return rank


@inline_njit
def _move(fit, q):
    """Move from `x` along the step of the free parameters; `trial` holds the rest."""
    for c in range(q):
        j = load_i64(fit.free, c)
        store_f64(fit.trial, j, load_f64(fit.x, j) + load_f64(fit.step, c) / load_f64(fit.scale, j))


@inline_njit
def _hold_projected(fit, q):
    """Project the trial, and take the parameters that were outside out of the free ones; how many are left."""
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
def _predicted(fit):
    """By how much the cost falls along the step, if the residuals are linear."""
    slope = 0.0
    for j in range(fit.k):
        slope += load_f64(fit.gradient, j) * (load_f64(fit.trial, j) - load_f64(fit.x, j))
    return -(slope + 0.5 * dot(fit.along, fit.along, fit.n))


@inline_njit
def _step_in_box(fit):
    """Write the trial of a problem with bounds: those that a step would cross are kept to, and others step anew."""
    memcpy(fit.trial, fit.x, 8 * fit.k)
    q = list_free(fit.x, fit.gradient, fit.lower, fit.upper, fit.free, fit.k)
    while q > 0:
        _look_along(fit)
        add_scaled(fit.along, 1.0, fit.r, fit.n)
        step_within_radius(fit, q, _factor(fit, q, fit.along))
        _move(fit, q)
        left = _hold_projected(fit, q)
        if left == q:
            break
        q = left
        for c in range(q):
            j = load_i64(fit.free, c)
            store_f64(fit.trial, j, load_f64(fit.x, j))


@inline_njit
def _step_anywhere(fit):
    """Write the trial of a problem without bounds. The factored problem is kept while steps are rejected."""
    if load_i64(fit.counts, FACTORED) == 0:
        for j in range(fit.k):
            store_i64(fit.free, j, j)
        store_i64(fit.counts, FACTORED, 1 + _factor(fit, fit.k, fit.r))
    step_within_radius(fit, fit.k, load_i64(fit.counts, FACTORED) - 1)
    _move(fit, fit.k)


@inline_njit
def _propose(fit):
    """Write the trial, and what it should gain."""
    if fit.bounded != 0:
        _step_in_box(fit)
    else:
        _step_anywhere(fit)
    _look_along(fit)
    store_f64(fit.settings, PREDICTED, _predicted(fit))


# --- the second order of a step ----------------------------------------------------------------------------------


@inline_njit
def _second_derivative(fit):
    """Write that of the residuals along the step, a difference of derivatives; the status of their evaluation."""
    for j in range(fit.k):
        store_f64(fit.scratch, j, load_f64(fit.trial, j) - load_f64(fit.x, j))
        store_f64(fit.trial, j, load_f64(fit.x, j) + _BEND * load_f64(fit.scratch, j))
    status = evaluate_trial(fit)
    if status == 0:
        copy_columns(fit, fit.work)
        copy_scaled(fit.right_side, -1.0 / _BEND, fit.along, fit.n)
        for j in range(fit.k):
            add_scaled(fit.right_side, load_f64(fit.scratch, j) / _BEND, fit.work + 8 * j * fit.n, fit.n)
    for j in range(fit.k):
        store_f64(fit.trial, j, load_f64(fit.x, j) + load_f64(fit.scratch, j))
    return status


@inline_njit
def _bend(fit):
    """Add the second-order part to the trial, where it is short and finite. Return a status of the evaluation."""
    status = _second_derivative(fit)
    store_i64(fit.counts, FACTORED, 0)
    first = _scaled_length(fit, fit.scratch)
    if status != 0 or not math.isfinite(dot(fit.right_side, fit.right_side, fit.n)):
        return status
    memcpy(fit.values, fit.right_side, 8 * fit.n)
    for j in range(fit.k):
        store_i64(fit.free, j, j)
    damping = load_f64(fit.settings, DAMPING)
    rank = _factor(fit, fit.k, fit.values)
    if rank < fit.k and damping == 0.0:
        return 0
    damped.damped_triangle(fit.triangle, fit.right, damping, fit.damped, fit.damped_right, fit.row, fit.k)
    copy_scaled(fit.step, -0.5, fit.damped_right, fit.k)
    damped.solve_upper(fit.damped, fit.step, fit.step, fit.k)
    if 2.0 * math.sqrt(dot(fit.step, fit.step, fit.k)) <= _MOST_BENT * first:
        for c in range(fit.k):
            j = load_i64(fit.free, c)
            moved = load_f64(fit.trial, j) + load_f64(fit.step, c) / load_f64(fit.scale, j)
            store_f64(fit.trial, j, moved)
        store_i64(fit.counts, ACCELERATED, load_i64(fit.counts, ACCELERATED) + 1)
    return 0


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
def _reason_to_stop(fit, gained, predicted, ratio):
    """The status with which the fit ends; -1: it does not."""
    cost, xtol = load_f64(fit.settings, COST), load_f64(fit.settings, XTOL)
    ftol = load_f64(fit.settings, FTOL)
    flat = (abs(gained) < ftol * cost and ratio > 0.25) or (predicted <= 4.0 * _EPS * cost and ftol > 0.0)
    short = _length_of(fit.scratch, fit.k) < xtol * (xtol + _length_of(fit.x, fit.k))
    if flat and short:
        return BY_BOTH
    if flat:
        return BY_FTOL
    return BY_XTOL if short else -1


@inline_njit
def _assess(fit, computed):
    """Accept the trial or not, and see whether the fit ends."""
    cost = _cost_of_trial(fit) if computed else math.inf
    before, predicted = load_f64(fit.settings, COST), load_f64(fit.settings, PREDICTED)
    for j in range(fit.k):
        store_f64(fit.scratch, j, load_f64(fit.trial, j) - load_f64(fit.x, j))
    length = _scaled_length(fit, fit.scratch)
    gained = before - cost
    ratio = gained / predicted if predicted > 0.0 else 0.0
    accepted = math.isfinite(cost) and gained > 0.0 and _take_derivatives(fit)
    if not (math.isfinite(cost) and math.isfinite(ratio)):
        ratio = 0.0
    stop = _reason_to_stop(fit, gained, predicted, ratio) if math.isfinite(cost) or length == 0.0 else -1
    if accepted:
        store_f64(fit.settings, COST, cost)
    _move_radius(fit, ratio, length)
    if accepted:
        _finish_if_flat(fit)
    if stop >= 0 and load_i64(fit.counts, PHASE) != FINISHED:
        _finish(fit, stop)


# --- the end -----------------------------------------------------------------------------------------------------


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
    for j in range(fit.k):
        store_i64(fit.free, j, j)
    determined = fit.n > fit.k and _factor(fit, fit.k, fit.r) == fit.k
    if not determined:
        fill(fit.covariance, math.inf, fit.k * fit.k)
        return
    _invert_triangle(fit)
    variance = 2.0 * load_f64(fit.settings, COST) / (fit.n - fit.k)
    for a in range(fit.k):
        for b in range(fit.k):
            i, j, total = load_i64(fit.free, a), load_i64(fit.free, b), 0.0
            for c in range(max(a, b), fit.k):
                total += load_f64(fit.damped, c * fit.k + a) * load_f64(fit.damped, c * fit.k + b)
            scale = load_f64(fit.scale, i) * load_f64(fit.scale, j)
            store_f64(fit.covariance, i * fit.k + j, variance * total / scale)


@inline_njit
def _prepare(fit):
    """Write the next trial, if there is none yet; a status on which Python has to act, or 0."""
    if load_i64(fit.counts, PHASE) != TRYING:
        return 0
    _propose(fit)
    if fit.geodesic != 0:
        status = _bend(fit)
        if is_for_python(status):
            return status
    store_i64(fit.counts, PHASE, PROPOSED)
    return 0


@inline_njit
def _advance(fit):
    """Evaluate the next point, and go on from there; a status on which Python has to act, or 0."""
    status = _prepare(fit)
    if status == 0:
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
def run_fit(words):
    """Go on with a fit until it is finished, or Python has to act; the status of the last evaluation."""
    fit = load_record(words, Fit)
    while load_i64(fit.counts, PHASE) != FINISHED:
        if load_i64(fit.counts, NFEV) >= load_i64(fit.counts, MAX_NFEV):
            _finish(fit, MOST_EVALUATIONS)
            break
        status = _advance(fit)
        if status != 0:
            return status
    if load_i64(fit.counts, STATUS) >= 0:
        _write_covariance(fit)
    return 0
