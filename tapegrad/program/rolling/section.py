"""Section of a recording: its instructions as columns of numbers, and what kind each is.

Two instructions are of one kind if they do the same to operands of the same look, wherever these lie.
"""

import sys

import numpy as np

from tapegrad.engine.inspection.tape_view import TapeEntry, read_tape
from tapegrad.engine.inspection.tape_entries import Buffers
from tapegrad.engine.inspection.view_columns import Views, numbered
from tapegrad.engine.runtime.lazy import lazy
from tapegrad.engine.tape.fields.layout import NONE, TRACED
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.tape import DTYPES, fields_at
from tapegrad.frontend.tensor.arrays import borrowed
from tapegrad.ops import CODES, GUARDS
from tapegrad.ops.params import OFFSET, field_index
from tapegrad.ops.structural.indexing import WriteParams
from tapegrad.program.recording.recording import RecordedTape, memory_of

WRITE = CODES["write"]
REGION = field_index(WriteParams, "region")
_POSITION, _LENGTH = 7, 8  # of the parameters, in a line of an instruction
_BUFFER, _DTYPE, _OFFSET = 1, 2, 4  # in a line of a slot
_PRIMAL, _CONTENT = 1, 9  # in a line of a buffer
_OWN_REFERENCES = 3  # to an array that the tape alone keeps: the tape's own, and those of the count itself


class NoLoopError(Exception):
    """Raised if a stretch is no loop that can be rolled."""


