"""Hidden Markov model of five states: the forward algorithm in logarithms, by `logsumexp`."""

from typing import Any

import numpy as np

from perf.peers import load
from perf.small.case import Case, Data, by_hand
from perf.workloads import Answer, Array

_STATES = 5


def markov(xp: Any, x: Any, y: Any) -> Any:
    """Compute the negative log-likelihood; x is a table of transition logits, and the mean of each state."""
    logits, means = xp.reshape(x[: _STATES**2], (_STATES, _STATES)), x[_STATES**2 :]
    transition = logits - xp.logsumexp(logits, axis=1, keepdims=True)
    densities = -0.5 * (y[:, None] - means) ** 2
    state = densities[0]
    for k in range(1, len(y)):
        state = xp.logsumexp(state[:, None] + transition, axis=0) + densities[k]
    return -xp.logsumexp(state)


def _scan(xp: Any, x: Any, y: Any) -> Any:
    lax, logsumexp = load("jax.lax"), load("jax.nn").logsumexp

    logits, means = xp.reshape(x[: _STATES**2], (_STATES, _STATES)), x[_STATES**2 :]
    transition = logits - logsumexp(logits, axis=1, keepdims=True)
    densities = -0.5 * (y[:, None] - means) ** 2

    def step(state: Any, density: Any) -> Any:
        return logsumexp(state[:, None] + transition, axis=0) + density, None

    return -logsumexp(lax.scan(step, densities[0], densities[1:])[0])


@by_hand
def _exponentials(z: Array, shares: Array) -> tuple[float, float]:
    """Write exponentials; return their scale's logarithm and their sum."""
    largest, total = z[0], 0.0
    for i in range(z.size):
        largest = max(largest, z[i])
    for i in range(z.size):
        shares[i] = np.exp(z[i] - largest)
        total += shares[i]
    return largest, total


@by_hand
def _loop(x: Array, y: Array) -> Answer:
    """Multiply by probabilities of transitions, so that a step takes as many exponentials as there are states."""
    s, n = _STATES, y.size
    rows, g = np.empty((s, s)), np.zeros(x.size)
    for i in range(s):
        _, total = _exponentials(x[i * s : (i + 1) * s], rows[i])
        for j in range(s):
            rows[i, j] /= total
    states, inverses, z = np.empty((n, s)), np.empty((n, s)), np.empty(s)
    for i in range(s):
        z[i] = -0.5 * (y[0] - x[s * s + i]) ** 2
    for t in range(1, n):
        largest, _ = _exponentials(z, states[t])
        for j in range(s):
            total = 0.0
            for i in range(s):
                total += states[t, i] * rows[i, j]
            inverses[t, j] = 1 / total
            z[j] = largest + np.log(total) - 0.5 * (y[t] - x[s * s + j]) ** 2
    by_z, by_rows, by_sums = np.empty(s), np.zeros((s, s)), np.empty(s)
    largest, total = _exponentials(z, by_z)
    for i in range(s):
        by_z[i] /= -total
    for t in range(n - 1, 0, -1):
        for j in range(s):
            g[s * s + j] += by_z[j] * (y[t] - x[s * s + j])
            by_sums[j] = by_z[j] * inverses[t, j]
        for i in range(s):
            back = 0.0
            for j in range(s):
                by_rows[i, j] += states[t, i] * by_sums[j]
                back += rows[i, j] * by_sums[j]
            by_z[i] = back * states[t, i]
    for i in range(s):
        g[s * s + i] += by_z[i] * (y[0] - x[s * s + i])
        along = 0.0
        for j in range(s):
            along += by_rows[i, j] * rows[i, j]
        for j in range(s):
            g[i * s + j] = (by_rows[i, j] - along) * rows[i, j]
    return -(largest + np.log(total)), g


def _inputs(steps: int) -> tuple[Array, Data]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, _STATES, steps) + 0.7 * rng.normal(size=steps)
    return np.concatenate([rng.normal(size=_STATES**2), np.arange(_STATES) + 0.1]), (y,)


MARKOV = Case(
    "markov",
    "Hidden Markov model, 5 states, 200 steps, by `logsumexp`",
    markov,
    _inputs,
    _loop,
    size=200,
    small_size=4,
    limit=1.5,
    scan=_scan,
)
