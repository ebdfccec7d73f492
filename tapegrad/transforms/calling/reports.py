"""Reports of a function that is replayed: what is watched for it, and which recordings there are."""

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, overload

from tapegrad.engine.runtime.short_times import nanoseconds
from tapegrad.errors import UnsupportedError, name_of
from tapegrad.frontend.words.frames import hides_frames
from tapegrad.program.certificates.certificate import Certificate
from tapegrad.program.traces.explained import Recordings, explained, recording_of
from tapegrad.program.traces.explanation import Explanation, explanation
from tapegrad.program.traces.profiled import CallTimes, Profile, Replayed, observing, profiled
from tapegrad.program.traces.recording_log import RecordingLog, names_of_leaves
from tapegrad.program.traces.slow_parts import Names
from tapegrad.program.traces.source_lines import SourceLines, lines_of
from tapegrad.program.traces.trace import Trace
from tapegrad.program.traces.watched import Watched, watched_in
from tapegrad.transforms.calling.call_structures import described_arguments
from tapegrad.transforms.calling.certified import certify, derivatives_of, joined

if TYPE_CHECKING:
    from tapegrad.program.captured.captured_state import CapturedState

Result = TypeVar("Result", covariant=True)
_LONG_NS = 50_000_000  # a call of this length is made twice to be measured, others more often
_ROUNDS_NS, _MAX_ROUNDS = 200_000_000, 20
_BY_PYTHON = "it goes through Python; with arrays, floats and dicts, lists or tuples of them it would not"


