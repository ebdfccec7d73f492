"""Release of a tape's entries: unreferenced buffers are freed, and the instructions that computed them die."""

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit, shared_njit
from tapegrad.engine.kernels.language.raw_memory import free, load_i64, store_i64
from tapegrad.engine.tape.append import count_saved_operands, saved
from tapegrad.engine.tape.blocks import references, release_block
from tapegrad.engine.tape.compaction import trim
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.columns import BUFFER_COLUMNS, INSTRUCTION_COLUMNS, SLOT_COLUMNS
from tapegrad.engine.tape.fields.growth import free_columns
from tapegrad.engine.tape.fields.instruction import instruction_at
from tapegrad.engine.tape.fields.layout import (
    ALL_LIVE,
    BUFFER_CAPACITY,
    BUFFERS,
    CHECKSUMS,
    CLOSED,
    DEAD,
    DEAD_OP,
    DTYPE_COUNT,
    EXTERNAL,
    FREE_BUFFER,
    FREE_SLOT,
    FREED,
    INSTRUCTION_CAPACITY,
    INSTRUCTIONS,
    KEEPS_RESULTS,
    NONE,
    ORPHAN,
    READS_Y,
    SLOT_CAPACITY,
    SLOTS,
    SUPERSEDED,
)
from tapegrad.engine.tape.fields.parameters import free_params
from tapegrad.engine.tape.history import end_history, end_history_with, leave_history, lies_in_history


@inline_njit
def _drop_ref(header, slot):
    """Drop a reference to a slot; the last one frees it: it has no dtype then, and no dimensions."""
    refs = col.refs(header, slot) - 1
    col.set_refs(header, slot, refs)
    if refs > 0:
        return
    if col.ndim(header, slot) > 0:
        free(col.geometry(header, slot))
    col.set_geometry(header, slot, 0)
    col.set_ndim(header, slot, 0)
    col.set_dtype(header, slot, DTYPE_COUNT)
    col.set_buffer(header, slot, load_i64(header, FREE_SLOT))
    store_i64(header, FREE_SLOT, slot)


@inline_njit
def free_cotangent(header, buffer):
    """Free the cotangent's memory."""
    cotangent = col.cotangent(header, buffer)
    if cotangent != 0:
        release_block(cotangent)
        col.set_cotangent(header, buffer, 0)


@inline_njit
def free_unused_primal(header, buffer):
    """Free the primal's memory if no Tensor shows it and no reverse rule reads it."""
    flags, recorded = col.flags(header, buffer), load_i64(header, ALL_LIVE)
    shown = col.tensor_refs(header, buffer) > 0 and (recorded != 0 or flags & SUPERSEDED == 0)
    if shown or col.saved_for_backward(header, buffer) > 0 or flags & EXTERNAL:
        return
    if recorded != 0 and (recorded == KEEPS_RESULTS or not _is_computed_anew(header, buffer)):
        return
    if col.history(header, buffer) != 0:
        _leave_or_end_history(header, buffer)
    if col.primal(header, buffer) != 0:
        release_block(col.primal(header, buffer))
        col.set_primal(header, buffer, 0)


@inline_njit
def _is_computed_anew(header, buffer):
    """Return whether replays compute what a buffer holds; they read constants again, and what writes began with."""
    return col.producer(header, buffer) >= 0 and col.history(header, buffer) == 0


@inline_njit
def _leave_or_end_history(header, buffer):
    """Release a buffer that needs its contents no more. If it has the memory of a history, that one may keep it."""
    primal = col.primal(header, buffer)
    if lies_in_history(header, buffer):
        leave_history(header, buffer)
    elif col.flags(header, buffer) & EXTERNAL or references(primal) > 1:
        end_history(header, col.history(header, buffer))
    else:
        end_history_with(header, col.history(header, buffer), primal)
        col.set_primal(header, buffer, 0)


@inline_njit
def _free_buffer(header, buffer):
    """Put a buffer on the free list, or on the list of orphans if Python must drop the owner of its memory."""
    free_cotangent(header, buffer)
    if col.history(header, buffer) != 0:
        _leave_or_end_history(header, buffer)
    if col.flags(header, buffer) & EXTERNAL:
        col.set_producer(header, buffer, load_i64(header, ORPHAN))
        store_i64(header, ORPHAN, buffer)
        return
    if col.primal(header, buffer) != 0:
        release_block(col.primal(header, buffer))
    col.set_primal(header, buffer, 0)
    col.set_producer(header, buffer, load_i64(header, FREE_BUFFER))
    store_i64(header, FREE_BUFFER, buffer)


