"""The evals of one vector: `hello`, `lse`, and three that GradBench has from cmpad, `llsq`, `ode` and `det`."""

from collections.abc import Mapping
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

import tapegrad as tg
from perf.gradbench.served import Served, array
from perf.workloads import Array


def log_sum_exp(x: Any) -> Any:
    largest = np.max(x)
    return largest + np.log(np.sum(np.exp(x - largest)))


def misfit(x: Any, points: int) -> Any:
    """Half the sum of squares between a polynomial and the sign, at points of equal distance from -1 to 1."""
    t = -1 + np.arange(points) * 2 / (points - 1)
    polynomial = x[-1]
    for k in range(len(x) - 2, -1, -1):  # Horner's rule
        polynomial = polynomial * t + x[k]
    return 0.5 * np.sum((np.sign(t) - polynomial) ** 2)


def runge_kutta(x: Any, steps: int) -> Any:
    """State at time 2 of y[0]' = x[0], y[i]' = x[i] y[i - 1].

    One more state in front of the others, which is 1 and stays so, makes the equations alike.
    """
    h, rates = 2 / steps, np.concatenate([np.zeros(1), x])

    def slope(y: Any) -> Any:
        return rates * np.roll(y, 1)

    def step(y: Any, _: None) -> tuple[Any, None]:
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

    return tg.scan(step, np.eye(1, len(x) + 1)[0], length=steps)[0][1:]


@cache
def _expansions(size: int) -> list[tuple[Array, Array]]:
    """Expansions of the minors of the last 2, 3, ... rows of a matrix.

    For each choice of columns, in the order of `combinations`: the columns, and which minors of one row less are
    left without each of them. Both have an axis of the columns before that of the choices.
    """
    levels = []
    places: dict[tuple[int, ...], int] = {(column,): column for column in range(size)}
    for rows in range(2, size + 1):
        choices = list(combinations(range(size), rows))
        left = [[places[each[:k] + each[k + 1 :]] for k in range(rows)] for each in choices]
        levels.append((np.array(choices).T, np.array(left).T))
        places = {each: place for place, each in enumerate(choices)}
    return levels


def determinant(a: Any) -> Any:
    """Expand by minors along the rows from above; a minor that several expansions have is computed once."""
    minors = a[-1]
    for columns, left in _expansions(len(a)):
        signs = (-1.0) ** np.arange(len(columns))[:, None]
        minors = np.sum(signs * a[-len(columns)][columns] * minors[left], axis=0)
    return minors[0]


def _with(name: str = "") -> Any:
    return lambda given: (array(given["x"]), *([given[name]] if name else []))


def _matrix(given: Mapping[str, Any]) -> tuple[Any, ...]:
    return (array(given["A"]).reshape(given["ell"], -1),)


def _both(function: Any, prepare: Any, scalar: Any = None, **options: Any) -> dict[str, Served]:
    """Serve a function, and the gradient of it, or of another one."""
    slope = tg.grad(tg.jit(scalar or function, **options))
    gradient = Served(slope, prepare, lambda found: found.ravel().tolist())
    return {"primal": Served(tg.jit(function, **options), prepare), "gradient": gradient}


_square = tg.jit(lambda x: x * x)
HELLO = {
    "square": Served(_square, lambda x: (float(x),)),
    "double": Served(tg.grad(_square), lambda x: (float(x),)),
}
LSE = _both(log_sum_exp, _with())
LLSQ = _both(misfit, _with("n"), static_argnums=1)
ODE = _both(runge_kutta, _with("s"), lambda x, steps: runge_kutta(x, steps)[-1], static_argnums=1)
DET = _both(determinant, _matrix)
