"""Bodies that are one segment: kernels that have the loop inside, and keep the carry in registers.

Lines of the segment are told by the arguments that they are parts of: what is carried, what moves along with the
iterations, what is summed over them. Of other bodies each iteration runs a program.
"""

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.codegen import kernels as emitter
from tapegrad.engine.codegen.segments.iterated import (
    CarriedLine,
    FixedLine,
    IteratedSegment,
    MovingLine,
    without_dead_rows,
)
from tapegrad.engine.codegen.segments.segment import SegmentLine
from tapegrad.engine.kernels.language import frame as frame_field
from tapegrad.engine.kernels.language.segment_frame import COUNTS, field_of
from tapegrad.engine.sweep.replays import loop_fields as field
from tapegrad.engine.tape.fields.view import View
from tapegrad.loops.places import ADDED, CARRIED, FIXED, HANDED_ON, MOVING, SUMMED, UNREAD, WRITTEN, Place
from tapegrad.ops import CODES, GUARDS
from tapegrad.program.fusion.shown import PlacedSegment
from tapegrad.program.programs.handle import Handle
from tapegrad.program.streams.stream import MADE_UP, RANGE_SHIFT

_CAST = CODES["cast_f64"]
_RESULTS = (HANDED_ON, WRITTEN, ADDED, SUMMED, UNREAD)
_Key = tuple[int, int, str, int]  # leaf, offset, dtype and count of a line
_FLOATS: dict[str, np.dtype[Any]] = {"f64": np.dtype(np.float64), "f32": np.dtype(np.float32)}


class NotStraightError(Exception):
    """Raised if a program is no single segment whose lines all have a role."""


