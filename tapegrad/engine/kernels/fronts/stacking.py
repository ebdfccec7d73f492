"""Stack of updates: square blocks of the rows of fronts, added to those of their parents or taken from them.

Squares are in Fortran order. Of a symmetric one the lower triangle is used, unless a caller says `whole`.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.fronts.plan import FrontPlan, panel_columns
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.raw_memory import load_at, load_i64, size_of, store_at, store_i64


@noinline
def note_rows(plan: FrontPlan, s: int, local: int) -> None:
    """Write the place of each pivot and each row of a front at its pivot number in `local`."""
    pivot, width, height = panel_columns(plan, s)
    for i in range(width):
        store_i64(local, pivot + i, i)
    rows = plan.rows + 8 * load_i64(plan.starts, s)
    for i in range(height):
        store_i64(local, load_i64(rows, i), width + i)


@noinline
def places_in_parent(plan: FrontPlan, child: int, s: int, local: int, places: int) -> bool:
    """Write the places of a child's rows in its parent, whose rows are noted; return whether all ascend and exist."""
    pivot, width, height = panel_columns(plan, s)
    own, begin = plan.rows + 8 * load_i64(plan.starts, child), plan.rows + 8 * load_i64(plan.starts, s)
    last = np.int64(-1)
    for k in range(load_i64(plan.starts, child + 1) - load_i64(plan.starts, child)):
        row = load_i64(own, k)
        place = load_i64(local, row)
        if place <= last or place >= width + height:
            return False
        # what was noted may be of another front
        if row != (pivot + place if place < width else load_i64(begin, place - width)):
            return False
        store_i64(places, k, place)
        last = place
    return True


@always_inline
def _column(panel: int, square: int, width: int, height: int, place: int, size: int) -> int:
    """Return the address of a column of a front, so that rows count from its first pivot."""
    if place < width:
        return panel + place * (width + height) * size
    return square + ((place - width) * height - width) * size


@noinline
def add_update(
    update: int, count: int, places: int, panel: int, square: int, width: int, height: int, zero: Any
) -> None:
    """Add the lower triangle of a child's update to the panel and the square of its parent."""
    size = size_of(zero)
    for j in range(count):
        column = _column(panel, square, width, height, load_i64(places, j), size)
        source = update + j * count * size
        for i in range(j, count):
            offset = load_i64(places, i) * size
            value = load_at(column, offset, zero) + load_at(source, i * size, zero)
            store_at(column, offset, value, zero)


@noinline
def take_square(
    into: int, count: int, places: int, panel: int, square: int, width: int, height: int, zero: Any
) -> None:
    """Write the lower triangle of a child's square from the panel and the square of its parent."""
    size = size_of(zero)
    for j in range(count):
        column = _column(panel, square, width, height, load_i64(places, j), size)
        target = into + j * count * size
        for i in range(j, count):
            store_at(target, i * size, load_at(column, load_i64(places, i) * size, zero), zero)
