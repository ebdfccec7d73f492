"""Keys of static values: equal for indistinguishable values only, unlike `==`.

``1 == True``, ``0.0 == -0.0``, ``np.float32(0) == 0``, named tuples equal tuples, and dataclasses leave out fields
with ``compare=False``: a result cached for one of two such values is wrong for the other.
"""

import enum
import functools
import types
from typing import Any

import numpy as np

from tapegrad.engine.codegen.python_calls import comparisons
from tapegrad.errors import UnsupportedError
from tapegrad.foreign import original
from tapegrad.frontend.tensor.tensor import is_tensor

_EXACT = (bool, int, str, bytes, float, complex, type(None), type(...), type(NotImplemented))
_BY_IDENTITY: Any = object.__eq__
_BASES = (int, float, complex, str, bytes)
_ONE = (
    types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type, enum.Enum, np.ufunc, types.CodeType,
)  # fmt: skip


def token(value: Any) -> Any:
    """Return a key that indistinguishable values share: type and bits of numbers and text, identity of all else."""
    if type(value) in (float, complex):
        return type(value), np.array(value).tobytes()
    if issubclass(type(value), np.generic):  # isinstance fails on a dead weak proxy
        return type(value), value.dtype.str, value.tobytes()
    if type(value) in (bool, int, str, bytes):
        return type(value), value
    return IdentityKey(original(value))


class IdentityKey:
    """Wrapper that is equal only to a wrapper of the same object, and keeps it alive."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityKey) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def slot_value(member: Any, owner: Any) -> Any:
    """Return the value in one of an object's `__slots__`, `Missing` if it is not set."""
    try:
        return member.__get__(owner)
    except AttributeError:
        return comparisons.Missing


def static_key(value: Any, what: str = "an argument of a recorded function") -> Any:
    """Return a key that two values share only if a function can tell them apart by identity alone.

    Equal numbers of different types differ, and so do -0.0 and 0.0, a tuple and a named tuple, and objects whose `==`
    leaves attributes out. Objects without their own `==` are the same if they are one object.

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
    """Return the key of a value nested in those `above`, to which it may refer."""
    value = original(value)
    kind = type(value)
    if kind in _EXACT or isinstance(value, np.generic):
        return kind, token(value)
    if isinstance(value, np.dtype):
        return kind, value
    if isinstance(value, range):  # equal ranges may differ in their steps
        return kind, value.start, value.stop, value.step
    if isinstance(value, _ONE) or is_tensor(value) or isinstance(value, np.ndarray):
        return IdentityKey(value)
    if id(value) in above:
        return "above", above[id(value)]
    return kind, _parts(value, {**above, id(value): len(above)})


def _parts(value: Any, above: dict[int, int]) -> Any:
    """Return the keys of a value's parts."""
    if isinstance(value, types.MethodType):
        return IdentityKey(value.__func__), _key(value.__self__, above)
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
    """Return the key of any other object: its identity, its attributes, or its repr if it has neither."""
    if type(value).__eq__ is _BY_IDENTITY:
        return IdentityKey(value)
    return state if state else (value, repr(value))


def _state(value: Any, above: dict[int, int]) -> Any:
    """Return the attributes of an object, those in slots included."""
    found = dict(getattr(value, "__dict__", {}))
    for cls in type(value).__mro__:
        for name, member in vars(cls).items():
            if isinstance(member, types.MemberDescriptorType) and cls.__flags__ & _HEAP:
                found[name] = slot_value(member, value)
    return tuple(
        (name, _key(part, above)) for name, part in sorted(found.items()) if part is not comparisons.Missing
    )


_HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement
