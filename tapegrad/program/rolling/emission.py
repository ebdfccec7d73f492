"""Instructions of a recording, recorded once more on the tape of the current recording."""

from typing import Any, NamedTuple

import numpy as np

from tapegrad.autodiff.custom.call import call_at
from tapegrad.engine import kernel_table
from tapegrad.engine.sweep.eager import eager
from tapegrad.engine.tape import slots
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.memory import D_OFFSET
from tapegrad.engine.tape.tape import DTYPE_CODES, fields_at
from tapegrad.frontend.recording.record_structural import record_fields
from tapegrad.frontend.recording.running import run
from tapegrad.frontend.tensor.description import SlotDescription
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import Tensor, allocate, from_slot, geometry_of
from tapegrad.ops import CODES, COPY, GUARDS, Op
from tapegrad.ops.structural.control import CustomParams, GuardParams, TruthGuardParams
from tapegrad.program.recording.recording import RecordedTape
from tapegrad.program.rolling.plan import whole_view
from tapegrad.program.rolling.section import Section

_GUARD = CODES["guard"]


class Place(NamedTuple):
    """Where the contents of a buffer are: in a Tensor, whose elements lie side by side, from one of its bytes on."""

    tensor: Tensor
    origin: int = 0


class Emission:
    """Instructions of a recording, recorded once more.

    Parameters
    ----------
    section
        The recording.
    places
        By buffer: where its contents are. Constants need not be there.

    Attributes
    ----------
    recorder
        The tape that they are recorded on.
    """

    def __init__(self, section: Section, places: dict[int, Place]) -> None:
        recorder = thread.mode.recorder
        assert isinstance(recorder, RecordedTape)
        self._section, self.recorder, self._places = section, recorder, places
        self._recording = section.recording
        self._constants: dict[int, Tensor] = {}
        self._captured = self._recording.captured_tensors

    # --- operands --------------------------------------------------------------------------------------------------

    def constant(self, buffer: int) -> Tensor:
        """Return a constant of the recording: an array where it lies, or a copy of a number or a small array."""
        known = self._constants.get(buffer)
        if known is None:
            known = self._constants[buffer] = from_slot(self.recorder, self._constant_slot(buffer))
        return known

    def _constant_slot(self, buffer: int) -> int:
        section, recorder = self._section, self.recorder
        if buffer in self._captured:
            captured = self._captured[buffer]
            return slots.view_again(recorder.header, captured._slot_on(recorder), captured._slot_on(recorder))
        owner = self._recording.owners.get(buffer)
        if owner is not None:
            return recorder.enter_constant(owner)
        found = section.tape.buffers[buffer]
        dtype = section.dtype_of(buffer)
        content = fields_at(found.primal, found.bytes // dtype.itemsize, dtype).copy()
        return int(slots.copy_array(recorder.header, id(content), DTYPE_CODES[dtype], 0))

    def is_outer(self, buffer: int) -> bool:
        """Return whether a buffer is an operand of loops that read it: it is computed, or a Tensor from outside."""
        return self._section.is_computed(buffer) or buffer in self._captured

    def view(self, place: Place, view: View) -> Tensor:
        """Return a part of a buffer."""
        header, slot = self.recorder.header, place.tensor._slot_on(self.recorder)
        origin = SlotDescription(header, slot)[D_OFFSET] + place.origin
        geometry = np.array([*view.shape, *view.strides], np.int64)
        made = int(slots.view_geometry(header, slot, origin + view.offset, id(geometry)))
        if made < 0:
            raise RuntimeError(f"a part of an array lies outside of it: {view}")
        return from_slot(self.recorder, made)

    def part(self, buffer: int, view: View) -> Tensor:
        """Return a part of a buffer that the recording has computed, or of a constant."""
        place = self._places.get(buffer)
        if place is not None:
            return self.view(place, view)
        own = self.constant(buffer)
        begin = SlotDescription(self.recorder.header, own._slot)[D_OFFSET]
        return self.view(Place(own, -begin), view)

    def operand(self, slot: int) -> Tensor:
        """Return a slot of the recording."""
        found = self._section.tape.slots[slot]
        base, shift = self._section.base[found.buffer], self._section.shift[found.buffer]
        view = found.view._replace(offset=found.view.offset + int(shift))
        return self.part(int(base), view)

    # --- instructions ----------------------------------------------------------------------------------------------

    def emit(self, i: int, operands: list[Tensor], made: dict[int, Place]) -> None:
        """Record an instruction of other operands, and note where its result is.

        Parameters
        ----------
        i
            Number of the instruction.
        operands
            Of the same dtypes and shapes as its own.
        made
            By buffer: where the results of instructions are.
        """
        section, recorder = self._section, self.recorder
        entry = section.entry(i)
        if entry.op in GUARDS:
            self._guard(i, entry, operands[0])
            return
        row = kernel_table.row(entry.op)
        buffer = int(section.written[i])
        view = section.tape.slots[entry.result].view
        whole = whole_view(section, i)
        if row.kind == "callback":
            made[buffer] = Place(self._call(entry, operands, whole))
            return
        if not isinstance(row, Op):
            operands = [self._like(each, slot) for each, slot in zip(operands, entry.operands, strict=True)]
        ids = [operand._slot_on(recorder) for operand in operands]
        if buffer not in made and isinstance(row, Op) and view == whole:
            slot = run(recorder, entry.op, ids, thread.mode.differentiate)
            made[buffer] = Place(from_slot(recorder, slot))
            return
        if buffer not in made:
            made[buffer] = Place(allocate(recorder, whole.dtype, whole.shape, row.name))
        result = made[buffer].tensor if view == whole else self.view(made[buffer], view)
        self.emit_into(entry.op, result, operands, entry.params)

    def _like(self, operand: Tensor, slot: int) -> Tensor:
        """Return an operand whose elements lie as those of a slot do: parameters may say how they lie."""
        view = self._section.tape.slots[slot].view
        own = View(0, *geometry_of(operand), view.dtype)
        if (view.contiguous and own.contiguous) or view.strides == own.strides:
            return operand
        begin, end = view.bounds
        flat = allocate(self.recorder, view.dtype, ((end - begin) // view.itemsize,), "positive")
        laid_out = self.view(Place(flat), view._replace(offset=view.offset - begin))
        self.copy(operand, laid_out)
        return laid_out

    def emit_into(self, code: int, result: Tensor, operands: list[Tensor], fields: tuple[int, ...]) -> None:
        """Record an instruction with a given result."""
        recorder = self.recorder
        ids = [operand._slot_on(recorder) for operand in operands]
        name = kernel_table.op_name(code)
        record_fields(recorder, code, result._slot, ids, fields, name, thread.mode.differentiate)

    def _guard(self, i: int, entry: Any, operand: Tensor) -> None:
        number = self._section.guard_number(i)
        line = self._recording.guard_lines[number]
        slot = operand._slot_on(self.recorder)
        dtype = DTYPE_CODES[operand.dtype]
        outcome = self._recording.outcomes[number]
        if entry.op == _GUARD:
            expected = np.frombuffer(outcome, np.uint8)
            self.recorder.guard_bytes(dtype, slot, expected[: GuardParams(*entry.params).bytes], line)
        else:
            self.recorder.guard(entry.op, dtype, slot, TruthGuardParams(*entry.params), outcome, line)

    def _call(self, entry: Any, operands: list[Tensor], whole: View) -> Tensor:
        """Record a call of a user's function."""
        call = call_at(CustomParams(*entry.params).descriptor)
        result = allocate(self.recorder, whole.dtype, whole.shape, call.functions.name)
        x, rest = operands[0].data_or_traced(), operands[2].data_or_traced()
        result.data_or_traced()[...] = call.forward(x, rest).reshape(whole.shape)
        ids = [operand._slot_on(self.recorder) for operand in operands]
        header, differentiate = self.recorder.header, thread.mode.differentiate
        eager.append_call(header, entry.op, result._slot, *ids, entry.params, differentiate)
        return result

    def copy(self, source: Tensor, target: Tensor) -> None:
        """Record a copy of a Tensor into the memory of another."""
        self.emit_into(COPY, target, [source], ())
