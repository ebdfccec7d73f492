"""Singular value decomposition by LAPACK, and the layout of its result.

The result is, for each matrix, its singular values, then U column by column, then V^T column by column.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import ALL, SOME, Lapack, by_columns, by_rows, copy, info_i64
from tapegrad.engine.kernels.language.matmul import Matrix
from tapegrad.engine.kernels.language.raw_memory import (
    call_by_reference,
    load_at,
    load_i32,
    size_of,
    stack_i64,
)
from tapegrad.engine.kernels.language.status import NOT_CONVERGED
from tapegrad.engine.kernels.systems.stacks import MatrixFrame

_UNBLOCKED = 32  # rows up to which LAPACK uses unblocked code


@always_inline
def left_count(p: Any) -> int:
    """Return the number of columns of U."""
    return p.m if p.full else min(p.m, p.n)


@always_inline
def right_count(p: Any) -> int:
    """Return the number of rows of V^T."""
    return p.n if p.full else min(p.m, p.n)


@always_inline
def result_bytes(p: Any, zero: Any) -> int:
    """Return the bytes of the result for a matrix."""
    return (min(p.m, p.n) + p.m * left_count(p) + p.n * right_count(p)) * size_of(zero)


@always_inline
def left_vectors(address: int, p: Any, zero: Any) -> Matrix:
    """Return the columns of U that belong to singular values."""
    k = min(p.m, p.n)
    return by_columns(address + k * size_of(zero), p.m, k, zero)


@always_inline
def right_vectors(address: int, p: Any, zero: Any) -> Matrix:
    """Return the columns of V that belong to singular values: the rows of V^T, which has its own leading dimension."""
    k, size = min(p.m, p.n), size_of(zero)
    return Matrix(address + (k + p.m * left_count(p)) * size, p.n, k, right_count(p) * size, size)


@noinline
def _gesdd(loops: int, routines: Lapack, a: int, y: int, work: int, lwork: int, integers: int, p: Any) -> int:
    """Decompose a matrix in Fortran order in place; return LAPACK's info. For -1 `lwork`, query the workspace."""
    m, n, k, size, info = np.int32(p.m), np.int32(p.n), min(p.m, p.n), size_of(routines.zero), info_i64()
    u = y + k * size
    v = u + p.m * left_count(p) * size
    job = ALL if p.full else SOME
    right = np.int32(max(1, right_count(p)))
    call_by_reference(
        loops,
        routines.gesdd,
        (job, m, n, a, m, y, u, m, v, right, work, np.int32(lwork), integers, info),
    )
    return int(load_i32(info, 0))


@noinline
def _work_fields(loops: int, routines: Lapack, x: int, y: int, p: Any) -> int:
    """Return the numbers in LAPACK's workspace, by a formula for small matrices: a query is as slow as the work."""
    least, most, answer = min(p.m, p.n), max(p.m, p.n), stack_i64(1)
    if most <= _UNBLOCKED:
        return 4 * least * least + 7 * least + most
    _gesdd(loops, routines, x, y, answer, np.int64(-1), answer, p)
    return int(load_at(answer, 0, routines.zero)) + 1


@always_inline
def scratch_bytes(loops: int, routines: Lapack, x: int, y: int, p: Any) -> int:
    """Return the bytes of scratch memory of `decompose`: a copy of the matrix, LAPACK's workspace, and integers."""
    lwork = p.m * p.n + _work_fields(loops, routines, x, y, p)
    return lwork * size_of(routines.zero) + 32 * min(p.m, p.n)


@noinline
def decompose(loops: int, routines: Lapack, own: MatrixFrame, p: Any) -> int:
    """Write singular values and vectors of one matrix; return a status."""
    a, zero, lwork = own.scratch, routines.zero, _work_fields(loops, routines, own.x, own.y, p)
    copy(by_rows(own.x, p.m, p.n, zero), by_columns(a, p.m, p.n, zero), zero)
    work = a + p.m * p.n * size_of(zero)
    info = _gesdd(loops, routines, a, own.y, work, lwork, work + lwork * size_of(zero), p)
    return 0 if info == 0 else NOT_CONVERGED
