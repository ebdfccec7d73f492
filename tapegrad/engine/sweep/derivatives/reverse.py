"""Reverse sweep over the eager tape.

Mark the instructions that the root depends on, propagate cotangents backwards, accumulate gradients, free the graph.
"""

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.language.frame import FIELDS, X_BAR
from tapegrad.engine.kernels.language.raw_memory import free, load_i64, realloc, stack_i64, store_i64
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY
from tapegrad.engine.sweep.binding.bind import OUTER_FIELDS, bind_reverse, op_field, variant
from tapegrad.engine.sweep.binding.execute import execute
from tapegrad.engine.sweep.derivatives.reachability import (
    NEEDED,
    mark,
    mark_needed,
    missing_kernel,
    operand_is_useful,
    unmark,
    unmark_all,
)
from tapegrad.engine.sweep.derivatives.seeds import add_seed
from tapegrad.engine.sweep.eager.eager import kernel_of
from tapegrad.engine.sweep.eager.earlier_contents import bring_back, leave_behind
from tapegrad.engine.tape.append import differentiable
from tapegrad.engine.tape.blocks import add_block, new_block, new_zero_block, release_block
from tapegrad.engine.tape.compaction import trim
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.geometry import ARRAY_EXTENTS, array_data, extent, size
from tapegrad.engine.tape.fields.instruction import instruction_at
from tapegrad.engine.tape.fields.layout import (
    CALLBACK,
    CALLS,
    CONTROL,
    DEAD_OP,
    E_CALLS,
    E_CONSTANT,
    E_FREED,
    E_KERNEL,
    E_STATUS,
    HAS_ATTACHMENT,
    LIBRARY,
    MATMUL,
    NONE,
    OP_IN_PLACE,
    OP_KIND,
    OP_THRESHOLD,
    OP_WRITES,
    OPAQUE,
    REDUCTION,
    SCAN,
    SUPERSEDED,
    WANTED,
)
from tapegrad.engine.tape.release import first_writer, free_cotangent, free_instruction
from tapegrad.engine.tape.versions import covers_buffer, shows_all_once

KEEP_GRAPH = 1  # bits of the options of `reverse_sweep`
OVERWRITE = 2
ONLY_WANTED = 4
ONLY_LOOK = 8  # only report a missing kernel
STOP_AT_ATTACHMENTS = 16  # buffers that Python keeps something about are for the sweep in parts


# --- gradients of earlier sweeps -------------------------------------------------------------------------------------


@inline_njit
def _stash_gradients(header, slot, stash, count):
    """Move a gradient of an earlier sweep out of its column, so that only the new cotangent is propagated."""
    buffer = col.buffer(header, slot)
    gradient = col.cotangent(header, buffer)
    if gradient == 0:
        return stash, count
    if count % 64 == 0:
        stash = realloc(stash, 24 * (count + 64))
    store_i64(stash, 3 * count, buffer)
    store_i64(stash, 3 * count + 1, gradient)
    store_i64(stash, 3 * count + 2, col.dtype(header, slot))
    col.set_cotangent(header, buffer, 0)
    return stash, count + 1


@inline_njit
def _stash_all_gradients(header, root, low, high):
    """Stash the gradients of all results that the sweep goes through."""
    stash, count = _stash_gradients(header, root, 0, 0)
    for i in range(low, high + 1):
        if col.mark(header, i):
            stash, count = _stash_gradients(header, col.result(header, i), stash, count)
    return stash, count


@inline_njit
def _restore_gradients(header, stash, count, options):
    """Add the stashed gradients to the new ones, in the old memory, which NumPy arrays may show."""
    for k in range(count):
        buffer, gradient = load_i64(stash, 3 * k), load_i64(stash, 3 * k + 1)
        new = col.cotangent(header, buffer)
        replaced = options & OVERWRITE and delivered(header, buffer, options)
        if new != 0 and replaced:
            release_block(gradient)
            continue
        if new != 0:
            add_block(new, gradient, col.bytes(header, buffer), load_i64(stash, 3 * k + 2))
            release_block(new)
        col.set_cotangent(header, buffer, gradient)
    if stash != 0:
        free(stash)


