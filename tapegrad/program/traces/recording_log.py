"""Log of a function's recordings: why each of them was made, and how often for the same cause."""

import reprlib
from collections import Counter, deque
from typing import Any, NamedTuple

from tapegrad.program.captured.references import Captured
from tapegrad.program.recording.guards import SourceLine
from tapegrad.program.recording.signature import Arguments
from tapegrad.pytree import paths, unflatten

FIRST = "first call"
CAPTURED, OBJECT, GUARD, DROPPED, STRUCTURE = "captured", "object", "guard", "dropped", "structure"
SHAPE, FORM, INTEGER, STATIC, VALUE = "shape", "form", "integer", "static", "value"
_STRUCTURE = "another structure of arguments"
_DROPPED = "an earlier recording was dropped: 256 for a signature, or the memory of jit(f, memory=...), were exceeded"
_MAX_REPORTS = 32  # earlier signatures that a new one is compared with
_NUMBERS = (int, float, complex, str, bytes)


class ArgumentReport(NamedTuple):
    """A leaf of the arguments as a signature has it: its name, its kind, its shape and dtype or else its value.

    Its key differs where values do whose text is the same.
    """

    name: str
    kind: str
    shape: str
    dtype: str
    key: Any

    @property
    def form(self) -> str:
        """Shape and dtype, or the value."""
        return f"{self.shape} {self.dtype}".strip()

    def __str__(self) -> str:
        return f"{self.name}: {self.form}"


class Cause(NamedTuple):
    """Cause of a recording.

    Attributes
    ----------
    kind
        ``captured`` for a variable or a container, ``object`` for another captured object, ``guard``, ``dropped``,
        ``structure`` of the arguments; of one argument, ``shape``, ``form`` (dtype, dimensions), ``integer``,
        ``static`` (in `static_argnums`) or another ``value``.
    name
        What has changed: a captured reference, a guard's source line, an argument.
    change
        What it was, and what it is now; empty where the name says all.
    """

    kind: str
    name: str
    change: str = ""

    def __str__(self) -> str:
        match self.kind:
            case "captured" | "object":
                return f"{self.name} changed"
            case "guard":
                return f"guard failed: {self.name}"
            case "dropped":
                return _DROPPED
            case "structure":
                return _STRUCTURE
        return f"{self.name}: {'shape ' * (self.kind == SHAPE)}{self.change}"


class RecordingLog:
    """Log of the reasons for the recordings of a function.

    Attributes
    ----------
    count
        How many recordings were made so far.
    causes
        How many of them were made for a cause, by its kind and name.
    latest
        The causes of the last one.
    """

    def __init__(self) -> None:
        self.count = 0
        self.causes: Counter[tuple[str, str]] = Counter()
        self.latest: list[Cause] = []
        self._changed: Cause | None = None
        self._reports: deque[list[ArgumentReport]] = deque(maxlen=_MAX_REPORTS)
        self._signatures: set[Any] = set()

    @property
    def reason(self) -> str:
        """Reason for the last recording, in one line."""
        return "; ".join(map(str, self.latest)) or FIRST

    def note_change(self, change: Captured) -> None:
        """Note that the function sees something otherwise than its last recording has."""
        self._changed = Cause(OBJECT if _is_object(change) else CAPTURED, str(change))

    def note(self, arguments: Arguments, failed: SourceLine | None) -> tuple[str, str]:
        """Note a recording: return its signature, and why it is made.

        Parameters
        ----------
        arguments
            What it is made for.
        failed
            The guard that did not hold in the last recording that was tried; `None` if none was tried.
        """
        reports = _reports_of(arguments)
        self.latest = (
            [self._changed] if self._changed else self._causes(arguments.recording_key, reports, failed)
        )
        self.causes.update(cause[:2] for cause in self.latest)
        self.count, self._changed = self.count + 1, None
        self._reports.append(reports)
        self._signatures.add(arguments.recording_key)
        return ", ".join(map(str, reports)) or "no arguments", self.reason

    def _causes(self, key: Any, reports: list[ArgumentReport], failed: SourceLine | None) -> list[Cause]:
        if failed is not None:
            return [Cause(GUARD, str(failed))]
        if self.count == 0:
            return []
        if key in self._signatures:
            return [Cause(DROPPED, "")]
        alike = [before for before in reversed(self._reports) if _names(before) == _names(reports)]
        found = (_differences(before, reports) for before in alike)
        return min(found, key=len, default=[]) or [Cause(STRUCTURE, "")]


def _is_object(change: Captured) -> bool:
    """Return whether a captured reference that has changed is to what an argument could not carry without a recording.

    That is anything but numbers and text, arrays, and containers of these.
    """
    if change.kind in ("function", "class", "absence"):
        return True
    value = change.now() if change.now is not None and change.kind != "contents" else None
    held = value is None or isinstance(value, _NUMBERS) or hasattr(value, "__array__")
    return not (held or isinstance(value, list | tuple | dict))


def _reports_of(arguments: Arguments) -> list[ArgumentReport]:
    """Name the leaves of the arguments, and say what they look like."""
    return [ArgumentReport(name, *_report(arguments, k)) for k, name in enumerate(names_of_leaves(arguments))]


def names_of_leaves(arguments: Arguments) -> list[str]:
    """Return a name for each leaf of the arguments: ``argument 0``, ``argument 1['a']``, or its keyword."""
    args, kwargs = unflatten(arguments.definition, list(range(len(arguments.leaves))))
    names = [f"argument {k}{path}" for k, arg in enumerate(args) for path in paths(arg)]
    return names + [f"{name}{path}" for name in sorted(kwargs) for path in paths(kwargs[name])]


def _report(arguments: Arguments, k: int) -> tuple[str, str, str, Any]:
    position, key = arguments.positions[k], arguments.part(k)
    if position < 0:
        kind = STATIC if arguments.is_static(k) else INTEGER if type(arguments.leaves[k]) is int else VALUE
        return kind, "", reprlib.repr(arguments.leaves[k]), key
    spec = arguments.arg_specs[position]
    shape, dtype = ("", "float") if spec.weak else (str(arguments.arrays[position].shape), str(spec.dtype))
    return FORM, shape, dtype, key


def _names(reports: list[ArgumentReport]) -> list[str]:
    return [report.name for report in reports]


def _differences(before: list[ArgumentReport], now: list[ArgumentReport]) -> list[Cause]:
    """Return in which leaves a signature differs from another one with the same leaves."""
    found = []
    for old, new in zip(before, now, strict=True):
        if old.shape != new.shape and old.dtype == new.dtype:
            found.append(Cause(SHAPE, new.name, f"{old.shape} -> {new.shape}"))
        elif old != new:
            kind = new.kind if old.kind == new.kind else FORM
            change = f"{old.form} -> {new.form}" if old.form != new.form else f"another {new.form}"
            found.append(Cause(kind, new.name, change))
    return found
