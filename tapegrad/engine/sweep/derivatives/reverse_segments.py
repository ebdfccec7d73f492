"""Reverse sweep over an eager tape in parts: Python runs hooks and custom ops between them.

The instructions are listed first (see `engine.sweep.derivatives.subgraph`). The cotangents of the sweep stand in a
column of its own, one field for each buffer, which replaces the tape's while a part is swept: whatever
Python does between two parts, and whatever fails, the tape's own cotangents are as they were until the sweep delivers.
"""

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.language.frame import FIELDS
from tapegrad.engine.kernels.language.raw_memory import load_i64, stack_i64, store_i64
from tapegrad.engine.sweep.binding.bind import OUTER_FIELDS
from tapegrad.engine.sweep.derivatives.reverse import (
    bind_step,
    flag_wanted,
    report_missing,
    reverse_kernel,
    step,
)
from tapegrad.engine.sweep.derivatives.seeds import add_seed
from tapegrad.engine.sweep.derivatives.subgraph import (
    ENTRY_FIELDS,
    G_FLAGS,
    G_INDEX,
    G_OP,
    G_PARAMS,
    G_RESULT,
    G_SHOWN,
    PAUSE,
    SHOWN,
    TAKEN,
)
from tapegrad.engine.sweep.eager.earlier_contents import take_own
from tapegrad.engine.tape.blocks import add_block, new_zero_block, release_block
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.columns import COTANGENTS
from tapegrad.engine.tape.fields.geometry import array_data
from tapegrad.engine.tape.fields.layout import (
    DEAD_OP,
    E_CALLS,
    E_FREED,
    E_MEMORY,
    E_STATUS,
    INSTRUCTIONS,
    NONE,
    WANTED,
)
from tapegrad.engine.tape.release import first_writer, free_cotangent

NOTHING_FLOWS = 1


@inline_njit
def _use(header, column):
    """Switch to a column of cotangents, given its address; return the address of the column used before."""
    before = load_i64(header, COTANGENTS)
    store_i64(header, COTANGENTS, column)
    return before


@inline_njit
def _is_listed(header, i, entry):
    """Return whether an instruction is that of an entry."""
    same = col.op(header, i) == load_i64(entry, G_OP) and col.result(header, i) == load_i64(entry, G_RESULT)
    return same and col.params(header, i) == load_i64(entry, G_PARAMS)


@inline_njit
def _current_index(header, entry):
    """Return the index of an entry's instruction now; NONE if it has been freed."""
    i = load_i64(entry, G_INDEX)
    if i < load_i64(header, INSTRUCTIONS) and _is_listed(header, i, entry):
        return i
    buffer = col.buffer(header, load_i64(entry, G_RESULT))
    i = col.producer(header, buffer)
    while i >= 0 and col.op(header, i) != DEAD_OP and col.buffer(header, col.result(header, i)) == buffer:
        if _is_listed(header, i, entry):
            return i
        i -= 1
    return NONE


@entry_point()
def seed(header, root, values, column):
    """Begin with the cotangent of the root: the id of an array of its dtype and shape in C order, or 0 for ones."""
    own = _use(header, array_data(column))
    add_seed(header, root, array_data(values) if values != 0 else 0)
    _use(header, own)


@inline_njit
def _step_back(header, i, flags, frame, outer, missing):
    """Run an instruction backwards if a cotangent flows into its result; return 0 or an error."""
    buffer = col.buffer(header, col.result(header, i))
    if col.cotangent(header, buffer) == 0:
        return 0
    if reverse_kernel(header, i) == 0:
        return report_missing(header, i, missing)
    status = step(header, i, flags & TAKEN, flags & SHOWN != 0, frame, outer)
    if status != 0:
        return E_STATUS - status
    if flags & SHOWN == 0 and first_writer(header, buffer) == i:
        free_cotangent(header, buffer)
    return 0


@inline_njit
def _go_back(header, entries, progress, missing):
    frame, outer = stack_i64(FIELDS), stack_i64(OUTER_FIELDS)
    left, status = load_i64(progress, 0), 0
    while left > 0 and status == 0:
        entry = entries + 8 * ENTRY_FIELDS * (left - 1)
        flags = load_i64(entry, G_FLAGS)
        i = _current_index(header, entry)
        if i == NONE:
            status = E_FREED
        elif flags & PAUSE:
            status = E_CALLS
        else:
            status = _step_back(header, i, flags, frame, outer, missing)
        if status == 0:
            left -= 1
    store_i64(progress, 0, left)
    return status


