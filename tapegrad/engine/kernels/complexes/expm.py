"""Exponentials of complex matrices: those of `spectra.expm`, with systems solved by complex LU factors."""

from tapegrad.engine.kernels.complexes.systems import factorize, solve
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import PLAIN, Complexes, by_columns, complex_libraries, copy
from tapegrad.engine.kernels.language.matmul import Matrix
from tapegrad.engine.kernels.spectra.expm import write_derivatives, write_exponentials

LIBRARY = complex_libraries(("expm",), "getrf", "getrs")


@noinline
def _divide(loops: int, routines: Complexes, factor: int, y: Matrix, scratch: int) -> None:
    """Solve ``F X = Y`` in place, for a matrix F in Fortran order, whose factors replace it."""
    n = y.rows
    sides = by_columns(scratch, n, n, routines.zero)
    copy(y, sides, routines.zero)
    factorize(loops, routines, factor, n)
    solve(loops, routines, factor, n, n, scratch, PLAIN)
    copy(sides, y, routines.zero)


@always_inline
def expm_forward(frame: int, loops: int, routines: Complexes) -> int:
    """Write the exponential of each matrix of X[0] to Y."""
    return write_exponentials(frame, loops, routines, _divide)


@always_inline
def expm_reverse(frame: int, loops: int, routines: Complexes) -> int:
    """Add (STORE: write) the derivatives of the conjugate transposes along Y_BAR to X_BAR[0]."""
    return write_derivatives(frame, loops, routines, True, _divide)


@always_inline
def expm_tangent(frame: int, loops: int, routines: Complexes) -> int:
    """Write the derivatives along X_BAR[0] to Y_BAR."""
    return write_derivatives(frame, loops, routines, False, _divide)
