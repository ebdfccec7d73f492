"""Logarithm of the sum of the exponentials of a line.

It is the largest element plus ``log1p`` of the sum of the other exponentials relative to it, which neither overflows
nor loses digits near a result of zero. The derivative by an element is its share, ``exp(x - y)``.

Elements are processed in rows of many columns: several short lines are columns; a long line is cut into rows, whose
columns are combined at the end.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.kernels.language.frame import COUNT, OUTER, STORE, STRIDE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.library import entry
from tapegrad.engine.kernels.language.raw_memory import (
    add_at,
    call_loop,
    load_at,
    load_f64,
    load_i64,
    size_of,
    stack_i64,
    store_at,
    store_f64,
)
from tapegrad.engine.kernels.lines.accumulate import block_sum

_ADD_EXPONENTIALS, _LOG1P, _WRITE_SHARES = entry("add_exponentials"), entry("log1p"), entry("write_shares")
LIBRARY: dict[str, tuple[str, ...]] = {
    f"logsumexp_{direction}_{dtype}": names
    for direction, names in (
        ("forward", ("add_exponentials", "log1p")),
        ("reverse", ("write_shares",)),
        ("tangent", ("write_shares",)),
    )
    for dtype in ("f64", "f32")
}
_COLUMNS = 256  # largest number of columns, and so of exponentials computed by one call, in float64
_SCRATCH = 4 * _COLUMNS  # 64-bit integers
_MAX_COLUMN_ELEMENTS = 64  # longer lines are cut into rows; columns are summed in the order of a row
_MIN_LINES = 4  # fewer lines are no columns: the calls would cost more than they save
_FIRST, _ITEM = np.int64(0), np.int64(8)  # a literal would compile the sum of a block once more


class _Panel(NamedTuple):
    """Rows of elements: the offset of the first, steps in bytes, and the number of columns of the last row.

    `y` and `y_step` are offset and step of the results; the step is 0 if the columns are one line.
    """

    x: int
    rows: int
    row_step: int
    columns: int
    last: int
    step: int
    y: int
    y_step: int


@always_inline
def _are_columns(frame: int) -> bool:
    """Return whether the lines of a frame are columns."""
    outer = load_i64(frame, OUTER)
    return (
        outer != 0
        and load_i64(frame, COUNT) <= _MAX_COLUMN_ELEMENTS
        and load_i64(outer, load_i64(outer, 0)) >= _MIN_LINES
    )


@always_inline
def _lines(frame: int) -> Any:
    """Return the number of lines, and the bytes from one line to the next and from one result to the next."""
    outer = load_i64(frame, OUTER)
    if outer == 0:
        return 1, 0, 0
    m = load_i64(outer, 0)
    return load_i64(outer, m), load_i64(outer, 2 * m), load_i64(outer, 5 * m)


@noinline
def _panel(frame: int, k: int) -> Any:
    """Return panel `k` of a frame; it has no columns if `k` is past the last."""
    count, stride = load_i64(frame, COUNT), load_i64(frame, STRIDE)
    lines, step, y_step = _lines(frame)
    if _are_columns(frame):
        first = k * _COLUMNS
        n = min(_COLUMNS, lines - first)
        return _Panel(first * step, count, stride, n, n, step, first * y_step, y_step)
    rows = (count + _COLUMNS - 1) // _COLUMNS
    last = count - (rows - 1) * _COLUMNS
    columns = (last if rows == 1 else _COLUMNS) if k < lines else 0
    return _Panel(k * step, rows, stride * _COLUMNS, columns, last, stride, k * y_step, 0)


@always_inline
def _width(panel: Any, a: int) -> int:
    """Return the number of columns of row `a`."""
    return panel.last if a == panel.rows - 1 else panel.columns


@noinline
def _fetch(row: int, x: int, step: int, n: int, zero: Any) -> None:
    """Copy the elements of a row to adjacent memory."""
    if step == size_of(zero):
        for i in range(n):
            store_f64(row, i, np.float64(load_at(x, i * size_of(zero), zero)))
    else:
        for i in range(n):
            store_f64(row, i, np.float64(load_at(x, i * step, zero)))


@always_inline
def _adjacent(row: int, x: int, step: int, n: int, zero: Any) -> int:
    """Return the address of a row as adjacent float64, of a copy if need be."""
    if size_of(zero) == 8 and step == 8:
        return x
    _fetch(row, x, step, n, zero)
    return row


@always_inline
def _fill(block: int, value: float, n: int) -> None:
    for i in range(n):
        store_f64(block, i, value)


@noinline
def _joined(totals: int, n: int) -> float:
    """Add up the columns of a line."""
    if n > _MAX_COLUMN_ELEMENTS:
        return block_sum(totals, _ITEM, _FIRST, n, 0.0)
    total = 0.0
    for i in range(n):
        total += load_f64(totals, i)
    return total


@always_inline
def _write(totals: int, y: int, panel: Any, zero: Any) -> None:
    """Write a sum for each column, or the one of all columns."""
    if panel.y_step == 0:
        store_at(y, 0, _joined(totals, panel.columns), zero)
    else:
        for i in range(panel.columns):
            store_at(y, i * panel.y_step, load_f64(totals, i), zero)


# --- forward ---------------------------------------------------------------------------------------------------


@noinline
def _keep_largest(row: int, largest: int, n: int) -> None:
    """Update the largest element of each column; nan stays."""
    for i in range(n):
        value, best = load_f64(row, i), load_f64(largest, i)
        store_f64(largest, i, value if (not value <= best) & (best == best) else best)


@noinline
def _join_largest(largest: int, n: int) -> None:
    """Find the largest element of all columns."""
    best = -math.inf
    for i in range(n):
        value = load_f64(largest, i)
        if not value <= best:
            best = value
            if math.isnan(value):
                break
    _fill(largest, best, n)


@always_inline
def _write_panel(x: int, y: int, panel: Any, loops: int, zero: Any) -> None:
    row, n = stack_i64(_SCRATCH), panel.columns
    largest, totals, ties = row + 8 * _COLUMNS, row + 16 * _COLUMNS, row + 24 * _COLUMNS
    _fill(largest, -math.inf, n)
    _fill(totals, 0.0, n)
    _fill(ties, 0.0, n)
    for a in range(panel.rows):
        width = _width(panel, a)
        _keep_largest(_adjacent(row, x + a * panel.row_step, panel.step, width, zero), largest, width)
    if panel.y_step == 0:
        _join_largest(largest, n)
    for a in range(panel.rows):
        width = _width(panel, a)
        elements = _adjacent(row, x + a * panel.row_step, panel.step, width, zero)
        call_loop(loops, _ADD_EXPONENTIALS, width, (elements, largest, totals, ties))
    if panel.y_step == 0:
        store_f64(totals, 0, _joined(totals, n))
        store_f64(ties, 0, _joined(ties, n))
        n = 1
    for i in range(n):  # without the largest element
        store_f64(totals, i, load_f64(totals, i) + (load_f64(ties, i) - 1.0))
    call_loop(loops, _LOG1P, n, (totals, totals))
    for i in range(n):
        best = load_f64(largest, i)
        store_at(y, i * panel.y_step, best + load_f64(totals, i) if math.isfinite(best) else best, zero)


@always_inline
def logsumexp_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the logarithm of the sum of the exponentials; -inf for an empty line."""
    x, y, k = load_i64(frame, X), load_i64(frame, Y), 0
    panel = _panel(frame, k)
    while panel.columns > 0:
        _write_panel(x + panel.x, y + panel.y, panel, loops, zero)
        k += 1
        panel = _panel(frame, k)
    return 0


