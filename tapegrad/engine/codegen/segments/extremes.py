"""Largest and smallest elements, and their derivatives: the arithmetic of `kernels.reduce`, as values.

Neither depends on the order in which elements are taken: NaN stays, 0.0 is larger than -0.0, and ties are counted.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.ir.operations import first_lane, halves, select
from tapegrad.engine.codegen.segments.segment import TIES, SegmentRow
from tapegrad.ops import CODES, ROWS


class Joining(NamedTuple):
    """A reduction: its identity element and its binary function.

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
        """Combine all lanes into one element."""
        while value.type.lanes > 1:
            value = self.join(*halves(value))
        return first_lane(value)


def _larger(x: Value, y: Value) -> Value:
    return x.body.intrinsic("maximum", x, y)


def _smaller(x: Value, y: Value) -> Value:
    return x.body.intrinsic("minimum", x, y)


# By the form that an op has in a segment
JOININGS = {"maximum": Joining(-math.inf, _larger), "minimum": Joining(math.inf, _smaller)}
_SUM_OF_TIES = Joining(0.0, lambda x, y: x + y)


def joining_of(row: SegmentRow) -> Joining:
    """Return the reduction of a row of extremes, or of one of TIES."""
    return _SUM_OF_TIES if row.kind == TIES else JOININGS[ROWS[CODES[row.op]].fused_as or ""]


def ties_of(x: Value, extreme: Value) -> Value:
    """Return one for elements that are the extreme of their line, else zero."""
    one = x.like(1.0)
    rarely = extreme.body.any(_differ(extreme, extreme))
    return x.body.unless(rarely, select(x.equal(extreme), one, 0.0), lambda: _where(x, extreme, one))


def portion(x: Value, extreme: Value, ties: Value, weight: Value, stored: bool) -> Value:
    """Return the contribution to the cotangents of elements; where it is written, not added, it is never -0.0.

    A weight of zero adds nothing. As a rule a single element is the extreme.
    """
    rarely = x.body.any(_differ((extreme - extreme) + ties, ties.like(1.0)))
    usual = select(x.equal(extreme), weight, 0.0)
    found = x.body.unless(rarely, usual, lambda: _where(x, extreme, weight / ties))
    return found + 0.0 if stored else select(weight.equal(0.0), -0.0, found)


def _differ(x: Value, y: Value) -> Value:
    """Return whether any lanes of the first or of the second half differ, in registers of the processor's width."""
    low, high = (a.unequal(b) for a, b in zip(halves(x), halves(y), strict=True))
    return low | high


def _where(x: Value, extreme: Value, value: Value) -> Value:
    """Select a value for elements that are the extreme of their line; if that is NaN, for elements that are NaN."""
    of_nan = select(x.unequal(x), select(extreme.unequal(extreme), value, 0.0), 0.0)
    return select(x.equal(extreme), value, of_nan)
