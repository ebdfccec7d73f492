"""Fusion: rows of a stream that one kernel can do become segments.

``rows -> dependences -> groups -> segments``: the pass reads the frames of a stream that is bound on virtual memory,
and nothing else. What no row outside of a segment reads is not written to memory any more.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from tapegrad.engine.codegen.ir.target import host
from tapegrad.engine.codegen.segments.segment import EXTREME, PORTIONS, REVERSE, TIES
from tapegrad.engine.codegen.segments.vectors import lanes
from tapegrad.engine.kernels.lines.accumulate import BLOCK
from tapegrad.engine.runtime.pace import with_pauses
from tapegrad.ops import GUARDS, ROWS
from tapegrad.program.fusion.grouping.accesses import with_short_tables
from tapegrad.program.fusion.grouping.columns import written_out
from tapegrad.program.fusion.grouping.dependences import dependences, overlap
from tapegrad.program.fusion.grouping.extremes import with_ties
from tapegrad.program.fusion.grouping.grouping import (
    MAX_ALL_NUMBERS,
    MAX_NUMBERS,
    MAX_ROWS,
    Group,
    Grouping,
)
from tapegrad.program.fusion.grouping.recomputed import compute_again
from tapegrad.program.fusion.grouping.repeats import form_of, rows_of_part, windows
from tapegrad.program.fusion.grouping.rolls import with_rolls
from tapegrad.program.fusion.grouping.rows import (
    ADD,
    READ,
    WRITE,
    Access,
    DisjointMemory,
    ExtensibleMemory,
    StreamRow,
)
from tapegrad.program.fusion.grouping.scalars import all_written_out, with_scalars
from tapegrad.program.fusion.grouping.segments import BoundSegment, SegmentDraft
from tapegrad.program.fusion.grouping.spaces import with_common_loops
from tapegrad.program.streams.stream import InstructionStream

MAX_WINDOW_ROWS = 512  # rows that may meet in a group: the time to find groups grows with its square
_GUARDS = {ROWS[code].name for code in GUARDS}


def fuse(
    stream: InstructionStream,
    rows: Sequence[StreamRow],
    blocks: ExtensibleMemory,
    is_read_outside: Callable[[int, int], bool],
    runs_again: bool = False,
    in_one: bool = False,
    whole: bool = False,
) -> list[int | BoundSegment]:
    """Fuse the rows of a stream: numbers of rows, and segments, in the order of execution.

    Parameters
    ----------
    stream, rows, blocks
        The stream, its rows, and the virtual memory that they are bound on.
    is_read_outside
        Whether anything but this stream reads what it leaves between two addresses.
    runs_again
        Whether the stream is executed many times, one time after another.
    in_one
        Whether all rows are one window: no repetitions are looked for.
    whole
        Whether rows of few elements are numbers where all rows are such.
    """
    given = rows

    def as_lines() -> list[StreamRow]:
        return written_out(_with_loops(given, range(len(given)), stream), MAX_ROWS)

    all_numbers = all_written_out(stream) if whole else None
    rows, parts = with_scalars(given, stream, blocks, as_lines, all_numbers)
    rows, joined = with_rolls(with_short_tables(rows, parts, stream), parts, stream, blocks)
    rows, tied = with_ties(with_common_loops(rows), blocks.new)
    numbers = [joined[number] for number in tied]
    limit = MAX_NUMBERS if all_numbers is None else MAX_ALL_NUMBERS
    in_one = in_one or all_numbers is not None
    units = _units(written_out(rows, MAX_ROWS), blocks, is_read_outside, runs_again, in_one, limit)
    found: list[int | BoundSegment] = []
    for unit in with_pauses(units):
        if isinstance(unit, int):
            found += numbers[unit]
        else:
            found.append(unit._replace(rows=tuple(numbers[n][0] for n in unit.rows)))
    return found


def _with_loops(
    rows: Sequence[StreamRow], numbers: Sequence[int], stream: InstructionStream
) -> list[StreamRow]:
    """Return the rows with all the loops that segments can have around them."""
    return with_common_loops(with_short_tables(rows, numbers, stream))


def _units(
    rows: list[StreamRow],
    blocks: DisjointMemory,
    is_read_outside: Callable[[int, int], bool],
    runs_again: bool,
    in_one: bool,
    most_numbers: int,
) -> list[int | BoundSegment]:
    """Return the numbers of rows, and segments, in the order of execution."""
    before = dependences(rows, blocks)
    _keep_in_order(rows, before)
    rows = [_as_it_is(row) if row.clears and before[number] else row for number, row in enumerate(rows)]
    parts = [slice(0, len(rows))] if in_one else windows(rows, MAX_WINDOW_ROWS, rows_of_part(rows, MAX_ROWS))
    units = _grouped(rows, before, parts, blocks, most_numbers)
    compute_again(rows, units, blocks, lanes(host()), is_read_outside)
    readers = _Readers(rows, units, blocks, runs_again)
    pending = {number: row.accesses[0] for number, row in enumerate(rows) if row.clears}
    found: list[int | BoundSegment] = []
    for position, unit in enumerate(with_pauses(units)):
        numbers = [unit] if isinstance(unit, int) else unit.rows
        touched = [access for number in numbers for access in rows[number].accesses]
        near = {blocks.around(access.start)[0] for access in touched}
        cleared = [
            n
            for n, access in pending.items()
            if blocks.around(access.start)[0] in near and any(overlap(access, each) for each in touched)
        ]
        spans = {pending.pop(number).span[:2]: number for number in cleared}

        def is_live(start: int, stop: int, position: int = position) -> bool:
            return is_read_outside(start, stop) or readers.beside(position, start, stop)

        described = bound = None
        if not isinstance(unit, int) and (len(numbers) > 1 or _is_worth_it(rows[numbers[0]])):
            described = SegmentDraft([rows[n] for n in numbers], unit.is_short, is_live, spans)
            bound = described.bound()
        if described is None or bound is None or not bound.adds_up_as_rows:
            found += [*spans.values(), *(_alone(rows[n], n, is_live) for n in numbers)]
            continue
        found += [number for span, number in spans.items() if not described.clears(*span)]
        found += [each._replace(rows=tuple(numbers[row] for row in each.rows)) for each in described.checks()]
        of_rows = tuple(number for number in numbers for _ in range(rows[number].copies))
        found.append(bound._replace(rows=of_rows))
    return [*found, *pending]


def _alone(row: StreamRow, number: int, is_live: Callable[[int, int], bool]) -> int | BoundSegment:
    """Return a row by itself: that of the stream, or a segment if it is only a part of that one."""
    if row.kind != TIES and not row.is_part:
        return number
    is_short = not row.loops and row.count <= lanes(host())
    return SegmentDraft([row], is_short, is_live, ()).bound()._replace(rows=(number,) * row.copies)


def _grouped(
    rows: Sequence[StreamRow],
    before: list[set[int]],
    parts: Sequence[slice],
    blocks: DisjointMemory,
    most_numbers: int,
) -> list[Group | int]:
    """Return the groups of each part of a stream, and the rows beside them, in order. Equal parts are grouped alike."""
    known: dict[Any, list[Group | int]] = {}
    found: list[Group | int] = []
    for part in parts:
        start, own = part.start, rows[part]
        inside = [{n - start for n in numbers if n >= start} for numbers in before[part]]
        form = form_of(own, inside, blocks)
        if form not in known:
            known[form] = Grouping(own, inside, lanes(host()), blocks, most_numbers).ordered()
        found += [unit + start if isinstance(unit, int) else unit.moved(start) for unit in known[form]]
    return found


def _keep_in_order(rows: Sequence[StreamRow], before: list[set[int]]) -> None:
    """Keep guards in the order of the recording: the first failure selects the next specialization.

    A list is checked behind them: where one fails it may be the list of another table.
    """
    last: set[int] = set()
    for number, row in enumerate(rows):
        if row.op in _GUARDS or row.takes_rows:
            before[number] |= last
        if row.op in _GUARDS:
            last = {number}


def _as_it_is(row: StreamRow) -> StreamRow:
    """Return a row that clears memory which has been used before, as one that stays where it is."""
    return dataclasses.replace(row, kind="")


def _is_worth_it(row: StreamRow) -> bool:
    """Return whether a row is faster as a segment though it is alone.

    Its own kernel would move blocks to add a long line of cotangents up, or go through a line that is not adjacent.
    """
    return (row.kind == EXTREME and len(row.loops) > 0) or row.kind in (TIES, PORTIONS) or _sums_up(row)


def _sums_up(row: StreamRow) -> bool:
    """Return whether a row adds up a long line of cotangents."""
    return (
        row.kind == REVERSE and any(a.single and a.mode != READ for a in row.accesses) and row.count > BLOCK
    )


class _Readers:
    """Readers of memory among the units of a stream."""

    def __init__(
        self,
        rows: Sequence[StreamRow],
        units: Sequence[Group | int],
        blocks: DisjointMemory,
        runs_again: bool,
    ) -> None:
        self._runs_again, self._blocks = runs_again, blocks
        self._reads: dict[int, list[tuple[int, Access]]] = {}  # by block
        for position, unit in enumerate(with_pauses(units)):
            numbers, again = ([unit], frozenset[int]()) if isinstance(unit, int) else (unit.rows, unit.again)
            own = {
                access.span for number in again for access in rows[number].accesses if access.mode == WRITE
            }
            for number in numbers:
                for access in rows[number].accesses:
                    if access.mode == ADD or (access.mode == READ and access.span not in own):
                        block = blocks.around(access.start)[0]
                        self._reads.setdefault(block, []).append((position, access))

    def beside(self, position: int, start: int, stop: int) -> bool:
        """Return whether a unit other than this one reads bytes that it leaves."""
        return any(
            (other > position or (self._runs_again and other != position))
            and access.start < stop
            and start < access.stop
            for other, access in self._reads.get(self._blocks.around(start)[0], ())
        )
