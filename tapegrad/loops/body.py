"""Body of a loop: a function of flat leaves, recorded once for each outcome of its branches.

Tensors that it takes from the function around are operands like its arguments. Of each recording come three programs:
the values, the pullback and the tangents.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.engine.tape.fields.view import View
from tapegrad.frontend.tensor.modes import NO_MODE, restoring, thread
from tapegrad.frontend.tensor.tensor import Tensor, from_array, is_tensor
from tapegrad.program.captured.captured_state import CapturedState
from tapegrad.program.programs.handle import Handle, Source, Specialization
from tapegrad.program.recording.recording import RecordedTape, is_lifted, is_on, part_key
from tapegrad.program.recording.signature import flatten_args
from tapegrad.program.streams.spec import FORWARD, JVP, WHOLE_VJP, ProgramSpec
from tapegrad.program.traces.trace import ConstantOutput, PassthroughOutput, Trace

Flat = Callable[..., Sequence[Any]]
MAX_SPECIALIZATIONS = 32
VALUES, PULLBACK, TANGENTS = range(3)


class LoopBody(Uncopied):
    """Function of a loop, with its recordings.

    Parameters
    ----------
    flat
        Takes the leaves of the arguments as Tensors, and returns the leaves of the result.
    seen
        The function of the user's, whose captured state must stay as it is.
    arrays
        Leaves of the arguments to record it with.
    fuse
        Whether its programs are fused.

    Attributes
    ----------
    traces
        The recordings.
    lifted
        Tensors from outside, its operands after the arguments.
    inputs, results
        What these arrays look like.
    """

    def __init__(self, flat: Flat, seen: Any, arrays: Sequence[np.ndarray], fuse: bool | None) -> None:
        self._flat, self._seen, self._fuse = flat, seen, fuse
        self._state: CapturedState | None = None
        self.traces: list[Trace] = []
        self.lifted: list[Tensor] = []
        first = self._recorded(arrays)
        self.traces.append(first)
        self.lifted = first.lifted
        self.inputs = [_view_of(array) for array in (*arrays, *(t.data_or_traced() for t in self.lifted))]
        self.results = [_view_of(_example(first, result)) for result in first.results]

    @property
    def flat(self) -> Flat:
        """The function, if what it sees is as it was when it was recorded; otherwise raise."""
        change = None if self._state is None else self._state.change()
        if change is not None:
            raise RuntimeError(
                f"{self.name}: {change} has changed since the loop was run, and the loop is to be recorded once more,"
                " for a derivative or for another branch; pass it as an argument"
            )
        return self._flat

    @property
    def name(self) -> str:
        """Name of the user's function."""
        return str(getattr(self._seen, "__qualname__", None) or type(self._seen).__name__)

    @property
    def size(self) -> int:
        """Number of instructions of the first recording."""
        return len(self.traces[0].recording)

    @property
    def branches(self) -> bool:
        """True if iterations may take different branches."""
        return any(line.file for line in self.traces[0].recording.guard_lines)

    @restoring
    def _recorded(self, arrays: Sequence[np.ndarray], constants: Sequence[np.ndarray] = ()) -> Trace:
        thread.mode = NO_MODE.but(nan_on_failure=thread.mode.nan_on_failure)
        arguments = flatten_args(tuple(arrays), {})
        lifted = list(zip(self.lifted, constants, strict=True))
        trace = Trace(_on_tape(self.flat), arguments, self._fuse, lifted)
        if self._state is None:
            self._state = CapturedState((self._seen,))
        trace.watch_arrays(self._seen, self._state.reach, [])
        return trace

    def add(self, arrays: Sequence[np.ndarray], constants: Sequence[np.ndarray]) -> bool:
        """Record the function for other arguments and values of Tensors from outside.

        Return whether it has taken another branch than before.
        """
        trace = self._recorded(arrays, constants)
        if any(trace.outcomes == known.outcomes for known in self.traces):
            return False
        if list(map(part_key, trace.lifted)) != list(map(part_key, self.lifted)):
            raise RuntimeError(
                f"{self.name}: a branch that a later iteration takes computes with another Tensor of the function"
                " around than the first iteration did; pass it to the loop in the carry"
            )
        views = [_view_of(_example(trace, result)) for result in trace.results]
        if views != self.results:
            raise TypeError(
                f"{self.name}: a branch that a later iteration takes returns {_listed(views)} where the first returned"
                f" {_listed(self.results)}"
            )
        if len(self.traces) == MAX_SPECIALIZATIONS:
            raise RuntimeError(
                f"{self.name}: the iterations of a loop took more than {MAX_SPECIALIZATIONS} branches, or computed with"
                " that many integers taken out of Tensors, as in int(t); write where(), cond() or an array"
            )
        self.traces.append(trace)
        return True

    # --- programs --------------------------------------------------------------------------------------------------

    @property
    def floats(self) -> list[int]:
        """Numbers of the operands that are floats."""
        return [k for k, view in enumerate(self.inputs) if view.dtype.kind == "f"]

    @property
    def float_results(self) -> list[int]:
        """Numbers of the results that are floats."""
        return [k for k, view in enumerate(self.results) if view.dtype.kind == "f"]

    def handle(self, which: int) -> Handle:
        """Return the handle of a program.

        Arguments of the values are operands and results; of the pullback operands, cotangents of the float results, and
        cotangents of the float operands; of the tangents operands, tangents of the float ones, results, and tangents of
        the float ones.
        """
        make = (self._values, self._pullback, self._tangents)[which]
        bars = [self.results[k] for k in self.float_results]
        of_floats = [self.inputs[k] for k in self.floats]
        inputs = (self.inputs, [*self.inputs, *bars], [*self.inputs, *of_floats])[which]
        results = (self.results, of_floats, [*self.results, *bars])[which]
        return Handle([make(trace) for trace in self.traces], inputs, results, entries=False)

    def _values(self, trace: Trace) -> Specialization:
        program = trace.program(ProgramSpec(FORWARD))
        sources = [self._source(result, program.given) for result in trace.results]
        return Specialization(program, sources, list(range(program.given)))

    def _pullback(self, trace: Trace) -> Specialization:
        program = trace.program(ProgramSpec(WHOLE_VJP, tuple(self.floats)))
        # The order of the seeds is that of the outputs that are floats
        seeds = [k for k, j in enumerate(self.float_results) if isinstance(trace.results[j], int)]
        count = len(self.inputs)
        sources = [Source(program.given + k) for k in range(len(self.floats))]
        return Specialization(program, sources, [*range(count), *(count + k for k in seeds)])

    def _tangents(self, trace: Trace) -> Specialization:
        program = trace.program(ProgramSpec(JVP, tuple(self.floats), values=True))
        outputs = len(trace.output_slots)
        sources = [self._source(result, program.given) for result in trace.results]
        for k in self.float_results:
            result = trace.results[k]
            if isinstance(result, int):
                sources.append(Source(program.given + outputs + result))
            else:
                view = self.results[k]
                sources.append(Source(array=np.zeros(view.shape, view.dtype)))
        return Specialization(program, sources, list(range(program.given)))

    def _source(self, result: Any, first: int) -> Source:
        if isinstance(result, int):
            return Source(first + result)
        if isinstance(result, PassthroughOutput):
            return Source(passed=result.number)
        return Source(array=_constant(result))


