"""Determinants and their logarithms, by LU factors.

The cotangent of a determinant is a multiple of the adjugate (of complex matrices: of its conjugate transpose), which
exists for singular matrices too: a zero pivot is replaced by a tiny one, which cancels in the product of inverse and
determinant (Stewart 1998, "On the adjugate matrix").
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.lanes.determinants_lanes import (
    MAX_PRODUCT,
    MIN_PRODUCT,
    det_of_stack,
    signs_and_products,
)
from tapegrad.engine.kernels.lanes.lanes import MIN_LANE_MATRICES, lane_count
from tapegrad.engine.kernels.language.frame import PARAMS, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    MAX_SMALL_ROWS,
    Lapack,
    at,
    by_columns,
    by_rows,
    eps_of,
    factor_bytes,
    is_singular,
    libraries,
    put,
    triangle_bytes,
)
from tapegrad.engine.kernels.language.library import entry
from tapegrad.engine.kernels.language.matmul import Matrix, transposed
from tapegrad.engine.kernels.language.raw_memory import (
    call_loop,
    free,
    load_at,
    load_f64,
    load_i32,
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
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY, SINGULAR
from tapegrad.engine.kernels.systems.inverses import invert
from tapegrad.engine.kernels.systems.stacks import clear_if_written, write_nan
from tapegrad.ops.structural.matrices import SquareParams

LIBRARY = libraries(("det", "slogdet"), "getrf", "getri") | {
    f"slogdet_forward_{dtype}": ("log",) for dtype in ("f64", "f32")
}
_LOG, _COLUMN = entry("log"), 256  # determinants whose logarithms one call computes
_SCRATCH = 2 * _COLUMN
_UP, _DOWN, _LARGEST = 2.0**256, 2.0**-256, (2.0 - 2.0**-52) * 2.0**1023


@noinline
def _sign(t: Matrix, exchanges: int, zero: Any) -> Any:
    """Return the sign of a determinant; 0 for a singular matrix."""
    sign = 1.0
    for i in range(t.rows):
        pivot = at(t, i, i, zero)
        if pivot == zero:
            return 0.0
        if pivot != pivot:
            sign = np.nan
        if (pivot < zero) != (load_i32(exchanges, i) != i + 1):
            sign = -sign
    return sign


@always_inline
def _doubled(value: Any) -> Any:
    """Return a number in double precision."""
    return value - 0.0


@noinline
def _det(t: Matrix, exchanges: int, zero: Any) -> Any:
    value = zero + 1
    for i in range(t.rows):
        value *= at(t, i, i, zero)
        if load_i32(exchanges, i) != i + 1:
            value = -value
    return value


@noinline
def _product_of_pivots(t: Matrix, zero: Any) -> tuple[float, float]:
    """Return a term and a factor: the logarithm of the absolute determinant is term + log(factor).

    The term sums the logarithms of partial products of pivots near overflow or underflow; the factor is the product of
    the other pivots.
    """
    total, product = 0.0, 1.0
    for i in range(t.rows):
        pivot = abs(np.float64(at(t, i, i, zero)))
        following = float(product * pivot)
        if not (MIN_PRODUCT < following < MAX_PRODUCT):
            total += np.log(product) + np.log(pivot)
            following = 1.0
        product = following
    return total, product


@noinline
def _regularize(t: Matrix, zero: Any) -> bool:
    """Replace pivots of zero by a rounding of the largest element; return whether any element is not zero."""
    largest = zero.real
    for i in range(t.rows):
        for j in range(i, t.rows):
            largest = max(largest, abs(at(t, i, j, zero)))
    tiny = largest * eps_of(zero)
    if largest == zero.real:
        tiny = zero.real + 1
    for i in range(t.rows):
        if at(t, i, i, zero) == zero:
            put(t, i, i, tiny, zero)
    return largest != zero.real


@always_inline
def _brought_near_one(value: Any, steps: int) -> tuple[Any, int]:
    """Scale a number to 2**-256..1; return it and the total number of steps of 2**256."""
    while value != 0.0 and abs(value) < _DOWN:
        value *= _UP
        steps -= 1
    while abs(value) > 1.0 and abs(value) <= _LARGEST:
        value *= _DOWN
        steps += 1
    return value, steps


@noinline
def _det_in_steps(t: Matrix, exchanges: int, zero: Any) -> tuple[Any, int]:
    """Return a determinant that may exceed the range of floats, as a number near one and steps of 2**256."""
    value, steps = _doubled(zero) + 1.0, 0
    for i in range(t.rows):
        pivot, steps = _brought_near_one(_doubled(at(t, i, i, zero)), steps)
        if load_i32(exchanges, i) != i + 1:
            pivot = -pivot
        value, steps = _brought_near_one(value * pivot, steps)
    return value, steps


@noinline
def _scale(a: Matrix, value: Any, steps: int, zero: Any) -> None:
    """Multiply a matrix by a number given in steps of 2**256; products outside the range become inf or 0."""
    if steps > 0:
        value *= _UP
        steps -= 1
    for i in range(a.rows):
        for j in range(a.columns):
            product = value * _doubled(at(a, i, j, zero))
            for _ in range(abs(steps) if product != 0.0 else 0):
                product *= _UP if steps > 0 else _DOWN
            put(a, i, j, zero + product, zero)


@noinline
def _write_inverse(loops: int, routines: Lapack, factor: int, n: int, scratch: int, logarithm: bool) -> None:
    """Write the inverse (for a logarithm) or the adjugate, in Fortran order, after a copy of the factors.

    The adjugate is the inverse times the determinant, both of the matrix with zero pivots replaced.
    """
    zero, inverse = routines.zero, scratch + factor_bytes(n, routines.zero)
    t = by_columns(scratch, n, n, zero)
    memcpy(scratch, factor, factor_bytes(n, zero))
    is_not_zero = _regularize(t, zero)
    value, steps = _det_in_steps(t, scratch + triangle_bytes(n, zero), zero)
    invert(loops, routines, scratch, n, inverse)
    if not logarithm:
        value = value if is_not_zero or n == 1 else _doubled(zero)
        _scale(by_columns(inverse, n, n, zero), value, steps, zero)


@noinline
def _add_multiple(factor: Any, source: Matrix, into: Matrix, zero: Any) -> None:
    """Add the conjugate of a matrix, times a number."""
    for i in range(into.rows):
        for j in range(into.columns):
            put(into, i, j, at(into, i, j, zero) + factor * np.conj(at(source, i, j, zero)), zero)


@noinline
def _inner(a: Matrix, b: Matrix, zero: Any) -> Any:
    total = zero
    for i in range(a.rows):
        for j in range(a.columns):
            total += at(a, i, j, zero) * at(b, i, j, zero)
    return total


# --- forward ---------------------------------------------------------------------------------------------------


@always_inline
def det_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write the determinant of each matrix, by its factors X[1], to Y."""
    p = load_record(load_i64(frame, PARAMS), SquareParams)
    if p.n <= MAX_SMALL_ROWS and p.matrices >= MIN_LANE_MATRICES:
        det_of_stack(load_i64(frame, X + 1), p.n, p.matrices, load_i64(frame, Y), routines.zero)
        return 0
    return det_one_by_one(frame, loops, routines)


