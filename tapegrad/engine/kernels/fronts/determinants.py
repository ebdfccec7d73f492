"""Log-determinants of factored matrices, and their derivatives.

The gradient is the inverse on the pattern, with off-diagonal entries doubled. Tangent and cotangent of a derivative are
one of the next order: the form is symmetric in its directions.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.fronts.inverses import write_inverse
from tapegrad.engine.kernels.fronts.multilinear import write_multilinear
from tapegrad.engine.kernels.fronts.plan import (
    FRONTS,
    TARGETS,
    FrontPlan,
    are_columns,
    has_lists,
    load_plan,
    panel_columns,
)
from tapegrad.engine.kernels.language.frame import PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import Lapack, libraries
from tapegrad.engine.kernels.language.library import entry
from tapegrad.engine.kernels.language.raw_memory import (
    call_loop,
    free,
    load_at,
    load_f64,
    load_i64,
    load_record,
    malloc,
    memcpy,
    memset,
    size_of,
    stack_i64,
    store_at,
    store_f64,
)
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY, OUT_OF_RANGE
from tapegrad.engine.kernels.systems.stacks import are_zeros
from tapegrad.ops.structural.sparse_systems import SparseDerivativeParams, SparseLogdetParams

_LOG = entry("log")
LIBRARY = libraries(("sparse_logdet", "sparse_gradient", "sparse_derivative"), "symm", "potri") | {
    f"sparse_logdet_forward_{dtype}": ("log",) for dtype in ("f64", "f32")
}
_UP, _DOWN = 2.0**400, 2.0**-400


@always_inline
def _fits(address: int, p: Any, lists: int) -> bool:
    return has_lists(address, p.fields, p.entries, p.elements, lists)


@noinline
def _log_of(loops: int, value: float) -> float:
    scratch = stack_i64(1)
    store_f64(scratch, 0, value)
    call_loop(loops, _LOG, 1, (scratch, scratch))
    return load_f64(scratch, 0)


@always_inline
def _is_within(value: float) -> bool:
    return _DOWN < value < _UP


@noinline
def _logdet_of_columns(loops: int, plan: FrontPlan, factor: int, zero: Any) -> float:
    """Return the log-determinant for fronts of one pivot: four products of pivots side by side."""
    size, total, a, b, c, d = size_of(zero), 0.0, 1.0, 1.0, 1.0, 1.0
    whole = plan.n // 4
    for k in range(whole):
        j, own = 4 * k, plan.starts + 32 * k
        column = factor + j * size
        p = np.float64(load_at(column, load_i64(own, 0) * size, zero))
        q = np.float64(load_at(column, (load_i64(own, 1) + 1) * size, zero))
        r = np.float64(load_at(column, (load_i64(own, 2) + 2) * size, zero))
        s = np.float64(load_at(column, (load_i64(own, 3) + 3) * size, zero))
        ap, bq, cr, ds = float(a * p), float(b * q), float(c * r), float(d * s)
        if not (_is_within(ap) and _is_within(bq) and _is_within(cr) and _is_within(ds)):
            total += _log_of(loops, a) + _log_of(loops, b) + _log_of(loops, c) + _log_of(loops, d)
            total += _log_of(loops, p) + _log_of(loops, q) + _log_of(loops, r) + _log_of(loops, s)
            ap, bq, cr, ds = 1.0, 1.0, 1.0, 1.0
        a, b, c, d = ap, bq, cr, ds
    for j in range(4 * whole, plan.n):
        total += _log_of(loops, np.float64(load_at(factor, (load_i64(plan.starts, j) + j) * size, zero)))
    return 2.0 * (total + _log_of(loops, a) + _log_of(loops, b) + _log_of(loops, c) + _log_of(loops, d))


@noinline
def _logdet(loops: int, plan: FrontPlan, factor: int, zero: Any) -> float:
    """Return the log-determinant: logarithms of products of pivots that are in range."""
    if are_columns(plan):
        return _logdet_of_columns(loops, plan, factor, zero)
    size, total, product, panel = size_of(zero), 0.0, 1.0, factor
    for s in range(plan.fronts):
        _, width, height = panel_columns(plan, s)
        for j in range(width):
            pivot = np.float64(load_at(panel, j * (width + height + 1) * size, zero))
            following = float(product * pivot)
            if not (_DOWN < following < _UP):
                total += _log_of(loops, product) + _log_of(loops, pivot)
                following = 1.0
            product = following
        panel += width * (width + height) * size
    return 2.0 * (total + _log_of(loops, product))


@noinline
def _take_entries(plan: FrontPlan, inverse: int, into: int, zero: Any) -> None:
    """Write the entries of an inverse in the layout of the factor, those off the diagonal doubled."""
    size = size_of(zero)
    for e in range(plan.entries):
        value = load_at(inverse, load_i64(plan.targets, e) * size, zero)
        if load_i64(plan.entry_rows, e) != load_i64(plan.entry_columns, e):
            value += value
        store_at(into, e * size, value, zero)


@noinline
def _gradient(loops: int, routines: Lapack, plan: FrontPlan, factor: int, into: int) -> int:
    """Write the gradient of the log-determinant; return a status."""
    inverse = malloc(plan.elements * size_of(routines.zero) + 8)
    if inverse == 0:
        return OUT_OF_MEMORY
    status = write_inverse(loops, routines, plan, factor, inverse)
    if status == 0:
        _take_entries(plan, inverse, into, routines.zero)
    free(inverse)
    return status


@noinline
def _derivative(
    loops: int, routines: Lapack, plan: FrontPlan, factor: int, directions: int, count: int, into: int
) -> int:
    """Write the derivative of the gradient in `count` directions, a vector of entries each; return a status."""
    if count == 0:
        return _gradient(loops, routines, plan, factor, into)
    inverse = malloc(plan.elements * size_of(routines.zero) + 8)
    if inverse == 0:
        return OUT_OF_MEMORY
    status = write_multilinear(loops, routines, plan, factor, directions, count, inverse)
    if status == 0:
        _take_entries(plan, inverse, into, routines.zero)
    free(inverse)
    return status


@noinline
def _add(source: int, into: int, count: int, factor: Any, store: int, zero: Any) -> None:
    """Add (store: write) a multiple of numbers to others."""
    size = size_of(zero)
    for i in range(count):
        before = zero if store else load_at(into, i * size, zero)
        store_at(into, i * size, before + factor * load_at(source, i * size, zero), zero)


# --- log-determinant -------------------------------------------------------------------------------------------


@always_inline
def sparse_logdet_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write the log-determinant of the factored matrix X[0], with the plan X[1], to Y."""
    p, address = load_record(load_i64(frame, PARAMS), SparseLogdetParams), load_i64(frame, X + 1)
    if not _fits(address, p, FRONTS):
        return OUT_OF_RANGE
    factor, zero = load_i64(frame, X) + p.entries * size_of(routines.zero), routines.zero
    store_at(load_i64(frame, Y), 0, _logdet(loops, load_plan(address), factor, zero), zero)
    return 0


