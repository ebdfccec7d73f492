"""Dead code: what no output and no guard depends on is not computed."""

from dataclasses import replace

from tapegrad.engine.tape.layout import DEAD_OP
from tapegrad.engine.tape_view import TapeView
from tapegrad.program.liveness import live_instructions


def eliminate_dead_code(tape: TapeView) -> TapeView:
    """Let the instructions be dead that no output and no guard depends on."""
    live = set(live_instructions(tape, [tape.slots[slot].buffer for slot in tape.outputs]))
    if len(live) == len(tape.live):
        return tape
    return replace(
        tape,
        instructions=tuple(
            instruction if i in live else instruction._replace(op=DEAD_OP)
            for i, instruction in enumerate(tape.instructions)
        ),
    )
