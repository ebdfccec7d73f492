"""New versions of a buffer: an in-place write moves its memory to a new one. Contents still read by rules are kept."""

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_i64, memcmp, memcpy, store_i64
from tapegrad.engine.tape.append import add_tensor_ref
from tapegrad.engine.tape.blocks import new_block
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.geometry import is_contiguous, item_size, shows_each_once, size
from tapegrad.engine.tape.fields.growth import new_buffer, new_slot
from tapegrad.engine.tape.fields.layout import (
    ALL_LIVE,
    DIFFERENTIABLE,
    E_MEMORY,
    EXTERNAL,
    KEEPS_RESULTS,
    SUPERSEDED,
    TRACED,
)
from tapegrad.engine.tape.history import (
    RECORD_BYTES,
    drop_if_empty,
    end_history,
    enter_last_version,
    has_memory,
    limit_history,
    log_elements,
    log_region,
    new_history,
    pass_on,
)


@inline_njit
def covers_buffer(header, slot):
    """Return whether a slot is the whole of its buffer, element for element."""
    bytes_ = col.bytes(header, col.buffer(header, slot))
    return size(header, slot) * item_size(col.dtype(header, slot)) == bytes_ and is_contiguous(header, slot)


@inline_njit
def shows_all_once(header, slot):
    """Return whether a slot shows each element of its buffer once, in whatever order."""
    bytes_ = col.bytes(header, col.buffer(header, slot))
    return size(header, slot) * item_size(col.dtype(header, slot)) == bytes_ and shows_each_once(header, slot)


@inline_njit
def whole(header, slot, dtype):
    """Return a slot for all of a buffer as elements of a dtype, with a handle: the slot itself if it is that."""
    if col.dtype(header, slot) == dtype and covers_buffer(header, slot):
        add_tensor_ref(header, slot)
        return slot
    buffer = col.buffer(header, slot)
    fresh = new_slot(header, buffer, dtype, 1, 0)
    store_i64(col.geometry(header, fresh), 0, col.bytes(header, buffer) // item_size(dtype))
    store_i64(col.geometry(header, fresh), 1, item_size(dtype))
    add_tensor_ref(header, fresh)
    return fresh


@inline_njit
def slot_like(header, slot, buffer):
    """Return a slot with a handle, with the same geometry on another buffer."""
    ndim = col.ndim(header, slot)
    fresh = new_slot(header, buffer, col.dtype(header, slot), ndim, col.offset(header, slot))
    if ndim > 0:
        memcpy(col.geometry(header, fresh), col.geometry(header, slot), 16 * ndim)
    add_tensor_ref(header, fresh)
    return fresh


@inline_njit
def show_same_elements(header, slot, other):
    """Return whether two slots would show the same elements in the same shape, were they on one buffer."""
    ndim = col.ndim(header, slot)
    if ndim != col.ndim(header, other) or col.offset(header, slot) != col.offset(header, other):
        return False
    if ndim == 0:
        return True
    return memcmp(col.geometry(header, slot), col.geometry(header, other), 16 * ndim) == 0


@inline_njit
def _copy(header, buffer):
    """Return a block with a copy of a buffer's primal; 0 when memory is short."""
    copy = new_block(col.bytes(header, buffer))
    if copy != 0:
        memcpy(copy, col.primal(header, buffer), col.bytes(header, buffer))
    return copy


@inline_njit
def _is_most(header, buffer, bytes_):
    """Return whether a record of so many bytes costs at least as much as a copy of a buffer."""
    return 2 * bytes_ + RECORD_BYTES >= col.bytes(header, buffer)


@inline_njit
def _put_into_record(header, history, target, numbers, count):
    """Put the elements of `target`, or those with these numbers, into a record; return whether there was memory."""
    if numbers == 0:
        return log_region(header, history, target)
    return log_elements(history, numbers, count, item_size(col.dtype(header, target)))


@inline_njit
def _log(header, buffer, target, numbers, count):
    """Put what will be overwritten into a record of the history of a buffer's memory; return whether there was room."""
    if col.history(header, buffer) != 0:
        limit_history(header, col.history(header, buffer))
    history = col.history(header, buffer)
    if history == 0:
        if col.saved_for_backward(header, buffer) == 0:
            return True  # the contents that rules read have a copy now
        history = new_history(header, buffer)
    if history == 0:
        return False
    if _put_into_record(header, history, target, numbers, count):
        return True
    drop_if_empty(header, history)
    return False


@inline_njit
def _bytes_written(header, target, numbers, count):
    elements = size(header, target) if numbers == 0 else count
    return elements * item_size(col.dtype(header, target))


@inline_njit
def keep_earlier_contents(header, buffer, target, numbers, count):
    """Keep what earlier versions read of the memory of a buffer that is about to be written to; whether there was room.

    The write will overwrite the elements of the slot `target`, which may lie on another version; or,
    where `numbers` is not 0, the `count` elements of its dtype with the numbers at that address.
    """
    history = col.history(header, buffer)
    if history == 0:
        return True
    if _is_most(header, buffer, _bytes_written(header, target, numbers, count)):
        end_history(header, history)
        return True
    return _log(header, buffer, target, numbers, count)


@inline_njit
def _keep_contents(header, buffer, target, numbers, count):
    """Keep the contents of a buffer that will lose its memory, as far as they are read; whether there was room."""
    history, read = col.history(header, buffer), col.saved_for_backward(header, buffer) > 0
    most = _is_most(header, buffer, _bytes_written(header, target, numbers, count))
    recorded, copy = load_i64(header, ALL_LIVE), 0
    is_kept = recorded == KEEPS_RESULTS or (recorded != 0 and col.producer(header, buffer) < 0)
    if is_kept and history != 0:
        end_history(header, history)
    if is_kept or (read and most and history == 0):  # replays read what nothing computes
        copy = _copy(header, buffer)
        if copy == 0:
            return False
    elif most and history != 0:
        end_history(header, history)
        if read:
            enter_last_version(header, history, buffer)
    elif (history != 0 or read) and not _log(header, buffer, target, numbers, count):
        return False
    col.set_primal(header, buffer, copy)
    return True


@inline_njit
def begin_version(header, slot, target, numbers, count):
    """Move the memory of the buffer of `slot` to a new one, the next version; a slot at the same offset of that one.

    What will be overwritten is said as for `keep_earlier_contents`. The slot carries one handle; E_MEMORY when memory
    is short, and then nothing has changed.
    """
    old = col.buffer(header, slot)
    memory, flags = col.primal(header, old), col.flags(header, old)
    if not _keep_contents(header, old, target, numbers, count):
        return E_MEMORY
    new = new_buffer(header, memory, col.bytes(header, old), flags & (DIFFERENTIABLE | EXTERNAL | TRACED))
    col.set_flags(header, old, (flags & ~EXTERNAL) | SUPERSEDED)
    history = col.history(header, old)
    if has_memory(history, old):
        pass_on(header, history, new)
        if col.saved_for_backward(header, old) > 0:
            enter_last_version(header, history, old)
        else:
            col.set_history(header, old, 0)
    return slot_like(header, slot, new)