class Section:
    """The instructions of a recording, for the search for loops.

    Parameters
    ----------
    recording
        The recording as it was made.

    Attributes
    ----------
    tape
        What was recorded.
    op, operands, result
        By instruction that is not dead: op code, slots; absent operands are NONE.
    read, written
        Their buffers.
    base, shift
        By buffer: the buffer that holds its contents once loops are rolled, at first itself, and the byte where they begin.
    producer
        By buffer: the instruction that writes it last, NONE if none does.
    traced
        By buffer: whether it depends on an argument.
    results
        Buffers of the results of the function.
    """

    def __init__(self, recording: RecordedTape) -> None:
        self.tape = tape = read_tape(recording)
        self.recording = recording
        columns = tape.columns
        self._live = live = columns.live
        self.op, self.operands, self.result = columns.op[live], columns.operands[live], columns.result[live]
        self.read, self.written = columns.read[live], columns.written[live]
        self._line, self._lines, self._buffer_of = columns.line, columns.slots.lines, columns.buffer
        self.count = len(self.op)
        self.base = np.arange(len(columns.bytes))
        self.shift = np.zeros(len(self.base), np.int64)
        self.producer = np.full(len(self.base) + 1, NONE)  # the last one is that of NONE
        self.producer[self.written] = np.arange(self.count)
        self.traced = columns.flags & TRACED != 0
        self.results = columns.buffer[list(tape.outputs)] if tape.outputs else np.zeros(0, np.int64)

    def add_stack(self, buffers: np.ndarray, producer: int) -> int:
        """Let a new buffer, which an instruction produces, hold the contents of others one after the other.

        Return its number.
        """
        number = len(self.base)
        bytes_ = self.tape.bytes(int(buffers[0]))
        self.base[buffers], self.shift[buffers] = number, bytes_ * np.arange(len(buffers))
        self.base, self.shift = np.append(self.base, number), np.append(self.shift, 0)
        self.producer = np.insert(self.producer, number, producer)
        self.traced = np.append(self.traced, True)
        return number

    def entry(self, i: int) -> TapeEntry:
        """Return an instruction."""
        return self.tape.instructions[int(self._live[i])]

    def dtype_of(self, buffer: int) -> np.dtype[np.generic]:
        """Return the dtype of a buffer."""
        return DTYPES[int(self._dtypes[buffer])]

    @lazy
    def _dtypes(self) -> np.ndarray:
        found = np.zeros(len(self.tape.columns.bytes), np.int64)
        found[self._lines[:, _BUFFER]] = self._lines[:, _DTYPE]
        return found

    def flat_view(self, buffer: int) -> View:
        """Return the view of all elements of a buffer."""
        dtype = self.dtype_of(buffer)
        return View.in_c_order((self.tape.bytes(buffer) // dtype.itemsize,), dtype)

    def is_computed(self, buffer: int) -> bool:
        """Return whether a replay computes what a buffer holds, or is given it."""
        return bool(self.traced[buffer]) or self.producer[buffer] != NONE

    @lazy
    def _guards(self) -> np.ndarray:
        return np.flatnonzero(np.isin(self.op, list(GUARDS)))

    def guard_number(self, i: int) -> int:
        """Return which of the guards an instruction is."""
        return int(np.searchsorted(self._guards, i))

    @lazy
    def looks(self) -> np.ndarray:
        """By slot: equal numbers for the same extents, strides and dtype; NONE for no slot."""
        lines = self._lines.copy()
        lines[:, _OFFSET] = 0
        number = Views(lines, self.tape.columns.slots.pool).number
        return np.append(np.append(number, NONE)[self._line], NONE)

    @lazy
    def offsets(self) -> np.ndarray:
        """By slot: its first byte in its buffer, 0 for no slot."""
        return np.append(np.append(self._lines[:, _OFFSET], 0)[self._line], 0)

    @lazy
    def regions(self) -> np.ndarray:
        """By instruction: the first byte of the region that it writes, 0 for others than writes of a region."""
        found = np.zeros(self.count, np.int64)
        at = np.flatnonzero(self.op == WRITE)
        instructions = self.tape.columns.instructions
        lines, pool = instructions.lines[self._live], instructions.pool
        found[at] = pool[lines[at, _POSITION] + REGION + OFFSET]
        return found

    @lazy
    def kinds(self) -> np.ndarray:
        """By instruction: equal numbers for those of one kind. Where views begin, and regions, is no part of it."""
        looks = self.looks
        columns = [self.op, looks[self.result], *looks[self.operands].T, self._params()]
        return numbered(columns)

    def _params(self) -> np.ndarray:
        """Return numbers of the parameters, equal for equal ones."""
        instructions = self.tape.columns.instructions
        lines, pool = instructions.lines[self._live], instructions.pool
        found, first = np.zeros(self.count, np.int64), 1
        guards = np.zeros(self.count, np.bool_)
        guards[self._guards] = True
        for length in np.unique(lines[:, _LENGTH]).tolist():
            at = np.flatnonzero((lines[:, _LENGTH] == length) & ~guards)
            if not length or not len(at):
                continue
            fields = pool[lines[at, _POSITION, None] + np.arange(length)]
            fields[self.op[at] == WRITE, REGION + OFFSET : REGION + OFFSET + 1] = 0
            numbers = numbered(list(fields.T))
            found[at] = first + numbers
            first += int(numbers.max()) + 1
        known: dict[bytes, int] = {}
        seen = [known.setdefault(outcome, first + len(known)) for outcome in self.recording.outcomes]
        found[guards] = seen[: len(self._guards)]
        return found

    def constants(self, slots: np.ndarray) -> np.ndarray:
        """Return the constants that some slots show as one array: a copy, or a view of an array that lies outside.

        Parameters
        ----------
        slots
            Slots of one look.

        Raises
        ------
        NoLoopError
            If they are several arrays that lie outside, or Tensors.
        """
        buffers, lines = self._buffer_of[slots], Buffers.of(self.tape.buffers).lines
        first = self.tape.slots[int(slots[0])]
        at = np.searchsorted(lines[:, 0], buffers)
        outside = self._outside(buffers)
        if not outside:
            if first.shape == () and first.itemsize == 8:
                return lines[at, _CONTENT].view(first.view.dtype)
            return np.array([self._content(int(slot)) for slot in slots])
        addresses = lines[at, _PRIMAL] + self.offsets[slots]
        step = int(addresses[1] - addresses[0])
        roots = {memory_of(array) for array in outside}
        captured = self.recording.captured_tensors
        several = len(outside) != len(buffers) or len(roots) != 1 or (np.diff(addresses) != step).any()
        if several or any(int(b) in captured for b in buffers):
            raise NoLoopError("the iterations read several arrays")
        view = first.view._replace(
            offset=0, shape=(len(slots), *first.shape), strides=(step, *first.strides)
        )
        begin, end = view.bounds
        plain = borrowed(outside[0], int(addresses[0]) + begin, end - begin)
        return np.ndarray(view.shape, view.dtype, plain, -begin, view.strides)

    def _outside(self, buffers: np.ndarray) -> list[np.ndarray]:
        """Return the arrays among some constants that others than the recording can write to."""
        found, owners = [], self.recording.owners
        for buffer in buffers.tolist():
            array = owners.get(buffer)
            if array is not None and (array.base is not None or sys.getrefcount(array) > _OWN_REFERENCES):
                found.append(array)
        return found

    def _content(self, slot: int) -> np.ndarray:
        """Return a copy of what a slot shows."""
        found = self.tape.slots[slot]
        buffer = self.tape.buffers[found.buffer]
        plain = fields_at(buffer.primal, buffer.bytes, np.dtype(np.uint8))
        return np.ndarray(found.shape, found.view.dtype, plain, found.view.offset, found.strides).copy()
