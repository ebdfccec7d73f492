"""Arithmetic and comparisons of 64-bit integers along a line, for indices that a replay computes.

Sums and products are modulo 2**64, and a division by 0 gives 0, as in NumPy.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.frame import COUNT, STRIDE, Y_STRIDE, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline
from tapegrad.engine.kernels.language.raw_memory import load_at, load_i64, store_at

_I64, _B8 = np.int64(0), np.uint8(0)


@always_inline
def _binary(frame: int, compute: Any, result: Any) -> int:
    x, x_stride = load_i64(frame, X), load_i64(frame, STRIDE)
    z, z_stride = load_i64(frame, X + 1), load_i64(frame, STRIDE + 1)
    y, y_stride = load_i64(frame, Y), load_i64(frame, Y_STRIDE)
    for i in range(load_i64(frame, COUNT)):
        a, b = load_at(x, i * x_stride, _I64), load_at(z, i * z_stride, _I64)
        store_at(y, i * y_stride, compute(a, b), result)
    return 0


@always_inline
def _add(a: int, b: int) -> int:
    return a + b


@always_inline
def _subtract(a: int, b: int) -> int:
    return a - b


@always_inline
def _multiply(a: int, b: int) -> int:
    return a * b


@always_inline
def _floor_divide(a: int, b: int) -> int:
    """Divide and round down. Division by 0 gives 0, by -1 the negative; both would trap in the processor."""
    if b == 0:
        return 0
    return -a if b == -1 else a // b


@always_inline
def _remainder(a: int, b: int) -> int:
    return 0 if b in (0, -1) else a % b


@always_inline
def _minimum(a: int, b: int) -> int:
    return min(a, b)


@always_inline
def _maximum(a: int, b: int) -> int:
    return max(a, b)


@always_inline
def _less(a: int, b: int) -> bool:
    return a < b


@always_inline
def _less_equal(a: int, b: int) -> bool:
    return a <= b


@always_inline
def _equal(a: int, b: int) -> bool:
    return a == b


@always_inline
def _not_equal(a: int, b: int) -> bool:
    return a != b


def add_forward_i64(frame: int, loops: int) -> int:
    """Write X[0] + X[1] to Y."""
    return _binary(frame, _add, _I64)


def subtract_forward_i64(frame: int, loops: int) -> int:
    """Write X[0] - X[1] to Y."""
    return _binary(frame, _subtract, _I64)


def multiply_forward_i64(frame: int, loops: int) -> int:
    """Write X[0] * X[1] to Y."""
    return _binary(frame, _multiply, _I64)


def floor_divide_forward_i64(frame: int, loops: int) -> int:
    """Write X[0] // X[1] to Y."""
    return _binary(frame, _floor_divide, _I64)


def remainder_forward_i64(frame: int, loops: int) -> int:
    """Write X[0] % X[1] to Y."""
    return _binary(frame, _remainder, _I64)


def minimum_forward_i64(frame: int, loops: int) -> int:
    """Write the smaller of X[0] and X[1] to Y."""
    return _binary(frame, _minimum, _I64)


def maximum_forward_i64(frame: int, loops: int) -> int:
    """Write the larger of X[0] and X[1] to Y."""
    return _binary(frame, _maximum, _I64)


def less_forward_i64(frame: int, loops: int) -> int:
    """Write whether X[0] < X[1] to Y."""
    return _binary(frame, _less, _B8)


def less_equal_forward_i64(frame: int, loops: int) -> int:
    """Write whether X[0] <= X[1] to Y."""
    return _binary(frame, _less_equal, _B8)


def equal_forward_i64(frame: int, loops: int) -> int:
    """Write whether X[0] == X[1] to Y."""
    return _binary(frame, _equal, _B8)


def not_equal_forward_i64(frame: int, loops: int) -> int:
    """Write whether X[0] != X[1] to Y."""
    return _binary(frame, _not_equal, _B8)


def where_forward_i64(frame: int, loops: int) -> int:
    """Write X[1] where the boolean X[0] is true, else X[2], to Y."""
    condition, condition_stride = load_i64(frame, X), load_i64(frame, STRIDE)
    x, x_stride = load_i64(frame, X + 1), load_i64(frame, STRIDE + 1)
    z, z_stride = load_i64(frame, X + 2), load_i64(frame, STRIDE + 2)
    y, y_stride = load_i64(frame, Y), load_i64(frame, Y_STRIDE)
    for i in range(load_i64(frame, COUNT)):
        holds = load_at(condition, i * condition_stride, _B8) != 0
        chosen = load_at(x, i * x_stride, _I64) if holds else load_at(z, i * z_stride, _I64)
        store_at(y, i * y_stride, chosen, _I64)
    return 0
