"""Solutions that solvers have returned: roots of equations of vectors, with derivatives."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.errors import name_of
from tapegrad.frontend.conversions.complex_views import complex_of, part_dtype
from tapegrad.frontend.functions.shapes.flat_structures import LeafLayout, joined, pairs_in, taken_apart
from tapegrad.frontend.recording.record_structural import as_tensor
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import from_array, is_tensor
from tapegrad.implicit.converged import converged
from tapegrad.implicit.eager_root import RuleCalls, eager_root
from tapegrad.implicit.equation import Equation, System, regular
from tapegrad.implicit.recorded_root import implied
from tapegrad.program.recording.signature import numpy_scalar
from tapegrad.pytree import flatten, unflatten
from tapegrad.transforms.stop_gradient import stop_gradient


class Formulation(NamedTuple):
    """Equations that a solver solves, as the user has stated them.

    Attributes
    ----------
    name
        The public function, for messages.
    stated
        The user's function.
    residual
        What is zero at a solution: a function of the solution and the arguments of the solver after the first.
    system
        Solves with the Jacobian.
    """

    name: str
    stated: Callable[..., Any]
    residual: Callable[..., Any]
    system: System


class Solution:
    """Solution that a solver has returned, as the root of an equation of vectors.

    Parameters
    ----------
    name
        What messages call it.
    formulation
        What it is a solution of.
    x
        The solution.
    args, kwargs
        The arguments of the residual after the solution.

    Attributes
    ----------
    formulation
        As given.
    root, layout
        The solution as a vector, and its structure.
    operands
        Leaves of the arguments that the root is differentiated by; complex numbers as pairs of floats.
    others
        The arguments with `None` in place of operands, and how to put these back.
    equation_of, equation
        Makes the equation for some values of the arguments that are no operands; the equation for these.
    """

    def __init__(self, name: str, formulation: Formulation, x: Any, args: Any, kwargs: Any) -> None:
        self.formulation = formulation
        given, definition = flatten((args, kwargs))
        self._x, self._has_tensors = x, any(map(is_tensor, given))
        leaves, self.layout = taken_apart(_constant(x), f"{formulation.name}: the solution x")
        dtype = np.result_type(*map(part_dtype, self.layout.dtypes)) if leaves else np.dtype(float)
        self.root = joined(leaves, dtype)
        is_operand = _may_vary if is_recording() else _is_differentiated
        by = {k: leaf.dtype.kind == "c" for k, leaf in enumerate(given) if is_operand(leaf)}
        self.operands = [pairs_in(given[k]) for k in by]
        rest = [None if k in by else _kept(leaf) for k, leaf in enumerate(given)]
        self.others = unflatten(definition, rest), _Static((definition, tuple(by.items())))
        self.equation_of = _equations(name, formulation, self.layout)
        self.equation = self.equation_of(self.others)

    def closes_over_tensors(self) -> bool:
        """Return whether the residual computes with Tensors that are not arguments, and gradients may flow to them."""
        if not thread.mode.differentiate:
            return False
        found = self.equation.residual(self.root, *stop_gradient(self.operands))
        return is_tensor(found) and not found.constant

    def as_returned(self) -> Any:
        """Return the solution as the solver has returned it, as Tensors if there were some among the arguments."""
        if self._has_tensors:
            return self.layout.split(from_array(self.root, constant=True))
        leaves, definition = flatten(self._x)
        return unflatten(
            definition, [numpy_scalar(leaf.data) if is_tensor(leaf) else leaf for leaf in leaves]
        )


def with_derivatives(solution: Solution, calls: dict[Any, RuleCalls], failed: Any = None) -> Any:
    """Return a solution as Tensors, or as it was returned if nothing is differentiated.

    Parameters
    ----------
    solution
        The solution.
    calls
        Rules of this formulation that are known, by the layouts of solutions.
    failed
        Number that is not zero if the solution was not found: then derivatives raise. `None` to take it for one.
    """
    equation, operands, layout = solution.equation, solution.operands, solution.layout
    stated = solution.formulation.stated
    if is_recording() or failed or solution.closes_over_tensors():
        if failed is not None:
            equation, operands = regular(equation), [*operands, failed != 0]
        root = implied(equation, solution.root, operands, stated)
    elif operands:
        if layout not in calls:
            calls[layout] = RuleCalls(stated, solution.equation_of)
        root = eager_root(equation, calls[layout], solution.others, solution.root, operands)
    else:
        return solution.as_returned()
    return layout.split(root if failed is None else converged(root, failed))


def _equations(name: str, formulation: Formulation, layout: LeafLayout) -> Callable[[Any], Equation]:
    """Return what makes the equation of vectors, given the arguments that are no operands."""

    def equation_of(others: Any) -> Equation:
        rest, static = others
        definition, by = static.value
        leaves = flatten(rest)[0]

        def residual(root: Any, *operands: Any) -> Any:
            full = {
                k: complex_of(as_tensor(operand, name)) if is_whole else operand
                for (k, is_whole), operand in zip(by, operands, strict=True)
            }
            args, kwargs = unflatten(definition, [full.get(k, leaf) for k, leaf in enumerate(leaves)])
            value = formulation.residual(layout.split(root), *args, **kwargs)
            return _vector(formulation, value, layout, root.dtype)

        return Equation(name, residual, formulation.system)

    return equation_of


def _kept(leaf: Any) -> Any:
    """Return a leaf for use in derivatives: of an array, which may be written to until then, a copy."""
    return leaf.copy() if isinstance(leaf, np.ndarray) and not is_recording() else leaf


def _constant(x: Any) -> Any:
    """Return a solution as arrays, while recording as constant Tensors."""
    leaves, definition = flatten(stop_gradient(x))
    if not is_recording():
        leaves = [leaf.data_or_traced() if is_tensor(leaf) else leaf for leaf in leaves]
    return unflatten(definition, leaves)


def is_recording() -> bool:
    """Return whether a function is being recorded."""
    return thread.mode.recorder is not None


class _Static:
    """Value that recordings are told apart by, by its hash."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Static) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)


def _may_vary(leaf: Any) -> bool:
    """Return whether a leaf of the arguments may be another one in the next replay."""
    return (is_tensor(leaf) or isinstance(leaf, np.ndarray)) and leaf.dtype.kind in DIFFERENTIABLE_KINDS


def _is_differentiated(leaf: Any) -> bool:
    return is_tensor(leaf) and not leaf.constant


def _vector(formulation: Formulation, value: Any, layout: LeafLayout, dtype: Any) -> Any:
    """Return a residual as a vector, of as many elements as the solution has."""
    leaves, own = taken_apart(value, f"{formulation.name}: the residual")
    if own.size != layout.size:
        raise ValueError(
            f"{formulation.name}: {name_of(formulation.stated)} must return as many numbers as there are unknowns, but"
            f" returned {own.size} ({own}) for {layout.size} unknowns ({layout})"
        )
    return joined(leaves, dtype)
