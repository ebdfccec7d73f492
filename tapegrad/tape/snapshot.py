"""A tape at one moment, for Python to read: its columns, the geometry of its slots, the parameters of its instructions.

Everything is copied by one call of compiled code, between which and the next no other thread can change the tape.
"""

import math
from collections import defaultdict
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tapegrad.compiler import helper, native
from tapegrad.kernels.native import load_i64, load_u8, store_i64
from tapegrad.tape.layout import (
    ALL_LIVE,
    BUFFERS,
    FREE_BUFFER,
    FREE_SLOT,
    INSTRUCTIONS,
    MAX_NDIM,
    NONE,
    ORPHAN,
    SLOTS,
    get_buffer,
    get_bytes,
    get_cotangent,
    get_dtype,
    get_flags,
    get_geometry,
    get_handles,
    get_keeps,
    get_mark,
    get_ndim,
    get_offset,
    get_op,
    get_operand0,
    get_operand1,
    get_operand2,
    get_params,
    get_primal,
    get_producer,
    get_refs,
    get_result,
    get_users,
)
from tapegrad.tape.tape import DTYPES, Tape

_HEAD = (INSTRUCTIONS, SLOTS, BUFFERS, FREE_SLOT, FREE_BUFFER, ORPHAN, ALL_LIVE)
_INSTRUCTION_WORDS, _SLOT_WORDS, _BUFFER_WORDS = 7, 6, 9


@helper
def _geometry_words(header, slot):
    ndim = get_ndim(header, slot)
    return 2 * ndim if get_geometry(header, slot) != 0 and 0 < ndim <= MAX_NDIM else 0


@helper
def _params_words(header, i, lengths, ops):
    """How many parameters an instruction has. A negative length counts dimensions: 3 words and 3 for each."""
    op = get_op(header, i)
    if op < 0 or op >= ops or get_params(header, i) == 0:
        return 0
    length = load_i64(lengths, op)
    if length >= 0:
        return length
    ndim = load_i64(get_params(header, i), 2)
    return 3 + 3 * ndim if 0 <= ndim <= MAX_NDIM else 3


@helper
def _copy_words(source, count, out, k):
    for j in range(count):
        store_i64(out, k + j, load_i64(source, j))
    return k + count


@helper
def _content(header, buffer):
    """The first eight bytes of a buffer no larger than that."""
    primal, content = get_primal(header, buffer), 0
    if primal != 0 and get_bytes(header, buffer) <= 8:
        for j in range(get_bytes(header, buffer)):
            content |= load_u8(primal, j) << (8 * j)
    return content


@native()
def copy_tape(header, lengths, ops, out, room):
    """Copy a tape to the `room` words at `out`, if it needs no more than that; the number of words that it needs."""
    instructions, slots, buffers = (
        load_i64(header, INSTRUCTIONS),
        load_i64(header, SLOTS),
        load_i64(header, BUFFERS),
    )
    need = len(_HEAD) + 7 * instructions + 6 * slots + 9 * buffers
    for slot in range(slots):
        need += _geometry_words(header, slot)
    for i in range(instructions):
        need += _params_words(header, i, lengths, ops)
    if need > room:
        return need
    k = 0
    for word in _HEAD:
        store_i64(out, k, load_i64(header, word))
        k += 1
    for i in range(instructions):
        store_i64(out, k, get_op(header, i))
        store_i64(out, k + 1, get_result(header, i))
        store_i64(out, k + 2, get_operand0(header, i))
        store_i64(out, k + 3, get_operand1(header, i))
        store_i64(out, k + 4, get_operand2(header, i))
        store_i64(out, k + 5, get_params(header, i))
        store_i64(out, k + 6, get_mark(header, i))
        k += 7
    for slot in range(slots):
        store_i64(out, k, get_buffer(header, slot))
        store_i64(out, k + 1, get_dtype(header, slot))
        store_i64(out, k + 2, get_ndim(header, slot))
        store_i64(out, k + 3, get_offset(header, slot))
        store_i64(out, k + 4, get_geometry(header, slot))
        store_i64(out, k + 5, get_refs(header, slot))
        k += 6
    for buffer in range(buffers):
        store_i64(out, k, get_primal(header, buffer))
        store_i64(out, k + 1, get_cotangent(header, buffer))
        store_i64(out, k + 2, get_bytes(header, buffer))
        store_i64(out, k + 3, get_users(header, buffer))
        store_i64(out, k + 4, get_handles(header, buffer))
        store_i64(out, k + 5, get_keeps(header, buffer))
        store_i64(out, k + 6, get_producer(header, buffer))
        store_i64(out, k + 7, get_flags(header, buffer))
        store_i64(out, k + 8, _content(header, buffer))
        k += 9
    for slot in range(slots):
        k = _copy_words(get_geometry(header, slot), _geometry_words(header, slot), out, k)
    for i in range(instructions):
        k = _copy_words(get_params(header, i), _params_words(header, i, lengths, ops), out, k)
    return need


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


