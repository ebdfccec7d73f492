"""Segments in which one vector holds each line: no loop."""

from collections.abc import Sequence
from typing import Any

from tapegrad.engine.codegen.ir.body import Body, Value
from tapegrad.engine.codegen.ir.complex_values import ComplexValue, parts_of
from tapegrad.engine.codegen.ir.operations import select, transposed
from tapegrad.engine.codegen.ir.sums import PARTS, in_lanes, nothing, total_of_few
from tapegrad.engine.codegen.ir.types import I64, Type
from tapegrad.engine.codegen.segments.extremes import Joining
from tapegrad.engine.codegen.segments.segment import LineElement, SegmentRow
from tapegrad.engine.codegen.segments.vectors import SegmentForm, VectorIndex


def _mask_of(body: Body, lanes: Sequence[bool]) -> Value:
    """Return the mask that is true in some lanes."""
    bits = ", ".join(f"i1 {str(lane).lower()}" for lane in lanes)
    return body.named(Type("i1", len(lanes)), f"<{bits}>")


class ShortVectorIndex(VectorIndex):
    """The elements of a short segment."""

    def __init__(self, shape: SegmentForm, index: Value, masks: list[Value | None]) -> None:
        super().__init__(shape, index, masks)
        self._sums: dict[int, dict[int, tuple[Value, bool]]] = {}

    def add_total(self, line: int, values: Sequence[Value], stored: bool) -> None:
        self._bring_to(line, total_of_few(values), stored)

    def add_sums(self, line: int, values: Sequence[Value], stored: bool) -> None:
        element = self.shape.element_of.get(line)
        if element is not None and len(values) == 1:
            self._sum_later(element, values[0], stored)
            return
        totals = [self._total(value) for value in values]
        if len(totals) == 1:
            self._bring_to(line, totals[0], stored)
            return
        before, narrow = parts_of(self.read(line)), self.shape.type_of(line).element
        added = [
            self.body.convert(
                "fptrunc", total if stored else self.body.convert("fpext", x, "double") + total, narrow
            )
            for x, total in zip(before, totals, strict=True)
        ]
        self.write(line, ComplexValue(*added))

    def _total(self, value: Value) -> Value:
        """Return the sum of all lanes, in every lane."""
        parts = in_lanes(self.body.constant(PARTS, 0.0), value)
        return self.body.splat(nothing(self.body).raised(parts).value, self.shape.lanes)

    def _sum_later(self, element: LineElement, value: Value, stored: bool) -> None:
        """Add a line to an element of another one when that is read, all of these lines at once."""
        waiting = self._sums.setdefault(element.whole, {})
        if element.lane in waiting:
            self._sum_up(element.whole)
            waiting = self._sums[element.whole] = {}
        waiting[element.lane] = value, stored

    def _sum_up(self, whole: int) -> None:
        """Add lines to the elements of another one, each to its own."""
        waiting = self._sums.pop(whole)
        rows = [waiting[k][0] if k in waiting else None for k in range(self.shape.lanes)]
        totals = total_of_few(transposed(rows, max(self.segment.counts)))
        narrow, before = self.shape.type_of(whole).element, super().read(whole)
        added = self.body.convert("fpext", before, "double") + totals
        for is_stored, total in ((False, added), (True, totals)):
            chosen = [k in waiting and waiting[k][1] == is_stored for k in range(self.shape.lanes)]
            if any(chosen):
                before = select(
                    _mask_of(self.body, chosen), self.body.convert("fptrunc", total, narrow), before
                )
        self.values[whole] = before

    def read(self, line: int) -> Any:
        if line in self._sums:
            self._sum_up(line)
        return super().read(line)

    def write(self, line: int, value: Any) -> None:
        if line not in self.shape.element_of:
            self._sums.pop(line, None)
        super().write(line, value)

    def _bring_to(self, line: int, total: Value, stored: bool) -> None:
        """Add a float64 to a single element, or write it."""
        if not stored:
            total = self.body.convert("fpext", self.read(line), "double") + total
        self.write(line, self.body.convert("fptrunc", total, self.shape.type_of(line).element))

    def join_all(self, row: SegmentRow, joining: Joining, value: Value) -> None:
        total = self.body.splat(joining.of_lanes(value), self.shape.lanes)
        self.write(row.reduced_to, self.shape.joined(row, total, lambda: self.read(row.reduced_to)))

    def previous(self, value: Value) -> Value:
        return value.like(-0.0)


class Short(SegmentForm):
    """Form of short segments: each line is one vector, and rows can use the result of a sum before them.

    Rows are gone through hastily, and once more with care if a result is NaN.
    """

    def emit(self) -> None:
        vector = self._vector(unmasked=True)
        has_nan = vector.has_nan(self.tainted)
        if has_nan is None:
            vector.end()
            return
        body, masked, right = self.body, self.body.fresh("masked"), self.body.fresh("right")
        body.rarely(has_nan, masked, right)
        body.begin(right)
        with body.scope():
            vector.end()
            body.ret("i64 0")
        body.begin(masked)
        self._vector(unmasked=False).end()

    def _vector(self, unmasked: bool) -> ShortVectorIndex:
        masks = [self._mask(n) for n in self.segment.counts]
        vector = ShortVectorIndex(self, self.body.constant(I64, 0), masks)
        self.rows.emit(vector, unmasked)
        return vector

    def _mask(self, count: int) -> Value | None:
        if count >= self.lanes:
            return None
        return _mask_of(self.body, [lane < count for lane in range(self.lanes)])
