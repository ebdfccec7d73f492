"""A sparse matrix in rows, or its transpose, times a vector or the rows of a matrix.

The matrix is given as SciPy's CSR format has it: its entries, and for each of them a column; row i has those from
start i to start i + 1. The starts, and behind them the columns, are one list of int64. A list that no matrix has is a
status, found before anything is written.

A zero times inf is nan, as in SciPy and in BLAS.
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
from tapegrad.ops.params import CsrMatmulParams, CsrTransposedMatmulParams


class Csr(NamedTuple):
    """A sparse matrix in memory, and how many elements a row of what it is multiplied by has."""

    entries: int
    starts: int
    columns: int
    row_count: int
    column_count: int
    width: int


@always_inline
def _matrix(frame: int, params: Any) -> Csr:
    rows, columns, width = params
    starts = load_i64(frame, X + 2)
    return Csr(load_i64(frame, X + 1), starts, starts + 8 * (rows + 1), rows, columns, width)


@noinline
def _is_whole(a: Csr, words: int) -> bool:
    """Return whether the starts rise from zero to the number of entries, and every entry is in an existing column."""
    entries = words - a.row_count - 1
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
    """Add a multiple of adjacent elements to others."""
    for j in range(count):
        offset = j * size_of(zero)
        store_at(target, offset, load_at(target, offset, zero) + factor * load_at(source, offset, zero), zero)


@noinline
def _multiply(a: Csr, x: int, y: int, store: int, zero: Any) -> None:
    """Y = A @ X, added to Y unless `store`."""
    size = size_of(zero)
    row = a.width * size
    if store:
        memset(y, 0, a.row_count * row)
    for i in range(a.row_count):
        first, end = load_i64(a.starts, i), load_i64(a.starts, i + 1)
        if a.width == 1:
            total = load_at(y, i * size, zero)
            for p in range(first, end):
                total += load_at(a.entries, p * size, zero) * load_at(x, load_i64(a.columns, p) * size, zero)
            store_at(y, i * size, total, zero)
        else:
            for p in range(first, end):
                entry, source = load_at(a.entries, p * size, zero), x + load_i64(a.columns, p) * row
                _add_multiple(y + i * row, entry, source, a.width, zero)


@noinline
def _multiply_transposed(a: Csr, x: int, y: int, store: int, zero: Any) -> None:
    """Y = A.T @ X, added to Y unless `store`."""
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
                sum_ = load_at(y, at, zero) + load_at(a.entries, p * size, zero) * value
                store_at(y, at, sum_, zero)
        else:
            for p in range(first, end):
                entry, target = load_at(a.entries, p * size, zero), y + load_i64(a.columns, p) * row
                _add_multiple(target, entry, x + i * row, a.width, zero)


@always_inline
def _forward(frame: int, params: Any, transposed: bool, zero: Any) -> int:
    a = _matrix(frame, params)
    if not _is_whole(a, load_i64(frame, COUNT)):
        return OUT_OF_RANGE
    x, y = load_i64(frame, X), load_i64(frame, Y)
    if transposed:
        _multiply_transposed(a, x, y, np.int64(1), zero)
    else:
        _multiply(a, x, y, np.int64(1), zero)
    return 0


@always_inline
def _reverse(frame: int, params: Any, transposed: bool, zero: Any) -> int:
    a, store = _matrix(frame, params), load_i64(frame, STORE) & 1
    if not _is_whole(a, load_i64(frame, COUNT)):
        return OUT_OF_RANGE
    x_bar, y_bar = load_i64(frame, X_BAR), load_i64(frame, Y_BAR)
    if transposed:
        _multiply(a, y_bar, x_bar, store, zero)
    else:
        _multiply_transposed(a, y_bar, x_bar, store, zero)
    return 0


@always_inline
def csr_matmul_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the product of the matrix, entries at X[1] and lists at X[2], and X[0] to Y."""
    return _forward(frame, load_record(load_i64(frame, PARAMS), CsrMatmulParams), False, zero)


@always_inline
def csr_matmul_reverse(frame: int, loops: int, zero: Any) -> int:
    """Add (STORE: write) the product of the transposed matrix and Y_BAR to X_BAR[0]."""
    return _reverse(frame, load_record(load_i64(frame, PARAMS), CsrMatmulParams), False, zero)


# The transpose, with the same matrix and parameters.


@always_inline
def csr_transposed_matmul_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the product of the transposed matrix, entries at X[1] and lists at X[2], and X[0] to Y."""
    return _forward(frame, load_record(load_i64(frame, PARAMS), CsrTransposedMatmulParams), True, zero)


@always_inline
def csr_transposed_matmul_reverse(frame: int, loops: int, zero: Any) -> int:
    """Add (STORE: write) the product of the matrix and Y_BAR to X_BAR[0]."""
    return _reverse(frame, load_record(load_i64(frame, PARAMS), CsrTransposedMatmulParams), True, zero)
