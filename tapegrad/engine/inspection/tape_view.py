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
from tapegrad.engine.tape.copy_tape import ALRIGHT, BUFFER_FIELDS, INSTRUCTION_FIELDS, LINES, SLOT_FIELDS
from tapegrad.engine.tape.fields.layout import NONE
from tapegrad.engine.tape.tape import DTYPE_CODES, Tape

_NARROW = [DTYPE_CODES[np.dtype(name)] for name in ("float32", "complex64")]


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
        """Instructions that write each buffer, in order."""
        found: defaultdict[int, list[int]] = defaultdict(list)
        for i in self.live:
            found[self.written[i]].append(i)
        return dict(found)

    @lazy
    def readers(self) -> dict[int, list[tuple[int, int]]]:
        """Instructions that read each buffer, in order, each with the number of the operand."""
        found: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for i in self.live:
            for j, buffer in enumerate(self.read[i]):
                found[buffer].append((i, j))
        return dict(found)

    @lazy
    def slots_on(self) -> dict[int, list[int]]:
        """Slots in use on each buffer, in order."""
        found: defaultdict[int, list[int]] = defaultdict(list)
        for number, buffer in self.columns.slots.lines[:, :2].tolist():
            found[buffer].append(number)
        return dict(found)

    def operands(self, i: int) -> list[Slot]:
        """Return the operands of instruction `i`."""
        return [self.slots[slot] for slot in self.instructions[i].operands]

    def result(self, i: int) -> Slot:
        """Return the result of instruction `i`."""
        return self.slots[self.instructions[i].result]

    @lazy
    def read(self) -> dict[int, list[int]]:
        """Buffers of the operands of each live instruction."""
        lines = self.columns.read[self.columns.live].tolist()
        return {i: [b for b in line if b != NONE] for i, line in zip(self.live, lines, strict=True)}

    @lazy
    def written(self) -> dict[int, int]:
        """Buffer of the result of each live instruction."""
        return dict(zip(self.live, self.columns.written[self.columns.live].tolist(), strict=True))

    @lazy
    def read_in_reverse(self) -> dict[int, set[str]]:
        """Primals that the reverse rule of each live instruction reads, by their names in the row."""
        found: dict[int, set[str]] = {}
        for i, operands in self.read.items():
            reads = kernel_table.row(int(self.columns.op[i])).reads
            flowing = (reads[j] for j, buffer in enumerate(operands) if self.buffers[buffer].differentiable)
            found[i] = {name for names in flowing for name in names or ()}
        return found

    def bytes(self, buffer: int) -> int:
        """Return the size of a buffer."""
        return int(self.columns.bytes[buffer])

    @lazy
    def columns(self) -> Columns:
        """The tape as columns of numbers."""
        return columns_of(self.instructions, self.slots, self.buffers)

    @lazy
    def in_objects(self) -> "TapeView":
        """The tape with all entries made as objects, for readers that ask for each of them many times."""
        entries = tuple(self.instructions), dict(self.slots), dict(self.buffers)
        made = replace(self, instructions=entries[0], slots=entries[1], buffers=entries[2])
        vars(made)["live"] = self.live
        vars(made)["columns"] = self.columns
        return made


def epsilon_of(tape: TapeView) -> float:
    """Return the epsilon of the narrowest floats on a tape."""
    is_narrow = np.isin(tape.columns.slots.lines[:, 2], _NARROW).any()
    return float(np.finfo(np.float32 if is_narrow else np.float64).eps)


def read_tape(tape: Tape) -> TapeView:
    """Return a view of a tape as it is now."""
    return read_fields(tape, copied(tape))


def read_fields(tape: Tape, fields: np.ndarray) -> TapeView:
    """Return a view of a tape at the time when `fields` were copied from it."""
    slots, broken, recorded = (int(fields[k]) for k in (1, 5, 6))
    instruction_lines, slot_lines, buffer_lines = _lines(fields)
    return TapeView(
        TapeEntries(instruction_lines, fields),
        Slots(slot_lines, fields),
        Buffers(buffer_lines),
        tuple(getattr(tape, "inputs", ())),
        tuple(getattr(tape, "outputs", ())),
        bool(recorded),
        slots,
        None if broken == ALRIGHT else broken,
    )


def _lines(fields: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Split a copy into the lines of instructions, slots and buffers, without copying."""
    count, _, _, used_slots, used_buffers = fields[:5].tolist()
    first_slot = LINES + INSTRUCTION_FIELDS * count
    first_buffer = first_slot + SLOT_FIELDS * used_slots
    end = first_buffer + BUFFER_FIELDS * used_buffers
    return (
        fields[LINES:first_slot].reshape(-1, INSTRUCTION_FIELDS),
        fields[first_slot:first_buffer].reshape(-1, SLOT_FIELDS),
        fields[first_buffer:end].reshape(-1, BUFFER_FIELDS),
    )


def without_addresses(fields: np.ndarray) -> np.ndarray:
    """Return a copy in which an address says only whether there is one, and that holds no contents."""
    fields = fields.copy()
    instructions, slots, buffers = _lines(fields)
    for addresses in (instructions[:, 5], slots[:, 5], buffers[:, 1]):
        np.not_equal(addresses, 0, out=addresses)
    buffers[:, [2, 9]] = 0
    return fields


def constants_of(tape: Tape, fields: np.ndarray) -> np.ndarray:
    """Return address and size in bytes of each constant of a recording: buffers that nothing writes, but for inputs."""
    _, slots, buffers = _lines(fields)  # lines in the order of their numbers
    inputs = slots[np.searchsorted(slots[:, 0], getattr(tape, "inputs", ())), 1]
    is_constant = buffers[:, 7] == NONE
    is_constant[np.searchsorted(buffers[:, 0], inputs)] = False
    found: np.ndarray = buffers[is_constant][:, [1, 3]]
    return found


def copied(tape: Tape) -> np.ndarray:
    """Return the integers of a copy; equal ones are of the same tape."""
    fields = np.empty(LINES, np.int64)
    while True:
        need = copy_tape.copy_tape(tape.header, fields.ctypes.data, len(fields))
        if need <= len(fields):
            return fields[:need]
        fields = np.empty(need + need // 8 + 1024, np.int64)  # other threads may be recording
