"""Complex eigenvalues and eigenvectors of square matrices.

The result is, for each matrix, its eigenvalues w, then its eigenvectors of length 1, a row each. With H the conjugate
transpose the cotangent is ``V^-H G V^H``. G has w_bar on its diagonal, and
``(M - V^H V D) / conj(w_j - w_i)`` elsewhere, where M is ``V^H V_bar`` and D the real part of its diagonal (Boeddeker
et al. 2017). Its imaginary part is zero for functions that do not depend on the phases of the vectors; for others the
status is PHASE_DEPENDENT.

Equal eigenvalues are treated as in `spectra.eig`. Matrices without imaginary parts are decomposed as real ones, which
takes half the time, and complex eigenvalues of them are conjugate pairs to the last bit.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.complexes.systems import ADJOINT, factorize, solve
from tapegrad.engine.kernels.language.frame import PARAMS
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    NO_VECTORS,
    PLAIN,
    VECTORS,
    Complexes,
    add,
    at,
    by_columns,
    by_rows,
    complex_libraries,
    copy,
    eps_of,
    factor_bytes,
    info_i64,
    largest,
    put,
)
from tapegrad.engine.kernels.language.matmul import Matrix, product
from tapegrad.engine.kernels.language.raw_memory import (
    call_by_reference,
    load_at,
    load_i32,
    load_i64,
    load_record,
    size_of,
    store_at,
)
from tapegrad.engine.kernels.language.status import (
    NOT_CONVERGED,
    NOT_DIFFERENTIABLE,
    NOT_FINITE,
    PHASE_DEPENDENT,
)
from tapegrad.engine.kernels.spectra.eig import are_alike, share_mean
from tapegrad.engine.kernels.spectra.eigh import closest, depends_on_phases, result_bytes
from tapegrad.engine.kernels.systems.complex_products import product_by_adjoint, product_of_adjoint
from tapegrad.engine.kernels.systems.stacks import (
    COTANGENT,
    RESULT,
    TANGENT,
    MatrixFrame,
    Sizes,
    clear_if_written,
    for_each,
)
from tapegrad.ops.structural.matrices import EigParams

LIBRARY = complex_libraries(("eig",), "geev", "getrf", "getrs", of_reals=("geev",))
_WORK = 34  # rows of workspace, for blocks of 32 columns


# --- forward ---------------------------------------------------------------------------------------------------


@noinline
def _are_finite(a: Matrix, zero: Any) -> bool:
    for i in range(a.rows):
        for j in range(a.columns):
            value = at(a, i, j, zero)
            if value - value != zero:
                return False
    return True


@noinline
def _are_real(a: Matrix, zero: Any) -> bool:
    for i in range(a.rows):
        for j in range(a.columns):
            if at(a, i, j, zero).imag != zero.real:
                return False
    return True


@noinline
def _write_pairs(values: int, vectors: int, y: int, n: int, real: Any) -> None:
    """Write the eigenvalues, real parts before imaginary ones, and the eigenvectors that LAPACK has found of reals.

    The vectors of a conjugate pair stand in two columns, their real parts before their imaginary ones.
    """
    size = size_of(real)
    for j in range(n):
        imaginary = load_at(values, (n + j) * size, real)
        store_at(y, 2 * j * size, load_at(values, j * size, real), real)
        store_at(y, (2 * j + 1) * size, imaginary, real)
        sign = 0.0 if imaginary == real else 1.0 if imaginary > real else -1.0
        first = j - 1 if sign < 0.0 else j
        for i in range(n):
            to = 2 * (n + j * n + i) * size
            other = load_at(vectors, ((first + 1) * n + i) * size, real) if sign != 0.0 else real
            store_at(y, to, load_at(vectors, (first * n + i) * size, real), real)
            store_at(y, to + size, sign * other if sign != 0.0 else other, real)


@noinline
def _decompose_real(loops: int, routines: Complexes, own: MatrixFrame, n: int) -> int:
    """Write eigenvalues and eigenvectors of a matrix without imaginary parts; return a status."""
    zero, real, info = routines.zero, routines.real, info_i64()
    size, x, order, one = size_of(real), by_rows(own.x, n, n, zero), np.int32(n), np.int32(1)
    lwork = _WORK * n
    a, values = own.scratch, own.scratch + n * n * size
    vectors = values + 2 * n * size
    work = vectors + n * n * size
    for i in range(n):
        for j in range(n):
            store_at(a, (j * n + i) * size, at(x, i, j, zero).real, real)
    call_by_reference(
        loops,
        routines.geev_of_reals,
        (NO_VECTORS, VECTORS, order, a, order, values, values + n * size, work, one, vectors, order, work,
         np.int32(lwork), info),
    )  # fmt: skip
    if load_i32(info, 0) != 0:
        return NOT_CONVERGED
    _write_pairs(values, vectors, own.y, n, real)
    return 0


@noinline
def _decompose(loops: int, routines: Complexes, own: MatrixFrame, p: Any) -> int:
    """Write eigenvalues and eigenvectors of one matrix; return a status."""
    n, zero, size, info = p.n, routines.zero, size_of(routines.zero), info_i64()
    lwork, order, one = _WORK * n, np.int32(n), np.int32(1)
    a, y, work = own.scratch, own.y, own.scratch + n * n * size
    copy(by_rows(own.x, n, n, zero), by_columns(a, n, n, zero), zero)
    if not _are_finite(by_rows(a, n, n, zero), zero):
        return NOT_FINITE
    if _are_real(by_rows(a, n, n, zero), zero):
        return _decompose_real(loops, routines, own, n)
    call_by_reference(
        loops,
        routines.geev,
        (NO_VECTORS, VECTORS, order, a, order, y, work, one, y + n * size, order, work,
         np.int32(lwork), work + lwork * size, info),
    )  # fmt: skip
    return 0 if load_i32(info, 0) == 0 else NOT_CONVERGED


@always_inline
def eig_forward(frame: int, loops: int, routines: Complexes) -> int:
    """Write eigenvalues and eigenvectors of each matrix of X[0] to Y."""
    p, zero = load_record(load_i64(frame, PARAMS), EigParams), routines.zero
    n, size = p.n, size_of(zero)
    if n == 0:
        return 0
    sizes = Sizes(n * n * size, 0, result_bytes(n, zero), (n * n + n + _WORK * n) * size)
    return for_each(frame, loops, routines, p, sizes, _decompose, RESULT)


# --- shared by both derivatives --------------------------------------------------------------------------------


@noinline
def _factor(loops: int, routines: Complexes, v: Matrix, factor: int) -> bool:
    """Write the LU factors of the matrix of eigenvectors; return whether they are a basis."""
    zero, n = routines.zero, v.rows
    t = by_columns(factor, n, n, zero)
    copy(v, t, zero)
    factorize(loops, routines, factor, n)
    least = 8 * n * eps_of(zero) * largest(t, zero)
    for i in range(n):
        if not abs(at(t, i, i, zero)) > least:
            return False
    return True


@noinline
def _divide_by_gaps(m: Matrix, w: Matrix, close: float, conjugated: int, zero: Any) -> None:
    """Divide the off-diagonal elements by ``w_j - w_i``, or by its conjugate; 0 for equal eigenvalues."""
    for i in range(w.rows):
        for j in range(w.rows):
            gap = at(w, j, 0, zero) - at(w, i, 0, zero)
            gap = np.conj(gap) if conjugated else gap
            if i != j:
                put(m, i, j, zero if abs(gap) <= close else at(m, i, j, zero) / gap, zero)


@always_inline
def _sizes(n: int, zero: Any) -> Sizes:
    """Return the bytes of a stack; the scratch memory holds two matrices and factors of a third one."""
    bytes_ = n * n * size_of(zero)
    return Sizes(bytes_, 0, result_bytes(n, zero), 2 * bytes_ + factor_bytes(n, zero))


# --- reverse ---------------------------------------------------------------------------------------------------


@noinline
def _without_lengths(m: Matrix, gram: Matrix, zero: Any) -> None:
    """Subtract from each column of M that of the Gram matrix times the real part of its diagonal element."""
    for j in range(m.columns):
        factor = at(m, j, j, zero).real
        for i in range(m.rows):
            put(m, i, j, at(m, i, j, zero) - factor * at(gram, i, j, zero), zero)


@noinline
def _cotangent(loops: int, routines: Complexes, own: MatrixFrame, p: Any) -> int:
    """Add the cotangent of one matrix; return a status."""
    n, zero, size, products = p.n, routines.zero, size_of(routines.zero), routines.products
    w, v, write = by_rows(own.y, n, 1, zero), by_columns(own.y + n * size, n, n, zero), np.int64(1)
    w_bar, v_bar = by_rows(own.y_bar, n, 1, zero), by_columns(own.y_bar + n * size, n, n, zero)
    m, other = by_columns(own.scratch, n, n, zero), by_columns(own.scratch + n * n * size, n, n, zero)
    factor, close, diagonal = own.scratch + 2 * n * n * size, closest(w, zero), w_bar
    status = product_of_adjoint(loops, products, v, v_bar, m, write)
    if p.vectors:
        if depends_on_phases(m, v_bar, zero):
            return PHASE_DEPENDENT
        status = max(status, product_of_adjoint(loops, products, v, v, other, write))
        _without_lengths(m, other, zero)
        if not are_alike(w_bar, m, w, close, zero):
            return NOT_DIFFERENTIABLE
    else:
        diagonal = by_rows(factor, n, 1, zero)
        share_mean(w_bar, w, diagonal, close, zero)
    _divide_by_gaps(m, w, close, np.int64(1), zero)
    for i in range(n):
        put(m, i, i, at(diagonal, i, 0, zero), zero)
    status = max(status, product_by_adjoint(loops, products, m, v, other, write))
    if not _factor(loops, routines, v, factor):
        return NOT_DIFFERENTIABLE
    solve(loops, routines, factor, n, n, other.address, ADJOINT)
    add(other, by_rows(own.x_bar, n, n, zero), np.int64(0), zero)
    return status


@always_inline
def eig_reverse(frame: int, loops: int, routines: Complexes) -> int:
    """Add (STORE: write) the cotangents of the matrices to X_BAR[0]."""
    p, zero = load_record(load_i64(frame, PARAMS), EigParams), routines.zero
    clear_if_written(frame, p.matrices * p.n * p.n * size_of(zero))
    return for_each(frame, loops, routines, p, _sizes(p.n, zero), _cotangent, COTANGENT)


# --- tangent ---------------------------------------------------------------------------------------------------


@noinline
def _keep_lengths(v: Matrix, v_dot: Matrix, zero: Any) -> None:
    """Subtract from the tangents of vectors what changes their lengths."""
    for j in range(v.columns):
        along = zero.real
        for i in range(v.rows):
            along += (np.conj(at(v, i, j, zero)) * at(v_dot, i, j, zero)).real
        for i in range(v.rows):
            put(v_dot, i, j, at(v_dot, i, j, zero) - along * at(v, i, j, zero), zero)


@noinline
def _tangent(loops: int, routines: Complexes, own: MatrixFrame, p: Any) -> int:
    """Write the tangent of one matrix; return a status."""
    n, zero, size, products = p.n, routines.zero, size_of(routines.zero), routines.products
    w, v, write = by_rows(own.y, n, 1, zero), by_columns(own.y + n * size, n, n, zero), np.int64(1)
    w_dot, v_dot = by_rows(own.y_bar, n, 1, zero), by_columns(own.y_bar + n * size, n, n, zero)
    m, diagonal = by_columns(own.scratch, n, n, zero), by_rows(own.scratch + n * n * size, n, 1, zero)
    factor, close = own.scratch + 2 * n * n * size, closest(w, zero)
    if not _factor(loops, routines, v, factor):
        return NOT_DIFFERENTIABLE
    product(loops, products, by_rows(own.x_bar, n, n, zero), v, m, write)
    solve(loops, routines, factor, n, n, m.address, PLAIN)
    for i in range(n):
        put(diagonal, i, 0, at(m, i, i, zero), zero)
        put(m, i, i, zero, zero)
    if p.vectors == 0:
        share_mean(diagonal, w, w_dot, close, zero)
    elif not are_alike(diagonal, m, w, close, zero):
        return NOT_DIFFERENTIABLE
    else:
        copy(diagonal, w_dot, zero)
    _divide_by_gaps(m, w, close, np.int64(0), zero)
    product(loops, products, v, m, v_dot, write)
    _keep_lengths(v, v_dot, zero)
    return 0


@always_inline
def eig_tangent(frame: int, loops: int, routines: Complexes) -> int:
    """Write the tangents of eigenvalues and eigenvectors to Y_BAR."""
    p = load_record(load_i64(frame, PARAMS), EigParams)
    return for_each(frame, loops, routines, p, _sizes(p.n, routines.zero), _tangent, TANGENT)
