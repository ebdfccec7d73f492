"""Potentials of particles: gravity between all pairs, Lennard-Jones between the pairs of a list."""

from typing import Any

import numpy as np

from perf.small.case import Case, Data, by_hand
from perf.workloads import Answer, Array

_SOFTENING = 0.01
_MAX_PAIRS = 19_049


def n_body(xp: Any, x: Any, mass: Any) -> Any:
    """Compute the potential energy, over a table of (n, n, 3) differences."""
    q = xp.reshape(x, (-1, 3))
    d = q[:, None] - q
    distance = xp.sqrt(xp.sum(d * d, axis=-1) + _SOFTENING)
    return -0.5 * xp.sum(mass[:, None] * mass / distance)


@by_hand
def _n_body_loop(x: Array, mass: Array) -> Answer:
    """Visit each pair once."""
    n, g, value = mass.size, np.zeros(x.size), 0.0
    for i in range(n):
        x0, x1, x2 = x[3 * i], x[3 * i + 1], x[3 * i + 2]
        g0, g1, g2 = 0.0, 0.0, 0.0
        value += 0.5 * mass[i] * mass[i] / np.sqrt(_SOFTENING)
        for j in range(i):
            d0, d1, d2 = x0 - x[3 * j], x1 - x[3 * j + 1], x2 - x[3 * j + 2]
            square = 1 / (d0 * d0 + d1 * d1 + d2 * d2 + _SOFTENING)
            energy = mass[i] * mass[j] * np.sqrt(square)
            value += energy
            force = energy * square
            g0, g1, g2 = g0 + force * d0, g1 + force * d1, g2 + force * d2
            g[3 * j] -= force * d0
            g[3 * j + 1] -= force * d1
            g[3 * j + 2] -= force * d2
        g[3 * i] += g0
        g[3 * i + 1] += g1
        g[3 * i + 2] += g2
    return -value, g


def _bodies(n: int) -> tuple[Array, Data]:
    rng = np.random.default_rng(0)
    return rng.normal(size=3 * n), (rng.uniform(0.5, 1.5, n),)


def lennard_jones(xp: Any, x: Any, first: Any, second: Any) -> Any:
    """Compute the energy of the pairs of a list."""
    q = xp.reshape(x, (-1, 3))
    d = q[first] - q[second]
    s = 1 / xp.sum(d * d, axis=1) ** 3
    return 4 * xp.sum(s * s - s)


@by_hand
def _lennard_jones_loop(x: Array, first: Array, second: Array) -> Answer:
    g, value = np.zeros(x.size), 0.0
    for p in range(first.size):
        i, j = 3 * first[p], 3 * second[p]
        d0, d1, d2 = x[i] - x[j], x[i + 1] - x[j + 1], x[i + 2] - x[j + 2]
        inverse = 1 / (d0 * d0 + d1 * d1 + d2 * d2)
        s = inverse * inverse * inverse
        value += s * s - s
        force = -24 * inverse * (2 * s * s - s)
        g[i] += force * d0
        g[i + 1] += force * d1
        g[i + 2] += force * d2
        g[j] -= force * d0
        g[j + 1] -= force * d1
        g[j + 2] -= force * d2
    return 4 * value, g


def _lattice(edge: int) -> tuple[Array, Data]:
    """Return a disturbed cubic lattice and its nearest pairs."""
    rng = np.random.default_rng(0)
    q = 1.1 * np.stack(np.meshgrid(*[np.arange(edge)] * 3), -1).reshape(-1, 3)
    q = q + 0.05 * rng.normal(size=q.shape)
    pairs: Any = np.stack(np.triu_indices(len(q), 1))
    distances = np.sum((q[pairs[0]] - q[pairs[1]]) ** 2, 1)
    nearest = np.sort(np.argsort(distances)[:_MAX_PAIRS])
    return q.ravel(), (pairs[0][nearest], pairs[1][nearest])


N_BODY = Case(
    "n-body",
    "N-body potential, 50 bodies, arrays (50, 50, 3)",
    n_body,
    _bodies,
    _n_body_loop,
    size=50,
    small_size=4,
    limit=2.5,
)
LENNARD_JONES = Case(
    "lennard-jones",
    "Lennard-Jones potential, 1,000 atoms, 19,049 pairs by lists of indices",
    lennard_jones,
    _lattice,
    _lennard_jones_loop,
    size=10,
    small_size=2,
    limit=2,
)
