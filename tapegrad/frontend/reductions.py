"""Sums, products, extremes and cumulative sums along axes."""

import builtins
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from tapegrad.errors import UnsupportedError
from tapegrad.frontend.array_like import Axis
from tapegrad.frontend.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.elementwise import where as select
from tapegrad.frontend.record_structural import as_tensor, in_shape, record_reduction, record_scan
from tapegrad.frontend.shape import moveaxis, reshape
from tapegrad.frontend.tensor import Tensor, bind_methods, from_array, is_tensor
from tapegrad.ops import CODES

_ALL = -1  # the mask of all axes
_SUM, _PROD, _CUMSUM = CODES["sum"], CODES["prod_reduce"], CODES["cumsum"]


def _axes(axis: Axis, ndim: int) -> tuple[int, ...]:
    """Return the axes that an argument `axis` names, sorted; raise NumPy's errors for those that do not exist."""
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, list | bool):
        raise TypeError(f"axis must be an integer or a tuple of integers, not {axis!r}")
    return tuple(sorted(normalize_axis_tuple(axis, ndim)))


def _mask(axis: Axis, ndim: int) -> int:
    """The same as a mask of bits."""
    return builtins.sum(1 << k for k in _axes(axis, ndim))


def _constant(function: Any, x: Tensor, **arguments: Any) -> Tensor:
    """Reduce integers or booleans by NumPy."""
    said = {name: value for name, value in arguments.items() if value is not None and value is not True}
    said = {name: np.asarray(value) if is_tensor(value) else value for name, value in said.items()}
    return from_array(np.asarray(function(np.asarray(x), **said)), constant=True)


def _is_float(x: Tensor) -> bool:
    return x.dtype.kind == "f"


def _operand(a: Any, name: str, dtype: Any, out: Any) -> Tensor:
    """Return the operand in the dtype of the result."""
    if out is not None:
        raise UnsupportedError(f"{name}: the argument 'out' is not supported for Tensors; use the result")
    x = as_tensor(a, name)
    return x if dtype is None else x.astype(dtype, copy=False)


def _counted(x: Tensor, where: Any, neutral: Any) -> Tensor:
    """Return `x` with a neutral value in place of the elements that do not count."""
    return x if where is True else select(where, x, neutral)


