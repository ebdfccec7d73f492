"""What a module of an eval offers: functions of the inputs that GradBench sends."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

import numpy as np

from perf.workloads import Array


def plain(answer: Any) -> Any:
    """Return what JSON takes: numbers, and lists of them."""
    return np.asarray(answer).tolist()


@dataclass(frozen=True)
class Served:
    """A function of an eval: `run` alone is timed.

    `prepare` turns the input of a message into the arguments of `run`, and `answer` its result into the output.
    """

    run: Callable[..., Any]
    prepare: Callable[[Any], tuple[Any, ...]]
    answer: Callable[[Any], Any] = plain

    def respond(self, given: Any) -> dict[str, Any]:
        """Run as often as the message asks for, and time each run, the first one like the others."""
        limits = given if isinstance(given, Mapping) else {}
        timings: list[int] = []
        arguments, elapsed = self.prepare(given), 0.0
        while len(timings) < limits.get("min_runs", 1) or elapsed < limits.get("min_seconds", 0):
            start = perf_counter_ns()
            result = self.run(*arguments)
            timings.append(perf_counter_ns() - start)
            elapsed += timings[-1] / 1e9
        named = [{"name": "evaluate", "nanoseconds": each} for each in timings]
        return {"success": True, "output": self.answer(result), "timings": named}


def array(values: Any) -> Array:
    """Return an array of floats."""
    return np.array(values, dtype=float)
