"""Arguments that are fixed in a recording: which they are, and when two of them are the same."""

import enum
import functools
import inspect
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError, name_of
from tapegrad.frontend.tensor import is_tensor
from tapegrad.program.watch.places import Missing, Same, slot_value, token

Numbers = int | Iterable[int]
Names = str | Iterable[str]

_EXACT = (bool, int, str, bytes, float, complex, type(None), type(...), type(NotImplemented))
_BY_IDENTITY: Any = object.__eq__
_BASES = (int, float, complex, str, bytes)
_ONE = (
    types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type, enum.Enum, np.ufunc, types.CodeType,
)  # fmt: skip


@dataclass(frozen=True)
class Static:
    """Which arguments of a function are fixed as a whole.

    Attributes
    ----------
    numbers, names
        By position, and by keyword.
    """

    numbers: frozenset[int] = frozenset()
    names: frozenset[str] = frozenset()

    def shifted(self, by: int) -> "Static":
        """For a function that takes so many arguments before those."""
        return Static(frozenset(number + by for number in self.numbers), self.names) if by else self


NOTHING = Static()


def static_arguments(function: Callable[..., Any], argnums: Numbers | None, argnames: Names | None) -> Static:
    """The arguments that `static_argnums` and `static_argnames` of `jit` mean: each counts for the other.

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


# --- when two values are the same -----------------------------------------------------------------------------------


def static_key(value: Any, what: str = "an argument of a recorded function") -> Any:
    """What two fixed arguments share only if a function can tell them apart by nothing but their identity.

    Equal numbers of different types differ, and so do -0.0 and 0.0, a tuple and a named tuple, and objects whose
    `==` leaves attributes out. Objects without an `==` of their own are the same if they are one object.

    Raises
    ------
    UnsupportedError
        For arrays, and for objects that are not hashable.
    """
    if isinstance(value, np.ndarray) or is_tensor(value):
        raise UnsupportedError(
            f"{what} that is static holds {type(value).__name__}: arrays cannot be compared at each call; pass it as an"
            " argument that is not static"
        )
    if type(value) not in (list, dict, set):
        _check_hashable(value, what)
    return _key(value, {})


def _check_hashable(value: Any, what: str) -> None:
    try:
        hash(value)
    except TypeError:
        raise UnsupportedError(
            f"{what} of type {type(value).__name__} is neither an array nor hashable; pass arrays, numbers, strings, or"
            " lists, tuples and dicts of them"
        ) from None


def _key(value: Any, above: dict[int, int]) -> Any:
    """The key of a value inside those `above`, which it may refer back to."""
    kind = type(value)
    if kind in _EXACT or isinstance(value, np.generic):
        return kind, token(value)
    if isinstance(value, np.dtype | range):
        return kind, value
    if isinstance(value, _ONE) or is_tensor(value) or isinstance(value, np.ndarray):
        return Same(value)
    if id(value) in above:
        return "above", above[id(value)]
    return kind, _parts(value, {**above, id(value): len(above)})


def _parts(value: Any, above: dict[int, int]) -> Any:
    """What a value is made of."""
    if isinstance(value, types.MethodType):
        return Same(value.__func__), _key(value.__self__, above)
    if isinstance(value, slice):
        return tuple(_key(part, above) for part in (value.start, value.stop, value.step))
    if isinstance(value, functools.partial):
        return tuple(_key(part, above) for part in (value.func, value.args, value.keywords, vars(value)))
    state = _state(value, above)
    if isinstance(value, list | tuple):
        return tuple(_key(part, above) for part in value), state
    if isinstance(value, set | frozenset):
        return frozenset(_key(part, above) for part in value), state
    if isinstance(value, dict):
        return tuple((_key(name, above), _key(part, above)) for name, part in value.items()), state
    base: Any = next((base for base in _BASES if isinstance(value, base)), None)
    if base is not None:
        return token(base.__add__(value, base())), state
    return _object(value, state)


def _object(value: Any, state: Any) -> Any:
    """An object of another kind: by identity, by its attributes, or by how it is written where it has none."""
    if type(value).__eq__ is _BY_IDENTITY:
        return Same(value)
    return state if state else (value, repr(value))


def _state(value: Any, above: dict[int, int]) -> Any:
    """The attributes of an object, those in slots included."""
    found = dict(getattr(value, "__dict__", {}))
    for cls in type(value).__mro__:
        for name, member in vars(cls).items():
            if isinstance(member, types.MemberDescriptorType) and cls.__flags__ & _HEAP:
                found[name] = slot_value(member, value)
    return tuple((name, _key(part, above)) for name, part in sorted(found.items()) if part is not Missing)


_HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement
