"""Loop kernels: a short segment inside of its loop, the carry in registers.

Fields of the frame: the number of iterations, then the addresses that lines are described with.
"""

import dataclasses
import operator
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tapegrad.engine.codegen.ir.body import Body, Iteration, Value
from tapegrad.engine.codegen.ir.complex_values import (
    Number,
    by_parts,
    from_parts,
    parts_of,
    spread,
    with_lane,
)
from tapegrad.engine.codegen.ir.memory import load, load_field, load_pointer, moved, store
from tapegrad.engine.codegen.ir.operations import first_lane, select
from tapegrad.engine.codegen.ir.target import Target
from tapegrad.engine.codegen.ir.types import I64, Type
from tapegrad.engine.codegen.segments.segment import FORWARD, REVERSE, Segment, SegmentRow
from tapegrad.engine.codegen.segments.short_segments import Short, ShortVectorIndex


class FixedLine(NamedTuple):
    """A line at one address in all iterations: one that is read before them, or the sum over them."""

    line: int
    address: int


class MovingLine(NamedTuple):
    """A line whose address is `step` bytes further with each iteration, or with each element that these name."""

    line: int
    address: int
    step: int
    by_element: bool = False


class NamedElement(NamedTuple):
    """Number of the element that an iteration takes, a float64 not above the field of the frame that `last` numbers.

    It is one of the carried lines, by number, or in memory, `step` bytes further with each iteration.
    """

    last: int
    carried: int
    address: int = -1
    step: int = 0


class CarriedLine(NamedTuple):
    """A line that an iteration reads, and that it writes for the next one; -1 if it does not.

    A line that is not written is zero in the next iteration. In memory are the first value before the loop, and the
    last one after it, at another address if there is one. A line may be read or written as lines of single elements.
    """

    read: int
    written: int
    address: int
    last_address: int = -1
    read_parts: tuple[int, ...] = ()
    written_parts: tuple[int, ...] = ()

    @property
    def line(self) -> int:
        """The line as a whole."""
        return self.written if self.read < 0 else self.read

    @property
    def results(self) -> tuple[int, ...]:
        """The lines that are written."""
        return self.written_parts or ((self.written,) if self.written >= 0 else ())


class ClearedMemory(NamedTuple):
    """Memory that is zero afterwards, at an address: so many bytes."""

    address: int
    bytes: int


class TestedLine(NamedTuple):
    """A line of the condition that is one of the carried lines, by number, or a lane of one; -1: all lanes."""

    line: int
    carried: int
    lane: int = -1


@dataclass(frozen=True)
class Condition:
    """A segment that tells before each iteration whether it is to be run.

    Attributes
    ----------
    flag
        The line that it writes.
    fixed, tested
        The lines that it reads.
    """

    segment: Segment
    flag: int
    fixed: tuple[FixedLine, ...]
    tested: tuple[TestedLine, ...]


@dataclass(frozen=True)
class IteratedSegment:
    """A short segment that is executed many times.

    Attributes
    ----------
    fixed, moving
        Lines that are read.
    carried
        Lines that go from one iteration to the next.
    kept
        Lines that are carried, as they are before each iteration, in memory.
    kept_step
        Number of the address field that is the step of these lines in bytes; -1: they have steps of their own.
    written, added, summed
        Lines that are written to memory, added to what is there, and summed over all iterations.
    condition
        What ends the loop before its number of iterations, if anything does. Then the frame's first field has the
        number that was run.
    cleared
        What is zero after an iteration, of which there is one at least.
    element
        What names the elements that an iteration takes, if anything does.
    """

    segment: Segment
    fixed: tuple[FixedLine, ...]
    moving: tuple[MovingLine, ...]
    carried: tuple[CarriedLine, ...]
    kept: tuple[MovingLine, ...]
    written: tuple[MovingLine, ...]
    added: tuple[MovingLine, ...]
    summed: tuple[FixedLine, ...]
    condition: Condition | None = None
    cleared: tuple[ClearedMemory, ...] = ()
    element: NamedElement | None = None
    kept_step: int = -1

    @property
    def results(self) -> list[int]:
        """The lines that an iteration computes: first those for the next one."""
        found = [line for each in self.carried for line in each.results]
        found += [each.line for each in self.summed]
        return found + [each.line for each in (*self.written, *self.added)]


