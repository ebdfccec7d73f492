"""Sums into one element: in float64, in eight lanes, in blocks of 256, with what rounding loses carried along.

Element i of a block is added to lane ``i % 8``, whatever the processor and whoever adds: the order is part of the
result. A block's lanes are added to the total's, and what that rounds off is kept (Neumaier 1974).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tapegrad.engine.codegen.ir.body import Body, Value
from tapegrad.engine.codegen.ir.memory import Cotangent, element_at, load, scratch, store
from tapegrad.engine.codegen.ir.operations import absolute, halves, lanes_of, select, total_of
from tapegrad.engine.codegen.ir.pairs import two_sum
from tapegrad.engine.codegen.ir.types import I64, Type
from tapegrad.engine.kernels.lines.accumulate import BLOCK

PARTS = Type("double", 8)
TOTAL = Type("double")


class Total(NamedTuple):
    """A compensated sum in each lane: total and rounding error (Neumaier 1974)."""

    sum: Value
    lost: Value

    def raised(self, block: Value) -> "Total":
        """Return the total with a block added."""
        raised = self.sum + block
        larger = absolute(self.sum) >= absolute(block)
        lost = select(larger, (self.sum - raised) + block, (block - raised) + self.sum)
        return Total(raised, self.lost + lost)

    @property
    def value(self) -> Value:
        """The sum of all lanes. Where a sum is infinite, what was lost is not a number, and left out."""
        total, lost = self.sum, self.lost
        while total.type.lanes > 1:
            (low, high), (low_lost, high_lost) = halves(total), halves(lost)
            total, error = two_sum(low, high)
            lost = low_lost + high_lost + error
        total, lost = (x.body.emit(TOTAL, f"extractelement {x}, i32 0") for x in (total, lost))
        return select((lost - lost).equal(0.0), total + lost, total)


def total_of_few(values: Sequence[Value]) -> Value:
    """Return the sum of at most a block's numbers as float64: that of a line of them, without the lanes of nothing."""
    totals: list[Value | None] = [None] * PARTS.lanes
    losses: list[Value | None] = [None] * PARTS.lanes
    for i, value in enumerate(values):
        before, wide = totals[i % PARTS.lanes], widened(value, None)
        totals[i % PARTS.lanes] = 0.0 + wide if before is None else before + wide
    while (half := len(totals) // 2) > 0:
        for i, (low, high) in enumerate(zip(totals[:half], totals[half:], strict=True)):
            if low is not None and high is not None:
                totals[i], error = two_sum(low, high)
                lost = [each for each in (losses[i], losses[half + i]) if each is not None]
                losses[i] = total_of([*lost, error])
        del totals[half:], losses[half:]
    (total,), (loss,) = totals, losses
    assert total is not None
    return total if loss is None else select((loss - loss).equal(0.0), total + loss, total)


def nothing(body: Body) -> Total:
    """Return the total of no block."""
    zeros = body.constant(PARTS, 0.0)
    return Total(zeros, zeros)


class Sum:
    """A sum in memory of the function's own."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self.parts = scratch(body, TOTAL, PARTS.lanes)
        self._total, self._lost = scratch(body, TOTAL, PARTS.lanes), scratch(body, TOTAL, PARTS.lanes)
        self._keep(nothing(body))

    def _keep(self, total: Total) -> None:
        store(total.sum, self._total)
        store(total.lost, self._lost)

    def _kept(self) -> Total:
        return Total(load(self._total, PARTS), load(self._lost, PARTS))

    def begin(self) -> None:
        """Begin a block."""
        store(self._body.constant(PARTS, 0.0), self.parts)

    def end(self) -> None:
        """Add the block to the total."""
        self._keep(self._kept().raised(load(self.parts, PARTS)))

    def bring_to(self, to: Cotangent) -> None:
        """Add the total to the element that it belongs to, or write it there."""
        bring_to(to, self._kept().value)


def bring_to(to: Cotangent, total: Value) -> None:
    """Add a float64 to the element that it belongs to, or write it there."""
    body, element = total.body, to.line.element
    old = load(to.line.base, element)
    value = body.either(to.stored, total, body.convert("fpext", old, "double") + total)
    store(body.convert("fptrunc", value, element.element), to.line.base)


def add_to_parts(parts: Value, index: Value, value: Value, mask: Value | None) -> None:
    """Add a vector that begins at an index of the block; of a masked one, the lanes where the mask is true."""
    wide = widened(value, mask)
    lanes = min(wide.type.lanes, PARTS.lanes)
    pointer = element_at(parts, TOTAL, index & (PARTS.lanes - 1))
    for first in range(0, wide.type.lanes, lanes):
        part = lanes_of(wide, first, lanes)
        store(load(pointer, part.type) + part, pointer)


def total_of_line(body: Body, count: Value, term: Callable[..., Value]) -> Value:
    """Emit the loops over a line that is added up, and return its sum.

    Parameters
    ----------
    count
        Its elements.
    term
        ``term(index, lanes, mask)``, the vector of float64 that begins at an element; zero where the mask is false.
    """
    lanes = max(body.target.lanes, PARTS.lanes)
    with body.carrying(body.constant(I64, 0), count, BLOCK, nothing(body)) as iteration:
        left = count - iteration.index
        end = iteration.index + body.either(left < BLOCK, left, left.like(BLOCK))
        whole = iteration.index + (end - iteration.index & -lanes)
        start = body.constant(PARTS, 0.0)
        with body.carrying(iteration.index, whole, lanes, [start]) as vectors:
            vectors.following = [in_lanes(vectors.values[0], term(vectors.index, lanes))]
        with body.carrying(whole, end, lanes, vectors.values) as rest:
            mask = body.lane_numbers(lanes) < body.splat(end - whole, lanes)
            rest.following = [in_lanes(rest.values[0], term(rest.index, lanes, mask))]
        iteration.following = list(Total(*iteration.values).raised(rest.values[0]))
    return Total(*iteration.values).value


def widened(value: Value, mask: Value | None) -> Value:
    """Convert a vector for a sum: to float64, and to zero where a mask is false."""
    return value.body.convert("fpext", value if mask is None else select(mask, value, 0.0), "double")


def in_lanes(parts: Value, value: Value) -> Value:
    """Add a vector to the lanes of a block's sum; it begins at a multiple of their number."""
    for first in range(0, value.type.lanes, PARTS.lanes):
        parts = parts + lanes_of(value, first, PARTS.lanes)
    return parts
