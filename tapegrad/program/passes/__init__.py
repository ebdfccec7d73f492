"""Passes: each makes a new view of a recorded tape, from which programs are bound.

    common_subexpressions          what has been computed before is not computed again
    dead_code                      what no output and no guard needs

A pass may let instructions be dead, change operands, and move slots to other buffers; what it returns is verified
wherever tapes are (`engine.verify.pass_rules`).
"""

from collections.abc import Callable

from tapegrad.engine.tape_view import TapeView
from tapegrad.program.passes.common_subexpressions import eliminate_common_subexpressions
from tapegrad.program.passes.dead_code import eliminate_dead_code

Pass = Callable[[TapeView], TapeView]
PASSES: tuple[Pass, ...] = (eliminate_common_subexpressions, eliminate_dead_code)
