"""Progress appears after a second, on terminals and in notebooks, and nowhere else."""

import os
import re
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.engine.runtime.messages import progress, stderr
from tapegrad.engine.runtime.messages.progress import Progress, SlowStep

ERASE = "\r\x1b[K"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal on which each text is shown, at once."""
    monkeypatch.delenv("TAPEGRAD_PROGRESS", raising=False)
    monkeypatch.setattr(stderr, "on_terminal", lambda: True)
    monkeypatch.setattr(progress, "_INTERVAL_S", 0.0)


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A notebook's kernel; the texts that its output has had."""
    shown: list[str] = []

    class Handle:
        def update(self, content: dict[str, str], raw: bool) -> None:
            assert raw
            shown.append(content["text/plain"])

    def display(content: dict[str, str], raw: bool, display_id: bool) -> Handle:
        handle = Handle()
        assert display_id
        handle.update(content, raw)
        return handle

    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    module = types.ModuleType("IPython.display")
    module.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.delenv("TAPEGRAD_PROGRESS", raising=False)
    return shown


def show(*texts: str, **options: Any) -> None:
    with Progress(delay=0.0, **options) as line:
        for text in texts:
            line.show(text)


def test_a_terminal_has_one_rewritten_line(terminal: None, capsys: pytest.CaptureFixture[str]) -> None:
    show("one", "two")
    assert capsys.readouterr().err == f"{ERASE}one{ERASE}two{ERASE}"


