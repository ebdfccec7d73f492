"""Determinants of complex matrices, and their phases and the logarithms of their sizes.

The cotangent of phase s and logarithm l is ``(l_bar + i Im(conj(s) s_bar)) A^-H``.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.frame import PARAMS, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    Complexes,
    at,
    by_columns,
    complex_libraries,
    factor_bytes,
    triangle_bytes,
)
from tapegrad.engine.kernels.language.matmul import Matrix
from tapegrad.engine.kernels.language.raw_memory import (
    load_at,
    load_i32,
    load_i64,
    load_record,
    size_of,
    store_at,
)
from tapegrad.engine.kernels.systems.determinants import det_one_by_one as det_forward  # noqa: F401
from tapegrad.engine.kernels.systems.determinants import det_reverse as det_reverse
from tapegrad.engine.kernels.systems.determinants import det_tangent as det_tangent
from tapegrad.engine.kernels.systems.determinants import write_cotangents, write_tangents
from tapegrad.ops.structural.matrices import SquareParams

LIBRARY = complex_libraries(("det", "slogdet"), "getrf", "getri")


@noinline
def _phase(factor: int, n: int, zero: Any) -> Any:
    """Return a determinant divided by its size, by its factors; 0 for a singular matrix."""
    phase, t, exchanges = zero + 1, by_columns(factor, n, n, zero), factor + triangle_bytes(n, zero)
    for i in range(n):
        pivot = at(t, i, i, zero)
        if pivot == zero:
            return zero
        phase *= pivot / abs(pivot)
        if load_i32(exchanges, i) != i + 1:
            phase = -phase
    return phase


@noinline
def _logarithm(t: Matrix, zero: Any) -> Any:
    total = 0.0
    for i in range(t.rows):
        total += np.log(np.float64(abs(at(t, i, i, zero))))
    return total


@always_inline
def slogdet_forward(frame: int, loops: int, routines: Complexes) -> int:
    """Write the phases of all determinants, then the logarithms of their sizes, to Y."""
    p, y = load_record(load_i64(frame, PARAMS), SquareParams), load_i64(frame, Y)
    n, factor, zero = p.n, load_i64(frame, X + 1), routines.zero
    for i in range(p.matrices):
        store_at(y, i * size_of(zero), _phase(factor, n, zero), zero)
        logarithm = _logarithm(by_columns(factor, n, n, zero), zero)
        store_at(y, (p.matrices + i) * size_of(zero), zero + logarithm, zero)
        factor += factor_bytes(n, zero)
    return 0


# --- derivatives -----------------------------------------------------------------------------------------------


@always_inline
def _read(y_bar: int, i: int, factor: int, p: Any, zero: Any) -> Any:
    """Return the factor of the inverse in the cotangent of a matrix."""
    turned = np.conj(_phase(factor, p.n, zero)) * load_at(y_bar, i * size_of(zero), zero)
    bar = load_at(y_bar, (p.matrices + i) * size_of(zero), zero)
    return bar.real + (turned - np.conj(turned)) / 2


@always_inline
def _write(y_dot: int, i: int, along: Any, factor: int, p: Any, zero: Any) -> None:
    """Write the tangents of a phase and a logarithm."""
    turning = (along - np.conj(along)) / 2
    store_at(y_dot, i * size_of(zero), _phase(factor, p.n, zero) * turning, zero)
    store_at(y_dot, (p.matrices + i) * size_of(zero), zero + along.real, zero)


@always_inline
def slogdet_reverse(frame: int, loops: int, routines: Complexes) -> int:
    """Add (STORE: write) the inverse's conjugate transpose, times the cotangents of both numbers, to X_BAR[0]."""
    return write_cotangents(frame, loops, routines, True, _read)


@always_inline
def slogdet_tangent(frame: int, loops: int, routines: Complexes) -> int:
    """Write the tangents of the phases, then those of the logarithms, to Y_BAR."""
    return write_tangents(frame, loops, routines, True, _write)
