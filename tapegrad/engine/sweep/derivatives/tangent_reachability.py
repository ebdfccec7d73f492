"""Reachability in a tangent sweep over an eager tape: the marked instructions that tangents flow into.

The column of cotangents holds the tangents: a buffer with an entry in it has tangents, or will have them.
"""

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.raw_memory import store_i64
from tapegrad.engine.sweep.binding.bind import op_field, variant
from tapegrad.engine.sweep.eager.eager import kernel_of
from tapegrad.engine.tape.append import differentiable
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.instruction import instruction_at
from tapegrad.engine.tape.fields.layout import CALLBACK, E_KERNEL, OP_KIND, OP_LINEAR

RESERVED = 1  # in the column: the buffer will have tangents


@inline_njit
def has_tangent(header, slot):
    return differentiable(header, slot) and col.cotangent(header, col.buffer(header, slot)) != 0


@inline_njit
def result_has_tangent(header, i):
    """Return whether the tangent of an instruction depends on the leaves'."""
    if col.mark(header, i) == 0 or not differentiable(header, col.result(header, i)):
        return False
    if has_tangent(header, col.operand0(header, i)) or has_tangent(header, col.operand1(header, i)):
        return True
    return has_tangent(header, col.operand2(header, i))


@inline_njit
def tangent_kernel(header, i):
    """Return the address of the kernel of an instruction's tangent; 0 for a call of a user's function."""
    op = col.op(header, i)
    if op_field(header, op, OP_KIND) == CALLBACK:
        return 0
    dtype = variant(header, instruction_at(header, i))
    return kernel_of(header, op, dtype, 0 if op_field(header, op, OP_LINEAR) else 2)


@inline_njit
def reserve_tangents(header, low, high, lacking):
    """Enter which buffers will have tangents; 0, or E_KERNEL: `lacking` receives the instruction without a kernel."""
    for i in range(low, high + 1):
        if result_has_tangent(header, i):
            if tangent_kernel(header, i) == 0:
                store_i64(lacking, 0, i)
                return E_KERNEL
            buffer = col.buffer(header, col.result(header, i))
            if col.cotangent(header, buffer) == 0:
                col.set_cotangent(header, buffer, RESERVED)
    return 0
