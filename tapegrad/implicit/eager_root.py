"""Roots on the eager tape: one instruction, whose rules are replayed from the second sweep on."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.autodiff.custom.functions import Functions
from tapegrad.autodiff.custom.op import CustomOp
from tapegrad.frontend.tensor.modes import eager_mode, restoring
from tapegrad.frontend.tensor.tensor import from_array, is_tensor
from tapegrad.implicit.equation import Equation
from tapegrad.pytree import flatten, unflatten
from tapegrad.transforms.base import ConfiguredTransform, replay_of
from tapegrad.transforms.jit import Jit, jit

EquationOf = Callable[[Any], Equation]


class _Rule(ConfiguredTransform):
    """Rule of an equation, as a function of arguments that are recorded. Its captured state is that of the user's.

    Its settings make the equation of the arguments of the residual that are no operands, and say whether it is the
    pullback.
    """

    name = "custom_root"

    def __call__(self, root: Any, operands: tuple[Any, ...], duals: Any, others: Any) -> Any:
        """Return the cotangents of the operands, or the tangent of the root."""
        equation_of, is_pull = self.settings
        equation, numbers = equation_of(others), range(len(operands))
        if is_pull:
            return tuple(equation.pull(root, operands, numbers, duals))
        return equation.push(root, operands, numbers, duals)


class RuleCalls:
    """Rules of an equation on arrays: computed by Tensors at first, and recorded when they are asked for again.

    Parameters
    ----------
    stated
        The user's function in it.
    equation_of
        Makes the equation of the arguments of the residual that are no operands.
    """

    def __init__(self, stated: Callable[..., Any], equation_of: EquationOf) -> None:
        self._rules = [_Rule(jit(stated), equation_of, is_pull) for is_pull in (False, True)]
        self._recorded: dict[bool, Jit[..., Any]] = {}

    @property
    def hold(self) -> bool:
        """True if a rule was recorded, and what the function sees is as it was: it closes over no Tensors then."""
        states = [recorded.captured for recorded in self._recorded.values()]
        return any(state is not None and state.holds() for state in states)

    def call(self, is_pull: bool, root: Any, operands: Any, duals: Any, others: Any) -> Any:
        """Return the cotangents of the operands, or the tangent of the root."""
        arguments = root, operands, duals, others
        if any(map(is_tensor, flatten((operands, duals))[0])):
            return self._rules[is_pull](*arguments)
        if is_pull in self._recorded:
            return self._recorded[is_pull](*arguments)
        self._recorded[is_pull] = replay_of(self._rules[is_pull])
        return _arrays_of(self._rules[is_pull], *arguments)


@restoring
def _arrays_of(rule: Callable[..., Any], root: Any, operands: Any, duals: Any, others: Any) -> Any:
    """Return what a rule finds of constants on the eager tape, as arrays."""
    arrays, definition = flatten((root, operands, duals))
    constants = [from_array(np.array(array, order="C"), constant=True) for array in arrays]
    with eager_mode():
        found, structure = flatten(rule(*unflatten(definition, constants), others))
    return unflatten(structure, [np.array(x.data_or_traced() if is_tensor(x) else x) for x in found])


def eager_root(name: str, calls: RuleCalls, others: Any, root: np.ndarray, operands: Sequence[Any]) -> Any:
    """Return a root, with the derivatives of its equation.

    Parameters
    ----------
    name
        What messages call it.
    calls, others
        The rules of the equation, whose residual uses no Tensors but its arguments, and what these are called with
        beside root and operands.
    root, operands
        The root, and Tensors of floats that are not constant.
    """

    def pull(y_bar: Any, y: Any, *xs: Any) -> Any:
        return calls.call(True, y, xs, y_bar, others)

    def push(x_dots: Any, y: Any, *xs: Any) -> Any:
        return calls.call(False, y, xs, tuple(x_dots), others)

    return CustomOp(Functions(name, lambda *_: root, pull, push, True))(*operands)
