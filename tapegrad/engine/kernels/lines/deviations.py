"""Sum of the squared deviations of a line from its mean: the variance times the number of elements.

The line is read twice, for the mean and for the deviations, relative to its first element: a common offset costs no
digits, and the deviations of a constant line are exactly zero.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.frame import COUNT, STORE, STRIDE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.raw_memory import add_at, load_at, load_i64, store_at
from tapegrad.engine.kernels.lines.accumulate import masked_times

_BLOCK = 512  # elements of a partial sum


@always_inline
def _power(value: float, squared: bool) -> float:
    return value * value if squared else value


@noinline
def _block_sum(x: int, stride: int, count: int, centre: Any, squared: bool, zero: Any) -> float:
    """Return the sum of the distances of elements from a pair of numbers, or of their squares; four partial sums."""
    first, shift = centre
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = count - count % 4
    for i in range(0, whole, 4):
        s0 += _power(np.float64(load_at(x, i * stride, zero)) - first - shift, squared)
        s1 += _power(np.float64(load_at(x, (i + 1) * stride, zero)) - first - shift, squared)
        s2 += _power(np.float64(load_at(x, (i + 2) * stride, zero)) - first - shift, squared)
        s3 += _power(np.float64(load_at(x, (i + 3) * stride, zero)) - first - shift, squared)
    for i in range(whole, count):
        s0 += _power(np.float64(load_at(x, i * stride, zero)) - first - shift, squared)
    return (s0 + s1) + (s2 + s3)


@noinline
def _line_sum(x: int, stride: int, count: int, centre: Any, squared: bool, zero: Any) -> float:
    total = 0.0
    for start in range(0, count, _BLOCK):
        total += _block_sum(x + start * stride, stride, min(_BLOCK, count - start), centre, squared, zero)
    return total


@always_inline
def _centre(x: int, stride: int, count: int, zero: Any) -> Any:
    """Return the mean of a line that is not empty, as its first element and the difference."""
    first = np.float64(load_at(x, 0, zero))
    return first, _line_sum(x, stride, count, (first, 0.0), False, zero) / count


@always_inline
def deviations_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the sum of the squared deviations from the mean; 0 for an empty line."""
    x, stride, count = load_i64(frame, X), load_i64(frame, STRIDE), load_i64(frame, COUNT)
    total = 0.0
    if count > 0:
        total = _line_sum(x, stride, count, _centre(x, stride, count, zero), True, zero)
    store_at(load_i64(frame, Y), 0, total, zero)
    return 0


@always_inline
def deviations_reverse(frame: int, loops: int, zero: Any) -> int:
    """Add (STORE: write) Y_BAR times twice the deviation of each element."""
    x, stride, count = load_i64(frame, X), load_i64(frame, STRIDE), load_i64(frame, COUNT)
    x_bar, store = load_i64(frame, X_BAR), load_i64(frame, STORE) & 1
    y_bar = np.float64(load_at(load_i64(frame, Y_BAR), 0, zero))
    if count == 0:
        return 0
    first, shift = _centre(x, stride, count, zero)
    for i in range(count):
        part = masked_times(2.0 * (np.float64(load_at(x, i * stride, zero)) - first - shift), y_bar)
        add_at(x_bar, i * stride, part, store, zero)
    return 0


@always_inline
def deviations_tangent(frame: int, loops: int, zero: Any) -> int:
    """Write to Y_BAR the sum of the tangents X_BAR[0], each times twice the deviation of its element."""
    x, stride, count = load_i64(frame, X), load_i64(frame, STRIDE), load_i64(frame, COUNT)
    x_dot, total = load_i64(frame, X_BAR), 0.0
    if x_dot != 0 and count > 0:
        first, shift = _centre(x, stride, count, zero)
        for i in range(count):
            deviation = np.float64(load_at(x, i * stride, zero)) - first - shift
            total += masked_times(2.0 * deviation, np.float64(load_at(x_dot, i * stride, zero)))
    store_at(load_i64(frame, Y_BAR), 0, total, zero)
    return 0
