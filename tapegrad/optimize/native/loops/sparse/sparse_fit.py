"""Nonlinear least squares with a sparse Jacobian, by Levenberg and Marquardt's method in a trust region.

The loop, and so the radius, the losses and the criteria to stop, are those of `levenberg`. A damping takes a Cholesky
factor of ``J^T J + damping * D^2``. Where the matrix is not safely definite, as in a bundle adjustment, whose scene may
be moved and turned, each step has a little damping: a search for the step of least length would take a factor for each
of many dampings. As that may pass, a step without it is tried again, ever more rarely.
"""

import math

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.language.raw_memory import (
    load_f64,
    load_i32,
    load_i64,
    load_record,
    memcpy,
    memset,
    store_f64,
    store_i64,
)
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY
from tapegrad.optimize.native.loops import fit_fields as fields
from tapegrad.optimize.native.loops import levenberg
from tapegrad.optimize.native.loops.cost import LINEAR
from tapegrad.optimize.native.loops.damped import limit_step
from tapegrad.optimize.native.loops.driver import PHASE, TRYING, drive
from tapegrad.optimize.native.loops.fit_steps import move, predicted, step_in_box
from tapegrad.optimize.native.loops.sparse import sparse_fields, systems
from tapegrad.optimize.native.loops.sparse.products import (
    rescale_rows,
    square,
    times,
    transposed_times,
    widen_scale,
)
from tapegrad.optimize.native.loops.vectors import dot, norm

_SAFE = (
    1e4 * 2.220446049250313e-16
)  # least part of a pivot by its element of the matrix, as for dense normal equations
_HELD = (
    1e40  # what is added for a parameter that is held, by its element of the matrix: beside it nothing counts
)
_MAX_PAUSE = 16  # steps
_MAX_TRIALS = 20  # of dampings, each ten times the one before, until a matrix is definite


# --- a point that is accepted ------------------------------------------------------------------------------------


@inline_njit
def _count_entries(fit):
    return load_i32(fit.starts, fit.n)


@inline_njit
def _rescale_rows(fit):
    """Multiply the rows of the Jacobian by their factors."""
    rescale_rows(fit.matrix, fit.starts, fit.factors, fit.n)


@inline_njit
def _take_derivatives(fit):
    """Take over the derivatives that were evaluated last; return whether they are finite. Update the scale by them."""
    entries = _count_entries(fit)
    if not math.isfinite(dot(fit.entries, fit.entries, entries)):
        return False
    memcpy(fit.matrix, fit.entries, 8 * entries)
    levenberg.rescale_residuals(fit)
    if fit.loss != LINEAR:
        _rescale_rows(fit)
    transposed_times(fit.matrix, fit.starts, fit.columns, fit.values, fit.gradient, fit.n, fit.k)
    if fit.scaled != 0:
        widen_scale(fit.matrix, fit.columns, entries, fit.scale, fit.slopes, fit.k)
    levenberg.accept_trial(fit)
    return True


# --- steps -------------------------------------------------------------------------------------------------------


@inline_njit
def _add_damping(fit, s, damping):
    """Write what is added to the diagonal."""
    for place in range(fit.k):
        j = load_i64(s.order, place)
        scale = load_f64(fit.scale, j)
        value = damping * scale * scale
        if load_i64(fit.held, j) != 0:
            value = _HELD * (1.0 + scale * scale)
        store_f64(s.added, place, value)


@inline_njit
def _note_failure(fit, status):
    if status == systems.NO_MEMORY:
        store_i64(fit.counts, sparse_fields.OUT_OF_MEMORY, 1)


@inline_njit
def _factor(fit, s, damping):
    """Factor the system for a damping, or for a larger one where rounding leaves it indefinite."""
    for _ in range(_MAX_TRIALS):
        _add_damping(fit, s, damping)
        status = systems.factor(s, 0.0)
        if status != systems.NOT_DEFINITE:
            _note_failure(fit, status)
            return
        damping *= 10.0


@inline_njit
def _solve(fit, q, damping):
    """Write the step for a damping; return its length. Without one the system is factored already."""
    s = load_record(fit.system, sparse_fields.SystemFields)
    if damping != 0.0:
        _factor(fit, s, damping + load_f64(fit.settings, sparse_fields.BASE))
    for place in range(fit.k):
        j = load_i64(s.order, place)
        store_f64(s.right, place, 0.0 if load_i64(fit.held, j) != 0 else -load_f64(fit.slopes, j))
    _solve_right(fit, s)
    for c in range(q):
        j = load_i64(fit.free, c)
        store_f64(fit.step, c, load_f64(fit.scale, j) * load_f64(fit.scratch, j))
    return norm(fit.step, q)


@inline_njit
def _solve_right(fit, s):
    """Solve for the right-hand side; write the solution in the order of the parameters to `scratch`."""
    if not systems.solve(s):
        store_i64(fit.counts, sparse_fields.OUT_OF_MEMORY, 1)
    for place in range(fit.k):
        store_f64(fit.scratch, load_i64(s.order, place), load_f64(s.right, place))


