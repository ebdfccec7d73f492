"""The instructions between some results and some inputs, listed for Python and kept alive meanwhile."""

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_i64, memcpy, stack_i64, store_i64
from tapegrad.engine.sweep.binding.bind import op_field
from tapegrad.engine.sweep.derivatives.reachability import (
    NEEDED,
    mark,
    mark_all,
    mark_needed,
    unmark,
    unmark_all,
)
from tapegrad.engine.sweep.derivatives.reverse import (
    ONLY_WANTED,
    delivered,
    flag_wanted,
    is_shown,
    release_graph,
    taken,
)
from tapegrad.engine.tape.append import add_tensor_ref, differentiable
from tapegrad.engine.tape.blocks import add_block, new_zero_block
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.geometry import ARRAY_EXTENTS, array_data, array_length
from tapegrad.engine.tape.fields.layout import (
    CALLBACK,
    DEAD_OP,
    DIFFERENTIABLE,
    E_FREED,
    HAS_ATTACHMENT,
    NONE,
    OP_KIND,
    WANTED,
)
from tapegrad.engine.tape.fields.parameters import count_params
from tapegrad.engine.tape.release import drop_tensor_ref

# Fields of an entry.
(
    G_OP,
    G_RESULT,
    G_OPERAND0,
    _,
    _,
    G_PARAMS,
    G_SHOWN,  # for result and operands the buffer if it is differentiable and a Tensor is on it, otherwise -1
    _,
    _,
    _,
    G_INDEX,  # index of the instruction when it was listed
    G_FLAGS,
) = range(12)
ENTRY_FIELDS = 12

# Bits of an entry's flags; bits 0-2 are the operands that a cotangent flows into.
TAKEN = 7
SHOWN = 8  # a Tensor will show the result's cotangent
PAUSE = 16  # the sweep returns to Python before the instruction
CALLED = 32  # the instruction calls a user's function


@inline_njit
def _hold(header, slot):
    if slot >= 0:
        add_tensor_ref(header, slot)


@inline_njit
def _flags_of(header, i, only_wanted):
    """Return the flags of the entry of instruction `i`."""
    buffer = col.buffer(header, col.result(header, i))
    flags = taken(header, i, only_wanted)
    if delivered(header, buffer, ONLY_WANTED if only_wanted else 0):
        flags |= SHOWN
    if col.flags(header, buffer) & HAS_ATTACHMENT:
        flags |= PAUSE
    if op_field(header, col.op(header, i), OP_KIND) == CALLBACK:
        flags |= PAUSE | CALLED
    return flags


@inline_njit
def _enter(header, i, only_wanted, entry):
    """Write the entry of instruction `i`."""
    slots = (col.result(header, i), col.operand0(header, i), col.operand1(header, i), col.operand2(header, i))
    store_i64(entry, G_OP, col.op(header, i))
    for k in range(4):
        store_i64(entry, G_RESULT + k, slots[k])
        shown = differentiable(header, slots[k]) and is_shown(header, col.buffer(header, slots[k]))
        store_i64(entry, G_SHOWN + k, col.buffer(header, slots[k]) if shown else NONE)
    store_i64(entry, G_PARAMS, col.params(header, i))
    store_i64(entry, G_INDEX, i)
    store_i64(entry, G_FLAGS, _flags_of(header, i, only_wanted))


@inline_njit
def _hold_listed(header, entries, count):
    """Take a handle on each slot of the entries."""
    for k in range(count):
        for field in range(G_RESULT, G_PARAMS):
            _hold(header, load_i64(entries, ENTRY_FIELDS * k + field))


@inline_njit
def _list(header, roots, wanted, entries, capacity):
    span = stack_i64(2)
    if (
        mark_all(header, array_data(roots), load_i64(load_i64(roots, ARRAY_EXTENTS), 0), span, False)
        == E_FREED
    ):
        unmark_all(header)
        return E_FREED
    low, high = load_i64(span, 0), load_i64(span, 1)
    only_wanted = wanted != 0
    mark_needed(header, low, high, only_wanted)
    found = 0
    for i in range(low, high + 1):
        found += col.mark(header, i) == NEEDED
    if found <= capacity:
        k = 0
        for i in range(low, high + 1):
            if col.mark(header, i) == NEEDED:
                _enter(header, i, only_wanted, array_data(entries) + 8 * ENTRY_FIELDS * k)
                k += 1
        _hold_listed(header, array_data(entries), found)
    unmark(header, low, high)
    return found


