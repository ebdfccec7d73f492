"""Instructions of a recording, recorded once more on the tape of the current recording."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad.autodiff.custom.call import call_at
from tapegrad.engine import kernel_table
from tapegrad.engine.sweep.eager import eager
from tapegrad.engine.tape import slots
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.memory import D_OFFSET
from tapegrad.engine.tape.tape import DTYPE_CODES
from tapegrad.frontend.recording.record_structural import record_fields
from tapegrad.frontend.recording.running import run
from tapegrad.frontend.recording.shape import in_own_buffer
from tapegrad.frontend.tensor.description import SlotDescription
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import Tensor, allocate, from_slot, geometry_of, is_tensor, slot_seen_as
from tapegrad.ops import CODES, COPY, Op
from tapegrad.ops.structural.control import CustomParams, GuardParams, TruthGuardParams
from tapegrad.program.recording.guards import SourceLine
from tapegrad.program.recording.recording import RecordedTape
from tapegrad.program.rolling.section import LoneInstruction

_GUARD = CODES["guard"]


class BufferPlace(NamedTuple):
    """Place of the contents of a buffer: a Tensor whose elements lie side by side, and the byte where they begin."""

    tensor: Tensor
    origin: int = 0


class Emission:
    """Instructions of a recording, recorded once more on the tape of the current recording.

    Parameters
    ----------
    constant
        Returns the constant on a buffer: a Tensor from outside, or an array.
    places
        By buffer: where its contents are, but for constants.

    Attributes
    ----------
    recorder
        The tape that they are recorded on.
    """

    def __init__(self, constant: Callable[[int], Any], places: dict[int, BufferPlace]) -> None:
        recorder = thread.mode.recorder
        assert isinstance(recorder, RecordedTape)
        self._constant, self.recorder, self._places = constant, recorder, places

    # --- operands --------------------------------------------------------------------------------------------------

    def _place_of_constant(self, buffer: int) -> BufferPlace:
        """Return where a constant is: an array where it lies, or a copy of a number or a small array."""
        constant, recorder = self._constant(buffer), self.recorder
        if is_tensor(constant):
            own = constant._slot_on(recorder)
            slot = slots.view_again(recorder.header, own, own)
        elif isinstance(constant, np.floating):
            slot = slots.number(recorder.header, float(constant), DTYPE_CODES[constant.dtype])
        else:
            slot = recorder.enter_constant(np.asarray(constant))
        tensor = from_slot(recorder, int(slot))
        return BufferPlace(tensor, -SlotDescription(recorder.header, tensor._slot)[D_OFFSET])

    def view(self, place: BufferPlace, view: View) -> Tensor:
        """Return a part of a buffer."""
        slot = place.tensor._slot_on(self.recorder)
        origin = SlotDescription(self.recorder.header, slot)[D_OFFSET] + place.origin
        seen = view._replace(offset=origin + view.offset)
        return from_slot(self.recorder, slot_seen_as(self.recorder, slot, seen, "a loop"))

    def part(self, buffer: int, view: View) -> Tensor:
        """Return a part of a buffer that the recording has computed, or of a constant."""
        place = self._places.get(buffer)
        if place is None:
            place = self._places[buffer] = self._place_of_constant(buffer)
        return self.view(place, view)

    # --- instructions ----------------------------------------------------------------------------------------------

    def emit(self, step: LoneInstruction, operands: list[Tensor]) -> None:
        """Record an instruction, and note where its result is.

        Parameters
        ----------
        step
            The instruction.
        operands
            Its operands, of the dtypes and shapes that it says.
        """
        places, recorder = self._places, self.recorder
        if step.guard is not None:
            self._guard(step, *step.guard, operands[0])
            return
        row = kernel_table.row(step.op)
        if row.kind == "callback":
            places[step.buffer] = BufferPlace(self._call(step, operands))
            return
        if not isinstance(row, Op):
            operands = [self._like(each, view) for each, view in zip(operands, step.views, strict=True)]
        if step.buffer not in places and isinstance(row, Op) and step.view == step.whole:
            slot = run(recorder, step.op, self._ids(operands), thread.mode.differentiate)
            places[step.buffer] = BufferPlace(from_slot(recorder, slot))
            return
        if step.buffer not in places:
            zeros = allocate(recorder, step.whole.dtype, step.whole.shape, row.name, zeroed=True)
            places[step.buffer] = BufferPlace(zeros)  # sums are added to it
        whole = places[step.buffer]
        result = whole.tensor if step.view == step.whole else self.view(whole, step.view)
        self.emit_into(step.op, result, operands, step.params)

    def _ids(self, operands: list[Tensor]) -> list[int]:
        return [operand._slot_on(self.recorder) for operand in operands]

    def _like(self, operand: Tensor, view: View) -> Tensor:
        """Return an operand whose elements lie as those of a view do: parameters may say how they lie."""
        own = View(0, *geometry_of(operand), view.dtype)
        if (view.contiguous and own.contiguous) or view.strides == own.strides:
            return operand
        begin, end = view.bounds
        flat = allocate(self.recorder, view.dtype, ((end - begin) // view.itemsize,), "positive")
        laid_out = self.view(BufferPlace(flat), view._replace(offset=view.offset - begin))
        self.copy(operand, laid_out)
        return laid_out

    def emit_into(self, code: int, result: Tensor, operands: list[Tensor], fields: tuple[int, ...]) -> None:
        """Record an instruction with a given result."""
        if kernel_table.row(code).in_place:  # what a loop has written is a part of what it has stacked
            operands = [in_own_buffer(operands[0]), *operands[1:]]
        ids, name = self._ids(operands), kernel_table.op_name(code)
        record_fields(self.recorder, code, result._slot, ids, fields, name, thread.mode.differentiate)

    def _guard(self, step: LoneInstruction, outcome: bytes, line: SourceLine, operand: Tensor) -> None:
        slot, dtype = operand._slot_on(self.recorder), DTYPE_CODES[operand.dtype]
        if step.op == _GUARD:
            expected = np.frombuffer(outcome, np.uint8)[: GuardParams(*step.params).bytes]
            self.recorder.guard_bytes(dtype, slot, expected, line)
        else:
            self.recorder.guard(step.op, dtype, slot, TruthGuardParams(*step.params), outcome, line)

    def _call(self, step: LoneInstruction, operands: list[Tensor]) -> Tensor:
        """Record a call of a user's function."""
        call = call_at(CustomParams(*step.params).descriptor)
        result = allocate(self.recorder, step.whole.dtype, step.whole.shape, call.functions.name)
        x, rest = operands[0].data_or_traced(), operands[2].data_or_traced()
        result.data_or_traced()[...] = call.forward(x, rest).reshape(step.whole.shape)
        header, differentiate = self.recorder.header, thread.mode.differentiate
        eager.append_call(header, step.op, result._slot, *self._ids(operands), step.params, differentiate)
        return result

    def tensor(self, value: Any) -> Tensor:
        """Return an array of constants as a Tensor of the recording."""
        return value if is_tensor(value) else from_slot(self.recorder, self.recorder.enter_constant(value))

    def copy(self, source: Tensor, target: Tensor) -> None:
        """Record a copy of a Tensor into the memory of another."""
        self.emit_into(COPY, target, [source], ())
