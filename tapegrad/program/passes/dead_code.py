"""Dead code elimination: instructions on which no output and no guard depends are dropped."""

from dataclasses import replace

from tapegrad.engine.inspection.tape_view import TapeView
from tapegrad.program.passes.liveness import live_instructions


def eliminate_dead_code(tape: TapeView) -> TapeView:
    """Mark the instructions dead on which no output and no guard depends."""
    columns = tape.columns
    live = live_instructions(tape, columns.buffer[list(tape.outputs)])
    if len(live) == len(columns.live):
        return tape
    return replace(tape, instructions=columns.instructions.only(live))
