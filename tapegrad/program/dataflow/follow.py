"""Arrays that a function may read other than as operands: its code is followed until nothing new is found."""

import dis
import functools
import types
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from tapegrad.program.captured.captured_state import ReachableState
from tapegrad.program.dataflow import container_functions, transfer_functions
from tapegrad.program.dataflow.dataflow import Dataflow, instructions
from tapegrad.program.dataflow.points_to import PointsTo, joined
from tapegrad.program.dataflow.reader import Reader, give_up
from tapegrad.program.recording.recording import Sites

Stack = tuple[PointsTo, ...]

_ACTS = transfer_functions.ACTS | container_functions.ACTS
_MAX_ROUNDS = 12  # through all code, until nothing new is found
_MAX_BYTES = 60_000  # of code that is followed
_JUMPS = frozenset(dis.hasjrel) | frozenset(dis.hasjabs)
_ENDS = frozenset({"RETURN_VALUE", "RETURN_CONST", "RERAISE", "RAISE_VARARGS"})
_AWAY = frozenset(
    {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP", "JUMP_NO_INTERRUPT"}
)


def arrays_used(root: Any, seen: ReachableState, given: Iterable[Any], sites: Sites) -> list[np.ndarray]:
    """Return the arrays that a function may read other than as operands; all that it reaches, if its code is unknown.

    Parameters
    ----------
    root
        What is recorded: a function, or what calls one.
    seen
        What it can see, and the functions whose code is followed.
    given
        What the root may be called with beside what is traced.
    sites
        For each source line that recorded operands, their memory.
    """
    given = tuple(given)
    if not (seen.arrays or seen.opaque or given):
        return []
    flow = Dataflow(root, seen.functions, given, sites)
    if sum(len(code.co_code) for code in flow.codes) > _MAX_BYTES:
        return list(seen.arrays.values())
    for _ in range(_MAX_ROUNDS):
        flow.grown = False
        for code in tuple(flow.codes):
            _Path(flow, code).follow()
        if flow.lost:
            break
        if not flow.grown:
            return list(flow.used.values())
    return list(seen.arrays.values())


class _Step(NamedTuple):
    """An instruction, what it does to the stack, and where it may go on: numbers of instructions."""

    instruction: dis.Instruction
    act: Any
    jump: int | None
    next: int | None
    handlers: tuple[tuple[int, int, int], ...]  # number, depth of the stack, values that are pushed


@functools.lru_cache(2048)
def _steps(code: types.CodeType) -> tuple[_Step, ...]:
    """Return all instructions of a code object."""
    decoded = instructions(code)
    number = {i.offset: k for k, i in enumerate(decoded)}
    entries = getattr(dis.Bytecode(code), "exception_entries", ())
    return tuple(
        _Step(
            i,
            _ACTS.get(i.opname, give_up),
            number[i.argval] if i.opcode in _JUMPS else None,
            k + 1 if i.opname not in _AWAY and k + 1 < len(decoded) else None,
            tuple((number[e.target], e.depth, 1 + e.lasti) for e in entries if e.start <= i.offset < e.end),
        )
        for k, i in enumerate(decoded)
    )


class _Path:
    """Path through the instructions of a code object, along all of its branches.

    Parameters
    ----------
    flow
        What is known of all code, and grows.
    code
        The code that is followed.
    """

    def __init__(self, flow: Dataflow, code: types.CodeType) -> None:
        self._flow = flow
        self._reader = Reader(flow, code)
        self._steps = _steps(code)
        self._stacks: dict[int, Stack] = {}
        self._waiting: list[int] = []

    def follow(self) -> None:
        """Follow all branches until no stack grows."""
        self._reach(0, ())
        while self._waiting:
            number = self._waiting.pop()
            step, stack = self._steps[number], self._stacks[number]
            for handler, depth, pushed in step.handlers:
                # In generators of Python 3.15 the table has the depth inside of the loop also for what follows it.
                below = max(depth - len(stack), 0)
                self._reach(handler, (*stack[:depth], *[{}] * (below + pushed)))
            if step.instruction.opname in _ENDS:
                self._end(step.instruction.opname, list(stack))
            else:
                self._go_on(step, list(stack))

    def _reach(self, number: int, stack: Stack) -> None:
        """Go on at an instruction with a stack, if it is not known to come there with all that is on it."""
        known = self._stacks.get(number)
        if known is None:
            self._stacks[number] = stack
        elif len(known) != len(stack):  # an instruction does something else than its act says
            self._flow.lost = True
            return
        elif all(new.keys() <= old.keys() for old, new in zip(known, stack, strict=True)):
            return
        else:
            self._stacks[number] = tuple(joined(pair) for pair in zip(known, stack, strict=True))
        self._waiting.append(number)

    def _end(self, name: str, stack: list[PointsTo]) -> None:
        """Leave the function, with a result or an error and its cause."""
        if name == "RETURN_VALUE":
            self._flow.returned(self._reader.code, stack.pop())
        else:
            self._flow.use(value for each in stack[-2:] for value in each.values())

    def _go_on(self, step: _Step, stack: list[PointsTo]) -> None:
        try:
            there = step.act(self._reader, step.instruction, stack)
        except (LookupError, TypeError, ValueError):  # a Python whose instruction of this name is another one
            self._flow.lost = True
            return
        if step.jump is not None:
            self._reach(step.jump, tuple(stack if there is None else there))
        if step.next is not None:
            self._reach(step.next, tuple(stack))
