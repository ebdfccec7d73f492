"""Select the arguments to differentiate by."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.frontend.tensor.array_checks import check_dtype, plain
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.program.recording.signature import Arguments, numpy_scalar
from tapegrad.pytree import LEAF, flatten, paths, unflatten

Argnums = int | tuple[int, ...]

_FLOAT64 = np.dtype(np.float64)


@dataclass(slots=True)
class Selection:
    """The arguments of a call, and which of them to differentiate by.

    Attributes
    ----------
    args
        All positional arguments.
    numbers
        Which of them are selected, counted from the first.
    leaves
        The leaves of the selected ones.
    definitions, counts
        The structure of each, and its number of leaves.
    are_leaves
        Whether each selected argument is itself a leaf.
    """

    args: tuple[Any, ...]
    argnums: Argnums
    numbers: list[int]
    leaves: list[Any]
    definitions: list[Any]
    counts: list[int]
    are_leaves: bool

    def _per_argument(self, values: list[Any]) -> list[Any]:
        """Build structures like the selected arguments from a value for each leaf."""
        start, built = 0, []
        for definition, count in zip(self.definitions, self.counts, strict=True):
            built.append(unflatten(definition, values[start : start + count]))
            start += count
        return built

    def substitute(self, values: list[Any]) -> list[Any]:
        """Return all positional arguments, with `values` in place of the selected leaves."""
        args = list(self.args)
        built = values if self.are_leaves else self._per_argument(values)
        for number, value in zip(self.numbers, built, strict=True):
            args[number] = value
        return args

    def unflatten_results(self, values: list[Any]) -> Any:
        """Return one result for each leaf in the structure of the arguments; a tuple for a tuple of `argnums`."""
        built = values if self.are_leaves else self._per_argument(values)
        return tuple(built) if isinstance(self.argnums, tuple) else built[0]

    def zeros(self, lead: tuple[int, ...] = ()) -> Any:
        """Return zero derivatives, for a result of shape `lead` that does not depend on the leaves."""
        arrays = [np.asarray(leaf) for leaf in self.leaves]
        return self.unflatten_results(
            [numpy_scalar(np.zeros(lead + x.shape, native(x.dtype))) for x in arrays]
        )

    def inputs(self, arguments: Arguments) -> tuple[int, ...]:
        """Return the numbers of the leaves among the traced arrays of a call."""
        found: list[int] = []
        for number, count in zip(self.numbers, self.counts, strict=True):
            start = arguments.starts[number]
            positions = arguments.positions[start : start + count]
            if len(positions) < count or any(position < 0 for position in positions):
                raise TypeError(
                    f"cannot differentiate by argument {number}, which is static: {self.args[number]!r}"
                )
            found += positions
        return tuple(found)


def native(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return a dtype in native byte order."""
    return dtype.newbyteorder("=")


def checked_argnums(argnums: Any) -> Argnums:
    """Return `argnums` as an integer or a tuple of integers.

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


def select(args: tuple[Any, ...], argnums: Argnums, real_for: str = "") -> Selection:
    """Select the arguments to differentiate by.

    Raises
    ------
    ValueError
        For the number of an argument that was not given, or one that is repeated.
    TypeError
        For leaves that are not floats or complex numbers or arrays of them; if `real_for` is the name of a transform
        that takes no complex numbers, for those, too.
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
                _check(leaf, arg, k, real_for)
        leaves += part
        definitions.append(definition)
        counts.append(len(part))
    are_leaves = len(leaves) == len(definitions) and not any(definitions)
    return Selection(args, argnums, numbers, leaves, definitions, counts, are_leaves)


def complex_argument(name: str, dtype: np.dtype[Any]) -> TypeError:
    """Return the error of a transform whose result by complex arguments is no complex matrix."""
    analytic = "; for an analytic function pass `holomorphic=True`" if name == "jacobian" else ""
    return TypeError(
        f"{name}: an argument is {dtype}, by whose real and imaginary parts the derivatives are a real matrix:"
        f" differentiate by z.view(float) instead, lambda p: f(p.view(complex)[..., 0]){analytic}"
    )


def _positions(args: tuple[Any, ...], argnums: Argnums) -> list[int]:
    """Return the numbers of the arguments, counted from the first."""
    count = len(args)
    given = argnums if isinstance(argnums, tuple) else (argnums,)
    numbers = [number % count for number in given if -count <= number < count]
    if len(numbers) < len(given):
        raise ValueError(f"argnums={argnums!r}: there are {count} positional arguments")
    if len(numbers) > 1 and len(set(numbers)) < len(numbers):
        raise ValueError(f"argnums={argnums!r} names an argument twice")
    return numbers


def _check(leaf: Any, argument: Any, k: int, real_for: str) -> None:
    """Raise if leaf `k` of an argument has no derivative."""
    path = paths(argument)[k]
    what = f"an argument's entry {path}" if path else "an argument"
    if not is_tensor(leaf) and not isinstance(leaf, np.ndarray | np.generic | float | complex):
        raise TypeError(
            f"cannot differentiate by {what} of type {type(leaf).__name__}; pass a float, or an array of floats"
        )
    dtype = leaf.dtype if is_tensor(leaf) else plain(leaf, f"{what} to differentiate by").dtype
    check_dtype(dtype, f"{what} to differentiate by", takes_complex=True)
    if dtype.kind == "c" and real_for:
        raise complex_argument(real_for, dtype)
    if dtype.kind not in DIFFERENTIABLE_KINDS:
        raise TypeError(f"cannot differentiate by {what} of dtype {dtype}; convert it with astype(float)")
