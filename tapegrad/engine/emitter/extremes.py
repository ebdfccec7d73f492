"""Largest and smallest elements, and their derivatives: the arithmetic of `kernels.reduce`, as values.

Neither depends on the order in which elements are taken: NaN stays, 0.0 is larger than -0.0, and ties are counted.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from tapegrad.engine.emitter.body import Value
from tapegrad.engine.emitter.operations import halves, select
from tapegrad.engine.emitter.segment import TIES
from tapegrad.engine.emitter.types import Type


class Joining(NamedTuple):
    """How elements become one.

    Attributes
    ----------
    nothing
        What changes no other element.
    join
        Of two elements the one, lane by lane.
    """

    nothing: float
    join: Callable[[Value, Value], Value]

    def of_lanes(self, value: Value) -> Value:
        """What all lanes become."""
        while value.type.lanes > 1:
            value = self.join(*halves(value))
        return value.body.emit(Type(value.type.element), f"extractelement {value}, i32 0")


def _larger(x: Value, y: Value) -> Value:
    return x.body.intrinsic("maximum", x, y)


def _smaller(x: Value, y: Value) -> Value:
    return x.body.intrinsic("minimum", x, y)


JOININGS = {
    "max_reduce": Joining(-math.inf, _larger),
    "min_reduce": Joining(math.inf, _smaller),
    TIES: Joining(0.0, lambda x, y: x + y),
}


def attains(x: Value, extreme: Value) -> Value:
    """Whether elements are the extreme of theirs; where that is NaN, the elements that are NaN."""
    return x.equal(extreme) | (x.unequal(x) & extreme.unequal(extreme))


def portion(x: Value, extreme: Value, ties: Value, weight: Value, stored: bool) -> Value:
    """What is added to the cotangents of elements, or written there, where it is never -0.0.

    A weight of zero adds nothing.
    """
    body = x.body
    (each,) = body.unless(body.any(ties.unequal(1.0)), (weight,), lambda: (weight / ties,))
    found = select(attains(x, extreme), each, 0.0)
    return found + 0.0 if stored else select(weight.equal(0.0), -0.0, found)
