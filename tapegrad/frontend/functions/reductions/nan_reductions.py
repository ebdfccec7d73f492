"""Sums, means, variances and scans that leave out each nan.

A nan that is left out has no gradient. A warning that NumPy gives where nothing is left is given in eager code only:
a replay runs no Python.
"""

import warnings
from typing import Any

import numpy as np

from tapegrad.frontend.functions.reductions import reductions, scans, statistics
from tapegrad.frontend.functions.reductions.lines import floating, is_float, operand, root_of_sum
from tapegrad.frontend.indexing.indexing import elements_now
from tapegrad.frontend.recording.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.recording.elementwise import where as select
from tapegrad.frontend.recording.outputs import deliver, mask_of
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.array_like import Axis

_isnan, _sqrt = ELEMENTWISE["isnan"], ELEMENTWISE["sqrt"]


def without_nan(x: Tensor, neutral: float) -> Tensor:
    """Return `x` with a neutral value in place of each nan."""
    return select(_isnan(x), neutral, x) if is_float(x) else x


def numbers_now(x: Tensor, axis: Axis, keepdims: bool) -> tuple[Tensor, Axis] | None:
    """Return, in eager code, an operand without nan and an axis that give the same: `x`, or its numbers alone.

    `None` where there are none, or other numbers in each line along an axis; and in a recording, whose instructions are
    to be right wherever a nan is.
    """
    if thread.mode.recorder is not None or not is_float(x):
        return None
    values = x.data_or_traced()
    missing = np.isnan(values)
    many = np.count_nonzero(missing)
    if many == values.size:
        return None
    if many == 0:
        return x, axis
    whole = axis is None or (values.ndim == 1 and type(axis) is int and axis in (0, -1))
    return (elements_now(x, np.flatnonzero(~missing)), None) if whole and not keepdims else None


def _numbers(x: Tensor, where: Any, name: str) -> Any:
    """Return where the elements are that count and are not nan."""
    found = ~_isnan(x)
    return found if where is True else found & mask_of(where, name)


def warn_where(conditions: Any, message: str) -> None:
    """Warn as NumPy does, in eager code."""
    if thread.mode.recorder is None and np.count_nonzero(conditions):
        warnings.warn(message, RuntimeWarning, stacklevel=3)


