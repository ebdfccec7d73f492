"""From groups of rows to segments: lines instead of addresses, and what of them goes to memory."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from tapegrad.engine.emitter.segment import Line, Region, Segment, SegmentRow
from tapegrad.engine.kernels.segment_frame import COUNTS, word_of
from tapegrad.program.fusion.accesses import BYTES, PLACES, READ, WRITE, Access, Row

_Key = tuple[int, int, str, bool]  # a line, as `Access.line` gives it


class Bound(NamedTuple):
    """A segment, the words of its frame, and its sums.

    Attributes
    ----------
    sums
        Of each the word with its address, the bytes of its element, and whether it is written instead of added to.
    divisible
        Whether it can be done in parts, in whatever order.
    """

    segment: Segment
    words: list[int]
    sums: list[tuple[int, int, bool]]
    divisible: bool


class Description:
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
        rows: Sequence[Row],
        is_short: bool,
        is_live: Callable[[int, int], bool],
        cleared: Iterable[tuple[int, int]],
    ) -> None:
        self._rows, self._is_short = rows, is_short
        self._keys: dict[_Key, int] = {}
        self._whole: dict[_Key, _Key] = {}
        for row in rows:
            for access in row.accesses:
                self._keys.setdefault(access.line, len(self._keys))
        self._find_regions()
        spans = set(cleared)
        self._cleared = [
            key
            for key in self._keys
            if key[:2] in spans and key not in self._whole and (is_short or not key[3])
        ]
        self._loaded: set[_Key] = set()
        self._written: set[_Key] = set()
        self._sums: dict[_Key, bool] = {}  # and whether the first row writes it
        for row in rows:
            self._follow(row)
        self._kept = [
            key for key in self._keys if key in self._written - self._sums.keys() and is_live(*key[:2])
        ]

    @property
    def cleared_spans(self) -> set[tuple[int, int]]:
        """The bytes that begin as zeros in registers."""
        return {key[:2] for key in self._cleared}

    def _find_regions(self) -> None:
        """Find the lines that overlap others and are added to, and their unions."""
        written = [a for row in self._rows for a in row.accesses if a.mode != READ and not a.single]
        keys = {a.line for row in self._rows for a in row.accesses if not a.single}
        for start, stop in _unions(written, keys):
            inside = [key for key in keys if start <= key[0] and key[1] <= stop]
            if len(inside) > 1:
                whole = (start, stop, inside[0][2], False)
                self._keys.setdefault(whole, len(self._keys))
                self._whole.update({key: whole for key in inside if key != whole})

    def _follow(self, row: Row) -> None:
        """Find out what is in registers when a row needs it."""
        for access in sorted(row.accesses, key=lambda access: access.mode != READ):
            key = self._whole.get(access.line, access.line)
            if not self._is_short and access.mode != READ and access.single:
                self._sums.setdefault(key, access.mode == WRITE)
            elif access.mode != WRITE and key not in self._written and key not in self._cleared:
                self._loaded.add(key)
            if access.mode != READ:
                self._written.add(key)

    def bound(self) -> Bound:
        """The segment and its frame."""
        counts = sorted({_count(key) for key in self._keys if not key[3]} | self._row_counts(), reverse=True)
        number_of = {count: number for number, count in enumerate(counts)}
        in_memory = [
            key for key in self._keys if key in self._loaded | self._sums.keys() or key in self._kept
        ]
        address_of = {key: number for number, key in enumerate(in_memory)}
        lines = tuple(
            Line(key[2], -1 if key[3] else number_of[_count(key)], address_of.get(key, -1))
            for key in self._keys
        )
        segment = Segment(
            tuple(each for row in self._rows for each in self._row(row, number_of)),
            lines,
            self._regions(),
            tuple(counts) if self._is_short else tuple(range(len(counts))),
            self._is_short,
            tuple(sorted(self._keys[key] for key in self._kept)),
            tuple(sorted(self._keys[key] for key in self._cleared)),
        )
        turns = max(counts, default=1)
        values = [turns, 0, turns, 0, *counts, *(key[0] for key in in_memory)]
        sums = [
            (word_of(COUNTS + len(counts) + address_of[key]), BYTES[key[2]], stored)
            for key, stored in self._sums.items()
        ]
        return Bound(segment, _frame(segment, values), sums, self._is_divisible())

    def _is_divisible(self) -> bool:
        """Whether parts can be done in any order.

        A part computes once more what the one before hands on to it, for which that one must have left all that rows
        read as it was.
        """
        read = {access.line for row in self._rows for access in row.accesses if access.mode == READ}
        return not self._whole or (self._loaded & read).isdisjoint(self._kept)

    def _row_counts(self) -> set[int]:
        return {row.count for row in self._rows if row.count > 1}

    def _row(self, row: Row, number_of: dict[int, int]) -> list[SegmentRow]:
        """A row, once for each tangent."""
        places = [-1] * (PLACES * row.seeds)
        for access in row.accesses:
            places[access.place] = self._keys[access.line]
        x0, x1, x2, y = places[:4]
        count = number_of[row.count] if row.count > 1 else -1
        return [
            SegmentRow(row.op, row.dtype, row.way, count, (x0, x1, x2, y), (a, b, c, d), row.stored)
            for a, b, c, d in (places[k + 4 : k + PLACES] for k in range(0, len(places), PLACES))
        ]

    def _regions(self) -> tuple[Region, ...]:
        parts: dict[_Key, list[tuple[int, int]]] = {}
        for key, whole in self._whole.items():
            shift = (key[0] - whole[0]) // BYTES[key[2]]
            parts.setdefault(whole, []).append((self._keys[key], shift))
        return tuple(Region(self._keys[whole], tuple(sorted(found))) for whole, found in parts.items())


def _unions(written: Iterable[Access], keys: Iterable[_Key]) -> list[tuple[int, int]]:
    """The unions of lines that overlap one that is written."""
    spans = sorted({(a.start, a.stop) for a in written})
    found: list[tuple[int, int]] = []
    for start, stop in spans:
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(stop, found[-1][1]))
        else:
            found.append((start, stop))
    for number, (start, stop) in enumerate(found):
        near = [key for key in keys if key[0] < stop and start < key[1]]
        found[number] = min(key[0] for key in near), max(key[1] for key in near)
    return found


def _count(key: _Key) -> int:
    return (key[1] - key[0]) // BYTES[key[2]]


def _frame(segment: Segment, values: list[int]) -> list[int]:
    words = [0] * segment.words
    for number, value in enumerate(values):
        words[word_of(number)] = value
    return words