@always_inline
def sparse_logdet_reverse(frame: int, loops: int, routines: Lapack) -> int:
    """Add (STORE: write) the gradient times the cotangent to X_BAR[0]."""
    p, address = load_record(load_i64(frame, PARAMS), SparseLogdetParams), load_i64(frame, X + 1)
    x_bar, store, zero = load_i64(frame, X_BAR), load_i64(frame, STORE) & 1, routines.zero
    if not _fits(address, p, FRONTS | TARGETS):
        return OUT_OF_RANGE
    size, y_bar = size_of(zero), load_at(load_i64(frame, Y_BAR), 0, zero)
    if store:
        memset(x_bar, np.int32(0), (p.entries + p.elements) * size)
    if y_bar == zero:
        return 0
    own = malloc(p.entries * size + 8)
    if own == 0:
        return OUT_OF_MEMORY
    factor = load_i64(frame, X) + p.entries * size
    status = _gradient(loops, routines, load_plan(address), factor, own)
    if status == 0:
        _add(own, x_bar, p.entries, y_bar, store, zero)
    free(own)
    return status


@always_inline
def sparse_logdet_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write the gradient times the tangent of the entries to Y_BAR."""
    p, address = load_record(load_i64(frame, PARAMS), SparseLogdetParams), load_i64(frame, X + 1)
    if not _fits(address, p, FRONTS | TARGETS):
        return OUT_OF_RANGE
    zero, x_dot = routines.zero, load_i64(frame, X_BAR)
    size = size_of(zero)
    own = malloc(p.entries * size + 8)
    if own == 0:
        return OUT_OF_MEMORY
    factor = load_i64(frame, X) + p.entries * size
    status = _gradient(loops, routines, load_plan(address), factor, own)
    total = zero
    if status == 0:
        for e in range(p.entries):
            total += load_at(own, e * size, zero) * load_at(x_dot, e * size, zero)
    store_at(load_i64(frame, Y_BAR), 0, total, zero)
    free(own)
    return status


# --- gradient --------------------------------------------------------------------------------------------------


@always_inline
def sparse_gradient_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write the gradient of the log-determinant of the factored matrix X[0], with the plan X[1], to Y."""
    p, address = load_record(load_i64(frame, PARAMS), SparseLogdetParams), load_i64(frame, X + 1)
    if not _fits(address, p, FRONTS | TARGETS):
        return OUT_OF_RANGE
    factor = load_i64(frame, X) + p.entries * size_of(routines.zero)
    return _gradient(loops, routines, load_plan(address), factor, load_i64(frame, Y))