def without_dead_rows(segment: Segment, results: Collection[int]) -> Segment:
    """Return a segment that computes no more than some of its lines: a call is emitted though nothing reads it."""
    wholes = segment.wholes
    live = {wholes.get(line, line) for line in results}
    found: list[SegmentRow] = []
    for row in reversed(segment.rows):
        kept = _wanted(row, live, wholes)
        if kept is not None:
            live.update(wholes.get(line, line) for line in (*kept.primals, *kept.duals))
            found.append(kept)
    kept_lines = tuple(line for line in segment.kept if line in results)
    return dataclasses.replace(segment, rows=tuple(found[::-1]), kept=kept_lines)


def _wanted(row: SegmentRow, live: Collection[int], wholes: Mapping[int, int]) -> SegmentRow | None:
    """Return what there is to compute of a row, `None` if that is nothing."""
    if row.kind == FORWARD:
        return row if wholes.get(row.primals[3], row.primals[3]) in live else None
    if row.kind != REVERSE:
        return row
    a, b, c = (line if wholes.get(line, line) in live else -1 for line in row.duals[:3])
    return None if (a, b, c) == (-1,) * 3 else dataclasses.replace(row, duals=(a, b, c, row.duals[3]))


class _GivenLines(Short):
    """Form of a segment whose lines are read from memory, or given."""

    def __init__(self, body: Body, segment: Segment) -> None:
        super().__init__(body, segment)
        self._masks = [self._mask(n) for n in self.segment.counts]
        self._at: dict[int, Value] = {}
        self._in_memory = dataclasses.replace(segment, cleared=())

    def address(self, line: int) -> Value:
        return self._at[line]

    def base(self, number: int) -> Value:
        return load_pointer(self.frame, 1 + number)

    def read(self, lines: Sequence[tuple[int, Value]]) -> dict[int, Number]:
        """Load lines from addresses, sums over iterations too, which are zero where an iteration begins."""
        self._at.update(lines)
        vector = ShortVectorIndex(self, self.body.constant(I64, 0), self._masks)
        vector.segment = self._in_memory
        return {line: vector.read(line) for line, _ in lines}

    def read_fixed(self, lines: Sequence[FixedLine]) -> dict[int, Number]:
        return self.read([(each.line, self.base(each.address)) for each in lines])

    def computed(self, values: dict[int, Number], results: Sequence[int]) -> list[Number]:
        """Return results of the rows: unmasked, and computed again masked if one is NaN."""
        vector, found = self._once(values, results, True)
        has_nan = vector.has_nan(self.tainted)
        if has_nan is None:
            return found
        masked = self.body.unless_all(
            has_nan, flat(found), lambda: flat(self._once(values, results, False)[1])
        )
        return numbers_like(found, masked)

    def _once(
        self, values: dict[int, Number], results: Sequence[int], unmasked: bool
    ) -> tuple[ShortVectorIndex, list[Number]]:
        vector = ShortVectorIndex(self, self.body.constant(I64, 0), self._masks)
        vector.values.update(values)
        self.rows.emit(vector, unmasked)
        return vector, [vector.read(line) for line in results]

    def write(self, line: int, value: Number, place: Value) -> None:
        count = self.segment.lines[line].count
        self.store_line(line, value, place, None if count < 0 else self._masks[count])


def flat(numbers: Iterable[Number]) -> list[Value]:
    """Return the parts of numbers, one after the other."""
    return [part for number in numbers for part in parts_of(number)]


def numbers_like(numbers: Iterable[Number], parts: Iterable[Value]) -> list[Number]:
    """Return the numbers of such kinds that have these parts."""
    rest = iter(parts)
    return [from_parts([next(rest) for _ in parts_of(number)]) for number in numbers]


class _Tested(_GivenLines):
    """Emitter of the condition."""

    def __init__(self, body: Body, condition: Condition) -> None:
        super().__init__(body, condition.segment)
        self._condition = condition
        self._known = self.read_fixed(condition.fixed)

    def ends(self, carried: Sequence[Number]) -> Value:
        """Return whether there is no further iteration."""
        values = dict(self._known)
        for each in self._condition.tested:
            value = carried[each.carried]
            if each.lane >= 0:
                value = spread(value, each.lane)
            if value.type.lanes != self.lanes:
                value = by_parts(lambda part: self.body.splat(first_lane(part), self.lanes), value)
            values[each.line] = value
        (flag,) = flat(self.computed(values, [self._condition.flag]))
        return ~first_lane(flag)


