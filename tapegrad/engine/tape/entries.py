"""Entries of a tape: make them, hold them, let them go."""

from tapegrad.engine.kernels.raw_memory import calloc, free, load_i64, malloc, realloc, store_i64
from tapegrad.engine.runtime.compiler import entry_point, inline_njit
from tapegrad.engine.tape import columns as col
from tapegrad.engine.tape.blocks import release_block
from tapegrad.engine.tape.checksums import note_reads
from tapegrad.engine.tape.columns import BUFFER_COLUMNS, INSTRUCTION_COLUMNS, SLOT_COLUMNS
from tapegrad.engine.tape.instruction import instruction_at
from tapegrad.engine.tape.layout import (
    ALL_LIVE,
    BUFFER_CAPACITY,
    BUFFERS,
    CHECKSUMS,
    DEAD,
    DEAD_OP,
    DIFFERENTIABLE,
    EXTERNAL,
    FREE_BUFFER,
    FREE_SLOT,
    FREED,
    INSTRUCTION_CAPACITY,
    INSTRUCTIONS,
    NONE,
    OP_READS0,
    OP_TABLE,
    OP_WORDS,
    ORPHAN,
    READS_Y,
    SCALAR_CACHE,
    SCALAR_CACHE_ENTRIES,
    SCALAR_CACHE_WORDS,
    SLOT_CAPACITY,
    SLOTS,
)
from tapegrad.engine.tape.parameters import free_params

_COMPACT_FROM = 1024  # dead instructions below this number are not worth a compaction

# --- opening, growing and closing -------------------------------------------------------------------------------


@entry_point()
def open_tape(header, capacity):
    """Allocate the columns of a new tape behind a header of zeros."""
    for word, bytes_ in INSTRUCTION_COLUMNS + SLOT_COLUMNS + BUFFER_COLUMNS:
        store_i64(header, word, malloc(capacity * bytes_))
    store_i64(header, SCALAR_CACHE, calloc(SCALAR_CACHE_ENTRIES, 8 * SCALAR_CACHE_WORDS))
    for word in (INSTRUCTION_CAPACITY, SLOT_CAPACITY, BUFFER_CAPACITY):
        store_i64(header, word, capacity)
    for word in (FREE_SLOT, FREE_BUFFER, ORPHAN):
        store_i64(header, word, NONE)


@entry_point()
def close_tape(header):
    """Free everything that a tape holds, if it is open. Memory that NumPy arrays still show stays."""
    if load_i64(header, SLOT_CAPACITY) == 0:
        return
    for i in range(load_i64(header, INSTRUCTIONS)):
        if col.op(header, i) != DEAD_OP:
            free_params(col.params(header, i))
    for slot in range(load_i64(header, SLOTS)):
        if col.geometry(header, slot) != 0:
            free(col.geometry(header, slot))
    for buffer in range(load_i64(header, BUFFERS)):
        free_cotangent(header, buffer)
        if col.primal(header, buffer) != 0 and col.flags(header, buffer) & EXTERNAL == 0:
            release_block(col.primal(header, buffer))
    for word, _ in INSTRUCTION_COLUMNS + SLOT_COLUMNS + BUFFER_COLUMNS:
        free(load_i64(header, word))
        store_i64(header, word, 0)
    free(load_i64(header, SCALAR_CACHE))
    free(load_i64(header, CHECKSUMS))
    store_i64(header, SLOT_CAPACITY, 0)  # says that the tape is closed


@inline_njit
def _grow(header, columns, capacity_word):
    """Double the capacity of a family of columns."""
    capacity = 2 * load_i64(header, capacity_word)
    for word, bytes_ in columns:
        store_i64(header, word, realloc(load_i64(header, word), capacity * bytes_))
    store_i64(header, capacity_word, capacity)


@inline_njit
def _take(header, free_word, count_word, capacity_word, columns, next_free):
    """Index of a free entry: the head of the free list, or a new one at the end."""
    index = load_i64(header, free_word)
    if index != NONE:
        store_i64(header, free_word, next_free)
        return index
    index = load_i64(header, count_word)
    if index == load_i64(header, capacity_word):
        _grow(header, columns, capacity_word)
    store_i64(header, count_word, index + 1)
    return index