@entry_point()
def list_graph(header, roots, wanted, entries, capacity):
    """List the instructions that the roots depend on, in order; of these, the ones behind a wanted slot.

    `roots`, `wanted` and `entries` are ids of int64 arrays; `wanted` may be 0, which is every slot. An entry is
    `ENTRY_FIELDS` fields. Returns how many there are; if there are more than `capacity`, none is written and nothing is
    held. E_FREED where a part has been freed.
    """
    flag_wanted(header, wanted, True)
    found = _list(header, roots, wanted, entries, capacity)
    flag_wanted(header, wanted, False)
    return found


@entry_point()
def release_listed(header, entries, count):
    """Release what `list_graph` holds."""
    entries = array_data(entries)
    for k in range(count):
        for field in range(G_RESULT, G_PARAMS):
            slot = load_i64(entries, ENTRY_FIELDS * k + field)
            if slot >= 0:
                drop_tensor_ref(header, slot)


@entry_point()
def read_params(header, result, address, out):
    """Copy an instruction's parameters to the int64 array with the id `out`, if they fit; return their number.

    It is the one with these parameters among those that write the buffer of the slot `result`; 0 if it has been freed.
    """
    buffer = col.buffer(header, result)
    i = col.producer(header, buffer)
    while i >= 0 and col.buffer(header, col.result(header, i)) == buffer:
        if col.op(header, i) != DEAD_OP and col.params(header, i) == address:
            count = count_params(address)
            if count <= array_length(out):
                memcpy(array_data(out), address, 8 * count)
            return count
        i -= 1
    return 0


@entry_point()
def end_sweep(header, root, keep):
    """Free the instructions that a result depends on, unless they are to be kept.

    E_FREED, with nothing done, if some of them have been freed since the sweep began.
    """
    if not differentiable(header, root):
        return 0
    high = col.producer(header, col.buffer(header, root))
    low = mark(header, root)
    if low == E_FREED:
        unmark_all(header)
        return E_FREED
    if keep:
        unmark(header, low, high)
    else:
        release_graph(header, low, high)
    return 0


@inline_njit
def _is_other_leaf(header, slot):
    """Return whether a slot is that of a differentiable leaf that was not asked for."""
    if not differentiable(header, slot):
        return False
    buffer = col.buffer(header, slot)
    return col.producer(header, buffer) < 0 and col.flags(header, buffer) & WANTED == 0


@inline_njit
def _other_leaf(header, root):
    roots = stack_i64(1)
    store_i64(roots, 0, root)
    span = stack_i64(2)
    if mark_all(header, roots, 1, span, False) == E_FREED:
        unmark_all(header)
        return 1
    low, high = load_i64(span, 0), load_i64(span, 1)
    found = 1 if _is_other_leaf(header, root) else 0
    for i in range(low, high + 1):
        if col.mark(header, i):
            for slot in (col.operand0(header, i), col.operand1(header, i), col.operand2(header, i)):
                found |= 1 if _is_other_leaf(header, slot) else 0
    unmark(header, low, high)
    return found


@entry_point()
def has_other_leaf(header, root, wanted):
    """Return whether a result depends on a differentiable leaf other than the slots in an int64 array, given its id."""
    if not differentiable(header, root):
        return 0
    flag_wanted(header, wanted, True)
    found = _other_leaf(header, root)
    flag_wanted(header, wanted, False)
    return found


@entry_point()
def make_differentiable(header, slot):
    """Let cotangents flow into a buffer from now on."""
    buffer = col.buffer(header, slot)
    col.set_flags(header, buffer, col.flags(header, buffer) | DIFFERENTIABLE)


@entry_point()
def tensor_refs(header, slot):
    """Return the number of Tensors on a slot's buffer."""
    return col.tensor_refs(header, col.buffer(header, slot))


@entry_point()
def mark_attachment(header, slot, noted):
    """Flag a buffer of which Python keeps something, or take the flag away."""
    buffer = col.buffer(header, slot)
    flags = col.flags(header, buffer) & ~HAS_ATTACHMENT
    col.set_flags(header, buffer, flags | (HAS_ATTACHMENT if noted else 0))


@entry_point()
def attachment_buffer(header, slot):
    """Return the buffer of a slot if it has an attachment, otherwise -1."""
    buffer = col.buffer(header, slot)
    return buffer if col.flags(header, buffer) & HAS_ATTACHMENT else NONE


@entry_point()
def has_attachment(header, buffer):
    """Return whether a buffer has an attachment."""
    return col.flags(header, buffer) & HAS_ATTACHMENT


@entry_point()
def add_cotangent(header, slot, array):
    """Add an array of all of a buffer's elements to its cotangent."""
    buffer = col.buffer(header, slot)
    if col.cotangent(header, buffer) == 0:
        col.set_cotangent(header, buffer, new_zero_block(col.bytes(header, buffer)))
    add_block(
        array_data(array), col.cotangent(header, buffer), col.bytes(header, buffer), col.dtype(header, slot)
    )
