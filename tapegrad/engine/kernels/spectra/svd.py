"""Singular value decompositions.

The result is, for each matrix, its singular values s, then U column by column, then V^T column by column. With
``a = J - J^T`` for ``J = U^T U_bar``, and b likewise for V, the cotangent is ``U G V^T``. G has s_bar on its diagonal
and ``(a + b) / (2 (s_j - s_i)) + (a - b) / (2 (s_j + s_i))`` elsewhere. If U or V is not square, the parts outside its
space, divided by s, are added (Giles 2008; Seeger et al. 2017; Townsend 2016). Further columns of complete factors have
no cotangents here.

If only singular values are used, equal ones share their cotangent equally, and zeros have none, as in ``abs(0)``.
Otherwise the function must not depend on the basis of vectors of equal values, as in `eigh`, nor on vectors of zeros
that the derivative divides by. If it does, the status is NOT_DIFFERENTIABLE.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.lanes.lanes import MIN_LANE_MATRICES, lane_count
from tapegrad.engine.kernels.lanes.svd_lanes import block_bytes, decompose_block
from tapegrad.engine.kernels.language.frame import PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    MAX_SMALL_ROWS,
    Lapack,
    at,
    by_columns,
    by_rows,
    copy,
    libraries,
    put,
    write_identity,
)
from tapegrad.engine.kernels.language.matmul import Matrix, product, transposed
from tapegrad.engine.kernels.language.raw_memory import (
    free,
    load_at,
    load_i64,
    load_record,
    malloc,
    memset,
    size_of,
)
from tapegrad.engine.kernels.language.status import NOT_CONVERGED, NOT_DIFFERENTIABLE, OUT_OF_MEMORY
from tapegrad.engine.kernels.spectra.eigh import eps_of, is_determined, largest, share
from tapegrad.engine.kernels.spectra.singular import (
    decompose,
    left_count,
    left_vectors,
    result_bytes,
    right_count,
    right_vectors,
    work_words,
)
from tapegrad.engine.kernels.spectra.svd_ties import are_zero, clear_zeros, closest, ties_stay, zeros_are_out
from tapegrad.ops.params import SvdParams

LIBRARY = libraries(("svd",), "gesdd")


@always_inline
def _values(address: int, p: Any, zero: Any) -> Matrix:
    """Describe the singular values as a column."""
    return by_rows(address, min(p.m, p.n), 1, zero)


# --- forward ---------------------------------------------------------------------------------------------------


@noinline
def _decompose_each(
    loops: int, routines: Lapack, x: int, y: int, matrices: int, a: int, words: int, p: Any
) -> int:
    """Decompose matrices one by one; return a status. The scratch holds a matrix and the workspace."""
    zero = routines.zero
    work = a + p.m * p.n * size_of(zero)
    for _ in range(matrices):
        copy(by_rows(x, p.m, p.n, zero), by_columns(a, p.m, p.n, zero), zero)
        if decompose(loops, routines, a, y, work, words, work + words * size_of(zero), p) != 0:
            return NOT_CONVERGED
        x += p.m * p.n * size_of(zero)
        y += result_bytes(p, zero)
    return 0


@always_inline
def svd_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write singular values and vectors of each matrix of X[0] to Y."""
    p, x, y = load_record(load_i64(frame, PARAMS), SvdParams), load_i64(frame, X), load_i64(frame, Y)
    zero, size, status = routines.zero, size_of(routines.zero), 0
    if min(p.m, p.n) == 0:
        for _ in range(p.matrices):
            write_identity(by_columns(y, p.m, left_count(p), zero), zero)
            write_identity(by_columns(y + p.m * left_count(p) * size, right_count(p), p.n, zero), zero)
            y += result_bytes(p, zero)
        return 0
    words = work_words(loops, routines, x, y, p)
    a = malloc(max((p.m * p.n + words) * size + 32 * min(p.m, p.n), block_bytes(p.m, p.n)))
    if a == 0:
        return OUT_OF_MEMORY
    in_lanes = (
        max(p.m, p.n) <= MAX_SMALL_ROWS and p.matrices >= MIN_LANE_MATRICES and (p.m == p.n or p.full == 0)
    )
    most = lane_count(zero) if in_lanes else max(p.matrices, 1)
    for first in range(0, p.matrices, most):
        count = min(most, p.matrices - first)
        if not (in_lanes and decompose_block(a, x, y, count - 1, p, zero)):
            status = _decompose_each(loops, routines, x, y, count, a, words, p)
            if status != 0:
                break
        x += count * p.m * p.n * size
        y += count * result_bytes(p, zero)
    free(a)
    return status


