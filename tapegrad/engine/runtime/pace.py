"""Cooperative pauses of background threads, so that replays rarely wait for the GIL.

While compiled code runs, a replay leaves Python's global lock to other threads, and afterwards it needs the lock to
return. A thread that computes in Python keeps it for five milliseconds when asked for it. So a thread in the background
works in short slices and sleeps in between, for it must be away when a replay ends: most replays then never meet it,
and those that do wait for the rest of a slice. Where it may stop it calls `pause_point`, which does nothing in
any other thread.

Replays shorter than any slice are spared in another way: slices are long and rare, so that of a hundred replays less
than one waits.
"""

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from time import perf_counter, sleep
from typing import NamedTuple, TypeVar

from tapegrad.engine.runtime.operating_system import threads_have_priorities

_T = TypeVar("_T")


class Pace(NamedTuple):
    """Pace of a background thread: seconds of a slice, of the pause after it, and of that after a long one."""

    slice: float
    pause: float
    too_long: float
    long_pause: float

    def pause_after(self, worked: float) -> float:
        """Seconds of the pause after so many of work."""
        return self.long_pause if worked > self.too_long else self.pause


_MAX_SHORT_REPLAY_S = 300e-6  # seconds of a replay up to which slices are long
_LONG_SLICE_S = 4e-3  # less than the time after which Python takes its lock away from a thread
_SHORTEST_PAUSE = 10e-3
_REPLAYS_PER_PAUSE = 200  # a long slice delays one replay, and the next finds caches without its data
_LONGEST_SLICE = 2e-3
_LONGEST_PAUSE = 40e-3
_NICE = 15  # gives the thread a thirtieth of a core that a replay wants, too


def pace_beside(period: float) -> Pace:
    """Return the pace that suits replays of a period: six of seven meet no slice at all."""
    if period < _MAX_SHORT_REPLAY_S:
        pause = max(_REPLAYS_PER_PAUSE * period, _SHORTEST_PAUSE)
        return Pace(slice=_LONG_SLICE_S, pause=pause, too_long=1.5 * _LONG_SLICE_S, long_pause=1.5 * pause)
    return Pace(
        slice=min(period / 2, _LONGEST_SLICE),
        pause=min(6 * period, _LONGEST_PAUSE),
        too_long=period,
        long_pause=min(50 * period, _LONGEST_PAUSE),
    )


class _Own(threading.local):
    """Pace of the current thread; none unless it is in the background."""

    pace: Pace | None = None
    began = 0.0


_own = _Own()


@contextlib.contextmanager
def working(pace: Pace) -> Iterator[None]:
    """Work at a pace in this thread."""
    _own.began, _own.pace = perf_counter(), pace
    try:
        yield
    finally:
        _own.pace = None


def in_background() -> bool:
    """Return whether this thread works at a pace."""
    return _own.pace is not None


def pause_point() -> None:
    """Pause a background thread if its slice is over. Do not call it while holding a lock."""
    pace = _own.pace
    if pace is None:
        return
    worked = perf_counter() - _own.began
    if worked >= pace.slice:
        sleep(pace.pause_after(worked))
        _own.began = perf_counter()


def with_pauses(items: Iterable[_T]) -> Iterator[_T]:
    """Yield each item, after a pause if one is due."""
    for item in items:
        pause_point()
        yield item


def aside(work: Callable[[], _T]) -> _T:
    """Run a call that releases the GIL, such as LLVM's, and return its result.

    Called by a thread that works at a pace, it runs in a thread of lower priority: where they share a core, replays
    take most of it. The calling thread itself keeps its priority, for while it computes in Python replays may wait.
    """
    if _own.pace is None or not threads_have_priorities():
        return work()
    found: Future[_T] = Future()
    threading.Thread(target=_do_aside, args=(work, found), name="tapegrad aside", daemon=True).start()
    result = found.result()
    _own.began = perf_counter()
    return result


def _do_aside(work: Callable[[], _T], found: "Future[_T]") -> None:
    with contextlib.suppress(OSError):  # not permitted: the thread keeps its priority
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
    try:
        found.set_result(work())
    except BaseException as error:
        found.set_exception(error)
