"""Repeated subsequences of a stream (unrolled loops), grouped alike so that their segment is compiled once.

Groups that are found at the same position of each repetition become the same segment, which is compiled once.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from tapegrad.engine.runtime.pace import with_pauses
from tapegrad.program.fusion.grouping.rows import DisjointMemory, Span, StreamRow

_MIN_REPEATED_ROWS = 4  # minimum rows of a repetition
_MIN_REPETITIONS = 4  # minimum repetitions


def windows(rows: Sequence[StreamRow], most: int, limit: int) -> list[slice]:
    """Return the parts of a stream that are grouped one by one.

    Parameters
    ----------
    rows
        The rows of the stream.
    most
        Rows of a part where nothing repeats.
    limit
        Rows of a part that is a repetition, or several of them; as many as there can be in a group.
    """
    if len(rows) <= 2 * limit:  # what comes before a repetition and what comes after may become one group
        return [slice(start, start + most) for start in range(0, len(rows), most)]
    found = []
    for start, stop, period in _stretches(_kinds(rows), 0, len(rows), limit):
        length = most if period == 0 else limit // period * period
        found += [slice(first, min(first + length, stop)) for first in range(start, stop, length)]
    return found


def _kind(row: StreamRow) -> tuple[object, ...]:
    """Return a key of a row that does not depend on its operands."""
    return row.op, row.dtype, row.kind, row.count, len(row.accesses), row.stored, row.seeds, row.loops


def _kinds(rows: Sequence[StreamRow]) -> np.ndarray:
    """Return a number for each row, equal for rows that do the same with other operands."""
    numbers: dict[tuple[object, ...], int] = {}
    return np.array([numbers.setdefault(_kind(row), len(numbers)) for row in with_pauses(rows)], np.int64)


def form_of(
    rows: Sequence[StreamRow], before: Sequence[set[int]], blocks: DisjointMemory
) -> tuple[object, ...]:
    """Return a key of the rows that does not depend on addresses: kinds, operand numbers, overlaps, dependences.

    Operands are numbered in the order in which they are met. Beside that it matters which of them overlap, and how.
    """
    locations = _Locations(blocks)
    named = [
        (
            _kind(row),
            tuple((access.role, access.mode, locations.number(access.span)) for access in row.accesses),
        )
        for row in with_pauses(rows)
    ]
    return tuple(named), tuple(locations.extents), tuple(frozenset(numbers) for numbers in before)


class _Locations:
    """Locations of the operands of rows.

    Attributes
    ----------
    extents
        What each of them is like, and how it overlaps those before.
    """

    def __init__(self, blocks: DisjointMemory) -> None:
        self._blocks = blocks
        self._numbers: dict[Span, int] = {}
        self._near: dict[int, list[Span]] = {}  # by block
        self.extents: list[tuple[object, ...]] = []

    def number(self, span: Span) -> int:
        known = self._numbers.get(span)
        if known is not None:
            return known
        near = self._near.setdefault(self._blocks.around(span.start)[0], [])
        overlaps = tuple(
            (self._numbers[other], other.start - span.start, other.stop - span.start)
            for other in near
            if other.start < span.stop and span.start < other.stop
        )
        near.append(span)
        self.extents.append((span.stop - span.start, *span[2:], overlaps))
        self._numbers[span] = found = len(self._numbers)
        return found


def _stretches(kinds: np.ndarray, start: int, stop: int, limit: int) -> Iterator[tuple[int, int, int]]:
    """Return where something repeats, and after how many rows; 0 for rows in between."""
    first, last, period = _longest(kinds[start:stop], limit)
    if period == 0:
        if start < stop:
            yield start, stop, 0
        return
    yield from _stretches(kinds, start, start + first, limit)
    yield start + first, start + last, period
    yield from _stretches(kinds, start + last, stop, limit)


def _longest(kinds: np.ndarray, limit: int) -> tuple[int, int, int]:
    """Return the longest stretch that repeats, by whole repetitions, and the length of one; 0 if there is none."""
    best = (0, 0, 0)
    for period in with_pauses(range(_MIN_REPEATED_ROWS, min(limit, len(kinds) // _MIN_REPETITIONS) + 1)):
        first, last = _longest_run(kinds[period:] == kinds[:-period])
        last = first + (last - first + period) // period * period
        if last - first >= _MIN_REPETITIONS * period and last - first > best[1] - best[0]:
            best = first, last, period
    return best


def _longest_run(same: np.ndarray) -> tuple[int, int]:
    """Return where the longest run of truth begins and ends."""
    edges = np.flatnonzero(np.diff(same, prepend=False, append=False))
    if len(edges) == 0:
        return 0, 0
    starts, stops = edges[::2], edges[1::2]
    longest = int(np.argmax(stops - starts))
    return int(starts[longest]), int(stops[longest])
