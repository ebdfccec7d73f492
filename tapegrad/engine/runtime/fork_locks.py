"""Locks that a forked child finds open: the thread that held one does not exist there."""

import threading
import weakref

from tapegrad.engine.runtime.operating_system import at_fork

_made: weakref.WeakSet[threading.RLock] = weakref.WeakSet()


def lock() -> threading.RLock:
    """Make a re-entrant lock."""
    made = threading.RLock()
    _made.add(made)
    return made


def _open_all() -> None:
    for held in list(_made):
        held._at_fork_reinit()  # type: ignore[attr-defined]


at_fork(in_child=_open_all)
