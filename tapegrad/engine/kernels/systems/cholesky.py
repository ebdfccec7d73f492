"""Cholesky factors, ``A = L L^H``, H the conjugate transpose; only the lower triangle of A is read.

The reverse sweep runs the factorisation backwards (`cholesky_back`; Smith 1995). The cotangent is that of the lower
triangle, whose elements also represent those above the diagonal; it is zero there.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.lanes.cholesky_lanes import factor_stack
from tapegrad.engine.kernels.lanes.lanes import MIN_LANE_MATRICES, lane_count, lanes_at, put_lanes, spread
from tapegrad.engine.kernels.language.frame import PARAMS, STORE, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    MAX_SMALL_ROWS,
    Lapack,
    at,
    by_rows,
    clear_triangle,
    libraries,
    put,
    read_symmetric,
    substitute,
    substitute_adjoint,
)
from tapegrad.engine.kernels.language.matmul import Matrix, product, transposed
from tapegrad.engine.kernels.language.raw_memory import (
    load_at,
    load_i64,
    load_record,
    memcpy,
    memset,
    size_of,
    store_at,
)
from tapegrad.engine.kernels.language.status import NOT_POSITIVE_DEFINITE
from tapegrad.engine.kernels.systems.blocks import factor_cholesky
from tapegrad.engine.kernels.systems.cholesky_back import back_by_blocks, scratch_bytes
from tapegrad.engine.kernels.systems.stacks import COTANGENT, TANGENT, MatrixFrame, Sizes, for_each, write_nan
from tapegrad.ops.structural.matrices import SquareParams

LIBRARY = libraries(("cholesky",), "potrf")


# --- the factor of one matrix ----------------------------------------------------------------------------------


@always_inline
def _factor_fixed(a: int, n: int, zero: Any) -> bool:
    """Factor a matrix of few rows; inlined with a constant `n`, so that the loops are unrolled."""
    size, positive = size_of(zero), True
    for j in range(n):
        pivot = load_at(a, (n * j + j) * size, zero).real
        for p in range(j):
            value = load_at(a, (n * j + p) * size, zero)
            pivot -= (value * np.conj(value)).real
        if pivot <= zero.real:
            positive = False
        root = np.sqrt(pivot)
        store_at(a, (n * j + j) * size, root, zero)
        for i in range(j + 1, n):
            total = load_at(a, (n * i + j) * size, zero)
            for p in range(j):
                other = np.conj(load_at(a, (n * j + p) * size, zero))
                total -= load_at(a, (n * i + p) * size, zero) * other
            store_at(a, (n * i + j) * size, total / root, zero)
            store_at(a, (n * j + i) * size, zero, zero)
    return positive


@noinline
def _factor_few(a: int, n: int, zero: Any) -> bool:
    """Replace the lower triangle by the factor; return whether the matrix is positive definite. NaN pass."""
    if n == 2:
        return _factor_fixed(a, 2, zero)
    if n == 3:
        return _factor_fixed(a, 3, zero)
    if n == 4:
        return _factor_fixed(a, 4, zero)
    return _factor_fixed(a, n, zero)


@noinline
def _factor(loops: int, routines: Lapack, a: Matrix) -> bool:
    """Factor a matrix of any size and clear the other triangle."""
    if a.rows <= MAX_SMALL_ROWS:
        return _factor_few(a.address, a.rows, routines.zero)
    positive = factor_cholesky(loops, routines, a)
    clear_triangle(a, np.int64(0), routines.zero)
    return positive


@always_inline
def cholesky_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write the lower factor of each matrix of X[0] to Y."""
    p = load_record(load_i64(frame, PARAMS), SquareParams)
    if p.n <= MAX_SMALL_ROWS and p.matrices >= MIN_LANE_MATRICES:
        status = factor_stack(load_i64(frame, X), p.matrices, p.n, load_i64(frame, Y), routines.zero)
        if status != NOT_POSITIVE_DEFINITE or p.nan_on_failure == 0:
            return status  # else one by one, to tell which
    return factor_one_by_one(frame, loops, routines)


@always_inline
def factor_one_by_one(frame: int, loops: int, routines: Lapack) -> int:
    """Write the lower factor of each matrix of X[0] to Y, without lanes."""
    p, zero, y = load_record(load_i64(frame, PARAMS), SquareParams), routines.zero, load_i64(frame, Y)
    bytes_ = p.n * p.n * size_of(zero)
    memcpy(y, load_i64(frame, X), p.matrices * bytes_)
    for _ in range(p.matrices):
        a = by_rows(y, p.n, p.n, zero)
        if not _factor(loops, routines, a):
            if p.nan_on_failure == 0:
                return NOT_POSITIVE_DEFINITE
            write_nan(y, bytes_, zero)
        y += bytes_
    return 0