class Slot(NamedTuple):
    """Address in the frame of a kernel: memory, bytes from there on, and bytes for each element or iteration."""

    base: int
    offset: int
    step: int = 0


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
    """

    placed: PlacedSegment
    fields: list[int]
    casts: dict[int, int]
    guarded: bool


class StraightBody:
    """Kernel of all iterations of a loop in one direction.

    Attributes
    ----------
    kernel
        Its address.
    slots
        Addresses in its frame.
    guarded
        Whether one iteration is to be run by its program, for the guards in it.
    """

    def __init__(self, handle: Handle, places: list[Place], kept: list[Place], dtype: np.dtype[Any]) -> None:
        self._places, self._dtype = places, dtype
        self.slots: list[Slot] = []
        found = only_segment(handle)
        if found is None:
            raise NotStraightError
        placed, self._fields, self._casts, self.guarded = found
        self._numbers = handle.numbers_of(handle.specializations[0])
        self._segment = placed.bound.segment
        in_memory = [(n, line) for n, line in enumerate(self._segment.lines) if line.address >= 0]
        self._found = {number: self._place_of(line) for number, line in in_memory}
        if any(line not in self._segment.kept for role in _RESULTS for line in self._of(role)):
            raise NotStraightError
        iterated = IteratedSegment(
            self._segment,
            self._fixed(FIXED),
            self._moving(MOVING),
            self._carried(),
            self._kept(kept),
            self._moving(WRITTEN),
            self._moving(ADDED),
            self._fixed(SUMMED),
        )
        segment = without_dead_rows(self._segment, iterated.results)
        if len(self.slots) > field.MAX_SLOTS:
            raise NotStraightError
        self.kernel = emitter.address_of_segment(dataclasses.replace(iterated, segment=segment))

    def _place_of(self, line: SegmentLine) -> Place:
        """Return where a line in memory is."""
        dtype = _FLOATS.get(line.dtype)
        if dtype is None or line.taken is not None or line.rolled is not None:
            raise NotStraightError
        address = self._fields[field_of(COUNTS + len(self._segment.counts) + line.address)]
        if address < MADE_UP:
            return Place(FIXED, View.in_c_order((), dtype), field.ABSOLUTE, address)
        own = self._casts.get(address, address)
        binding, offset = (own >> RANGE_SHIFT) - 2, own & ((1 << RANGE_SHIFT) - 1)
        if binding < 0 or self._numbers[binding] < 0:
            raise NotStraightError
        place = self._places[self._numbers[binding]]
        is_read_as_float = address in self._casts and place.base == field.OF_X
        packed = place.base in (field.OF_X, field.OF_X_BAR, field.OF_Y)
        if (place.view.dtype != dtype and not is_read_as_float) or (packed and dtype != self._dtype):
            raise NotStraightError
        return place._replace(offset=place.offset + offset)

    def _of(self, role: int) -> list[int]:
        """Return the lines with a role."""
        return [line for line, place in self._found.items() if place.role == role]

    def _slot(self, line: int) -> int:
        """Add a slot for a line; return its number."""
        return self._add(self._found[line])

    def _add(self, place: Place) -> int:
        self.slots.append(Slot(place.base, place.offset, place.step))
        return len(self.slots) - 1

    def _fixed(self, role: int) -> tuple[FixedLine, ...]:
        return tuple(FixedLine(line, self._slot(line)) for line in self._of(role))

    def _moving(self, role: int) -> tuple[MovingLine, ...]:
        return tuple(MovingLine(line, self._slot(line), self._step(line)) for line in self._of(role))

    def _step(self, line: int) -> int:
        return self._found[line].direction * self._found[line].step

    def _kept(self, kept: list[Place]) -> tuple[MovingLine, ...]:
        """Return where the lines of the carry are kept."""
        found = []
        for line in self._of(CARRIED) if kept else ():
            place = self._found[line]
            own = kept[place.leaf]
            inside = place.offset - self._places[place.leaf].offset
            found.append(MovingLine(line, self._add(own._replace(offset=own.offset + inside)), own.step))
        return tuple(found)

    # --- the carry -------------------------------------------------------------------------------------------------

    def _carried(self) -> tuple[CarriedLine, ...]:
        """Return the lines that are carried: each that is read is written for the next iteration.

        A line may be read or written element by element. A program may add to cotangents that it is given; those are
        others in the next iteration.
        """
        read = {self._key(line): line for line in self._of(CARRIED)}
        written = {self._key(line): line for line in self._of(HANDED_ON)}
        found = [
            CarriedLine(read.pop(key), written.pop(key), self._slot(line))
            for key, line in list(written.items())
            if key in read
        ]
        for key, elements in self._wholes(read, written):
            if -1 in elements:
                raise NotStraightError
            line = read.pop(key)
            found.append(CarriedLine(line, -1, self._slot(line), written_parts=elements))
        for key, elements in self._wholes(written, read):
            line = written.pop(key)
            found.append(CarriedLine(-1, line, self._slot(line), read_parts=elements))
        if read:
            raise NotStraightError
        return (*found, *(CarriedLine(-1, line, self._slot(line)) for line in written.values()))

    def _wholes(self, lines: dict[_Key, int], others: dict[_Key, int]) -> list[tuple[_Key, tuple[int, ...]]]:
        """Return lines of several elements, each with those of the others that are these, which are taken out."""
        found = []
        for key in lines:
            leaf, offset, dtype, count = key
            if count >= 0:
                places = range(
                    offset,
                    offset + self._segment.counts[count] * _FLOATS[dtype].itemsize,
                    _FLOATS[dtype].itemsize,
                )
                found.append((key, tuple(others.pop((leaf, at, dtype, -1), -1) for at in places)))
        return found

    def _key(self, line: int) -> _Key:
        place, described = self._found[line], self._segment.lines[line]
        return place.leaf, place.offset, described.dtype, described.count

    @property
    def fields(self) -> list[int]:
        """The fields that compiled code reads."""
        has_stacked = any(slot.base == field.OF_Y for slot in self.slots)
        slots = (value for slot in self.slots for value in slot)
        return [self.kernel, int(has_stacked), int(self.guarded), len(self.slots), *slots]


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
    if not plain or len(stream) != rows + len(others):
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
    return OneSegment(placed, stream.frames[stream.op < 0].reshape(-1).tolist(), casts, guarded)
