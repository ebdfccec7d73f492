"""Matrix factorisation: ratings as products of rows of two tables, which are found by lists of indices."""

from typing import Any

import numpy as np

from perf.small.case import Case, Data, by_hand
from perf.workloads import Answer, Array

_FEATURES, _RIDGE = 10, 0.02


def matfac(xp: Any, x: Any, users: Any, items: Any, ratings: Any) -> Any:
    """Compute the penalised sum of squares; x is a row of features for each user, and for each item."""
    tables = xp.reshape(x, (-1, _FEATURES))
    u, v = tables[: _number(ratings)], tables[_number(ratings) :]
    r = xp.sum(u[users] * v[items], axis=1) - ratings
    return 0.5 * xp.sum(r * r) + 0.5 * _RIDGE * xp.sum(x * x)


def _number(ratings: Any) -> int:
    """Return how many users there are, and how many items."""
    return max(1, len(ratings) // 20)


@by_hand
def _loop(x: Array, users: Array, items: Array, ratings: Array) -> Answer:
    k, items_begin = _FEATURES, max(1, ratings.size // 20) * _FEATURES
    g, value = np.empty(x.size), 0.0
    for i in range(x.size):
        value += x[i] * x[i]
        g[i] = _RIDGE * x[i]
    value *= _RIDGE
    for n in range(ratings.size):
        u, v = users[n] * k, items_begin + items[n] * k
        r = -ratings[n]
        for i in range(k):
            r += x[u + i] * x[v + i]
        value += r * r
        for i in range(k):
            g[u + i] += r * x[v + i]
            g[v + i] += r * x[u + i]
    return 0.5 * value, g


def _inputs(ratings: int) -> tuple[Array, Data]:
    rng, number = np.random.default_rng(0), max(1, ratings // 20)
    pairs: Any = rng.integers(0, number, (2, ratings))
    return rng.normal(size=2 * number * _FEATURES), (*pairs, rng.normal(size=ratings))


MATFAC = Case(
    "matfac",
    "Matrix factorisation, 20,000 ratings, 10 features, by lists of indices",
    matfac,
    _inputs,
    _loop,
    size=20_000,
    small_size=30,
    limit=2.2,
    below=("JAX",),
)
