"""Records of compiled loops, and the arrays that they point to."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

Shape = int | tuple[int, ...]
_LINE = 8  # numbers in a line of the cache


class Block:
    """Arrays by name, and a record in memory that holds their addresses.

    Parameters
    ----------
    record
        A NamedTuple class: the fields, 64 bits each.
    shapes
        Shapes of the float64 arrays that are made, zero, one after another in one memory.
    numbers
        The fields that are no addresses.
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
        self._fields = np.array([found.get(name, 0) for name in record._fields], np.int64)
        self.address = address_of(self._fields)

    def __getitem__(self, name: str) -> Any:
        found = self._arrays.get(name)
        if found is None:
            start, shape = self._starts[name], self._shapes[name]
            size = shape if isinstance(shape, int) else math.prod(shape)
            found = self._arrays[name] = self._memory[start : start + size].reshape(shape)
        return found

    def addresses(self, *names: str) -> list[int]:
        """Return the addresses of arrays."""
        return [int(self._fields[self._numbers[name]]) for name in names]

    def add(self, name: str, array: np.ndarray) -> None:
        """Enter a further array."""
        self._arrays[name] = array
        self.set_field(name, address_of(array))

    def set_field(self, name: str, value: int) -> None:
        """Set a field."""
        self._fields[self._numbers[name]] = value


def address_of(array: np.ndarray) -> int:
    """Return the address of the first element."""
    address: int = array.__array_interface__["data"][0]
    return address