@inline_njit
def new_buffer(header, primal, bytes_, flags):
    """A buffer nobody uses yet."""
    head = load_i64(header, FREE_BUFFER)
    next_free = col.producer(header, head) if head != NONE else NONE
    buffer = _take(header, FREE_BUFFER, BUFFERS, BUFFER_CAPACITY, BUFFER_COLUMNS, next_free)
    col.set_primal(header, buffer, primal)
    col.set_cotangent(header, buffer, 0)
    col.set_bytes(header, buffer, bytes_)
    col.set_users(header, buffer, 0)
    col.set_tensor_refs(header, buffer, 0)
    col.set_saved_for_backward(header, buffer, 0)
    col.set_producer(header, buffer, NONE)
    col.set_flags(header, buffer, flags)
    return buffer


@inline_njit
def new_slot(header, buffer, dtype, ndim, offset):
    """A slot on `buffer`; the caller fills in its geometry."""
    head = load_i64(header, FREE_SLOT)
    next_free = col.buffer(header, head) if head != NONE else NONE
    slot = _take(header, FREE_SLOT, SLOTS, SLOT_CAPACITY, SLOT_COLUMNS, next_free)
    col.set_buffer(header, slot, buffer)
    col.set_dtype(header, slot, dtype)
    col.set_ndim(header, slot, ndim)
    col.set_offset(header, slot, offset)
    col.set_geometry(header, slot, malloc(16 * ndim) if ndim > 0 else 0)
    col.set_refs(header, slot, 0)
    return slot


# --- holding ---------------------------------------------------------------------------------------------------


@inline_njit
def _hold(header, slot):
    """Count one more use of a slot."""
    buffer = col.buffer(header, slot)
    col.set_refs(header, slot, col.refs(header, slot) + 1)
    col.set_users(header, buffer, col.users(header, buffer) + 1)


@inline_njit
def add_tensor_ref(header, slot):
    """A Tensor holds `slot`."""
    _hold(header, slot)
    buffer = col.buffer(header, slot)
    col.set_tensor_refs(header, buffer, col.tensor_refs(header, buffer) + 1)


@inline_njit
def differentiable(header, slot):
    """Whether a cotangent flows into the slot's buffer."""
    return slot >= 0 and col.flags(header, col.buffer(header, slot)) & DIFFERENTIABLE != 0


@inline_njit
def saved(header, instruction):
    """Primals that the reverse rule reads: bits 0-2 the operands, bit 3 the result."""
    row = load_i64(header, OP_TABLE) + 8 * OP_WORDS * instruction.op
    mask = 0
    if differentiable(header, instruction.a):
        mask |= load_i64(row, OP_READS0)
    if differentiable(header, instruction.b):
        mask |= load_i64(row, OP_READS0 + 1)
    if differentiable(header, instruction.c):
        mask |= load_i64(row, OP_READS0 + 2)
    return mask


@inline_njit
def _count_saved(header, slot, by):
    buffer = col.buffer(header, slot)
    col.set_saved_for_backward(header, buffer, col.saved_for_backward(header, buffer) + by)


@inline_njit
def _count_saved_operands(header, instruction, mask, by):
    """Count `by` more instructions that read the primals of the operands named by `mask`."""
    if mask & 1:
        _count_saved(header, instruction.a, by)
    if mask & 2:
        _count_saved(header, instruction.b, by)
    if mask & 4:
        _count_saved(header, instruction.c, by)


