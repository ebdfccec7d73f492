"""The exceptions and warnings of the library."""

from collections.abc import Callable
from typing import Any


class DeferredText:
    """Text of an error that is made when it is printed: many errors are caught, and never read.

    Parameters
    ----------
    make : callable
        Returns the text. It is called once.
    """

    def __init__(self, make: Callable[[], str]) -> None:
        self._make: Callable[[], str] | None = make
        self._text = ""

    def __str__(self) -> str:
        if self._make is not None:
            self._text, self._make = self._make(), None
        return self._text

    def __repr__(self) -> str:
        return repr(str(self))

    def __reduce__(self) -> Any:
        return str, (str(self),)


class AnomalyError(FloatingPointError):
    """Raised by `detect_anomaly` where a value is not finite."""


class FreedGraphError(RuntimeError):
    """Raised where a reverse sweep reaches a part of the graph that an earlier one has released."""


class IllegalTapeError(RuntimeError):
    """Raised where a tape breaks a rule that the sweeps rely on: a fault of tapegrad, or of writes to its columns."""


class CertificateError(RuntimeError):
    """Raised where a derivative disagrees with its certificate: the same numbers, found in another way.

    It is a fault of tapegrad or of a custom op, and the derivative would be wrong.
    """


class ChangedValueError(RuntimeError):
    """Raised by checks where a reverse sweep would read contents that were written to since they were used."""


class TracedValueError(TypeError):
    """Raised where a number or array is asked of a value that is being recorded, or differentiated by a transform."""


class LostGradientWarning(UserWarning):
    """Warns that a Tensor was converted to a plain number, through which no gradient flows."""


class InconclusiveError(RuntimeError):
    """Raised by `check_grads` where nothing is wrong, but some derivative could not be confirmed by numbers."""


class OuterTensorError(TracedValueError):
    """Raised where a function that is being recorded uses a Tensor that is differentiated or recorded around it."""


class EndedRecordingError(TracedValueError):
    """Raised where the value of a Tensor is needed whose recording has ended."""


class UnreachedOutputError(RuntimeError):
    """Raised by derivatives of what a solver has not reached, because it could not go on, or was ended."""


class NotConvergedError(UnreachedOutputError):
    """Raised by derivatives of a solution or a minimum that was not found."""


class NoModeError(RuntimeError):
    """Raised where random effects are asked for whose joint density has no mode, or none that was found."""


class UnsupportedError(TypeError):
    """Raised for a NumPy function, an argument or a dtype that tapegrad does not support."""


class NoForwardModeError(UnsupportedError):
    """Raised where a forward sweep reaches a custom op that has no `jvp`."""


class DensePatternError(ValueError):
    """Raised where a sparse derivative is asked for, and nearly every element depends on nearly every input.

    Or where that is not found out: of functions that compute with complex numbers.
    """


class GrownStructureError(RuntimeError):
    """Raised where a branch that a function has not taken before has derivatives outside of the structure so far."""


class UnrecordedWayError(RuntimeError):
    """Raised by a compiled function that would take a branch that none of its examples took."""


class RecordingWarning(UserWarning):
    """Warns that `jit` gains nothing: a function is recorded again and again, or never, or its checks take longest.

    It is not recorded if it is called with Tensors that a gradient may be asked of. The checks compare what it sees.
    """


def name_of(function: Any) -> str:
    """Return what a message calls a function of the user's."""
    return str(getattr(function, "__qualname__", None) or repr(function))


def check_function(name: str, function: Any) -> None:
    """Refuse what cannot be called where `tapegrad.<name>` takes a function.

    Raises
    ------
    TypeError
        Says what was given, and what to write.
    """
    if not callable(function):
        raise TypeError(
            f"{name} takes a function, but was given {type(function).__name__} {function!r:.40}: pass f itself, not its"
            " value f(x)"
        )
