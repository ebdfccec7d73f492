"""The threads that large instructions run on: how many there may be, and their start."""

import atexit
import ctypes
import os
from collections.abc import Iterator

from llvmlite.binding import address_of_symbol

from tapegrad.engine.kernels.language import if_imported, setting
from tapegrad.engine.runtime.operating_system import processors
from tapegrad.engine.sweep.threading import pool

VARIABLES = ("OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "NUMBA_NUM_THREADS")
_CACHE_LINE = 64
NO_THREAD = ctypes.c_ulong(-1).value

_python = ctypes.pythonapi
_allocate = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)(("PyMem_RawCalloc", _python))
_new_lock = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyThread_allocate_lock", _python))
_acquire = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)(("PyThread_acquire_lock", _python))
_new_thread = ctypes.PYFUNCTYPE(ctypes.c_ulong, ctypes.c_void_p, ctypes.c_void_p)(
    ("PyThread_start_new_thread", _python)
)


def allowed() -> int:
    """Return the number of threads for large instructions, the caller's among them: the least of all limits.

    These are the processors that the system lets this process use, ``OMP_NUM_THREADS``, ``OMP_THREAD_LIMIT``,
    ``NUMBA_NUM_THREADS`` and ``numba.config.NUMBA_NUM_THREADS``.
    """
    return min(processors(), setting("NUMBA_NUM_THREADS") or pool.MAX_THREADS, *_variables())


def _variables() -> Iterator[int]:
    """Return the numbers in the environment. One that cannot be read limits nothing."""
    yield pool.MAX_THREADS
    for name in VARIABLES:
        # OMP_NUM_THREADS may be a list, one number for each level of nested loops.
        outermost = os.environ.get(name, "").partition(",")[0].strip()
        if outermost.isdecimal() and int(outermost) > 0:
            yield int(outermost)


def numba_limit() -> int:
    """Return the address of the function that returns the limit of ``numba.set_num_threads``; 0 if none is set."""
    is_set = if_imported("numba.np.ufunc.parallel", "_is_initialized")
    return address_of_symbol("get_num_threads") or 0 if is_set else 0


def start(function: int) -> tuple[int, int]:
    """Start the pool's threads, each at the address `function`: how many there are, and the pool's address.

    The memory is never given back, for a thread may still be asleep in it when everything else is gone. They are
    the system's threads and not Python's: nothing of theirs is seen by the interpreter or keeps it from ending.
    """
    block = _aligned(pool.BLOCK_BYTES)
    _set_field(block + pool.FINISHED, _signal())
    count = 1
    for thread in range(1, allowed()):
        _set_field(block + pool.wake_lock(thread), _signal())
        pair = _aligned(16)
        _set_field(pair, block)
        _set_field(pair + 8, thread)
        if _new_thread(function, pair) == NO_THREAD:
            break  # the system allows no more
        count += 1
    atexit.register(_set_field, block + pool.CLOSED, 1)
    return count, block


def _aligned(size: int) -> int:
    """Return the address of so many zero bytes at the start of a cache line."""
    address = _allocate(1, size + _CACHE_LINE)
    if not address:
        raise MemoryError("no memory for the pool of threads")
    return -(-address // _CACHE_LINE) * _CACHE_LINE


def field(address: int) -> int:
    """Return the integer at an address of the pool's."""
    return ctypes.c_int64.from_address(address).value


def _set_field(address: int, value: int) -> None:
    ctypes.c_int64.from_address(address).value = value


def _signal() -> int:
    """Return an acquired lock: a thread that acquires it sleeps until another one releases it."""
    made = _new_lock()
    if not made:
        raise MemoryError("no memory for a lock")
    _acquire(made, 1)
    return int(made)