@entry_point()
def go_back(header, entries, column, progress, missing):
    """Sweep backwards through the remaining entries; return 0 if none is left, or an error.

    All arguments but the header are ids of int64 arrays; `progress` holds the number of entries left. E_CALLS:
    the last of these asks for a pause. E_KERNEL: it lacks a kernel, whose op code and dtype code are in `missing`.
    """
    own = _use(header, array_data(column))
    status = _go_back(header, array_data(entries), array_data(progress), missing)
    _use(header, own)
    return status


@entry_point()
def bind(header, entries, k, column, frame, outer):
    """Bind the instruction of entry `k` to a frame; 0, NOTHING_FLOWS into its result, or an error.

    All arguments but the header and `k` are ids of int64 arrays.
    """
    entry = array_data(entries) + 8 * ENTRY_FIELDS * k
    i = _current_index(header, entry)
    if i == NONE:
        return E_FREED
    if load_i64(array_data(column), col.buffer(header, col.result(header, i))) == 0:
        return NOTHING_FLOWS
    if not take_own(header, i):
        return E_MEMORY
    own = _use(header, array_data(column))
    bind_step(header, i, load_i64(entry, G_FLAGS) & TAKEN, array_data(frame), array_data(outer))
    _use(header, own)
    return 0


@entry_point()
def fill(header, slot, column):
    """Give a buffer a zero cotangent if it has none; return the address."""
    buffer = col.buffer(header, slot)
    if load_i64(array_data(column), buffer) == 0:
        store_i64(array_data(column), buffer, new_zero_block(col.bytes(header, buffer)))
    return load_i64(array_data(column), buffer)


@inline_njit
def _deliver(header, slot, column, overwrite):
    """Add a buffer's cotangent to its gradient, in memory that NumPy arrays may show, or make it the gradient."""
    buffer = col.buffer(header, slot)
    new, old = load_i64(column, buffer), col.cotangent(header, buffer)
    if new == 0:
        new = new_zero_block(col.bytes(header, buffer))
    store_i64(column, buffer, NONE)
    if old == 0 or overwrite:
        free_cotangent(header, buffer)
        col.set_cotangent(header, buffer, new)
    else:
        add_block(new, old, col.bytes(header, buffer), col.dtype(header, slot))
        release_block(new)


@inline_njit
def _deliver_to(header, slot, column, wanted, overwrite):
    """Call `_deliver` for a requested buffer that has not got its gradient."""
    buffer = col.buffer(header, slot)
    asked = wanted == 0 or col.flags(header, buffer) & WANTED != 0
    if asked and load_i64(column, buffer) != NONE:
        _deliver(header, slot, column, overwrite)


@entry_point()
def deliver(header, root, entries, count, column, wanted, overwrite):
    """Give the Tensors on the buffers of the entries their gradients, zeros where nothing has flowed.

    `wanted` is the id of an array of the slots that were asked for, or 0 for all.
    """
    flag_wanted(header, wanted, True)
    _deliver_to(header, root, array_data(column), wanted, overwrite)
    for k in range(count):
        entry = array_data(entries) + 8 * ENTRY_FIELDS * k
        for j in range(4):
            if load_i64(entry, G_SHOWN + j) != NONE:
                _deliver_to(header, load_i64(entry, G_RESULT + j), array_data(column), wanted, overwrite)
    flag_wanted(header, wanted, False)


@inline_njit
def _drop(header, slot, column):
    if slot >= 0:
        cotangent = load_i64(column, col.buffer(header, slot))
        if cotangent != 0 and cotangent != NONE:
            release_block(cotangent)
        store_i64(column, col.buffer(header, slot), 0)


@entry_point()
def drop(header, root, entries, count, column):
    """Release the remaining cotangents."""
    _drop(header, root, array_data(column))
    for k in range(count):
        entry = array_data(entries) + 8 * ENTRY_FIELDS * k
        for j in range(4):
            _drop(header, load_i64(entry, G_RESULT + j), array_data(column))
