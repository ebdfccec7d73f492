"""Slices of compiled loops: they return to Python after some evaluations, where signals are handled."""

import time
from collections.abc import Callable

import numpy as np

from tapegrad.engine.runtime.messages.progress import Progress
from tapegrad.optimize.native.loops import driver

_FIRST_EVALUATIONS = 16
_MIN_S, _MAX_S = 0.025, 0.1


class Slices:
    """Budget of a compiled loop. It doubles while a slice takes less than 25 ms, and is halved above 100 ms.

    Parameters
    ----------
    counts
        The loop's counts, whose budget is set.
    line, text
        Progress line of a single search, and a function that returns its text.
    first
        Evaluations of the first slice.

    Attributes
    ----------
    stopped
        Whether the loop is to be left at the end of its slice.
    """

    def __init__(
        self, counts: np.ndarray, line: Progress, text: Callable[[], str], first: int = _FIRST_EVALUATIONS
    ) -> None:
        self.stopped = False
        self._line, self._text = line, text
        self._counts, self._evaluations = counts, first
        self._begin()

    def _begin(self) -> None:
        self._counts[driver.BUDGET] = self._evaluations
        self._begun = time.perf_counter()

    def go_on(self) -> bool:
        """Begin another slice; return whether the loop is to be entered again."""
        if self._line.due:
            self._line.show(self._text())
        elapsed = time.perf_counter() - self._begun
        if elapsed < _MIN_S:
            self._evaluations *= 2
        elif elapsed > _MAX_S:
            self._evaluations = max(self._evaluations // 2, 1)
        self._begin()
        return not self.stopped
