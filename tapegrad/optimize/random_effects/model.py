"""Joint density as a function of two vectors, free parameters and effects, and the marginal density of it."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.errors import check_function
from tapegrad.frontend.functions.shapes.flat_structures import LeafLayout, joined, taken_apart
from tapegrad.frontend.functions.sparse_systems.cholesky import SparseCholesky, SparseFactor
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.implicit.known import recurring
from tapegrad.latent.effects import checked_random
from tapegrad.latent.laplace import WithMode
from tapegrad.latent.tied import Tied, tied
from tapegrad.optimize.random_effects.roles import ArgumentRoles, roles_of
from tapegrad.transforms.base import Transform, replayable, without_jit
from tapegrad.transforms.grad import grad, value_and_grad
from tapegrad.transforms.jacobians.jacobian import jacobian
from tapegrad.transforms.jacobians.sparse import lower_hessian

_FLOAT64 = np.dtype(np.float64)


class _OfVectors(Transform):
    """Joint density as a function of free parameters and effects, whose recordings a second fit finds."""

    name = "laplace"

    def __init__(
        self,
        function: Callable[..., Any],
        roles: ArgumentRoles,
        layouts: tuple[LeafLayout, LeafLayout],
        groups: Tied,
    ) -> None:
        super().__init__(function)
        self._roles, self._layouts, self._groups = roles, layouts, groups

    @property
    def settings(self) -> tuple[Any, ...]:
        return self._roles, self._layouts, self._groups.key

    def __call__(self, free: Any, vector: Any, *args: Any) -> Any:
        layout, effects_layout = self._layouts
        parameters, effects = layout.split(self._groups.spread(free)), effects_layout.split(vector)
        return without_jit(self.function)(*self._roles.join(parameters, effects), *args)


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
    roles
        What the arguments are.
    start, effects_start
        Both as vectors: all parameters, and the effects.
    tied
        The groups of parameters that have one value.
    joint
        Minus the logarithm of the joint density: takes the free parameters, the effects and the data.
    marginal
        Takes the free parameters, the effects and the data; returns ``((value, (mode, status, steps)), gradient)``.
    """

    def __init__(
        self, function: Callable[..., Any], x0: Any, random: Any, args: tuple[Any, ...], map_: Any
    ) -> None:
        check_function("laplace", function)
        self.args = args
        self.roles, given = roles_of(x0, checked_random(random))
        parameters, effects = self.roles.split(given)
        self.start, self.layout = _vector_of(parameters)
        self.effects_start, self.effects_layout = _vector_of(effects)
        if not len(self.start):
            raise ValueError("laplace: there are no parameters; all arguments are random")
        if not len(self.effects_start):
            raise ValueError(
                f"laplace: random={random!r} has no elements, so there is nothing to integrate out"
            )
        self.tied: Tied = tied(self.layout, self.start, map_)
        recorded = function if replayable(function) is not None else recurring(function).recorded
        self.joint = joint = _OfVectors(recorded, self.roles, (self.layout, self.effects_layout), self.tied)
        self.marginal = value_and_grad(WithMode(joint, 1), has_aux=True)
        self._hessian = lower_hessian(joint, 1)
        self._mixed = jacobian(grad(joint, argnums=1), argnums=0, mode="forward")
        self._factorization: SparseCholesky | None = None

    def with_data(self, args: tuple[Any, ...]) -> "LatentModel":
        """Return the same with other data, of the same shapes for the same recordings."""
        made = copy.copy(self)
        made.args = args
        return made

    # --- functions of two vectors --------------------------------------------------------------------------------

    def parameters(self, free: Any) -> Any:
        """Return the parameters in their structure, given those that are free."""
        return self.layout.split(self.tied.spread(free))

    def effects(self, vector: Any) -> Any:
        """Return the effects in their structure."""
        return self.effects_layout.split(vector)

    def arguments(self, free: Any, vector: Any) -> tuple[Any, ...]:
        """Return the arguments of the function, without data."""
        return self.roles.join(self.parameters(free), self.effects(vector))

    def factor(self, free: np.ndarray, vector: np.ndarray) -> SparseFactor:
        """Return the factor of the Hessian by the effects."""
        if self._factorization is None:
            self._factorization = SparseCholesky(self._hessian.pattern(free, vector, *self.args))
        return self._factorization.factor(self._hessian.values(free, vector, *self.args))

    def mode_slopes(self, free: np.ndarray, vector: np.ndarray, factor: SparseFactor) -> np.ndarray:
        """Return the derivatives of the mode by the free parameters, of shape (effects, parameters)."""
        return -factor.solve(self._mixed(free, vector, *self.args)).data


def _vector_of(structure: Any) -> tuple[np.ndarray, LeafLayout]:
    """Return the elements of a structure as an array, and its layout: in float64, for a mode is found to 1e-10."""
    leaves, given = taken_apart(structure, "x0")
    vector = joined(leaves, _FLOAT64)
    layout = LeafLayout(given.definition, given.shapes, (_FLOAT64,) * len(leaves))
    return vector.data if is_tensor(vector) else vector, layout
