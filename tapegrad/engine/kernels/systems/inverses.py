"""Inverses, by LU factors.

The derivatives are ``-Y X_dot Y`` and ``-Y^T Y_bar Y^T`` of the inverse Y (Giles 2008).
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.lanes.lanes import MIN_LANE_MATRICES
from tapegrad.engine.kernels.lanes.lu_lanes import invert_stack
from tapegrad.engine.kernels.language.frame import PARAMS, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    MAX_SMALL_ROWS,
    Lapack,
    by_columns,
    by_rows,
    copy,
    factor_bytes,
    info_word,
    is_singular,
    libraries,
    negate,
    put,
    triangle_bytes,
)
from tapegrad.engine.kernels.language.matmul import Matrix, product, transposed
from tapegrad.engine.kernels.language.raw_memory import (
    call_by_reference,
    free,
    load_i64,
    load_record,
    malloc,
    memcpy,
    memset,
    size_of,
)
from tapegrad.engine.kernels.language.status import SINGULAR
from tapegrad.engine.kernels.systems.lu import factorize, solve
from tapegrad.engine.kernels.systems.stacks import MatrixFrame, Sizes, clear_if_written, for_each
from tapegrad.ops.params import SquareParams

LIBRARY = libraries(("inv",), "getrf", "getri")
_BLOCK = 64  # columns of a block of LAPACK


@noinline
def invert(loops: int, routines: Lapack, factor: int, n: int, inverse: int) -> None:
    """Write the inverse, in Fortran order, of a matrix by its factors, which are overwritten."""
    zero, order, info = routines.zero, np.int32(n), info_word()
    exchanges, bytes_ = factor + triangle_bytes(n, zero), n * n * size_of(zero)
    if n <= MAX_SMALL_ROWS:
        x = by_columns(inverse, n, n, zero)
        memset(inverse, np.int32(0), bytes_)
        for i in range(n):
            put(x, i, i, routines.one, zero)
        solve(loops, routines, factor, x, np.int64(0))
        return
    memcpy(inverse, factor, bytes_)
    work = malloc(_BLOCK * n * size_of(zero))
    call_by_reference(
        loops, routines.getri, (order, inverse, order, exchanges, work, np.int32(_BLOCK * n), info)
    )
    free(work)


@noinline
def _write_inverse(loops: int, routines: Lapack, own: MatrixFrame, p: Any) -> int:
    """Write the inverse of one matrix; return a status."""
    n, zero, factor = p.n, routines.zero, own.scratch
    t, inverse = by_columns(factor, n, n, zero), factor + factor_bytes(n, zero)
    copy(by_rows(own.x, n, n, zero), t, zero)
    factorize(loops, routines, factor, n, factor + triangle_bytes(n, zero))
    if is_singular(t, zero):
        return SINGULAR
    invert(loops, routines, factor, n, inverse)
    copy(by_columns(inverse, n, n, zero), by_rows(own.y, n, n, zero), zero)
    return 0


@always_inline
def inv_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write the inverse of each matrix of X[0] to Y."""
    p, zero = load_record(load_i64(frame, PARAMS), SquareParams), routines.zero
    if p.n <= MAX_SMALL_ROWS and p.matrices >= MIN_LANE_MATRICES:
        return invert_stack(load_i64(frame, X), p.matrices, p.n, load_i64(frame, Y), zero)
    bytes_ = p.n * p.n * size_of(zero)
    sizes = Sizes(bytes_, 0, bytes_, factor_bytes(p.n, zero) + bytes_)
    return for_each(frame, loops, routines, p, sizes, _write_inverse)


@noinline
def _between(loops: int, products: Any, y: Matrix, middle: int, scratch: int, into: int) -> None:
    """Add ``-y @ middle @ y`` to a matrix; the addresses are of matrices in C order."""
    n, zero = y.rows, products.zero
    half = by_rows(scratch, n, n, zero)
    product(loops, products, y, by_rows(middle, n, n, zero), half, np.int64(1))
    negate(half, zero)
    product(loops, products, half, y, by_rows(into, n, n, zero), np.int64(0))


@noinline
def _cotangent(loops: int, routines: Lapack, own: MatrixFrame, p: Any) -> int:
    """Add the cotangent of one matrix; return a status."""
    inverse = transposed(by_rows(own.y, p.n, p.n, routines.zero))
    _between(loops, routines.products, inverse, own.y_bar, own.scratch, own.x_bar)
    return 0


@noinline
def _tangent(loops: int, routines: Lapack, own: MatrixFrame, p: Any) -> int:
    """Add the tangent of one matrix; return a status."""
    inverse = by_rows(own.y, p.n, p.n, routines.zero)
    _between(loops, routines.products, inverse, own.x_bar, own.scratch, own.y_bar)
    return 0


@always_inline
def inv_reverse(frame: int, loops: int, routines: Lapack) -> int:
    """Add (STORE: write) ``-y.T @ y_bar @ y.T`` to X_BAR[0]."""
    p = load_record(load_i64(frame, PARAMS), SquareParams)
    bytes_ = p.n * p.n * size_of(routines.zero)
    clear_if_written(frame, p.matrices * bytes_)
    return for_each(frame, loops, routines, p, Sizes(bytes_, 0, bytes_, bytes_), _cotangent)


@always_inline
def inv_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write ``-y @ x_dot @ y`` to Y_BAR."""
    p = load_record(load_i64(frame, PARAMS), SquareParams)
    bytes_ = p.n * p.n * size_of(routines.zero)
    memset(load_i64(frame, Y_BAR), np.int32(0), p.matrices * bytes_)
    if load_i64(frame, X_BAR) == 0:
        return 0
    return for_each(frame, loops, routines, p, Sizes(bytes_, 0, bytes_, bytes_), _tangent)
