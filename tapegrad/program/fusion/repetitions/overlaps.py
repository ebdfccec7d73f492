"""Accesses that have bytes in common: sets of them that touch, and which of them are read elsewhere."""

from bisect import bisect_left

import numpy as np

_MAX_PIECES = 64  # an access, on the average, that those are cut into which overlap others partly


class ReadSpans:
    """Bytes that are read, as intervals that do not touch.

    Parameters
    ----------
    starts, stops
        The bytes that are read each time; they may overlap.
    """

    def __init__(self, starts: np.ndarray, stops: np.ndarray) -> None:
        order = np.argsort(starts)
        starts, ends = starts[order], np.maximum.accumulate(stops[order])
        apart = starts[1:] > ends[:-1]
        self._starts = np.concatenate([starts[:1], starts[1:][apart]])
        self._stops = np.concatenate([ends[:-1][apart], ends[-1:]])
        self._listed = self._starts.tolist(), self._stops.tolist()

    def overlaps(self, start: int, stop: int) -> bool:
        """Return whether one of some bytes is read."""
        starts, stops = self._listed
        last = bisect_left(starts, stop) - 1
        return last >= 0 and stops[last] > start

    def overlapping(self, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
        """Return of each interval whether one of its bytes is read."""
        last = np.searchsorted(self._starts, stops, "left") - 1
        found: np.ndarray = (last >= 0) & (np.append(self._stops, 0)[last] > starts)
        return found


class Overlaps:
    """Sets of accesses that overlap one another, or one that overlaps, and so on.

    Parameters
    ----------
    start, stop
        The bytes of each access, in the order of execution.

    Attributes
    ----------
    before
        The access of its set that comes before each one, -1 for the first.
    """

    def __init__(self, start: np.ndarray, stop: np.ndarray) -> None:
        self._start, self._stop = start, stop
        self._set, mixed = _sets(start, stop)
        self._order = np.argsort(self._set, kind="stable")
        ordered = self._set[self._order]
        self._begins = np.flatnonzero(np.diff(ordered, prepend=-1))
        self.before = np.full(len(start), -1)
        follows = np.flatnonzero(ordered[1:] == ordered[:-1])
        self.before[self._order[follows + 1]] = self._order[follows]
        self._mixed = np.flatnonzero(mixed[self._set])

    def may_be_told(self) -> bool:
        """Return whether `extremes_over` is not too long: few accesses overlap many others partly."""
        self._edges, self._low, self._high = self._pieces()
        return int((self._high - self._low).sum()) <= _MAX_PIECES * len(self._start)

    def _pieces(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return edges in the bytes of mixed sets, and between which of them each of their accesses lies."""
        starts, stops = self._start[self._mixed], self._stop[self._mixed]
        edges = np.unique(np.concatenate([starts, stops]))
        return edges, np.searchsorted(edges, starts), np.searchsorted(edges, stops)

    def highest(self, values: np.ndarray) -> np.ndarray:
        """Return for each access the highest of the values of all that have bytes in common with it.

        Parameters
        ----------
        values
            A number for each access.
        """
        most = np.maximum.reduceat(values[self._order], self._begins) if len(values) else values
        found: np.ndarray = most[self._set]
        if len(self._mixed):
            own, edges = values[self._mixed], np.full(len(self._edges) + 1, values.min())
            lengths = self._high - self._low
            ends = np.cumsum(lengths)
            at = np.arange(lengths.sum()) - np.repeat(ends - lengths - self._low, lengths)
            np.maximum.at(edges, at, np.repeat(own, lengths))
            pairs = np.stack([self._low, np.maximum(self._high, self._low + 1)], 1).reshape(-1)
            found[self._mixed] = np.maximum.reduceat(edges, pairs)[::2]
        return found


def _sets(start: np.ndarray, stop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of each access's set, and of each set whether its accesses differ."""
    order = np.argsort(start)
    starts, stops = start[order], stop[order]
    begins = np.ones(len(start), np.bool_)
    begins[1:] = starts[1:] >= np.maximum.accumulate(stops)[:-1]
    numbers = np.empty(len(start), np.int64)
    numbers[order] = np.cumsum(begins) - 1
    at = np.flatnonzero(begins)
    if len(at) == 0:
        return numbers, begins
    differ = [np.minimum.reduceat(each, at) != np.maximum.reduceat(each, at) for each in (starts, stops)]
    return numbers, differ[0] | differ[1]
