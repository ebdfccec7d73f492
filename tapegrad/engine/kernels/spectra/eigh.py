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
from tapegrad.engine.kernels.lanes.lanes import MIN_LANE_MATRICES
from tapegrad.engine.kernels.lanes.tridiagonal_lanes import block_bytes
from tapegrad.engine.kernels.language.frame import PARAMS, STORE, VALUE
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
    eps_of,
    info_i64,
    largest,
    libraries,
    put,
    read_symmetric,
)
from tapegrad.engine.kernels.language.matmul import Matrix, product, transposed
from tapegrad.engine.kernels.language.raw_memory import (
    call_by_reference,
    load_at,
    load_i32,
    load_i64,
    load_record,
    size_of,
)
from tapegrad.engine.kernels.language.status import NOT_CONVERGED, NOT_DIFFERENTIABLE, PHASE_DEPENDENT
from tapegrad.engine.kernels.systems.complex_products import product_by_adjoint, product_of_adjoint
from tapegrad.engine.kernels.systems.stacks import (
    COTANGENT,
    TANGENT,
    MatrixFrame,
    Sizes,
    for_each,
    for_each_block,
)
from tapegrad.ops.structural.matrices import EighParams

LIBRARY = libraries(("eigh",), "syevd")
_MAX_ROWS_OF_ONE = 4  # of a matrix alone that is not given to LAPACK
SAME = 1e4  # roundings by which equal cotangents may differ


@always_inline
def result_bytes(n: int, zero: Any) -> int:
    """Return the bytes of the result for a matrix."""
    return (n + n * n) * size_of(zero)


# --- forward ---------------------------------------------------------------------------------------------------


@always_inline
def _work_fields(n: int) -> int:
    """Return the numbers in LAPACK's workspace; integers follow them."""
    return 1 + 6 * n + 2 * n * n


@noinline
def _decompose(loops: int, routines: Lapack, own: MatrixFrame, p: Any) -> int:
    """Write eigenvalues and, if `p.vectors`, eigenvectors of one matrix; return a status."""
    n, zero, size, info, order = p.n, routines.zero, size_of(routines.zero), info_i64(), np.int32(p.n)
    job, uplo = VECTORS if p.vectors else NO_VECTORS, LOWER if p.lower else UPPER
    vectors, lwork, integers = (
        own.y + n * size,
        np.int32(_work_fields(n)),
        own.scratch + _work_fields(n) * size,
    )
    copy(by_rows(own.x, n, n, zero), by_columns(vectors, n, n, zero), zero)
    call_by_reference(
        loops,
        routines.syevd,
        (job, uplo, order, vectors, order, own.y, own.scratch, lwork, integers, np.int32(3 + 5 * n), info),
    )
    return 0 if load_i32(info, 0) == 0 else NOT_CONVERGED


@always_inline
def wanted(frame: int) -> Any:
    """Return the parameters with `vectors` set if eigenvectors are read, also by derivatives of eigenvalues."""
    p = load_record(load_i64(frame, PARAMS), EighParams)
    vectors = 0 if load_i64(frame, STORE) & VALUE else 1
    return EighParams(p.matrices, p.n, p.lower, p.vectors | vectors, p.nan_on_failure)


