"""Several arrays end to end in one: what an instruction has as a single operand or result."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

EXACT = 2**53  # integers below are numbers in float64


class Part(NamedTuple):
    """One of the arrays."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, array: np.ndarray) -> "Part":
        return cls(array.shape, array.dtype)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def __str__(self) -> str:
        return f"{self.dtype} of shape {self.shape}"


def total(parts: Iterable[Part]) -> int:
    """Number of elements of all parts."""
    return sum(part.size for part in parts)


def split(flat: np.ndarray, parts: Sequence[Part], own: bool) -> list[np.ndarray]:
    """The arrays that lie in a flat one: copies of their `own`, otherwise read-only and views where they can be."""
    arrays, start = [], 0
    for part in parts:
        piece = flat[start : start + part.size].reshape(part.shape)
        start += part.size
        array = piece if not own and piece.dtype == part.dtype else piece.astype(part.dtype)
        array.flags.writeable = own
        arrays.append(array)
    return arrays


def join(arrays: Sequence[np.ndarray | None], parts: Sequence[Part], dtype: np.dtype[Any]) -> np.ndarray:
    """Arrays end to end; zeros where there is none."""
    flat, start = np.zeros(total(parts), dtype), 0
    for array, part in zip(arrays, parts, strict=True):
        if array is not None:
            flat[start : start + part.size] = array.reshape(-1)
        start += part.size
    return flat
