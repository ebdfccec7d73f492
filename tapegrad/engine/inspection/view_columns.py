"""The views of many slots as columns: which are the same, and which are in C order."""

from collections.abc import Iterator, Sequence

import numpy as np

from tapegrad.engine.tape.tape import DTYPES

_ITEM = np.array([dtype.itemsize for dtype in DTYPES])


class Views:
    """The views of slots.

    Parameters
    ----------
    lines, pool
        As `tape_entries.Slots` has them.

    Attributes
    ----------
    number
        Two slots have the same where their views are the same, offset, extents, strides and dtype.
    contiguous, dense
        Whether the elements lie side by side in C order, or in any order of the dimensions.
    bytes
        The bytes that they take.
    """

    def __init__(self, lines: np.ndarray, pool: np.ndarray) -> None:
        self.contiguous = np.ones(len(lines), np.bool_)
        self.dense = np.ones(len(lines), np.bool_)
        self.bytes = _ITEM[lines[:, 2]]
        self.number = np.zeros(len(lines), np.int64)
        first = 0
        for ndim, at in _by_ndim(lines):
            fields = pool[lines[at, 7, None] + np.arange(2 * ndim)]
            self._measure(at, fields[:, :ndim], fields[:, ndim:])
            numbers = numbered([lines[at, 2], lines[at, 4], *fields.T])
            self.number[at] = first + numbers
            first += int(numbers.max()) + 1

    def _measure(self, at: np.ndarray, extents: np.ndarray, strides: np.ndarray) -> None:
        items = self.bytes[at]
        in_order, step = _side_by_side(items, extents, strides)
        self.contiguous[at], self.dense[at], self.bytes[at] = in_order, in_order, step
        other = np.flatnonzero(~in_order)
        if len(other):
            extents, strides = extents[other], strides[other]
            order = np.argsort(np.where(extents == 1, 0, -strides), axis=1, kind="stable")
            extents, strides = (np.take_along_axis(fields, order, 1) for fields in (extents, strides))
            self.dense[at[other]] = _side_by_side(items[other], extents, strides)[0]


def _side_by_side(
    items: np.ndarray, extents: np.ndarray, strides: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return whether elements of these sizes are contiguous in C order, and the bytes that they take."""
    step, found = items.copy(), np.ones(len(items), np.bool_)
    for d in reversed(range(extents.shape[1])):
        found &= (extents[:, d] == 1) | (strides[:, d] == step)
        step *= extents[:, d]
    return found | (step == 0), step


def look_numbers(lines: np.ndarray, pool: np.ndarray) -> np.ndarray:
    """Assign numbers from 0 on to slots, equal ones to equal extents, strides and dtype, wherever they begin."""
    found, first = np.zeros(len(lines), np.int64), 0
    for ndim, at in _by_ndim(lines):
        fields = pool[lines[at, 7, None] + np.arange(2 * ndim)]
        numbers = numbered([lines[at, 2], *fields.T])
        found[at] = first + numbers
        first += int(numbers.max()) + 1
    return found


def _by_ndim(lines: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each number of dimensions, and which lines of slots have it."""
    dimensions = np.ascontiguousarray(lines[:, 3])
    for ndim in np.flatnonzero(np.bincount(dimensions)).tolist():
        yield ndim, np.flatnonzero(dimensions == ndim)


def numbered(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Assign numbers from 0 on to lines of several columns, in their order, equal ones to equal lines."""
    found, count = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        numbers, own = _small(column)
        if own == 1:
            continue
        if count * own > 4 * len(column):
            found, count = _ranks(found)
            numbers, own = _ranks(numbers)
        found, count = (numbers, own) if count == 1 else (found * own + numbers, count * own)
    return found if count == 1 else _ranks(found)[0]


def _small(column: np.ndarray) -> tuple[np.ndarray, int]:
    """Return numbers from 0 on, in the order of values and equal where these are, and a bound of theirs."""
    low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
    if high - low <= 4 * len(column):
        return column - low, high - low + 1
    _, found = np.unique(column, return_inverse=True)
    return found, int(found.max()) + 1


def _ranks(numbers: np.ndarray) -> tuple[np.ndarray, int]:
    """Assign numbers from 0 on without a gap to numbers from 0 on; return how many there are, too."""
    numbers, bound = _small(numbers)
    present = np.zeros(bound, np.int64)
    present[numbers] = 1
    rank = np.cumsum(present)
    found: np.ndarray = (rank - 1)[numbers]
    return found, int(rank[-1])
