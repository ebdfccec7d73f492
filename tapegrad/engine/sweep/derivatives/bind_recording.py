"""Bind the instructions of a recording for replay: entry points for the planner, which is Python."""

from tapegrad.engine.codegen.translator.compiler import EVERY_RECORDING, entry_point, inline_njit
from tapegrad.engine.kernels.language.frame import BYTES, OUTER, X_BAR, X, Y
from tapegrad.engine.kernels.language.raw_memory import load_i64, store_i64
from tapegrad.engine.sweep.binding.bind import OUTER_FIELDS, bind_forward, bind_reverse, op_field, variant
from tapegrad.engine.sweep.binding.execute import elements
from tapegrad.engine.sweep.derivatives.bind_tangent import bind_tangent
from tapegrad.engine.sweep.derivatives.reverse import may_store
from tapegrad.engine.tape.append import add_tensor_ref
from tapegrad.engine.tape.blocks import release_block
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.instruction import instruction_at
from tapegrad.engine.tape.fields.layout import DEAD_OP, EXTERNAL, INSTRUCTIONS, OP_LINEAR, OP_READS0, READS_Y
from tapegrad.engine.tape.versions import covers_buffer

# Fields of a bound instruction: requests of the planner, then the answers.
(
    ROW_INSTRUCTION,
    ROW_DIRECTION,  # forwards (0), backwards (1), or the tangent (2)
    ROW_WANTED,  # the operands whose cotangents are wanted, or that have tangents: a bit each
    ROW_FIRST,  # operands whose cotangent it writes first; afterwards those that must be zeroed before
    ROW_VARIANT,  # afterwards the dtype code that chooses its kernel
    ROW_ELEMENTS,  # afterwards the number of elements that the kernel processes
) = range(6)
ROW_FIELDS = 6


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


@inline_njit
def _reads(header, instruction, wanted):
    """Return the primals that a reverse or tangent kernel reads for the operands whose bits are set, as bits again."""
    reads = 0
    for j in range(3):
        if (wanted >> j) & 1:
            reads |= op_field(header, instruction.op, OP_READS0 + j)
    return reads


@inline_njit
def _keep_wanted(header, instruction, wanted, frame):
    """Clear the addresses of a frame that its kernel neither reads nor writes."""
    reads = _reads(header, instruction, wanted)
    for j in range(3):
        if (reads >> j) & 1 == 0:
            store_i64(frame, X + j, 0)
        if (wanted >> j) & 1 == 0:
            store_i64(frame, X_BAR + j, 0)
    if reads & READS_Y == 0:
        store_i64(frame, Y, 0)


@inline_njit
def _storable(header, instruction, first):
    """Return the operands, of those whose bits are set, whose cotangent may be written instead of added to."""
    store = 0
    for j in range(3):
        if (first >> j) & 1 and may_store(header, instruction, j):
            store |= 1 << j
    return store


@inline_njit
def _bind_row(header, row, frame, outer):
    instruction = instruction_at(header, load_i64(row, ROW_INSTRUCTION))
    direction, wanted = load_i64(row, ROW_DIRECTION), load_i64(row, ROW_WANTED)
    if direction == 0:
        bind_forward(header, instruction, frame, outer)
    elif direction == 1:
        store = _storable(header, instruction, load_i64(row, ROW_FIRST))
        bind_reverse(header, instruction, frame, outer, store)
        store_i64(row, ROW_FIRST, load_i64(row, ROW_FIRST) & ~store)
    else:
        bind_tangent(header, instruction, frame, outer)
    if direction == 1 or (direction == 2 and op_field(header, instruction.op, OP_LINEAR) == 0):
        _keep_wanted(header, instruction, wanted, frame)
    store_i64(row, ROW_VARIANT, variant(header, instruction))
    store_i64(row, ROW_ELEMENTS, elements(frame))


@entry_point(group=EVERY_RECORDING)
def bind_rows(header, rows, start, count, frames, loops, room):
    """Bind rows of a program from `start` on to frames one behind another, their outer loops packed at `loops`.

    Returns the row at which the `room` fields for loops are used up, or `count`.
    """
    for k in range(start, count):
        if room < OUTER_FIELDS:
            return k
        frame = frames + BYTES * k
        _bind_row(header, rows + 8 * ROW_FIELDS * k, frame, loops)
        if load_i64(frame, OUTER) != 0:
            used = 1 + 5 * load_i64(loops, 0)
            loops += 8 * used
            room -= used
    return count


@entry_point(group=EVERY_RECORDING)
def covers(header, slot):
    """Return whether a slot is the whole of its buffer, element for element in C order."""
    return covers_buffer(header, slot)
