"""``latency WORKLOAD SIZE CORES``: replays by rows while a thread in the background fuses, and while nothing does.

The cache folder has to be without segments. On 0 cores nothing is timed: that leaves in it what rows need.
"""

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any, cast

import numpy as np

import tapegrad
from perf.figures.adbench import lstm_model
from perf.figures.distributions import Kit
from perf.workloads import WORKLOADS, Answer, Array
from tapegrad.program.fusion.policy import PendingFusion
from tapegrad.testing.timer import Contender, check

_SECONDS, _LONGEST = 0.5, 120.0
_AFTER = 20  # replays after the thread has ended

Call = Callable[[], Any]
Intervals = list[tuple[float, float]]


def _sample(name: str, size: int) -> tuple[Callable[[bool | None], Call], Answer]:
    """Return a function that makes a call for each `fuse`, and the expected answer."""
    if name == "lstm":
        model = lstm_model(size)
        function: Callable[..., Any] = partial(model.function, Kit(tapegrad, *[cast(Any, None)] * 4))
        given, answer = (model.parameters, *model.data), model.answer
    else:
        function, x = WORKLOADS[name].over(tapegrad), WORKLOADS[name].build(size)
        given, answer = (x,), WORKLOADS[name].reference(x)
    return (lambda fuse: partial(tapegrad.value_and_grad(tapegrad.jit(function, fuse=fuse)), *given)), answer


def watch_jobs() -> Intervals:
    """Record from now on when the thread in the background begins and ends each of its jobs."""
    known: Intervals = []
    fuse = PendingFusion._try

    def watched(self: PendingFusion) -> None:
        began = perf_counter()
        fuse(self)
        known.append((began, perf_counter()))

    PendingFusion._try = watched  # type: ignore[method-assign]
    return known


def timed(call: Call, is_over: Callable[[], Any]) -> Array:
    """Record when each call begins, and when the last one has ended, until something is over."""
    times = [perf_counter()]
    end = times[0] + _LONGEST
    while not is_over() and times[-1] < end:
        call()
        times.append(perf_counter())
    return np.array(times)


def _for_a_while(call: Call) -> Array:
    end = perf_counter() + _SECONDS
    return timed(call, lambda: perf_counter() > end)


def inside(times: Array, interval: tuple[float, float]) -> Array:
    """Seconds of the calls of which some part is in an interval."""
    begun, ended = times[:-1], times[1:]
    return (ended - begun)[(ended > interval[0]) & (begun < interval[1])]


def main(name: str, size: int, cores: int) -> None:
    """Print median and 99th percentile of both, and how long the thread has worked."""
    make, answer = _sample(name, size)
    rows = make(False)
    check(Contender("row by row", rows), answer)
    if cores == 0:
        print("{}")
        return
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    before = _for_a_while(rows)
    jobs, call = watch_jobs(), make(None)
    times = timed(call, lambda: jobs)
    if not jobs:
        raise SystemExit("nothing was fused")
    for _ in range(_AFTER):
        call()
    check(Contender("fused", call), answer)
    alone = np.concatenate([np.diff(before), np.diff(_for_a_while(rows))])
    beside = inside(times, jobs[0])
    found = {
        kind: [float(q) for q in np.quantile(each, (0.5, 0.99))]
        for kind, each in (("alone", alone), ("beside", beside))
    }
    began, ended = jobs[0]
    print(json.dumps({**found, "replays": len(beside), "seconds": ended - began}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
