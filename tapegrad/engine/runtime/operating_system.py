"""The operating system: all that differs between Linux, macOS, Windows and others.

Each function says what it does on a system that it does not know: without the help of the system, where results and
safety do not depend on it; else it refuses with an `ImportError` that names the system. Only Linux has been run.
"""

import contextlib
import ctypes
import errno
import importlib
import mmap
import os
import platform
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple


def _module(name: str) -> Any:
    """Return a module that only some systems have; `None` on others."""
    with contextlib.suppress(ImportError):
        return importlib.import_module(name)
    return None


fcntl, msvcrt = _module("fcntl"), _module("msvcrt")

# --- processors ----------------------------------------------------------------------------------------------------

_MEMBERSHIP = Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")
# LLVM's intrinsics for a spin loop, and their arguments, by the names that systems give to processors.
_PAUSE, _YIELD = ("llvm.x86.sse2.pause",), ("llvm.aarch64.hint", 1)
_SPIN_HINTS: dict[str, tuple[Any, ...]] = {
    "x86_64": _PAUSE,
    "AMD64": _PAUSE,
    "aarch64": _YIELD,
    "arm64": _YIELD,
}


def processors() -> int:
    """Processors that this thread may run on, or as many as the share of time of its container is worth."""
    mask = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    return max(1, int(min([len(mask), *shares()])))


def shares() -> Iterator[float]:
    """Return the limits of processor time, in processors, of the control groups of this process."""
    for group in _groups():
        try:
            yield _share(group)
        except (OSError, ValueError, ZeroDivisionError):  # no such file; "max", which is no limit
            continue


def _groups() -> Iterator[Path]:
    """Return the folders of the control groups of this process: its own, and their parents."""
    try:
        lines = _MEMBERSHIP.read_text().splitlines()
    except OSError:  # a system without control groups
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "" or "cpu" in controllers.split(","):
            root = _GROUPS / "cpu" if controllers else _GROUPS
            # In a container, its path outside may be given: then nothing is there.
            own = root / path.lstrip("/")
            yield from (own, *own.parents[: len(own.parts) - len(root.parts)])


