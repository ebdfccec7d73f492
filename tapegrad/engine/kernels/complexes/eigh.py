"""Eigenvalues and eigenvectors of Hermitian matrices: the decomposition; derivatives are those of `spectra.eigh`.

Eigenvalues are written as complex numbers, like the eigenvectors behind them.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    LOWER,
    NO_VECTORS,
    UPPER,
    VECTORS,
    Complexes,
    by_columns,
    by_rows,
    complex_libraries,
    copy,
    info_i64,
)
from tapegrad.engine.kernels.language.raw_memory import (
    call_by_reference,
    load_at,
    load_i32,
    size_of,
    store_at,
)
from tapegrad.engine.kernels.language.status import NOT_CONVERGED
from tapegrad.engine.kernels.spectra.eigh import eigh_reverse as eigh_reverse
from tapegrad.engine.kernels.spectra.eigh import eigh_tangent as eigh_tangent
from tapegrad.engine.kernels.spectra.eigh import result_bytes, wanted
from tapegrad.engine.kernels.systems.stacks import RESULT, MatrixFrame, Sizes, for_each

LIBRARY = complex_libraries(("eigh",), "heevd")


@always_inline
def _work_fields(n: int) -> tuple[int, int, int]:
    """Return LAPACK's workspace for n eigenvalues: complex numbers, floats behind the eigenvalues, integers."""
    return 2 * n + n * n, 1 + 5 * n + 2 * n * n, 3 + 5 * n


@noinline
def write_real(values: int, count: int, into: int, real: Any, zero: Any) -> None:
    """Write floats as complex numbers."""
    for i in range(count):
        store_at(into, i * size_of(zero), load_at(values, i * size_of(real), real), zero)


@noinline
def _decompose(loops: int, routines: Complexes, own: MatrixFrame, p: Any) -> int:
    """Write eigenvalues and, if `p.vectors`, eigenvectors of one matrix; return a status."""
    n, zero, size, info, order = p.n, routines.zero, size_of(routines.zero), info_i64(), np.int32(p.n)
    job, uplo, vectors = (
        VECTORS if p.vectors else NO_VECTORS,
        LOWER if p.lower else UPPER,
        own.y + n * size,
    )
    lwork, lrwork, liwork = _work_fields(n)
    values = own.scratch + lwork * size
    rwork = values + n * size
    copy(by_rows(own.x, n, n, zero), by_columns(vectors, n, n, zero), zero)
    call_by_reference(
        loops,
        routines.heevd,
        (job, uplo, order, vectors, order, values, own.scratch, np.int32(lwork), rwork, np.int32(lrwork),
         rwork + lrwork * size, np.int32(liwork), info),
    )  # fmt: skip
    write_real(values, n, own.y, routines.real, zero)
    return 0 if load_i32(info, 0) == 0 else NOT_CONVERGED


@always_inline
def eigh_forward(frame: int, loops: int, routines: Complexes) -> int:
    """Write eigenvalues and eigenvectors of each matrix of X[0] to Y."""
    p, zero = wanted(frame), routines.zero
    n, size = p.n, size_of(zero)
    if n == 0:
        return 0
    lwork, lrwork, liwork = _work_fields(n)
    scratch = (lwork + n + lrwork) * size + liwork * 8
    sizes = Sizes(n * n * size, 0, result_bytes(n, zero), scratch)
    return for_each(frame, loops, routines, p, sizes, _decompose, RESULT)
