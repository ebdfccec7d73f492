"""The traces that a function keeps: the last used ones, within a bound of memory."""

import warnings
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from tapegrad.engine.runtime.fork_locks import lock
from tapegrad.errors import RecordingWarning
from tapegrad.frontend.words.frames import program_level
from tapegrad.program.traces.specializations import Specializations
from tapegrad.program.traces.trace import Trace

MEMORY = 256 << 20  # bytes for the recordings of a function and of its transforms
MAX_TRACES = 256  # recordings of one signature: beyond this, the one used longest ago goes


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
    unrecorded
        How many calls with Tensors ran the function instead of a recording.
    """

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self._signatures: dict[Any, Specializations] = {}
        self._order: OrderedDict[Trace, Specializations] = OrderedDict()  # the latest used last
        self.bytes = self.count = 0
        self.told: set[Any] = set()
        self.unrecorded = 0
        self._lock = lock()

    def __iter__(self) -> Iterator[Trace]:
        return iter(tuple(self._order))

    def owned(self) -> list[tuple[Any, Trace]]:
        """Return all recordings, each with the function that it is of."""
        return [(found.key[0], trace) for trace, found in tuple(self._order.items())]

    def signatures(self) -> list[Specializations]:
        """Return the specializations of each signature that there are recordings for."""
        return list(self._order.values())

    def specializations(self, owner: Any, key: Any) -> Specializations:
        """Return the recordings of a function for a signature."""
        found = self._signatures.get((owner, key))
        if found is None:
            found = self._signatures.setdefault((owner, key), Specializations((owner, key)))
        return found

    def used(self, trace: Trace, specializations: Specializations) -> None:
        """Note that a recording was replayed: it is the last to go."""
        if trace in self._order:
            try:
                self._order.move_to_end(trace)
            except KeyError:  # another thread has let it go
                return
        with self._lock:
            traces = specializations.traces
            if traces and traces[0] is not trace and trace in traces:
                specializations.put_first(trace)
            if trace.bytes != trace.counted:
                self._count(trace)

    def add(self, trace: Trace, specializations: Specializations) -> None:
        """Keep a recording, and let go of others where there is no room."""
        with self._lock:
            self.count += 1
            trace.number = self.count
            specializations.put_first(trace)
            self._signatures[specializations.key] = specializations
            self._order[trace] = specializations
            self._count(trace)
            if len(specializations.traces) > MAX_TRACES:
                self._let_go(specializations.traces[-1])

    def _count(self, trace: Trace) -> None:
        """Take up what a recording has come to occupy."""
        if trace not in self._order:
            return
        self.bytes += trace.bytes - trace.counted
        trace.counted = trace.bytes
        while self.bytes > self.memory and len(self._order) > 1:
            self._let_go(next(iter(self._order)))

    def _let_go(self, trace: Trace) -> None:
        specializations = self._order.pop(trace)
        self.bytes -= trace.counted
        trace.counted = 0
        specializations.remove(trace)
        if not specializations.traces:
            self._signatures.pop(specializations.key, None)

    def drop(self, owner: Any) -> None:
        """Let go of all recordings of a function."""
        with self._lock:
            for trace, specializations in list(self._order.items()):
                if specializations.key[0] is owner:
                    self._let_go(trace)

    def drop_signature(self, specializations: Specializations) -> None:
        """Let go of the recordings for a signature."""
        with self._lock:
            for trace in specializations.traces:
                self._let_go(trace)

    def __reduce__(self) -> Any:
        return TraceCache, (self.memory,)

    # --- what is told, once ------------------------------------------------------------------------------------

    def tell_of_branches(self, name: str, specializations: Specializations) -> None:
        """Tell of a function that is about to lose recordings of branches."""
        if len(specializations.traces) >= MAX_TRACES:
            self.tell_once(
                "traces",
                f"{name} took {MAX_TRACES} different branches for one signature, and those used longest ago are"
                " recorded anew: int() or a mask of a value that changes with every call does that, or an array of the"
                " closure that plain NumPy computes from. Select with where() instead of branching, and pass what"
                " changes as an argument",
            )

    def tell_once(self, what: Any, message: str) -> None:
        """Warn of something that was not told yet."""
        if what not in self.told:
            self.told.add(what)
            warnings.warn(message, RecordingWarning, stacklevel=program_level())
