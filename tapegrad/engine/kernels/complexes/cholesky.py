"""Cholesky factors of Hermitian matrices, given by their lower triangles.

With ``M = tril(L^H tril(L_bar))``, its diagonal real and halved, the cotangent is the Hermitian part of
``L^-H M L^-1``.
Each element of the triangle also represents the conjugate of its mirror image, and the diagonal is real.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.complexes.systems import ADJOINT
from tapegrad.engine.kernels.complexes.triangular import Division, divide
from tapegrad.engine.kernels.language.frame import PARAMS
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    PLAIN,
    UPPER,
    Complexes,
    add_to_triangle,
    at,
    by_rows,
    clear_triangle,
    complex_libraries,
    info_i64,
    put,
    read_symmetric,
)
from tapegrad.engine.kernels.language.matmul import Matrix, product
from tapegrad.engine.kernels.language.raw_memory import (
    call_by_reference,
    load_i32,
    load_i64,
    load_record,
    memcpy,
    size_of,
)
from tapegrad.engine.kernels.language.status import NOT_POSITIVE_DEFINITE
from tapegrad.engine.kernels.systems.complex_products import product_of_adjoint
from tapegrad.engine.kernels.systems.stacks import (
    COTANGENT,
    RESULT,
    TANGENT,
    MatrixFrame,
    Sizes,
    for_each,
)
from tapegrad.ops.structural.matrices import SquareParams

LIBRARY = complex_libraries(("cholesky",), "potrf", "trsm")
_LOWER, _FROM_LEFT, _FROM_RIGHT, _NOT_UNIT = np.int64(1), np.int64(0), np.int64(1), np.int64(0)


@noinline
def _halve_diagonal(a: Matrix, zero: Any) -> None:
    """Take the lower triangle, with half of the real diagonal."""
    clear_triangle(a, np.int64(0), zero)
    for i in range(a.rows):
        put(a, i, i, zero + at(a, i, i, zero).real / 2, zero)


@noinline
def _make_hermitian(a: Matrix, zero: Any) -> None:
    """Replace a matrix by its Hermitian part."""
    for i in range(a.rows):
        for j in range(i + 1):
            value = (at(a, i, j, zero) + np.conj(at(a, j, i, zero))) / 2
            put(a, i, j, value, zero)
            put(a, j, i, np.conj(value), zero)


# --- kernels ---------------------------------------------------------------------------------------------------


@noinline
def _factor(loops: int, routines: Complexes, own: MatrixFrame, p: Any) -> int:
    """Write the factor of one matrix; return a status."""
    n, zero, info, order = p.n, routines.zero, info_i64(), np.int32(p.n)
    memcpy(own.y, own.x, n * n * size_of(zero))
    # In Fortran order this is the transposed matrix, and its upper triangle is read
    call_by_reference(loops, routines.potrf, (UPPER, order, own.y, order, info))
    clear_triangle(by_rows(own.y, n, n, zero), np.int64(0), zero)
    return 0 if load_i32(info, 0) == 0 else NOT_POSITIVE_DEFINITE


@noinline
def _cotangent(loops: int, routines: Complexes, own: MatrixFrame, p: Any) -> int:
    """Add (store: write) the cotangent of one matrix; return a status."""
    n, zero, scratch = p.n, routines.zero, own.scratch
    bar, m = by_rows(scratch + n * n * size_of(zero), n, n, zero), by_rows(scratch, n, n, zero)
    memcpy(bar.address, own.y_bar, n * n * size_of(zero))
    clear_triangle(bar, np.int64(0), zero)
    status = product_of_adjoint(loops, routines.products, by_rows(own.y, n, n, zero), bar, m, np.int64(1))
    if status != 0:
        return status
    _halve_diagonal(m, zero)
    divide(loops, routines, own.y, n, scratch, n, Division(_FROM_RIGHT, _LOWER, PLAIN, _NOT_UNIT))
    divide(loops, routines, own.y, n, scratch, n, Division(_FROM_LEFT, _LOWER, ADJOINT, _NOT_UNIT))
    _make_hermitian(m, zero)
    add_to_triangle(m, by_rows(own.x_bar, n, n, zero), _LOWER, own.store, zero)
    return 0


@noinline
def _tangent(loops: int, routines: Complexes, own: MatrixFrame, p: Any) -> int:
    """Write the tangent ``L M`` of one factor, with M the halved triangle of ``L^-1 A_dot L^-H``; return a status."""
    n, zero, scratch = p.n, routines.zero, own.scratch
    m, y, y_dot = by_rows(scratch, n, n, zero), by_rows(own.y, n, n, zero), by_rows(own.y_bar, n, n, zero)
    read_symmetric(by_rows(own.x_bar, n, n, zero), _LOWER, m, zero)
    divide(loops, routines, own.y, n, scratch, n, Division(_FROM_LEFT, _LOWER, PLAIN, _NOT_UNIT))
    divide(loops, routines, own.y, n, scratch, n, Division(_FROM_RIGHT, _LOWER, ADJOINT, _NOT_UNIT))
    _halve_diagonal(m, zero)
    product(loops, routines.products, y, m, y_dot, np.int64(1))
    return 0


@always_inline
def _for_each(frame: int, loops: int, routines: Complexes, process: Any, written: int) -> int:
    """Process each matrix; the scratch memory holds two."""
    p = load_record(load_i64(frame, PARAMS), SquareParams)
    bytes_ = p.n * p.n * size_of(routines.zero)
    if p.n == 0:
        return 0
    return for_each(frame, loops, routines, p, Sizes(bytes_, 0, bytes_, 2 * bytes_), process, written)


@always_inline
def cholesky_forward(frame: int, loops: int, routines: Complexes) -> int:
    """Write the lower factor of each matrix of X[0] to Y."""
    return _for_each(frame, loops, routines, _factor, RESULT)


@always_inline
def cholesky_reverse(frame: int, loops: int, routines: Complexes) -> int:
    """Add (STORE: write) the cotangents of the triangles to X_BAR[0]."""
    return _for_each(frame, loops, routines, _cotangent, COTANGENT)


@always_inline
def cholesky_tangent(frame: int, loops: int, routines: Complexes) -> int:
    """Write the tangents of the factors to Y_BAR."""
    return _for_each(frame, loops, routines, _tangent, TANGENT)
