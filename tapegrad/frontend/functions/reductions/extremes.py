"""Maxima and minima along axes."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad.frontend.functions.reductions.lines import (
    beginning,
    by_lines,
    constant,
    count_along,
    counted,
    is_inexact,
    mask_of_axes,
    operand,
)
from tapegrad.frontend.functions.reductions.reductions import rules_of_weights, sum
from tapegrad.frontend.recording.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.recording.elementwise import where as select
from tapegrad.frontend.recording.outputs import deliver
from tapegrad.frontend.recording.record_structural import record_lines
from tapegrad.frontend.recording.rules import Step, state_rules
from tapegrad.frontend.tensor.modes import no_grad
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods
from tapegrad.frontend.words.array_like import Axis
from tapegrad.frontend.words.derived_docs import like, renamed
from tapegrad.ops import CODES

_isfinite, _isnan = ELEMENTWISE["isfinite"], ELEMENTWISE["isnan"]


class _Extreme(NamedTuple):
    """The properties of `max` or `min`."""

    name: str
    code: int
    of_two: Any
    neutral: float


def _of_floats(kind: _Extreme, x: Tensor, axis: Axis, keepdims: bool, initial: Any, where: Any) -> Tensor:
    name = kind.name
    if where is not True:
        if initial is None:
            raise ValueError(f"numpy.{name}: `where` may select no elements, so it needs `initial`")
        x = counted(x, where, kind.neutral, f"numpy.{name}")
    if initial is not None:
        found = by_lines(kind.code, name, x, axis, keepdims)
        result: Tensor = kind.of_two(found, beginning(initial, x.dtype, name))
        return result
    shape = x.shape
    if 0 in shape and count_along(axis, shape) == 0:
        raise ValueError(f"numpy.{name}: zero-size axis in an operand of shape {shape}; pass `initial`")
    return record_lines(kind.code, x, mask_of_axes(axis, x), keepdims, name)


def largest_finite(x: Tensor, axis: Axis) -> Tensor:
    """Return the maxima along axes, 0 if not finite, as references for sums. No gradient flows into them."""
    with no_grad():
        found = by_lines(_LARGEST.code, "max", x, axis, keepdims=True)
        return select(_isfinite(found), found, 0.0)


_LARGEST = _Extreme("max", CODES["max_reduce"], ELEMENTWISE["maximum"], -math.inf)
_SMALLEST = _Extreme("min", CODES["min_reduce"], ELEMENTWISE["minimum"], math.inf)


def _make_extreme(kind: _Extreme) -> Callable[..., Tensor]:
    """Make `max` or `min`."""
    name = kind.name
    full, plain = f"numpy.{name}", getattr(np, name)

    def extreme(
        a: Any,
        axis: Axis = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Tensor:
        """Return the maximum along axes.

        Parameters
        ----------
        a : Tensor or array_like
            Elements to compare. A nan among them is the maximum.
        axis : int or tuple of int, optional
            Axes to compare along; all by default.
        out : Tensor or numpy.ndarray, optional
            Destination of the result; a plain array takes constants only.
        keepdims : bool, default False
            Keep the reduced axes with extent 1.
        initial : scalar, optional
            A further number to compare with; the maximum of no elements.
        where : array_like of bool, default True
            Which elements to compare; broadcasts to the shape of `a`, and needs `initial`.

        Returns
        -------
        Tensor
            Of the dtype of `a`, without the reduced axes. The maximum of integers or booleans is a constant.

        Raises
        ------
        ValueError
            If there are no elements and no `initial`, and for `where` without `initial`.

        Notes
        -----
        Elements that tie for the maximum share its cotangent equally.

        Examples
        --------
        >>> import tapegrad as tg
        >>> x = tg.tensor([1.0, 3.0, 3.0])
        >>> x.max().backward()
        >>> x.grad
        array([0. , 0.5, 0.5])
        """
        x = operand(a, name)
        if x.dtype.kind == "f":
            result = _of_floats(kind, x, axis, keepdims, initial, where)
        else:
            result = constant(plain, x, axis=axis, keepdims=keepdims, initial=initial, where=where)
        return result if out is None else deliver(result, out, name=full)

    return renamed(extreme, name)


max = _make_extreme(_LARGEST)
min = like(
    max,
    ("maximum", "minimum"),
    examples=""">>> x = tg.tensor([1.0, 1.0, 3.0])
>>> x.min().backward()
>>> x.grad
array([0.5, 0.5, 0. ])""",
)(_make_extreme(_SMALLEST))


def ptp(a: Any, axis: Axis = None, out: Any = None, keepdims: bool = False) -> Tensor:
    """Return the range of the elements along axes: the largest minus the smallest.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to compare.
    axis : int or tuple of int, optional
        Axes to compare along; all by default.
    out : Tensor or numpy.ndarray, optional
        Destination of the result; a plain array takes constants only.
    keepdims : bool, default False
        Keep the reduced axes with extent 1.

    Returns
    -------
    Tensor
        Of the dtype of `a`, without the reduced axes. The range of integers is a constant.

    Notes
    -----
    Elements that tie share the cotangent equally.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, 4.0, 2.0])
    >>> x_range = tg.ptp(x)
    >>> x_range.backward()
    >>> x_range, x.grad
    (Tensor(3.), array([-1.,  1.,  0.]))
    """
    x = operand(a, "ptp")
    if is_inexact(x):
        smallest = _of_floats(_SMALLEST, x, axis, keepdims, None, True)
        result = _of_floats(_LARGEST, x, axis, keepdims, None, True) - smallest
    else:
        result = constant(np.ptp, x, axis=axis, keepdims=keepdims)
    return result if out is None else deliver(result, out, name="numpy.ptp")


FUNCTIONS = {"max": max, "amax": max, "min": min, "amin": min, "ptp": ptp}

bind_methods(max=max, min=min)


# --- derivatives -----------------------------------------------------------------------------------------------


def _shares(step: Step) -> Tensor:
    """Return the share of each element in the extreme of its line. NaNs in the line share all of it."""
    x, y = step.x(0), step.y
    one, zero = np.ones((), x.dtype), np.zeros((), x.dtype)
    taken = select(x == y, one, select(_isnan(x), one, zero))
    return taken / sum(taken, -1, keepdims=True)


state_rules("max_reduce", *rules_of_weights(_shares))
state_rules("min_reduce", *rules_of_weights(_shares))
