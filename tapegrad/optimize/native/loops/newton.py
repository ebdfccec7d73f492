"""Minimisation by Newton's method with a trust region, of products with the Hessian alone [1]_.

The steps are those of conjugate gradients, which stop at the radius and where the curvature is not positive.

References
----------
.. [1] T. Steihaug, "The conjugate gradient method and trust regions in large scale optimization", SIAM J. Numerical
   Analysis 20(3), 1983.
"""

import math

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.language.raw_memory import (
    load_f64,
    load_record,
    memcpy,
    memset,
    store_f64,
    store_i64,
)
from tapegrad.engine.sweep.replays.handle_calls import evaluate
from tapegrad.optimize.native.loops import descents
from tapegrad.optimize.native.loops.driver import CHOOSING, PHASE, TRYING, count, is_for_python
from tapegrad.optimize.native.loops.vectors import add_scaled, copy_scaled, dot, norm

_EPS = 2.220446049250313e-16
_ENOUGH = 0.15  # of what was predicted, for a step to be accepted


@inline_njit
def _to_radius(run, square):
    """Return the step along the conjugate direction to the radius."""
    radius, k = load_f64(run.settings, descents.RADIUS), run.k
    a = dot(run.conjugate, run.conjugate, k)
    b = dot(run.direction, run.conjugate, k)
    return (-b + math.sqrt(max(b * b + a * (radius * radius - square), 0.0))) / a


@inline_njit
def _begin_step(run):
    memset(run.direction, 0, 8 * run.k)
    memcpy(run.residual, run.gradient, 8 * run.k)
    copy_scaled(run.conjugate, -1.0, run.gradient, run.k)


@inline_njit
def _go_along(run, factor):
    """Lengthen the step along the conjugate direction, and change the gradient of the model with it."""
    add_scaled(run.direction, factor, run.conjugate, run.k)
    add_scaled(run.residual, factor, run.product, run.k)


@inline_njit
def _extend(run):
    """Go one step of conjugate gradients; return whether it was the last."""
    k, radius = run.k, load_f64(run.settings, descents.RADIUS)
    before, square = dot(run.direction, run.direction, k), dot(run.residual, run.residual, k)
    curvature = dot(run.conjugate, run.product, k)
    if not curvature > 0.0:
        _go_along(run, _to_radius(run, before))
        return True
    factor = square / curvature
    along, length = dot(run.direction, run.conjugate, k), dot(run.conjugate, run.conjugate, k)
    if before + factor * (2.0 * along + factor * length) >= radius * radius:
        _go_along(run, _to_radius(run, before))
        return True
    _go_along(run, factor)
    left = dot(run.residual, run.residual, k)
    steep = norm(run.gradient, k)
    if math.sqrt(left) <= min(0.5, math.sqrt(steep)) * steep:
        return True
    copy_scaled(run.conjugate, left / square, run.conjugate, k)
    add_scaled(run.conjugate, -1.0, run.residual, k)
    return False


@inline_njit
def _multiply(run):
    """Multiply the Hessian at `x` by the conjugate direction; return a status on which Python has to act, or 0.

    If the product is not finite, the model is linear.
    """
    status = evaluate(run.products)
    if is_for_python(status):
        return status
    count(run.counts, descents.NHEV)
    if status != 0 or not math.isfinite(dot(run.product, run.product, run.k)):
        memset(run.product, 0, 8 * run.k)
    return 0


@inline_njit
def _choose_step(run):
    """Write the step and what it should gain; return a status on which Python has to act, or 0."""
    _begin_step(run)
    for _ in range(2 * run.k + 10):
        status = _multiply(run)
        if status != 0:
            return status
        if _extend(run):
            break
    memcpy(run.trial, run.x, 8 * run.k)
    add_scaled(run.trial, 1.0, run.direction, run.k)
    slope, after = dot(run.gradient, run.direction, run.k), dot(run.residual, run.direction, run.k)
    store_f64(run.settings, descents.PREDICTED, -0.5 * (slope + after))
    store_i64(run.counts, PHASE, TRYING)
    return 0


@inline_njit
def _move_radius(run, ratio):
    length = norm(run.direction, run.k)
    radius = load_f64(run.settings, descents.RADIUS)
    if ratio < 0.25:
        radius = 0.25 * length
    elif ratio > 0.75 and length > 0.99 * radius:
        radius = min(2.0 * radius, load_f64(run.settings, descents.MAX_RADIUS))
    store_f64(run.settings, descents.RADIUS, radius)


@inline_njit
def _assess(run, computed):
    """Accept the trial, or try a shorter step."""
    before, predicted = load_f64(run.settings, descents.VALUE), load_f64(run.settings, descents.PREDICTED)
    store_i64(run.counts, PHASE, CHOOSING)
    finite = computed and descents.is_finite(run)
    gained = before - load_f64(run.trial_value, 0) if finite else -math.inf
    rounding = 8.0 * _EPS * max(abs(before), 1.0)  # what is less than it cannot be told from nothing
    ratio = 1.0 if abs(gained) <= rounding and predicted <= rounding else gained / predicted
    if not predicted > 0.0:
        ratio = -1.0
    _move_radius(run, ratio)
    if ratio > _ENOUGH:
        descents.take_trial(run)
        count(run.counts, descents.NIT)
        descents.finish_if_converged(run, before)
    elif load_f64(run.settings, descents.RADIUS) <= _EPS * norm(run.x, run.k):
        descents.finish(run, descents.NO_PROGRESS)


@entry_point(nogil=True)
def run_newton(record):
    """Go on with the minimisations until they are finished, or Python has to act; the status of the last evaluation."""
    return descents.descend(load_record(record, descents.DescentFields), _choose_step, _assess)
