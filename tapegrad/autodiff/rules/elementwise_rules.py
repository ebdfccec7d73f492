"""Derivative rules of elementwise ops: the partials of their rows, applied to Tensors."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.autodiff.accumulator import count_ratio
from tapegrad.autodiff.regions import materialize
from tapegrad.autodiff.rules.step import SweepStep
from tapegrad.frontend.functions.reductions import reductions
from tapegrad.frontend.recording import elementwise
from tapegrad.frontend.recording.rules import Value, masked_multiply
from tapegrad.frontend.recording.shape import broadcast_to, reshape
from tapegrad.frontend.recording.unknown_derivatives import no_derivative
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.ops import CONSTANTS, PRIMALS, Op, as_function, names_in


def partial(row: Op, operand: int, step: SweepStep) -> Value:
    """Return the partial of a row by an operand: a float if it is constant, or a Tensor of the result's shape."""
    if operand in row.unknown:
        raise no_derivative(row, operand)
    like = step.geometry(step.result)
    names, function = _as_function(row.partials[operand], like.dtype)
    primals = [step.primal(name) for name in names]
    try:
        value = function(*primals)
    except ZeroDivisionError:  # plain numbers raise; elements of Tensors become infinite
        value = function(*[materialize(x, (), like.dtype) for x in primals])
    if not is_tensor(value):
        return float(value)
    if step.is_alike(value, step.result):
        return value
    if value.dtype != like.dtype:
        value = value.astype(like.dtype)
    return value if value.shape == like.shape else broadcast_to(value, like.shape)


@functools.cache
def _as_function(text: str, dtype: np.dtype[Any]) -> tuple[tuple[str, ...], Callable[..., Value]]:
    """Return the names of the primals in a text, and the text as a function of them."""
    functions = names_in(text) - PRIMALS - CONSTANTS.keys()
    return as_function(text, {name: _function(name, dtype) for name in functions})


def _function(name: str, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """Return the function of a name in a text.

    Its ``where`` casts plain numbers to the op's dtype, or it would promote.
    """
    if name != "where":
        return elementwise.FUNCTIONS[name]

    def where(condition: Any, x: Any, y: Any) -> Any:
        if isinstance(condition, bool):
            return x if condition else y
        x, y = (value if is_tensor(value) else np.asarray(value, dtype) for value in (x, y))
        return elementwise.where(condition, x, y)

    return where


def masked_product(factor: Value, value: Value) -> Value | None:
    """Return a partial times a cotangent or tangent, where 0 times anything is 0; `None` if the partial is 0."""
    if isinstance(factor, float):
        factor, value = value, factor
    if not isinstance(value, float):
        return masked_multiply(factor, value)
    if value == 0.0:
        return None
    if isinstance(factor, float):
        return factor * value if factor != 0.0 else None
    if value == 1.0:
        return factor
    if not math.isfinite(value):
        return masked_multiply(factor, value)
    return -factor if value == -1.0 else factor * value


def summed_to(value: Value, shape: tuple[int, ...], of: tuple[int, ...]) -> Value:
    """Sum a value of shape `of` over the dimensions along which an operand of `shape` was broadcast."""
    if shape == of:
        return value
    if isinstance(value, float):
        return value * count_ratio(of, shape)
    lead = len(of) - len(shape)
    stretched = [k for k in range(lead, len(of)) if shape[k - lead] == 1 and of[k] != 1]
    total = reductions.sum(value, (*range(lead), *stretched))
    return total if total.shape == shape else reshape(total, shape)
