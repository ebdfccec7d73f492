"""Cost of a compiled function called from functions of Numba's: no Python between the calls."""

from dataclasses import replace
from functools import partial
from typing import Any

import numba
import numpy as np

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.fused_baselines import rosenbrock
from perf.peers import Unavailable, tapegrad
from perf.workloads import WORKLOADS, Answer, Array
from tapegrad.testing.timer import Contender, Timing, race

CALLS = 1_000  # in one loop
SEGMENTS, ROWS, HAND = "from njit, segments", "from njit, row by row", "by hand, from njit"


@numba.njit
def _repeat(function: Any, x: Array, gradient: Array, calls: int) -> Any:
    value = 0.0
    for _ in range(calls):
        value = function(x, gradient)
    return value, gradient


@numba.njit
def _repeat_by_hand(x: Array, calls: int) -> Any:
    value, gradient = rosenbrock(x)
    for _ in range(calls - 1):
        value, gradient = rosenbrock(x)
    return value, gradient


def _each(timing: Timing) -> Timing:
    """Return the time of one call, from that of a loop."""
    low, median, high = (seconds / CALLS for seconds in (timing.low, timing.median, timing.high))
    return replace(timing, low=low, median=median, high=high)


def contenders(size: int) -> tuple[list[Contender], Answer]:
    """Return the loops, and the answer of each."""
    library, workload = tapegrad(), WORKLOADS["rosenbrock"]
    x = workload.build(size)
    made = [
        (name, library.compile(library.value_and_grad(workload.over(library)), x, fuse=fuse))
        for name, fuse in ((SEGMENTS, True), (ROWS, False))
    ]
    ours = [Contender(name, partial(_repeat, h, x, np.empty(size), CALLS)) for name, h in made]
    return [*ours, Contender(HAND, partial(_repeat_by_hand, x, CALLS))], workload.reference(x)


def _measure(settings: Settings) -> Outcome:
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    found, answer = contenders(10)
    timings = [_each(timing) for timing in race(found, answer, settings.budget)]
    targets = [
        Target(f"a value and gradient, {timing.name}", timing.median, 300e-9, "s") for timing in timings[:2]
    ]
    return Outcome(targets, timings)


COMPILED = (Figure("compiled", "Compiled Rosenbrock, n = 10, called in a loop of Numba's", _measure),)
