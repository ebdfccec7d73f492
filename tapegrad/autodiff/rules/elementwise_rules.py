"""Derivative rules of elementwise ops: the partials of their rows, applied to Tensors."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.autodiff.accumulator import count_ratio
from tapegrad.autodiff.regions import materialize
from tapegrad.autodiff.rules.step import SweepStep
from tapegrad.frontend.conversions.complex_views import complex_dtype, imag_part, real_part, through_pairs
from tapegrad.frontend.functions.reductions import reductions
from tapegrad.frontend.recording import elementwise
from tapegrad.frontend.recording.rules import Value, masked_multiply
from tapegrad.frontend.recording.shape import broadcast_to, reshape
from tapegrad.frontend.recording.unknown_derivatives import no_derivative
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.ops import CONSTANTS, PRIMALS, Op, as_function, names_in

_PARTS = {"real": real_part, "imag": imag_part}


def cotangent(row: Op, operand: int, step: SweepStep, y_bar: Value) -> Value | None:
    """Return the contribution to the cotangent of an operand; `None` for zero.

    With partials ``p`` by a complex operand and ``q`` by its conjugate it is ``conj(p) * y_bar + q * conj(y_bar)``;
    of a real operand, the real part. Of a real result of complex operands, the partial is the gradient.
    """
    p = partial(row, operand, step)
    if not step.is_complex:
        return masked_product(p, y_bar)
    if row.real_result:
        return masked_product(p, y_bar)
    found = masked_product(_conjugate(p), y_bar)
    if operand in row.real_operands:
        return _real(found)
    q = _conjugate_partial(row, operand, step)
    return _sum(found, None if q is None else masked_product(q, _conjugate(y_bar)))


def tangent(row: Op, operand: int, step: SweepStep, x_dot: Value) -> Value | None:
    """Return the contribution of an operand to the tangent of the result; `None` for zero.

    With partials ``p`` by a complex operand and ``q`` by its conjugate it is ``p * x_dot + q * conj(x_dot)``.
    """
    p = partial(row, operand, step)
    if not step.is_complex:
        return masked_product(p, x_dot)
    if row.real_result:
        return _real(masked_product(_conjugate(p), x_dot))
    q = _conjugate_partial(row, operand, step)
    return _sum(masked_product(p, x_dot), None if q is None else masked_product(q, _conjugate(x_dot)))


def _conjugate(value: Value) -> Value:
    is_complex = is_tensor(value) and value.dtype.kind == "c"
    return elementwise.FUNCTIONS["conjugate"](value) if is_complex else value


def _real(value: Value | None) -> Value | None:
    return real_part(value) if is_tensor(value) and value.dtype.kind == "c" else value


def _sum(one: Value | None, other: Value | None) -> Value | None:
    return other if one is None else one if other is None else one + other


def _conjugate_partial(row: Op, operand: int, step: SweepStep) -> Value | None:
    """Return the partial by the conjugate of a complex operand; `None` for zero."""
    texts = row.conjugate_partials
    return _evaluated(texts[operand], step) if texts and texts[operand] != "0" else None


def partial(row: Op, operand: int, step: SweepStep) -> Value:
    """Return the partial of a row by an operand: a float if it is constant, or a Tensor of the result's shape."""
    if operand in row.unknown:
        raise no_derivative(row, operand)
    texts = row.partials_of("c128") if step.is_complex else row.partials
    return _evaluated(texts[operand], step)


def _evaluated(text: str, step: SweepStep) -> Value:
    """Return the value of a partial's formula, in the dtype of the operands."""
    like = step.geometry(step.result)
    if step.is_complex:  # the result may be real
        like = like._replace(view=like.view._replace(dtype=complex_dtype(like.dtype)))
    names, function = _as_function(text, like.dtype)
    primals = [step.primal(name) for name in names]
    try:
        value = function(*primals)
    except ZeroDivisionError:  # plain numbers raise; elements of Tensors become infinite
        value = function(*[materialize(x, (), like.dtype) for x in primals])
    if not is_tensor(value):
        return float(value)
    if not step.is_complex and step.is_alike(value, step.result):
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
    if name in _PARTS:
        return _PARTS[name]
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


_sum_over = through_pairs(reductions.sum)


def summed_to(value: Value, shape: tuple[int, ...], of: tuple[int, ...]) -> Value:
    """Sum a value of shape `of` over the dimensions along which an operand of `shape` was broadcast."""
    if shape == of:
        return value
    if isinstance(value, float):
        return value * count_ratio(of, shape)
    lead = len(of) - len(shape)
    stretched = [k for k in range(lead, len(of)) if shape[k - lead] == 1 and of[k] != 1]
    total = _sum_over(value, (*range(lead), *stretched))
    return total if total.shape == shape else reshape(total, shape)
