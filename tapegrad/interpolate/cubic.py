"""Piecewise cubic interpolators: they differ by their slopes at the knots."""

from typing import Any

import numpy as np

from tapegrad.interpolate.arguments import (
    check_period,
    check_values,
    column,
    increasing,
    moved,
    reals,
)
from tapegrad.interpolate.linear_maps import SplineProblem, solution, split_ends
from tapegrad.interpolate.piecewise import PPoly

_UNDEFINED = 1e-9  # of the largest weight in Akima's method: smaller ones are taken for zero


class CubicHermiteSpline(PPoly):
    """Piecewise cubic interpolator of values and slopes, as `scipy.interpolate.CubicHermiteSpline`.

    Parameters
    ----------
    x : array_like, shape (n,)
        Knots, strictly increasing. A constant.
    y : Tensor or array_like
        Values, of length n along `axis`.
    dydx : Tensor or array_like
        Slopes, of the shape of `y`.
    axis : int, default 0
        Axis of interpolation.
    extrapolate : bool or 'periodic', default True
        Continue the first and the last polynomial outside of the knots; False for nan there.

    Raises
    ------
    UnsupportedError
        If the knots are a Tensor that something is differentiated by, or values are complex.
    ValueError
        If the shapes do not fit, numbers are not finite, or the knots are not in order.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> def middle(slopes):
    ...     return tg.interpolate.CubicHermiteSpline([0.0, 1.0], [0.0, 1.0], slopes)(0.5)
    >>> tg.value_and_grad(middle)(np.zeros(2))
    (np.float64(0.5), array([ 0.125, -0.125]))
    """

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
        name = type(self).__name__
        knots, values, axis = self._read(x, y, axis)
        slopes = reals(name, dydx)
        if slopes.shape != np.shape(y):
            raise ValueError(f"{name}: dydx has shape {slopes.shape}, but y has shape {np.shape(y)}")
        check_values(name, slopes, "dydx")
        self._keep_cubic(knots, values, np.moveaxis(slopes, axis, 0), extrapolate, axis)

    def _read(self, x: Any, y: Any, axis: int) -> tuple[np.ndarray, Any, int]:
        """Return knots, values with the axis of interpolation in front, and its number."""
        name = type(self).__name__
        knots, values = increasing(name, x), reals(name, y)
        check_values(name, values, "y")
        return knots, *moved(name, values, axis, len(knots))

    def _keep_cubic(self, x: np.ndarray, y: Any, slopes: Any, extrapolate: Any, axis: int) -> None:
        steps = column(np.diff(x), y.ndim)
        secants = np.diff(y, axis=0) / steps
        bend = (slopes[:-1] + slopes[1:] - 2.0 * secants) / steps
        self._keep(
            [bend / steps, (secants - slopes[:-1]) / steps - bend, slopes[:-1], y[:-1]], x, extrapolate, axis
        )


class CubicSpline(CubicHermiteSpline):
    """Cubic spline through values, twice continuously differentiable, as `scipy.interpolate.CubicSpline`.

    Parameters
    ----------
    x : array_like, shape (n,)
        Knots, strictly increasing. A constant.
    y : Tensor or array_like
        Values, of length n along `axis`.
    axis : int, default 0
        Axis of interpolation.
    bc_type : str or pair, default 'not-a-knot'
        Conditions at the ends: 'not-a-knot', 'clamped', 'natural' or 'periodic', or a pair of these for start and end,
        in which ``(order, value)`` gives the first or the second derivative. These values may be Tensors.
    extrapolate : bool or 'periodic', optional
        Continue the first and the last polynomial outside of the knots; False for nan there. True by default, but
        'periodic' with periodic conditions.

    Raises
    ------
    UnsupportedError
        If the knots are a Tensor that something is differentiated by, or values are complex.
    ValueError
        If the shapes do not fit, numbers are not finite, or the knots are not in order.

    Notes
    -----
    The slopes at the knots are a constant sparse matrix times the values, whose entries SciPy computes once. They
    differ from SciPy's by rounding. With periodic conditions the first and the last value are one number: the
    derivative by it is that by the first one.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> x = np.array([0.0, 1.0, 2.0, 3.0])
    >>> np.round(tg.interpolate.CubicSpline(x, x**3)([0.5, 4.0]), 12)
    array([ 0.125, 64.   ])

    The derivative of a value by the values at the knots:

    >>> def middle(y):
    ...     return tg.interpolate.CubicSpline(x, y)(1.5)
    >>> np.round(tg.grad(tg.jit(middle))(x**3), 12)
    array([-0.0625,  0.5625,  0.5625, -0.0625])
    """

    def __init__(
        self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
    ) -> None:
        name = type(self).__name__
        knots, values, axis = self._read(x, y, axis)
        shape = values.shape[1:]
        ends, given = split_ends(name, bc_type, pairs_in_lists=False)
        at_ends = [reals(name, value) for value in given]
        if any(value.shape != shape for value in at_ends):
            raise ValueError(
                f"{name}: a value in bc_type has another shape than {shape}, as y has without {axis=}"
            )
        if ends == "periodic":
            check_period(name, values)
            values = np.concatenate([values[:-1], values[:1]])
            extrapolate = "periodic" if extrapolate is None else extrapolate
        slopes = solution(SplineProblem(knots.tobytes(), ends), values, at_ends)
        self._keep_cubic(knots, values, slopes, extrapolate, axis)


