"""Structures of arrays as one flat vector, which optimisers work on; functions of structures as functions of it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapegrad.errors import name_of
from tapegrad.frontend.functions.reductions import reductions
from tapegrad.frontend.functions.shapes import joining
from tapegrad.frontend.recording import shape
from tapegrad.frontend.tensor.array_checks import real, refuse_subclass
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.pytree import LEAF, flatten, paths, unflatten
from tapegrad.transforms.base import Transform, replayable, without_jit
from tapegrad.transforms.jit import Jit, jit

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

    def unravel_rows(self, rows: Any) -> Any:
        """Return a structure of new arrays, given vectors along the last axis; the axes before it come first.

        Raises
        ------
        ValueError
            For vectors of another size.
        """
        rows = real(rows, "unflatten", None)
        if rows.ndim == 0 or rows.shape[-1] != self.size:
            raise ValueError(f"vectors of {self.size} elements along the last axis, not shape {rows.shape}")
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])[:-1]
        leaves = [
            np.array(part, dtype).reshape((*rows.shape[:-1], *shape))
            for part, shape, dtype in zip(np.split(rows, ends, -1), self.shapes, self.dtypes, strict=True)
        ]
        return unflatten(self.definition, leaves)

    def trace(self, vector: Any) -> Any:
        """Return a structure of views of a Tensor, which cost nothing on a tape."""
        if self.is_vector:
            return vector
        return self._build(vector, lambda leaf, dtype: leaf.astype(dtype, copy=False))

    def _build(self, vector: Any, finish: Any) -> Any:
        leaves, start = [], 0
        for extents, dtype in zip(self.shapes, self.dtypes, strict=True):
            stop = start + math.prod(extents)
            leaves.append(finish(vector[start:stop].reshape(extents), dtype))
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


# --- functions, recorded and replayed ------------------------------------------------------------------------------


class NotScalarError(TypeError, ValueError):
    """An objective returned something else than a number: of another type, or of another shape.

    SciPy raises a `ValueError` for both.
    """


class _Flat(Transform):
    """A function of a vector. The vector is unraveled on the tape, so a replay runs no Python for the leaves."""

    name = "objective"

    def __init__(self, function: Callable[..., Any], layout: LeafLayout) -> None:
        super().__init__(function)
        self._layout = layout

    @property
    def settings(self) -> tuple[Any, ...]:
        return (self._layout,)

    def _value(self, x: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
        return without_jit(self.function)(self._layout.trace(x), *args, **(kwargs or {}))


class FlatScalar(_Flat):
    """An objective, which returns a scalar of float64."""

    def __call__(self, x: Any, *args: Any) -> Any:
        value = self._value(x, args)
        if not is_tensor(value):
            value = _constant(value, x, f"the objective {name_of(self.function)}", "a scalar value")
        if value.size != 1:
            raise NotScalarError(
                f"the objective {name_of(self.function)} returned shape {value.shape}, but it must return a scalar"
                " value; sum() it, or pass residuals to least_squares"
            )
        return _double(value.reshape(()) if value.ndim else value)


class FlatVector(_Flat):
    """Residuals: all results of the function in one vector of float64."""

    def __call__(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        leaves, _ = flatten(self._value(x, args, kwargs))
        subject = f"the residuals {name_of(self.function)}"
        pieces = [r if is_tensor(r) else _constant(r, x, subject, "Tensors or numbers") for r in leaves]
        if not pieces:
            raise NotScalarError(f"{subject} returned nothing; return an array, or several")
        vectors = [_double(r if r.ndim == 1 else shape.ravel(r)) for r in pieces]
        return vectors[0] if len(vectors) == 1 else joining.concatenate(vectors)


def _double(value: Any) -> Any:
    return value if value.dtype == np.float64 else value.astype(np.float64)


def _constant(value: Any, x: Any, subject: str, wanted: str) -> Any:
    """Return a result that does not depend on `x`, such as ``np.inf``, as a Tensor that does, with derivative zero."""
    array = _numbers(value)
    if array is None:
        what = "None" if value is None else type(value).__name__ + _of_dtype(value)
        hint = "; is a return missing?" if value is None else ""
        raise NotScalarError(f"{subject} returned {what}, but must return {wanted}{hint}")
    return reductions.sum(x[:0]) + array


def _of_dtype(value: Any) -> str:
    return f" of dtype {value.dtype}" if isinstance(value, np.ndarray | np.generic) else ""


def _numbers(value: Any) -> Any:
    """Return real numbers as an array of float64, and `None` for anything else, such as text."""
    refuse_subclass(value, "the result of the function")
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        return None
    return array.astype(np.float64) if array.dtype.kind in "biuf" else None


def flat_jit(kind: type[_Flat], function: Callable[..., Any], layout: LeafLayout) -> Jit[..., Any]:
    """Return the function of a vector, to be replayed. It shares its traces with `function` if that is a ``jit(f)``."""
    replayed = replayable(kind(jit(function), layout))
    assert replayed is not None
    return replayed
