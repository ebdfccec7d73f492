"""Stretches of a recording that repeat: candidates for loops, found by the kinds of the instructions alone."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

MIN_REPETITIONS = 4  # of a loop
_WINDOW = 8  # instructions that are compared at once, a power of two
_CANDIDATES = 24  # periods that are tried
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class Stretch(NamedTuple):
    """Instructions that repeat: the first one, how many one repetition has, and how many repetitions there are."""

    start: int
    period: int
    times: int

    @property
    def stop(self) -> int:
        """Number after that of the last instruction."""
        return self.start + self.period * self.times


def stretches(kinds: np.ndarray, start: int, stop: int) -> Iterator[Stretch]:
    """Yield stretches of a part of a recording, those that cover most of it first.

    Of periods that cover the same, as a period and its multiples do, the shortest comes first.
    """
    part = kinds[start:stop]
    found = [each for period in _periods(part) if (each := _longest(part, period)) is not None]
    for each in sorted(found, key=lambda stretch: (-stretch.times * stretch.period, stretch.period)):
        yield each._replace(start=start + each.start)


def _periods(kinds: np.ndarray) -> list[int]:
    """Return the commonest distances from a window of kinds to the next equal one."""
    last = len(kinds) - _WINDOW
    if last < 1:
        return []
    hashes, length = kinds.astype(np.uint64), 1
    while length < _WINDOW:  # a window is two of half the length
        hashes = hashes[:-length] * _FACTOR + hashes[length:]  # wraps around
        hashes ^= hashes >> np.uint64(29)
        length *= 2
    order = np.argsort(hashes, kind="stable")
    same = hashes[order[1:]] == hashes[order[:-1]]
    distances, counts = np.unique(np.diff(order)[same], return_counts=True)
    return [int(d) for d in distances[np.argsort(-counts, kind="stable")][:_CANDIDATES]]


def _longest(kinds: np.ndarray, period: int) -> Stretch | None:
    """Return the longest stretch of a period, if it has repetitions enough."""
    same = np.concatenate([[False], kinds[period:] == kinds[:-period], [False]])
    edges = np.flatnonzero(same[1:] != same[:-1])
    begins, ends = edges[::2], edges[1::2]
    if not len(begins):
        return None
    k = int(np.argmax(ends - begins))
    count = (int(ends[k] - begins[k]) + period) // period
    return Stretch(int(begins[k]), period, count) if count >= MIN_REPETITIONS else None
