"""Packed arrays: several arrays in one flat array, the only operand or result that an instruction has room for.

Complex numbers are packed as pairs of floats, so cotangents are packed as primals are.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.frontend.conversions.complex_views import part_dtype

EXACT = 2**53  # float64 represents all smaller integers


class ArraySpec(NamedTuple):
    """Shape and dtype of a packed array, and the number of elements that it takes: two for each complex number."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    size: int

    @classmethod
    def of(cls, array: Any) -> "ArraySpec":
        # An unpickled array has a dtype object of its own; compiled code compares dtype objects by identity.
        size = array.size * 2 if array.dtype.kind == "c" else array.size
        return cls(array.shape, np.dtype(array.dtype.type), size)

    @property
    def is_differentiable(self) -> bool:
        """True for floats and complex numbers."""
        return self.dtype.kind in DIFFERENTIABLE_KINDS

    @property
    def is_complex(self) -> bool:
        """True for complex numbers."""
        return self.dtype.kind == "c"

    @property
    def packed_dtype(self) -> np.dtype[Any]:
        """Dtype of the parts of complex numbers; of other arrays their own."""
        return part_dtype(self.dtype)

    @property
    def packed_shape(self) -> tuple[int, ...]:
        """Shape of the packed elements, with a last dimension of two for complex numbers."""
        return (*self.shape, 2) if self.is_complex else self.shape

    def __str__(self) -> str:
        return f"{self.dtype} of shape {self.shape}"


def packed_size(specs: Iterable[ArraySpec]) -> int:
    """Return the number of packed elements of all arrays together."""
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
        piece = flat if spec.size == flat.size else flat[start:end]
        start, dtype = end, spec.packed_dtype
        array = piece if not copy and piece.dtype == dtype else piece.astype(dtype)
        array = (array.view(spec.dtype) if spec.is_complex else array).reshape(spec.shape)
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
            flat[start:end] = (
                array.reshape(-1).view(spec.packed_dtype) if spec.is_complex else array.reshape(-1)
            )
        start = end
