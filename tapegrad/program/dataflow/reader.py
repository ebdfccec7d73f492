"""Read the bytecode of code that is followed, and register what each instruction does to the values on its stack."""

import dis
import operator
import types
from bisect import bisect_left
from collections.abc import Callable

from tapegrad.program.dataflow.dataflow import Dataflow, instructions
from tapegrad.program.dataflow.points_to import PointsTo


class Reader:
    """Code that is read, instruction by instruction.

    Parameters
    ----------
    flow
        What is known of all code, and grows.
    code
        The code.

    Attributes
    ----------
    names
        How many arguments of the next call are given by name.
    """

    def __init__(self, flow: Dataflow, code: types.CodeType) -> None:
        self.flow = flow
        self.code = code
        self.names = 0

    def instruction_before(self, i: dis.Instruction) -> dis.Instruction:
        """Return the instruction before another one."""
        decoded = instructions(self.code)
        return decoded[bisect_left(decoded, i.offset, key=_offset) - 1]


_offset = operator.attrgetter("offset")
Act = Callable[[Reader, dis.Instruction, list[PointsTo]], list[PointsTo] | None]


# What takes values from the stack, or pushes what no array comes from; all else that is not known may load anything.
_HARMLESS = frozenset({
    "BEFORE_WITH", "BUILD_STRING", "CHECK_EXC_MATCH", "CONVERT_VALUE", "DELETE_ATTR", "DELETE_SUBSCR",
    "FORMAT_WITH_SPEC", "LOAD_ASSERTION_ERROR", "LOAD_SPECIAL", "POP_EXCEPT", "PUSH_EXC_INFO", "WITH_EXCEPT_START",
})  # fmt: skip


def give_up(at: Reader, i: dis.Instruction, stack: list[PointsTo]) -> list[PointsTo]:
    """Treat an unknown instruction as a reader of the whole stack."""
    at.flow.lost |= i.opname not in _HARMLESS
    at.flow.use(value for each in stack for value in each.values())
    argument = i.arg if i.opcode >= dis.HAVE_ARGUMENT else None
    here, there = (len(stack) + dis.stack_effect(i.opcode, argument, jump=jump) for jump in (False, True))
    stack[:] = [{}] * max(here, 0)
    return [{}] * max(there, 0)


def register_in(acts: dict[str, Act]) -> Callable[..., Callable[[Act], Act]]:
    """Make a decorator that enters an act into a table by the names of its instructions."""

    def act(*names: str) -> Callable[[Act], Act]:
        def register(function: Act) -> Act:
            acts.update(dict.fromkeys(names, function))
            return function

        return register

    return act
