"""Factors of large matrices by blocks of columns, so that the pool of threads shares most of the work.

LAPACK factors the blocks on the diagonal (Cholesky) or whole columns (LU), in one thread. What is behind them is
solved and updated in parts (right-looking; Golub and Van Loan 2013, sections 4.2 and 3.4). Where BLAS has threads of
its own, or one thread is all there is, LAPACK factors the whole matrix.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    UPPER,
    Lapack,
    by_columns,
    info_i64,
    part,
    substitute,
)
from tapegrad.engine.kernels.language.matmul import Matrix, subtract_product, transposed
from tapegrad.engine.kernels.language.raw_memory import (
    call_by_reference,
    load_at,
    load_i32,
    load_i64,
    size_of,
    store_at,
    store_i32,
)

_MIN_ROWS = 512  # below, the time of LAPACK on one thread is that of all this on two
_CHOLESKY_COLUMNS = 192
_LU_COLUMNS = 96  # fewer, for one thread factors them over all rows


@always_inline
def _has_parts(loops: int, routines: Lapack, n: int) -> bool:
    return n >= _MIN_ROWS and load_i64(loops, 2 * routines.part + 1) > 1


@always_inline
def _potrf(loops: int, routines: Lapack, a: Matrix) -> bool:
    """Factor a matrix with contiguous rows; LAPACK reads the lower triangle as the upper one."""
    leading, info = np.int32(a.row_stride // size_of(routines.zero)), info_i64()
    call_by_reference(loops, routines.potrf, (UPPER, np.int32(a.rows), a.address, leading, info))
    return load_i32(info, 0) == 0


@noinline
def _cholesky_by_blocks(loops: int, routines: Lapack, a: Matrix) -> bool:
    n = a.rows
    for first in range(0, n, _CHOLESKY_COLUMNS):
        width = min(_CHOLESKY_COLUMNS, n - first)
        diagonal = part(a, first, first, width, width)
        if not _potrf(loops, routines, diagonal):
            return False
        behind = first + width
        below = part(a, behind, first, n - behind, width)
        if behind < n:
            substitute(loops, routines, diagonal, transposed(below), np.int64(1), np.int64(0))
        for row in range(behind, n, _CHOLESKY_COLUMNS):
            columns = min(_CHOLESKY_COLUMNS, n - row)
            rest, head = part(a, row, first, n - row, width), part(a, row, first, columns, width)
            subtract_product(
                loops, routines.products, rest, transposed(head), part(a, row, row, n - row, columns)
            )
    return True


@noinline
def factor_cholesky(loops: int, routines: Lapack, a: Matrix) -> bool:
    """Replace the lower triangle by the factor; return whether the matrix is positive definite.

    Its rows are contiguous. What becomes of the other triangle is left open.
    """
    if _has_parts(loops, routines, a.rows):
        return _cholesky_by_blocks(loops, routines, a)
    return _potrf(loops, routines, a)


@noinline
def _exchange_columns(a: Matrix, columns: int, first: int, stop: int, exchanges: int, zero: Any) -> None:
    """Exchange elements of each of the first `columns` columns, as rows `first` to `stop` were exchanged."""
    size = size_of(zero)
    for j in range(columns):
        column = a.address + j * a.column_stride
        for i in range(first, stop):
            other = np.int64(load_i32(exchanges, i) - 1) * size
            before = load_at(column, i * size, zero)
            store_at(column, i * size, load_at(column, other, zero), zero)
            store_at(column, other, before, zero)


@noinline
def _lu_by_blocks(loops: int, routines: Lapack, a: Matrix, exchanges: int) -> None:
    n, zero = a.rows, routines.zero
    for first in range(0, n, _LU_COLUMNS):
        width = min(_LU_COLUMNS, n - first)
        behind = first + width
        panel = part(a, first, first, n - first, width)
        order = np.int32(n)
        call_by_reference(
            loops,
            routines.getrf,
            (np.int32(n - first), np.int32(width), panel.address, order, exchanges + 4 * first, info_i64()),
        )
        for i in range(first, behind):
            store_i32(exchanges, i, np.int32(load_i32(exchanges, i) + first))
        _exchange_columns(a, first, first, behind, exchanges, zero)
        if behind == n:
            return
        right = part(a, np.int64(0), behind, n, n - behind)
        _exchange_columns(right, n - behind, first, behind, exchanges, zero)
        above = part(a, first, behind, width, n - behind)
        substitute(loops, routines, part(a, first, first, width, width), above, np.int64(1), np.int64(1))
        below = part(a, behind, first, n - behind, width)
        subtract_product(
            loops, routines.products, below, above, part(a, behind, behind, n - behind, n - behind)
        )


@noinline
def factor_lu(loops: int, routines: Lapack, a: int, n: int, exchanges: int) -> None:
    """Replace a matrix in Fortran order by its triangles, and write the row exchanges as LAPACK does."""
    if _has_parts(loops, routines, n):
        _lu_by_blocks(loops, routines, by_columns(a, n, n, routines.zero), exchanges)
        return
    order = np.int32(n)
    call_by_reference(loops, routines.getrf, (order, order, a, order, exchanges, info_i64()))
