"""A tape at one moment, for Python to read: its instructions, its slots and its buffers.

The verifier holds it against its rules, printing puts it into text, and passes make new ones of it, from which programs
are bound.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.inspection.tape_columns import Columns, columns_of
from tapegrad.engine.inspection.tape_entries import Buffer as Buffer
from tapegrad.engine.inspection.tape_entries import Buffers, Slots, TapeEntries
from tapegrad.engine.inspection.tape_entries import Slot as Slot
from tapegrad.engine.inspection.tape_entries import TapeEntry as TapeEntry
from tapegrad.engine.runtime.lazy import lazy
from tapegrad.engine.tape import copy_tape
from tapegrad.engine.tape.copy_tape import ALRIGHT, BUFFER_WORDS, INSTRUCTION_WORDS, LINES, SLOT_WORDS
from tapegrad.engine.tape.tape import Tape


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
    kept
        Memory that addresses in it lead to and that the tape does not own.
    """

    instructions: Sequence[TapeEntry]
    slots: Mapping[int, Slot]
    buffers: Mapping[int, Buffer]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    all_live: bool
    slot_count: int
    broken_list: int | None
    kept: tuple[np.ndarray, ...] = ()

    @lazy
    def live(self) -> list[int]:
        """Numbers of the instructions that are not dead."""
        return self.columns.live.tolist()

    @lazy
    def writers(self) -> dict[int, list[int]]:
        """For each buffer the instructions that write it, in order."""
        found: defaultdict[int, list[int]] = defaultdict(list)
        for i in self.live:
            found[self.written[i]].append(i)
        return dict(found)

    @lazy
    def readers(self) -> dict[int, list[tuple[int, int]]]:
        """For each buffer the instructions that read it, in order, each with the number of the operand."""
        found: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for i in self.live:
            for j, buffer in enumerate(self.read[i]):
                found[buffer].append((i, j))
        return dict(found)

    @lazy
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

    @lazy
    def read(self) -> dict[int, list[int]]:
        """For each live instruction the buffers of its operands."""
        slots, instructions = self.slots, self.instructions
        return {i: [slots[slot].buffer for slot in instructions[i].operands] for i in self.live}

    @lazy
    def written(self) -> dict[int, int]:
        """For each live instruction the buffer of its result."""
        return {i: self.slots[self.instructions[i].result].buffer for i in self.live}

    @lazy
    def read_in_reverse(self) -> dict[int, set[str]]:
        """For each live instruction the primals that its reverse rule reads, by their names in the row."""
        found: dict[int, set[str]] = {}
        for i, operands in self.read.items():
            reads = kernel_table.row(self.instructions[i].op).reads
            flowing = (reads[j] for j, buffer in enumerate(operands) if self.buffers[buffer].differentiable)
            found[i] = {name for names in flowing for name in names or ()}
        return found

    def bytes(self, buffer: int) -> int:
        """Size of a buffer."""
        return int(self.columns.bytes[buffer])

    @lazy
    def columns(self) -> Columns:
        """The same as columns of numbers."""
        return columns_of(self.instructions, self.slots, self.buffers)

    @lazy
    def in_objects(self) -> "TapeView":
        """The same with all its entries made, for what asks for each of them many times."""
        entries = tuple(self.instructions), dict(self.slots), dict(self.buffers)
        made = replace(self, instructions=entries[0], slots=entries[1], buffers=entries[2])
        vars(made)["live"] = self.live
        vars(made)["columns"] = self.columns
        return made


def read_tape(tape: Tape) -> TapeView:
    """A tape as it is now."""
    return read_words(tape, copied(tape))


def read_words(tape: Tape, words: np.ndarray) -> TapeView:
    """A tape as it was when these words of it were copied."""
    slots, broken, recorded = (int(words[k]) for k in (1, 5, 6))
    instruction_lines, slot_lines, buffer_lines = _lines(words)
    return TapeView(
        TapeEntries(instruction_lines, words),
        Slots(slot_lines, words),
        Buffers(buffer_lines),
        tuple(getattr(tape, "inputs", ())),
        tuple(getattr(tape, "outputs", ())),
        bool(recorded),
        slots,
        None if broken == ALRIGHT else broken,
    )


def _lines(words: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The lines of instructions, slots and buffers in a copy: parts of its memory."""
    count, _, _, used_slots, used_buffers = words[:5].tolist()
    first_slot = LINES + INSTRUCTION_WORDS * count
    first_buffer = first_slot + SLOT_WORDS * used_slots
    end = first_buffer + BUFFER_WORDS * used_buffers
    return (
        words[LINES:first_slot].reshape(-1, INSTRUCTION_WORDS),
        words[first_slot:first_buffer].reshape(-1, SLOT_WORDS),
        words[first_buffer:end].reshape(-1, BUFFER_WORDS),
    )


def without_addresses(words: np.ndarray) -> np.ndarray:
    """A copy with nothing of addresses but whether there is one, and nothing of contents."""
    words = words.copy()
    instructions, slots, buffers = _lines(words)
    for addresses in (instructions[:, 5], slots[:, 5], buffers[:, 1]):
        np.not_equal(addresses, 0, out=addresses)
    buffers[:, [2, 9]] = 0
    return words


def copied(tape: Tape) -> np.ndarray:
    """The words of a copy: two that are equal are of the same tape."""
    words = np.empty(LINES, np.int64)
    while True:
        need = copy_tape.copy_tape(tape.header, words.ctypes.data, len(words))
        if need <= len(words):
            return words[:need]
        words = np.empty(need + need // 8 + 1024, np.int64)  # other threads may be recording