# --- reverse ---------------------------------------------------------------------------------------------------


@noinline
def _sum(a: Matrix, b: Matrix, into: Matrix, zero: Any) -> None:
    for i in range(into.rows):
        for j in range(into.columns):
            put(into, i, j, at(a, i, j, zero) + at(b, i, j, zero), zero)


@noinline
def _inner_cotangent(j_: Matrix, k_: Matrix, g: Matrix, s: Matrix, close: float, zero: Any) -> None:
    """Write the off-diagonal elements of G."""
    for i in range(s.rows):
        for j in range(s.rows):
            if i != j:
                of_u = at(j_, i, j, zero) - at(j_, j, i, zero)
                of_v = at(k_, i, j, zero) - at(k_, j, i, zero)
                apart = at(s, j, 0, zero) - at(s, i, 0, zero)
                together = at(s, j, 0, zero) + at(s, i, 0, zero)
                value = zero if abs(apart) <= close else (of_u + of_v) / (apart + apart)
                value += zero if together <= close else (of_u - of_v) / (together + together)
                put(g, i, j, value, zero)


@noinline
def _outside(
    loops: int,
    products: Any,
    vectors: Matrix,
    values: Matrix,
    inner: Matrix,
    s: Matrix,
    close: float,
    into: Matrix,
) -> bool:
    """Write the part of values outside the space of the vectors, divided by s.

    Return whether its columns for zero singular values are zero. `inner` holds the coordinates of the part inside.
    """
    zero = products.zero
    product(loops, products, vectors, inner, into, np.int64(1))
    for i in range(into.rows):
        for j in range(into.columns):
            put(into, i, j, at(values, i, j, zero) - at(into, i, j, zero), zero)
    if not are_zero(into, s, close, 1e4 * into.rows * eps_of(zero) * largest(values, zero), zero):
        return False
    for j in range(into.columns):
        value = at(s, j, 0, zero)
        for i in range(into.rows):
            put(into, i, j, zero if value <= close else at(into, i, j, zero) / value, zero)
    return True


@noinline
def _cotangent(loops: int, routines: Lapack, y: int, y_bar: int, into: Matrix, scratch: int, p: Any) -> bool:
    """Add the cotangent of one matrix; return whether it is determined. The scratch holds three squares and a side."""
    zero, size, products, write, more = (
        routines.zero,
        size_of(routines.zero),
        routines.products,
        np.int64(1),
        np.int64(0),
    )
    k = min(p.m, p.n)
    s, u, v = _values(y, p, zero), left_vectors(y, p, zero), right_vectors(y, p, zero)
    u_bar, v_bar = left_vectors(y_bar, p, zero), right_vectors(y_bar, p, zero)
    j_, k_ = by_rows(scratch, k, k, zero), by_rows(scratch + k * k * size, k, k, zero)
    g, close, side = (
        by_rows(scratch + 2 * k * k * size, k, k, zero),
        closest(s, p, zero),
        scratch + 3 * k * k * size,
    )
    product(loops, products, transposed(u), u_bar, j_, write)
    product(loops, products, transposed(v), v_bar, k_, write)
    both = by_rows(side, k, k, zero)
    _sum(j_, k_, both, zero)
    memset(g.address, np.int32(0), k * k * size)
    for i in range(k):
        put(g, i, i, load_at(y_bar, i * size, zero), zero)
    if p.vectors:
        if not (is_determined(g, both, s, close, zero) and zeros_are_out(j_, k_, g, s, close, zero)):
            return False
    else:
        share(g, s, close, zero)
        clear_zeros(g, s, close, zero)
    _inner_cotangent(j_, k_, g, s, close, zero)
    outer = by_rows(side, p.m, k, zero)
    product(loops, products, u, g, outer, write)
    product(loops, products, outer, transposed(v), into, more)
    if p.vectors == 0:
        return True
    if p.m > k:
        if not _outside(loops, products, u, u_bar, j_, s, close, outer):
            return False
        product(loops, products, outer, transposed(v), into, more)
    if p.n > k:
        outer = by_rows(side, p.n, k, zero)
        if not _outside(loops, products, v, v_bar, k_, s, close, outer):
            return False
        product(loops, products, u, transposed(outer), into, more)
    return True