# --- derivatives -----------------------------------------------------------------------------------------------


@noinline
def _add(totals: int, row: int, n: int) -> None:
    for i in range(n):
        store_f64(totals, i, load_f64(totals, i) + load_f64(row, i))


@always_inline
def _put_at(row: int, x_bar: int, step: int, n: int, store: int, zero: Any) -> None:
    for i in range(n):
        add_at(x_bar, i * step, load_f64(row, i), store, zero)


@noinline
def _put(row: int, x_bar: int, step: int, n: int, store: int, zero: Any) -> None:
    """Add (store: write) a row to cotangents."""
    if step == size_of(zero):
        _put_at(row, x_bar, size_of(zero), n, store, zero)
    else:
        _put_at(row, x_bar, step, n, store, zero)


@always_inline
def logsumexp_reverse(frame: int, loops: int, zero: Any) -> int:
    """Add (STORE: write) to each element its share of Y_BAR."""
    x, x_bar, store = load_i64(frame, X), load_i64(frame, X_BAR), load_i64(frame, STORE) & 1
    y, y_bar, row, k = load_i64(frame, Y), load_i64(frame, Y_BAR), stack_i64(_SCRATCH), 0
    centres, bars, panel = row + 8 * _COLUMNS, row + 16 * _COLUMNS, _panel(frame, k)
    while panel.columns > 0:
        _fetch(centres, y + panel.y, panel.y_step, panel.columns, zero)
        _fetch(bars, y_bar + panel.y, panel.y_step, panel.columns, zero)
        for a in range(panel.rows):
            offset, n = panel.x + a * panel.row_step, _width(panel, a)
            elements = _adjacent(row, x + offset, panel.step, n, zero)
            call_loop(loops, _WRITE_SHARES, n, (elements, centres, bars, row))
            _put(row, x_bar + offset, panel.step, n, store, zero)
        k += 1
        panel = _panel(frame, k)
    return 0


@always_inline
def logsumexp_tangent(frame: int, loops: int, zero: Any) -> int:
    """Write to Y_BAR the sum of the shares of the tangents X_BAR[0]."""
    x, x_dot, y, y_dot = (
        load_i64(frame, X),
        load_i64(frame, X_BAR),
        load_i64(frame, Y),
        load_i64(frame, Y_BAR),
    )
    row, k, panel = stack_i64(_SCRATCH), 0, _panel(frame, 0)
    centres, dots, totals = row + 8 * _COLUMNS, row + 16 * _COLUMNS, row + 24 * _COLUMNS
    while panel.columns > 0:
        n = panel.columns
        _fetch(centres, y + panel.y, panel.y_step, n, zero)
        _fill(totals, 0.0, n)
        for a in range(panel.rows if x_dot != 0 else 0):
            offset, width = panel.x + a * panel.row_step, _width(panel, a)
            elements = _adjacent(row, x + offset, panel.step, width, zero)
            weights = _adjacent(dots, x_dot + offset, panel.step, width, zero)
            call_loop(loops, _WRITE_SHARES, width, (elements, centres, weights, row))
            _add(totals, row, width)
        _write(totals, y_dot + panel.y, panel, zero)
        k += 1
        panel = _panel(frame, k)
    return 0
