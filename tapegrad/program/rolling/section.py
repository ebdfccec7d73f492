"""Section of a recording: its instructions as columns of numbers, and what kind each is.

Two instructions are of one kind if they do the same to operands of the same look, wherever these lie.
"""

import sys
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.inspection.tape_entries import Buffers
from tapegrad.engine.inspection.tape_view import TapeEntry, read_tape
from tapegrad.engine.inspection.view_columns import look_numbers, numbered
from tapegrad.engine.runtime.lazy import lazy
from tapegrad.engine.tape.fields.layout import NONE, TRACED
from tapegrad.engine.tape.fields.view import View
from tapegrad.engine.tape.tape import DTYPES, fields_at
from tapegrad.frontend.tensor.arrays import borrowed
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.ops import CODES, GUARDS
from tapegrad.ops.params import OFFSET, field_index
from tapegrad.ops.structural.indexing import WriteParams
from tapegrad.program.recording.guards import SourceLine
from tapegrad.program.recording.recording import RecordedTape, memory_of

WRITE = CODES["write"]
REGION = field_index(WriteParams, "region")
_POSITION, _LENGTH = 7, 8  # of the parameters, in a line of an instruction
_BUFFER, _DTYPE, _OFFSET = 1, 2, 4  # in a line of a slot
_PRIMAL, _BYTES, _CONTENT = 1, 3, 9  # in a line of a buffer


class NoLoopError(Exception):
    """Raised if a stretch is no loop that can be rolled."""


class Part(NamedTuple):
    """Part of a buffer that was there before: a view, which moves by `step` bytes from iteration to iteration."""

    buffer: int
    view: View
    step: int = 0


