"""Segments in which one vector holds each line: no loop."""

from tapegrad.engine.emitter.body import Value
from tapegrad.engine.emitter.extremes import Joining
from tapegrad.engine.emitter.segment import SegmentRow
from tapegrad.engine.emitter.segment_places import Place, Shape
from tapegrad.engine.emitter.sums import PARTS, in_lanes, nothing
from tapegrad.engine.emitter.types import I64, Type


class _ShortPlace(Place):
    def add_sum(self, line: int, value: Value, stored: bool) -> None:
        parts = in_lanes(self.body.constant(PARTS, 0.0), value)
        total = self.body.splat(nothing(self.body).raised(parts).value, self.shape.lanes)
        if not stored:
            total = self.body.convert("fpext", self.read(line), "double") + total
        self.values[line] = self.body.convert("fptrunc", total, self.shape.type_of(line).element)

    def join_all(self, row: SegmentRow, joining: Joining, value: Value) -> None:
        total = self.body.splat(joining.of_lanes(value), self.shape.lanes)
        self.values[row.reduced_to] = self.shape.joined(row, total, lambda: self.read(row.reduced_to))

    def previous(self, value: Value) -> Value:
        return value.like(-0.0)


class Short(Shape):
    """Each line is one vector; the result of a sum can be used by the rows that follow.

    Rows are gone through hastily, and once more with care if a result is NaN.
    """

    def emit(self) -> None:
        place = self._place(hasty=True)
        has_nan = place.has_nan(self.tainted)
        if has_nan is None:
            place.end()
            return
        body, careful, right = self.body, self.body.fresh("careful"), self.body.fresh("right")
        body.rarely(has_nan, careful, right)
        body.begin(right)
        with body.scope():
            place.end()
            body.do("ret i64 0")
        body.begin(careful)
        self._place(hasty=False).end()

    def _place(self, hasty: bool) -> _ShortPlace:
        masks = [self._mask(n) for n in self.segment.counts]
        place = _ShortPlace(self, self.body.constant(I64, 0), masks)
        self.rows.emit(place, hasty)
        return place

    def _mask(self, count: int) -> Value | None:
        if count >= self.lanes:
            return None
        bits = ", ".join(f"i1 {str(lane < count).lower()}" for lane in range(self.lanes))
        return self.body.named(Type("i1", self.lanes), f"<{bits}>")
