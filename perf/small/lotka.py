"""Lotka-Volterra equations by Runge-Kutta steps of fourth order, fitted to observations at every step."""

from typing import Any

import numpy as np

import tapegrad as tg
from perf.peers import load
from perf.small.case import Case, Data, by_hand, by_hand_inline
from perf.workloads import Answer, Array

_H = 0.02


def _field(x: Any, u: Any, v: Any) -> tuple[Any, Any]:
    return x[0] * u - x[1] * u * v, x[2] * u * v - x[3] * v


def _scalar_step(x: Any, u: Any, v: Any) -> tuple[Any, Any]:
    a0, a1 = _field(x, u, v)
    b0, b1 = _field(x, u + _H / 2 * a0, v + _H / 2 * a1)
    c0, c1 = _field(x, u + _H / 2 * b0, v + _H / 2 * b1)
    d0, d1 = _field(x, u + _H * c0, v + _H * c1)
    return u + _H / 6 * (a0 + 2 * (b0 + c0) + d0), v + _H / 6 * (a1 + 2 * (b1 + c1) + d1)


def by_scalars(xp: Any, x: Any, y: Any) -> Any:
    """Compute the sum of squares; x is four rates and the two numbers of animals at the beginning."""
    u, v, total = x[4], x[5], 0.0
    for k in range(y.shape[0]):
        u, v = _scalar_step(x, u, v)
        total = total + (u - y[k, 0]) ** 2 + (v - y[k, 1]) ** 2
    return total


def _vector_step(xp: Any, x: Any, z: Any) -> Any:
    def field(z: Any) -> Any:
        return xp.stack([*_field(x, z[0], z[1])])

    a = field(z)
    b = field(z + _H / 2 * a)
    c = field(z + _H / 2 * b)
    d = field(z + _H * c)
    return z + _H / 6 * (a + 2 * (b + c) + d)


def by_vectors(xp: Any, x: Any, y: Any) -> Any:
    """Compute the same, the numbers of animals as a vector."""
    z, total = x[4:], 0.0
    for k in range(len(y)):
        z = _vector_step(xp, x, z)
        total = total + xp.sum((z - y[k]) ** 2)
    return total


def _scan_scalars(xp: Any, x: Any, y: Any) -> Any:
    return _by_scan(load("jax.lax"), xp, x, y)


def _ours_by_scan(xp: Any, x: Any, y: Any) -> Any:
    return _by_scan(tg, xp, x, y)


def _ours_by_checkpoints(xp: Any, x: Any, y: Any) -> Any:
    return _by_scan(tg, xp, x, y, checkpoint=20)


def _by_scan(loops: Any, xp: Any, x: Any, y: Any, **options: Any) -> Any:
    """Compute the sum of squares by the `scan` of a package."""

    def step(state: Any, y: Any) -> Any:
        u, v = _scalar_step(x, *state)
        return (u, v), (u - y[0]) ** 2 + (v - y[1]) ** 2

    return xp.sum(loops.scan(step, (x[4], x[5]), y, **options)[1])


def _scan_vectors(xp: Any, x: Any, y: Any) -> Any:
    lax = load("jax.lax")

    def step(z: Any, y: Any) -> Any:
        z = _vector_step(xp, x, z)
        return z, xp.sum((z - y) ** 2)

    return xp.sum(lax.scan(step, x[4:], y)[1])


@by_hand_inline
def _rates(x: Array, u: float, v: float) -> tuple[float, float]:
    return x[0] * u - x[1] * u * v, x[2] * u * v - x[3] * v


@by_hand_inline
def _rates_transposed(
    x: Array, g: Array, u: float, v: float, by_u: float, by_v: float
) -> tuple[float, float]:
    """Return the cotangents of u and v by those of their rates; add those of the parameters to `g`."""
    uv = u * v
    g[0] += by_u * u
    g[1] -= by_u * uv
    g[2] += by_v * uv
    g[3] -= by_v * v
    by_uv = by_v * x[2] - by_u * x[1]
    return by_u * x[0] + by_uv * v, by_uv * u - by_v * x[3]


