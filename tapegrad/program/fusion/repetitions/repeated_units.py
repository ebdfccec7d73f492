"""Units of a long stream: of each distinct window the pass makes them once, and of its repetitions they are moved.

Windows are alike if the pass reads the same of them but for addresses: their rows, which accesses overlap and how, and
which of them are read elsewhere. So each gets the units that the pass would make of it.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Protocol

import numpy as np

from tapegrad.engine.kernels.language.segment_frame import COUNTS, field_of
from tapegrad.engine.runtime.pace import pause_point, with_pauses
from tapegrad.program.fusion.grouping.grouping import MAX_ROWS
from tapegrad.program.fusion.grouping.groups_to_segments import MAX_WINDOW_ROWS, fuse
from tapegrad.program.fusion.grouping.repeats import kind_of, rows_of_part, windows_of
from tapegrad.program.fusion.grouping.rows import WRITE, ExtensibleMemory
from tapegrad.program.fusion.grouping.segments import BoundSegment
from tapegrad.program.fusion.repetitions.distinct import distinct
from tapegrad.program.fusion.repetitions.overlaps import Overlaps, ReadSpans
from tapegrad.program.fusion.repetitions.row_columns import Memory, RowColumns

_Units = list[int | BoundSegment]
MIN_ROWS = 2 * MAX_ROWS  # of a stream in which repetitions are looked for


class WindowMemory(Memory, ExtensibleMemory, Protocol):
    """Memory to which blocks can be added."""


class RepeatedUnits:
    """The units of a long stream.

    Parameters
    ----------
    columns
        The rows of the stream.
    memory
        The memory that it is bound on.
    is_read_outside
        For each access whether anything but this stream reads its bytes.
    runs_again
        Whether the stream is executed many times, one time after another.
    """

    def __init__(
        self, columns: RowColumns, memory: WindowMemory, is_read_outside: np.ndarray, runs_again: bool
    ) -> None:
        self._columns, self._memory, self._runs_again = columns, memory, runs_again
        self._overlaps = Overlaps(columns.start, columns.stop)
        self._outside = is_read_outside

    def found(self) -> _Units | None:
        """Return the numbers of rows, and segments, in order; `None` if repetitions cannot be moved."""
        if not self._overlaps.may_be_told():
            return None
        self._clears, self._stays = self._rows_that_clear()
        self._edges = self._window_edges()
        self._is_read = self._outside | self._is_read_elsewhere()
        found: list[Iterable[int | BoundSegment]] = [()] * (len(self._edges) - 1)
        for numbers in self._alike():
            moved = self._units(numbers)
            if moved is None:
                return None
            for number, units in zip(numbers.tolist(), moved, strict=True):
                found[number] = units
        return list(chain.from_iterable(found))

    def _rows_that_clear(self) -> tuple[np.ndarray, np.ndarray]:
        """Return which rows clear memory where that is needed, and which others stay where they are.

        These clear memory that has been used before.
        """
        columns = self._columns
        clears = np.array([row.clears for row in columns.samples], np.bool_)[columns.sample]
        is_used = -self._overlaps.highest(-columns.row) < columns.row
        stays = np.zeros(len(clears), np.bool_)
        stays[columns.row[is_used]] = True
        return clears & ~stays, clears & stays

    def _window_edges(self) -> np.ndarray:
        """Return where windows begin, and the end of the last. Rows that clear memory go with those behind them."""
        limit = rows_of_part(self._columns.samples, MAX_ROWS)
        starts = [each.start for each in windows_of(self._kinds(), MAX_WINDOW_ROWS, limit)]
        others = np.where(self._clears, 0, np.arange(1, len(self._clears) + 1))
        behind = np.concatenate(
            [[0], np.maximum.accumulate(others)]
        )  # the last row before that does not clear
        return np.unique([0, *behind[starts], len(self._clears)])

    def _kinds(self) -> np.ndarray:
        """Return a number for each row, equal for rows that do the same with other operands."""
        numbers: dict[object, int] = {}
        kinds = [numbers.setdefault(kind_of(row), len(numbers)) for row in self._columns.samples]
        found: np.ndarray = np.array(kinds, np.int64)[self._columns.sample]
        found[self._stays] += len(numbers)
        return found

    def _is_read_elsewhere(self) -> np.ndarray:
        """Return for each access whether a later window reads its bytes; of a stream that runs again, any other one."""
        columns, count = self._columns, len(self._edges)
        window = np.repeat(np.arange(count - 1), np.diff(self._edges))[columns.row]
        reads = columns.mode != WRITE
        found: np.ndarray = self._overlaps.highest(np.where(reads, window, -1)) > window
        if self._runs_again:
            found |= -self._overlaps.highest(np.where(reads, -window, -count)) < window
        return found

    def _alike(self) -> Iterator[np.ndarray]:
        """Yield the numbers of windows that are alike, for each distinct one."""
        accesses = self._columns.first[self._edges]
        self._first_row, self._first_access = self._edges[:-1], accesses[:-1]
        self._rows, self._accesses = np.diff(self._edges), np.diff(accesses)
        _, shapes = distinct(np.stack([self._rows, self._accesses], 1))
        for shape in range(shapes.max() + 1):
            numbers = np.flatnonzero(shapes == shape)
            _, which = distinct(self._descriptions(numbers))
            yield from (numbers[which == k] for k in range(which.max() + 1))

    def _descriptions(self, numbers: np.ndarray) -> np.ndarray:
        """Return what the pass reads of windows of as many rows and accesses each, (windows, k) int64."""
        pause_point()
        columns, first = self._columns, self._first_access[numbers, None]
        rows = self._first_row[numbers, None] + np.arange(self._rows[numbers[0]])
        accesses = first + np.arange(self._accesses[numbers[0]])
        before = self._overlaps.before[accesses]
        is_inside = before >= first
        return np.concatenate(
            [
                2 * columns.sample[rows] + self._stays[rows],
                np.where(is_inside, accesses - before, 0),
                np.where(is_inside, columns.start[accesses] - columns.start[before], 0),
                2 * (columns.stop[accesses] - columns.start[accesses]) + self._is_read[accesses],
            ],
            1,
        )

    def _units(self, numbers: np.ndarray) -> Iterable[Iterable[int | BoundSegment]] | None:
        """Return the units of each of some windows that are alike; `None` if they have addresses of their own."""
        columns, own = self._columns, int(numbers[0])
        first, access = int(self._first_row[own]), int(self._first_access[own])
        rows = columns.rows(range(first, first + int(self._rows[own])), self._memory)
        accesses = slice(access, access + int(self._accesses[own]))
        if not columns.describe(rows, accesses):
            return None
        is_read = _IsRead(columns.start[accesses], columns.stop[accesses], self._is_read[accesses])
        stays = self._stays[first : first + len(rows)].tolist()
        rows = [
            dataclasses.replace(row, kind="") if each else row for row, each in zip(rows, stays, strict=True)
        ]
        own_memory = _OwnMemory(self._memory)
        stream = columns.stream.taking(np.arange(first, first + len(rows)))
        units = fuse(stream, rows, own_memory, is_read, self._runs_again, in_one=True)
        repetitions = _Repetitions(
            self._first_row[numbers],
            self._first_access[numbers],
            (columns.start, columns.stop),
            accesses,
            own_memory,
        )
        if not all(map(repetitions.can_have, units)):
            return None
        return zip(*map(repetitions.moved, with_pauses(units)), strict=True)


class _IsRead:
    """Readers of the bytes that a window leaves.

    Parameters
    ----------
    start, stop
        The bytes of its accesses.
    is_read
        Of each access whether anything but the window reads them.
    """

    def __init__(self, start: np.ndarray, stop: np.ndarray, is_read: np.ndarray) -> None:
        spans = zip(start.tolist(), stop.tolist(), strict=True)
        self._known = dict(zip(spans, is_read.tolist(), strict=True))
        self._spans = ReadSpans(start[is_read], stop[is_read])

    def __call__(self, start: int, stop: int) -> bool:
        known = self._known.get((start, stop))
        return self._spans.overlaps(start, stop) if known is None else known


class _OwnMemory:
    """The memory of a stream, and which of it a window has added: its repetitions, one after another, share that."""

    def __init__(self, memory: WindowMemory) -> None:
        self._memory = memory
        self._added: list[tuple[int, int]] = []

    def around(self, address: int) -> tuple[int, int]:
        """Return the bytes of the piece that an address lies in."""
        return self._memory.around(address)

    def new(self, size: int) -> int:
        """Return the first byte of a new piece of `size` bytes."""
        start = self._memory.new(size)
        self._added.append((start, start + size))
        return start

    def has(self, address: int) -> bool:
        """Return whether an address lies in what has been added."""
        return any(start <= address < stop for start, stop in self._added)


class _Repetitions:
    """Repetitions of a window.

    Parameters
    ----------
    rows, accesses
        The first row and the first access of each.
    spans
        The first byte of each access of the stream, and the byte behind its last one.
    own
        The accesses of the window whose units are moved.
    memory
        The memory that it has added to.
    """

    def __init__(
        self,
        rows: np.ndarray,
        accesses: np.ndarray,
        spans: tuple[np.ndarray, np.ndarray],
        own: slice,
        memory: _OwnMemory,
    ) -> None:
        self._rows, self._accesses, self._memory = rows, accesses, memory
        self._start = spans[0]
        self._own = spans[0][own], spans[1][own]
        self._access_at: dict[int, int | None] = {begin: k for k, begin in enumerate(self._own[0].tolist())}

    def _access(self, address: int) -> int | None:
        """Return an access that an address lies in: one that begins there, if there is one."""
        found = self._access_at.get(address)
        if found is None:
            (inside,) = np.nonzero((self._own[0] <= address) & (address < self._own[1]))
            found = self._access_at[address] = int(inside[0]) if len(inside) else None
        return found

    def can_have(self, unit: int | BoundSegment) -> bool:
        """Return whether all addresses of a unit of the window lie in accesses, or in memory of its own."""
        return isinstance(unit, int) or all(
            self._access(unit.fields[at]) is not None or self._memory.has(unit.fields[at])
            for at in _pointers(unit)
        )

    def moved(self, unit: int | BoundSegment) -> Sequence[int | BoundSegment]:
        """Return a unit of the window, for each repetition."""
        if isinstance(unit, int):
            numbers: list[int] = (self._rows + unit).tolist()
            return numbers
        fields = np.tile(np.array(unit.fields, np.int64), (len(self._rows), 1))
        for at in _pointers(unit):
            access = self._access(unit.fields[at])
            if access is not None:
                fields[:, at] += self._start[self._accesses + access] - self._own[0][access]
        rows = self._rows[:, None] + np.array(unit.rows, np.int64)
        return [
            unit._replace(fields=own, rows=tuple(numbers))
            for own, numbers in zip(fields.tolist(), rows.tolist(), strict=True)
        ]


def _pointers(unit: BoundSegment) -> list[int]:
    """Return the fields of a segment's frame that are addresses."""
    first = COUNTS + len(unit.segment.counts)
    return [field_of(number) for number in range(first, first + unit.segment.addresses)]
