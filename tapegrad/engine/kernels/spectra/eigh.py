"""Eigenvalues and eigenvectors of symmetric matrices.

The result is, for each matrix, its eigenvalues w, then its eigenvectors, a row each. With ``M = V^T V_bar`` the
cotangent is ``V G V^T``, where G has w_bar on its diagonal and ``(M - M^T) / (2 (w_j - w_i))`` elsewhere (Giles 2008).
Each element of the triangle that is read also represents its mirror image, and gets the sum of both cotangents.

If only eigenvalues are used, equal ones share their cotangent equally. Otherwise the function must not depend on the
basis of their eigenspace, as far as the cotangents tell. If it does, the status is NOT_DIFFERENTIABLE.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.lanes.eigh_lanes import MAX_ROWS, decompose_block
from tapegrad.engine.kernels.lanes.lanes import MIN_LANE_MATRICES, lane_count
from tapegrad.engine.kernels.lanes.tridiagonal_lanes import block_bytes
from tapegrad.engine.kernels.language.frame import PARAMS, STORE, VALUE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    LOWER,
    NO_VECTORS,
    UPPER,
    VECTORS,
    Lapack,
    add_to_triangle,
    at,
    by_columns,
    by_rows,
    copy,
    info_word,
    libraries,
    put,
    read_symmetric,
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
    size_of,
)
from tapegrad.engine.kernels.language.status import NOT_CONVERGED, NOT_DIFFERENTIABLE, OUT_OF_MEMORY
from tapegrad.ops.params import EighParams

LIBRARY = libraries(("eigh",), "syevd")
_EPS, _SINGLE_EPS = 2.0**-52, 2.0**-23
_FEWEST = 4  # rows of matrices of which one alone is not given to LAPACK
_SAME = 1e4  # roundings by which equal cotangents may differ


@always_inline
def eps_of(zero: Any) -> float:
    """Return the distance of 1 from the next number of a dtype."""
    return _EPS if size_of(zero) == 8 else _SINGLE_EPS


@noinline
def largest(a: Matrix, zero: Any) -> float:
    """Return the largest absolute value."""
    found = 0.0
    for i in range(a.rows):
        for j in range(a.columns):
            found = max(found, abs(np.float64(at(a, i, j, zero))))
    return found


@always_inline
def _result_bytes(n: int, zero: Any) -> int:
    return (n + n * n) * size_of(zero)


# --- forward ---------------------------------------------------------------------------------------------------


@noinline
def _decompose_each(
    loops: int, routines: Lapack, x: int, y: int, matrices: int, work: int, words: int, p: Any
) -> int:
    """Write eigenvalues and, if `p.vectors`, eigenvectors of matrices one by one; return a status."""
    n, zero, size, info, order = p.n, routines.zero, size_of(routines.zero), info_word(), np.int32(p.n)
    uplo, integers = LOWER if p.lower else UPPER, work + words * size
    job = VECTORS if p.vectors else NO_VECTORS
    for _ in range(matrices):
        vectors = y + n * size
        copy(by_rows(x, n, n, zero), by_columns(vectors, n, n, zero), zero)
        call_by_reference(
            loops,
            routines.syevd,
            (
                job,
                uplo,
                order,
                vectors,
                order,
                y,
                work,
                np.int32(words),
                integers,
                np.int32(3 + 5 * n),
                info,
            ),
        )
        if load_i32(info, 0) != 0:
            return NOT_CONVERGED
        x += n * n * size
        y += _result_bytes(n, zero)
    return 0


@always_inline
def _wanted(frame: int) -> Any:
    """Return the parameters with `vectors` set if eigenvectors are read, also by derivatives of eigenvalues."""
    p = load_record(load_i64(frame, PARAMS), EighParams)
    vectors = 0 if load_i64(frame, STORE) & VALUE else 1
    return EighParams(p.matrices, p.n, p.lower, p.vectors | vectors)


@always_inline
def eigh_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write eigenvalues and eigenvectors of each matrix of X[0] to Y."""
    p, x, y = _wanted(frame), load_i64(frame, X), load_i64(frame, Y)
    n, zero, size, status = p.n, routines.zero, size_of(routines.zero), 0
    if n == 0:
        return 0
    words, in_lanes = 1 + 6 * n + 2 * n * n, n <= (MAX_ROWS if p.matrices >= MIN_LANE_MATRICES else _FEWEST)
    work = malloc(max(words * size + (3 + 5 * n) * 4, block_bytes(n) if in_lanes else 0))
    if work == 0:
        return OUT_OF_MEMORY
    most = lane_count(zero) if in_lanes else max(p.matrices, 1)
    for first in range(0, p.matrices, most):
        count = min(most, p.matrices - first)
        if not (in_lanes and decompose_block(work, x, y, count - 1, p, zero)):
            status = _decompose_each(loops, routines, x, y, count, work, words, p)
            if status != 0:
                break
        x += count * n * n * size
        y += count * _result_bytes(n, zero)
    free(work)
    return status


