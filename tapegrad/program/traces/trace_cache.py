"""The traces that a function keeps: the last used ones, within a bound of memory."""

import warnings
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from tapegrad.engine.runtime.fork_locks import lock
from tapegrad.errors import RecordingWarning, name_of
from tapegrad.frontend.words.frames import program_level
from tapegrad.program.captured.captured_state import CapturedState
from tapegrad.program.recording.signature import Arguments
from tapegrad.program.traces.trace import Trace

MEMORY = 256 << 20  # bytes for the recordings of a function and of its transforms
MAX_TRACES = 256  # recordings of one signature: beyond this, the one used longest ago goes
MAX_INTEGER_RECORDINGS = 16  # recordings that differ in nothing but an integer, before that is told


class Signature:
    """The traces of one signature of a function: one for each outcome of its guards.

    Attributes
    ----------
    traces
        The last used one first.
    captured
        What the function sees through objects among its arguments; `None` if there are none.
    """

    __slots__ = ("captured", "key", "traces")

    def __init__(self, key: Any) -> None:
        self.key = key
        self.traces: list[Trace] = []
        self.captured: CapturedState | None = None


class TraceCache:
    """Cache of all recordings of a function and of its transforms.

    Parameters
    ----------
    memory
        Bytes that they may take; the latest is kept in any case.

    Attributes
    ----------
    bytes
        Bytes that they take.
    count
        How many were made.
    told
        What was told of them.
    """

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self._signatures: dict[Any, Signature] = {}
        self._order: OrderedDict[Trace, Signature] = OrderedDict()  # the latest used last
        self.bytes = self.count = 0
        self._patterns: dict[Any, int] = {}
        self.told: set[str] = set()
        self._lock = lock()

    def __iter__(self) -> Iterator[Trace]:
        return iter(tuple(self._order))

    def owned(self) -> list[tuple[Any, Trace]]:
        """Return all recordings, each with the function that it is of."""
        return [(signature.key[0], trace) for trace, signature in tuple(self._order.items())]

    def signatures(self) -> list[Signature]:
        """Return the signatures that there are recordings for."""
        return list(self._order.values())

    def signature(self, owner: Any, key: Any) -> Signature:
        """Return the recordings for a signature of a function."""
        found = self._signatures.get((owner, key))
        if found is None:
            found = self._signatures.setdefault((owner, key), Signature((owner, key)))
        return found

    def used(self, trace: Trace, signature: Signature) -> None:
        """Note that a recording was replayed: it is the last to go."""
        if trace in self._order:
            try:
                self._order.move_to_end(trace)
            except KeyError:  # another thread has let it go
                return
        traces = signature.traces
        with self._lock:
            if traces and traces[0] is not trace and trace in traces:
                traces.remove(trace)
                traces.insert(0, trace)
            if trace.bytes != trace.counted:
                self._count(trace)

    def add(self, trace: Trace, signature: Signature) -> None:
        """Keep a recording, and let go of others where there is no room."""
        with self._lock:
            self.count += 1
            trace.number = self.count
            signature.traces.insert(0, trace)
            self._signatures[signature.key] = signature
            self._order[trace] = signature
            self._count(trace)
            if len(signature.traces) > MAX_TRACES:
                self._let_go(signature.traces[-1])

    def _count(self, trace: Trace) -> None:
        """Take up what a recording has come to occupy."""
        if trace not in self._order:
            return
        self.bytes += trace.bytes - trace.counted
        trace.counted = trace.bytes
        while self.bytes > self.memory and len(self._order) > 1:
            self._let_go(next(iter(self._order)))

    def _let_go(self, trace: Trace) -> None:
        signature = self._order.pop(trace)
        self.bytes -= trace.counted
        trace.counted = 0
        if trace in signature.traces:
            signature.traces.remove(trace)
        if not signature.traces:
            self._signatures.pop(signature.key, None)

    def drop(self, owner: Any) -> None:
        """Let go of all recordings of a function."""
        with self._lock:
            for trace, signature in list(self._order.items()):
                if signature.key[0] is owner:
                    self._let_go(trace)

    def drop_signature(self, signature: Signature) -> None:
        """Let go of the recordings for a signature."""
        with self._lock:
            for trace in tuple(signature.traces):
                self._let_go(trace)

    def __reduce__(self) -> Any:
        return TraceCache, (self.memory,)

    # --- what is told, once ------------------------------------------------------------------------------------

    def tell(self, owner: Any, arguments: Arguments, signature: Signature) -> None:
        """Tell of a function that is recorded again and again."""
        name = name_of(owner.function)
        if len(signature.traces) >= MAX_TRACES:
            self.tell_once(
                "traces",
                f"{name} took {MAX_TRACES} different branches for one signature, and those used longest ago are"
                " recorded anew: int() or a mask of a value that changes with every call does that, or an array of the"
                " closure that plain NumPy computes from. Select with where() instead of branching, and pass what"
                " changes as an argument",
            )
        pattern = arguments.pattern
        if pattern is None:
            return
        count = self._patterns[owner, pattern] = self._patterns.get((owner, pattern), 0) + 1
        if count >= MAX_INTEGER_RECORDINGS:
            self.tell_once(
                "integers",
                f"{name} was recorded {count} times for arguments that differ in nothing but an integer. Name it in"
                " static_argnums if it takes few values; otherwise pass it as an array, np.asarray(n), or as a float",
            )

    def tell_once(self, what: str, message: str) -> None:
        """Warn of something that was not told yet."""
        if what not in self.told:
            self.told.add(what)
            warnings.warn(message, RecordingWarning, stacklevel=program_level())
