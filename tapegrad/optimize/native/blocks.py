"""The words of compiled loops and the arrays that these point to."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

Shape = int | tuple[int, ...]
_LINE = 8  # numbers in a line of the cache


class Block:
    """Arrays by name, and the words of a record that hold their addresses.

    Parameters
    ----------
    record
        A NamedTuple class, whose fields are words.
    shapes
        Of arrays of float64, which are made: one after the other in one memory, zero.
    numbers
        The words that are no addresses.
    arrays
        The other arrays.
    """

    def __init__(
        self,
        record: Any,
        shapes: Mapping[str, Shape],
        numbers: Mapping[str, int],
        arrays: Mapping[str, np.ndarray],
    ) -> None:
        self._numbers = {name: k for k, name in enumerate(record._fields)}
        self._arrays, self._shapes, self._starts = dict(arrays), dict(shapes), {}
        end = 0
        for name, shape in shapes.items():
            self._starts[name] = end
            size = shape if isinstance(shape, int) else math.prod(shape)
            end += -(-size // _LINE) * _LINE
        self._memory = np.zeros(end)
        begin = address_of(self._memory)
        found = {name: begin + 8 * start for name, start in self._starts.items()}
        found |= {name: address_of(array) for name, array in arrays.items()}
        found |= numbers
        self._words = np.array([found.get(name, 0) for name in record._fields], np.int64)
        self.address = address_of(self._words)

    def __getitem__(self, name: str) -> Any:
        found = self._arrays.get(name)
        if found is None:
            start, shape = self._starts[name], self._shapes[name]
            size = shape if isinstance(shape, int) else math.prod(shape)
            found = self._arrays[name] = self._memory[start : start + size].reshape(shape)
        return found

    def addresses(self, *names: str) -> list[int]:
        """Addresses of arrays."""
        return [int(self._words[self._numbers[name]]) for name in names]

    def add(self, name: str, array: np.ndarray) -> None:
        """Enter an array that was not known before."""
        self._arrays[name] = array
        self.set_word(name, address_of(array))

    def set_word(self, name: str, value: int) -> None:
        """Set one of the words."""
        self._words[self._numbers[name]] = value


def address_of(array: np.ndarray) -> int:
    """Address of an array's first element."""
    address: int = array.__array_interface__["data"][0]
    return address
