"""Append instructions, which hold their operands and their result; count what is held and what is saved."""

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_i64, store_i64
from tapegrad.engine.tape.checksums import note_reads
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.columns import INSTRUCTION_COLUMNS
from tapegrad.engine.tape.fields.growth import grow
from tapegrad.engine.tape.fields.layout import (
    CHECKSUMS,
    DIFFERENTIABLE,
    INSTRUCTION_CAPACITY,
    INSTRUCTIONS,
    OP_FIELDS,
    OP_READS0,
    OP_TABLE,
    READS_Y,
)


@inline_njit
def _hold(header, slot):
    """Count one more use of a slot."""
    buffer = col.buffer(header, slot)
    col.set_refs(header, slot, col.refs(header, slot) + 1)
    col.set_users(header, buffer, col.users(header, buffer) + 1)


@inline_njit
def add_tensor_ref(header, slot):
    """Count a Tensor that holds `slot`."""
    _hold(header, slot)
    buffer = col.buffer(header, slot)
    col.set_tensor_refs(header, buffer, col.tensor_refs(header, buffer) + 1)


@inline_njit
def is_freed(header, slot):
    """Return whether nothing holds a slot any more: another thread has dropped it since it was asked for."""
    return slot >= 0 and col.refs(header, slot) <= 0


@inline_njit
def differentiable(header, slot):
    """Return whether a cotangent flows into the slot's buffer."""
    return slot >= 0 and col.flags(header, col.buffer(header, slot)) & DIFFERENTIABLE != 0


@inline_njit
def saved(header, instruction):
    """Return the primals that the reverse rule reads: bits 0-2 the operands, bit 3 the result."""
    row = load_i64(header, OP_TABLE) + 8 * OP_FIELDS * instruction.op
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
def count_saved_operands(header, instruction, mask, by):
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
        grow(header, INSTRUCTION_COLUMNS, INSTRUCTION_CAPACITY)
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
    count_saved_operands(header, instruction, mask, 1)
    if mask & READS_Y:
        _count_saved(header, result, 1)
    if load_i64(header, CHECKSUMS) != 0:
        note_reads(header, instruction, mask)
    col.set_refs(header, result, col.refs(header, result) + 1)
    col.set_producer(header, col.buffer(header, result), i)
    return i
