"""Saying on stderr why a first call takes long: how many functions are compiled, of how many that it needs."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tapegrad.engine.codegen.store import cache
from tapegrad.engine.runtime.messages import stderr

_NOTICEABLE = 1.0  # seconds of compilation after which the user is told if stderr is no terminal
_MIN_ANNOUNCED = 4  # functions to be compiled that are sure to take so long

_ADVICE = "(`tapegrad warmup` compiles all of them, `tapegrad info` says where they are kept)"

Name = tuple[str, str]  # module and function


class _Depth(threading.local):
    """Number of compilations of this thread that are nested in one another."""

    depth = 0


class Announcer:
    """Counts what is compiled. On a terminal it shows the count while it goes on; elsewhere lines say begin and end.

    Only compilations that this package starts itself are counted, and only those that no cache spares.
    """

    def __init__(self) -> None:
        self._expected: set[Name] = set()
        self._compiled: set[Name] = set()
        self._done = 0  # of those that are counted
        self._untold, self._seconds = (
            0,
            0.0,
        )  # since a line has said how many were compiled, and how long that took
        self._thread = _Depth()
        self._said = False

    def expect(self, names: Iterable[Name]) -> None:
        """Announce functions that will be needed; those that are not in the cache are counted from now on."""
        self._expected |= {name for name in names if name not in self._compiled and not cache.holds(*name)}

    @contextlib.contextmanager
    def compiling(self, function: Callable[..., Any]) -> Iterator[None]:
        """Around the compilation of a function, or the attempt to take it from the cache."""
        name = (function.__module__, function.__qualname__)
        if self._thread.depth > 0 or cache.holds(*name):
            yield
            return
        self._thread.depth += 1
        began = time.perf_counter()
        try:
            self._announce(name)
            yield
        finally:
            self._thread.depth -= 1
            self._seconds += time.perf_counter() - began
            self._count(name)

    def _announce(self, name: Name) -> None:
        self._expected.add(name)
        total = self._done + len(self._expected)
        if stderr.on_terminal():
            stderr.show(f"tapegrad: compiling kernels on first use, {self._done + 1} of {total}: {name[1]}")
        elif not self._said and (self._seconds > _NOTICEABLE or total >= _MIN_ANNOUNCED):
            self._said = True
            stderr.tell(f"compiling kernels on first use, {self._done + 1} of {total} {_ADVICE}")

    def _count(self, name: Name) -> None:
        self._expected.discard(name)
        self._compiled.add(name)
        self._done += 1
        self._untold += 1
        stderr.show("")
        if not self._expected:
            self._done = 0
            self._tell_end()

    def _tell_end(self) -> None:
        """Say that everything is compiled, if a line has said that it begins."""
        if self._said:
            stderr.tell(f"compiled {self._untold} functions in {self._seconds:.1f} s")
            self._said, self._untold, self._seconds = False, 0, 0.0


announcer = Announcer()
