"""Sums of contributions to one element: in float64, eight partial sums a block, and the blocks one after the other.

Element i of a block is added to partial sum ``i % 8``, whatever the processor: the order is part of the result.
"""

from tapegrad.engine.emitter.body import Body, Value
from tapegrad.engine.emitter.memory import Cotangent, element_at, load, scratch, store
from tapegrad.engine.emitter.operations import select
from tapegrad.engine.emitter.types import Type

_PARTS = Type("double", 8)
_TOTAL = Type("double")


class Sum:
    """A sum in memory of the function's own."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self.parts, self._total = scratch(body, _TOTAL, _PARTS.lanes), scratch(body, _TOTAL, 1)
        store(body.constant(_TOTAL, 0.0), self._total)

    def begin(self) -> None:
        """Begin a block."""
        store(self._body.constant(_PARTS, 0.0), self.parts)

    def end(self) -> None:
        """Add the block to the total."""
        store(load(self._total, _TOTAL) + _across(load(self.parts, _PARTS)), self._total)

    def bring_to(self, to: Cotangent) -> None:
        """Add the total to the element that it belongs to, or write it there."""
        body, element = self._body, to.line.element
        total, old = load(self._total, _TOTAL), load(to.line.base, element)
        value = body.either(to.stored, total, body.convert("fpext", old, "double") + total)
        store(body.convert("fptrunc", value, element.element), to.line.base)


def add_to_parts(parts: Value, index: Value, value: Value, mask: Value | None) -> None:
    """Add a vector that begins at an index of the block; of a masked one, the lanes where the mask is true."""
    body = value.body
    wide = body.convert("fpext", value if mask is None else select(mask, value, 0.0), "double")
    lanes = min(wide.type.lanes, _PARTS.lanes)
    place = element_at(parts, _TOTAL, index & (_PARTS.lanes - 1))
    for first in range(0, wide.type.lanes, lanes):
        part = _lanes(wide, first, lanes)
        store(load(place, part.type) + part, place)


def _lanes(wide: Value, first: int, lanes: int) -> Value:
    """Some lanes of a vector."""
    numbers = ", ".join(f"i32 {first + lane}" for lane in range(lanes))
    type_ = Type(wide.type.element, lanes)
    return wide.body.emit(type_, f"shufflevector {wide}, {wide.type} poison, <{lanes} x i32> <{numbers}>")


def _across(wide: Value) -> Value:
    """The sum of the lanes of a vector: of its halves, until one lane is left."""
    while lanes := wide.type.lanes // 2:
        wide = _lanes(wide, 0, lanes) + _lanes(wide, lanes, lanes)
    return wide.body.emit(_TOTAL, f"extractelement {wide}, i32 0")
