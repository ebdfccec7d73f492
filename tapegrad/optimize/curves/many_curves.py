"""`curve_fit`: its arguments checked, its fits done."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from tapegrad.engine.codegen.translator.compiler import expect_group
from tapegrad.errors import name_of
from tapegrad.frontend.tensor.array_checks import real
from tapegrad.optimize.curves.curve_data import CurveData, checked_data
from tapegrad.optimize.curves.fit_data import FitData
from tapegrad.optimize.native.executors import run_elsewhere
from tapegrad.optimize.native.loops.batch import FITS
from tapegrad.optimize.native.many_fits import FitResults, Task, fit_all
from tapegrad.optimize.native.models import of_vector
from tapegrad.optimize.native.recorded import ReplayedFunction, example_of
from tapegrad.optimize.native.settings import UNBOUNDED, FitSettings, checked_bounds, checked_choice, refuse
from tapegrad.optimize.native.sharing import checked_threads
from tapegrad.optimize.residuals import residuals

_MIN_COMPILED_FITS = 200  # fits from which on it pays to compile the model's segments
_METHODS = ("lm", "trf", "dogbox", "native")  # SciPy's names, all for the one there is
_OPTIONS = (
    "bounds", "loss", "f_scale", "mask", "nan_policy", "check_finite", "ftol", "xtol", "gtol", "max_nfev", "maxfev",
    "full_output", "method", "threads", "progress", "executor",
)  # fmt: skip
_HINTS = {
    "verbose": "progress=True says evaluations and cost; for each iteration, least_squares(..., verbose=2)",
    "jac": "derivatives are exact: leave jac out",
    "x_scale": "steps are scaled by the Jacobian: leave x_scale out",
}


def fit(
    model: Callable[..., Any],
    t: Any,
    y: Any,
    p0: Any,
    sigma: Any,
    absolute_sigma: bool,
    options: dict[str, Any],
) -> tuple[FitResults, FitData, bool]:
    """Fit a model to many sets of data, or to one row: the results, what was fitted, and whether it is one."""
    expect_group(FITS)
    starts = _starts(model, p0, options)
    if starts.ndim == 0 and np.ndim(y) == 1:  # as SciPy takes it
        starts = starts[None]
    data = checked_data(t, y, sigma, starts, options)
    method = _take_scipys_options(options, data.single)
    count, size, empty = len(data.rows), starts.shape[-1], data.empty
    if data.single and len(empty):
        raise ValueError(
            "curve_fit: there are no points in Y, or a mask or nan_policy='omit' leaves all of them out"
        )
    starts = np.ascontiguousarray(np.broadcast_to(starts, (count, size)))
    threads = checked_threads(options.pop("threads", None), "curve_fit", count)
    progress, executor = options.pop("progress", None), options.pop("executor", None)
    task = _task(data, starts, absolute_sigma, options)
    if method == "lm" and task.settings.bounded:
        raise ValueError("curve_fit: method='lm' takes no bounds; leave method out")
    found = FitResults(count, size)
    problem = _FitProblem(
        model, data.t, size, data.rows.shape[1:], True if count >= _MIN_COMPILED_FITS else None
    )
    if count and executor is not None:
        run_elsewhere(executor, problem, task.part, found, "curve_fit", progress)
    elif count:
        fit_all(problem.record(starts), task, found, threads, progress)
    found.leave(empty)
    return found, FitData(problem.predict, data.t, data.rows, data.sigma, data.mask), data.single


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


def _take_scipys_options(options: dict[str, Any], single: bool) -> Any:
    """Take out the options of SciPy's `curve_fit` that change nothing; return the name of the method, or `None`."""
    method = options.pop("method", None)
    if method is not None:
        checked_choice(method, _METHODS, "method", "curve_fit")
    if options.pop("full_output", False) and not single:
        raise ValueError(
            "curve_fit: full_output=True is for one row of data; many fits have .message and .nfev"
        )
    for name, default in (("jac", None), ("verbose", 0)):
        if options.get(name, default) == default:
            options.pop(name, None)
    return method


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


def _task(data: CurveData, starts: np.ndarray, absolute: bool, options: dict[str, Any]) -> Task:
    """Return the fits as a task, their settings checked."""
    if "maxfev" in options:  # SciPy's name
        options.setdefault("max_nfev", options.pop("maxfev"))
    settings = FitSettings("curve_fit", starts, options)
    refuse(options, "curve_fit", _HINTS, _OPTIONS)
    rows = data.rows.reshape(len(data.rows), int(np.prod(data.rows.shape[1:])))
    return Task(rows, starts, data.weights, absolute, settings)
