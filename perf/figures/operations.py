"""Cost of one operation in Python, on ten elements and in each mode that a thread can be in."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.peers import Unavailable, tapegrad
from perf.workloads import Answer
from tapegrad.testing.timer import Contender, Timing, race

X = np.linspace(0.5, 2.0, 10)
DROPPED = 100_000
Operation = Callable[[Any, Any], Any]
# Seconds at the most, and what is computed by the namespace `xp` from the array `x`.
OPERATIONS: dict[str, tuple[float, Operation]] = {
    "x + x": (0.9e-6, lambda xp, x: x + x),
    "x + 1.0": (0.9e-6, lambda xp, x: x + 1.0),
    "sin(x)": (0.9e-6, lambda xp, x: xp.sin(x)),
    "sum(x)": (1.2e-6, lambda xp, x: xp.sum(x)),
    "x[3]": (1.2e-6, lambda xp, x: x[3]),
    "x[1:]": (1.2e-6, lambda xp, x: x[1:]),
    "x.reshape(2, 5)": (1.2e-6, lambda xp, x: x.reshape(2, 5)),
}


def _read(result: Any) -> Answer:
    return (np.array(result.detach().data),)


def _timings(library: Any, x: Any, where: str, settings: Settings) -> list[Timing]:
    """Time every operation on a Tensor, in the mode that the thread is in."""
    contenders = [
        Contender(f"{name}, {where}", partial(operation, library, x), _read)
        for name, (_, operation) in OPERATIONS.items()
    ]
    answers: list[Answer] = [(np.asarray(operation(np, X)),) for _, operation in OPERATIONS.values()]
    return race(contenders, answers, settings.budget)


@contextmanager
def _in_another_thread(mode: Any) -> Iterator[None]:
    """While another thread is in a mode, and waits."""
    entered, done = threading.Event(), threading.Event()

    def wait() -> None:
        with mode:
            entered.set()
            done.wait()

    other = threading.Thread(target=wait)
    other.start()
    entered.wait()
    try:
        yield
    finally:
        done.set()
        other.join()


def _while_differentiating(library: Any, settings: Settings) -> list[Timing]:
    """Inside a function whose gradient is being computed."""
    timings: list[Timing] = []

    def function(x: Any) -> Any:
        timings.extend(_timings(library, x, "while a gradient is computed", settings))
        return library.sum(x)

    library.grad(function)(X)
    return timings


def _drop_results(x: Any) -> None:
    """Make many results that live at one time, so that the tape is large, and drop them."""
    results = [x + x for _ in range(DROPPED)]
    del results


def measure(settings: Settings) -> Outcome:
    """Measure every operation in every mode."""
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    library = tapegrad()
    x, looked_at = library.tensor(X), library.tensor(X)
    looked_at.data.sum()
    timings = _timings(library, x, "no mode", settings)
    timings += _timings(library, looked_at, "its array was looked at", settings)
    with library.no_grad():
        timings += _timings(library, x, "no_grad", settings)
    with _in_another_thread(library.no_grad()):
        timings += _timings(library, x, "another thread in no_grad", settings)
    timings += _while_differentiating(library, settings)
    _drop_results(x)
    timings += _timings(library, x, f"after {DROPPED:,} results were dropped", settings)
    return Outcome(targets(timings), timings)


def targets(timings: list[Timing]) -> list[Target]:
    """Return, for each operation, the median in the mode in which it costs most."""
    found = []
    for name, (limit, _) in OPERATIONS.items():
        worst = max(timing.median for timing in timings if timing.name.startswith(f"{name}, "))
        found.append(Target(f"{name}, in the slowest mode", worst, limit, "s"))
    return found


_NUMBER = 0.5
_SLOPE = 2 * _NUMBER * np.cos(_NUMBER**2) + 1


def _chain_of_numbers(library: Any) -> Any:
    """Differentiate by a number that is new in each call."""
    x = library.tensor(_NUMBER)
    (library.sin(x * x) + x).backward()
    return x.grad


def measure_numbers(settings: Settings) -> Outcome:
    """Measure the steps of a loop of eager derivatives by one number."""
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    library = tapegrad()
    x, y = library.tensor(_NUMBER), library.tensor(_NUMBER)
    (library.sin(x * x) + x).backward()
    limits: dict[str, tuple[float, Callable[[], Any], float]] = {
        "tensor(0.5)": (1e-6, lambda: library.tensor(_NUMBER), _NUMBER),
        "x.grad": (0.5e-6, lambda: x.grad, _SLOPE),
        "y.clear_grad()": (0.4e-6, lambda: y.clear_grad() or 0.0, 0.0),
        "chain of 3 operations, with backward": (4e-6, lambda: _chain_of_numbers(library), _SLOPE),
    }
    timings: list[Timing] = []
    for name, (_, step, answer) in limits.items():
        contender = Contender(name, step, lambda found: (np.array(library.asarray(found).data),))
        timings += race([contender], (np.asarray(answer),), settings.budget)
    found = [Target(each.name, each.median, limits[each.name][0], "s") for each in timings]
    return Outcome(found, timings)


OPERATION = (
    Figure("operations", "One eager operation on 10 elements, in every mode", measure),
    Figure("numbers", "Eager derivatives by one number, step by step", measure_numbers),
)
