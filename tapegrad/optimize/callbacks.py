"""Callbacks in the two forms that SciPy knows, on structures."""

import inspect
from collections.abc import Callable
from typing import Any

from tapegrad.optimize.ravel import Layout

Report = Callable[[Any], None]


def callback_on(callback: Any, layout: Layout, report: Report | None = None) -> Any:
    """A callback for SciPy in place of the user's, which gets structures; `report` is called with vectors before it.

    SciPy tells its two forms apart by the name of the only parameter: ``callback(intermediate_result)`` gets a
    result, all others get the vector, and the state with ``method="trust-constr"``.
    """
    if callback is None:
        return None if report is None else lambda x, *state: report(x)
    if report is None and layout.is_vector:
        return callback
    if _takes_result(callback):
        return _with_result(callback, layout, report)

    def with_vector(x: Any, *state: Any) -> Any:
        if report is not None:
            report(x)
        return callback(layout.unravel(x), *state)

    return with_vector


def _takes_result(callback: Any) -> bool:
    try:
        return set(inspect.signature(callback).parameters) == {"intermediate_result"}
    except (TypeError, ValueError):  # some builtins have no signature
        return False


def _with_result(callback: Any, layout: Layout, report: Report | None) -> Any:
    def with_result(intermediate_result: Any) -> Any:
        if report is not None:
            report(intermediate_result.x)
        return callback(intermediate_result=structured(intermediate_result, layout))

    return with_result


def structured(result: Any, layout: Layout) -> Any:
    """A copy of SciPy's result with what has an element for each parameter in their structure."""
    copy = type(result)(result)
    copy.x = layout.unravel(result.x)
    for name in ("jac", "grad"):
        if getattr(result.get(name), "shape", None) == (layout.size,):
            copy[name] = layout.unravel(result[name])
    if "allvecs" in result:
        copy["allvecs"] = [layout.unravel(x) for x in result["allvecs"]]
    return copy
