"""Guards of a recording: what must be the same in a replay, and the source line that has asked for it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad.autodiff.custom.functions import Functions
from tapegrad.autodiff.custom.op import CustomOp
from tapegrad.frontend.tensor.modes import no_grad
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.frames import line_text, program_frame


class SourceLine(NamedTuple):
    """A line of the user's program, or what is guarded beside it."""

    file: str
    line: int
    subject: str = "the contents of an array that plain NumPy has computed from"

    def __str__(self) -> str:
        return line_text(self.file, self.line) if self.file else self.subject


NOWHERE = SourceLine("", 0)


class Guard(NamedTuple):
    """A guard that is not recorded yet.

    Op and dtype code, slot, parameters and bytes of the guarded value, and the source line that asked for it.
    """

    code: int
    dtype: int
    slot: int
    params: Any
    outcome: bytes
    line: SourceLine


def here() -> SourceLine:
    """Return the line of the user's program that is executed now."""
    frame = program_frame()
    return NOWHERE if frame is None else SourceLine(frame.f_code.co_filename, frame.f_lineno)


def has_same_outcome(
    name: str, function: Callable[..., Any], operands: list[Tensor], outcome: Any
) -> tuple[Tensor, bytes]:
    """Record whether a function of arrays still gives an outcome: 1 where it does, by an op of its own.

    Returns that, and the content of the outcome.
    """
    seen = _content(outcome)

    def same(*arrays: np.ndarray) -> np.ndarray:
        return np.asarray(float(_content(function(*arrays)) == seen))

    with no_grad():
        return CustomOp(Functions(name, same, None, None))(*operands), seen


def _content(result: Any) -> bytes:
    """Return a key of the contents of a result: values, shapes and dtypes."""
    if isinstance(result, tuple | list):
        return repr([_content(each) for each in result]).encode()
    if isinstance(result, np.ndarray | np.generic):
        return f"{result.dtype.str} {result.shape} ".encode() + result.tobytes()
    return repr(result).encode()