class PchipInterpolator(CubicHermiteSpline):
    """Piecewise cubic interpolator that is monotonic where the values are, as `scipy.interpolate.PchipInterpolator`.

    Parameters
    ----------
    x : array_like, shape (n,)
        Knots, strictly increasing. A constant.
    y : Tensor or array_like
        Values, of length n along `axis`.
    axis : int, default 0
        Axis of interpolation.
    extrapolate : bool or 'periodic', default True
        Continue the first and the last polynomial outside of the knots; False for nan there.

    Raises
    ------
    UnsupportedError
        If the knots are a Tensor that something is differentiated by, or values are complex.
    ValueError
        If the shapes do not fit, numbers are not finite, or the knots are not in order.

    Notes
    -----
    A slope is a harmonic mean of the slopes of both neighbours, or 0 where they do not have the same sign. It has a
    kink where one of them is 0: the derivative there is 0.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> x = np.array([0.0, 1.0, 2.0, 3.0])
    >>> tg.interpolate.PchipInterpolator(x, [0.0, 0.0, 1.0, 1.0])([0.5, 1.5, 2.5])
    array([0. , 0.5, 1. ])
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
        knots, values, axis = self._read(x, y, axis)
        self._keep_cubic(knots, values, _monotonic(knots, values), extrapolate, axis)


def _monotonic(x: np.ndarray, y: Any) -> Any:
    """Return slopes at the knots by the method of Fritsch and Butland (1984)."""
    steps = column(np.diff(x), y.ndim)
    secants = np.diff(y, axis=0) / steps
    if len(x) == 2:
        return np.concatenate([secants, secants])
    first, second = secants[:-1], secants[1:]
    w1, w2 = 2.0 * steps[1:] + steps[:-1], steps[1:] + 2.0 * steps[:-1]
    signs = np.sign(secants)
    same = (signs[1:] == signs[:-1]) & (signs[1:] != 0) & (signs[:-1] != 0)
    # 1 in place of secants whose mean is not used: no division by zero
    mean = (w1 / np.where(same, first, 1.0) + w2 / np.where(same, second, 1.0)) / (w1 + w2)
    inner = np.where(same, 1.0 / mean, 0.0)
    ends = [
        _end_slope(*(each[at : at + 1] for each, at in pairs))
        for pairs in (
            ((steps, 0), (steps, 1), (secants, 0), (secants, 1)),
            ((steps, len(x) - 2), (steps, len(x) - 3), (secants, len(x) - 2), (secants, len(x) - 3)),
        )
    ]
    return np.concatenate([ends[0], inner, ends[1]])


def _end_slope(h0: np.ndarray, h1: np.ndarray, m0: Any, m1: Any) -> Any:
    """Return the slope at an end by three points, restricted to the shape of the values."""
    slope = ((2.0 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    overshoots = (np.sign(m0) != np.sign(m1)) & (abs(slope) > 3.0 * abs(m0))
    return np.where(np.sign(slope) != np.sign(m0), 0.0, np.where(overshoots, 3.0 * m0, slope))


class Akima1DInterpolator(CubicHermiteSpline):
    """Piecewise cubic interpolator by Akima's slopes, as `scipy.interpolate.Akima1DInterpolator`.

    Parameters
    ----------
    x : array_like, shape (n,)
        Knots, strictly increasing. A constant.
    y : Tensor or array_like
        Values, of length n along `axis`.
    axis : int, default 0
        Axis of interpolation.
    method : {'akima', 'makima'}, default 'akima'
        Akima's method, or the modified one, which does not overshoot where values are constant.
    extrapolate : bool or 'periodic', default False
        Continue the first and the last polynomial outside of the knots; False for nan there.

    Raises
    ------
    UnsupportedError
        If the knots are a Tensor that something is differentiated by, or values are complex.
    ValueError
        If the shapes do not fit, numbers are not finite, or the knots are not in order.

    Notes
    -----
    A slope is a mean of the secants on both sides, weighted by absolute differences. It has kinks where a difference
    is 0, and the derivative of its absolute value there is 0.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> x = np.arange(6.0)
    >>> tg.interpolate.Akima1DInterpolator(x, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0])([1.5, 2.5])
    array([0. , 0.5])
    """

    def __init__(
        self, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None
    ) -> None:
        if method not in ("akima", "makima"):
            raise NotImplementedError(
                f"Akima1DInterpolator: method must be 'akima' or 'makima', not {method!r}"
            )
        knots, values, axis = self._read(x, y, axis)
        slopes = _weighted(knots, values, method == "makima")
        self._keep_cubic(knots, values, slopes, extrapolate or False, axis)


def _weighted(x: np.ndarray, y: Any, is_modified: bool) -> Any:
    """Return slopes at the knots by the method of Akima (1970)."""
    secants = np.diff(y, axis=0) / column(np.diff(x), y.ndim)
    if len(x) == 2:
        return np.concatenate([secants, secants])
    before = 2.0 * secants[:1] - secants[1:2]
    after = 2.0 * secants[-1:] - secants[-2:-1]
    m = np.concatenate(
        [2.0 * before - secants[:1], before, secants, after, 2.0 * after - secants[-1:]]
    )  # two more on either side
    weights = abs(np.diff(m, axis=0))
    if is_modified:
        weights = weights + 0.5 * abs(m[1:] + m[:-1])
    right, left = weights[2:], weights[:-2]
    total = right + left
    defined = total > _UNDEFINED * np.max(total) if total.size else total > 0.0
    share = left / np.where(defined, total, 1.0)
    return np.where(defined, m[1:-2] + share * (m[2:-1] - m[1:-2]), 0.5 * (m[3:] + m[:-3]))
