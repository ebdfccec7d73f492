"""Reductions of a line: max and min here, sums in `accumulate`, products in `prod`.

A line is COUNT elements of X[0], STRIDE[0] bytes apart; its reduction is the single element at Y.
"""

import math
from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.dtypes import FloatBits
from tapegrad.engine.kernels.language.frame import COUNT, STORE, STRIDE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline
from tapegrad.engine.kernels.language.raw_memory import (
    add_at,
    load_at,
    load_i64,
    size_of,
    stack_i64,
    store_at,
)

# Extremes are found on the bits of the floats as integers of the same order: integer comparisons are vectorised
# without an assumption on nan, and a nan is an element beyond inf or -inf.


@always_inline
def _sortable(bits: int, magnitude: int) -> int:
    """Map a float's bits to an integer in the order of the floats, and back."""
    return bits ^ ((bits >> 63) & magnitude)


@always_inline
def _extremes(address: int, stride: int, count: int, magnitude: int, integer: Any) -> Any:
    """Return the smallest and the largest element of a line that is not empty, as sortable integers."""
    smallest = _sortable(np.int64(load_at(address, 0, integer)), magnitude)
    largest = smallest
    for i in range(1, count):
        key = _sortable(np.int64(load_at(address, i * stride, integer)), magnitude)
        smallest = min(smallest, key)
        largest = max(largest, key)
    return smallest, largest


@always_inline
def _extreme(frame: int, want_max: bool, float_bits: FloatBits) -> int:
    """Write the largest or the smallest element; nan if there is one."""
    magnitude, infinity, integer, zero = float_bits
    count, x, stride = load_i64(frame, COUNT), load_i64(frame, X), load_i64(frame, STRIDE)
    y = load_i64(frame, Y)
    if count == 0:
        store_at(y, 0, -math.inf if want_max else math.inf, zero)
        return 0
    if stride == size_of(zero):
        smallest, largest = _extremes(x, size_of(zero), count, magnitude, integer)
    else:
        smallest, largest = _extremes(x, stride, count, magnitude, integer)
    if largest > infinity or smallest < ~infinity:
        store_at(y, 0, math.nan, zero)
    else:
        store_at(y, 0, _sortable(largest if want_max else smallest, magnitude), integer)
    return 0


@always_inline
def max_reduce_forward(frame: int, loops: int, float_bits: FloatBits) -> int:
    """Write the largest element of the line; nan if there is one, -inf if it is empty."""
    return _extreme(frame, True, float_bits)


@always_inline
def min_reduce_forward(frame: int, loops: int, float_bits: FloatBits) -> int:
    """Write the smallest element of the line; nan if there is one, inf if it is empty."""
    return _extreme(frame, False, float_bits)


@always_inline
def _attains(element: Any, extreme: Any) -> bool:
    """Return whether an element is the extreme of its line; in a line with NaN, whether it is NaN."""
    return (element == extreme) | ((element != element) & (extreme != extreme))


@always_inline
def _count_ties(x: int, stride: int, count: int, y: Any, zero: Any) -> Any:
    ties = np.int64(0)
    for i in range(count):
        ties += np.int64(_attains(load_at(x, i * stride, zero), y))
    return ties


@always_inline
def _portion(y_bar: Any, ties: int, zero: Any) -> Any:
    """Return the share of a cotangent for each of several ties, rounded to the dtype of the cotangents."""
    cell = stack_i64(1)
    store_at(cell, 0, np.float64(y_bar) / ties, zero)
    return load_at(cell, 0, zero)


@always_inline
def _share(x: int, x_bar: int, stride: int, count: int, y: Any, share: Any, store: int, zero: Any) -> None:
    """Add (store: write) `share` to elements that attain the extreme `y`, zero to the others."""
    for i in range(count):
        add_at(x_bar, i * stride, share if _attains(load_at(x, i * stride, zero), y) else zero, store, zero)


@always_inline
def max_reduce_reverse(frame: int, loops: int, zero: Any) -> int:
    """Share Y_BAR equally among the elements equal to Y (among the nan where Y is nan)."""
    count, stride = load_i64(frame, COUNT), load_i64(frame, STRIDE)
    x, x_bar, store = load_i64(frame, X), load_i64(frame, X_BAR), load_i64(frame, STORE) & 1
    y, y_bar = load_at(load_i64(frame, Y), 0, zero), load_at(load_i64(frame, Y_BAR), 0, zero)
    if y_bar == 0 and not store:
        return 0
    if stride == 0:  # a broadcast operand is one element, which attains its own extreme
        count = min(count, 1)
    if stride == size_of(zero):
        ties = _count_ties(x, size_of(zero), count, y, zero)
        _share(x, x_bar, size_of(zero), count, y, _portion(y_bar, ties, zero), store, zero)
    else:
        ties = _count_ties(x, stride, count, y, zero)
        _share(x, x_bar, stride, count, y, _portion(y_bar, ties, zero), store, zero)
    return 0


@always_inline
def _shared(x: int, x_dot: int, stride: int, count: int, y: Any, zero: Any) -> float:
    """Return the mean of the tangents of the elements that attain the extreme `y`."""
    total, ties = 0.0, 0
    for i in range(count):
        attains = _attains(load_at(x, i * stride, zero), y)
        total += np.float64(load_at(x_dot, i * stride, zero)) if attains else 0.0
        ties += 1 if attains else 0
    return total / max(ties, 1)


@always_inline
def max_reduce_tangent(frame: int, loops: int, zero: Any) -> int:
    """Write to Y_BAR the mean of the tangents X_BAR[0] of the elements equal to Y (of the nan where Y is nan)."""
    count, stride = load_i64(frame, COUNT), load_i64(frame, STRIDE)
    x, x_dot, y_dot = load_i64(frame, X), load_i64(frame, X_BAR), load_i64(frame, Y_BAR)
    if x_dot == 0:
        count = 0
    if stride == 0:  # as in reverse
        count = min(count, 1)
    total = 0.0
    if count > 0:
        total = _shared(x, x_dot, stride, count, load_at(load_i64(frame, Y), 0, zero), zero)
    store_at(y_dot, 0, total, zero)
    return 0


min_reduce_reverse, min_reduce_tangent = max_reduce_reverse, max_reduce_tangent  # they read the extreme at Y
