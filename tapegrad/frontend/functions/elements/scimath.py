"""Functions of `numpy.emath`: complex where an element lies outside of the domain of the real function, real otherwise.

A recording guards which of both a call is, as it does with the condition of an ``if``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.frontend.functions.reductions.predicates import any
from tapegrad.frontend.recording.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.tensor.tensor import Tensor

_log, _power = ELEMENTWISE["log"], ELEMENTWISE["power"]


def _in_domain(x: Any, name: str, is_outside: Callable[[Tensor], Any]) -> Tensor:
    """Return real numbers as complex ones if any of them is outside of the function's domain."""
    numbers = as_numbers(x, f"numpy.emath.{name}")
    if numbers.dtype.kind != "c" and any(is_outside(numbers)):
        numbers = numbers.astype(np.result_type(numbers.dtype, np.complex64))
    return numbers


def _is_negative(x: Tensor) -> Any:
    return x < 0


def _is_beyond_one(x: Tensor) -> Any:
    return abs(x) > 1


def _of_domain(name: str, is_outside: Callable[[Tensor], Any]) -> Callable[..., Any]:
    """Make a function of one argument from the one of real and of complex numbers."""
    return lambda x: ELEMENTWISE[name](_in_domain(x, name, is_outside))


def _logn(n: Any, x: Any) -> Any:
    return _log(_in_domain(x, "logn", _is_negative)) / _log(_in_domain(n, "logn", _is_negative))


def _power_of_domain(x: Any, p: Any) -> Any:
    exponent = as_numbers(p, "numpy.emath.power")
    if exponent.dtype.kind in "iu" and any(_is_negative(exponent)):
        exponent = exponent * 1.0  # integers have no negative powers
    return _power(_in_domain(x, "power", _is_negative), exponent)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _of_domain(name, _is_negative) for name in ("sqrt", "log", "log2", "log10")},
    **{name: _of_domain(name, _is_beyond_one) for name in ("arccos", "arcsin", "arctanh")},
    "logn": _logn,
    "power": _power_of_domain,
}
