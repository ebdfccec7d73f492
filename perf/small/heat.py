"""Heat equation on a square: explicit steps by `roll` on a torus, and by slices with a fixed border."""

from typing import Any

import numpy as np

from perf.peers import load
from perf.small.case import Case, Data, by_hand
from perf.workloads import Answer, Array

_RATE, _STEPS = 0.2, 50


def _rolled(xp: Any, u: Any) -> Any:
    around = xp.roll(u, 1, 0) + xp.roll(u, -1, 0) + xp.roll(u, 1, 1) + xp.roll(u, -1, 1)
    return u + _RATE * (around - 4 * u)


def by_roll(xp: Any, x: Any, target: Any) -> Any:
    """Compute the sum of squared differences from a final state."""
    u = xp.reshape(x, target.shape)
    for _ in range(_STEPS):
        u = _rolled(xp, u)
    return 0.5 * xp.sum((u - target) ** 2)


def _scan_roll(xp: Any, x: Any, target: Any) -> Any:
    lax = load("jax.lax")

    u = lax.scan(lambda u, _: (_rolled(xp, u), None), xp.reshape(x, target.shape), None, _STEPS)[0]
    return 0.5 * xp.sum((u - target) ** 2)


def _inner(u: Any) -> Any:
    """Return the change of the elements inside of the border."""
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return _RATE * (around - 4 * u[1:-1, 1:-1])


def by_slices(xp: Any, x: Any, target: Any) -> Any:
    """Compute the same with a fixed border; each step is written in place."""
    u = xp.reshape(x, target.shape).copy()
    for _ in range(_STEPS):
        u[1:-1, 1:-1] += _inner(u)
    return 0.5 * xp.sum((u - target) ** 2)


def _scan_slices(xp: Any, x: Any, target: Any) -> Any:
    lax = load("jax.lax")

    def step(u: Any, _: Any) -> Any:
        return u.at[1:-1, 1:-1].add(_inner(u)), None

    u = lax.scan(step, xp.reshape(x, target.shape), None, _STEPS)[0]
    return 0.5 * xp.sum((u - target) ** 2)


@by_hand
def _torus_step(u: Array, new: Array) -> None:
    """Step on a torus; its matrix is symmetric, so that it serves the reverse sweep, too."""
    n, m = u.shape
    for i in range(n):
        above, row, below = u[i - 1 if i else n - 1], u[i], u[i + 1 if i + 1 < n else 0]
        new[i, 0] = row[0] + _RATE * (above[0] + below[0] + row[m - 1] + row[1] - 4 * row[0])
        for j in range(1, m - 1):
            new[i, j] = row[j] + _RATE * (above[j] + below[j] + row[j - 1] + row[j + 1] - 4 * row[j])
        last = row[m - 1]
        new[i, m - 1] = last + _RATE * (above[m - 1] + below[m - 1] + row[m - 2] + row[0] - 4 * last)


@by_hand
def _roll_loop(x: Array, target: Array) -> Answer:
    n, m = target.shape
    u: Any = x.copy().reshape((n, m))
    new: Any = np.empty((n, m))
    value = 0.0
    for _ in range(_STEPS):
        _torus_step(u, new)
        u, new = new, u
    for i in range(n):
        for j in range(m):
            u[i, j] -= target[i, j]
            value += u[i, j] * u[i, j]
    for _ in range(_STEPS):
        _torus_step(u, new)
        u, new = new, u
    return 0.5 * value, u.ravel()


@by_hand
def _inner_step(u: Array, new: Array) -> None:
    n, m = u.shape
    for i in range(1, n - 1):
        above, row, below = u[i - 1], u[i], u[i + 1]
        for j in range(1, m - 1):
            new[i, j] = row[j] + _RATE * (above[j] + below[j] + row[j - 1] + row[j + 1] - 4 * row[j])


@by_hand
def _slices_loop(x: Array, target: Array) -> Answer:
    """Keep the border zero in the reverse sweep; it only receives, and what reaches it is added up apart."""
    n, m = target.shape
    u, value = x.copy().reshape(target.shape), 0.0
    new, border = u.copy(), np.empty(target.shape)
    for _ in range(_STEPS):
        _inner_step(u, new)
        u, new = new, u
    for i in range(n):
        for j in range(m):
            difference = u[i, j] - target[i, j]
            value += difference * difference
            inside = 0 < i < n - 1 and 0 < j < m - 1
            border[i, j] = difference
            u[i, j] = difference if inside else 0.0
            new[i, j] = 0.0
    for _ in range(_STEPS):
        for j in range(1, m - 1):
            border[0, j] += _RATE * u[1, j]
            border[n - 1, j] += _RATE * u[n - 2, j]
        for i in range(1, n - 1):
            border[i, 0] += _RATE * u[i, 1]
            border[i, m - 1] += _RATE * u[i, m - 2]
        _inner_step(u, new)
        u, new = new, u
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            border[i, j] = u[i, j]
    return 0.5 * value, border.ravel()


def _inputs(edge: int) -> tuple[Array, Data]:
    rng = np.random.default_rng(0)
    return rng.normal(size=edge * edge), (0.1 * rng.normal(size=(edge, edge)),)


HEAT_BY_SLICES = Case(
    "heat-slices",
    "Heat equation by slices, 256 x 256, 50 steps",
    by_slices,
    _inputs,
    _slices_loop,
    size=256,
    small_size=4,
    scan=_scan_slices,
)
HEAT_BY_ROLL = Case(
    "heat-roll",
    "Heat equation by `roll`, 256 x 256, 50 steps",
    by_roll,
    _inputs,
    _roll_loop,
    size=256,
    small_size=4,
    limit=1.2,
    scan=_scan_roll,
    beside=HEAT_BY_SLICES,
)
