"""Passes: each makes a new view of a recorded tape, from which programs are bound.

In reading order; each imports only those above it:

    layout_costs                   cost model of memory layouts
    layouts                        layouts
    op_facts                       facts of ops
    common_subexpressions          common subexpression elimination
    constant_folding               what is the same in each replay
    cotangent_flow                 who reaches a cotangent first, and what is handed on in place
    in_place                       writes to where the old contents are
    liveness                       which instructions a program needs
    dead_code                      what no output and no guard needs
    seed_sparsity                  which seeds a tangent depends on

A pass may let instructions be dead, change operands, and move slots to other buffers; what it returns is verified
wherever tapes are (`engine.inspection.verify.pass_rules`).
"""

from collections.abc import Callable

from tapegrad.engine.inspection.tape_view import TapeView
from tapegrad.program.passes.common_subexpressions import eliminate_common_subexpressions
from tapegrad.program.passes.dead_code import eliminate_dead_code

Pass = Callable[[TapeView], TapeView]
PASSES: tuple[Pass, ...] = (eliminate_common_subexpressions, eliminate_dead_code)
