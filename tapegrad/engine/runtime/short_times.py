"""Times of short calls."""

import math
from collections.abc import Callable
from time import perf_counter_ns

_REPEATS = 5
_BATCH_NS = 20_000  # a time that a clock of 100 ns can measure


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
