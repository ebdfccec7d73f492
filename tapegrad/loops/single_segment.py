"""Loop bodies that are a single segment: their kernel has the loop inside, and the carry in registers.

Lines of the segment are told by the arguments that they are parts of: what is carried, what moves along with the
iterations, what is summed over them. Of other bodies each iteration runs a program.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.codegen import kernels as emitter
from tapegrad.engine.codegen.segments.iterated import (
    CarriedLine,
    ClearedMemory,
    Condition,
    FixedLine,
    IteratedSegment,
    MovingLine,
    NamedElement,
    TestedLine,
    without_dead_rows,
)
from tapegrad.engine.codegen.segments.segment import SegmentLine
from tapegrad.engine.kernels.language import frame as frame_field
from tapegrad.engine.kernels.language.segment_frame import COUNTS, field_of
from tapegrad.engine.kernels.lines.fill import zero_fill
from tapegrad.engine.sweep.replays import loop_fields as field
from tapegrad.engine.tape.fields.view import View
from tapegrad.frontend.conversions.complex_views import part_dtype
from tapegrad.loops.argument_addresses import (
    ADDED,
    CARRIED,
    FIXED,
    FLAG,
    HANDED_ON,
    MOVING,
    SUMMED,
    UNREAD,
    WRITTEN,
    ArgumentAddress,
)
from tapegrad.ops import CODES, GUARDS
from tapegrad.program.fusion.shown import PlacedSegment
from tapegrad.program.programs.handle import Handle
from tapegrad.program.streams.stream import MADE_UP, RANGE_SHIFT

_CAST = CODES["cast_f64"]
_RESULTS = (HANDED_ON, WRITTEN, ADDED, SUMMED, UNREAD)
_Key = tuple[int, int, str, int]  # leaf, offset, dtype and number of elements of a line, -1 for a single one
_DTYPES: dict[str, np.dtype[Any]] = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "c128": np.dtype(np.complex128),
    "c64": np.dtype(np.complex64),
    "b8": np.dtype(np.bool_),
}


_MOVING_BASES = (field.OF_STATES, field.FROM_STATE, field.TO_STATE, field.STATES_STEP)
_STATES_STEP = ArgumentAddress(FIXED, View.in_c_order((), np.dtype(np.int64)), field.STATES_STEP, 0)


class SeveralSegmentsError(Exception):
    """Raised if a program is no single segment whose lines all have a role."""


class FrameSlot(NamedTuple):
    """Address in the frame of a kernel: memory, bytes from there on, and bytes for each element or iteration."""

    base: int
    offset: int
    step: int = 0


class StoredCursor(NamedTuple):
    """Leaf of the carry that names elements: where it is stored, and how many elements there are."""

    place: ArgumentAddress
    extent: int


class OneSegment(NamedTuple):
    """A program that is one segment.

    Attributes
    ----------
    placed, fields
        The segment, and the fields of its frame, with made-up addresses of bindings and of the workspace.
    casts
        Integers of operands that are read as floats: the made-up addresses of these, with those of the operands.
    guarded
        Whether there are guards on arrays from outside, which hold for all iterations or for none.
    fills
        Made-up addresses and bytes of what it sets to zero: cotangents that nothing goes into.
    """

    placed: PlacedSegment
    fields: list[int]
    casts: dict[int, int]
    guarded: bool
    fills: list[tuple[int, int]]


class ProgramLines:
    """Lines of a program that is one segment, by what they are in a loop.

    Parameters
    ----------
    handle, places
        The program, and the places of its arguments.
    dtype
        Dtype of the packed arrays.

    Attributes
    ----------
    segment
        The segment.
    guarded
        Whether there are guards in the program.
    place
        The places of its lines in memory.
    cleared
        The places of the leaves that the program sets to zero for the next iteration.
    """

    def __init__(self, handle: Handle, places: list[ArgumentAddress], dtype: np.dtype[Any]) -> None:
        self._places, self._dtype = places, dtype
        found = only_segment(handle)
        if found is None:
            raise SeveralSegmentsError
        self._fields, self._casts, self.guarded = found.fields, found.casts, found.guarded
        self._numbers = handle.numbers_of(handle.specializations[0])
        self.segment = found.placed.bound.segment
        in_memory = [(n, line) for n, line in enumerate(self.segment.lines) if line.address >= 0]
        self.place = {number: self._place_of(line) for number, line in in_memory}
        if any(line not in self.segment.kept for role in _RESULTS for line in self.of(role)):
            raise SeveralSegmentsError
        # Zero is added to the others, or nothing reads them
        filled = [self._filled(*fill) for fill in found.fills]
        self.cleared = [place for place in filled if place.role == HANDED_ON]

    def _filled(self, address: int, bytes_: int) -> ArgumentAddress:
        """Return the place of an argument that is set to zero."""
        place, offset = self._argument(address)
        if offset or bytes_ != place.view.nbytes or place.role == WRITTEN:
            raise SeveralSegmentsError
        return place

    def _argument(self, address: int) -> tuple[ArgumentAddress, int]:
        """Return the place of the argument that a made-up address leads to, and the bytes from its beginning."""
        binding, offset = (address >> RANGE_SHIFT) - 2, address & ((1 << RANGE_SHIFT) - 1)
        if binding < 0 or self._numbers[binding] < 0:
            raise SeveralSegmentsError
        return self._places[self._numbers[binding]], offset

    def _place_of(self, line: SegmentLine) -> ArgumentAddress:
        """Return where a line in memory is."""
        dtype = _DTYPES.get(line.dtype)
        if dtype is None or line.taken is not None or line.rolled is not None:
            raise SeveralSegmentsError
        address = self._fields[field_of(COUNTS + len(self.segment.counts) + line.address)]
        if address < MADE_UP:
            return ArgumentAddress(FIXED, View.in_c_order((), dtype), field.ABSOLUTE, address)
        place, offset = self._argument(self._casts.get(address, address))
        is_read_as_float = address in self._casts and place.base == field.OF_X
        packed = place.base in (field.OF_X, field.OF_X_BAR, field.OF_Y)
        part = part_dtype(dtype)  # of arguments that are complex numbers
        if (place.view.dtype != part and not is_read_as_float) or (packed and part != self._dtype):
            raise SeveralSegmentsError
        if (dtype.kind == "b") != (place.role == FLAG):
            raise SeveralSegmentsError
        return place._replace(offset=place.offset + offset)

    def of(self, role: int) -> list[int]:
        """Return the lines with a role."""
        return [line for line, place in self.place.items() if place.role == role]

    def inside(self, line: int) -> int:
        """Return the bytes from the beginning of a leaf of the carry to a line of it."""
        return self.place[line].offset - self._places[self.place[line].leaf].offset

    def key(self, line: int) -> _Key:
        place, described = self.place[line], self.segment.lines[line]
        count = -1 if described.count < 0 else self.segment.counts[described.count]
        return place.leaf, place.offset, described.dtype, count


class SingleSegmentBody:
    """Kernel of all iterations of a loop in one direction.

    Parameters
    ----------
    lines
        The lines of the body's program.
    kept
        For each leaf of the carry where it is stored, if the kernel is to store them.
    cursor
        What names the elements that an iteration takes, if anything does.
    condition
        The lines of the condition, if that ends the loop.
    again
        Whether it runs iterations once more: from one stored carry to another, and for nothing else. `kept` is the
        layout of these.

    Attributes
    ----------
    kernel
        Its address.
    slots
        Addresses in its frame.
    guarded
        Whether one iteration is to be run by its program, for the guards in it.
    """

    def __init__(
        self,
        lines: ProgramLines,
        kept: list[ArgumentAddress],
        cursor: StoredCursor | None = None,
        condition: ProgramLines | None = None,
        again: bool = False,
    ) -> None:
        self._lines, self._stored, self._again = lines, kept, again
        self.slots: list[FrameSlot] = []
        self.guarded = lines.guarded or (condition is not None and condition.guarded)
        carried = self._carried()
        iterated = IteratedSegment(
            lines.segment,
            self._fixed(lines, FIXED),
            self._moving(MOVING),
            carried,
            self._kept(),
            () if again else self._moving(WRITTEN),
            self._moving(ADDED),
            self._fixed(lines, SUMMED),
            None if condition is None else self._condition(condition, carried),
            self._cleared(carried),
            None if cursor is None else self._named_element(cursor, carried, condition is None and not again),
            self._slot(_STATES_STEP) if again else -1,
        )
        segment = without_dead_rows(lines.segment, iterated.results)
        if len(self.slots) > field.MAX_SLOTS:
            raise SeveralSegmentsError
        self.kernel = emitter.address_of_segment(dataclasses.replace(iterated, segment=segment))

    def _slot(self, place: ArgumentAddress) -> int:
        """Add a slot; return its number."""
        self.slots.append(FrameSlot(place.base, place.offset, 0 if place.by_cursor else place.step))
        return len(self.slots) - 1

    def _fixed(self, lines: ProgramLines, role: int) -> tuple[FixedLine, ...]:
        return tuple(FixedLine(line, self._slot(lines.place[line])) for line in lines.of(role))

    def _moving(self, role: int) -> tuple[MovingLine, ...]:
        places = [(line, self._lines.place[line]) for line in self._lines.of(role)]
        return tuple(
            MovingLine(
                line,
                self._slot(place),
                place.step if place.by_cursor else place.direction * place.step,
                place.by_cursor,
            )
            for line, place in places
        )

    def _kept(self) -> tuple[MovingLine, ...]:
        """Return where the lines of the carry are kept."""
        places = [(line, self._place_in_state(line)) for line in self._lines.of(CARRIED) if self._stored]
        return tuple(MovingLine(line, self._slot(place), place.step) for line, place in places)

    def _place_in_state(self, line: int, base: int = field.OF_STATES) -> ArgumentAddress:
        """Return where a line of the carry is stored."""
        own = self._stored[self._lines.place[line].leaf]
        return own._replace(base=base, offset=own.offset + self._lines.inside(line))

    def _carry_slot(self, line: int) -> int:
        """Add the slot that a line of the carry is read from before the iterations; return its number."""
        return self._slot(
            self._place_in_state(line, field.FROM_STATE) if self._again else self._lines.place[line]
        )

    def _last_slot(self, line: int) -> int:
        """Add the slot that a line of the carry is written to after them; return its number, -1 if it is the same."""
        return self._slot(self._place_in_state(line, field.TO_STATE)) if self._again else -1

    def _named_element(
        self, cursor: StoredCursor, carried: Sequence[CarriedLine], backwards: bool
    ) -> NamedElement:
        """Return where the number of an iteration's element is: in what is carried, or in reverse in what is stored."""
        self.slots.append(FrameSlot(field.ABSOLUTE, cursor.extent - 1))
        last = len(self.slots) - 1
        if backwards:
            return NamedElement(last, -1, self._slot(cursor.place), -cursor.place.step)
        leaves = [self._lines.place[each.line].leaf for each in carried]
        if cursor.place.leaf not in leaves:
            raise SeveralSegmentsError
        return NamedElement(last, leaves.index(cursor.place.leaf))

    def _condition(self, lines: ProgramLines, carried: Sequence[CarriedLine]) -> Condition:
        """Return the condition, whose lines are carried ones or parts of these."""
        numbers = {self._lines.key(each.line): number for number, each in enumerate(carried)}
        tested = []
        for line in lines.of(CARRIED):
            key = lines.key(line)
            for other, number in numbers.items():
                if other == key:
                    tested.append(TestedLine(line, number))
                elif key in elements_of(other):
                    tested.append(TestedLine(line, number, elements_of(other).index(key)))
        (flag,) = lines.of(FLAG) or [-1]
        if flag < 0 or len(tested) != len(lines.of(CARRIED)):
            raise SeveralSegmentsError
        return Condition(lines.segment, flag, self._fixed(lines, FIXED), tuple(tested))

    def _carried(self) -> tuple[CarriedLine, ...]:
        """Return the lines that are carried: each that is read is written for the next iteration.

        A line may be read or written element by element. A program may add to cotangents that it is given; those are
        others in the next iteration.
        """
        lines = self._lines
        read = {lines.key(line): line for line in lines.of(CARRIED)}
        written = {lines.key(line): line for line in lines.of(HANDED_ON)}
        handed_on = list(written)
        found = [
            CarriedLine(read.pop(key), written.pop(key), self._carry_slot(line))
            for key, line in list(written.items())
            if key in read
        ]
        for key, elements in self._wholes(read, written):
            if -1 in elements:
                raise SeveralSegmentsError
            line = read.pop(key)
            found.append(CarriedLine(line, -1, self._carry_slot(line), written_parts=elements))
        for key, elements in self._wholes(written, read):
            line = written.pop(key)
            found.append(CarriedLine(-1, line, self._carry_slot(line), read_parts=elements))
        cleared = {place.leaf for place in lines.cleared}
        for key, line in read.items():
            if key[0] not in cleared or any(_overlap(key, other) for other in handed_on):
                raise SeveralSegmentsError
            found.append(CarriedLine(line, -1, self._carry_slot(line)))
        rest = [CarriedLine(-1, line, self._carry_slot(line)) for line in written.values()]
        return tuple(each._replace(last_address=self._last_slot(each.line)) for each in (*found, *rest))

    def _cleared(self, carried: Sequence[CarriedLine]) -> tuple[ClearedMemory, ...]:
        """Return the leaves that are zero after an iteration, and that no line reads."""
        read = {self._lines.place[each.line].leaf for each in carried}
        places = [place for place in self._lines.cleared if place.leaf not in read]
        if places and self._again:
            raise SeveralSegmentsError  # the zeros belong into the stored carry
        return tuple(ClearedMemory(self._slot(place), place.view.nbytes) for place in places)

    def _wholes(self, lines: dict[_Key, int], others: dict[_Key, int]) -> list[tuple[_Key, tuple[int, ...]]]:
        """Return lines of several elements, each with those of the others that are these, which are taken out."""
        return [
            (key, tuple(others.pop(part, -1) for part in elements_of(key))) for key in lines if key[3] >= 0
        ]

    @property
    def fields(self) -> list[int]:
        """The fields that compiled code reads."""
        has_stacked = any(slot.base == field.OF_Y for slot in self.slots)
        slots = (value for slot in self.slots for value in slot)
        moving = [number for number, slot in enumerate(self.slots) if slot.step or slot.base in _MOVING_BASES]
        return [
            self.kernel,
            int(has_stacked),
            int(self.guarded),
            len(self.slots),
            len(moving),
            *slots,
            *moving,
        ]


