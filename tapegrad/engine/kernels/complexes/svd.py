"""Singular value decompositions of complex matrices by LAPACK; derivatives are those of `spectra.svd`.

Singular values are written as complex numbers, like the vectors behind them.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.complexes.eigh import write_real
from tapegrad.engine.kernels.language.frame import PARAMS, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    ALL,
    SOME,
    Complexes,
    by_columns,
    by_rows,
    complex_libraries,
    copy,
    info_i64,
    write_identity,
)
from tapegrad.engine.kernels.language.raw_memory import (
    call_by_reference,
    load_at,
    load_i32,
    load_i64,
    load_record,
    size_of,
    stack_i64,
)
from tapegrad.engine.kernels.language.status import NOT_CONVERGED
from tapegrad.engine.kernels.spectra.singular import left_count, result_bytes, right_count
from tapegrad.engine.kernels.spectra.svd import svd_reverse as svd_reverse
from tapegrad.engine.kernels.spectra.svd import svd_tangent as svd_tangent
from tapegrad.engine.kernels.systems.stacks import RESULT, MatrixFrame, Sizes, for_each
from tapegrad.ops.structural.matrices import SvdParams

LIBRARY = complex_libraries(("svd",), "gesdd")


@noinline
def _gesdd(
    loops: int, routines: Complexes, a: int, y: int, work: int, lwork: int, floats: int, p: Any
) -> int:
    """Decompose a matrix in Fortran order in place; return LAPACK's info. For -1 `lwork`, query the workspace.

    The singular values are written to `floats`, behind them are floats and integers of LAPACK's.
    """
    m, n, k, size, info = np.int32(p.m), np.int32(p.n), min(p.m, p.n), size_of(routines.zero), info_i64()
    u, rwork = y + k * size, floats + k * size
    v, integers = u + p.m * left_count(p) * size, rwork + _float_count(p) * size
    job, right = ALL if p.full else SOME, np.int32(max(1, right_count(p)))
    call_by_reference(
        loops,
        routines.gesdd,
        (job, m, n, a, m, floats, u, m, v, right, work, np.int32(lwork), rwork, integers, info),
    )
    return int(load_i32(info, 0))


@always_inline
def _float_count(p: Any) -> int:
    """Return the number of floats in LAPACK's workspace."""
    least, most = min(p.m, p.n), max(p.m, p.n)
    return max(5 * least * least + 5 * least, 2 * most * least + 2 * least * least + least)


@noinline
def _work_count(loops: int, routines: Complexes, own: int, y: int, p: Any) -> int:
    """Return the number of complex numbers in LAPACK's workspace."""
    answer = stack_i64(2)
    _gesdd(loops, routines, own, y, answer, np.int64(-1), answer, p)
    return int(load_at(answer, 0, routines.zero).real) + 1


@noinline
def _decompose(loops: int, routines: Complexes, own: MatrixFrame, p: Any) -> int:
    """Write singular values and vectors of one matrix; return a status."""
    a, zero, size, k = own.scratch, routines.zero, size_of(routines.zero), min(p.m, p.n)
    lwork = _work_count(loops, routines, own.x, own.y, p)
    copy(by_rows(own.x, p.m, p.n, zero), by_columns(a, p.m, p.n, zero), zero)
    work = a + p.m * p.n * size
    floats = work + lwork * size
    info = _gesdd(loops, routines, a, own.y, work, lwork, floats, p)
    write_real(floats, k, own.y, routines.real, zero)
    return 0 if info == 0 else NOT_CONVERGED


@always_inline
def svd_forward(frame: int, loops: int, routines: Complexes) -> int:
    """Write singular values and vectors of each matrix of X[0] to Y."""
    p, x, y = load_record(load_i64(frame, PARAMS), SvdParams), load_i64(frame, X), load_i64(frame, Y)
    zero, size, k = routines.zero, size_of(routines.zero), min(p.m, p.n)
    if k == 0:
        for _ in range(p.matrices):
            write_identity(by_columns(y, p.m, left_count(p), zero), zero)
            write_identity(by_columns(y + p.m * left_count(p) * size, right_count(p), p.n, zero), zero)
            y += result_bytes(p, zero)
        return 0
    numbers = p.m * p.n + _work_count(loops, routines, x, y, p) + k + _float_count(p)
    sizes = Sizes(p.m * p.n * size, 0, result_bytes(p, zero), numbers * size + 8 * 8 * k)
    return for_each(frame, loops, routines, p, sizes, _decompose, RESULT)
