"""A function pinned to its recordings: after `compile` it records nothing, and captured state is not checked."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad.errors import UnrecordedWayError
from tapegrad.program.captured.captured_state import CapturedState
from tapegrad.program.recording.signature import ArgSpec, Arguments
from tapegrad.program.recording.static_arguments import NOTHING, Static
from tapegrad.program.streams.spec import ProgramSpec
from tapegrad.program.traces.trace import Trace
from tapegrad.program.traces.trace_cache import TraceCache
from tapegrad.transforms.base import replayable
from tapegrad.transforms.calling.njit_source import python_of
from tapegrad.transforms.jit import Goal, Jit, execute, run_once

_NO_STATE = CapturedState(())


class PinnedRecording(NamedTuple):
    """Recording pinned to its signature.

    Attributes
    ----------
    function
        The function that was recorded, which may be a transform.
    arguments, given
        Its arguments, and the arrays that the program takes after them.
    """

    function: Any
    trace: Trace
    spec: ProgramSpec
    arguments: Arguments
    given: list[np.ndarray]


class PinnedRecordings:
    """The specializations of a compiled function.

    Parameters
    ----------
    name
        What messages call it.
    fuse
        Whether its programs are fused.

    Attributes
    ----------
    open
        Whether specializations are recorded.
    """

    def __init__(self, name: str, fuse: bool) -> None:
        self.name, self.fuse = name, fuse
        self.specializations: list[PinnedRecording] = []
        self.open = True

    def check(self, arguments: Arguments, given: Sequence[np.ndarray]) -> None:
        """Refuse arguments of other specs than the first example's."""
        if not self.specializations:
            return
        first = self.specializations[0]
        check_specs(self.name, (first.arguments, first.given), (arguments, given))

    def replay(
        self, arguments: Arguments, check: Any, given: Sequence[np.ndarray], by: Any
    ) -> tuple[Trace, list[Any]] | list[str]:
        """Run the specialization whose guards hold, or return where the guard of each has failed."""
        failed: list[str] = []
        for specialization in self.specializations:
            specialization.trace.recording.check_memory_order(arguments.reordered)
            outputs, stopped = by(specialization.trace, arguments, specialization.spec, check, given)
            if outputs is not None:
                if specialization is not self.specializations[0]:
                    # a new list: other threads may go through the old one
                    self.specializations = [
                        specialization,
                        *(other for other in self.specializations if other is not specialization),
                    ]
                return specialization.trace, outputs
            failed += map(str, specialization.trace.recording.guard_lines[stopped : stopped + 1])
        return failed


class Frozen(Jit[..., Any]):
    """Function with its calls restricted to pinned recordings."""

    def __init__(self, function: Callable[..., Any], static: Static, recordings: PinnedRecordings) -> None:
        super().__init__(function, static, TraceCache(0), derived=True)
        self.captured = _NO_STATE
        self._recorded = function
        self.function = functools.partial(_call_while_open, function, recordings)
        self._recordings = recordings

    def derive(self, function: Callable[..., Any], static: Static) -> "Frozen":
        """Return a transform of the function that is pinned to the same recordings."""
        return Frozen(function, static, self._recordings)

    def refresh(self) -> None:
        """Leave things as they were."""

    def run(
        self,
        arguments: Arguments,
        spec: Goal,
        check: Any = None,
        given: Sequence[np.ndarray] = (),
        by: Callable[..., tuple[list[Any] | None, int]] | None = None,
    ) -> tuple[Trace, list[Any]]:
        """Run the specialization whose guards hold, or record one while recordings may be added."""
        recordings, by = self._recordings, by or execute
        recordings.check(arguments, given)
        found = recordings.replay(arguments, check, given, by)
        if isinstance(found, list):
            if not recordings.open:
                raise UnrecordedWayError(no_specialization(recordings.name, found))
            found = self._record(arguments, spec, check, given, by)
        return found

    def _record(
        self, arguments: Arguments, goal: Goal, check: Any, given: Sequence[np.ndarray], by: Any
    ) -> tuple[Trace, list[Any]]:
        trace = Trace(self._recorded, arguments, self._recordings.fuse)
        seen = CapturedState((self._recorded, *arguments.objects))
        trace.watch_arrays(self._recorded, seen.reach, arguments.objects)
        outputs = run_once(trace, arguments, goal, check, given, by)
        spec = goal if isinstance(goal, ProgramSpec) else goal(trace)
        self._recordings.specializations.append(
            PinnedRecording(self._recorded, trace, spec, arguments, list(given))
        )
        return trace, outputs


def _call_while_open(
    function: Callable[..., Any], recordings: PinnedRecordings, *args: Any, **kwargs: Any
) -> Any:
    """Call a function with Tensors, to record it. Later its captured state may be another one."""
    if not recordings.open:
        raise TypeError(
            f"{recordings.name} takes arrays and numbers, not Tensors; differentiate the function itself, and"
            " compile that"
        )
    return function(*args, **kwargs)


def check_specs(
    name: str,
    example: tuple[Arguments, Sequence[np.ndarray]],
    call: tuple[Arguments, Sequence[np.ndarray]],
) -> None:
    """Refuse the arguments of a call whose specs are not an example's."""
    expected, found = _described(*example), _described(*call)
    if expected != found:
        raise TypeError(
            f"{name} was compiled for {_listed(expected[1])}, but got {_listed(found[1])}"
            if expected[1] != found[1]
            else f"{name} was compiled for another structure of arguments (nesting, keys), or for other static values"
            " than these"
        )


def no_specialization(name: str, failed: Sequence[str] = ()) -> str:
    """Return the error of a call without a specialization; it names the guards that have failed, if known."""
    where = f" ({'; '.join(dict.fromkeys(failed))})" if failed else ""
    return (
        f"{name} has no specialization for these arguments: a branch, a mask or an integer of the function comes out"
        f" differently, or plain NumPy has computed from an array that has changed since{where}. Add an example:"
        " tg.compile(f, x0, x1)"
    )


def _described(arguments: Arguments, given: Sequence[np.ndarray]) -> tuple[Any, list[tuple[Any, Any]]]:
    """Describe arguments without the contents of arrays, with their shapes and dtypes."""
    rest = [part for part in arguments.key if not _is_array(part)]
    arrays = [
        (arg_spec.dtype, array.shape)
        for arg_spec, array in zip(arguments.arg_specs, arguments.arrays, strict=True)
    ]
    return rest, [*arrays, *((array.dtype, array.shape) for array in given)]


def _is_array(part: Any) -> bool:
    return isinstance(part, tuple) and len(part) == 2 and isinstance(part[1], ArgSpec)


def _listed(arrays: list[tuple[Any, Any]]) -> str:
    return ", ".join(f"{dtype} of shape {shape}" for dtype, shape in arrays) or "no arrays"


def frozen(function: Callable[..., Any], recordings: PinnedRecordings) -> Frozen:
    """Return a function, a ``jit(f)`` or a transform with its calls restricted to these recordings."""
    known = replayable(function)
    inner = python_of(function.function if isinstance(function, Jit) else function)
    return Frozen(inner, NOTHING if known is None else known.static, recordings)
