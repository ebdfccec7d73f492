"""A third opinion on derivatives where two libraries differ: differences in extended precision, by NumPy alone.

Central differences of eighth order, Fornberg (1988), "Generation of finite difference formulas on arbitrarily spaced
grids". The problem's own code runs on NumPy's long doubles.
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from perf.cutest.answers import Directions
from perf.cutest.array import unwrapped, wrapped
from perf.cutest.problem import Problem

_STEPS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
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
    found = {}
    for name in ours:
        try:
            wanted, doubt = _wanted(name, by_numpy, at)
        except Exception:  # code with loops that are recorded, or functions without long doubles
            found[name] = "neither"
        else:
            found[name] = _nearer([_along(name, each[name], at) - wanted for each in (ours, theirs)], doubt)
    return found


def _wanted(name: str, problem: Problem, at: Directions) -> tuple[Any, float]:
    """Return a quantity by differences, as far as it is known, and how far that is."""
    of_objective = name in ("objective", "gradient") or not at.multipliers.size
    function = problem.objective if of_objective else problem.constraints
    if name in ("objective", "constraints"):
        start = at.start.astype(np.longdouble)
        beside = np.max(np.abs(function(start + 0.1 * at.vector)))  # as large as what may cancel at the start
        return function(start), 1e-14 * float(beside)
    if "Hessian" in name:
        return difference(partial(problem.lagrangian, multipliers=at.multipliers), at, second=True)
    slope, doubt = difference(function, at)
    if name.startswith("transposed"):
        return at.multipliers @ slope, doubt * at.multipliers.size
    return slope, doubt


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
    by_all = name.startswith(("gradient", "Hessian", "sparse Hessian", "transposed"))
    return value @ at.vector if by_all else value


def _nearer(differences: list[Any], doubt: float) -> str:
    """Return whose number is right; NaN is as far away as can be."""
    own, other = np.nan_to_num([float(np.max(np.abs(each))) for each in differences], nan=np.inf)
    if other > max(10 * own, 3 * doubt):
        return "tapegrad"
    return "JAX" if own > max(10 * other, 3 * doubt) else "neither"
