"""The stack of the current thread, which LLVM needs more of than some programs give to theirs."""

import threading

from tapegrad.engine.runtime.operating_system import stack_bytes

_NEEDED_BYTES = 256 * 1024  # a gradient has been compiled in 96 KiB, and has ended the process in 64


def require() -> None:
    """Refuse to compile in a thread whose stack is too small, where LLVM would end the process.

    Raises
    ------
    RuntimeError
        Says how large the stack is, and what to write.
    """
    if threading.current_thread() is threading.main_thread():
        return
    size = stack_bytes()
    if 0 < size < _NEEDED_BYTES:
        raise RuntimeError(
            f"a function has to be compiled in a thread whose stack has {size // 1024} KiB, and LLVM needs"
            f" {_NEEDED_BYTES // 1024}: call threading.stack_size(1 << 20) before the thread is started, or call the"
            " function in another thread first, which compiles it for all"
        )
