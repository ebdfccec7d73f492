"""Derivative rules of structural ops on Tensors, stated beside the functions that record the ops.

Sweeps on Tensors look them up by name. An op that is not linear has two rules, one for cotangents and one for tangents.
A linear op names its transpose in its row: another op, or a rule stated by `state_transpose`.
"""

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from tapegrad.engine.tape.fields.view import View
from tapegrad.frontend.recording.record import binary
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.ops import CODES

Value = Any  # a cotangent or a tangent: a Tensor, or a float that all elements share


class Step(Protocol):
    """Instruction of a sweep on Tensors, as derivative rules see it.

    Attributes
    ----------
    operands
        The slots of its operands.
    """

    __slots__ = ()

    operands: tuple[int, ...]

    @property
    def params(self) -> Any:
        """The record of the op's parameters, `None` if it has none."""

    @property
    def y(self) -> Tensor:
        """The primal of the result."""

    def x(self, operand: int) -> Tensor:
        """Return the primal of an operand."""

    def view(self, operand: int) -> View:
        """Return the view of an operand, or of the result (-1): its shape, strides and dtype."""

    def dense(self, value: Value, operand: int) -> Tensor:
        """Return a value of an operand, or of the result (-1), as a Tensor."""

    def asks(self, operand: int) -> bool:
        """Return whether an operand needs a cotangent."""


# --- statements ------------------------------------------------------------------------------------------------

Reverse = Callable[[Step, Value], dict[int, Value]]
Product = Callable[[Step, Tensor, Tensor], Tensor]


class Rules(NamedTuple):
    """Derivative rules of an op that is not linear.

    Attributes
    ----------
    reverse
        From a step and the cotangent of its result: for each operand that is asked for, the contribution to its
        cotangent, in the operand's shape or in one that it broadcasts to.
    forward
        From a step and the tangents of its operands, `None` for zero: the tangent of the result.
    """

    reverse: Reverse
    forward: Callable[..., Value]


RULES: dict[str, Rules] = {}  # by the op's name
TRANSPOSES: dict[str, Reverse] = {}  # by the name that rows give


def state_rules(op: str, reverse: Reverse, forward: Callable[..., Value]) -> None:
    """State the derivative rules of an op that is not linear."""
    RULES[op] = Rules(reverse, forward)


def state_transpose(rule: Reverse) -> Reverse:
    """State a transpose of linear ops, by the name of the function: the reverse rule of each row that names it."""
    TRANSPOSES[rule.__name__] = rule
    return rule


# --- parts of rules --------------------------------------------------------------------------------------------

masked_multiply = binary(CODES["masked_multiply"])  # 0 times anything is 0


def total(terms: Sequence[Tensor]) -> Tensor:
    """Return the sum of one or more terms."""
    return functools.reduce(operator.add, terms)


def rules_of_product(product: Product, first_bar: Product, second_bar: Product) -> Rules:
    """Make the rules of an op that is linear in each of two operands.

    Parameters
    ----------
    product
        The op, from a step and two operands.
    first_bar
        The cotangent of the first operand, from a step, the cotangent of the result, and the second operand.
    second_bar
        That of the second operand, from a step, the first operand, and the cotangent of the result.
    """

    def reverse(step: Step, y_bar: Value) -> dict[int, Value]:
        y_bar = step.dense(y_bar, -1)
        bars: dict[int, Value] = {}
        if step.asks(0):
            bars[0] = first_bar(step, y_bar, step.x(1))
        if step.asks(1):
            bars[1] = second_bar(step, step.x(0), y_bar)
        return bars

    def forward(step: Step, a_dot: Value | None, b_dot: Value | None) -> Value:
        terms = []
        if a_dot is not None:
            terms.append(product(step, step.dense(a_dot, 0), step.x(1)))
        if b_dot is not None:
            terms.append(product(step, step.x(0), step.dense(b_dot, 1)))
        return total(terms)

    return Rules(reverse, forward)
