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
        self._ends = x[order[0]], x[order[-1]]
        self._spline = interpolate.make_interp_spline(
            np.asarray(x, float)[order], np.take(array_of(y), order, axis), degree, axis=axis
        )
        extrapolates = isinstance(fill_value, str)
        is_nan = isinstance(fill_value, float) and np.isnan(fill_value)
        self._fill = (
            None if extrapolates else fill_value if isinstance(fill_value, tuple) else (fill_value,) * 2
        )
        self._raises = not extrapolates and (is_nan if bounds_error is None else bounds_error)

    def __call__(self, x: Any) -> Any:
        x = array_of(x)
        value = self._spline(x)
        if self._fill is None:
            return value
        below, above = x < self._ends[0], x > self._ends[1]
        if self._raises and bool(np.any(below | above)):
            raise ValueError("interp1d: a value in x is outside of the interpolation range")
        if self._raises:
            return value
        if np.ndim(self._spline.c) > 1:
            raise UnsupportedError(
                "scipy.interpolate.interp1d: fill_value is for values y in one dimension alone"
            )
        return np.where(below, self._fill[0], np.where(above, self._fill[1], value))


def splev(x: Any, tck: Any, der: int = 0, ext: Any = 0) -> Any:
    """Evaluate a spline, or a curve of several, by FITPACK's knots, coefficients and degree."""
    t, c, k = tck if isinstance(tck, tuple | list) else tck.tck
    if isinstance(c, list) and np.ndim(c[0]):
        return [splev(x, (t, each, k), der, ext) for each in c]
    x, mode = array_of(x), _MODES[ext] if isinstance(ext, int) else ext
    begin, end = t[k], t[len(t) - k - 1]
    outside = (x < begin) | (x > end)
    if mode == "raise" and bool(np.any(outside)):
        raise ValueError("splev: a place is outside of the knots")
    places = np.clip(x, begin, end) if mode == "const" else x
    value = interpolate.BSpline(t, c[: len(t) - k - 1], k)(places, der)
    return np.where(outside, 0.0, value) if mode == "zeros" else value


def _of_fitpack(spline: Any) -> Callable[..., Any]:
    tck, own = spline._eval_args, spline.ext  # noqa: SLF001  no public name has the padded knots
    return lambda x, nu=0, ext=None: splev(x, tck, nu, own if ext is None else ext)


def _of_values(curve: Any) -> Any:
    kind = curve._spline.k if curve._kind == "spline" else curve._kind  # noqa: SLF001
    return interp1d(curve.x, curve.y, kind, curve.axis, bool(curve.bounds_error), curve.fill_value)


def _of_pieces(curve: Any) -> Any:
    return interpolate.PPoly.construct_fast(curve.c, curve.x, curve.extrapolate, curve.axis)


def _of_basis(curve: Any) -> Any:
    c = np.moveaxis(curve.c, 0, curve.axis)
    return interpolate.BSpline(curve.t, c, curve.k, curve.extrapolate, curve.axis)


def _of_grid(curve: Any) -> Any:
    own = curve.grid, curve.values, curve.method, curve.bounds_error, curve.fill_value
    return interpolate.RegularGridInterpolator(*own)


# Methods of SciPy's classes that get places, and ours of the same interpolator: to be called, or with that method
METHODS: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("PPoly", "__call__", _of_pieces),
    ("PPoly", "integrate", lambda curve: _of_pieces(curve).integrate),
    ("BSpline", "__call__", _of_basis),
    ("BSpline", "integrate", lambda curve: _of_basis(curve).integrate),
    ("RegularGridInterpolator", "__call__", _of_grid),
    ("UnivariateSpline", "__call__", _of_fitpack),
    ("interp1d", "__call__", _of_values),
)
FUNCTIONS: dict[str, Callable[..., Any]] = {"interp1d": interp1d, "splev": splev}