def test_a_notebook_has_one_updated_output(kernel: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    show("one", "two")
    assert kernel == ["one", "two", ""]
    assert capsys.readouterr().err == ""


def test_pipes_have_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    show("one", "two")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("value", ["0", ""])
def test_it_is_switched_off(
    value: str, terminal: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAPEGRAD_PROGRESS", value)
    with Progress(delay=0.0) as line:
        assert not line.due
    assert capsys.readouterr().err == ""


def test_it_waits_and_pauses(terminal: None, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(progress, "_INTERVAL_S", 0.5)
    with Progress() as line:
        dues = []
        for now[0] in (100.9, 101.1, 101.5, 101.7):
            dues.append(line.due)
            if line.due:
                line.show("")
        assert dues == [False, True, False, True]


def test_inner_lines_are_silent(terminal: None, capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(delay=0.0) as outer:
        outer.show("outer")
        with Progress(delay=0.0) as inner:
            inner.show("inner")
            assert not inner.due
        outer.show("outer")
    assert capsys.readouterr().err == f"{ERASE}outer{ERASE}outer{ERASE}"


def test_threads_are_silent(terminal: None, capsys: pytest.CaptureFixture[str]) -> None:
    thread = threading.Thread(target=show, args=("one",))
    thread.start()
    thread.join()
    assert capsys.readouterr().err == ""


def test_an_error_of_a_front_end_stops_nothing(kernel: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **options: Any) -> None:
        raise OSError("the connection is closed")

    monkeypatch.setattr(sys.modules["IPython.display"], "display", fail)
    show("one", "two")
    assert kernel == []


# --- searches ------------------------------------------------------------------------------------------------------


def rosenbrock(x: Any) -> Any:
    return tg.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def residuals(x: Any) -> Any:
    return [10 * (x[1:] - x[:-1] ** 2), 1 - x[:-1]]


def valley(t: Any, a: Any, b: Any) -> Any:
    return tg.stack([10 * (b - a**2), 1 - a, 0.1 * b])


START = np.full(10, -1.2)
STARTS = np.random.default_rng(0).uniform(-2, 2, (60, 10))
T = np.linspace(0, 1, 9)
ROWS = np.outer(np.linspace(1, 2, 60), T)
Search = Callable[..., Any]
SEARCHES: dict[str, tuple[Search, str]] = {
    "scipy": (lambda **how: tg.optimize.minimize(rosenbrock, START, **how), " evaluations, value "),
    "values": (
        lambda **how: tg.optimize.minimize(rosenbrock, START[:3], method="Powell", **how),
        " evaluations, value ",
    ),
    "native": (
        lambda **how: tg.optimize.minimize(rosenbrock, START, method="native", **how),
        "minimize: 16 evaluations, value ",
    ),
    "starts": (
        lambda **how: tg.optimize.minimize(
            rosenbrock, None, method="native", starts=STARTS, threads=1, **how
        ),
        "3 of 60, ",
    ),
    "least squares": (lambda **how: tg.optimize.least_squares(residuals, START, **how), "half the sum of"),
    "native least squares": (
        lambda **how: tg.optimize.least_squares(residuals, START, method="native", **how),
        "least_squares: 16 evaluations, cost ",
    ),
    "curve_fit": (
        lambda **how: tg.optimize.curve_fit(lambda t, a: a * t, T, ROWS, [1.0], threads=1, **how),
        "3 of 60, ",
    ),
    "one curve_fit": (
        lambda **how: tg.optimize.curve_fit(valley, None, np.zeros(3), [-1.2, 1.0], **how),
        "curve_fit: 16 evaluations, cost ",
    ),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_searches_show_progress(
    name: str, terminal: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here from the first evaluation or slice on; the line is gone at the end, and not there with `progress=False`."""
    search, text = SEARCHES[name]
    first = Progress.__init__.__defaults__
    assert first == (True, 1.0, None)
    monkeypatch.setattr(Progress.__init__, "__defaults__", (True, 0.0, None))
    search()
    shown = capsys.readouterr().err
    assert text in shown
    assert shown.endswith(ERASE)
    search(progress=False)
    assert capsys.readouterr().err == ""


ONE_SEARCH = {
    "minimize": lambda **how: tg.optimize.minimize(rosenbrock, START, method="native", **how),
    "least_squares": lambda **how: tg.optimize.least_squares(residuals, START, method="native", **how),
    "curve_fit": lambda **how: tg.optimize.curve_fit(valley, None, np.zeros(3), [-1.2, 1.0], **how),
}


@pytest.mark.parametrize("name", ONE_SEARCH)
def test_one_search_leaves_its_evaluations_behind(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    ONE_SEARCH[name](progress=False)  # what has to be compiled is
    capsys.readouterr()
    found = ONE_SEARCH[name](progress=True)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{name}: {found.nfev} evaluations, ")
    value = found.fun if name == "minimize" else found.cost
    assert re.search(rf" {re.escape(f'{value:.6g}')} in \d+\.\d s$", line)


# --- steps that cannot look at the clock ---------------------------------------------------------------------------


@pytest.fixture
def impatient(terminal: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A terminal on which steps are shown after milliseconds."""
    monkeypatch.setattr(progress, "_DELAY_S", 0.002)
    monkeypatch.setattr(progress, "_INTERVAL_S", 0.002)
    yield
    SlowStep.stop()


def wait_for(is_true: Callable[[], bool]) -> None:
    end = time.perf_counter() + 300
    while not is_true():
        assert time.perf_counter() < end
        time.sleep(0.002)


def test_a_slow_step_is_shown_by_a_thread(impatient: None, capsys: pytest.CaptureFixture[str]) -> None:
    asked = []
    with SlowStep(lambda: f"look {asked.append(0) or len(asked)}"), SlowStep(lambda: "inner"):
        wait_for(lambda: len(asked) > 1)
    shown = capsys.readouterr().err
    assert shown.startswith(f"{ERASE}look 1{ERASE}look 2")
    assert shown.endswith(ERASE)
    assert "inner" not in shown
    wait_for(lambda: SlowStep._reporter is None)


def test_no_thread_is_started_where_nothing_is_seen() -> None:
    with SlowStep(lambda: "unseen"):
        assert SlowStep._reporter is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_ends_the_thread(impatient: None) -> None:
    with SlowStep(lambda: "step"):
        assert SlowStep._reporter is not None
        child = os.fork()
        if not child:
            os._exit(SlowStep._reporter is not None)
        assert os.waitpid(child, 0)[1] == 0
        assert SlowStep._reporter is None


def test_long_recordings_are_shown(impatient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The function waits for its line, as one of a million instructions would."""
    shown: list[str] = []  # not an event: a recorded function sees all that its arguments lead to
    monkeypatch.setattr(stderr, "show", lambda text: "chain: 20 instructions" in text and shown.append(text))

    def chain(x: Any) -> Any:
        for _ in range(20):
            x = x * 0.5
        while not shown:
            time.sleep(0.001)
        return x.sum()

    tg.grad(tg.jit(chain))(np.ones(3))
    assert shown
