"""Ravel structures of arrays to one vector, which is what optimisers work on, and back."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapegrad.frontend.tensor.array_checks import real
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.pytree import LEAF, flatten, paths, unflatten

_NUMBERS = (bool, int, float, np.generic)
_FLOAT = np.dtype(np.float64)


@dataclass(frozen=True)
class LeafLayout:
    """Layout of the leaves of a structure in a vector of float64: one after the other, each in C order.

    Layouts of structures that differ in nothing but the numbers in them are equal and have equal hashes.

    Attributes
    ----------
    definition
        The structure without its leaves.
    shapes, dtypes
        Of the leaves: float64, or float32 where a leaf is of that type.
    """

    definition: Any
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[np.dtype[Any], ...]

    @property
    def size(self) -> int:
        """Number of elements of the vector."""
        return sum(map(math.prod, self.shapes))

    @property
    def is_vector(self) -> bool:
        """True if the structure is a vector of float64 itself."""
        return self.definition is LEAF and len(self.shapes[0]) == 1 and self.dtypes[0] == _FLOAT

    def ravel(self, structure: Any) -> np.ndarray:
        """Return the elements of a structure as a new vector.

        Raises
        ------
        ValueError
            For a structure of another layout.
        """
        leaves, layout = _leaves_and_layout(structure)
        if layout.definition != self.definition or layout.shapes != self.shapes:
            raise ValueError(f"the structure has {layout}, but x0 has {self}")
        return np.concatenate([np.zeros(0), *(leaf.ravel() for leaf in leaves)])

    def unravel(self, vector: Any) -> Any:
        """Return a new structure of arrays, and of NumPy scalars for leaves without dimensions."""
        vector = real(vector, "unravel", None)
        if vector.shape != (self.size,):
            raise ValueError(f"a vector of shape {vector.shape}, but x0 has {self.size} elements")
        return self._build(vector, lambda leaf, dtype: np.array(leaf, dtype)[()])

    def trace(self, vector: Any) -> Any:
        """Return a structure of views of a Tensor, which cost nothing on a tape."""
        if self.is_vector:
            return vector
        return self._build(vector, lambda leaf, dtype: leaf.astype(dtype, copy=False))

    def _build(self, vector: Any, finish: Any) -> Any:
        leaves, start = [], 0
        for shape, dtype in zip(self.shapes, self.dtypes, strict=True):
            stop = start + math.prod(shape)
            leaves.append(finish(vector[start:stop].reshape(shape), dtype))
            start = stop
        return unflatten(self.definition, leaves)

    def __str__(self) -> str:
        leaves = [f"{dtype}{list(shape)}" for shape, dtype in zip(self.shapes, self.dtypes, strict=True)]
        return f"the leaves {unflatten(self.definition, leaves)}"


def layout_of(structure: Any) -> LeafLayout:
    """Return the layout of a structure of arrays and numbers."""
    return _leaves_and_layout(structure)[1]


def _leaves_and_layout(structure: Any) -> tuple[list[np.ndarray], LeafLayout]:
    """Return the leaves of a structure as arrays, and its layout.

    A list or tuple of plain numbers is a vector, as everywhere in SciPy. Integers become floats.

    Raises
    ------
    TypeError
        For a leaf that is not an array of numbers, naming it.
    """
    if isinstance(structure, list | tuple) and structure and _is_plain(structure):
        structure = real(structure, "x0")
    leaves, definition = flatten(structure)
    names = paths(structure)
    arrays = [_array(leaf, f"x0{name}") for leaf, name in zip(leaves, names, strict=True)]
    return arrays, LeafLayout(definition, tuple(a.shape for a in arrays), tuple(a.dtype for a in arrays))


def _is_plain(structure: Any) -> bool:
    """Return whether a sequence holds numbers only. A named tuple counts as a structure."""
    return not hasattr(structure, "_fields") and all(isinstance(part, _NUMBERS) for part in structure)


def _array(leaf: Any, name: str) -> np.ndarray:
    """Return a leaf as an array of floats."""
    array = leaf.data if is_tensor(leaf) else real(leaf, name, None)
    if array.dtype.kind != "f":
        return array.astype(_FLOAT)
    return array.astype(array.dtype.newbyteorder("="), copy=False)
