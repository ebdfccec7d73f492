"""The views of many slots as columns: which are the same, and which are in C order."""

from collections.abc import Sequence

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
        for ndim in np.unique(lines[:, 3]).tolist():
            at = np.flatnonzero(lines[:, 3] == ndim)
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


def numbered(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Assign numbers from 0 on to lines of several columns, equal ones to equal lines."""
    found: np.ndarray | None = None
    for column in columns:
        if len(column) and (column == column[0]).all():
            continue
        numbers = _ranks(column)
        found = numbers if found is None else _ranks(found * (int(numbers.max(initial=0)) + 1) + numbers)
    return np.zeros(len(columns[0]), np.int64) if found is None else found


def _ranks(column: np.ndarray) -> np.ndarray:
    """Assign numbers from 0 on to values, in their order."""
    low, high = int(column.min(initial=0)), int(column.max(initial=0))
    found: np.ndarray
    if high - low > 4 * len(column):
        _, found = np.unique(column, return_inverse=True)
        return found
    present = np.zeros(high - low + 1, np.int64)
    present[column - low] = 1
    found = (np.cumsum(present) - 1)[column - low]
    return found
