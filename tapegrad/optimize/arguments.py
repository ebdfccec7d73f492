"""SciPy's arguments and results: checked, or called and returned with structures in place of vectors."""

import inspect
from typing import Any

from tapegrad.frontend.functions.shapes.flat_structures import LeafLayout
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.optimize.flat import unraveled
from tapegrad.pytree import flatten, paths


def further(args: Any, name: str = "args") -> Any:
    """Return the further arguments of the user's function as a tuple; those by name as a dict.

    Raises
    ------
    TypeError
        For a Tensor among them: an optimiser computes with arrays, so nothing could be differentiated by it.
    """
    args = args if isinstance(args, tuple | dict) else (args,)
    if not args:  # as most often
        return args
    for leaf, path in zip(flatten(args)[0], paths(args), strict=True):
        if is_tensor(leaf):
            raise TypeError(
                f"{name}{path} is a Tensor, but an optimiser calls with arrays and differentiates by x0 only;"
                " pass its .data, or to differentiate the solution of minimize or least_squares by it write"
                " differentiable=True"
            )
    return args


def without_defaults(options: dict[str, Any], derivative: str, who: str) -> dict[str, Any]:
    """Return the options without ``jac``, ``hess`` and ``hessp`` that are `None`.

    Raises
    ------
    TypeError
        For any other ``jac``: the derivative is computed.
    """
    if options.get("jac") is not None and options["jac"] is not False:
        raise TypeError(f"{who}: the {derivative} is computed; leave out the argument jac")
    silent = {"jac", *(name for name in ("hess", "hessp") if options.get(name) is None)}
    return {name: value for name, value in options.items() if name not in silent}


def callback_on(callback: Any, layout: LeafLayout) -> Any:
    """Return a callback for SciPy that calls the user's with structures in place of vectors.

    SciPy tells its two forms apart by the name of the only parameter: ``callback(intermediate_result)`` gets a
    result, all others get the vector, and the state with ``method="trust-constr"``.
    """
    if callback is None or layout.is_vector:
        return callback
    if takes_result(callback):
        return lambda intermediate_result: callback(
            intermediate_result=structured(intermediate_result, layout)
        )
    return lambda x, *state: callback(unraveled(x, layout), *state)


def takes_result(callback: Any) -> bool:
    """Return whether SciPy calls a callback with a result, by the name of its only parameter."""
    try:
        return set(inspect.signature(callback).parameters) == {"intermediate_result"}
    except (TypeError, ValueError):  # some builtins have no signature
        return False


def with_parameters(result: Any, x: Any) -> Any:
    """Return a copy of SciPy's result with other parameters, which notebooks show as a table."""
    from tapegrad.optimize.searches.search_result import SearchResult

    return SearchResult(result, x=x)


def structured(result: Any, layout: LeafLayout) -> Any:
    """Return a copy of SciPy's result in which all that has an element for each parameter is unraveled."""
    copy = with_parameters(result, unraveled(result.x, layout))
    for name in ("jac", "grad"):
        if getattr(result.get(name), "shape", None) == (layout.size,):
            copy[name] = unraveled(result[name], layout)
    if "allvecs" in result:
        copy["allvecs"] = [unraveled(x, layout) for x in result["allvecs"]]
    return copy
