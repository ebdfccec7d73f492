"""Cholesky factors, ``A = L L^T``, of which the lower triangle of A is read.

The reverse sweep goes through the factorisation backwards, by blocks (Murray 2016, "Differentiation of the Cholesky
decomposition"; Smith 1995). The cotangent is symmetric, as if the function were of ``(A + A^T) / 2``.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.cholesky_lanes import factor_stack
from tapegrad.engine.kernels.frame import PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.inlining import always_inline, noinline
from tapegrad.engine.kernels.lanes import LEAST, lane_count, lanes_at, put_lanes, spread
from tapegrad.engine.kernels.lapack import (
    F32,
    F64,
    FEW,
    UPPER,
    Lapack,
    at,
    by_rows,
    clear,
    clear_triangle,
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
    size_of,
    store_at,
)
from tapegrad.engine.kernels.status import NOT_POSITIVE_DEFINITE, OUT_OF_MEMORY
from tapegrad.engine.kernels.transpose import transpose
from tapegrad.ops.params import CholeskyParams

LIBRARY = libraries(("cholesky",), "potrf")
_NARROW = 16  # columns whose factorisation is gone through backwards one by one: whole lanes
_WIDE = 32  # columns that are finished below the diagonal at once: two, four, ... narrow blocks


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


@always_inline
def _scratch_bytes(zero: Any) -> int:
    """Bytes of an inverse of a wide block, and behind it of two narrow blocks or a quarter of a wide one."""
    return (_WIDE * _WIDE + max(2 * _NARROW * _NARROW, _WIDE * _WIDE // 4)) * size_of(zero)


@always_inline
def _inverse_in(scratch: int, width: int, zero: Any) -> Matrix:
    """The inverse of a block: its rows have the length of a wide one, so that they consist of whole lanes."""
    return part(by_rows(scratch, _WIDE, _WIDE, zero), np.int64(0), np.int64(0), width, width)


@always_inline
def _narrow_in(scratch: int, number: int, zero: Any) -> int:
    return scratch + (_WIDE * _WIDE + number * _NARROW * _NARROW) * size_of(zero)


@always_inline
def _add_multiple(factor: Any, source: int, into: int, pieces: int, zero: Any) -> None:
    """Add a multiple of lanes to others."""
    factors = spread(factor, zero)
    for piece in range(pieces):
        put_lanes(into, piece, lanes_at(into, piece, zero) + factors * lanes_at(source, piece, zero))


@noinline
def _write_narrow_inverse(t: Matrix, into: Matrix, zero: Any) -> None:
    """Write the inverse of a lower triangle with the other sign, row by row."""
    row, pieces = into.row_stride, _NARROW // lane_count(zero)
    for i in range(t.rows):
        own, pivots = into.address + i * row, spread(at(t, i, i, zero), zero)
        for piece in range(pieces):
            put_lanes(own, piece, spread(0, zero))
        store_at(own, i * size_of(zero), zero - 1, zero)
        for j in range(i):
            _add_multiple(-at(t, i, j, zero), into.address + j * row, own, pieces, zero)
        for piece in range(pieces):
            put_lanes(own, piece, lanes_at(own, piece, zero) / pivots)


@noinline
def _write_inverses(t: Matrix, inverse: Matrix, zero: Any) -> None:
    """The same for each narrow block of a wide one's diagonal."""
    for i in range(0, t.rows, _NARROW):
        width = min(_NARROW, t.rows - i)
        _write_narrow_inverse(part(t, i, i, width, width), part(inverse, i, i, width, width), zero)


