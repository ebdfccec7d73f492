"""Data of `curve_fit`: converted and checked, with a weight for each point."""

import math
from typing import Any, NamedTuple

import numpy as np

from tapegrad.foreign import is_masked
from tapegrad.frontend.tensor.array_checks import real, refuse_subclass
from tapegrad.pytree import flatten

_MIN_WEIGHT = np.finfo(np.float64).tiny  # whose square, and that of residuals times it, is zero


class CurveData(NamedTuple):
    """Data of fits.

    Attributes
    ----------
    rows
        A row, or an image, for each fit.
    t
        What the model is handed.
    sigma, mask
        As the user gave them; `None` where they were not given. The mask has what ``nan_policy`` leaves out as well.
    weights
        One over `sigma`, at least the smallest number, and 0 where `mask` is true: by fit and point, or by point if
        they are equal for all fits; `None` where all are one.
    single
        Whether they are one row, for one fit as of SciPy.
    """

    rows: np.ndarray
    t: Any
    sigma: Any
    mask: Any
    weights: np.ndarray | None
    single: bool

    @property
    def empty(self) -> np.ndarray:
        """Numbers of the fits without points."""
        points = self.rows.reshape(len(self.rows), math.prod(self.rows.shape[1:])).shape[1]
        left = points if self.weights is None else np.count_nonzero(self.weights, axis=-1)
        return np.flatnonzero(np.broadcast_to(left, len(self.rows)) == 0)


def checked_data(t: Any, y: Any, sigma: Any, starts: np.ndarray, options: dict[str, Any]) -> CurveData:
    """Check data, and take the options about them: ``mask``, ``nan_policy`` and ``check_finite``."""
    data, mask = _data_and_mask(y, options.pop("mask", None))
    _check_shapes(data.shape, starts.shape)
    single = data.ndim == 1 and starts.ndim == 1
    if single:
        t = _times(t)
        _check_one_dimension(sigma, data.size)
    else:
        _refuse_masked(t)
    mask = _without_nan(options.pop("nan_policy", None), t, data, mask)
    check_finite = options.pop("check_finite", None)
    if single if check_finite is None else check_finite:
        _check_finite(data, mask)
    weights = _weights(data.shape, sigma, mask)
    rows = data[None] if single else data
    return CurveData(rows, t, sigma, mask, _arranged(weights, rows.shape), single)


def _check_shapes(data: tuple[int, ...], starts: tuple[int, ...]) -> None:
    if not data or len(starts) not in (1, 2) or starts[-1] == 0:
        raise ValueError(
            f"curve_fit: Y of shape {data}, P0 of shape {starts}; they must be (m, ...), and (m, k) or (k,)"
        )
    if len(starts) == 2 and starts[0] != data[0]:
        raise ValueError(f"curve_fit: {data[0]} rows of data, but {starts[0]} of P0")


def _data_and_mask(y: Any, mask: Any) -> tuple[np.ndarray, Any]:
    """Return the data in C order, and the mask with the elements that a masked array hides."""
    if mask is not None:
        mask = real(mask, "curve_fit: mask", None)
        if mask.dtype != np.bool_:
            raise TypeError(
                f"curve_fit: mask is of dtype {mask.dtype}; it must be of bools, True where a point is left out"
            )
    if is_masked(y):
        hidden, y = np.ma.getmaskarray(y), y.filled(0)
        mask = hidden if mask is None else hidden | mask
    data = np.asarray(real(y, "curve_fit: Y"), order="C")
    _check_shape("mask", np.shape(mask), data.shape)
    return data, mask


def _without_nan(policy: Any, t: Any, data: np.ndarray, mask: Any) -> Any:
    """Return the mask, with the points at which data or `t` are nan if SciPy's ``nan_policy`` leaves these out.

    Raises
    ------
    ValueError
        If the policy refuses nan and there is any, and for another policy.
    """
    if policy is None:
        return mask
    if policy not in ("omit", "raise"):
        raise ValueError(f"curve_fit: nan_policy={policy!r}; it must be 'omit', 'raise' or None")
    missing = np.isnan(data) | _nan_times(t, data.shape)
    if policy == "omit":
        return missing if mask is None else missing | mask
    if missing.any():
        raise ValueError(
            "curve_fit: Y or t hold nan, and nan_policy='raise'; nan_policy='omit' leaves them out"
        )
    return mask


def _nan_times(t: Any, shape: tuple[int, ...]) -> Any:
    """Return the mask of the points at which an array `t`, or any row of it, is nan."""
    if not (isinstance(t, np.ndarray) and t.dtype.kind == "f" and t.shape[-1:] == shape[-1:]):
        return False
    return np.isnan(t).reshape(-1, t.shape[-1]).any(axis=0)


def _times(t: Any) -> Any:
    """Return what the model is handed as SciPy converts it: arrays and lists as floats, anything else as it is."""
    return real(t, "curve_fit: t") if isinstance(t, np.ndarray | list | tuple) else t


def _refuse_masked(t: Any) -> None:
    for leaf in flatten(t)[0]:
        refuse_subclass(leaf, "curve_fit: t")


def _check_one_dimension(sigma: Any, count: int) -> None:
    if np.ndim(sigma) > 1:
        raise ValueError(
            f"curve_fit: sigma of shape {np.shape(sigma)} for one row of {count} points; it must be standard"
            " deviations. For a covariance matrix C, minimise the residuals linalg.solve_triangular(linalg.cholesky(C),"
            " model(t, *p) - y, lower=True) by least_squares"
        )


def _check_finite(data: np.ndarray, mask: Any) -> None:
    """Raise for data that are nan or infinite and not left out, as SciPy does."""
    counts = np.isfinite(data) if mask is None else np.isfinite(data) | mask
    if not counts.all():
        raise ValueError(
            "curve_fit: Y holds nan or inf; leave them out by mask=~np.isfinite(Y), or nan by nan_policy='omit'; or"
            " pass check_finite=False"
        )


def _weights(shape: tuple[int, ...], sigma: Any, mask: Any) -> np.ndarray | None:
    """Return one over `sigma`, and zero where the mask says so; of points that are left out `sigma` may be anything."""
    if sigma is None and mask is None:
        return None
    spread, out = real(1.0 if sigma is None else sigma, "curve_fit: sigma"), False if mask is None else mask
    _check_shape("sigma", spread.shape, shape)
    usable = spread > 0
    if not np.all(usable | out):
        raise ValueError("curve_fit: sigma must be positive, but for points that mask= leaves out")
    # A point whose spread is infinite weighs nothing, but is a degree of freedom as in SciPy; one of weight 0 is not
    return np.where(out, 0.0, np.maximum(1.0 / np.where(usable, spread, 1.0), _MIN_WEIGHT))


def _arranged(weights: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return weights by fit and point, or by point if they are equal for all fits."""
    if weights is None:
        return None
    alike = weights.ndim < len(shape)
    weights = np.broadcast_to(weights, shape[1:] if alike else shape)
    return np.ascontiguousarray(weights).reshape(-1 if alike else (shape[0], -1))


def _check_shape(name: str, shape: tuple[int, ...], to: tuple[int, ...]) -> None:
    """Raise unless a shape broadcasts to that of the data as the user gave them."""
    try:
        fits = np.broadcast_shapes(shape, to) == to
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"curve_fit: {name} of shape {shape} does not broadcast to Y of shape {to}")
