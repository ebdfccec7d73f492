"""Minimisations from many starts: their record for compiled code, where they begin, and where they end."""

import math
from typing import NamedTuple

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_f64, load_i64, memcpy, store_f64, store_i64
from tapegrad.optimize.native.loops.driver import CHOOSING, FINISHED, NFEV, PHASE, STARTING, drive
from tapegrad.optimize.native.loops.vectors import dot, fill, steepness


class DescentFields(NamedTuple):
    """Record of minimisations by `k` parameters: numbers, addresses of arrays of float64, options."""

    k: int
    session: int  # evaluates value and gradient at `trial` to `trial_value` and `trial_gradient`
    products: int  # session, for Newton's method: evaluates the Hessian at `x` times `conjugate` to `product`
    memory: int  # how many pairs of a step and its change of the gradient are kept
    x: int
    gradient: int
    trial: int
    trial_value: int
    trial_gradient: int
    direction: int
    lower: int
    upper: int
    product: int
    conjugate: int
    residual: int  # (k,), gradient of the model
    steps: int  # (memory, k)
    changes: int
    curvatures: int  # (memory,), the products of both
    weights: int  # (memory,), of the recursion
    counts: int  # integers, by the constants of `driver` and of this module
    settings: int  # by the constants of this module
    starts: int  # by minimisation
    out_x: int
    out_value: int
    out_gradient: int
    out_status: int
    out_evaluations: int
    out_iterations: int
    out_products: int
    bounded: int
    strong: int  # whether the line search asks for the strong condition of Wolfe


# counts, after those of all runs
NIT, NHEV, MAX_NIT, MAX_SEARCH, SEARCHED, STORED, NEWEST, NEXT, END = range(4, 13)
# settings
VALUE, FTOL, GTOL, LENGTH, SHORTEST, LONGEST, SLOPE, RADIUS, MAX_RADIUS, PREDICTED = range(10)

# How a minimisation ended, as SciPy's L-BFGS-B numbers it, with more detail.
BY_FTOL, BY_GTOL, LIMIT, NO_PROGRESS, NOT_FINITE, NOT_COMPUTED, INTERRUPTED = range(7)


@inline_njit
def _begin_next(run):
    """Begin the next minimisation of the queue; return whether there is one."""
    number = load_i64(run.counts, NEXT)
    if number >= load_i64(run.counts, END):
        return False
    memcpy(run.trial, run.starts + 8 * run.k * number, 8 * run.k)
    for what in (NFEV, NIT, NHEV, STORED, NEWEST):
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
def _begin(run, computed):
    """Take the starting point, or end a minimisation whose start could not be evaluated."""
    if not computed:
        memcpy(run.x, run.trial, 8 * run.k)
        fill(run.gradient, math.nan, run.k)
        store_f64(run.settings, VALUE, math.nan)
        finish(run, NOT_COMPUTED)
        return
    take_trial(run)
    store_i64(run.counts, PHASE, CHOOSING)
    if not is_finite(run):
        finish(run, NOT_FINITE)
    elif steepness(run.x, run.gradient, run.lower, run.upper, run.k, 1) <= load_f64(run.settings, GTOL):
        finish(run, BY_GTOL)


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


@inline_njit
def descend(run, choose, assess):
    """Go on with all minimisations until they are finished, or Python has to act; the status of the last evaluation."""
    return drive(run, _begin_next, choose, _begin, assess, finish, LIMIT)
