"""Value and gradient of many instances at once, by `vmap`: processor time of an instance, on one thread."""

import gc
from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any

import numba
import numpy as np

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.peers.base import Unavailable, jax, load, tapegrad
from perf.workloads import Answer, Array, rosenbrock
from tapegrad.testing.timer import Contender, Timing, check

INSTANCES = 16_384
POINTS = np.linspace(0.0, 1.0, 50)
OBSERVED = 3.0 * np.exp(-2.0 * POINTS) + 0.5
_STEP = 1e-30  # of complex differences, which lose no digits


def kepler(xp: Any, x: Any) -> Any:
    """Two steps of Newton's method for Kepler's equation: twenty instructions on scalars."""
    mean, eccentricity = x[0], x[1]
    anomaly = mean + eccentricity * xp.sin(mean)
    for _ in range(2):
        rest = anomaly - eccentricity * xp.sin(anomaly) - mean
        anomaly = anomaly - rest / (1 - eccentricity * xp.cos(anomaly))
    return xp.cos(anomaly) + eccentricity


def exponential(xp: Any, p: Any) -> Any:
    """Return the sum of squares of an exponential with an offset, at fifty points."""
    return xp.sum((p[0] * xp.exp(-p[1] * POINTS) + p[2] - OBSERVED) ** 2)


# What it is, how many instances, elements of each, nanoseconds of an instance at the most, and if that is asked for,
# times faster than JAX.
CASES: dict[str, tuple[Callable[..., Any], int, int, float, float | None]] = {
    "rosenbrock": (rosenbrock, INSTANCES, 10, 30.0, None),
    "kepler": (kepler, INSTANCES, 2, 100.0, None),
    "exponential": (exponential, 100_000, 3, 250.0, 4.0),  # 1.25 times Enzyme's 200, a quarter of JAX's
}


def inputs(count: int, size: int) -> Array:
    """Return the instances; the same numbers every time."""
    return np.random.default_rng(size).uniform(0.1, 0.9, (count, size))


def reference(function: Callable[..., Any], x: Array) -> Answer:
    """Value and gradient by complex differences through NumPy."""
    gradient = np.empty_like(x)
    by_instance = np.vectorize(partial(function, np), signature="(n)->()", otypes=[complex])
    for k in range(x.shape[1]):
        shifted = x.astype(complex)
        shifted[:, k] += 1j * _STEP
        gradient[:, k] = by_instance(shifted).imag / _STEP
    return np.asarray(by_instance(x).real), gradient


def contenders(
    function: Callable[..., Any], x: Array, settings: Settings
) -> tuple[list[Contender], list[str]]:
    """Ours, JAX's, and notes on who is missing."""
    library = tapegrad()
    ours = library.vmap(library.value_and_grad(library.jit(partial(function, library), fuse=True)))
    alone = partial(numba.set_num_threads, 1)
    found, notes = [Contender("tapegrad", partial(ours, x), before=alone)], []
    try:
        if "jax" in settings.without:
            raise Unavailable("left out on request")
        rival, namespace = jax(), load("jax.numpy")
        theirs = rival.jit(rival.vmap(rival.value_and_grad(partial(function, namespace))))
        found.append(Contender("JAX, vmap and jit", lambda: tuple(map(np.asarray, theirs(x)))))
    except Unavailable as reason:
        notes.append(f"JAX: {reason}")
    return found, notes


def _seconds(racing: list[Contender], rounds: int) -> dict[str, list[float]]:
    """Processor time of the calls of each, in turns; one before each brings its data back to the caches."""
    seconds: dict[str, list[float]] = {each.name: [] for each in racing}
    gc.collect()
    for _ in range(rounds):
        for each in racing:
            each.before()
            each.call()
            start = process_time()
            each.call()
            seconds[each.name].append(process_time() - start)
    numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    return seconds


def _timing(name: str, times: list[float]) -> Timing:
    median, low, high = map(float, np.quantile(times, [0.5, 0.25, 0.75]))
    return Timing(name, median, low, high, len(times), 1)


def _measure(name: str, settings: Settings) -> Outcome:
    function, count, size, limit, times = CASES[name]
    count = settings.fewer(count, 4096)
    x = inputs(count, size)
    racing, notes = contenders(function, x, settings)
    answer = reference(function, x)
    for each in racing:
        check(each, answer)
    seconds = _seconds(racing, settings.fewer(101, 11))
    timings = [_timing(who, times) for who, times in seconds.items()]
    lows = {who: min(times) / count for who, times in seconds.items()}
    rival = lows.get("JAX, vmap and jit")
    targets = [Target("an instance", lows["tapegrad"] * 1e9, limit, "ns")]
    if times is not None:
        ratio = None if rival is None else rival / lows["tapegrad"]
        targets.append(Target("times faster than JAX", ratio, times, "x", at_least=True))
    table: list[tuple[str, ...]] = [("nanoseconds an instance", "contender")]
    table += [(f"{low * 1e9:.1f}", who) for who, low in lows.items()]
    return Outcome(targets, timings, notes, table)


LANES = tuple(
    Figure(
        f"lanes-{name}",
        f"Value and gradient over lanes: {name}, {count:,} instances",
        partial(_measure, name),
    )
    for name, (_, count, *_) in CASES.items()
)
