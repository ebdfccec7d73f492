"""Body of a loop: a function of flat leaves, recorded once for each outcome of its branches.

Tensors that it takes from the function around are operands like its arguments. Complex operands and results are pairs
of floats along a last dimension, of the same memory: what runs loops and differentiates them sees floats alone.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.tape.fields.view import View
from tapegrad.errors import EndedRecordingError, OuterTensorError, UnrecordedWayError
from tapegrad.frontend.conversions.complex_views import complex_dtype, complex_of, is_complex, made_complex
from tapegrad.frontend.functions.shapes.flat_structures import pairs_in
from tapegrad.frontend.tensor.modes import NO_MODE, restoring, thread
from tapegrad.frontend.tensor.tensor import Tensor, from_array, is_tensor
from tapegrad.loops.programs import MAX_SPECIALIZATIONS, BodyPrograms, constant_of
from tapegrad.ops import CODES, GUARDS
from tapegrad.program.captured.captured_state import CapturedState
from tapegrad.program.fusion.grouping.scalars import MAX_ELEMENTS
from tapegrad.program.recording.constant_results import PassthroughOutput
from tapegrad.program.recording.recording import RecordedTape, is_lifted, is_on
from tapegrad.program.recording.signature import flatten_args
from tapegrad.program.streams.spec import WHOLE
from tapegrad.program.traces.trace import Trace

Flat = Callable[..., Sequence[Any]]
_CAST = CODES["cast_f64"]
_OF_COMPLEX = ("elementwise",)
_OF_NUMBERS = (*_OF_COMPLEX, "broadcast_sum", "matmul", "reduction")


class MissingOperandError(UnrecordedWayError):
    """Raised if a branch of a body computes with Tensors from outside that are no operands of the loop.

    The loop is recorded once more, by the replay that runs it if there is one.

    Attributes
    ----------
    lifted
        All Tensors from outside that are operands with them.
    outcomes
        What the branch is known by.
    """

    def __init__(self, lifted: Sequence[Tensor], outcomes: Sequence[bytes]) -> None:
        super().__init__(
            "a branch of a loop computes with a Tensor of the function around that is no operand of it"
        )
        self.lifted, self.outcomes = lifted, outcomes


class LoopBody(BodyPrograms):
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
    lifted
        Tensors from outside that are operands, whether the first iteration computes with them or not.

    Attributes
    ----------
    traces
        The recordings.
    lifted
        Tensors from outside, its operands after the arguments.
    taken, returned
        What arguments and results look like to the function; `inputs` and `results` have pairs for complex ones.
    """

    traces: list[Trace]

    def __init__(
        self,
        flat: Flat,
        seen: Any,
        arrays: Sequence[np.ndarray],
        fuse: bool | None,
        lifted: Sequence[Tensor] = (),
    ) -> None:
        self._flat, self._seen = flat, seen
        self.taken: list[View] = list(map(_view_of, arrays))
        self._pairs: list[bool] = []
        arrays = list(map(pairs_in, arrays))
        self._fuse: bool | str | None = WHOLE if fuse else fuse
        self._state: CapturedState | None = None
        self.traces = []
        self.lifted: list[Tensor] = [*lifted]
        first = self._recorded(arrays, [tensor.data_or_traced() for tensor in lifted])
        self.traces.append(first)
        self.lifted = first.lifted
        constants = [pairs_in(tensor.data_or_traced()) for tensor in self.lifted]
        self.inputs = [_view_of(array) for array in (*arrays, *constants)]
        self.results = [_view_of(_example(first, result)) for result in first.results]
        self.returned = self._seen_views(first)
        self.size = len(first.recording)

    @property
    def flat(self) -> Flat:
        """The function, if what it sees is as it was when it was recorded; otherwise raise."""
        change = None if self._state is None else self._state.change()
        if change is not None:
            raise RuntimeError(
                f"{self.name}: {change} has changed since the loop was run, and the loop is to be recorded once more,"
                " for a derivative or for another branch; pass it as an argument"
            )
        return self._of_pairs

    def _of_pairs(self, *leaves: Any) -> list[Any]:
        """Call the function with leaves of which complex ones are pairs; return its results in the same way."""
        given = [
            complex_of(leaf) if is_complex(view) else leaf
            for leaf, view in zip(leaves, self.taken, strict=True)
        ]
        results = self._flat(*given)
        self._pairs = [is_complex(value) for value in results]
        shown: set[int] = set()
        return [
            _in_pairs(value, shown) if is_pair else value
            for value, is_pair in zip(results, self._pairs, strict=True)
        ]

    def seen_as(self, results: Sequence[Any]) -> list[Any]:
        """Return results, stacked or not, as they look to the function: complex ones as such."""
        return [
            made_complex(value) if is_complex(view) else value
            for value, view in zip(results, self.returned, strict=True)
        ]

    @property
    def name(self) -> str:
        """Name of the user's function."""
        return str(getattr(self._seen, "__qualname__", None) or type(self._seen).__name__)

    @property
    def branches(self) -> bool:
        """True if iterations may take different branches."""
        return any(line.file for line in self.traces[0].recording.guard_lines)

    @property
    def fits_registers(self) -> bool:
        """True if iterations compute with few numbers, all of which can be in registers."""
        return len(self.traces) == 1 and all(map(self._is_of_numbers, self.traces[0].tape.live))

    def _is_of_numbers(self, instruction: int) -> bool:
        tape = self.traces[0].tape
        each = tape.instructions[instruction]
        views = [tape.slots[slot].view for slot in (each.result, *each.operands)]
        if each.op in GUARDS:
            return tape.slots[each.operands[0]].buffer not in {tape.slots[s].buffer for s in tape.inputs}
        is_few = all(view.dtype.kind in "fcb" and view.size <= MAX_ELEMENTS for view in views)
        kinds = _OF_COMPLEX if any(view.dtype.kind == "c" for view in views) else _OF_NUMBERS
        return each.op == _CAST or (is_few and kernel_table.row(each.op).kind in kinds)

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

    def _seen_views(self, trace: Trace) -> list[View]:
        """Return what the results of the last recording look like to the function."""
        views = [_view_of(_example(trace, result)) for result in trace.results]
        return [
            View.in_c_order(view.shape[:-1], complex_dtype(view.dtype)) if is_pair else view
            for view, is_pair in zip(views, self._pairs, strict=True)
        ]

    def add(self, arrays: Sequence[np.ndarray], constants: Sequence[np.ndarray]) -> bool:
        """Record the function for other arguments and values of Tensors from outside.

        Return whether it has taken another branch than before.

        Raises
        ------
        MissingOperandError
            If the branch computes with a Tensor from outside that is no operand.
        """
        try:
            trace = self._recorded(arrays, constants)
        except (EndedRecordingError, OuterTensorError) as error:
            raise MissingOperandError((), ()) from error
        if len(trace.lifted) > len(self.lifted):
            raise MissingOperandError(trace.lifted, trace.outcomes)
        # a loop inside it may have got further operands for a branch of its own
        alike = [known for known in self.traces if known.outcomes == trace.outcomes]
        if any(len(known.recording) >= len(trace.recording) for known in alike):
            return False
        views = self._seen_views(trace)
        if views != self.returned:
            raise TypeError(
                f"{self.name}: a branch that a later iteration takes returns {_listed(views)} where the first returned"
                f" {_listed(self.returned)}"
            )
        if len(self.traces) == MAX_SPECIALIZATIONS:
            raise RuntimeError(
                f"{self.name}: the iterations of a loop took more than {MAX_SPECIALIZATIONS} branches, or computed with"
                " that many integers taken out of Tensors, as in int(t); write where(), cond() or an array"
            )
        self.traces.append(trace)
        return True


