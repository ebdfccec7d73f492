"""Products of a sparse matrix, or its transpose, with a vector or a matrix, and outer products on its pattern.

The matrix is in SciPy's CSR format: entries, the column of each entry, and the start of each row among the entries. The
starts, then the columns, are one list of int64. If the list is invalid, the kernel returns a status before it writes.

Zero times inf is nan, as in SciPy and BLAS.
"""

from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.kernels.language.frame import COUNT, PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.raw_memory import (
    load_at,
    load_i64,
    load_record,
    memset,
    size_of,
    store_at,
)
from tapegrad.engine.kernels.language.status import OUT_OF_RANGE
from tapegrad.ops.structural.indexing import CsrMatmulParams, CsrOuterParams, CsrTransposedMatmulParams


class Csr(NamedTuple):
    """Pattern of a sparse matrix in memory, and the number of elements in a row of the other factor."""

    starts: int
    columns: int
    row_count: int
    column_count: int
    width: int


@always_inline
def _pattern(frame: int, params: Any) -> Csr:
    rows, columns, width = params
    starts = load_i64(frame, X + 2)
    return Csr(starts, starts + 8 * (rows + 1), rows, columns, width)


@noinline
def _is_whole(a: Csr, fields: int) -> bool:
    """Return whether the starts ascend from zero to the number of entries, and all columns exist."""
    entries = fields - a.row_count - 1
    if load_i64(a.starts, 0) != 0 or load_i64(a.starts, a.row_count) != entries:
        return False
    bad = np.int64(0)
    for i in range(a.row_count):
        bad |= np.int64(load_i64(a.starts, i) > load_i64(a.starts, i + 1))
    for p in range(entries):
        column = load_i64(a.columns, p)
        bad |= np.int64(column < 0) | np.int64(column >= a.column_count)
    return bool(bad == 0)


@always_inline
def _add_multiple(target: int, factor: Any, source: int, count: int, zero: Any) -> None:
    """Add a multiple of `count` adjacent elements to others."""
    for j in range(count):
        offset = j * size_of(zero)
        store_at(target, offset, load_at(target, offset, zero) + factor * load_at(source, offset, zero), zero)


@noinline
def _multiply(a: Csr, entries: int, x: int, y: int, store: int, zero: Any) -> None:
    """Add (store: write) A @ X to Y."""
    size = size_of(zero)
    row = a.width * size
    if store:
        memset(y, 0, a.row_count * row)
    for i in range(a.row_count):
        first, end = load_i64(a.starts, i), load_i64(a.starts, i + 1)
        if a.width == 1:
            total = load_at(y, i * size, zero)
            for p in range(first, end):
                total += load_at(entries, p * size, zero) * load_at(x, load_i64(a.columns, p) * size, zero)
            store_at(y, i * size, total, zero)
        else:
            for p in range(first, end):
                entry, source = load_at(entries, p * size, zero), x + load_i64(a.columns, p) * row
                _add_multiple(y + i * row, entry, source, a.width, zero)


@noinline
def _multiply_transposed(a: Csr, entries: int, x: int, y: int, store: int, zero: Any) -> None:
    """Add (store: write) A.T @ X to Y."""
    size = size_of(zero)
    row = a.width * size
    if store:
        memset(y, 0, a.column_count * row)
    for i in range(a.row_count):
        first, end = load_i64(a.starts, i), load_i64(a.starts, i + 1)
        if a.width == 1:
            value = load_at(x, i * size, zero)
            for p in range(first, end):
                at = load_i64(a.columns, p) * size
                sum_ = load_at(y, at, zero) + load_at(entries, p * size, zero) * value
                store_at(y, at, sum_, zero)
        else:
            for p in range(first, end):
                entry, target = load_at(entries, p * size, zero), y + load_i64(a.columns, p) * row
                _add_multiple(target, entry, x + i * row, a.width, zero)


@noinline
def _multiply_rows(a: Csr, left: int, right: int, entries: int, store: int, zero: Any) -> None:
    """Add (store: write) for each entry the product of a row of `left` and a row of `right`."""
    size = size_of(zero)
    row = a.width * size
    for i in range(a.row_count):
        for p in range(load_i64(a.starts, i), load_i64(a.starts, i + 1)):
            other, total = right + load_i64(a.columns, p) * row, zero
            for c in range(a.width):
                total += load_at(left + i * row, c * size, zero) * load_at(other, c * size, zero)
            before = zero if store else load_at(entries, p * size, zero)
            store_at(entries, p * size, before + total, zero)


# --- matrix times rows, and transposed matrix times rows ---------------------------------------------------------


@always_inline
def _product(a: Csr, entries: int, x: int, y: int, store: int, transposed: bool, zero: Any) -> None:
    if transposed:
        _multiply_transposed(a, entries, x, y, store, zero)
    else:
        _multiply(a, entries, x, y, store, zero)


@always_inline
def _forward(frame: int, params: Any, transposed: bool, zero: Any) -> int:
    a = _pattern(frame, params)
    if not _is_whole(a, load_i64(frame, COUNT)):
        return OUT_OF_RANGE
    _product(a, load_i64(frame, X + 1), load_i64(frame, X), load_i64(frame, Y), np.int64(1), transposed, zero)
    return 0


