"""The logarithm of the sum of the exponentials of a line.

It is the largest element plus ``log1p`` of the sum of the others' exponentials relative to it, which neither overflows
nor loses digits where the result is near zero. The derivative by an element is its share, ``exp(x - y)``.
"""

import math
from typing import Any

import numpy as np

from tapegrad.engine.kernels.accumulate import block_sum
from tapegrad.engine.kernels.blocks import call_library
from tapegrad.engine.kernels.frame import COUNT, STORE, STRIDE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.inlining import always_inline, noinline
from tapegrad.engine.kernels.library import entry
from tapegrad.engine.kernels.raw_memory import load_at, load_f64, load_i64, stack_words, store_at, store_f64

_EXP = entry("exp", "d")
LIBRARY: dict[str, tuple[str, ...]] = {
    f"logsumexp_{direction}_{dtype}": ("exp",)
    for direction in ("forward", "reverse", "tangent")
    for dtype in ("f64", "f32")
}
_BLOCK = 256  # elements whose exponentials are taken at once, side by side in float64
_FIRST, _ITEM = np.int64(0), np.int64(8)  # a plain number would have the sum of a block compiled once more


@noinline
def _largest(x: int, stride: int, count: int, zero: Any) -> Any:
    """The largest element of a line, or a nan of it, and its number."""
    best, at = -math.inf, 0
    for i in range(count):
        value = np.float64(load_at(x, i * stride, zero))
        if not value <= best:
            best, at = value, i
            if math.isnan(value):
                break
    return best, at


@noinline
def _exponentials(block: int, x: int, stride: int, count: int, y: float, loops: int, zero: Any) -> None:
    """Fill a block with the exponentials of elements relative to `y`; that of -inf is zero whatever `y` is."""
    for i in range(count):
        element = np.float64(load_at(x, i * stride, zero))
        distance = 0.0 if element == y else element - y
        store_f64(block, i, -math.inf if element == -math.inf else distance)
    call_library(loops, _EXP, count, (block, _ITEM, block, _ITEM))


@noinline
def _others(x: int, stride: int, count: int, largest: float, at: int, loops: int, zero: Any) -> float:
    """Sum of the exponentials of all elements but one, relative to that."""
    total, block = 0.0, stack_words(_BLOCK)
    for start in range(0, count, _BLOCK):
        n = min(_BLOCK, count - start)
        _exponentials(block, x + start * stride, stride, n, largest, loops, zero)
        if start <= at < start + n:
            store_f64(block, at - start, 0.0)
        total += block_sum(block, _ITEM, _FIRST, n, 0.0)
    return total


@always_inline
def _logsumexp(frame: int, loops: int, zero: Any) -> int:
    x, stride, count = load_i64(frame, X), load_i64(frame, STRIDE), load_i64(frame, COUNT)
    largest, at = _largest(x, stride, count, zero)
    if math.isfinite(largest):
        largest += math.log1p(_others(x, stride, count, largest, at, loops, zero))
    store_at(load_i64(frame, Y), 0, largest, zero)
    return 0


@always_inline
def _times(share: float, value: float) -> float:
    """A share of a derivative; zero times anything is zero."""
    return share * value if share != 0 and value != 0 else 0.0


@noinline
def _add_shares(block: int, y_bar: float, x_bar: int, stride: int, count: int, store: int, zero: Any) -> None:
    for i in range(count):
        before = zero if store else load_at(x_bar, i * stride, zero)
        store_at(x_bar, i * stride, before + _times(load_f64(block, i), y_bar), zero)


@always_inline
def _logsumexp_reverse(frame: int, loops: int, zero: Any) -> int:
    x, stride, count = load_i64(frame, X), load_i64(frame, STRIDE), load_i64(frame, COUNT)
    x_bar, store = load_i64(frame, X_BAR), load_i64(frame, STORE) & 1
    y = np.float64(load_at(load_i64(frame, Y), 0, zero))
    y_bar, block = np.float64(load_at(load_i64(frame, Y_BAR), 0, zero)), stack_words(_BLOCK)
    for start in range(0, count, _BLOCK):
        n, offset = min(_BLOCK, count - start), start * stride
        _exponentials(block, x + offset, stride, n, y, loops, zero)
        _add_shares(block, y_bar, x_bar + offset, stride, n, store, zero)
    return 0


@always_inline
def _logsumexp_tangent(frame: int, loops: int, zero: Any) -> int:
    x, stride, count = load_i64(frame, X), load_i64(frame, STRIDE), load_i64(frame, COUNT)
    x_dot, y = load_i64(frame, X_BAR), np.float64(load_at(load_i64(frame, Y), 0, zero))
    total, block = 0.0, stack_words(_BLOCK)
    for start in range(0, count if x_dot != 0 else 0, _BLOCK):
        n, offset = min(_BLOCK, count - start), start * stride
        _exponentials(block, x + offset, stride, n, y, loops, zero)
        for i in range(n):
            value = np.float64(load_at(x_dot, offset + i * stride, zero))
            total += _times(load_f64(block, i), value)
    store_at(load_i64(frame, Y_BAR), 0, total, zero)
    return 0


def logsumexp_forward_f64(frame: int, loops: int) -> int:
    """Write the logarithm of the sum of the exponentials, -inf of an empty line."""
    return _logsumexp(frame, loops, np.float64(0))


def logsumexp_forward_f32(frame: int, loops: int) -> int:
    """`logsumexp_forward_f64` for float32; computed in float64."""
    return _logsumexp(frame, loops, np.float32(0))


def logsumexp_reverse_f64(frame: int, loops: int) -> int:
    """Add (STORE: write) to each element its share of Y_BAR."""
    return _logsumexp_reverse(frame, loops, np.float64(0))


def logsumexp_reverse_f32(frame: int, loops: int) -> int:
    """`logsumexp_reverse_f64` for float32; computed in float64."""
    return _logsumexp_reverse(frame, loops, np.float32(0))


def logsumexp_tangent_f64(frame: int, loops: int) -> int:
    """Write to Y_BAR the sum of the shares of the tangents X_BAR[0]."""
    return _logsumexp_tangent(frame, loops, np.float64(0))


def logsumexp_tangent_f32(frame: int, loops: int) -> int:
    """`logsumexp_tangent_f64` for float32; computed in float64."""
    return _logsumexp_tangent(frame, loops, np.float32(0))
