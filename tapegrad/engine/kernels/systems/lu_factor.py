"""LU factors as differentiable matrices, and row exchanges.

``A = P L U`` has ``A_bar = P L^-H (tril(L^H L_bar, -1) + triu(U_bar U^H)) U^-H``, H the conjugate transpose, and with
``G = L^-1 P^T A_dot U^-1`` the tangents ``L tril(G, -1)`` and ``triu(G) U`` (Walter and Lehmann 2010).
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.frame import PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    Lapack,
    add,
    at,
    by_columns,
    by_rows,
    clear_triangle,
    complex_libraries,
    conjugate_in_place,
    copy,
    factor_bytes,
    is_singular,
    libraries,
    put,
    substitute,
    triangle_bytes,
)
from tapegrad.engine.kernels.language.matmul import Matrix, product, transposed
from tapegrad.engine.kernels.language.raw_memory import (
    free,
    load_i32,
    load_i64,
    load_record,
    malloc,
    memcpy,
    size_of,
    store_i64,
)
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY, OUT_OF_RANGE, SINGULAR
from tapegrad.engine.kernels.systems.lu import exchange_pair, exchange_rows
from tapegrad.engine.kernels.systems.stacks import are_zeros, clear_if_written, write_nan
from tapegrad.ops.structural.matrices import ExchangeParams, PivotParams, SquareParams

LIBRARY = libraries(("lu_triangles",)) | complex_libraries(("lu_triangles",))


# --- triangles -------------------------------------------------------------------------------------------------


@always_inline
def lu_triangles_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write both triangles of each matrix, by its factors X[1], to Y."""
    p, y, factor = (
        load_record(load_i64(frame, PARAMS), SquareParams),
        load_i64(frame, Y),
        load_i64(frame, X + 1),
    )
    n, zero = p.n, routines.zero
    for _ in range(p.matrices):
        copy(by_columns(factor, n, n, zero), by_rows(y, n, n, zero), zero)
        factor += factor_bytes(n, zero)
        y += n * n * size_of(zero)
    return 0


@noinline
def _lower(a: Matrix, into: Matrix, zero: Any) -> None:
    """Write the lower triangle with ones on its diagonal."""
    for i in range(a.rows):
        for j in range(a.columns):
            put(into, i, j, at(a, i, j, zero) if j < i else zero + (i == j), zero)


@noinline
def _strictly_lower(a: Matrix, into: Matrix, zero: Any) -> None:
    """Write the part below the diagonal, and zeros."""
    for i in range(a.rows):
        for j in range(a.columns):
            put(into, i, j, at(a, i, j, zero) if j < i else zero, zero)


@noinline
def _merge(lower: Matrix, upper: Matrix, into: Matrix, zero: Any) -> None:
    """Write the part below the diagonal of one matrix, and the rest of another."""
    for i in range(into.rows):
        for j in range(into.columns):
            put(into, i, j, at(lower, i, j, zero) if j < i else at(upper, i, j, zero), zero)


@noinline
def _cotangent(
    loops: int, routines: Lapack, y: Matrix, y_bar: Matrix, exchanges: int, into: Matrix, scratch: int
) -> None:
    """Add the cotangent of one matrix; the scratch has room for four squares.

    Of a complex matrix it is the conjugate of the real formula's for the conjugate of `y_bar`.
    """
    n, zero, products, write = y.rows, routines.zero, routines.products, np.int64(1)
    size = n * n * size_of(zero)
    one, g = by_rows(scratch, n, n, zero), by_rows(scratch + size, n, n, zero)
    above, below = by_rows(scratch + 2 * size, n, n, zero), by_rows(scratch + 3 * size, n, n, zero)
    copy(y, one, zero)
    clear_triangle(one, write, zero)
    copy(y_bar, g, zero)
    conjugate_in_place(g, zero)
    clear_triangle(g, write, zero)
    product(loops, products, g, transposed(one), above, write)
    _lower(y, one, zero)
    _strictly_lower(y_bar, g, zero)
    conjugate_in_place(g, zero)
    product(loops, products, transposed(one), g, below, write)
    _merge(below, above, g, zero)
    substitute(loops, routines, transposed(one), g, np.int64(0), np.int64(1))
    substitute(loops, routines, y, transposed(g), np.int64(0), np.int64(0))
    exchange_rows(g, exchanges, True, zero)
    conjugate_in_place(g, zero)
    add(g, into, np.int64(0), zero)


@noinline
def _tangent_of(
    loops: int, routines: Lapack, y: Matrix, x_dot: Matrix, exchanges: int, y_dot: Matrix, scratch: int
) -> None:
    """Write the tangent of one matrix; the scratch has room for four squares."""
    n, zero, products, write = y.rows, routines.zero, routines.products, np.int64(1)
    size = n * n * size_of(zero)
    g, triangle = by_rows(scratch, n, n, zero), by_rows(scratch + size, n, n, zero)
    below, above = by_rows(scratch + 2 * size, n, n, zero), by_rows(scratch + 3 * size, n, n, zero)
    copy(x_dot, g, zero)
    exchange_rows(g, exchanges, False, zero)
    substitute(loops, routines, y, g, write, write)
    substitute(loops, routines, transposed(y), transposed(g), write, np.int64(0))
    copy(y, triangle, zero)
    clear_triangle(triangle, write, zero)
    copy(g, below, zero)
    clear_triangle(below, write, zero)
    product(loops, products, below, triangle, above, write)
    _lower(y, triangle, zero)
    _strictly_lower(g, g, zero)
    product(loops, products, triangle, g, below, write)
    _merge(below, above, y_dot, zero)


