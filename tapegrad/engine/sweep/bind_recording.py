"""Bind the instructions of a recording for replay: entry points for the planner, which is Python."""

from tapegrad.engine.kernels.raw_memory import load_i64
from tapegrad.engine.runtime.compiler import EVERY_RECORDING, entry_point
from tapegrad.engine.sweep.bind import bind_forward, bind_reverse, variant
from tapegrad.engine.sweep.bind_tangent import bind_tangent
from tapegrad.engine.sweep.reverse import covers_buffer, reaches_all, same_buffer
from tapegrad.engine.tape.blocks import release_block
from tapegrad.engine.tape.entries import add_handle
from tapegrad.engine.tape.layout import (
    DEAD_OP,
    EXTERNAL,
    INSTRUCTIONS,
    get_buffer,
    get_flags,
    get_op,
    get_operand0,
    get_operand1,
    get_operand2,
    get_params,
    get_primal,
    get_result,
    set_primal,
)


@entry_point(group=EVERY_RECORDING)
def hold(header, slot):
    """Add a handle that stays until the tape is closed."""
    add_handle(header, slot)


@entry_point(group=EVERY_RECORDING)
def forget_results(header):
    """Let go of what the instructions have computed: a replay computes it anew, in a workspace."""
    for i in range(load_i64(header, INSTRUCTIONS)):
        if get_op(header, i) == DEAD_OP:
            continue
        buffer = get_buffer(header, get_result(header, i))
        if get_primal(header, buffer) != 0 and get_flags(header, buffer) & EXTERNAL == 0:
            release_block(get_primal(header, buffer))
            set_primal(header, buffer, 0)


@entry_point(group=EVERY_RECORDING)
def bind_instruction(header, i, direction, frame, outer, store):
    """Bind instruction `i` to the frame at an address: forwards (0), backwards (1), or its tangent (2)."""
    op, result, params = get_op(header, i), get_result(header, i), get_params(header, i)
    a, b, c = get_operand0(header, i), get_operand1(header, i), get_operand2(header, i)
    if direction == 0:
        bind_forward(header, op, result, a, b, c, params, frame, outer)
    elif direction == 2:
        bind_tangent(header, op, result, a, b, c, params, frame, outer)
    else:
        bind_reverse(header, op, result, a, b, c, params, frame, outer, store)


@entry_point(group=EVERY_RECORDING)
def instruction_variant(header, i):
    """Dtype code that chooses the kernel of instruction `i`."""
    return variant(
        header, get_op(header, i), get_operand0(header, i), get_operand1(header, i), get_operand2(header, i)
    )


@entry_point()
def can_store(header, i, j):
    """Whether the reverse kernel of instruction `i` may write to operand j's cotangent instead of adding to it."""
    a, b, c = get_operand0(header, i), get_operand1(header, i), get_operand2(header, i)
    slot, other, another = (a, b, c) if j == 0 else ((b, a, c) if j == 1 else (c, a, b))
    if same_buffer(header, slot, other) or same_buffer(header, slot, another):
        return False
    return reaches_all(header, get_op(header, i), j, slot, get_result(header, i)) and covers_buffer(
        header, slot
    )


@entry_point(group=EVERY_RECORDING)
def covers(header, slot):
    """Whether a slot is the whole of its buffer, element for element in C order."""
    return covers_buffer(header, slot)
