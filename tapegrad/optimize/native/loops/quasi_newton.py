"""Minimisation by limited-memory BFGS [1]_ with bounds, and a line search that bisects [2]_.

Parameters that bounds hold do not move; the search goes along the projection of the direction on the box.

References
----------
.. [1] J. Nocedal, S. J. Wright, "Numerical Optimization", 2nd edition, algorithms 7.4 and 7.5, 2006.
.. [2] A. S. Lewis, M. L. Overton, "Nonsmooth optimization via quasi-Newton methods", Mathematical Programming 141,
   2013.
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
from tapegrad.optimize.native.loops import descents
from tapegrad.optimize.native.loops.driver import CHOOSING, PHASE, TRYING, count
from tapegrad.optimize.native.loops.vectors import add_scaled, copy_scaled, dot, is_held, norm, project

_EPS = 2.220446049250313e-16
_ENOUGH, _FLATTER = 1e-4, 0.9  # Wolfe's constants


# --- the direction -----------------------------------------------------------------------------------------------


@inline_njit
def _hold(run):
    """Take the parameters that are held at bounds out of the direction."""
    if run.bounded != 0:
        for j in range(run.k):
            if is_held(run.x, run.gradient, run.lower, run.upper, j, 1):
                store_f64(run.direction, j, 0.0)


@inline_njit
def _pair(run, age):
    """Return the number of the pair of that age, 0 for the newest."""
    return (load_i64(run.counts, descents.NEWEST) + run.memory - age) % run.memory


@inline_njit
def _multiply_by_inverse(run):
    """Multiply the direction by the approximate inverse of the Hessian."""
    stored, k = load_i64(run.counts, descents.STORED), run.k
    for age in range(stored):
        pair = _pair(run, age)
        step, change = run.steps + 8 * k * pair, run.changes + 8 * k * pair
        weight = dot(step, run.direction, k) / load_f64(run.curvatures, pair)
        store_f64(run.weights, pair, weight)
        add_scaled(run.direction, -weight, change, k)
    if stored > 0:
        newest = _pair(run, 0)
        change = run.changes + 8 * k * newest
        factor = load_f64(run.curvatures, newest) / dot(change, change, k)
        copy_scaled(run.direction, factor, run.direction, k)
    for back in range(stored):
        pair = _pair(run, stored - 1 - back)
        step, change = run.steps + 8 * k * pair, run.changes + 8 * k * pair
        weight = dot(change, run.direction, k) / load_f64(run.curvatures, pair)
        add_scaled(run.direction, load_f64(run.weights, pair) - weight, step, k)


@inline_njit
def _choose_direction(run):
    """Write a direction of descent."""
    copy_scaled(run.direction, -1.0, run.gradient, run.k)
    _hold(run)
    _multiply_by_inverse(run)
    _hold(run)
    slope = dot(run.gradient, run.direction, run.k)
    if not slope < 0.0:
        store_i64(run.counts, descents.STORED, 0)
        copy_scaled(run.direction, -1.0, run.gradient, run.k)
        _hold(run)
        slope = dot(run.gradient, run.direction, run.k)
    store_f64(run.settings, descents.SLOPE, slope)


@inline_njit
def _begin_search(run):
    """Begin a line search; 0."""
    _choose_direction(run)
    length = 1.0
    if load_i64(run.counts, descents.STORED) == 0:
        length = min(1.0, 1.0 / norm(run.direction, run.k))
    store_f64(run.settings, descents.LENGTH, length)
    store_f64(run.settings, descents.SHORTEST, 0.0)
    store_f64(run.settings, descents.LONGEST, math.inf)
    store_i64(run.counts, descents.SEARCHED, 0)
    store_i64(run.counts, PHASE, TRYING)
    _go(run)
    return 0


@inline_njit
def _go(run):
    """Write the trial at the current length along the direction."""
    memcpy(run.trial, run.x, 8 * run.k)
    add_scaled(run.trial, load_f64(run.settings, descents.LENGTH), run.direction, run.k)
    if run.bounded != 0:
        project(run.trial, run.lower, run.upper, run.k)


# --- the line search ---------------------------------------------------------------------------------------------


@inline_njit
def _slope_to_trial(run, gradient):
    """Slope from the current point to the trial, for a gradient, per unit of length."""
    total, length = 0.0, load_f64(run.settings, descents.LENGTH)
    for j in range(run.k):
        total += load_f64(gradient, j) * ((load_f64(run.trial, j) - load_f64(run.x, j)) / length)
    return total


@inline_njit
def _shorter(run, finite):
    """Return a length below the current one: the minimum of a parabola, or the middle."""
    low, length = load_f64(run.settings, descents.SHORTEST), load_f64(run.settings, descents.LENGTH)
    middle = 0.5 * (low + length)
    if not finite or low > 0.0:
        return middle if finite else low + 0.1 * (length - low)
    slope = _slope_to_trial(run, run.gradient)
    above = load_f64(run.trial_value, 0) - load_f64(run.settings, descents.VALUE) - slope * length
    if not above > 0.0:
        return middle
    return min(max(-0.5 * slope * length * length / above, 0.1 * length), 0.5 * length)


@inline_njit
def _search_on(run, longer, finite):
    """Change the length; whether the search goes on."""
    count(run.counts, descents.SEARCHED)
    length = load_f64(run.settings, descents.LENGTH)
    if load_i64(run.counts, descents.SEARCHED) >= load_i64(run.counts, descents.MAX_SEARCH):
        return False
    if longer:
        store_f64(run.settings, descents.SHORTEST, length)
        longest = load_f64(run.settings, descents.LONGEST)
        changed = 2.0 * length if longest == math.inf else 0.5 * (length + longest)
    else:
        store_f64(run.settings, descents.LONGEST, length)
        changed = _shorter(run, finite)
    store_f64(run.settings, descents.LENGTH, changed)
    return True


@inline_njit
def _keep_pair(run):
    """Keep step and change of the gradient, if the curvature along the step is positive."""
    newest = (load_i64(run.counts, descents.NEWEST) + 1) % run.memory
    step, change = run.steps + 8 * run.k * newest, run.changes + 8 * run.k * newest
    copy_scaled(step, 1.0, run.trial, run.k)
    add_scaled(step, -1.0, run.x, run.k)
    copy_scaled(change, 1.0, run.trial_gradient, run.k)
    add_scaled(change, -1.0, run.gradient, run.k)
    curvature = dot(step, change, run.k)
    if curvature > _EPS * dot(change, change, run.k):
        store_f64(run.curvatures, newest, curvature)
        store_i64(run.counts, descents.NEWEST, newest)
        store_i64(run.counts, descents.STORED, min(load_i64(run.counts, descents.STORED) + 1, run.memory))


@inline_njit
def _accept(run):
    _keep_pair(run)
    before = load_f64(run.settings, descents.VALUE)
    descents.take_trial(run)
    store_i64(run.counts, PHASE, CHOOSING)
    count(run.counts, descents.NIT)
    descents.finish_if_converged(run, before)


@inline_njit
def _give_up(run):
    """Handle a failed line search: restart along the gradient, or end."""
    if load_i64(run.counts, descents.STORED) == 0:
        descents.finish(run, descents.NO_PROGRESS)
    else:
        store_i64(run.counts, descents.STORED, 0)
        store_i64(run.counts, PHASE, CHOOSING)


@inline_njit
def _assess(run, computed):
    """Accept the trial, or search on."""
    finite = computed and descents.is_finite(run)
    before, length = load_f64(run.settings, descents.VALUE), load_f64(run.settings, descents.LENGTH)
    slope = _slope_to_trial(run, run.gradient)
    if not finite or load_f64(run.trial_value, 0) > before + _ENOUGH * length * slope:
        longer = False
    else:
        after = _slope_to_trial(run, run.trial_gradient)
        longer = after < _FLATTER * slope and slope <= 0.5 * load_f64(run.settings, descents.SLOPE)
        if not longer and not (run.strong != 0 and after > -_FLATTER * slope):
            _accept(run)
            return
    if _search_on(run, longer, finite):
        _go(run)
    elif finite and load_f64(run.trial_value, 0) < before:
        _accept(run)
    else:
        _give_up(run)


@entry_point(nogil=True)
def run_quasi_newton(record):
    """Go on with the minimisations until they are finished, or Python has to act; the status of the last evaluation."""
    return descents.descend(load_record(record, descents.DescentFields), _begin_search, _assess)
