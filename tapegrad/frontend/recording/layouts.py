"""Memory order of results and copies: C, Fortran, or that of their operand."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.frontend.recording.shape import contiguous, is_in_c_order, transpose
from tapegrad.frontend.tensor.memory_order import axes_as_they_lie, check_order_is_known, is_by_columns
from tapegrad.frontend.tensor.tensor import Tensor


def in_order(x: Any, order: Any, name: str) -> Any:
    """Return `x` if its elements are in a memory order, otherwise a recorded copy in that order.

    `x` may also be an array without a dtype of Tensors, such as text.
    """
    if isinstance(x, np.ndarray):
        return np.asarray(x, order=order)
    if order in (None, "K", "A"):
        return x
    flags = x.data_or_traced().flags
    if (order == "C" and flags.c_contiguous) or (order == "F" and flags.f_contiguous):
        return x
    return copied_in_order(x, order, name)


def copied_in_order(x: Tensor, order: Any, name: str) -> Tensor:
    """Return a recorded copy in a memory order, C by default."""
    return made_in_order(contiguous, x, order, name)


def made_in_order(make: Callable[[Tensor], Tensor], x: Tensor, order: Any, name: str) -> Tensor:
    """Convert the C-ordered result of an elementwise function to a memory order; 'K' and 'A' follow `x`."""
    axes = _axes(x, order, name)
    if axes is None:
        return make(x)
    return transpose(make(transpose(x, axes)), np.argsort(axes).tolist())


def _axes(x: Tensor, order: Any, name: str) -> list[int] | None:
    """Return the axes by decreasing stride; `None` for C order."""
    if order in (None, "C") or (order in ("K", "A") and is_in_c_order(x)):
        return None
    if order not in ("F", "K", "A"):
        raise ValueError(f"{name}: order must be one of 'C', 'F', 'A' and 'K', not {order!r}")
    if order == "A":
        check_order_is_known(x, order, name)
    array = x.data_or_traced()
    if order == "K":
        return axes_as_they_lie(array)
    return list(range(array.ndim))[::-1] if is_by_columns(array, order) else None