@always_inline
def sparse_gradient_reverse(frame: int, loops: int, routines: Lapack) -> int:
    """Add (STORE: write) the derivative of the gradient along the cotangent to X_BAR[0]."""
    p, address = load_record(load_i64(frame, PARAMS), SparseLogdetParams), load_i64(frame, X + 1)
    x_bar, store, zero = load_i64(frame, X_BAR), load_i64(frame, STORE) & 1, routines.zero
    if not _fits(address, p, FRONTS | TARGETS):
        return OUT_OF_RANGE
    size, y_bar = size_of(zero), load_i64(frame, Y_BAR)
    if store:
        memset(x_bar, np.int32(0), (p.entries + p.elements) * size)
    if are_zeros(y_bar, p.entries * size, zero):
        return 0
    own = malloc(p.entries * size + 8)
    if own == 0:
        return OUT_OF_MEMORY
    factor, count = load_i64(frame, X) + p.entries * size, np.int64(1)
    status = _derivative(loops, routines, load_plan(address), factor, y_bar, count, own)
    if status == 0:
        _add(own, x_bar, p.entries, zero + 1, store, zero)
    free(own)
    return status


@always_inline
def sparse_gradient_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write the derivative of the gradient along the tangent of the entries to Y_BAR."""
    p, address = load_record(load_i64(frame, PARAMS), SparseLogdetParams), load_i64(frame, X + 1)
    if not _fits(address, p, FRONTS | TARGETS):
        return OUT_OF_RANGE
    factor, count = load_i64(frame, X) + p.entries * size_of(routines.zero), np.int64(1)
    x_dot, y_dot = load_i64(frame, X_BAR), load_i64(frame, Y_BAR)
    return _derivative(loops, routines, load_plan(address), factor, x_dot, count, y_dot)


# --- derivatives in several directions -------------------------------------------------------------------------


@always_inline
def sparse_derivative_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write the derivative of the gradient in the directions X[1] of the factored matrix X[0], with the plan X[2]."""
    p, address = load_record(load_i64(frame, PARAMS), SparseDerivativeParams), load_i64(frame, X + 2)
    if not _fits(address, p, FRONTS | TARGETS):
        return OUT_OF_RANGE
    factor, y = load_i64(frame, X) + p.entries * size_of(routines.zero), load_i64(frame, Y)
    return _derivative(loops, routines, load_plan(address), factor, load_i64(frame, X + 1), p.directions, y)


