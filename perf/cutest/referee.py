"""A third opinion on derivatives where two libraries differ: differences in extended precision, by NumPy alone.

Central differences of eighth order, Fornberg (1988), "Generation of finite difference formulas on arbitrarily spaced
grids". The problem's own code runs on NumPy's long doubles.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from perf.cutest.answers import Directions
from perf.cutest.array import unwrapped, wrapped
from perf.cutest.problem import Problem

_STEPS = (1e-2, 1e-3, 1e-4)  # parts of what a variable is
_FIRST = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
_SECOND = (-205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560)


def opinions(
    problem: Any, at: Directions, ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]
) -> dict[str, str]:
    """Say for each quantity whose number along the directions is nearer to that of differences.

    Parameters
    ----------
    problem : object
        A problem of the copy on stand-ins.
    at : Directions
        Where, and along what.
    ours, theirs : dict of str to ndarray
        The quantities that differ, by tapegrad and by JAX.
    """
    by_numpy = Problem(problem, np, wrapped, unwrapped)
    lagrangian = (
        (lambda y: by_numpy.lagrangian(y, at.multipliers)) if at.multipliers.size else by_numpy.objective
    )
    found = {}
    for name in ours:
        if name in ("objective", "constraints"):
            wanted, doubt = getattr(by_numpy, name)(at.start.astype(np.longdouble)), 0.0
        elif "Hessian" in name:
            wanted, doubt = difference(lagrangian, at, second=True)
        else:
            wanted, doubt = difference(by_numpy.objective if name == "gradient" else by_numpy.constraints, at)
        if name.startswith("transposed"):
            wanted = at.multipliers @ wanted
        found[name] = _nearer(*(_along(name, each[name], at) for each in (ours, theirs)), wanted, doubt)
    return found


def difference(function: Callable[[Any], Any], at: Directions, second: bool = False) -> tuple[Any, float]:
    """Return a derivative along the vector, and how far those of the two best steps are apart."""
    start = at.start.astype(np.longdouble)
    found = []
    for step in _STEPS:
        moves = [step * k * at.vector for k in range(1, 5)]
        if second:
            pairs = [function(start + move) + function(start - move) for move in moves]
            total = _SECOND[0] * function(start) + sum(c * p for c, p in zip(_SECOND[1:], pairs, strict=True))
            found.append(total / step**2)
        else:
            pairs = [function(start + move) - function(start - move) for move in moves]
            found.append(sum(c * p for c, p in zip(_FIRST, pairs, strict=True)) / step)
    gaps = [float(np.max(np.abs(a - b))) for a, b in pairwise(found)]
    best = int(np.nanargmin(gaps))
    return found[best + 1], gaps[best]


def _along(name: str, value: np.ndarray, at: Directions) -> Any:
    """Return what differences give: derivatives by all variables are projected onto the vector."""
    return (
        value @ at.vector
        if name.startswith(("gradient", "Hessian", "sparse Hessian", "transposed"))
        else value
    )


def _nearer(ours: Any, theirs: Any, wanted: Any, doubt: float) -> str:
    own, other = (float(np.max(np.abs(each - wanted))) for each in (ours, theirs))
    if not other <= max(10 * own, 3 * doubt):  # NaN as well
        return "tapegrad"
    return "neither" if own <= max(10 * other, 3 * doubt) else "JAX"
