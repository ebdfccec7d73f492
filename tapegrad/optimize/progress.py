"""Progress of an optimisation on stderr."""

import sys
from typing import Any

import numpy as np

_ERASE = "\r\x1b[K"


class Progress:
    """One line an iteration; on a terminal, one line that is written over and over.

    Parameters
    ----------
    name
        What is going on: the name of the method.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._iteration = 0
        self._line = ""
        self._terminal = sys.stderr.isatty()

    def step(self, value: Any, gradient: Any = None) -> None:
        """Report the end of an iteration."""
        self._iteration += 1
        self._line = f"{self._name}: iteration {self._iteration}, value {float(value):.8g}"
        if gradient is not None:
            self._line += f", gradient norm {float(np.linalg.norm(gradient)):.3g}"
        start, end = (_ERASE, "") if self._terminal else ("", "\n")
        print(f"{start}{self._line}", end=end, file=sys.stderr, flush=True)

    def close(self) -> None:
        """End the line on a terminal, which keeps the last iteration."""
        if self._terminal and self._line:
            print(file=sys.stderr, flush=True)
        self._line = ""
