"""Interpolators of `scipy.interpolate` that tapegrad has under another name, and those of plain data at Tensors."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad import interpolate
from tapegrad.errors import UnsupportedError
from tapegrad.interop.in_place.arguments import array_of

_DEGREES = {"slinear": 1, "linear": 1, "quadratic": 2, "cubic": 3}


class interp1d:
    """Spline through values in one dimension, as `scipy.interpolate.interp1d`.

    Parameters
    ----------
    x, y, kind, axis, bounds_error, fill_value
        SciPy's. The kind is a degree, or the name of one; the fill value is nan, or to extrapolate.
    """

    def __init__(self, x: Any, y: Any, kind: Any = "linear", axis: int = -1, **outside: Any) -> None:
        degree = _DEGREES.get(kind, kind)
        fill, raises = outside.get("fill_value", np.nan), outside.get("bounds_error")
        extrapolates = isinstance(fill, str)
        if not isinstance(degree, int) or degree < 1 or not (extrapolates or np.all(np.isnan(fill))):
            raise UnsupportedError(
                f"scipy.interpolate.interp1d: kind={kind!r}, fill_value={fill!r} are not for Tensors; write a degree,"
                f" or one of {', '.join(_DEGREES)}, and 'extrapolate' or nan"
            )
        order = np.argsort(x, kind="stable")
        knots, y = np.asarray(x, float)[order], np.take(array_of(y), order, axis)
        self._spline = interpolate.make_interp_spline(knots, y, degree, axis=axis)
        self._extrapolates = extrapolates
        self._ends = knots[[0, -1]] if not extrapolates and raises in (None, True) else (-np.inf, np.inf)

    def __call__(self, x: Any) -> Any:
        x = array_of(x)
        if bool(np.any((x < self._ends[0]) | (x > self._ends[1]))):
            raise ValueError("interp1d: a value in x is outside of the interpolation range")
        return self._spline(x, extrapolate=self._extrapolates)


def splev(x: Any, tck: Any, der: int = 0) -> Any:
    """Evaluate a spline, or a curve of several, by FITPACK's knots, coefficients and degree."""
    t, c, k = tck if isinstance(tck, tuple | list) else tck.tck
    if isinstance(c, list) and np.ndim(c[0]):
        return [splev(x, (t, each, k), der) for each in c]
    return interpolate.BSpline(t, c[: len(t) - k - 1], k)(array_of(x), der)


def _of_fitpack(spline: Any) -> Callable[..., Any]:
    if spline.ext not in (0, "extrapolate"):
        raise UnsupportedError(
            f"UnivariateSpline: ext={spline.ext!r} is not for Tensors; write ext='extrapolate'"
        )
    return lambda x, nu=0: splev(x, spline._eval_args, nu)  # noqa: SLF001  no public name has the padded knots


def _of_values(curve: Any) -> Any:
    kind = curve._spline.k if curve._kind == "spline" else curve._kind  # noqa: SLF001
    outside = {"bounds_error": bool(curve.bounds_error), "fill_value": curve.fill_value}
    return interp1d(curve.x, curve.y, kind, curve.axis, **outside)


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
