"""An instruction as compiled code hands it on: one value in place of six."""

from typing import NamedTuple

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.tape.fields import columns as col


class Instruction(NamedTuple):
    """Op code, slots of the result and the operands (NONE: absent), address of the parameters (0: none)."""

    op: int
    result: int
    a: int
    b: int
    c: int
    params: int


@inline_njit
def instruction_at(header, i):
    """Read instruction `i` of a tape."""
    return Instruction(
        col.op(header, i),
        col.result(header, i),
        col.operand0(header, i),
        col.operand1(header, i),
        col.operand2(header, i),
        col.params(header, i),
    )
