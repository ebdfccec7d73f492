"""Cumulative sums and products along an axis, and the linear recurrences that compute them."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tapegrad.frontend.functions.reductions.lines import (
    by_linear_lines,
    constant,
    is_complex,
    is_inexact,
    numbers,
)
from tapegrad.frontend.functions.reductions.reductions import MAX_IN_ORDER, products_in_order
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.recording.elementwise import where as select
from tapegrad.frontend.recording.outputs import deliver
from tapegrad.frontend.recording.record_structural import record_new
from tapegrad.frontend.recording.rules import (
    Step,
    Value,
    masked_multiply,
    state_rules,
    state_transpose,
    total,
)
from tapegrad.frontend.recording.shape import moveaxis, reshape
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods, from_array
from tapegrad.frontend.words.derived_docs import like, renamed
from tapegrad.ops import CODES
from tapegrad.ops.structural.lines import RecurrenceParams

_CUMSUM, _RECURRENCE = CODES["cumsum"], CODES["recurrence"]


def linear_recurrence(factors: Tensor, terms: Tensor, *, masked: bool = False) -> Tensor:
    """Return ``y[i] = factors[i] * y[i - 1] + terms[i]`` along the last axis, where ``y[0] = terms[0]``.

    The operands have one shape and dtype. If `masked`, 0 times anything is 0, as in derivatives.
    """
    return record_new(_RECURRENCE, [factors, terms], terms.shape, RecurrenceParams(int(masked)), "recurrence")


def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Tensor:
    """Return the cumulative sum along an axis.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to sum.
    axis : int, optional
        Axis to sum along. By default the elements are flattened first.
    dtype : data-type, optional
        Dtype in which to sum.
    out : Tensor or numpy.ndarray, optional
        Destination of the result; a plain array takes constants only.

    Returns
    -------
    Tensor
        Same shape as `a`, or of shape ``(a.size,)`` without `axis`.

    Notes
    -----
    The derivative is the cumulative sum of the cotangent from the other end.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, 2.0, 3.0])
    >>> y = x.cumsum()
    >>> y
    Tensor([1., 3., 6.])
    >>> y.backward()
    >>> x.grad
    array([3., 2., 1.])
    """
    x = numbers(a, "cumsum", dtype)
    if is_inexact(x):
        x, axis = _line(x, axis)
        result = by_linear_lines(_CUMSUM, "cumsum", x, axis, True)
    else:
        result = constant(np.cumsum, x, axis=axis, dtype=dtype)
    return result if out is None else deliver(result, out, name="numpy.cumsum")


def _line(x: Tensor, axis: int | None) -> tuple[Tensor, int]:
    """Return an operand, flattened if there is no axis, and a valid axis."""
    if axis is None or (x.ndim == 0 and axis in (0, -1)):
        return reshape(x, (-1,)), 0
    return x, normalize_axis_index(axis, x.ndim)


_PRODUCT = (("cumulative sum", "cumulative product"), ("to sum", "to multiply"))


@like(
    cumsum,
    *_PRODUCT,
    notes="The derivatives do not divide by elements, so they are right where elements are zero.",
    examples=""">>> x = tg.tensor([2.0, 0.0, 4.0])
