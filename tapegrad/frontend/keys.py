"""Keys of an index as NumPy reads them: which are basic, and which elements an advanced one names."""

import operator
from typing import Any

import numpy as np

from tapegrad.frontend.modes import thread
from tapegrad.frontend.record import read_now, read_within
from tapegrad.frontend.tensor import is_tensor

_BASIC = (int, slice, type(None), type(Ellipsis), np.integer)
_BOOLEANS = (bool, np.bool_)


def is_basic(part: Any) -> bool:
    """Whether a part of a key selects as a view: a number, a slice, `None` or an ellipsis."""
    kind = type(part)
    return kind is int or kind is slice or (isinstance(part, _BASIC) and kind is not bool)


def parts_of(key: Any) -> tuple[tuple[Any, ...], bool]:
    """The parts of a key, index arrays as arrays, and whether all are basic. A tuple inside of a key is an array.

    A recording guards what they contain, for it names elements once for all. Where NumPy refuses a part, it is left
    as it is, for NumPy to say so.
    """
    parts = key if isinstance(key, tuple) else (key,)
    basic = all(map(is_basic, parts))
    if not basic or thread.mode.recorder is not None:
        parts = tuple(map(_part, parts))
        basic = all(map(is_basic, parts))
    return parts, basic


def _part(part: Any) -> Any:
    if isinstance(part, slice):
        read_within((part.start, part.stop, part.step))
        return part
    if is_basic(part):
        return part
    if is_tensor(part) and part.dtype.kind == "f":
        raise IndexError(
            "arrays used as indices must be of integer (or boolean) type, and not a Tensor of floats"
        )
    if is_tensor(part) or isinstance(part, np.ndarray):
        return read_now(part)
    number = None if isinstance(part, _BOOLEANS) else _whole_number(part)
    return _index_array(part) if number is None else number


def _whole_number(part: Any) -> int | None:
    """The number that an object says it is as an index."""
    try:
        return operator.index(part)
    except TypeError:
        return None


def _index_array(part: Any) -> Any:
    """What has elements, or says what array it is, as an array of integers or booleans; otherwise as it is."""
    read_within(part)
    array = np.asarray(part)
    if array is not part and not isinstance(part, list | tuple | range):
        read_now(array)  # it may lie on memory of the object's that changes
    if array.size == 0:
        return array.astype(np.intp)  # [] names no element
    return array if array.dtype.kind in "biu" else part


def view_key(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """A basic key that makes NumPy return an array even where a single element is named."""
    return parts if any(part is Ellipsis for part in parts) else (*parts, Ellipsis)


def element_numbers(shape: tuple[int, ...], key: tuple[Any, ...]) -> np.ndarray:
    """Number, in C order, of each element that `key` picks from an array of `shape`.

    The coordinate along each axis is indexed with the key itself, seen through a broadcast that costs no memory,
    so that every rule of NumPy's advanced indexing holds here, and so do its errors.
    """
    numbers: Any = np.zeros((), np.int64)
    step = 1
    for axis in range(len(shape) - 1, -1, -1):
        line = np.arange(shape[axis], dtype=np.int64).reshape((-1,) + (1,) * (len(shape) - 1 - axis))
        numbers = numbers + step * np.broadcast_to(line, shape)[key]
        step *= shape[axis]
    if not shape:
        numbers = np.broadcast_to(np.zeros((), np.int64), shape)[key]
    return np.asarray(numbers, np.int64, order="C")
