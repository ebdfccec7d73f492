"""Columns of a tape that is built in Python, from which programs are bound as from a recording."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tapegrad.engine.inspection.tape_entries import Buffer, Slot, TapeEntry
from tapegrad.engine.tape.fields.columns import BUFFER, COLUMNS, INSTRUCTION, SLOT
from tapegrad.engine.tape.fields.layout import BUFFERS, INSTRUCTIONS, NONE, SLOTS

_TYPES = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


class WidenedTape:
    """Columns of a tape that was made from a recording.

    Parameters
    ----------
    recording
        The recording, kept alive: its constants are not copied.
    instructions, slots, buffers
        Entries of the tape, by number.
    kept
        Memory that the entries point to.
    """

    def __init__(
        self,
        recording: Any,
        instructions: Sequence[TapeEntry],
        slots: Mapping[int, Slot],
        buffers: Mapping[int, Buffer],
        kept: Sequence[np.ndarray],
    ) -> None:
        self.recording = recording
        self.owners: dict[int, Any] = recording.owners
        self.guard_lines = recording.guard_lines
        self._geometries = [np.array((*s.view.shape, *s.view.strides), np.int64) for s in slots.values()]
        self._kept = list(kept)
        counts = {INSTRUCTION: len(instructions), SLOT: 1 + max(slots), BUFFER: 1 + max(buffers)}
        self._columns = {
            name: np.zeros(counts[column.kind], _TYPES[column.bytes]) for name, column in COLUMNS.items()
        }
        self._enter_instructions(instructions)
        self._enter_slots(slots)
        self._enter_buffers(buffers)
        self.fields = recording.fields.copy()
        for kind, field in ((INSTRUCTION, INSTRUCTIONS), (SLOT, SLOTS), (BUFFER, BUFFERS)):
            self.fields[field] = counts[kind]
        for name, values in self._columns.items():
            self.fields[COLUMNS[name].field] = values.ctypes.data

    def column(self, name: str) -> np.ndarray:
        """Return a copy of a column."""
        return self._columns[name].copy()

    def _enter_instructions(self, instructions: Sequence[TapeEntry]) -> None:
        for i, each in enumerate(instructions):
            operands = (*each.operands, NONE, NONE, NONE)
            values = (each.op, each.result, *operands[:3], each.address)
            for name, value in zip(
                ("op", "result", "operand0", "operand1", "operand2", "params"), values, strict=True
            ):
                self._columns[name][i] = value

    def _enter_slots(self, slots: Mapping[int, Slot]) -> None:
        for (number, slot), geometry in zip(slots.items(), self._geometries, strict=True):
            self._columns["buffer"][number] = slot.buffer
            self._columns["dtype"][number] = slot.dtype
            self._columns["ndim"][number] = slot.view.ndim
            self._columns["offset"][number] = slot.view.offset
            self._columns["geometry"][number] = geometry.ctypes.data if len(geometry) else 0

    def _enter_buffers(self, buffers: Mapping[int, Buffer]) -> None:
        for number, buffer in buffers.items():
            self._columns["primal"][number] = buffer.primal
            self._columns["bytes"][number] = buffer.bytes
            self._columns["flags"][number] = buffer.flags
            self._columns["producer"][number] = NONE