def _on_tape(flat: Flat) -> Flat:
    """Return a function whose results that are Tensors or arrays from outside are read anew in each replay."""

    def call(*leaves: Any) -> list[Any]:
        recorder = thread.mode.recorder
        return [_copied(value) if _is_from_outside(value, recorder) else value for value in flat(*leaves)]

    return call


def _is_from_outside(value: Any, recorder: Any) -> bool:
    if is_tensor(value):
        return not is_on(value, recorder)
    return isinstance(value, np.ndarray) and value.size > 0


def _copied(value: Any) -> Any:
    return (value if is_tensor(value) else from_array(value, constant=True)).copy()


def _view_of(array: np.ndarray) -> View:
    return View.in_c_order(array.shape, array.dtype)


def _example(trace: Trace, result: Any) -> np.ndarray:
    """Return an array like a result of a recording."""
    if isinstance(result, int):
        view = trace.tape.slots[trace.output_slots[result]].view
        return np.empty(view.shape, view.dtype)
    if isinstance(result, PassthroughOutput):
        view = trace.tape.slots[trace.recording.inputs[result.number]].view
        return np.empty(view.shape, view.dtype)
    return _constant(result)


def _constant(result: ConstantOutput) -> np.ndarray:
    """Return a result that does not depend on the operands as an array of a dtype of the engine."""
    value = result.fixed.data_or_traced() if is_tensor(result.fixed) else np.asarray(result.fixed)
    dtype = {"i": np.int64, "u": np.int64}.get(value.dtype.kind, value.dtype)
    return np.array(value, dtype, order="C")


def _listed(views: Sequence[View]) -> str:
    return ", ".join(f"{view.dtype} {view.shape}" for view in views)


def shapes_of(flat: Flat, seen: Any) -> list[View]:
    """Return what the results of a function without arguments look like."""
    return LoopBody(flat, seen, (), None).results


def on_recording(tensor: Any) -> Any:
    """Return the input that a Tensor from outside is in the body that is being recorded, if there is one.

    The recording that the Tensor belongs to may be finished: then it has no views.
    """
    recorder = thread.mode.recorder
    if not is_tensor(tensor) or not isinstance(recorder, RecordedTape):
        return tensor
    if recorder.lifted is None or is_on(tensor, recorder):
        return tensor
    return recorder.lift(tensor) if is_lifted(tensor) else tensor