@always_inline
def det_one_by_one(frame: int, loops: int, routines: Lapack) -> int:
    """Write the determinant of each matrix, by its factors X[1], to Y, without lanes."""
    p, y = load_record(load_i64(frame, PARAMS), SquareParams), load_i64(frame, Y)
    n, factor, zero = p.n, load_i64(frame, X + 1), routines.zero
    for i in range(p.matrices):
        exchanges = factor + triangle_bytes(n, zero)
        store_at(y, i * size_of(zero), _det(by_columns(factor, n, n, zero), exchanges, zero), zero)
        factor += factor_bytes(n, zero)
    return 0


@noinline
def _write_signs(factor: int, n: int, count: int, y: int, totals: int, products: int, zero: Any) -> None:
    """Write the signs of some determinants, and the results of `_product_of_pivots`."""
    for i in range(count):
        t, exchanges = by_columns(factor, n, n, zero), factor + triangle_bytes(n, zero)
        store_at(y, i * size_of(zero), _sign(t, exchanges, zero), zero)
        total, product = _product_of_pivots(t, zero)
        store_f64(totals, i, total)
        store_f64(products, i, product)
        factor += factor_bytes(n, zero)


@noinline
def _write_signs_and_logarithms(
    loops: int, factor: int, n: int, count: int, y: int, apart: int, zero: Any
) -> None:
    """Write signs and logarithms of some determinants; a logarithm is `apart` bytes after its sign."""
    totals, size = stack_i64(_SCRATCH), size_of(zero)
    products, in_lanes = (
        totals + 8 * _COLUMN,
        size == 8 and n <= MAX_SMALL_ROWS and count >= MIN_LANE_MATRICES,
    )
    memset(totals, np.int32(0), 8 * _COLUMN)
    most = lane_count(zero) if in_lanes else count
    for first in range(0, count, most):
        some, signs, own = min(most, count - first), y + first * size, factor + first * factor_bytes(n, zero)
        if not (in_lanes and signs_and_products(own, n, some - 1, signs, products + 8 * first, zero)):
            _write_signs(own, n, some, signs, totals + 8 * first, products + 8 * first, zero)
    call_loop(loops, _LOG, count, (products, products))
    for i in range(count):
        store_at(y, apart + i * size, load_f64(totals, i) + load_f64(products, i), zero)


