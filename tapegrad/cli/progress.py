"""Progress on stderr."""

import os
import sys
from types import TracebackType

_ERASE = "\r\x1b[K"


class Progress:
    """One line that is written over and over while stderr is a terminal; nothing where it is not.

    Parameters
    ----------
    total : int
        Number of steps.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._visible = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._visible:
            print(_ERASE, end="", file=sys.stderr, flush=True)

    def step(self, text: str) -> None:
        """Announce the next step."""
        self._done += 1
        if self._visible:
            print(f"{_ERASE}[{self._done}/{self._total}] {text}", end="", file=sys.stderr, flush=True)
