"""Kalman filter of a local linear trend: two states, one observation a step, three log-variances."""

from typing import Any

import numpy as np

from perf.peers import load
from perf.small.case import Case, Data, by_hand
from perf.workloads import Answer, Array

_TRANSITION = np.array([[1.0, 1.0], [0.0, 1.0]])
_START = 10 * np.eye(2)


def _step(xp: Any, mean: Any, covariance: Any, noise: Any, variance: Any, y: Any) -> tuple[Any, Any, Any]:
    """Predict and correct; the third result is twice a contribution to the negative log-likelihood."""
    mean = _TRANSITION @ mean
    covariance = _TRANSITION @ covariance @ _TRANSITION.T + noise
    error, spread = y - mean[0], covariance[0, 0] + variance
    gain = covariance[:, 0] / spread
    mean = mean + gain * error
    covariance = covariance - gain[:, None] * covariance[0]
    return mean, covariance, xp.log(spread) + error * error / spread


def kalman(xp: Any, x: Any, y: Any) -> Any:
    """Compute the negative log-likelihood."""
    variances = xp.exp(x)
    noise = xp.diag(variances[:2])
    mean, covariance, total = np.zeros(2), _START, 0.0
    for k in range(len(y)):
        mean, covariance, part = _step(xp, mean, covariance, noise, variances[2], y[k])
        total = total + part
    return 0.5 * total


def _scan(xp: Any, x: Any, y: Any) -> Any:
    lax = load("jax.lax")

    variances = xp.exp(x)
    noise = xp.diag(variances[:2])

    def step(state: tuple[Any, Any], y: Any) -> Any:
        mean, covariance, part = _step(xp, *state, noise, variances[2], y)
        return (mean, covariance), part

    return 0.5 * xp.sum(lax.scan(step, (xp.zeros(2), xp.asarray(_START)), y)[1])


@by_hand
def _loop(x: Array, y: Array) -> Answer:
    q0, q1, r = np.exp(x[0]), np.exp(x[1]), np.exp(x[2])
    states = np.empty((y.size, 5))  # predictions, and those of the covariance
    m0, m1, p00, p01, p11 = 0.0, 0.0, 10.0, 0.0, 10.0
    value = 0.0
    for t in range(y.size):
        m0 = m0 + m1
        a, b, c = p00 + 2 * p01 + p11 + q0, p01 + p11, p11 + q1
        row = states[t]
        row[0], row[1], row[2], row[3], row[4] = m0, m1, a, b, c
        s, e = a + r, y[t] - m0
        k0, k1 = a / s, b / s
        m0, m1 = m0 + k0 * e, m1 + k1 * e
        p00, p01, p11 = a - k0 * a, b - k0 * b, c - k1 * b
        value += np.log(s) + e * e / s
    m0, m1, p00, p01, p11 = 0.0, 0.0, 0.0, 0.0, 0.0  # from here on cotangents
    g0, g1, gr = 0.0, 0.0, 0.0
    for t in range(y.size - 1, -1, -1):
        row = states[t]
        a, b = row[2], row[3]
        inverse = 1 / (a + r)
        e, k0, k1 = y[t] - row[0], a * inverse, b * inverse
        by_k0, by_k1 = m0 * e - p00 * a - p01 * b, m1 * e - p11 * b
        by_e = m0 * k0 + m1 * k1 + e * inverse
        by_s = 0.5 * (inverse - e * e * inverse * inverse) - (by_k0 * k0 + by_k1 * k1) * inverse
        by_a = p00 * (1 - k0) + by_k0 * inverse + by_s
        by_b = p01 * (1 - k0) - p11 * k1 + by_k1 * inverse
        gr, g0, g1 = gr + by_s, g0 + by_a, g1 + p11
        m0 = m0 - by_e
        m1 = m0 + m1
        p00, p01, p11 = by_a, 2 * by_a + by_b, by_a + by_b + p11
    return 0.5 * value, np.array([g0 * q0, g1 * q1, gr * r])


def _inputs(steps: int) -> tuple[Array, Data]:
    rng = np.random.default_rng(0)
    slope = np.cumsum(0.1 * rng.normal(size=steps))
    return np.array([-2.0, -4.0, 0.3]), (np.cumsum(slope) + rng.normal(size=steps),)


KALMAN = Case(
    "kalman",
    "Kalman filter, 2 states, 500 steps, 3 parameters",
    kalman,
    _inputs,
    _loop,
    size=500,
    small_size=5,
    limit=3,
    scan=_scan,
)
KALMAN_BY_FOR = Case(
    "kalman-for",
    "Kalman filter, 2 states, 50,000 steps by a plain for loop",
    kalman,
    _inputs,
    _loop,
    size=50_000,
    small_size=500,
    limit=2.5,
    scan=_scan,
)
