"""Background thread that makes programs while others replay: one job after the other, none at process exit.

The thread is there while there are jobs. They leave Python to replays at a pace (`engine.runtime.pace`). A forked child
has none, and begins with none.
"""

import atexit
import threading
from collections.abc import Callable
from typing import Any

from tapegrad.engine.codegen.machine.lock import stop_compiling
from tapegrad.engine.runtime.operating_system import at_fork


class FusionThread:
    """The thread and its jobs."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._jobs: list[Callable[[], Any]] = []
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopped = False

    def add(self, job: Callable[[], Any]) -> None:
        """Add a job, unless it was added before."""
        with self._lock:
            if self._stopped or job in self._jobs:
                return
            self._jobs.append(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="tapegrad", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while True:
            with self._lock:
                if self._stopped or not self._jobs:
                    self._thread = None
                    return
                job = self._jobs[0]
            try:
                job()
            finally:
                with self._lock:
                    self._jobs.remove(job)

    def wait(self) -> None:
        """Wait until all jobs are done."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def stop(self) -> None:
        """Begin no other job, and compile nothing more."""
        with self._lock:
            self._stopped = True
        if self._thread is not None:
            stop_compiling()  # never released: at exit LLVM's tables are destroyed, which a call of it reads


worker = FusionThread()
atexit.register(worker.stop)
at_fork(in_child=worker._forget)
