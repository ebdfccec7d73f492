"""Tangents and cotangents of buffers while a sweep on Tensors goes on.

A value belongs to a slot, which may be any view on its buffer, and a buffer has values by several slots. A float
stands for that number in every element. Values of one and the same view are added up at once; what lies in
different places is laid into one buffer when somebody asks for yet another view.
"""

import math
from collections.abc import Callable
from typing import Any

from tapegrad.autodiff.graph_view import Geometry
from tapegrad.autodiff.regions import as_buffer, full, laid, region_of
from tapegrad.engine.tape.tape import Tape
from tapegrad.frontend.record import unary
from tapegrad.frontend.tensor import Tensor
from tapegrad.frontend.writes import setitem
from tapegrad.ops import COPY

Value = Any  # a Tensor, or a float


class _Geometries(dict[int, Geometry]):
    """Where the elements of slots lie. Asked for once: the slots are held while a sweep goes on."""

    def __init__(self, tape: Tape) -> None:
        super().__init__()
        self._tape = tape

    def __missing__(self, slot: int) -> Geometry:
        self[slot] = geometry = Geometry.of(self._tape, slot)
        return geometry


class Accumulator:
    """The values of a tape's buffers.

    Attributes
    ----------
    geometry : callable
        Where the elements of a slot lie.
    """

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self.geometry: Callable[[int], Geometry] = _Geometries(tape).__getitem__
        self._parts: dict[int, dict[Any, tuple[Geometry, Value]]] = {}

    def add(self, slot: int, value: Value) -> None:
        """Add a value of a slot's shape."""
        geometry = self.geometry(slot)
        parts = self._parts.setdefault(geometry.buffer, {})
        place = geometry.place
        if place in parts:
            value = parts[place][1] + value
        parts[place] = (geometry, value)

    def put_whole(self, slot: int, value: Value) -> None:
        """Set the value of all of a slot's buffer, in any shape that has its elements in order."""
        geometry = self.geometry(slot)
        flat = self._flat(geometry)
        value = value if isinstance(value, float) else as_buffer(value, geometry)
        self._parts[geometry.buffer] = {flat.place: (flat, value)}

    def get(self, slot: int) -> Value | None:
        """What has been added up for a slot's elements; `None` for a buffer that has no value."""
        return self.view(self.geometry(slot))

    def view(self, geometry: Geometry) -> Value | None:
        """What has been added up for the elements of a view."""
        parts = self._parts.get(geometry.buffer)
        if not parts:
            return None
        if len(parts) == 1 and geometry.place in parts and not geometry.overlaps:
            return parts[geometry.place][1]
        whole = self._together(geometry)
        return whole if isinstance(whole, float) else region_of(whole, *geometry.place)

    def whole(self, slot: int) -> Value | None:
        """The value of all of a slot's buffer, in one dimension or as one float."""
        geometry = self.geometry(slot)
        parts = self._parts.get(geometry.buffer)
        return self._together(geometry) if parts else None

    def replace(self, geometry: Geometry, value: Tensor) -> None:
        """Put a value in the place of what has been added up for a view."""
        flat = self._flat(geometry)
        known = self.view(flat)
        whole = full(0.0 if known is None else known, flat.shape, flat.dtype)
        copy = unary(COPY, whole)
        setitem(region_of(copy, *geometry.place), ..., value)
        self._parts[geometry.buffer] = {flat.place: (flat, copy)}

    def _flat(self, like: Geometry) -> Geometry:
        """All of a buffer in one dimension."""
        return like._replace(offset=0, shape=(like.elements,), strides=(like.dtype.itemsize,))

    def _together(self, like: Geometry) -> Value:
        """The value of a whole buffer, in one dimension or as one float."""
        number, whole, others = 0.0, None, []  # type: float, Any, list[tuple[Geometry, Value]]
        for geometry, value in self._parts[like.buffer].values():
            if not geometry.whole:
                others.append((geometry, value))
            elif isinstance(value, float):
                number += value
            else:
                buffer = as_buffer(value, geometry)
                whole = buffer if whole is None else whole + buffer
        if whole is None and not others:
            return number
        flat = self._flat(like)
        if number != 0.0:
            others.append((flat, number))
        if others:
            whole = laid(self._tape, whole, others)
        self._parts[like.buffer] = {flat.place: (flat, whole)}
        return whole


def count_ratio(of: tuple[int, ...], to: tuple[int, ...]) -> float:
    """How many elements of one shape fall on each of another that it was broadcast from."""
    return math.prod(of) / max(math.prod(to), 1)
