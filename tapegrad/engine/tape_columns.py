"""A tape at one moment as columns of numbers, for what goes through all of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tapegrad.engine.tape.layout import NONE
from tapegrad.engine.tape.tape import DTYPES
from tapegrad.engine.tape_entries import Buffer, Buffers, Instruction, Instructions, Slot, Slots

_ITEM = np.array([dtype.itemsize for dtype in DTYPES])


@dataclass(frozen=True)
class Columns:
    """The columns of a tape. Absent operands, and entries that are not in use, are NONE.

    Attributes
    ----------
    instructions, slots, buffers
        The entries, and their lines of words.
    op, result, operands
        By instruction: op code, slot of the result, slots of three operands.
    written, read
        By instruction: buffer of the result, buffers of three operands.
    buffer, line
        By slot: its buffer, and its line.
    bytes, flags
        By buffer.
    """

    instructions: Instructions
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

    @cached_property
    def live(self) -> np.ndarray:
        """Numbers of the instructions that are not dead."""
        return np.flatnonzero(self.op >= 0)

    @cached_property
    def writers(self) -> np.ndarray:
        """By buffer how many live instructions write it."""
        return np.bincount(self.written[self.live], minlength=len(self.bytes))

    @cached_property
    def views(self) -> "Views":
        """How the slots lie in their buffers, by line."""
        return Views(self.slots)

    def all_of(self, slots: np.ndarray) -> np.ndarray:
        """Which slots are the whole of their buffers, in C order."""
        lines = self.line[slots]
        found: np.ndarray = self.views.contiguous[lines] & (
            self.views.bytes[lines] == self.bytes[self.buffer[slots]]
        )
        return found


class Views:
    """The views of all slots.

    Attributes
    ----------
    number
        Two slots have the same where their views are the same, offset, extents, strides and dtype.
    contiguous, bytes
        Whether the elements lie side by side in C order, and the bytes that they take.
    """

    def __init__(self, slots: Slots) -> None:
        lines = slots.lines
        self.contiguous = np.ones(len(lines), np.bool_)
        self.bytes = _ITEM[lines[:, 2]]
        self.number = np.zeros(len(lines), np.int64)
        first = 0
        for ndim in np.unique(lines[:, 3]).tolist():
            at = np.flatnonzero(lines[:, 3] == ndim)
            words = slots.pool[lines[at, 7, None] + np.arange(2 * ndim)]
            self._measure(at, words[:, :ndim], words[:, ndim:])
            numbers = numbered([lines[at, 2], lines[at, 4], *words.T])
            self.number[at] = first + numbers
            first += int(numbers.max()) + 1

    def _measure(self, at: np.ndarray, extents: np.ndarray, strides: np.ndarray) -> None:
        step, in_order = self.bytes[at].copy(), np.ones(len(at), np.bool_)
        for d in reversed(range(extents.shape[1])):
            in_order &= (extents[:, d] == 1) | (strides[:, d] == step)
            step *= extents[:, d]
        self.contiguous[at], self.bytes[at] = in_order | (step == 0), step


def numbered(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Numbers from 0 on for lines of several columns, equal where the lines are."""
    found = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        if len(column) and (column == column[0]).all():
            continue
        numbers = _ranks(column)
        found = _ranks(found * (int(numbers.max(initial=0)) + 1) + numbers)
    return found


def _ranks(column: np.ndarray) -> np.ndarray:
    """Numbers from 0 on for values, in their order."""
    low, high = int(column.min(initial=0)), int(column.max(initial=0))
    found: np.ndarray
    if high - low > 4 * len(column):
        _, found = np.unique(column, return_inverse=True)
        return found
    present = np.zeros(high - low + 1, np.int64)
    present[column - low] = 1
    found = (np.cumsum(present) - 1)[column - low]
    return found


def first_of_each(values: np.ndarray, count: int) -> np.ndarray:
    """Which of many numbers below `count` have not come before."""
    place, at = np.empty(count, np.int64), np.arange(len(values))
    place[values[::-1]] = at[::-1]  # of several the last one stays
    found: np.ndarray = place[values] == at
    return found


def columns_of(
    instructions: Sequence[Instruction], slots: Mapping[int, Slot], buffers: Mapping[int, Buffer]
) -> Columns:
    """The entries of a tape as columns."""
    instructions, slots = Instructions.of(instructions), Slots.of(slots)
    lines = Buffers.of(buffers).lines
    op, result, operands = instructions.lines[:, 0], instructions.lines[:, 1], instructions.lines[:, 2:5]
    named = max(int(result.max(initial=NONE)), int(operands.max(initial=NONE)))
    buffer, line = _by_number(slots.lines[:, 0], [slots.lines[:, 1], np.arange(len(slots.lines))], named)
    bytes_, flags = _by_number(lines[:, 0], [lines[:, 3], lines[:, 8]], int(buffer.max(initial=NONE)))
    buffer_of = np.append(buffer, NONE)  # so that NONE has none
    written, read = buffer_of[result], buffer_of[operands]
    return Columns(instructions, slots, op, result, operands, written, read, buffer, line, bytes_, flags)


def _by_number(numbers: np.ndarray, columns: Sequence[np.ndarray], named: int) -> list[np.ndarray]:
    """Columns of entries in use as columns by number, up to one that is named, NONE where no entry is in use."""
    found = []
    for column in columns:
        values = np.full(max(int(numbers.max(initial=NONE)), named) + 1, NONE)
        values[numbers] = column
        found.append(values)
    return found
