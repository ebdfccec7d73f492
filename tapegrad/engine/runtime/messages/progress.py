"""Progress of searches: a line that is rewritten on a terminal, a display in a notebook, nothing elsewhere.

It appears after a second, and vanishes at the end. ``TAPEGRAD_PROGRESS=0`` switches it off.
"""

import contextlib
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

from tapegrad.engine.runtime.messages import stderr

_VARIABLE = "TAPEGRAD_PROGRESS"
_DELAY_S = 1.0  # before a line appears
_INTERVAL_S = 0.5  # between two texts


class Progress:
    """Line about something that may take long, one at a time in a process: inner ones, and threads, are silent.

    Parameters
    ----------
    wanted
        Whether to show anything.
    delay
        Seconds until the line appears.
    """

    _shown: "Progress | None" = None  # the one that has the line

    def __init__(self, wanted: bool = True, delay: float = _DELAY_S) -> None:
        on = wanted and os.environ.get(_VARIABLE, "1") not in ("", "0")
        self._due = time.perf_counter() + delay if on else math.inf
        self._write: Callable[[str], object] | None = None

    @property
    def due(self) -> bool:
        """True if it is time for another text."""
        return time.perf_counter() >= self._due

    def show(self, text: str) -> None:
        """Show a text in place of the last one."""
        self._due = time.perf_counter() + _INTERVAL_S
        if self._write is None and not self._take_line():
            self._due = math.inf
        elif self._write is not None:
            self._write(text)

    def _take_line(self) -> bool:
        """Return whether the line is free, and somewhere to be seen."""
        if Progress._shown is not None or threading.current_thread() is not threading.main_thread():
            return False
        self._write = stderr.show if stderr.on_terminal() else _notebook_display()
        if self._write is not None:
            Progress._shown = self
        return self._write is not None

    def close(self) -> None:
        """Remove the line."""
        self._due = math.inf
        if Progress._shown is self:
            Progress._shown = None
            if self._write is not None:
                self._write("")

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _notebook_display() -> Callable[[str], object] | None:
    """Return a function that shows a text in a notebook's output; `None` outside of one.

    IPython is asked only if it has been imported: a kernel has done that.
    """
    module: Any = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    if getattr(shell, "kernel", None) is None:
        return None
    return _Display(import_module("IPython.display").display).show


class _Display:
    """Output of a notebook's cell that is updated in place."""

    def __init__(self, display: Any) -> None:
        self._display = display
        self._handle: Any = None

    def show(self, text: str) -> None:
        """Show a text; an error of the front end stops nothing."""
        content = {"text/plain": text}
        with contextlib.suppress(Exception):
            if self._handle is None:
                self._handle = self._display(content, raw=True, display_id=True)
            else:
                self._handle.update(content, raw=True)
