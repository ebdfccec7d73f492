"""Code shared by short and long segments: loads, stores and reductions at one vector index."""

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from tapegrad.engine.codegen.ir.body import Body, Value
from tapegrad.engine.codegen.ir.complex_values import (
    ComplexValue,
    Number,
    as_complex,
    copies,
    interleaved,
    parts_of,
    separated,
    spread,
    twice,
    with_lane,
)
from tapegrad.engine.codegen.ir.memory import (
    POINTER,
    element_at,
    load,
    load_field,
    load_from_all,
    load_pointer,
    moved,
    store,
)
from tapegrad.engine.codegen.ir.operations import either_is_nan, first_lane, halves, select, shuffled
from tapegrad.engine.codegen.ir.sums import PARTS, widened
from tapegrad.engine.codegen.ir.target import Target
from tapegrad.engine.codegen.ir.types import I64, Type
from tapegrad.engine.codegen.rows.case import PARTS as COMPLEX
from tapegrad.engine.codegen.segments.extremes import Joining, joining_of
from tapegrad.engine.codegen.segments.segment import (
    ALWAYS_COMBINES,
    INDEX,
    OverlapRegion,
    RolledLine,
    Segment,
    SegmentRow,
    TakenLine,
)
from tapegrad.engine.codegen.segments.segment_rows import Rows, tainted
from tapegrad.engine.kernels.language.segment_frame import COUNTS, field_of


def nans_of(values: Iterable[Value]) -> Iterator[Value]:
    """Masks of which a lane is true if a lane of one of these vectors is NaN.

    One comparison tells of two vectors. They are compared by halves, of which there are always two of a type.
    """
    by_type: dict[Type, list[Value]] = {}
    for value in telling(values):
        by_type.setdefault(value.type, []).extend(halves(value) if value.type.lanes > 1 else (value,))
    for alike in by_type.values():
        for first, second in itertools.zip_longest(alike[::2], alike[1::2], fillvalue=alike[0]):
            yield either_is_nan(first, second)


def telling(values: Iterable[Value]) -> list[Value]:
    """Return the sinks among values: if one of the others is NaN, a sink is NaN in the same lane."""
    found = {value.text: value for value in values}
    passed: set[str] = set()
    waiting = [term for value in found.values() for term in value.body.terms(value)]
    while waiting:
        term = waiting.pop()
        if term.text not in passed:
            passed.add(term.text)
            waiting += term.body.terms(term)
    return [value for text, value in found.items() if text not in passed]


_ELEMENTS = {"f64": "double", "f32": "float", "b8": "i8", INDEX: "i64", "c128": "double", "c64": "float"}


def lanes(target: Target) -> int:
    """Elements of a vector in a segment: at least as many as a sum has parts."""
    return max(target.lanes, PARTS.lanes)


def _lanes_of(segment: Segment, target: Target) -> int:
    """Return the lanes of a segment's vectors: 1 for numbers, fewer than usual where all lines are that short."""
    if not segment.counts:
        return 1
    is_half = segment.is_short and max(segment.counts) <= PARTS.lanes
    return PARTS.lanes if is_half else lanes(target)