@inline_njit
def _inverse_square(fit, q, damping, length):
    """Return the product of the normalised step with the inverse of the scaled matrix and itself."""
    s = load_record(fit.system, sparse_fields.SystemFields)
    memset(fit.scratch, 0, 8 * fit.k)
    for c in range(q):
        j = load_i64(fit.free, c)
        store_f64(fit.scratch, j, load_f64(fit.scale, j) * load_f64(fit.step, c) / length)
    for place in range(fit.k):
        store_f64(s.right, place, load_f64(fit.scratch, load_i64(s.order, place)))
    _solve_right(fit, s)
    total = 0.0
    for c in range(q):
        j = load_i64(fit.free, c)
        total += load_f64(fit.scale, j) * load_f64(fit.step, c) / length * load_f64(fit.scratch, j)
    return total


@inline_njit
def _steepest(fit, q):
    """Length of the scaled gradient."""
    total = 0.0
    for c in range(q):
        j = load_i64(fit.free, c)
        total += (load_f64(fit.slopes, j) / load_f64(fit.scale, j)) ** 2
    return math.sqrt(total)


@inline_njit
def _is_factored_without_damping(fit, s):
    """Factor the system without damping, unless that failed a short time ago; return whether it is safely definite."""
    waited, pause = load_i64(fit.counts, sparse_fields.WAITED), load_i64(fit.counts, sparse_fields.PAUSE)
    store_i64(fit.counts, sparse_fields.WAITED, waited + 1)
    if waited < pause:
        return False
    _add_damping(fit, s, 0.0)
    status = systems.factor(s, _SAFE)
    _note_failure(fit, status)
    store_i64(fit.counts, sparse_fields.WAITED, 0)
    pause = 0 if status == systems.FACTORED else min(2 * pause + 1, _MAX_PAUSE)
    store_i64(fit.counts, sparse_fields.PAUSE, pause)
    return status == systems.FACTORED


@inline_njit
def _largest(fit, s):
    """Return the largest element on the diagonal of the scaled matrix; 1 if all are zero."""
    found = 0.0
    for place in range(fit.k):
        found = max(found, systems.square_of(s, place) / load_f64(fit.scale, load_i64(s.order, place)) ** 2)
    return found if found > 0.0 else 1.0


@inline_njit
def _step_within_radius(fit, q):
    """Write the step of the free parameters by the slopes, within the radius."""
    s = load_record(fit.system, sparse_fields.SystemFields)
    for j in range(fit.k):
        store_i64(fit.held, j, 1)
    for c in range(q):
        store_i64(fit.held, load_i64(fit.free, c), 0)
    base = 0.0
    if not _is_factored_without_damping(fit, s):
        base = _SAFE * _largest(fit, s)
        _factor(fit, s, base)
    store_f64(fit.settings, sparse_fields.BASE, base)
    limit_step(fit, q, 1, _solve, _inverse_square, _steepest)


@inline_njit
def _step_freely(fit, q):
    """Write the step of the free parameters from a point where the residuals are `along`."""
    transposed_times(fit.matrix, fit.starts, fit.columns, fit.along, fit.slopes, fit.n, fit.k)
    _step_within_radius(fit, q)


@inline_njit
def _look_along(fit):
    """Write the change of the residuals along the step from `x` to `trial` by their derivatives."""
    for j in range(fit.k):
        store_f64(fit.scratch, j, load_f64(fit.trial, j) - load_f64(fit.x, j))
    times(fit.matrix, fit.starts, fit.columns, fit.scratch, fit.along, fit.n)


@inline_njit
def _step_anywhere(fit):
    """Write the trial of a problem without bounds."""
    for j in range(fit.k):
        store_i64(fit.free, j, j)
    memcpy(fit.slopes, fit.gradient, 8 * fit.k)
    _step_within_radius(fit, fit.k)
    move(fit, fit.k, fit.x)


@inline_njit
def _choose_step(fit):
    """Write the next trial, and what it should gain; return a status on which Python has to act, or 0."""
    if load_i64(fit.counts, fields.FACTORED) == 0:
        square(load_record(fit.system, sparse_fields.SystemFields), fit)
        store_i64(fit.counts, fields.FACTORED, 1)
    if fit.bounded != 0:
        step_in_box(fit, _look_along, _step_freely)
    else:
        _step_anywhere(fit)
    if load_i64(fit.counts, sparse_fields.OUT_OF_MEMORY) != 0:
        return OUT_OF_MEMORY
    _look_along(fit)
    store_f64(fit.settings, fields.PREDICTED, predicted(fit))
    store_i64(fit.counts, PHASE, TRYING)
    return 0


# --- the loop ----------------------------------------------------------------------------------------------------


@inline_njit
def _begin(fit, computed):
    levenberg.begin(fit, computed, _take_derivatives, _rescale_rows)


@inline_njit
def _assess(fit, computed):
    levenberg.assess(fit, computed, _take_derivatives, _rescale_rows)


@inline_njit
def _finish(fit, status):
    levenberg.finish(fit, status, _rescale_rows)


@entry_point(nogil=True)
def run_sparse_fit(record):
    """Go on with a fit until it is finished, or Python has to act; the status of the last evaluation."""
    fit = load_record(record, sparse_fields.SparseFitFields)
    return drive(fit, levenberg.has_next, _choose_step, _begin, _assess, _finish, fields.TOO_MANY_EVALUATIONS)
