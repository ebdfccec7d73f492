"""The kernel of a segment: one loop over all of its rows, or none where a vector holds each line.

The long form goes over whole vectors first, then over what is left under masks, in which each count has its own. With
sums it does so in blocks, as the kernels of rows do, for the order of additions is part of the result. Contributions
to overlapping lines stay in registers: what belongs to later elements is handed on to the next turn, so that each
element is written once.
"""

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from tapegrad.engine.emitter.blocks import BLOCK
from tapegrad.engine.emitter.body import Body, Turn, Value
from tapegrad.engine.emitter.memory import (
    POINTER,
    Cotangent,
    Line,
    element_at,
    load,
    pointer_word,
    store,
    word,
)
from tapegrad.engine.emitter.operations import either_is_nan, is_nan, select, shuffled
from tapegrad.engine.emitter.segment import REVERSE, SUM, Region, Segment
from tapegrad.engine.emitter.segment_loops import around as _around
from tapegrad.engine.emitter.segment_rows import Rows, tainted
from tapegrad.engine.emitter.sums import PARTS, Total, bring_to, in_lanes, nothing, widened
from tapegrad.engine.emitter.target import Target
from tapegrad.engine.emitter.types import I64, Type
from tapegrad.engine.kernels.segment_frame import COUNTS, START, STOP, word_of

_ELEMENTS = {"f64": "double", "f32": "float", "b8": "i8"}


def lanes(target: Target) -> int:
    """Elements of a vector in a segment: at least as many as a sum has parts."""
    return max(target.lanes, PARTS.lanes)


def define(segment: Segment, target: Target, symbol: str) -> list[Body]:
    """The functions of a segment's kernel, itself the last."""
    if not segment.loops:
        return [_of_lines(segment, target, f'define i64 @"{symbol}"')]
    inner = f'@"{symbol}.lines"'
    return [
        _of_lines(segment, target, f"define internal i64 {inner}"),
        _around(segment, target, symbol, inner),
    ]


def _of_lines(segment: Segment, target: Target, head: str) -> Body:
    """The function that goes through one line of each."""
    body = Body(target, f"{head}(ptr %frame, ptr %loops)")
    (_Short if segment.is_short else _Long)(body, segment).emit()
    body.do("ret i64 0")
    return body


class _Shape:
    """What both forms have in common."""

    def __init__(self, body: Body, segment: Segment) -> None:
        self.body, self.segment = body, segment
        self.lanes = lanes(body.target)
        self.rows = Rows(body, segment, self.lanes)
        self.frame = body.named(POINTER, "%frame")
        self.region_of: dict[int, tuple[Region, int]] = {
            line: (region, shift)
            for region in segment.regions
            for line, shift in (*region.shifts, (region.whole, 0))
        }

    def type_of(self, line: int) -> Type:
        return Type(_ELEMENTS[self.segment.lines[line].dtype], self.lanes)

    def address(self, line: int) -> Value:
        number = COUNTS + len(self.segment.counts) + self.segment.lines[line].address
        return pointer_word(self.frame, word_of(number))

    def single(self, line: int) -> Value:
        """The element of a single line in memory, in every lane."""
        type_ = self.type_of(line)
        value = self.body.splat(load(self.address(line), Type(type_.element)), self.lanes)
        return value.unequal(0) if type_.element == "i8" else value

    def store_single(self, line: int, value: Value) -> None:
        element = Type(value.type.element)
        store(self.body.emit(element, f"extractelement {value}, i32 0"), self.address(line))


