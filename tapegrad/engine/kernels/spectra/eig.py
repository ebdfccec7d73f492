"""Real eigenvalues and eigenvectors of square matrices.

The result is, for each matrix, its eigenvalues w, then its eigenvectors of length 1, a row each. The cotangent is
``V^-T G V^T``. G has w_bar on its diagonal and is ``F * (V^T V_bar - V^T V S)`` elsewhere, where F is
``1 / (w_j - w_i)``, and S is the diagonal of ``V^T V_bar`` (Giles 2008; Boeddeker et al. 2017, "On the computation of
complex-valued gradients").

If only eigenvalues are used, equal ones share their cotangent equally. Otherwise the function must not depend on the
basis of their eigenvectors, as far as the cotangents tell. If it does, or if there is no basis of eigenvectors, the
status is NOT_DIFFERENTIABLE.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.frame import PARAMS, STORE, X_BAR, Y_BAR, X, Y
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
    factor_bytes,
    info_word,
    libraries,
    put,
    triangle_bytes,
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
    memset,
    size_of,
)
from tapegrad.engine.kernels.language.status import (
    NO_REAL_RESULT,
    NOT_CONVERGED,
    NOT_DIFFERENTIABLE,
    NOT_FINITE,
    OUT_OF_MEMORY,
)
from tapegrad.engine.kernels.spectra.eigh import eps_of, largest
from tapegrad.engine.kernels.systems.lu import factorize, solve
from tapegrad.ops.params import EigParams

LIBRARY = libraries(("eig",), "geev", "getrf")
_WORK = 34  # rows of workspace, for blocks of 32 columns
_SAME = 1e4  # roundings by which equal cotangents may differ


@always_inline
def _result_bytes(n: int, zero: Any) -> int:
    return (n + n * n) * size_of(zero)


# --- forward ---------------------------------------------------------------------------------------------------


@noinline
def _is_real(imaginary: int, n: int, zero: Any) -> bool:
    for i in range(n):
        if load_at(imaginary, i * size_of(zero), zero) != zero:
            return False
    return True


@noinline
def _are_finite(a: int, count: int, zero: Any) -> bool:
    for i in range(count):
        value = load_at(a, i * size_of(zero), zero)
        if value - value != zero:
            return False
    return True


@always_inline
def eig_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write eigenvalues and eigenvectors of each matrix of X[0] to Y."""
    p, x, y = load_record(load_i64(frame, PARAMS), EigParams), load_i64(frame, X), load_i64(frame, Y)
    n, zero, size, info, status = p.n, routines.zero, size_of(routines.zero), info_word(), 0
    words, order, one = _WORK * n, np.int32(n), np.int32(1)
    a = malloc((n * n + n + words + 8) * size)
    if a == 0:
        return OUT_OF_MEMORY
    imaginary, work = a + n * n * size, a + (n * n + n) * size
    for _ in range(p.matrices if n > 0 else 0):
        copy(by_rows(x, n, n, zero), by_columns(a, n, n, zero), zero)
        if not _are_finite(a, n * n, zero):
            status = NOT_FINITE
            break
        call_by_reference(
            loops,
            routines.geev,
            (PLAIN, VECTORS, order, a, order, y, imaginary, work, one, y + n * size, order, work,
             np.int32(words), info),
        )  # fmt: skip
        if load_i32(info, 0) != 0:
            status = NOT_CONVERGED
            break
        if not _is_real(imaginary, n, zero):
            status = NO_REAL_RESULT
            break
        x += n * n * size
        y += _result_bytes(n, zero)
    free(a)
    return status


# --- shared by both derivatives --------------------------------------------------------------------------------


@noinline
def _factor(loops: int, routines: Lapack, rows: Matrix, factor: int) -> bool:
    """Write the LU factors of the matrix of eigenvectors; return whether they are a basis."""
    zero, n = routines.zero, rows.rows
    t = by_columns(factor, n, n, zero)
    copy(transposed(rows), t, zero)
    factorize(loops, routines, factor, n, factor + triangle_bytes(n, zero))
    least = 8 * n * eps_of(zero) * largest(t, zero)
    for i in range(n):
        if not abs(at(t, i, i, zero)) > least:
            return False
    return True


@always_inline
def _closest(w: Matrix, zero: Any) -> float:
    """Return the distance up to which eigenvalues count as equal."""
    return 8 * w.rows * eps_of(zero) * largest(w, zero)


@noinline
def _share(values: Matrix, w: Matrix, into: Matrix, close: float, zero: Any) -> None:
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
    slack = _SAME * eps_of(zero) * w.rows
    of_values, of_vectors = slack * largest(values, zero), slack * largest(m, zero)
    for i in range(w.rows):
        for j in range(w.rows):
            if i != j and abs(at(w, i, 0, zero) - at(w, j, 0, zero)) <= close:
                apart = abs(at(values, i, 0, zero) - at(values, j, 0, zero))
                if apart > of_values or abs(at(m, i, j, zero)) > of_vectors:
                    return False
    return True


@noinline
def _divide_by_gaps(m: Matrix, w: Matrix, close: float, zero: Any) -> None:
    """Divide the off-diagonal elements by ``w_j - w_i``; 0 for equal eigenvalues."""
    for i in range(w.rows):
        for j in range(w.rows):
            gap = at(w, j, 0, zero) - at(w, i, 0, zero)
            if i != j:
                put(m, i, j, zero if abs(gap) <= close else at(m, i, j, zero) / gap, zero)


# --- reverse ---------------------------------------------------------------------------------------------------


