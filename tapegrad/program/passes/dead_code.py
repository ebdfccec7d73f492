"""Dead code elimination: instructions on which no output and no guard depends are dropped."""

from dataclasses import replace

import numpy as np

from tapegrad.engine.inspection.tape_view import TapeView
from tapegrad.engine.tape.fields.layout import DEAD_OP
from tapegrad.program.passes.liveness import live_instructions


def eliminate_dead_code(tape: TapeView) -> TapeView:
    """Mark the instructions dead on which no output and no guard depends."""
    columns = tape.columns
    live = live_instructions(tape, columns.buffer[list(tape.outputs)])
    if len(live) == len(columns.live):
        return tape
    ops = np.full(len(columns.op), DEAD_OP)
    ops[live] = columns.op[live]
    return replace(tape, instructions=columns.instructions.with_ops(ops))