def _walk(head: int, links: list[int]) -> list[int]:
    """The entries of a list, each of which holds the number of the next."""
    seen: dict[int, None] = {}
    while head != NONE:
        if not 0 <= head < len(links) or head in seen:
            raise ValueError(f"it leads to entry {head}, which is not there or is on it already")
        seen[head] = None
        head = links[head]
    return list(seen)


class Snapshot:
    """A tape at one moment.

    Parameters
    ----------
    tape
        The tape.
    lengths
        For each op code the number of its parameters; negative where that depends on the number of dimensions,
        which is the third.

    Attributes
    ----------
    instructions, slots, buffers
        Everything in the columns, dead and free entries included.
    free_slot, free_buffer, orphan
        Heads of the lists.
    all_live
        Whether it is the tape of a recording.
    """

    def __init__(self, tape: Tape, lengths: np.ndarray) -> None:
        words = np.empty(0, np.int64)
        while True:
            need = copy_tape(tape.header, lengths.ctypes.data, len(lengths), words.ctypes.data, len(words))
            if need <= len(words):
                break
            words = np.empty(need, np.int64)
        values = words[:need].tolist()
        instructions, slots, buffers, self.free_slot, self.free_buffer, self.orphan, all_live = values[:7]
        self.all_live = bool(all_live)
        self._lengths = lengths.tolist()
        first_slot = len(_HEAD) + _INSTRUCTION_WORDS * instructions
        first_buffer = first_slot + _SLOT_WORDS * slots
        rest = first_buffer + _BUFFER_WORDS * buffers
        self.buffers = [
            Buffer(*values[k : k + _BUFFER_WORDS]) for k in range(first_buffer, rest, _BUFFER_WORDS)
        ]
        self.slots: list[Slot] = []
        for k in range(first_slot, first_buffer, _SLOT_WORDS):
            rest = self._add_slot(values, k, rest)
        self.instructions: list[Instruction] = []
        for k in range(len(_HEAD), first_slot, _INSTRUCTION_WORDS):
            rest = self._add_instruction(values, k, rest)

    def _add_slot(self, values: list[int], k: int, rest: int) -> int:
        """Add the slot whose words begin at `k` and whose geometry begins at `rest`; where the next one's does."""
        ndim = values[k + 2] if values[k + 4] != 0 and 0 < values[k + 2] <= MAX_NDIM else 0
        middle, end = rest + ndim, rest + 2 * ndim
        buffer, dtype, ndim_, offset, address, refs = values[k : k + _SLOT_WORDS]
        shape, strides = tuple(values[rest:middle]), tuple(values[middle:end])
        self.slots.append(Slot(buffer, dtype, ndim_, offset, address, refs, shape, strides))
        return end

    def _add_instruction(self, values: list[int], k: int, rest: int) -> int:
        op, result, a, b, c, address, mark = values[k : k + _INSTRUCTION_WORDS]
        length = self._lengths[op] if address != 0 and 0 <= op < len(self._lengths) else 0
        if length < 0:
            ndim = values[rest + 2]
            length = 3 + 3 * ndim if 0 <= ndim <= MAX_NDIM else 3
        params = tuple(values[rest : rest + length])
        self.instructions.append(Instruction(op, result, (a, b, c), address, mark, params))
        return rest + length

    @cached_property
    def live(self) -> list[int]:
        """Numbers of the instructions that are not dead."""
        return [i for i, instruction in enumerate(self.instructions) if instruction.op >= 0]

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
        for s, slot in enumerate(self.slots):
            if s not in self.free_slots:
                found[slot.buffer].append(s)
        return dict(found)

    @cached_property
    def free_slots(self) -> frozenset[int]:
        """Slots that are not in use; `ValueError` if their list does not end."""
        return frozenset(_walk(self.free_slot, [slot.buffer for slot in self.slots]))

    @cached_property
    def free_buffers(self) -> frozenset[int]:
        """Buffers that are not in use, those with an owner to be dropped included."""
        links = [buffer.producer for buffer in self.buffers]
        return frozenset(_walk(self.free_buffer, links)) | frozenset(_walk(self.orphan, links))

    def written(self, i: int) -> int:
        """The buffer that instruction `i` writes."""
        return self.slots[self.instructions[i].result].buffer

    def operands(self, i: int) -> list[Slot]:
        """The operands of instruction `i`."""
        return [self.slots[slot] for slot in self.instructions[i].operands]

    def result(self, i: int) -> Slot:
        """The result of instruction `i`."""
        return self.slots[self.instructions[i].result]