@noinline
def _join_inverses(loops: int, products: Any, t: Matrix, inverse: Matrix, scratch: int) -> None:
    """Make the inverse of a wide block of those of its narrow ones: of each two of them, of each two of these, ..."""
    zero, n, size, store = products.zero, t.rows, np.int64(_NARROW), np.int64(1)
    while size < n:
        for i in range(0, n - size, 2 * size):
            middle, below = i + size, min(size, n - i - size)
            one, other = part(inverse, i, i, size, size), part(inverse, middle, middle, below, below)
            between = by_rows(_narrow_in(scratch, 0, zero), below, size, zero)
            product(loops, products, part(t, middle, i, below, size), one, between, store)
            product(loops, products, other, between, part(inverse, middle, i, below, size), store)
            clear(part(inverse, i, middle, size, below), zero)
        size *= 2


@always_inline
def _rows_in(a: Matrix, scratch: int, zero: Any) -> None:
    """Copy a matrix to rows that have the length of a narrow block."""
    for i in range(a.rows):
        memcpy(scratch + i * _NARROW * size_of(zero), a.address + i * a.row_stride, a.columns * size_of(zero))


@noinline
def _go_back(factor: Matrix, bar: Matrix, scratch: int, zero: Any) -> None:
    """`_back_by_blocks` for a narrow block, column by column from the last one.

    Copies are worked on in whole lanes. What that writes behind the columns that are still to come is never read.
    """
    n, row = factor.rows, _NARROW * size_of(zero)
    own, own_bar = _narrow_in(scratch, 0, zero), _narrow_in(scratch, 1, zero)
    _rows_in(factor, own, zero)
    _rows_in(bar, own_bar, zero)
    for j in range(n - 1, -1, -1):
        here, here_bar, column = own + j * row, own_bar + j * row, j * size_of(zero)
        pivot, pieces = load_at(here, column, zero), j // lane_count(zero) + 1
        for i in range(j + 1, n):
            value = -load_at(own_bar + i * row, column, zero) / pivot
            put(bar, i, j, value, zero)
            put(bar, j, i, value, zero)
            _add_multiple(value, here, own_bar + i * row, pieces, zero)
        for piece in range(pieces):
            total = lanes_at(here_bar, piece, zero)
            for i in range(j + 1, n):
                total = total + spread(at(bar, i, j, zero), zero) * lanes_at(own + i * row, piece, zero)
            put_lanes(here_bar, piece, total)
        value = -load_at(here_bar, column, zero) / pivot
        put(bar, j, j, value, zero)
        _add_multiple(value, here, here_bar, pieces, zero)


@noinline
def _finish_rows_below(
    loops: int, products: Any, factor: Matrix, bar: Matrix, inverse: Matrix, first: int, end: int
) -> None:
    """Go backwards through some columns below their block of the diagonal, and add to that what they give to it."""
    width, below = end - first, factor.rows - end
    under, beside = part(bar, end, first, below, width), part(bar, first, end, width, below)
    product(loops, products, transposed(inverse), transposed(under), beside, np.int64(1))
    corner = part(bar, first, first, width, width)
    product(loops, products, beside, part(factor, end, first, below, width), corner, np.int64(0))
    transpose(beside.address, beside.row_stride, under.address, under.row_stride, width, below, products.zero)


@noinline
def _add_to_columns(
    loops: int, products: Any, factor: Matrix, bar: Matrix, first: int, end: int, before: int
) -> None:
    """Add what finished columns give to as many before them."""
    n, width, start, add = factor.rows, end - first, first - before, np.int64(0)
    own, left = part(bar, first, first, width, n - first), part(factor, first, start, n - first, before)
    product(loops, products, own, left, part(bar, first, start, width, before), add)
    under, beside = part(bar, end, first, n - end, width), part(factor, first, start, width, before)
    product(loops, products, under, beside, part(bar, end, start, n - end, before), add)


@always_inline
def _pass_on(
    loops: int, products: Any, factor: Matrix, bar: Matrix, first: int, done: int, width: int
) -> None:
    """Add what finished blocks give to those before them, of which the next one is to have everything after that.

    These are products of matrices, the faster the larger: each block gives to the next one at once, each two to the
    next two, each four to the next four, and so on.
    """
    due = width * (done & -done)
    if first > 0:
        _add_to_columns(loops, products, factor, bar, first, min(factor.rows, first + due), min(first, due))


