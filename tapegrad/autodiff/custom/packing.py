"""Several arrays end to end in one: what an instruction has as a single operand or result."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

EXACT = 2**53  # integers below are numbers in float64


class Part(NamedTuple):
    """One of the arrays.

    Attributes
    ----------
    size
        Number of elements.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    size: int

    @classmethod
    def of(cls, array: Any) -> "Part":
        # Unpickled arrays have dtype objects of their own, by which they seem to be of another dtype.
        return cls(array.shape, np.dtype(array.dtype.type), array.size)

    def __str__(self) -> str:
        return f"{self.dtype} of shape {self.shape}"


def total(parts: Iterable[Part]) -> int:
    """Number of elements of all parts."""
    return sum([part.size for part in parts])


def common_dtype(dtypes: Iterable[np.dtype[Any]]) -> np.dtype[Any]:
    """The dtype in which all of them can be."""
    different = set(dtypes)
    return different.pop() if len(different) == 1 else np.result_type(*different)


def split(flat: np.ndarray, parts: Sequence[Part], own: bool) -> list[np.ndarray]:
    """The arrays that lie in a flat one: copies of their `own`, otherwise read-only and views where they can be."""
    arrays, start = [], 0
    for part in parts:
        end = start + part.size
        piece = (flat if part.size == flat.size else flat[start:end]).reshape(part.shape)
        start = end
        array = piece if not own and piece.dtype == part.dtype else piece.astype(part.dtype)
        array.setflags(write=own)
        arrays.append(array)
    return arrays


def join(arrays: Sequence[np.ndarray | None], parts: Sequence[Part], dtype: np.dtype[Any]) -> np.ndarray:
    """Arrays end to end; zeros where there is none."""
    flat = np.zeros(total(parts), dtype)
    put(arrays, parts, flat)
    return flat


def put(arrays: Sequence[np.ndarray | None], parts: Sequence[Part], flat: np.ndarray) -> None:
    """Write arrays end to end to a flat one, except where there is none."""
    start = 0
    for array, part in zip(arrays, parts, strict=True):
        end = start + part.size
        if array is not None:
            flat[start:end] = array.reshape(-1)
        start = end
