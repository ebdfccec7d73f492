"""Consistent copy of a tape, made by one call of compiled code, so that no other thread changes it meanwhile."""

from tapegrad.engine.codegen.translator.compiler import EVERY_RECORDING, entry_point, inline_njit
from tapegrad.engine.kernels.language.raw_memory import calloc, free, load_i64, load_u8, store_i64, store_u8
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.layout import (
    ALL_LIVE,
    BUFFERS,
    FREE_BUFFER,
    FREE_SLOT,
    INSTRUCTIONS,
    MAX_NDIM,
    NONE,
    OP_FIELDS,
    OP_HAS_PARAMS,
    OP_TABLE,
    ORPHAN,
    SLOTS,
)
from tapegrad.engine.tape.fields.parameters import count_params
from tapegrad.engine.tape.history import lies_in_history

# The head of a copy; then follows a line for each instruction, each slot in use, each buffer in use.
(_COUNT, _SLOT_COUNT, _BUFFER_COUNT, _USED_SLOTS, _USED_BUFFERS, _BROKEN, _RECORDED, LINES) = range(8)
INSTRUCTION_FIELDS, SLOT_FIELDS, BUFFER_FIELDS = 9, 8, 11
ALRIGHT = -2


@inline_njit
def _geometry_fields(header, slot):
    ndim = col.ndim(header, slot)
    return 2 * ndim if col.geometry(header, slot) != 0 and 0 < ndim <= MAX_NDIM else 0


@inline_njit
def _params_fields(header, i):
    """Return the number of an instruction's parameters; none if its op has none, whatever the address says."""
    op, params, table = col.op(header, i), col.params(header, i), load_i64(header, OP_TABLE)
    if op < 0 or op >= load_i64(table, -1) or params == 0:
        return 0
    return count_params(params) if load_i64(table, OP_FIELDS * op + OP_HAS_PARAMS) else 0


@inline_njit
def _copy_fields(source, count, out, k):
    for j in range(count):
        store_i64(out, k + j, load_i64(source, j))
    return k + count


@inline_njit
def _content(header, buffer):
    """Return the contents of a buffer of at most eight bytes."""
    primal, content = col.primal(header, buffer), 0
    if primal != 0 and col.bytes(header, buffer) <= 8:
        for j in range(col.bytes(header, buffer)):
            content |= load_u8(primal, j) << (8 * j)
    return content


@inline_njit
def _copy_instructions(header, out, k, position):
    """Copy a line for each instruction; its last field is the index of its parameters."""
    for i in range(load_i64(header, INSTRUCTIONS)):
        store_i64(out, k, col.op(header, i))
        store_i64(out, k + 1, col.result(header, i))
        store_i64(out, k + 2, col.operand0(header, i))
        store_i64(out, k + 3, col.operand1(header, i))
        store_i64(out, k + 4, col.operand2(header, i))
        store_i64(out, k + 5, col.params(header, i))
        store_i64(out, k + 6, col.mark(header, i))
        length = _params_fields(header, i)
        store_i64(out, k + 7, position)
        store_i64(out, k + 8, length)
        position = _copy_fields(col.params(header, i), length, out, position)
        k += INSTRUCTION_FIELDS
    return position


@inline_njit
def _copy_slots(header, free, out, k, position):
    """Copy a line for each slot in use: its number, its columns, and the index of its geometry."""
    for slot in range(load_i64(header, SLOTS)):
        if load_u8(free, slot):
            continue
        store_i64(out, k, slot)
        store_i64(out, k + 1, col.buffer(header, slot))
        store_i64(out, k + 2, col.dtype(header, slot))
        store_i64(out, k + 3, col.ndim(header, slot))
        store_i64(out, k + 4, col.offset(header, slot))
        store_i64(out, k + 5, col.geometry(header, slot))
        store_i64(out, k + 6, col.refs(header, slot))
        store_i64(out, k + 7, position)
        position = _copy_fields(col.geometry(header, slot), _geometry_fields(header, slot), out, position)
        k += SLOT_FIELDS


