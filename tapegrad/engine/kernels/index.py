"""Rows by a list of indexes: reading them, and writing them into a copy of a buffer.

Indexes are contiguous int64. One out of range is a status, found before anything is written.
"""

from typing import Any

import numba
import numpy as np

from tapegrad.engine.kernels.frame import BYTES, COUNT, PARAMS, STORE, WORDS, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.raw_memory import (
    calloc,
    free,
    load_at,
    load_i64,
    malloc,
    memcpy,
    memset,
    size_of,
    stack_words,
    store_at,
    store_i64,
)

OUT_OF_RANGE, OUT_OF_MEMORY = 2, 3  # status

always_inline = numba.njit(error_model="numpy", inline="always")
noinline = numba.njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


@always_inline
def _row(indexes: int, i: int, rows: int, wrap: int) -> int:
    """The row that entry `i` of the list names; negative ones count from the end if `wrap`."""
    k = load_i64(indexes, i)
    return k + rows if k < 0 and wrap != 0 else k


@noinline
def _all_in_range(indexes: int, count: int, rows: int, wrap: int) -> bool:
    lowest = -rows if wrap else 0
    bad = np.int64(0)
    for i in range(count):
        k = load_i64(indexes, i)
        bad |= np.int64(k < lowest) | np.int64(k >= rows)
    return bool(bad == 0)


@noinline
def _copy_row(target: int, target_step: int, source: int, source_step: int, count: int, zero: Any) -> None:
    if target_step == size_of(zero) and source_step == size_of(zero) and count > 1:
        memcpy(target, source, count * size_of(zero))
    else:
        for j in range(count):
            store_at(target, j * target_step, load_at(source, j * source_step, zero), zero)


@noinline
def _add_row(target: int, target_step: int, source: int, source_step: int, count: int, zero: Any) -> None:
    for j in range(count):
        value = load_at(target, j * target_step, zero) + load_at(source, j * source_step, zero)
        store_at(target, j * target_step, value, zero)


# gather: PARAMS ``[rows, row stride, row length, stride within a row, wrap]``, strides in bytes


@always_inline
def _gather(frame: int, zero: Any) -> int:
    count, x, indexes = load_i64(frame, COUNT), load_i64(frame, X), load_i64(frame, X + 1)
    y, params = load_i64(frame, Y), load_i64(frame, PARAMS)
    rows, row_stride, length = load_i64(params, 0), load_i64(params, 1), load_i64(params, 2)
    step, wrap = load_i64(params, 3), load_i64(params, 4)
    if not _all_in_range(indexes, count, rows, wrap):
        return OUT_OF_RANGE
    size = size_of(zero)
    for i in range(count):
        source = x + _row(indexes, i, rows, wrap) * row_stride
        _copy_row(y + i * length * size, size, source, step, length, zero)
    return 0


@always_inline
def _gather_reverse(frame: int, zero: Any) -> int:
    count, x_bar, indexes = load_i64(frame, COUNT), load_i64(frame, X_BAR), load_i64(frame, X + 1)
    y_bar, params = load_i64(frame, Y_BAR), load_i64(frame, PARAMS)
    rows, row_stride, length = load_i64(params, 0), load_i64(params, 1), load_i64(params, 2)
    step, wrap = load_i64(params, 3), load_i64(params, 4)
    if not _all_in_range(indexes, count, rows, wrap):
        return OUT_OF_RANGE
    size = size_of(zero)
    for i in range(count):
        target = x_bar + _row(indexes, i, rows, wrap) * row_stride
        _add_row(target, step, y_bar + i * length * size, size, length, zero)
    return 0


def gather_forward_f64(frame: int, loops: int) -> int:
    """Copy the rows of X[0] that the list at X[1] names to the contiguous rows of Y."""
    return _gather(frame, np.int64(0))


def gather_forward_f32(frame: int, loops: int) -> int:
    """`gather_forward_f64` for float32."""
    return _gather(frame, np.int32(0))


def gather_forward_i64(frame: int, loops: int) -> int:
    """`gather_forward_f64` for 64-bit integers."""
    return _gather(frame, np.int64(0))


def gather_forward_b8(frame: int, loops: int) -> int:
    """`gather_forward_f64` for booleans."""
    return _gather(frame, np.uint8(0))


def gather_reverse_f64(frame: int, loops: int) -> int:
    """Add the rows of Y_BAR to the rows of X_BAR[0] that the list at X[1] names; repeated rows add up."""
    return _gather_reverse(frame, np.float64(0))