class _Place:
    """The elements at one index.

    Parameters
    ----------
    masks
        For each count the lanes that there are elements for, `None` for all.
    written
        Whether what is computed here counts, and is not only handed on; `None` where it does.
    """

    def __init__(
        self, shape: "_Shape", index: Value, masks: list[Value | None], written: Value | None = None
    ) -> None:
        self.shape, self.index, self.masks = shape, index, masks
        self.body, self.segment = shape.body, shape.segment
        self._written = written
        self.values: dict[int, Value] = {}
        self.to_look_at: list[Value] = []  # what is not kept, and may be NaN by haste
        self._contributions: dict[int, list[Value]] = {}

    def _mask(self, count: int) -> Value | None:
        return None if count < 0 else self.masks[count]

    def _mask_of_result(self, count: int) -> Value | None:
        mask = self._mask(count)
        if self._written is None or mask is None:
            return mask
        return mask & self.body.splat(self._written, self.shape.lanes)

    def read(self, line: int) -> Value:
        if self._contributions.get(line):
            self._bring(line)
        if line not in self.values:
            self.values[line] = self._initial(line)
        return self.values[line]

    def write(self, line: int, value: Value) -> None:
        self._contributions.pop(line, None)
        self.values[line] = value

    def add(self, line: int, value: Value, count: int, stored: bool) -> None:
        if count >= 0 > self.segment.lines[line].count:
            self.add_sum(line, widened(value, self._mask_of_result(count)), stored)
        elif line in self.shape.region_of:
            self._contribute(line, value, count, stored)
        else:
            self.values[line] = value if stored else self.read(line) + value

    def add_sum(self, line: int, value: Value, stored: bool) -> None:
        """Add all lanes to a single element."""
        raise NotImplementedError

    def previous(self, value: Value) -> Value:
        """What the contribution `value` was one turn before; nothing, which is -0.0, in the first one."""
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

    def _place(self, line: int) -> Value:
        element = Type(self.shape.type_of(line).element)
        return element_at(self.shape.address(line), element, self.index)

    def _initial(self, line: int) -> Value:
        described, type_ = self.segment.lines[line], self.shape.type_of(line)
        if line in self.segment.cleared:
            return self.body.constant(type_, 0.0)
        if described.count < 0:
            return self.shape.single(line)
        value = load(self._place(line), type_, self._mask(described.count))
        return value.unequal(0) if type_.element == "i8" else value

    def results(self) -> dict[int, Value]:
        """What is kept of lines."""
        return {line: self.read(line) for line in self.segment.kept}

    def has_nan(self, tainted: Collection[int]) -> Value | None:
        """Whether a result that is computed hastily is NaN; `None` where there is none."""
        whole, found = list(self.to_look_at), []
        for line, value in self.results().items():
            if line in tainted:
                mask = self._mask(self.segment.lines[line].count)
                if mask is None:
                    whole.append(value)
                else:
                    found.append(is_nan(value) & mask)
        found += _nans_of_pairs(dict.fromkeys(whole))
        if not found:
            return None
        total, *others = dict.fromkeys(found)
        for mask in others:
            total = total | mask
        return self.body.any(total)

    def end(self) -> None:
        """Write what is kept."""
        for line, value in self.results().items():
            count = self.segment.lines[line].count
            if value.type.element == "i1":
                value = self.body.convert("zext", value, "i8")
            if count < 0:
                self.shape.store_single(line, value)
            else:
                store(value, self._place(line), self._mask_of_result(count))


def _nans_of_pairs(values: Iterable[Value]) -> Iterator[Value]:
    """Where vectors are NaN: of two with elements of one type one comparison tells of both."""
    by_type: dict[Type, list[Value]] = {}
    for value in values:
        by_type.setdefault(value.type, []).append(value)
    for alike in by_type.values():
        for first, second in itertools.zip_longest(alike[::2], alike[1::2]):
            yield either_is_nan(first, first if second is None else second)


# --- one vector ----------------------------------------------------------------------------------------------------


class _ShortPlace(_Place):
    def add_sum(self, line: int, value: Value, stored: bool) -> None:
        parts = in_lanes(self.body.constant(PARTS, 0.0), value)
        total = self.body.splat(nothing(self.body).raised(parts).value, self.shape.lanes)
        if not stored:
            total = self.body.convert("fpext", self.read(line), "double") + total
        self.values[line] = self.body.convert("fptrunc", total, self.shape.type_of(line).element)

    def previous(self, value: Value) -> Value:
        return value.like(-0.0)


class _Short(_Shape):
    """Each line is one vector; the result of a sum can be used by the rows that follow.

    Rows are gone through hastily, and once more with care if a result is NaN.
    """

    def emit(self) -> None:
        place = self._place(hasty=True)
        has_nan = place.has_nan(tainted(self.segment))
        if has_nan is None:
            place.end()
            return
        body, careful, right = self.body, self.body.fresh("careful"), self.body.fresh("right")
        body.do(f"br {has_nan}, label %{careful}, label %{right}")
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


# --- a loop --------------------------------------------------------------------------------------------------------


class _Sum(NamedTuple):
    """A sum that a row takes: the element that it is for, and whether it is written there, or added."""

    line: int
    stored: bool


class _LongPlace(_Place):
    """The values that a turn was handed on by the one before, and those for the next one, in the order of their use.

    Parameters
    ----------
    hasty
        Whether zero times inf may be NaN.
    """

    def __init__(
        self,
        shape: "_Long",
        turn: Turn,
        masks: list[Value | None],
        written: Value | None = None,
        hasty: bool = False,
    ) -> None:
        super().__init__(shape, turn.index, masks, written)
        self._before = list(turn.values)
        self._sums, self._shifts = 0, len(shape.sums)
        self._tainted = shape.tainted
        self.following = list(turn.values)
        self.values.update(shape.singles)
        shape.rows.emit(self, hasty)

    def add_sum(self, line: int, value: Value, stored: bool) -> None:
        if line in self._tainted:
            self.to_look_at.append(value)
        self.following[self._sums] = in_lanes(self._before[self._sums], value)
        self._sums += 1

    def previous(self, value: Value) -> Value:
        before = self._before[self._shifts]
        self.to_look_at.append(value)
        self.following[self._shifts] = value
        self._shifts += 1
        return before


