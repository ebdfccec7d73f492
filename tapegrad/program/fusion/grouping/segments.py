"""Segments of groups of rows: lines instead of addresses, and which of them go to memory."""

import bisect
import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from tapegrad.engine.codegen.segments.segment import (
    ALONG_LINES,
    ALWAYS_COMBINES,
    CHECK,
    EXPONENTIALS,
    EXTREME,
    INDEX,
    PRODUCT,
    TIES,
    TOTAL,
    LineElement,
    LinePart,
    OverlapRegion,
    RolledLine,
    Segment,
    SegmentLine,
    SegmentRow,
    TakenLine,
)
from tapegrad.engine.kernels.language.segment_frame import COUNTS, field_of
from tapegrad.engine.runtime.pace import with_pauses
from tapegrad.engine.sweep.threading.parallel import chunk_of_sums
from tapegrad.engine.sweep.threading.segment_chunks import PAIR
from tapegrad.ops.row import real_dtype
from tapegrad.program.fusion.grouping.rows import (
    ADD,
    BYTES,
    READ,
    ROLES,
    WRITE,
    Access,
    Listed,
    Span,
    StreamRow,
    is_element,
)

# Numbers of the fields of a segment that checks a list: entries, the list, first and last row of the table
CHECKED = (COUNTS, COUNTS + 1, COUNTS + 2, COUNTS + 3)


class BoundSegment(NamedTuple):
    """A segment, the fields of its frame, and its sums.

    Attributes
    ----------
    sums
        Of each the field with its address, the bytes of its element, and whether it is written instead of added to.
    divisible
        Whether it can be done in parts, in whatever order.
    steps
        How many steps the outer loops take together.
    rows
        For each row of the segment that of the stream.
    summed
        Of how many elements each sum is.
    """

    segment: Segment
    fields: list[int]
    sums: list[tuple[int, int, bool]]
    divisible: bool
    steps: int = 1
    rows: tuple[int, ...] = ()
    summed: tuple[int, ...] = ()

    @property
    def adds_up_as_rows(self) -> bool:
        """True if its parts, or itself as a whole, add up sums in the order in which rows do."""
        if self.segment.loops:
            return True
        chunks = {chunk_of_sums(n) for n in self.summed}
        return len(chunks) <= 1 and (self.divisible or not any(chunks))


