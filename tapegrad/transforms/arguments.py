"""The arguments that a gradient is taken by."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tapegrad.storage import check_dtype, is_tensor
from tapegrad.transforms.signature import Arguments
from tapegrad.tree import flatten, unflatten

Argnums = int | tuple[int, ...]


@dataclass(frozen=True)
class Selection:
    """Positional arguments picked by number, and their leaves.

    Attributes
    ----------
    leaves
        The leaves of the arguments that were picked.
    """

    args: tuple[Any, ...]
    argnums: Argnums
    numbers: tuple[int, ...]
    leaves: list[Any]
    definitions: list[Any]
    counts: list[int]

    def _per_argument(self, values: list[Any]) -> list[Any]:
        """Values for the leaves as structures like the arguments."""
        start, built = 0, []
        for definition, count in zip(self.definitions, self.counts, strict=True):
            built.append(unflatten(definition, values[start : start + count]))
            start += count
        return built

    def fill_in(self, values: list[Any]) -> list[Any]:
        """All positional arguments, with `values` in place of the leaves."""
        args = list(self.args)
        for number, value in zip(self.numbers, self._per_argument(values), strict=True):
            args[number] = value
        return args

    def arrange(self, values: list[Any]) -> Any:
        """Results for the leaves in the structure that is returned: a tuple for a tuple of numbers."""
        built = self._per_argument(values)
        return tuple(built) if isinstance(self.argnums, tuple) else built[0]

    def inputs(self, arguments: Arguments) -> tuple[int, ...]:
        """The leaves' numbers among the traced arrays of a call."""
        starts = np.cumsum([0] + [len(flatten(arg)[0]) for arg in self.args]).tolist()
        places = [
            arguments.places[starts[number] + k]
            for number, count in zip(self.numbers, self.counts, strict=True)
            for k in range(count)
        ]
        return tuple(places)


def select(args: tuple[Any, ...], argnums: Argnums) -> Selection:
    """Pick the arguments to differentiate by.

    Raises
    ------
    ValueError
        For a number of an argument that was not given, or twice the same.
    TypeError
        For leaves that are not floats or float arrays.
    """
    given = argnums if isinstance(argnums, tuple) else (argnums,)
    numbers = []
    for number in given:
        if not isinstance(number, int) or not -len(args) <= number < len(args):
            raise ValueError(f"argnums={argnums!r}: there are {len(args)} positional arguments")
        numbers.append(number % len(args))
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"argnums={argnums!r} names an argument twice")
    flat = [flatten(args[number]) for number in numbers]
    leaves = [leaf for part, _ in flat for leaf in part]
    for leaf in leaves:
        _check(leaf)
    return Selection(
        args, argnums, tuple(numbers), leaves, [d for _, d in flat], [len(part) for part, _ in flat]
    )


def _check(leaf: Any) -> None:
    """Refuse what has no derivative."""
    if is_tensor(leaf):
        if leaf.dtype.kind != "f":
            raise TypeError(
                f"cannot differentiate by a Tensor of dtype {leaf.dtype}; convert it with astype(float)"
            )
        return
    if not isinstance(leaf, np.ndarray | np.generic | float):
        raise TypeError(
            f"cannot differentiate by an argument of type {type(leaf).__name__}; pass a float, or an array of floats"
        )
    dtype = np.asarray(leaf).dtype
    check_dtype(dtype, "argument to differentiate by")
    if dtype.kind != "f":
        raise TypeError(f"cannot differentiate by an array of dtype {dtype}; convert it with astype(float)")
