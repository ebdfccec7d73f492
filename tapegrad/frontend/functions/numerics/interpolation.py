"""Piecewise linear interpolation: bisection finds the interval, arithmetic does the rest."""

from typing import Any

import numpy as np

from tapegrad.frontend.conversions.complex_views import made_complex
from tapegrad.frontend.conversions.guarded_results import is_recording
from tapegrad.frontend.functions.ordering.search import searchsorted
from tapegrad.frontend.functions.ordering.sorting import argsort
from tapegrad.frontend.functions.reductions.predicates import any as some
from tapegrad.frontend.functions.shapes.joining import concatenate, stack
from tapegrad.frontend.recording.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.recording.elementwise import clip, where
from tapegrad.frontend.recording.lists import holds_tensors
from tapegrad.frontend.recording.record_structural import as_numbers, as_tensor
from tapegrad.frontend.tensor.array_checks import check_dtype, plain
from tapegrad.frontend.tensor.tensor import Tensor, is_tensor

_remainder, _isnan, _equal, _copysign = (
    ELEMENTWISE[name] for name in ("remainder", "isnan", "equal", "copysign")
)


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Tensor:
    """Interpolate linearly between points.

    Parameters
    ----------
    x : Tensor or array_like
        Points of evaluation.
    xp : Tensor or array_like
        Abscissas of the points, in one dimension and ascending, which is not checked; with a period in any order.
    fp : Tensor or array_like
        Ordinates of the points, real or complex.
    left, right : Tensor or number, optional
        Values below the first and beyond the last abscissa; the first and the last ordinate by default.
    period : number, optional
        Period of the abscissas; then `left` and `right` are ignored.

    Returns
    -------
    Tensor
        Same shape as `x`, in float64 or complex128.

    Raises
    ------
    ValueError
        If there are no points, `xp` and `fp` differ in length or have several dimensions, or the period is 0.

    Notes
    -----
    The derivatives are by `x`, by `xp` and by `fp`. At an abscissa, where the slope changes, they are those of the
    interval to the right: at the last one, and outside, the derivative by `x` is 0.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([0.5, 1.0, 5.0])
    >>> y = tg.interp(x, [0.0, 1.0, 2.0], [0.0, 10.0, 40.0])
    >>> y
    Tensor([ 5., 10., 40.])
    >>> y.backward()
    >>> x.grad
    array([10., 30.,  0.])
    """
    if any(map(_is_complex, (fp, left, right))):
        return _of_parts(x, xp, as_numbers(fp, "numpy.interp"), (left, right), period)
    x, xp, fp = (_double(each) for each in (x, xp, fp))
    if xp.ndim != 1 or fp.ndim != 1:
        raise ValueError(f"numpy.interp: points of shapes {xp.shape} and {fp.shape} are not in one dimension")
    if xp.shape != fp.shape:
        raise ValueError(f"numpy.interp: {xp.size} abscissas, but {fp.size} ordinates")
    if xp.size == 0:
        raise ValueError("numpy.interp: there are no points")
    if period is not None:
        x, xp, fp = _over_a_period(x, xp, fp, period)
        left = right = None
    seen = x if is_recording() or not is_tensor(x) else x.data_or_traced()
    inside = _inside(x, xp, fp) if xp.size > 1 else where(np.ones(x.shape, bool), fp[0], 0.0)
    beyond = _end(fp, -1) if right is None else where(seen > _end(xp, -1), right, _end(fp, -1))
    result = _replaced(seen >= _end(xp, -1), beyond, inside)
    return as_tensor(
        _replaced(seen < _end(xp, 0), _end(fp, 0) if left is None else left, result), "numpy.interp"
    )


def _is_complex(value: Any) -> bool:
    """Return whether a number, an array, or a number in a list is complex."""
    if isinstance(value, list | tuple):
        return any(map(_is_complex, value))
    return isinstance(value, complex) or getattr(getattr(value, "dtype", None), "kind", None) == "c"


def _of_parts(x: Any, xp: Any, fp: Tensor, ends: tuple[Any, Any], period: Any) -> Tensor:
    """Interpolate complex ordinates: real and imaginary parts, each by itself."""
    parts = []
    for part in (np.real, np.imag):
        left, right = (None if end is None else part(end) for end in ends)
        parts.append(interp(x, xp, part(fp), left, right, period))
    return made_complex(stack(parts, -1))


def _end(line: Any, at: int) -> Any:
    """Return the first or the last element; of an array as a number, which is faster to record."""
    return line[at] if is_tensor(line) else float(line[at])


def _replaced(condition: Any, value: Any, result: Any) -> Any:
    """Return a result with its elements replaced where a condition holds; skipped if it holds nowhere in eager code."""
    if not is_tensor(condition) and not condition.any():
        return result
    return where(condition, value, result)


def _double(value: Any) -> Any:
    """Return an operand in float64: as an array if it is an eager constant, otherwise as a Tensor."""
    if is_tensor(value) or is_recording() or holds_tensors(value):
        return as_tensor(value, "numpy.interp").astype(np.float64, copy=False)
    array = plain(value, "numpy.interp")
    check_dtype(array.dtype, "numpy.interp")
    return array.astype(np.float64, copy=False)


@np.errstate(all="ignore")  # division by zero between equal abscissas: that quotient is not used
def _inside(x: Any, xp: Any, fp: Any) -> Any:
    """Interpolate between the two nearest points; outside, on the line through the nearest two."""
    above = _above(searchsorted(xp, x, "right"), xp.size)
    below = above - 1
    (x0, x1), (f0, f1) = ((line[below], line[above]) for line in (xp, fp))
    slope = (f1 - f0) / (x1 - x0)
    result = slope * (x - x0) + f0
    if _has(_equal(fp, 0.0) & (_copysign(1.0, fp) < 0.0)):
        # The sum with -0 at its abscissa is +0: negate the opposite one, which has the same derivatives
        result = where(_equal(x, x0) & (_copysign(1.0, f0) < 0.0), -(slope * (x0 - x) - f0), result)
    if not _has(_isnan(result)):
        return result
    result = where(_isnan(result), slope * (x - x1) + f1, result)  # next to an infinite ordinate
    return where(_equal(x, x0) | (_equal(f0, f1) & _equal(x, x)), f0, result)


def _has(flags: Any) -> bool:
    """Return whether one of some flags is set; a recording guards the result."""
    if is_recording():
        return bool(some(flags))
    return bool((flags.data_or_traced() if is_tensor(flags) else flags).any())


def _above(index: Any, size: int) -> Any:
    """Return the index of the upper neighbour, at least 1."""
    return clip(index, 1, size - 1) if is_tensor(index) else np.minimum(np.maximum(index, 1), size - 1)


def _over_a_period(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    """Return everything in one period, sorted, with a point of the next period on either side."""
    period = abs(period)
    if period == 0:
        raise ValueError("numpy.interp: the period must not be 0")
    x, xp = _remainder(x, period), _remainder(xp, period)
    order = argsort(xp)
    xp, fp = xp[order], fp[order]
    return x, concatenate([xp[-1:] - period, xp, xp[:1] + period]), concatenate([fp[-1:], fp, fp[:1]])


FUNCTIONS = {"interp": interp}
