"""Index keys by NumPy's rules: basic parts, and the elements that an advanced key selects."""

import functools
import math
import operator
from typing import Any

import numpy as np

from tapegrad.engine.tape import views
from tapegrad.engine.tape.fields.layout import NONE
from tapegrad.engine.tape.views import ELLIPSIS, END, NEW_AXIS, ROW, SLICE
from tapegrad.frontend.recording.record import read_now, read_within
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import is_tensor

_BASIC = (int, slice, type(None), type(Ellipsis), np.integer)
_BOOLEANS = (bool, np.bool_)
# Types of key parts that NumPy takes without conversion.
_PLAIN = {np.ndarray, slice, int, type(None), type(...)}
_MAX_LISTED_ELEMENTS = 4096  # elements up to which listing all numbers is faster than a compact description


def is_basic(part: Any) -> bool:
    """Return whether a part of a key selects as a view: a number, a slice, `None` or an ellipsis."""
    kind = type(part)
    return kind is int or kind is slice or (isinstance(part, _BASIC) and kind is not bool)


def parts_of(key: Any) -> tuple[tuple[Any, ...], bool]:
    """Return the parts of a key, index arrays as arrays, and whether all are basic.

    A tuple inside a key is an array. A recording guards the contents of the parts, because it fixes the selected
    elements. Parts that NumPy refuses are left unchanged: NumPy raises its own error.
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
    """Return the integer that an object stands for as an index."""
    try:
        return operator.index(part)
    except TypeError:
        return None


def _index_array(part: Any) -> Any:
    """Return an array-like as an array of integers or booleans; any other part unchanged."""
    read_within(part)
    array = np.asarray(part)
    if array is not part and not isinstance(part, list | tuple | range):
        read_now(array)  # copied, because the memory may belong to an object that changes it
    if array.size == 0:
        return array.astype(np.intp)  # [] selects no element
    return array if array.dtype.kind in "biu" else part


def key_fields(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a basic key in the engine's format, four fields a part; raise `TypeError` for other keys."""
    fields: list[Any] = []
    for part in key:
        kind = type(part)
        if kind is int:
            fields += (ROW, part, 0, 0)
        elif kind is slice:
            fields += (SLICE, *_limits(part))
        elif part is None:
            fields += (NEW_AXIS, 0, 0, 0)
        elif part is Ellipsis:
            fields += (ELLIPSIS, 0, 0, 0)
        elif isinstance(part, np.integer):
            fields += (ROW, part, 0, 0)
        else:
            raise TypeError
    return tuple(fields)


def _limits(part: slice) -> tuple[Any, Any, int]:
    """Return first, end and step of a slice; open limits become integers beyond the array."""
    step = 1 if part.step is None else operator.index(part.step)
    start = (0 if step > 0 else END) if part.start is None else part.start
    stop = (END if step > 0 else -END) if part.stop is None else part.stop
    if step == 0:
        raise TypeError
    return start, stop, step


def view_key(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a basic key for which NumPy returns an array even if it selects a single element."""
    return parts if any(part is Ellipsis for part in parts) else (*parts, Ellipsis)


def element_numbers(shape: tuple[int, ...], key: tuple[Any, ...]) -> np.ndarray:
    """Return the number, in C order, of each element that `key` selects from an array of `shape`.

    The coordinate along each axis is indexed with the key itself, through a broadcast without memory of its own. So
    all rules and errors of NumPy's advanced indexing apply.
    """
    if math.prod(shape) <= _MAX_LISTED_ELEMENTS:
        return np.array(_all_numbers(shape)[key], np.int64, order="C")
    numbers: Any = np.zeros((), np.int64)
    step = 1
    for axis in range(len(shape) - 1, -1, -1):
        line = np.arange(shape[axis], dtype=np.int64).reshape((-1,) + (1,) * (len(shape) - 1 - axis))
        numbers = numbers + step * np.broadcast_to(line, shape)[key]
        step *= shape[axis]
    if not shape:
        numbers = np.broadcast_to(np.zeros((), np.int64), shape)[key]
    return np.asarray(numbers, np.int64, order="C")


def names_elements(key: Any) -> bool:
    """Return whether a key is a tuple of arrays and of parts that NumPy takes without conversion."""
    kinds = set(map(type, key)) if type(key) is tuple else set()
    return np.ndarray in kinds and kinds <= _PLAIN


def listed_numbers(shape: tuple[int, ...], key: Any) -> np.ndarray | None:
    """Return the element numbers that an advanced eager key lists; for a vector they may be out of bounds.

    `None` for keys that need a full analysis.
    """
    if type(key) is list and set(map(type, key)) == {int}:
        key = np.array(key)
    if type(key) is not np.ndarray:
        return element_numbers(shape, key) if names_elements(key) else None
    if key.dtype == bool and key.shape == shape:
        return np.flatnonzero(key)
    if key.dtype != np.int64:
        return None
    return key if len(shape) == 1 else element_numbers(shape, (key,))


@functools.lru_cache(64)
def _all_numbers(shape: tuple[int, ...]) -> np.ndarray:
    """Return the numbers of all elements of a small array."""
    return np.arange(math.prod(shape), dtype=np.int64).reshape(shape)


def numbers_in_memory(array: np.ndarray, key: tuple[Any, ...]) -> np.ndarray:
    """Return, for each element that `key` selects, its distance in memory from the first of `array`, in elements."""
    if len(key) == 1 and array.ndim == 1 and _lists_elements(key[0], len(array)):
        (listed,) = key
        numbers = np.where(listed < 0, listed + len(array), listed)
        return np.asarray(numbers * (array.strides[0] // array.itemsize), np.int64)
    found: Any = np.zeros(array.shape, np.int64)[key] if array.ndim == 0 else 0
    for axis, (extent, stride) in enumerate(zip(array.shape, array.strides, strict=True)):
        line = np.arange(extent, dtype=np.int64).reshape((-1,) + (1,) * (array.ndim - 1 - axis))
        found = found + stride // array.itemsize * np.broadcast_to(line, array.shape)[key]
    return np.asarray(found, np.int64, order="C")


def _lists_elements(part: Any, extent: int) -> bool:
    """Return whether a part of a key is an array of element numbers, all in bounds."""
    if not isinstance(part, np.ndarray) or part.dtype.kind != "i" or part.size == 0:
        return False
    return bool(part.min() >= -extent and part.max() < extent)


def slot_of_key(header: int, own: int, key: Any) -> int:
    """Return a slot on the selection of a basic key; negative for other keys, and for keys that NumPy refuses."""
    kind = type(key)
    try:
        if kind is int:
            slot: int = views.view_index(header, own, key)
        elif kind is slice and key.step is None:
            stop = END if key.stop is None else key.stop
            start = 0 if key.start is None else key.start
            slot = views.view_slice(header, own, start, stop)
        elif kind is list or kind is np.ndarray:
            return NONE
        else:
            slot = views.view_key(header, own, key_fields(key if kind is tuple else (key,)))
    except (TypeError, OverflowError):  # not plain integers
        return NONE
    return slot
