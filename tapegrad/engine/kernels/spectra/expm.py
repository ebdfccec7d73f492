"""Exponentials of matrices by scaling, squaring and the Pade approximant of degree 13 (Higham 2005).

Each squaring may lose a digit of base 2: a matrix that needs many is balanced first. Where the elements lie far apart
that leaves none, and digits of each element. Norms of powers (Al-Mohy and Higham 2009) would save squarings of other
matrices, but no digits: those are lost in the powers as well.

Derivatives are blocks of an exponential: ``expm([[A, E], [0, A]])`` has ``expm(A)`` on its diagonal, and off it the
derivative along E (Najfeld and Havel 1995). The cotangent is the derivative of ``expm(A^T)`` along y_bar.
"""

import math
from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.frame import PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    Lapack,
    add,
    at,
    by_columns,
    by_rows,
    complex_libraries,
    conjugate,
    copy,
    factor_bytes,
    largest,
    libraries,
    part,
    put,
    triangle_bytes,
)
from tapegrad.engine.kernels.language.matmul import Matrix, product, transposed
from tapegrad.engine.kernels.language.raw_memory import free, load_i64, load_record, malloc, memset, size_of
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY
from tapegrad.engine.kernels.spectra.balancing import balance, turn_back
from tapegrad.engine.kernels.systems.lu import factorize, solve
from tapegrad.ops.structural.matrices import SquareParams

LIBRARY = libraries(("expm",), "getrf") | complex_libraries(("expm",), "getrf")
_COEFFICIENTS = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
_RADIUS = 5.371920351148152  # the largest norm for which the approximant is accurate
_MIN_BALANCED_NORM = 64.0  # below, four squarings lose no more than a digit
_SQUARES = 8  # matrices of workspace


@noinline
def _norm(a: Matrix, zero: Any) -> float:
    """Return the largest sum of absolute values in a column."""
    found = 0.0
    for j in range(a.columns):
        total = 0.0
        for i in range(a.rows):
            total += np.float64(abs(at(a, i, j, zero)))
        found = total if not total <= found else found
    return found


@noinline
def _combine(into: Matrix, a: Matrix, b: Matrix, c: Matrix, factors: Any, zero: Any) -> None:
    """Write a linear combination of three matrices and the identity."""
    for i in range(into.rows):
        for j in range(into.columns):
            value = (
                factors[0] * at(a, i, j, zero)
                + factors[1] * at(b, i, j, zero)
                + factors[2] * at(c, i, j, zero)
            )
            put(into, i, j, value + (factors[3] if i == j else 0.0), zero)


@noinline
def _scale(a: Matrix, factor: float, zero: Any) -> None:
    for i in range(a.rows):
        for j in range(a.columns):
            put(a, i, j, factor * at(a, i, j, zero), zero)


@always_inline
def _scratch_bytes(n: int, zero: Any) -> int:
    return _SQUARES * n * n * size_of(zero) + factor_bytes(n, zero) + 8


@noinline
def _approximant(loops: int, routines: Lapack, a: Matrix, y: Matrix, scratch: int) -> None:
    """Write the Pade approximant of a matrix to Y."""
    n, zero, products, write, b = a.rows, routines.zero, routines.products, np.int64(1), _COEFFICIENTS
    step = n * n * size_of(zero)
    second, fourth = by_rows(scratch, n, n, zero), by_rows(scratch + step, n, n, zero)
    sixth, inner = by_rows(scratch + 2 * step, n, n, zero), by_rows(scratch + 3 * step, n, n, zero)
    odd, even = by_rows(scratch + 4 * step, n, n, zero), by_rows(scratch + 5 * step, n, n, zero)
    product(loops, products, a, a, second, write)
    product(loops, products, second, second, fourth, write)
    product(loops, products, fourth, second, sixth, write)
    _combine(inner, sixth, fourth, second, (b[13], b[11], b[9], 0.0), zero)
    product(loops, products, sixth, inner, even, write)
    _combine(inner, sixth, fourth, second, (b[7], b[5], b[3], b[1]), zero)
    add(even, inner, np.int64(0), zero)
    product(loops, products, a, inner, odd, write)
    _combine(inner, sixth, fourth, second, (b[12], b[10], b[8], 0.0), zero)
    product(loops, products, sixth, inner, even, write)
    _combine(inner, sixth, fourth, second, (b[6], b[4], b[2], b[0]), zero)
    add(inner, even, np.int64(0), zero)
    factor = scratch + _SQUARES * step
    _combine(by_columns(factor, n, n, zero), even, odd, odd, (1.0, -1.0, 0.0, 0.0), zero)
    _combine(y, even, odd, odd, (1.0, 1.0, 0.0, 0.0), zero)
    factorize(loops, routines, factor, n, factor + triangle_bytes(n, zero))
    solve(loops, routines, factor, y, np.int64(0))