@always_inline
def _derivative(frame: int, loops: int, routines: Lapack, reverse: bool) -> int:
    p, y, factor = (
        load_record(load_i64(frame, PARAMS), SquareParams),
        load_i64(frame, Y),
        load_i64(frame, X + 1),
    )
    x_bar, y_bar, n, zero = load_i64(frame, X_BAR), load_i64(frame, Y_BAR), p.n, routines.zero
    bytes_, status = n * n * size_of(zero), 0
    scratch = malloc(4 * bytes_ + 8)
    if scratch == 0:
        return OUT_OF_MEMORY
    if reverse:
        clear_if_written(frame, p.matrices * bytes_)
    for _ in range(p.matrices):
        own, bar, other = by_rows(y, n, n, zero), by_rows(y_bar, n, n, zero), by_rows(x_bar, n, n, zero)
        exchanges = factor + triangle_bytes(n, zero)
        if is_singular(own, zero) and p.nan_on_failure == 0:
            status = SINGULAR
            break
        if is_singular(own, zero):
            if not (reverse and are_zeros(y_bar, bytes_, zero)):
                write_nan(x_bar if reverse else y_bar, bytes_, zero)
        elif reverse:
            _cotangent(loops, routines, own, bar, exchanges, other, scratch)
        else:
            _tangent_of(loops, routines, own, other, exchanges, bar, scratch)
        y += bytes_
        y_bar += bytes_
        x_bar += bytes_
        factor += factor_bytes(n, zero)
    free(scratch)
    return status


@always_inline
def lu_triangles_reverse(frame: int, loops: int, routines: Lapack) -> int:
    """Add (STORE: write) the cotangents of the matrices to X_BAR[0]."""
    return _derivative(frame, loops, routines, True)


@always_inline
def lu_triangles_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write the tangents of the triangles to Y_BAR."""
    return _derivative(frame, loops, routines, False)


# --- row exchanges ---------------------------------------------------------------------------------------------


def lu_pivots_forward_i64(frame: int, loops: int) -> int:
    """Write for each row the row it was exchanged with, from the factors X[0], to Y."""
    p, factor, y = load_record(load_i64(frame, PARAMS), PivotParams), load_i64(frame, X), load_i64(frame, Y)
    triangles, bytes_ = 8 * (p.fields - (p.n + 1) // 2), 8 * p.fields
    for i in range(p.matrices):
        for k in range(p.n):
            store_i64(y, i * p.n + k, np.int64(load_i32(factor + i * bytes_ + triangles, k)) - 1)
    return 0


@noinline
def _exchange_all(x: Matrix, rows: int, back: int, zero: Any) -> bool:
    """Exchange rows in order, or undo it; return whether all rows exist."""
    for step in range(x.rows):
        i = x.rows - 1 - step if back else step
        other = load_i64(rows, i)
        if other < 0 or other >= x.rows:
            return False
        exchange_pair(x, i, other, zero)
    return True


@always_inline
def _exchange(source: int, into: int, rows: int, p: Any, back: int, zero: Any) -> int:
    bytes_ = p.n * p.k * size_of(zero)
    memcpy(into, source, p.matrices * bytes_)
    for _ in range(p.matrices):
        if not _exchange_all(by_rows(into, p.n, p.k, zero), rows, back, zero):
            return OUT_OF_RANGE
        into += bytes_
        rows += 8 * p.stride * p.n
    return 0


@always_inline
def exchange_rows_forward(frame: int, loops: int, zero: Any) -> int:
    """Write X[0] with its rows exchanged by the list X[1] to Y."""
    p = load_record(load_i64(frame, PARAMS), ExchangeParams)
    return _exchange(load_i64(frame, X), load_i64(frame, Y), load_i64(frame, X + 1), p, p.back, zero)


@always_inline
def exchange_rows_reverse(frame: int, loops: int, zero: Any) -> int:
    """Add (STORE: write) the cotangent, exchanged back, to X_BAR[0]."""
    p = load_record(load_i64(frame, PARAMS), ExchangeParams)
    total = p.matrices * p.n * p.k
    scratch = malloc(total * size_of(zero) + 8)
    if scratch == 0:
        return OUT_OF_MEMORY
    status = _exchange(load_i64(frame, Y_BAR), scratch, load_i64(frame, X + 1), p, 1 - p.back, zero)
    store = load_i64(frame, STORE) & 1
    add(by_rows(scratch, total, 1, zero), by_rows(load_i64(frame, X_BAR), total, 1, zero), store, zero)
    free(scratch)
    return status
