"""The arguments that a gradient is taken by."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tapegrad.frontend.array_checks import check_dtype, plain
from tapegrad.frontend.tensor import is_tensor
from tapegrad.program.signature import Arguments, numpy_scalar
from tapegrad.pytree import LEAF, flatten, paths, unflatten

Argnums = int | tuple[int, ...]

_FLOAT64 = np.dtype(np.float64)


@dataclass(slots=True)
class Selection:
    """Positional arguments picked by number, and their leaves.

    Attributes
    ----------
    leaves
        The leaves of the arguments that were picked.
    plain
        Whether each of these is itself a leaf.
    """

    args: tuple[Any, ...]
    argnums: Argnums
    numbers: list[int]
    leaves: list[Any]
    definitions: list[Any]
    counts: list[int]
    plain: bool

    def _per_argument(self, values: list[Any]) -> list[Any]:
        """Values for the leaves as structures like the arguments."""
        start, built = 0, []
        for definition, count in zip(self.definitions, self.counts, strict=True):
            built.append(unflatten(definition, values[start : start + count]))
            start += count
        return built

    def substitute(self, values: list[Any]) -> list[Any]:
        """All positional arguments, with `values` in place of the leaves; the others as they were given."""
        args = list(self.args)
        built = values if self.plain else self._per_argument(values)
        for number, value in zip(self.numbers, built, strict=True):
            args[number] = value
        return args

    def unflatten_results(self, values: list[Any]) -> Any:
        """Results for the leaves in the structure that is returned: a tuple for a tuple of numbers."""
        built = values if self.plain else self._per_argument(values)
        return tuple(built) if isinstance(self.argnums, tuple) else built[0]

    def zeros(self, lead: tuple[int, ...] = ()) -> Any:
        """The derivatives of what depends on none of the leaves, a result of shape `lead`."""
        arrays = [np.asarray(leaf) for leaf in self.leaves]
        return self.unflatten_results(
            [numpy_scalar(np.zeros(lead + x.shape, native(x.dtype))) for x in arrays]
        )

    def inputs(self, arguments: Arguments) -> tuple[int, ...]:
        """The leaves' numbers among the traced arrays of a call."""
        found: list[int] = []
        for number, count in zip(self.numbers, self.counts, strict=True):
            start = arguments.starts[number]
            places = arguments.places[start : start + count]
            if len(places) < count or any(place < 0 for place in places):
                raise TypeError(
                    f"cannot differentiate by argument {number}, which is static: {self.args[number]!r}"
                )
            found += places
        return tuple(found)


def native(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A dtype in this machine's byte order."""
    return dtype.newbyteorder("=")


def checked_argnums(argnums: Any) -> Argnums:
    """`argnums` as an integer or a tuple of integers.

    Raises
    ------
    TypeError
        If it is neither an integer nor a tuple or a list of integers.
    """
    if isinstance(argnums, tuple | list):
        return tuple(_number(each, argnums) for each in argnums)
    return _number(argnums, argnums)


def _number(value: Any, argnums: Any) -> int:
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    raise TypeError(
        f"argnums={argnums!r}: it must be the number of an argument, or a tuple of such numbers, all integers"
    )


def select(args: tuple[Any, ...], argnums: Argnums) -> Selection:
    """Pick the arguments to differentiate by.

    Raises
    ------
    ValueError
        For a number of an argument that was not given, or twice the same.
    TypeError
        For leaves that are not floats or float arrays.
    """
    if argnums == 0 and len(args) == 1 and type(args[0]) is np.ndarray and args[0].dtype is _FLOAT64:
        return Selection(args, argnums, [0], [args[0]], [LEAF], [1], True)
    numbers = _positions(args, argnums)
    leaves: list[Any] = []
    definitions, counts = [], []
    for number in numbers:
        arg = args[number]
        if type(arg) is np.ndarray:
            part, definition = [arg], LEAF
        else:
            part, definition = flatten(arg)
        for k, leaf in enumerate(part):
            if type(leaf) is not np.ndarray or leaf.dtype is not _FLOAT64:
                _check(leaf, arg, k)
        leaves += part
        definitions.append(definition)
        counts.append(len(part))
    plain = len(leaves) == len(definitions) and not any(definitions)
    return Selection(args, argnums, numbers, leaves, definitions, counts, plain)


def _positions(args: tuple[Any, ...], argnums: Argnums) -> list[int]:
    """The arguments' numbers, counted from the first."""
    count = len(args)
    given = argnums if isinstance(argnums, tuple) else (argnums,)
    numbers = [number % count for number in given if -count <= number < count]
    if len(numbers) < len(given):
        raise ValueError(f"argnums={argnums!r}: there are {count} positional arguments")
    if len(numbers) > 1 and len(set(numbers)) < len(numbers):
        raise ValueError(f"argnums={argnums!r} names an argument twice")
    return numbers


def _check(leaf: Any, argument: Any, k: int) -> None:
    """Refuse what has no derivative: leaf `k` of an argument."""
    path = paths(argument)[k]
    what = f"an argument's entry {path}" if path else "an argument"
    if not is_tensor(leaf) and not isinstance(leaf, np.ndarray | np.generic | float):
        raise TypeError(
            f"cannot differentiate by {what} of type {type(leaf).__name__}; pass a float, or an array of floats"
        )
    dtype = leaf.dtype if is_tensor(leaf) else plain(leaf, f"{what} to differentiate by").dtype
    check_dtype(dtype, f"{what} to differentiate by")
    if dtype.kind != "f":
        raise TypeError(f"cannot differentiate by {what} of dtype {dtype}; convert it with astype(float)")
