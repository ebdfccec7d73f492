"""Functions of a custom op: calls on arrays, and checks of their results."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapegrad.autodiff.custom.packing import ArraySpec
from tapegrad.engine.kernels.language import is_jitted
from tapegrad.errors import NoForwardModeError, UnsupportedError
from tapegrad.frontend.tensor.array_checks import refuse_subclass
from tapegrad.frontend.tensor.modes import EAGER, NO_MODE, Mode, ModeChange, restoring, thread
from tapegrad.frontend.tensor.tensor import is_tensor

_NO_CHANGE = nullcontext()
_DTYPES = tuple(map(np.dtype, (np.float64, np.float32, np.complex128, np.complex64)))
Statics = Mapping[str, Any]


@dataclass(eq=False)
class Functions:
    """The functions of a custom op.

    Attributes
    ----------
    differentiable
        Whether `vjp` and `jvp` may be called with Tensors, to be differentiated in turn.
    listing
        Returns the lines that a printed tape has below the op.
    op
        The op, if files can hold what it computes.
    """

    name: str
    forward: Callable[..., Any]
    vjp: Callable[..., Any] | None
    jvp: Callable[..., Any] | None
    differentiable: bool = False
    listing: Callable[[], list[str]] = list
    op: Any = None

    @restoring
    def call(self, role: str, *args: Any, statics: Statics) -> Any:
        """Call a function. Its exceptions propagate with a note that names the op."""
        function = self.on_arrays(role)
        if function is None:
            raise self.lacks(role)
        try:
            with _NO_CHANGE if thread.mode is NO_MODE else _isolated():
                return function(*args, **statics)
        except Exception as error:
            error.add_note(f"raised by the {role} of custom op {self.name!r}")
            raise

    def lacks(self, role: str) -> UnsupportedError:
        """Return the error for a missing vjp or jvp."""
        mode, error = ("forward", NoForwardModeError) if role == "jvp" else ("reverse", UnsupportedError)
        return error(
            f"custom op {self.name!r} has no {role}, which {mode} mode asks for: custom_op(..., {role}=...)"
        )

    def on_arrays(self, role: str) -> Any:
        """Return the function `role` on arrays: the forward of a custom op, otherwise itself."""
        function = getattr(self, role)
        return getattr(function, "on_arrays", function)

    def is_compiled(self, role: str) -> bool:
        """Return whether Numba compiles a function. It gets copies then, for it may write to its arguments."""
        return bool(is_jitted(self.on_arrays(role)))

    # --- results ---------------------------------------------------------------------------------------------------

    def outputs(self, result: Any) -> tuple[list[np.ndarray], bool]:
        """Return the arrays that `forward` returned, and whether it returned a single one."""
        single = not isinstance(result, tuple | list)
        values = [result] if single else list(result)
        if not values:
            raise ValueError(f"custom op {self.name!r}: forward returned no arrays")
        return [self._output(k, value) for k, value in enumerate(values)], single

    def _output(self, k: int, value: Any) -> np.ndarray:
        array = self.as_array("forward", value)
        if array.dtype not in _DTYPES:
            raise TypeError(
                f"custom op {self.name!r}: output {k} of forward is {_described(value, array)}; return arrays of"
                " float64 or float32, complex128 or complex64"
            )
        return array

    def expect(self, role: str, what: str, result: Any, specs: Sequence[ArraySpec]) -> list[np.ndarray]:
        """Return the arrays that a function returned, after a check of their number, shapes and dtypes."""
        values = [result] if len(specs) == 1 and not isinstance(result, tuple | list) else result
        return [
            self._checked(role, f"{what} {k}", value, spec)
            for k, (value, spec) in enumerate(
                zip(self._counted(role, what, values, len(specs)), specs, strict=True)
            )
        ]

    def cotangents(self, result: Any, inputs: Sequence[ArraySpec]) -> list[np.ndarray | None]:
        """Return the cotangents of the differentiable inputs; `None` for each that `vjp` left out.

        What it returned for integers and booleans is ignored: rules are written for floats, and called with ``2``.
        """
        values = [result] if len(inputs) == 1 and not isinstance(result, tuple | list) else result
        found: list[np.ndarray | None] = []
        values = self._counted("vjp", "cotangent", values, len(inputs))
        for k, (value, spec) in enumerate(zip(values, inputs, strict=True)):
            if spec.is_differentiable:
                found.append(None if value is None else self._checked("vjp", f"cotangent {k}", value, spec))
        return found

    def as_array(self, role: str, value: Any) -> np.ndarray:
        """Return a result of a function as an array. A constant Tensor becomes its array."""
        if not is_tensor(value):
            refuse_subclass(value, f"custom op {self.name!r}: what {role} returned")
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

    def _checked(self, role: str, what: str, value: Any, spec: ArraySpec) -> np.ndarray:
        is_number = type(value) in (int, float) or (type(value) is complex and spec.is_complex)
        array = np.asarray(value, spec.dtype) if is_number else self.as_array(role, value)
        if array.dtype != spec.dtype:
            raise TypeError(
                f"custom op {self.name!r}: {what} of {role} is {_described(value, array)} instead of {spec.dtype};"
                f" {_conversion(array, spec)}"
            )
        if array.shape != spec.shape:
            raise ValueError(
                f"custom op {self.name!r}: {what} of {role} has shape {array.shape} instead of {spec.shape}"
            )
        return array


class _isolated(ModeChange):
    """Isolate the body of a user's function from the recording or the gradient around it."""

    _arguments = ("tape", "differentiate", "leaves", "outside", "hidden")

    def _change(self, mode: Mode) -> Mode:
        return mode.but(
            tape=EAGER,
            differentiate=True,
            leaves=(),
            outside=mode.leaves or mode.outside,
            hidden=mode.recorder or mode.hidden,
        )


def _conversion(array: np.ndarray, spec: ArraySpec) -> str:
    """Return what to write for an array of a wrong dtype."""
    loses = array.dtype.kind == "c" and not spec.is_complex
    return (
        "the input is real, so return the real part" if loses else f"convert it with .astype(np.{spec.dtype})"
    )


def _described(value: Any, array: np.ndarray) -> str:
    """Describe a value of a wrong type for a message."""
    return "None" if value is None else f"{type(value).__name__} of dtype {array.dtype}"
