"""Which NumPy arrays can become Tensors, and whose memory the engine can use."""

from typing import Any

import numpy as np

from tapegrad.engine.tape.tape import DTYPE_CODES
from tapegrad.errors import UnsupportedError

_REFUSED = {
    "e": "float16",
    "F": "complex64",
    "c": "complex",
    "D": "complex128",
    "G": "clongdouble",
    "g": "longdouble",
}


def check_dtype(dtype: np.dtype[Any], what: str) -> None:
    """Raise for a dtype that is neither a supported float, nor an integer, nor a boolean."""
    if dtype.kind in "biu" or dtype.newbyteorder("=") in DTYPE_CODES:
        return
    name = _REFUSED.get(dtype.char, str(dtype))
    raise UnsupportedError(
        f"{what}: dtype {name} is not supported; use float64 or float32 (integers and booleans are constants)"
    )


def refuse_subclass(value: Any, what: str) -> None:
    """Raise for an array of a class with an arithmetic of its own, which would be lost: masked arrays, matrices."""
    kind = type(value)
    if kind is np.ndarray or not isinstance(value, np.ndarray):
        return
    if kind.__mul__ is not np.ndarray.__mul__ or kind.__array_ufunc__ is not np.ndarray.__array_ufunc__:
        raise UnsupportedError(
            f"{what}: {kind.__name__} has an arithmetic of its own (masks, units, matrix products), which tapegrad does"
            " not follow; pass a plain array, as np.asarray or .filled() returns"
        )


def plain(value: Any, what: str) -> np.ndarray:
    """Return a value as an array; see `refuse_subclass`."""
    refuse_subclass(value, what)
    return np.asarray(value)


def is_plain(array: np.ndarray) -> bool:
    """Whether the engine can use the array's memory: it is aligned, and no two elements overlap."""
    if not array.flags.aligned or not array.dtype.isnative:
        return False
    if array.flags.c_contiguous:
        return True
    reach = 0
    for stride, extent in sorted(
        (abs(s), e) for s, e in zip(array.strides, array.shape, strict=True) if e > 1
    ):
        if stride <= reach:
            return False
        reach += stride * (extent - 1)
    return True


def is_same_memory(array: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays have the same elements at the same addresses."""
    places = [(a.ctypes.data, a.shape, a.strides, a.dtype) for a in (array, other)]
    return places[0] == places[1]
