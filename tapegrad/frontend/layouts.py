"""The order of elements in memory: copies in the order of C or of Fortran."""

from typing import Any

from tapegrad.frontend.shape import contiguous, transpose
from tapegrad.frontend.tensor import Tensor


def in_order(x: Tensor, order: Any, name: str) -> Tensor:
    """Return `x` if its elements are in a memory order, otherwise a recorded copy in that order."""
    if order in (None, "K", "A"):
        return x
    flags = x.data_or_traced().flags
    if order == "C" and flags.c_contiguous:
        return x
    if order == "C":
        return contiguous(x)
    if order != "F":
        raise ValueError(f"{name}: order must be one of 'C', 'F', 'A' and 'K', not {order!r}")
    return x if flags.f_contiguous else transpose(contiguous(transpose(x)))


def copied_in_order(x: Tensor, order: Any, name: str) -> Tensor:
    """Return a recorded copy in a memory order, which is C if it is left open."""
    if order in (None, "K", "A", "C"):
        return contiguous(x)
    return transpose(contiguous(transpose(x))) if order == "F" else in_order(x, order, name)