@inline_njit
def _clear_leaves(header, low, high, only_wanted):
    """Free the gradients of the leaves that the sweep gives new ones."""
    for i in range(low, high + 1):
        if col.mark(header, i) == NEEDED:
            for slot in (col.operand0(header, i), col.operand1(header, i), col.operand2(header, i)):
                if (
                    _takes_cotangent(header, slot, only_wanted)
                    and col.producer(header, col.buffer(header, slot)) < 0
                ):
                    free_cotangent(header, col.buffer(header, slot))


# --- the sweep -------------------------------------------------------------------------------------------------


@inline_njit
def is_shown(header, buffer):
    """Return whether there are Tensors on a buffer. Views on an earlier version show the newest one's gradient."""
    superseded = col.flags(header, buffer) & SUPERSEDED != 0 and col.producer(header, buffer) >= 0
    return col.tensor_refs(header, buffer) > 0 and not superseded


@inline_njit
def delivered(header, buffer, options):
    """Return whether a Tensor will show the buffer's cotangent as its gradient."""
    asked = options & ONLY_WANTED == 0 or col.flags(header, buffer) & WANTED != 0
    return asked and is_shown(header, buffer)


@inline_njit
def _is_noted(header, slot):
    return slot >= 0 and col.flags(header, col.buffer(header, slot)) & HAS_ATTACHMENT != 0


@inline_njit
def _has_notes(header, i):
    """Return whether Python keeps an attachment to a buffer of an instruction."""
    found = _is_noted(header, col.result(header, i)) or _is_noted(header, col.operand0(header, i))
    return found or _is_noted(header, col.operand1(header, i)) or _is_noted(header, col.operand2(header, i))


@inline_njit
def _calls_python(header, root, low, high, options):
    """Return whether the sweep must call Python: for a custom op, or for an attachment of a buffer."""
    calls, attachments = load_i64(header, CALLS) != 0, options & STOP_AT_ATTACHMENTS != 0
    found = attachments and _is_noted(header, root)
    if calls or attachments:
        for i in range(low, high + 1):
            if col.mark(header, i) == NEEDED:
                found |= op_field(header, col.op(header, i), OP_KIND) == CALLBACK
                found |= attachments and _has_notes(header, i)
    return found


@inline_njit
def _takes_cotangent(header, slot, only_wanted):
    if only_wanted:
        return operand_is_useful(header, slot)
    return differentiable(header, slot)


@inline_njit
def taken(header, i, only_wanted):
    """Return the operands of a marked instruction into which cotangents flow, as bits."""
    first = _takes_cotangent(header, col.operand0(header, i), only_wanted)
    second = _takes_cotangent(header, col.operand1(header, i), only_wanted)
    third = _takes_cotangent(header, col.operand2(header, i), only_wanted)
    return (1 if first else 0) | (2 if second else 0) | (4 if third else 0)


@inline_njit
def operand_slot(instruction, j):
    """Return the slot of operand `j`."""
    return instruction.a if j == 0 else (instruction.b if j == 1 else instruction.c)


@inline_njit
def _same_buffer(header, slot, other):
    return other >= 0 and col.buffer(header, slot) == col.buffer(header, other)


@inline_njit
def shares_buffer(header, instruction, j):
    """Return whether another operand is on the buffer of operand `j`."""
    slot, shared = operand_slot(instruction, j), False
    for other in range(3):
        shared |= other != j and _same_buffer(header, slot, operand_slot(instruction, other))
    return shared


@inline_njit
def _matrices(header, slot):
    """Return the number of matrices of a slot."""
    count = 1
    for d in range(col.ndim(header, slot) - 2):
        count *= extent(header, slot, d)
    return count


