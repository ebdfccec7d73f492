"""Explanations of a function's recordings: their guards, and why each of them was made."""

import reprlib
from collections import Counter, deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from tapegrad.program.recording.signature import Arguments
from tapegrad.program.traces.listing import Listing
from tapegrad.pytree import paths, unflatten

_FIRST = "first call"
_STRUCTURE = "another structure of arguments"
_DROPPED = "an earlier recording was dropped: 256 for a signature, or the memory of jit(f, memory=...), were exceeded"
_MAX_REPORTS = 32  # earlier signatures that a new one is compared with


class ArgumentReport(NamedTuple):
    """A leaf of the arguments as a signature has it: its name, its shape and dtype or else its value."""

    name: str
    shape: str
    dtype: str

    @property
    def form(self) -> str:
        """Shape and dtype, or the value."""
        return f"{self.shape} {self.dtype}".strip()

    def __str__(self) -> str:
        return f"{self.name}: {self.form}"


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

    def _below(self) -> list[str]:
        guards = [f"  {record.number}: {_counted(record.guards)}" for record in self if record.guards]
        return [*super()._below(), *(["guards", *guards] if guards else [])]


class RecordingLog:
    """Log of the reasons for the recordings of a function.

    Attributes
    ----------
    count
        How many recordings were made so far.
    changed
        What the function sees otherwise than its last recording has; `None` if nothing is known to have changed.
    """

    def __init__(self) -> None:
        self.count = 0
        self.changed: str | None = None
        self._reports: deque[list[ArgumentReport]] = deque(maxlen=_MAX_REPORTS)
        self._signatures: set[Any] = set()

    def note(self, arguments: Arguments, failed: object) -> tuple[str, str]:
        """Note a recording: return its signature, and why it is made.

        Parameters
        ----------
        arguments
            What it is made for.
        failed
            The guard that did not hold in the last recording that was tried; `None` if none was tried.
        """
        reports = _reports_of(arguments)
        reason = self.changed or self._reason(arguments.key, reports, failed)
        self.count, self.changed = self.count + 1, None
        self._reports.append(reports)
        self._signatures.add(arguments.key)
        return ", ".join(map(str, reports)) or "no arguments", reason

    def _reason(self, key: Any, reports: list[ArgumentReport], failed: object) -> str:
        if failed is not None:
            return f"guard failed: {failed}"
        if self.count == 0:
            return _FIRST
        if key in self._signatures:
            return _DROPPED
        return min((_differences(before, reports) for before in reversed(self._reports)), key=len)[0]


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


def _reports_of(arguments: Arguments) -> list[ArgumentReport]:
    """Name the leaves of the arguments, and say what they look like."""
    args, kwargs = unflatten(arguments.definition, list(range(len(arguments.leaves))))
    names = [f"argument {k}{path}" for k, arg in enumerate(args) for path in paths(arg)]
    names += [f"{name}{path}" for name in sorted(kwargs) for path in paths(kwargs[name])]
    reports = [_report(arguments, k) for k in range(len(arguments.leaves))]
    return [ArgumentReport(name, *report) for name, report in zip(names, reports, strict=True)]


def _report(arguments: Arguments, k: int) -> tuple[str, str]:
    position = arguments.positions[k]
    if position < 0:
        return "", reprlib.repr(arguments.leaves[k])
    spec = arguments.arg_specs[position]
    return ("", "float") if spec.weak else (str(arguments.arrays[position].shape), str(spec.dtype))


def _differences(before: list[ArgumentReport], now: list[ArgumentReport]) -> list[str]:
    """Say in what one signature differs from another one: at first all of it in one line, then in how many leaves."""
    if [report.name for report in before] != [report.name for report in now]:
        return [_STRUCTURE] * (len(now) + 2)
    found = []
    for old, new in zip(before, now, strict=True):
        if old.shape != new.shape and old.dtype == new.dtype:
            found.append(f"{new.name}: shape {old.shape} -> {new.shape}")
        elif old != new:
            found.append(f"{new.name}: {old.form} -> {new.form}")
    return ["; ".join(found) or _STRUCTURE, *found]
