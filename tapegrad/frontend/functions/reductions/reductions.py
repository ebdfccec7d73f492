"""Sums, means and products along axes."""

import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.frontend.conversions.complex_views import part_dtype
from tapegrad.frontend.functions.reductions.lines import (
    axes_of,
    beginning,
    by_linear_lines,
    by_lines,
    constant,
    count_along,
    counted,
    inexact,
    is_complex,
    is_inexact,
    kept_shape,
    lines_along,
    numbers,
)
from tapegrad.frontend.functions.shapes.joining import concatenate, stack
from tapegrad.frontend.recording.elementwise import where as select
from tapegrad.frontend.recording.outputs import deliver, mask_of
from tapegrad.frontend.recording.rules import (
    Rules,
    Step,
    Value,
    masked_multiply,
    state_rules,
    state_transpose,
)
from tapegrad.frontend.recording.shape import reshape
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods, from_array, is_tensor
from tapegrad.frontend.words.array_like import Axis
from tapegrad.frontend.words.derived_docs import like
from tapegrad.ops import CODES

_SUM, _PROD = CODES["sum"], CODES["prod_reduce"]
MAX_IN_ORDER = 32  # elements of complex lines that are multiplied one by one


def sum(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """Return the sum of elements along axes.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to sum.
    axis : int or tuple of int, optional
        Axes to sum over; negative ones count from the last. All axes by default.
    dtype : data-type, optional
        Dtype in which to sum.
    out : Tensor or numpy.ndarray, optional
        Destination of the result; a plain array takes constants only.
    keepdims : bool, default False
        Keep the reduced axes with extent 1.
    initial : scalar, optional
        Number to begin with.
    where : array_like of bool, default True
        Which elements to sum; broadcasts to the shape of `a`.

    Returns
    -------
    Tensor
        Of the dtype of `a`, without the reduced axes. The sum of integers or booleans is a constant.

    Notes
    -----
    Adjacent elements are added in float64, whatever their dtype: element i to sum number ``i % 8`` of its block of 256,
    the sums of blocks to eight totals, with what rounding loses carried along [1]_. The order depends neither on the
    processor, nor on threads, nor on whether instructions are fused.

    References
    ----------
    .. [1] A. Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", ZAMM 54, 1974.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> tg.sum(x, axis=0)
    Tensor([4., 6.])
    >>> x.sum().backward()
    >>> x.grad
    array([[1., 1.],
           [1., 1.]])
    """
    x = a if isinstance(a, Tensor) and dtype is None else numbers(a, "sum", dtype)
    if not is_inexact(x):
        result = constant(np.sum, x, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)
    else:
        if where is not True:
            x = counted(x, where, 0.0, "numpy.sum")
        result = by_linear_lines(_SUM, "sum", x, axis, keepdims)
        if initial is not None:
            result = result + beginning(initial, x.dtype, "sum")
    return result if out is None else deliver(result, out, name="numpy.sum")


@like(
    sum,
    ("Return the sum of elements along", "Compute the arithmetic mean along"),
    ("Elements to sum.", "Elements to average. Integers and booleans are averaged in float64."),
    ("to sum", "to average"),
    ("in which to average", "in which to compute"),
    ("initial : scalar, optional\n    Number to begin with.\n", ""),
    ("The sum of integers or booleans is a constant.", "The mean of no elements is nan."),
    notes="",
    references="",
    examples=""">>> x = tg.tensor([1.0, 2.0, 6.0])
>>> x.mean()
Tensor(3.)
>>> x.mean(where=[True, True, False])
Tensor(1.5)""",
)
def mean(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Tensor:
    x = inexact(a, "mean", dtype)
    if where is True:
        total = by_linear_lines(_SUM, "mean", x, axis, keepdims)
        result = total / float(count_along(axis, x.shape))
    else:
        total = sum(x, axis, None, None, keepdims, None, where)
        result = total / how_many(where, x, axis, keepdims, "numpy.mean")
    return result if out is None else deliver(result, out, name="numpy.mean")


def how_many(where: Any, x: Tensor, axis: Axis, keepdims: bool, name: str) -> Any:
    """Return the number of the elements that a mask selects, in the real dtype of `x`; not a Tensor in eager code."""
    mask = mask_of(where, name)
    if thread.mode.recorder is not None:
        return sum(select(mask, np.ones(x.shape, part_dtype(x.dtype)), 0.0), axis, None, None, keepdims)
    array, shape = mask.data_or_traced() if is_tensor(mask) else mask, x.shape
    array = array if array.shape == shape else np.broadcast_to(array, shape)
    if axis is None and not keepdims:
        return float(np.count_nonzero(array))
    return np.asarray(np.count_nonzero(array, axis, keepdims=keepdims), part_dtype(x.dtype))


@like(
    sum,
    ("the sum", "the product"),
    ("The sum", "The product"),
    ("to sum", "to multiply"),
    notes="The derivative by an element is the product of all others, and is right where elements are zero. More than\n"
    "32 complex numbers are multiplied by pairs, which may give parts that are zero another sign.",
    references="",
    examples=""">>> x = tg.tensor([2.0, 0.0, 4.0])
>>> x.prod().backward()
>>> x.grad
array([0., 8., 0.])""",
)
def prod(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    x = numbers(a, "prod", dtype)
    if is_inexact(x):
        x = counted(x, where, 1.0, "numpy.prod")
        of_axes = _product_of_complex if is_complex(x) else _product
        result = of_axes(x, axis, keepdims)
        result = result if initial is None else result * beginning(initial, x.dtype, "prod")
    else:
        result = constant(np.prod, x, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)
    return result if out is None else deliver(result, out, name="numpy.prod")


def _product(x: Tensor, axis: Axis, keepdims: bool) -> Tensor:
    return by_lines(_PROD, "prod", x, axis, keepdims)


def _product_of_complex(x: Tensor, axis: Axis, keepdims: bool) -> Tensor:
    """Return the product along axes, of long lines up a tree of neighbours; right where elements are zero."""
    lines = lines_along(x, axes_of(axis, x.ndim), x.shape)
    while (n := lines.shape[-1]) > MAX_IN_ORDER:
        products = lines[..., 0 : n - n % 2 : 2] * lines[..., 1::2]
        lines = concatenate([products, lines[..., -1:]], -1) if n % 2 else products
    one = from_array(np.ones((*lines.shape[:-1], 1), lines.dtype), constant=True)  # with which NumPy begins
    lines = products_in_order(concatenate([one, lines], -1))[-1]
    return reshape(lines, kept_shape(axis, x.shape) if keepdims else lines.shape[:-1]).copy()


def products_in_order(lines: Tensor) -> list[Tensor]:
    """Return the product of each element of a line and those before it: with NumPy's signs of zeros."""
    parts = (lines[..., k : k + 1] for k in range(lines.shape[-1]))
    return list(itertools.accumulate(parts, operator.mul))


FUNCTIONS = {"sum": sum, "mean": mean, "prod": prod}

bind_methods(sum=sum, mean=mean, prod=prod)


# --- derivatives -----------------------------------------------------------------------------------------------


@state_transpose
def broadcast(step: Step, y_bar: Value) -> dict[int, Value]:
    """Transpose a sum: broadcast the cotangent."""
    return {0: y_bar}


def rules_of_weights(weights: Callable[[Step], Tensor]) -> Rules:
    """Make the rules of a reduction along lines from its derivative by each element."""
    return Rules(
        lambda step, y_bar: {0: masked_multiply(weights(step), step.dense(y_bar, -1))},
        lambda step, x_dot: sum(masked_multiply(weights(step), step.dense(x_dot, 0)), -1),
    )


def products_of_others(x: Tensor) -> Tensor:
    """Return, for each element of a line, the product of all others, without a division.

    Neighbours are multiplied up a tree, and the product beside each branch is multiplied down again. The result and
    its derivatives of all orders are right where elements are zero.
    """
    n = x.shape[-1]
    if n <= 1:
        return from_array(np.ones(x.shape, x.dtype), constant=True)
    if n % 2:
        one = from_array(np.ones((*x.shape[:-1], 1), x.dtype), constant=True)
        return products_of_others(concatenate([x, one], -1))[..., :n]
    left, right = x[..., 0::2], x[..., 1::2]
    beside = products_of_others(left * right)
    return reshape(stack([beside * right, beside * left], -1), x.shape)


state_rules("prod_reduce", *rules_of_weights(lambda step: products_of_others(step.x(0))))
