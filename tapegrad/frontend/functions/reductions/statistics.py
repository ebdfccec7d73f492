"""Variances, standard deviations and weighted averages."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from tapegrad.frontend.conversions.complex_views import pairs_of
from tapegrad.frontend.functions.reductions.extremes import largest_finite
from tapegrad.frontend.functions.reductions.lines import (
    axes_of,
    count_along,
    inexact,
    is_complex,
    is_without_zero,
    mask_of_axes,
    numbers,
    root_of_sum,
)
from tapegrad.frontend.functions.reductions.predicates import any as some
from tapegrad.frontend.functions.reductions.reductions import how_many, mean, rules_of_weights, sum
from tapegrad.frontend.recording.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.recording.elementwise import where as select
from tapegrad.frontend.recording.outputs import deliver, mask_of
from tapegrad.frontend.recording.record import as_boolean, unary
from tapegrad.frontend.recording.record_structural import record_lines
from tapegrad.frontend.recording.rules import Step, state_rules
from tapegrad.frontend.recording.shape import broadcast_to, contiguous, reshape, transpose
from tapegrad.frontend.tensor.modes import current, no_grad, thread
from tapegrad.frontend.tensor.tensor import Tensor, bind_methods, from_array
from tapegrad.frontend.words.array_like import Axis
from tapegrad.frontend.words.derived_docs import like, renamed
from tapegrad.ops import CODES, COPY

_DEVIATIONS = CODES["deviations"]
_sqrt, _square, _isfinite = (ELEMENTWISE[name] for name in ("sqrt", "square", "isfinite"))


class Spread(NamedTuple):
    """Options of a variance: arguments that `var`, `std` and their NaN versions share."""

    name: str
    axis: Axis
    keepdims: bool
    freedom: Any  # degrees of freedom that are lost
    where: Any = True
    mean: Any = None
    divisor_of_none: float = 0.0  # divisor where no degrees of freedom remain


def degrees_of_freedom(ddof: Any, correction: Any) -> Any:
    """Return whichever of two names of an argument is given."""
    if correction is None:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


def variance(x: Tensor, spread: Spread) -> Tensor:
    """Return the mean square of the deviations from the mean; of complex numbers, of their absolute values."""
    if is_complex(x):
        return sum(variance(pairs_of(x), _of_pairs(x, spread)), -1)
    name, axis, keepdims, lost, where, mean, of_none = spread
    if where is not True or mean is not None:
        return _variance_of_some(x, spread)
    freedom = count_along(axis, x.shape) - lost
    if freedom <= 0:
        _warn_of_none()
    total = record_lines(_DEVIATIONS, x, mask_of_axes(axis, x), keepdims, name)
    return total / float(freedom if freedom > 0 else of_none)


def _of_pairs(x: Tensor, spread: Spread) -> Spread:
    """Return the options for the pairs of floats that complex numbers are."""
    where, mean = spread.where, spread.mean
    return spread._replace(
        axis=axes_of(spread.axis, x.ndim),
        where=True if where is True else mask_of(where, spread.name)[..., None],
        mean=None if mean is None else pairs_of(numbers(mean, spread.name, x.dtype)),
    )


def _variance_of_some(x: Tensor, spread: Spread) -> Tensor:
    """Return the variance of selected elements, or about a given mean."""
    name, axis = spread.name, spread.axis
    mask = as_boolean(True if spread.where is True else mask_of(spread.where, name), current()[0])
    deviations = _deviations(x, mask, axis, name) if spread.mean is None else x - spread.mean
    total = sum(_square(select(mask, deviations, 0.0)), axis, keepdims=spread.keepdims)
    freedom = how_many(mask, x, axis, spread.keepdims, name) - spread.freedom
    if thread.mode.recorder is not None:
        freedom = select(freedom > 0, freedom, spread.divisor_of_none)
    elif np.count_nonzero(freedom <= 0):
        _warn_of_none(5)
        freedom = np.where(freedom > 0, freedom, np.asarray(spread.divisor_of_none, x.dtype))
    result: Tensor = total / freedom
    return result


def _deviations(x: Tensor, mask: Any, axis: Axis, name: str) -> Tensor:
    """Return the deviations from the mean of the elements that a mask selects.

    They are taken relative to one of these elements, so that those of a constant are exactly zero.
    """
    relative: Tensor = x - _centre(x, mask, axis)
    mean: Tensor = sum(select(mask, relative, 0.0), axis, keepdims=True) / how_many(mask, x, axis, True, name)
    return relative - mean


def _centre(x: Tensor, mask: Tensor, axis: Axis) -> Any:
    """Return the maximum of the elements that a mask selects, 0 if not finite; no gradient flows into it."""
    if thread.mode.recorder is None:
        found = np.max(x.data_or_traced(), axis, None, True, -np.inf, mask.data_or_traced())
        return np.where(np.isfinite(found), found, 0.0)
    return largest_finite(select(mask, x, -np.inf), axis)


def _warn_of_none(stacklevel: int = 4) -> None:
    warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=stacklevel)


def make_spread(
    name: str, variance: Callable[[Tensor, Spread], Tensor], of_none: float = 0.0, is_root: bool = False
) -> Callable[..., Tensor]:
    """Make `var`, `std`, or their versions that ignore NaNs."""
    full = f"numpy.{name}"

    def spread(  # noqa: PLR0913  as many as NumPy's
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
            Destination of the result; a plain array takes constants only.
        ddof : float, default 0
            Subtracted from the number of elements in the divisor.
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
            Of the dtype of `a`, without the reduced axes. That of complex numbers is real: the mean of
            ``abs(a - a.mean())**2``.

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
        x = inexact(a, name, dtype)
        result = variance(x, Spread(full, axis, keepdims, freedom, where, mean, of_none))
        if is_root:
            result = root_of_sum(result, _sqrt(result))
        return result if out is None else deliver(result, out, name=full)

    return renamed(spread, name)


var = make_spread("var", variance)
std = like(
    var,
    ("the variance along axes", "the standard deviation along axes: the square root of the variance"),
    notes="The derivatives at a constant are zero, those of the second order too.",
    examples=">>> tg.std(tg.tensor([[1.0, 3.0], [2.0, 2.0]]), axis=1)\nTensor([1., 0.])",
)(make_spread("std", variance, is_root=True))


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
        Same shape as `a`, or of that of `axis`. All elements count alike by default.
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
    x = inexact(a, "average")
    if weights is None:
        result = mean(x, axis, keepdims=keepdims)
        return (result, _full(count_along(axis, x.shape), result)) if returned else result
    taken = weights_along(numbers(weights, "average"), axis, x.shape)
    total = sum(
        taken, axis, None if taken.dtype == x.dtype else np.result_type(x.dtype, taken.dtype), None, keepdims
    )
    if not is_without_zero(total) and some(total == 0):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    result = sum(x * taken, axis, keepdims=keepdims) / total
    if not returned:
        return result
    return result, total if total.shape == result.shape else contiguous(broadcast_to(total, result.shape))


def _full(number: float, like: Tensor) -> Tensor:
    return from_array(np.full(like.shape, number, like.dtype), constant=True)


def weights_along(weights: Tensor, axis: Axis, shape: tuple[int, ...]) -> Tensor:
    """Return weights that are given along axes in a shape that broadcasts."""
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


# --- derivatives -----------------------------------------------------------------------------------------------


def _twice_the_deviations(step: Step) -> Tensor:
    """Return the derivative of a sum of squared deviations from the mean by each element.

    As in the kernel they are taken relative to the first element, so that those of a constant are exactly zero.
    """
    x = step.x(0)
    if x.shape[-1] == 0:
        return x
    with no_grad():
        first = unary(COPY, x[..., :1])
    relative = x - first
    return 2.0 * (relative - mean(relative, -1, keepdims=True))


state_rules("deviations", *rules_of_weights(_twice_the_deviations))