@noinline
def _without_lengths(m: Matrix, gram: Matrix, zero: Any) -> None:
    """Subtract from each column of M that of the Gram matrix times its diagonal element."""
    for j in range(m.columns):
        factor = at(m, j, j, zero)
        for i in range(m.rows):
            put(m, i, j, at(m, i, j, zero) - factor * at(gram, i, j, zero), zero)


@noinline
def _cotangent(loops: int, routines: Lapack, y: int, y_bar: int, into: Matrix, scratch: int, p: Any) -> bool:
    """Add the cotangent of one matrix; return whether it is determined. The scratch holds three matrices."""
    n, zero, size, products = p.n, routines.zero, size_of(routines.zero), routines.products
    w, rows, write = by_rows(y, n, 1, zero), by_rows(y + n * size, n, n, zero), np.int64(1)
    w_bar, rows_bar = by_rows(y_bar, n, 1, zero), by_rows(y_bar + n * size, n, n, zero)
    m, other = by_rows(scratch, n, n, zero), by_rows(scratch + n * n * size, n, n, zero)
    factor, close, diagonal = scratch + 2 * n * n * size, _closest(w, zero), w_bar
    product(loops, products, rows, transposed(rows_bar), m, write)
    if p.vectors:
        product(loops, products, rows, transposed(rows), other, write)
        _without_lengths(m, other, zero)
        if not _are_alike(w_bar, m, w, close, zero):
            return False
    else:
        diagonal = by_rows(factor, n, 1, zero)
        _share(w_bar, w, diagonal, close, zero)
    _divide_by_gaps(m, w, close, zero)
    for i in range(n):
        put(m, i, i, at(diagonal, i, 0, zero), zero)
    product(loops, products, m, rows, other, write)
    if not _factor(loops, routines, rows, factor):
        return False
    solve(loops, routines, factor, other, write)
    add(other, into, np.int64(0), zero)
    return True


# --- tangent ---------------------------------------------------------------------------------------------------


@noinline
def _keep_lengths(rows: Matrix, rows_dot: Matrix, zero: Any) -> None:
    """Subtract from the tangents of vectors their parts along the vectors."""
    for i in range(rows.rows):
        along = zero
        for j in range(rows.columns):
            along += at(rows, i, j, zero) * at(rows_dot, i, j, zero)
        for j in range(rows.columns):
            put(rows_dot, i, j, at(rows_dot, i, j, zero) - along * at(rows, i, j, zero), zero)


@noinline
def _tangent_of(
    loops: int, routines: Lapack, y: int, y_dot: int, x_dot: Matrix, scratch: int, p: Any
) -> bool:
    """Write the tangent of one matrix; return whether it is determined. The scratch is that of `_cotangent`."""
    n, zero, size, products = p.n, routines.zero, size_of(routines.zero), routines.products
    w, rows, write = by_rows(y, n, 1, zero), by_rows(y + n * size, n, n, zero), np.int64(1)
    w_dot, rows_dot = by_rows(y_dot, n, 1, zero), by_rows(y_dot + n * size, n, n, zero)
    m, factor, close = by_rows(scratch, n, n, zero), scratch + 2 * n * n * size, _closest(w, zero)
    diagonal = by_rows(scratch + n * n * size, n, 1, zero)
    if not _factor(loops, routines, rows, factor):
        return False
    product(loops, products, x_dot, transposed(rows), m, write)
    solve(loops, routines, factor, m, np.int64(0))
    for i in range(n):
        put(diagonal, i, 0, at(m, i, i, zero), zero)
        put(m, i, i, zero, zero)
    if p.vectors == 0:
        _share(diagonal, w, w_dot, close, zero)
    elif not _are_alike(diagonal, m, w, close, zero):
        return False
    else:
        copy(diagonal, w_dot, zero)
    _divide_by_gaps(m, w, close, zero)
    product(loops, products, transposed(m), rows, rows_dot, write)
    _keep_lengths(rows, rows_dot, zero)
    return True


@always_inline
def _derivative(frame: int, loops: int, routines: Lapack, reverse: bool) -> int:
    p, y, y_bar = load_record(load_i64(frame, PARAMS), EigParams), load_i64(frame, Y), load_i64(frame, Y_BAR)
    x_bar, n, zero, status = load_i64(frame, X_BAR), p.n, routines.zero, 0
    bytes_ = n * n * size_of(zero)
    if reverse and load_i64(frame, STORE) & 1:
        memset(x_bar, np.int32(0), p.matrices * bytes_)
    scratch = malloc(2 * bytes_ + factor_bytes(n, zero) + 8)
    if scratch == 0:
        return OUT_OF_MEMORY
    for _ in range(p.matrices if n > 0 else 0):
        own = by_rows(x_bar, n, n, zero)
        if reverse:
            done = _cotangent(loops, routines, y, y_bar, own, scratch, p)
        else:
            done = _tangent_of(loops, routines, y, y_bar, own, scratch, p)
        if not done:
            status = NOT_DIFFERENTIABLE
            break
        x_bar += bytes_
        y += _result_bytes(n, zero)
        y_bar += _result_bytes(n, zero)
    free(scratch)
    return status


@always_inline
def eig_reverse(frame: int, loops: int, routines: Lapack) -> int:
    """Add (STORE: write) the cotangents of the matrices to X_BAR[0]."""
    return _derivative(frame, loops, routines, True)


@always_inline
def eig_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write the tangents of eigenvalues and eigenvectors to Y_BAR."""
    return _derivative(frame, loops, routines, False)