class Reports:
    """Reports of a replayed function and of its transforms about themselves."""

    def _recorder(self) -> Any:
        """Return the function that is recorded, with its `derived` ones; `None` if there is none."""
        raise NotImplementedError

    def watched(self) -> Watched:
        """List what is compared before each replay: what the function sees beside its arguments.

        Returns
        -------
        Watched
            A tuple of records with the fields `name`, `kind`, `items` and `ns`, the nanoseconds that the comparison
            takes, the dearest first; printed, it is a table. Its `ns` is the time of all comparisons. It is empty
            before the first call.

        Notes
        -----
        Attributes that the function does not name, and objects of installed packages, cost nothing. To have fewer items
        compared, pass a table as an argument, keep it as an array (its contents are read at each replay, not compared),
        or make it a tuple, which cannot change; ``tg.compile(f, x)`` compares nothing at all.

        Examples
        --------
        >>> import numpy as np, tapegrad as tg
        >>> table = {"rate": 2.0, "shift": [1.0, 5.0]}
        >>> f = tg.jit(lambda x: tg.sum(x * table["rate"]) + table["shift"][0])
        >>> float(f(np.ones(3)))
        7.0
        >>> sorted((item.name, item.items) for item in f.watched() if item.kind == "contents")
        [('table', 2), ("table['shift']", 2)]
        """
        recorder = self._recorder()
        if recorder is None:
            return watched_in(f"{_title(self)}, which is run at each call,", [])
        return watched_in(_title(self), _states(recorder))

    @overload
    def explain(self) -> Recordings: ...
    @overload
    def explain(self, *args: Any, **kwargs: Any) -> Explanation: ...
    @hides_frames
    def explain(self, *args: Any, **kwargs: Any) -> Recordings | Explanation:
        """List the recordings of the function and of its transforms: their signatures, guards, and why they were made.

        With arguments, return what there is to say of a call with these. The function is run once more if most of its
        instructions compute single numbers, to find the line of the loop.

        Parameters
        ----------
        *args, **kwargs
            Arguments of the function, if a call is to be explained; it is made.

        Returns
        -------
        Recordings or Explanation
            Without arguments, a tuple of records with the fields `number`, `of`, `signature`, `instructions`, `guards`
            and `reason`, in the order in which they were made; printed, it is a table, of many recordings of the first
            and the latest.

            With arguments, a tuple of sections with the fields `name`, `summary` and `lines`: why there is a
            `recording`, its `guards`, what is `watched`, the `fusion` of rows and why others run by themselves,
            `memory`, `threads`, and the `certificate` if there is one. ``section("fusion")`` is one of them.

        Raises
        ------
        UnsupportedError
            If a call with these arguments is not one replay.

        Examples
        --------
        >>> import numpy as np, tapegrad as tg
        >>> scale = 2.0
        >>> f = tg.jit(lambda x: tg.sum(x * scale))
        >>> _ = f(np.ones(3)), f(np.ones(4))
        >>> [recording.reason for recording in f.explain()]
        ['first call', 'argument 0: shape (3,) -> (4,)']
        >>> scale = 3.0
        >>> _ = f(np.ones(4))
        >>> f.explain()[-1].reason
        'global scale changed'
        >>> f.explain(np.ones(4)).section("recording").summary
        'number 3, of <lambda> for argument 0: (4,) float64: global scale changed'
        """
        recorder = self._recorder()
        if args or kwargs:
            return self._explanation(args, kwargs)
        if recorder is None:
            return explained(f"{_title(self)}, which is run at each call,", [], 0)
        members = {id(member): _title(member) for member in _family(recorder)}
        found = [
            (members[id(owner)], trace) for owner, trace in recorder.traces.owned() if id(owner) in members
        ]
        return explained(_title(self), found, recorder.traces.count, recorder.traces.unrecorded)

    def _explanation(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Explanation:
        """Explain a call."""
        replayed, owner = self._observed("explain", args, kwargs)
        trace, traces = replayed.trace, self._recorder().traces
        return explanation(
            _title(self),
            recording_of(_title(owner), trace),
            self.watched(),
            (trace, trace.program(replayed.spec)),
            lambda: _lines(replayed, owner),
            _names(replayed, owner),
            (traces.bytes, traces.memory),
            *_repeats(owner.log),
        )

    @hides_frames
    def certificate(self, *args: Any, **kwargs: Any) -> Certificate:
        """Check what a call with these arguments replays against other ways to the same numbers.

        Parameters
        ----------
        *args, **kwargs
            Arguments of the function: arrays, numbers, and structures of them. The call is made.

        Returns
        -------
        Certificate
            A tuple of records with the fields `name`, `of` (the kind of program), `difference` and `bound` (relative),
            `holds` and `note`; printed, it is a table. Of a function whose values are replayed, its derivatives by all
            arguments are certified as well.

            ``twice``: two executions in memory of other contents give the same bits. ``tiers``: segments give the bits
            of their instructions one by one. ``values``: results have the bits of the recording without passes and
            rolled loops. ``adjoint``: for random directions w and v, <J' w, v> by the program that is replayed
            equals <w, J v> by the other mode on the plain recording, within rounding.

        Raises
        ------
        CertificateError
            If a check fails: it names the first wrong instruction, its line, and settings that are right.
        UnsupportedError
            If a call with these arguments is not one replay.

        Notes
        -----
        A random direction finds a wrong derivative whichever element it is in, but for its rounding: a relative error
        below 1.5e-8 of the whole (of float32 3.5e-4) is not seen. Where derivatives are not finite, at a kink, or
        where rounding the inputs changes them as much, nothing can be told; the note says so. Both modes could share a
        mistake: `tapegrad.check_grads` compares with differences of the function itself.

        Examples
        --------
        >>> import numpy as np, tapegrad as tg
        >>> f = tg.jit(lambda x: tg.sum(tg.sin(x) * x[0]))
        >>> [check.name for check in tg.grad(f).certificate(np.ones(3))]
        ['twice', 'values', 'adjoint']
        """
        replayed, owner = self._observed("certificate", args, kwargs)
        trace, specs = replayed.trace, derivatives_of(replayed.spec, replayed.trace)
        parts = [certify(owner, trace, replayed.arguments, spec) for spec in specs]
        return parts[0] if len(parts) == 1 else joined(_title(self), parts)

    @hides_frames
    def profile(self, *args: Any, **kwargs: Any) -> Profile:
        """List the times of the instructions and segments that a call with these arguments replays.

        Parameters
        ----------
        *args, **kwargs
            Arguments of the function: arrays, numbers, and structures of them.

        Returns
        -------
        Profile
            A tuple of records with the fields `name`, `direction`, `instructions`, `lines` and `ns` (nanoseconds in one
            replay), in the order of execution; printed, it is three tables: by row, by source line and by op. Its
            `measured` is the time of the plain replay, to which the sum of all rows, `total`, comes close; `call` is
            that of a whole call, and `compared` that of the comparisons in it.

        Raises
        ------
        UnsupportedError
            If the call runs no replay by itself: a function that is not jitted, a pullback, a compiled function.

        Notes
        -----
        The function is run once more to find its source lines, and called a few times. If another run records other
        instructions, no lines are known, and the table by line says so. Rows are timed on a workspace of their own, on
        the threads of a replay. The title says whether the program is fused, or not yet.

        Examples
        --------
        >>> import numpy as np, tapegrad as tg
        >>> f = tg.jit(lambda x: tg.sum(tg.exp(x) @ tg.sin(x)), fuse=False)
        >>> profile = f.profile(np.ones(3))
        >>> [row.name for row in profile][1:3]
        ['exp', 'sin']
        """
        replayed, owner = self._observed("profile", args, kwargs)
        lines = _lines(replayed, owner)
        call = functools.partial(cast(Any, self), *args, **kwargs)
        times = _time_call(call, _states(self._recorder()))
        if described_arguments((*args, *kwargs.values())) is None:
            times = times._replace(hint=_BY_PYTHON)
        return profiled(_title(self), replayed, lines, times, *_repeats(owner.log))

    def _observed(self, what: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Replayed, Any]:
        """Make a call that is one replay. Return that, and the function that was recorded for it."""
        recorder = self._recorder()
        if recorder is None:
            raise UnsupportedError(
                f"{what}: {_title(self)} is run at each call, not replayed; write tg.jit around the innermost function"
            )
        with observing() as found:
            self._run_observed(args, kwargs)
        owners = {id(trace): owner for owner, trace in recorder.traces.owned()}
        if len(found) != 1 or id(found[0].trace) not in owners:
            raise UnsupportedError(
                f"{what}: a call of {_title(self)} with these arguments is not one replay; write it of the function"
                " inside, or its grad, value_and_grad, jacobian, hessian or hvp, with arrays and numbers"
            )
        return found[0], owners[id(found[0].trace)]

    def _run_observed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Call the function by Python, which notes replays where they are observed, if a call is one replay."""


class Reporting(Protocol):
    """A function with reports, for type checkers."""

    def watched(self) -> Watched: ...

    @overload
    def explain(self) -> Recordings: ...
    @overload
    def explain(self, *args: Any, **kwargs: Any) -> Explanation: ...

    def profile(self, *args: Any, **kwargs: Any) -> Profile: ...


class ReportingFunction(Reporting, Protocol[Result]):
    """Callable that transforms return, for type checkers."""

    def __call__(self, *args: Any, **kwargs: Any) -> Result: ...


def _family(recorder: Any) -> Iterator[Any]:
    """Yield a recorded function and its recorded transforms."""
    yield recorder
    for each in list(recorder.derived.values()):
        yield from _family(each)


def _states(recorder: Any) -> "list[CapturedState]":
    """Return what is compared before a replay: what the function sees, by itself and through its arguments."""
    own = [member.captured for member in _family(recorder) if member.captured is not None]
    states = [max(own, key=lambda state: len(state.reach.references))] if own else []
    return [*states, *_of_arguments(recorder)]


def _time_call(call: Callable[[], object], states: "list[CapturedState]") -> CallTimes:
    """Measure a call, and the comparisons of captured state in it: the fastest of some rounds."""
    first = nanoseconds(call, _LONG_NS)
    rounds = int(min(_ROUNDS_NS / first + 1, _MAX_ROUNDS))
    times = [first, *(nanoseconds(call, _LONG_NS) for _ in range(rounds))]
    return CallTimes(min(times), sum(nanoseconds(state.holds) for state in states))


def _lines(replayed: Replayed, owner: Any) -> SourceLines:
    """Record a function, `owner`, once more for the source lines of its instructions."""
    return lines_of(replayed.trace, lambda: Trace(owner.function, replayed.arguments, owner.fuse))


def _names(replayed: Replayed, owner: Any) -> Names:
    """Return the names of the arrays that a recorded function, `owner`, gets and sees."""
    arguments = replayed.arguments
    leaves = zip(names_of_leaves(arguments), arguments.positions, strict=True)
    seen = owner.traces.specializations(owner, arguments.recording_key).captured or owner.captured
    return Names([name for name, position in leaves if position >= 0], seen.reach.named_arrays)


def _repeats(log: RecordingLog) -> list[str]:
    """Say how often a function was recorded, if more than once."""
    if log.count < 2:
        return []
    return [
        f"the function was recorded {log.count} times, the latest because: {log.reason}; explain() lists the recordings"
    ]


def _of_arguments(recorder: Any) -> "list[CapturedState]":
    """Return what the function sees through objects among its arguments, for all signatures."""
    signatures = {id(found): found for found in recorder.traces.signatures()}
    return [found.captured for found in signatures.values() if found.captured is not None]


def _title(function: Any) -> str:
    """Name a function as it is written."""
    inner = getattr(function, "function", None)
    if not isinstance(function, Reports) or inner is None:
        return name_of(function)
    kind = getattr(type(function), "name", None)
    return _title(inner) if kind is None else f"{kind}({_title(inner)})"
