"""Sums of exponentials over a short axis: all elements of a sum beside one another, in the rows of one loop.

Where the elements of a sum lie in as many lines (a table that is computed component by component), the loop over these
is written out, around the sum and around all rows over the same elements: so a sum's elements meet in registers. The
same is done around largest and smallest elements.
"""

import dataclasses
from collections import Counter
from collections.abc import Sequence

from tapegrad.engine.codegen.segments.segment import (
    ALONG_LINES,
    EXPONENTIALS,
    EXTREME,
    FORWARD,
    PORTIONS,
    REVERSE,
    SHARES,
    SUM,
)
from tapegrad.engine.kernels.language import frame as field
from tapegrad.engine.runtime.pace import with_pauses
from tapegrad.engine.sweep.threading.parallel import SUMS_THRESHOLD
from tapegrad.program.fusion.grouping.nests import Nest, is_long, is_short
from tapegrad.program.fusion.grouping.rows import ADD, BYTES, READ, ROLES, WRITE, Access, Span, StreamRow

MAX_LINES = 16  # lines that are written out
_SUMS = (EXPONENTIALS, ALONG_LINES)
_X, _Y = 0, 3
_X_BAR, _Y_BAR = 4, 7


def sum_of_exponentials(
    op: str, kind: str, fields: list[int], nest: Nest, may_be_short: bool
) -> StreamRow | None:
    """Return the row of a sum of exponentials whose lines are the steps of an outer loop; `None` for another sum."""
    count, stride = fields[field.COUNT], fields[field.STRIDE + _X]
    if kind not in (FORWARD, REVERSE) or len(nest.extents) != 1:
        return None
    if not may_be_short and not is_long(nest.extents[0]):
        return None
    (length,), ((x_step,), _, _, (y_step,)) = nest.extents, nest.steps
    item = BYTES["f64"]
    if kind == REVERSE and not fields[field.X_BAR + _X]:
        return None
    if may_be_short and stride == y_step == item and x_step >= count * item:
        return _along_lines(op, kind, fields, nest)
    if not x_step == y_step == item or stride < length * item:
        return None

    def access(role: int, mode: int, step: int) -> Access:
        start = fields[(field.X if role < ROLES // 2 else field.X_BAR) + role % 4]
        stop = start + (count - 1) * step + length * item
        return Access(role, mode, Span(start, stop, "f64", length=length, steps=(step,)))

    if kind == FORWARD:
        summed = access(_X, READ, stride), access(_Y, WRITE, 0)
        return StreamRow(op, "f64", EXPONENTIALS, length, summed, loops=(count,))
    stored = fields[field.STORE] & 1
    shared = (
        access(_X, READ, stride),
        access(_Y, READ, 0),
        access(_X_BAR, WRITE if stored else ADD, stride),
        access(_Y_BAR, READ, 0),
    )
    return StreamRow(op, "f64", SHARES, length, shared, stored, loops=(count,))


def _along_lines(op: str, kind: str, fields: list[int], nest: Nest) -> StreamRow | None:
    """Return the row of sums along short lines, whose results are a short line; `None` if that is longer."""
    count, (length,), (step, *_) = fields[field.COUNT], nest.extents, nest.steps[_X]
    if not is_short(count) or not is_short(length):
        return None
    item = BYTES["f64"]

    def line(role: int, mode: int) -> Access:
        start = fields[(field.X if role < ROLES // 2 else field.X_BAR) + role % 4]
        stop = start + (length - 1) * step + count * item
        return Access(role, mode, Span(start, stop, "f64", length=count, steps=(step,)))

    if kind == FORWARD:
        y = fields[field.Y]
        result = Span(y, y + length * item, "f64", length=length, steps=(0,))
        summed = line(_X, READ), Access(_Y, WRITE, result)
        return StreamRow(op, "f64", ALONG_LINES, count, summed, loops=(length,))
    stored = fields[field.STORE] & 1

    def single(role: int, start: int) -> Access:
        return Access(role, READ, Span(start, start + length * item, "f64", True, 1, (item,)))

    shared = (
        line(_X, READ),
        single(_Y, fields[field.Y]),
        line(_X_BAR, WRITE if stored else ADD),
        single(_Y_BAR, fields[field.Y_BAR]),
    )
    return StreamRow(op, "f64", SHARES, count, shared, stored, loops=(length,))


def written_out(rows: Sequence[StreamRow], limit: int) -> list[StreamRow]:
    """Rows without the loop over the lines of such sums or extremes, where all are together not more than a limit.

    A sum whose lines are too many is a row that no segment can have, and so are elements of a table that are taken in
    a loop: each of its steps would check the list.
    """
    sizes: Counter[tuple[int, ...]] = Counter()
    for row in with_pauses(rows):
        sizes[row.count, *row.loops] += row.loops[0] if len(row.loops) == 1 else 0
    short = {
        (row.count, *row.loops)
        for row in rows
        if (row.kind in (EXPONENTIALS, SHARES, EXTREME, PORTIONS) or _sums_lines(row) or row.takes_rows)
        and len(row.loops) == 1
        and row.loops[0] <= MAX_LINES
        and sizes[row.count, *row.loops] <= limit
    }
    return [
        _short(row)
        if row.loops and is_short(row.count)
        else _written_out(row)
        if (row.count, *row.loops) in short
        else _left(row)
        for row in with_pauses(rows)
    ]


def _sums_lines(row: StreamRow) -> bool:
    """Return whether a row adds up the lines of its loop."""
    return row.kind == SUM and any(a.mode == ADD and a.span.steps == (0,) for a in row.accesses)


def _left(row: StreamRow) -> StreamRow:
    is_left = row.kind in _SUMS or (row.takes_rows and row.loops)
    return dataclasses.replace(row, kind="", loops=()) if is_left else row


def _short(row: StreamRow) -> StreamRow:
    """Return the row of a short table without its loop, or one that no segment can have."""
    found = _written_out(row)
    return dataclasses.replace(found, kind="", loops=()) if found.loops else found


def _written_out(row: StreamRow) -> StreamRow:
    (count,) = row.loops
    if row.seeds > 1 or (row.kind not in _SUMS and any(map(_is_written_again, row.accesses))):
        return row
    if row.count >= SUMS_THRESHOLD and any(a.single and a.mode != READ for a in row.accesses):
        return row  # a loop of its own would be summed in chunks, which is another order
    accesses = [
        _at_step(access, k)
        for k in range(count)
        for access in row.accesses
        if k == 0 or not _is_written_again(access)
    ]
    return dataclasses.replace(row, accesses=tuple(accesses), seeds=count, loops=())


def _is_written_again(access: Access) -> bool:
    """Return whether each step of the loop writes the same elements."""
    return access.mode == WRITE and access.span.steps == (0,)


def _at_step(access: Access, k: int) -> Access:
    """Return an access in one step of the loop."""
    span = access.span
    start = span.start + k * span.steps[0]
    stop = start + span.length * BYTES[span.dtype]
    if span.listed is not None:
        stop = start + span.listed.reach + BYTES[span.dtype]
    return Access(access.role + ROLES * k, access.mode, span._replace(start=start, stop=stop, steps=()))
