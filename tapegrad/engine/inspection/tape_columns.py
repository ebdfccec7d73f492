"""A tape at one moment as columns of numbers, for what goes through all of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tapegrad.engine.inspection.tape_entries import Buffer, Buffers, Slot, Slots, TapeEntries, TapeEntry
from tapegrad.engine.inspection.view_columns import Views
from tapegrad.engine.runtime.lazy import lazy
from tapegrad.engine.tape.fields.layout import NONE


@dataclass(frozen=True)
class Columns:
    """The columns of a tape. Absent operands, and entries that are not in use, are NONE.

    Attributes
    ----------
    instructions, slots
        The entries, and their lines of fields.
    op, result, operands
        By instruction: op code, slot of the result, slots of three operands.
    written, read
        By instruction: buffer of the result, buffers of three operands.
    buffer, line
        By slot: its buffer, and its line.
    bytes, flags
        By buffer.
    """

    instructions: TapeEntries
    slots: Slots
    op: np.ndarray
    result: np.ndarray
    operands: np.ndarray
    written: np.ndarray
    read: np.ndarray
    buffer: np.ndarray
    line: np.ndarray
    bytes: np.ndarray
    flags: np.ndarray

    @lazy
    def live(self) -> np.ndarray:
        """Numbers of the instructions that are not dead."""
        return np.flatnonzero(self.op >= 0)

    @lazy
    def writers(self) -> np.ndarray:
        """Number of live instructions that write each buffer."""
        return np.bincount(self.written[self.live], minlength=len(self.bytes))

    @property
    def views(self) -> Views:
        """Views of the slots on their buffers, by line."""
        return self.slots.views

    def all_of(self, slots: np.ndarray) -> np.ndarray:
        """Return which slots are the whole of their buffers, in C order."""
        return self._whole(slots, self.views.contiguous)

    def all_in_some_order_of(self, slots: np.ndarray) -> np.ndarray:
        """Return which slots are the whole of their buffers, in any order of their dimensions."""
        return self._whole(slots, self.views.dense)

    def _whole(self, slots: np.ndarray, dense: np.ndarray) -> np.ndarray:
        lines = self.line[slots]
        found: np.ndarray = dense[lines] & (self.views.bytes[lines] == self.bytes[self.buffer[slots]])
        return found


def first_of_each(values: np.ndarray, count: int) -> np.ndarray:
    """Return a mask of the first occurrences among many numbers below `count`."""
    position, at = np.empty(count, np.int64), np.arange(len(values))
    position[values[::-1]] = at[::-1]  # of several the last one stays
    found: np.ndarray = position[values] == at
    return found


def columns_of(
    instructions: Sequence[TapeEntry], slots: Mapping[int, Slot], buffers: Mapping[int, Buffer]
) -> Columns:
    """Return the entries of a tape as columns."""
    instructions, slots = TapeEntries.of(instructions), Slots.of(slots)
    lines = Buffers.of(buffers).lines
    op, result, operands = instructions.lines[:, 0], instructions.lines[:, 1], instructions.lines[:, 2:5]
    named = max(int(result.max(initial=NONE)), int(operands.max(initial=NONE)))
    buffer, line = _by_number(slots.lines[:, 0], [slots.lines[:, 1], np.arange(len(slots.lines))], named)
    bytes_, flags = _by_number(lines[:, 0], [lines[:, 3], lines[:, 8]], int(buffer.max(initial=NONE)))
    buffer_of = np.append(buffer, NONE)  # so that NONE has none
    written, read = buffer_of[result], buffer_of[operands]
    return Columns(instructions, slots, op, result, operands, written, read, buffer, line, bytes_, flags)


def _by_number(numbers: np.ndarray, columns: Sequence[np.ndarray], named: int) -> list[np.ndarray]:
    """Return columns of entries in use as columns by number, up to `named`; NONE in rows that are not in use."""
    found = []
    for column in columns:
        values = np.full(max(int(numbers.max(initial=NONE)), named) + 1, NONE)
        values[numbers] = column
        found.append(values)
    return found
