"""Recorded functions of one vector for compiled loops: their handles, and their sessions."""

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from tapegrad.autodiff.custom.callbacks import failure
from tapegrad.autodiff.custom.tensor_rules import all_have_forward_rules, check_forward_rules
from tapegrad.engine.kernels.language.status import CALL_FAILED
from tapegrad.engine.runtime.fork_locks import lock
from tapegrad.engine.runtime.uncopied import Uncopied
from tapegrad.engine.sweep.replays.handle_fields import SESSION_FIELDS
from tapegrad.engine.tape.fields.view import View
from tapegrad.optimize.native.loops import driver
from tapegrad.program.programs.handle import Handle, Source, Specialization
from tapegrad.program.programs.program import Program
from tapegrad.program.recording.signature import Arguments
from tapegrad.program.streams.spec import COLUMNS, JACFWD, JACREV, JVP, VALUE_AND_GRAD, ProgramSpec
from tapegrad.program.traces.trace import Trace
from tapegrad.transforms.jit import Jit

_MAX_COLUMNS = 64  # that are kept side by side in a workspace
_MAX_SIGNATURES = 16  # whose handles a function keeps


class Kind(NamedTuple):
    """Kind of an evaluation.

    Attributes
    ----------
    spec
        The spec of its programs.
    sources
        Where these have the results, by the number of the first binding that the caller does not give.
    """

    spec: ProgramSpec
    sources: tuple[int, ...]


# -1: the output in the workspace; others: bindings after those that the caller gives
GRADIENT = Kind(ProgramSpec(VALUE_AND_GRAD, (0,)), (-1, 0))
PRODUCT = Kind(ProgramSpec(JVP, (0,)), (0,))
_COLUMNS = Kind(ProgramSpec(COLUMNS, (0,), values=True), (0,))
_FORWARD_ROWS = Kind(ProgramSpec(JACFWD, (0,), values=True), (0, 1))
_REVERSE_ROWS = Kind(ProgramSpec(JACREV, (0,)), (-1, 0))
SECOND_AND_FIRST = Kind(ProgramSpec(), (1, 0))  # of a function with two results, both computed


def jacobian_kind(trace: Trace) -> Kind:
    """Return how a trace's Jacobian is evaluated: by columns if its ops allow that, and there are not too many."""
    if not all_have_forward_rules(trace.recording):
        return _REVERSE_ROWS
    few = math.prod(trace.input_shape(0)) <= _MAX_COLUMNS
    return _COLUMNS if few else _FORWARD_ROWS


class _KnownSpecializations(Uncopied):
    """The specializations of a function for one signature and one kind of derivative, and their handle.

    Attributes
    ----------
    kind
        Kind of evaluation; `None` until the first recording decides how a Jacobian is evaluated.
    handle
        Of all specializations that are known.
    over_lanes
        Programs over lanes, by the number of the specialization and how many lanes these are.
    """

    def __init__(self, function: Jit[..., Any], kind: Kind | None) -> None:
        self._function, self.kind = function, kind
        self.over_lanes: dict[tuple[int, int], Any] = {}
        self._traces: list[Trace] = []
        self._lock = lock()
        self.handle: Handle | None = None

    def trace(self, specialization: int) -> Trace:
        """Return the recording of a specialization."""
        return self._traces[specialization]

    def hold(self, arguments: Arguments) -> bool:
        """Return whether the function would still be replayed by these recordings."""
        good = self._function.specializations(arguments).traces
        return all(trace in good for trace in self._traces)

    def learn(self, arguments: Arguments, given: list[np.ndarray], known: Handle | None) -> None:
        """Record the specialization of some arguments, unless another thread has added one to those of a handle."""
        with self._lock:
            if self.handle is known:
                self._record(arguments, given)

    def _spec(self, trace: Trace) -> ProgramSpec:
        if self.kind is None:
            self.kind = jacobian_kind(trace)
        return self.kind.spec

    def number_of(self, arguments: Arguments, given: list[np.ndarray]) -> int:
        """Return the number of the specialization for some arguments, which is recorded if it is not known."""
        with self._lock:
            trace = self._taken(arguments, given)
            if trace not in self._traces:
                self._add(trace, arguments, given)
            return self._traces.index(trace)

    def _taken(self, arguments: Arguments, given: list[np.ndarray]) -> Trace:
        check = check_forward_rules if self.kind is PRODUCT else None
        return self._function.run(arguments, self._spec, check, given)[0]

    def _record(self, arguments: Arguments, given: list[np.ndarray]) -> None:
        trace = self._taken(arguments, given)
        if trace in self._traces:
            raise RuntimeError("a recorded function took another branch when it was evaluated again")
        self._add(trace, arguments, given)

    def _add(self, trace: Trace, arguments: Arguments, given: list[np.ndarray]) -> None:
        traces = [*self._traces, trace]
        handle = self._make_handle(traces, [*arguments.arrays, *given])  # first: Ctrl-C may come meanwhile
        self._traces, self.handle = traces, handle

    def _make_handle(self, traces: list[Trace], arrays: list[np.ndarray]) -> Handle:
        assert self.kind is not None
        programs = [trace.program(self.kind.spec) for trace in traces]
        specializations = []
        for program in programs:
            sources = [Source() if k < 0 else Source(program.given + k) for k in self.kind.sources]
            specializations.append(Specialization(program, sources, list(range(program.given))))
        first = programs[0]
        results = [first.outputs[0] if k < 0 else first.bindings[first.given + k] for k in self.kind.sources]
        inputs = [View.in_c_order(array.shape, array.dtype) for array in arrays]
        outputs = [View.in_c_order(view.shape, view.dtype) for view in results]
        return Handle(specializations, inputs, outputs, entries=False)