class SegmentForm:
    """Base of the short and the long form of segments."""

    def __init__(self, body: Body, segment: Segment) -> None:
        self.body, self.segment = body, segment
        self.lanes = _lanes_of(segment, body.target)
        self.rows = Rows(body, segment, self.lanes)
        self.tainted = tainted(segment)
        self.frame = body.named(POINTER, "%frame")
        self.region_of: dict[int, tuple[OverlapRegion, int]] = {
            line: (region, shift)
            for region in segment.regions
            for line, shift in (*region.shifts, (region.whole, 0))
        }
        self.element_of = {each.line: each for each in segment.elements}
        self.part_of = {each.line: each for each in segment.parts}
        self._wholes = segment.wholes

    def is_tainted(self, line: int) -> bool:
        """Return whether a product of zero and inf can show in a line."""
        return self._wholes.get(line, line) in self.tainted

    def type_of(self, line: int) -> Type:
        """Return the type of a vector of a line, of complex numbers that of a part."""
        return Type(_ELEMENTS[self.segment.lines[line].dtype], self.lanes)

    def is_pair(self, line: int) -> bool:
        """Return whether a line is of complex numbers."""
        return self.segment.lines[line].dtype in COMPLEX and line not in self.part_of

    def in_memory(self, line: int) -> Type:
        """Return the type of an element of a line in memory."""
        part = Type(self.type_of(line).element)
        return part.pair if self.is_pair(line) else part

    def address(self, line: int) -> Value:
        return self.field_of_address(self.segment.lines[line].address)

    def field_of_address(self, number: int) -> Value:
        return load_pointer(self.frame, field_of(COUNTS + len(self.segment.counts) + number))

    def beyond(self, taken: TakenLine) -> Value:
        """Return the bytes from the first row of a table to behind the last, in every lane."""
        first, last = (self.field_of_number(number) for number in (taken.first, taken.last))
        return self.body.splat(last - first + taken.step, self.lanes)

    def field_of_number(self, number: int) -> Value:
        """Load an address as an integer."""
        return load_field(self.frame, field_of(COUNTS + len(self.segment.counts) + number))

    def joined(self, row: SegmentRow, value: Value, before: Callable[[], Value]) -> Value:
        """Combine a value with that of the row's earlier elements, if there are any."""
        first = self._is_first(row)
        if first is None:
            return value
        return self.body.either(first, value, joining_of(row).join(before(), value))

    def _is_first(self, row: SegmentRow) -> Value | None:
        """Return whether a row has no earlier elements to combine with; `None` if that is always so."""
        if row.along == ALWAYS_COMBINES:
            return self.body.constant(Type("i1"), False)
        first = None
        for loop in range(self.segment.loops):
            if row.along >> loop & 1:
                begins = load_field(self.frame, field_of(self.segment.step(loop))).equal(0)
                first = begins if first is None else first & begins
        return first

    def single(self, line: int) -> Number:
        """Load the element of a single line into every lane."""
        value = copies(load(self.address(line), self.in_memory(line)), self.lanes)
        return value.unequal(0) if self.type_of(line).element == "i8" else value

    def zero(self, line: int) -> Number:
        """Return zeros as a line has them."""
        part = self.body.constant(self.type_of(line), 0.0)
        return ComplexValue(part, part) if self.is_pair(line) else part

    def store_line(self, line: int, value: Number, place: Value, mask: Value | None) -> None:
        """Store a vector of a line, or the element of a single one."""
        is_single = self.segment.lines[line].count < 0
        if isinstance(value, ComplexValue):
            joint = shuffled(value.re, value.im, (0, self.lanes)) if is_single else interleaved(value)
            store(joint, place, None if mask is None or is_single else twice(mask))
        elif is_single:
            store(first_lane(value), place)
        else:
            store(value, place, mask)


