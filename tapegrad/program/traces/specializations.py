"""Specializations of a function for one signature: which of its recordings serves a call."""

from collections.abc import Callable
from typing import Any

from tapegrad.program.captured.captured_state import CapturedState
from tapegrad.program.recording.guards import SourceLine
from tapegrad.program.traces.trace import Trace

Results = tuple[Trace, list[Any]]  # the recording that was replayed, and the arrays of its results


class Specializations:
    """Recordings of a function for one signature: one for each outcome of its guards.

    Parameters
    ----------
    key
        The function and its cache key; `None` where they are in no cache.
    same_state
        Whether they were recorded with the same captured state. Then guards that have seen the same compare the same.

    Attributes
    ----------
    traces
        The last used one first. A change makes a new list: other threads may go through the old one.
    captured
        What the function sees through objects among its arguments; `None` if there are none.
    """

    __slots__ = ("_same_state", "captured", "key", "traces")

    def __init__(self, key: Any = None, same_state: bool = True) -> None:
        self.key, self._same_state = key, same_state
        self.traces: list[Trace] = []
        self.captured: CapturedState | None = None

    def put_first(self, trace: Trace) -> None:
        """Have a recording, which may be a new one, tried first."""
        self.traces = [trace, *[other for other in self.traces if other is not trace]]

    def remove(self, trace: Trace) -> None:
        """Let go of a recording."""
        self.traces = [other for other in self.traces if other is not trace]

    def replay(
        self,
        run: Callable[[Trace], tuple[list[Any] | None, int]],
        reordered: bool,
        failed: dict[Trace, SourceLine],
    ) -> Results | None:
        """Replay the recording whose guards hold. Return `None` if there is none.

        Parameters
        ----------
        run
            Replays one of them. Returns the arrays of its results, or `None` and the guard that did not hold.
        reordered
            Whether arguments are in another order in memory than C.
        failed
            The guard that did not hold, for each recording that was tried: these are passed over. It is added to.
        """
        refuted: list[tuple[bytes, ...]] = []
        for trace in self.traces:
            if trace in failed:
                continue
            trace.recording.check_memory_order(reordered)
            prefix = _common(trace.outcomes, refuted) if refuted else None
            if prefix is None:
                results, stopped = run(trace)
                if results is not None:
                    return trace, results
                if stopped < 0:  # in a loop: that of another recording may have further operands
                    failed[trace] = _IN_A_LOOP
                    continue
                prefix = trace.outcomes[: stopped + 1]
                if self._same_state:
                    refuted.append(prefix)
            failed[trace] = trace.recording.guard_lines[len(prefix) - 1]
        return None


_IN_A_LOOP = SourceLine("", 0, "a branch that an iteration of a loop takes")


def _common(outcomes: tuple[bytes, ...], prefixes: list[tuple[bytes, ...]]) -> tuple[bytes, ...] | None:
    """Return the first of some prefixes that the outcomes of guards begin with, or `None`."""
    for prefix in prefixes:
        if outcomes[: len(prefix)] == prefix:
            return prefix
    return None