@inline_njit
def reaches_all(header, instruction, j):
    """Return whether the reverse kernel writes each element of operand j's cotangent exactly once."""
    kind = op_field(header, instruction.op, OP_KIND)
    if kind == MATMUL:
        return _matrices(header, operand_slot(instruction, j)) == _matrices(header, instruction.result)
    if kind == OPAQUE:
        return (op_field(header, instruction.op, OP_WRITES) >> j) & 1 != 0
    return (
        kind == REDUCTION
        or kind == SCAN
        or size(header, operand_slot(instruction, j)) == size(header, instruction.result)
    )


@inline_njit
def may_store(header, instruction, j):
    """Return whether the reverse kernel may write to the new cotangent of operand j, instead of adding to zeros."""
    slot = operand_slot(instruction, j)
    if shares_buffer(header, instruction, j) or not reaches_all(header, instruction, j):
        return False
    by_loops = op_field(header, instruction.op, OP_KIND) <= MATMUL  # such a kernel takes any strides
    return covers_buffer(header, slot) or (by_loops and shows_all_once(header, slot))


@inline_njit
def _make_cotangent(header, instruction, j):
    """Give the buffer of operand `j` a cotangent. 1 if the kernel may write to it, 0 if it must add to zeros."""
    buffer = col.buffer(header, operand_slot(instruction, j))
    if col.cotangent(header, buffer) != 0:
        return 0
    store, bytes_ = may_store(header, instruction, j), col.bytes(header, buffer)
    col.set_cotangent(header, buffer, new_block(bytes_) if store else new_zero_block(bytes_))
    return 1 if store else 0


@inline_njit
def hands_on(header, i, takes):
    """Return whether the cotangent of an instruction's result can become that of operand 0, in the same memory."""
    if op_field(header, col.op(header, i), OP_IN_PLACE) == 0 or takes & 1 == 0:
        return False
    return col.cotangent(header, col.buffer(header, col.operand0(header, i))) == 0


@inline_njit
def bind_step(header, i, takes, frame, outer):
    """Bind one instruction backwards, with cotangents for the operands whose bits are set in `takes`."""
    instruction, store = instruction_at(header, i), 0
    for j in range(3):
        if (takes >> j) & 1:
            store |= _make_cotangent(header, instruction, j) << j
    bind_reverse(header, instruction, frame, outer, store)
    for j in range(3):
        if (takes >> j) & 1 == 0:
            store_i64(frame, X_BAR + j, 0)


@inline_njit
def reverse_kernel(header, i):
    """Return the address of an instruction's reverse kernel, 0 until it is loaded."""
    instruction = instruction_at(header, i)
    return kernel_of(header, instruction.op, variant(header, instruction), 1)


@inline_njit
def step(header, i, takes, keep, frame, outer):
    """Run one instruction backwards; the kernel's status. Unless `keep`, the result's cotangent may be handed on."""
    if not bring_back(header, i):
        return OUT_OF_MEMORY
    result, handed = col.buffer(header, col.result(header, i)), not keep and hands_on(header, i, takes)
    if handed:
        source = col.buffer(header, col.operand0(header, i))
        col.set_cotangent(header, source, col.cotangent(header, result))
    bind_step(header, i, takes, frame, outer)
    parallel_threshold = op_field(header, col.op(header, i), OP_THRESHOLD)
    status = execute(
        reverse_kernel(header, i),
        frame,
        load_i64(header, LIBRARY),
        parallel_threshold,
        load_i64(header, CONTROL),
    )
    if handed:
        col.set_cotangent(header, result, 0)
    leave_behind(header, i)
    return status


@inline_njit
def _walk(header, low, high, options):
    """Run the needed instructions backwards, until a kernel returns a status.

    A cotangent that no tensor shows is freed as soon as it has been propagated.
    """
    frame, outer = stack_i64(FIELDS), stack_i64(OUTER_FIELDS)
    for i in range(high, low - 1, -1):
        if col.mark(header, i) != NEEDED:
            continue
        buffer = col.buffer(header, col.result(header, i))
        if col.cotangent(header, buffer) != 0:
            keep = delivered(header, buffer, options)
            status = step(header, i, taken(header, i, options & ONLY_WANTED != 0), keep, frame, outer)
            if status != 0:
                return status
            if not keep and first_writer(header, buffer) == i:
                free_cotangent(header, buffer)
    return 0


