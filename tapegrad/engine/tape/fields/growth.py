"""New entries of a tape: its columns grow, and reuse what is free."""

from tapegrad.engine.codegen.translator.compiler import inline_njit, shared_njit
from tapegrad.engine.kernels.language.raw_memory import free, load_i64, malloc, memmove, realloc, store_i64
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.columns import BUFFER_COLUMNS, SLOT_COLUMNS
from tapegrad.engine.tape.fields.layout import (
    BUFFER_CAPACITY,
    BUFFERS,
    FIRST_COLUMN,
    FREE_BUFFER,
    FREE_SLOT,
    NONE,
    SLOT_CAPACITY,
    SLOTS,
)

_MIN_CAPACITY = 256  # entries: a new tape has no memory for any
_MAX_UNPLACED_CAPACITY = 4096  # entries: columns up to there lie side by side
_PLACE_BYTES = 128


@inline_njit
def grow(header, columns, capacity_field):
    """Double the capacity of a family of columns; allocate those of a new tape."""
    entries = load_i64(header, capacity_field)
    capacity = max(2 * entries, _MIN_CAPACITY)
    for field, bytes_ in columns:
        before, after = _margin(field, entries), _margin(field, capacity)
        block = realloc(load_i64(header, field) - before, capacity * bytes_ + after)
        if after != before:
            memmove(block + after, block + before, entries * bytes_)
        store_i64(header, field, block + after)
    store_i64(header, capacity_field, capacity)


@inline_njit
def free_columns(header, columns, capacity_field):
    """Free a family of columns."""
    for field, _ in columns:
        free(load_i64(header, field) - _margin(field, load_i64(header, capacity_field)))
        store_i64(header, field, 0)


@inline_njit
def _margin(field, capacity):
    """Return the bytes in front of a column: large ones begin at other places of a page.

    The allocator has each of them begin a page. An entry of all columns would lie at one place of the pages then, in
    one set of the first cache, which has fewer lines: an operation takes 1.4 times as long.
    """
    return _PLACE_BYTES * (field - FIRST_COLUMN) if capacity > _MAX_UNPLACED_CAPACITY else 0


@inline_njit
def _take(header, free_field, count_field, capacity_field, columns, next_free):
    """Return the index of a free entry: the head of the free list, or a new one at the end."""
    index = load_i64(header, free_field)
    if index != NONE:
        store_i64(header, free_field, next_free)
        return index
    index = load_i64(header, count_field)
    if index == load_i64(header, capacity_field):
        grow(header, columns, capacity_field)
    store_i64(header, count_field, index + 1)
    return index


@shared_njit
def new_buffer(header, primal, bytes_, flags):
    """Return a new buffer without users."""
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
    col.set_history(header, buffer, 0)
    return buffer


@shared_njit
def new_slot(header, buffer, dtype, ndim, offset):
    """Return a new slot on `buffer`; the caller fills in its geometry."""
    head = load_i64(header, FREE_SLOT)
    next_free = col.buffer(header, head) if head != NONE else NONE
    slot = _take(header, FREE_SLOT, SLOTS, SLOT_CAPACITY, SLOT_COLUMNS, next_free)
    col.set_buffer(header, slot, buffer)
    col.set_dtype(header, slot, dtype)
    col.set_ndim(header, slot, ndim)
    col.set_offset(header, slot, offset)
    col.set_geometry(header, slot, malloc(16 * ndim) if ndim > 0 else 0)
    col.set_refs(header, slot, 0)
    col.set_read_only(header, slot, 0)
    return slot


@inline_njit
def new_view(header, slot, ndim, offset):
    """Return a new slot on the buffer of another one, read-only if that is; the caller fills in its geometry."""
    view = new_slot(header, col.buffer(header, slot), col.dtype(header, slot), ndim, offset)
    col.set_read_only(header, view, col.read_only(header, slot))
    return view
