"""Fast paths of replays: arrays in, and one result out, or a value and its gradients.

A call that does not fit (another shape or dtype, a guard that does not hold, a variable of the function that was bound
again) returns `None`, and the general path takes it. Each path is written out, the taking of a workspace included: one
more Python call was measured to cost 18 % of a small replay (1,110 -> 1,320 ns).
"""

from typing import Any

import numpy as np

from tapegrad.autodiff.custom.callbacks import failure
from tapegrad.engine.kernels.status import CALL_FAILED
from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.engine.sweep import replay
from tapegrad.program.spec import ProgramSpec
from tapegrad.program.workspace import Workspace

_ndarray = np.ndarray
_empty = np.empty
_array = np.array
_TRACED = frozenset({np.ndarray, float, np.float64})


class _Path(Uncopied):
    """A program of one input and one array for the result, ready to be called with an array like the last one."""

    __slots__ = ("_dtype", "_free", "_holds", "_program", "_shape")
    bindings = 2
    arity = 1  # arrays that it is called with

    def __init__(self, program: Any, free: list[Workspace], captured: Any) -> None:
        self._program = program
        self._free = free
        self._holds = captured.holds
        self._shape = program.bindings[-1].shape
        self._dtype = program.bindings[-1].dtype

    @classmethod
    def of(cls, function: Any, trace: Any, spec: ProgramSpec, x: Any) -> Any:
        """Return the fast path of calls like the one with `x`, or `None` if there is none."""
        if type(x) is not np.ndarray or not trace.single or len(trace.program(spec).bindings) != cls.bindings:
            return None
        return cls(trace.program(spec), trace.workspaces(spec), function.captured)


class GradientPath(_Path):
    """Value and gradient."""

    __slots__ = ()

    def __call__(self, x: Any) -> tuple[Any, np.ndarray] | None:
        if type(x) is not _ndarray or not self._holds():
            return None
        free = self._free
        try:
            workspace = free.pop()
        except IndexError:
            workspace = Workspace(self._program)
        gradient = _empty(self._shape, self._dtype)
        status = replay.replay_one(workspace.address, id(x), id(gradient))
        result = (workspace.value[()], gradient) if status == 0 else None
        free.append(workspace)
        if status == CALL_FAILED:
            raise failure()
        return result


class ResultPath(_Path):
    """The one result: the value, or a Jacobian."""

    __slots__ = ("_entry",)

    def __init__(self, program: Any, free: list[Workspace], captured: Any) -> None:
        super().__init__(program, free, captured)
        self._entry = program.entry_of_one

    def __call__(self, x: Any) -> Any:
        if type(x) is not _ndarray or not self._holds():
            return None
        free = self._free
        try:
            workspace = free.pop()
        except IndexError:
            workspace = Workspace(self._program)
        result = _empty(self._shape, self._dtype)
        status = getattr(replay, self._entry)(workspace.address, id(x), id(result))
        free.append(workspace)
        if status == CALL_FAILED:
            raise failure()
        if status != 0:
            return None
        return result if self._shape else result[()]


class SeveralPath(_Path):
    """The same of several arguments, arrays and floats: the one result, a Jacobian, or value and gradient."""

    __slots__ = ("_entry", "_kinds", "_numbers", "_valued", "arity")

    def __init__(
        self, program: Any, free: list[Workspace], captured: Any, args: tuple[Any, ...], valued: bool
    ) -> None:
        super().__init__(program, free, captured)
        self.arity = len(args)
        self._valued = valued
        self._entry = program.entry
        self._kinds = tuple(map(type, args))
        self._numbers = any(kind is not _ndarray for kind in self._kinds)

    def __call__(self, *args: Any) -> Any:
        if tuple(map(type, args)) != self._kinds or not self._holds():
            return None
        if self._numbers:
            args = _as_arrays(args)
        free = self._free
        try:
            workspace = free.pop()
        except IndexError:
            workspace = Workspace(self._program)
        result = _empty(self._shape, self._dtype)
        arrays = (*args, result)
        status = getattr(replay, self._entry)(workspace.address, id(arrays))
        value = workspace.value[()] if self._valued and status == 0 else None
        free.append(workspace)
        if status == CALL_FAILED:
            raise failure()
        if status != 0:
            return None
        found = result if self._shape else result[()]
        return (value, found) if self._valued else found


