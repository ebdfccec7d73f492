"""Histories of memory: the contents before in-place writes, for recorded instructions that still read them.

An in-place write hands the memory of a buffer on to a new one, its next version. If the old contents are read by
reverse rules, the elements that are about to be overwritten are put into a *record* of the memory's *history*. The
buffers of earlier versions lie in the history: version k of the memory is what it holds when the records from k on are
undone. So a write costs what it writes, however large the memory is.

A sweep that goes back through the versions works on a copy of the memory, the *base*, which it takes once. A record
is undone there by exchanging its elements with those of the base, and redone in the same way (H. G. Baker, "Shallow
Binding Makes Functional Arrays Fast", SIGPLAN Notices 26 (8), 1991), so that it goes through each record once.

A history *ends* where the memory is let go, or where so much is written that a copy of all costs no more: then its
base is all that is left of the memory.
"""

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.odometer import begin_index, next_index, step_to_next
from tapegrad.engine.kernels.language.raw_memory import (
    calloc,
    free,
    load_i32,
    load_i64,
    load_u8,
    malloc,
    memcpy,
    realloc,
    stack_i64,
    store_i32,
    store_i64,
    store_u8,
)
from tapegrad.engine.tape.blocks import new_block, release_block
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.geometry import item_size, size
from tapegrad.engine.tape.fields.layout import HISTORIES, MAX_NDIM, NONE

# Fields of a history.
(
    _USERS,  # buffers that lie in it
    _NEWEST,  # the buffer that has the memory; NONE once the history has ended
    _MEMORY,  # address of the memory; 0 once it has ended
    _BYTES,  # of the memory
    _RECORDS,  # address of the addresses of the records
    _COUNT,
    _CAPACITY,
    _LOGGED,  # bytes of all records
    _BASE,  # a block like the memory, 0 if there is none
    _AT,  # the version that the base holds
    _TOP,  # the version of the memory that was copied to the base: the base can hold any up to it
) = range(11)
_FIELDS = 11

# Fields of a record; then follow extents and strides of a region or the numbers of elements, then the old contents.
(
    _BUFFER,  # which lies in the history with the contents before the write, NONE if there is none
    _ITEM,  # bytes of an element
    _ELEMENTS,
    _CONTENTS,  # address of the old contents, side by side
    _NDIM,  # of a region, NONE for a list of elements
    _OFFSET,  # of a region
    _POSITION,
) = range(7)
RECORD_BYTES = 8 * (_POSITION + 2)  # minimum, without the contents


@inline_njit
def new_history(header, buffer):
    """Start a history of the memory of a buffer; 0 when memory is short."""
    history = calloc(_FIELDS, 8)
    if history != 0:
        store_i64(history, _NEWEST, buffer)
        store_i64(history, _MEMORY, col.primal(header, buffer))
        store_i64(history, _BYTES, col.bytes(header, buffer))
        col.set_history(header, buffer, history)
        store_i64(header, HISTORIES, load_i64(header, HISTORIES) + 1)
    return history


@inline_njit
def has_memory(history, buffer):
    """Return whether a buffer has the memory of a history, which may be 0: none."""
    return history != 0 and load_i64(history, _NEWEST) == buffer


@inline_njit
def lies_in_history(header, buffer):
    """Return whether a buffer is an earlier version of a memory, whose contents the history can restore."""
    history = col.history(header, buffer)
    return history != 0 and not has_memory(history, buffer)


@inline_njit
def pass_on(header, history, buffer):
    """Hand the memory on to a new buffer."""
    store_i64(history, _NEWEST, buffer)
    col.set_history(header, buffer, history)


# --- records ---------------------------------------------------------------------------------------------------


@inline_njit
def _record(history, k):
    return load_i64(load_i64(history, _RECORDS), k)


@inline_njit
def _new_record(history, fields, elements, item):
    """Append a record of so many fields to the history; return 0 when memory is short."""
    count, bytes_ = load_i64(history, _COUNT), 8 * (_POSITION + fields) + elements * item
    if count == load_i64(history, _CAPACITY):
        capacity = 2 * count + 8
        records = realloc(load_i64(history, _RECORDS), 8 * capacity)
        if records == 0:
            return 0
        store_i64(history, _RECORDS, records)
        store_i64(history, _CAPACITY, capacity)
    record = malloc(bytes_)
    if record == 0:
        return 0
    store_i64(record, _BUFFER, NONE)
    store_i64(record, _ITEM, item)
    store_i64(record, _ELEMENTS, elements)
    store_i64(record, _CONTENTS, record + 8 * (_POSITION + fields))
    store_i64(load_i64(history, _RECORDS), count, record)
    store_i64(history, _COUNT, count + 1)
    store_i64(history, _LOGGED, load_i64(history, _LOGGED) + bytes_)
    return record