def nansum(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """Return the sum of elements along axes, each nan taken as zero.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to sum.
    axis : int or tuple of int, optional
        Axes to sum over; all by default.
    dtype : data-type, optional
        Dtype in which to compute.
    out : Tensor or numpy.ndarray, optional
        Where to write the result; a plain array takes constants only.
    keepdims : bool, default False
        Keep the reduced axes with extent 1.
    initial : scalar, optional
        Number to begin with.
    where : array_like of bool, default True
        Which elements to use; broadcasts to the shape of `a`.

    Returns
    -------
    Tensor
        Of the dtype of `a`, without the reduced axes. The sum of integers or booleans is a constant.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, tg.nan, 3.0])
    >>> tg.nansum(x).backward()
    >>> x.grad
    array([1., 0., 1.])
    """
    x = without_nan(operand(a, "nansum"), 0.0)
    result = reductions.sum(x, axis, dtype, None, keepdims, initial, where)
    return result if out is None else deliver(result, out, name="numpy.nansum")


def nanprod(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """Return the product of elements along axes, each nan taken as one.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to multiply.
    axis : int or tuple of int, optional
        Axes to multiply over; all by default.
    dtype : data-type, optional
        Dtype in which to compute.
    out : Tensor or numpy.ndarray, optional
        Where to write the result; a plain array takes constants only.
    keepdims : bool, default False
        Keep the reduced axes with extent 1.
    initial : scalar, optional
        Number to begin with.
    where : array_like of bool, default True
        Which elements to use; broadcasts to the shape of `a`.

    Returns
    -------
    Tensor
        Of the dtype of `a`, without the reduced axes. The product of integers or booleans is a constant.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([2.0, tg.nan, 3.0])
    >>> tg.nanprod(x).backward()
    >>> x.grad
    array([3., 0., 2.])
    """
    x = without_nan(operand(a, "nanprod"), 1.0)
    result = reductions.prod(x, axis, dtype, None, keepdims, initial, where)
    return result if out is None else deliver(result, out, name="numpy.nanprod")


def nanmean(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Tensor:
    """Compute the arithmetic mean along axes, each nan left out.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to average. Integers and booleans are averaged in float64.
    axis : int or tuple of int, optional
        Axes to average over; all by default.
    dtype : data-type, optional
        Dtype in which to compute.
    out : Tensor or numpy.ndarray, optional
        Where to write the result; a plain array takes constants only.
    keepdims : bool, default False
        Keep the reduced axes with extent 1.
    where : array_like of bool, default True
        Which elements to use; broadcasts to the shape of `a`.

    Returns
    -------
    Tensor
        Of the dtype of `a`, without the reduced axes; nan where there is nothing else.

    Warns
    -----
    RuntimeWarning
        If there is nothing but nan along the axes.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.nanmean(tg.tensor([1.0, tg.nan, 3.0]))
    Tensor(2.)
    """
    x = floating(a, "nanmean", dtype)
    mask = _numbers(x, where, "numpy.nanmean")
    count = reductions.how_many(mask, x, axis, keepdims, "numpy.nanmean")
    warn_where(count == 0, "Mean of empty slice")
    result: Tensor = reductions.sum(select(mask, x, 0.0), axis, keepdims=keepdims) / count
    return result if out is None else deliver(result, out, name="numpy.nanmean")


def _variance(x: Tensor, spread: statistics.Spread) -> Tensor:
    """Return the variance of the numbers in `x`."""
    numbers = None
    if spread.where is True and spread.mean is None:
        numbers = numbers_now(x, spread.axis, spread.keepdims)
    if numbers is not None:
        return statistics.variance(numbers[0], spread._replace(axis=numbers[1]))
    return statistics.variance(x, spread._replace(where=_numbers(x, spread.where, spread.name)))


def nanvar(  # noqa: PLR0913  as many as NumPy's
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
    """Compute the variance along axes, each nan left out.

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
        The mean, if it is known, as `nanmean` returns it with ``keepdims=True``.
    correction : float, optional
        Another name of `ddof`.

    Returns
    -------
    Tensor
        Of the dtype of `a`, without the reduced axes; nan where there are no degrees of freedom left.

    Warns
    -----
    RuntimeWarning
        If there are no degrees of freedom left.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.nanvar(tg.tensor([1.0, tg.nan, 5.0]))
    Tensor(4.)
    """
    freedom = statistics.degrees_of_freedom(ddof, correction)
    x = floating(a, "nanvar", dtype)
    result = _variance(x, statistics.Spread("numpy.nanvar", axis, keepdims, freedom, where, mean, np.nan))
    return result if out is None else deliver(result, out, name="numpy.nanvar")


def nanstd(  # noqa: PLR0913  as many as NumPy's
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
    """Compute the standard deviation along axes, each nan left out.

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
        The mean, if it is known, as `nanmean` returns it with ``keepdims=True``.
    correction : float, optional
        Another name of `ddof`.

    Returns
    -------
    Tensor
        Of the dtype of `a`, without the reduced axes; nan where there are no degrees of freedom left.

    Warns
    -----
    RuntimeWarning
        If there are no degrees of freedom left.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.nanstd(tg.tensor([1.0, tg.nan, 5.0]))
    Tensor(2.)
    """
    freedom = statistics.degrees_of_freedom(ddof, correction)
    x = floating(a, "nanstd", dtype)
    spread = statistics.Spread("numpy.nanstd", axis, keepdims, freedom, where, mean, np.nan)
    squares = _variance(x, spread)
    result = root_of_sum(squares, _sqrt(squares))
    return result if out is None else deliver(result, out, name="numpy.nanstd")


def nancumsum(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Tensor:
    """Return the cumulative sum along an axis, each nan taken as zero.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to sum.
    axis : int, optional
        Axis to sum along. By default the elements are flattened first.
    dtype : data-type, optional
        Dtype in which to sum.
    out : Tensor or numpy.ndarray, optional
        Where to write the result; a plain array takes constants only.

    Returns
    -------
    Tensor
        Of the shape of `a`, or of shape ``(a.size,)`` without `axis`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.nancumsum(tg.tensor([2.0, tg.nan, 3.0]))
    Tensor([2., 2., 5.])
    """
    result = scans.cumsum(without_nan(operand(a, "nancumsum"), 0.0), axis, dtype)
    return result if out is None else deliver(result, out, name="numpy.nancumsum")


def nancumprod(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Tensor:
    """Return the cumulative product along an axis, each nan taken as one.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to multiply.
    axis : int, optional
        Axis to multiply along. By default the elements are flattened first.
    dtype : data-type, optional
        Dtype in which to multiply.
    out : Tensor or numpy.ndarray, optional
        Where to write the result; a plain array takes constants only.

    Returns
    -------
    Tensor
        Of the shape of `a`, or of shape ``(a.size,)`` without `axis`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.nancumprod(tg.tensor([2.0, tg.nan, 3.0]))
    Tensor([2., 2., 6.])
    """
    result = scans.cumprod(without_nan(operand(a, "nancumprod"), 1.0), axis, dtype)
    return result if out is None else deliver(result, out, name="numpy.nancumprod")


FUNCTIONS = {
    function.__name__: function
    for function in (nansum, nanprod, nanmean, nanvar, nanstd, nancumsum, nancumprod)
}
