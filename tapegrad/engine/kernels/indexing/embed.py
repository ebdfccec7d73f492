"""Scatter of operands to regions of a buffer of zeros: the adjoint of taking views of a buffer.

The result at Y is the sum of up to three operands, each in its own region. Elements add up where regions overlap, or
where a stride of 0 maps several to one. An operand is absent if its address is 0, or Y in a kernel that writes in
place. A region is empty only if its operand is.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.indexing.region import (
    add_line,
    add_region,
    copy_region,
    first_row,
    next_row,
    region_strides,
    row_step,
    shape,
    value_strides_of,
)
from tapegrad.engine.kernels.language.frame import PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.raw_memory import load_i64, memcpy, memset, size_of, store_at
from tapegrad.engine.kernels.language.strided import in_c_order
from tapegrad.ops.params import EXTENTS, NDIM, OFFSET, field_index
from tapegrad.ops.structural.indexing import EmbedParams

_TOTAL, _REGIONS = field_index(EmbedParams, "total"), field_index(EmbedParams, "regions")


@always_inline
def _count(params: int) -> int:
    """Return the number of operands, which is stored before their regions."""
    return load_i64(params, _REGIONS)


@always_inline
def _first(params: int) -> int:
    """Return the address of the first operand's region."""
    return params + 8 * (_REGIONS + 1)


@always_inline
def _next(region: int) -> int:
    return region + 8 * (EXTENTS + 3 * load_i64(region, NDIM))


@always_inline
def _both_adjacent(region: int, size: int) -> bool:
    """Return whether region and operand are both contiguous."""
    ndim, extents = load_i64(region, NDIM), region + 8 * EXTENTS
    return in_c_order(ndim, extents, region_strides(region), size) and in_c_order(
        ndim, extents, value_strides_of(region), size
    )


@noinline
def _block_elements(region: int) -> int:
    rows, length = shape(region)
    return rows * length


@noinline
def _begin(params: int, y: int, x: int, total: int, size: int) -> bool:
    """Fill the result with zeros, and with the first operand if it is contiguous; return whether it was."""
    operand = _first(params)
    bytes_ = _block_elements(operand) * size
    if x == 0 or bytes_ == 0 or not _both_adjacent(operand, size):  # an empty region may have any offset
        memset(y, 0, total)
        return False
    offset = load_i64(operand, OFFSET)
    memset(y, 0, offset)
    memcpy(y + offset, x, bytes_)
    memset(y + offset + bytes_, 0, total - offset - bytes_)
    return True


@noinline
def _add(region: int, target: int, target_strides: int, source: int, source_strides: int, zero: Any) -> None:
    if _both_adjacent(region, size_of(zero)):
        add_line(target, source, _block_elements(region), zero)
    else:
        add_region(region, target, target_strides, source, source_strides, zero)


@always_inline
def embed_forward(frame: int, loops: int, zero: Any) -> int:
    """Write to Y the sum of the operands X, each in its region, and zeros elsewhere."""
    y, params = load_i64(frame, Y), load_i64(frame, PARAMS)
    x = load_i64(frame, X)
    begun = _begin(
        params, y, np.int64(0) if x == y else x, load_i64(params, _TOTAL) * size_of(zero), size_of(zero)
    )
    operand = _first(params)
    for j in range(_count(params)):
        x = load_i64(frame, X + j)
        if x != 0 and x != y and not (j == 0 and begun):
            offset = load_i64(operand, OFFSET)
            if j == 0 and _is_apart(operand):  # adding to zeros would lose the signs of zeros
                copy_region(operand, y + offset, region_strides(operand), x, value_strides_of(operand), zero)
            else:
                _add(operand, y + offset, region_strides(operand), x, value_strides_of(operand), zero)
        operand = _next(operand)
    return 0


@noinline
def _is_apart(region: int) -> bool:
    """Return whether no two elements of a region overlap: steps of each dimension lead beyond those of smaller ones."""
    ndim, strides, apart = load_i64(region, NDIM), region_strides(region), True
    for d in range(ndim):
        own, below = abs(load_i64(strides, d)), 0
        for e in range(ndim):
            if e != d and abs(load_i64(strides, e)) <= own:
                below += (load_i64(region, EXTENTS + e) - 1) * abs(load_i64(strides, e))
        apart &= load_i64(region, EXTENTS + d) <= 1 or own > below
    return apart


@noinline
def _is_summed(region: int) -> bool:
    """Return whether several elements of the region map to one element of the operand."""
    strides = value_strides_of(region)
    summed = False
    for d in range(load_i64(region, NDIM)):
        summed |= load_i64(strides, d) == 0 and load_i64(region, EXTENTS + d) > 1
    return summed


@noinline
def _clear(region: int, target: int, strides: int, zero: Any) -> None:
    rows, length = shape(region)
    ndim = load_i64(region, NDIM)
    step = load_i64(strides, ndim - 1) if ndim > 0 else 0
    row = first_row(region)
    for _ in range(rows):
        for j in range(length):
            store_at(target, j * step, zero, zero)
        target += row_step(region, strides, next_row(region, row), np.int64(0))


@noinline
def _take(region: int, x_bar: int, y_bar: int, store: int, zero: Any) -> None:
    """Accumulate the region of the result's cotangent to an operand's."""
    own, strides = value_strides_of(region), region_strides(region)
    source = y_bar + load_i64(region, OFFSET)
    if store and _both_adjacent(region, size_of(zero)):
        memcpy(x_bar, source, _block_elements(region) * size_of(zero))
    elif store and not _is_summed(region):
        copy_region(region, x_bar, own, source, strides, zero)
    else:
        if store:
            _clear(region, x_bar, own, zero)
        _add(region, x_bar, own, source, strides, zero)


@always_inline
def embed_reverse(frame: int, loops: int, zero: Any) -> int:
    """Add (STORE: write) to each X_BAR its region of Y_BAR."""
    params, store, y_bar = load_i64(frame, PARAMS), load_i64(frame, STORE), load_i64(frame, Y_BAR)
    operand = _first(params)
    for j in range(_count(params)):
        x_bar = load_i64(frame, X_BAR + j)
        if x_bar != 0:
            _take(operand, x_bar, y_bar, (store >> j) & 1, zero)
        operand = _next(operand)
    return 0
