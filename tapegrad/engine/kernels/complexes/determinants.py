"""Determinants of complex matrices, their phases and the logarithms of their sizes, by LU factors.

The cotangent of a determinant y is ``y_bar * adjugate(A)^H``, which exists for singular matrices too (see
`kernels.systems.determinants`). That of phase s and logarithm l is ``(l_bar + i Im(conj(s) s_bar)) A^-H``.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.complexes.systems import invert
from tapegrad.engine.kernels.language.frame import PARAMS, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    Complexes,
    at,
    by_columns,
    by_rows,
    complex_libraries,
    factor_bytes,
    is_singular,
    put,
    triangle_bytes,
)
from tapegrad.engine.kernels.language.matmul import Matrix, transposed
from tapegrad.engine.kernels.language.raw_memory import (
    free,
    load_at,
    load_i32,
    load_i64,
    load_record,
    malloc,
    memcpy,
    memset,
    size_of,
    store_at,
)
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY, SINGULAR
from tapegrad.engine.kernels.systems.determinants import DOWN, UP, brought_near_one
from tapegrad.engine.kernels.systems.stacks import clear_if_written, write_nan
from tapegrad.ops.structural.matrices import SquareParams

LIBRARY = complex_libraries(("det", "slogdet"), "getrs")


@noinline
def _det(t: Matrix, exchanges: int, zero: Any) -> Any:
    value = zero + 1
    for i in range(t.rows):
        value *= at(t, i, i, zero)
        if load_i32(exchanges, i) != i + 1:
            value = -value
    return value


@noinline
def _phase(t: Matrix, exchanges: int, zero: Any) -> Any:
    """Return a determinant divided by its size; 0 for a singular matrix."""
    phase = zero + 1
    for i in range(t.rows):
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


@noinline
def _regularize(t: Matrix, zero: Any, eps: float) -> bool:
    """Replace pivots of zero by a rounding of the largest element; return whether any element is not zero."""
    largest = 0.0
    for i in range(t.rows):
        for j in range(i, t.rows):
            largest = max(largest, np.float64(abs(at(t, i, j, zero))))
    tiny = largest * eps if largest != 0.0 else 1.0
    for i in range(t.rows):
        if at(t, i, i, zero) == zero:
            put(t, i, i, zero + tiny, zero)
    return largest != 0.0


@noinline
def _det_in_steps(t: Matrix, exchanges: int, zero: Any) -> tuple[Any, int]:
    """Return a determinant that may exceed the range of floats, as a number near one and steps of 2**256."""
    value, steps = np.complex128(1), 0
    for i in range(t.rows):
        pivot, steps = brought_near_one(np.complex128(at(t, i, i, zero)), steps)
        if load_i32(exchanges, i) != i + 1:
            pivot = -pivot
        value, steps = brought_near_one(value * pivot, steps)
    return value, steps


@noinline
def _scale(a: Matrix, value: Any, steps: int, zero: Any) -> None:
    """Multiply a matrix by a number given in steps of 2**256; products outside the range become inf or 0."""
    if steps > 0:
        value *= UP
        steps -= 1
    for i in range(a.rows):
        for j in range(a.columns):
            scaled = value * np.complex128(at(a, i, j, zero))
            for _ in range(abs(steps) if scaled != np.complex128(0) else 0):
                scaled *= UP if steps > 0 else DOWN
            put(a, i, j, scaled, zero)


@noinline
def _write_inverse(
    loops: int, routines: Complexes, factor: int, n: int, scratch: int, logarithm: bool
) -> None:
    """Write the inverse (for a logarithm) or the adjugate, in Fortran order, after a copy of the factors."""
    zero, inverse = routines.zero, scratch + factor_bytes(n, routines.zero)
    t = by_columns(scratch, n, n, zero)
    memcpy(scratch, factor, factor_bytes(n, zero))
    is_not_zero = _regularize(t, zero, routines.eps)
    value, steps = _det_in_steps(t, scratch + triangle_bytes(n, zero), zero)
    invert(loops, routines, scratch, n, inverse)
    if not logarithm:
        value = value if is_not_zero or n == 1 else np.complex128(0)
        _scale(by_columns(inverse, n, n, zero), value, steps, zero)


@noinline
def _add_multiple(factor: Any, source: Matrix, into: Matrix, zero: Any) -> None:
    """Add the conjugate of a matrix, times a number."""
    for i in range(into.rows):
        for j in range(into.columns):
            put(into, i, j, at(into, i, j, zero) + factor * np.conj(at(source, i, j, zero)), zero)


@noinline
def _sum_of_products(a: Matrix, b: Matrix, zero: Any) -> Any:
    total = zero
    for i in range(a.rows):
        for j in range(a.columns):
            total += at(a, i, j, zero) * at(b, i, j, zero)
    return total


# --- forward ---------------------------------------------------------------------------------------------------


@always_inline
def det_forward(frame: int, loops: int, routines: Complexes) -> int:
    """Write the determinant of each matrix, by its factors X[1], to Y."""
    p, y = load_record(load_i64(frame, PARAMS), SquareParams), load_i64(frame, Y)
    n, factor, zero = p.n, load_i64(frame, X + 1), routines.zero
    for i in range(p.matrices):
        exchanges = factor + triangle_bytes(n, zero)
        store_at(y, i * size_of(zero), _det(by_columns(factor, n, n, zero), exchanges, zero), zero)
        factor += factor_bytes(n, zero)
    return 0


@always_inline
def slogdet_forward(frame: int, loops: int, routines: Complexes) -> int:
    """Write the phases of all determinants, then the logarithms of their sizes, to Y."""
    p, y = load_record(load_i64(frame, PARAMS), SquareParams), load_i64(frame, Y)
    n, factor, zero = p.n, load_i64(frame, X + 1), routines.zero
    for i in range(p.matrices):
        t, exchanges = by_columns(factor, n, n, zero), factor + triangle_bytes(n, zero)
        store_at(y, i * size_of(zero), _phase(t, exchanges, zero), zero)
        store_at(y, (p.matrices + i) * size_of(zero), zero + _logarithm(t, zero), zero)
        factor += factor_bytes(n, zero)
    return 0


# --- derivatives -----------------------------------------------------------------------------------------------


@always_inline
def _bar(factor: int, n: int, y_bar: int, i: int, count: int, logarithm: bool, zero: Any) -> Any:
    """Return the factor of the adjugate, or of the inverse, in the cotangent of matrix number `i`."""
    bar = load_at(y_bar, i * size_of(zero), zero)
    if logarithm:
        phase = _phase(by_columns(factor, n, n, zero), factor + triangle_bytes(n, zero), zero)
        turned = np.conj(phase) * bar
        bar = load_at(y_bar, (count + i) * size_of(zero), zero).real + (turned - np.conj(turned)) / 2
    return bar


@always_inline
def _reverse(frame: int, loops: int, routines: Complexes, logarithm: bool) -> int:
    p, x_bar = load_record(load_i64(frame, PARAMS), SquareParams), load_i64(frame, X_BAR)
    n, factor, zero, y_bar = p.n, load_i64(frame, X + 1), routines.zero, load_i64(frame, Y_BAR)
    bytes_, status = n * n * size_of(zero), 0
    clear_if_written(frame, p.matrices * bytes_)
    scratch = malloc(factor_bytes(n, zero) + bytes_ + 8)
    if scratch == 0:
        return OUT_OF_MEMORY
    inverse = by_columns(scratch + factor_bytes(n, zero), n, n, zero)
    for i in range(p.matrices):
        bar = _bar(factor, n, y_bar, i, p.matrices, logarithm, zero)
        if bar != zero:
            if not (logarithm and is_singular(by_columns(factor, n, n, zero), zero)):
                _write_inverse(loops, routines, factor, n, scratch, logarithm)
                _add_multiple(bar, transposed(inverse), by_rows(x_bar, n, n, zero), zero)
            elif p.nan_on_failure:
                write_nan(x_bar, bytes_, zero)
            else:
                status = SINGULAR
                break
        factor += factor_bytes(n, zero)
        x_bar += bytes_
    free(scratch)
    return status


@always_inline
def _tangent(frame: int, loops: int, routines: Complexes, logarithm: bool) -> int:
    p, x_dot = load_record(load_i64(frame, PARAMS), SquareParams), load_i64(frame, X_BAR)
    n, factor, zero, y_dot = p.n, load_i64(frame, X + 1), routines.zero, load_i64(frame, Y_BAR)
    size, bytes_, status = size_of(zero), n * n * size_of(zero), 0
    memset(y_dot, np.int32(0), (2 * p.matrices if logarithm else p.matrices) * size)
    if x_dot == 0:
        return 0
    scratch = malloc(factor_bytes(n, zero) + bytes_ + 8)
    if scratch == 0:
        return OUT_OF_MEMORY
    inverse = by_columns(scratch + factor_bytes(n, zero), n, n, zero)
    for i in range(p.matrices):
        if not (logarithm and is_singular(by_columns(factor, n, n, zero), zero)):
            _write_inverse(loops, routines, factor, n, scratch, logarithm)
            along = _sum_of_products(by_rows(x_dot, n, n, zero), transposed(inverse), zero)
            if logarithm:
                turning = (along - np.conj(along)) / 2
                store_at(y_dot, (p.matrices + i) * size, zero + along.real, zero)
                phase = _phase(by_columns(factor, n, n, zero), factor + triangle_bytes(n, zero), zero)
                along = phase * turning
            store_at(y_dot, i * size, along, zero)
        elif p.nan_on_failure:
            write_nan(y_dot + i * size, size, zero)
            write_nan(y_dot + (p.matrices + i) * size, size, zero)
        else:
            status = SINGULAR
            break
        factor += factor_bytes(n, zero)
        x_dot += bytes_
    free(scratch)
    return status


@always_inline
def det_reverse(frame: int, loops: int, routines: Complexes) -> int:
    """Add (STORE: write) ``y_bar * adjugate^H`` to X_BAR[0]."""
    return _reverse(frame, loops, routines, False)


@always_inline
def det_tangent(frame: int, loops: int, routines: Complexes) -> int:
    """Write ``sum(adjugate.T * x_dot)`` to Y_BAR."""
    return _tangent(frame, loops, routines, False)


@always_inline
def slogdet_reverse(frame: int, loops: int, routines: Complexes) -> int:
    """Add (STORE: write) the inverse's conjugate transpose, times the cotangents of both numbers, to X_BAR[0]."""
    return _reverse(frame, loops, routines, True)


@always_inline
def slogdet_tangent(frame: int, loops: int, routines: Complexes) -> int:
    """Write the tangents of the phases, then those of the logarithms, to Y_BAR."""
    return _tangent(frame, loops, routines, True)
