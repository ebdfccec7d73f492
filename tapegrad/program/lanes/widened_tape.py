"""Columns of a tape that is built in Python, from which programs are bound as from a recording."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.engine.inspection.tape_entries import Buffers, Slots
from tapegrad.engine.inspection.tape_view import TapeView
from tapegrad.engine.tape.fields.columns import BUFFER, COLUMNS, INSTRUCTION, SLOT
from tapegrad.engine.tape.fields.layout import BUFFERS, INSTRUCTIONS, NONE, SLOTS

_TYPES = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}
# Columns, by their positions in the lines of entries
_OF_INSTRUCTIONS = {"op": 0, "result": 1, "operand0": 2, "operand1": 3, "operand2": 4, "params": 5}
_OF_SLOTS = {"buffer": 1, "dtype": 2, "ndim": 3, "offset": 4}
_OF_BUFFERS = {"primal": 1, "bytes": 3, "flags": 8}
_NUMBER, _NDIM, _POSITION = (
    0,
    3,
    7,
)  # in a line of a slot: its number, dimensions, and where extents and strides are


class WidenedTape:
    """Columns of a tape that was made from a recording.

    Parameters
    ----------
    recording
        The recording, kept alive: its constants are not copied.
    tape
        The entries of the tape.
    kept
        Memory that the entries point to.
    """

    def __init__(self, recording: Any, tape: TapeView, kept: Sequence[np.ndarray]) -> None:
        self.recording = recording
        self.owners: dict[int, Any] = recording.owners
        self.guard_lines = recording.guard_lines
        instructions, slots = tape.columns.instructions.lines, tape.columns.slots
        buffers = Buffers.of(tape.buffers).lines
        self._kept = [*kept, slots.pool]
        last_slot, last_buffer = int(slots.lines[:, _NUMBER].max()), int(buffers[:, _NUMBER].max())
        counts = {INSTRUCTION: len(instructions), SLOT: 1 + last_slot, BUFFER: 1 + last_buffer}
        self._columns = {
            name: np.zeros(counts[column.kind], _TYPES[column.bytes]) for name, column in COLUMNS.items()
        }
        self._enter(_OF_INSTRUCTIONS, np.arange(len(instructions)), instructions)
        self._enter(_OF_SLOTS, slots.lines[:, _NUMBER], slots.lines)
        self._enter_geometries(slots)
        self._enter(_OF_BUFFERS, buffers[:, _NUMBER], buffers)
        self._columns["producer"][buffers[:, _NUMBER]] = NONE
        self.fields = recording.fields.copy()
        for kind, field in ((INSTRUCTION, INSTRUCTIONS), (SLOT, SLOTS), (BUFFER, BUFFERS)):
            self.fields[field] = counts[kind]
        for name, values in self._columns.items():
            self.fields[COLUMNS[name].field] = values.ctypes.data

    def column(self, name: str) -> np.ndarray:
        """Return a copy of a column."""
        return self._columns[name].copy()

    def _enter(self, positions: dict[str, int], numbers: np.ndarray, lines: np.ndarray) -> None:
        for name, position in positions.items():
            self._columns[name][numbers] = lines[:, position]

    def _enter_geometries(self, slots: Slots) -> None:
        """Enter the addresses of extents and strides; 0 for slots without dimensions."""
        lines, pool = slots.lines, slots.pool
        addresses = pool.ctypes.data + pool.itemsize * lines[:, _POSITION]
        self._columns["geometry"][lines[:, _NUMBER]] = np.where(lines[:, _NDIM] > 0, addresses, 0)