def sum(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
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
    out : None
        Not supported.
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
    Elements are accumulated in blocks, and the sums of blocks are added, so that rounding errors grow slowly.

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
    x = a if isinstance(a, Tensor) and dtype is None and out is None else _operand(a, "sum", dtype, out)
    if x.dtype.kind != "f":
        return _constant(np.sum, x, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)
    if where is not True:
        x = _counted(x, where, 0.0)
    result = record_reduction(_SUM, x, _ALL if axis is None else _mask(axis, x.ndim), keepdims, "sum")
    return result if initial is None else result + initial


def mean(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Tensor:
    """Compute the arithmetic mean along axes.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to average. Integers and booleans are averaged in float64.
    axis : int or tuple of int, optional
        Axes to average over; all by default.
    dtype : data-type, optional
        Dtype in which to compute.
    out : None
        Not supported.
    keepdims : bool, default False
        Keep the reduced axes with extent 1.
    where : array_like of bool, default True
        Which elements to average; broadcasts to the shape of `a`.

    Returns
    -------
    Tensor
        Of the dtype of `a`, without the reduced axes. The mean of no elements is nan.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, 2.0, 6.0])
    >>> x.mean()
    Tensor(3.)
    >>> x.mean(where=[True, True, False])
    Tensor(1.5)
    """
    x = _operand(a, "mean", dtype, out)
    if not _is_float(x):
        x = x.astype(np.float64)
    total = sum(x, axis, None, None, keepdims, None, where)
    if where is True:
        return total / float(math.prod(x.shape[k] for k in _axes(axis, x.ndim)))
    return total / sum(select(where, np.ones(x.shape, x.dtype), 0.0), axis, None, None, keepdims)


def _by_lines(code: int, name: str, x: Tensor, axis: Axis, keepdims: bool) -> Tensor:
    """Reduce line by line: the reduced axes become one, the last."""
    axes = _axes(axis, x.ndim)
    shape = x.shape
    count = math.prod(shape[k] for k in axes)
    rest = tuple(shape[k] for k in range(len(shape)) if k not in axes)
    lines = (
        reshape(moveaxis(x, axes, range(len(rest), len(shape))), (*rest, count))
        if axes
        else reshape(x, (*rest, 1))
    )
    result = record_reduction(code, lines, 1 << len(rest), False, name)
    if not keepdims:
        return result
    return in_shape(result, tuple(1 if k in axes else e for k, e in enumerate(shape)))


def prod(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """Return the product of elements along axes.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to multiply.
    axis : int or tuple of int, optional
        Axes to multiply over; all by default.
    dtype : data-type, optional
        Dtype in which to multiply.
    out : None
        Not supported.
    keepdims : bool, default False
        Keep the reduced axes with extent 1.
    initial : scalar, optional
        Number to begin with.
    where : array_like of bool, default True
        Which elements to multiply; broadcasts to the shape of `a`.

    Returns
    -------
    Tensor
        Of the dtype of `a`, without the reduced axes. The product of integers or booleans is a constant.

    Notes
    -----
    The derivative by an element is the product of all others, and is right where elements are zero.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([2.0, 0.0, 4.0])
    >>> x.prod().backward()
    >>> x.grad
    array([0., 8., 0.])
    """
    x = _operand(a, "prod", dtype, out)
    if not _is_float(x):
        return _constant(np.prod, x, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)
    result = _by_lines(_PROD, "prod", _counted(x, where, 1.0), axis, keepdims)
    return result if initial is None else result * initial


class _Extreme(NamedTuple):
    """The properties of `max` or `min`."""

    name: str
    code: int
    of_two: Any
    neutral: float


def _extreme(
    kind: _Extreme, a: Any, axis: Axis, out: None, keepdims: bool, initial: Any, where: Any
) -> Tensor:
    name = kind.name
    x = _operand(a, name, None, out)
    if not _is_float(x):
        return _constant(getattr(np, name), x, axis=axis, keepdims=keepdims, initial=initial, where=where)
    if initial is None and where is not True:
        raise ValueError(f"{name}: `where` may select no elements, so it needs `initial`")
    if initial is None and math.prod(x.shape[k] for k in _axes(axis, x.ndim)) == 0:
        raise ValueError(f"{name}: zero-size axis in an operand of shape {x.shape}; pass `initial`")
    result = _by_lines(kind.code, name, _counted(x, where, kind.neutral), axis, keepdims)
    return result if initial is None else kind.of_two(result, initial)


_LARGEST = _Extreme("max", CODES["max_reduce"], ELEMENTWISE["maximum"], -math.inf)
_SMALLEST = _Extreme("min", CODES["min_reduce"], ELEMENTWISE["minimum"], math.inf)


def max(
    a: Any,
    axis: Axis = None,
    out: None = None,
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
    out : None
        Not supported.
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
    return _extreme(_LARGEST, a, axis, out, keepdims, initial, where)


def min(
    a: Any,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """Return the minimum along axes.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to compare. A nan among them is the minimum.
    axis : int or tuple of int, optional
        Axes to compare along; all by default.
    out : None
        Not supported.
    keepdims : bool, default False
        Keep the reduced axes with extent 1.
    initial : scalar, optional
        A further number to compare with; the minimum of no elements.
    where : array_like of bool, default True
        Which elements to compare; broadcasts to the shape of `a`, and needs `initial`.

    Returns
    -------
    Tensor
        Of the dtype of `a`, without the reduced axes. The minimum of integers or booleans is a constant.

    Raises
    ------
    ValueError
        If there are no elements and no `initial`, and for `where` without `initial`.

    Notes
    -----
    Elements that tie for the minimum share its cotangent equally.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, 1.0, 3.0])
    >>> x.min().backward()
    >>> x.grad
    array([0.5, 0.5, 0. ])
    """
    return _extreme(_SMALLEST, a, axis, out, keepdims, initial, where)


def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Tensor:
    """Return the cumulative sum along an axis.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to sum.
    axis : int, optional
        Axis to sum along. By default the elements are flattened first.
    dtype : data-type, optional
        Dtype in which to sum.
    out : None
        Not supported.

    Returns
    -------
    Tensor
        Of the shape of `a`, or of shape ``(a.size,)`` without `axis`.

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
    x = _operand(a, "cumsum", dtype, out)
    if not _is_float(x):
        return _constant(np.cumsum, x, axis=axis, dtype=dtype)
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    return record_scan(_CUMSUM, x, normalize_axis_index(axis, x.ndim), "cumsum")


FUNCTIONS = {
    "sum": sum, "mean": mean, "prod": prod, "max": max, "amax": max, "min": min, "amin": min, "cumsum": cumsum,
}  # fmt: skip


bind_methods(sum=sum, mean=mean, prod=prod, max=max, min=min, cumsum=cumsum)
