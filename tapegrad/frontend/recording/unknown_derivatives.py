"""Operands without a known derivative: constants in eager code, unchecked in a recording.

Eager code is refused at the call. A recording accepts them, for it may be differentiated by other arguments; a
program that needs the missing derivative is refused.
"""

from collections.abc import Callable
from typing import Any

from tapegrad.engine.kernels.language.library import OF_DEGREE
from tapegrad.errors import UnsupportedError
from tapegrad.frontend.recording.lists import held_tensor
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.ops import Op
from tapegrad.ops.documentation import arguments_of, doc_of

# SciPy's names of functions of which rows are second derivatives, whose own derivatives are third ones.
_SECOND_DERIVATIVES = {
    "igam_aa": "gammainc",
    **dict.fromkeys(("ibeta_aa", "ibeta_ab", "ibeta_bb"), "betainc"),
    **dict.fromkeys(("student_df_df", "student_score"), "stdtr"),
    **dict.fromkeys(("hyp1f1_aa", "hyp1f1_ab", "hyp1f1_bb"), "hyp1f1"),
}
# The same of rows that are first derivatives.
_FIRST_DERIVATIVES = {"ncx2_pdf": "chndtr", "smirnov_slope": "smirnov"}
# SciPy's names of functions whose rows have no public name.
_SCIPY = {
    "riemann_zeta": "zeta",
    **{name: name for name in ("zeta", "lpmv", *OF_DEGREE) if name not in _FIRST_DERIVATIVES},
}


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
            if j < len(operands) and _is_refused(operands[j]):
                raise no_derivative(row, j)
        return function(*operands, **options)

    return call


def check_constant(function: str, argument: str, value: Any) -> None:
    """Raise if an operand without a known derivative is not constant. A recording accepts it."""
    if _is_refused(value):
        raise _no_derivative(function, argument)


def _is_refused(value: Any) -> bool:
    mode = thread.mode
    return mode.differentiate and mode.recorder is None and _depends(value)


def no_derivative(row: Op, operand: int) -> UnsupportedError:
    """Make the error for a requested derivative that is not known."""
    argument = arguments_of(row)[operand]
    for rows, order, times in (
        (_SECOND_DERIVATIVES, "third", "twice"),
        (_FIRST_DERIVATIVES, "second", "once"),
    ):
        if row.name in rows:
            return UnsupportedError(
                f"scipy.special.{rows[row.name]}: no {order} derivative by {argument!r} is known;"
                f" differentiate at most {times}, or hold {argument!r} fixed with tapegrad.stop_gradient({argument})"
            )
    return _no_derivative(full_name(row), argument)


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
