"""Hidden references: objects that compiled objects of the interpreter and of NumPy refer to, and no attribute shows.

The dict of a view, the arguments of an exception, the function in a ufunc that `np.frompyfunc` has made, what an
iterator goes through. The garbage collector knows them.
"""

import ctypes
import functools
import gc
import io
import types
from collections import OrderedDict
from collections.abc import Callable, MappingView
from contextvars import ContextVar
from typing import Any

import numpy as np

from tapegrad.program.captured.origin import package_of

_MAPPINGS: tuple[Any, ...] = ({}, OrderedDict())
_VIEWS = tuple(type(getattr(each, name)()) for each in _MAPPINGS for name in ("keys", "values", "items"))
LRU_CACHE: Any = type(functools.lru_cache(len))
# Kinds whose references never change; packages of those whose references do; what references are not followed to.
FIXED = (*_VIEWS, np.ufunc, slice, types.MethodWrapperType)
_CHANGING = frozenset(
    {"_contextvars", "_ctypes", "_functools", "builtins", "ctypes", "fractions", "functools", "itertools"}
)
_NOT_FOLLOWED = (
    type, types.ModuleType, types.TracebackType, types.FrameType, types.CodeType, types.WrapperDescriptorType,
)  # fmt: skip


class Unset:
    """Stands for the value of a context variable that has none; `Missing` is no operand of a C comparison."""


def has_changing_references(value: Any) -> bool:
    """Return whether an object may come to refer to other objects, and no attribute shows them."""
    cls = type(value)
    if cls is functools.partial:  # its attributes show all, and comparing them takes a tenth of the time
        return False
    return issubclass(cls, BaseException | MappingView) or package_of(cls) in _CHANGING


def referents(value: Any) -> tuple[Any, ...]:
    """Return the objects that a compiled object refers to, without classes, modules and frames."""
    if type(value) is ContextVar:
        return (value.get(Unset), *gc.get_referents(value))
    found = gc.get_referents(value)
    if type(value) is LRU_CACHE:
        return tuple(_results(value, found))
    return tuple(each for each in found if not issubclass(type(each), _NOT_FOLLOWED))


def _results(function: Any, found: list[Any]) -> list[Any]:
    """Return the keys and results of an `lru_cache`: in a dict if it is unbounded, else in a list that C keeps."""
    bounded = function.cache_parameters()["maxsize"] is not None
    if not bounded:
        found = [
            each
            for held in found
            if isinstance(held, dict) and held is not vars(function)
            for each in held.values()
        ]
    return [
        each
        for each in found
        if each is not vars(function) and not issubclass(type(each), type | types.FunctionType)
    ]


def reading_of(value: Any) -> Callable[[Any], Any] | None:
    """Return the function that reads the whole of a stream in memory or of a record in an array, else `None`."""
    if isinstance(value, io.StringIO | io.BytesIO):
        return _written
    if isinstance(value, np.broadcast | np.flatiter):
        return _position
    if isinstance(value, ctypes._Pointer):
        return _pointee
    return np.void.tobytes if isinstance(value, np.void) else None


def _pointee(pointer: Any) -> bytes:
    """Return the bytes that a pointer leads to, if it keeps them alive: memory of others may be gone."""
    return bytes(pointer.contents) if pointer and pointer._objects else b""


def _position(iterator: Any) -> int:
    return int(iterator.index)


def _written(stream: Any) -> Any:
    return None if stream.closed else (stream.getvalue(), stream.tell())
