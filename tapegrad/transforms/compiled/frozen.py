"""A function pinned to its recordings: after `compile` it records nothing, and captured state is not checked."""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad.errors import UnrecordedWayError
from tapegrad.program.captured.captured_state import CapturedState
from tapegrad.program.recording.guards import SourceLine
from tapegrad.program.recording.signature import NOTHING, ArgSpec, Arguments, Static
from tapegrad.program.streams.spec import ProgramSpec
from tapegrad.program.traces.specializations import Results, Specializations
from tapegrad.program.traces.trace import Trace
from tapegrad.program.traces.trace_cache import TraceCache
from tapegrad.transforms.base import replayable
from tapegrad.transforms.calling.njit_source import python_of
from tapegrad.transforms.jit import Goal, Jit

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


class PinnedRecordings(Specializations):
    """The specializations of a compiled function, for the signature of its examples.

    Parameters
    ----------
    name
        What messages call it.
    fuse
        Whether its programs are fused.

    Attributes
    ----------
    pinned
        Each recording with what it was made for, in the order of the examples.
    open
        Whether specializations are recorded.
    """

    def __init__(self, name: str, fuse: bool) -> None:
        super().__init__(same_state=False)
        self.name, self.fuse = name, fuse
        self.pinned: dict[Trace, PinnedRecording] = {}
        self.open = True

    def check(self, arguments: Arguments, given: Sequence[np.ndarray]) -> None:
        """Refuse arguments of other specs than the first example's."""
        first = next(iter(self.pinned.values()), None)
        if first is not None:
            check_specs(self.name, (first.arguments, first.given), (arguments, given))

    def spec_of(self, trace: Trace) -> ProgramSpec:
        """Return the spec of a recording's program."""
        return self.pinned[trace].spec


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

    def constants(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Return `None`: a compiled function refuses all Tensors."""

    def note_tensors(self) -> None:
        """Do nothing, for the same reason."""

    def specializations(self, arguments: Arguments) -> Specializations:
        """Return the pinned recordings, whatever has become of captured state."""
        return self._recordings

    def _record_unless_added(
        self, specializations: Specializations, arguments: Arguments, failed: dict[Trace, SourceLine]
    ) -> Trace | None:
        """Record a trace while recordings may be added."""
        if not self._recordings.open:
            raise UnrecordedWayError(no_specialization(self._recordings.name, failed.values()))
        trace = Trace(self._recorded, arguments, self._recordings.fuse)
        seen = CapturedState((self._recorded, *arguments.objects))
        trace.watch_arrays(self._recorded, seen.reach, arguments.objects)
        specializations.put_first(trace)
        return trace

    def run(
        self,
        arguments: Arguments,
        spec: Goal,
        check: Any = None,
        given: Sequence[np.ndarray] = (),
        by: Callable[..., tuple[list[Any] | None, int]] | None = None,
    ) -> Results:
        """Run the specialization whose guards hold, or record one while recordings may be added."""
        recordings = self._recordings
        recordings.check(arguments, given)
        if not recordings.open:
            return super().run(arguments, recordings.spec_of, check, given, by)
        trace, outputs = super().run(arguments, spec, check, given, by)
        if trace not in recordings.pinned:
            spec = spec if isinstance(spec, ProgramSpec) else spec(trace)
            recordings.pinned[trace] = PinnedRecording(self._recorded, trace, spec, arguments, list(given))
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
    if call[0].key == example[0].key and not call[1]:
        return
    expected, found = _described(*example), _described(*call)
    if expected != found:
        raise TypeError(
            f"{name} was compiled for {_listed(expected[1])}, but got {_listed(found[1])}"
            if expected[1] != found[1]
            else f"{name} was compiled for another structure of arguments (nesting, keys), or for other static values"
            " than these"
        )


def no_specialization(name: str, failed: Iterable[SourceLine] = ()) -> str:
    """Return the error of a call without a specialization; it names the guards that have failed, if known."""
    lines = "; ".join(dict.fromkeys(map(str, failed)))
    where = f" ({lines})" if lines else ""
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
