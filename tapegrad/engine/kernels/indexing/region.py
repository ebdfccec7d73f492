"""Kernels of in-place writes to a strided region of a contiguous buffer.

X[0] is the old buffer, X[1] the value, Y the new buffer; strides of the value may be 0. A region is given by the
address of its fields, and processed in rows along its last dimension.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.frame import MAX_NDIM, PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.odometer import begin_index, next_index, step_to_next
from tapegrad.engine.kernels.language.raw_memory import (
    free,
    load_at,
    load_i64,
    malloc,
    memcpy,
    size_of,
    stack_i64,
    store_at,
)
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY
from tapegrad.ops.params import EXTENTS, NDIM, OFFSET, field_index
from tapegrad.ops.structural.indexing import WriteParams

_TOTAL, _REGION = field_index(WriteParams, "total"), field_index(WriteParams, "region")
# Given as the address of strides of contiguous elements. It is no literal 0, as Numba would compile a function anew for
# each combination of literal arguments.
_PACKED = np.int64(0)


@noinline
def shape(region: int) -> Any:
    """Return the number of rows of the region and the length of a row."""
    ndim = load_i64(region, NDIM)
    rows = 1
    for d in range(ndim - 1):
        rows *= load_i64(region, EXTENTS + d)
    return rows, load_i64(region, EXTENTS + ndim - 1) if ndim > 0 else 1


@always_inline
def _step(region: int, strides: int, size: int) -> int:
    """Return the bytes between neighbours in a row."""
    ndim = load_i64(region, NDIM)
    return size if strides == _PACKED or ndim == 0 else load_i64(strides, ndim - 1)


@always_inline
def first_row(region: int) -> int:
    """Return an index of rows, at the first row."""
    index = stack_i64(MAX_NDIM)
    begin_index(index, load_i64(region, NDIM) - 1)
    return index


@always_inline
def next_row(region: int, index: int) -> int:
    """Advance to the next row; return the dimension that was incremented, as `next_index` does."""
    return next_index(index, region + 8 * EXTENTS, load_i64(region, NDIM) - 1)


@always_inline
def row_step(region: int, strides: int, d: int, packed: int) -> int:
    """Return the bytes to the row that `next_row` advanced to; a row without gaps has `packed` bytes."""
    if strides == _PACKED:
        return packed
    return step_to_next(region + 8 * EXTENTS, strides, d, load_i64(region, NDIM) - 1)


@noinline
def copy_region(
    region: int, target: int, target_strides: int, source: int, source_strides: int, zero: Any
) -> None:
    rows, length = shape(region)
    packed = length * size_of(zero)
    target_step = _step(region, target_strides, size_of(zero))
    source_step = _step(region, source_strides, size_of(zero))
    row = first_row(region)
    for _ in range(rows):
        if target_step == size_of(zero) and source_step == size_of(zero) and length > 1:
            memcpy(target, source, packed)
        else:
            for j in range(length):
                store_at(target, j * target_step, load_at(source, j * source_step, zero), zero)
        d = next_row(region, row)
        target += row_step(region, target_strides, d, packed)
        source += row_step(region, source_strides, d, packed)


@always_inline
def add_line(target: int, source: int, count: int, zero: Any) -> None:
    """Add `count` adjacent elements to others."""
    for i in range(count):
        value = load_at(target, i * size_of(zero), zero) + load_at(source, i * size_of(zero), zero)
        store_at(target, i * size_of(zero), value, zero)


@noinline
def add_region(
    region: int, target: int, target_strides: int, source: int, source_strides: int, zero: Any
) -> None:
    """Add the source to the target; the sum of a source row if its target is a single element."""
    rows, length = shape(region)
    packed = length * size_of(zero)
    target_step = _step(region, target_strides, size_of(zero))
    source_step = _step(region, source_strides, size_of(zero))
    row = first_row(region)
    for _ in range(rows if length > 0 else 0):  # an empty row has no target to load
        if target_step == 0:
            total = load_at(target, 0, zero) - 0.0  # in double precision
            for j in range(length):
                total += load_at(source, j * source_step, zero)
            store_at(target, 0, total, zero)
        elif target_step == size_of(zero) and source_step == size_of(zero):
            add_line(target, source, length, zero)
        else:
            for j in range(length):
                value = load_at(target, j * target_step, zero) + load_at(source, j * source_step, zero)
                store_at(target, j * target_step, value, zero)
        d = next_row(region, row)
        target += row_step(region, target_strides, d, packed)
        source += row_step(region, source_strides, d, packed)


@always_inline
def region_strides(region: int) -> int:
    return region + 8 * (EXTENTS + load_i64(region, NDIM))


@always_inline
def value_strides_of(region: int) -> int:
    return region + 8 * (EXTENTS + 2 * load_i64(region, NDIM))


@always_inline
def _write(frame: int, zero: Any) -> int:
    x, value, y = load_i64(frame, X), load_i64(frame, X + 1), load_i64(frame, Y)
    params = load_i64(frame, PARAMS)
    total, region = load_i64(params, _TOTAL) * size_of(zero), params + 8 * _REGION
    target, own_strides = y + load_i64(region, OFFSET), region_strides(region)
    value_strides = value_strides_of(region)
    own = 0
    if y != x:
        memcpy(y, x, total)
    elif value >= y and value < y + total:  # it overlaps the buffer: read all of it before the first write
        rows, length = shape(region)
        own = malloc(rows * length * size_of(zero) + 1)
        if own == 0:
            return OUT_OF_MEMORY
        copy_region(region, own, _PACKED, value, value_strides, zero)
        value, value_strides = own, _PACKED
    copy_region(region, target, own_strides, value, value_strides, zero)
    free(own)
    return 0


@always_inline
def write_forward(frame: int, loops: int, bits: Any) -> int:
    """Copy the buffer X[0] to Y, unless they share memory, and write the value X[1] to the region."""
    return _write(frame, bits)


@noinline
def _clear_region(region: int, target: int, strides: int, zero: Any) -> None:
    rows, length = shape(region)
    step, row = _step(region, strides, size_of(zero)), first_row(region)
    for _ in range(rows):
        for j in range(length):
            store_at(target, j * step, zero, zero)
        target += row_step(region, strides, next_row(region, row), length * size_of(zero))


@always_inline
def _packed_region(region: int, source: int, zero: Any) -> int:
    """Copy a region to new memory; return its address, or 0 if there is no memory."""
    rows, length = shape(region)
    packed = malloc(rows * length * size_of(zero) + 1)
    if packed != 0:
        copy_region(region, packed, _PACKED, source, region_strides(region), zero)
    return packed


@always_inline
def _move_within(frame: int, zero: Any) -> int:
    """Update a cotangent in place: add the region to the value's cotangent, which may overlap it, and clear it."""
    x_bar, value_bar = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1)
    params, strides = load_i64(frame, PARAMS), region_strides(load_i64(frame, PARAMS) + 8 * _REGION)
    total, region = load_i64(params, _TOTAL) * size_of(zero), params + 8 * _REGION
    target = x_bar + load_i64(region, OFFSET)
    if value_bar == 0:
        _clear_region(region, target, strides, zero)
    elif value_bar < x_bar or value_bar >= x_bar + total:
        add_region(region, value_bar, value_strides_of(region), target, strides, zero)
        _clear_region(region, target, strides, zero)
    else:
        packed = _packed_region(region, target, zero)
        if packed == 0:
            return OUT_OF_MEMORY
        _clear_region(region, target, strides, zero)
        add_region(region, value_bar, value_strides_of(region), packed, _PACKED, zero)
        free(packed)
    return 0