@always_inline
def eigh_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write eigenvalues and eigenvectors of each matrix of X[0] to Y."""
    p, zero = wanted(frame), routines.zero
    n, size = p.n, size_of(zero)
    if n == 0:
        return 0
    in_lanes = n <= (MAX_ROWS if p.matrices >= MIN_LANE_MATRICES else _MAX_ROWS_OF_ONE)
    scratch = max(_work_fields(n) * size + (3 + 5 * n) * 4, block_bytes(n) if in_lanes else 0)
    sizes = Sizes(n * n * size, 0, result_bytes(n, zero), scratch)
    return for_each_block(frame, loops, routines, p, sizes, in_lanes, decompose_block, _decompose)


# --- ties ------------------------------------------------------------------------------------------------------


@always_inline
def closest(w: Matrix, zero: Any) -> float:
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
    slack = SAME * eps_of(zero) * w.rows
    of_values, of_vectors = 0.0, slack * largest(m, zero)
    for i in range(w.rows):
        of_values = max(of_values, np.float64(abs(at(g, i, i, zero))))
    of_values *= slack
    for i in range(w.rows):
        for j in range(i + 1, w.rows):
            if abs(at(w, j, 0, zero) - at(w, i, 0, zero)) > close:
                break
            value, other = at(g, i, i, zero), at(g, j, j, zero)
            if (
                abs(value - other) > of_values
                or abs(at(m, i, j, zero) - np.conj(at(m, j, i, zero))) > of_vectors
            ):
                return False
            mixed = max(abs(at(m, i, j, zero)), abs(at(m, i, i, zero) - at(m, j, j, zero)))
            if abs(value) > of_values and mixed > of_vectors:
                return False
    return True


@noinline
def depends_on_phases(m: Matrix, v_bar: Matrix, zero: Any) -> bool:
    """Return whether a function depends on the phases of complex vectors, which ``V^H V_bar`` shows on its diagonal."""
    if np.iscomplexobj(zero):
        slack = SAME * eps_of(zero) * m.rows * max(largest(m, zero), largest(v_bar, zero))
        for i in range(m.rows):
            if abs(at(m, i, i, zero).imag) > slack:
                return True
    return False


# --- reverse ---------------------------------------------------------------------------------------------------


@noinline
def _inner_cotangent(m: Matrix, g: Matrix, w: Matrix, close: float, zero: Any) -> None:
    """Write the off-diagonal elements of G."""
    for i in range(w.rows):
        for j in range(i):
            gap = at(w, j, 0, zero) - at(w, i, 0, zero)
            value = zero
            if not abs(gap) <= close:
                value = (at(m, i, j, zero) - np.conj(at(m, j, i, zero))) / (gap + gap)
            put(g, i, j, value, zero)
            put(g, j, i, np.conj(value), zero)


@always_inline
def _sizes(n: int, zero: Any) -> Sizes:
    """Return the bytes of a stack; the scratch memory holds two matrices."""
    bytes_ = n * n * size_of(zero)
    return Sizes(bytes_, 0, result_bytes(n, zero), 2 * bytes_)


@noinline
def _cotangent(loops: int, routines: Lapack, own: MatrixFrame, p: Any) -> int:
    """Add (store: write) the cotangent of one matrix; return a status."""
    n, zero, size, products = p.n, routines.zero, size_of(routines.zero), routines.products
    w, v = by_rows(own.y, n, 1, zero), by_columns(own.y + n * size, n, n, zero)
    v_bar, write = by_columns(own.y_bar + n * size, n, n, zero), np.int64(1)
    m, g = by_rows(own.scratch, n, n, zero), by_rows(own.scratch + n * n * size, n, n, zero)
    close = closest(w, zero)
    status = product_of_adjoint(loops, products, v, v_bar, m, write)
    for i in range(n):
        put(g, i, i, load_at(own.y_bar, i * size, zero), zero)
    if p.vectors:
        if not is_determined(g, m, w, close, zero):
            return NOT_DIFFERENTIABLE
        if depends_on_phases(m, v_bar, zero):
            return PHASE_DEPENDENT
    else:
        share(g, w, close, zero)
    _inner_cotangent(m, g, w, close, zero)
    status = max(status, product_by_adjoint(loops, products, g, v, m, write))
    product(loops, products, v, m, g, write)
    if status != 0:
        return status
    add_to_triangle(g, by_rows(own.x_bar, n, n, zero), p.lower, own.store, zero)
    return 0


@always_inline
def eigh_reverse(frame: int, loops: int, routines: Lapack) -> int:
    """Add (STORE: write) the cotangents of the triangles to X_BAR[0]."""
    p = load_record(load_i64(frame, PARAMS), EighParams)
    return for_each(frame, loops, routines, p, _sizes(p.n, routines.zero), _cotangent, COTANGENT)


# --- tangent ---------------------------------------------------------------------------------------------------


@noinline
def _is_one_number(m: Matrix, w: Matrix, close: float, zero: Any) -> bool:
    """Return whether equal eigenvalues have equal tangents, and their eigenvectors do not mix."""
    slack = SAME * eps_of(zero) * w.rows * largest(m, zero)
    for i in range(w.rows):
        for j in range(i + 1, w.rows):
            if abs(at(w, j, 0, zero) - at(w, i, 0, zero)) > close:
                break
            if max(abs(at(m, i, j, zero)), abs(at(m, i, i, zero) - at(m, j, j, zero))) > slack:
                return False
    return True


@noinline
def _tangent(loops: int, routines: Lapack, own: MatrixFrame, p: Any) -> int:
    """Write the tangent of one matrix; return a status."""
    n, zero, size, products = p.n, routines.zero, size_of(routines.zero), routines.products
    w, v = by_rows(own.y, n, 1, zero), by_columns(own.y + n * size, n, n, zero)
    m, g = by_rows(own.scratch, n, n, zero), by_rows(own.scratch + n * n * size, n, n, zero)
    close, write = closest(w, zero), np.int64(1)
    read_symmetric(by_rows(own.x_bar, n, n, zero), p.lower, m, zero)
    status = product_of_adjoint(loops, products, v, m, g, write)
    product(loops, products, g, v, m, write)
    if status != 0:
        return status
    if p.vectors:
        if not _is_one_number(m, w, close, zero):
            return NOT_DIFFERENTIABLE
    else:
        share(m, w, close, zero)
    for i in range(n):
        put(by_rows(own.y_bar, n, 1, zero), i, 0, at(m, i, i, zero), zero)
        for j in range(n):
            gap = at(w, i, 0, zero) - at(w, j, 0, zero)
            put(g, i, j, zero if abs(gap) <= close else np.conj(at(m, i, j, zero)) / gap, zero)
    product(loops, products, g, transposed(v), by_rows(own.y_bar + n * size, n, n, zero), write)
    return 0


@always_inline
def eigh_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write the tangents of eigenvalues and eigenvectors to Y_BAR."""
    p = load_record(load_i64(frame, PARAMS), EighParams)
    return for_each(frame, loops, routines, p, _sizes(p.n, routines.zero), _tangent, TANGENT)
