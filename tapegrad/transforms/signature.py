"""Arguments of a recorded function: which are arrays, which are fixed, and what they must look like."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.storage import check_dtype, is_tensor
from tapegrad.tape.tape import DTYPE_CODES, DTYPES
from tapegrad.tree import flatten

_INTEGERS = np.dtype(np.int64)


@dataclass(frozen=True)
class Arguments:
    """The arguments of a call, taken apart.

    Attributes
    ----------
    key
        What a recording depends on: structure, shapes and dtypes of arrays, values of everything else. Hashable.
    arrays
        The array leaves, in C order and of a dtype of the engine.
    places
        For each leaf, its number among the arrays, or -1.
    leaves
        All leaves as they were given.
    definition
        The structure of ``(args, kwargs)``.
    """

    key: Any
    arrays: list[np.ndarray]
    places: list[int]
    leaves: list[Any]
    definition: Any


def take_apart(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """Flatten the arguments of a call. Arrays, NumPy scalars and floats are traced, all else is fixed."""
    leaves, definition = flatten((args, kwargs))
    arrays: list[np.ndarray] = []
    places: list[int] = []
    key: list[Any] = [definition]
    for leaf in leaves:
        array = _as_array(leaf)
        if array is None:
            key.append(_fixed(leaf))
            places.append(-1)
        else:
            key.append((array.shape, array.dtype.char))
            places.append(len(arrays))
            arrays.append(array)
    return Arguments(tuple(key), arrays, places, leaves, definition)


def numpy_scalar(array: np.ndarray) -> Any:
    """A result as it is returned: an array, or a NumPy scalar where there are no dimensions."""
    return array[()] if array.ndim == 0 else array


def has_tensor(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether some leaf of the arguments is a Tensor."""
    if not kwargs and all(type(arg) is np.ndarray for arg in args):
        return False
    leaves, _ = flatten((args, kwargs))
    return any(is_tensor(leaf) for leaf in leaves)


def _as_array(leaf: Any) -> np.ndarray | None:
    """A leaf that is traced, as an array the engine can read where it lies; `None` for one that is fixed."""
    if isinstance(leaf, bool | int | str | bytes) or leaf is None:
        return None
    if not isinstance(leaf, np.ndarray | np.generic | float):
        return None
    array = np.asarray(leaf)
    check_dtype(array.dtype, "argument of a recorded function")
    if array.dtype.kind in "iu":
        array = array.astype(_INTEGERS, copy=False)
    if not (array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative):
        array = np.array(array, array.dtype.newbyteorder("="), order="C")
    canonical = DTYPES[DTYPE_CODES[array.dtype]]
    # Unpickled arrays have dtype objects of their own, and compiled code knows them by address.
    return array if array.dtype is canonical else array.view(canonical)


def _fixed(leaf: Any) -> Any:
    """What a fixed leaf contributes to the key: its type and value."""
    try:
        hash(leaf)
    except TypeError:
        raise UnsupportedError(
            f"an argument of type {type(leaf).__name__} of a recorded function is neither an array nor hashable; pass"
            " arrays, numbers, strings, or lists, tuples and dicts of them"
        ) from None
    return type(leaf), leaf
