"""NumPy's protocols: ``np.sin(t)`` and ``np.sum(t)`` do what ``tapegrad.sin(t)`` and ``tapegrad.sum(t)`` do."""

import inspect
from typing import Any

import numpy as np

from tapegrad import creation, elementwise, joining, linalg, reductions, shaping
from tapegrad.errors import UnsupportedError
from tapegrad.ops import ELEMENTWISE

_UFUNCS: dict[str, Any] = {row.ufunc: elementwise.FUNCTIONS[row.name] for row in ELEMENTWISE if row.ufunc}
_UFUNCS["matmul"] = linalg.matmul
_REDUCTIONS: dict[str, Any] = {
    "add": reductions.sum,
    "multiply": reductions.prod,
    "maximum": reductions.max,
    "minimum": reductions.min,
}
_INTERNAL = {row.name for row in ELEMENTWISE if not row.public}
FUNCTIONS: dict[str, Any] = {
    **{name: function for name, function in elementwise.FUNCTIONS.items() if name not in _INTERNAL},
    **reductions.FUNCTIONS,
    **shaping.FUNCTIONS,
    **linalg.FUNCTIONS,
    **joining.FUNCTIONS,
    **creation.FUNCTIONS,
}
_INSPECTIONS = {"shape": lambda a: a.shape, "ndim": lambda a: a.ndim, "size": lambda a: a.size}


def _kept(function: str, arguments: dict[str, Any], allowed: tuple[str, ...]) -> dict[str, Any]:
    """The keyword arguments that say something; those that are not supported are refused."""
    said = {k: v for k, v in arguments.items() if v is not None and v is not np._NoValue}
    for name in said:
        if name not in allowed:
            raise UnsupportedError(f"{function}: the argument {name!r} is not supported for Tensors")
    return said


class ProtocolMethods:
    """What NumPy asks of an object that takes part in its functions."""

    __slots__ = ()
    __array_priority__ = 1000

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **arguments: Any) -> Any:
        name = ufunc.__name__
        if method == "__call__" and name in _UFUNCS:
            _kept(name, arguments, ())
            return _UFUNCS[name](*inputs)
        if method == "reduce" and name in _REDUCTIONS:
            return _REDUCTIONS[name](inputs[0], **_kept(name, {"axis": 0, **arguments}, ("axis", "keepdims")))
        called = name if method == "__call__" else f"{name}.{method}"
        raise UnsupportedError(f"numpy.{called} is not supported for Tensors; use .data to leave the graph")

    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        name = function.__name__
        if name in _INSPECTIONS and not kwargs and len(args) == 1:
            return _INSPECTIONS[name](args[0])
        if name not in FUNCTIONS:
            raise UnsupportedError(f"numpy.{name} is not supported for Tensors; use .data to leave the graph")
        return _call(name, FUNCTIONS[name], args, kwargs)


def _call(name: str, function: Any, args: tuple[Any, ...], arguments: dict[str, Any]) -> Any:
    """Call our function as NumPy's was called; say which argument is not supported."""
    signature = inspect.signature(function)
    known = signature.parameters
    arguments = {k: v for k, v in arguments.items() if v is not np._NoValue and (v is not None or k in known)}
    try:
        signature.bind(*args, **arguments)
    except TypeError as error:
        raise UnsupportedError(f"numpy.{name} of Tensors: {error}") from None
    return function(*args, **arguments)
