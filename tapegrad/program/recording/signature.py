"""Arguments of a recorded function: the arrays, the static values, and their specs."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapegrad.engine.tape.tape import DTYPE_CODES, DTYPES
from tapegrad.errors import name_of
from tapegrad.foreign import is_sparse_tensor
from tapegrad.frontend.tensor.array_checks import check_dtype, refuse_subclass
from tapegrad.frontend.tensor.memory_order import is_reordered
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.static_keys import static_key
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.pytree import LEAF, LEAVES, SEQUENCES, asides, flatten

Numbers = int | Iterable[int]
Names = str | Iterable[str]


@dataclass(frozen=True)
class Static:
    """Static arguments of a function.

    Attributes
    ----------
    numbers, names
        By position, and by keyword.
    """

    numbers: frozenset[int] = frozenset()
    names: frozenset[str] = frozenset()

    def shifted(self, by: int) -> "Static":
        """Return the static arguments of a function that takes `by` arguments before these."""
        return Static(frozenset(number + by for number in self.numbers), self.names) if by else self


NOTHING = Static()


def static_arguments(function: Callable[..., Any], argnums: Numbers | None, argnames: Names | None) -> Static:
    """Return the arguments that `static_argnums` and `static_argnames` of `jit` mean: each counts for the other.

    Raises
    ------
    TypeError
        For numbers that are not integers, and names that are not text.
    ValueError
        For an argument that the function does not have.
    """
    given = () if argnums is None else (argnums,) if isinstance(argnums, int) else tuple(argnums)
    named = () if argnames is None else (argnames,) if isinstance(argnames, str) else tuple(argnames)
    for value, kind, what in [(n, int, "argnums") for n in given] + [(n, str, "argnames") for n in named]:
        if not isinstance(value, kind) or isinstance(value, bool):
            raise TypeError(f"static_{what}: {value!r} is not {'an integer' if kind is int else 'a name'}")
    if not given and not named:
        return NOTHING
    return _resolved(name_of(function), _parameters(function), given, named)


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


def _resolved(
    name: str, parameters: list[inspect.Parameter] | None, given: tuple[int, ...], named: tuple[str, ...]
) -> Static:
    if parameters is None:
        if any(number < 0 for number in given):
            raise ValueError(f"static_argnums={given}: the parameters of {name} are not known")
        return Static(frozenset(given), frozenset(named))
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    kinds = {p.kind for p in parameters}
    for number in given:
        if not -len(positional) <= number < len(positional) and inspect.Parameter.VAR_POSITIONAL not in kinds:
            raise ValueError(f"static_argnums={given}: {name} has {len(positional)} positional parameters")
    for each in named:
        if each not in {p.name for p in parameters} and inspect.Parameter.VAR_KEYWORD not in kinds:
            raise ValueError(f"static_argnames={named}: {name} has no parameter {each!r}")
    numbers = {number % len(positional) if number < 0 else number for number in given}
    numbers |= {positional.index(each) for each in named if each in positional}
    names = set(named) | {positional[number] for number in numbers if number < len(positional)}
    return Static(frozenset(numbers), frozenset(names))


_INTEGERS = np.dtype(np.int64)
_STATIC = "static"  # begins the part of a key for an argument that is named as static


@dataclass(frozen=True)
class ArgSpec:
    """Spec of an array argument as given, where the engine's array does not say it.

    Attributes
    ----------
    dtype
        Its own dtype.
    weak
        It is a Python number, which takes the dtype of what it meets.
    wraps
        It holds integers that are beyond those of the engine, which has them modulo 2**64.
    """

    dtype: np.dtype[Any]
    weak: bool = False
    wraps: bool = False


@dataclass(frozen=True)
class Arguments:
    """The arguments of a call, taken apart.

    Attributes
    ----------
    key
        What a recording depends on: structure, shapes and dtypes of arrays, values of everything else. Hashable.
    arrays
        The array leaves, in C order and of a dtype of the engine.
    arg_specs
        For each of these, what it was given as.
    positions
        For each leaf, its number among the arrays, or -1.
    leaves
        All leaves as they were given; an argument that is static is one leaf.
    starts
        For each positional argument, the number of its first leaf.
    definition
        The structure of ``(args, kwargs)``.
    reordered
        Whether an array was not given in C order, but in another one.
    nan_on_failure
        Whether failures of linear algebra give nan in the mode of the call.
    """

    key: Any
    arrays: list[np.ndarray]
    arg_specs: list[ArgSpec]
    positions: list[int]
    leaves: list[Any]
    starts: list[int]
    definition: Any
    reordered: bool
    nan_on_failure: bool

    @property
    def recording_key(self) -> Any:
        """The key, and what beside the arguments a recording depends on."""
        return (self.key, self.nan_on_failure) if self.nan_on_failure else self.key

    @property
    def objects(self) -> list[Any]:
        """The leaves that are fixed and may have attributes or parts that change."""
        fixed = (leaf for leaf, position in zip(self.leaves, self.positions, strict=True) if position < 0)
        return [leaf for leaf in fixed if not isinstance(leaf, bool | int | str | bytes | None)]

    def is_static(self, leaf: int) -> bool:
        """Return whether a leaf is an argument in `static_argnums` or `static_argnames`."""
        part = self.part(leaf)
        return isinstance(part, tuple) and part[0] == _STATIC

    def part(self, leaf: int) -> Any:
        """Return the part of the key for a leaf."""
        return self.key[len(self.key) - len(self.leaves) + leaf]


def flatten_args(args: tuple[Any, ...], kwargs: dict[str, Any], static: Static = NOTHING) -> Arguments:
    """Flatten the arguments of a call. Arrays, NumPy scalars, floats and complex numbers are traced, others fixed."""
    leaves, starts, fixed, definition = _flattened(args, kwargs, static)
    arrays: list[np.ndarray] = []
    arg_specs: list[ArgSpec] = []
    positions: list[int] = []
    key: list[Any] = [definition, *map(_aside_key, asides(definition))]
    reordered = False
    for number, leaf in enumerate(leaves):
        array = None if number in fixed else _as_array(leaf)
        if array is None:
            key.append((_STATIC, static_key(leaf)) if number in fixed else static_key(leaf))
            positions.append(-1)
        else:
            arg_spec = _arg_spec(leaf, array)
            key.append((array.shape, arg_spec))
            positions.append(len(arrays))
            arrays.append(array)
            arg_specs.append(arg_spec)
            reordered |= array is not leaf and isinstance(leaf, np.ndarray) and is_reordered(leaf)
    return Arguments(
        tuple(key),
        arrays,
        arg_specs,
        positions,
        leaves,
        starts,
        definition,
        reordered,
        thread.mode.nan_on_failure,
    )


def _flattened(
    args: tuple[Any, ...], kwargs: dict[str, Any], static: Static
) -> tuple[list[Any], list[int], set[int], Any]:
    """Return the leaves, the start of each positional argument, which leaves are static, and the structure."""
    leaves: list[Any] = []
    starts: list[int] = []
    fixed: set[int] = set()
    definitions: list[Any] = []
    names = sorted(kwargs)
    for argument, value in [*enumerate(args), *((name, kwargs[name]) for name in names)]:
        starts.append(len(leaves))
        if argument in static.numbers or argument in static.names:
            fixed.add(len(leaves))
            leaves.append(value)
            definitions.append(LEAF)
        else:
            found, definition = flatten(value)
            leaves += found
            definitions.append(definition)
    positional = (tuple, tuple(definitions[: len(args)]))
    _, (_, _, _, aside) = flatten(dict.fromkeys(kwargs))
    named = (dict, tuple(definitions[len(args) :]), tuple(names), aside)
    return leaves, starts, fixed, (tuple, (positional, named))


def _aside_key(aside: Any) -> Any:
    """Return the properties of a container beside its parts: the order of its keys, and its attributes."""
    kind, given = aside
    keys = tuple(key if type(key) is str else static_key(key, "a key of a dict") for key in given.order)
    attributes = given.attributes if isinstance(given.attributes, dict) else None
    return kind, keys, static_key(attributes), static_key(given.extra)


def _arg_spec(leaf: Any, array: np.ndarray) -> ArgSpec:
    """Return the spec of the argument that an array of the engine's was made of."""
    if not isinstance(leaf, np.ndarray | np.generic):
        return ArgSpec(array.dtype, weak=True)
    wraps = leaf.dtype.kind == "u" and leaf.dtype.itemsize == 8 and bool((array < 0).any())
    return ArgSpec(leaf.dtype.newbyteorder("="), wraps=wraps)


