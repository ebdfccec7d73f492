"""A tape at one moment, for Python to read: its instructions, its slots and its buffers.

The verifier holds it against its rules, printing puts it into text, and passes make new ones of it, from which programs
are bound.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.tape import copy_tape
from tapegrad.engine.tape.copy_tape import ALRIGHT, BUFFER_WORDS, INSTRUCTION_WORDS, LINES, SLOT_WORDS
from tapegrad.engine.tape.layout import DIFFERENTIABLE, MAX_NDIM, NONE, OP_READS0, READS_Y
from tapegrad.engine.tape.tape import DTYPES, Tape
from tapegrad.engine.tape.view import View

_UNKNOWN = np.dtype("V1")  # of a slot whose dtype code does not exist


class Instruction(NamedTuple):
    """An instruction: op code (negative: dead), slots, address of the parameters, mark, the parameters themselves."""

    op: int
    result: int
    operands: tuple[int, ...]
    address: int = 0
    mark: int = 0
    params: tuple[int, ...] = ()


class Slot(NamedTuple):
    """A slot: a view on a buffer. Dtype code, dimensions and references are those of the columns."""

    buffer: int
    dtype: int
    ndim: int
    address: int  # of extents and strides
    refs: int
    view: View

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""
        return self.view.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Strides in bytes."""
        return self.view.strides

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.view.size

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.view.itemsize

    @property
    def contiguous(self) -> bool:
        """Whether the elements lie side by side in C order."""
        return self.view.contiguous


class Buffer(NamedTuple):
    """A buffer: memory of a primal and a cotangent, and who needs it."""

    primal: int
    cotangent: int
    bytes: int
    users: int
    tensor_refs: int
    saved_for_backward: int
    producer: int
    flags: int
    content: int  # the first eight bytes, if there are no more
    in_history: int = 0  # 1: its contents, those before an in-place write, are in a history

    @property
    def differentiable(self) -> bool:
        """Whether derivatives flow through it."""
        return self.flags & DIFFERENTIABLE != 0


@dataclass(frozen=True)
class TapeView:
    """A tape at one moment, or what passes have made of it.

    Attributes
    ----------
    instructions
        All of them, dead ones included: a pass that removes one lets it be dead, so that numbers stay.
    slots, buffers
        Those in use, by number.
    inputs, outputs
        Slots of the arguments and of the results of a recorded function.
    all_live
        Whether it is the tape of a recording.
    slot_count
        Entries in the columns of slots, free ones included.
    broken_list
        The entry where a list of free entries goes wrong, if one does.
    """

    instructions: tuple[Instruction, ...]
    slots: Mapping[int, Slot]
    buffers: Mapping[int, Buffer]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    all_live: bool
    slot_count: int
    broken_list: int | None

    @cached_property
    def live(self) -> list[int]:
        """Numbers of the instructions that are not dead."""
        return [i for i, instruction in enumerate(self.instructions) if instruction.op >= 0]

    @cached_property
    def writers(self) -> dict[int, list[int]]:
        """For each buffer the instructions that write it, in order."""
        found: defaultdict[int, list[int]] = defaultdict(list)
        for i in self.live:
            found[self.written[i]].append(i)
        return dict(found)

    @cached_property
    def readers(self) -> dict[int, list[tuple[int, int]]]:
        """For each buffer the instructions that read it, in order, each with the number of the operand."""
        found: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for i in self.live:
            for j, buffer in enumerate(self.read[i]):
                found[buffer].append((i, j))
        return dict(found)

    @cached_property
    def slots_on(self) -> dict[int, list[int]]:
        """For each buffer the slots in use on it, in order."""
        found: defaultdict[int, list[int]] = defaultdict(list)
        for number, slot in self.slots.items():
            found[slot.buffer].append(number)
        return dict(found)

    def operands(self, i: int) -> list[Slot]:
        """The operands of instruction `i`."""
        return [self.slots[slot] for slot in self.instructions[i].operands]

    def result(self, i: int) -> Slot:
        """The result of instruction `i`."""
        return self.slots[self.instructions[i].result]

    @cached_property
    def read(self) -> dict[int, list[int]]:
        """For each live instruction the buffers of its operands."""
        slots, instructions = self.slots, self.instructions
        return {i: [slots[slot].buffer for slot in instructions[i].operands] for i in self.live}

    @cached_property
    def written(self) -> dict[int, int]:
        """For each live instruction the buffer of its result."""
        return {i: self.slots[self.instructions[i].result].buffer for i in self.live}

    @cached_property
    def read_in_reverse(self) -> dict[int, set[str]]:
        """For each live instruction the primals that its reverse rule reads, by their names in the row."""
        found: dict[int, set[str]] = {}
        for i, operands in self.read.items():
            reads = kernel_table.row(self.instructions[i].op).reads
            flowing = (reads[j] for j, buffer in enumerate(operands) if self.buffers[buffer].differentiable)
            found[i] = {name for names in flowing for name in names or ()}
        return found

    @cached_property
    def differentiated(self) -> dict[int, list[int]]:
        """For each live instruction the operands that its result has a derivative by."""
        return {
            i: [
                j
                for j in range(len(self.instructions[i].operands))
                if kernel_table.takes_cotangent(self.instructions[i].op, j)
            ]
            if self.buffers[buffer].differentiable
            else []
            for i, buffer in self.written.items()
        }

    def bytes(self, buffer: int) -> int:
        """Size of a buffer."""
        return self.buffers[buffer].bytes

    def saved_for_backward(self, i: int, j: int) -> list[int]:
        """The buffers whose primals the partial of instruction `i` by operand `j` is computed from."""
        return [slot.buffer for slot in self.saved_slots(i, j)]

    def saved_slots(self, i: int, j: int) -> list[Slot]:
        """The slots whose primals the partial of instruction `i` by operand `j` is computed from."""
        mask = int(kernel_table.op_words(self.instructions[i].op)[OP_READS0 + j])
        slots = [slot for k, slot in enumerate(self.operands(i)) if mask >> k & 1]
        return [*slots, self.result(i)] if mask & READS_Y else slots