class GradientsPath(SeveralPath):
    """Value and gradients by several arguments, or Jacobians by them."""

    __slots__ = ("_results",)

    def __init__(
        self, program: Any, free: list[Workspace], captured: Any, args: tuple[Any, ...], valued: bool
    ) -> None:
        super().__init__(program, free, captured, args, valued)
        self._results = [(binding.shape, binding.dtype) for binding in program.bindings[program.given :]]

    def __call__(self, *args: Any) -> Any:
        if tuple(map(type, args)) != self._kinds or not self._holds():
            return None
        if self._numbers:
            args = _as_arrays(args)
        free = self._free
        try:
            workspace = free.pop()
        except IndexError:
            workspace = Workspace(self._program)
        results = [_empty(shape, dtype) for shape, dtype in self._results]
        arrays = (*args, *results)
        status = getattr(replay, self._entry)(workspace.address, id(arrays))
        value = workspace.value[()] if self._valued and status == 0 else None
        free.append(workspace)
        if status == CALL_FAILED:
            raise failure()
        if status != 0:
            return None
        found = tuple([result if result.ndim else result[()] for result in results])
        return (value, found) if self._valued else found


def _as_arrays(args: tuple[Any, ...]) -> tuple[np.ndarray, ...]:
    """Return arguments with arrays in place of floats."""
    return tuple([arg if type(arg) is _ndarray else _array(arg) for arg in args])


def gradient_path(function: Any, trace: Any, spec: ProgramSpec, args: tuple[Any, ...], argnums: Any) -> Any:
    """Return the fast path to value and gradients of calls like one with `args`, or `None` if there is none."""
    if len(args) == 1 and argnums == 0:
        return GradientPath.of(function, trace, spec, args[0])
    return _of_several(function, trace, spec, args, argnums, True)


def result_path(function: Any, trace: Any, spec: ProgramSpec, args: tuple[Any, ...], argnums: Any = 0) -> Any:
    """Return the fast path to the one result, or the Jacobians, of calls like one with `args`, or `None`."""
    if len(args) == 1 and argnums == 0:
        return ResultPath.of(function, trace, spec, args[0])
    return _of_several(function, trace, spec, args, argnums, False)


def _of_several(
    function: Any, trace: Any, spec: ProgramSpec, args: tuple[Any, ...], argnums: Any, valued: bool
) -> Any:
    program = trace.program(spec)
    plain = all(type(arg) in _TRACED for arg in args) and program.given == len(args)
    if not plain or not trace.single:
        return None
    path = SeveralPath if isinstance(argnums, int) else GradientsPath
    return path(program, trace.workspaces(spec), function.captured, args, valued)


class DirectionPath(_Path):
    """The tangent of the one result along one of the input."""

    __slots__ = ()
    bindings = 3
    arity = 2

    def __call__(self, x: Any, x_dot: Any) -> Any:
        if type(x) is not _ndarray or type(x_dot) is not _ndarray:
            return None
        if not self._holds():
            return None
        free = self._free
        try:
            workspace = free.pop()
        except IndexError:
            workspace = Workspace(self._program)
        result = _empty(self._shape, self._dtype)
        status = replay.replay_tangents_along(workspace.address, id(x), id(x_dot), id(result))
        free.append(workspace)
        if status == CALL_FAILED:
            raise failure()
        if status != 0:
            return None
        return result if self._shape else result[()]


class ValueAndDirectionPath(_Path):
    """The one result, and its tangent along one of the input."""

    __slots__ = ()
    bindings = 4
    arity = 2

    def __call__(self, x: Any, x_dot: Any) -> tuple[Any, Any] | None:
        if type(x) is not _ndarray or type(x_dot) is not _ndarray:
            return None
        if not self._holds():
            return None
        free = self._free
        try:
            workspace = free.pop()
        except IndexError:
            workspace = Workspace(self._program)
        y, y_dot = _empty(self._shape, self._dtype), _empty(self._shape, self._dtype)
        status = replay.replay_value_along(workspace.address, id(x), id(x_dot), id(y), id(y_dot))
        free.append(workspace)
        if status == CALL_FAILED:
            raise failure()
        if status != 0:
            return None
        return (y, y_dot) if self._shape else (y[()], y_dot[()])
