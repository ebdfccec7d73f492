"""Hierarchical models: random intercepts (radon in houses of counties), and eight schools."""

from typing import Any

import numpy as np

from perf.peers import load
from perf.small.case import Case, Data, by_hand
from perf.workloads import Answer, Array

_SCHOOLS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
_DEVIATIONS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def radon(xp: Any, x: Any, county: Any, floor: Any, y: Any) -> Any:
    """Compute the negative log-posterior: mean and log-deviation of intercepts, slope, log-noise, and intercepts."""
    intercepts = x[0] + xp.exp(x[1]) * x[4:]
    r = y - intercepts[county] - x[2] * floor
    fit = 0.5 * xp.sum(r * r) * xp.exp(-2 * x[3]) + len(y) * x[3]
    return fit + 0.5 * (xp.sum(x[4:] ** 2) + xp.sum(x[:4] ** 2))


@by_hand
def _radon_loop(x: Array, county: Array, floor: Array, y: Array) -> Answer:
    g, deviation, precision = np.zeros(x.size), np.exp(x[1]), np.exp(-2 * x[3])
    squares, slope = 0.0, 0.0
    for i in range(y.size):
        k = 4 + county[i]
        r = y[i] - (x[0] + deviation * x[k]) - x[2] * floor[i]
        squares += r * r
        slope += r * floor[i]
        g[k] -= r
    prior, mean, along = 0.0, 0.0, 0.0
    for i in range(4):
        prior += x[i] * x[i]
    for k in range(4, x.size):
        prior += x[k] * x[k]
        part = precision * g[k]
        mean += part
        along += part * x[k]
        g[k] = deviation * part + x[k]
    g[0], g[1] = mean + x[0], along * deviation + x[1]
    g[2], g[3] = x[2] - precision * slope, x[3] + y.size - precision * squares
    return 0.5 * squares * precision + y.size * x[3] + 0.5 * prior, g


def _houses(houses: int) -> tuple[Array, Data]:
    rng, counties = np.random.default_rng(0), min(85, houses // 2)
    county: Any = rng.integers(0, counties, houses)
    floor = (rng.uniform(size=houses) < 0.2).astype(float)
    y = 1.3 + 0.3 * rng.normal(size=counties)[county] - 0.6 * floor + 0.7 * rng.normal(size=houses)
    return np.concatenate([[1.2, -1.0, -0.5, -0.3], 0.5 * rng.normal(size=counties)]), (county, floor, y)


def eight_schools(xp: Any, x: Any) -> Any:
    """Compute the negative log-posterior: mean, log-deviation, and the schools' effects in its units."""
    effects = x[0] + xp.exp(x[1]) * x[2:]
    r = (_SCHOOLS - effects) / _DEVIATIONS
    return 0.5 * (xp.sum(r**2) + xp.sum(x[2:] ** 2)) + 0.5 * (x[0] / 5) ** 2 + 0.5 * x[1] ** 2


@by_hand
def _eight_schools_loop(x: Array) -> Answer:
    g, scale = np.empty(x.size), np.exp(x[1])
    value, mean, along = x[0] * x[0] / 25 + x[1] * x[1], x[0] / 25, 0.0
    for i in range(x.size - 2):
        z = x[i + 2]
        r = (_SCHOOLS[i] - x[0] - scale * z) / _DEVIATIONS[i]
        value += r * r + z * z
        part = -r / _DEVIATIONS[i]
        mean += part
        along += part * z
        g[i + 2] = scale * part + z
    g[0], g[1] = mean, along * scale + x[1]
    return 0.5 * value, g


def _schools(schools: int) -> tuple[Array, Data]:
    return np.random.default_rng(0).normal(size=schools + 2), ()


def _symbolic(xp: Any, x: Any) -> Any:
    casadi = load("casadi")
    r = (_SCHOOLS - x[0] - casadi.exp(x[1]) * x[2:]) / _DEVIATIONS
    return 0.5 * (casadi.sumsqr(r) + casadi.sumsqr(x[2:])) + 0.5 * (x[0] / 5) ** 2 + 0.5 * x[1] ** 2


RADON = Case(
    "radon",
    "Random intercepts (radon), 919 houses in 85 counties, generated data",
    radon,
    _houses,
    _radon_loop,
    size=919,
    small_size=12,
    limit=1.25,
)
EIGHT_SCHOOLS = Case(
    "eight-schools",
    "Eight schools, non-centred",
    eight_schools,
    _schools,
    _eight_schools_loop,
    size=8,
    small_size=8,
    limit=1.25,
    below=("CasADi, new arrays",),
    symbolic=_symbolic,
)
