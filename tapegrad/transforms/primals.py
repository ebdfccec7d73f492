"""The primals of a replayed forward sweep, which the reverse sweeps of a pullback read."""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.status import GUARD_FAILED
from tapegrad.engine.runtime.fork_locks import lock
from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.engine.sweep.replays import replay
from tapegrad.program.programs.pullback import PullbackProgram
from tapegrad.program.programs.workspace import Workspace
from tapegrad.program.recording.signature import Arguments
from tapegrad.program.streams.spec import ProgramSpec
from tapegrad.program.traces.trace import Trace
from tapegrad.transforms.jit import error_of


class Primals(Uncopied):
    """A workspace of a pullback's program, with the primals for some arguments.

    The workspace is returned to the free ones when the pullback is collected.
    """

    __slots__ = ("_alone", "_free", "_inputs", "_workspace", "program")

    def __init__(
        self, program: PullbackProgram, workspace: Workspace, free: list[Workspace], inputs: list[np.ndarray]
    ) -> None:
        self.program = program
        self._workspace = workspace
        self._free = free
        self._inputs = inputs  # the reverse sweep reads these arrays themselves
        self._alone = lock()

    def __del__(self) -> None:
        self._free.append(self._workspace)

    @classmethod
    def computed(
        cls, trace: Trace, arguments: Arguments, spec: ProgramSpec, *_: Any
    ) -> tuple[list[Any] | None, int]:
        """Run the forward sweep of a trace. Return the primals, or `None` and the guard that did not hold."""
        workspace = trace.take_workspace(spec)
        program = workspace.program
        assert isinstance(program, PullbackProgram)
        made = cls(program, workspace, trace.workspaces(spec), arguments.arrays)
        arrays = tuple(arguments.arrays)
        status = replay.replay_forward(workspace.address, id(arrays))
        if status == replay.DUE:
            trace.is_due(spec, workspace)
            status = replay.replay_forward(workspace.address, id(arrays))
        if status == GUARD_FAILED:
            return None, program.guards.get(made._workspace.stopped_at, -1)
        if status != 0:
            raise error_of(status)
        program.freeze(made._workspace.base)
        return [made], -1

    def outputs(self) -> list[np.ndarray]:
        """Return copies of the outputs of the function."""
        return [output.copy() for output in self._workspace.outputs]

    def pull(self, cotangents: list[np.ndarray]) -> list[np.ndarray]:
        """Run a reverse sweep. Return the cotangents of the inputs, given those of the float outputs."""
        bindings = self.program.bindings[self.program.given :]
        seeds = [
            _copied(bar, binding.shape, binding.dtype)
            for bar, binding in zip(cotangents, bindings, strict=False)
        ]
        results = [np.empty(binding.shape, binding.dtype) for binding in bindings[len(seeds) :]]
        arrays = (*seeds, *results)
        with self._alone:
            status = replay.replay_backward(self._workspace.address, id(arrays))
        if status != 0:
            raise error_of(status)
        return results


def _copied(value: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Return a copy of this shape and dtype."""
    copy = np.empty(shape, dtype)
    copy[...] = value
    return copy
