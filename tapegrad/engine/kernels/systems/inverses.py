"""Inverses, by LU factors.

The derivatives are ``-Y X_dot Y`` and ``-Y^H Y_bar Y^H`` of the inverse Y, H the conjugate transpose (Giles 2008).
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.lanes.lanes import MIN_LANE_MATRICES
from tapegrad.engine.kernels.lanes.lu_lanes import invert_stack
from tapegrad.engine.kernels.language.frame import PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    MAX_SMALL_ROWS,
    Lapack,
    by_columns,
    by_rows,
    copy,
    factor_bytes,
    info_i64,
    is_singular,
    libraries,
    negate,
    put,
    triangle_bytes,
)
from tapegrad.engine.kernels.language.matmul import Matrix, product
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
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY, SINGULAR
from tapegrad.engine.kernels.systems.complex_products import product_by_adjoint, product_of_adjoint
from tapegrad.engine.kernels.systems.lu import factorize, solve
from tapegrad.engine.kernels.systems.stacks import are_zeros, write_nan
from tapegrad.ops.structural.matrices import SquareParams

LIBRARY = libraries(("inv",), "getrf", "getri")
_BLOCK = 64  # columns of a block of LAPACK


@noinline
def invert(loops: int, routines: Lapack, factor: int, n: int, inverse: int) -> None:
    """Write the inverse, in Fortran order, of a matrix by its factors, which are overwritten."""
    zero, order, info = routines.zero, np.int32(n), info_i64()
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


@always_inline
def inv_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write the inverse of each matrix of X[0] to Y."""
    p = load_record(load_i64(frame, PARAMS), SquareParams)
    if p.n <= MAX_SMALL_ROWS and p.matrices >= MIN_LANE_MATRICES:
        status = invert_stack(load_i64(frame, X), p.matrices, p.n, load_i64(frame, Y), routines.zero)
        if status != SINGULAR or p.nan_on_failure == 0:
            return status  # else one by one, to tell which
    return invert_one_by_one(frame, loops, routines)


@always_inline
def invert_one_by_one(frame: int, loops: int, routines: Lapack) -> int:
    """Write the inverse of each matrix of X[0] to Y, without lanes."""
    p, x, y = load_record(load_i64(frame, PARAMS), SquareParams), load_i64(frame, X), load_i64(frame, Y)
    n, zero = p.n, routines.zero
    bytes_, status = n * n * size_of(zero), 0
    factor = malloc(factor_bytes(n, zero) + bytes_ + 8)
    if factor == 0:
        return OUT_OF_MEMORY
    inverse = factor + factor_bytes(n, zero)
    for _ in range(p.matrices):
        copy(by_rows(x, n, n, zero), by_columns(factor, n, n, zero), zero)
        factorize(loops, routines, factor, n, factor + triangle_bytes(n, zero))
        if not is_singular(by_columns(factor, n, n, zero), zero):
            invert(loops, routines, factor, n, inverse)
            copy(by_columns(inverse, n, n, zero), by_rows(y, n, n, zero), zero)
        elif p.nan_on_failure:
            write_nan(y, bytes_, zero)
        else:
            status = SINGULAR
            break
        x += bytes_
        y += bytes_
    free(factor)
    return status


@noinline
def _between(loops: int, products: Any, y: Matrix, middle: Matrix, scratch: Matrix, into: Matrix) -> int:
    """Add ``-y @ middle @ y`` to a matrix; return a status."""
    product(loops, products, y, middle, scratch, np.int64(1))
    negate(scratch, products.zero)
    product(loops, products, scratch, y, into, np.int64(0))
    return 0


@noinline
def _between_adjoints(
    loops: int, products: Any, y: Matrix, middle: Matrix, scratch: Matrix, into: Matrix
) -> int:
    """Add ``-y^H @ middle @ y^H`` to a matrix; return a status."""
    status = product_of_adjoint(loops, products, y, middle, scratch, np.int64(1))
    negate(scratch, products.zero)
    return max(status, product_by_adjoint(loops, products, scratch, y, into, np.int64(0)))


@always_inline
def _inv_derivative(frame: int, loops: int, routines: Lapack, reverse: bool, between: Any) -> int:
    p, y, y_bar = (
        load_record(load_i64(frame, PARAMS), SquareParams),
        load_i64(frame, Y),
        load_i64(frame, Y_BAR),
    )
    n, zero, x_bar = p.n, routines.zero, load_i64(frame, X_BAR)
    bytes_ = n * n * size_of(zero)
    into, middle = (x_bar, y_bar) if reverse else (y_bar, x_bar)
    if not reverse or load_i64(frame, STORE) & 1:
        memset(into, np.int32(0), p.matrices * bytes_)
    if middle == 0:
        return 0
    scratch, status = malloc(bytes_ + 8), 0
    if scratch == 0:
        return OUT_OF_MEMORY
    inner = by_rows(scratch, n, n, zero)
    for _ in range(p.matrices):
        if not (p.nan_on_failure and are_zeros(middle, bytes_, zero)):
            inverse, result = by_rows(y, n, n, zero), by_rows(into, n, n, zero)
            status = between(loops, routines.products, inverse, by_rows(middle, n, n, zero), inner, result)
            if status != 0:
                break
        y += bytes_
        middle += bytes_
        into += bytes_
    free(scratch)
    return status


@always_inline
def inv_reverse(frame: int, loops: int, routines: Lapack) -> int:
    """Add (STORE: write) ``-y^H @ y_bar @ y^H`` to X_BAR[0]."""
    return _inv_derivative(frame, loops, routines, True, _between_adjoints)


@always_inline
def inv_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write ``-y @ x_dot @ y`` to Y_BAR."""
    return _inv_derivative(frame, loops, routines, False, _between)
