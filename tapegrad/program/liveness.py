"""Which instructions a program needs: those that an output or a guard depends on, and those a derivative flows through.

The compiled sweeps over the eager tape find theirs in `engine.sweep.reachability`.
"""

from collections.abc import Iterable

from tapegrad.engine import kernel_table
from tapegrad.engine.tape_view import TapeView
from tapegrad.frontend.unknown_derivatives import no_derivative
from tapegrad.ops import GUARDS, Op


def live_instructions(tape: TapeView, outputs: Iterable[int]) -> list[int]:
    """Instructions that the buffers `outputs`, or a guard, depend on, in order. The others are dead code."""
    needed, live = set(outputs), []
    for i in reversed(tape.live):
        if tape.instructions[i].op in GUARDS or tape.written[i] in needed:
            live.append(i)
            needed.update(tape.read[i])
    return live[::-1]


def active_buffers(tape: TapeView, live: list[int], inputs: list[int], outputs: Iterable[int]) -> set[int]:
    """Buffers through which a derivative flows from one of the input buffers to one of the output buffers."""
    read, written, differentiated = tape.read, tape.written, tape.differentiated
    reached = set(inputs)
    for i in live:
        if any(read[i][j] in reached for j in differentiated[i]):
            reached.add(written[i])
    needed = set(outputs)
    for i in reversed(live):
        if written[i] in needed:
            needed.update(read[i][j] for j in differentiated[i])
    return reached & needed


def active_operands(tape: TapeView, live: list[int], active: set[int]) -> dict[int, list[int]]:
    """For each instruction through which derivatives flow, the operands that they flow from or to.

    Raises
    ------
    UnsupportedError
        If no derivative is known by one of them.
    """
    found = {}
    for i in live:
        read = tape.read[i]
        operands = [j for j in tape.differentiated[i] if read[j] in active]
        if operands and tape.written[i] in active:
            found[i] = operands
            _check_known(tape, i, operands)
    return found


def _check_known(tape: TapeView, i: int, operands: list[int]) -> None:
    row = kernel_table.row(tape.instructions[i].op)
    if isinstance(row, Op):
        for j in row.unknown.intersection(operands):
            raise no_derivative(row, j)


def bits(operands: Iterable[int]) -> int:
    """Numbers of operands, a bit each."""
    return sum(1 << j for j in operands)
