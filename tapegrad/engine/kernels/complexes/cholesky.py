"""Cholesky factors of Hermitian matrices, given by their lower triangles: the cotangent; tangents as of real matrices.

With ``M = tril(L^H tril(L_bar))``, its diagonal real and halved, the cotangent is the Hermitian part of
``L^-H M L^-1``. Each element of the triangle also represents the conjugate of its mirror image, and the diagonal is
real.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.frame import PARAMS
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    Complexes,
    add_to_triangle,
    at,
    by_rows,
    clear_triangle,
    complex_libraries,
    put,
    substitute,
    substitute_adjoint,
)
from tapegrad.engine.kernels.language.matmul import Matrix, transposed
from tapegrad.engine.kernels.language.raw_memory import (
    load_i64,
    load_record,
    memcpy,
    size_of,
)
from tapegrad.engine.kernels.systems.cholesky import cholesky_tangent as cholesky_tangent
from tapegrad.engine.kernels.systems.cholesky import factor_one_by_one, halve_diagonal
from tapegrad.engine.kernels.systems.complex_products import product_of_adjoint
from tapegrad.engine.kernels.systems.stacks import COTANGENT, MatrixFrame, Sizes, for_each
from tapegrad.ops.structural.matrices import SquareParams

LIBRARY = complex_libraries(("cholesky",), "potrf")


@always_inline
def cholesky_forward(frame: int, loops: int, routines: Complexes) -> int:
    """Write the lower factor of each matrix of X[0] to Y."""
    return factor_one_by_one(frame, loops, routines)


@noinline
def _make_hermitian(a: Matrix, zero: Any) -> None:
    """Replace a matrix by its Hermitian part."""
    for i in range(a.rows):
        for j in range(i + 1):
            value = (at(a, i, j, zero) + np.conj(at(a, j, i, zero))) / 2
            put(a, i, j, value, zero)
            put(a, j, i, np.conj(value), zero)


@noinline
def _cotangent(loops: int, routines: Complexes, own: MatrixFrame, p: Any) -> int:
    """Add (store: write) the cotangent of one matrix; return a status."""
    n, zero, yes, no = p.n, routines.zero, np.int64(1), np.int64(0)
    factor, m = by_rows(own.y, n, n, zero), by_rows(own.scratch, n, n, zero)
    bar = by_rows(own.scratch + n * n * size_of(zero), n, n, zero)
    memcpy(bar.address, own.y_bar, n * n * size_of(zero))
    clear_triangle(bar, no, zero)
    status = product_of_adjoint(loops, routines.products, factor, bar, m, yes)
    if status != 0:
        return status
    clear_triangle(m, no, zero)
    halve_diagonal(m, zero)
    substitute(loops, routines, transposed(factor), transposed(m), no, no)
    substitute_adjoint(loops, routines, factor, m, no, no)
    _make_hermitian(m, zero)
    add_to_triangle(m, by_rows(own.x_bar, n, n, zero), yes, own.store, zero)
    return 0


@always_inline
def cholesky_reverse(frame: int, loops: int, routines: Complexes) -> int:
    """Add (STORE: write) the cotangents of the triangles to X_BAR[0]."""
    p = load_record(load_i64(frame, PARAMS), SquareParams)
    bytes_ = p.n * p.n * size_of(routines.zero)
    return for_each(frame, loops, routines, p, Sizes(bytes_, 0, bytes_, 2 * bytes_), _cotangent, COTANGENT)
