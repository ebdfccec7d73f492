"""Parameters of a distribution as they are given: plain numbers and Tensors, and whether they are in their domain."""

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.frontend.recording.elementwise import FUNCTIONS
from tapegrad.frontend.recording.elementwise import where as select
from tapegrad.frontend.recording.record import as_plain_number
from tapegrad.frontend.recording.record_structural import as_tensor
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import Tensor

Domain = Callable[[Any], Any]
_floor = FUNCTIONS["floor"]


def is_number(value: Any) -> bool:
    """Return whether a value is a plain number, which takes the dtype of what it meets."""
    return type(value) is float or type(value) is int


def variable(x: Any, name: str) -> Tensor:
    """Return what a function is computed of as a Tensor of floats."""
    tensor = as_tensor(x, name)
    return tensor if tensor.dtype.kind == "f" else tensor.astype(float)


def parse(name: str, names: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Return the parameters in order: plain numbers and Tensors. The last ones, `loc` and `scale`, may be left out.

    Raises
    ------
    TypeError
        Naming what is missing, unknown, or given twice.
    """
    defaults: dict[str, Any] = {"loc": 0, "scale": 1}
    if len(args) > len(names):
        raise TypeError(f"{name} takes the parameters {', '.join(names)}; {len(args)} are given")
    given = dict(zip(names, args, strict=False))
    for key, value in kwargs.items():
        if key not in names or key in given:
            what = "is given twice" if key in given else f"is none of its parameters {', '.join(names)}"
            raise TypeError(f"{name}: {key!r} {what}")
        given[key] = value
    if missing := [key for key in names if key not in given and key not in defaults]:
        raise TypeError(f"{name}: the parameter {missing[0]!r} is missing")
    values = [given.get(key, defaults.get(key)) for key in names]
    return [value if is_number(value) else as_tensor(value, name) for value in values]


def less(value: Tensor, number: Any) -> Tensor:
    """Subtract; a plain 0 is no instruction."""
    return value if is_number(number) and number == 0 else value - number


# --- domains -------------------------------------------------------------------------------------------------------


def positive(value: Any) -> Any:
    """Return where a parameter is greater than 0."""
    return value > 0


def not_negative(value: Any) -> Any:
    """Return where a parameter is at least 0."""
    return value >= 0


def share(value: Any) -> Any:
    """Return where a parameter is between 0 and 1."""
    return both(value >= 0, value <= 1)


def positive_share(value: Any) -> Any:
    """Return where a parameter is greater than 0 and at most 1."""
    return both(value > 0, value <= 1)


def count(value: Any) -> Any:
    """Return where a parameter is a whole number that is not negative."""
    return both(value >= 0, value % 1 == 0 if is_number(value) else value == _floor(value))


def real(value: Any) -> Any:
    """Return where a parameter is a number at all."""
    return value == value


def both(*conditions: Any) -> Any:
    """Return where all conditions hold; those that are plain truths are settled at once."""
    rest = [each for each in conditions if each is not True]
    if any(each is False for each in rest):
        return False
    return functools.reduce(operator.and_, rest) if rest else True


def validity(domains: dict[str, Domain], values: list[Any]) -> list[Any]:
    """Return for each parameter where it is in its domain."""
    return [domain(value) for domain, value in zip(domains.values(), values, strict=True)]


def usable(shapes: list[Any], valid: list[Any]) -> list[Any]:
    """Return shape parameters with nan for plain numbers outside of their domain, which Python may not divide by."""
    return [math.nan if each is False else value for value, each in zip(shapes, valid, strict=True)]


def valid_or_nan(value: Any, *conditions: Any, beside: Sequence[Any] = ()) -> Any:
    """Return a value, and nan where one of the conditions does not hold.

    A plain number takes the dtype of the Tensors `beside` it, when it has to become one of several.
    """
    for valid in conditions:
        if valid is False and is_number(value):
            value = math.nan
        elif valid is not True:
            number = _in_dtype_of(beside, value) if is_number(value) else value
            value = as_plain_number(select(valid, number, math.nan), (value,))
    return value


def _in_dtype_of(values: Sequence[Any], number: Any) -> Any:
    """Return a plain number in the dtype of Tensors; as it is in a recording, which knows that it is one."""
    dtypes = [value.dtype for value in values if isinstance(value, Tensor)]
    return np.result_type(*dtypes).type(number) if dtypes and thread.mode.recorder is None else number
