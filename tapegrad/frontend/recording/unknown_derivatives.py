"""Operands without a known derivative: constants in eager code, unchecked in a recording.

Eager code is refused at the call. A recording accepts them, for it may be differentiated by other arguments; a
program that needs the missing derivative is refused.
"""

from collections.abc import Callable
from typing import Any

from tapegrad.errors import UnsupportedError
from tapegrad.frontend.recording.lists import held_tensor
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.ops import Op
from tapegrad.ops.documentation import arguments_of, doc_of

# SciPy's names of functions whose rows have no public name.
_SCIPY = {"zeta": "zeta", "riemann_zeta": "zeta"}


def full_name(row: Op) -> str:
    """Return the full name of a row's function in NumPy or SciPy, if there is one."""
    if row.ufunc:
        return f"numpy.{row.ufunc}"
    scipy = doc_of(row).scipy or _SCIPY.get(row.name)
    return f"scipy.special.{scipy}" if scipy else f"tapegrad.{row.name}"


def refusing(row: Op, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a row's function: refuse operands without a known derivative that are not constant."""

    def call(*operands: Any, **options: Any) -> Any:
        for j in row.unknown:
            if j < len(operands):
                check_constant(full_name(row), arguments_of(row)[j], operands[j])
        return function(*operands, **options)

    return call


def check_constant(function: str, argument: str, value: Any) -> None:
    """Raise if an operand without a known derivative is not constant. A recording accepts it."""
    mode = thread.mode
    if mode.differentiate and mode.recorder is None and _depends(value):
        raise _no_derivative(function, argument)


def no_derivative(row: Op, operand: int) -> UnsupportedError:
    """Make the error for a requested derivative that is not known."""
    return _no_derivative(full_name(row), arguments_of(row)[operand])


def _no_derivative(function: str, argument: str) -> UnsupportedError:
    return UnsupportedError(
        f"{function}: no derivative by {argument!r} is known in closed form, so {argument!r} must be a constant; pass a"
        f" plain number or array, {argument}.detach(), or tapegrad.stop_gradient({argument})"
    )


def _depends(value: Any) -> bool:
    """Return whether an operand is, or contains, a Tensor that is not constant."""
    if isinstance(value, list | tuple):
        return any(map(_depends, value))
    tensor = value if is_tensor(value) else held_tensor(value)
    return tensor is not None and not tensor.constant
