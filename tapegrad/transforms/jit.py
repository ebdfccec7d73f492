"""`jit`: record a function once, then replay it without Python between its instructions."""

import functools
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

import numpy as np

from tapegrad.autodiff.custom.callbacks import failure
from tapegrad.engine.kernels.language.status import CALL_FAILED, GUARD_FAILED, OUT_OF_MEMORY, OUT_OF_RANGE
from tapegrad.engine.runtime.fork_locks import lock
from tapegrad.engine.runtime.messages import logs
from tapegrad.engine.runtime.short_times import quantity
from tapegrad.engine.status import error_of_matrices
from tapegrad.engine.sweep.replays import replay
from tapegrad.errors import OuterTensorError, check_function, name_of
from tapegrad.frontend.tensor.copying import FunctionWrapper, described
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.program.captured.captured_state import CapturedState
from tapegrad.program.captured.references import Captured
from tapegrad.program.recording.guards import SourceLine
from tapegrad.program.recording.recording import RecordedTape
from tapegrad.program.recording.signature import (
    NOTHING,
    Arguments,
    Names,
    Numbers,
    Static,
    flatten_args,
    has_tensor,
    static_arguments,
)
from tapegrad.program.streams.spec import ProgramSpec
from tapegrad.program.traces.profiled import note_replay
from tapegrad.program.traces.recording_log import RecordingLog
from tapegrad.program.traces.repeated import repeated
from tapegrad.program.traces.specializations import Results, Specializations
from tapegrad.program.traces.trace import Trace
from tapegrad.program.traces.trace_cache import MEMORY, TraceCache
from tapegrad.pytree import flatten, unflatten
from tapegrad.transforms.calling.call_structures import call_arguments
from tapegrad.transforms.calling.callables import UnlessObserved
from tapegrad.transforms.calling.certified import certify_once, is_certified
from tapegrad.transforms.calling.class_answers import AsArrays
from tapegrad.transforms.calling.fast_path import Path, results_path
from tapegrad.transforms.calling.known_paths import AlternatingCalls
from tapegrad.transforms.calling.njit_source import python_of
from tapegrad.transforms.calling.reports import Reports
from tapegrad.transforms.calling.tensor_arguments import Call, as_arrays, as_tensors, tell_of_tensors

_FORWARD = ProgramSpec()
Goal = ProgramSpec | Callable[[Trace], ProgramSpec]
P = ParamSpec("P")
R = TypeVar("R")
_NoTensor = float | np.number[Any] | np.ndarray | list[Any] | tuple[Any, ...] | dict[Any, Any]


