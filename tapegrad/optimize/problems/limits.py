"""Limits of variables and of constraints: lower and upper ones as vectors, from the forms that users write."""

from typing import Any

import numpy as np

from tapegrad.frontend.functions.shapes.flat_structures import LeafLayout
from tapegrad.frontend.tensor.array_checks import real
from tapegrad.pytree import LEAF, flatten, paths

Limits = tuple[np.ndarray, np.ndarray]


def limits_of_variables(bounds: Any, layout: LeafLayout) -> Limits:
    """Return the limits of variables as vectors.

    Parameters
    ----------
    bounds
        `None`, a `scipy.optimize.Bounds`, a pair ``(lower, upper)`` for each variable, with `None` for no limit, or,
        where `x0` is a structure, one pair of such structures or numbers.
    layout
        The layout of `x0`.

    Raises
    ------
    ValueError
        For limits of another number, and for nan.
    """
    who = "problem: bounds"
    if bounds is None:
        bounds = (None, None)
    elif hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        bounds = (bounds.lb, bounds.ub)
    elif not _is_pair_of_structures(bounds, layout):
        bounds = _transposed(bounds, layout.size)
    return _both(bounds, layout, who, "variables")


def limits_of_constraints(bounds: Any, layout: LeafLayout) -> Limits:
    """Return the limits of constraints as vectors.

    Parameters
    ----------
    bounds
        A pair ``(lower, upper)``, or a `scipy.optimize.Bounds`: numbers, vectors with an element for each constraint,
        or structures like what the constraints return; `None` for no limit.
    layout
        The layout of what the constraints return.

    Raises
    ------
    ValueError
        For limits of another number, and for nan.
    """
    who = "problem: constraint_bounds"
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        bounds = (bounds.lb, bounds.ub)
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ValueError(f"{who} must be a pair (lower, upper), such as (0, 0) or (-np.inf, limits)")
    return _both(bounds, layout, who, "constraints")


def _is_pair_of_structures(bounds: Any, layout: LeafLayout) -> bool:
    """Return whether bounds are a pair in which a structure is like `x0`. A list of numbers counts as none."""
    if not isinstance(bounds, tuple | list) or len(bounds) != 2 or layout.definition is LEAF:
        return False
    return any(flatten(each)[1] == layout.definition for each in bounds)


def _transposed(bounds: Any, size: int) -> tuple[list[Any], list[Any]]:
    """Return lower and upper limits, from a pair of them for each variable."""
    pairs = list(bounds)
    if len(pairs) != size or not all(np.size(pair) == 2 for pair in pairs):
        raise ValueError(
            f"problem: bounds must be a scipy.optimize.Bounds, {size} pairs (lower, upper), or, where x0 is a"
            " structure, a pair of structures like it"
        )
    lower, upper = zip(*pairs, strict=True) if pairs else ((), ())
    return [-np.inf if each is None else each for each in lower], [
        np.inf if each is None else each for each in upper
    ]


def _both(bounds: Any, layout: LeafLayout, who: str, of: str) -> Limits:
    lower, upper = bounds
    return (
        _vector(-np.inf if lower is None else lower, layout, f"{who}: the lower ones", of),
        _vector(np.inf if upper is None else upper, layout, f"{who}: the upper ones", of),
    )


def _vector(limits: Any, layout: LeafLayout, who: str, of: str) -> np.ndarray:
    """Return limits as a new vector."""
    given, definition = flatten(limits)
    if definition == layout.definition and definition is not LEAF:
        leaves = [real(leaf, f"{who}{path}") for leaf, path in zip(given, paths(limits), strict=True)]
        parts = [_broadcast(leaf, shape, who, of) for leaf, shape in zip(leaves, layout.shapes, strict=True)]
        found = np.concatenate([np.zeros(0), *(part.reshape(-1) for part in parts)])
    else:
        array = real(limits, who)
        whole = (
            layout.shapes[0] if definition is LEAF is layout.definition and array.ndim > 1 else (layout.size,)
        )
        found = _broadcast(array, whole, who, of).reshape(-1)
    if np.isnan(found).any():
        raise ValueError(f"{who} have a nan; write -np.inf or np.inf for no limit")
    return np.array(found, np.float64)


def _broadcast(array: np.ndarray, shape: tuple[int, ...], who: str, of: str) -> np.ndarray:
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(
            f"{who} have shape {array.shape} for {of} of shape {shape}; pass one number, or as many as there are {of}"
        ) from None
