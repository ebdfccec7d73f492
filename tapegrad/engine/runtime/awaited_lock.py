"""A lock whose owner can see that somebody waits for it."""

import threading
from types import TracebackType


class AwaitedLock:
    """`threading.RLock`, and whether threads wait for it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._waiting: list[None] = []  # one for each thread: to append and to pop is atomic

    def acquire(self) -> None:
        """Take the lock, once more if this thread has it."""
        if self._lock.acquire(blocking=False):
            return
        self._waiting.append(None)
        try:
            self._lock.acquire()
        finally:
            self._waiting.pop()

    def release(self) -> None:
        """Give back what was taken last."""
        self._lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def is_awaited(self) -> bool:
        """Whether another thread waits for it."""
        return bool(self._waiting)

    def forget_others(self) -> None:
        """Forget the threads that wait, of which a forked child has none."""
        self._waiting.clear()
