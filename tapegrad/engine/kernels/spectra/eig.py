"""Real eigenvalues and eigenvectors of square matrices, and derivatives of complex ones.

The result is, for each matrix, its eigenvalues w, then its eigenvectors of length 1, a row each. With H the conjugate
transpose the cotangent is ``V^-H G V^H``. G has w_bar on its diagonal, and ``(M - V^H V D) / conj(w_j - w_i)``
elsewhere, where M is ``V^H V_bar`` and D the real part of its diagonal (Giles 2008; Boeddeker et al. 2017, "On the
computation of complex-valued gradients"). The imaginary part is zero for functions that do not depend on the phases of
the vectors; for others the status is PHASE_DEPENDENT.

If only eigenvalues are used, equal ones share their cotangent equally. Otherwise the function must not depend on the
basis of their eigenvectors, as far as the cotangents tell. If it does, or if there is no basis of eigenvectors, the
status is NOT_DIFFERENTIABLE.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.frame import PARAMS
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    PLAIN,
    VECTORS,
    Lapack,
    add,
    at,
    by_columns,
    by_rows,
    copy,
    eps_of,
    factor_bytes,
    info_i64,
    largest,
    libraries,
    put,
    triangle_bytes,
)
from tapegrad.engine.kernels.language.matmul import Matrix, product
from tapegrad.engine.kernels.language.raw_memory import (
    call_by_reference,
    load_at,
    load_i32,
    load_i64,
    load_record,
    size_of,
)
from tapegrad.engine.kernels.language.status import (
    NO_REAL_RESULT,
    NOT_CONVERGED,
    NOT_DIFFERENTIABLE,
    NOT_FINITE,
    PHASE_DEPENDENT,
)
from tapegrad.engine.kernels.spectra.eigh import SAME, closest, depends_on_phases, result_bytes
from tapegrad.engine.kernels.systems.complex_products import product_by_adjoint, product_of_adjoint
from tapegrad.engine.kernels.systems.lu import factorize, solve, solve_adjoint
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

LIBRARY = libraries(("eig",), "geev", "getrf")
_WORK = 34  # rows of workspace, for blocks of 32 columns


# --- forward ---------------------------------------------------------------------------------------------------


@noinline
def _is_real(imaginary: int, n: int, zero: Any) -> bool:
    for i in range(n):
        if load_at(imaginary, i * size_of(zero), zero) != zero:
            return False
    return True


@noinline
def are_finite(a: int, count: int, zero: Any) -> bool:
    """Return whether no number is infinite or nan."""
    for i in range(count):
        value = load_at(a, i * size_of(zero), zero)
        if value - value != zero:
            return False
    return True


@noinline
def _decompose(loops: int, routines: Lapack, own: MatrixFrame, p: Any) -> int:
    """Write eigenvalues and eigenvectors of one matrix; return a status."""
    n, zero, size, info = p.n, routines.zero, size_of(routines.zero), info_i64()
    lwork, order, one = _WORK * n, np.int32(n), np.int32(1)
    a, y = own.scratch, own.y
    imaginary, work = a + n * n * size, a + (n * n + n) * size
    copy(by_rows(own.x, n, n, zero), by_columns(a, n, n, zero), zero)
    if not are_finite(a, n * n, zero):
        return NOT_FINITE
    call_by_reference(
        loops,
        routines.geev,
        (PLAIN, VECTORS, order, a, order, y, imaginary, work, one, y + n * size, order, work,
         np.int32(lwork), info),
    )  # fmt: skip
    if load_i32(info, 0) != 0:
        return NOT_CONVERGED
    return 0 if _is_real(imaginary, n, zero) else NO_REAL_RESULT


@always_inline
def eig_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write eigenvalues and eigenvectors of each matrix of X[0] to Y."""
    p, zero = load_record(load_i64(frame, PARAMS), EigParams), routines.zero
    n, size = p.n, size_of(zero)
    if n == 0:
        return 0
    sizes = Sizes(n * n * size, 0, result_bytes(n, zero), (n * n + n + _WORK * n) * size)
    return for_each(frame, loops, routines, p, sizes, _decompose, RESULT)


# --- shared by both derivatives --------------------------------------------------------------------------------


@noinline
def _factor(loops: int, routines: Lapack, v: Matrix, factor: int) -> bool:
    """Write the LU factors of the matrix of eigenvectors; return whether they are a basis."""
    zero, n = routines.zero, v.rows
    t = by_columns(factor, n, n, zero)
    copy(v, t, zero)
    factorize(loops, routines, factor, n, factor + triangle_bytes(n, zero))
    least = 8 * n * eps_of(zero) * largest(t, zero)
    for i in range(n):
        if not abs(at(t, i, i, zero)) > least:
            return False
    return True


@noinline
def _share_mean(values: Matrix, w: Matrix, into: Matrix, close: float, zero: Any) -> None:
    """Replace the number of each eigenvalue by the mean over all equal ones."""
    for i in range(w.rows):
        total, count = 0.0, 0
        for j in range(w.rows):
            if i == j or abs(at(w, i, 0, zero) - at(w, j, 0, zero)) <= close:
                total += at(values, j, 0, zero)
                count += 1
        put(into, i, 0, total / count, zero)


