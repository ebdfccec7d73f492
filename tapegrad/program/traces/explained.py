"""Explanations of a function's recordings: their guards, and why each of them was made."""

from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from typing import Any, NamedTuple

from tapegrad.program.traces.listing import Listing

_FIRST_SHOWN = 5  # of more recordings than are printed; the others are the latest


class ExplainedRecording(NamedTuple):
    """A recording of a function, as `explain` lists it.

    Attributes
    ----------
    number : int
        How many were made of the function when this one was, itself included.
    of : str
        The function that was recorded: ``f``, or a transform of it, ``grad(f)``.
    signature : str
        What the arguments look like that it is replayed for.
    guards : tuple of str
        What each replay checks, by lines of the program.
    reason : str
        Why it was made.
    instructions : int
        How long its tape is.
    """

    number: int
    of: str
    signature: str
    guards: tuple[str, ...]
    reason: str
    instructions: int


class Recordings(Listing[ExplainedRecording]):
    """The recordings that a function has, in the order in which they were made."""

    def _head(self) -> tuple[str, ...]:
        return "number", "of", "signature", "instructions", "guards", "reason"

    def _cells(self, record: ExplainedRecording) -> tuple[str, ...]:
        counts = [
            str(record.number),
            record.of,
            record.signature,
            f"{record.instructions:,}",
            str(len(record.guards)),
        ]
        return (*counts, record.reason)

    def _rows(self) -> list[tuple[str, ...]]:
        head, *rows = super()._rows() or [()]
        left = len(self) - self.most_shown
        gap = [("...", f"{left:,} more", *[""] * 4)] if left > 0 else []
        return [head, *rows[:_FIRST_SHOWN], *gap, *rows[_FIRST_SHOWN:]] if rows else []

    def _shown(self) -> list[ExplainedRecording]:
        """Return the first recordings and the latest ones."""
        latest = self.most_shown - _FIRST_SHOWN
        return list(self) if len(self) <= self.most_shown else [*self[:_FIRST_SHOWN], *self[-latest:]]

    def _below(self) -> list[str]:
        """Return the guards, those of recordings that have the same in one line."""
        counted = [(_counted(record.guards), record.number) for record in self]
        lines = [
            f"  {_range([number for _, number in group])}: {text}"
            for text, group in groupby(counted, key=lambda each: each[0])
            if text
        ]
        more = len(lines) - self.most_shown
        if more > 0:
            lines[_FIRST_SHOWN : _FIRST_SHOWN + more] = [f"  ... {more:,} more"]
        return [*(["guards", *lines] if lines else []), *self.notes]


def explained(name: str, found: Iterable[tuple[str, Any]], count: int, unrecorded: int = 0) -> Recordings:
    """List recordings, each with the name of its function, of `count` that were made.

    `unrecorded` calls had Tensors, and ran the function.
    """
    kept = sorted((each for each in found if each[1].told is not None), key=lambda each: each[1].number)
    records = [recording_of(of, trace) for of, trace in kept]
    number = f"{len(records)} recording{'s' * (len(records) != 1)}"
    gone = f", of {count} that were made" if count > len(records) else ""
    calls = f"{unrecorded:,} call{'s' * (unrecorded != 1)}"
    beside = f"; {calls} had Tensors and ran unrecorded" if unrecorded else ""
    listing: Recordings = Recordings.of(records, f"{name} has {number}{gone}{beside}")
    return listing


def recording_of(of: str, trace: Any) -> ExplainedRecording:
    """Explain a recording of a function, `of`."""
    signature, reason = trace.told
    guards = tuple(map(str, trace.recording.guard_lines))
    return ExplainedRecording(trace.number, of, signature, guards, reason, len(trace.recording))


def _counted(guards: Iterable[str]) -> str:
    return "; ".join(f"{text} ({n} times)" if n > 1 else text for text, n in Counter(guards).items())


def _range(numbers: list[int]) -> str:
    first, last = numbers[0], numbers[-1]
    if last - first + 1 == len(numbers):
        return f"{first}-{last}" if len(numbers) > 1 else str(first)
    return f"{first} to {last} ({len(numbers)} recordings)"
