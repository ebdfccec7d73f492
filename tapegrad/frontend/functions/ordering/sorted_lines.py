"""Order statistics: a few elements of lines in ascending order.

In a recording each replay sorts all of them. Eager code sorts once, and gathers only the requested elements.
"""

from typing import Protocol

import numpy as np

from tapegrad.frontend.conversions.guarded_results import is_recording
from tapegrad.frontend.functions.ordering.sorting import order_now, sorted_lines
from tapegrad.frontend.indexing.indexing import elements_now, gather
from tapegrad.frontend.recording.shape import contiguous
from tapegrad.frontend.tensor.tensor import Tensor


class SortedLines(Protocol):
    """Lines along the last axis, in ascending order.

    Attributes
    ----------
    shape
        Shape of the lines.
    has_no_nan
        Whether it is known that there is no nan in them.
    """

    shape: tuple[int, ...]
    has_no_nan: bool

    def element(self, k: int) -> Tensor:
        """Return an element of each line."""

    def alone(self, k: int) -> Tensor:
        """Return a copy of an element of each line, which keeps no other memory alive."""

    def elements(self, numbers: np.ndarray, shape: tuple[int, ...]) -> Tensor:
        """Return elements by their numbers among those of all lines."""


def in_order(lines: Tensor) -> SortedLines:
    """Return the lines along the last axis of a Tensor in ascending order, NaNs last."""
    return _RecordedLines(lines) if is_recording() else _EagerLines(lines)


class _RecordedLines:
    """Lines sorted by instructions."""

    has_no_nan = False

    def __init__(self, lines: Tensor) -> None:
        self.shape = lines.shape
        self._sorted = sorted_lines(lines)

    def element(self, k: int) -> Tensor:
        return self._sorted[..., k]

    def alone(self, k: int) -> Tensor:
        return contiguous(self.element(k))

    def elements(self, numbers: np.ndarray, shape: tuple[int, ...]) -> Tensor:
        return gather(self._sorted, numbers, shape, 1)


class _EagerLines:
    """Lines sorted eagerly: their order is known."""

    def __init__(self, lines: Tensor) -> None:
        values = lines.data_or_traced()
        self.shape = values.shape
        self._lines = lines
        self._numbers = order_now(lines)
        last = values.reshape(-1)[self._numbers[..., -1]]
        self.has_no_nan = np.count_nonzero(last == last) == last.size

    def element(self, k: int) -> Tensor:
        return elements_now(self._lines, np.array(self._numbers[..., k], order="C"))

    def alone(self, k: int) -> Tensor:
        return self.element(k)

    def elements(self, numbers: np.ndarray, shape: tuple[int, ...]) -> Tensor:
        return elements_now(self._lines, self._numbers.reshape(-1)[numbers].reshape(shape))
