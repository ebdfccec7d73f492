"""Division of problems among threads, in chunks, with progress."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

import numpy as np

from tapegrad.engine.runtime.messages import stderr
from tapegrad.engine.runtime.messages.progress import Progress
from tapegrad.engine.threads import allowed
from tapegrad.optimize.searches.interruption import interrupts

_MIN_CHUNKS_PER_THREAD = 16
_MAX_CHUNK_PROBLEMS = 4096
_PROGRESS_INTERVAL_S = 0.5


class Worker(Protocol):
    """Worker of one thread."""

    def run(self, first: int, end: int) -> None:
        """Solve the problems from one number up to another."""

    def finish(self) -> None:
        """Solve the problems that have begun."""

    def stop(self) -> None:
        """Have `run` and `finish` return soon, in another thread."""

    def close(self) -> None:
        """Enter the results of problems that have begun and not ended, and close sessions."""


def checked_threads(threads: Any, who: str, count: int = 2) -> int:
    """Return the number of threads for so many problems: that of the caller, or all that the process may use."""
    if threads is None:
        return allowed() if count > 1 else 1  # which asks the system: as long as a small fit takes
    if isinstance(threads, bool) or int(threads) != threads or threads < 1:
        raise ValueError(f"{who}: threads={threads!r}; it must be a positive integer")
    return int(threads)


def run_shared(count: int, threads: int, make: Callable[[], Worker], progress: Any = None) -> bool:
    """Solve problems by one worker for each thread; return whether Ctrl-C has interrupted them.

    Parameters
    ----------
    count
        Number of problems.
    threads
        Number of threads.
    make
        Makes a worker. It is called by the calling thread.
    progress
        As for `reporting`.
    """
    interrupted = False

    def tell() -> None:
        if chunks.done < count:  # the last line is written when all has been solved
            report(chunks.done, count)

    chunk = min(max(count // (_MIN_CHUNKS_PER_THREAD * threads), 1), _MAX_CHUNK_PROBLEMS)
    chunks = _Chunks(count, chunk)
    threads = max(min(threads, -(-count // chunk)), 1)
    with reporting(progress) as report, ExitStack() as stack:
        workers = [_Held(make()) for _ in range(threads)]
        for worker in workers:
            stack.callback(worker.close)
        try:
            if threads == 1:
                workers[0].work(chunks, tell)
            else:
                _work_together(stack.enter_context(ThreadPoolExecutor(threads)), workers, chunks, tell)
        except KeyboardInterrupt:
            if interrupts.is_second():
                raise
            interrupted = True
        finally:
            chunks.stop()
            for worker in workers:
                worker.stop()
        stack.close()
        if not interrupted:
            report(count, count)
    return interrupted


class Results:
    """Results of problems: arrays by name, with a row for each problem."""

    def enter(self, numbers: Any, values: dict[str, np.ndarray]) -> None:
        """Enter the results of some of the problems."""
        for name, value in values.items():
            getattr(self, name)[numbers] = value


class _Held:
    """Worker that is closed after its thread has left it, whatever interrupts the thread that closes it.

    A session that is closed while compiled code uses it is a use after free: a second Ctrl-C ends the wait for threads.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker, self._closed = worker, False
        self._lock = threading.RLock()  # an interrupt may leave it locked by the thread that is to close it

    def work(self, chunks: "_Chunks", tell: Callable[[], Any] | None) -> None:
        """Solve problems, unless it is closed."""
        with self._lock:
            if not self._closed:
                _work(self._worker, chunks, tell)

    def stop(self) -> None:
        self._worker.stop()

    def close(self) -> None:
        with self._lock:
            if not self._closed:
                self._closed = True
                self._worker.close()


def _work_together(
    pool: ThreadPoolExecutor, workers: list[_Held], chunks: "_Chunks", tell: Callable[[], Any]
) -> None:
    waiting: set[Future[None]] = {pool.submit(worker.work, chunks, None) for worker in workers}
    while waiting:
        done, waiting = wait(waiting, _PROGRESS_INTERVAL_S, FIRST_COMPLETED)
        for future in done:
            future.result()
        tell()


def _work(worker: Worker, chunks: "_Chunks", tell: Callable[[], Any] | None) -> None:
    for first, end in chunks:
        worker.run(first, end)
        chunks.count(end - first)
        if tell is not None:
            tell()
    worker.finish()


class _Chunks:
    """Ranges of problems, each taken by one thread.

    Attributes
    ----------
    done
        Number of solved problems; the last ones of each chunk may still be in lanes.
    """

    def __init__(self, count: int, size: int) -> None:
        self._count, self._size, self._next = count, size, 0
        self.done = 0
        self._lock = threading.Lock()

    def count(self, more: int) -> None:
        """Count solved problems."""
        with self._lock:
            self.done += more

    def stop(self) -> None:
        """Hand out no more problems."""
        self._count = 0

    def __iter__(self) -> Iterator[tuple[int, int]]:
        while True:
            with self._lock:
                first, end = self._next, min(self._next + self._size, self._count)
                if first >= end:
                    return
                self._next = end
            yield first, end


@contextmanager
def reporting(progress: Any) -> Iterator[Callable[[int, int], Any]]:
    """Yield the function that reports progress: it takes the number of solved problems, and of all.

    Parameters
    ----------
    progress
        `True` for a line that stays, `False` for none, `None` for one that appears after a second and vanishes; or a
        function, which is yielded.
    """
    if not (progress is None or isinstance(progress, bool)):
        if not callable(progress):
            raise TypeError(f"progress={progress!r}; it must be True, False, or a function of two numbers")
        yield progress
        return
    with Progress(progress is not False) as line:
        yield _Report(line, stays=progress is True).tell


@contextmanager
def reporting_one(progress: Any, text: Callable[[], str]) -> Iterator[Progress]:
    """Yield the progress line of a single search, and say at the end how it ended if that is to stay.

    Parameters
    ----------
    progress
        As for `reporting`.
    text
        Returns what is said at the end.
    """
    begun = time.perf_counter()
    with Progress(progress is None or progress is True) as line:
        yield line
    if progress is True:
        stderr.write_line(f"{text()} in {time.perf_counter() - begun:.1f} s")


class _Report:
    """Texts about how many problems are solved, for a progress line."""

    def __init__(self, line: Progress, stays: bool) -> None:
        self._line, self._stays = line, stays
        self._begun = time.perf_counter()

    def tell(self, done: int, count: int) -> None:
        """Show the number of solved problems."""
        if done == count:
            self._line.close()
            if self._stays:
                stderr.write_line(self._text(done, count))
        elif self._line.due:
            self._line.show(self._text(done, count))

    def _text(self, done: int, count: int) -> str:
        return f"{done} of {count}{_pace(done, count, time.perf_counter() - self._begun)}"


def _pace(done: int, count: int, seconds: float) -> str:
    """Format the problems per second, and the time left, or the time taken."""
    if done == 0:
        return ""
    rate = done / max(seconds, 1e-9)
    end = f", {(count - done) / rate:.0f} s left" if done < count else f" in {seconds:.1f} s"
    return f", {rate:.0f} a second{end}"