@inline_njit
def log_region(header, history, slot):
    """Put the elements of a slot into a record; return whether there was memory."""
    ndim, item, elements = col.ndim(header, slot), item_size(col.dtype(header, slot)), size(header, slot)
    record = _new_record(history, 2 * ndim, elements, item)
    if record == 0:
        return False
    store_i64(record, _NDIM, ndim)
    store_i64(record, _OFFSET, col.offset(header, slot))
    if ndim > 0:
        memcpy(record + 8 * _POSITION, col.geometry(header, slot), 16 * ndim)
    _go_through_region(record, load_i64(history, _MEMORY), False)
    return True


@inline_njit
def log_elements(history, numbers, elements, item):
    """Put the elements with these numbers into a record; return whether there was memory."""
    record = _new_record(history, elements, elements, item)
    if record == 0:
        return False
    store_i64(record, _NDIM, NONE)
    memcpy(record + 8 * _POSITION, numbers, 8 * elements)
    memory, contents = load_i64(history, _MEMORY), load_i64(record, _CONTENTS)
    for k in range(elements):
        _move(memory + item * load_i64(numbers, k), contents + k * item, item, False)
    return True


@inline_njit
def _move_word(element, kept, back):
    old = load_i64(element, 0)
    if back:
        store_i64(element, 0, load_i64(kept, 0))
    store_i64(kept, 0, old)


