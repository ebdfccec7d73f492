"""Times of short calls, and times as text."""

import math
from collections.abc import Callable
from time import perf_counter_ns

_REPEATS = 5
_BATCH_NS = 20_000  # a time that a clock of 100 ns can measure
_UNITS = (("ns", 1.0, ".0f"), ("us", 1e3, ".3g"), ("ms", 1e6, ".3g"), ("s", 1e9, ".3g"))


def nanoseconds(call: Callable[[], object], enough: float = math.inf) -> float:
    """Measure a short call in ns: the fastest of some batches. A call of more than `enough` is made twice at most."""
    elapsed = min(_elapsed(call, 1), _elapsed(call, 1))
    if elapsed > enough:
        return elapsed
    count = 1
    while elapsed < _BATCH_NS and count < _BATCH_NS:
        count *= 2
        elapsed = _elapsed(call, count)
    return min([elapsed, *(_elapsed(call, count) for _ in range(_REPEATS - 1))]) / count


def _elapsed(call: Callable[[], object], count: int) -> int:
    begin = perf_counter_ns()
    for _ in range(count):
        call()
    return perf_counter_ns() - begin


def quantity(ns: float) -> str:
    """Format a time in three digits with a suitable unit: ``12 ns``, ``3.5 us``, ``640 ms``, ``9.3 s``."""
    for unit, size, digits in _UNITS:
        number = format(ns / size, digits)
        if abs(float(number)) < 1_000:
            return f"{number} {unit}"
    return f"{ns / 1e9:,.0f} s"