@inline_njit
def _forget_new(header, low, high):
    """After a kernel has failed: drop the cotangents of the marked instructions' results."""
    for i in range(low, high + 1):
        if col.mark(header, i):
            free_cotangent(header, col.buffer(header, col.result(header, i)))


@inline_njit
def release_graph(header, low, high):
    for i in range(high, low - 1, -1):
        if col.op(header, i) != DEAD_OP and col.mark(header, i):
            free_instruction(header, i)
        col.set_mark(header, i, 0)  # of dead instructions, too: a mark must not outlive its sweep
    trim(header)


@inline_njit
def report_missing(header, i, missing):
    """Write op code and dtype code of the kernel that instruction `i` lacks to an int64 array, if there is one."""
    if missing != 0:
        instruction = instruction_at(header, i)
        store_i64(array_data(missing), 0, instruction.op)
        store_i64(array_data(missing), 1, variant(header, instruction))
    return E_KERNEL


@inline_njit
def flag_wanted(header, wanted, flag):
    """Flag the buffers of the slots in an array, whose id is `wanted` (0: none), as asked for, or take that back."""
    if wanted == 0:
        return
    for k in range(load_i64(load_i64(wanted, ARRAY_EXTENTS), 0)):
        buffer = col.buffer(header, load_i64(array_data(wanted), k))
        flags = col.flags(header, buffer) & ~WANTED
        col.set_flags(header, buffer, flags | (WANTED if flag else 0))


@inline_njit
def _sweep(header, root, seed, options, missing):
    high = col.producer(header, col.buffer(header, root))
    low = mark(header, root)
    if low == E_FREED:
        unmark_all(header)
        return E_FREED
    mark_needed(header, low, high, options & ONLY_WANTED != 0)
    if _calls_python(header, root, low, high, options):
        unmark(header, low, high)
        return E_CALLS
    lacking = missing_kernel(header, low, high)
    if lacking != NONE or options & ONLY_LOOK:
        unmark(header, low, high)
        return 0 if lacking == NONE else report_missing(header, lacking, missing)
    stash, count = _stash_all_gradients(header, root, low, high)
    if options & OVERWRITE:
        _clear_leaves(header, low, high, options & ONLY_WANTED != 0)
    add_seed(header, root, array_data(seed) if seed != 0 else 0)
    status = _walk(header, low, high, options)
    if status != 0:
        _forget_new(header, low, high)
        _restore_gradients(header, stash, count, 0)
        unmark(header, low, high)
        return E_STATUS - status
    if not delivered(header, col.buffer(header, root), options):
        free_cotangent(header, col.buffer(header, root))
    _restore_gradients(header, stash, count, options)
    if options & KEEP_GRAPH:
        unmark(header, low, high)
    else:
        release_graph(header, low, high)
    return 0


@entry_point()
def reverse_sweep(header, root, seed, options, wanted, missing):
    """Sweep backwards from `root`; 0, or an error, in which case nothing has changed.

    After the status of a kernel, gradients of leaves may hold a part of the new ones. E_CALLS: there is something
    for Python to do during the sweep, so that it has to run in parts.

    `seed` is the id of an array of the root's dtype and shape in C order, or 0 for ones; `wanted` the id of an int64
    array of the slots whose gradients are asked for, or 0 for all; `missing` the id of an int64 array that, if it is
    not 0, receives op code and dtype code of a reverse kernel that is not loaded yet.
    """
    if not differentiable(header, root):
        return E_CONSTANT
    flag_wanted(header, wanted, True)
    status = _sweep(header, root, seed, options | (ONLY_WANTED if wanted != 0 else 0), missing)
    flag_wanted(header, wanted, False)
    return status
