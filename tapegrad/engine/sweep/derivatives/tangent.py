"""Tangent sweep over the eager tape: mark what some results depend on, and propagate tangents from some leaves.

Tangents are kept in a column of the sweep's own, which takes the place of the cotangents' meanwhile: gradients that
Tensors show are neither read nor changed. The tangents of a buffer lie one after another, each like the buffer.
"""

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.language.frame import FIELDS, X_BAR, X
from tapegrad.engine.kernels.language.odometer import begin_index, next_index, step_to_next
from tapegrad.engine.kernels.language.raw_memory import calloc, free, load_i64, memcpy, stack_i64, store_i64
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY
from tapegrad.engine.sweep.binding.bind import OUTER_FIELDS, op_field
from tapegrad.engine.sweep.binding.execute import execute
from tapegrad.engine.sweep.derivatives.bind_tangent import bind_tangent, is_linear_in
from tapegrad.engine.sweep.derivatives.reachability import mark_all, unmark
from tapegrad.engine.sweep.derivatives.reverse import report_missing
from tapegrad.engine.sweep.derivatives.tangent_reachability import (
    RESERVED,
    has_tangent,
    reserve_tangents,
    result_has_tangent,
    tangent_kernel,
)
from tapegrad.engine.sweep.eager.earlier_contents import bring_back, leave_behind
from tapegrad.engine.tape.blocks import new_block, new_zero_block, release_block
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.columns import COLUMNS
from tapegrad.engine.tape.fields.geometry import array_data, array_length, item_size, size
from tapegrad.engine.tape.fields.instruction import instruction_at
from tapegrad.engine.tape.fields.layout import (
    BROADCAST_SUM,
    BUFFERS,
    CONTROL,
    E_KERNEL,
    E_MEMORY,
    E_STATUS,
    LIBRARY,
    MAX_NDIM,
    OP_IN_PLACE,
    OP_KIND,
    OP_LINEAR,
    OP_THRESHOLD,
    READ_LATER,
    SUPERSEDED,
)
from tapegrad.engine.tape.versions import covers_buffer

_COLUMN = COLUMNS["cotangent"][0]


# --- propagation --------------------------------------------------------------------------------------------------


@inline_njit
def _hand_on(header, i):
    """Let the result of an in-place write have the tangents of the earlier version; return whether that is the case."""
    if op_field(header, col.op(header, i), OP_IN_PLACE) == 0 or not has_tangent(
        header, col.operand0(header, i)
    ):
        return False
    earlier, buffer = col.buffer(header, col.operand0(header, i)), col.buffer(header, col.result(header, i))
    if col.flags(header, earlier) & (SUPERSEDED | READ_LATER) != SUPERSEDED:
        return False
    col.set_cotangent(header, buffer, col.cotangent(header, earlier))
    return True


@inline_njit
def _make_tangents(header, i, count):
    """Allocate the tangents of an instruction's result, zeroed if the instruction does not write all of it."""
    slot = col.result(header, i)
    buffer = col.buffer(header, slot)
    if col.cotangent(header, buffer) != RESERVED:
        return True
    bytes_ = count * col.bytes(header, buffer)
    plain = covers_buffer(header, slot) and op_field(header, col.op(header, i), OP_KIND) != BROADCAST_SUM
    block = new_block(bytes_) if plain else new_zero_block(bytes_)
    col.set_cotangent(header, buffer, block)
    return block != 0


@inline_njit
def _needs_zeros(header, op, slot, j):
    """Return whether a linear op's kernel reads a tangent that operand j does not have."""
    return slot >= 0 and is_linear_in(header, op, j) and not has_tangent(header, slot)


@inline_njit
def _put_zeros(header, op, slot, frame, j):
    """Let a linear op read zeros in place of the tangents of operand j; return the block, 0 if none is needed."""
    if not _needs_zeros(header, op, slot, j):
        return 0
    block = new_zero_block(col.bytes(header, col.buffer(header, slot)))
    if block != 0:
        store_i64(frame, X + j, block + col.offset(header, slot))
    return block


@inline_njit
def _bytes_to_next(header, slot):
    """Return the bytes from one tangent of a slot to the next, 0 where it has none."""
    return col.bytes(header, col.buffer(header, slot)) if has_tangent(header, slot) else 0


@inline_njit
def _advance(frame, fields, s0, s1, s2, sy):
    """Move the tangents' addresses, in the four fields from `fields` on, to the next tangents."""
    store_i64(frame, fields, load_i64(frame, fields) + s0)
    store_i64(frame, fields + 1, load_i64(frame, fields + 1) + s1)
    store_i64(frame, fields + 2, load_i64(frame, fields + 2) + s2)
    store_i64(frame, fields + 3, load_i64(frame, fields + 3) + sy)


