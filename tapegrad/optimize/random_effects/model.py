"""Joint density as a function of two vectors, free parameters and effects, and the marginal density of it."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.errors import check_function
from tapegrad.frontend.functions.shapes.flat_structures import LeafLayout, joined, taken_apart
from tapegrad.frontend.functions.sparse_systems.cholesky import SparseCholesky, SparseFactor
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.latent.effects import checked_random
from tapegrad.latent.laplace import WithMode
from tapegrad.optimize.flat import as_vector
from tapegrad.optimize.random_effects.tied import Tied, tied
from tapegrad.transforms.base import without_jit
from tapegrad.transforms.grad import grad, value_and_grad
from tapegrad.transforms.jacobians.hessian import hessian
from tapegrad.transforms.jacobians.jacobian import jacobian
from tapegrad.transforms.jit import Jit, jit


class LatentModel:
    """Joint density of data and random effects.

    Parameters
    ----------
    function
        Minus the logarithm of the joint density.
    x0
        Its arguments, a tuple; or one dict of parameters and effects, if `random` has keys.
    random
        Which of them are effects.
    args
        Further arguments, which are data.
    map_
        What is fixed, or shares a value.

    Attributes
    ----------
    layout, effects_layout
        Layouts of the parameters and of the effects.
    start, effects_start
        Both as vectors: all parameters, and the effects.
    tied
        The groups of parameters that have one value.
    marginal
        Takes the free parameters, the effects and the data; returns ``((value, (mode, status, steps)), gradient)``.
    """

    def __init__(
        self, function: Callable[..., Any], x0: Any, random: Any, args: tuple[Any, ...], map_: Any
    ) -> None:
        check_function("laplace", function)
        self.function, self.args = jit(function) if not isinstance(function, Jit) else function, args
        self.random = checked_random(random)
        self.has_several = False
        parameters, effects = self._split(x0)
        self.start, self.layout = _vector_of(parameters)
        self.effects_start, self.effects_layout = _vector_of(effects)
        if not len(self.start):
            raise ValueError("laplace: there are no parameters; all arguments are random")
        self.tied: Tied = tied(self.layout, self.start, map_)
        self.joint = jit(self._joint)
        self.marginal = value_and_grad(WithMode(self.joint, 1), has_aux=True)
        self._hessian = hessian(self.joint, argnums=1, sparse=True)
        slope = jit(grad(self.joint, argnums=1))
        self._mixed = jacobian(slope, argnums=0, mode="forward")
        self._factorization: SparseCholesky | None = None

    def with_data(self, args: tuple[Any, ...]) -> "LatentModel":
        """Return the same with other data, of the same shapes for the same recordings."""
        made = copy.copy(self)
        made.args = args
        return made

    # --- arguments -----------------------------------------------------------------------------------------------

    @property
    def _is_keyed(self) -> bool:
        return isinstance(self.random, tuple) and any(isinstance(key, str) for key in self.random)

    def _numbers(self, count: int) -> list[int]:
        """Return the numbers of the arguments that are effects."""
        given = self.random if isinstance(self.random, tuple) else (self.random,)
        numbers = [int(number) % count for number in given if -count <= int(number) < count]
        if len(numbers) < len(given):
            raise ValueError(f"laplace: random={self.random!r}, but x0 has {count} arguments")
        return numbers

    def _split(self, x0: Any) -> tuple[Any, Any]:
        """Return the parameters and the effects of the arguments: one by itself, several in a tuple."""
        if self._is_keyed:
            missing = [key for key in self.random if not isinstance(x0, dict) or key not in x0]  # type: ignore[union-attr]
            if missing:
                raise ValueError(f"laplace: random={self.random!r}, so x0 must be a dict with {missing[0]!r}")
            keys = list(self.random)  # type: ignore[arg-type]
            parameters = {key: x0[key] for key in x0 if key not in keys}
            return parameters, as_vector(x0[keys[0]]) if len(keys) == 1 else {key: x0[key] for key in keys}
        if not isinstance(x0, tuple | list):
            raise TypeError(
                "laplace: x0 must be the tuple of all arguments; or a dict, if random= has its keys"
            )
        numbers = self._numbers(len(x0))
        others = [k for k in range(len(x0)) if k not in numbers]
        self.has_several = len(others) != 1
        given = list(map(as_vector, x0))
        return _alone([given[k] for k in others]), _alone([given[k] for k in numbers])

    def arguments(self, parameters: Any, effects: Any) -> tuple[Any, ...]:
        """Return the arguments of the function, without data."""
        if self._is_keyed:
            keys = list(self.random)  # type: ignore[arg-type]
            return ({**parameters, **({keys[0]: effects} if len(keys) == 1 else effects)},)
        chosen = [effects] if not isinstance(self.random, tuple) or len(self.random) == 1 else list(effects)
        count = len(chosen) + (len(parameters) if self.has_several else 1)
        numbers = self._numbers(count)
        own = iter(list(parameters) if self.has_several else [parameters])
        placed = dict(zip(numbers, chosen, strict=True))
        return tuple(placed[k] if k in placed else next(own) for k in range(count))

    # --- functions of two vectors --------------------------------------------------------------------------------

    def parameters(self, free: Any) -> Any:
        """Return the parameters in their structure, given those that are free."""
        return self.layout.split(self.tied.spread(free))

    def effects(self, vector: Any) -> Any:
        """Return the effects in their structure."""
        return self.effects_layout.split(vector)

    def _joint(self, free: Any, vector: Any, *args: Any) -> Any:
        arguments = self.arguments(self.parameters(free), self.effects(vector))
        return without_jit(self.function)(*arguments, *args)

    def factor(self, free: np.ndarray, vector: np.ndarray) -> SparseFactor:
        """Return the factor of the Hessian by the effects."""
        if self._factorization is None:
            self._factorization = SparseCholesky(self._hessian.pattern(free, vector, *self.args))
        return self._factorization.factor(self._hessian.values(free, vector, *self.args))

    def mode_slopes(self, free: np.ndarray, vector: np.ndarray, factor: SparseFactor) -> np.ndarray:
        """Return the derivatives of the mode by the free parameters, of shape (effects, parameters)."""
        return -factor.solve(self._mixed(free, vector, *self.args)).data


def _vector_of(structure: Any) -> tuple[np.ndarray, LeafLayout]:
    """Return the elements of a structure as an array, and its layout."""
    leaves, layout = taken_apart(structure, "x0")
    vector = joined(leaves, np.dtype(np.float64))
    return vector.data if is_tensor(vector) else vector, layout


def _alone(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else tuple(values)
