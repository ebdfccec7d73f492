"""Packed arrays: several arrays in one flat array, the only operand or result that an instruction has room for."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

EXACT = 2**53  # float64 represents all smaller integers


class ArraySpec(NamedTuple):
    """Shape, dtype and number of elements of a packed array."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    size: int

    @classmethod
    def of(cls, array: Any) -> "ArraySpec":
        # An unpickled array has a dtype object of its own; compiled code compares dtype objects by identity.
        return cls(array.shape, np.dtype(array.dtype.type), array.size)

    def __str__(self) -> str:
        return f"{self.dtype} of shape {self.shape}"


def packed_size(specs: Iterable[ArraySpec]) -> int:
    """Return the number of elements of all arrays together."""
    return sum([spec.size for spec in specs])


def common_dtype(dtypes: Iterable[np.dtype[Any]]) -> np.dtype[Any]:
    """Return the promoted dtype."""
    different = set(dtypes)
    return different.pop() if len(different) == 1 else np.result_type(*different)


def unpack(flat: np.ndarray, specs: Sequence[ArraySpec], copy: bool) -> list[np.ndarray]:
    """Return the packed arrays: writable copies, or read-only arrays that are views where the dtype allows it."""
    arrays, start = [], 0
    for spec in specs:
        end = start + spec.size
        piece = (flat if spec.size == flat.size else flat[start:end]).reshape(spec.shape)
        start = end
        array = piece if not copy and piece.dtype == spec.dtype else piece.astype(spec.dtype)
        array.setflags(write=copy)
        arrays.append(array)
    return arrays


def pack(arrays: Sequence[np.ndarray | None], specs: Sequence[ArraySpec], dtype: np.dtype[Any]) -> np.ndarray:
    """Return a new flat array that holds `arrays`, with zeros for each `None`."""
    flat = np.zeros(packed_size(specs), dtype)
    pack_into(arrays, specs, flat)
    return flat


def pack_into(arrays: Sequence[np.ndarray | None], specs: Sequence[ArraySpec], flat: np.ndarray) -> None:
    """Write `arrays` to a flat array; the elements of each `None` stay as they are."""
    start = 0
    for array, spec in zip(arrays, specs, strict=True):
        end = start + spec.size
        if array is not None:
            flat[start:end] = array.reshape(-1)
        start = end
