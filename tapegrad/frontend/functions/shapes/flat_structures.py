"""`flatten`: all numbers of a structure in one vector, and back."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapegrad import pytree
from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.frontend.conversions.complex_views import complex_of, pairs_of, part_dtype
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.recording.record_structural import as_numbers, as_tensor
from tapegrad.frontend.tensor.array_checks import numbers, real
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.frontend.words.frames import hides_frames

_FLOAT = np.dtype(np.float64)


@dataclass(frozen=True)
class LeafLayout:
    """Layout of the leaves of a structure in a vector: one after the other, each in C order.

    Layouts of structures that differ in nothing but the numbers in them are equal and have equal hashes.

    Attributes
    ----------
    definition
        The structure without its leaves.
    shapes, dtypes
        Of the leaves: float64, or float32 where a leaf is of that type; complex numbers of these precisions are pairs
        of elements of the vector, real and imaginary part.
    """

    definition: Any
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[np.dtype[Any], ...]

    @property
    def size(self) -> int:
        """Number of elements of the vector."""
        return sum(map(math.prod, self._stored))

    @property
    def _stored(self) -> list[tuple[int, ...]]:
        """Shapes of the leaves as floats: complex numbers have a last dimension of two."""
        both = zip(self.shapes, self.dtypes, strict=True)
        return [(*shape, 2) if dtype.kind == "c" else shape for shape, dtype in both]

    @property
    def has_complex(self) -> bool:
        """True if a leaf is complex."""
        return any(dtype.kind == "c" for dtype in self.dtypes)

    @property
    def is_vector(self) -> bool:
        """True if the structure is a vector of float64 itself."""
        return self.definition is pytree.LEAF and len(self.shapes[0]) == 1 and self.dtypes[0] == _FLOAT

    def split(self, vector: Any) -> Any:
        """Return a new structure of arrays, and of NumPy scalars for leaves without dimensions.

        Of a Tensor, and while a function is recorded, it is a structure of views, which cost nothing on a tape.
        """
        if is_tensor(vector) or thread.mode.recorder is not None:
            return self._build(as_tensor(vector, "unflatten"), _tensor_of)
        return self._build(vector, lambda leaf, dtype: _array_of(leaf, dtype)[()])

    def split_rows(self, rows: Any) -> Any:
        """Return a structure of new arrays, given vectors along the last axis; the axes before it come first.

        Raises
        ------
        ValueError
            For vectors of another size.
        """
        rows = real(rows, "unflatten", None)
        if rows.ndim == 0 or rows.shape[-1] != self.size:
            raise ValueError(f"vectors of {self.size} elements along the last axis, not shape {rows.shape}")
        return self._build(rows, _array_of)

    def _build(self, rows: Any, finish: Callable[[Any, np.dtype[Any]], Any]) -> Any:
        """Return a structure of the parts along the last axis, each of them finished for its dtype."""
        leaves, start, outer = [], 0, rows.shape[:-1]
        for extents, dtype in zip(self._stored, self.dtypes, strict=True):
            stop = start + math.prod(extents)
            leaves.append(finish(rows[..., start:stop].reshape((*outer, *extents)), dtype))
            start = stop
        return pytree.unflatten(self.definition, leaves)

    def __str__(self) -> str:
        leaves = [f"{dtype}{list(shape)}" for shape, dtype in zip(self.shapes, self.dtypes, strict=True)]
        return f"the leaves {pytree.unflatten(self.definition, leaves)}"


def _tensor_of(leaf: Any, dtype: np.dtype[Any]) -> Any:
    """Return a part of a vector as a leaf of a dtype, a view where that is possible."""
    own = leaf.astype(part_dtype(dtype), copy=False)
    return complex_of(own) if dtype.kind == "c" else own


def _array_of(leaf: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """Return a part of a vector as a new array of a dtype."""
    own = np.array(leaf, part_dtype(dtype), order="C" if dtype.kind == "c" else "K")
    return own.view(dtype)[..., 0] if dtype.kind == "c" else own


def taken_apart(structure: Any, name: str) -> tuple[list[Any], LeafLayout]:
    """Return the leaves of a structure, arrays and Tensors of floats, and its layout. Complex leaves become pairs.

    Raises
    ------
    TypeError
        For a leaf that is not an array of numbers, naming it.
    """
    given, definition = pytree.flatten(structure)
    leaves = [
        leaf if type(leaf) is np.ndarray and leaf.dtype is _FLOAT else _floats(leaf, structure, name, k)
        for k, leaf in enumerate(given)
    ]
    shapes, dtypes = tuple([leaf.shape for leaf in leaves]), tuple([leaf.dtype for leaf in leaves])
    leaves = [pairs_in(leaf) for leaf in leaves]
    return leaves, LeafLayout(definition, shapes, dtypes)


def pairs_in(leaf: Any) -> Any:
    """Return a complex array or Tensor as pairs of floats along a new last dimension; a real one as it is."""
    if leaf.dtype.kind != "c":
        return leaf
    return pairs_of(leaf) if is_tensor(leaf) else leaf[..., None].view(part_dtype(leaf.dtype))


def _floats(leaf: Any, structure: Any, name: str, k: int) -> Any:
    """Return a leaf, which is number `k`, as an array or a Tensor of floats or complex numbers.

    Integers become floats.
    """
    if type(leaf) is float:
        return np.array(leaf)
    array = leaf if is_tensor(leaf) else numbers(leaf, f"{name}{pytree.paths(structure)[k]}")
    if thread.mode.recorder is not None:  # NumPy would convert it once, for all replays
        array = as_numbers(array, "flatten")
    if array.dtype.kind not in DIFFERENTIABLE_KINDS:
        return array.astype(_FLOAT)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def joined(leaves: list[Any], dtype: np.dtype[Any]) -> Any:
    """Return leaves as a new vector: an array, or a Tensor if one of them is one, or a function is recorded."""
    if leaves and (any(map(is_tensor, leaves)) or thread.mode.recorder is not None):
        return concatenate([as_tensor(leaf, "flatten") for leaf in leaves], None, dtype=dtype)
    return np.concatenate([np.zeros(0, dtype), *[leaf.ravel() for leaf in leaves]])


class StructureBuilder:
    """Function that makes a structure of a vector; the second result of `flatten`."""

    __slots__ = ("layout",)

    def __init__(self, layout: LeafLayout) -> None:
        self.layout = layout

    def __repr__(self) -> str:
        return f"<unflatten: {self.layout.size} elements to {self.layout}>"

    @hides_frames
    def __call__(self, vector: Any) -> Any:
        vector = vector if is_tensor(vector) else real(vector, "unflatten", None)
        if vector.shape != (self.layout.size,):
            raise ValueError(
                f"unflatten: a vector of shape {vector.shape}, but the structure has {self.layout.size} elements"
            )
        return self.layout.split(vector)


@hides_frames
def flatten(structure: Any) -> tuple[Any, StructureBuilder]:
    """Return all numbers of a structure as one vector, and the function that makes such a structure of a vector.

    Parameters
    ----------
    structure
        Arrays, Tensors and numbers, in lists, tuples and dicts, nested.

    Returns
    -------
    vector : numpy.ndarray or Tensor, shape (n,)
        The leaves one after the other, each in C order, those of a dict in the order of sorted keys. It is new, and
        a Tensor if a leaf is one, or where `jit` records a function. It is float32 if all leaves are, else float64.
        Complex numbers are pairs of elements, real and imaginary part.
    unflatten : callable
        Takes a vector of `n` elements, and returns the structure with its numbers: arrays, and NumPy scalars for
        leaves without dimensions; of a Tensor views, through which gradients flow back. Leaves of float32 and complex
        ones are of their type again, all others are float64.

    Raises
    ------
    TypeError
        If a leaf is not an array of numbers; the message has its path.
    ValueError
        By `unflatten`, for a vector of another length.

    See Also
    --------
    optimize.objective : A function of a structure as one of a vector.

    Notes
    -----
    Transforms take structures themselves: a gradient has the structure of the argument. The vector is for optimisers
    and samplers that know vectors alone, and for what is computed of all parameters at once, such as a penalty.
    `unflatten` keeps shapes, not numbers. It is JAX's ``ravel_pytree`` and autograd's ``flatten``; the method
    `Tensor.flatten` is NumPy's.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> parameters = {"weights": np.array([[1.0, 2.0], [3.0, 4.0]]), "offset": 0.5}
    >>> vector, unflatten = tg.flatten(parameters)
    >>> vector
    array([0.5, 1. , 2. , 3. , 4. ])
    >>> unflatten(2 * vector)
    {'weights': array([[2., 4.],
           [6., 8.]]), 'offset': np.float64(1.0)}

    In a function that is differentiated, both take Tensors:

    >>> tg.grad(lambda p: tg.sum(tg.flatten(p)[0] ** 2))(parameters)["offset"]
    np.float64(1.0)
    >>> tg.grad(lambda v: tg.sum(unflatten(v)["weights"]))(vector)
    array([0., 1., 1., 1., 1.])
    """
    leaves, layout = taken_apart(structure, "flatten: the structure")
    dtype = np.result_type(*map(part_dtype, layout.dtypes)) if leaves else _FLOAT
    return joined(leaves, dtype), StructureBuilder(layout)
