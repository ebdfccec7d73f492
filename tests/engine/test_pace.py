"""Work in the background pauses where it may, and only there. Nothing here is about speed."""

import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tapegrad.engine.runtime import pace
from tapegrad.engine.runtime.pace import Pace, aside, pace_beside, pause_point, with_pauses, working

EAGER = Pace(slice=0.0, pause=1.0, too_long=100.0, long_pause=2.0)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were made, none of which takes any time."""
    made: list[float] = []
    monkeypatch.setattr(pace, "sleep", made.append)
    return made


def in_thread(work: Callable[[], Any]) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def test_only_a_thread_at_a_pace_pauses(pauses: list[float]) -> None:
    pause_point()
    with working(EAGER):
        in_thread(pause_point)
        assert pauses == []
        pause_point()
    pause_point()
    assert pauses == [1.0]


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (EAGER, [1.0]),
        (EAGER._replace(slice=100.0), []),  # the slice is not over
        (EAGER._replace(too_long=0.0), [2.0]),
    ],
)
def test_pauses_follow_slices(own: Pace, expected: list[float], pauses: list[float]) -> None:
    with working(own):
        pause_point()
    assert pauses == expected


def test_items_come_in_order_with_pauses_before_them(pauses: list[float]) -> None:
    with working(EAGER):
        assert list(with_pauses("abc")) == ["a", "b", "c"]
    assert pauses == [1.0] * 3


@pytest.mark.parametrize("period", [0.0, 3e-6, 3e-5, 1.4e-4, 1.6e-4, 3e-4, 3e-3, 0.1, 10.0])
def test_paces_suit_replays(period: float) -> None:
    """Either a slice is shorter than a replay and hits less than half of them, or it is rare."""
    found = pace_beside(period)
    is_shorter = found.slice < period and found.slice + found.pause >= min(2 * period, 2e-2)
    assert is_shorter or found.slice + found.pause >= 50 * period
    assert 0 < found.slice < found.pause <= found.long_pause < 0.05


def test_what_is_done_aside_has_a_lower_priority() -> None:
    def where() -> tuple[int, int]:
        own = threading.get_native_id()
        return own, os.getpriority(os.PRIO_PROCESS, own) if sys.platform == "linux" else 0

    def beside() -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        with working(EAGER):
            return where(), aside(where), where()

    assert aside(where) == where()
    before, lower, after = in_thread(beside)
    assert before == after
    if sys.platform == "linux":
        assert lower[0] != before[0]
        assert lower[1] >= max(before[1], 15)


def test_errors_come_back_from_aside() -> None:
    def fail() -> None:
        raise LookupError("lost")

    with working(EAGER), pytest.raises(LookupError, match="lost"):
        aside(fail)
