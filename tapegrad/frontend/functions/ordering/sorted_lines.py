"""Lines in ascending order, of which a few elements are wanted.

In a recording each replay sorts all of them. In eager code it is known where the elements stand, and only what is asked
for is gathered.
"""

from typing import Protocol

import numpy as np

from tapegrad.frontend.conversions.guarded_results import is_recording
from tapegrad.frontend.functions.ordering.sorting import order_now, sorted_lines
from tapegrad.frontend.indexing.indexing import elements_now, gather
from tapegrad.frontend.recording.shape import contiguous
from tapegrad.frontend.tensor.tensor import Tensor


class Ordered(Protocol):
    """Lines along the last axis, in ascending order.

    Attributes
    ----------
    shape
        That of the lines.
    has_no_nan
        Whether it is known that there is no nan in them.
    """

    shape: tuple[int, ...]
    has_no_nan: bool

    def element(self, k: int) -> Tensor:
        """Return an element of each line."""

    def alone(self, k: int) -> Tensor:
        """Return an element of each line, which keeps nothing else in memory."""

    def elements(self, numbers: np.ndarray, shape: tuple[int, ...]) -> Tensor:
        """Return elements by their numbers among those of all the lines."""


def in_order(lines: Tensor) -> Ordered:
    """Return the lines along the last axis of a Tensor in ascending order, each nan last."""
    return _Recorded(lines) if is_recording() else _Now(lines)


class _Recorded:
    """Lines that are sorted by instructions."""

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


class _Now:
    """Lines whose order is known."""

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
