"""Memory of a slot: its description, its elements, and its gradient."""

from tapegrad.engine.codegen.python_calls.array_fields import (
    BLOCK,
    DATA,
    DTYPE,
    GEOMETRY,
    NDIM,
    WRITEABLE,
)
from tapegrad.engine.codegen.translator.compiler import EVERY_COMPUTATION, entry_point
from tapegrad.engine.kernels.language.raw_memory import memcpy, memset, store_i64
from tapegrad.engine.tape.append import is_freed
from tapegrad.engine.tape.blocks import add_block, release_block, retain
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.layout import EXTERNAL
from tapegrad.engine.tape.release import free_cotangent

NOTHING = -1  # there is no memory to show
BORROWED = -2  # the memory is a NumPy array's
# Items that `describe` returns.
(
    D_ADDRESS,
    D_DTYPE,
    D_FLAGS,
    D_KEPT,  # 1 if a write must keep the old contents, because a reverse rule reads them
    D_PRODUCER,
    D_BUFFER,
    D_EXTERNAL,
    D_OFFSET,
    D_BYTES,  # of the whole buffer
    D_READ_ONLY,  # 1 if nothing may be written through the slot
    D_NDIM,
    D_GEOMETRY,
) = range(12)


@entry_point(group=EVERY_COMPUTATION, returns_tuple=True)
def describe(header, slot, cotangent, fields):
    """Return the description of a slot as a tuple.

    The address is that of the first element of the primal, or of the cotangent; 0 if there is none.
    """
    buffer, ndim = col.buffer(header, slot), col.ndim(header, slot)
    memory = col.cotangent(header, buffer) if cotangent else col.primal(header, buffer)
    external = col.flags(header, buffer) & EXTERNAL != 0 and not cotangent
    store_i64(fields, D_ADDRESS, memory + col.offset(header, slot) if memory != 0 else 0)
    store_i64(fields, D_DTYPE, col.dtype(header, slot))
    store_i64(fields, D_FLAGS, col.flags(header, buffer))
    kept = col.saved_for_backward(header, buffer) > 0 or col.history(header, buffer) != 0
    store_i64(fields, D_KEPT, 1 if kept else 0)
    store_i64(fields, D_PRODUCER, col.producer(header, buffer))
    store_i64(fields, D_BUFFER, buffer)
    store_i64(fields, D_EXTERNAL, 1 if external else 0)
    store_i64(fields, D_OFFSET, col.offset(header, slot))
    store_i64(fields, D_BYTES, col.bytes(header, buffer))
    store_i64(fields, D_READ_ONLY, col.read_only(header, slot))
    store_i64(fields, D_NDIM, ndim)
    if ndim > 0:
        memcpy(fields + 8 * D_GEOMETRY, col.geometry(header, slot), 16 * ndim)
    return D_GEOMETRY + 2 * ndim


@entry_point(returns_tuple=True)
def hold_to_show(header, slot, cotangent, fields):
    """Add a reference to the memory of a slot's primal or cotangent, and write the fields of an array on it.

    It returns NOTHING or BORROWED where there is no memory of the engine's.
    """
    buffer = col.buffer(header, slot)
    if is_freed(header, slot):
        return NOTHING
    memory = col.cotangent(header, buffer) if cotangent else col.primal(header, buffer)
    if memory == 0:
        return NOTHING
    if not cotangent and col.flags(header, buffer) & EXTERNAL:
        return BORROWED
    retain(memory)
    store_i64(fields, BLOCK, memory)
    store_i64(fields, DATA, memory + col.offset(header, slot))
    store_i64(fields, DTYPE, col.dtype(header, slot))
    store_i64(fields, WRITEABLE, 1 if cotangent or not col.read_only(header, slot) else 0)
    store_i64(fields, NDIM, col.ndim(header, slot))
    store_i64(fields, GEOMETRY, col.geometry(header, slot))
    return 0


@entry_point()
def release(memory):
    """Drop a reference to a block of memory."""
    release_block(memory)


@entry_point()
def clear_cotangent(header, slot, keep_memory):
    """Set the cotangent of a slot's buffer to zero, or let it go."""
    buffer = col.buffer(header, slot)
    cotangent = col.cotangent(header, buffer)
    if cotangent == 0:
        return
    if keep_memory:
        memset(cotangent, 0, col.bytes(header, buffer))
    else:
        free_cotangent(header, buffer)


@entry_point()
def move_cotangent(header, source, target):
    """Add the cotangent of one buffer to that of another of the same layout, and leave none behind."""
    from_, to = col.buffer(header, source), col.buffer(header, target)
    cotangent = col.cotangent(header, from_)
    if cotangent == 0:
        return
    if col.cotangent(header, to) == 0:
        col.set_cotangent(header, to, cotangent)
    else:
        add_block(cotangent, col.cotangent(header, to), col.bytes(header, to), col.dtype(header, target))
        release_block(cotangent)
    col.set_cotangent(header, from_, 0)