def _specializations_of(
    function: Jit[..., Any], arguments: Arguments, kind: Kind | None
) -> _KnownSpecializations:
    """Return the specializations of a function that are known from another use, if they are still valid."""
    key = arguments.recording_key, kind
    found: _KnownSpecializations | None = function.loops.get(key)
    if found is None or not found.hold(arguments):
        while len(function.loops) >= _MAX_SIGNATURES:
            function.loops.pop(next(iter(function.loops)), None)
        found = function.loops[key] = _KnownSpecializations(function, kind)
    return found


class ReplayedFunction(Uncopied):
    """A recorded function of a vector and its further arguments, for one kind of derivative.

    Parameters
    ----------
    function
        The function.
    x, args, kwargs
        Arguments to record it with. The vector is float64.
    kind
        Kind of evaluation; by default residuals and their Jacobian.

    Attributes
    ----------
    example
        The vector that it was recorded with.
    """

    def __init__(
        self,
        function: Jit[..., Any],
        x: np.ndarray,
        args: Any = (),
        kwargs: dict[str, Any] | None = None,
        kind: Kind | None = None,
    ) -> None:
        self.example = x
        self._function, self._rest = function, (tuple(args), kwargs or {})
        arguments = self._arguments(x)
        self._specializations = _specializations_of(function, arguments, kind)
        self._directions = [np.zeros_like(x)] if kind is PRODUCT else []
        if self._specializations.handle is None:
            self._specializations.learn(arguments, self._directions, None)
        self.arrays = [*arguments.arrays, *self._directions]

    def _arguments(self, x: np.ndarray) -> Arguments:
        args, kwargs = self._rest
        return self._function.arguments((x.copy(), *args), kwargs)

    def learn(self, x: np.ndarray, known: Handle) -> None:
        """Record the specialization at a point, unless another thread has added one to those of a handle."""
        self._specializations.learn(self._arguments(x), self._directions, known)

    @property
    def handle(self) -> Handle:
        """The handle of all specializations that are known."""
        assert self._specializations.handle is not None
        return self._specializations.handle

    @functools.cached_property
    def specialization(self) -> int:
        """Number of the specialization that the example takes."""
        return self._specializations.number_of(self._arguments(self.example), self._directions)

    @property
    def trace(self) -> Trace:
        """The recording of that specialization."""
        return self._specializations.trace(self.specialization)

    @property
    def first_trace(self) -> Trace:
        """The first recording that is known."""
        return self._specializations.trace(0)

    @property
    def program(self) -> Program:
        """The program of that specialization."""
        specialization = self.specialization  # first, for the handle may learn it
        return self.handle.specializations[specialization].program

    @property
    def over_lanes(self) -> dict[tuple[int, int], Any]:
        """Programs over lanes, by the number of the specialization and how many lanes these are."""
        return self._specializations.over_lanes

    @property
    def has_columns(self) -> bool:
        """True if the session has the columns of a Jacobian, and the results do not have its rows."""
        return self._specializations.kind is _COLUMNS

    @property
    def size(self) -> int:
        """Elements of the first result."""
        return self.handle.results[0].size


def example_of(function: Jit[..., Any], starts: np.ndarray, args: Any = ()) -> np.ndarray:
    """Return the first of some starts at which a function can be computed: it is recorded there.

    Raises
    ------
    numpy.linalg.LinAlgError
        If it cannot be computed at any of them.
    """
    for start in starts[:-1]:
        try:
            function(start, *args)
        except LinAlgError:
            continue
        found: np.ndarray = start
        return found
    function(starts[-1], *args)
    last: np.ndarray = starts[-1]
    return last


class Session(Uncopied):
    """Calls of a recorded function with arrays at fixed addresses, for one thread.

    Parameters
    ----------
    recorded
        The function.
    vectors, results
        Addresses of the vector, and of a direction; of the results.

    Attributes
    ----------
    address
        Address of the session's record.
    """

    def __init__(self, recorded: ReplayedFunction, vectors: Sequence[int], results: Sequence[int]) -> None:
        self._recorded = recorded
        given = [array.ctypes.data for array in recorded.arrays]
        given[0] = vectors[0]
        given[len(given) + 1 - len(vectors) :] = vectors[1:]
        self._addresses = np.array([*given, *results], np.int64)
        self._fields = np.zeros(SESSION_FIELDS, np.int64)
        self.address = int(self._fields.ctypes.data)
        self._open()

    def _open(self) -> None:
        self._handle = self._recorded.handle  # which the session's workspaces belong to
        if driver.begin_session(self._handle.address, self._addresses.ctypes.data, self.address) != 0:
            raise MemoryError("not enough memory for a session of a compiled function")

    def close(self) -> None:
        driver.end_session(self.address)

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def go_on(self, status: int, x: np.ndarray) -> None:
        """Handle a status of compiled code: record a specialization at `x`, or raise a user's exception."""
        if status == CALL_FAILED:
            raise failure()
        self.close()
        self._recorded.learn(x, self._handle)
        self._open()
