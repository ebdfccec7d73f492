"""Entries of a tape: make them, hold them, let them go."""

from tapegrad.engine.kernels.raw_memory import calloc, free, load_i64, malloc, realloc, store_i64
from tapegrad.engine.runtime.compiler import entry_point, inline_njit
from tapegrad.engine.tape.blocks import release_block
from tapegrad.engine.tape.checksums import note_reads
from tapegrad.engine.tape.instruction import instruction_at
from tapegrad.engine.tape.layout import (
    ALL_LIVE,
    BUFFER_CAPACITY,
    BUFFER_COLUMNS,
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
    INSTRUCTION_COLUMNS,
    INSTRUCTIONS,
    LITERAL_ENTRIES,
    LITERAL_WORDS,
    NONE,
    OP_READS0,
    OP_TABLE,
    OP_WORDS,
    ORPHAN,
    READS_Y,
    SCALAR_CACHE,
    SLOT_CAPACITY,
    SLOT_COLUMNS,
    SLOTS,
    get_buffer,
    get_cotangent,
    get_flags,
    get_geometry,
    get_handles,
    get_keeps,
    get_ndim,
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
    set_buffer,
    set_bytes,
    set_cotangent,
    set_dtype,
    set_flags,
    set_geometry,
    set_handles,
    set_keeps,
    set_mark,
    set_ndim,
    set_offset,
    set_op,
    set_operand0,
    set_operand1,
    set_operand2,
    set_params,
    set_primal,
    set_producer,
    set_refs,
    set_result,
    set_users,
)
from tapegrad.engine.tape.parameters import free_params

_SQUEEZE_FROM = 1024  # dead instructions below this number are not worth a compaction

# --- opening, growing and closing -------------------------------------------------------------------------------


@entry_point()
def open_tape(header, capacity):
    """Allocate the columns of a new tape behind a header of zeros."""
    for word, bytes_ in INSTRUCTION_COLUMNS + SLOT_COLUMNS + BUFFER_COLUMNS:
        store_i64(header, word, malloc(capacity * bytes_))
    store_i64(header, SCALAR_CACHE, calloc(LITERAL_ENTRIES, 8 * LITERAL_WORDS))
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
        if get_op(header, i) != DEAD_OP:
            free_params(get_params(header, i))
    for slot in range(load_i64(header, SLOTS)):
        if get_geometry(header, slot) != 0:
            free(get_geometry(header, slot))
    for buffer in range(load_i64(header, BUFFERS)):
        free_cotangent(header, buffer)
        if get_primal(header, buffer) != 0 and get_flags(header, buffer) & EXTERNAL == 0:
            release_block(get_primal(header, buffer))
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
    """Make a buffer without references."""
    head = load_i64(header, FREE_BUFFER)
    next_free = get_producer(header, head) if head != NONE else NONE
    buffer = _take(header, FREE_BUFFER, BUFFERS, BUFFER_CAPACITY, BUFFER_COLUMNS, next_free)
    set_primal(header, buffer, primal)
    set_cotangent(header, buffer, 0)
    set_bytes(header, buffer, bytes_)
    set_users(header, buffer, 0)
    set_handles(header, buffer, 0)
    set_keeps(header, buffer, 0)
    set_producer(header, buffer, NONE)
    set_flags(header, buffer, flags)
    return buffer


@inline_njit
def new_slot(header, buffer, dtype, ndim, offset):
    """A slot on `buffer`; the caller fills in its geometry."""
    head = load_i64(header, FREE_SLOT)
    next_free = get_buffer(header, head) if head != NONE else NONE
    slot = _take(header, FREE_SLOT, SLOTS, SLOT_CAPACITY, SLOT_COLUMNS, next_free)
    set_buffer(header, slot, buffer)
    set_dtype(header, slot, dtype)
    set_ndim(header, slot, ndim)
    set_offset(header, slot, offset)
    set_geometry(header, slot, malloc(16 * ndim) if ndim > 0 else 0)
    set_refs(header, slot, 0)
    return slot


# --- holding ---------------------------------------------------------------------------------------------------


