"""Roots on the eager tape: one instruction, whose rules are replayed from the second sweep on."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.autodiff.custom.functions import Functions
from tapegrad.autodiff.custom.op import CustomOp
from tapegrad.frontend.tensor.modes import eager_mode, restoring
from tapegrad.frontend.tensor.tensor import from_array, is_tensor
from tapegrad.implicit.equation import Equation
from tapegrad.transforms.base import Transform, replayable
from tapegrad.transforms.jit import jit

EquationOf = Callable[[Any], Equation]


class _Rule(Transform):
    """Rule of an equation, as a function of arguments that are recorded. Its captured state is that of the user's."""

    name = "custom_root"

    def __init__(self, function: Callable[..., Any], equation_of: EquationOf, is_pull: bool) -> None:
        super().__init__(function)
        self._equation_of, self._is_pull = equation_of, is_pull

    @property
    def settings(self) -> tuple[Any, ...]:
        return self._equation_of, self._is_pull

    def __call__(self, root: Any, operands: tuple[Any, ...], duals: Any, others: Any) -> Any:
        """Return the cotangents of the operands, or the tangent of the root."""
        equation, numbers = self._equation_of(others), range(len(operands))
        if self._is_pull:
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
        self._stated, self._equation_of = stated, equation_of
        self._rules: dict[bool, Callable[..., Any]] = {}
        self._recorded: dict[bool, Callable[..., Any]] = {}

    def call(self, is_pull: bool, root: Any, operands: Sequence[Any], duals: Any, others: Any) -> Any:
        """Return the cotangents of the operands, or the tangent of the root."""
        arguments = root, tuple(operands), duals, others
        if is_pull in self._recorded:
            return self._recorded[is_pull](*arguments)
        if is_pull not in self._rules:
            self._rules[is_pull] = _Rule(jit(self._stated), self._equation_of, is_pull)
        else:
            self._recorded[is_pull] = replayable(self._rules[is_pull]) or self._rules[is_pull]
        return _arrays_of(self._rules[is_pull], *arguments)


@restoring
def _arrays_of(rule: Callable[..., Any], root: Any, operands: Any, duals: Any, others: Any) -> Any:
    """Return what a rule finds of constants on the eager tape, as arrays."""
    constants = [_constant(root), tuple(map(_constant, operands))]
    duals = tuple(map(_constant, duals)) if isinstance(duals, tuple) else _constant(duals)
    with eager_mode():
        found = rule(*constants, duals, others)
    return tuple(map(_array, found)) if isinstance(found, tuple) else _array(found)


def _constant(array: Any) -> Any:
    return from_array(np.array(array, order="C"), constant=True)


def _array(value: Any) -> np.ndarray:
    return np.array(value.data_or_traced() if is_tensor(value) else value)


def eager_root(
    equation: Equation, calls: RuleCalls, others: Any, root: np.ndarray, operands: Sequence[Any]
) -> Any:
    """Return a root, with the derivatives of its equation.

    Parameters
    ----------
    equation
        The equation, whose residual uses no Tensors but its arguments.
    calls, others
        Its rules on arrays, and what these are called with beside root and operands.
    root, operands
        The root, and Tensors of floats that are not constant.
    """

    def pull(y_bar: Any, y: Any, *xs: Any) -> Any:
        if any(map(is_tensor, (y_bar, *xs))):
            return tuple(equation.pull(y, xs, range(len(xs)), y_bar))
        return tuple(calls.call(True, y, xs, y_bar, others))

    def push(x_dots: Any, y: Any, *xs: Any) -> Any:
        if any(map(is_tensor, (*x_dots, *xs))):
            return equation.push(y, xs, range(len(xs)), x_dots)
        return calls.call(False, y, xs, tuple(x_dots), others)

    return CustomOp(Functions(equation.name, lambda *_: root, pull, push, True))(*operands)
