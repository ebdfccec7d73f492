"""Limits of variables and of constraints: lower and upper ones as vectors, from the forms that users write."""

from typing import Any

import numpy as np

from tapegrad.frontend.functions.shapes.flat_structures import LeafLayout
from tapegrad.frontend.tensor.array_checks import real
from tapegrad.pytree import LEAF, flatten

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
    """Return whether bounds are a pair of structures like `x0`; two pairs of numbers are those of two variables."""
    if not isinstance(bounds, tuple | list) or len(bounds) != 2 or layout.definition is LEAF:
        return False
    return layout.size != 2 or any(isinstance(each, dict) for each in bounds)


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
    """Return a pair of limits as vectors."""
    lower, upper = bounds
    return (
        _vector(_with_numbers(lower, -np.inf), layout, f"{who}: the lower ones", of),
        _vector(_with_numbers(upper, np.inf), layout, f"{who}: the upper ones", of),
    )


def _with_numbers(limits: Any, missing: float) -> Any:
    """Return limits with a number in the place of each `None`, in structures, lists and arrays of objects."""
    if limits is None:
        return missing
    if isinstance(limits, dict):
        return {key: _with_numbers(each, missing) for key, each in limits.items()}
    if isinstance(limits, np.ndarray) and limits.dtype.hasobject:
        return _with_numbers(limits.tolist(), missing)
    return [_with_numbers(each, missing) for each in limits] if isinstance(limits, list | tuple) else limits


def _vector(limits: Any, layout: LeafLayout, who: str, of: str) -> np.ndarray:
    """Return limits as a new vector."""
    found = np.zeros(layout.size)
    _place(found, limits, layout.split(np.arange(layout.size)), (who, of))
    if np.isnan(found).any():
        raise ValueError(f"{who} have a nan; write -np.inf or np.inf for no limit")
    return found


def _place(found: np.ndarray, limits: Any, places: Any, words: tuple[str, str]) -> None:
    """Write limits to their places in a vector, a structure of which is given. A number is that of all in a part."""
    if isinstance(places, dict) and isinstance(limits, dict) and limits.keys() == places.keys():
        for key, part in places.items():
            _place(found, limits[key], part, words)
    elif isinstance(places, list | tuple) and isinstance(limits, list | tuple) and len(limits) == len(places):
        for each, part in zip(limits, places, strict=True):
            _place(found, each, part, words)
    else:
        leaves, definition = flatten(places)
        where = places
        if definition is not LEAF:
            where = np.concatenate([np.zeros(0), *(np.ravel(leaf) for leaf in leaves)])
        found[np.asarray(where, np.int64)] = _broadcast(real(limits, words[0]), np.shape(where), words)


def _broadcast(array: np.ndarray, shape: tuple[int, ...], words: tuple[str, str]) -> np.ndarray:
    """Return limits in a shape. Of an array of several dimensions they may be one vector."""
    who, of = words
    is_vector = array.ndim == 1 and array.size == np.prod(shape)
    try:
        return array.reshape(shape) if is_vector else np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(
            f"{who} have shape {array.shape} for {of} of shape {shape}; pass one number, or as many as there are {of}"
        ) from None