def _on_tape(flat: Flat) -> Flat:
    """Return a function whose results that are Tensors or arrays from outside are read anew in each replay."""

    def call(*leaves: Any) -> list[Any]:
        recorder = thread.mode.recorder
        return [_copied(value) if _is_from_outside(value, recorder) else value for value in flat(*leaves)]

    return call


def _in_pairs(value: Any, shown: set[int]) -> Any:
    """Return a complex result as pairs; where it is a part of a buffer, or one that is `shown`, it is copied before.

    What is from outside is taken in before it is seen as pairs: it is an operand as it is.
    """
    recorder, value = thread.mode.recorder, on_recording(value)
    if isinstance(recorder, RecordedTape) and is_tensor(value) and is_on(value, recorder):
        value = recorder.in_own_buffer(value, shown)
    return pairs_in(value)


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
    return constant_of(result)


def _listed(views: Sequence[View]) -> str:
    return ", ".join(f"{view.dtype} {view.shape}" for view in views)


def shapes_of(flat: Flat, seen: Any) -> list[View]:
    """Return what the results of a function without arguments look like."""
    return LoopBody(flat, seen, (), None).returned


def standing_in(lifted: Sequence[Tensor], values: Sequence[Any]) -> AbstractContextManager[None]:
    """Let values, complex ones as pairs, stand for Tensors from outside in the body that is being recorded."""
    recorder = thread.mode.recorder
    assert isinstance(recorder, RecordedTape)
    inner = [value if is_on(value, recorder) else recorder.lift(value) for value in values]
    seen = [complex_of(x) if is_complex(tensor) else x for x, tensor in zip(inner, lifted, strict=True)]
    return recorder.standing_in(lifted, seen)


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
