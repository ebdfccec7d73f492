"""Sums of tangents or cotangents by buffer, for sweeps on Tensors.

A value is added for a slot, which may be any view of its buffer. Values of the same view are summed at once. Values
of different views are scattered into one flat buffer only when another view is read. A float is a value that all
elements share.

A buffer may be seen as complex numbers and as floats. Its flat value is of floats then, pairs of which are the complex
numbers.
"""

import math
from collections.abc import Callable

from tapegrad.autodiff.graph_view import Geometry
from tapegrad.autodiff.regions import as_pairs, flatten_buffer, materialize, scatter_regions
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.tape import Tape
from tapegrad.frontend.indexing.writes import setitem
from tapegrad.frontend.recording.record import unary
from tapegrad.frontend.recording.rules import Value
from tapegrad.frontend.recording.shape import view_region
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.ops import COPY


class _Geometries(dict[int, Geometry]):
    """Cache of slot geometries: each is read once, for a sweep keeps its slots alive."""

    def __init__(self, tape: Tape) -> None:
        super().__init__()
        self._tape = tape

    def __missing__(self, slot: int) -> Geometry:
        self[slot] = geometry = Geometry.of(self._tape, slot)
        return geometry


class Accumulator:
    """Sums of the values added for each buffer of a tape.

    Attributes
    ----------
    geometry : callable
        Returns the geometry of a slot.
    """

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self.geometry: Callable[[int], Geometry] = _Geometries(tape).__getitem__
        self._values: dict[int, dict[View, tuple[Geometry, Value]]] = {}  # by buffer, then by view

    def add(self, slot: int, value: Value) -> None:
        """Add a value of a slot's shape."""
        self.add_to(self.geometry(slot), value)

    def add_to(self, geometry: Geometry, value: Value) -> None:
        """Add a value of the shape of a view."""
        values = self._values.setdefault(geometry.buffer, {})
        if geometry.view in values:
            value = values[geometry.view][1] + value
        values[geometry.view] = (geometry, value)

    def set_buffer(self, slot: int, value: Value) -> None:
        """Set the value of the whole buffer of a slot, given in any shape with its elements in order."""
        geometry = self.geometry(slot)
        flat = geometry.flat
        if isinstance(value, float) and geometry.dtype.kind == "c":
            value = materialize(value, geometry.shape, geometry.dtype)
        value = value if isinstance(value, float) else flatten_buffer(value, geometry)
        self._values[geometry.buffer] = {flat.view: (flat, value)}

    def get(self, slot: int) -> Value | None:
        """Return the sum for a slot, or `None` if its buffer has no value."""
        return self.of_view(self.geometry(slot))

    def of_view(self, geometry: Geometry) -> Value | None:
        """Return the sum for a view, or `None` if its buffer has no value."""
        values = self._values.get(geometry.buffer)
        if not values:
            return None
        if len(values) == 1 and geometry.view in values and not geometry.view.overlaps:
            return values[geometry.view][1]
        whole = self._merge(geometry)
        if isinstance(whole, float):
            if geometry.dtype.kind != "c" or whole == 0.0:
                return whole
            flat = geometry.flat  # a number in all floats is no real number in all complex ones
            whole = materialize(whole, flat.shape, flat.dtype)
        return view_region(whole, geometry.view)

    def of_buffer(self, slot: int) -> Value | None:
        """Return the sum for the whole buffer of a slot, flat or one float; `None` if it has no value."""
        geometry = self.geometry(slot)
        return self._merge(geometry) if self._values.get(geometry.buffer) else None

    def regions(self, slot: int) -> list[tuple[View, Value]]:
        """Return the values that were added for the buffer of a slot, each with its view; complex ones as pairs."""
        found = []
        for geometry, value in self._values.get(self.geometry(slot).buffer, {}).values():
            if geometry.dtype.kind == "c":
                value = materialize(value, geometry.shape, geometry.dtype)
            geometry, value = as_pairs(value, geometry)
            found.append((geometry.view, value))
        return found

    def forget(self, buffer: int) -> None:
        """Let the values of a buffer go: the sweep reads them no more."""
        self._values.pop(buffer, None)

    def replace(self, geometry: Geometry, value: Tensor) -> None:
        """Replace the sum for a view."""
        flat = geometry.flat
        known = self.of_view(flat)
        whole = materialize(0.0 if known is None else known, flat.shape, flat.dtype)
        copy = unary(COPY, whole)
        setitem(view_region(copy, geometry.view), ..., value)
        self._values[geometry.buffer] = {flat.view: (flat, copy)}

    def _merge(self, like: Geometry) -> Value:
        """Merge the values of all views into one for the whole buffer, flat or one float, and keep that."""
        number, whole, others = 0.0, None, []  # type: float, Value, list[tuple[Geometry, Value]]
        for geometry, value in self._values[like.buffer].values():
            if not geometry.covers_buffer or (isinstance(value, float) and geometry.dtype.kind == "c"):
                others.append(as_pairs(value, geometry))
            elif isinstance(value, float):
                number += value
            else:
                buffer = flatten_buffer(value, geometry)
                whole = buffer if whole is None else whole + buffer
        if whole is None and not others:
            return number
        flat = like.flat
        if number != 0.0:
            others.append((flat, number))
        if others:
            whole = scatter_regions(self._tape, whole, others)
        self._values[like.buffer] = {flat.view: (flat, whole)}
        return whole


def count_ratio(of: tuple[int, ...], to: tuple[int, ...]) -> float:
    """Return how often a broadcast from shape `to` to shape `of` repeats each element."""
    return math.prod(of) / max(math.prod(to), 1)