def _overlap(one: _Key, other: _Key) -> bool:
    """Return whether two lines have bytes of a leaf in common, as a number and a part of it do."""
    ends = [offset + max(count, 1) * _DTYPES[dtype].itemsize for _, offset, dtype, count in (one, other)]
    return one[0] == other[0] and one[1] < ends[1] and other[1] < ends[0]


def elements_of(key: _Key) -> list[_Key]:
    """Return the keys of the elements of a line, none of a single one."""
    leaf, offset, dtype, count = key
    return [(leaf, offset + k * _DTYPES[dtype].itemsize, dtype, -1) for k in range(count)]


def only_segment(handle: Handle) -> OneSegment | None:
    """Return the segment that is all of a program with one specialization; `None` if there is more."""
    if len(handle.specializations) != 1 or handle.has_copies:
        return None
    program = handle.specializations[0].program
    segments = program.segments()
    if len(segments) != 1 or len(program.reverse):
        return None
    placed = segments[0].placed
    bound, stream = placed.bound, program.forward
    plain = not (bound.segment.loops or bound.segment.regions) and bound.segment.is_short
    rows = -(-len(bound.fields) // frame_field.FIELDS)
    others = np.flatnonzero(stream.op >= 0)
    is_fill = (stream.op < 0) & (stream.kernels == kernel_table.address_of(zero_fill))
    if not plain or len(stream) != rows + len(others) + np.count_nonzero(is_fill):
        return None
    casts, guarded = {}, False
    for row in others.tolist():
        op, frame = int(stream.op[row]), stream.frames[row]
        x, y = int(frame[frame_field.X]), int(frame[frame_field.Y])
        if op in GUARDS and x < MADE_UP:
            guarded = True
        elif (
            op == _CAST
            and kernel_table.DTYPE_NAMES[int(stream.variant[row])] == "i64"
            and frame[frame_field.COUNT] == 1
        ):
            casts[y] = x
        else:
            return None
    fills = stream.frames[is_fill][:, (frame_field.Y_BAR, frame_field.COUNT)].tolist()
    own = stream.frames[(stream.op < 0) & ~is_fill]
    return OneSegment(placed, own.reshape(-1).tolist(), casts, guarded, [(y, bytes_) for y, bytes_ in fills])