@noinline
def _back_by_narrow_blocks(
    loops: int, products: Any, factor: Matrix, bar: Matrix, inverse: Matrix, scratch: int
) -> None:
    """`_back_by_blocks` for a wide block, given the inverses of its narrow ones."""
    end, done = factor.rows, 0
    while end > 0:
        first = (end - 1) // _NARROW * _NARROW
        width = end - first
        if end < factor.rows:
            corner = part(inverse, first, first, width, width)
            _finish_rows_below(loops, products, factor, bar, corner, first, end)
        corner, corner_bar = part(factor, first, first, width, width), part(bar, first, first, width, width)
        _go_back(corner, corner_bar, scratch, products.zero)
        done += 1
        _pass_on(loops, products, factor, bar, first, done, _NARROW)
        end = first


@noinline
def _back_by_blocks(loops: int, products: Any, factor: Matrix, bar: Matrix, scratch: int) -> None:
    """From the cotangent of the factor, in the lower triangle, to ``-(S + S.T)``, S being that of the matrix's.

    Blocks of columns are gone through from the last one.
    """
    end, done, zero = factor.rows, 0, products.zero
    while end > 0:
        first = max(0, end - _WIDE)
        width = end - first
        corner, corner_bar = part(factor, first, first, width, width), part(bar, first, first, width, width)
        inverse = _inverse_in(scratch, width, zero)
        if end < factor.rows or width > _NARROW:
            _write_inverses(corner, inverse, zero)
        if end < factor.rows:
            _join_inverses(loops, products, corner, inverse, scratch)
            _finish_rows_below(loops, products, factor, bar, inverse, first, end)
        _back_by_narrow_blocks(loops, products, corner, corner_bar, inverse, scratch)
        done += 1
        _pass_on(loops, products, factor, bar, first, done, _WIDE)
        end = first


@noinline
def _copy_lower(source: int, into: int, n: int, zero: Any) -> None:
    row = n * size_of(zero)
    for i in range(n):
        memcpy(into + i * row, source + i * row, (i + 1) * size_of(zero))


@noinline
def _subtract_half(source: int, into: int, count: int, store: int, zero: Any) -> None:
    """Subtract half of numbers, or write that with the other sign."""
    half, most, size = spread(0.5, zero), lane_count(zero), size_of(zero)
    whole = count // most
    for k in range(whole):
        before = spread(0, zero) if store else lanes_at(into, k, zero)
        put_lanes(into, k, before - half * lanes_at(source, k, zero))
    for k in range(whole * most, count):
        before = zero if store else load_at(into, k * size, zero)
        store_at(into, k * size, before - load_at(source, k * size, zero) / 2, zero)


@always_inline
def _reverse(frame: int, loops: int, routines: Lapack) -> int:
    p, zero, y = load_record(load_i64(frame, PARAMS), CholeskyParams), routines.zero, load_i64(frame, Y)
    y_bar, x_bar, n, bytes_ = load_i64(frame, Y_BAR), load_i64(frame, X_BAR), p.n, p.n * p.n * size_of(zero)
    store, scratch_bytes = load_i64(frame, STORE) & 1, _scratch_bytes(zero)
    scratch = malloc(scratch_bytes + (0 if store else bytes_))
    if scratch == 0:
        return OUT_OF_MEMORY
    for _ in range(p.matrices):
        bar = x_bar if store else scratch + scratch_bytes
        _copy_lower(y_bar, bar, n, zero)
        _back_by_blocks(loops, routines.products, by_rows(y, n, n, zero), by_rows(bar, n, n, zero), scratch)
        _subtract_half(bar, x_bar, n * n, store, zero)
        y += bytes_
        y_bar += bytes_
        x_bar += bytes_
    free(scratch)
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
