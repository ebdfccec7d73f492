"""Derivatives written by hand as one fused Numba loop on one thread: the lower bound of all timings."""

from collections.abc import Callable

import numba
import numpy as np

from perf.workloads import SINE_FOLDS, Answer, Array

_compile = numba.njit(error_model="numpy", fastmath={"reassoc", "contract", "nsz", "arcp"})


@_compile
def rosenbrock(x: Array) -> Answer:
    """Compute the chained Rosenbrock; every element gathers from both its links, so that the loop vectorises."""
    n = x.size
    gradient = np.empty(n)
    bend, slack = x[1] - x[0] * x[0], 1 - x[0]
    value = 100 * bend * bend + slack * slack
    gradient[0] = -400 * x[0] * bend - 2 * slack
    for i in range(1, n - 1):
        before, bend, slack = x[i] - x[i - 1] * x[i - 1], x[i + 1] - x[i] * x[i], 1 - x[i]
        value += 100 * bend * bend + slack * slack
        gradient[i] = 200 * before - 400 * x[i] * bend - 2 * slack
    gradient[n - 1] = 200 * (x[n - 1] - x[n - 2] * x[n - 2])
    return value, gradient


@_compile
def sine_chain(x: Array) -> Answer:
    """Compute the chain of sines; each element runs through the whole chain in registers."""
    gradient = np.empty(x.size)
    value = 0.0
    for i in range(x.size):
        y, slope = x[i], 1.0
        for _ in range(SINE_FOLDS):
            sine = np.sin(y)
            slope *= np.cos(y) * y + sine + 1
            y = sine * y + y
        value += y
        gradient[i] = slope
    return value, gradient


@_compile
def rosenbrock_product(x: Array, v: Array) -> Array:
    """Compute a product with the Hessian; every element gathers from its bands."""
    n = x.size
    product = np.empty(n)
    product[0] = (1200 * x[0] * x[0] - 400 * x[1] + 2) * v[0] - 400 * x[0] * v[1]
    for i in range(1, n - 1):
        diagonal = 1200 * x[i] * x[i] - 400 * x[i + 1] + 202
        product[i] = diagonal * v[i] - 400 * (x[i - 1] * v[i - 1] + x[i] * v[i + 1])
    product[n - 1] = 200 * v[n - 1] - 400 * x[n - 2] * v[n - 2]
    return product


@_compile
def gauss_jacobian(b: Array, t: Array) -> Array:
    """Compute the Jacobian of Gauss1 a row at a time, three exponentials for each."""
    rows = np.empty((t.size, 8))
    for i in range(t.size):
        decay = np.exp(-b[1] * t[i])
        rows[i, 0], rows[i, 1] = decay, -b[0] * t[i] * decay
        for k in range(2, 8, 3):
            away = (t[i] - b[k + 1]) / b[k + 2]
            peak = np.exp(-away * away)
            slope = 2 * b[k] * peak * away / b[k + 2]
            rows[i, k], rows[i, k + 1], rows[i, k + 2] = peak, slope, slope * away
    return rows


BASELINES: dict[str, Callable[[Array], Answer]] = {"rosenbrock": rosenbrock, "sine-chain": sine_chain}