@inline_njit
def _hold(header, slot):
    """Count one more use of a slot."""
    buffer = get_buffer(header, slot)
    set_refs(header, slot, get_refs(header, slot) + 1)
    set_users(header, buffer, get_users(header, buffer) + 1)


@inline_njit
def add_handle(header, slot):
    """A Tensor holds `slot`."""
    _hold(header, slot)
    buffer = get_buffer(header, slot)
    set_handles(header, buffer, get_handles(header, buffer) + 1)


@inline_njit
def differentiable(header, slot):
    """Whether a cotangent flows into the slot's buffer."""
    return slot >= 0 and get_flags(header, get_buffer(header, slot)) & DIFFERENTIABLE != 0


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
    buffer = get_buffer(header, slot)
    set_keeps(header, buffer, get_keeps(header, buffer) + by)


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
    set_op(header, i, op)
    set_result(header, i, result)
    set_operand0(header, i, a)
    set_operand1(header, i, b)
    set_operand2(header, i, c)
    set_params(header, i, params)
    set_mark(header, i, 0)
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
    set_refs(header, result, get_refs(header, result) + 1)
    set_producer(header, get_buffer(header, result), i)
    return i


# --- letting go ------------------------------------------------------------------------------------------------


@inline_njit
def _drop_ref(header, slot):
    """One reference less to a slot; the last one frees it."""
    refs = get_refs(header, slot) - 1
    set_refs(header, slot, refs)
    if refs > 0:
        return
    if get_ndim(header, slot) > 0:
        free(get_geometry(header, slot))
    set_geometry(header, slot, 0)
    set_buffer(header, slot, load_i64(header, FREE_SLOT))
    store_i64(header, FREE_SLOT, slot)


@inline_njit
def free_cotangent(header, buffer):
    """Let the cotangent's memory go."""
    cotangent = get_cotangent(header, buffer)
    if cotangent != 0:
        release_block(cotangent)
        set_cotangent(header, buffer, 0)


@inline_njit
def free_unused_primal(header, buffer):
    """Let the primal's memory go if no Tensor shows it and no reverse rule reads it."""
    unused = get_handles(header, buffer) == 0 and get_keeps(header, buffer) == 0
    if load_i64(header, ALL_LIVE):  # a recording is replayed: what it computed from may be needed again
        return
    if unused and get_primal(header, buffer) != 0 and get_flags(header, buffer) & EXTERNAL == 0:
        release_block(get_primal(header, buffer))
        set_primal(header, buffer, 0)


@inline_njit
def _free_buffer(header, buffer):
    """Put a buffer on the free list, or on the list of orphans if Python must drop the owner of its memory."""
    free_cotangent(header, buffer)
    if get_flags(header, buffer) & EXTERNAL:
        set_producer(header, buffer, load_i64(header, ORPHAN))
        store_i64(header, ORPHAN, buffer)
        return
    if get_primal(header, buffer) != 0:
        release_block(get_primal(header, buffer))
    set_primal(header, buffer, 0)
    set_producer(header, buffer, load_i64(header, FREE_BUFFER))
    store_i64(header, FREE_BUFFER, buffer)


@inline_njit
def _bury(header, i, pending):
    """Turn an instruction dead and queue it; its operands are still held."""
    free_params(get_params(header, i))
    instruction = instruction_at(header, i)
    mask = saved(header, instruction)
    _count_saved_operands(header, instruction, mask, -1)
    set_op(header, i, DEAD_OP)
    set_params(header, i, pending)
    store_i64(header, DEAD, load_i64(header, DEAD) + 1)
    return mask


@inline_njit
def first_writer(header, buffer):
    """First instruction of the run that writes `buffer`: pieces of one result are written one after another."""
    i = get_producer(header, buffer)
    while (
        i > 0 and get_op(header, i - 1) != DEAD_OP and get_buffer(header, get_result(header, i - 1)) == buffer
    ):
        i -= 1
    return i


