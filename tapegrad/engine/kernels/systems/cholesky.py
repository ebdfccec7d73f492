"""Cholesky factors, ``A = L L^T``; only the lower triangle of A is read.

The reverse sweep runs the factorisation backwards (`cholesky_back`; Smith 1995). The cotangent is that of the lower
triangle, whose elements also represent those above the diagonal; it is zero there.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.lanes.cholesky_lanes import factor_stack
from tapegrad.engine.kernels.lanes.lanes import MIN_LANE_MATRICES, lane_count, lanes_at, put_lanes, spread
from tapegrad.engine.kernels.language.frame import PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    MAX_SMALL_ROWS,
    UPPER,
    Lapack,
    at,
    by_rows,
    clear_triangle,
    info_word,
    libraries,
    put,
    read_symmetric,
    substitute,
)
from tapegrad.engine.kernels.language.matmul import Matrix, product, transposed
from tapegrad.engine.kernels.language.raw_memory import (
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
from tapegrad.engine.kernels.language.status import NOT_POSITIVE_DEFINITE, OUT_OF_MEMORY
from tapegrad.engine.kernels.systems.cholesky_back import back_by_blocks, scratch_bytes
from tapegrad.ops.params import SquareParams

LIBRARY = libraries(("cholesky",), "potrf")


# --- the factor of one matrix ----------------------------------------------------------------------------------


@always_inline
def _factor_fixed(a: int, n: int, zero: Any) -> bool:
    """Factor a matrix of few rows; inlined with a constant `n`, so that the loops are unrolled."""
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
    """Factor a matrix of any size and clear the other triangle; LAPACK reads the lower triangle as the upper one."""
    if a.rows <= MAX_SMALL_ROWS:
        return _factor_few(a.address, a.rows, routines.zero)
    order, info = np.int32(a.rows), info_word()
    call_by_reference(loops, routines.potrf, (UPPER, order, a.address, order, info))
    clear_triangle(a, np.int64(0), routines.zero)
    return load_i32(info, 0) == 0


@always_inline
def cholesky_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write the lower factor of each matrix of X[0] to Y."""
    p, zero, y = load_record(load_i64(frame, PARAMS), SquareParams), routines.zero, load_i64(frame, Y)
    bytes_ = p.n * p.n * size_of(zero)
    if p.n <= MAX_SMALL_ROWS and p.matrices >= MIN_LANE_MATRICES:
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


@always_inline
def cholesky_reverse(frame: int, loops: int, routines: Lapack) -> int:
    """Add (STORE: write) the cotangents of the lower triangles to X_BAR[0]."""
    p, zero, y = load_record(load_i64(frame, PARAMS), SquareParams), routines.zero, load_i64(frame, Y)
    y_bar, x_bar, n, bytes_ = load_i64(frame, Y_BAR), load_i64(frame, X_BAR), p.n, p.n * p.n * size_of(zero)
    store, before = load_i64(frame, STORE) & 1, scratch_bytes(zero)
    scratch = malloc(before + (0 if store else bytes_))
    if scratch == 0:
        return OUT_OF_MEMORY
    for _ in range(p.matrices):
        bar = x_bar if store else scratch + before
        _copy_lower(y_bar, bar, n, zero)
        back_by_blocks(loops, routines.products, by_rows(y, n, n, zero), by_rows(bar, n, n, zero), scratch)
        _subtract_lower(bar, x_bar, n, store, zero)
        y += bytes_
        y_bar += bytes_
        x_bar += bytes_
    free(scratch)
    return 0


# --- tangent ---------------------------------------------------------------------------------------------------


@noinline
def _halve_diagonal(a: Matrix, zero: Any) -> None:
    for i in range(a.rows):
        put(a, i, i, at(a, i, i, zero) / 2, zero)


@always_inline
def cholesky_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write ``L tril'(L^-1 x_dot L^-T)`` to Y_BAR, with half of the diagonal in tril'."""
    p, zero, y = load_record(load_i64(frame, PARAMS), SquareParams), routines.zero, load_i64(frame, Y)
    y_dot, x_dot, n, bytes_ = load_i64(frame, Y_BAR), load_i64(frame, X_BAR), p.n, p.n * p.n * size_of(zero)
    address, one = malloc(bytes_ + 8), np.int64(1)
    if address == 0:
        return OUT_OF_MEMORY
    for _ in range(p.matrices):
        factor, inner = by_rows(y, n, n, zero), by_rows(address, n, n, zero)
        read_symmetric(by_rows(x_dot, n, n, zero), one, inner, zero)
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
