"""Integer arrays in few bytes, for columns of long programs that are rarely read once these replay.

A column is stored as differences from its smallest number, or of addresses, whose upper halves are few, as lower halves
and the numbers of the upper ones.
"""

from typing import Any

import numpy as np

MIN_ENTRIES = 4096  # of an array that is worth it
_HALF = 32
_MAX_TABLE = 1 << 20  # entries of the table that upper halves are counted in


class _Offsets:
    """Numbers as differences from the smallest."""

    def __init__(self, low: int, differences: np.ndarray) -> None:
        self._low, self._differences = low, differences

    def numbers(self) -> np.ndarray:
        return self._differences.astype(np.int64) + self._low


class _Halves:
    """Numbers as their lower halves, and which of the upper ones each has."""

    def __init__(self, upper: np.ndarray, which: np.ndarray, lower: np.ndarray) -> None:
        self._upper, self._which, self._lower = upper, which, lower

    def numbers(self) -> np.ndarray:
        found: np.ndarray = (self._upper[self._which] << _HALF) + self._lower
        return found


class _Constant:
    """Copies of one number."""

    def __init__(self, number: int, count: int) -> None:
        self._number, self._count = number, count

    def numbers(self) -> np.ndarray:
        return np.full(self._count, self._number, np.int64)


class _Plain:
    """Numbers that cannot be stored in fewer bytes."""

    def __init__(self, numbers: np.ndarray) -> None:
        self._numbers = numbers

    def numbers(self) -> np.ndarray:
        return self._numbers


def _column(column: np.ndarray, low: int, high: int) -> _Offsets | _Halves | _Constant | _Plain:
    """Return a column, of which the smallest and the largest number are known, in few bytes."""
    if low == high:
        return _Constant(low, len(column))
    values = np.ascontiguousarray(column)
    if high - low < 1 << _HALF:
        return _Offsets(low, (values - low).astype(np.min_scalar_type(high - low)))
    upper = values >> _HALF
    first = low >> _HALF
    if (high >> _HALF) - first >= _MAX_TABLE:
        return _Plain(values.copy())
    found = np.flatnonzero(np.bincount(upper - first))
    number = np.zeros(int(found[-1]) + 1, np.min_scalar_type(len(found)))
    number[found] = np.arange(len(found))
    return _Halves(found + first, number[upper - first], values.astype(np.uint32))


class NarrowArray:
    """An int64 array of one or two dimensions in few bytes.

    Parameters
    ----------
    array
        The array, which is not empty.
    """

    def __init__(self, array: np.ndarray) -> None:
        self._shape = array.shape
        columns = array.reshape(len(array), -1)
        bounds = zip(columns.min(axis=0).tolist(), columns.max(axis=0).tolist(), strict=True)
        self._columns = [_column(columns[:, j], *each) for j, each in enumerate(bounds)]

    def array(self) -> np.ndarray:
        """Return a new array of the same numbers."""
        found = np.empty((self._shape[0], len(self._columns)), np.int64)
        for j, column in enumerate(self._columns):
            found[:, j] = column.numbers()
        return found.reshape(self._shape)


class RarelyRead:
    """Base of objects whose long arrays of int64 can be kept in few bytes until they are read again.

    Threads may read them at the same time: an array is there or its narrow form, at any moment.
    """

    def narrow(self) -> None:
        """Keep long arrays in few bytes until they are read again."""
        arrays = [each for each in list(vars(self).items()) if _is_long(each[1])]
        vars(self).setdefault("_narrow", {}).update({name: NarrowArray(array) for name, array in arrays})
        for name, _ in arrays:
            vars(self).pop(name, None)

    def __getattr__(self, name: str) -> Any:
        narrow = vars(self).get("_narrow", {}).get(name)
        if narrow is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        array = vars(self)[name] = narrow.array()
        return array


def _is_long(value: Any) -> bool:
    return (
        isinstance(value, np.ndarray)
        and value.dtype == np.int64
        and value.ndim in (1, 2)
        and value.size >= MIN_ENTRIES
    )
