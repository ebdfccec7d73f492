"""`detect_anomaly`: find the instruction that first produced a nan or an inf."""

import linecache
from collections.abc import Iterator
from contextlib import ContextDecorator, contextmanager
from typing import Any

import numpy as np

from tapegrad.engine.tape.memory import D_BUFFER
from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.errors import AnomalyError
from tapegrad.frontend.tensor.arrays import show
from tapegrad.frontend.tensor.description import SlotDescription
from tapegrad.frontend.tensor.modes import Mode, ModeChange, thread
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.frontend.words.frames import program_frame

_BEFORE = "  recorded before detect_anomaly() was entered"


class detect_anomaly(ModeChange, ContextDecorator):
    """Context manager and decorator that raises where a nan or an inf first appears, in the calling thread.

    Primals, tangents and cotangents are looked at. The error names the op and the line of the program that
    recorded it. Inside, the result of every instruction is looked at, functions made by `jit` are run instead of
    replayed, and reverse sweeps are made instruction by instruction in Python: this is slow, and meant for finding
    a fault.

    Raises
    ------
    AnomalyError
        Where a result, a tangent or a contribution to a cotangent is not finite.

    Notes
    -----
    A result that is infinite on purpose, to be masked afterwards, is an anomaly as well. As elsewhere, a zero
    cotangent contributes zero through an infinite partial, which is no anomaly.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, 0.0])
    >>> with tg.detect_anomaly():
    ...     tg.log(x)
    Traceback (most recent call last):
        ...
    tapegrad.errors.AnomalyError: log gave -inf at index (1,), of shape (2,)
      recorded in <module> at ...: tg.log(x)
    """

    _arguments = ("anomaly",)

    def __reduce__(self) -> Any:
        return detect_anomaly, ()

    def _recreate_cm(self) -> "detect_anomaly":
        return detect_anomaly()

    def _change(self, mode: Mode) -> Mode:
        return mode.but(anomaly=Watch())


class Watch:
    """Record of the instructions of a thread that looks for anomalies.

    Attributes
    ----------
    deriving
        Source line of the instruction whose derivative is being computed; `None` while functions run.
    """

    def __init__(self) -> None:
        self._recorded: dict[tuple[int, int], tuple[str, str]] = {}  # name of the op, and the source line
        self.deriving: str | None = None

    def recorded(self, tape: Any, slot: int, name: str) -> None:
        """Check a result that has just been recorded."""
        source = _source() if self.deriving is None else self.deriving
        self._recorded[id(tape), _buffer(tape, slot)] = name, source
        if self.deriving is None:
            array = show(tape, slot, False)
            if array is not None:
                _check(array, f"{name} gave", source)

    def _of(self, tape: Any, slot: int) -> tuple[str, str]:
        """Return the op of the instruction with a result slot, and its source line."""
        return self._recorded.get((id(tape), _buffer(tape, slot)), ("an op", _BEFORE))

    def derived(self, tape: Any, slot: int, value: Any, what: str) -> None:
        """Check a tangent, or the contribution to a cotangent of the instruction with a result slot.

        `what` describes it, with ``{}`` for the name of the op.
        """
        array = value.data_or_traced() if is_tensor(value) else np.asarray(value)
        name, source = self._of(tape, slot)
        _check(array, f"{what.format(name)} is", source)

    @contextmanager
    def differentiating(self, tape: Any, slot: int) -> Iterator[None]:
        """Check only the outcome while the derivative of the instruction with a result slot is computed."""
        outer, self.deriving = self.deriving, self._of(tape, slot)[1]
        try:
            yield
        finally:
            self.deriving = outer


def _buffer(tape: Any, slot: int) -> int:
    return SlotDescription(tape.header, slot)[D_BUFFER]


def watch(tape: Any, slot: int, name: str) -> None:
    """Check a result, if this thread is in `detect_anomaly`."""
    anomaly = thread.mode.anomaly
    if anomaly is not None and slot >= 0:
        anomaly.recorded(tape, slot, name)


def watching() -> Watch | None:
    """Return the watch of this thread; None outside of `detect_anomaly`."""
    anomaly: Watch | None = thread.mode.anomaly
    return anomaly


def _check(array: np.ndarray, what: str, source: str) -> None:
    """Raise if an element of an array is not finite."""
    if array.dtype.kind not in DIFFERENTIABLE_KINDS or np.isfinite(array).all():
        return
    index = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
    at_index = f" at index {index}" if index else ""
    raise AnomalyError(f"{what} {array[index]}{at_index}, of shape {array.shape}\n{source}")


def _source() -> str:
    """Return the source line that is being executed: the innermost frame outside of this package and NumPy."""
    frame = program_frame()
    if frame is None:
        return "  recorded by tapegrad itself"
    name, line = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(name, line, frame.f_globals).strip()
    said = f": {text}" if text else ""
    return f"  recorded in {frame.f_code.co_name} at {name}, line {line}{said}"
