"""The stack of the current thread, which LLVM needs more of than some programs give to theirs."""

import ctypes
import sys
import threading

_NEEDED_BYTES = 256 * 1024  # a gradient has been compiled in 96 KiB, and has ended the process in 64
_ATTRIBUTE_BYTES = 128  # room for a ``pthread_attr_t``, which takes 56 on Linux


def require() -> None:
    """Refuse to compile in a thread whose stack is too small, where LLVM would end the process.

    Raises
    ------
    RuntimeError
        Says how large the stack is, and what to write.
    """
    if threading.current_thread() is threading.main_thread():
        return
    size = _size()
    if 0 < size < _NEEDED_BYTES:
        raise RuntimeError(
            f"a function has to be compiled in a thread whose stack has {size // 1024} KiB, and LLVM needs"
            f" {_NEEDED_BYTES // 1024}: call threading.stack_size(1 << 20) before the thread is started, or call the"
            " function in another thread first, which compiles it for all"
        )


def _size() -> int:
    """Return the bytes of the current thread's stack, 0 where that cannot be told."""
    if not sys.platform.startswith("linux"):  # others give their threads more, or do not tell
        return 0
    system, size = ctypes.CDLL(None), ctypes.c_size_t()
    attribute = ctypes.create_string_buffer(_ATTRIBUTE_BYTES)
    system.pthread_self.restype = ctypes.c_void_p
    if system.pthread_getattr_np(ctypes.c_void_p(system.pthread_self()), attribute) != 0:
        return 0
    system.pthread_attr_getstacksize(attribute, ctypes.byref(size))
    system.pthread_attr_destroy(attribute)
    return size.value
