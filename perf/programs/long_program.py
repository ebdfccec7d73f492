"""``long_program COUNT``: memory and time of a recorded chain of COUNT scalar instructions, row by row and fused."""

import ctypes
import gc
import json
import sys
from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any

import numpy as np

import tapegrad
from perf.programs.resident import resident

X0, FACTOR, SHIFT = 0.8, 0.9999, 0.0001
WARM_UP = 600  # instructions: enough for all that a long program loads


def chain(x: Any, count: int) -> Any:
    """Products and sums in turns, each of the one before."""
    for _ in range(count // 2):
        x = x * FACTOR + SHIFT
    return x


def expected(count: int) -> float:
    """Return the derivative."""
    slope = 1.0
    for _ in range(count // 2):
        slope *= FACTOR
    return slope


def in_use() -> int:
    """Return the resident bytes, without those that the C library keeps for later where it can give them back."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    return resident()


def gradient(count: int, fuse: bool) -> Callable[[Any], tuple[Any, Any]]:
    """Return the gradient of a chain that has not been recorded yet."""
    return tapegrad.value_and_grad(tapegrad.jit(lambda x: chain(x, count), fuse=fuse))


def first_call(count: int, fuse: bool) -> tuple[Callable[[Any], tuple[Any, Any]], float]:
    """Return a recorded gradient, and the CPU seconds of its first call."""
    function, start = gradient(count, fuse), process_time()
    function(np.float64(X0))
    return function, process_time() - start


def fastest(function: Callable[[Any], Any], calls: int) -> float:
    """Return the seconds of the fastest of some calls."""
    seconds = []
    for _ in range(calls):
        start = perf_counter()
        function(np.float64(X0))
        seconds.append(perf_counter() - start)
    return min(seconds)


def main(count: int) -> None:
    """Measure after a short chain of each kind has loaded what there is to load."""
    for fuse in (False, True):
        first_call(WARM_UP, fuse)
    before = in_use()
    rows, unfused = first_call(count, False)
    bytes_, seconds = in_use() - before, fastest(rows, max(5, 3_000_000 // count))
    segments, fused = first_call(count, True)
    wanted = expected(count)
    errors = [abs(float(each(np.float64(X0))[1]) / wanted - 1) for each in (rows, segments)]
    found = {"bytes": bytes_ / count, "seconds_each": seconds / count, "unfused": unfused, "fused": fused}
    print(json.dumps({**found, "error": max(errors)}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