class _Long(_Shape):
    """A loop over vectors."""

    def __init__(self, body: Body, segment: Segment) -> None:
        super().__init__(body, segment)
        self.sums = self._find_sums()
        self._shifted = self._find_shifted()
        self.tainted = tainted(segment)
        self._start, self._stop = word(self.frame, word_of(START)), word(self.frame, word_of(STOP))
        self._counts = [word(self.frame, word_of(COUNTS + k)) for k in range(len(segment.counts))]
        self._whole = self._whole_vectors()

    def _whole_vectors(self) -> Value:
        """Where the last vector ends that all lines have."""
        shortest = self._counts[0]
        for each in self._counts[1:]:
            shortest = self._smaller(each, shortest)
        return shortest & -self.lanes

    def _targets(self) -> list[tuple[int, int, bool]]:
        """What rows add to, in their order: count, line, and whether it is written."""
        return [
            (row.count, line, bool(row.stored & 1 << j))
            for row in self.segment.rows
            if row.way in (SUM, REVERSE)
            for j, line in enumerate(row.seconds[:3])
            if line >= 0
        ]

    def _find_sums(self) -> list[_Sum]:
        return [
            _Sum(line, stored)
            for count, line, stored in self._targets()
            if count >= 0 > self.segment.lines[line].count
        ]

    def _find_shifted(self) -> list[Value]:
        """For each contribution to a later element the vector that does not change anything."""
        found = [
            line
            for _, line, stored in self._targets()
            if not stored and line in self.region_of and self.region_of[line][1]
        ]
        return [self.body.constant(self.type_of(line), -0.0) for line in found]

    def emit(self) -> None:
        for number, line in enumerate(self.segment.lines):
            if line.address >= 0:
                self.address(number)  # read here, and not in each turn
        self._load_singles()
        shifted = self._shifted
        first = self._start
        if shifted:  # what the turn before hands on has to be computed once more
            first = self.body.either(self._start.equal(0), self._start, self._start - self.lanes)
        if not self.sums:
            self._over(first, self._stop, shifted)
            return
        totals = [value for _ in self.sums for value in nothing(self.body)]
        with self.body.carrying(self._start, self._stop, BLOCK, [*totals, *shifted]) as turn:
            begin = self.body.either(turn.index.equal(self._start), first, turn.index)
            end = self._smaller(turn.index + BLOCK, self._stop)
            parts = [self.body.constant(PARTS, 0.0)] * len(self.sums)
            last = self._over(begin, end, [*parts, *turn.values[len(totals) :]])
            before = _pairs(turn.values[: len(totals)])
            raised = [total.raised(block) for total, block in zip(before, last, strict=False)]
            turn.following = [*(value for total in raised for value in total), *last[len(parts) :]]
        for each, total in zip(self.sums, _pairs(turn.values[: len(totals)]), strict=True):
            self._write_sum(each, total.value)

    def _smaller(self, a: Value, b: Value) -> Value:
        return self.body.either(a < b, a, b)

    def _load_singles(self) -> None:
        """Load single elements before the loop."""
        summed = {each.line for each in self.sums}
        self.singles = {
            number: self.single(number)
            for number, line in enumerate(self.segment.lines)
            if line.count < 0 and line.address >= 0 and number not in summed
        }

    def _over(self, first: Value, end: Value, carried: list[Value]) -> list[Value]:
        """Emit the loop over vectors; what the last turn hands on.

        A turn is hasty where all lanes have elements, and is done once more with care if a result is NaN.
        """
        body = self.body
        with body.carrying(first, end, self.lanes, carried) as turn:
            hasty, careful = body.fresh("hasty"), body.fresh("careful")
            is_hasty = turn.index < self._whole
            begun = (turn.index >= self._start) if self._shifted else None
            body.do(f"br {is_hasty if begun is None else begun & is_hasty}, label %{hasty}, label %{careful}")
            body.begin(hasty)
            with body.scope():
                self._emit_hasty(turn, careful)
            body.begin(careful)
            place = _LongPlace(self, turn, self._masks(turn.index), begun)
            place.end()
            turn.following = place.following
        return turn.values

    def _emit_hasty(self, turn: Turn, careful: str) -> None:
        body = self.body
        place = _LongPlace(self, turn, [None] * len(self._counts), hasty=True)
        has_nan = place.has_nan(self.tainted)
        if has_nan is not None:
            right = body.fresh("right")
            body.do(f"br {has_nan}, label %{careful}, label %{right}")
            body.begin(right)
        place.end()
        turn.again(place.following)

    def _masks(self, index: Value) -> list[Value | None]:
        numbers = self.body.lane_numbers(self.lanes)
        return [numbers < self.body.splat(count - index, self.lanes) for count in self._counts]

    def _write_sum(self, each: _Sum, total: Value) -> None:
        line = Line(self.address(each.line), self._start, Type(self.type_of(each.line).element))
        bring_to(Cotangent(line, self.body.constant(Type("i1"), each.stored)), total)


def _pairs(values: Sequence[Value]) -> list[Total]:
    return [Total(*values[k : k + 2]) for k in range(0, len(values), 2)]