def numpy_scalar(array: np.ndarray) -> Any:
    """Return a result for the caller: an array, or a NumPy scalar if it is 0-d."""
    return array[()] if array.ndim == 0 else array


def has_tensor(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether some leaf of the arguments is a Tensor."""
    return any(map(_holds_tensor, args)) or any(map(_holds_tensor, kwargs.values()))


def _holds_tensor(value: Any) -> bool:
    if type(value) in LEAVES:
        return False
    if isinstance(value, dict):
        return any(map(_holds_tensor, value.values()))
    return (
        any(map(_holds_tensor, value))
        if isinstance(value, SEQUENCES)
        else is_tensor(value.__leaf__ if is_sparse_tensor(value) else value)
    )


def _as_array(leaf: Any) -> np.ndarray | None:
    """Return a traced leaf as an array that the engine can read in place; `None` for a static one."""
    if not isinstance(leaf, float | complex | np.ndarray | np.generic) or isinstance(leaf, str | bytes):
        return None
    refuse_subclass(leaf, "argument of a recorded function")
    array = np.asarray(leaf)
    check_dtype(array.dtype, "argument of a recorded function", takes_complex=True)
    if array.dtype.kind in "iu":
        array = array.astype(_INTEGERS, copy=False)
    if not (array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative):
        array = np.array(array, array.dtype.newbyteorder("="), order="C")
    canonical = DTYPES[DTYPE_CODES[array.dtype]]
    # Compiled code knows dtypes by their numbers, and int64 has two where it is also `longlong`.
    return array if array.dtype is canonical else array.view(canonical)
