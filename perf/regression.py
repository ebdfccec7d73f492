"""NIST's regression Gauss1: 250 residuals in 8 parameters, with the Jacobian derived by hand."""

import functools
import importlib
from typing import Any

import numpy as np

from perf.workloads import Answer, Array, Workload


def gauss(xp: Any, b: Any, t: Any, y: Any) -> Any:
    """Two Gaussian peaks on a decaying baseline, less the observations."""
    first = b[2] * xp.exp(-((t - b[3]) ** 2) / b[4] ** 2)
    second = b[5] * xp.exp(-((t - b[6]) ** 2) / b[7] ** 2)
    return b[0] * xp.exp(-b[1] * t) + first + second - y


def _jacobian(b: Array, t: Array) -> Answer:
    decay = np.exp(-b[1] * t)
    columns = [decay, -b[0] * t * decay]
    for height, middle, width in (b[2:5], b[5:8]):
        peak, away = np.exp(-(((t - middle) / width) ** 2)), (t - middle) / width
        columns += [peak, 2 * height * peak * away / width, 2 * height * peak * away**2 / width]
    return (np.stack(columns, axis=1),)


@functools.cache
def gauss1() -> Workload:
    """Return the workload, at NIST's first starting point; the data come with tapegrad."""
    problem = importlib.import_module("tapegrad.examples.nist").load("Gauss1")
    start, data = np.array(problem.starts[0]), (np.array(problem.x), np.array(problem.response))
    return Workload(
        "gauss1", gauss, (start.size,), lambda size: start, functools.partial(_jacobian, t=data[0]), data
    )


def residuals(b: Array) -> Answer:
    """Return the residuals themselves, by NumPy."""
    return (gauss1().over(np)(b),)
