"""`BSpline` and `make_interp_spline`: splines in the B-spline basis."""

import math
import operator
from functools import lru_cache
from typing import Any

import numpy as np

from tapegrad.interpolate.arguments import (
    check_period,
    check_values,
    column,
    constants,
    extrapolation,
    increasing,
    like_scipys,
    moved,
    reals,
)
from tapegrad.interpolate.linear_maps import SplineProblem, matrix_of, solution, solved, split_ends, times
from tapegrad.interpolate.piecewise import PPoly

_MAX_KEPT = 16  # matrices


class BSpline:
    """Spline in the B-spline basis, as `scipy.interpolate.BSpline`.

    Parameters
    ----------
    t : array_like, shape (n + k + 1,)
        Knots, in order. A constant.
    c : Tensor or array_like
        Coefficients, of length n or more along `axis`.
    k : int
        Degree.
    extrapolate : bool or 'periodic', default True
        Continue the first and the last polynomial outside of ``t[k]`` and ``t[n]``; False for nan there.
    axis : int, default 0
        Axis of interpolation.

    Attributes
    ----------
    t : numpy.ndarray
        Knots.
    c : Tensor or numpy.ndarray
        Coefficients, with the axis of interpolation in front.
    k : int
        Degree.
    extrapolate : bool or str
        What happens outside of the interval.
    axis : int
        Axis of interpolation.

    Raises
    ------
    UnsupportedError
        If the knots are a Tensor that something is differentiated by.
    ValueError
        If the shapes do not fit, or the knots are not in order.

    Notes
    -----
    The polynomials between the knots are a constant sparse matrix times the coefficients, and are evaluated as `PPoly`
    is. Derivatives are by the coefficients and by the places of evaluation.

    Examples
    --------
    >>> import tapegrad as tg
    >>> def at(c):
    ...     return tg.interpolate.BSpline([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], c, 2)(2.5)
    >>> tg.value_and_grad(at)([-1.0, 2.0, 0.0, -1.0])
    (np.float64(1.375), [np.float64(0.125), np.float64(0.75), np.float64(0.125), np.float64(0.0)])
    """

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        degree = operator.index(k)
        if degree < 0:
            raise ValueError(f"BSpline: k={k} must not be negative")
        knots = increasing("BSpline", t, "t", 2 * degree + 2, strictly=False)
        count = len(knots) - degree - 1
        if knots[degree] == knots[count]:
            raise ValueError("BSpline: t[k] and t[n] must differ")
        coefficients = reals("BSpline", c)
        if not -coefficients.ndim <= axis < coefficients.ndim:
            raise ValueError(f"BSpline: {axis=} is not an axis of c, which has shape {coefficients.shape}")
        axis %= coefficients.ndim
        coefficients = np.moveaxis(coefficients, axis, 0)
        if len(coefficients) < count:
            raise ValueError(
                f"BSpline: {len(knots)} knots of degree {degree} need {count} coefficients, but c has"
                f" {len(coefficients)} along {axis=}"
            )
        self.t, self.k, self.axis, self.extrapolate = knots, degree, axis, extrapolation(extrapolate)
        self._c = coefficients
        breaks = _breakpoints(knots, degree)
        by_coefficients = times(polynomials_of(knots.tobytes(), degree), coefficients[:count])
        lines = by_coefficients.reshape(degree + 1, len(breaks) - 1, *coefficients.shape[1:])
        self._polynomials = PPoly.construct_fast(lines, breaks, self.extrapolate, axis)

    @property
    def c(self) -> Any:
        """Coefficients, with the axis of interpolation in front."""
        return like_scipys(self._c)

    @property
    def tck(self) -> tuple[np.ndarray, Any, int]:
        """Knots, coefficients and degree."""
        return self.t, self.c, self.k

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """Return the values, or derivatives of order `nu`, at places.

        Parameters
        ----------
        x : Tensor or array_like
            Places.
        nu : int, default 0
            Order of the derivative.
        extrapolate : bool or 'periodic', optional
            That of the spline by default.

        Returns
        -------
        Tensor or numpy.ndarray
            The axis of interpolation is replaced by the shape of `x`. An array if nothing is differentiated by.
        """
        return self._polynomials(x, nu, self.extrapolate if extrapolate is None else extrapolate)

    def derivative(self, nu: int = 1) -> "BSpline":
        """Return the derivative of order `nu`.

        Parameters
        ----------
        nu : int, default 1
            Order.

        Returns
        -------
        BSpline
            Its degree is lower by `nu`.

        Raises
        ------
        ValueError
            If it has a jump, at a knot that is there as often as the degree.
        """
        if nu > self.k:
            raise ValueError(f"BSpline.derivative: the order {nu} is larger than the degree {self.k}")
        t, k, c = self.t, self.k, self._c[: len(self.t) - self.k - 1]
        for _ in range(nu):
            steps = t[k + 1 : -1] - t[1 : -k - 1]
            if np.any(steps == 0):
                raise ValueError("BSpline.derivative: the derivative is not continuous")
            c = np.diff(c, axis=0) * column(k / steps, c.ndim)
            t, k = t[1:-1], k - 1
        return BSpline(t, np.moveaxis(c, 0, self.axis), k, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> "BSpline":
        """Return the antiderivative of order `nu` that is 0 at the first knot.

        Parameters
        ----------
        nu : int, default 1
            Order.

        Returns
        -------
        BSpline
            Its degree is higher by `nu`. It does not extrapolate if this one is periodic.
        """
        t, k, c = self.t, self.k, self._c[: len(self.t) - self.k - 1]
        for _ in range(nu):
            steps = column((t[k + 1 :] - t[: -k - 1]) / (k + 1), c.ndim)
            sums = np.cumsum(c * steps, axis=0)
            c = np.concatenate([0.0 * sums[:1], sums])
            t, k = np.concatenate([t[:1], t, t[-1:]]), k + 1
        extrapolate = False if nu and self.extrapolate == "periodic" else self.extrapolate
        return BSpline(t, np.moveaxis(c, 0, self.axis), k, extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Compute the integral from `a` to `b`.

        Parameters
        ----------
        a, b : float or Tensor
            Ends.
        extrapolate : bool or 'periodic', optional
            That of the spline by default. Without it, the spline is 0 outside of its interval.

        Returns
        -------
        Tensor or numpy.ndarray
            The integral, without the axis of interpolation. An array if nothing is differentiated by.
        """
        extrapolate = self.extrapolate if extrapolate is None else extrapolation(extrapolate)
        if not extrapolate:
            x = self._polynomials.x
            a, b = (np.clip(reals("BSpline.integrate", end), x[0], x[-1]) for end in (a, b))
        return self._polynomials.integrate(a, b, extrapolate)


def _breakpoints(t: np.ndarray, k: int) -> np.ndarray:
    """Return the ends of the polynomials; of degree 0 the last one may be a point, from which it goes on."""
    inside = t[k : len(t) - k]
    return np.unique(inside) if k else inside


@lru_cache(_MAX_KEPT)
def polynomials_of(t: bytes, k: int) -> Any:
    """Return the matrix that turns coefficients into those of polynomials, degree by degree, the highest first."""
    from scipy.interpolate import BSpline as SciPys

    knots = np.frombuffer(t)
    starts = _breakpoints(knots, k)[:-1]

    def apply(c: np.ndarray) -> np.ndarray:
        spline = SciPys(knots, c, k)
        return np.concatenate([spline(starts, nu) / math.factorial(nu) for nu in range(k, -1, -1)])

    return matrix_of(apply, len(knots) - k - 1, levels=k + 1)


def make_interp_spline(
    x: Any,
    y: Any,
    k: int = 3,
    t: Any = None,
    bc_type: Any = None,
    axis: int = 0,
    check_finite: bool = True,
) -> BSpline:
    """Compute the B-spline through values, with the arguments of `scipy.interpolate.make_interp_spline`.

    Parameters
    ----------
    x : array_like, shape (n,)
        Places of the values, strictly increasing. A constant.
    y : Tensor or array_like
        Values, of length n along `axis`.
    k : int, default 3
        Degree.
    t : array_like, optional
        Knots. By default as few as possible.
    bc_type : str or pair, optional
        Conditions at the ends: 'not-a-knot', 'clamped', 'natural' or 'periodic', or a pair of lists of
        ``(order, value)``, for derivatives at start and end. These values may be Tensors.
    axis : int, default 0
        Axis of interpolation.
    check_finite : bool, default True
        Raise if a value is not finite.

    Returns
    -------
    BSpline
        The spline.

    Raises
    ------
    UnsupportedError
        If the places or the knots are a Tensor that something is differentiated by.
    ValueError
        If the shapes do not fit, numbers are not finite, or `x` is not in order.

    Notes
    -----
    The coefficients are a constant sparse matrix times the values, whose entries SciPy computes once. They differ from
    SciPy's by rounding. With periodic conditions the first and the last value are one number: the derivative by it is
    that by the first one.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> x = np.linspace(0.0, 3.0, 7)
    >>> spline = tg.interpolate.make_interp_spline(x, x**5, k=5)
    >>> np.round([spline(1.7), 1.7**5, spline.integrate(0.0, 3.0), 3**6 / 6], 9)
    array([ 14.19857,  14.19857, 121.5    , 121.5    ])
    """
    name = "make_interp_spline"
    places, degree = increasing(name, x), operator.index(k)
    values, axis = moved(name, reals(name, y), axis, len(places))
    if check_finite:
        check_values(name, values, "y")
    if degree < 0:
        raise ValueError(f"{name}: k={k} must not be negative")
    ends, given = split_ends(name, bc_type, pairs_in_lists=True)
    at_ends = [_at_end(reals(name, value), values.shape[1:]) for value in given]
    if ends == "periodic":
        check_period(name, values)
    knots = None if t is None else constants(name, t, "t").tobytes()
    problem = SplineProblem(places.tobytes(), ends, degree, knots)
    c = solution(problem, values, at_ends)
    found = solved(problem, len(at_ends)).knots
    extrapolate = "periodic" if ends == "periodic" and degree > 1 else True  # as in SciPy
    return BSpline(found, np.moveaxis(c, 0, axis), degree, extrapolate, axis)


def _at_end(value: Any, shape: tuple[int, ...]) -> Any:
    """Return the value of a derivative at an end, in the shape of the values."""
    if value.shape == shape:
        return value
    if value.size != math.prod(shape):
        raise ValueError(
            f"make_interp_spline: a value in bc_type has shape {value.shape}, but must have {shape}"
        )
    return value.reshape(shape)
