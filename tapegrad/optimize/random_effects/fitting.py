"""The search of a fit: from the start to its result, with progress and interrupts."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.engine.runtime.messages.progress import Progress
from tapegrad.errors import NoModeError, check_function
from tapegrad.optimize.random_effects.fit import LaplaceFit
from tapegrad.optimize.random_effects.model import LatentModel
from tapegrad.optimize.random_effects.search import ModeToMode
from tapegrad.optimize.searches.interruption import MESSAGE, MINIMIZE_STATUS, BestPoint, interrupts
from tapegrad.pytree import flatten
from tapegrad.transforms.base import replayable
from tapegrad.transforms.jit import jit

_WITHOUT_GRADIENT = frozenset({"nelder-mead", "powell", "cobyla", "cobyqa"})
_OF_HESSIANS = frozenset({"dogleg", "trust-exact", "trust-krylov", "trust-ncg"})


def fit(
    function: Callable[..., Any],
    x0: Any,
    random: Any,
    args: tuple[Any, ...],
    method: str,
    map_: Any,
    progress: bool,
    options: dict[str, Any],
) -> LaplaceFit:
    """Fit a model."""
    if "jac" in options:
        raise TypeError("laplace: the gradient is exact, so leave out jac=")
    _check_method(method, options)
    if options.get("callback"):  # which may assign to what the function closes over
        check_function("laplace", function)
        function = jit(function) if replayable(function) is None else function
    model = LatentModel(function, x0, random, args, map_)
    free = model.tied.collected(model.start)
    if isinstance(options.get("bounds"), dict):
        options = {**options, "bounds": _bounds_of(model, options["bounds"])}
    with Progress(progress is not False) as line:
        search = ModeToMode(model, model.effects_start, line)
        value, _ = search(free)
        if search.failure:
            raise NoModeError(f"laplace: no mode at x0: {search.failure}")
        if not np.isfinite(value):
            raise ValueError(f"laplace: minus the logarithm of the marginal density is {value} at x0")
        best = BestPoint(search, False, line, "laplace")
        try:
            result = _searched(best, free, method, options)
        except KeyboardInterrupt:
            if best.x is None or interrupts.is_second():
                raise
            result = _interrupted(search, best)
    if not np.isfinite(result.fun):
        result.success = False
    mode = ModeToMode(model, search.effects)
    _, result.jac = mode(result.x)  # SciPy's may be of constraints, or missing
    return LaplaceFit(result, model, np.array(result.x), mode.effects, search.steps)


def _check_method(method: Any, options: dict[str, Any]) -> None:
    """Check that a method is one that a fit can run.

    Raises
    ------
    ValueError
        For a method that takes a Hessian, which has not been passed, and for methods that SciPy has not.
    """
    name = method.lower() if isinstance(method, str) else ""
    if name in _OF_HESSIANS and not {"hess", "hessp"} & options.keys():
        raise ValueError(
            f"laplace: method={method!r} takes a Hessian, which a fit does not compute: write method='BFGS', or"
            f" tg.optimize.minimize(tg.laplace(f, random=...), x0, args=(effects,), method={method!r})"
        )
    if name == "native":
        raise ValueError("laplace: method='native' is of tg.optimize.minimize; write method='BFGS'")


def _bounds_of(model: LatentModel, by_key: dict[str, Any]) -> list[Any]:
    """Return the bounds of the free parameters, given a pair for some keys of a dict of parameters.

    Raises
    ------
    ValueError
        For keys that there are not.
    """
    numbers = model.layout.split(np.arange(len(model.start)))
    if not isinstance(numbers, dict) or not set(by_key) <= set(numbers):
        raise ValueError(
            f"laplace: bounds= is a dict, so parameters must be one with the keys {list(by_key)}"
        )
    bounds: list[Any] = [(None, None)] * model.tied.size
    for key, pair in by_key.items():
        for leaf in flatten(numbers[key])[0]:
            for group in model.tied.groups[np.ravel(leaf).astype(int)]:
                if group >= 0:  # not fixed
                    bounds[group] = pair
    return bounds


def _searched(best: BestPoint, free: np.ndarray, method: str, options: dict[str, Any]) -> Any:
    from scipy.optimize import minimize

    if isinstance(method, str) and method.lower() in _WITHOUT_GRADIENT:
        return minimize(lambda x: best(x)[0], free, method=method, **options)
    return minimize(best, free, method=method, jac=True, **options)


def _interrupted(search: ModeToMode, best: BestPoint) -> Any:
    """Return the result of an interrupted search."""
    from scipy.optimize import OptimizeResult

    value, gradient = search(best.x)  # type: ignore[arg-type]
    found = {"x": best.x, "nfev": best.evaluations, "status": MINIMIZE_STATUS, "message": MESSAGE}
    return OptimizeResult(found, success=False, fun=value, jac=gradient)
