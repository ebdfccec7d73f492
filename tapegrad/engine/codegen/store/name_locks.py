"""Locks of names: of threads and processes that need the same code at once, one makes it and the others wait.

The lock of a name is a byte of one file in the cache folder. The system opens it where its holder dies, so that nobody
waits for a process that is gone; and nobody waits for longer than the longest compilation.
"""

import contextlib
import functools
import os
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

from tapegrad.engine.runtime.fork_locks import lock
from tapegrad.engine.runtime.operating_system import BINARY, try_lock, unlock
from tapegrad.engine.runtime.whole_files import OWNER_ONLY

FILE = "locks"
_MAX_WAIT_S = 60.0
_FIRST_POLL_S, _LAST_POLL_S = 0.001, 0.02

_thread_locks: dict[str, threading.RLock] = {}


@contextlib.contextmanager
def locked(name: str, folder: Path | None) -> Iterator[None]:
    """Hold a name among the threads of this process, and among the processes that share a folder."""
    with _thread_locks.setdefault(name, lock()):
        descriptor = -1 if folder is None else _open(folder)
        byte = byte_of(name)
        holds = descriptor >= 0 and _acquire(descriptor, byte)
        try:
            yield
        finally:
            if holds:
                with contextlib.suppress(OSError):
                    unlock(descriptor, byte)


def byte_of(name: str) -> int:
    """Return the byte that is the lock of a name."""
    return zlib.crc32(name.encode())


@functools.cache
def _open(folder: Path) -> int:
    """Open the file of a folder for as long as the process lives: closing it would open all of its locks."""
    try:
        return os.open(folder / FILE, os.O_RDWR | os.O_CREAT | BINARY, OWNER_ONLY)
    except OSError:  # nothing can be kept there, so that all who need the code make it
        return -1


def _acquire(descriptor: int, byte: int) -> bool:
    """Wait for a byte; return whether this process holds it."""
    deadline, poll = time.monotonic() + _MAX_WAIT_S, _FIRST_POLL_S
    try:
        while not try_lock(descriptor, byte):
            if time.monotonic() > deadline:
                return False
            time.sleep(poll)
            poll = min(2 * poll, _LAST_POLL_S)
    except OSError:  # a file system without locks
        return False
    return True