@always_inline
def slogdet_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write the signs of all determinants, then the logarithms of their absolute values, to Y."""
    p, y = load_record(load_i64(frame, PARAMS), SquareParams), load_i64(frame, Y)
    n, factor, zero = p.n, load_i64(frame, X + 1), routines.zero
    size, stride = size_of(zero), factor_bytes(n, zero)
    for first in range(0, p.matrices, _COLUMN):
        count = min(_COLUMN, p.matrices - first)
        factors, signs = factor + first * stride, y + first * size
        _write_signs_and_logarithms(loops, factors, n, count, signs, p.matrices * size, zero)
    return 0


# --- derivatives -----------------------------------------------------------------------------------------------


@always_inline
def write_cotangents(frame: int, loops: int, routines: Lapack, logarithm: bool, read: Any) -> int:
    """Add (STORE: write) multiples of the conjugate transposes of adjugates, or of inverses, to X_BAR[0].

    The factor of matrix i is ``read(y_bar, i, factors, p, zero)``.
    """
    p, x_bar, y_bar = (
        load_record(load_i64(frame, PARAMS), SquareParams),
        load_i64(frame, X_BAR),
        load_i64(frame, Y_BAR),
    )
    n, factor, zero = p.n, load_i64(frame, X + 1), routines.zero
    bytes_, status = n * n * size_of(zero), 0
    clear_if_written(frame, p.matrices * bytes_)
    scratch = malloc(factor_bytes(n, zero) + bytes_ + 8)
    if scratch == 0:
        return OUT_OF_MEMORY
    inverse = by_columns(scratch + factor_bytes(n, zero), n, n, zero)
    for i in range(p.matrices):
        bar = read(y_bar, i, factor, p, zero)
        if bar != zero:
            if not (logarithm and is_singular(by_columns(factor, n, n, zero), zero)):
                _write_inverse(loops, routines, factor, n, scratch, logarithm)
                _add_multiple(bar, transposed(inverse), by_rows(x_bar, n, n, zero), zero)
            elif p.nan_on_failure:
                write_nan(x_bar, bytes_, zero)
            else:
                status = SINGULAR
                break
        factor += factor_bytes(n, zero)
        x_bar += bytes_
    free(scratch)
    return status


@always_inline
def write_tangents(frame: int, loops: int, routines: Lapack, logarithm: bool, write: Any) -> int:
    """Write the tangents of determinants, or of signs and logarithms, to Y_BAR.

    Of matrix i ``write(y_dot, i, along, factors, p, zero)`` does, where `along` is the trace of adjugate, or of
    inverse, times X_BAR[0].
    """
    p, x_dot, y_dot = (
        load_record(load_i64(frame, PARAMS), SquareParams),
        load_i64(frame, X_BAR),
        load_i64(frame, Y_BAR),
    )
    n, factor, zero = p.n, load_i64(frame, X + 1), routines.zero
    size, bytes_, status = size_of(zero), n * n * size_of(zero), 0
    memset(y_dot, np.int32(0), (2 * p.matrices if logarithm else p.matrices) * size)
    if x_dot == 0:
        return 0
    scratch = malloc(factor_bytes(n, zero) + bytes_ + 8)
    if scratch == 0:
        return OUT_OF_MEMORY
    inverse = by_columns(scratch + factor_bytes(n, zero), n, n, zero)
    for i in range(p.matrices):
        if not (logarithm and is_singular(by_columns(factor, n, n, zero), zero)):
            _write_inverse(loops, routines, factor, n, scratch, logarithm)
            along = _inner(by_rows(x_dot, n, n, zero), transposed(inverse), zero)
            write(y_dot, i, along, factor, p, zero)
        elif p.nan_on_failure:
            write_nan(y_dot + (p.matrices + i) * size, size, zero)
            if np.iscomplexobj(zero):
                write_nan(y_dot + i * size, size, zero)
        else:
            status = SINGULAR
            break
        factor += factor_bytes(n, zero)
        x_dot += bytes_
    free(scratch)
    return status


@always_inline
def _first(y_bar: int, i: int, factor: int, p: Any, zero: Any) -> Any:
    return load_at(y_bar, i * size_of(zero), zero)


@always_inline
def _second(y_bar: int, i: int, factor: int, p: Any, zero: Any) -> Any:
    return load_at(y_bar, (i + p.matrices) * size_of(zero), zero)


@always_inline
def _write_first(y_dot: int, i: int, along: Any, factor: int, p: Any, zero: Any) -> None:
    store_at(y_dot, i * size_of(zero), along, zero)


@always_inline
def _write_second(y_dot: int, i: int, along: Any, factor: int, p: Any, zero: Any) -> None:
    store_at(y_dot, (i + p.matrices) * size_of(zero), along, zero)


@always_inline
def det_reverse(frame: int, loops: int, routines: Lapack) -> int:
    """Add (STORE: write) ``y_bar * adjugate^H`` to X_BAR[0]."""
    return write_cotangents(frame, loops, routines, False, _first)


@always_inline
def det_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write ``sum(adjugate.T * x_dot)`` to Y_BAR."""
    return write_tangents(frame, loops, routines, False, _write_first)


@always_inline
def slogdet_reverse(frame: int, loops: int, routines: Lapack) -> int:
    """Add (STORE: write) the transposed inverse, times the cotangent of the logarithm, to X_BAR[0]."""
    return write_cotangents(frame, loops, routines, True, _second)


@always_inline
def slogdet_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write zeros, then the tangents of the logarithms, to Y_BAR."""
    return write_tangents(frame, loops, routines, True, _write_second)
