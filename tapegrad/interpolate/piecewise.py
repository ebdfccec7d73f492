"""`PPoly`: piecewise polynomials."""

import math
from typing import Any

import numpy as np

from tapegrad.interpolate.arguments import (
    column,
    constant,
    extrapolation,
    increasing,
    like_scipys,
    reals,
    trailing,
)
from tapegrad.interpolate.intervals import intervals_of


class PPoly:
    """Piecewise polynomial in the power basis, as `scipy.interpolate.PPoly`.

    Parameters
    ----------
    c : Tensor or array_like, shape (k, m, ...)
        Coefficients: ``c[j, i]`` is that of ``(x - x[i]) ** (k - 1 - j)`` between ``x[i]`` and ``x[i + 1]``.
    x : array_like, shape (m + 1,)
        Breakpoints, in increasing order. A constant.
    extrapolate : bool or 'periodic', default True
        Continue the first and the last polynomial outside of the breakpoints; False for nan there.
    axis : int, default 0
        Axis of interpolation: that of `m`, not counting that of `k`.

    Attributes
    ----------
    c : Tensor or numpy.ndarray
        Coefficients, with the axis of interpolation in second place.
    x : numpy.ndarray
        Breakpoints.
    extrapolate : bool or str
        What happens outside of the breakpoints.
    axis : int
        Axis of interpolation.

    Raises
    ------
    UnsupportedError
        If the breakpoints are a Tensor that something is differentiated by.
    ValueError
        If the shapes do not fit, or the breakpoints are not in order.

    Notes
    -----
    Derivatives are by the coefficients and by the places of evaluation. The derivative at a breakpoint is that of the
    polynomial to its right, and at the last one that of the last polynomial.

    Examples
    --------
    >>> import tapegrad as tg
    >>> curve = tg.interpolate.PPoly([[1.0, -1.0], [0.0, 2.0], [0.0, 1.0]], [0.0, 1.0, 2.0])
    >>> curve([0.5, 1.5])
    array([0.25, 1.75])
    >>> tg.grad(curve)(1.5)
    np.float64(1.0)
    """

    _lines: list[Any]
    x: np.ndarray
    extrapolate: bool | str
    axis: int

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        name = type(self).__name__
        knots = increasing(name, x, strictly=False)
        coefficients = reals(name, c)
        if coefficients.ndim < 2 or coefficients.shape[0] == 0:
            raise ValueError(
                f"{name}: c has shape {coefficients.shape}, but must have shape (k, m, ...), k > 0"
            )
        if not 0 <= axis < coefficients.ndim - 1:
            raise ValueError(f"{name}: axis={axis} is not between 0 and {coefficients.ndim - 2}")
        if axis:
            coefficients = np.moveaxis(coefficients, (axis, axis + 1), (0, 1))
        if coefficients.shape[1] != len(knots) - 1:
            raise ValueError(
                f"{name}: c of shape {coefficients.shape} has {coefficients.shape[1]} polynomials, but x has"
                f" {len(knots) - 1} intervals"
            )
        self._keep(list(coefficients), knots, extrapolate, axis)

    @classmethod
    def construct_fast(cls, c: Any, x: np.ndarray, extrapolate: Any = None, axis: int = 0) -> "PPoly":
        """Return a piecewise polynomial without checking the arguments.

        Parameters
        ----------
        c : Tensor, numpy.ndarray or sequence of them
            Coefficients, the axis of interpolation in second place.
        x : numpy.ndarray
            Breakpoints, in increasing order. A constant.
        extrapolate : bool or 'periodic', default True
            What happens outside of the breakpoints.
        axis : int, default 0
            Axis of interpolation.

        Returns
        -------
        PPoly
            The piecewise polynomial.
        """
        made = cls.__new__(cls)
        PPoly._keep(made, [reals(cls.__name__, line) for line in c], x, extrapolate, axis)
        return made

    def _keep(self, lines: list[Any], x: np.ndarray, extrapolate: Any, axis: int) -> None:
        self._lines, self.x, self.axis = lines, x, axis
        self.extrapolate = True if extrapolate is None else extrapolation(extrapolate)

    def _other(self, lines: list[Any], extrapolate: bool | str) -> "PPoly":
        """Return a polynomial on the same intervals."""
        return PPoly.construct_fast(lines, self.x, extrapolate, self.axis)

    @property
    def c(self) -> Any:
        """Coefficients, of shape (k, m, ...)."""
        return like_scipys(np.stack(self._lines))

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """Return the values, or derivatives of order `nu`, at places.

        Parameters
        ----------
        x : Tensor or array_like
            Places.
        nu : int, default 0
            Order of the derivative.
        extrapolate : bool or 'periodic', optional
            That of the polynomial by default.

        Returns
        -------
        Tensor or numpy.ndarray
            The axis of interpolation is replaced by the shape of `x`. An array if nothing is differentiated by.
        """
        places = reals(type(self).__name__, x)
        outside = self.extrapolate if extrapolate is None else extrapolation(extrapolate)
        if outside == "periodic":
            places, outside = self._in_period(places), False
        value = _evaluated(_slopes(self._lines, nu), self.x, places)
        if not outside:
            beyond = (places < self.x[0]) | (places > self.x[-1])
            value = np.where(trailing(beyond, value.shape[places.ndim :]), np.nan, value)
        if self.axis:
            first = range(places.ndim)
            value = np.moveaxis(value, first, range(self.axis, self.axis + places.ndim))
        return like_scipys(value)

    def _in_period(self, x: Any) -> Any:
        """Return places moved by periods to where the breakpoints are."""
        begin, end = float(self.x[0]), float(self.x[-1])
        return begin + np.remainder(x - begin, end - begin)

    def derivative(self, nu: int = 1) -> "PPoly":
        """Return the derivative of order `nu`, or an antiderivative if it is negative.

        Parameters
        ----------
        nu : int, default 1
            Order.

        Returns
        -------
        PPoly
            The derivative, polynomial by polynomial.
        """
        return self.antiderivative(-nu) if nu < 0 else self._other(_slopes(self._lines, nu), self.extrapolate)

    def antiderivative(self, nu: int = 1) -> "PPoly":
        """Return the continuous antiderivative of order `nu` that is 0 at the first breakpoint.

        Parameters
        ----------
        nu : int, default 1
            Order; of a negative one, the derivative.

        Returns
        -------
        PPoly
            It does not extrapolate if this one is periodic.
        """
        if nu < 0:
            return self.derivative(-nu)
        lines, extrapolate = self._lines, self.extrapolate
        for _ in range(nu):
            lines = _integrated(lines, self.x)
        return self._other(lines, False if nu and extrapolate == "periodic" else extrapolate)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Compute the integral from `a` to `b`.

        Parameters
        ----------
        a, b : float or Tensor
            Ends.
        extrapolate : bool or 'periodic', optional
            That of the polynomial by default.

        Returns
        -------
        Tensor or numpy.ndarray
            The integral, without the axis of interpolation. An array if nothing is differentiated by.
        """
        name = f"{type(self).__name__}.integrate"
        begin, end = reals(name, a), reals(name, b)
        if begin.ndim or end.ndim:
            raise ValueError(f"{name}: ends have shapes {begin.shape} and {end.shape}, but must be numbers")
        outside = self.extrapolate if extrapolate is None else extrapolation(extrapolate)
        if outside == "periodic":
            return like_scipys(self._from_begin(end) - self._from_begin(begin))
        value = _integral(self._lines, self.x, begin, end)
        if not outside:
            first, last = self.x[0], self.x[-1]
            value = np.where((begin < first) | (begin > last) | (end < first) | (end > last), np.nan, value)
        return like_scipys(value)

    def _from_begin(self, x: Any) -> Any:
        """Return the integral from the first breakpoint of a periodic function."""
        begin, end = float(self.x[0]), float(self.x[-1])
        periods = np.floor((x - begin) / (end - begin))
        inside = _integral(self._lines, self.x, constant(begin), x - periods * (end - begin))
        return inside + periods * _integral(self._lines, self.x, constant(begin), constant(end))


def _evaluated(lines: list[Any], x: np.ndarray, places: Any) -> Any:
    """Return the values at places, by Horner's scheme."""
    index = intervals_of(x, places)
    shape = lines[0].shape[1:]
    distance = trailing(places - constant(x)[index], shape)
    value = _horner([line[index] for line in lines], distance)
    if len(lines) == 1:
        value = np.where(np.isnan(distance), np.nan, value)
    return value


