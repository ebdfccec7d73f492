"""Sums of products along a line: ``y[i] = sum(w[k] * x[i + k + offset])``, where x is zero outside its elements.

Both derivatives have the same form. Each sum is taken in the order of the weights, in blocks that stay in the L1 cache.
"""

from typing import Any, NamedTuple

from tapegrad.engine.kernels.language.frame import PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
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
from tapegrad.ops.structural.lines import CorrelateParams

_BLOCK = 512


class CorrelationLines(NamedTuple):
    """Addresses and lengths of the sums, of the line to read, and of the weights."""

    into: int
    read: int
    weights: int
    sums: int
    size: int
    taps: int
    offset: int
    flipped: int


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


@always_inline
def _add(into: int, read: int, weight: Any, count: int, masked: int) -> None:
    if masked:
        _add_masked_products(into, read, weight, count)
    else:
        _add_products(into, read, weight, count)


@always_inline
def _weight(lines: CorrelationLines, k: int, zero: Any) -> Any:
    at = lines.taps - 1 - k if lines.flipped else k
    return load_at(lines.weights, at * size_of(zero), zero)


@noinline
def _correlate(lines: CorrelationLines, masked: int, zero: Any) -> None:
    """``into[i] += sum(weights[k] * read[i + k + offset])``, for each of the sums."""
    size = size_of(zero)
    for block in range(0, lines.sums, _BLOCK):
        for k in range(lines.taps):
            shift = k + lines.offset
            first = max(block, -shift)
            end = min(min(block + _BLOCK, lines.sums), lines.size - shift)
            if first < end:
                into, read = lines.into + first * size, lines.read + (first + shift) * size
                _add(into, read, _weight(lines, k, zero), end - first, masked)


@noinline
def _spread(lines: CorrelationLines, zero: Any) -> None:
    """Add the transpose: ``into[i + k + offset] += weights[k] * read[i]``."""
    size = size_of(zero)
    for block in range(0, lines.sums, _BLOCK):
        for k in range(lines.taps):
            shift = k + lines.offset
            first = max(block, -shift)
            end = min(min(block + _BLOCK, lines.sums), lines.size - shift)
            if first < end:
                into, read = lines.into + (first + shift) * size, lines.read + first * size
                _add(into, read, _weight(lines, k, zero), end - first, 1)


@always_inline
def _lines(frame: int, into: int, read: int, weights: int) -> CorrelationLines:
    p = load_record(load_i64(frame, PARAMS), CorrelateParams)
    return CorrelationLines(into, read, weights, p.sums, p.size, p.taps, p.offset, p.flipped)


@always_inline
def correlate_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the sums of the products of X[0] with the weights X[1] to Y."""
    params, y = load_record(load_i64(frame, PARAMS), CorrelateParams), load_i64(frame, Y)
    memset(y, 0, params.sums * size_of(zero))
    _correlate(_lines(frame, y, load_i64(frame, X), load_i64(frame, X + 1)), params.masked, zero)
    return 0


@always_inline
def _weights_cotangent(frame: int, params: Any, zero: Any) -> int:
    """Add to the cotangent of the weights, in reverse order if they are flipped."""
    bar, y_bar, size = load_i64(frame, X_BAR + 1), load_i64(frame, Y_BAR), size_of(zero)
    sums = calloc(params.taps + 1, size)
    if sums == 0:
        return OUT_OF_MEMORY
    taps, read = params.taps, params.sums
    _correlate(
        CorrelationLines(sums, load_i64(frame, X), y_bar, taps, params.size, read, params.offset, 0), 1, zero
    )
    for k in range(taps):
        at = (taps - 1 - k if params.flipped else k) * size
        store_at(bar, at, load_at(bar, at, zero) + load_at(sums, k * size, zero), zero)
    free(sums)
    return 0


@always_inline
def correlate_reverse(frame: int, loops: int, zero: Any) -> int:
    """Accumulate the cotangents of the line and of the weights to X_BAR[0] and X_BAR[1]."""
    params, store = load_record(load_i64(frame, PARAMS), CorrelateParams), load_i64(frame, STORE)
    x_bar, weights_bar, size = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1), size_of(zero)
    if x_bar != 0:
        if store & 1:
            memset(x_bar, 0, params.size * size)
        _spread(_lines(frame, x_bar, load_i64(frame, Y_BAR), load_i64(frame, X + 1)), zero)
    if weights_bar == 0:
        return 0
    if store & 2:
        memset(weights_bar, 0, params.taps * size)
    return _weights_cotangent(frame, params, zero)


@always_inline
def correlate_tangent(frame: int, loops: int, zero: Any) -> int:
    """Write the tangent to Y_BAR; either of X_BAR[0] and X_BAR[1] may be absent."""
    params, y_dot = load_record(load_i64(frame, PARAMS), CorrelateParams), load_i64(frame, Y_BAR)
    x_dot, weights_dot = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1)
    memset(y_dot, 0, params.sums * size_of(zero))
    if x_dot != 0:
        _correlate(_lines(frame, y_dot, x_dot, load_i64(frame, X + 1)), 1, zero)
    if weights_dot != 0:
        _correlate(_lines(frame, y_dot, load_i64(frame, X), weights_dot), 1, zero)
    return 0