@always_inline
def svd_reverse(frame: int, loops: int, routines: Lapack) -> int:
    """Add (STORE: write) the cotangents of the matrices to X_BAR[0]."""
    p, y, y_bar = load_record(load_i64(frame, PARAMS), SvdParams), load_i64(frame, Y), load_i64(frame, Y_BAR)
    x_bar, zero, k, status = load_i64(frame, X_BAR), routines.zero, min(p.m, p.n), 0
    bytes_ = p.m * p.n * size_of(zero)
    if load_i64(frame, STORE) & 1:
        memset(x_bar, np.int32(0), p.matrices * bytes_)
    scratch = malloc((3 * k * k + max(p.m, p.n) * k) * size_of(zero) + 8)
    if scratch == 0:
        return OUT_OF_MEMORY
    for _ in range(p.matrices):
        if not _cotangent(loops, routines, y, y_bar, by_rows(x_bar, p.m, p.n, zero), scratch, p):
            status = NOT_DIFFERENTIABLE
            break
        x_bar += bytes_
        y += result_bytes(p, zero)
        y_bar += result_bytes(p, zero)
    free(scratch)
    return status


# --- tangent ---------------------------------------------------------------------------------------------------


@noinline
def _inner_tangents(m: Matrix, s: Matrix, of_u: Matrix, of_v: Matrix, close: float, zero: Any) -> None:
    """Write ``U^T U_dot`` and ``V^T V_dot``, from ``M = U^T A_dot V``."""
    for i in range(s.rows):
        for j in range(s.rows):
            apart = at(s, j, 0, zero) - at(s, i, 0, zero)
            together = at(s, j, 0, zero) + at(s, i, 0, zero)
            even = (at(m, i, j, zero) + at(m, j, i, zero)) / 2
            odd = (at(m, i, j, zero) - at(m, j, i, zero)) / 2
            first = zero if abs(apart) <= close else even / apart
            second = zero if together <= close or i == j else odd / together
            put(of_u, i, j, first + second, zero)
            put(of_v, i, j, first - second, zero)


@noinline
def _tangent_of(
    loops: int, routines: Lapack, y: int, x_dot: Matrix, y_dot: int, scratch: int, p: Any
) -> bool:
    """Write the tangent of one matrix; return whether it is determined. The scratch holds three squares and a side."""
    zero, size, products, write = routines.zero, size_of(routines.zero), routines.products, np.int64(1)
    k = min(p.m, p.n)
    s, u, v = _values(y, p, zero), left_vectors(y, p, zero), right_vectors(y, p, zero)
    u_dot, v_dot = left_vectors(y_dot, p, zero), right_vectors(y_dot, p, zero)
    m, of_u = by_rows(scratch, k, k, zero), by_rows(scratch + k * k * size, k, k, zero)
    of_v, close, side = (
        by_rows(scratch + 2 * k * k * size, k, k, zero),
        closest(s, p, zero),
        scratch + 3 * k * k * size,
    )
    memset(y_dot, np.int32(0), result_bytes(p, zero))
    moved = by_rows(side, p.m, k, zero)
    product(loops, products, x_dot, v, moved, write)
    product(loops, products, transposed(u), moved, m, write)
    if p.vectors == 0:
        share(m, s, close, zero)
        clear_zeros(m, s, close, zero)
    elif not ties_stay(m, s, close, zero):
        return False
    for i in range(k):
        put(by_rows(y_dot, k, 1, zero), i, 0, at(m, i, i, zero), zero)
    if p.vectors == 0:
        return True
    _inner_tangents(m, s, of_u, of_v, close, zero)
    outside = False
    if p.m > k:
        if not _outside(loops, products, u, moved, m, s, close, u_dot):
            return False
        outside = True
    product(loops, products, u, of_u, u_dot, np.int64(not outside))
    moved, outside = by_rows(side, p.n, k, zero), False
    if p.n > k:
        product(loops, products, transposed(x_dot), u, moved, write)
        if not _outside(loops, products, v, moved, transposed(m), s, close, v_dot):
            return False
        outside = True
    product(loops, products, v, of_v, v_dot, np.int64(not outside))
    return True


@always_inline
def svd_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write the tangents of singular values and vectors to Y_BAR."""
    p, y, y_dot = load_record(load_i64(frame, PARAMS), SvdParams), load_i64(frame, Y), load_i64(frame, Y_BAR)
    x_dot, zero, k, status = load_i64(frame, X_BAR), routines.zero, min(p.m, p.n), 0
    scratch = malloc((3 * k * k + max(p.m, p.n) * k) * size_of(zero) + 8)
    if scratch == 0:
        return OUT_OF_MEMORY
    for _ in range(p.matrices):
        if not _tangent_of(loops, routines, y, by_rows(x_dot, p.m, p.n, zero), y_dot, scratch, p):
            status = NOT_DIFFERENTIABLE
            break
        x_dot += p.m * p.n * size_of(zero)
        y += result_bytes(p, zero)
        y_dot += result_bytes(p, zero)
    free(scratch)
    return status
