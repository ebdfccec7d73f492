"""A tape at one moment, for Python to read: its columns, the geometry of its slots, its instructions' parameters."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from tapegrad.engine.tape import snapshot_copy
from tapegrad.engine.tape.layout import MAX_NDIM, NONE
from tapegrad.engine.tape.snapshot_copy import ALRIGHT, BUFFER_WORDS, INSTRUCTION_WORDS, LINES, SLOT_WORDS
from tapegrad.engine.tape.tape import DTYPES, Tape


class Instruction(NamedTuple):
    """An instruction: op code, slots (-1: none), address of the parameters, mark, and the parameters themselves."""

    op: int
    result: int
    slots: tuple[int, int, int]
    address: int
    mark: int
    params: tuple[int, ...]

    @property
    def operands(self) -> tuple[int, ...]:
        """Slots of the operands that are there."""
        return tuple(slot for slot in self.slots if slot != NONE)


class Slot(NamedTuple):
    """A slot: a view on a buffer."""

    buffer: int
    dtype: int
    ndim: int
    offset: int
    address: int
    refs: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return DTYPES[self.dtype].itemsize

    @property
    def contiguous(self) -> bool:
        """Whether the elements lie side by side in C order."""
        step = self.itemsize
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if extent != 1 and stride != step:
                return self.size == 0
            step *= extent
        return True


class Buffer(NamedTuple):
    """A buffer: memory of a primal and a cotangent, and who needs it."""

    primal: int
    cotangent: int
    bytes: int
    users: int
    handles: int
    keeps: int
    producer: int
    flags: int
    content: int  # the first eight bytes, if there are no more


Entry = TypeVar("Entry")


class _Entries(Generic[Entry]):
    """One kind of entry by number, each made an object when it is first looked at.

    Attributes
    ----------
    count
        Entries in the columns, free ones included.
    """

    def __init__(
        self, count: int, lines: np.ndarray, numbers: list[int], make: Callable[[list[int]], Entry]
    ) -> None:
        self.count = count
        self._rows = dict(zip(numbers, lines, strict=True))
        self._make = make
        self._known: dict[int, Entry] = {}

    def __contains__(self, k: int) -> bool:
        """Whether entry `k` is in use."""
        return k in self._rows

    def __iter__(self) -> Iterator[int]:
        """Numbers of the entries in use."""
        return iter(self._rows)

    def __getitem__(self, k: int) -> Entry:
        known = self._known.get(k)
        if known is None:
            known = self._known[k] = self._make(self._rows[k].tolist())
        return known


def _copied(tape: Tape) -> np.ndarray:
    """The words of a copy."""
    words = np.empty(LINES, np.int64)
    while True:
        need = snapshot_copy.copy_tape(tape.header, words.ctypes.data, len(words))
        if need <= len(words):
            return words
        words = np.empty(need + need // 8 + 1024, np.int64)  # other threads may be recording


class Snapshot:
    """A tape at one moment.

    Attributes
    ----------
    instructions
        Everything in the columns, dead instructions included.
    live
        Numbers of the instructions that are not dead.
    slots, buffers
        Those in use, by number.
    all_live
        Whether it is the tape of a recording.
    broken_list
        The entry where a list of free entries goes wrong, if one does.
    """

    def __init__(self, tape: Tape) -> None:
        words = _copied(tape)
        count, slots, buffers, used_slots, used_buffers, broken, recorded = words[:LINES].tolist()
        self.all_live = bool(recorded)
        self.broken_list = None if broken == ALRIGHT else broken
        self._words = words
        first_slot = LINES + INSTRUCTION_WORDS * count
        first_buffer = first_slot + SLOT_WORDS * used_slots
        rest = first_buffer + BUFFER_WORDS * used_buffers
        lines = words[LINES:first_slot].reshape(-1, INSTRUCTION_WORDS)
        self.instructions = _Entries(count, lines, list(range(count)), self._instruction)
        self.live: list[int] = np.flatnonzero(lines[:, 0] >= 0).tolist()  # numbers of instructions not dead
        lines = words[first_slot:first_buffer].reshape(-1, SLOT_WORDS)
        self.slots = _Entries(slots, lines[:, 1:], lines[:, 0].tolist(), self._slot)
        lines = words[first_buffer:rest].reshape(-1, BUFFER_WORDS)
        self.buffers = _Entries(buffers, lines[:, 1:], lines[:, 0].tolist(), lambda line: Buffer(*line))

    def _slot(self, line: list[int]) -> Slot:
        buffer, dtype, ndim, offset, address, refs, place = line
        words = ndim if address != 0 and 0 < ndim <= MAX_NDIM else 0
        shape, strides = self._words[place : place + 2 * words].reshape(2, -1).tolist()
        return Slot(buffer, dtype, ndim, offset, address, refs, tuple(shape), tuple(strides))

    def _instruction(self, line: list[int]) -> Instruction:
        op, result, a, b, c, address, mark, place, length = line
        params = tuple(self._words[place : place + length].tolist())
        return Instruction(op, result, (a, b, c), address, mark, params)

    @cached_property
    def writers(self) -> dict[int, list[int]]:
        """For each buffer the instructions that write it, in order."""
        found: defaultdict[int, list[int]] = defaultdict(list)
        for i in self.live:
            found[self.written(i)].append(i)
        return dict(found)

    @cached_property
    def readers(self) -> dict[int, list[tuple[int, int]]]:
        """For each buffer the instructions that read it, in order, each with the number of the operand."""
        found: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for i in self.live:
            for j, operand in enumerate(self.operands(i)):
                found[operand.buffer].append((i, j))
        return dict(found)

    @cached_property
    def slots_on(self) -> dict[int, list[int]]:
        """For each buffer the slots in use on it, in order."""
        found: defaultdict[int, list[int]] = defaultdict(list)
        for s in self.slots:
            found[self.slots[s].buffer].append(s)
        return dict(found)

    def written(self, i: int) -> int:
        """The buffer that instruction `i` writes."""
        return self.slots[self.instructions[i].result].buffer

    def operands(self, i: int) -> list[Slot]:
        """The operands of instruction `i`."""
        return [self.slots[slot] for slot in self.instructions[i].operands]

    def result(self, i: int) -> Slot:
        """The result of instruction `i`."""
        return self.slots[self.instructions[i].result]
