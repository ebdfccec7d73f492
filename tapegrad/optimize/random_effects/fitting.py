"""The search of a fit: from the start to its result, with progress and interrupts."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.engine.runtime.messages.progress import Progress
from tapegrad.errors import NoModeError
from tapegrad.optimize.interruption import MESSAGE, MINIMIZE_STATUS, BestPoint, interrupts
from tapegrad.optimize.random_effects.fit import LaplaceFit
from tapegrad.optimize.random_effects.model import LatentModel
from tapegrad.optimize.random_effects.search import ModeToMode


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
    model = LatentModel(function, x0, random, args, map_)
    free = model.tied.collected(model.start)
    with Progress(progress is not False) as line:
        search = ModeToMode(model, model.effects_start, line)
        value, _ = search(free)
        if search.failure:
            raise NoModeError(f"laplace: where the search begins {search.failure}")
        if not np.isfinite(value):
            raise ValueError(f"laplace: minus the logarithm of the marginal density is {value} at x0")
        best = BestPoint(search, False, line)
        try:
            result = _searched(best, free, method, options)
        except KeyboardInterrupt:
            if best.x is None or interrupts.is_second():
                raise
            result = _interrupted(search, best)
    if not np.isfinite(result.fun):
        result.success = False
    mode = ModeToMode(model, search.effects)
    mode(result.x)
    return LaplaceFit(result, model, np.array(result.x), mode.effects, search.steps)


def _searched(best: BestPoint, free: np.ndarray, method: str, options: dict[str, Any]) -> Any:
    from scipy.optimize import minimize

    return minimize(best, free, method=method, jac=True, **options)


def _interrupted(search: ModeToMode, best: BestPoint) -> Any:
    """Return the result of an interrupted search."""
    from scipy.optimize import OptimizeResult

    value, gradient = search(best.x)  # type: ignore[arg-type]
    found = {"x": best.x, "nfev": best.evaluations, "status": MINIMIZE_STATUS, "message": MESSAGE}
    return OptimizeResult(found, success=False, fun=value, jac=gradient)