class LoneInstruction(NamedTuple):
    """Instruction by itself: op code, parameters, views of the operands, and what it writes.

    Attributes
    ----------
    buffer, view, whole
        Buffer of the result, the view that is written, and that of the whole buffer.
    guard
        Of a guard: what it has seen, and the line that it stands for.
    """

    op: int
    params: tuple[int, ...]
    views: tuple[View, ...]
    buffer: int
    view: View
    whole: View
    guard: tuple[bytes, SourceLine] | None


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
        By buffer: the buffer that holds its contents once loops are rolled, at first itself, and from which byte on.
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
        """Map buffers to slices of a new one, the stacked result of a loop, which an instruction produces.

        Return the number of the new buffer.
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

    def number_on_tape(self, i: int) -> int:
        """Return the number of an instruction on the tape, where dead ones are counted."""
        return int(self._live[i])

    def dtype_of(self, buffer: int) -> np.dtype[Any]:
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

    def bytes_written(self, start: int, stop: int) -> int:
        """Return the bytes of the results of some instructions."""
        return int(self.tape.columns.bytes[self.written[start:stop]].sum())

    def step(self, i: int) -> LoneInstruction:
        """Return an instruction by itself."""
        entry, slots, guard = self.entry(i), self.tape.slots, None
        if entry.op in GUARDS:
            number = int(np.searchsorted(self._guards, i))
            guard = self.recording.outcomes[number], self.recording.guard_lines[number]
        views = tuple(slots[slot].view for slot in entry.operands)
        buffer, view = int(self.written[i]), slots[entry.result].view
        return LoneInstruction(entry.op, entry.params, views, buffer, view, self.whole_view(i), guard)

    def part(self, slot: int) -> Part:
        """Return where what a slot shows lies once loops are rolled."""
        found = self.tape.slots[slot]
        shift = int(self.shift[found.buffer])
        return Part(int(self.base[found.buffer]), found.view._replace(offset=found.view.offset + shift))

    def whole_view(self, i: int) -> View:
        """Return the view of all that an instruction's result is on: in its shape, or flat if it is a part of that."""
        slot = self.tape.slots[int(self.result[i])]
        whole = View.in_c_order(slot.shape, slot.view.dtype)
        is_whole = slot.view == whole and whole.nbytes == self.tape.bytes(slot.buffer)
        return whole if is_whole else self.flat_view(slot.buffer)

    def constant(self, buffer: int) -> Any:
        """Return a constant: a Tensor from outside, an array where it lies, or a copy of what the tape itself has.

        A number of the tape's is a NumPy scalar.
        """
        if buffer in self._captured:
            return self._captured[buffer]
        owner = self.recording.owners.get(buffer)
        if owner is not None:
            return owner
        contents = self.contents(buffer)
        return contents.copy() if contents.size > 1 else contents[0]

    @lazy
    def constants_by_buffer(self) -> np.ndarray:
        """Mask of the buffers that are constants: nothing computes them, and they are no Tensors from outside."""
        found: np.ndarray = ~self.traced & (self.producer[:-1] == NONE)
        found[list(self._captured)] = False
        return found

    def is_outer(self, buffer: int) -> bool:
        """Return whether a buffer is an operand of the loops that read it: it is computed, or a Tensor from outside."""
        return bool(self.traced[buffer]) or self.producer[buffer] != NONE or buffer in self._captured

    @lazy
    def _captured(self) -> dict[int, Tensor]:
        return self.recording.captured_tensors

    @lazy
    def _guards(self) -> np.ndarray:
        return np.flatnonzero(np.isin(self.op, list(GUARDS)))

    @lazy
    def looks(self) -> np.ndarray:
        """Numbers of the looks of slots, equal for the same extents, strides and dtype; NONE for no slot."""
        number = look_numbers(self._lines, self.tape.columns.slots.pool)
        return np.append(np.append(number, NONE)[self._line], NONE)

    @lazy
    def offsets(self) -> np.ndarray:
        """First bytes of slots in their buffers, 0 for no slot."""
        return np.append(np.append(self._lines[:, _OFFSET], 0)[self._line], 0)

    @lazy
    def regions(self) -> np.ndarray:
        """First bytes of the regions that instructions write, 0 for others than writes of a region."""
        found = np.zeros(self.count, np.int64)
        at = np.flatnonzero(self.op == WRITE)
        instructions = self.tape.columns.instructions
        lines, pool = instructions.lines[self._live], instructions.pool
        found[at] = pool[lines[at, _POSITION] + REGION + OFFSET]
        return found

    @lazy
    def kinds(self) -> np.ndarray:
        """Numbers of the kinds of instructions. Where views and regions begin is no part of a kind."""
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
        lengths = np.where(guards, 0, lines[:, _LENGTH])
        for length in np.flatnonzero(np.bincount(lengths)).tolist():
            if not length:
                continue
            at = np.flatnonzero(lengths == length)
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
            If they are several arrays that lie outside.
        """
        buffers, lines = self._buffer_of[slots], Buffers.of(self.tape.buffers).lines
        first = self.tape.slots[int(slots[0])]
        at = np.searchsorted(lines[:, 0], buffers)
        outside = self._outside(buffers)
        if not outside:
            if first.shape == () and first.itemsize == 8 and (lines[at, _BYTES] == 8).all():
                numbers: np.ndarray = lines[at, _CONTENT].view(first.view.dtype).copy()
                return numbers
            _, firsts, which = np.unique(
                np.stack([buffers, self.offsets[slots]]), axis=1, return_index=True, return_inverse=True
            )
            return np.array([self._content(int(slot)) for slot in slots[firsts]])[which.reshape(-1)]
        addresses = lines[at, _PRIMAL] + self.offsets[slots]
        step = int(addresses[1] - addresses[0])
        roots = {memory_of(array) for array in outside}
        if len(outside) != len(buffers) or len(roots) != 1 or (np.diff(addresses) != step).any():
            raise NoLoopError("the iterations read several arrays")
        view = first.view._replace(offset=0).repeated(len(slots), step)
        begin, end = view.bounds
        plain = borrowed(outside[0], int(addresses[0]) + begin, end - begin)
        found: np.ndarray = np.ndarray(view.shape, view.dtype, plain, -begin, view.strides)
        return found

    def _outside(self, buffers: np.ndarray) -> list[np.ndarray]:
        """Return the arrays among some constants that others than the recording can write to."""
        owners = self.recording.owners
        return [
            owners[buffer] for buffer in buffers.tolist() if buffer in owners and _is_shared(owners, buffer)
        ]

    def _content(self, slot: int) -> np.ndarray:
        """Return a copy of what a slot shows."""
        found = self.tape.slots[slot]
        plain = self.contents(found.buffer).view(np.uint8)
        return np.ndarray(found.shape, found.view.dtype, plain, found.view.offset, found.strides).copy()

    def contents(self, buffer: int) -> np.ndarray:
        """Return the elements of a buffer as they are in memory."""
        lines, flat = Buffers.of(self.tape.buffers).lines, self.flat_view(buffer)
        address = int(lines[np.searchsorted(lines[:, 0], buffer), _PRIMAL])
        found: np.ndarray = fields_at(address, flat.size, flat.dtype)
        return found


def _references(owners: dict[int, np.ndarray], key: int) -> list[int]:
    """Return how many references there are to an array, and to each array whose memory it is a view of."""
    array = owners[key]
    found = [sys.getrefcount(array)]
    while isinstance(array.base, np.ndarray):
        array = array.base
        found.append(sys.getrefcount(array))
    return found if array.base is None else [*found, sys.maxsize]


# Of an array that nobody else refers to, and of what it is a view of: how Python counts differs by its version
_ALONE, _BASE_ALONE = _references({0: np.zeros(2)[1:]}, 0)


def _is_shared(owners: dict[int, np.ndarray], key: int) -> bool:
    """Return whether others refer to an array, who may write to it."""
    first, *bases = _references(owners, key)
    return first > _ALONE or any(count > _BASE_ALONE for count in bases)