>>> tg.cumprod(x).backward()
>>> x.grad
array([ 1., 10.,  0.])""",
)
def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Tensor:
    x = numbers(a, "cumprod", dtype)
    result = _cumprod(*_line(x, axis)) if is_inexact(x) else constant(np.cumprod, x, axis=axis, dtype=dtype)
    return result if out is None else deliver(result, out, name="numpy.cumprod")


def _cumprod(x: Tensor, axis: int) -> Tensor:
    last = axis == x.ndim - 1
    lines = x if last else moveaxis(x, axis, -1)
    if is_complex(x):
        result = _doubled_products(lines)
        return result if last else moveaxis(result, -1, axis).copy()
    begins = np.zeros(lines.shape[-1], bool)
    begins[:1] = True
    result = linear_recurrence(lines, select(begins, lines, 0.0))
    return result if last else moveaxis(result, -1, axis).copy()


def _doubled_products(lines: Tensor) -> Tensor:
    """Return the products of each element and all before it, of twice as many elements in each step (Hillis 1986)."""
    if 0 < lines.shape[-1] <= MAX_IN_ORDER:
        return concatenate(products_in_order(lines), -1)
    result, reach = lines.copy(), 1
    while reach < lines.shape[-1]:
        result = concatenate([result[..., :reach], result[..., reach:] * result[..., :-reach]], -1)
        reach *= 2
    return result


def _cumulative(function: Any, neutral: float) -> Callable[..., Tensor]:
    """Make the array API's version of `cumsum` or `cumprod`, with the option of an initial neutral element."""
    name = function.__name__.replace("cum", "cumulative_")

    def cumulative(
        x: Any,
        /,
        *,
        axis: int | None = None,
        dtype: Any = None,
        out: Any = None,
        include_initial: bool = False,
    ) -> Tensor:
        """Return the cumulative sum along an axis, as the array API has it.

        Parameters
        ----------
        x : Tensor or array_like
            Elements to sum.
        axis : int, optional
            Axis to sum along; it may be left out in one dimension.
        dtype : data-type, optional
            Dtype in which to sum.
        out : Tensor or numpy.ndarray, optional
            Destination of the result; a plain array takes constants only.
        include_initial : bool, default False
            Begin with a zero, so that the result is one element longer.

        Returns
        -------
        Tensor
            The sum of each element and all before it.

        Raises
        ------
        ValueError
            If `x` has more than one dimension and there is no `axis`.

        See Also
        --------
        tapegrad.cumsum : The same without `include_initial`; it may flatten its operand.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.cumulative_sum(tg.tensor([1.0, 2.0, 3.0]), include_initial=True)
        Tensor([0., 1., 3., 6.])
        """
        x = numbers(x, name, dtype)
        if axis is None:
            if x.ndim > 1:
                raise ValueError(f"{name}: an operand of shape {x.shape} needs the argument 'axis'")
            axis = 0
        result: Tensor = function(x, axis, dtype)
        if include_initial:
            extents = list(x.shape)
            extents[axis] = 1
            result = concatenate([np.full(extents, neutral, result.dtype), result], axis)
        return result if out is None else deliver(result, out, name=f"numpy.{name}")

    return renamed(cumulative, name)


cumulative_sum = _cumulative(cumsum, 0.0)
cumulative_prod = like(
    cumulative_sum,
    *_PRODUCT,
    ("The sum of each", "The product of each"),
    ("with a zero", "with a one"),
    ("tapegrad.cumsum", "tapegrad.cumprod"),
    examples=">>> tg.cumulative_prod(tg.tensor([2.0, 3.0]), include_initial=True)\nTensor([1., 2., 6.])",
)(_cumulative(cumprod, 1.0))


FUNCTIONS = {
    "cumsum": cumsum,
    "cumprod": cumprod,
    "cumulative_sum": cumulative_sum,
    "cumulative_prod": cumulative_prod,
}

bind_methods(cumsum=cumsum, cumprod=cumprod)


# --- derivatives -----------------------------------------------------------------------------------------------


@state_transpose
def sum_from_the_end(step: Step, y_bar: Value) -> dict[int, Value]:
    """Transpose a cumulative sum: sum from the end."""
    y_bar = step.dense(y_bar, -1)
    return {0: cumsum(y_bar[..., ::-1], -1)[..., ::-1]}


def _zeros_before(x: Tensor) -> Tensor:
    """Return lines shifted by one element: zero first, then each element's predecessor."""
    zero = from_array(np.zeros((*x.shape[:-1], 1), x.dtype), constant=True)
    return concatenate([zero, x[..., :-1]], -1)


def _cotangents_from_the_end(step: Step, y_bar: Tensor) -> Tensor:
    """Return the cotangents of the terms: a recurrence with the same factors, from the end to the start."""
    factors = step.x(0)[..., ::-1]
    later = concatenate([factors[..., :1], factors[..., :-1]], -1)  # the first one is not read
    return linear_recurrence(later, y_bar[..., ::-1], masked=True)[..., ::-1]


def _recurrence_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    y_bar = step.dense(y_bar, -1)
    if y_bar.shape[-1] == 0:
        return {j: y_bar for j in (0, 1) if step.asks(j)}
    term_bar = _cotangents_from_the_end(step, y_bar)
    bars: dict[int, Value] = {1: term_bar} if step.asks(1) else {}
    if step.asks(0):
        bars[0] = masked_multiply(_zeros_before(step.y), term_bar)
    return bars


def _recurrence_forward(step: Step, factor_dot: Value | None, term_dot: Value | None) -> Value:
    terms = [] if term_dot is None else [step.dense(term_dot, 1)]
    if factor_dot is not None and step.y.shape[-1] > 0:
        terms.append(masked_multiply(_zeros_before(step.y), step.dense(factor_dot, 0)))
    return linear_recurrence(step.x(0), total(terms), masked=True) if terms else 0.0


state_rules("recurrence", _recurrence_reverse, _recurrence_forward)