class VectorIndex:
    """The elements at one index.

    Parameters
    ----------
    masks
        For each count the lanes that there are elements for, `None` for all.
    written
        Whether what is computed here counts, and is not only handed on; `None` where it does.
    """

    def __init__(
        self, shape: "SegmentForm", index: Value, masks: list[Value | None], written: Value | None = None
    ) -> None:
        self.shape, self.index, self.masks = shape, index, masks
        self.body, self.segment = shape.body, shape.segment
        self._written = written
        self.values: dict[int, Any] = {}
        self.to_look_at: list[Value] = []  # what is not kept, and may be NaN by haste
        self._contributions: dict[int, list[Value]] = {}

    @property
    def lanes(self) -> int:
        """Lanes of each vector."""
        return self.shape.lanes

    def _mask(self, count: int) -> Value | None:
        return None if count < 0 else self.masks[count]

    def _mask_of_result(self, count: int) -> Value | None:
        mask = self._mask(count)
        if self._written is None or mask is None:
            return mask
        return mask & self.body.splat(self._written, self.shape.lanes)

    def read(self, line: int) -> Any:
        element, part = self.shape.element_of.get(line), self.shape.part_of.get(line)
        if element is not None:
            return spread(self.read(element.whole), element.lane)
        if part is not None:
            return parts_of(self.read(part.whole))[part.part]
        if self._contributions.get(line):
            self._bring(line)
        if line not in self.values:
            self.values[line] = self._initial(line)
        return self.values[line]

    def write(self, line: int, value: Any) -> None:
        element, part = self.shape.element_of.get(line), self.shape.part_of.get(line)
        if self.shape.is_pair(line):
            value = as_complex(value)
        if element is not None:
            line, value = element.whole, with_lane(self.read(element.whole), element.lane, value)
        elif part is not None:
            line, both = part.whole, list(parts_of(self.read(part.whole)))
            both[part.part] = value
            value = ComplexValue(*both)
        self._contributions.pop(line, None)
        self.values[line] = value

    def sums_up(self, line: int, count: int) -> bool:
        """Return whether a row of so many elements adds all of them to a line of one."""
        return count >= 0 > self.segment.lines[line].count

    def add(self, line: int, value: Any, count: int, stored: bool) -> None:
        if self.sums_up(line, count):
            parts = parts_of(as_complex(value) if self.shape.is_pair(line) else value)
            self.add_sums(line, [widened(part, self._mask_of_result(count)) for part in parts], stored)
        elif line in self.shape.region_of:
            self._contribute(line, value, count, stored)
        else:
            self.write(line, value if stored else self.read(line) + value)

    def add_sums(self, line: int, values: Sequence[Value], stored: bool) -> None:
        """Add all lanes to a single element, of complex numbers those of each part."""
        raise NotImplementedError

    def add_total(self, line: int, values: Sequence[Value], stored: bool) -> None:
        """Add up numbers to a single element."""
        raise NotImplementedError

    def join(self, row: SegmentRow, value: Value) -> None:
        """Join elements with those that have come before."""
        line, joining = row.reduced_to, joining_of(row)
        if row.count >= 0 > self.segment.lines[line].count:
            mask = self._mask_of_result(row.count)
            self.join_all(row, joining, value if mask is None else select(mask, value, joining.nothing))
            return
        self.write(line, self.shape.joined(row, value, lambda: self.read(line)))

    def join_all(self, row: SegmentRow, joining: Joining, value: Value) -> None:
        """Join all lanes to a single element."""
        raise NotImplementedError

    def look_at(self, line: int, count: int) -> None:
        """Note that what is computed from a line does not show whether it is NaN by haste."""
        if self.shape.is_tainted(line):
            value, mask = self.read(line), self._mask(count)
            self.to_look_at.append(value if mask is None else select(mask, value, 0.0))

    def previous(self, value: Value) -> Value:
        """Return the contribution `value` of the previous iteration; in the first one the identity, -0.0."""
        raise NotImplementedError

    def _contribute(self, line: int, value: Value, count: int, stored: bool) -> None:
        """Add to a part of a region. What lies beyond the part adds -0.0, which changes nothing."""
        region, shift = self.shape.region_of[line]
        if stored:
            self.write(region.whole, value)
            return
        mask = self._mask(count)
        value = value if mask is None else select(mask, value, -0.0)
        if shift:
            before = self.previous(value)
            value = shuffled(before, value, range(self.shape.lanes - shift, 2 * self.shape.lanes - shift))
        self._contributions.setdefault(region.whole, []).append(value)

    def _bring(self, whole: int) -> None:
        """Add the contributions to a region, in the order of the rows."""
        total = self.values[whole] if whole in self.values else self._initial(whole)
        for value in self._contributions.pop(whole):
            total = total + value
        self.values[whole] = total

    def _pointer(self, line: int) -> Value:
        return element_at(self.shape.address(line), self.shape.in_memory(line), self.index)

    def _initial(self, line: int) -> Number:
        described, type_ = self.segment.lines[line], self.shape.type_of(line)
        if line in self.segment.cleared:
            return self.shape.zero(line)
        if described.count < 0:
            return self.shape.single(line)
        mask = self._mask(described.count)
        if described.taken is not None:
            return load_from_all(moved(self.shape.address(line), self._offsets(described.taken)), type_, mask)
        if described.rolled is not None:
            return self._rolled(line, described.rolled, mask)
        if self.shape.is_pair(line):
            joint = Type(type_.element, 2 * type_.lanes)
            return separated(load(self._pointer(line), joint, None if mask is None else twice(mask)))
        value = load(self._pointer(line), type_, mask)
        return value.unequal(0) if type_.element == "i8" else value

    def _offsets(self, taken: TakenLine) -> Value:
        """Return the bytes from the first row of a table to those that are listed."""
        rows, beyond = self.read(taken.by), self.shape.beyond(taken)
        return rows * taken.step + select(rows < 0, beyond, beyond.like(0))

    def _rolled(self, line: int, rolled: RolledLine, mask: Value | None) -> Value:
        """Load the elements before the cut, or those behind it; where a vector has some of both, each under a mask.

        A masked load of no element takes a hundred cycles where there is no memory, as beyond an array's end.
        """
        body, type_ = self.body, self.shape.type_of(line)
        begin = body.emit(I64, f"urem {self.index}, {rolled.period}")
        second = self.shape.field_of_address(rolled.second)
        at = self._pointer(line), element_at(second, Type(type_.element), self.index - rolled.cut)
        end = begin + self.lanes
        in_first, wraps = end <= rolled.cut, end > rolled.period
        if mask is not None:
            return self._of_both_parts(line, rolled, begin, at, mask)
        return body.branched(
            ~(in_first | ((begin >= rolled.cut) & ~wraps)),
            lambda: self._of_both_parts(line, rolled, begin, at, mask),
            lambda: load(body.either(in_first, *at), type_),
        )

    def _of_both_parts(
        self, line: int, rolled: RolledLine, begin: Value, at: tuple[Value, Value], mask: Value | None
    ) -> Value:
        """Load the elements before the cut, and those behind it, each under a mask."""
        body, type_ = self.body, self.shape.type_of(line)
        position = body.lane_numbers(self.lanes) + body.splat(begin, self.lanes)
        before = (position < rolled.cut) | (
            (position >= rolled.period) & (position < rolled.period + rolled.cut)
        )
        behind = ~before if mask is None else mask & ~before
        first = load(at[0], type_, before if mask is None else mask & before)
        return load(at[1], type_, behind, first)

    def results(self) -> dict[int, Number]:
        """Return the reductions over lines."""
        return {line: self.read(line) for line in self.segment.kept}

    def has_nan(self, tainted: Collection[int]) -> Value | None:
        """Return whether an unmasked result is NaN; `None` if there is none."""
        values = list(self.to_look_at)
        for line, value in self.results().items():
            if line in tainted:
                mask = self._mask(self.segment.lines[line].count)
                values += [part if mask is None else select(mask, part, 0.0) for part in parts_of(value)]
        found = list(nans_of(values))
        if not found:
            return None
        total, *others = found
        for mask in others:
            total = total | mask
        return self.body.any(total)

    def end(self) -> None:
        """Write what is kept."""
        for line, value in self.results().items():
            count = self.segment.lines[line].count
            if isinstance(value, Value) and value.type.element == "i1":
                value = self.body.convert("zext", value, "i8")
            place = self.shape.address(line) if count < 0 else self._pointer(line)
            self.shape.store_line(line, value, place, self._mask_of_result(count))
