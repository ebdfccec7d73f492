"""Rules for passes over a recorded tape: they may kill instructions, change operands, and move slots between buffers.

A rule takes the tape before a pass and after it, and says what is wrong; nothing if it holds. Programs are bound from
what passes return, with the slots' geometries and the parameters that the tape itself holds.
"""

from tapegrad.engine import kernel_table
from tapegrad.engine.inspection.tape_view import TapeView
from tapegrad.engine.tape.fields.layout import DEAD_OP
from tapegrad.ops import GUARDS


def only_operands_change(before: TapeView, after: TapeView) -> str:
    """Check that instructions keep their number, op, result and parameters, and that dead ones stay dead."""
    if len(before.instructions) != len(after.instructions):
        return f"{len(before.instructions)} instructions have become {len(after.instructions)}"
    for i, (old, new) in enumerate(zip(before.instructions, after.instructions, strict=True)):
        if (
            new != old
            and new != old._replace(operands=new.operands)
            and (new.op != DEAD_OP or old.op == DEAD_OP)
        ):
            return f"instruction {i} has become another one: of {old} only the operands may change"
    return ""


def guards_stay(before: TapeView, after: TapeView) -> str:
    """Check that every guard is left: without it a replay would take a branch that is not its own."""
    for i in before.live:
        op = before.instructions[i].op
        if op in GUARDS and after.instructions[i].op != op:
            return f"instruction {i}, a {kernel_table.op_name(op)}, has gone"
    return ""


def buffers_stay(before: TapeView, after: TapeView) -> str:
    """Check that a pass has neither made nor changed a buffer."""
    changed = [
        b for b in {**before.buffers, **after.buffers} if before.buffers.get(b) != after.buffers.get(b)
    ]
    return f"buffer {changed[0]} is not what it was" if changed else ""


def slots_move_to_buffers_alike(before: TapeView, after: TapeView) -> str:
    """Check that a slot keeps its view, and moves only to a buffer of the same size and differentiability."""
    if before.slots.keys() != after.slots.keys():
        return f"slots {sorted(before.slots.keys() ^ after.slots.keys())} have come or gone"
    for s, new in after.slots.items():
        old = before.slots[s]
        if new != old and new._replace(buffer=old.buffer) != old:
            return f"slot {s} is another view than it was: {old.view} has become {new.view}"
        if new.buffer != old.buffer and new.buffer in after.buffers:
            was, is_ = before.buffers[old.buffer], after.buffers[new.buffer]
            if was.bytes != is_.bytes:
                return f"slot {s} has moved from a buffer of {was.bytes} bytes to one of {is_.bytes}"
            if was.differentiable != is_.differentiable:
                return f"slot {s} has moved to a buffer that has {'a' if is_.differentiable else 'no'} derivative"
    return ""


def inputs_and_outputs_stay(before: TapeView, after: TapeView) -> str:
    """Check that arguments and results keep their slots and buffers."""
    for name, old, new in (
        ("inputs", before.inputs, after.inputs),
        ("outputs", before.outputs, after.outputs),
    ):
        if old != new:
            return f"the {name}, slots {old}, have become {new}"
        moved = [s for s in old if before.slots[s].buffer != after.slots[s].buffer]
        if moved:
            return f"slot {moved[0]}, one of the {name}, has moved to another buffer"
    return ""


def what_is_read_is_written(before: TapeView, after: TapeView) -> str:
    """Check that whatever computes an output, or an operand of a live instruction, is live."""
    read = {after.slots[s].buffer: f"output slot {s}" for s in after.outputs}
    for i in after.live:
        read.update(dict.fromkeys(after.read[i], f"instruction {i}"))
    for buffer, reader in read.items():
        gone = set(before.writers.get(buffer, ())) - set(after.writers.get(buffer, ()))
        if gone:
            return f"{reader} needs buffer {buffer}, but instruction {min(gone)}, which writes it, has gone"
    return ""


PASS_RULES = (
    only_operands_change,
    guards_stay,
    buffers_stay,
    slots_move_to_buffers_alike,
    inputs_and_outputs_stay,
)
