"""Complex eigenvalues and eigenvectors of square matrices: the decomposition. Derivatives are in `spectra.eig`."""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.frame import PARAMS
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    NO_VECTORS,
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
    load_i32,
    load_i64,
    load_record,
    size_of,
)
from tapegrad.engine.kernels.language.status import NOT_CONVERGED, NOT_FINITE
from tapegrad.engine.kernels.spectra.eig import are_finite
from tapegrad.engine.kernels.spectra.eig import eig_reverse as eig_reverse
from tapegrad.engine.kernels.spectra.eig import eig_tangent as eig_tangent
from tapegrad.engine.kernels.spectra.eigh import result_bytes
from tapegrad.engine.kernels.systems.stacks import RESULT, MatrixFrame, Sizes, for_each
from tapegrad.ops.structural.matrices import EigParams

LIBRARY = complex_libraries(("eig",), "geev", "getrf")
_WORK = 34  # rows of workspace, for blocks of 32 columns


@noinline
def _decompose(loops: int, routines: Complexes, own: MatrixFrame, p: Any) -> int:
    """Write eigenvalues and eigenvectors of one matrix; return a status."""
    n, zero, size, info = p.n, routines.zero, size_of(routines.zero), info_i64()
    lwork, order, one = _WORK * n, np.int32(n), np.int32(1)
    a, y, work = own.scratch, own.y, own.scratch + n * n * size
    copy(by_rows(own.x, n, n, zero), by_columns(a, n, n, zero), zero)
    if not are_finite(a, n * n, zero):
        return NOT_FINITE
    call_by_reference(
        loops,
        routines.geev,
        (NO_VECTORS, VECTORS, order, a, order, y, work, one, y + n * size, order, work,
         np.int32(lwork), work + lwork * size, info),
    )  # fmt: skip
    return 0 if load_i32(info, 0) == 0 else NOT_CONVERGED


@always_inline
def eig_forward(frame: int, loops: int, routines: Complexes) -> int:
    """Write eigenvalues and eigenvectors of each matrix of X[0] to Y."""
    p, zero = load_record(load_i64(frame, PARAMS), EigParams), routines.zero
    n, size = p.n, size_of(zero)
    if n == 0:
        return 0
    sizes = Sizes(n * n * size, 0, result_bytes(n, zero), (n * n + n + _WORK * n) * size)
    return for_each(frame, loops, routines, p, sizes, _decompose, RESULT)
