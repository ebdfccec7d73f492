"""Accumulation of a line into a line or an element: sums, broadcasts and copies, forwards and in reverse.

The kernels of the two dtypes share one body, which is given a zero of the dtype.
"""

import math
from typing import Any

import numpy as np

from tapegrad.engine.kernels.frame import COUNT, STORE, STRIDE, X_BAR, Y_BAR, Y_STRIDE
from tapegrad.engine.kernels.inlining import always_inline, noinline_reordered
from tapegrad.engine.kernels.raw_memory import load_at, load_i64, memcpy, size_of, store_at

_BLOCK = 256  # elements summed plainly before the compensated sum takes over


@noinline_reordered
def block_sum(address: int, stride: int, first: int, last: int, zero: Any) -> Any:
    """Plain sum of the elements first..last-1, in float64."""
    total = 0.0
    if stride == size_of(zero):  # with the stride a constant, the loop is vectorised
        for i in range(first, last):
            total += np.float64(load_at(address, i * size_of(zero), zero))
    else:
        for i in range(first, last):
            total += np.float64(load_at(address, i * stride, zero))
    return total


@always_inline
def _line_sum(address: int, stride: int, count: int, zero: Any) -> Any:
    """Sum over blocks, with the rounding error of adding each block's sum carried along (Neumaier 1974)."""
    first: Any = np.int64(0)  # a plain 0 would have the sum of a block compiled twice
    if count <= _BLOCK:
        return block_sum(address, stride, first, count, zero)
    total, lost = 0.0, 0.0
    while first < count:
        last = min(first + _BLOCK, count)
        part = block_sum(address, stride, first, last, zero)
        raised = total + part
        lost += (total - raised) + part if abs(total) >= abs(part) else (part - raised) + total
        total = raised
        first = last
    return total + lost if math.isfinite(lost) else total


@always_inline
def _add_lines(x_bar: int, x_stride: int, y_bar: int, y_stride: int, count: int, zero: Any) -> None:
    for i in range(count):
        cotangent = load_at(x_bar, i * x_stride, zero) + load_at(y_bar, i * y_stride, zero)
        store_at(x_bar, i * x_stride, cotangent, zero)


@always_inline
def _spread(x_bar: int, value: Any, count: int, store: int, zero: Any) -> None:
    """Add one value to every element of a contiguous line, or write it there."""
    for i in range(count):
        before = zero if store else load_at(x_bar, i * size_of(zero), zero)
        store_at(x_bar, i * size_of(zero), before + value, zero)


@always_inline
def _write_line(x_bar: int, x_stride: int, y_bar: int, y_stride: int, count: int, zero: Any) -> None:
    for i in range(count):
        store_at(x_bar, i * x_stride, load_at(y_bar, i * y_stride, zero), zero)


@always_inline
def _accumulate(frame: int, zero: Any) -> int:
    count = load_i64(frame, COUNT)
    x_bar, y_bar = load_i64(frame, X_BAR), load_i64(frame, Y_BAR)
    x_stride, y_stride = load_i64(frame, STRIDE), load_i64(frame, Y_STRIDE)
    store = load_i64(frame, STORE) & 1
    size = size_of(zero)
    if x_stride == 0:
        before = zero if store else load_at(x_bar, 0, zero)
        store_at(x_bar, 0, before + _line_sum(y_bar, y_stride, count, zero), zero)
    elif x_stride == size and y_stride == 0 and count > 1:
        _spread(x_bar, load_at(y_bar, 0, zero), count, store, zero)
    elif store:
        if x_stride == size and y_stride == size:
            memcpy(x_bar, y_bar, count * size)
        else:
            _write_line(x_bar, x_stride, y_bar, y_stride, count, zero)
    elif x_stride == size and y_stride == size:
        _add_lines(x_bar, size_of(zero), y_bar, size_of(zero), count, zero)
    else:
        _add_lines(x_bar, x_stride, y_bar, y_stride, count, zero)
    return 0


def accumulate_f64(frame: int, loops: int) -> int:
    """Add (STORE: write) the line at Y_BAR to the line at X_BAR[0]; its sum where STRIDE[0] is 0."""
    return _accumulate(frame, np.float64(0))


def accumulate_f32(frame: int, loops: int) -> int:
    """`accumulate_f64` for float32; sums are taken in float64."""
    return _accumulate(frame, np.float32(0))