# --- reverse ---------------------------------------------------------------------------------------------------


@noinline
def _copy_lower(source: int, into: int, n: int, zero: Any) -> None:
    row = n * size_of(zero)
    for i in range(n):
        memcpy(into + i * row, source + i * row, (i + 1) * size_of(zero))


@noinline
def _subtract(source: int, into: int, count: int, store: int, zero: Any) -> None:
    """Subtract numbers, or write their negatives."""
    most, size = lane_count(zero), size_of(zero)
    whole = count // most
    for k in range(whole):
        before = spread(0, zero) if store else lanes_at(into, k, zero)
        put_lanes(into, k, before - lanes_at(source, k, zero))
    for k in range(whole * most, count):
        last = zero if store else load_at(into, k * size, zero)
        store_at(into, k * size, last - load_at(source, k * size, zero), zero)


@always_inline
def _subtract_lower(source: int, into: int, n: int, store: int, zero: Any) -> None:
    """Subtract the lower triangle with half of the diagonal, or write its negative with zeros above."""
    size, row = size_of(zero), n * size_of(zero)
    for i in range(n):
        _subtract(source, into, i, store, zero)
        last = zero if store else load_at(into, i * size, zero)
        store_at(into, i * size, last - load_at(source, i * size, zero) / 2, zero)
        if store:
            memset(into + (i + 1) * size, np.int32(0), row - (i + 1) * size)
        source += row
        into += row


@noinline
def _cotangent(loops: int, routines: Lapack, own: MatrixFrame, p: Any) -> int:
    """Add (store: write) the cotangent of one matrix; return a status."""
    n, zero = p.n, routines.zero
    bar = own.x_bar if own.store else own.scratch + scratch_bytes(zero)
    _copy_lower(own.y_bar, bar, n, zero)
    factor = by_rows(own.y, n, n, zero)
    back_by_blocks(loops, routines.products, factor, by_rows(bar, n, n, zero), own.scratch)
    _subtract_lower(bar, own.x_bar, n, own.store, zero)
    return 0


@always_inline
def cholesky_reverse(frame: int, loops: int, routines: Lapack) -> int:
    """Add (STORE: write) the cotangents of the lower triangles to X_BAR[0]."""
    p, zero = load_record(load_i64(frame, PARAMS), SquareParams), routines.zero
    bytes_, store = p.n * p.n * size_of(zero), load_i64(frame, STORE) & 1
    sizes = Sizes(bytes_, 0, bytes_, scratch_bytes(zero) + (0 if store else bytes_))
    return for_each(frame, loops, routines, p, sizes, _cotangent, COTANGENT)


# --- tangent ---------------------------------------------------------------------------------------------------


@noinline
def halve_diagonal(a: Matrix, zero: Any) -> None:
    """Halve the diagonal; of complex numbers the real parts are kept."""
    for i in range(a.rows):
        put(a, i, i, at(a, i, i, zero).real / 2, zero)


@noinline
def _tangent(loops: int, routines: Lapack, own: MatrixFrame, p: Any) -> int:
    """Write the tangent of one factor; return a status."""
    n, zero, write, upper = p.n, routines.zero, np.int64(1), np.int64(0)
    factor, inner = by_rows(own.y, n, n, zero), by_rows(own.scratch, n, n, zero)
    y_dot = by_rows(own.y_bar, n, n, zero)
    read_symmetric(by_rows(own.x_bar, n, n, zero), write, inner, zero)
    substitute(loops, routines, factor, inner, write, np.int64(0))
    substitute_adjoint(loops, routines, transposed(factor), transposed(inner), write, np.int64(0))
    clear_triangle(inner, upper, zero)
    halve_diagonal(inner, zero)
    product(loops, routines.products, factor, inner, y_dot, write)
    clear_triangle(y_dot, upper, zero)
    return 0


@always_inline
def cholesky_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write ``L tril'(L^-1 x_dot L^-H)`` to Y_BAR, with half of the diagonal in tril'."""
    p = load_record(load_i64(frame, PARAMS), SquareParams)
    bytes_ = p.n * p.n * size_of(routines.zero)
    return for_each(frame, loops, routines, p, Sizes(bytes_, 0, bytes_, bytes_), _tangent, TANGENT)
