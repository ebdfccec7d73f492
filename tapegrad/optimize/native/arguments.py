"""Arguments of the native optimisers: bounds, tolerances, scales."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.frontend.tensor.array_checks import real

TOLERANCE = 1e-8
UNBOUNDED = (-np.inf, np.inf)


def checked_bounds(bounds: Any, size: int, who: str) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper bounds as vectors, from a pair of SciPy's `least_squares` or a `scipy.optimize.Bounds`.

    Raises
    ------
    ValueError
        For bounds of another number, or a lower one above its upper one.
    """
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        bounds = (bounds.lb, bounds.ub)
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ValueError(f"{who}: bounds must be a pair (lower, upper) or a scipy.optimize.Bounds")
    lower, upper = (real(bound, f"{who}: bounds") for bound in bounds)
    for name, bound in (("lower", lower), ("upper", upper)):
        if bound.ndim > 1 or bound.size not in (1, size):
            raise ValueError(f"{who}: {name} bounds of shape {bound.shape} for {size} parameters")
    lower, upper = (np.ascontiguousarray(np.broadcast_to(bound, (size,))) for bound in (lower, upper))
    if not np.all(lower <= upper):
        raise ValueError(f"{who}: a lower bound must not be greater than its upper one")
    return lower, upper


def check_feasible(x0: np.ndarray, lower: np.ndarray, upper: np.ndarray, who: str) -> None:
    """Raise a `ValueError` for a start outside of the bounds; one that is nan is not refused."""
    outside = np.flatnonzero(((x0 < lower) | (x0 > upper)).reshape(-1, len(lower)).any(axis=0))
    if len(outside):
        raise ValueError(f"{who}: x0 is infeasible, parameter {outside[0]} is outside of its bounds")


def checked_tolerances(tolerances: Sequence[Any], who: str) -> list[float]:
    """Return ``ftol``, ``xtol`` and ``gtol`` as numbers; 0 for `None`, which switches one off."""
    found = [0.0 if tol is None else float(tol) for tol in tolerances]
    if not all(tol >= 0 for tol in found):
        raise ValueError(f"{who}: tolerances must not be negative, and not nan")
    if not any(found):
        raise ValueError(f"{who}: one of ftol, xtol and gtol must be greater than 0")
    return found


def checked_choice(value: Any, choices: Any, name: str, who: str) -> Any:
    """Return a value that is one of several names."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{who}: {name}={value!r}; it must be one of {', '.join(map(repr, choices))}")
    return value


def checked_positive(value: Any, name: str, who: str) -> float:
    """Return a number that is greater than 0."""
    number = float(value)
    if not (number > 0 and np.isfinite(number)):
        raise ValueError(f"{who}: {name}={value!r}; it must be positive and finite")
    return number


def refuse(options: dict[str, Any], who: str) -> None:
    """Raise a `TypeError` for options that are left."""
    if options:
        raise TypeError(f"{who} takes no argument {', '.join(sorted(options))}")