def _share(group: Path) -> float:
    """Return the limit of one group, of version 2 or 1 of their interface."""
    if (group / "cpu.max").exists():
        quota, period = (group / "cpu.max").read_text().split()
    else:
        quota, period = (
            (group / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period")
        )  # fmt: skip
    limit = int(quota) / int(period)
    return limit if limit > 0 else float("inf")  # version 1 has -1 for no limit


def spin_hint() -> tuple[Any, ...]:
    """Return LLVM's intrinsic for a spin loop on this processor, and its arguments; nothing for an unknown one."""
    return _SPIN_HINTS.get(platform.machine(), ())


# --- threads and processes -----------------------------------------------------------------------------------------

_THREAD_ATTRIBUTE_BYTES = 128  # room for a ``pthread_attr_t``, which takes 56 on Linux


def stack_bytes() -> int:
    """Return the bytes of the current thread's stack, 0 where that cannot be told."""
    if not sys.platform.startswith("linux"):  # others give their threads more, or do not tell
        return 0
    system, size = ctypes.CDLL(None), ctypes.c_size_t()
    attribute = ctypes.create_string_buffer(_THREAD_ATTRIBUTE_BYTES)
    system.pthread_self.restype = ctypes.c_void_p
    if system.pthread_getattr_np(ctypes.c_void_p(system.pthread_self()), attribute) != 0:
        return 0
    system.pthread_attr_getstacksize(attribute, ctypes.byref(size))
    system.pthread_attr_destroy(attribute)
    return size.value


def threads_have_priorities() -> bool:
    """Return whether `os.setpriority` takes a thread; elsewhere the priority is that of the whole process."""
    return sys.platform == "linux"


def at_fork(
    *,
    before: Callable[[], Any] | None = None,
    in_parent: Callable[[], Any] | None = None,
    in_child: Callable[[], Any] | None = None,
) -> None:
    """Register functions that are called around a fork, on systems that have it."""
    if hasattr(os, "register_at_fork"):
        given = {"before": before, "after_in_parent": in_parent, "after_in_child": in_child}
        os.register_at_fork(**{name: function for name, function in given.items() if function is not None})


class Clock(NamedTuple):
    """A clock that never goes back, as compiled code calls it.

    Attributes
    ----------
    function
        ``clock_gettime``, or ``QueryPerformanceCounter`` of Windows.
    argument
        The number of the clock for ``clock_gettime``, nanoseconds of a tick for the counter.
    """

    function: str
    argument: int


def clock() -> Clock:
    """Return the clock of the pool of threads.

    Raises
    ------
    ImportError
        On a system that has neither.
    """
    if sys.platform == "win32":
        return Clock("QueryPerformanceCounter", round(time.get_clock_info("perf_counter").resolution * 1e9))
    if not hasattr(time, "CLOCK_MONOTONIC"):
        raise ImportError(
            f"tapegrad needs the clock CLOCK_MONOTONIC, which this system ({sys.platform}) does not have"
        )
    return Clock("clock_gettime", time.CLOCK_MONOTONIC)


# --- files ---------------------------------------------------------------------------------------------------------

BINARY = getattr(os, "O_BINARY", 0)  # of `os.open`: Windows would translate line ends


def try_lock(descriptor: int, byte: int) -> bool:
    """Lock one byte of a file between processes, if none holds it; the system opens the locks of a process that ends.

    Raises
    ------
    OSError
        Where the file's system, or this one, has no such locks.
    """
    try:
        if fcntl is not None:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        elif msvcrt is not None:
            os.lseek(descriptor, byte, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            return False
        raise
    return True


def unlock(descriptor: int, byte: int) -> None:
    """Open a lock of `try_lock`."""
    if fcntl is not None:
        fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, byte)
    elif msvcrt is not None:
        os.lseek(descriptor, byte, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)


def cache_base() -> Path:
    """Return the folder in which programs keep caches of the user's; that of Linux on a system that is not known.

    Raises
    ------
    RuntimeError
        If no home directory is known.
    """
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def can_load_twice() -> bool:
    """Return whether a library can be loaded once more with its own symbols, on a thread bound to one processor."""
    return hasattr(os, "RTLD_DEEPBIND") and hasattr(os, "sched_setaffinity")


def copy_permissions(status: os.stat_result, descriptor: int) -> None:
    """Give an open file the permissions of another one, where files have them."""
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, stat.S_IMODE(status.st_mode))


def is_of_another_user(status: os.stat_result) -> bool:
    """Return whether a file belongs to another user than this one or root; on Windows its folder decides."""
    return hasattr(os, "geteuid") and status.st_uid not in (os.geteuid(), 0)


def is_open_to_others(status: os.stat_result) -> bool:
    """Return whether other users may write to a file, where its mode says so."""
    return hasattr(os, "geteuid") and bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


# --- memory --------------------------------------------------------------------------------------------------------


def memory_bytes() -> int | None:
    """Return how much memory the machine has; `None` where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


_MAP_FIXED = 0x10  # of Linux, macOS and the BSDs, which Python's module does not name
_KNOWN_MAPPINGS = ("linux", "darwin", "freebsd", "openbsd", "netbsd", "dragonfly")


class Mapping(NamedTuple):
    """Flags of ``mmap``: for pages anywhere, and for pages in the place of others."""

    fresh: int
    in_place: int


def mapping() -> Mapping:
    """Return the flags by which guard pages are made.

    Raises
    ------
    ImportError
        On a system without ``mmap``, or whose flags are not known.
    """
    if not hasattr(mmap, "MAP_ANONYMOUS"):
        raise ImportError("TAPEGRAD_GUARD_PAGES: this system has no mmap; unset the variable")
    if not sys.platform.startswith(_KNOWN_MAPPINGS):
        raise ImportError(
            f"TAPEGRAD_GUARD_PAGES: the flags of mmap on this system ({sys.platform}) are not known;"
            " unset the variable"
        )
    fresh = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    return Mapping(fresh, _MAP_FIXED | fresh)
