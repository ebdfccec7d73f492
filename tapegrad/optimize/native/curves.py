"""`curve_fit`: its arguments checked, its fits done."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from tapegrad.engine.codegen.translator.compiler import expect_group
from tapegrad.errors import name_of
from tapegrad.foreign import is_masked
from tapegrad.frontend.tensor.array_checks import real, refuse_subclass
from tapegrad.optimize.curve_plots import PlotData
from tapegrad.optimize.native.executors import run_elsewhere
from tapegrad.optimize.native.loops.batch import FITS
from tapegrad.optimize.native.many_fits import FitResults, Task, fit_all
from tapegrad.optimize.native.models import of_vector
from tapegrad.optimize.native.recorded import ReplayedFunction, example_of
from tapegrad.optimize.native.settings import UNBOUNDED, FitSettings, checked_bounds, refuse
from tapegrad.optimize.native.sharing import checked_threads
from tapegrad.optimize.residuals import residuals
from tapegrad.pytree import flatten

_MIN_COMPILED_FITS = 200  # fits from which on it pays to compile the model's segments


def fit(
    model: Callable[..., Any],
    t: Any,
    y: Any,
    p0: Any,
    sigma: Any,
    absolute_sigma: bool,
    options: dict[str, Any],
) -> tuple[FitResults, PlotData, bool]:
    """Fit a model to many sets of data, or to one row: the results, what they are drawn of, and whether it is one."""
    expect_group(FITS)
    data, mask = _data(y, options.pop("mask", None))
    starts = _starts(model, p0, options)
    single = data.ndim == 1 and starts.ndim == 1
    check_finite = options.pop("check_finite", None)
    if single if check_finite is None else check_finite:
        _check_finite(data, mask)
    if single:
        data, t = data[None], _times(t)
        _check_one_dimension(sigma, len(data[0]))
    else:
        _refuse_masked(t)
    if data.ndim < 1 or starts.ndim not in (1, 2) or starts.shape[-1] == 0:
        raise ValueError(
            f"curve_fit: Y of shape {data.shape}, P0 of shape {starts.shape}; they must be (m, ...), and (m, k) or (k,)"
        )
    if starts.ndim == 2 and len(starts) != len(data):
        raise ValueError(f"curve_fit: {len(data)} rows of data, but {len(starts)} of P0")
    count, size = len(data), starts.shape[-1]
    starts = np.ascontiguousarray(np.broadcast_to(starts, (count, size)))
    threads = checked_threads(options.pop("threads", None), "curve_fit")
    progress, executor = options.pop("progress", None), options.pop("executor", None)
    weights = _weights(data.shape, sigma, mask)
    task = _task(data, starts, weights, absolute_sigma, options)
    found = FitResults(count, size)
    problem = _FitProblem(model, t, size, data.shape[1:], True if count >= _MIN_COMPILED_FITS else None)
    if count and executor is not None:
        run_elsewhere(executor, problem, task.part, found, "curve_fit", progress)
    elif count:
        fit_all(problem.record(starts), task, found, threads, progress)
    return found, PlotData(problem.predict, t, data, sigma, mask), single


class _FitProblem:
    """Fits of one model to data of a shape.

    Attributes
    ----------
    predict
        The model as a function of the vector of its parameters.
    """

    def __init__(
        self, model: Callable[..., Any], t: Any, size: int, shape: tuple[int, ...], fuse: bool | None
    ) -> None:
        self._given = model, t, size, shape, fuse
        self._shape = shape
        self.predict = of_vector(model, t, size, fuse)

    def __reduce__(self) -> Any:
        return _FitProblem, self._given

    def record(self, starts: np.ndarray) -> ReplayedFunction:
        """Record the model, whose result has to be of the shape, with its result as one vector."""
        predict, shape = self.predict, self._shape
        example = example_of(predict, starts)
        found = np.shape(predict(example))
        if found != shape:
            raise ValueError(
                f"curve_fit: {name_of(predict)} returned shape {found}, but a row of Y has shape {shape}; Y and P0 of"
                " one dimension are one fit, as of SciPy, and P0 of shape (len(Y), k) is a fit for each element of Y"
            )
        return ReplayedFunction(residuals(predict, example).replayed, example)

    def solve_block(self, part: Task) -> FitResults:
        found = FitResults(*part.starts.shape)
        try:
            recorded = self.record(part.starts)
        except LinAlgError:  # at every start of this block; there are others
            found.give_up(part.starts)
        else:
            fit_all(recorded, part, found, 1, False)
        return found


def _data(y: Any, mask: Any) -> tuple[np.ndarray, Any]:
    """Return the data in C order, and the mask with the elements that a masked array hides."""
    if is_masked(y):
        hidden, y = np.ma.getmaskarray(y), y.filled(0)
        mask = hidden if mask is None else hidden | real(mask, "curve_fit: mask", None)
    return np.asarray(real(y, "curve_fit: Y"), order="C"), mask


def _starts(model: Callable[..., Any], p0: Any, options: dict[str, Any]) -> np.ndarray:
    """Return where to start; for `None` SciPy's choice, for as many parameters as the model names."""
    if p0 is not None:
        return real(p0, "curve_fit: P0")
    kinds = [parameter.kind for parameter in inspect.signature(model).parameters.values()]
    named = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    size = sum(kind in named for kind in kinds) - 1
    if size < 1 or inspect.Parameter.VAR_POSITIONAL in kinds:
        raise ValueError(f"curve_fit: {name_of(model)} does not say how many parameters it has; give P0")
    lower, upper = checked_bounds(options.get("bounds", UNBOUNDED), size, "curve_fit")
    with np.errstate(invalid="ignore"):  # inf - inf
        choices = [(lower + upper) / 2, lower + 1, upper - 1]
    low, high = np.isfinite(lower), np.isfinite(upper)
    return np.select([low & high, low, high], choices, 1.0)


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
            "curve_fit: Y holds nan or inf; leave them out by mask=~np.isfinite(Y), or pass check_finite=False"
        )


