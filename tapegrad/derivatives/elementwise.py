"""The partials of the table's rows, applied to Tensors."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad import elementwise, reductions
from tapegrad.derivatives.parts import Value, count_ratio
from tapegrad.ops import CODES, CONSTANTS, PRIMALS, Op, evaluate, names_in
from tapegrad.record import apply
from tapegrad.shaping import broadcast_to, reshape
from tapegrad.storage import from_array, is_tensor

_CHAIN = CODES["chain"]
Primal = Callable[[str], Any]  # from a name in a text to the Tensor that it stands for


def partial(row: Op, operand: int, primal: Primal, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Value:
    """The partial of a row by an operand: a float where it is one number, otherwise a Tensor of `shape`."""
    text = row.partials[operand]
    names = names_in(text)
    functions = {name: _function(name, dtype) for name in names - PRIMALS - CONSTANTS.keys()}
    primals = {name: primal(name) for name in names & PRIMALS}
    try:
        value = evaluate(text, functions, **primals)
    except ZeroDivisionError:  # of plain numbers; elements of Tensors become infinite
        tensors = {name: from_array(np.asarray(x, dtype), True) if isinstance(x, float) else x
                   for name, x in primals.items()}  # fmt: skip
        value = evaluate(text, functions, **tensors)
    if not is_tensor(value):
        return float(value)
    if value.dtype != dtype:
        value = value.astype(dtype)
    return value if value.shape == shape else broadcast_to(value, shape)


def _function(name: str, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """A function that a text names. Numbers to select from are given the op's dtype, for they alone decide it."""
    if name != "where":
        return elementwise.FUNCTIONS[name]

    def where(condition: Any, x: Any, y: Any) -> Any:
        if isinstance(condition, bool):
            return x if condition else y
        x, y = (value if is_tensor(value) else np.asarray(value, dtype) for value in (x, y))
        return elementwise.where(condition, x, y)

    return where


def chained(factor: Value, value: Value) -> Value | None:
    """A partial times a cotangent or a tangent: zero times anything is zero. `None` where it is zero throughout."""
    if isinstance(factor, float):
        factor, value = value, factor
    if not isinstance(value, float):
        return apply(_CHAIN, factor, value)
    if value == 0.0:
        return None
    if isinstance(factor, float):
        return factor * value or None
    if value == 1.0:
        return factor
    return -factor if value == -1.0 else factor * value


def summed_to(value: Value, shape: tuple[int, ...], of: tuple[int, ...]) -> Value:
    """The sum of a value of shape `of` over the dimensions along which an operand of `shape` was broadcast."""
    if shape == of:
        return value
    if isinstance(value, float):
        return value * count_ratio(of, shape)
    lead = len(of) - len(shape)
    stretched = [k for k in range(lead, len(of)) if shape[k - lead] == 1 and of[k] != 1]
    total = reductions.sum(value, (*range(lead), *stretched))
    return total if total.shape == shape else reshape(total, shape)