def gather_reverse_f32(frame: int, loops: int) -> int:
    """`gather_reverse_f64` for float32."""
    return _gather_reverse(frame, np.float32(0))


# scatter_add: the rows of the contiguous X[0] are added to rows of a result that begins as zeros; PARAMS as for
# gather, whose derivative it is, with the strides of the result's rows, and the elements of the result at the end.


@always_inline
def _with_bars(frame: int, x_bar: int, y_bar: int) -> int:
    """A frame like `frame` with other cotangents."""
    other = stack_words(WORDS)
    memcpy(other, frame, BYTES)
    store_i64(other, X_BAR, x_bar)
    store_i64(other, Y_BAR, y_bar)
    return other


@always_inline
def _scatter_add(frame: int, zero: Any) -> int:
    y = load_i64(frame, Y)
    memset(y, 0, load_i64(load_i64(frame, PARAMS), 5) * size_of(zero))
    return _gather_reverse(_with_bars(frame, y, load_i64(frame, X)), zero)


@always_inline
def _scatter_add_reverse(frame: int, zero: Any) -> int:
    count, x_bar, indexes = load_i64(frame, COUNT), load_i64(frame, X_BAR), load_i64(frame, X + 1)
    y_bar, params = load_i64(frame, Y_BAR), load_i64(frame, PARAMS)
    rows, row_stride, length = load_i64(params, 0), load_i64(params, 1), load_i64(params, 2)
    step, wrap = load_i64(params, 3), load_i64(params, 4)
    if not _all_in_range(indexes, count, rows, wrap):
        return OUT_OF_RANGE
    size = size_of(zero)
    if load_i64(frame, STORE) & 1:
        memset(x_bar, 0, count * length * size)
    for i in range(count):
        source = y_bar + _row(indexes, i, rows, wrap) * row_stride
        _add_row(x_bar + i * length * size, size, source, step, length, zero)
    return 0


def scatter_add_forward_f64(frame: int, loops: int) -> int:
    """Add the rows of X[0] to the rows of Y, zeros before, that the list at X[1] names."""
    return _scatter_add(frame, np.float64(0))


def scatter_add_forward_f32(frame: int, loops: int) -> int:
    """`scatter_add_forward_f64` for float32."""
    return _scatter_add(frame, np.float32(0))


def scatter_add_reverse_f64(frame: int, loops: int) -> int:
    """Accumulate the rows of Y_BAR that the list at X[1] names to X_BAR[0]."""
    return _scatter_add_reverse(frame, np.float64(0))


def scatter_add_reverse_f32(frame: int, loops: int) -> int:
    """`scatter_add_reverse_f64` for float32."""
    return _scatter_add_reverse(frame, np.float32(0))


# scatter_write: the old buffer at X[0], values at X[1], the list at X[2]; PARAMS ``[rows, row stride, row
# length, stride within a row, wrap, elements of the buffer, stride of the values]``, strides in bytes. Values
# lie in the order of the list, contiguous, or are one element (stride 0). The last write to a row counts.


@always_inline
def _own_values(values: int, size: int, first: int, last: int) -> int:
    """A copy of `values` if they lie within first..last, the buffer that is about to be written; else 0."""
    if values < first or values >= last:
        return 0
    copy = malloc(size)
    memcpy(copy, values, size)
    return copy


@always_inline
def _scatter_write(frame: int, zero: Any) -> int:
    count, x, values = load_i64(frame, COUNT), load_i64(frame, X), load_i64(frame, X + 1)
    indexes, y, params = load_i64(frame, X + 2), load_i64(frame, Y), load_i64(frame, PARAMS)
    rows, row_stride, length = load_i64(params, 0), load_i64(params, 1), load_i64(params, 2)
    step, wrap, value_stride = load_i64(params, 3), load_i64(params, 4), load_i64(params, 6)
    if not _all_in_range(indexes, count, rows, wrap):
        return OUT_OF_RANGE
    total = load_i64(params, 5) * size_of(zero)
    if y != x:
        memcpy(y, x, total)
    own = _own_values(values, max(count * length * value_stride, size_of(zero)), y, y + total)
    source = own if own != 0 else values
    for i in range(count):
        target = y + _row(indexes, i, rows, wrap) * row_stride
        _copy_row(target, step, source + i * length * value_stride, value_stride, length, zero)
    free(own)
    return 0


