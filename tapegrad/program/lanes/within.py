"""Lanes within a recording: what it has of one instance is appended to it for all instances.

These are ordinary instructions, of which all that can be asked of a recording is made in the ordinary way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.inspection.tape_entries import TapeEntry
from tapegrad.engine.inspection.tape_view import TapeView, read_tape
from tapegrad.engine.status import checked
from tapegrad.engine.tape import slots
from tapegrad.engine.tape.fields.layout import DEAD_OP
from tapegrad.engine.tape.tape import DTYPES
from tapegrad.errors import UnsupportedError
from tapegrad.frontend.recording.record_structural import record_out
from tapegrad.frontend.tensor.tensor import Tensor, from_slot
from tapegrad.ops.params import read
from tapegrad.program.lanes.layout import LAST
from tapegrad.program.lanes.rules import widen
from tapegrad.program.lanes.widening import Widening, depending_on
from tapegrad.program.passes.dead_code import eliminate_dead_code
from tapegrad.program.recording.recording import RecordedTape

_MAX_UNROLLED = 64  # lanes of which each may have instructions of its own


class NoInstruction(Exception):
    """No instructions compute for all lanes what one instance computes, or they fail for one of them."""


class Section:
    """Section of a recording: the instructions of one instance, from now on.

    Parameters
    ----------
    recorder
        The recording.
    given
        For each slot that stands for the instance's part of something, all of that with lanes last, in C order.
    """

    def __init__(self, recorder: RecordedTape, given: Mapping[int, Tensor]) -> None:
        self._recorder, self._given = recorder, dict(given)
        self._start = len(recorder)
        tape = read_tape(recorder)
        self._older = set(tape.buffers) - {tape.slots[slot].buffer for slot in given}

    def end(self, wanted: Sequence[int]) -> "EndedSection":
        """End the section; return the instructions that the wanted slots depend on."""
        tape = read_tape(self._recorder)
        ops = tape.columns.op.copy()
        ops[: self._start] = DEAD_OP
        instructions = tape.columns.instructions.with_ops(ops)
        own = replace(tape, instructions=instructions, inputs=tuple(self._given), outputs=tuple(wanted))
        return EndedSection(self._recorder, eliminate_dead_code(own), self._given, self._older)


class EndedSection:
    """Instructions of one instance that a section has recorded.

    Parameters
    ----------
    recorder, given
        As of the section.
    tape
        Its instructions.
    older
        Buffers that were there before.
    """

    def __init__(
        self, recorder: RecordedTape, tape: TapeView, given: Mapping[int, Tensor], older: set[int]
    ) -> None:
        self._recorder, self._tape, self._given = recorder, tape, given
        self._varying = depending_on(tape, [tape.slots[slot].buffer for slot in given])
        self._check_writes(older)

    def _check_writes(self, older: set[int]) -> None:
        for i in self._tape.live:
            is_in_place = kernel_table.row(self._tape.instructions[i].op).in_place
            if is_in_place and self._tape.written[i] in self._varying and self._tape.read[i][0] in older:
                raise UnsupportedError(
                    "vmap: the function writes in place to a Tensor that it closes over, which all instances share;"
                    " return what each instance writes"
                )

    def varies(self, slot: int) -> bool:
        """Return whether the elements of a slot are batched."""
        return self._tape.slots[slot].buffer in self._varying

    def over_lanes(self, wanted: Sequence[int], lanes: int) -> list[Tensor]:
        """Append the section for all lanes: what some slots that vary show, with lanes last.

        Raises
        ------
        NoInstruction
            If that cannot be done, or fails for one of them.
        """
        tape = self._tape
        made = _Within(self._recorder, tape, [True] * len(tape.inputs), lanes)
        for i in filter(made.concerns, tape.live):
            widen(made, tape.instructions[i])
        return made.appended(self._given, wanted)


class _Within(Widening):
    """A section of a recording while it is widened. Nothing runs lane by lane: there is no instruction for that."""

    def emit_by_lane(self, each: TapeEntry, result: int, operands: Sequence[int]) -> None:
        """Add an instruction for each lane, if these are few."""
        row = kernel_table.row(each.op)
        if self.lanes > _MAX_UNROLLED or row.in_place or row.kind == "callback":
            raise NoInstruction(row.name)
        for lane in range(self.lanes):
            self.emit(each, self._of_lane(result, lane), [self._of_lane(slot, lane) for slot in operands])

    def _of_lane(self, slot: int, lane: int) -> int:
        """Return the slot of a lane, given that of the first."""
        entry, step = self._slots[slot], self._step(slot)
        if step == 0:
            return slot
        return self.slot(entry.buffer, entry.view._replace(offset=entry.view.offset + lane * step))

    def appended(self, given: Mapping[int, Tensor], wanted: Sequence[int]) -> list[Tensor]:
        """Append what was widened: what some slots show, with lanes last."""
        found = [self.view(slot, self.buffer(slot, LAST)) for slot in wanted]
        kernel_table.load_driver()
        appended = _Appended(self, self._recording, given)
        for each in self._instructions:
            appended.add(each)
        return [appended.tensor(slot) for slot in found]

    def is_shared(self, buffer: int) -> bool:
        """Return whether a buffer is one of the recording's without lanes."""
        return buffer in self.tape.buffers and buffer not in self._with_lanes

    def entry(self, slot: int) -> Any:
        """Return the entry of a slot."""
        return self._slots[slot]

    def entry_of_buffer(self, buffer: int) -> Any:
        """Return the entry of a buffer."""
        return self._buffers[buffer]


