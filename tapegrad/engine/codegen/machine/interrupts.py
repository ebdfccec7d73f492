"""Ctrl-C, held back while code is compiled and delivered afterwards.

LLVM and Numba call Python in the middle of their work, where an exception is printed and lost, or leaves a module
behind that has no code. Python runs its signal handlers in the main thread alone; compilations of other threads are
never interrupted.
"""

import signal
import threading
from types import FrameType
from typing import Any

from tapegrad.engine.runtime.operating_system import at_fork


class HeldInterrupts:
    """Context in which Ctrl-C waits: the handler of the user's, or Python's own, is called at the end of the outermost.

    It is re-entrant. Handlers that are not Python's, and SIGINT ignored, stay as they are.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._handler: Any = None
        self._waiting: tuple[int, FrameType | None] | None = None
        self._thread = 0

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        if self._depth == 0:
            self._hold()
        self._depth += 1  # no interrupt comes between the two: it is held already

    def __exit__(self, *error: object) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self._depth -= 1
        if self._depth == 0:
            self._deliver()

    def _hold(self) -> None:
        handler = signal.getsignal(signal.SIGINT)
        self._handler, self._waiting, self._thread = None, None, threading.get_ident()
        if not callable(handler):
            return
        try:
            self._handler = handler
            signal.signal(signal.SIGINT, self._note)
        except ValueError:  # in a subinterpreter, which gets no signals
            self._handler = None

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._waiting = number, frame

    def _deliver(self) -> None:
        handler, self._handler = self._handler, None
        if handler is None:
            return
        if signal.getsignal(signal.SIGINT) == self._note:
            signal.signal(signal.SIGINT, handler)
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            handler(*waiting)

    def _forget(self) -> None:
        """Give a child its handler back, if it was forked by another thread than the one that compiles."""
        if self._depth and self._thread != threading.get_ident():
            self._depth = 0
            self._deliver()


uninterrupted = HeldInterrupts()
at_fork(in_child=uninterrupted._forget)
