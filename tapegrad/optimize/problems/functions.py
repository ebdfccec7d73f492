"""Objective, constraints and Lagrangian of a problem as functions of vectors, with their derivatives, by replay."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.frontend.functions.reductions import reductions
from tapegrad.frontend.functions.shapes.flat_structures import LeafLayout
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.optimize.flat import FlatConstraints, FlatScalar, flat_jit, layout_of
from tapegrad.optimize.objective import Objective
from tapegrad.optimize.problems.fixed_structure import FixedStructure
from tapegrad.pytree import LEAF, flatten
from tapegrad.transforms.base import Transform, replay_of
from tapegrad.transforms.grad import grad
from tapegrad.transforms.jacobians import sparse
from tapegrad.transforms.jacobians.jacobian import jacobian
from tapegrad.transforms.jit import Jit

Structure = tuple[np.ndarray, np.ndarray]
_FLOAT = np.dtype(np.float64)
_NO_ENTRIES = np.zeros(0, np.int32)


def _nothing(x: np.ndarray, *args: Any) -> np.ndarray:
    """Return no values, for no constraints."""
    return np.zeros(0)


class ConstraintValues(FlatConstraints):
    """Constraints of a problem in one vector, and the layout of what the function returns."""

    def __call__(self, x: Any, *args: Any) -> Any:
        results = self._value(x, args)
        leaves, definition = flatten(results)
        shapes = tuple(leaf.shape if is_tensor(leaf) else np.shape(leaf) for leaf in leaves)
        if definition is not LEAF and type(results) in (list, tuple) and not any(shapes):
            definition, shapes = LEAF, ((len(leaves),),)  # of numbers alone: a vector
        vector = self._joined(results, x) if leaves else x[:0]
        return vector, LeafLayout(definition, shapes, (_FLOAT,) * len(shapes))


class Lagrangian(Transform):
    """Lagrangian of a problem, a scalar of multipliers, of a factor, of a vector, and of further arguments.

    Parameters
    ----------
    objective
        The objective.
    constraints
        The constraints, or `None`.
    """

    name = "problem"
    leading = 2

    def __init__(self, objective: FlatScalar, constraints: FlatConstraints | None) -> None:
        super().__init__(objective)
        self._constraints = constraints

    @property
    def settings(self) -> tuple[Any, ...]:
        return (None if self._constraints is None else (self._constraints.function, self._constraints.key),)

    def __call__(self, multipliers: Any, factor: Any, x: Any, *args: Any) -> Any:
        value = factor * self.function(x, *args)
        if self._constraints is not None:
            value = value + reductions.sum(multipliers * self._constraints(x, *args))
        return value


class ProblemFunctions:
    """Functions of a problem on vectors. All take further arguments behind those that are listed.

    Parameters
    ----------
    objective
        The objective, for `x0`.
    constraints
        The constraints as the user gave them, recorded by `jit`, or `None`.
    x0
        The starting point as a vector.
    args
        Further arguments.

    Attributes
    ----------
    n, m
        Number of variables, and of constraints.
    layout, constraint_layout
        Layouts of `x0`, and of what the constraints return.
    value, gradient
        The objective at ``x``, a number, and its gradient.
    constraints
        The constraints at ``x``, a vector.
    jacobian
        Entries of their Jacobian at ``x``.
    hessian
        Entries of the lower triangle of the Lagrangian's Hessian, given multipliers, a factor of the objective, and
        ``x``.
    """

    def __init__(
        self, objective: Objective, constraints: Jit[..., Any] | None, x0: np.ndarray, args: tuple[Any, ...]
    ) -> None:
        self.layout, self.constraint_layout = objective.layout, layout_of(np.zeros(0))
        self.n = self.layout.size
        self.value: Callable[..., Any] = objective.replayed
        self.gradient: Callable[..., Any] = grad(objective.replayed)
        self.constraints: Callable[..., Any] = _nothing
        self.jacobian: Callable[..., Any] = _nothing
        flat = None
        if constraints is not None:
            values = flat_jit(ConstraintValues, constraints, self.layout)
            self.constraint_layout = values(x0, *args)[1]
        self.m = self.constraint_layout.size
        if self.m:
            assert constraints is not None
            flat = FlatConstraints(constraints, self.layout)
            self.constraints = lambda x, *args: values(x, *args)[0]
            made = jacobian(flat_jit(FlatConstraints, constraints, self.layout), sparse=True)
            self.jacobian = FixedStructure("jacobian", made)
        lagrangian = replay_of(Lagrangian(FlatScalar(objective.function, self.layout), flat))
        self.hessian = FixedStructure("hessian", sparse.lower_hessian(lagrangian, 2))

    def structures(
        self, x: np.ndarray, args: tuple[Any, ...], exact: bool, anew: bool
    ) -> tuple[Structure, Structure | None]:
        """Return rows and columns of the entries of the Jacobian, and of the Hessian.

        Parameters
        ----------
        x, args
            Arguments of the functions, whose branches have all of their entries in the structures.
        exact
            Whether the Hessian is wanted; else its structure is `None`.
        anew
            Whether arguments may be of other shapes than before. If not, structures that are known are returned.
        """
        of_jacobian = self.jacobian_structure(
            x, args, anew
        )  # first, for it finds a wrong number of constraints
        if not exact:
            return of_jacobian, None
        known = None if anew else self.hessian.known
        return of_jacobian, known or self.hessian.structure(np.ones(self.m), 1.0, x, *args)

    def jacobian_structure(self, x: np.ndarray, args: tuple[Any, ...], anew: bool = True) -> Structure:
        """Return rows and columns of the entries of the Jacobian."""
        if not isinstance(self.jacobian, FixedStructure):
            return _NO_ENTRIES, _NO_ENTRIES
        return (None if anew else self.jacobian.known) or self.jacobian.structure(x, *args)