def scatter_write_forward_f64(frame: int, loops: int) -> int:
    """Copy the buffer X[0] to Y (unless they are the same) and write the values X[1] to rows of it."""
    return _scatter_write(frame, np.int64(0))


def scatter_write_forward_f32(frame: int, loops: int) -> int:
    """`scatter_write_forward_f64` for float32."""
    return _scatter_write(frame, np.int32(0))


def scatter_write_forward_i64(frame: int, loops: int) -> int:
    """`scatter_write_forward_f64` for 64-bit integers."""
    return _scatter_write(frame, np.int64(0))


def scatter_write_forward_b8(frame: int, loops: int) -> int:
    """`scatter_write_forward_f64` for booleans."""
    return _scatter_write(frame, np.uint8(0))


@always_inline
def _old_cotangent(frame: int, zero: Any) -> int:
    """Accumulate Y_BAR to X_BAR[0], leaving out the rows written: they are put aside and put back."""
    count, x_bar, y_bar = load_i64(frame, COUNT), load_i64(frame, X_BAR), load_i64(frame, Y_BAR)
    indexes, params, store = load_i64(frame, X + 2), load_i64(frame, PARAMS), load_i64(frame, STORE) & 1
    rows, row_stride, length = load_i64(params, 0), load_i64(params, 1), load_i64(params, 2)
    step, wrap, total = load_i64(params, 3), load_i64(params, 4), load_i64(params, 5)
    size = size_of(zero)
    aside = calloc(count * length + 1, size)  # zeros, which is what a stored cotangent has there
    if aside == 0:
        return OUT_OF_MEMORY
    if store:
        memcpy(x_bar, y_bar, total * size)
    else:
        for i in range(count):
            source = x_bar + _row(indexes, i, rows, wrap) * row_stride
            _copy_row(aside + i * length * size, size, source, step, length, zero)
        _add_row(x_bar, size, y_bar, size, total, zero)
    for i in range(count):
        target = x_bar + _row(indexes, i, rows, wrap) * row_stride
        _copy_row(target, step, aside + i * length * size, size, length, zero)
    free(aside)
    return 0


@always_inline
def _values_cotangent(frame: int, zero: Any) -> int:
    """Accumulate the written rows of Y_BAR to X_BAR[1], for each row to the value that was written last."""
    count, values_bar, y_bar = load_i64(frame, COUNT), load_i64(frame, X_BAR + 1), load_i64(frame, Y_BAR)
    indexes, params, store = load_i64(frame, X + 2), load_i64(frame, PARAMS), load_i64(frame, STORE) & 2
    rows, row_stride, length = load_i64(params, 0), load_i64(params, 1), load_i64(params, 2)
    step, wrap, value_stride = load_i64(params, 3), load_i64(params, 4), load_i64(params, 6)
    last = malloc(8 * rows + 8)  # of each row that is written, the last entry of the list that names it
    if last == 0:
        return OUT_OF_MEMORY
    for i in range(count):
        store_i64(last, _row(indexes, i, rows, wrap), i)
    if store:
        for j in range(count * length if value_stride else 1):
            store_at(values_bar, j * value_stride, zero, zero)
    for i in range(count):
        k = _row(indexes, i, rows, wrap)
        if load_i64(last, k) == i:
            target = values_bar + i * length * value_stride
            _add_row(target, value_stride, y_bar + k * row_stride, step, length, zero)
    free(last)
    return 0


@always_inline
def _scatter_write_reverse(frame: int, zero: Any) -> int:
    params, indexes = load_i64(frame, PARAMS), load_i64(frame, X + 2)
    if not _all_in_range(indexes, load_i64(frame, COUNT), load_i64(params, 0), load_i64(params, 4)):
        return OUT_OF_RANGE
    status = 0
    if load_i64(frame, X_BAR) != 0:
        status = _old_cotangent(frame, zero)
    if status == 0 and load_i64(frame, X_BAR + 1) != 0:
        status = _values_cotangent(frame, zero)
    return status


def scatter_write_reverse_f64(frame: int, loops: int) -> int:
    """Accumulate Y_BAR to X_BAR[0] outside of the rows written, and those rows to X_BAR[1]."""
    return _scatter_write_reverse(frame, np.float64(0))


def scatter_write_reverse_f32(frame: int, loops: int) -> int:
    """`scatter_write_reverse_f64` for float32."""
    return _scatter_write_reverse(frame, np.float32(0))
