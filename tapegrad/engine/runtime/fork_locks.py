"""Locks that a forked child finds open: the thread that held one does not exist there."""

import os
import threading
import weakref

_made: weakref.WeakSet[threading.RLock] = weakref.WeakSet()


def lock() -> threading.RLock:
    """Make a re-entrant lock."""
    made = threading.RLock()
    _made.add(made)
    return made


def _open_all() -> None:
    for held in list(_made):
        held._at_fork_reinit()  # type: ignore[attr-defined]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open_all)