@inline_njit
def _run(header, i, frame, outer, count):
    """Run the kernel for one tangent after another; return its status."""
    instruction = instruction_at(header, i)
    op, result, a, b, c, _ = instruction
    if not bring_back(header, i):
        return OUT_OF_MEMORY
    bind_tangent(header, instruction, frame, outer)
    first, second = _put_zeros(header, op, a, frame, 0), _put_zeros(header, op, b, frame, 1)
    third = _put_zeros(header, op, c, frame, 2)
    loops, parallel_threshold, control = (
        load_i64(header, LIBRARY),
        op_field(header, op, OP_THRESHOLD),
        load_i64(header, CONTROL),
    )
    own, kernel, status = col.bytes(header, col.buffer(header, result)), tangent_kernel(header, i), 0
    for _ in range(count):
        status = execute(kernel, frame, loops, parallel_threshold, control)
        if status != 0:
            break
        if op_field(header, op, OP_KIND) == BROADCAST_SUM:
            _advance(frame, X_BAR, own, 0, 0, _bytes_to_next(header, a))
        else:
            fields = X if op_field(header, op, OP_LINEAR) else X_BAR
            s0, s1, s2 = _bytes_to_next(header, a), _bytes_to_next(header, b), _bytes_to_next(header, c)
            _advance(frame, fields, s0, s1, s2, own)
    for block in (first, second, third):
        if block != 0:
            release_block(block)
    leave_behind(header, i)
    return status


@inline_njit
def _walk(header, low, high, count):
    """Run the marked instructions forwards on tangents; 0, or an error."""
    frame, outer = stack_i64(FIELDS), stack_i64(OUTER_FIELDS)
    for i in range(low, high + 1):
        if result_has_tangent(header, i):
            handed = _hand_on(header, i)
            if not _make_tangents(header, i, count):
                return E_MEMORY
            status = _run(header, i, frame, outer, count)
            if handed:
                col.set_cotangent(header, col.buffer(header, col.operand0(header, i)), 0)
            if status != 0:
                return E_STATUS - status
    return 0


# --- seeds and results -------------------------------------------------------------------------------------------


@inline_njit
def _seed(header, leaves, seeds, count):
    """Seed the tangents of the leaves, each the whole of its buffer; return whether there was memory."""
    for k in range(array_length(leaves)):
        buffer = col.buffer(header, load_i64(array_data(leaves), k))
        bytes_ = count * col.bytes(header, buffer)
        block = new_block(bytes_)
        if block == 0:
            return False
        memcpy(block, array_data(load_i64(seeds, k)), bytes_)
        col.set_cotangent(header, buffer, block)
    return True


@inline_njit
def _copy_out(header, slot, source, target):
    """Copy the elements of a slot, of which the buffer's contents lie at `source`, to `target` in C order."""
    ndim, geometry = col.ndim(header, slot), col.geometry(header, slot)
    item = item_size(col.dtype(header, slot))
    index, strides = stack_i64(MAX_NDIM), geometry + 8 * ndim
    begin_index(index, ndim)
    source += col.offset(header, slot)
    for k in range(size(header, slot)):
        memcpy(target + k * item, source, item)
        source += step_to_next(geometry, strides, next_index(index, geometry, ndim), ndim)


@inline_njit
def _hand_out(header, results, tangents, count):
    """Copy the results' tangents to arrays, which hold zeros."""
    for k in range(array_length(results)):
        slot = load_i64(array_data(results), k)
        if has_tangent(header, slot):
            buffer = col.buffer(header, slot)
            target = array_data(load_i64(tangents, k))
            bytes_ = size(header, slot) * item_size(col.dtype(header, slot))
            for t in range(count):
                source = col.cotangent(header, buffer) + t * col.bytes(header, buffer)
                _copy_out(header, slot, source, target + t * bytes_)


@inline_njit
def _release(column, buffers):
    """Free the column with all tangents."""
    for buffer in range(buffers):
        block = load_i64(column, buffer)
        if block != 0 and block != RESERVED:
            release_block(block)
    free(column)


@entry_point()
def tangent_sweep(header, leaves, seeds, results, tangents, count, missing):
    """Carry `count` tangents at once from some leaves to some results; 0, or an error.

    `leaves` and `results` are ids of int64 arrays of slots, `seeds` and `tangents` of the ids of arrays, in C order,
    with `count` in front of the slots' shapes; those of `tangents` hold zeros. A leaf is all of its buffer. With
    E_KERNEL the array `missing` receives op code and dtype code of a kernel that is not loaded yet.
    """
    span = stack_i64(2)
    gradients, buffers = load_i64(header, _COLUMN), load_i64(header, BUFFERS)
    column = calloc(buffers + 1, 8)
    if column == 0:
        return E_MEMORY
    mark_all(header, array_data(results), array_length(results), span, True)
    low, high = load_i64(span, 0), load_i64(span, 1)
    store_i64(header, _COLUMN, column)
    status = 0 if _seed(header, leaves, array_data(seeds), count) else E_MEMORY
    lacking = stack_i64(1)
    if status == 0:
        status = reserve_tangents(header, low, high, lacking)
    if status == E_KERNEL:
        report_missing(header, load_i64(lacking, 0), missing)
    if status == 0:
        status = _walk(header, low, high, count)
    if status == 0:
        _hand_out(header, results, array_data(tangents), count)
    store_i64(header, _COLUMN, gradients)
    _release(column, buffers)
    unmark(header, low, high)
    return status