class _Iterated(_GivenLines):
    """Emitter of the loop."""

    def __init__(self, body: Body, iterated: IteratedSegment) -> None:
        super().__init__(body, iterated.segment)
        self._iterated = iterated
        self._element: Value | None = None

    def emit(self) -> None:
        own, body = self._iterated, self.body
        known = self.read_fixed(own.fixed)
        tested = None if own.condition is None else _Tested(body, own.condition)
        ends = [
            *((each.line, self.base(each.address)) for each in own.carried),
            *((each.line, self.base(each.address)) for each in own.summed),
        ]
        first = list(self.read(ends).values())
        for number, each in enumerate(own.carried):
            if each.last_address >= 0:
                ends[number] = each.line, self.base(each.last_address)
        begin, count = body.constant(I64, 0), load_field(self.frame, 0)
        with body.carrying(begin, count, 1, flat(first)) as iteration:
            values = numbers_like(first, iteration.values)
            if tested is not None:
                iteration.leave(tested.ends(values))
            iteration.following = flat(self._iteration(iteration, values, known))
        for (line, place), value in zip(ends, values, strict=True):
            self.write(line, value, place)
        for address, bytes_ in own.cleared:
            body.do(f"store [{bytes_} x i8] zeroinitializer, {self.base(address)}, align 4")
        store(iteration.index, self.frame)

    def _iteration(
        self, iteration: Iteration, carried: Sequence[Number], known: dict[int, Number]
    ) -> list[Number]:
        """Emit an iteration on what is carried; return that for the next one."""
        own = self._iterated
        self._element = None if own.element is None else self._number_of(own.element, iteration, carried)
        values = known | self.read([(each.line, self._place(each, iteration)) for each in own.moving])
        for each, value in zip(own.carried, carried, strict=False):
            values |= {each.read: value} if each.read >= 0 else {}
            values |= {part: spread(value, lane) for lane, part in enumerate(each.read_parts) if part >= 0}
        for kept in own.kept:
            self.write(kept.line, values[kept.line], self._kept_place(kept, iteration))
        found = iter(self.computed(values, own.results))
        following = [self._joined(each, [next(found) for _ in each.results]) for each in own.carried]
        totals = carried[len(own.carried) :]
        following += [by_parts(operator.add, total, next(found)) for total in totals]
        for moving in own.written:
            self.write(moving.line, next(found), self._place(moving, iteration))
        for moving in own.added:
            place = self._place(moving, iteration)
            (before,) = self.read([(moving.line, place)]).values()
            self.write(moving.line, by_parts(operator.add, before, next(found)), place)
        return following

    def _joined(self, each: CarriedLine, found: Sequence[Number]) -> Number:
        """Return a line of what an iteration has written, which may be its elements."""
        if not found:
            return self.zero(each.line)
        if not each.written_parts:
            return found[0]
        line = found[0]
        for lane, element in enumerate(found[1:], 1):
            line = with_lane(line, lane, element)
        return line

    def _place(self, each: MovingLine, iteration: Iteration) -> Value:
        index = iteration.index
        if each.by_element:
            assert self._element is not None
            index = self._element
        return moved(self.base(each.address), index * each.step)

    def _number_of(self, element: NamedElement, iteration: Iteration, carried: Sequence[Number]) -> Value:
        """Return the number of the element that an iteration takes."""
        body, double = self.body, Type("double")
        if element.carried >= 0:
            (named,) = map(first_lane, parts_of(carried[element.carried]))
        else:
            named = load(moved(self.base(element.address), iteration.index * element.step), double)
        last = body.convert("sitofp", load_field(self.frame, 1 + element.last), "double")
        named = select(named > 0, named, 0.0)  # of a NaN 0
        return body.convert("fptosi", select(named < last, named, last), "i64")

    def _kept_place(self, each: MovingLine, iteration: Iteration) -> Value:
        number = self._iterated.kept_step
        if number < 0:
            return self._place(each, iteration)
        return moved(self.base(each.address), iteration.index * load_field(self.frame, 1 + number))


def define(iterated: IteratedSegment, target: Target, symbol: str) -> list[Body]:
    """Return the functions of the kernel, which is the last one."""
    body = Body(target, f'define i64 @"{symbol}"(ptr %frame, ptr %loops)')
    _Iterated(body, iterated).emit()
    body.ret("i64 0")
    return [body]
