"""Bind the instructions of a recording for replay: entry points for the planner, which is Python."""

from tapegrad.engine.kernels.raw_memory import load_i64
from tapegrad.engine.runtime.compiler import EVERY_RECORDING, entry_point
from tapegrad.engine.sweep.bind import bind_forward, bind_reverse, variant
from tapegrad.engine.sweep.bind_tangent import bind_tangent
from tapegrad.engine.sweep.reverse import may_store
from tapegrad.engine.tape import columns as col
from tapegrad.engine.tape.append import add_tensor_ref
from tapegrad.engine.tape.blocks import release_block
from tapegrad.engine.tape.instruction import instruction_at
from tapegrad.engine.tape.layout import DEAD_OP, EXTERNAL, INSTRUCTIONS
from tapegrad.engine.tape.versions import covers_buffer


@entry_point(group=EVERY_RECORDING)
def hold(header, slot):
    """Add a handle that stays until the tape is closed."""
    add_tensor_ref(header, slot)


@entry_point(group=EVERY_RECORDING)
def forget_results(header):
    """Release the results of the instructions: a replay computes them in a workspace."""
    for i in range(load_i64(header, INSTRUCTIONS)):
        if col.op(header, i) == DEAD_OP:
            continue
        buffer = col.buffer(header, col.result(header, i))
        if col.primal(header, buffer) != 0 and col.flags(header, buffer) & EXTERNAL == 0:
            release_block(col.primal(header, buffer))
            col.set_primal(header, buffer, 0)


@entry_point(group=EVERY_RECORDING)
def bind_instruction(header, i, direction, frame, outer, store):
    """Bind instruction `i` to the frame at an address: forwards (0), backwards (1), or its tangent (2)."""
    instruction = instruction_at(header, i)
    if direction == 0:
        bind_forward(header, instruction, frame, outer)
    elif direction == 2:
        bind_tangent(header, instruction, frame, outer)
    else:
        bind_reverse(header, instruction, frame, outer, store)


@entry_point(group=EVERY_RECORDING)
def instruction_variant(header, i):
    """Dtype code that chooses the kernel of instruction `i`."""
    return variant(header, instruction_at(header, i))


@entry_point()
def can_store(header, i, j):
    """Whether the reverse kernel of instruction `i` may write to operand j's cotangent instead of adding to it."""
    return may_store(header, instruction_at(header, i), j)


@entry_point(group=EVERY_RECORDING)
def covers(header, slot):
    """Whether a slot is the whole of its buffer, element for element in C order."""
    return covers_buffer(header, slot)