@noinline
def _exponential(loops: int, routines: Lapack, a: Matrix, y: Matrix, scratch: int) -> None:
    """Write the exponential of a matrix, which is scaled in place, to Y. Both are in C order."""
    zero, norm, squarings = routines.zero, _norm(a, routines.zero), 0
    if norm > _RADIUS and norm < np.inf:
        squarings = int(np.ceil(np.log2(norm / _RADIUS)))
    _scale(a, math.ldexp(1.0, -squarings), zero)
    _approximant(loops, routines, a, y, scratch)
    half = by_rows(scratch, a.rows, a.rows, zero)
    for _ in range(squarings):
        copy(y, half, zero)
        product(loops, routines.products, half, half, y, np.int64(1))


@noinline
def _balance_large(a: Matrix, exponents: int, zero: Any) -> bool:
    """Balance a matrix that needs many squarings; return whether it was."""
    return _norm(a, zero) > _MIN_BALANCED_NORM and balance(a, exponents, zero)


@noinline
def _conjugate_if(wanted: bool, a: Matrix, zero: Any) -> None:
    if wanted:
        conjugate(a, a, zero)


@always_inline
def expm_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write the exponential of each matrix of X[0] to Y."""
    p, x, y = load_record(load_i64(frame, PARAMS), SquareParams), load_i64(frame, X), load_i64(frame, Y)
    n, zero = p.n, routines.zero
    bytes_ = n * n * size_of(zero)
    scratch = malloc(_scratch_bytes(n, zero) + bytes_ + 16 * n)
    if scratch == 0:
        return OUT_OF_MEMORY
    a = by_rows(scratch + _scratch_bytes(n, zero), n, n, zero)
    exponents = a.address + bytes_
    for _ in range(p.matrices):
        copy(by_rows(x, n, n, zero), a, zero)
        is_balanced = _balance_large(a, exponents, zero)
        _exponential(loops, routines, a, by_rows(y, n, n, zero), scratch)
        if is_balanced:
            turn_back(by_rows(y, n, n, zero), exponents, 1, zero)
        x += bytes_
        y += bytes_
    free(scratch)
    return 0


@always_inline
def _write_derivatives(frame: int, loops: int, routines: Lapack, reverse: bool) -> int:
    p, x = load_record(load_i64(frame, PARAMS), SquareParams), load_i64(frame, X)
    n, zero, x_bar, y_bar = p.n, routines.zero, load_i64(frame, X_BAR), load_i64(frame, Y_BAR)
    bytes_, double = n * n * size_of(zero), 2 * n
    along, into = (y_bar, x_bar) if reverse else (x_bar, y_bar)
    store = load_i64(frame, STORE) & 1 if reverse else np.int64(1)
    scratch = malloc(_scratch_bytes(double, zero) + 8 * bytes_ + 16 * n)
    if scratch == 0:
        return OUT_OF_MEMORY
    a = by_rows(scratch + _scratch_bytes(double, zero), double, double, zero)
    y = by_rows(a.address + 4 * bytes_, double, double, zero)
    exponents = a.address + 8 * bytes_
    for _ in range(p.matrices):
        own = by_rows(x, n, n, zero)
        own = transposed(own) if reverse else own
        memset(a.address, np.int32(0), 4 * bytes_)
        copy(own, part(a, 0, 0, n, n), zero)
        if np.iscomplexobj(zero):
            _conjugate_if(reverse, part(a, 0, 0, n, n), zero)
        is_balanced = _balance_large(part(a, 0, 0, n, n), exponents, zero)
        copy(part(a, 0, 0, n, n), part(a, n, n, n, n), zero)
        direction = part(a, 0, n, n, n)
        copy(by_rows(along, n, n, zero), direction, zero)
        if is_balanced:
            turn_back(direction, exponents, -1, zero)
        # The derivative is linear in the direction: a large one is scaled, so that it needs no squarings.
        size = largest(direction, zero)
        factor = size if size > 1.0 and size < np.inf else 1.0
        _scale(direction, 1.0 / factor, zero)
        _exponential(loops, routines, a, y, scratch)
        _scale(part(y, 0, n, n, n), factor, zero)
        if is_balanced:
            turn_back(part(y, 0, n, n, n), exponents, 1, zero)
        add(part(y, 0, n, n, n), by_rows(into, n, n, zero), store, zero)
        x += bytes_
        along += bytes_
        into += bytes_
    free(scratch)
    return 0


@always_inline
def expm_reverse(frame: int, loops: int, routines: Lapack) -> int:
    """Add (STORE: write) the derivatives of the conjugate transposes along Y_BAR to X_BAR[0]."""
    return _write_derivatives(frame, loops, routines, True)


@always_inline
def expm_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write the derivatives along X_BAR[0] to Y_BAR."""
    return _write_derivatives(frame, loops, routines, False)