@inline_njit
def _copy_buffers(header, free, out, k):
    """Copy a line for each buffer in use: its number and its columns."""
    for buffer in range(load_i64(header, BUFFERS)):
        if load_u8(free, buffer):
            continue
        store_i64(out, k, buffer)
        store_i64(out, k + 1, col.primal(header, buffer))
        store_i64(out, k + 2, col.cotangent(header, buffer))
        store_i64(out, k + 3, col.bytes(header, buffer))
        store_i64(out, k + 4, col.users(header, buffer))
        store_i64(out, k + 5, col.tensor_refs(header, buffer))
        store_i64(out, k + 6, col.saved_for_backward(header, buffer))
        store_i64(out, k + 7, col.producer(header, buffer))
        store_i64(out, k + 8, col.flags(header, buffer))
        store_i64(out, k + 9, _content(header, buffer))
        store_i64(out, k + 10, lies_in_history(header, buffer))
        k += BUFFER_FIELDS


@inline_njit
def _flag_free_slots(header, free):
    """Flag the slots on the list of free ones; the first that is not there or is flagged already, else ALRIGHT."""
    slot = load_i64(header, FREE_SLOT)
    while slot != NONE:
        if slot < 0 or slot >= load_i64(header, SLOTS) or load_u8(free, slot):
            return slot
        store_u8(free, slot, 1)
        slot = col.buffer(header, slot)
    return ALRIGHT


@inline_njit
def _flag_free_buffers(header, free, head):
    """Flag the buffers of two free lists, which begin at fields of the header."""
    buffer = load_i64(header, head)
    while buffer != NONE:
        if buffer < 0 or buffer >= load_i64(header, BUFFERS) or load_u8(free, buffer):
            return buffer
        store_u8(free, buffer, 1)
        buffer = col.producer(header, buffer)
    return ALRIGHT


@inline_njit
def _flag_free(header, free_slots, free_buffers):
    """Flag free entries. Return the first invalid entry of a free list, or ALRIGHT."""
    broken = _flag_free_slots(header, free_slots)
    if broken == ALRIGHT:
        broken = _flag_free_buffers(header, free_buffers, FREE_BUFFER)
    return _flag_free_buffers(header, free_buffers, ORPHAN) if broken == ALRIGHT else broken


@inline_njit
def _copy_head(header, free_slots, free_buffers, broken, out):
    """Write the first fields of a copy."""
    slots, buffers = load_i64(header, SLOTS), load_i64(header, BUFFERS)
    store_i64(out, _COUNT, load_i64(header, INSTRUCTIONS))
    store_i64(out, _SLOT_COUNT, slots)
    store_i64(out, _BUFFER_COUNT, buffers)
    store_i64(out, _USED_SLOTS, _zeros(free_slots, slots))
    store_i64(out, _USED_BUFFERS, _zeros(free_buffers, buffers))
    store_i64(out, _BROKEN, broken)
    store_i64(out, _RECORDED, load_i64(header, ALL_LIVE))


@inline_njit
def _zeros(flags, count):
    zeros = 0
    for k in range(count):
        zeros += load_u8(flags, k) == 0
    return zeros


@inline_njit
def _pool_fields(header, free_slots):
    """Return the number of fields that geometries and parameters take."""
    fields = 0
    for slot in range(load_i64(header, SLOTS)):
        if not load_u8(free_slots, slot):
            fields += _geometry_fields(header, slot)
    for i in range(load_i64(header, INSTRUCTIONS)):
        fields += _params_fields(header, i)
    return fields


@entry_point(group=EVERY_RECORDING)
def copy_tape(header, out, room):
    """Copy a tape to the `room` fields at `out` if it needs no more than that; the number of fields that it needs."""
    free_slots = calloc(load_i64(header, SLOTS) + load_i64(header, BUFFERS) + 1, 1)
    free_buffers = free_slots + load_i64(header, SLOTS)
    broken = _flag_free(header, free_slots, free_buffers)
    first_slot = LINES + INSTRUCTION_FIELDS * load_i64(header, INSTRUCTIONS)
    first_buffer = first_slot + SLOT_FIELDS * _zeros(free_slots, load_i64(header, SLOTS))
    rest = first_buffer + BUFFER_FIELDS * _zeros(free_buffers, load_i64(header, BUFFERS))
    need = rest + _pool_fields(header, free_slots)
    if need <= room:
        _copy_head(header, free_slots, free_buffers, broken, out)
        rest = _copy_instructions(header, out, LINES, rest)
        _copy_slots(header, free_slots, out, first_slot, rest)
        _copy_buffers(header, free_buffers, out, first_buffer)
    free(free_slots)
    return need
