"""Largest and smallest elements in segments: along the lines of a space, or along a loop around them.

Their derivative shares a cotangent among the elements that attain the extreme: these are counted first, by a row of
its own, into memory that no row of the stream has.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence

from tapegrad.engine.codegen.segments.segment import EXTREME, FORWARD, PORTIONS, REVERSE, TIES
from tapegrad.engine.kernels.language import frame as field
from tapegrad.engine.runtime.pace import with_pauses
from tapegrad.engine.sweep.threading.parallel import SUMS_THRESHOLD
from tapegrad.program.fusion.grouping.dependences import overlap
from tapegrad.program.fusion.grouping.nests import Nest, is_long
from tapegrad.program.fusion.grouping.rows import ADD, BYTES, READ, WRITE, Access, Span, StreamRow

LONGEST_ALONE = SUMS_THRESHOLD - 64  # of longer lines, rows whose kernels share them among threads are left
_MAX_TIES = {"f64": 1 << 53, "f32": 1 << 24}  # that are counted without rounding
_X, _TIES, _Y, _X_BAR, _Y_BAR = 0, 1, 3, 4, 7  # roles of operands


def extreme(op: str, dtype: str, kind: str, fields: list[int], nest: Nest) -> StreamRow | None:
    """Return the row of an extreme, or of its derivative; `None` if no segment can have it."""
    if kind not in (FORWARD, REVERSE) or (kind == REVERSE and not fields[field.X_BAR]):
        return None
    found = _space(dtype, fields, nest)
    if found is None:
        return None
    count, loops, (x, y) = found

    def access(role: int, mode: int, start: int) -> Access:
        span = (x, y)[role in (_Y, _Y_BAR)]
        moved = span._replace(start=start, stop=start + span.stop - span.start)
        return Access(role, mode, moved)

    read = access(_X, READ, fields[field.X])
    if kind == FORWARD:
        return StreamRow(op, dtype, EXTREME, count, (read, access(_Y, ADD, fields[field.Y])), loops=loops)
    stored = fields[field.STORE] & 1
    shared = access(_X_BAR, WRITE if stored else ADD, fields[field.X_BAR])
    others = read, access(_Y, READ, fields[field.Y]), access(_Y_BAR, READ, fields[field.Y_BAR])
    if any(overlap(shared, each) for each in others):
        return None
    if math.prod(loops) * count > _MAX_TIES[dtype]:
        return None
    return StreamRow(op, dtype, PORTIONS, count, (*others[:2], shared, others[2]), stored, loops=loops)


def _space(
    dtype: str, fields: list[int], nest: Nest
) -> tuple[int, tuple[int, ...], tuple[Span, Span]] | None:
    """Elements of a line, the loops around it, and what is gone through of the operand and of the result, from 0 on."""
    item = BYTES[dtype]
    x_steps, y_steps = nest.steps[_X], nest.steps[_Y]
    dims = [*zip(nest.extents, x_steps, y_steps, strict=True), (fields[field.COUNT], fields[field.STRIDE], 0)]
    dims = sorted((each for each in dims if each[0] != 1), key=lambda each: -each[1])
    if not dims or any(extent < 1 or x_step < item or y_step < 0 for extent, x_step, y_step in dims):
        return None
    *outer, (count, x_step, y_step) = dims
    if x_step != item or y_step not in (0, item) or (outer and not is_long(count)):
        return None
    loops = tuple(extent for extent, _, _ in outer)
    length = 1 if y_step == 0 else count
    x = _span(dtype, count, loops, [step for _, step, _ in outer])
    y = _span(dtype, length, loops, [step for _, _, step in outer])._replace(single=length < count)
    return (count, loops, (x, y)) if x.is_injective(loops) and _is_apart(y, loops) else None


def _span(dtype: str, length: int, loops: Sequence[int], steps: Sequence[int]) -> Span:
    """Lines of so many elements, the first of which begins at 0."""
    reached = sum(step * (extent - 1) for step, extent in zip(steps, loops, strict=True))
    return Span(0, reached + length * BYTES[dtype], dtype, length=length, steps=tuple(steps))


def _is_apart(y: Span, loops: Sequence[int]) -> bool:
    """Return whether each result has an element of its own."""
    own = [(step, extent) for step, extent in zip(y.steps, loops, strict=True) if step]
    return y._replace(steps=tuple(step for step, _ in own)).is_injective([extent for _, extent in own])


def with_ties(rows: Sequence[StreamRow], new: Callable[[int], int]) -> tuple[list[StreamRow], list[int]]:
    """Insert rows that count ties before the rows that read them; return with each row its old number.

    Parameters
    ----------
    rows
        The rows of a stream.
    new
        Gives memory of so many bytes.
    """
    found: list[StreamRow] = []
    numbers: list[int] = []
    for number, row in enumerate(with_pauses(rows)):
        own = [row]
        if row.kind in (EXTREME, PORTIONS) and not row.loops and row.count > LONGEST_ALONE:
            own = [dataclasses.replace(row, kind="")]
        elif row.kind == PORTIONS:
            own = _with_ties(row, new)
        found += own
        numbers += itertools.repeat(number, len(own))
    return found, numbers


def _with_ties(row: StreamRow, new: Callable[[int], int]) -> list[StreamRow]:
    x, y, x_bar, y_bar = row.accesses
    start = new(y.stop - y.start)
    ties = y.span._replace(start=start, stop=start + y.stop - y.start)
    counted = (x, y, Access(_X_BAR, ADD, ties))
    shared = (x, Access(_TIES, READ, ties), y, x_bar, y_bar)
    return [
        dataclasses.replace(row, kind=TIES, accesses=counted, stored=0),
        dataclasses.replace(row, accesses=shared),
    ]