def read_tape(tape: Tape) -> TapeView:
    """A tape as it is now."""
    return read_words(tape, copied(tape).tolist())


def read_words(tape: Tape, words: list[int]) -> TapeView:
    """A tape as it was when these words of it were copied."""
    count, slots, _, used_slots, used_buffers, broken, recorded = words[:LINES]
    first_slot = LINES + INSTRUCTION_WORDS * count
    first_buffer = first_slot + SLOT_WORDS * used_slots
    end = first_buffer + BUFFER_WORDS * used_buffers
    lines = [words[k : k + BUFFER_WORDS] for k in range(first_buffer, end, BUFFER_WORDS)]
    return TapeView(
        tuple(_instruction(words, k) for k in range(LINES, first_slot, INSTRUCTION_WORDS)),
        {words[k]: _slot(words, k) for k in range(first_slot, first_buffer, SLOT_WORDS)},
        {line[0]: Buffer(*line[1:]) for line in lines},
        tuple(getattr(tape, "inputs", ())),
        tuple(getattr(tape, "outputs", ())),
        bool(recorded),
        slots,
        None if broken == ALRIGHT else broken,
    )


def copied(tape: Tape) -> np.ndarray:
    """The words of a copy: two that are equal are of the same tape."""
    words = np.empty(LINES, np.int64)
    while True:
        need = copy_tape.copy_tape(tape.header, words.ctypes.data, len(words))
        if need <= len(words):
            return words[:need]
        words = np.empty(need + need // 8 + 1024, np.int64)  # other threads may be recording


def _instruction(words: list[int], k: int) -> Instruction:
    op, result, a, b, c, address, mark, place, length = words[k : k + INSTRUCTION_WORDS]
    operands = (a, b, c) if c != NONE else (a, b) if b != NONE else (a,) if a != NONE else ()
    return Instruction(op, result, operands, address, mark, tuple(words[place : place + length]))


def _slot(words: list[int], k: int) -> Slot:
    buffer, dtype, ndim, offset, address, refs, place = words[k + 1 : k + SLOT_WORDS]
    known = ndim if address != 0 and 0 < ndim <= MAX_NDIM else 0
    shape, strides = words[place : place + known], words[place + known : place + 2 * known]
    numpy_dtype = DTYPES[dtype] if 0 <= dtype < len(DTYPES) else _UNKNOWN
    return Slot(buffer, dtype, ndim, address, refs, View(offset, tuple(shape), tuple(strides), numpy_dtype))