@by_hand
def _loop(x: Array, y: Array) -> Answer:
    n = len(y)
    stages = np.empty((n, 4, 2))  # where the rates of a step are taken
    g, ends = np.zeros(6), np.empty((n, 2))
    u, v, value = x[4], x[5], 0.0
    for t in range(n):
        q = stages[t]
        q[0, 0], q[0, 1] = u, v
        a0, a1 = _rates(x, u, v)
        q[1, 0], q[1, 1] = u + _H / 2 * a0, v + _H / 2 * a1
        b0, b1 = _rates(x, q[1, 0], q[1, 1])
        q[2, 0], q[2, 1] = u + _H / 2 * b0, v + _H / 2 * b1
        c0, c1 = _rates(x, q[2, 0], q[2, 1])
        q[3, 0], q[3, 1] = u + _H * c0, v + _H * c1
        d0, d1 = _rates(x, q[3, 0], q[3, 1])
        u, v = u + _H / 6 * (a0 + 2 * (b0 + c0) + d0), v + _H / 6 * (a1 + 2 * (b1 + c1) + d1)
        ends[t, 0], ends[t, 1] = u - y[t, 0], v - y[t, 1]
        value += ends[t, 0] ** 2 + ends[t, 1] ** 2
    by_u, by_v = 0.0, 0.0
    for t in range(n - 1, -1, -1):
        by_u, by_v, q = by_u + 2 * ends[t, 0], by_v + 2 * ends[t, 1], stages[t]
        s0, s1 = _H / 6 * by_u, _H / 6 * by_v
        d0, d1 = _rates_transposed(x, g, q[3, 0], q[3, 1], s0, s1)
        c0, c1 = _rates_transposed(x, g, q[2, 0], q[2, 1], 2 * s0 + _H * d0, 2 * s1 + _H * d1)
        b0, b1 = _rates_transposed(x, g, q[1, 0], q[1, 1], 2 * s0 + _H / 2 * c0, 2 * s1 + _H / 2 * c1)
        a0, a1 = _rates_transposed(x, g, q[0, 0], q[0, 1], s0 + _H / 2 * b0, s1 + _H / 2 * b1)
        by_u, by_v = by_u + d0 + c0 + b0 + a0, by_v + d1 + c1 + b1 + a1
    g[4], g[5] = by_u, by_v
    return value, g


def _inputs(steps: int) -> tuple[Array, Data]:
    x, rng = np.array([1.1, 0.4, 0.1, 0.4, 10.0, 5.0]), np.random.default_rng(0)
    u, v, rows = x[4], x[5], np.empty((steps, 2))
    for k in range(steps):
        u, v = rows[k] = _scalar_step(x, u, v)
    return x * 1.01, (rows + rng.normal(size=rows.shape),)


LOTKA_BY_VECTORS = Case(
    "lotka-vectors",
    "Lotka-Volterra by Runge-Kutta, 1,000 steps, vectors of 2 by `stack`",
    by_vectors,
    _inputs,
    _loop,
    size=1_000,
    small_size=5,
    limit=1.8,
    scan=_scan_vectors,
)
LOTKA_BY_SCALARS = Case(
    "lotka-scalars",
    "Lotka-Volterra by Runge-Kutta, 1,000 steps, scalars",
    by_scalars,
    _inputs,
    _loop,
    size=1_000,
    small_size=5,
    limit=1.3,
    scan=_scan_scalars,
    symbolic=by_scalars,
)
LOTKA_BY_SCAN = Case(
    "lotka-scan",
    "Lotka-Volterra by Runge-Kutta, 10,000 steps by scan",
    _ours_by_scan,
    _inputs,
    _loop,
    size=10_000,
    small_size=300,
    below=("JAX",),
    scan=_scan_scalars,
)
LOTKA_BY_FOR = Case(
    "lotka-for",
    "Lotka-Volterra by Runge-Kutta, 10,000 steps by a plain for loop",
    by_scalars,
    _inputs,
    _loop,
    size=10_000,
    small_size=300,
    limit=1.1,
    below=("JAX",),
    scan=_scan_scalars,
    beside=LOTKA_BY_SCAN,
)
LOTKA_BY_CHECKPOINTS = Case(
    "lotka-checkpoints",
    "Lotka-Volterra by Runge-Kutta, 10,000 steps by scan, with memory for 20 of the carries",
    _ours_by_checkpoints,
    _inputs,
    _loop,
    size=10_000,
    small_size=300,
    limit=2.5,
    below=("JAX",),
    scan=_scan_scalars,
    beside=LOTKA_BY_SCAN,
)