class _Appended:
    """Builder that appends a batched section to the recording."""

    def __init__(self, made: _Within, recorder: RecordedTape, given: Mapping[int, Tensor]) -> None:
        self._made, self._recorder = made, recorder
        self._slots: dict[int, int] = {}  # of the recording, by slots of what was widened
        self._bases = {made.tape.slots[one].buffer: whole._slot_on(recorder) for one, whole in given.items()}
        self._held: list[Tensor] = []  # slots live as long as somebody holds them

    def add(self, each: TapeEntry) -> None:
        """Append an instruction, and run it."""
        record = kernel_table.row(each.op).params
        params = None if record is None else read(record, each.params)
        entry = self._made.entry(each.result)
        differentiate = self._made.entry_of_buffer(entry.buffer).differentiable
        operands = [self._slot(slot) for slot in each.operands]
        result = self._slot(each.result)
        try:
            record_out(self._recorder, each.op, result, operands, params, "vmap", differentiate)
        except (ValueError, IndexError) as error:
            raise NoInstruction("it fails for an instance") from error

    def tensor(self, number: int) -> Tensor:
        """Return the Tensor of a slot."""
        return from_slot(self._recorder, self._new_view(number))

    def _slot(self, number: int) -> int:
        """Return the recording's own slot of one that it has, or else a new one."""
        entry = self._made.entry(number)
        if number in self._made.tape.slots and self._made.is_shared(entry.buffer):
            return number
        if number not in self._slots:
            self._slots[number] = self._new_view(number)
            self._held.append(from_slot(self._recorder, self._slots[number]))
        return self._slots[number]

    def _new_view(self, number: int) -> int:
        entry = self._made.entry(number)
        geometry = np.array((*entry.shape, *entry.strides), np.int64)
        base, offset = self._base(entry), entry.view.offset
        return checked(
            slots.view_geometry(self._recorder.header, base, offset, id(geometry)), "vmap", entry.shape
        )

    def _base(self, entry: Any) -> int:
        """Return a slot of the recording on the buffer of a slot of the batched section."""
        buffer, tape = entry.buffer, self._made.tape
        if buffer not in self._bases:
            if self._made.is_shared(buffer):
                self._bases[buffer] = tape.slots_on[buffer][0]
            elif buffer in self._made.constants:
                self._bases[buffer] = self._recorder.enter_constant(self._made.constants[buffer])
            else:
                self._bases[buffer] = self._allocated(entry)
        return self._bases[buffer]

    def _allocated(self, entry: Any) -> int:
        """Return a slot on a new buffer of zeros, to which sums are added."""
        count = self._made.entry_of_buffer(entry.buffer).bytes // DTYPES[entry.dtype].itemsize
        slot = checked(slots.allocate(self._recorder.header, entry.dtype, (count,), True), "vmap", (count,))
        self._held.append(from_slot(self._recorder, slot))
        return slot