@always_inline
def _reverse(frame: int, params: Any, transposed: bool, zero: Any) -> int:
    a, store = _pattern(frame, params), load_i64(frame, STORE)
    if not _is_whole(a, load_i64(frame, COUNT)):
        return OUT_OF_RANGE
    x_bar, entries_bar, y_bar = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1), load_i64(frame, Y_BAR)
    if x_bar != 0:
        _product(a, load_i64(frame, X + 1), y_bar, x_bar, store & 1, not transposed, zero)
    if entries_bar != 0:
        x = load_i64(frame, X)
        left, right = (x, y_bar) if transposed else (y_bar, x)
        _multiply_rows(a, left, right, entries_bar, store & 2, zero)
    return 0


@always_inline
def _tangent(frame: int, params: Any, transposed: bool, zero: Any) -> int:
    a = _pattern(frame, params)
    if not _is_whole(a, load_i64(frame, COUNT)):
        return OUT_OF_RANGE
    x_dot, entries_dot, y_dot = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1), load_i64(frame, Y_BAR)
    store = np.int64(1)
    if x_dot != 0:
        _product(a, load_i64(frame, X + 1), x_dot, y_dot, store, transposed, zero)
        store = np.int64(0)
    if entries_dot != 0:
        _product(a, entries_dot, load_i64(frame, X), y_dot, store, transposed, zero)
    return 0


@always_inline
def csr_matmul_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the product of the matrix, entries at X[1] and lists at X[2], and X[0] to Y."""
    return _forward(frame, load_record(load_i64(frame, PARAMS), CsrMatmulParams), False, zero)


@always_inline
def csr_matmul_reverse(frame: int, loops: int, zero: Any) -> int:
    """Add (STORE: write) the cotangents of the rows, by the transposed matrix, and of the entries."""
    return _reverse(frame, load_record(load_i64(frame, PARAMS), CsrMatmulParams), False, zero)


@always_inline
def csr_matmul_tangent(frame: int, loops: int, zero: Any) -> int:
    """Write the tangent of the product to Y_BAR; either tangent may be absent."""
    return _tangent(frame, load_record(load_i64(frame, PARAMS), CsrMatmulParams), False, zero)


@always_inline
def csr_transposed_matmul_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the product of the transposed matrix, entries at X[1] and lists at X[2], and X[0] to Y."""
    return _forward(frame, load_record(load_i64(frame, PARAMS), CsrTransposedMatmulParams), True, zero)


@always_inline
def csr_transposed_matmul_reverse(frame: int, loops: int, zero: Any) -> int:
    """Add (STORE: write) the cotangents of the rows, by the matrix, and of the entries."""
    return _reverse(frame, load_record(load_i64(frame, PARAMS), CsrTransposedMatmulParams), True, zero)


@always_inline
def csr_transposed_matmul_tangent(frame: int, loops: int, zero: Any) -> int:
    """Write the tangent of the product to Y_BAR; either tangent may be absent."""
    return _tangent(frame, load_record(load_i64(frame, PARAMS), CsrTransposedMatmulParams), True, zero)


# --- outer products on the pattern -------------------------------------------------------------------------------


@always_inline
def csr_outer_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the products of the rows X[0] and X[1] on the pattern X[2] to Y."""
    a = _pattern(frame, load_record(load_i64(frame, PARAMS), CsrOuterParams))
    if not _is_whole(a, load_i64(frame, COUNT)):
        return OUT_OF_RANGE
    left, right = load_i64(frame, X), load_i64(frame, X + 1)
    _multiply_rows(a, left, right, load_i64(frame, Y), np.int64(1), zero)
    return 0


@always_inline
def csr_outer_reverse(frame: int, loops: int, zero: Any) -> int:
    """Add (STORE: write) the cotangents of the rows: the matrix of the cotangent times the rows of the other."""
    a = _pattern(frame, load_record(load_i64(frame, PARAMS), CsrOuterParams))
    if not _is_whole(a, load_i64(frame, COUNT)):
        return OUT_OF_RANGE
    store, y_bar = load_i64(frame, STORE), load_i64(frame, Y_BAR)
    left_bar, right_bar = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1)
    if left_bar != 0:
        _multiply(a, y_bar, load_i64(frame, X + 1), left_bar, store & 1, zero)
    if right_bar != 0:
        _multiply_transposed(a, y_bar, load_i64(frame, X), right_bar, store & 2, zero)
    return 0


@always_inline
def csr_outer_tangent(frame: int, loops: int, zero: Any) -> int:
    """Write the tangent of the products to Y_BAR; either tangent may be absent."""
    a = _pattern(frame, load_record(load_i64(frame, PARAMS), CsrOuterParams))
    if not _is_whole(a, load_i64(frame, COUNT)):
        return OUT_OF_RANGE
    left_dot, right_dot, y_dot = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1), load_i64(frame, Y_BAR)
    store = np.int64(1)
    if left_dot != 0:
        _multiply_rows(a, left_dot, load_i64(frame, X + 1), y_dot, store, zero)
        store = np.int64(0)
    if right_dot != 0:
        _multiply_rows(a, load_i64(frame, X), right_dot, y_dot, store, zero)
    return 0
