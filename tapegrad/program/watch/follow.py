"""Which arrays a function may read other than as operands: its code is followed until nothing new is found."""

import dis
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from tapegrad.program.recording import Sites
from tapegrad.program.watch import acts, acts_on_containers
from tapegrad.program.watch.flow import Flow
from tapegrad.program.watch.leads import Leads, joined
from tapegrad.program.watch.reach import Reach
from tapegrad.program.watch.reader import Reader, give_up

Stack = tuple[Leads, ...]

_ACTS = acts.ACTS | acts_on_containers.ACTS
_ROUNDS = 12  # through all code, until nothing new is found
_MOST_BYTES = 60_000  # of code that is followed
_ENDS = frozenset({"RETURN_VALUE", "RETURN_CONST", "RERAISE", "RAISE_VARARGS"})
_AWAY = frozenset(
    {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP", "JUMP_NO_INTERRUPT"}
)


def arrays_used(root: Any, seen: Reach, given: Iterable[Any], sites: Sites) -> list[np.ndarray]:
    """The arrays that a function may read other than as operands; all that it sees, where it cannot be followed.

    Parameters
    ----------
    root
        What is recorded: a function, or what calls one.
    seen
        What it can see, and the functions whose code is followed.
    given
        What the root may be called with beside what is traced.
    sites
        For each place in code that recorded operands, the memory that they were in.
    """
    given = tuple(given)
    if not (seen.arrays or seen.opaque or given):
        return []
    flow = Flow(root, seen.functions, given, sites)
    if sum(len(code.co_code) for code in flow.codes) > _MOST_BYTES:
        return list(seen.arrays.values())
    for _ in range(_ROUNDS):
        flow.grown = False
        for code in tuple(flow.codes):
            _Run(flow, code).follow()
        if flow.lost:
            break
        if not flow.grown:
            return list(flow.used.values())
    return list(seen.arrays.values())


class _Run:
    """One way through the instructions of a code object, along all of its branches.

    Parameters
    ----------
    flow
        What is known of all code, and grows.
    code
        The code that is followed.
    """

    def __init__(self, flow: Flow, code: types.CodeType) -> None:
        self._flow = flow
        self._reader = Reader(flow, code)
        self._stacks: dict[int, Stack] = {}
        self._waiting: list[int] = []
        self._handlers = getattr(dis.Bytecode(code), "exception_entries", ())

    def follow(self) -> None:
        """Follow all branches until no stack grows."""
        self._reach(0, ())
        while self._waiting:
            number = self._waiting.pop()
            instruction = self._reader.instructions[number]
            stack = self._stacks[number]
            for entry in self._handlers:
                if entry.start <= instruction.offset < entry.end:
                    self._reach(
                        self._reader.number[entry.target], (*stack[: entry.depth], *[{}] * (1 + entry.lasti))
                    )
            self._step(number, instruction, list(stack))

    def _reach(self, number: int, stack: Stack) -> None:
        """Go on at an instruction with a stack, if it is not known to come there with all that is on it."""
        known = self._stacks.get(number)
        if known is None:
            merged = stack
        elif len(known) != len(stack):
            self._flow.use(value for each in (*known, *stack) for value in each.values())
            return
        else:
            merged = tuple(joined(pair) for pair in zip(known, stack, strict=True))
            if all(len(a) == len(b) for a, b in zip(known, merged, strict=True)):
                return
        self._stacks[number] = merged
        self._waiting.append(number)

    def _step(self, number: int, instruction: dis.Instruction, stack: list[Leads]) -> None:
        name = instruction.opname
        if name in _ENDS:
            if name == "RETURN_VALUE":
                self._flow.returned(self._reader.code, stack.pop())
            else:
                self._flow.use(value for each in stack for value in each.values())
            return
        jumps = instruction.opcode in dis.hasjrel or instruction.opcode in dis.hasjabs
        try:
            there = _ACTS.get(name, give_up)(self._reader, instruction, stack)
        except (LookupError, TypeError, ValueError):  # a Python whose instruction of this name is another one
            self._flow.lost = True
            return
        if jumps:
            self._reach(self._reader.number[instruction.argval], tuple(stack if there is None else there))
        if name not in _AWAY and number + 1 < len(self._reader.instructions):
            self._reach(number + 1, tuple(stack))
