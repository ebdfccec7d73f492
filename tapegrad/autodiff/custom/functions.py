"""A user's functions, called on arrays: what they are given, and what they may return."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from tapegrad.autodiff.custom.packing import Part
from tapegrad.engine.tape.tape import Tape
from tapegrad.errors import NoForwardModeError, UnsupportedError
from tapegrad.frontend.modes import EAGER, modes, recording, restoring, thread
from tapegrad.frontend.tensor import is_tensor

_NOT_APART = nullcontext()
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
Statics = Mapping[str, Any]


@dataclass(eq=False)
class Functions:
    """The functions of an op, under its name.

    Attributes
    ----------
    differentiable
        Whether `vjp` and `jvp` may be called with Tensors, to be differentiated in turn.
    """

    name: str
    forward: Callable[..., Any]
    vjp: Callable[..., Any] | None
    jvp: Callable[..., Any] | None
    differentiable: bool = False

    @restoring
    def call(self, role: str, *args: Any, statics: Statics) -> Any:
        """Call one of the functions. Its exceptions pass through, with a note that names the op."""
        function = self.on_arrays(role)
        if function is None:
            raise self.lacks(role)
        try:
            with _Apart() if modes.entered else _NOT_APART:
                return function(*args, **statics)
        except Exception as error:
            error.add_note(f"raised by the {role} of custom op {self.name!r}")
            raise

    def lacks(self, role: str) -> UnsupportedError:
        """The error that says that a derivative is missing."""
        mode, error = ("forward", NoForwardModeError) if role == "jvp" else ("reverse", UnsupportedError)
        return error(
            f"custom op {self.name!r} has no {role}, which {mode} mode asks for: custom_op(..., {role}=...)"
        )

    def on_arrays(self, role: str) -> Any:
        """A function that computes on arrays; of one that is a custom op, its forward."""
        function = getattr(self, role)
        return getattr(function, "on_arrays", function)

    def is_compiled(self, role: str) -> bool:
        """Whether a function is one of Numba's, which may write to what it is given and so is given copies."""
        return isinstance(self.on_arrays(role), Dispatcher)

    # --- what they return --------------------------------------------------------------------------------------

    def outputs(self, result: Any) -> tuple[list[np.ndarray], bool]:
        """The arrays that `forward` has returned, and whether it was a single one."""
        single = not isinstance(result, tuple | list)
        values = [result] if single else list(result)
        if not values:
            raise ValueError(f"custom op {self.name!r}: forward returned no arrays")
        return [self._output(k, value) for k, value in enumerate(values)], single

    def _output(self, k: int, value: Any) -> np.ndarray:
        array = self.as_array("forward", value)
        if array.dtype not in _FLOATS:
            raise TypeError(
                f"custom op {self.name!r}: output {k} of forward is {_described(value, array)}; return arrays of"
                " float64 or float32"
            )
        return array

    def expect(self, role: str, what: str, result: Any, parts: Sequence[Part]) -> list[np.ndarray]:
        """Arrays that a function has returned, if each is what it must be."""
        values = [result] if len(parts) == 1 and not isinstance(result, tuple | list) else result
        return [
            self._checked(role, f"{what} {k}", value, part)
            for k, (value, part) in enumerate(
                zip(self._counted(role, what, values, len(parts)), parts, strict=True)
            )
        ]

    def cotangents(self, result: Any, inputs: Sequence[Part]) -> list[np.ndarray | None]:
        """The cotangents of the float operands that `vjp` has returned; `None` where there is none."""
        values = [result] if len(inputs) == 1 and not isinstance(result, tuple | list) else result
        found: list[np.ndarray | None] = []
        values = self._counted("vjp", "cotangent", values, len(inputs))
        for k, (value, part) in enumerate(zip(values, inputs, strict=True)):
            if part.dtype.kind == "f":
                found.append(None if value is None else self._checked("vjp", f"cotangent {k}", value, part))
            elif value is not None:
                raise TypeError(
                    f"custom op {self.name!r}: input {k} is {part}, which has no gradient: vjp must return None for it"
                )
        return found

    def as_array(self, role: str, value: Any) -> np.ndarray:
        """What a function has returned as an array; a constant Tensor counts as what it holds."""
        if not is_tensor(value):
            return np.asarray(value)
        if not value.constant:
            raise TypeError(
                f"custom op {self.name!r}: {role} computed with a Tensor that a gradient flows back to, which is not"
                " an argument of the op, so that its gradient would be lost: pass it by position, or detach() it"
            )
        return value.data

    def _counted(self, role: str, what: str, values: Any, count: int) -> Sequence[Any]:
        if not isinstance(values, tuple | list):
            raise TypeError(
                f"custom op {self.name!r}: {role} returned {type(values).__name__} instead of a tuple of {count}"
                f" {what}s"
            )
        if len(values) != count:
            raise ValueError(
                f"custom op {self.name!r}: {role} returned {len(values)} {what}s instead of {count}, one for each"
                f" {'input (None for one without gradient)' if role == 'vjp' else 'output'}"
            )
        return values

    def _checked(self, role: str, what: str, value: Any, part: Part) -> np.ndarray:
        array = np.asarray(value, part.dtype) if type(value) in (int, float) else self.as_array(role, value)
        if array.dtype != part.dtype:
            raise TypeError(
                f"custom op {self.name!r}: {what} of {role} is {_described(value, array)} instead of {part.dtype};"
                f" convert it with .astype(np.{part.dtype})"
            )
        if array.shape != part.shape:
            raise ValueError(
                f"custom op {self.name!r}: {what} of {role} has shape {array.shape} instead of {part.shape}"
            )
        return array


class _Apart(recording):
    """What a user's function does itself has nothing to do with the recording or the gradient around it."""

    def __init__(self) -> None:
        super().__init__(EAGER)
        self._around = thread.leaves, thread.outside, thread.hidden

    def __enter__(self) -> Tape:
        leaves, outside, hidden = self._around
        hidden = thread.tape if thread.tape.recording else hidden
        super().__enter__()
        thread.leaves, thread.outside, thread.hidden = (), leaves or outside, hidden
        return self.tape

    def __exit__(self, *exception: object) -> None:
        thread.leaves, thread.outside, thread.hidden = self._around
        super().__exit__(*exception)


def _described(value: Any, array: np.ndarray) -> str:
    """A value of the wrong type in words."""
    return "None" if value is None else f"{type(value).__name__} of dtype {array.dtype}"
