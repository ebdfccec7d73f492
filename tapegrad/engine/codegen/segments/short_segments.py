"""Segments in which one vector holds each line: no loop."""

from collections.abc import Sequence

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.ir.sums import PARTS, in_lanes, nothing, total_of_few
from tapegrad.engine.codegen.ir.types import I64, Type
from tapegrad.engine.codegen.segments.extremes import Joining
from tapegrad.engine.codegen.segments.segment import SegmentRow
from tapegrad.engine.codegen.segments.vectors import SegmentForm, VectorIndex


class _ShortVectorIndex(VectorIndex):
    def add_total(self, line: int, values: Sequence[Value], stored: bool) -> None:
        self._bring_to(line, total_of_few(values), stored)

    def add_sum(self, line: int, value: Value, stored: bool) -> None:
        parts = in_lanes(self.body.constant(PARTS, 0.0), value)
        self._bring_to(
            line, self.body.splat(nothing(self.body).raised(parts).value, self.shape.lanes), stored
        )

    def _bring_to(self, line: int, total: Value, stored: bool) -> None:
        """Add a float64 to a single element, or write it."""
        if not stored:
            total = self.body.convert("fpext", self.read(line), "double") + total
        self.values[line] = self.body.convert("fptrunc", total, self.shape.type_of(line).element)

    def join_all(self, row: SegmentRow, joining: Joining, value: Value) -> None:
        total = self.body.splat(joining.of_lanes(value), self.shape.lanes)
        self.values[row.reduced_to] = self.shape.joined(row, total, lambda: self.read(row.reduced_to))

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

    def _vector(self, unmasked: bool) -> _ShortVectorIndex:
        masks = [self._mask(n) for n in self.segment.counts]
        vector = _ShortVectorIndex(self, self.body.constant(I64, 0), masks)
        self.rows.emit(vector, unmasked)
        return vector

    def _mask(self, count: int) -> Value | None:
        if count >= self.lanes:
            return None
        bits = ", ".join(f"i1 {str(lane < count).lower()}" for lane in range(self.lanes))
        return self.body.named(Type("i1", self.lanes), f"<{bits}>")