class SegmentDraft:
    """A segment under construction.

    Parameters
    ----------
    rows
        The rows of a group.
    is_short
        Whether a vector holds each line.
    is_live
        Whether bytes are read by anything but the group after it.
    cleared
        Bytes that are to be zero in the beginning.
    """

    def __init__(
        self,
        rows: Sequence[StreamRow],
        is_short: bool,
        is_live: Callable[[int, int], bool],
        cleared: Iterable[tuple[int, int]],
    ) -> None:
        self._rows, self._is_short, self._loops = rows, is_short, rows[0].loops
        self._keys: dict[Span, int] = {}
        self._whole: dict[Span, Span] = {}
        for row in rows:
            for access in row.accesses:
                self._keys.setdefault(access.span, len(self._keys))
        self._parts = {key: key.whole for key in self._keys if key.part >= 0}
        for whole in self._parts.values():
            self._keys.setdefault(whole, len(self._keys))
        self._find_regions()
        self._line_of = self._elements() if is_short else {}
        self._cleared = [
            key
            for key in with_pauses(self._keys)
            if any(start <= key.start and key.stop <= stop for start, stop in cleared)
            and key not in self._whole
            and key not in self._parts
            and not key.is_scattered
            and key not in self._line_of
            and (is_short or not key.single)
            and key.is_dense(self._loops)
        ]
        self._loaded: set[Span] = set()
        self._written: set[Span] = set()
        self._sums: set[Span] = set()
        self._filled: dict[Span, set[int]] = {}  # by line the elements that are written before any is read
        for row in with_pauses(rows):
            self._follow(row)
        self._load_what_is_filled_in_part()
        changed = self._written.union(self._cleared) - self._sums
        self._kept = [key for key in with_pauses(self._keys) if key in changed and is_live(*key[:2])]
        self._by_steps = self._are_steps_apart()

    def clears(self, start: int, stop: int) -> bool:
        """Return whether all bytes between two addresses begin as zeros in registers."""
        inside = [key for key in self._cleared if start <= key.start and key.stop <= stop]
        return sum(key.stop - key.start for key in inside) == stop - start

    def _find_regions(self) -> None:
        """Find the lines that overlap others and are added to, and their unions."""
        written = [a for row in self._rows for a in row.accesses if a.mode != READ and not a.single]
        keys = {a.span.whole for row in self._rows for a in row.accesses if not a.single}
        for start, stop in _unions(written, keys):
            inside = [key for key in keys if start <= key.start and key.stop <= stop]
            if len(inside) > 1:
                dtype = inside[0].dtype
                whole = Span(start, stop, dtype, length=(stop - start) // BYTES[dtype])
                self._keys.setdefault(whole, len(self._keys))
                self._whole.update({key: whole for key in inside if key != whole})

    def _elements(self) -> dict[Span, Span]:
        """Return the lines of single elements that are read or written by themselves, of lines that are written."""
        wholes = [key for key in self._keys if key.part < 0]
        adjacent = (key for key in wholes if not key.single and not key.is_scattered)
        lines = sorted(adjacent, key=lambda key: (key.start, key.stop))
        starts = [line.start for line in lines]

        def whole(span: Span) -> Span:
            near = lines[max(bisect.bisect_right(starts, span.start) - 1, 0)] if lines else span
            return near if is_element(span, near) else span

        written = {whole(a.span) for row in self._rows for a in row.accesses if a.mode != READ}
        singles = [key for key in wholes if key.single]
        return {key: line for key in singles if (line := whole(key)) != key and line in written}

    def _follow(self, row: StreamRow) -> None:
        """Find out what is in registers when a row needs it."""
        begins = row.kind in (EXTREME, TIES) and self._along(row) == 0
        read = (READ,) if begins else (READ, ADD)
        for access in sorted(row.accesses, key=lambda access: access.mode != READ):
            around = self._line_of.get(access.span) or self._parts.get(access.span)
            if around is not None:
                self._follow_element(around, access)
                continue
            key = self._whole.get(access.span, access.span)
            if not self._is_short and access.mode != READ and access.single:
                self._sums.add(key)
            elif access.mode in read and key not in self._written and key not in self._cleared:
                self._loaded.add(key)
            if access.mode != READ:
                self._written.add(key)

    def _follow_element(self, line: Span, access: Access) -> None:
        """Find out the same of an element of a line, or of parts, whose others stay as they are.

        A line is not loaded if each of its elements is written before anything else is done with it.
        """
        is_known = line in self._written or line in self._cleared or line in self._loaded
        if not is_known and access.span in self._line_of:
            filled = self._filled.setdefault(line, set())
            if access.mode == WRITE:
                filled.add(access.start)
            if len(filled) == line.length:
                self._written.add(line)
            if access.start in filled:
                return
        if not is_known:
            self._loaded.add(line)
        if access.mode != READ:
            self._written.add(line)

    def _load_what_is_filled_in_part(self) -> None:
        """Load the lines of which some elements are never written: they are stored as a whole."""
        for line, filled in self._filled.items():
            if filled and line not in self._written:
                self._loaded.add(line)
                self._written.add(line)

    def bound(self) -> BoundSegment:
        """Return the segment and its frame."""
        counts = sorted(
            {key.length for key in self._keys if not key.single} | self._row_counts(), reverse=True
        )
        number_of = {count: number for number, count in enumerate(counts)}
        in_memory = [key for key in self._keys if key in self._loaded or key in self._kept]
        address_of = {key: number for number, key in enumerate(in_memory)}
        tables = self._tables(in_memory)
        ends = {table: len(in_memory) + k for k, table in enumerate(tables)}
        in_memory += [key._replace(start=key.start + table.reach) for table, key in tables.items()]
        rolls = {key: len(in_memory) + k for k, key in enumerate(each for each in in_memory if each.rolled)}
        in_memory += [key._replace(start=key.rolled.second, rolled=None) for key in rolls if key.rolled]
        in_memory = [key if key.rolled is None else key._replace(start=key.rolled.first) for key in in_memory]
        lines = tuple(
            SegmentLine(
                key.dtype,
                -1 if key.single else number_of[key.length],
                address_of.get(key, -1),
                self._taken(key, address_of, tables, ends),
                RolledLine(key.rolled.period, key.rolled.cut, rolls[key]) if key.rolled else None,
            )
            for key in self._keys
        )
        segment = Segment(
            tuple(each for row in with_pauses(self._rows) for each in self._row(row, number_of)),
            lines,
            self._regions(),
            tuple(counts) if self._is_short else tuple(range(len(counts))),
            self._is_short,
            tuple(sorted(self._keys[key] for key in self._kept)),
            tuple(sorted(self._keys[key] for key in {*self._cleared, *self._filled} - self._loaded)),
            len(self._loops),
            self._by_steps,
            elements=self._elements_of_lines(),
            parts=tuple(
                LinePart(self._keys[key], self._keys[all_], key.part) for key, all_ in self._parts.items()
            ),
        )
        summed = [each for each in segment.additions if not self._is_short and segment.sums_up(each)]
        joining = [] if self._is_short else segment.joining
        first, keys = len(in_memory), list(self._keys)
        behind = first + len(summed)
        in_memory += [keys[line] for line in (*(s.line for s in summed), *(r.reduced_to for r in joining))]
        joined = tuple(range(behind, len(in_memory)))
        segment = dataclasses.replace(segment, sums=tuple(range(first, behind)), joined=joined)
        iterations = self._loops[0] if segment.by_steps else max(counts, default=1)
        values = [iterations, 0, iterations, 0, *counts, *(key.start for key in in_memory)]
        for d, extent in enumerate(self._loops):
            values += [extent, *(key.steps[d] for key in in_memory)]
        sums = [
            (field_of(COUNTS + len(counts) + number), _bytes_of_sum(keys[each.line].dtype), each.stored)
            for number, each in enumerate(summed, first)
        ]
        return BoundSegment(
            segment,
            _frame(segment, values),
            sums,
            self._is_divisible() and not joining,
            math.prod(self._loops),
            summed=tuple(counts[each.number] for each in summed),
        )

    def _tables(self, in_memory: Iterable[Span]) -> dict[Listed, Span]:
        """Return a line of each table that rows are taken of, by list: lines in other columns reach as far."""
        found: dict[Listed, Span] = {}
        for key in in_memory:
            if key.listed is not None:
                found.setdefault(key.listed, key)
        return found

    def _taken(
        self,
        key: Span,
        address_of: Mapping[Span, int],
        tables: Mapping[Listed, Span],
        ends: Mapping[Listed, int],
    ) -> TakenLine | None:
        """Return how the elements of a line are found that are not adjacent."""
        if key.listed is None:
            return None
        by = next(
            n for each, n in self._keys.items() if each.dtype == INDEX and each.start == key.listed.start
        )
        return TakenLine(by, key.listed.step, address_of[tables[key.listed]], ends[key.listed])

    def checks(self) -> list[BoundSegment]:
        """Return the segments that check the lists by which rows are taken, each for the first row that takes by it."""
        found: dict[Listed, BoundSegment] = {}
        for number, row in enumerate(self._rows):
            for access in row.accesses:
                if access.span.listed is not None and access.span.listed not in found:
                    found[access.span.listed] = _check(access.span, number)
        return list(found.values())

    def _is_divisible(self) -> bool:
        """Return whether parts can be done in any order.

        A part computes once more what the one before hands on to it, for which that one must have left all that rows
        read as it was.
        """
        if self._loops and self._sums and not self._by_steps:
            return False  # at each step of the loops the sums are others, of which a part has no cells
        read = {access.span for row in self._rows for access in row.accesses if access.mode == READ}
        return not self._whole or (self._loaded & read).isdisjoint(self._kept)

    def _are_steps_apart(self) -> bool:
        """Return whether the steps of the first outer loop can be done in any order: each writes its own elements."""
        written = {*self._sums, *self._kept}
        return len(self._loops) > 0 and all(key.is_apart(self._loops) for key in written)

    def _row_counts(self) -> set[int]:
        return {row.count for row in self._rows if row.count > 1}

    def _row(self, row: StreamRow, number_of: dict[int, int]) -> list[SegmentRow]:
        """Return a row, once for each tangent, or for each step of an unrolled loop."""
        roles = [-1] * (ROLES * row.seeds)
        for access in row.accesses:
            roles[access.role] = self._keys[access.span]
        count = number_of[row.count] if row.count > 1 else -1
        if row.kind in (EXPONENTIALS, ALONG_LINES):
            operands = (*roles[::ROLES], roles[3])
            return [SegmentRow(row.op, row.dtype, row.kind, count, operands, (-1,) * 4, row.stored)]
        if row.kind in (PRODUCT, TOTAL):
            sides = 2 if row.kind == PRODUCT else 1
            operands = tuple(line for k in range(0, len(roles), ROLES) for line in roles[k : k + sides])
            return [
                SegmentRow(row.op, row.dtype, row.kind, count, operands, (roles[4], -1, -1, -1), row.stored)
            ]
        first, along = roles[:4], self._along(row)
        found: list[SegmentRow] = []
        for k in range(0, len(roles), ROLES):
            own = [line if line >= 0 else first[j] for j, line in enumerate(roles[k : k + 4])]
            a, b, c, d = roles[k + 4 : k + ROLES]
            one = SegmentRow(row.op, row.dtype, row.kind, count, tuple(own), (a, b, c, d), row.stored, along)
            if row.kind in (EXTREME, TIES) and found and found[-1].reduced_to == one.reduced_to:
                one = dataclasses.replace(one, along=ALWAYS_COMBINES)
            found.append(one)
        return found

    def _along(self, row: StreamRow) -> int:
        """Return the outer loops whose steps have one result, a bit each."""
        if row.kind not in (EXTREME, TIES):
            return 0
        to = next(access.span for access in row.accesses if access.mode != READ)
        loops = enumerate(zip(to.steps, self._loops, strict=True))
        return sum(1 << d for d, (step, extent) in loops if step == 0 and extent > 1)

    def _elements_of_lines(self) -> tuple[LineElement, ...]:
        return tuple(
            LineElement(self._keys[key], self._keys[line], (key.start - line.start) // BYTES[key.dtype])
            for key, line in self._line_of.items()
        )

    def _regions(self) -> tuple[OverlapRegion, ...]:
        parts: dict[Span, list[tuple[int, int]]] = {}
        for key, whole in self._whole.items():
            shift = (key.start - whole.start) // BYTES[key.dtype]
            parts.setdefault(whole, []).append((self._keys[key], shift))
        return tuple(OverlapRegion(self._keys[whole], tuple(sorted(found))) for whole, found in parts.items())


def _unions(written: Iterable[Access], keys: Iterable[Span]) -> list[tuple[int, int]]:
    """Return the unions of overlapping lines of which one is written."""
    spans = sorted({(a.start, a.stop) for a in written})
    found: list[tuple[int, int]] = []
    for start, stop in spans:
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(stop, found[-1][1]))
        else:
            found.append((start, stop))
    for number, (start, stop) in enumerate(with_pauses(found)):
        near = [key for key in keys if key.start < stop and start < key.stop]
        found[number] = min(key.start for key in near), max(key.stop for key in near)
    return found


def _bytes_of_sum(dtype: str) -> int:
    """Return the bytes of an element as the description of a segment says them."""
    part = real_dtype(dtype)
    return BYTES[part] | (PAIR if part != dtype else 0)


def _check(key: Span, number: int) -> BoundSegment:
    """Return the segment that checks the list of a row."""
    assert key.listed is not None
    lines = (SegmentLine(INDEX, 0, 0), SegmentLine(key.dtype, 0, 1, TakenLine(0, key.listed.step, 1, 2)))
    row = SegmentRow("positive", key.dtype, CHECK, 0, (1, 0, -1, -1), (-1,) * 4, 0)
    segment = Segment((row,), lines, (), (0,), is_short=False, kept=(), cleared=())
    addresses = (key.listed.start, key.start, key.start + key.listed.reach)
    fields = _frame(segment, [key.length, 0, key.length, 0, key.length, *addresses])  # as CHECKED says
    return BoundSegment(segment, fields, [], divisible=False, rows=(number,))


def _frame(segment: Segment, values: list[int]) -> list[int]:
    fields = [0] * segment.fields
    for number, value in enumerate(values):
        fields[field_of(number)] = value
    return fields
