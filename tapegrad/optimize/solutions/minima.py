"""Minima that are differentiated by further arguments of the user's function: of `minimize` and `least_squares`."""

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.implicit.custom_root import system_of
from tapegrad.implicit.eager_root import RuleCalls
from tapegrad.implicit.solutions import Formulation
from tapegrad.optimize.flat import FlatVector, layout_of, raveled, raveled_numbers
from tapegrad.optimize.solutions.results import Search, differentiated
from tapegrad.pytree import flatten
from tapegrad.transforms.base import ConfiguredTransform
from tapegrad.transforms.grad import grad
from tapegrad.transforms.stop_gradient import stop_gradient

Function = Callable[..., Any]
_AT_BOUND = 1e-9  # distance from a bound, relative to its size and to 1, within which a component is at it


def minimum(
    name: str,
    search: Function,
    objective: Function,
    x0: Any,
    args: Any,
    check: bool,
    rules: dict[Hashable, dict[Any, RuleCalls]],
    bounds: Any = None,
) -> Any:
    """Return the result of a search for a minimum, with derivatives of the solution by further arguments.

    Components at a bound that the gradient points beyond are constants.

    Parameters
    ----------
    name
        What messages call it.
    search
        Takes the start and the arguments, arrays; returns SciPy's result, whose ``x`` is a structure.
    objective
        The user's function, or the cost of the user's residuals.
    check
        Whether derivatives of a solution that was not found raise.
    rules
        Rules of this objective that are known, by the layout and the bounds.
    bounds
        As SciPy takes them, for the parameters as one vector.
    """
    layout = layout_of(x0)
    limits = None if bounds is None else _limits(name, bounds, layout.size)

    def gradient_at(x: Any, *args: Any) -> Any:
        return grad(lambda x: _number(objective(x, *args)))(x)

    def find(x0: Any, *args: Any) -> tuple[Any, Any, tuple[Any, ...]]:
        result = search(x0, *args)
        if limits is None:
            return result.x, result, ()
        gradient = raveled_numbers(gradient_at(result.x, *args), layout)
        return result.x, result, (_held(raveled_numbers(result.x, layout), gradient, *limits),)

    def residual(x: Any, *args: Any) -> Any:
        if limits is None:
            return gradient_at(x, *args)
        *args, held = args  # type: ignore[assignment]
        vector = raveled(x, layout)
        fixed = stop_gradient(vector)
        inner = np.where(held > 0, fixed, vector)
        return np.where(held > 0, vector - fixed, raveled(gradient_at(layout.split(inner), *args), layout))

    formulation = Formulation(name, objective, residual, system_of(name, "auto", True), limits is not None)
    own = rules.setdefault((layout, None if limits is None else np.stack(limits).tobytes()), {})
    return differentiated(formulation, Search(find), x0, args, check, own)


def _number(value: Any) -> Any:
    """Return a value of one element without dimensions."""
    return value.reshape(()) if is_tensor(value) and value.size == 1 else value


def _limits(name: str, bounds: Any, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and the upper bounds of all parameters."""
    pair = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    if any(map(is_tensor, flatten(list(pair))[0])):
        raise UnsupportedError(
            f"{name}: bounds are Tensors; there is no derivative by bounds, give their data, or shift x in the function"
        )
    if name == "minimize" and not hasattr(bounds, "lb"):
        pairs = [(-np.inf if a is None else a, np.inf if b is None else b) for a, b in pair]
        pair = np.asarray(pairs, float).reshape(-1, 2).T
    lower, upper = (np.broadcast_to(np.asarray(each, float), (size,)) for each in pair)
    return lower, upper


def _held(x: np.ndarray, gradient: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return 1 for the components that a bound holds, and 0 for the others."""
    at_lower, at_upper = (
        np.isfinite(limit) & (abs(x - limit) <= _AT_BOUND * np.maximum(1, abs(limit)))
        for limit in (lower, upper)
    )
    return np.where((at_lower & (gradient >= 0)) | (at_upper & (gradient <= 0)), 1.0, 0.0)


# --- least squares -------------------------------------------------------------------------------------------------

_LOSSES: dict[str, Callable[[Any], Any]] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2 * (np.sqrt(1 + z) - 1),
    "huber": lambda z: np.where(z <= 1, z, 2 * np.sqrt(np.where(z <= 1, 1.0, z)) - 1),
    "cauchy": np.log1p,
    "arctan": np.arctan,
}


def cost_of(residuals: Function, loss: Any, scale: float, layout: Any) -> Function:
    """Return the cost of residuals as SciPy's `least_squares` computes it.

    Raises
    ------
    UnsupportedError
        For a loss that is a function of the user's.
    """
    if loss not in _LOSSES:
        raise UnsupportedError(
            f"least_squares: differentiable=True knows the losses {', '.join(map(repr, _LOSSES))}, not {loss!r}; write"
            " the cost as a function for minimize"
        )
    return _Cost(residuals, loss, scale, layout)


class _Cost(ConfiguredTransform):
    """Cost of residuals: a transform, through which recordings see what the residuals do."""

    name = "least_squares"

    def __call__(self, x: Any, *args: Any) -> Any:
        loss, scale, layout = self.settings
        r = FlatVector(self.function, layout)(raveled(x, layout), *args) / scale
        return 0.5 * scale**2 * np.sum(_LOSSES[loss](r * r))
