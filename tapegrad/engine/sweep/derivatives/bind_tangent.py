"""Bind an instruction to a frame for its tangent."""

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.frame import PARAMS, X, Y
from tapegrad.engine.kernels.language.raw_memory import store_i64
from tapegrad.engine.sweep.binding.bind import (
    bind_iteration,
    bind_reverse,
    bind_sum,
    clear_addresses,
    cotangent_address,
    op_field,
    primal_address,
)
from tapegrad.engine.sweep.binding.control_fields import TANGENT
from tapegrad.engine.tape.fields.layout import BROADCAST_SUM, OP_KIND, OP_LINEAR


@inline_njit
def is_linear_in(header, op, j):
    """Return whether an op is linear in operand j; it never is in row numbers or in entries of a sparse matrix."""
    return (op_field(header, op, OP_LINEAR) >> j) & 1 != 0


@inline_njit
def _tangent_or_primal(header, op, slot, j):
    """Return the address of operand j's tangent if the op is linear in it, else of its primal."""
    if slot < 0:
        return 0
    return cotangent_address(header, slot) if is_linear_in(header, op, j) else primal_address(header, slot)


@inline_njit
def bind_tangent(header, instruction, frame, outer):
    """Fill `frame` for running an instruction's tangent: BAR fields are addresses of tangents.

    The tangents are those that the column of cotangents names. Of a linear op it is the forward frame, with tangents
    in place of primals; an operand that has no tangent is 0 there, for which the caller puts zeros.
    """
    if op_field(header, instruction.op, OP_LINEAR) == 0:
        bind_reverse(header, instruction, frame, outer, TANGENT)
        return
    store_i64(frame, PARAMS, instruction.params)
    clear_addresses(frame)
    y_dot = cotangent_address(header, instruction.result)
    if op_field(header, instruction.op, OP_KIND) == BROADCAST_SUM:
        bind_sum(header, instruction, y_dot, cotangent_address(header, instruction.a), frame, outer)
        return
    op = instruction.op
    store_i64(frame, X, _tangent_or_primal(header, op, instruction.a, 0))
    store_i64(frame, X + 1, _tangent_or_primal(header, op, instruction.b, 1))
    store_i64(frame, X + 2, _tangent_or_primal(header, op, instruction.c, 2))
    store_i64(frame, Y, y_dot)
    bind_iteration(header, instruction, frame, outer)
