"""Guard pages: with ``TAPEGRAD_GUARD_PAGES=1`` in the environment, what reads or writes past memory ends the process.

Every block of the engine, its columns, parameters and scratch, every array that NumPy makes in the main thread, and
every block of a replay's workspace then lie between pages that cannot be touched. A block ends where such a page
begins, so that the next element faults; what is missing to a multiple of 8 bytes, and to a cache line for blocks of
the tape of a kilobyte or more, is not seen. Freed memory faults as well. New memory is full of NaN. The compiled code
is the same: only the names of the allocator stand for other functions.
"""

import contextlib
import ctypes
import mmap
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from tapegrad.engine.codegen.translator import compiler
from tapegrad.engine.kernels.language.raw_memory import bind_allocator
from tapegrad.engine.runtime.object_layouts import ensure_known, numpy_function
from tapegrad.engine.runtime.operating_system import mapping

PAGE = mmap.PAGESIZE
on = os.environ.get("TAPEGRAD_GUARD_PAGES", "0") not in ("", "0")


def put_up() -> None:
    """Put an allocator with guard pages in the place of the C library's, for all code that is loaded from now on."""
    mapping()  # or it is refused
    from tapegrad.engine.tape import guarded_memory  # noqa: PLC0415  where there is no mmap it cannot be imported

    for use, kind in ((bind_allocator, "fenced"), (_let_numpy_use, "array")):
        own = [getattr(guarded_memory, f"{kind}_{name}") for name in ("malloc", "calloc", "realloc", "free")]
        use([compiler.compile_c_function(function) for function in own])


# --- NumPy's arrays ----------------------------------------------------------------------------------------------


class _Allocator(ctypes.Structure):
    """``PyDataMemAllocator`` of NumPy's C interface."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("context", "malloc", "calloc", "realloc", "free"))


class _Handler(ctypes.Structure):
    """``PyDataMem_Handler`` of NumPy's C interface (NEP 49)."""

    _fields_ = (("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("allocator", _Allocator))


_kept: list[Any] = []


@contextlib.contextmanager
def numpys_own_memory() -> Iterator[None]:
    """Let NumPy allocate by its own functions: many small arrays that nothing but NumPy sees take 20 times as long."""
    if not on:
        yield
        return
    guarded = _set_handler(ctypes.py_object())
    try:
        yield
    finally:
        _set_handler(guarded)


def _let_numpy_use(addresses: list[int]) -> None:
    """Let NumPy allocate by these functions from now on, in this thread."""
    python = ctypes.pythonapi
    python.PyCapsule_New.restype, python.PyCapsule_New.argtypes = (
        ctypes.py_object,
        (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p),
    )
    handler = _Handler(b"tapegrad_guard_pages", 1, _Allocator(None, *addresses))
    _kept.append(handler)
    _set_handler(python.PyCapsule_New(ctypes.addressof(handler), b"mem_handler", None))


def _set_handler(capsule: Any) -> Any:
    """Set NumPy's allocator in this thread, its own for a null pointer; return the one before."""
    ensure_known()
    function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(numpy_function("PyDataMem_SetHandler"))
    return function(capsule)


# --- workspaces --------------------------------------------------------------------------------------------------


def fenced_pages(bytes_: int, fences: list[int]) -> np.ndarray:
    """Whole pages full of NaN; those that begin at the offsets `fences` cannot be touched."""
    try:
        pages = mmap.mmap(-1, bytes_, flags=mapping().fresh)
    except OSError as error:
        raise MemoryError(f"TAPEGRAD_GUARD_PAGES: mmap: {error}") from None
    memory = np.frombuffer(pages, np.uint8)
    memory[...] = 0xFF
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    for offset in fences:
        if protect(ctypes.c_void_p(memory.ctypes.data + offset), ctypes.c_size_t(PAGE), 0) != 0:
            raise MemoryError(f"TAPEGRAD_GUARD_PAGES: mprotect: {os.strerror(ctypes.get_errno())}")
    return memory
