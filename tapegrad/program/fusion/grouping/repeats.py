"""Repeated subsequences of a stream (unrolled loops), grouped alike so that their segment is compiled once.

Groups that are found at the same position of each repetition become the same segment, which is compiled once.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

import numpy as np

from tapegrad.engine.runtime.pace import with_pauses
from tapegrad.program.fusion.grouping.rows import DisjointMemory, Span, StreamRow

_MIN_REPEATED_ROWS = 4  # minimum rows of a repetition
_MIN_REPETITIONS = 4  # minimum repetitions
_MAX_SEARCHES = 64  # how often all rows together are searched for a repetition
_MAX_LONG_PERIODS = 16  # periods longer than a group that are tried, the most frequent distances
_COMPARED_ROWS, _FACTOR = 16, 0x5851F42D4C957F2D  # rows that make a distance, and the factor of their hash


def rows_of_part(rows: Iterable[StreamRow], limit: int) -> int:
    """Return how many rows a repetition may have: twice as many of single elements, which are compiled sooner."""
    return limit if any(row.count > 1 and row.kind and not row.clears for row in rows) else 2 * limit


def windows(rows: Sequence[StreamRow], most: int, limit: int) -> list[slice]:
    """Return the parts of a stream that are grouped one by one.

    Parameters
    ----------
    rows
        The rows of the stream.
    most
        Rows of a part where nothing repeats.
    limit
        Rows of a part that is a repetition, or several of them; as many as there can be in a group. A longer
        repetition is cut into parts of at most `most` rows.
    """
    return windows_of(_kinds(rows), most, limit)


def windows_of(kinds: np.ndarray, most: int, limit: int) -> list[slice]:
    """Return the same for rows of which it is known by a number what each does."""
    if len(kinds) <= 2 * limit:  # what comes before a repetition and what comes after may become one group
        return [slice(start, start + most) for start in range(0, len(kinds), most)]
    kinds = kinds.astype(np.min_scalar_type(int(kinds.max())))  # compared many times
    found = []
    for start, stop, period in _stretches(kinds, limit):
        if period > limit:
            lengths = _cut(period, most) * ((stop - start) // period)
        else:
            length = most if period == 0 else limit // period * period
            lengths = [length] * -(-(stop - start) // length)
        edges = [min(start + end, stop) for end in accumulate(lengths, initial=0)]
        found += [slice(first, last) for first, last in pairwise(edges)]
    return found


def _cut(period: int, most: int) -> list[int]:
    """Return the rows of each part of a repetition that is too long for one group."""
    parts = -(-period // most)
    return [period * (k + 1) // parts - period * k // parts for k in range(parts)]


def kind_of(row: StreamRow) -> tuple[object, ...]:
    """Return a key of a row that does not depend on its operands."""
    return (
        row.op,
        row.dtype,
        row.kind,
        row.count,
        len(row.accesses),
        row.stored,
        row.seeds,
        row.loops,
        row.is_part,
    )


def _kinds(rows: Sequence[StreamRow]) -> np.ndarray:
    """Return a number for each row, equal for rows that do the same with other operands."""
    numbers: dict[tuple[object, ...], int] = {}
    return np.array([numbers.setdefault(kind_of(row), len(numbers)) for row in with_pauses(rows)], np.int64)


def form_of(
    rows: Sequence[StreamRow], before: Sequence[set[int]], blocks: DisjointMemory
) -> tuple[object, ...]:
    """Return a key of the rows that does not depend on addresses: kinds, operand numbers, overlaps, dependences.

    Operands are numbered in the order in which they are met. Beside that it matters which of them overlap, and how.
    """
    locations = _Locations(blocks)
    named = [
        (
            kind_of(row),
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
        listed = None if span.listed is None else span.listed[1:]  # the list is an operand of its own
        rolled = span.rolled and (*span.rolled[:2], *(begin - span.start for begin in span.rolled[2:]))
        plain = span._replace(listed=None, rolled=None)
        self.extents.append((span.stop - span.start, *plain[2:], listed, rolled, overlaps))
        self._numbers[span] = found = len(self._numbers)
        return found


def _stretches(kinds: np.ndarray, limit: int) -> list[tuple[int, int, int]]:
    """Return where something repeats, and after how many rows; 0 for rows in between."""
    found, waiting, left = [], [(0, len(kinds))], _MAX_SEARCHES * len(kinds)
    while waiting:
        start, stop = waiting.pop()
        left -= stop - start
        first, last, period = _longest(kinds[start:stop], limit) if left >= 0 else (0, 0, 0)
        if period == 0 and start < stop:
            found.append((start, stop, 0))
        elif period:
            found.append((start + first, start + last, period))
            waiting += [(start, start + first), (start + last, stop)]
    return sorted(found)


def _longest(kinds: np.ndarray, limit: int) -> tuple[int, int, int]:
    """Return the longest stretch that repeats, by whole repetitions, and the length of one; 0 if there is none."""
    best = (0, 0, 0)
    most = len(kinds) // _MIN_REPETITIONS
    periods = [*range(_MIN_REPEATED_ROWS, min(limit, most) + 1), *_long_periods(kinds, limit + 1, most)]
    for period in with_pauses(periods):
        same = kinds[period:] == kinds[:-period]
        if np.count_nonzero(same) + period <= best[1] - best[0]:
            continue
        first, last = _longest_run(same)
        last = first + (last - first + period) // period * period
        if last - first >= _MIN_REPETITIONS * period and last - first > best[1] - best[0]:
            best = first, last, period
    return best


def _long_periods(kinds: np.ndarray, least: int, most: int) -> list[int]:
    """Return the most frequent distances in this range from some rows to the next ones of the same kinds."""
    if most < least:
        return []
    count = len(kinds) - _COMPARED_ROWS + 1
    rows = np.zeros(count, np.int64)
    for k in range(_COMPARED_ROWS):
        rows = rows * _FACTOR + kinds[k : k + count]  # a hash, which wraps around
    order = np.argsort(rows, kind="stable")
    distances = np.diff(order)[np.diff(rows[order]) == 0]
    found, times = np.unique(distances[(distances >= least) & (distances <= most)], return_counts=True)
    frequent: list[int] = found[np.argsort(-times, kind="stable")[:_MAX_LONG_PERIODS]].tolist()
    return frequent


def _longest_run(same: np.ndarray) -> tuple[int, int]:
    """Return where the longest run of truth begins and ends."""
    edges = np.flatnonzero(np.diff(same, prepend=False, append=False))
    if len(edges) == 0:
        return 0, 0
    starts, stops = edges[::2], edges[1::2]
    longest = int(np.argmax(stops - starts))
    return int(starts[longest]), int(stops[longest])