@inline_njit
def _mark_dead(header, i, pending):
    """Turn an instruction dead and queue it; its operands are still held."""
    free_params(col.params(header, i))
    instruction = instruction_at(header, i)
    mask = saved(header, instruction)
    count_saved_operands(header, instruction, mask, -1)
    col.set_op(header, i, DEAD_OP)
    col.set_params(header, i, pending)
    store_i64(header, DEAD, load_i64(header, DEAD) + 1)
    return mask


@inline_njit
def first_writer(header, buffer):
    """First instruction of the run that writes `buffer`: pieces of one result are written one after another."""
    i = col.producer(header, buffer)
    while (
        i > 0 and col.op(header, i - 1) != DEAD_OP and col.buffer(header, col.result(header, i - 1)) == buffer
    ):
        i -= 1
    return i


@inline_njit
def _kill_buffer(header, buffer, pending):
    """Free a buffer without users and queue the instructions that write it."""
    last = col.producer(header, buffer)
    if last >= 0:
        for i in range(first_writer(header, buffer), last + 1):
            _mark_dead(header, i, pending)
            pending = i
            _drop_ref(header, col.result(header, i))
    _free_buffer(header, buffer)
    return pending


@inline_njit
def _drop_use(header, slot, pending):
    """Drop a use of a slot."""
    buffer = col.buffer(header, slot)
    _drop_ref(header, slot)
    users = col.users(header, buffer) - 1
    col.set_users(header, buffer, users)
    if users == 0:
        return _kill_buffer(header, buffer, pending)
    free_unused_primal(header, buffer)
    return pending


@inline_njit
def _release_operands(header, pending):
    """Let go of the operands of the queued dead instructions, and so on; a loop, however long the chain."""
    while pending != NONE:
        i = pending
        pending = col.params(header, i)
        a, b, c = col.operand0(header, i), col.operand1(header, i), col.operand2(header, i)
        pending = _drop_use(header, a, pending)
        if b >= 0:
            pending = _drop_use(header, b, pending)
        if c >= 0:
            pending = _drop_use(header, c, pending)


@shared_njit
def drop_tensor_ref(header, slot):
    """Drop the reference of a Tensor to `slot`."""
    buffer = col.buffer(header, slot)
    left = col.tensor_refs(header, buffer) - 1
    col.set_tensor_refs(header, buffer, left)
    if left == 0:
        free_cotangent(header, buffer)
    _release_operands(header, _drop_use(header, slot, NONE))
    trim(header)


@inline_njit
def free_instruction(header, i):
    """Release an instruction whose result lives on: a sweep has gone through it for the last time."""
    result = col.result(header, i)
    buffer = col.buffer(header, result)
    if _mark_dead(header, i, NONE) & READS_Y:
        col.set_saved_for_backward(header, buffer, col.saved_for_backward(header, buffer) - 1)
    col.set_producer(header, buffer, FREED)
    _drop_ref(header, result)
    free_unused_primal(header, buffer)
    _release_operands(header, i)


@entry_point()
def next_orphan(header):
    """Take the next dead buffer whose memory a Python object owned off the list; -1: none left."""
    buffer = load_i64(header, ORPHAN)
    if buffer != NONE:
        store_i64(header, ORPHAN, col.producer(header, buffer))
    return buffer


@entry_point()
def reuse_orphan(header, buffer):
    """Let a buffer be reused, now that its owner is forgotten."""
    col.set_flags(header, buffer, 0)
    col.set_primal(header, buffer, 0)
    col.set_producer(header, buffer, load_i64(header, FREE_BUFFER))
    store_i64(header, FREE_BUFFER, buffer)


@entry_point()
def close_tape(header):
    """Free everything that a tape holds, if it is open. Memory that NumPy arrays still show stays."""
    if load_i64(header, SLOT_CAPACITY) == CLOSED:
        return
    for i in range(load_i64(header, INSTRUCTIONS)):
        if col.op(header, i) != DEAD_OP:
            free_params(col.params(header, i))
    for slot in range(load_i64(header, SLOTS)):
        if col.geometry(header, slot) != 0:
            free(col.geometry(header, slot))
    for buffer in range(load_i64(header, BUFFERS)):
        free_cotangent(header, buffer)
        if lies_in_history(header, buffer):
            leave_history(header, buffer)
        if col.primal(header, buffer) != 0 and col.flags(header, buffer) & EXTERNAL == 0:
            release_block(col.primal(header, buffer))
    free_columns(header, INSTRUCTION_COLUMNS, INSTRUCTION_CAPACITY)
    free_columns(header, SLOT_COLUMNS, SLOT_CAPACITY)
    free_columns(header, BUFFER_COLUMNS, BUFFER_CAPACITY)
    free(load_i64(header, CHECKSUMS))
    store_i64(header, SLOT_CAPACITY, CLOSED)
