"""An instruction as compiled code hands it on: one value in place of six."""

from typing import NamedTuple

from tapegrad.engine.runtime.compiler import inline_njit
from tapegrad.engine.tape.layout import (
    get_op,
    get_operand0,
    get_operand1,
    get_operand2,
    get_params,
    get_result,
)


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
        get_op(header, i),
        get_result(header, i),
        get_operand0(header, i),
        get_operand1(header, i),
        get_operand2(header, i),
        get_params(header, i),
    )
