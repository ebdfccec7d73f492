"""Executions of programs on fresh memory, which is filled with a byte: what a program reads, it has to write before."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tapegrad.autodiff.custom.callbacks import failure
from tapegrad.engine.kernels.language.status import CALL_FAILED, GUARD_FAILED
from tapegrad.engine.sweep.replays import replay
from tapegrad.engine.tape.fields.view import View
from tapegrad.errors import UnreachedOutputError
from tapegrad.program.programs.program import Program
from tapegrad.program.programs.pullback import PullbackProgram
from tapegrad.program.programs.workspace import Workspace
from tapegrad.program.streams.spec import FORWARD, JVP

FILLS = (0xFF, 0x3D)  # as float64 NaN and 1e-13, as integers -1 and a large one


class StoppedError(Exception):
    """Raised where an execution ends at a guard, or with the status of a kernel that has failed."""


class Execution(NamedTuple):
    """Execution of a program: the outputs that it gives as values, and its other results, in order."""

    values: list[np.ndarray]
    derivatives: list[np.ndarray]


def executed(workspace: Workspace, given: Sequence[np.ndarray], fill: int = FILLS[0]) -> Execution:
    """Execute a program once.

    Parameters
    ----------
    workspace
        A workspace of the program.
    given
        The arrays that its caller gives; for a pullback in two steps the inputs, then the cotangents of outputs. They
        are copied: a function may write to its arguments.
    fill
        Byte that its memory, and that of the results, is filled with before.

    Raises
    ------
    StoppedError
        If it stops before its end.
    """
    program = workspace.program
    workspace.fill(fill)
    arrays = [np.array(array, order="C") for array in given]
    results = [_filled(view, fill) for view in program.bindings[len(arrays) :]]
    if isinstance(program, PullbackProgram):
        return _in_two_steps(program, workspace, arrays, results)
    both = (*arrays, *results)
    _check(getattr(replay, program.entry)(workspace.address, id(both)))
    if workspace.value is not None:
        results.insert(0, workspace.value.copy())
    count = len(results) - _derivative_count(program)
    return Execution(results[:count], results[count:])


def _filled(view: View, fill: int) -> np.ndarray:
    return np.full(view.nbytes, fill, np.uint8).view(view.dtype).reshape(view.shape)


def _derivative_count(program: Program) -> int:
    """Return how many of a program's results are derivatives: the last ones."""
    spec = program.spec
    return {FORWARD: 0, JVP: len(program.outputs)}.get(spec.kind, len(spec.wrt))


def _in_two_steps(
    program: PullbackProgram, workspace: Workspace, arrays: list[np.ndarray], results: list[np.ndarray]
) -> Execution:
    """Execute the forward and the reverse stream of a pullback."""
    inputs, others = tuple(arrays[: program.given]), (*arrays[program.given :], *results)
    _check(replay.replay_forward(workspace.address, id(inputs)))
    program.freeze(workspace.base)
    values = [output.copy() for output in workspace.outputs]
    _check(replay.replay_backward(workspace.address, id(others)))
    return Execution(values, results)


def _check(status: int) -> None:
    if status == CALL_FAILED:
        error = failure()
        if isinstance(error, UnreachedOutputError):
            # Forward mode is by all outputs of a solver, the derivative in question by some
            raise StoppedError("in forward mode, where a solver has not reached an output") from error
        raise error
    if status != 0:
        raise StoppedError("at a guard" if status == GUARD_FAILED else f"with status {status}")
