"""Arguments of convolutions and filters: operands of one dtype, modes, results of integers, with SciPy's errors."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.frontend.conversions.complex_views import is_complex, part_dtype
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.tensor.tensor import Tensor, from_array

_MODES = ("full", "same", "valid")


def operands(name: str, *values: Any) -> list[Tensor]:
    """Return operands in the precision of all, of floats if any of them is; real ones beside complex ones stay real."""
    given = [as_numbers(value, f"tapegrad.signal.{name}") for value in values]
    dtype = np.result_type(*[each.dtype for each in given])
    return [each.astype(dtype if is_complex(each) else part_dtype(dtype), copy=False) for each in given]


def floats(x: Tensor) -> Tensor:
    """Return an operand as floats, integers as float64."""
    return x.astype(np.float64) if x.dtype.kind in "biu" else x


def of_integers(function: Callable[..., Any], x: Tensor, v: Tensor, *args: Any) -> Tensor:
    """Return SciPy's result of integers or booleans, a constant."""
    return from_array(np.asarray(function(np.asarray(x), np.asarray(v), *args)), constant=True)


def check_mode(mode: Any) -> str:
    """Return a mode; raise for any other."""
    if mode not in _MODES:
        raise ValueError(f"acceptable mode flags are 'valid', 'same', or 'full', not {mode!r}")
    return str(mode)


def swapped_for_valid(
    x: Tensor, v: Tensor, mode: str, axes: Sequence[int] | None = None
) -> tuple[Tensor, Tensor, bool]:
    """Return both arrays, in the mode 'valid' the larger one first, and whether they were exchanged.

    Raises
    ------
    ValueError
        If neither is at least as large as the other one along all axes, in the mode 'valid'.
    """
    if mode != "valid":
        return x, v, False
    chosen = range(x.ndim) if axes is None else axes
    if all(x.shape[k] >= v.shape[k] for k in chosen):
        return x, v, False
    if all(v.shape[k] >= x.shape[k] for k in chosen):
        return v, x, True
    raise ValueError(
        "for 'valid' mode, one must be at least as large as the other in every dimension, not"
        f" {x.shape} and {v.shape}"
    )
