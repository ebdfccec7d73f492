"""Progress of searches and recordings: a rewritten line on a terminal, a display in a notebook, nothing elsewhere.

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
from typing import Any, ClassVar

from tapegrad.engine.runtime.messages import stderr
from tapegrad.engine.runtime.operating_system import at_fork

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
    in_main_thread
        Whether it is about the main thread; by default whether that is the caller.
    """

    _shown: "Progress | None" = None  # the one that has the line

    def __init__(
        self, wanted: bool = True, delay: float = _DELAY_S, in_main_thread: bool | None = None
    ) -> None:
        self._is_main = _in_main_thread() if in_main_thread is None else in_main_thread
        self._due = time.perf_counter() + delay if wanted and _is_on() else math.inf
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
        if Progress._shown is not None or not self._is_main:
            return False
        self._write = _writer()
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


class SlowStep:
    """A step of the main thread that cannot look at the clock, such as a recording, for a ``with`` statement.

    A thread shows its progress. It is started by a step where a line could be seen, and ends with the steps.

    Parameters
    ----------
    text
        Returns what to show.
    """

    _running: ClassVar[list["SlowStep"]] = []  # outermost first
    _lock = threading.RLock()  # held to show and to remove a line
    _reporter: "threading.Thread | None" = None
    _stop = threading.Event()

    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text
        self._line: Progress | None = None

    def __enter__(self) -> None:
        if _in_main_thread():
            self._due = time.perf_counter() + _DELAY_S
            self._running.append(self)
            if SlowStep._reporter is None and _is_on() and _writer() is not None:
                SlowStep._start()

    def __exit__(self, *error: object) -> None:
        if self in self._running:
            with self._lock:
                self._running.remove(self)
                if self._line is not None:
                    self._line.close()

    def _show(self) -> None:
        if time.perf_counter() >= self._due:
            self._line = self._line or Progress(delay=0.0, in_main_thread=True)
            self._line.show(self._text())

    @classmethod
    def _start(cls) -> None:
        cls._stop.clear()
        cls._reporter = threading.Thread(target=cls._report, name="tapegrad progress", daemon=True)
        cls._reporter.start()

    @classmethod
    def _report(cls) -> None:
        """Show the outermost step until none has been running for two looks."""
        idle = 0
        while idle < 2 and not cls._stop.wait(_INTERVAL_S):
            with cls._lock:
                idle = 0 if cls._running else idle + 1
                if cls._running:
                    cls._running[0]._show()
        cls._reporter = None

    @classmethod
    def stop(cls) -> None:
        """End the thread: a process that forks has no other threads."""
        if (reporter := cls._reporter) is not None:
            cls._stop.set()
            reporter.join()


at_fork(before=SlowStep.stop)


def _is_on() -> bool:
    return os.environ.get(_VARIABLE, "1") not in ("", "0")


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _writer() -> Callable[[str], object] | None:
    """Return the function that shows a text where it can be seen; `None` elsewhere."""
    return stderr.show if stderr.on_terminal() else _notebook_display()


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