# --- ties ------------------------------------------------------------------------------------------------------


@always_inline
def _closest(w: Matrix, zero: Any) -> float:
    """Return the distance up to which eigenvalues count as equal."""
    return 8 * w.rows * eps_of(zero) * largest(w, zero)


@noinline
def end_of_tie(w: Matrix, first: int, close: float, zero: Any) -> int:
    """Return the end of the run of equal eigenvalues that begins at `first`; eigenvalues ascend."""
    end = first + 1
    while end < w.rows and abs(at(w, end, 0, zero) - at(w, end - 1, 0, zero)) <= close:
        end += 1
    return end


@noinline
def share(diagonal: Matrix, w: Matrix, close: float, zero: Any) -> None:
    """Replace diagonal elements of equal eigenvalues by their mean."""
    first = 0
    while first < w.rows:
        end, total = end_of_tie(w, first, close, zero), 0.0
        for i in range(first, end):
            total += at(diagonal, i, i, zero)
        for i in range(first, end if end > first + 1 else first):
            put(diagonal, i, i, total / (end - first), zero)
        first = end


@noinline
def is_determined(g: Matrix, m: Matrix, w: Matrix, close: float, zero: Any) -> bool:
    """Return whether equal eigenvalues have equal cotangents, and the function does not depend on their basis."""
    slack = _SAME * eps_of(zero) * w.rows
    of_values, of_vectors = 0.0, slack * largest(m, zero)
    for i in range(w.rows):
        of_values = max(of_values, abs(np.float64(at(g, i, i, zero))))
    of_values *= slack
    for i in range(w.rows):
        for j in range(i + 1, w.rows):
            if abs(at(w, j, 0, zero) - at(w, i, 0, zero)) > close:
                break
            value, other = at(g, i, i, zero), at(g, j, j, zero)
            if abs(value - other) > of_values or abs(at(m, i, j, zero) - at(m, j, i, zero)) > of_vectors:
                return False
            mixed = max(abs(at(m, i, j, zero)), abs(at(m, i, i, zero) - at(m, j, j, zero)))
            if abs(value) > of_values and mixed > of_vectors:
                return False
    return True


# --- reverse ---------------------------------------------------------------------------------------------------


@noinline
def _inner_cotangent(m: Matrix, g: Matrix, w: Matrix, close: float, zero: Any) -> None:
    """Write the off-diagonal elements of G."""
    for i in range(w.rows):
        for j in range(i):
            gap = at(w, j, 0, zero) - at(w, i, 0, zero)
            value = zero
            if not abs(gap) <= close:
                value = (at(m, i, j, zero) - at(m, j, i, zero)) / (gap + gap)
            put(g, i, j, value, zero)
            put(g, j, i, value, zero)


@noinline
def _cotangent(loops: int, routines: Lapack, y: int, y_bar: int, scratch: int, p: Any) -> bool:
    """Write the cotangent of one matrix after the first matrix of `scratch`; return whether it is determined."""
    n, zero, size, products = p.n, routines.zero, size_of(routines.zero), routines.products
    w, rows = by_rows(y, n, 1, zero), by_rows(y + n * size, n, n, zero)
    rows_bar, write = by_rows(y_bar + n * size, n, n, zero), np.int64(1)
    m, g, close = by_rows(scratch, n, n, zero), by_rows(scratch + n * n * size, n, n, zero), _closest(w, zero)
    product(loops, products, rows, transposed(rows_bar), m, write)
    for i in range(n):
        put(g, i, i, load_at(y_bar, i * size, zero), zero)
    if p.vectors:
        if not is_determined(g, m, w, close, zero):
            return False
    else:
        share(g, w, close, zero)
    _inner_cotangent(m, g, w, close, zero)
    product(loops, products, g, rows, m, write)
    product(loops, products, transposed(rows), m, g, write)
    return True


