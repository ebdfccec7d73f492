"""Interpolators of `scipy.interpolate` that tapegrad has under another name, and those of plain data at Tensors."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad import interpolate
from tapegrad.errors import UnsupportedError
from tapegrad.interop.in_place.arguments import array_of

_DEGREES = {"slinear": 1, "linear": 1, "quadratic": 2, "cubic": 3}
_MODES = ("extrapolate", "zeros", "raise", "const")  # of FITPACK, by number


class interp1d:
    """Spline through values in one dimension, as `scipy.interpolate.interp1d`.

    Parameters
    ----------
    x, y, kind, axis, bounds_error, fill_value
        SciPy's. The kind is a degree, or the name of one.
    """

    def __init__(
        self, x: Any, y: Any, kind: Any = "linear", axis: int = -1, bounds_error: Any = None,
        fill_value: Any = np.nan,
    ) -> None:  # fmt: skip
        degree = _DEGREES.get(kind, kind)
        if not isinstance(degree, int) or degree < 1:
            raise UnsupportedError(
                f"scipy.interpolate.interp1d: kind={kind!r} is not for Tensors; write a degree, or one of"
                f" {', '.join(_DEGREES)}"
            )
        order = np.argsort(x, kind="stable")
        self.x = np.asarray(x, float)[order]
        self._axis = axis
        y = np.take(array_of(y), order, axis)
        self._spline = interpolate.make_interp_spline(self.x, y, degree, axis=axis)
        extrapolates = isinstance(fill_value, str) and fill_value == "extrapolate"
        self._fill = None if extrapolates else fill_value
        self._raises = not extrapolates and (_is_nan(fill_value) if bounds_error is None else bounds_error)

    def __call__(self, x: Any) -> Any:
        x = array_of(x)
        value = self._spline(x)
        if self._fill is None:
            return value
        below, above = x < self.x[0], x > self.x[-1]
        if self._raises and bool(np.any(below | above)):
            raise ValueError("interp1d: a value in x is outside of the interpolation range")
        if np.ndim(self._spline.c) > 1 and not np.all(np.isnan(self._fill)):
            raise UnsupportedError(
                "scipy.interpolate.interp1d: fill_value is for values y in one dimension alone"
            )
        low, high = self._fill if isinstance(self._fill, tuple) else (self._fill, self._fill)
        beyond = _like(below, value, np.ndim(x), self._axis), _like(above, value, np.ndim(x), self._axis)
        return np.where(beyond[0], low, np.where(beyond[1], high, value))


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and np.isnan(value)


def _like(mask: Any, value: Any, ndim: int, axis: int) -> Any:
    """Return a mask of places as one of values, whose axes of places begin at an axis."""
    after = value.ndim - ndim - (axis % (value.ndim - ndim + 1))
    return np.reshape(mask, (*np.shape(mask), *[1] * after))


def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """Evaluate a spline, or a curve of several, by FITPACK's knots, coefficients and degree."""
    t, c, k = tck if isinstance(tck, tuple | list) else tck.tck
    if isinstance(c, list) and np.ndim(c[0]):
        return [splev(x, (t, each, k), der, ext) for each in c]
    return _evaluated(t, c, k, x, der, _MODES[ext])


def _evaluated(t: Any, c: Any, k: int, x: Any, nu: int, mode: str) -> Any:
    """Evaluate a spline; what is outside of its knots by a mode of FITPACK."""
    x = array_of(x)
    begin, end = t[k], t[len(t) - k - 1]
    outside = (x < begin) | (x > end)
    if mode == "raise" and bool(np.any(outside)):
        raise ValueError("splev: a place is outside of the knots")
    places = np.clip(x, begin, end) if mode == "const" else x
    value = interpolate.BSpline(t, c[: len(t) - k - 1], k)(places, nu)
    return np.where(outside, 0.0, value) if mode == "zeros" else value


def _of_fitpack(spline: Any, x: Any, nu: int = 0, ext: Any = None) -> Any:
    """Evaluate a `UnivariateSpline`."""
    mode = spline.ext if ext is None else ext
    return _evaluated(*spline._eval_args, x, nu, _MODES[mode] if isinstance(mode, int) else mode)


def _of_values(curve: Any, x: Any) -> Any:
    """Evaluate an `interp1d` of SciPy's."""
    kind = curve._spline.k if curve._kind == "spline" else curve._kind
    return interp1d(curve.x, curve.y, kind, curve.axis, bool(curve.bounds_error), curve.fill_value)(x)


def _polynomial(curve: Any) -> Any:
    return interpolate.PPoly.construct_fast(curve.c, curve.x, curve.extrapolate, curve.axis)


def _spline(curve: Any) -> Any:
    c = np.moveaxis(curve.c, 0, curve.axis)
    return interpolate.BSpline(curve.t, c, curve.k, curve.extrapolate, curve.axis)


def _grid(curve: Any) -> Any:
    return interpolate.RegularGridInterpolator(
        curve.grid, curve.values, curve.method, curve.bounds_error, curve.fill_value
    )


# Methods of SciPy's classes that get places, and what is computed of those that are Tensors
METHODS: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("PPoly", "__call__", lambda curve, *args, **kwargs: _polynomial(curve)(*args, **kwargs)),
    ("PPoly", "integrate", lambda curve, *args, **kwargs: _polynomial(curve).integrate(*args, **kwargs)),
    ("BSpline", "__call__", lambda curve, *args, **kwargs: _spline(curve)(*args, **kwargs)),
    ("BSpline", "integrate", lambda curve, *args, **kwargs: _spline(curve).integrate(*args, **kwargs)),
    ("RegularGridInterpolator", "__call__", lambda curve, *args, **kwargs: _grid(curve)(*args, **kwargs)),
    ("UnivariateSpline", "__call__", _of_fitpack),
    ("interp1d", "__call__", _of_values),
)
FUNCTIONS: dict[str, Callable[..., Any]] = {"interp1d": interp1d, "splev": splev}