def _weights(shape: tuple[int, ...], sigma: Any, mask: Any) -> np.ndarray | None:
    """Return one over `sigma`, and zero where the mask says so; for the points of one fit if those of all are alike."""
    if sigma is None and mask is None:
        return None
    spread = real(1.0 if sigma is None else sigma, "curve_fit: sigma")
    out = real(False if mask is None else mask, "curve_fit: mask", None)
    if out.dtype != np.bool_:
        raise TypeError(
            f"curve_fit: mask is of dtype {out.dtype}; it must be of bools, True where a point is left out"
        )
    if not np.all((spread > 0) & np.isfinite(spread)):
        raise ValueError("curve_fit: sigma must be positive and finite; leave points out by mask=")
    for name, array in (("sigma", spread), ("mask", out)):
        if not _broadcasts(array.shape, shape):
            raise ValueError(
                f"curve_fit: {name} of shape {array.shape} does not broadcast to Y of shape {shape}"
            )
    alike = max(spread.ndim, out.ndim) < len(shape)
    weights = np.where(out, 0.0, 1.0 / spread)
    weights = np.broadcast_to(weights, shape[1:] if alike else shape)
    return np.ascontiguousarray(weights).reshape(-1 if alike else (shape[0], -1))


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, to) == to
    except ValueError:
        return False


def _task(
    data: np.ndarray, starts: np.ndarray, weights: np.ndarray | None, absolute: bool, options: dict[str, Any]
) -> Task:
    """Return the fits as a task, their settings checked."""
    if "maxfev" in options:  # SciPy's name
        options.setdefault("max_nfev", options.pop("maxfev"))
    settings = FitSettings("curve_fit", starts, options)
    refuse(options, "curve_fit")
    rows = data.reshape(len(data), int(np.prod(data.shape[1:])))
    return Task(rows, starts, weights, absolute, settings)