@always_inline
def eigh_reverse(frame: int, loops: int, routines: Lapack) -> int:
    """Add (STORE: write) the cotangents of the triangles to X_BAR[0]."""
    p, y, y_bar = load_record(load_i64(frame, PARAMS), EighParams), load_i64(frame, Y), load_i64(frame, Y_BAR)
    x_bar, n, zero, status = load_i64(frame, X_BAR), p.n, routines.zero, 0
    bytes_, store = n * n * size_of(zero), load_i64(frame, STORE) & 1
    scratch = malloc(2 * bytes_ + 8)
    if scratch == 0:
        return OUT_OF_MEMORY
    symmetric = by_rows(scratch + bytes_, n, n, zero)
    for _ in range(p.matrices):
        if not _cotangent(loops, routines, y, y_bar, scratch, p):
            status = NOT_DIFFERENTIABLE
            break
        add_to_triangle(symmetric, by_rows(x_bar, n, n, zero), p.lower, store, zero)
        x_bar += bytes_
        y += _result_bytes(n, zero)
        y_bar += _result_bytes(n, zero)
    free(scratch)
    return status


# --- tangent ---------------------------------------------------------------------------------------------------


@noinline
def _is_one_number(m: Matrix, w: Matrix, close: float, zero: Any) -> bool:
    """Return whether equal eigenvalues have equal tangents, and their eigenvectors do not mix."""
    slack = _SAME * eps_of(zero) * w.rows * largest(m, zero)
    for i in range(w.rows):
        for j in range(i + 1, w.rows):
            if abs(at(w, j, 0, zero) - at(w, i, 0, zero)) > close:
                break
            if max(abs(at(m, i, j, zero)), abs(at(m, i, i, zero) - at(m, j, j, zero))) > slack:
                return False
    return True


@noinline
def _tangent_of(
    loops: int, routines: Lapack, y: int, x_dot: Matrix, y_dot: int, scratch: int, p: Any
) -> bool:
    """Write the tangent of one matrix; return whether it is determined."""
    n, zero, size, products, write = (
        p.n,
        routines.zero,
        size_of(routines.zero),
        routines.products,
        np.int64(1),
    )
    w, rows, close = by_rows(y, n, 1, zero), by_rows(y + n * size, n, n, zero), 0.0
    m, g = by_rows(scratch, n, n, zero), by_rows(scratch + n * n * size, n, n, zero)
    close = _closest(w, zero)
    read_symmetric(x_dot, p.lower, m, zero)
    product(loops, products, rows, m, g, write)
    product(loops, products, g, transposed(rows), m, write)
    if p.vectors:
        if not _is_one_number(m, w, close, zero):
            return False
    else:
        share(m, w, close, zero)
    for i in range(n):
        put(by_rows(y_dot, n, 1, zero), i, 0, at(m, i, i, zero), zero)
        for j in range(n):
            gap = at(w, i, 0, zero) - at(w, j, 0, zero)
            put(g, i, j, zero if abs(gap) <= close else at(m, i, j, zero) / gap, zero)
    product(loops, products, g, rows, by_rows(y_dot + n * size, n, n, zero), write)
    return True


@always_inline
def eigh_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write the tangents of eigenvalues and eigenvectors to Y_BAR."""
    p, y, y_dot = load_record(load_i64(frame, PARAMS), EighParams), load_i64(frame, Y), load_i64(frame, Y_BAR)
    x_dot, n, zero, status = load_i64(frame, X_BAR), p.n, routines.zero, 0
    bytes_ = n * n * size_of(zero)
    scratch = malloc(2 * bytes_ + 8)
    if scratch == 0:
        return OUT_OF_MEMORY
    for _ in range(p.matrices):
        if not _tangent_of(loops, routines, y, by_rows(x_dot, n, n, zero), y_dot, scratch, p):
            status = NOT_DIFFERENTIABLE
            break
        x_dot += bytes_
        y += _result_bytes(n, zero)
        y_dot += _result_bytes(n, zero)
    free(scratch)
    return status
