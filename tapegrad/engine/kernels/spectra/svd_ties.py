"""Equal and zero singular values: whether derivatives are determined."""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import at, eps_of, largest, put
from tapegrad.engine.kernels.language.matmul import Matrix
from tapegrad.engine.kernels.spectra.eigh import SAME


@always_inline
def closest(s: Matrix, p: Any, zero: Any) -> float:
    """Return the distance up to which singular values count as equal, or as zero."""
    return 8 * max(p.m, p.n) * eps_of(zero) * largest(s, zero)


@noinline
def clear_zeros(diagonal: Matrix, s: Matrix, close: float, zero: Any) -> None:
    """Set the elements of zero singular values to zero."""
    for i in range(s.rows):
        if at(s, i, 0, zero).real <= close:
            put(diagonal, i, i, zero, zero)


@noinline
def are_zero(columns: Matrix, s: Matrix, close: float, slack: float, zero: Any) -> bool:
    """Return whether the columns of zero singular values are zero."""
    for j in range(s.rows):
        if at(s, j, 0, zero).real <= close:
            for i in range(columns.rows):
                if abs(at(columns, i, j, zero)) > slack:
                    return False
    return True


@noinline
def zeros_are_out(j_: Matrix, k_: Matrix, g: Matrix, s: Matrix, close: float, zero: Any) -> bool:
    """Return whether the function depends neither on several zero singular values, nor on their vectors."""
    slack = SAME * s.rows * eps_of(zero)
    of_values, of_vectors = slack * largest(g, zero), slack * max(largest(j_, zero), largest(k_, zero))
    for j in range(s.rows - 1, 0, -1):
        if at(s, j - 1, 0, zero).real > close:
            return True
        if max(abs(at(g, j, j, zero)), abs(at(g, j - 1, j - 1, zero))) > of_values:
            return False
        for i in range(j):
            of_u = at(j_, i, j, zero) - np.conj(at(j_, j, i, zero))
            of_v = at(k_, i, j, zero) - np.conj(at(k_, j, i, zero))
            if at(s, i, 0, zero).real <= close and max(abs(of_u), abs(of_v)) > of_vectors:
                return False
    return True


@noinline
def ties_stay(m: Matrix, s: Matrix, close: float, zero: Any) -> bool:
    """Return whether equal singular values have equal tangents, zeros have none, and their vectors do not mix."""
    slack = SAME * s.rows * eps_of(zero) * largest(m, zero)
    for i in range(s.rows):
        for j in range(i + 1, s.rows):
            if abs(at(s, j, 0, zero) - at(s, i, 0, zero)) > close:
                break
            mirrored = np.conj(at(m, j, i, zero))
            even, odd = at(m, i, j, zero) + mirrored, at(m, i, j, zero) - mirrored
            if max(abs(even), abs(at(m, i, i, zero) - at(m, j, j, zero))) > slack:
                return False
            if at(s, i, 0, zero).real <= close and max(abs(odd), abs(at(m, i, i, zero))) > slack:
                return False
    return True
