"""Callbacks in SciPy's two forms, called with structures."""

import inspect
from typing import Any

from tapegrad.optimize.ravel import LeafLayout


def callback_on(callback: Any, layout: LeafLayout) -> Any:
    """Return a callback for SciPy that calls the user's with structures in place of vectors.

    SciPy tells its two forms apart by the name of the only parameter: ``callback(intermediate_result)`` gets a
    result, all others get the vector, and the state with ``method="trust-constr"``.
    """
    if callback is None or layout.is_vector:
        return callback
    if _takes_result(callback):
        return lambda intermediate_result: callback(
            intermediate_result=structured(intermediate_result, layout)
        )
    return lambda x, *state: callback(layout.unravel(x), *state)


def _takes_result(callback: Any) -> bool:
    try:
        return set(inspect.signature(callback).parameters) == {"intermediate_result"}
    except (TypeError, ValueError):  # some builtins have no signature
        return False


def structured(result: Any, layout: LeafLayout) -> Any:
    """Return a copy of SciPy's result in which all that has an element for each parameter is unraveled."""
    copy = type(result)(result)
    copy.x = layout.unravel(result.x)
    for name in ("jac", "grad"):
        if getattr(result.get(name), "shape", None) == (layout.size,):
            copy[name] = layout.unravel(result[name])
    if "allvecs" in result:
        copy["allvecs"] = [layout.unravel(x) for x in result["allvecs"]]
    return copy
