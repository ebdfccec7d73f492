"""Variances, standard deviations and weighted averages."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from tapegrad.frontend.array_like import Axis
from tapegrad.frontend.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.elementwise import where as select
from tapegrad.frontend.functions.extremes import max as largest
from tapegrad.frontend.functions.lines import by_lines, count_along, floating, operand
from tapegrad.frontend.functions.predicates import any as some
from tapegrad.frontend.functions.reductions import how_many, mean, sum
from tapegrad.frontend.modes import current, no_grad, thread
from tapegrad.frontend.outputs import deliver, mask_of
from tapegrad.frontend.record import as_boolean
from tapegrad.frontend.shape import broadcast_to, contiguous, reshape, transpose
from tapegrad.frontend.tensor import Tensor, bind_methods, from_array
from tapegrad.ops import CODES

_DEVIATIONS = CODES["deviations"]
_sqrt, _square, _isfinite = (ELEMENTWISE[name] for name in ("sqrt", "square", "isfinite"))


class Spread(NamedTuple):
    """What a variance is taken of: arguments that `var`, `std` and their nan-versions have in common."""

    name: str
    axis: Axis
    keepdims: bool
    freedom: Any  # degrees of freedom that are lost
    where: Any = True
    mean: Any = None
    divisor_of_none: float = 0.0  # what divides where no degrees of freedom are left


def degrees_of_freedom(ddof: Any, correction: Any) -> Any:
    """Return the one of two names of an argument that is given."""
    if correction is None:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


def variance(x: Tensor, spread: Spread) -> Tensor:
    """Return the mean square of the deviations from the mean."""
    if spread.where is True and spread.mean is None:
        shape = x.shape
        total = by_lines(_DEVIATIONS, spread.name, x, spread.axis, spread.keepdims)
        freedom = count_along(spread.axis, shape) - spread.freedom
        _warn_of(freedom <= 0)
        return total / float(freedom if freedom > 0 else 0)
    return _variance_of_some(x, spread)


def _variance_of_some(x: Tensor, spread: Spread) -> Tensor:
    """Return the variance of elements that are chosen, or about a mean that is given."""
    name, axis = spread.name, spread.axis
    mask = as_boolean(True if spread.where is True else mask_of(spread.where, name), current()[0])
    deviations = _deviations(x, mask, axis, name) if spread.mean is None else x - spread.mean
    total = sum(_square(select(mask, deviations, 0.0)), axis, keepdims=spread.keepdims)
    count = how_many(mask, x, axis, spread.keepdims, name)
    if thread.mode.recorder is None:
        _warn_of(bool(np.any(count.data_or_traced() <= spread.freedom)))
    return total / select(count > spread.freedom, count - spread.freedom, spread.divisor_of_none)


def _deviations(x: Tensor, mask: Any, axis: Axis, name: str) -> Tensor:
    """Return the deviations from the mean of the elements that a mask selects.

    They are taken relative to one of these elements, so that those of a constant are exactly zero.
    """
    with no_grad():
        centre = largest(select(mask, x, -np.inf), axis, keepdims=True, initial=-np.inf)
        centre = select(_isfinite(centre), centre, 0.0)
    relative = x - centre
    total = sum(select(mask, relative, 0.0), axis, keepdims=True)
    return relative - total / how_many(mask, x, axis, True, name)


def _warn_of(few: bool) -> None:
    if few:
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=4)


def var(  # noqa: PLR0913  as many as NumPy's
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Tensor:
    """Compute the variance along axes.

    Parameters
    ----------
    a : Tensor or array_like
        Elements whose spread is asked for. Integers and booleans are converted to float64.
    axis : int or tuple of int, optional
        Axes to compute along; all by default.
    dtype : data-type, optional
        Dtype in which to compute.
    out : Tensor or numpy.ndarray, optional
        Where to write the result; a plain array takes constants only.
    ddof : float, default 0
        What is subtracted from the number of elements before it divides.
    keepdims : bool, default False
        Keep the reduced axes with extent 1.
    where : array_like of bool, default True
        Which elements to use; broadcasts to the shape of `a`.
    mean : Tensor or array_like, optional
        The mean, if it is known, as `mean` returns it with ``keepdims=True``.
    correction : float, optional
        Another name of `ddof`.

    Returns
    -------
    Tensor
        Of the dtype of `a`, without the reduced axes.

    Warns
    -----
    RuntimeWarning
        If there are no degrees of freedom left.

    Notes
    -----
    The mean is computed first and the deviations from it next, so that no digits are lost where they are small. The
    derivative at a constant is zero, as that of `std` is.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, 2.0, 6.0])
    >>> v = tg.var(x, ddof=1)
    >>> v.backward()
    >>> v, x.grad
    (Tensor(7.), array([-2., -1.,  3.]))
    """
    freedom = degrees_of_freedom(ddof, correction)
    result = variance(floating(a, "var", dtype), Spread("numpy.var", axis, keepdims, freedom, where, mean))
    return result if out is None else deliver(result, out, name="numpy.var")


def std(  # noqa: PLR0913  as many as NumPy's
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Tensor:
    """Compute the standard deviation along axes: the square root of the variance.

    Parameters
    ----------
    a : Tensor or array_like
        Elements whose spread is asked for. Integers and booleans are converted to float64.
    axis : int or tuple of int, optional
        Axes to compute along; all by default.
    dtype : data-type, optional
        Dtype in which to compute.
    out : Tensor or numpy.ndarray, optional
        Where to write the result; a plain array takes constants only.
    ddof : float, default 0
        What is subtracted from the number of elements before it divides.
    keepdims : bool, default False
        Keep the reduced axes with extent 1.
    where : array_like of bool, default True
        Which elements to use; broadcasts to the shape of `a`.
    mean : Tensor or array_like, optional
        The mean, if it is known, as `mean` returns it with ``keepdims=True``.
    correction : float, optional
        Another name of `ddof`.

    Returns
    -------
    Tensor
        Of the dtype of `a`, without the reduced axes.

    Warns
    -----
    RuntimeWarning
        If there are no degrees of freedom left.

    Notes
    -----
    The derivative at a constant is zero.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.std(tg.tensor([[1.0, 3.0], [2.0, 2.0]]), axis=1)
    Tensor([1., 0.])
    """
    freedom = degrees_of_freedom(ddof, correction)
    x, spread = floating(a, "std", dtype), Spread("numpy.std", axis, keepdims, freedom, where, mean)
    result: Tensor = _sqrt(variance(x, spread))
    return result if out is None else deliver(result, out, name="numpy.std")


def average(
    a: Any, axis: Axis = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    """Compute the weighted average along axes.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to average.
    axis : int or tuple of int, optional
        Axes to average over; all by default.
    weights : Tensor or array_like, optional
        Of the shape of `a`, or of that of `axis`. All elements count alike by default.
    returned : bool, default False
        Whether to return the sums of the weights, too.
    keepdims : bool, default False
        Keep the reduced axes with extent 1.

    Returns
    -------
    Tensor or tuple of Tensor
        The averages, and with `returned` the sums of the weights.

    Raises
    ------
    ZeroDivisionError
        If weights sum to zero.
    TypeError, ValueError
        If the shape of the weights does not fit.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, 5.0])
    >>> tg.average(x, weights=[3.0, 1.0])
    Tensor(2.)
    """
    x = floating(a, "average")
    if weights is None:
        result = mean(x, axis, keepdims=keepdims)
        return (result, _full(count_along(axis, x.shape), result)) if returned else result
    taken = weights_along(operand(weights, "average"), axis, x.shape)
    total = sum(taken, axis, np.result_type(x.dtype, taken.dtype), keepdims=keepdims)
    if some(total == 0):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    result = sum(x * taken, axis, keepdims=keepdims) / total
    if not returned:
        return result
    return result, total if total.shape == result.shape else contiguous(broadcast_to(total, result.shape))


def _full(number: float, like: Tensor) -> Tensor:
    return from_array(np.full(like.shape, number, like.dtype), constant=True)


def weights_along(weights: Tensor, axis: Axis, shape: tuple[int, ...]) -> Tensor:
    """Return weights that are given along axes so that they broadcast to a shape."""
    if weights.shape == shape:
        return weights
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = normalize_axis_tuple(axis, len(shape), "axis")
    if weights.shape != tuple(shape[k] for k in axes):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    weights = transpose(weights, np.argsort(axes).tolist()) if len(axes) > 1 else weights
    return reshape(weights, tuple(extent if k in axes else 1 for k, extent in enumerate(shape)))


FUNCTIONS = {"var": var, "std": std, "average": average}

bind_methods(var=var, std=std)