@always_inline
def _add_outside(x_bar: int, y_bar: int, total: int, region: int, zero: Any) -> int:
    """Add a cotangent to another except for a region, which is saved and restored."""
    target, strides = x_bar + load_i64(region, OFFSET), region_strides(region)
    packed = _packed_region(region, target, zero)
    if packed == 0:
        return OUT_OF_MEMORY
    add_line(x_bar, y_bar, total, zero)
    copy_region(region, target, strides, packed, _PACKED, zero)
    free(packed)
    return 0


@always_inline
def write_reverse(frame: int, loops: int, zero: Any) -> int:
    """Accumulate Y_BAR to X_BAR[0] except for the region, and the region to X_BAR[1].

    If Y_BAR and X_BAR[0] share memory, only the region is touched.
    """
    x_bar, value_bar, y_bar = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1), load_i64(frame, Y_BAR)
    params, store = load_i64(frame, PARAMS), load_i64(frame, STORE)
    total, region = load_i64(params, _TOTAL), params + 8 * _REGION
    own_strides, value_strides = region_strides(region), value_strides_of(region)
    if value_bar != 0 and store & 2:
        _clear_region(region, value_bar, value_strides, zero)
    if x_bar == y_bar:
        return _move_within(frame, zero)
    status = 0
    if x_bar != 0 and store & 1:
        memcpy(x_bar, y_bar, total * size_of(zero))
        _clear_region(region, x_bar + load_i64(region, OFFSET), own_strides, zero)
    elif x_bar != 0:
        status = _add_outside(x_bar, y_bar, total, region, zero)
    if value_bar != 0 and status == 0:
        source = y_bar + load_i64(region, OFFSET)
        add_region(region, value_bar, value_strides, source, own_strides, zero)
    return status
