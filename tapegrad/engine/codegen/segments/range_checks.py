"""The kernel that checks a list of row numbers, before a segment takes rows by them.

It is a segment of its own, which writes nothing. So the one behind it cannot fail, and threads may share that: a list
that names a row which does not exist is found before anything is written.
"""

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.ir.memory import element_at, load, load_field
from tapegrad.engine.codegen.ir.types import I64
from tapegrad.engine.codegen.segments.vectors import SegmentForm
from tapegrad.engine.kernels.language.segment_frame import COUNTS, field_of
from tapegrad.engine.kernels.language.status import OUT_OF_RANGE


class RangeCheck(SegmentForm):
    """Emitter of a loop over a list, whose status is OUT_OF_RANGE if the list names a row that does not exist."""

    def emit(self) -> None:
        """Emit the loop over whole vectors; the rest of the list is under a mask, beside zeros, which are in range."""
        body = self.body
        count = load_field(self.frame, field_of(COUNTS))
        whole = count & -self.lanes
        nothing = body.lane_numbers(self.lanes).like(0)
        with body.carrying(count.like(0), whole, self.lanes, [nothing]) as iteration:
            iteration.following = [iteration.values[0] | self._signs(iteration.index)]
        rest = body.lane_numbers(self.lanes) < body.splat(count - whole, self.lanes)
        signs = iteration.values[0] | self._signs(whole, rest)
        with body.when(body.any(signs < 0), rarely=True):
            body.ret(f"i64 {OUT_OF_RANGE}")

    def _signs(self, index: Value, mask: Value | None = None) -> Value:
        """Return numbers that are negative where a row does not exist, whatever wraps around."""
        taken = self.segment.lines[self.segment.rows[0].primals[0]].taken
        assert taken is not None
        type_ = self.type_of(taken.by)
        numbers = load(element_at(self.address(taken.by), I64, index), type_, mask)
        first, last = (self.field_of_number(number) for number in (taken.first, taken.last))
        last_row = self.body.emit(I64, f"sdiv {last - first}, {taken.step}")
        highest = self.body.splat(last_row, self.lanes)
        return (numbers + highest + 1) | (highest - numbers)