@noinline
def _are_alike(values: Matrix, m: Matrix, w: Matrix, close: float, zero: Any) -> bool:
    """Return whether equal eigenvalues have equal cotangents, and M is zero off its diagonal among them."""
    slack = SAME * eps_of(zero) * w.rows
    of_values, of_vectors = slack * largest(values, zero), slack * largest(m, zero)
    for i in range(w.rows):
        for j in range(w.rows):
            if i != j and abs(at(w, i, 0, zero) - at(w, j, 0, zero)) <= close:
                apart = abs(at(values, i, 0, zero) - at(values, j, 0, zero))
                if apart > of_values or abs(at(m, i, j, zero)) > of_vectors:
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


# --- reverse ---------------------------------------------------------------------------------------------------


@noinline
def _without_lengths(m: Matrix, gram: Matrix, zero: Any) -> None:
    """Subtract from each column of M that of the Gram matrix times the real part of its diagonal element."""
    for j in range(m.columns):
        factor = at(m, j, j, zero).real
        for i in range(m.rows):
            put(m, i, j, at(m, i, j, zero) - factor * at(gram, i, j, zero), zero)


@noinline
def _cotangent(loops: int, routines: Lapack, own: MatrixFrame, p: Any) -> int:
    """Add the cotangent of one matrix; return a status."""
    n, zero, size, products = p.n, routines.zero, size_of(routines.zero), routines.products
    w, v, write = by_rows(own.y, n, 1, zero), by_columns(own.y + n * size, n, n, zero), np.int64(1)
    w_bar, v_bar = by_rows(own.y_bar, n, 1, zero), by_columns(own.y_bar + n * size, n, n, zero)
    m, other = by_rows(own.scratch, n, n, zero), by_rows(own.scratch + n * n * size, n, n, zero)
    factor, close, diagonal = own.scratch + 2 * n * n * size, closest(w, zero), w_bar
    status = product_of_adjoint(loops, products, v, v_bar, m, write)
    if p.vectors:
        if depends_on_phases(m, v_bar, zero):
            return PHASE_DEPENDENT
        status = max(status, product_of_adjoint(loops, products, v, v, other, write))
        _without_lengths(m, other, zero)
        if not _are_alike(w_bar, m, w, close, zero):
            return NOT_DIFFERENTIABLE
    else:
        diagonal = by_rows(factor, n, 1, zero)
        _share_mean(w_bar, w, diagonal, close, zero)
    _divide_by_gaps(m, w, close, np.int64(1), zero)
    for i in range(n):
        put(m, i, i, at(diagonal, i, 0, zero), zero)
    status = max(status, product_by_adjoint(loops, products, m, v, other, write))
    if not _factor(loops, routines, v, factor):
        return NOT_DIFFERENTIABLE
    solve_adjoint(loops, routines, factor, other, np.int64(0))
    add(other, by_rows(own.x_bar, n, n, zero), np.int64(0), zero)
    return status


@always_inline
def _sizes(n: int, zero: Any) -> Sizes:
    """Return the bytes of a stack; the scratch memory holds two matrices and factors of a third one."""
    bytes_ = n * n * size_of(zero)
    return Sizes(bytes_, 0, result_bytes(n, zero), 2 * bytes_ + factor_bytes(n, zero))


@always_inline
def eig_reverse(frame: int, loops: int, routines: Lapack) -> int:
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
def _tangent(loops: int, routines: Lapack, own: MatrixFrame, p: Any) -> int:
    """Write the tangent of one matrix; return a status."""
    n, zero, size, products = p.n, routines.zero, size_of(routines.zero), routines.products
    w, v, write = by_rows(own.y, n, 1, zero), by_columns(own.y + n * size, n, n, zero), np.int64(1)
    w_dot, v_dot = by_rows(own.y_bar, n, 1, zero), by_columns(own.y_bar + n * size, n, n, zero)
    m, diagonal = by_rows(own.scratch, n, n, zero), by_rows(own.scratch + n * n * size, n, 1, zero)
    factor, close = own.scratch + 2 * n * n * size, closest(w, zero)
    if not _factor(loops, routines, v, factor):
        return NOT_DIFFERENTIABLE
    product(loops, products, by_rows(own.x_bar, n, n, zero), v, m, write)
    solve(loops, routines, factor, m, np.int64(0))
    for i in range(n):
        put(diagonal, i, 0, at(m, i, i, zero), zero)
        put(m, i, i, zero, zero)
    if p.vectors == 0:
        _share_mean(diagonal, w, w_dot, close, zero)
    elif not _are_alike(diagonal, m, w, close, zero):
        return NOT_DIFFERENTIABLE
    else:
        copy(diagonal, w_dot, zero)
    _divide_by_gaps(m, w, close, np.int64(0), zero)
    product(loops, products, v, m, v_dot, write)
    _keep_lengths(v, v_dot, zero)
    return 0


@always_inline
def eig_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write the tangents of eigenvalues and eigenvectors to Y_BAR."""
    p = load_record(load_i64(frame, PARAMS), EigParams)
    return for_each(frame, loops, routines, p, _sizes(p.n, routines.zero), _tangent, TANGENT)