def _slopes(lines: list[Any], nu: int) -> list[Any]:
    """Return the coefficients of a derivative."""
    if nu < 0:
        raise ValueError(f"PPoly: nu={nu} must not be negative")
    if nu == 0:
        return lines
    degree = len(lines) - 1
    factors = [float(math.perm(degree - j, nu)) for j in range(degree + 1 - nu)]
    return [f * line for f, line in zip(factors, lines[: len(factors)], strict=True)] or [0.0 * lines[0]]


def _integrated(lines: list[Any], x: np.ndarray) -> list[Any]:
    """Return the coefficients of an antiderivative."""
    lines = _antiderivatives(lines)
    steps = column(np.diff(x), lines[0].ndim)
    ends = np.cumsum(_horner(lines, steps) * steps, axis=0)
    return [*lines, np.concatenate([0.0 * ends[:1], ends[:-1]])]


def _antiderivatives(lines: list[Any]) -> list[Any]:
    """Return the coefficients of antiderivatives that are 0 at the begin of each interval, without these zeros."""
    return [line / float(len(lines) - j) for j, line in enumerate(lines)]


def _horner(lines: list[Any], distance: Any) -> Any:
    value = lines[0]
    for line in lines[1:]:
        value = value * distance + line
    return value


def _integral(lines: list[Any], x: np.ndarray, begin: Any, end: Any) -> Any:
    """Return the integral between two Tensors, as a sum over intervals."""
    backwards = end < begin
    low, high = np.where(backwards, end, begin), np.where(backwards, begin, end)
    inner = np.clip(constant(x[1:-1]), low, high)
    first, last = (value.reshape(1) for value in (low, high))
    # of the part of each interval; the first and the last interval reach out
    starts, stops = np.concatenate([first, inner]), np.concatenate([inner, last])
    parts, shape = _antiderivatives(lines), lines[0].shape[1:]
    from_start, from_stop = (trailing(at - x[:-1], shape) for at in (starts, stops))
    sums = _horner(parts, from_stop) * from_stop - _horner(parts, from_start) * from_start
    return np.where(backwards, -1.0, 1.0) * np.sum(sums, axis=0)
