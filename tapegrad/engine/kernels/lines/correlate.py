"""Sums of products along up to three axes: ``y[i] = sum(w[k] * x[i + k + offset])``, x being zero outside its elements.

Both derivatives have the same form. The loops over the last axis add multiples of lines, in blocks that stay in the L1
cache; where the weights have longer lines than the sums, as in cotangents of weights, they take products of lines.
"""

from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.kernels.language.frame import PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline, noinline_reordered
from tapegrad.engine.kernels.language.raw_memory import (
    calloc,
    free,
    load_at,
    load_i64,
    load_record,
    memset,
    size_of,
    store_at,
)
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY
from tapegrad.engine.kernels.lines.accumulate import masked_times
from tapegrad.ops.structural.lines import CorrelateParams

_BLOCK = 512  # elements of a block of sums


class CorrelationLine(NamedTuple):
    """Addresses of lines of the sums, of the array to read, and of the weights; `step` bytes part two weights."""

    into: int
    read: int
    weights: int
    step: int


# --- lines: the last axis --------------------------------------------------------------------------------------


@noinline
def _add_products(into: int, read: int, weight: Any, count: int) -> None:
    for i in range(count):
        at = i * size_of(weight)
        store_at(into, at, load_at(into, at, weight) + weight * load_at(read, at, weight), weight)


@noinline
def _add_masked_products(into: int, read: int, weight: Any, count: int) -> None:
    """Add the products of a line and a weight to the sums; zero times anything is zero."""
    if weight == 0:
        return
    if weight - weight == 0:
        _add_products(into, read, weight, count)
        return
    for i in range(count):
        at = i * size_of(weight)
        factor = load_at(read, at, weight)
        if factor != 0:
            store_at(into, at, load_at(into, at, weight) + weight * factor, weight)


@noinline
def _add_lines(p: CorrelateParams, line: CorrelationLine, zero: Any) -> None:
    """Add the line, moved by each of the weights and times it, to the sums."""
    size = size_of(zero)
    for block in range(0, p.sums2, _BLOCK):
        for k in range(p.taps2):
            shift = k + p.offset2
            first = max(block, -shift)
            end = min(min(block + _BLOCK, p.sums2), p.size2 - shift)
            if first < end:
                into, read = line.into + first * size, line.read + (first + shift) * size
                weight = load_at(line.weights, k * line.step, zero)
                if p.masked:
                    _add_masked_products(into, read, weight, end - first)
                else:
                    _add_products(into, read, weight, end - first)


@noinline_reordered
def _dot(read: int, weights: int, flipped: int, count: int, zero: Any) -> Any:
    """Return the product of two lines in float64; of weights from their end, if they are flipped."""
    total, size = 0.0, size_of(zero)
    if flipped:
        for i in range(count):
            total += np.float64(load_at(weights, -i * size, zero)) * np.float64(load_at(read, i * size, zero))
    else:
        for i in range(count):
            total += np.float64(load_at(weights, i * size, zero)) * np.float64(load_at(read, i * size, zero))
    return total


@noinline_reordered
def _masked_dot(read: int, weights: int, flipped: int, count: int, zero: Any) -> Any:
    """`_dot` where zero times anything is zero."""
    total, size = 0.0, size_of(zero)
    if flipped:
        for i in range(count):
            weight, element = load_at(weights, -i * size, zero), load_at(read, i * size, zero)
            total += masked_times(np.float64(weight), np.float64(element))
    else:
        for i in range(count):
            weight, element = load_at(weights, i * size, zero), load_at(read, i * size, zero)
            total += masked_times(np.float64(weight), np.float64(element))
    return total


# --- planes: the axes before it --------------------------------------------------------------------------------


@always_inline
def _first_tap(place: int) -> int:
    return max(0, -place)


@always_inline
def _end_of_taps(taps: int, size: int, place: int) -> int:
    return min(taps, size - place)


@always_inline
def _line(p: CorrelateParams, a: int, b: int, k0: int, k1: int, line: CorrelationLine, zero: Any) -> Any:
    """Return the lines at taps k0 and k1 that are read for the sums that begin at a and b."""
    row, taps, size = k0 * p.taps1 + k1, p.taps2, size_of(zero)
    read = line.read + ((a + k0) * p.size1 + b + k1) * p.size2 * size
    if p.flipped:
        last = (p.taps0 * p.taps1 - row) * taps - 1
        return CorrelationLine(line.into, read, line.weights + last * size, -size)
    return CorrelationLine(line.into, read, line.weights + row * taps * size, size)


@noinline
def _add_planes(p: CorrelateParams, a: int, b: int, line: CorrelationLine, zero: Any) -> None:
    """Add to a line of sums, for each line of weights."""
    for k0 in range(_first_tap(a), _end_of_taps(p.taps0, p.size0, a)):
        for k1 in range(_first_tap(b), _end_of_taps(p.taps1, p.size1, b)):
            _add_lines(p, _line(p, a, b, k0, k1, line, zero), zero)


