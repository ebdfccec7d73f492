"""Extremes, their positions, medians and quantiles that leave out each nan."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.frontend.conversions.guarded_results import look
from tapegrad.frontend.functions.ordering import quantiles
from tapegrad.frontend.functions.ordering.sorting import is_recorded, recorded_argextreme
from tapegrad.frontend.functions.reductions import extremes, reductions
from tapegrad.frontend.functions.reductions.lines import constant, floating, is_float, operand
from tapegrad.frontend.functions.reductions.nan_reductions import numbers_now, warn_where, without_nan
from tapegrad.frontend.recording.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.recording.elementwise import where as select
from tapegrad.frontend.recording.outputs import deliver
from tapegrad.frontend.tensor.modes import no_grad, thread
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.array_like import Axis

_isnan = ELEMENTWISE["isnan"]


def nanmax(
    a: Any,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """Return the maximum along axes, each nan left out.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to compare.
    axis : int or tuple of int, optional
        Axes to compare along; all by default.
    out : Tensor or numpy.ndarray, optional
        Where to write the result; a plain array takes constants only.
    keepdims : bool, default False
        Keep the reduced axes with extent 1.
    initial : scalar, optional
        A further number to compare with; the maximum of no elements.
    where : array_like of bool, default True
        Which elements to compare; broadcasts to the shape of `a`, and needs `initial`.

    Returns
    -------
    Tensor
        Of the dtype of `a`, without the reduced axes; nan where there is nothing else.

    Warns
    -----
    RuntimeWarning
        If there is nothing but nan along the axes.

    Notes
    -----
    Elements that tie for the maximum share its cotangent equally.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.nanmax(tg.tensor([1.0, tg.nan, 3.0]))
    Tensor(3.)
    """
    x = operand(a, "nanmax")
    if initial is None and where is True:
        result = _of_numbers(extremes.max, x, -np.inf, axis, keepdims)
    else:
        result = extremes.max(without_nan(x, -np.inf), axis, None, keepdims, initial, where)
    return result if out is None else deliver(result, out, name="numpy.nanmax")


def nanmin(
    a: Any,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """Return the minimum along axes, each nan left out.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to compare.
    axis : int or tuple of int, optional
        Axes to compare along; all by default.
    out : Tensor or numpy.ndarray, optional
        Where to write the result; a plain array takes constants only.
    keepdims : bool, default False
        Keep the reduced axes with extent 1.
    initial : scalar, optional
        A further number to compare with; the minimum of no elements.
    where : array_like of bool, default True
        Which elements to compare; broadcasts to the shape of `a`, and needs `initial`.

    Returns
    -------
    Tensor
        Of the dtype of `a`, without the reduced axes; nan where there is nothing else.

    Warns
    -----
    RuntimeWarning
        If there is nothing but nan along the axes.

    Notes
    -----
    Elements that tie for the minimum share its cotangent equally.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.nanmin(tg.tensor([1.0, tg.nan, 3.0]))
    Tensor(1.)
    """
    x = operand(a, "nanmin")
    if initial is None and where is True:
        result = _of_numbers(extremes.min, x, np.inf, axis, keepdims)
    else:
        result = extremes.min(without_nan(x, np.inf), axis, None, keepdims, initial, where)
    return result if out is None else deliver(result, out, name="numpy.nanmin")


def _of_numbers(
    extreme: Callable[..., Tensor], x: Tensor, neutral: float, axis: Axis, keepdims: bool
) -> Tensor:
    """Return an extreme of the numbers, and nan where there is nothing else."""
    numbers = numbers_now(x, axis, keepdims)
    if numbers is not None:
        return extreme(*numbers, None, keepdims)
    result: Tensor = extreme(without_nan(x, neutral), axis, None, keepdims)
    if not is_float(x):
        return result
    with no_grad():
        empty = reductions.how_many(~_isnan(x), x, axis, keepdims, "numpy.nanmax") == 0
    if thread.mode.recorder is None and not np.count_nonzero(empty):
        return result
    warn_where(empty, "All-NaN slice encountered")
    return select(empty, np.nan, result)


def nanargmax(a: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
    """Return the position of the maximum along an axis, each nan left out.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to compare.
    axis : int, optional
        Axis to compare along; by default the position is that in the flattened elements.
    out : Tensor or numpy.ndarray, optional
        Where to write the result.
    keepdims : bool, default False
        Keep the reduced axis with extent 1.

    Returns
    -------
    numpy.ndarray of int or numpy.int64
        While a function is being recorded, a Tensor of integers that each replay computes.

    Raises
    ------
    ValueError
        If there is nothing but nan along the axis.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.nanargmax(tg.tensor([2.0, tg.nan, 3.0]))
    np.int64(2)
    """
    return _argextreme(np.nanargmax, np.argmax, a, axis, out, keepdims)


def nanargmin(a: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
    """Return the position of the minimum along an axis, each nan left out.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to compare.
    axis : int, optional
        Axis to compare along; by default the position is that in the flattened elements.
    out : Tensor or numpy.ndarray, optional
        Where to write the result.
    keepdims : bool, default False
        Keep the reduced axis with extent 1.

    Returns
    -------
    numpy.ndarray of int or numpy.int64
        While a function is being recorded, a Tensor of integers that each replay computes.

    Raises
    ------
    ValueError
        If there is nothing but nan along the axis.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.nanargmin(tg.tensor([2.0, tg.nan, 3.0]))
    np.int64(0)
    """
    return _argextreme(np.nanargmin, np.argmin, a, axis, out, keepdims)


def _argextreme(function: Any, plain: Any, a: Any, axis: int | None, out: Any, keepdims: bool) -> Any:
    if is_recorded(a) and is_float(a):
        with no_grad():
            counts = reductions.how_many(~_isnan(a), a, axis, False, function.__name__)
            if extremes.min(counts, initial=1.0) == 0:  # guarded
                raise ValueError("All-NaN slice encountered")
            neutral = -np.inf if plain is np.argmax else np.inf
            result = recorded_argextreme(plain, without_nan(a, neutral), axis, keepdims)
    else:
        result = look(function, a, axis, keepdims=keepdims)
    return result if out is None else deliver(result, out, name=f"numpy.{function.__name__}")


def _quantiles(x: Tensor, wanted: quantiles.QuantileQuery) -> Tensor:
    """Return quantiles of the numbers, and nan where there are none."""
    numbers = numbers_now(x, wanted.axis, wanted.keepdims) if wanted.weights is None else None
    if numbers is None:
        return quantiles.quantiles_or_nan(x, wanted)
    return quantiles.quantiles_of(numbers[0], wanted._replace(axis=numbers[1], skips_nan=False))


def nanmedian(
    a: Any, axis: Axis = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Tensor:
    """Compute the median along axes, each nan left out.

    Parameters
    ----------
    a : Tensor or array_like
        Elements whose middle is asked for. Integers and booleans are converted to float64.
    axis : int or tuple of int, optional
        Axes to compute along; all by default.
    out : Tensor or numpy.ndarray, optional
        Where to write the result; a plain array takes constants only.
    overwrite_input : bool, default False
        Accepted because ``numpy.nanmedian`` has it; the operand is left as it is.
    keepdims : bool, default False
        Keep the reduced axes with extent 1.

    Returns
    -------
    Tensor
        Of the dtype of `a`, without the reduced axes; nan where there is nothing else.

    Warns
    -----
    RuntimeWarning
        If there is nothing but nan along the axes.

    Notes
    -----
    A replay sorts anew, as long as there are as many nan along the axes; with more or fewer the function is recorded
    again.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.nanmedian(tg.tensor([1.0, tg.nan, 3.0]))
    Tensor(2.)
    """
    x = floating(a, "nanmedian")
    half = np.asarray(0.5, x.dtype)
    wanted = quantiles.QuantileQuery(
        "numpy.nanmedian", half, True, axis, quantiles.MEDIAN, keepdims, skips_nan=True
    )
    result = _quantiles(x, wanted) + 0.0  # a mean is never -0.0
    return result if out is None else deliver(result, out, name="numpy.nanmedian")


def nanpercentile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """Compute percentiles along axes, each nan left out.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to rank.
    q : array_like
        Which percentiles, from 0 to 100.
    axis : int or tuple of int, optional
        Axes to compute along; all by default.
    out : Tensor or numpy.ndarray, optional
        Where to write the result; a plain array takes constants only.
    overwrite_input : bool, default False
        Accepted because ``numpy.nanpercentile`` has it; the operand is left as it is.
    method : str, default 'linear'
        What is between two elements, as for ``numpy.nanpercentile``.
    keepdims : bool, default False
        Keep the reduced axes with extent 1.
    weights : array_like, optional
        How much each element counts, for the method 'inverted_cdf'; no gradient flows into them.

    Returns
    -------
    Tensor
        The shape of `q`, followed by that of `a` without the reduced axes; nan where there is nothing else. Those of
        integers and booleans are constants.

    Warns
    -----
    RuntimeWarning
        If there is nothing but nan along the axes.

    Notes
    -----
    A replay sorts anew, as long as there are as many nan along the axes; with more or fewer the function is recorded
    again.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.nanpercentile(tg.tensor([1.0, tg.nan, 3.0]), 25)
    Tensor(1.5)
    """
    x = operand(a, "nanpercentile")
    arguments = {"axis": axis, "method": method, "keepdims": keepdims, "weights": weights}
    if is_float(x):
        wanted = quantiles.asked("numpy.nanpercentile", q, x, True, **arguments, skips_nan=True)
        result = _quantiles(x, wanted)
    else:
        result = constant(np.nanpercentile, x, q, **arguments)
    return result if out is None else deliver(result, out, name="numpy.nanpercentile")


def nanquantile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Tensor:
    """Compute quantiles along axes, each nan left out.

    Parameters
    ----------
    a : Tensor or array_like
        Elements to rank.
    q : array_like
        Which quantiles, from 0 to 1.
    axis : int or tuple of int, optional
        Axes to compute along; all by default.
    out : Tensor or numpy.ndarray, optional
        Where to write the result; a plain array takes constants only.
    overwrite_input : bool, default False
        Accepted because ``numpy.nanquantile`` has it; the operand is left as it is.
    method : str, default 'linear'
        What is between two elements, as for ``numpy.nanquantile``.
    keepdims : bool, default False
        Keep the reduced axes with extent 1.
    weights : array_like, optional
        How much each element counts, for the method 'inverted_cdf'; no gradient flows into them.

    Returns
    -------
    Tensor
        The shape of `q`, followed by that of `a` without the reduced axes; nan where there is nothing else. Those of
        integers and booleans are constants.

    Warns
    -----
    RuntimeWarning
        If there is nothing but nan along the axes.

    Notes
    -----
    A replay sorts anew, as long as there are as many nan along the axes; with more or fewer the function is recorded
    again.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.nanquantile(tg.tensor([1.0, tg.nan, 3.0]), 0.25)
    Tensor(1.5)
    """
    x = operand(a, "nanquantile")
    arguments = {"axis": axis, "method": method, "keepdims": keepdims, "weights": weights}
    if is_float(x):
        wanted = quantiles.asked("numpy.nanquantile", q, x, False, **arguments, skips_nan=True)
        result = _quantiles(x, wanted)
    else:
        result = constant(np.nanquantile, x, q, **arguments)
    return result if out is None else deliver(result, out, name="numpy.nanquantile")


FUNCTIONS = {
    function.__name__: function
    for function in (nanmax, nanmin, nanargmax, nanargmin, nanmedian, nanpercentile, nanquantile)
}
