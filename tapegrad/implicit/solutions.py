"""Solutions that solvers have returned: roots of equations of vectors, with derivatives."""

from collections.abc import Callable, Sequence
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
    held
        Number of the last arguments that the user's function does not take.
    """

    name: str
    stated: Callable[..., Any]
    residual: Callable[..., Any]
    system: System
    held: int = 0


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
        The other leaves of the arguments.
    equation_of, equation
        Makes the equation for some values of the other leaves; the equation for these.
    key
        Equal for solutions of one formulation that have the same `equation_of`.
    """

    def __init__(self, name: str, formulation: Formulation, x: Any, args: Any, kwargs: Any) -> None:
        self.formulation, self._arguments = formulation, (args, kwargs)
        given, definition = flatten((args, kwargs))
        self._x, self._has_tensors = x, any(map(is_tensor, given))
        solved = stop_gradient(x) if is_recording() else plain(stop_gradient(x))
        leaves, self.layout = taken_apart(solved, f"{formulation.name}: the solution x")
        dtype = np.result_type(*map(part_dtype, self.layout.dtypes)) if leaves else np.dtype(float)
        self.root = joined(leaves, dtype)
        is_operand = _may_vary if is_recording() else _is_differentiated
        by = {k: leaf.dtype.kind == "c" for k, leaf in enumerate(given) if is_operand(leaf)}
        self.operands = [pairs_in(given[k]) for k in by]
        self.others = [_kept(leaf) for k, leaf in enumerate(given) if k not in by]
        self.key = self.layout, definition, tuple(by.items())
        self.equation_of = _equations(name, formulation, self.layout, definition, by)
        self.equation = self.equation_of(self.others)

    def closes_over_tensors(self) -> bool:
        """Return whether the residual computes with Tensors that are not arguments, and gradients may flow to them."""
        if not thread.mode.differentiate:
            return False
        stated, root = self.formulation.stated, from_array(self.root, constant=True)
        if stated is self.formulation.residual:
            found = [self.equation.residual(root, *stop_gradient(self.operands))]
        else:  # a gradient would be no constant
            args, kwargs = stop_gradient(self._arguments)
            args = args[: len(args) - self.formulation.held]
            found = flatten(stated(self.layout.split(root), *args, **kwargs))[0]
        return any(map(_is_differentiated, found))

    def as_returned(self) -> Any:
        """Return the solution as the solver has returned it, as Tensors if there were some among the arguments."""
        if self._has_tensors:
            return self.layout.split(from_array(self.root, constant=True))
        return plain(self._x)


def with_derivatives(solution: Solution, calls: dict[Any, RuleCalls], failed: Any = None) -> Any:
    """Return a solution as Tensors, or as it was returned if nothing is differentiated.

    Parameters
    ----------
    solution
        The solution.
    calls
        Rules of this formulation that are known.
    failed
        Number that is not zero if the solution was not found: then derivatives raise. `None` to take it for one.
    """
    equation, operands, layout = solution.equation, solution.operands, solution.layout
    stated, rules = solution.formulation.stated, calls.get(solution.key)
    is_known = rules is not None and rules.hold
    if is_recording() or failed or (not is_known and solution.closes_over_tensors()):
        if failed is not None:
            equation, operands = regular(equation), [*operands, failed != 0]
        root = implied(equation, solution.root, operands, stated)
    elif operands:
        if rules is None:
            rules = calls[solution.key] = RuleCalls(stated, solution.equation_of)
        root = eager_root(equation.name, rules, solution.others, solution.root, operands)
    else:
        return solution.as_returned()
    if failed is not None and (is_recording() or failed):
        root = converged(root, failed)
    return layout.split(root)


def _equations(
    name: str, formulation: Formulation, layout: LeafLayout, definition: Any, by: dict[int, bool]
) -> Callable[[Any], Equation]:
    """Return what makes the equation of vectors, given the leaves of the arguments that are no operands.

    `by` has the numbers of those that are, and whether they are complex.
    """

    def equation_of(others: Sequence[Any]) -> Equation:
        def residual(root: Any, *operands: Any) -> Any:
            wholes = zip(by.values(), operands, strict=True)
            values = [complex_of(as_tensor(x, name)) if is_whole else x for is_whole, x in wholes]
            given, rest = iter(values), iter(others)
            leaves = [next(given) if k in by else next(rest) for k in range(len(by) + len(others))]
            args, kwargs = unflatten(definition, leaves)
            value = formulation.residual(layout.split(root), *args, **kwargs)
            return _vector(formulation, value, layout, root.dtype)

        return Equation(name, residual, formulation.system)

    return equation_of


def _kept(leaf: Any) -> Any:
    """Return a leaf for use in derivatives: of an array, which may be written to until then, a copy."""
    return leaf.copy() if isinstance(leaf, np.ndarray) and not is_recording() else leaf


def plain(value: Any) -> Any:
    """Return a structure with arrays in place of its Tensors, which are constants."""
    leaves, definition = flatten(value)
    return unflatten(definition, [numpy_scalar(leaf.data) if is_tensor(leaf) else leaf for leaf in leaves])


def is_recording() -> bool:
    """Return whether a function is being recorded."""
    return thread.mode.recorder is not None


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