class Jit(UnlessObserved, AlternatingCalls, FunctionWrapper, Reports, Generic[P, R]):
    """Function that is recorded once for each signature and replayed after; made by `jit`."""

    def __init__(
        self,
        function: Callable[..., Any],
        static: Static = NOTHING,
        traces: TraceCache | None = None,
        derived: bool = False,
        fuse: bool | None = None,
        roll: bool | None = None,
        certify: bool | None = None,
    ) -> None:
        super().__init__()
        check_function("jit", function)
        self.function = function
        self.fuse, self.roll, self.certify = fuse, roll, certify
        # To transforms, Tensors in closures are constants; called itself, a recorded function keeps their gradient.
        self._check = None if derived else keep_gradients
        self.static = static
        self.traces = TraceCache(MEMORY) if traces is None else traces
        self._lock = lock()
        self.derived: dict[Any, Jit[..., Any]] = {}  # recorded transforms of this function, by their key
        self.direction: Path | None = None  # the fast path of its jvp
        self.loops: dict[Any, Any] = {}  # what compiled loops know of it, by signature
        self.captured: CapturedState | None = None  # from its last recording
        self.log = RecordingLog()
        functools.update_wrapper(self, function, updated=())

    @property
    def settings(self) -> tuple[Any, ...]:
        return self.static, TraceCache(self.traces.memory), False, self.fuse, self.roll, self.certify

    def _recorder(self) -> "Jit[..., Any]":
        return self

    def __repr__(self) -> str:
        return f"jit({described(self.function)})"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    if TYPE_CHECKING:

        @overload  # arrays, numbers and structures of them give the same again
        def __call__(self, x: _NoTensor, /, *args: Any, **kwargs: Any) -> Any: ...
        @overload
        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    def _watched(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the function instead of replaying it, so that each instruction can be checked."""
        results, definition = flatten(self.function(*args, **kwargs))
        if not has_tensor(args, kwargs):
            results = [value.data_or_traced()[()] if is_tensor(value) else value for value in results]
        return unflatten(definition, results)

    def _by_python(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute the results for any arguments."""
        mode = thread.mode
        if mode.anomaly is not None:
            return self._watched(args, kwargs)
        if mode.observed:
            return self.function(*args, **kwargs)
        if has_tensor(args, kwargs):
            return self._on_tensors(args, kwargs)
        arguments = self.arguments(args, kwargs)
        found = self._replayed(arguments)
        if found is None:
            return self.function(*args, **kwargs)
        trace, outputs = found
        keeps = self._check is not None and trace.recording.closes_over_leaf
        if not keeps:
            self._keep(results_path(self, trace, call_arguments(arguments, args, kwargs)))
        return trace.result(arguments.arrays, outputs)

    def _on_tensors(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Replay the function for constants, and run it where a gradient may flow back through it."""
        plain = self.constants(args, kwargs)
        if plain is None:
            self.note_tensors()
            return self.function(*args, **kwargs)
        arguments = self.arguments(*plain)
        # It may ask for the order in memory, which a recording does not have.
        found = None if arguments.reordered else self._replayed(arguments)
        if found is None or found[0].writes_arguments:
            return self.function(*args, **kwargs)
        trace, outputs = found
        return as_tensors(trace.result(arguments.arrays, outputs))

    def _replayed(self, arguments: Arguments) -> Any:
        """Replay the function and return the recording and its outputs.

        Return `None` if the function closes over a Tensor of an outer transform.
        """
        try:
            return self.run(arguments, _FORWARD, self._check)
        except OuterTensorError:
            return None

    def constants(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
        """Return arguments with arrays in place of Tensors, if all of these are constants; else `None`."""
        return as_arrays(args, kwargs)

    def note_tensors(self) -> None:
        """Note a call with Tensors that is not replayed, unless another transform makes it."""
        if not thread.mode.nested:
            tell_of_tensors(self.traces, name_of(self.function))

    def tape(self, *args: Any, **kwargs: Any) -> RecordedTape:
        """Return the tape that a call with these arguments replays; record it if there is none yet.

        Parameters
        ----------
        *args, **kwargs
            Arguments of the function.

        Returns
        -------
        RecordedTape
            Print it to see its instructions; of a long one the first and the last, `text` has all.

        Examples
        --------
        >>> import numpy as np, tapegrad as tg
        >>> f = tg.jit(lambda x: tg.sum(tg.sin(x) * 2), fuse=True)
        >>> tape = f.tape(np.array([0.0, 1.0, 2.0]))
        >>> print(tape)
        inputs    x0 (3,) f64
          0  v0 = sin(x0)              (3,) f64
          1  v1 = multiply(v0, 2.0)    (3,) f64
          2  v2 = sum(v1)              () f64
        outputs   v2 () f64
        segments
          0  forward: forward 0-2; 3 elements

        These instructions are one loop. What it computes, and LLVM's instructions for it:

        >>> print(tape.segments[0])
        forward: forward 0-2; 3 elements
            v0 = sin(x0)
            v1 = v0*2.0
            v2 = sum(v1)
        >>> "define i64" in tape.segments[0].ir
        True
        """
        trace, _ = self.run(self.arguments(args, kwargs), _FORWARD)
        return trace.recording

    def derive(self, function: Callable[..., Any], static: Static) -> "Jit[..., Any]":
        """Make what replays a transform of this function, with recordings among its own."""
        return Jit(
            function, static, self.traces, derived=True, fuse=self.fuse, roll=self.roll, certify=self.certify
        )

    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        """Flatten the arguments of a call."""
        return flatten_args(args, kwargs, self.static)

    def refresh(self) -> None:
        """Drop all traces if captured state has changed."""
        seen = self.captured
        if seen is None or seen.holds():
            return
        with self._lock:  # another thread that records may have replaced it
            change = seen.change() if self.captured is seen else None
            if change is not None:
                self.captured = seen.renewed()
                if self.captured is None:
                    self._note_change(change)
                    self.traces.drop(self)

    def specializations(self, arguments: Arguments) -> Specializations:
        """Return the recordings for a signature, without those that a change of captured state has invalidated."""
        self.refresh()
        found = self.traces.specializations(self, arguments.recording_key)
        seen = found.captured
        change = None if seen is None else seen.change()
        if seen is not None and change is not None:
            found.captured = seen.renewed()
            if found.captured is None:
                self._note_change(change)
                self.traces.drop_signature(found)
                return self.traces.specializations(self, arguments.recording_key)
        return found

    def _note_change(self, change: Captured) -> None:
        self.log.note_change(change)
        logs.log(logs.GUARDS, "%s: %s changed, its recordings are dropped", name_of(self.function), change)

    def _record_unless_added(
        self, specializations: Specializations, arguments: Arguments, failed: dict[Trace, SourceLine]
    ) -> Trace | None:
        """Record a trace for these arguments, unless another thread has added one that was not tried.

        `failed` has the guard that did not hold for each one that was.
        """
        with self._lock:
            if any(trace not in failed for trace in specializations.traces):
                return None
            self.traces.tell_of_branches(name_of(self.function), specializations)
            begin = perf_counter_ns()
            trace = Trace(self.function, arguments, self.fuse, roll=self.roll)
            # Captured after the run, for the function may itself have bound a name or filled a list.
            self.captured = CapturedState((self.function,))
            seen = self.captured
            if arguments.objects:
                seen = specializations.captured = CapturedState(arguments.objects, seen)
            trace.watch_arrays(self.function, seen.reach, arguments.objects)
            trace.told = self.log.note(arguments, next(reversed(failed.values()), None))
            self.traces.add(trace, specializations)
        for what, message in repeated(name_of(self.function), self.log).items():
            self.traces.tell_once(what, message)
        self._log_recording(trace, perf_counter_ns() - begin)
        return trace

    def _log_recording(self, trace: Trace, nanoseconds: int) -> None:
        if logs.enabled(logs.RECORDINGS) and trace.told is not None:
            message = "%s was recorded for %s: %d instructions in %s (%s)"
            length, (signature, reason) = len(trace.recording), trace.told
            name = name_of(self.function)
            logs.log(logs.RECORDINGS, message, name, signature, length, quantity(nanoseconds), reason)

    def _log_guards(self, failed: dict[Trace, SourceLine], others_hold: bool) -> None:
        outcome = "another recording is replayed" if others_hold else "none of its recordings holds"
        for trace, line in failed.items():
            message = "%s: a guard of recording %d failed, %s; %s"
            logs.log(logs.GUARDS, message, name_of(self.function), trace.number, line, outcome)

    def run(
        self,
        arguments: Arguments,
        spec: Goal,
        check: Any = None,
        given: Sequence[np.ndarray] = (),
        by: Callable[..., tuple[list[Any] | None, int]] | None = None,
    ) -> Results:
        """Replay the trace whose guards hold, or record one. Return it and the arrays of its results.

        `spec` may be a function that chooses the spec for a trace. `check` is called with a trace before its program is
        made. `given` are arrays for the bindings after the inputs. `by` executes a trace, by default `execute`.
        """
        by = by or execute

        def execute_trace(trace: Trace) -> tuple[list[Any] | None, int]:
            return by(trace, arguments, spec, check, given)

        specializations = self.specializations(arguments)
        failed: dict[Trace, SourceLine] = {}
        found: Results | None = None
        while found is None:
            found = specializations.replay(execute_trace, arguments.reordered, failed)
            if failed and logs.enabled(logs.GUARDS):
                self._log_guards(failed, found is not None)
            fresh = None if found else self._record_unless_added(specializations, arguments, failed)
            if fresh is not None:
                found = fresh, run_once(fresh, arguments, spec, check, given, by)
        self.traces.used(found[0], specializations)
        if is_certified(self.certify):
            certify_once(self, found[0], arguments, spec if isinstance(spec, ProgramSpec) else spec(found[0]))
        return found


def run_once(
    trace: Trace,
    arguments: Arguments,
    goal: Goal,
    check: Any = None,
    given: Sequence[np.ndarray] = (),
    by: Callable[..., tuple[list[Any] | None, int]] | None = None,
) -> list[Any]:
    """Replay a trace with the arguments that it was recorded with. Return the arrays of its results."""
    outputs, _ = (by or execute)(trace, arguments, goal, check, given)
    if outputs is None:
        raise RuntimeError(
            "a recorded function took another branch when it was replayed with the same arguments"
        )
    return outputs


def keep_gradients(trace: Trace) -> None:
    """Raise if the function closes over an eager Tensor that gets a gradient, which a replay would lose."""
    if trace.recording.closes_over_leaf and thread.mode.differentiate:
        raise OuterTensorError(
            "a recorded function closes over a Tensor that can be differentiated by: a replay would lose its gradient."
            " Pass the Tensor as an argument, or detach() it"
        )


def execute(
    trace: Trace, arguments: Arguments, goal: Goal, check: Any, given: Sequence[np.ndarray]
) -> tuple[list[Any] | None, int]:
    """Run the program of a trace. Return the arrays of its results, or `None` and the guard that did not hold.

    Of a program with a reverse sweep, the first result is the value.
    """
    if check is not None:
        check(trace)
    spec = goal if isinstance(goal, ProgramSpec) else goal(trace)
    workspace = trace.take_workspace(spec)
    program, arrays = workspace.program, (*arguments.arrays, *given)
    begin = perf_counter_ns()
    status, results = workspace.run(arrays)
    if status == replay.DUE:
        trace.is_due(spec, workspace)
        status, results = workspace.run(arrays)
    trace.nanoseconds = perf_counter_ns() - begin
    stopped = program.guards.get(workspace.stopped_at, -1) if status == GUARD_FAILED else -1
    value = workspace.value
    if status == 0 and value is not None:
        results.insert(0, value.copy())
    trace.workspaces(spec).append(workspace)
    if status == 0:
        note_replay(trace, spec, arguments, arrays)
        return results, -1
    if status == GUARD_FAILED:
        return None, stopped
    raise error_of(status)


def error_of(status: int) -> BaseException:
    """Return the exception for the status of a kernel."""
    if status == CALL_FAILED:
        return failure()
    if status == OUT_OF_RANGE:
        return IndexError("an index array of a replay names a row that does not exist")
    if status == OUT_OF_MEMORY:
        return MemoryError("not enough memory during a replay")
    return error_of_matrices(status, "a replay") or RuntimeError(f"a replay stopped with status {status}")


def jit(
    function: Callable[P, R],
    *,
    static_argnums: Numbers | None = None,
    static_argnames: Names | None = None,
    memory: int = MEMORY,
    fuse: bool | None = None,
    roll: bool | None = None,
    certify: bool | None = None,
    as_arrays: bool = False,
) -> Jit[P, R]:
    """Record `function` at its first call for each signature of arguments, and replay it afterwards.

    The signature is the structure of the arguments, shapes and dtypes of arrays, and the values of integers,
    booleans and strings. Arrays and floats may change from call to call. A branch on a Tensor is recorded as a guard:
    when a replay takes the other side, that branch is recorded too and kept.

    Parameters
    ----------
    function : callable
        A function of arrays, numbers, and lists, tuples and dicts of them. Of an ``@njit`` function the Python source
        is recorded, with the functions that it calls. It may close over arrays, whose contents are read at each
        replay. What else it sees is watched; the guide, "Record and replay", says what cannot be.
    static_argnums : int or sequence of int, optional
        Positions of arguments that are fixed as a whole: each value of them has recordings of its own. They must be
        hashable, and are compared by type and value, attributes included.
    static_argnames : str or sequence of str, optional
        The same by name.
    memory : int, default 256 MiB
        Bytes that the recordings of the function and its transforms may take together. Beyond that, those used longest
        ago are dropped, and recorded again when they are needed.
    fuse : bool, optional
        Whether instructions over the same elements are compiled to one loop each, a *segment*. By default, where that
        pays: a function that was fused before, in whatever process, from its first replay on; another one when its
        replays have cost more than compiling would, by a thread in the background. `True` compiles at the first call,
        `False` never. Results are the same to the last bit. The environment variable ``TAPEGRAD_FUSE`` (0 or 1) says
        what is done where `fuse` is not given.
    roll : bool, optional
        Whether instructions that repeat, as those of a ``for`` loop of Python do, become one instruction with a body,
        as `scan` makes one. By default, where there are thousands of them; `True` wherever four repetitions are found,
        `False` never. Values are the same to the last bit; gradients add up in another order.
    certify : bool, optional
        Whether the first replay of each program is certified: its derivatives are held against those that another
        sweep gives, its results against those of the plain recording, as `Jit.certificate` does. It takes about as
        long as another first call; later replays take no longer. By default where the environment variable
        ``TAPEGRAD_CHECK`` is ``derivatives``.
    as_arrays : bool, default False
        Whether Tensors say inside of `function` that they are instances of ``np.ndarray``, and those of no dimensions
        of NumPy's scalars, such as ``np.float64``: for programs that ask ``isinstance(x, np.ndarray)``,
        ``isinstance(x[0], float)`` or ``np.isscalar(x[0])``. Their type stays `Tensor`: ``type(x) is np.ndarray`` is
        false, and code in C that wants an array is refused as without it.

    Returns
    -------
    Jit
        Called with arrays and numbers, it returns arrays and NumPy scalars. Called with Tensors it returns Tensors:
        constants are replayed; where a gradient may flow back to one, the function runs operation by operation.

    Raises
    ------
    TracedValueError
        While recording, where the function asks for a float or an array out of a Tensor (``float(t)``,
        ``t.item()``, ``np.asarray(t)``): every replay would continue with that one value.

    CertificateError
        With `certify`, where a program is wrong: a fault of this library, or of a custom op's derivative.

    Warns
    -----
    RecordingWarning
        Once for each cause for which a function was recorded 16 times: a global or an attribute, an integer, a shape, a
        branch that changes, with what to write instead; once where it takes longer to compare what the function sees
        than to replay it; once where it, or a transform of it, is called with Tensors outside of other transforms and
        is not replayed. `Jit.explain` and `Jit.watched` say more.

    Notes
    -----
    A replay releases the GIL and may run in several threads at once, each on a workspace of its own.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> f = tg.jit(lambda x: tg.sum(tg.exp(x)))
    >>> tg.value_and_grad(f)(np.array([0.0, 1.0]))
    (np.float64(3.718281828459045), array([1.        , 2.71828183]))
    """
    if (
        isinstance(function, Jit)
        and static_argnums is None
        and static_argnames is None
        and fuse is roll is certify is None
        and not as_arrays
    ):
        return function
    inner = python_of(function.function if isinstance(function, Jit) else function)
    if as_arrays and not isinstance(inner, AsArrays):
        inner = AsArrays(inner)
    static = static_arguments(inner, static_argnums, static_argnames)
    return Jit(inner, static, TraceCache(memory), fuse=fuse, roll=roll, certify=certify)
