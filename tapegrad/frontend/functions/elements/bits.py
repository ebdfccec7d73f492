"""Functions and operators of integers, bits and booleans, without a gradient."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tapegrad.frontend.conversions.guarded_results import call_guarded
from tapegrad.frontend.recording.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.recording.lists import holds_tensors, in_numbers
from tapegrad.frontend.recording.record import as_float
from tapegrad.frontend.recording.ufuncs import Ufunc, with_arguments
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods
from tapegrad.frontend.words.ufunc_docs import describe

# Logic as arithmetic on 0 and 1, which can be replayed.
_LOGIC: dict[Any, Callable[..., Any]] = {
    np.invert: lambda x: ELEMENTWISE["equal"](x, 0.0),
    np.bitwise_and: lambda x, y: ELEMENTWISE["not_equal"](x * y, 0.0),
    np.bitwise_or: lambda x, y: ELEMENTWISE["not_equal"](x + y, 0.0),
    np.bitwise_xor: lambda x, y: ELEMENTWISE["not_equal"](x, y),
}
_NAMES = (
    "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift", "bitwise_count", "gcd", "lcm",
)  # fmt: skip
_ALIASES = {
    "bitwise_not": "invert",
    "bitwise_invert": "invert",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
}


def _compute(ufunc: np.ufunc, *operands: Any) -> Any:
    """Apply a ufunc by NumPy; while recording, integers are guarded, and each replay computes booleans."""
    name = f"numpy.{ufunc.__name__}"
    values = [in_numbers(value, name) if holds_tensors(value) else value for value in operands]
    kinds = [_kind(value) for value in values]
    if "f" in kinds:
        raise TypeError(f"{name} takes integers and booleans, not floats")
    if thread.mode.recorder is None or ufunc not in _LOGIC or set(kinds) != {"b"}:
        return call_guarded(ufunc, *values)
    return _LOGIC[ufunc](*(as_float(x, np.dtype(np.float64), thread.mode.tape, False) for x in values))


def _kind(value: Any) -> str:
    return value.dtype.kind if hasattr(value, "dtype") else np.asarray(value).dtype.kind


def _made(name: str) -> Callable[..., Any]:
    ufunc = getattr(np, name)
    function = with_arguments(Ufunc(f"numpy.{name}", partial(_compute, ufunc), ufunc))
    function.__name__ = function.__qualname__ = name
    describe(function, name)
    return function


FUNCTIONS: dict[str, Callable[..., Any]] = {name: _made(name) for name in _NAMES}
UFUNCS: dict[Any, Any] = {getattr(np, name): function for name, function in FUNCTIONS.items()}
UFUNCS[np.isnat] = partial(call_guarded, np.isnat)  # NumPy's own error: a Tensor holds no dates
FUNCTIONS |= {alias: FUNCTIONS[name] for alias, name in _ALIASES.items()}


def _invert(x: Tensor) -> Any:
    return _compute(np.invert, x)


def _binary(ufunc: np.ufunc) -> Callable[..., Any]:
    def operate(x: Tensor, other: Any) -> Any:
        return _compute(ufunc, x, other)

    return operate


def _reflected_binary(ufunc: np.ufunc) -> Callable[..., Any]:
    def operate(x: Tensor, other: Any) -> Any:
        return _compute(ufunc, other, x)

    return operate


bind_methods(
    __invert__=_invert,
    __and__=_binary(np.bitwise_and),
    __rand__=_reflected_binary(np.bitwise_and),
    __or__=_binary(np.bitwise_or),
    __ror__=_reflected_binary(np.bitwise_or),
    __xor__=_binary(np.bitwise_xor),
    __rxor__=_reflected_binary(np.bitwise_xor),
    __lshift__=_binary(np.left_shift),
    __rlshift__=_reflected_binary(np.left_shift),
    __rshift__=_binary(np.right_shift),
    __rrshift__=_reflected_binary(np.right_shift),
)