@inline_njit
def _move(element, kept, item, back):
    """Copy an element to the record; with `back`, exchange it with the recorded one."""
    if item >= 8:  # of complex128 there are two
        for part in range(item // 8):
            _move_word(element + 8 * part, kept + 8 * part, back)
    elif item == 4:
        old32 = load_i32(element, 0)
        if back:
            store_i32(element, 0, load_i32(kept, 0))
        store_i32(kept, 0, old32)
    else:
        for part in range(item):
            old8 = load_u8(element, part)
            if back:
                store_u8(element, part, load_u8(kept, part))
            store_u8(kept, part, old8)


@inline_njit
def _go_through_region(record, memory, back):
    """`_move` each element of a record's region, row by row."""
    ndim, item, kept = load_i64(record, _NDIM), load_i64(record, _ITEM), load_i64(record, _CONTENTS)
    extents = record + 8 * _POSITION
    strides, outer = extents + 8 * ndim, ndim - 1
    element = memory + load_i64(record, _OFFSET)
    if ndim == 0:
        _move(element, kept, item, back)
        return
    length, step, index = load_i64(extents, outer), load_i64(strides, outer), stack_i64(MAX_NDIM)
    begin_index(index, outer)
    for _ in range(load_i64(record, _ELEMENTS) // max(length, 1)):
        for j in range(length):
            _move(element + j * step, kept + j * item, item, back)
        kept += length * item
        element += step_to_next(extents, strides, next_index(index, extents, outer), outer)


@inline_njit
def _exchange(record, memory, undo):
    """Exchange recorded and current elements: undo the write, or redo it. An element may be listed several times."""
    if load_i64(record, _NDIM) != NONE:
        _go_through_region(record, memory, True)
        return
    elements, item, contents = (
        load_i64(record, _ELEMENTS),
        load_i64(record, _ITEM),
        load_i64(record, _CONTENTS),
    )
    for j in range(elements):
        k = j if undo else elements - 1 - j
        _move(memory + item * load_i64(record, _POSITION + k), contents + k * item, item, True)


# --- the base ---------------------------------------------------------------------------------------------------


@inline_njit
def _go_to(history, version):
    """Move the base to another version."""
    base, at = load_i64(history, _BASE), load_i64(history, _AT)
    while at > version:
        at -= 1
        _exchange(_record(history, at), base, True)
    while at < version:
        _exchange(_record(history, at), base, False)
        at += 1
    store_i64(history, _AT, at)


@inline_njit
def _copy_memory(history):
    """Let the base be a copy of the memory as it is now; return whether there is the memory, and was memory for it."""
    base, memory, bytes_ = load_i64(history, _BASE), load_i64(history, _MEMORY), load_i64(history, _BYTES)
    if memory == 0:
        return False
    if base != 0:
        _go_to(history, load_i64(history, _TOP))
    else:
        base = new_block(bytes_)
        if base == 0:
            return False
        store_i64(history, _BASE, base)
    memcpy(base, memory, bytes_)
    store_i64(history, _AT, load_i64(history, _COUNT))
    store_i64(history, _TOP, load_i64(history, _COUNT))
    return True


@inline_njit
def contents_of(header, buffer):
    """Address of the contents of a buffer that lies in a history, until the next such call; 0 when memory is short."""
    history, version = col.history(header, buffer), col.version(header, buffer)
    is_known = load_i64(history, _BASE) != 0 and version <= load_i64(history, _TOP)
    if not is_known and not _copy_memory(history):
        return 0
    _go_to(history, version)
    return load_i64(history, _BASE)


# --- entering, leaving, ending ----------------------------------------------------------------------------------


@inline_njit
def enter_last_version(header, history, buffer):
    """Enter a buffer, whose contents were those before the last record, into the history.

    In a history that has ended these are the contents at its end.
    """
    ended, count = load_i64(history, _NEWEST) == NONE, load_i64(history, _COUNT)
    if not ended:
        store_i64(_record(history, count - 1), _BUFFER, buffer)
    col.set_history(header, buffer, history)
    col.set_version(header, buffer, count if ended else count - 1)
    store_i64(history, _USERS, load_i64(history, _USERS) + 1)


@inline_njit
def _drop(header, history):
    """Free a history that no buffer lies in."""
    newest = load_i64(history, _NEWEST)
    if newest != NONE:
        col.set_history(header, newest, 0)
    for k in range(load_i64(history, _COUNT)):
        free(_record(history, k))
    if load_i64(history, _BASE) != 0:
        release_block(load_i64(history, _BASE))
    free(load_i64(history, _RECORDS))
    free(history)
    store_i64(header, HISTORIES, load_i64(header, HISTORIES) - 1)


@inline_njit
def drop_if_empty(header, history):
    """Free a history that is still empty, after a failed write."""
    if load_i64(history, _USERS) == 0:
        _drop(header, history)


@inline_njit
def _leave(header, buffer):
    """Take a buffer out of its history; return whether another one lies in it."""
    history, version = col.history(header, buffer), col.version(header, buffer)
    col.set_history(header, buffer, 0)
    if version < load_i64(history, _COUNT):
        store_i64(_record(history, version), _BUFFER, NONE)
    users = load_i64(history, _USERS) - 1
    store_i64(history, _USERS, users)
    return users > 0


@inline_njit
def leave_history(header, buffer):
    """Remove a buffer that no instruction reads from its history."""
    history = col.history(header, buffer)
    if not _leave(header, buffer):
        _drop(header, history)


@inline_njit
def end_history(header, history):
    """End the history with a copy of the memory, which will be freed. If no memory is left, its contents are lost."""
    newest, count = load_i64(history, _NEWEST), load_i64(history, _COUNT)
    if load_i64(history, _BASE) != 0 and load_i64(history, _TOP) == count:
        _go_to(history, count)
    elif not _copy_memory(history) and load_i64(history, _BASE) != 0:
        _go_to(history, load_i64(history, _TOP))
    col.set_history(header, newest, 0)
    store_i64(history, _NEWEST, NONE)
    store_i64(history, _MEMORY, 0)


@inline_njit
def end_history_with(header, history, block):
    """End the history with the memory itself, a block that has no other owner."""
    if load_i64(history, _BASE) != 0:
        _go_to(history, load_i64(history, _TOP))
        release_block(load_i64(history, _BASE))
    count = load_i64(history, _COUNT)
    store_i64(history, _BASE, block)
    store_i64(history, _AT, count)
    store_i64(history, _TOP, count)
    col.set_history(header, load_i64(history, _NEWEST), 0)
    store_i64(history, _NEWEST, NONE)
    store_i64(history, _MEMORY, 0)


@inline_njit
def give_own_contents(header, buffer):
    """Give a buffer that lies in a history memory of its own; return whether there was any."""
    history, contents = col.history(header, buffer), contents_of(header, buffer)
    own = new_block(col.bytes(header, buffer)) if contents != 0 else 0
    if own == 0:
        return False
    memcpy(own, contents, col.bytes(header, buffer))
    col.set_primal(header, buffer, own)
    if not _leave(header, buffer):
        _drop(header, history)
    return True


@inline_njit
def limit_history(header, history):
    """Replace the history by a copy for each buffer, once records take more memory than copies."""
    if load_i64(history, _LOGGED) <= load_i64(history, _USERS) * load_i64(history, _BYTES):
        return
    left = load_i64(history, _USERS)
    for k in range(load_i64(history, _COUNT) - 1, -1, -1):
        buffer = load_i64(_record(history, k), _BUFFER)
        if buffer != NONE:
            left -= 1
            if not give_own_contents(header, buffer) or left == 0:
                return  # the last one has dropped the history