@inline_njit
def append(header, instruction):
    """Append an instruction. It holds its operands and its result."""
    op, result, a, b, c, params = instruction
    if load_i64(header, INSTRUCTIONS) == load_i64(header, INSTRUCTION_CAPACITY):
        _grow(header, INSTRUCTION_COLUMNS, INSTRUCTION_CAPACITY)
    i = load_i64(header, INSTRUCTIONS)
    store_i64(header, INSTRUCTIONS, i + 1)
    col.set_op(header, i, op)
    col.set_result(header, i, result)
    col.set_operand0(header, i, a)
    col.set_operand1(header, i, b)
    col.set_operand2(header, i, c)
    col.set_params(header, i, params)
    col.set_mark(header, i, 0)
    _hold(header, a)
    if b >= 0:
        _hold(header, b)
    if c >= 0:
        _hold(header, c)
    mask = saved(header, instruction)
    _count_saved_operands(header, instruction, mask, 1)
    if mask & READS_Y:
        _count_saved(header, result, 1)
    if load_i64(header, CHECKSUMS) != 0:
        note_reads(header, instruction, mask)
    col.set_refs(header, result, col.refs(header, result) + 1)
    col.set_producer(header, col.buffer(header, result), i)
    return i


# --- letting go ------------------------------------------------------------------------------------------------


@inline_njit
def _drop_ref(header, slot):
    """One reference less to a slot; the last one frees it."""
    refs = col.refs(header, slot) - 1
    col.set_refs(header, slot, refs)
    if refs > 0:
        return
    if col.ndim(header, slot) > 0:
        free(col.geometry(header, slot))
    col.set_geometry(header, slot, 0)
    col.set_buffer(header, slot, load_i64(header, FREE_SLOT))
    store_i64(header, FREE_SLOT, slot)


@inline_njit
def free_cotangent(header, buffer):
    """Let the cotangent's memory go."""
    cotangent = col.cotangent(header, buffer)
    if cotangent != 0:
        release_block(cotangent)
        col.set_cotangent(header, buffer, 0)


@inline_njit
def free_unused_primal(header, buffer):
    """Let the primal's memory go if no Tensor shows it and no reverse rule reads it."""
    unused = col.tensor_refs(header, buffer) == 0 and col.saved_for_backward(header, buffer) == 0
    if load_i64(header, ALL_LIVE):  # a recording is replayed: what it computed from may be needed again
        return
    if unused and col.primal(header, buffer) != 0 and col.flags(header, buffer) & EXTERNAL == 0:
        release_block(col.primal(header, buffer))
        col.set_primal(header, buffer, 0)


@inline_njit
def _free_buffer(header, buffer):
    """Put a buffer on the free list, or on the list of orphans if Python must drop the owner of its memory."""
    free_cotangent(header, buffer)
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
    _count_saved_operands(header, instruction, mask, -1)
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
    """Free a buffer that nobody uses and queue the instructions that write it."""
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
    """One use less of a slot."""
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


@inline_njit
def drop_tensor_ref(header, slot):
    """A Tensor lets go of `slot`."""
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


# --- compacting -------------------------------------------------------------------------------------------------


@inline_njit
def trim(header):
    """Forget dead instructions at the end, and squeeze out the others once they are the majority."""
    n = load_i64(header, INSTRUCTIONS)
    dead = load_i64(header, DEAD)
    while n > 0 and col.op(header, n - 1) == DEAD_OP:
        n -= 1
        dead -= 1
    store_i64(header, INSTRUCTIONS, n)
    store_i64(header, DEAD, dead)
    if dead > _COMPACT_FROM and 2 * dead > n:
        _compact(header)


@inline_njit
def _compact(header):
    """Close the gaps that dead instructions left. Slots keep their numbers, so nobody needs to know."""
    to = 0
    for i in range(load_i64(header, INSTRUCTIONS)):
        if col.op(header, i) == DEAD_OP:
            continue
        buffer = col.buffer(header, col.result(header, i))
        if col.producer(header, buffer) == i:
            col.set_producer(header, buffer, to)
        col.set_op(header, to, col.op(header, i))
        col.set_result(header, to, col.result(header, i))
        col.set_operand0(header, to, col.operand0(header, i))
        col.set_operand1(header, to, col.operand1(header, i))
        col.set_operand2(header, to, col.operand2(header, i))
        col.set_params(header, to, col.params(header, i))
        col.set_mark(header, to, 0)
        to += 1
    store_i64(header, INSTRUCTIONS, to)
    store_i64(header, DEAD, 0)


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
