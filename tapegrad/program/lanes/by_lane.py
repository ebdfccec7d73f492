"""Instructions that run for one lane after another, on buffers in which each lane is whole."""

from tapegrad.engine import kernel_table
from tapegrad.engine.inspection.tape_entries import TapeEntry
from tapegrad.program.lanes.layout import FIRST
from tapegrad.program.lanes.widening import Widening


def by_lane(made: Widening, each: TapeEntry) -> None:
    """Append the instruction itself, for one lane after another. Memory written in place has lanes already."""
    in_place = kernel_table.row(each.op).in_place
    operands = [
        made.first_lane(slot, made.buffer(slot, FIRST))
        if made.has_lanes(slot) or (in_place and j == 0)
        else slot
        for j, slot in enumerate(each.operands)
    ]
    target = made.result(each.result, FIRST)
    made.emit_by_lane(each, made.first_lane(each.result, target), operands)
    made.copy_back(each.result, target)
