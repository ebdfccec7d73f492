"""Points-to sets of the values in bytecode: objects, their items and their attributes."""

import inspect
import types
from collections import deque
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from tapegrad.engine.kernels.language import is_jitted
from tapegrad.foreign import original
from tapegrad.frontend.tensor.static_keys import slot_value
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.program.captured.hidden import FIXED, LRU_CACHE, has_changing_references, referents
from tapegrad.program.captured.origin import is_made_here
from tapegrad.program.captured.references import Missing, is_dead

_SCALARS = (bool, int, float, complex, str, bytes, type(None), type(...), range, np.generic, np.dtype)
_SEQUENCES = (list, tuple, deque, set, frozenset)
# Attributes of arrays that say nothing of their contents, and those that show the same memory.
_LOOKS = frozenset({"shape", "ndim", "size", "dtype", "itemsize", "nbytes", "strides", "flags"})
_VIEWS = frozenset({
    "T", "mT", "reshape", "ravel", "transpose", "swapaxes", "squeeze", "view", "diagonal", "real",
    "copy", "astype",  # what they copy is seen to be other memory where it is used
})  # fmt: skip


class LocalContainer:
    """A container or iterator that the analysed code creates.

    Attributes
    ----------
    parts
        What may be in it.
    fields
        The values of each item of a tuple.
    """

    def __init__(self, size: int = 0) -> None:
        self.parts: PointsTo = {}
        self.fields: list[PointsTo] = [{} for _ in range(size)]


class BoundMethod:
    """A bound method: receiver and function (for containers, the method's name)."""

    def __init__(self, function: Any, owner: Any) -> None:
        self.function = function
        self.owner = owner

    @property
    def key(self) -> tuple[object, ...]:
        """Key that is equal for one method of one receiver, however often the code is followed."""
        named = isinstance(self.function, str)
        return type(self), self.function if named else id(self.function), id(self.owner)


class PropertyAccess(BoundMethod):
    """A property access: receiver and getter."""


class Local:
    """A function that it creates."""

    def __init__(self, code: types.CodeType) -> None:
        self.code = code

    @property
    def key(self) -> tuple[object, ...]:
        return Local, id(self.code)


PointsTo = dict[Any, Any]  # objects by their ids; what stands for an object that the code makes, by its key


def lead(*objects: Any) -> PointsTo:
    """Return the points-to set of these objects."""
    return {
        object_.key if isinstance(object_, Local | BoundMethod) else id(object_): object_
        for object_ in map(original, objects)
        if not issubclass(type(object_), _SCALARS) and not is_dead(object_)
    }


def joined(values: Iterable[PointsTo]) -> PointsTo:
    """Return the union of points-to sets."""
    found: PointsTo = {}
    for value in values:
        found.update(value)
    return found


def parts(value: Any) -> Iterator[Any]:
    """Yield the items of a container."""
    if isinstance(value, LocalContainer):
        yield from value.parts.values()
    elif isinstance(value, dict | types.MappingProxyType):
        yield from value.values()
    elif isinstance(value, _SEQUENCES):
        yield from value


def part(value: Any, key: Any) -> PointsTo | None:
    """Return the points-to set of ``value[key]``, or `None` if unknown."""
    if isinstance(value, LocalContainer):
        return (
            value.fields[key]
            if isinstance(key, int) and -len(value.fields) <= key < len(value.fields)
            else None
        )
    if not isinstance(value, dict | list | tuple):
        return None
    try:
        return lead(value[key])
    except (LookupError, TypeError):
        return {}


def inside(value: Any) -> Iterator[Any]:
    """Yield all objects one step away: items, receiver, attributes."""
    yield from parts(value)
    if isinstance(value, BoundMethod):
        yield value.owner
    elif isinstance(value, types.MethodType | types.BuiltinFunctionType):
        yield value.__self__
    elif isinstance(value, (*FIXED, ContextVar, LRU_CACHE)):
        yield from referents(value)
    elif is_tensor(value):
        yield from _contents(value)
    elif is_made_here(value):
        yield getattr(value, "function", None)
    elif is_jitted(value):  # the rest is Numba's, all that it has ever compiled
        yield value.py_func
    elif (
        not isinstance(value, types.ModuleType | type | types.FunctionType) and type(value) is not np.ndarray
    ):
        if has_changing_references(value):
            yield from referents(value)
        own = getattr(value, "__dict__", None)
        yield from own.values() if isinstance(own, dict) else ()
        for cls in type(value).__mro__:
            for member in vars(cls).values():
                if isinstance(member, types.MemberDescriptorType):
                    yield slot_value(member, value)


def _contents(tensor: Any) -> tuple[np.ndarray, ...]:
    """Return the array of an eager Tensor; a recorded one has none."""
    inner = tensor._tape is not None and tensor._tape.recording
    return () if inner else (tensor.data_or_traced(),)


def attribute(value: Any, name: str) -> PointsTo | None:
    """Return the points-to set of ``value.name``, or `None` if only running the descriptor would tell."""
    if isinstance(value, np.ndarray):
        if name in _LOOKS:
            return {}
        return lead(value) if name in _VIEWS else None
    if is_tensor(value):
        return lead(*_contents(value)) if name in ("data", "numpy") else {}
    if isinstance(value, LocalContainer | dict | list | tuple | deque | set):
        fields = getattr(type(value), "_fields", ())
        return lead(getattr(value, name)) if name in fields else lead(BoundMethod(name, value))
    if issubclass(type(value), types.ModuleType):
        if name not in vars(value) and "__getattr__" in vars(value):
            return lead(PropertyAccess(vars(value)["__getattr__"], value))
        return lead(vars(value).get(name))
    found = inspect.getattr_static(value, name, Missing)
    if is_dead(found):
        return {}
    if isinstance(found, types.MemberDescriptorType):
        found = slot_value(found, value)
    if isinstance(found, staticmethod):
        return lead(found.__func__)
    if isinstance(found, property) and isinstance(found.fget, types.FunctionType):
        return lead(PropertyAccess(found.fget, value))
    if isinstance(found, classmethod):
        return lead(BoundMethod(found.__func__, value if isinstance(value, type) else type(value)))
    if isinstance(found, types.FunctionType):
        bound = not isinstance(value, type | types.ModuleType) and name not in getattr(value, "__dict__", {})
        return lead(BoundMethod(found, value)) if bound else lead(found)
    if found is Missing or hasattr(type(found), "__get__"):
        return None if not isinstance(found, types.BuiltinFunctionType) else lead(found)
    return lead(found)
