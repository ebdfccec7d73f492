"""Locks of the compiler: one for its tables and its loader, and some for calls of LLVM.

A thread that holds `compiling` may change what is known of compiled code. While LLVM works it does not hold it, so that
other threads compile meanwhile. A fork waits until LLVM is at rest, for a child would find LLVM's own locks held.
"""

import contextlib
import itertools
import threading
from collections.abc import Iterator
from typing import Any

from tapegrad.engine.kernels.language import if_imported
from tapegrad.engine.runtime.operating_system import at_fork, processors

compiling = threading.RLock()
# Re-entrant, for a signal handler may fork; more than threads at work, for each call takes the next one.
_llvm_calls = [threading.RLock() for _ in range(4 * processors())]
_turns = itertools.count()
_held_of_numba: list[Any] = []  # its lock, during a fork


@contextlib.contextmanager
def without_lock() -> Iterator[None]:
    """Release `compiling` for a while, however often this thread has acquired it."""
    owned = compiling._is_owned()  # type: ignore[attr-defined]
    # What `threading.Condition` calls: one function of C, which an interrupt cannot stop in the middle.
    state = compiling._release_save() if owned else None  # type: ignore[attr-defined]
    try:
        yield
    finally:
        if owned:
            compiling._acquire_restore(state)  # type: ignore[attr-defined]


@contextlib.contextmanager
def calling_llvm() -> Iterator[None]:
    """Call LLVM on modules of this thread's own context; forks wait meanwhile."""
    with _llvm_calls[next(_turns) % len(_llvm_calls)]:
        yield


def stop_compiling() -> None:
    """Acquire all locks: what is being compiled ends, and other threads begin nothing more."""
    compiling.acquire()
    for lock in _llvm_calls:
        lock.acquire()
    numbas = if_imported("numba.core.compiler_lock", "global_compiler_lock")
    if numbas:
        numbas.acquire()  # last, as by whoever has Numba compile
        _held_of_numba.append(numbas)


def _release_all() -> None:
    if _held_of_numba:
        _held_of_numba.pop().release()
    for lock in _llvm_calls:
        lock.release()
    compiling.release()


at_fork(before=stop_compiling, in_parent=_release_all, in_child=_release_all)
