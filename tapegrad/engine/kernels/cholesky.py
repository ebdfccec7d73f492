"""Cholesky factors, ``A = L L^T``, of which the lower triangle of A is read.

The reverse sweep goes through the factorisation backwards, by blocks (Murray 2016, "Differentiation of the Cholesky
decomposition"; Smith 1995). The cotangent is symmetric, as if the function were of ``(A + A^T) / 2``.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.cholesky_lanes import factor_stack
from tapegrad.engine.kernels.frame import PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.inlining import always_inline, noinline
from tapegrad.engine.kernels.lanes import LEAST, lane_count, load_lanes, spread, store_lanes
from tapegrad.engine.kernels.lapack import (
    F32,
    F64,
    FEW,
    UPPER,
    Lapack,
    at,
    by_rows,
    clear_triangle,
    copy,
    info_word,
    libraries,
    part,
    put,
    substitute,
)
from tapegrad.engine.kernels.matmul import Matrix, product, transposed
from tapegrad.engine.kernels.raw_memory import (
    call_by_reference,
    free,
    load_at,
    load_i32,
    load_i64,
    load_record,
    malloc,
    memcpy,
    memset,
    size_of,
    store_at,
)
from tapegrad.engine.kernels.status import NOT_POSITIVE_DEFINITE, OUT_OF_MEMORY
from tapegrad.ops.params import CholeskyParams

LIBRARY = libraries(("cholesky",), "potrf")
_BLOCK = 16  # columns whose factorisation is gone through backwards one by one


# --- the factor of one matrix ----------------------------------------------------------------------------------


@always_inline
def _factor_fixed(a: int, n: int, zero: Any) -> bool:
    """`_factor` for few rows, written out for each of these `n` where they are a constant."""
    size, positive = size_of(zero), True
    for j in range(n):
        pivot = load_at(a, (n * j + j) * size, zero)
        for p in range(j):
            value = load_at(a, (n * j + p) * size, zero)
            pivot -= value * value
        if pivot <= zero:
            positive = False
        root = np.sqrt(pivot)
        store_at(a, (n * j + j) * size, root, zero)
        for i in range(j + 1, n):
            total = load_at(a, (n * i + j) * size, zero)
            for p in range(j):
                total -= load_at(a, (n * i + p) * size, zero) * load_at(a, (n * j + p) * size, zero)
            store_at(a, (n * i + j) * size, total / root, zero)
            store_at(a, (n * j + i) * size, zero, zero)
    return positive


@noinline
def _factor_few(a: int, n: int, zero: Any) -> bool:
    """Replace the lower triangle by the factor; whether the matrix is positive definite. NaN is let through."""
    if n == 2:
        return _factor_fixed(a, 2, zero)
    if n == 3:
        return _factor_fixed(a, 3, zero)
    if n == 4:
        return _factor_fixed(a, 4, zero)
    return _factor_fixed(a, n, zero)


@noinline
def _factor(loops: int, routines: Lapack, a: Matrix) -> bool:
    """The same for any size, and clear the other triangle; LAPACK sees the lower triangle as the upper one."""
    if a.rows <= FEW:
        return _factor_few(a.address, a.rows, routines.zero)
    order, info = np.int32(a.rows), info_word()
    call_by_reference(loops, routines.potrf, (UPPER, order, a.address, order, info))
    clear_triangle(a, np.int64(0), routines.zero)
    return load_i32(info, 0) == 0


@always_inline
def _forward(frame: int, loops: int, routines: Lapack) -> int:
    p, zero, y = load_record(load_i64(frame, PARAMS), CholeskyParams), routines.zero, load_i64(frame, Y)
    bytes_ = p.n * p.n * size_of(zero)
    if p.n <= FEW and p.matrices >= LEAST:
        return factor_stack(load_i64(frame, X), p.matrices, p.n, y, zero)
    memcpy(y, load_i64(frame, X), p.matrices * bytes_)
    for _ in range(p.matrices):
        a = by_rows(y, p.n, p.n, zero)
        if not _factor(loops, routines, a):
            return NOT_POSITIVE_DEFINITE
        y += bytes_
    return 0


# --- reverse ---------------------------------------------------------------------------------------------------


@noinline
def _subtract_multiple(factor: Any, source: int, into: int, count: int, zero: Any) -> None:
    """Subtract a multiple of numbers that lie side by side from others."""
    size, most = size_of(zero), lane_count(zero)
    whole, factors = count // most * most, spread(factor, zero)
    for k in range(0, whole, most):
        value = load_lanes(into, k * size, zero) - factors * load_lanes(source, k * size, zero)
        store_lanes(into, k * size, value)
    for k in range(whole, count):
        store_at(
            into, k * size, load_at(into, k * size, zero) - factor * load_at(source, k * size, zero), zero
        )


@noinline
def _go_back(factor: Matrix, bar: Matrix, zero: Any) -> None:
    """From the cotangent of the factor to that of the lower triangle, column by column from the last one."""
    n, row, row_bar = factor.rows, factor.row_stride, bar.row_stride
    for j in range(n - 1, -1, -1):
        pivot, pivot_bar = at(factor, j, j, zero), at(bar, j, j, zero)
        for i in range(j + 1, n):
            scaled = at(bar, i, j, zero) / pivot
            pivot_bar -= at(factor, i, j, zero) * scaled
            put(bar, i, j, scaled, zero)
        pivot_bar /= pivot
        own, own_bar = factor.address + j * row, bar.address + j * row_bar
        _subtract_multiple(pivot_bar, own, own_bar, j, zero)
        for i in range(j + 1, n):
            scaled = at(bar, i, j, zero)
            _subtract_multiple(scaled, factor.address + i * row, own_bar, j, zero)
            _subtract_multiple(scaled, own, bar.address + i * row_bar, j, zero)
        put(bar, j, j, pivot_bar / 2, zero)


@noinline
def _copy_lower(source: Matrix, into: Matrix, zero: Any) -> None:
    for i in range(into.rows):
        row = into.address + i * into.row_stride
        memcpy(row, source.address + i * source.row_stride, (i + 1) * size_of(zero))


@noinline
def _write_negated_inverse(t: Matrix, into: Matrix, zero: Any) -> None:
    """Write the inverse of a lower triangle with the other sign."""
    for i in range(t.rows):
        row, pivot = into.address + i * into.row_stride, at(t, i, i, zero)
        memset(row, np.int32(0), t.rows * size_of(zero))
        for j in range(i):
            _subtract_multiple(at(t, i, j, zero), into.address + j * into.row_stride, row, j + 1, zero)
        for j in range(i):
            put(into, i, j, at(into, i, j, zero) / pivot, zero)
        put(into, i, i, -1 / pivot, zero)


@noinline
def _write_negated_sum(a: Matrix, into: Matrix, zero: Any) -> None:
    """Write ``-(a + a.T)`` of a lower triangle."""
    for i in range(a.rows):
        for j in range(i + 1):
            value = -at(a, i, j, zero)
            put(into, i, j, value + value if i == j else value, zero)
            put(into, j, i, value + value if i == j else value, zero)


@noinline
def _finish_columns(
    loops: int,
    routines: Lapack,
    factor: Matrix,
    bar: Matrix,
    sums: Matrix,
    first: int,
    end: int,
    scratch: int,
) -> None:
    """Go through some columns backwards, to which all that follow have added, and write them to `sums`."""
    zero, products, width, below = routines.zero, routines.products, end - first, factor.rows - end
    corner, corner_bar = part(factor, first, first, width, width), part(bar, first, first, width, width)
    if below > 0:
        under_bar, beside = part(bar, end, first, below, width), part(sums, first, end, width, below)
        inverse = by_rows(scratch, width, width, zero)
        _write_negated_inverse(corner, inverse, zero)
        product(loops, products, transposed(inverse), transposed(under_bar), beside, np.int64(1))
        product(loops, products, beside, part(factor, end, first, below, width), corner_bar, np.int64(0))
        copy(transposed(beside), part(sums, end, first, below, width), zero)
    _go_back(corner, corner_bar, zero)
    _write_negated_sum(corner_bar, part(sums, first, first, width, width), zero)


@noinline
def _add_to_columns(
    loops: int, products: Any, factor: Matrix, bar: Matrix, sums: Matrix, first: int, end: int, before: int
) -> None:
    """Add what finished columns give to as many before them."""
    n, width, start, add = factor.rows, end - first, first - before, np.int64(0)
    own, left = part(sums, first, first, width, n - first), part(factor, first, start, n - first, before)
    product(loops, products, own, left, part(bar, first, start, width, before), add)
    under, beside = part(sums, end, first, n - end, width), part(factor, first, start, width, before)
    product(loops, products, under, beside, part(bar, end, start, n - end, before), add)


@noinline
def _back_by_blocks(
    loops: int, routines: Lapack, factor: Matrix, bar: Matrix, sums: Matrix, scratch: int
) -> None:
    """Write ``-(S + S.T)`` of the cotangent S of the lower triangle, from that of the factor, which is lost.

    Blocks of columns are gone through from the last one. What they give to columns before them are products of
    matrices, the faster the larger: each block gives to the next one at once, each two to the next two, each four to
    the next four, and so on.
    """
    n, done, end = factor.rows, 0, factor.rows
    while end > 0:
        first = max(0, end - _BLOCK)
        _finish_columns(loops, routines, factor, bar, sums, first, end, scratch)
        done += 1
        due = _BLOCK * (done & -done)
        if first > 0:
            last, before = min(n, first + due), min(first, due)
            _add_to_columns(loops, routines.products, factor, bar, sums, first, last, before)
        end = first


@noinline
def _subtract_half(source: Matrix, into: Matrix, store: int, zero: Any) -> None:
    """Subtract half of a matrix, or write that with the other sign."""
    for i in range(into.rows):
        for j in range(into.columns):
            before = zero if store else at(into, i, j, zero)
            put(into, i, j, before - at(source, i, j, zero) / 2, zero)


@always_inline
def _reverse(frame: int, loops: int, routines: Lapack) -> int:
    p, zero, y = load_record(load_i64(frame, PARAMS), CholeskyParams), routines.zero, load_i64(frame, Y)
    y_bar, x_bar, n, bytes_ = load_i64(frame, Y_BAR), load_i64(frame, X_BAR), p.n, p.n * p.n * size_of(zero)
    store, scratch_bytes = load_i64(frame, STORE) & 1, _BLOCK * _BLOCK * size_of(zero)
    address = malloc(scratch_bytes + (bytes_ if store else 2 * bytes_))
    if address == 0:
        return OUT_OF_MEMORY
    bar, more = by_rows(address + scratch_bytes, n, n, zero), address + scratch_bytes + bytes_
    for _ in range(p.matrices):
        into, sums = by_rows(x_bar, n, n, zero), by_rows(x_bar if store else more, n, n, zero)
        _copy_lower(by_rows(y_bar, n, n, zero), bar, zero)
        _back_by_blocks(loops, routines, by_rows(y, n, n, zero), bar, sums, address)
        _subtract_half(sums, into, store, zero)
        y += bytes_
        y_bar += bytes_
        x_bar += bytes_
    free(address)
    return 0


# --- tangent ---------------------------------------------------------------------------------------------------


@noinline
def _symmetric_part(a: Matrix, into: Matrix, zero: Any) -> None:
    for i in range(a.rows):
        for j in range(a.rows):
            put(into, i, j, (at(a, i, j, zero) + at(a, j, i, zero)) / 2, zero)


@noinline
def _halve_diagonal(a: Matrix, zero: Any) -> None:
    for i in range(a.rows):
        put(a, i, i, at(a, i, i, zero) / 2, zero)


@always_inline
def _tangent(frame: int, loops: int, routines: Lapack) -> int:
    p, zero, y = load_record(load_i64(frame, PARAMS), CholeskyParams), routines.zero, load_i64(frame, Y)
    y_dot, x_dot, n, bytes_ = load_i64(frame, Y_BAR), load_i64(frame, X_BAR), p.n, p.n * p.n * size_of(zero)
    address, one = malloc(bytes_ + 8), np.int64(1)
    if address == 0:
        return OUT_OF_MEMORY
    for _ in range(p.matrices):
        factor, inner = by_rows(y, n, n, zero), by_rows(address, n, n, zero)
        _symmetric_part(by_rows(x_dot, n, n, zero), inner, zero)
        substitute(loops, routines, factor, inner, one, np.int64(0))
        substitute(loops, routines, factor, transposed(inner), one, np.int64(0))
        clear_triangle(inner, np.int64(0), zero)
        _halve_diagonal(inner, zero)
        product(loops, routines.products, factor, inner, by_rows(y_dot, n, n, zero), one)
        clear_triangle(by_rows(y_dot, n, n, zero), np.int64(0), zero)
        y += bytes_
        y_dot += bytes_
        x_dot += bytes_
    free(address)
    return 0


def cholesky_forward_f64(frame: int, loops: int) -> int:
    """Write the lower factor of each matrix of X[0] to Y."""
    return _forward(frame, loops, F64)


def cholesky_forward_f32(frame: int, loops: int) -> int:
    """`cholesky_forward_f64` for float32."""
    return _forward(frame, loops, F32)


def cholesky_reverse_f64(frame: int, loops: int) -> int:
    """Add (STORE: write) the symmetric cotangents of the matrices to X_BAR[0]."""
    return _reverse(frame, loops, F64)


def cholesky_reverse_f32(frame: int, loops: int) -> int:
    """`cholesky_reverse_f64` for float32."""
    return _reverse(frame, loops, F32)


def cholesky_tangent_f64(frame: int, loops: int) -> int:
    """Write ``L tril'(L^-1 x_dot L^-T)`` to Y_BAR, with half of the diagonal in tril'."""
    return _tangent(frame, loops, F64)


def cholesky_tangent_f32(frame: int, loops: int) -> int:
    """`cholesky_tangent_f64` for float32."""
    return _tangent(frame, loops, F32)
