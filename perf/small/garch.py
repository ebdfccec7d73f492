"""GARCH(1,1): the negative log-likelihood of returns whose variance follows a recursion."""

from typing import Any

import numpy as np

import tapegrad as tg
from perf.peers import load
from perf.small.case import Case, Data, by_hand
from perf.workloads import Answer, Array


def garch(xp: Any, x: Any, y: Any) -> Any:
    """Compute the negative log-likelihood; x is the constant, and the weights of the last square and variance."""
    variance, total = 1.0, 0.0
    for k in range(1, y.shape[0]):
        variance = x[0] + x[1] * y[k - 1] ** 2 + x[2] * variance
        total = total + xp.log(variance) + y[k] ** 2 / variance
    return 0.5 * total


def _scan(xp: Any, x: Any, y: Any) -> Any:
    return _by_scan(load("jax.lax"), xp, x, y)


def _ours_by_scan(xp: Any, x: Any, y: Any) -> Any:
    return _by_scan(tg, xp, x, y)


def _by_scan(loops: Any, xp: Any, x: Any, y: Any) -> Any:
    """Compute the same by the `scan` of a package."""

    def step(variance: Any, last: Any) -> Any:
        variance = x[0] + x[1] * last**2 + x[2] * variance
        return variance, variance

    variances = loops.scan(step, 1.0, y[:-1])[1]
    return 0.5 * xp.sum(xp.log(variances) + y[1:] ** 2 / variances)


def _symbolic(xp: Any, x: Any, y: Any) -> Any:
    return garch(load("casadi"), x, y)


@by_hand
def _loop(x: Array, y: Array) -> Answer:
    """Run forward mode: three derivatives of the variance go along."""
    variance, value = 1.0, 0.0
    d0, d1, d2 = 0.0, 0.0, 0.0
    g0, g1, g2 = 0.0, 0.0, 0.0
    for k in range(1, y.size):
        square = y[k - 1] * y[k - 1]
        d0, d1, d2 = 1 + x[2] * d0, square + x[2] * d1, variance + x[2] * d2
        variance = x[0] + x[1] * square + x[2] * variance
        inverse = 1 / variance
        ratio = y[k] * y[k] * inverse
        value += np.log(variance) + ratio
        weight = inverse * (1 - ratio)
        g0, g1, g2 = g0 + weight * d0, g1 + weight * d1, g2 + weight * d2
    return 0.5 * value, np.array([0.5 * g0, 0.5 * g1, 0.5 * g2])


def _inputs(steps: int) -> tuple[Array, Data]:
    return np.array([0.1, 0.15, 0.8]), (np.random.default_rng(0).normal(size=steps),)


GARCH = Case(
    "garch",
    "GARCH(1,1), 2,000 steps",
    garch,
    _inputs,
    _loop,
    size=2_000,
    small_size=6,
    limit=2,
    scan=_scan,
    symbolic=_symbolic,
)
GARCH_BY_SCAN = Case(
    "garch-scan",
    "GARCH(1,1), 100,000 steps by scan",
    _ours_by_scan,
    _inputs,
    _loop,
    size=100_000,
    small_size=300,
    below=("JAX",),
    scan=_scan,
)
GARCH_BY_FOR = Case(
    "garch-for",
    "GARCH(1,1), 100,000 steps by a plain for loop",
    garch,
    _inputs,
    _loop,
    size=100_000,
    small_size=1_200,
    below=("JAX",),
    scan=_scan,
)