@noinline
def _cotangents(
    loops: int, routines: Lapack, frame: int, p: Any, plan: FrontPlan, directions: int, own: int
) -> int:
    """Add the cotangents of the factored matrix and of each direction; `directions` ends with that of the result."""
    zero, row = routines.zero, p.entries * size_of(routines.zero)
    factor, store = load_i64(frame, X) + row, load_i64(frame, STORE)
    a_bar, s_bar, one, status = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1), zero + 1, 0
    last = directions + p.directions * row
    if a_bar != 0:
        status = _derivative(loops, routines, plan, factor, directions, p.directions + 1, own)
        _add(own, a_bar, p.entries, one, store & 1, zero)
    for i in range(p.directions if s_bar != 0 else 0):
        # the cotangent takes the place of direction i
        memcpy(directions + i * row, last, row)
        status |= _derivative(loops, routines, plan, factor, directions, p.directions, own)
        memcpy(directions + i * row, load_i64(frame, X + 1) + i * row, row)
        _add(own, s_bar + i * row, p.entries, one, store & 2, zero)
    return status


@always_inline
def sparse_derivative_reverse(frame: int, loops: int, routines: Lapack) -> int:
    """Add (STORE: write) the cotangents of the factored matrix and of the directions."""
    p, address = load_record(load_i64(frame, PARAMS), SparseDerivativeParams), load_i64(frame, X + 2)
    if not _fits(address, p, FRONTS | TARGETS):
        return OUT_OF_RANGE
    zero, a_bar, y_bar = routines.zero, load_i64(frame, X_BAR), load_i64(frame, Y_BAR)
    size = size_of(zero)
    row = p.entries * size
    own = malloc((p.directions + 2) * row + 8)
    if own == 0:
        return OUT_OF_MEMORY
    memset(own, np.int32(0), row)
    memcpy(own + row, load_i64(frame, X + 1), p.directions * row)
    memcpy(own + (p.directions + 1) * row, y_bar, row)
    if a_bar != 0 and load_i64(frame, STORE) & 1:
        memset(a_bar, np.int32(0), row + p.elements * size)
    status = _cotangents(loops, routines, frame, p, load_plan(address), own + row, own)
    free(own)
    return status


@always_inline
def sparse_derivative_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write the tangent of a derivative to Y_BAR; either tangent may be absent."""
    p, address = load_record(load_i64(frame, PARAMS), SparseDerivativeParams), load_i64(frame, X + 2)
    if not _fits(address, p, FRONTS | TARGETS):
        return OUT_OF_RANGE
    zero, y_dot, plan = routines.zero, load_i64(frame, Y_BAR), load_plan(address)
    row = p.entries * size_of(zero)
    a_dot, s_dot, factor = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1), load_i64(frame, X) + row
    own, status, store = malloc((p.directions + 2) * row + 8), 0, np.int64(0)
    if own == 0:
        return OUT_OF_MEMORY
    directions = own + row
    memset(y_dot, np.int32(0), row)
    memcpy(directions, load_i64(frame, X + 1), p.directions * row)
    if a_dot != 0:
        memcpy(directions + p.directions * row, a_dot, row)
        status = _derivative(loops, routines, plan, factor, directions, p.directions + 1, y_dot)
    for i in range(p.directions if s_dot != 0 else 0):
        memcpy(directions + i * row, s_dot + i * row, row)
        status |= _derivative(loops, routines, plan, factor, directions, p.directions, own)
        memcpy(directions + i * row, load_i64(frame, X + 1) + i * row, row)
        if status == 0:
            _add(own, y_dot, p.entries, zero + 1, store, zero)
    free(own)
    return status
