"""Long segments: an unmasked loop over whole vectors, masked iterations for the tail and for vectors with a NaN.

Each count has masks of its own. With sums the loop goes in blocks, as the kernels of rows do, for the order of
additions is part of the result. Contributions to overlapping lines stay in registers: what belongs to later elements
is handed on to the next iteration, so that each element is written once.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from tapegrad.engine.codegen.ir.body import Body, Iteration, Value
from tapegrad.engine.codegen.ir.memory import Cotangent, Line, load, load_field, moved, store
from tapegrad.engine.codegen.ir.sums import PARTS, Total, bring_to, in_lanes, nothing
from tapegrad.engine.codegen.ir.types import Type
from tapegrad.engine.codegen.segments.extremes import Joining, joining_of
from tapegrad.engine.codegen.segments.segment import Segment, SegmentRow
from tapegrad.engine.codegen.segments.vectors import SegmentForm, VectorIndex
from tapegrad.engine.kernels.language.segment_frame import COUNTS, START, STOP, field_of
from tapegrad.engine.kernels.lines.accumulate import BLOCK


class _LongVectorIndex(VectorIndex):
    """Iteration of a long segment: loop-carried values of the previous iteration, and those for the next.

    Parameters
    ----------
    unmasked
        Whether zero times inf may be NaN.
    """

    def __init__(
        self,
        shape: "Long",
        iteration: Iteration,
        masks: list[Value | None],
        written: Value | None = None,
        unmasked: bool = False,
    ) -> None:
        super().__init__(shape, iteration.index, masks, written)
        self._before = list(iteration.values)
        self._sums, self._joined = 0, len(shape.sums)
        self._shifts = self._joined + len(shape.joining)
        self._tainted = shape.tainted
        self.following = list(iteration.values)
        self.values.update(shape.singles)
        shape.rows.emit(self, unmasked)

    def add_sums(self, line: int, values: Sequence[Value], stored: bool) -> None:
        for value in values:
            if line in self._tainted:
                self.to_look_at.append(value)
            self.following[self._sums] = in_lanes(self._before[self._sums], value)
            self._sums += 1

    def join_all(self, row: SegmentRow, joining: Joining, value: Value) -> None:
        self.following[self._joined] = joining.join(self._before[self._joined], value)
        self._joined += 1

    def previous(self, value: Value) -> Value:
        before = self._before[self._shifts]
        self.to_look_at.append(value)
        self.following[self._shifts] = value
        self._shifts += 1
        return before


class _Sum(NamedTuple):
    """A sum over all elements: the number of its address, its line, which part of complex numbers, and how it is kept.

    Attributes
    ----------
    stored
        Whether it is written instead of added.
    """

    number: int
    line: int
    part: int
    stored: bool


class Long(SegmentForm):
    """Emitter of the loop over vectors."""

    def __init__(self, body: Body, segment: Segment) -> None:
        super().__init__(body, segment)
        summed = [each for each in segment.additions if segment.sums_up(each)]
        self.sums = [
            _Sum(number, each.line, part, each.stored)
            for number, each in zip(segment.sums, summed, strict=True)
            for part in range(2 if self.is_pair(each.line) else 1)
        ]
        self.joining = segment.joining
        self._shifted = self._find_shifted()
        self._start, self._stop = (
            load_field(self.frame, field_of(START)),
            load_field(self.frame, field_of(STOP)),
        )
        self._counts = [load_field(self.frame, field_of(COUNTS + k)) for k in range(len(segment.counts))]
        self._whole = self._whole_vectors()

    def _whole_vectors(self) -> Value:
        """Return the end of the last vector that is full in every line."""
        shortest = self._counts[0]
        for each in self._counts[1:]:
            shortest = self._smaller(each, shortest)
        return shortest & -self.lanes

    def _find_shifted(self) -> list[Value]:
        """Return the identity (-0.0) of each contribution shifted to later elements."""
        found = [
            line
            for _, line, stored in self.segment.additions
            if not stored and line in self.region_of and self.region_of[line][1]
        ]
        return [self.body.constant(self.type_of(line), -0.0) for line in found]

    def emit(self) -> None:
        for number, line in enumerate(self.segment.lines):
            if line.address >= 0:
                self.address(number)  # load the address before the loop, not in each iteration
            if line.taken is not None:
                self.beyond(line.taken)
            if line.rolled is not None:
                self.field_of_address(line.rolled.second)
        addresses = [self._address_of_sum(each) for each in self.sums]
        joined = [self.field_of_address(number) for number in self.segment.joined]
        self._load_singles()
        shifted = self._shifted
        carried = [self._nothing_joined(row) for row in self.joining] + shifted
        first = self._start
        if shifted:  # start a vector early: it computes the values carried into the first iteration
            first = self.body.either(self._start.equal(0), self._start, self._start - self.lanes)
        if not self.sums:
            self._bring(joined, self._over(first, self._stop, carried))
            return
        totals = [value for _ in self.sums for value in nothing(self.body)]
        with self.body.carrying(self._start, self._stop, BLOCK, [*totals, *carried]) as iteration:
            begin = self.body.either(iteration.index.equal(self._start), first, iteration.index)
            end = self._smaller(iteration.index + BLOCK, self._stop)
            parts = [self.body.constant(PARTS, 0.0)] * len(self.sums)
            last = self._over(begin, end, [*parts, *iteration.values[len(totals) :]])
            before = _pairs(iteration.values[: len(totals)])
            raised = [total.raised(block) for total, block in zip(before, last, strict=False)]
            iteration.following = [*(value for total in raised for value in total), *last[len(parts) :]]
        found = _pairs(iteration.values[: len(totals)])
        for each, address, total in zip(self.sums, addresses, found, strict=True):
            element = Type(self.type_of(each.line).element)
            to = Line(address, self._start, element)
            bring_to(Cotangent(to, self.body.constant(Type("i1"), each.stored)), total.value)
        self._bring(joined, iteration.values[len(totals) :])

    def _address_of_sum(self, each: "_Sum") -> Value:
        address, part = self.field_of_address(each.number), self.in_memory(each.line).part
        return moved(address, self._start.like(part.bytes)) if each.part else address

    def _nothing_joined(self, row: SegmentRow) -> Value:
        return self.body.constant(self.type_of(row.reduced_to), joining_of(row).nothing)

    def _bring(self, addresses: Sequence[Value], found: Sequence[Value]) -> None:
        """Combine the results of the loop with those in memory."""
        for row, address, value in zip(self.joining, addresses, found, strict=False):
            total = joining_of(row).of_lanes(value)
            store(self.joined(row, total, partial(load, address, total.type)), address)

    def _smaller(self, a: Value, b: Value) -> Value:
        return self.body.either(a < b, a, b)

    def _load_singles(self) -> None:
        """Load scalars before the loop."""
        summed = {each.line for each in self.sums} | {row.reduced_to for row in self.joining}
        self.singles = {
            number: self.single(number)
            for number, line in enumerate(self.segment.lines)
            if line.count < 0 and line.address >= 0 and number not in summed
        }

    def _over(self, first: Value, end: Value, carried: list[Value]) -> list[Value]:
        """Emit the loop over vectors; return the loop-carried values after it.

        Iterations in which all lanes have elements run unmasked, in a loop of their own that a turn with a
        result that is NaN leaves: it is gone through once more, with care.
        """
        body = self.body
        with body.carrying(first, end, self.lanes, carried) as iteration:
            begun = (iteration.index >= self._start) if self._shifted else None
            unmasked = self._unmasked_loop(iteration, self._smaller(end, self._whole), begun)
            masked, whole = body.fresh("masked"), body.fresh("whole")
            body.do(f"br {unmasked.index < end}, label %{masked}, label %{whole}")
            body.begin(whole)
            iteration.continue_at(unmasked.index, unmasked.values)
            body.begin(masked)
            vector = _LongVectorIndex(self, unmasked, self._masks(unmasked.index), begun)
            vector.end()
            iteration.index, iteration.following = (
                unmasked.index,
                vector.following,
            )  # on behind the masked one
        return iteration.values

    def _unmasked_loop(self, iteration: Iteration, end: Value, begun: Value | None) -> Iteration:
        """Emit the unmasked loop; return the iteration at which it stops: the tail, or a NaN."""
        body = self.body
        end = end if begun is None else body.either(begun, end, iteration.index)
        with body.carrying(iteration.index, end, self.lanes, iteration.values) as unmasked:
            vector = _LongVectorIndex(self, unmasked, [None] * len(self._counts), unmasked=True)
            has_nan = vector.has_nan(self.tainted)
            if has_nan is not None:
                unmasked.leave(has_nan)
            vector.end()
            unmasked.following = vector.following
        return unmasked

    def _masks(self, index: Value) -> list[Value | None]:
        numbers = self.body.lane_numbers(self.lanes)
        return [numbers < self.body.splat(count - index, self.lanes) for count in self._counts]


def _pairs(values: Sequence[Value]) -> list[Total]:
    return [Total(*values[k : k + 2]) for k in range(0, len(values), 2)]