@inline_njit
def _kill_buffer(header, buffer, pending):
    """Free a buffer without references, and queue the instructions that write it."""
    last = get_producer(header, buffer)
    if last >= 0:
        for i in range(first_writer(header, buffer), last + 1):
            _bury(header, i, pending)
            pending = i
            _drop_ref(header, get_result(header, i))
    _free_buffer(header, buffer)
    return pending


@inline_njit
def _drop_use(header, slot, pending):
    """One use less of a slot."""
    buffer = get_buffer(header, slot)
    _drop_ref(header, slot)
    users = get_users(header, buffer) - 1
    set_users(header, buffer, users)
    if users == 0:
        return _kill_buffer(header, buffer, pending)
    free_unused_primal(header, buffer)
    return pending


@inline_njit
def _settle(header, pending):
    """Release the operands of queued dead instructions, and those of instructions that die by that, in one loop."""
    while pending != NONE:
        i = pending
        pending = get_params(header, i)
        a, b, c = get_operand0(header, i), get_operand1(header, i), get_operand2(header, i)
        pending = _drop_use(header, a, pending)
        if b >= 0:
            pending = _drop_use(header, b, pending)
        if c >= 0:
            pending = _drop_use(header, c, pending)


@inline_njit
def drop_handle(header, slot):
    """A Tensor lets go of `slot`."""
    buffer = get_buffer(header, slot)
    handles = get_handles(header, buffer) - 1
    set_handles(header, buffer, handles)
    if handles == 0:
        free_cotangent(header, buffer)
    _settle(header, _drop_use(header, slot, NONE))
    _tidy(header)


@inline_njit
def free_instruction(header, i):
    """Release an instruction whose result lives on: a sweep has gone through it for the last time."""
    result = get_result(header, i)
    buffer = get_buffer(header, result)
    if _bury(header, i, NONE) & READS_Y:
        set_keeps(header, buffer, get_keeps(header, buffer) - 1)
    set_producer(header, buffer, FREED)
    _drop_ref(header, result)
    free_unused_primal(header, buffer)
    _settle(header, i)


# --- squeezing -------------------------------------------------------------------------------------------------


@inline_njit
def _tidy(header):
    """Forget dead instructions at the end, and squeeze out the others once they are the majority."""
    n = load_i64(header, INSTRUCTIONS)
    dead = load_i64(header, DEAD)
    while n > 0 and get_op(header, n - 1) == DEAD_OP:
        n -= 1
        dead -= 1
    store_i64(header, INSTRUCTIONS, n)
    store_i64(header, DEAD, dead)
    if dead > _SQUEEZE_FROM and 2 * dead > n:
        _squeeze(header)


@inline_njit
def _squeeze(header):
    """Close the gaps that dead instructions left. Slots keep their numbers."""
    to = 0
    for i in range(load_i64(header, INSTRUCTIONS)):
        if get_op(header, i) == DEAD_OP:
            continue
        buffer = get_buffer(header, get_result(header, i))
        if get_producer(header, buffer) == i:
            set_producer(header, buffer, to)
        set_op(header, to, get_op(header, i))
        set_result(header, to, get_result(header, i))
        set_operand0(header, to, get_operand0(header, i))
        set_operand1(header, to, get_operand1(header, i))
        set_operand2(header, to, get_operand2(header, i))
        set_params(header, to, get_params(header, i))
        set_mark(header, to, 0)
        to += 1
    store_i64(header, INSTRUCTIONS, to)
    store_i64(header, DEAD, 0)


@inline_njit
def trim(header):
    """Drop dead instructions where that pays."""
    _tidy(header)


@entry_point()
def next_orphan(header):
    """Take the next dead buffer whose memory a Python object owned off the list; -1: none left."""
    buffer = load_i64(header, ORPHAN)
    if buffer != NONE:
        store_i64(header, ORPHAN, get_producer(header, buffer))
    return buffer


@entry_point()
def reuse_orphan(header, buffer):
    """Let a buffer be reused, now that its owner is forgotten."""
    set_flags(header, buffer, 0)
    set_primal(header, buffer, 0)
    set_producer(header, buffer, load_i64(header, FREE_BUFFER))
    store_i64(header, FREE_BUFFER, buffer)
