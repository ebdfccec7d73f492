"""Balancing: a diagonal similarity by powers of two, so that rows have norms as columns have (Osborne 1960).

A row or a column without elements off the diagonal has nothing to be balanced with: its counterpart comes down to 1, so
that triangular matrices get small elements off the diagonal, whatever their scale.
"""

import math
from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import at, put
from tapegrad.engine.kernels.language.matmul import Matrix
from tapegrad.engine.kernels.language.raw_memory import load_f64, load_i64, store_f64, store_i64

_SWEEPS = 40
_LARGEST_RATIO = 16.0  # norms of a row and a column that are alike: of most matrices as they come, all are
_FARTHEST = 500  # differences of exponents stay powers of two in float64


@always_inline
def _exponent(row: float, column: float) -> int:
    """Return the exponent by which to divide a row and to multiply a column of these norms."""
    if (row < _LARGEST_RATIO * column and column < _LARGEST_RATIO * row) or not row + column < np.inf:
        return 0
    if column == 0.0:
        return int(np.ceil(np.log2(row))) if row > 1.0 else 0
    if row == 0.0:
        return -int(np.ceil(np.log2(column))) if column > 1.0 else 0
    return int(np.ceil(0.5 * (np.log2(row) - np.log2(column)) - 0.5))


@noinline
def _is_balanced(a: Matrix, sums: int, zero: Any) -> bool:
    """Return whether nothing is to be scaled, in one pass over the matrix."""
    n = a.rows
    for j in range(2 * n):
        store_f64(sums, j, 0.0)
    for i in range(n):
        for j in range(n):
            size = np.float64(abs(at(a, i, j, zero))) if j != i else 0.0
            store_f64(sums, i, load_f64(sums, i) + size)
            store_f64(sums, n + j, load_f64(sums, n + j) + size)
    for i in range(n):
        if _exponent(load_f64(sums, i), load_f64(sums, n + i)) != 0:
            return False
    return True


@noinline
def _exponent_of(a: Matrix, i: int, zero: Any) -> int:
    row, column = 0.0, 0.0
    for j in range(a.rows):
        if j != i:
            row += np.float64(abs(at(a, i, j, zero)))
            column += np.float64(abs(at(a, j, i, zero)))
    return _exponent(row, column)


@noinline
def balance(a: Matrix, exponents: int, zero: Any) -> bool:
    """Replace a matrix by ``D^-1 A D``, and write the exponents of D, a diagonal of powers of two; or return False.

    There is memory for twice as many exponents.
    """
    if _is_balanced(a, exponents, zero):
        return False
    for i in range(a.rows):
        store_i64(exponents, i, 0)
    for _ in range(_SWEEPS):
        is_balanced = True
        for i in range(a.rows):
            before = load_i64(exponents, i)
            found = min(max(before + _exponent_of(a, i, zero), -_FARTHEST), _FARTHEST) - before
            if found == 0:
                continue
            is_balanced = False
            store_i64(exponents, i, before + found)
            for j in range(a.rows):
                if j != i:
                    put(a, i, j, at(a, i, j, zero) * math.ldexp(1.0, -found), zero)
                    put(a, j, i, at(a, j, i, zero) * math.ldexp(1.0, found), zero)
        if is_balanced:
            break
    return True


@noinline
def turn_back(a: Matrix, exponents: int, sign: int, zero: Any) -> None:
    """Replace a matrix by ``D A D^-1`` (sign 1) or ``D^-1 A D`` (sign -1)."""
    for i in range(a.rows):
        for j in range(a.columns):
            shift = sign * (load_i64(exponents, i) - load_i64(exponents, j))
            put(a, i, j, at(a, i, j, zero) * math.ldexp(1.0, shift), zero)