@noinline
def _add_dots(p: CorrelateParams, a: int, b: int, line: CorrelationLine, zero: Any) -> None:
    """Add to each of a line of sums the product of all weights with the elements that they meet."""
    size = size_of(zero)
    for i in range(p.sums2):
        c, total = i + p.offset2, 0.0
        first = _first_tap(c)
        count = _end_of_taps(p.taps2, p.size2, c) - first
        for k0 in range(_first_tap(a), _end_of_taps(p.taps0, p.size0, a)):
            for k1 in range(_first_tap(b), _end_of_taps(p.taps1, p.size1, b)):
                found = _line(p, a, b, k0, k1, line, zero)
                read, weights = found.read + (first + c) * size, found.weights + first * found.step
                if p.masked:
                    total += _masked_dot(read, weights, p.flipped, count, zero)
                else:
                    total += _dot(read, weights, p.flipped, count, zero)
        store_at(line.into, i * size, load_at(line.into, i * size, zero) + total, zero)


@noinline
def _correlate(p: CorrelateParams, into: int, read: int, weights: int, zero: Any) -> None:
    """``into[i] += sum(weights[k] * read[i + k + offset])``, for each of the sums."""
    for i0 in range(p.sums0):
        for i1 in range(p.sums1):
            sums = into + (i0 * p.sums1 + i1) * p.sums2 * size_of(zero)
            line, a, b = CorrelationLine(sums, read, weights, 0), i0 + p.offset0, i1 + p.offset1
            if p.sums2 < p.taps2:
                _add_dots(p, a, b, line, zero)
            else:
                _add_planes(p, a, b, line, zero)


# --- kernels ---------------------------------------------------------------------------------------------------


@always_inline
def _masked(p: CorrelateParams) -> CorrelateParams:
    """Return the parameters of a tangent."""
    return CorrelateParams(
        p.sums0, p.sums1, p.sums2, p.size0, p.size1, p.size2, p.taps0, p.taps1, p.taps2,
        p.offset0, p.offset1, p.offset2, p.flipped, 1,
    )  # fmt: skip


@always_inline
def _of_array(p: CorrelateParams) -> CorrelateParams:
    """Return the parameters of the cotangent of the array: sums of products with the weights in reverse."""
    return CorrelateParams(
        p.size0, p.size1, p.size2, p.sums0, p.sums1, p.sums2, p.taps0, p.taps1, p.taps2,
        1 - p.taps0 - p.offset0, 1 - p.taps1 - p.offset1, 1 - p.taps2 - p.offset2, 1 - p.flipped, 1,
    )  # fmt: skip


@always_inline
def _of_weights(p: CorrelateParams) -> CorrelateParams:
    """Return the parameters of the cotangent of the weights, in reverse if they are flipped."""
    return CorrelateParams(
        p.taps0, p.taps1, p.taps2, p.size0, p.size1, p.size2, p.sums0, p.sums1, p.sums2,
        p.offset0, p.offset1, p.offset2, 0, 1,
    )  # fmt: skip


@always_inline
def _count(a: int, b: int, c: int) -> int:
    return a * b * c


@always_inline
def correlate_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the sums of the products of X[0] with the weights X[1] to Y."""
    p, y = load_record(load_i64(frame, PARAMS), CorrelateParams), load_i64(frame, Y)
    memset(y, 0, _count(p.sums0, p.sums1, p.sums2) * size_of(zero))
    _correlate(p, y, load_i64(frame, X), load_i64(frame, X + 1), zero)
    return 0


@always_inline
def _weights_cotangent(frame: int, p: Any, zero: Any) -> int:
    """Add to the cotangent of the weights, in reverse order if they are flipped."""
    bar, size, taps = load_i64(frame, X_BAR + 1), size_of(zero), _count(p.taps0, p.taps1, p.taps2)
    sums = calloc(taps + 1, size)
    if sums == 0:
        return OUT_OF_MEMORY
    _correlate(_of_weights(p), sums, load_i64(frame, X), load_i64(frame, Y_BAR), zero)
    for k in range(taps):
        at = (taps - 1 - k if p.flipped else k) * size
        store_at(bar, at, load_at(bar, at, zero) + load_at(sums, k * size, zero), zero)
    free(sums)
    return 0


@always_inline
def correlate_reverse(frame: int, loops: int, zero: Any) -> int:
    """Accumulate the cotangents of the array and of the weights to X_BAR[0] and X_BAR[1]."""
    p, store = load_record(load_i64(frame, PARAMS), CorrelateParams), load_i64(frame, STORE)
    x_bar, weights_bar, size = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1), size_of(zero)
    if x_bar != 0:
        if store & 1:
            memset(x_bar, 0, _count(p.size0, p.size1, p.size2) * size)
        _correlate(_of_array(p), x_bar, load_i64(frame, Y_BAR), load_i64(frame, X + 1), zero)
    if weights_bar == 0:
        return 0
    if store & 2:
        memset(weights_bar, 0, _count(p.taps0, p.taps1, p.taps2) * size)
    return _weights_cotangent(frame, p, zero)


@always_inline
def correlate_tangent(frame: int, loops: int, zero: Any) -> int:
    """Write the tangent to Y_BAR; either of X_BAR[0] and X_BAR[1] may be absent."""
    p, y_dot = _masked(load_record(load_i64(frame, PARAMS), CorrelateParams)), load_i64(frame, Y_BAR)
    x_dot, weights_dot = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1)
    memset(y_dot, 0, _count(p.sums0, p.sums1, p.sums2) * size_of(zero))
    if x_dot != 0:
        _correlate(p, y_dot, x_dot, load_i64(frame, X + 1), zero)
    if weights_dot != 0:
        _correlate(p, y_dot, load_i64(frame, X), weights_dot, zero)
    return 0
