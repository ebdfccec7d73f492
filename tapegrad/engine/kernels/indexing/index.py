"""Kernels of rows by a list of row numbers: gather, scatter_add and scatter_write.

Row numbers are contiguous int64. If one is out of range, the kernel returns a status before it writes.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.frame import BYTES, COUNT, FIELDS, PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.raw_memory import (
    calloc,
    free,
    load_at,
    load_i64,
    load_record,
    malloc,
    memcpy,
    memset,
    size_of,
    stack_i64,
    store_at,
    store_i64,
)
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY, OUT_OF_RANGE
from tapegrad.ops.structural.indexing import GatherParams, ScatterAddParams, ScatterWriteParams

_SHORT_ROW = 16  # elements of a row up to which a call takes longer than the row
_PLACE = 3  # elements of a place in space, whose loop is written out
_COLUMNS = 4  # columns for which a list is read once


@always_inline
def _row(indexes: int, i: int, rows: int) -> int:
    """Return the row number in entry `i` of the list; negative ones count from the end."""
    k = load_i64(indexes, i)
    return k + rows if k < 0 else k


@noinline
def _all_in_range(indexes: int, count: int, rows: int) -> bool:
    bad = np.int64(0)
    for i in range(count):
        k = load_i64(indexes, i)
        bad |= np.int64(k < -rows) | np.int64(k >= rows)
    return bool(bad == 0)


@noinline
def _copy_row(target: int, source: int, source_step: int, count: int, zero: Any) -> None:
    """Copy elements `source_step` bytes apart to adjacent memory."""
    if source_step == size_of(zero) and count > 1:
        memcpy(target, source, count * source_step)
    else:
        for j in range(count):
            store_at(target, j * size_of(zero), load_at(source, j * source_step, zero), zero)


@always_inline
def _add_elements(target: int, target_step: int, source: int, count: int, zero: Any) -> None:
    """Add adjacent elements to elements `target_step` bytes apart: so few that a call would take longer."""
    for j in range(count):
        value = load_at(target, j * target_step, zero) + load_at(source, j * size_of(zero), zero)
        store_at(target, j * target_step, value, zero)


@noinline
def _add_row(target: int, target_step: int, source: int, count: int, zero: Any) -> None:
    """Add adjacent elements to elements `target_step` bytes apart."""
    _add_elements(target, target_step, source, count, zero)


@always_inline
def _clear(target: int, step: int, count: int, zero: Any) -> None:
    """Set elements `step` bytes apart to zero."""
    for j in range(count):
        store_at(target, j * step, zero, zero)


# gather


@always_inline
def _copy_short_rows(y: int, x: int, indexes: int, count: int, rows: int, length: int, zero: Any) -> None:
    """Copy the listed rows of so few elements that a call would take longer."""
    step = length * size_of(zero)
    for i in range(count):
        target, source = y + i * step, x + _row(indexes, i, rows) * step
        for j in range(length):
            store_at(target, j * size_of(zero), load_at(source, j * size_of(zero), zero), zero)


@noinline
def _copy_to_columns(y: int, x: int, indexes: int, count: int, rows: int, length: int, zero: Any) -> None:
    """Copy the listed rows, each element behind that of the row before."""
    size = size_of(zero)
    for j in range(length):
        column, first = y + j * count * size, x + j * size
        for i in range(count):
            store_at(column, i * size, load_at(first, _row(indexes, i, rows) * length * size, zero), zero)


@always_inline
def _gather(frame: int, zero: Any) -> int:
    count, x, indexes = load_i64(frame, COUNT), load_i64(frame, X), load_i64(frame, X + 1)
    y, params = load_i64(frame, Y), load_record(load_i64(frame, PARAMS), GatherParams)
    rows, length, step = params.rows, params.length, params.length * size_of(zero)
    if not _all_in_range(indexes, count, rows):
        return OUT_OF_RANGE
    if length == 1:
        _copy_short_rows(y, x, indexes, count, rows, 1, zero)
    elif params.by_columns:
        _copy_to_columns(y, x, indexes, count, rows, length, zero)
    elif length == _PLACE:
        _copy_short_rows(y, x, indexes, count, rows, _PLACE, zero)
    elif length <= _SHORT_ROW:
        _copy_short_rows(y, x, indexes, count, rows, length, zero)
    else:
        for i in range(count):
            memcpy(y + i * step, x + _row(indexes, i, rows) * step, step)
    return 0


@noinline
def _add_columns(x_bar: int, y_bar: int, indexes: int, count: int, params: Any, zero: Any) -> None:
    """Add the elements of the listed rows to columns."""
    size = size_of(zero)
    for j in range(params.length):
        for i in range(count):
            source = (_row(indexes, i, params.rows) * params.length + j) * size
            target = (j * count + i) * size
            store_at(x_bar, target, load_at(x_bar, target, zero) + load_at(y_bar, source, zero), zero)


@always_inline
def _some_elements(source: int, width: int, zero: Any) -> Any:
    """Load up to four adjacent elements."""
    step = size_of(zero)
    return (
        load_at(source, 0, zero),
        load_at(source, step, zero) if width > 1 else zero,
        load_at(source, 2 * step, zero) if width > 2 else zero,
        load_at(source, 3 * step, zero) if width > 3 else zero,
    )


@always_inline
def _store_some_elements(target: int, values: Any, width: int, zero: Any) -> None:
    """Store up to four adjacent elements."""
    step = size_of(zero)
    a, b, c, d = values
    store_at(target, 0, a, zero)
    if width > 1:
        store_at(target, step, b, zero)
    if width > 2:
        store_at(target, 2 * step, c, zero)
    if width > 3:
        store_at(target, 3 * step, d, zero)


@always_inline
def _add_some_elements(
    x_bar: int, y_bar: int, indexes: int, count: int, params: Any, width: int, zero: Any
) -> None:
    """Add `width` elements of entries to those of the listed rows, which stay in registers while they are repeated."""
    size, step = size_of(zero), params.length * size_of(zero)
    entry, column = (size, count * size) if params.by_columns else (step, size)
    row = _row(indexes, 0, params.rows)
    target = x_bar + row * step
    a, b, c, d = _some_elements(target, width, zero)
    for i in range(count):
        k = _row(indexes, i, params.rows)
        if k != row:
            _store_some_elements(target, (a, b, c, d), width, zero)
            row, target = k, x_bar + k * step
            a, b, c, d = _some_elements(target, width, zero)
        source = y_bar + i * entry
        a += load_at(source, 0, zero)
        if width > 1:
            b += load_at(source, column, zero)
        if width > 2:
            c += load_at(source, 2 * column, zero)
        if width > 3:
            d += load_at(source, 3 * column, zero)
    _store_some_elements(target, (a, b, c, d), width, zero)


@noinline
def _add_few_elements(x_bar: int, y_bar: int, indexes: int, count: int, params: Any, zero: Any) -> None:
    """Add entries to the listed rows, a few elements in each pass over the list."""
    size, j = size_of(zero), 0
    if count == 0:
        return
    column = count * size if params.by_columns else size
    while j < params.length:
        target, source, left = x_bar + j * size, y_bar + j * column, params.length - j
        if left >= _COLUMNS:
            _add_some_elements(target, source, indexes, count, params, _COLUMNS, zero)
        elif left == 3:
            _add_some_elements(target, source, indexes, count, params, 3, zero)
        elif left == 2:
            _add_some_elements(target, source, indexes, count, params, 2, zero)
        else:
            _add_some_elements(target, source, indexes, count, params, 1, zero)
        j += _COLUMNS


@always_inline
def _add_rows(frame: int, params: Any, to_named: bool, clear: bool, zero: Any) -> int:
    """Add rows of Y_BAR to rows of X_BAR[0], of which the list numbers either the targets or the sources."""
    count, x_bar, y_bar = load_i64(frame, COUNT), load_i64(frame, X_BAR), load_i64(frame, Y_BAR)
    indexes, length, size = load_i64(frame, X + 1), params.length, size_of(zero)
    if not _all_in_range(indexes, count, params.rows):
        return OUT_OF_RANGE
    if clear:
        memset(x_bar, 0, count * length * size)
    if to_named and (params.by_columns or length <= _COLUMNS):
        _add_few_elements(x_bar, y_bar, indexes, count, params, zero)
        return 0
    if params.by_columns:
        _add_columns(x_bar, y_bar, indexes, count, params, zero)
        return 0
    for i in range(count):
        named, ordered = _row(indexes, i, params.rows) * length * size, i * length * size
        target, source = (x_bar + named, y_bar + ordered) if to_named else (x_bar + ordered, y_bar + named)
        if length == 1:
            _add_elements(target, size, source, 1, zero)
        elif length == _PLACE:
            _add_elements(target, size, source, _PLACE, zero)
        elif length <= _SHORT_ROW:
            _add_elements(target, size, source, length, zero)
        else:
            _add_row(target, size, source, length, zero)
    return 0


@always_inline
def _gather_reverse(frame: int, zero: Any) -> int:
    return _add_rows(frame, load_record(load_i64(frame, PARAMS), GatherParams), True, False, zero)


@always_inline
def gather_forward(frame: int, loops: int, bits: Any) -> int:
    """Copy the rows of X[0] listed at X[1] to the contiguous rows of Y."""
    return _gather(frame, bits)


@always_inline
def gather_reverse(frame: int, loops: int, zero: Any) -> int:
    """Add the rows of Y_BAR to the rows of X_BAR[0] listed at X[1]; repeated rows add up."""
    return _gather_reverse(frame, zero)


# scatter_add: the transpose of gather, added to zeros


@always_inline
def _with_bars(frame: int, x_bar: int, y_bar: int) -> int:
    """Return a copy of `frame` with other cotangents."""
    other = stack_i64(FIELDS)
    memcpy(other, frame, BYTES)
    store_i64(other, X_BAR, x_bar)
    store_i64(other, Y_BAR, y_bar)
    return other


@always_inline
def scatter_add_forward(frame: int, loops: int, zero: Any) -> int:
    """Add the rows of X[0] to the rows of a Y of zeros listed at X[1]."""
    y, params = load_i64(frame, Y), load_record(load_i64(frame, PARAMS), ScatterAddParams)
    memset(y, 0, params.rows * params.length * size_of(zero))
    return _gather_reverse(_with_bars(frame, y, load_i64(frame, X)), zero)


@always_inline
def scatter_add_reverse(frame: int, loops: int, zero: Any) -> int:
    """Accumulate the rows of Y_BAR listed at X[1] to X_BAR[0]."""
    store = load_i64(frame, STORE) & 1 != 0
    return _add_rows(frame, load_record(load_i64(frame, PARAMS), ScatterAddParams), False, store, zero)


# scatter_write: X[0] is the old buffer, X[1] the values, X[2] the list. Values are contiguous, in the order of the
# list, or a single element (stride 0). Of several values for one row the last is kept.


@always_inline
def _own_values(values: int, size: int, first: int, last: int) -> int:
    """Copy `values` if they overlap first..last, the buffer to be written; else return 0."""
    if values < first or values >= last:
        return 0
    copy = malloc(size)
    memcpy(copy, values, size)
    return copy


@always_inline
def _scatter_write(frame: int, zero: Any) -> int:
    count, x, values = load_i64(frame, COUNT), load_i64(frame, X), load_i64(frame, X + 1)
    indexes, y = load_i64(frame, X + 2), load_i64(frame, Y)
    params = load_record(load_i64(frame, PARAMS), ScatterWriteParams)
    if not _all_in_range(indexes, count, params.rows):
        return OUT_OF_RANGE
    length, value_stride = params.length, params.value_stride
    total = params.rows * length * size_of(zero)
    if y != x:
        memcpy(y, x, total)
    own = _own_values(values, max(count * length * value_stride, size_of(zero)), y, y + total)
    source = own if own != 0 else values
    for i in range(count):
        target = y + _row(indexes, i, params.rows) * length * size_of(zero)
        _copy_row(target, source + i * length * value_stride, value_stride, length, zero)
    free(own)
    return 0


@always_inline
def scatter_write_forward(frame: int, loops: int, bits: Any) -> int:
    """Copy the buffer X[0] to Y, unless they share memory, and write the values X[1] to rows of Y."""
    return _scatter_write(frame, bits)


@always_inline
def _old_cotangent(frame: int, params: Any, zero: Any) -> int:
    """Accumulate Y_BAR to X_BAR[0], without the rows that were written: they are saved and restored."""
    count, x_bar, y_bar = load_i64(frame, COUNT), load_i64(frame, X_BAR), load_i64(frame, Y_BAR)
    indexes, store = load_i64(frame, X + 2), load_i64(frame, STORE) & 1
    size, length = size_of(zero), params.length
    total = params.rows * length
    aside = calloc(count * length + 1, size)  # zeros: the cotangent of these rows if it is written
    if aside == 0:
        return OUT_OF_MEMORY
    if store:
        memcpy(x_bar, y_bar, total * size)
    else:
        for i in range(count):
            source = x_bar + _row(indexes, i, params.rows) * length * size
            _copy_row(aside + i * length * size, source, size, length, zero)
        _add_row(x_bar, size, y_bar, total, zero)
    for i in range(count):
        target = x_bar + _row(indexes, i, params.rows) * length * size
        _copy_row(target, aside + i * length * size, size, length, zero)
    free(aside)
    return 0


@always_inline
def _values_cotangent(frame: int, params: Any, zero: Any) -> int:
    """Accumulate the written rows of Y_BAR to X_BAR[1], each to the last value written to it."""
    count, values_bar, y_bar = load_i64(frame, COUNT), load_i64(frame, X_BAR + 1), load_i64(frame, Y_BAR)
    indexes, store = load_i64(frame, X + 2), load_i64(frame, STORE) & 2
    length, value_stride = params.length, params.value_stride
    last = malloc(8 * params.rows + 8)  # for each written row its last entry in the list
    if last == 0:
        return OUT_OF_MEMORY
    for i in range(count):
        store_i64(last, _row(indexes, i, params.rows), i)
    if store:
        _clear(values_bar, value_stride, count * length if value_stride else 1, zero)
    for i in range(count):
        k = _row(indexes, i, params.rows)
        if load_i64(last, k) == i:
            target = values_bar + i * length * value_stride
            _add_row(target, value_stride, y_bar + k * length * size_of(zero), length, zero)
    free(last)
    return 0


@always_inline
def _move_within(frame: int, params: Any, zero: Any) -> int:
    """Update a cotangent in place: add the rows to the cotangents of the values, which may overlap it, and clear them.

    Entries are processed from the last, so that an earlier entry for the same row finds zeros.
    """
    count, values_bar, y_bar = load_i64(frame, COUNT), load_i64(frame, X_BAR + 1), load_i64(frame, Y_BAR)
    size, length, stride = size_of(zero), params.length, params.value_stride
    taken = malloc(count * length * size + 1)
    if taken == 0:
        return OUT_OF_MEMORY
    for back in range(count):
        i = count - 1 - back
        row = y_bar + _row(load_i64(frame, X + 2), i, params.rows) * length * size
        memcpy(taken + i * length * size, row, length * size)
        memset(row, 0, length * size)
    if values_bar != 0 and load_i64(frame, STORE) & 2:
        _clear(values_bar, stride, count * length if stride else 1, zero)
    for i in range(count if values_bar != 0 else 0):
        _add_row(values_bar + i * length * stride, stride, taken + i * length * size, length, zero)
    free(taken)
    return 0


@always_inline
def scatter_write_reverse(frame: int, loops: int, zero: Any) -> int:
    """Accumulate Y_BAR to X_BAR[0] except for the written rows, and these rows to X_BAR[1].

    If Y_BAR and X_BAR[0] share memory, only these rows are touched.
    """
    params, indexes = load_record(load_i64(frame, PARAMS), ScatterWriteParams), load_i64(frame, X + 2)
    if not _all_in_range(indexes, load_i64(frame, COUNT), params.rows):
        return OUT_OF_RANGE
    if load_i64(frame, X_BAR) == load_i64(frame, Y_BAR):
        return _move_within(frame, params, zero)
    status = 0
    if load_i64(frame, X_BAR) != 0:
        status = _old_cotangent(frame, params, zero)
    if status == 0 and load_i64(frame, X_BAR + 1) != 0:
        status = _values_cotangent(frame, params, zero)
    return status
