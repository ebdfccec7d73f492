"""The exceptions and warnings of the library."""

from typing import Any


class AnomalyError(FloatingPointError):
    """A value that is not finite, found by `detect_anomaly`."""


class FreedGraphError(RuntimeError):
    """A reverse sweep came to a part of the graph that an earlier one has released."""


class IllegalTapeError(RuntimeError):
    """A tape breaks a rule that the sweeps rely on: a fault of the engine, or of whoever wrote into the columns."""


class ChangedValueError(RuntimeError):
    """A reverse sweep would read contents that were written to since they were computed with; found by checks only."""


class TracedValueError(TypeError):
    """A value of a recording, or of a function that is being differentiated, was asked for as a number or array."""


class LostGradientWarning(UserWarning):
    """A Tensor was converted to a plain number, through which no gradient flows."""


class InconclusiveError(RuntimeError):
    """`check_grads` found nothing wrong, but some derivative that no numbers can confirm."""


class OuterTensorError(TracedValueError):
    """A function that is being recorded uses a Tensor that is differentiated, or recorded, around it."""


class UnsupportedError(TypeError):
    """A NumPy function, an argument or a dtype that tapegrad does not differentiate."""


class NoForwardModeError(UnsupportedError):
    """A forward sweep came to an op of the user's that has no `jvp`."""


class RecordingWarning(UserWarning):
    """A function is recorded anew again and again, where a replay was meant."""


def name_of(function: Any) -> str:
    """What a message calls a function of the user's."""
    return str(getattr(function, "__qualname__", None) or repr(function))
