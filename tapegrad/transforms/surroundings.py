"""What a recorded function sees beside its arguments, so that a replay notices when a name is bound anew."""

import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tapegrad.storage import is_tensor

_WATCHED = (bool, int, float, complex, str, bytes, tuple, list, dict, np.ndarray, np.generic, types.FunctionType)
_BY_VALUE = (bool, int, float, complex, str, bytes, np.generic)


class _Missing:
    """Stands for a name that is not bound."""


class Surroundings:
    """The variables that a function and the functions it calls take from closures and modules.

    Numbers, strings and NumPy scalars are compared by value, all else by identity. Contents of arrays need no
    watching, for a replay reads them where they lie; attributes of objects are not watched.
    """

    __slots__ = ("_cells", "_names")

    def __init__(self, function: Callable[..., Any]) -> None:
        self._cells: list[tuple[Any, Any]] = []
        self._names: list[tuple[dict[str, Any], str, Any]] = []
        seen: set[int] = set()
        self._watch(function, seen)

    def _watch(self, function: Any, seen: set[int]) -> None:
        function = getattr(function, "__func__", function)
        if not isinstance(function, types.FunctionType) or id(function) in seen:
            return
        seen.add(id(function))
        if function.__module__ and function.__module__.partition(".")[0] in ("tapegrad", "numpy", "scipy"):
            return
        for cell in function.__closure__ or ():
            value = _contents(cell)
            if _is_watched(value):
                self._cells.append((cell, value))
                self._watch(value, seen)
        for name in _global_names(function.__code__):
            value = function.__globals__.get(name, _Missing)
            if _is_watched(value):
                self._names.append((function.__globals__, name, value))
                self._watch(value, seen)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to watch."""
        return not self._cells and not self._names

    def changed(self) -> bool:
        """Whether a name has been bound to something else since."""
        for cell, value in self._cells:
            now = _contents(cell)
            if now is not value and not _equal(now, value):
                return True
        for names, name, value in self._names:
            now = names.get(name, _Missing)
            if now is not value and not _equal(now, value):
                return True
        return False


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _Missing


def _is_watched(value: Any) -> bool:
    return isinstance(value, _WATCHED) or is_tensor(value)


def _equal(now: Any, then: Any) -> bool:
    """Whether two plain values are the same, bit for bit as far as a computation can tell."""
    if not isinstance(now, _BY_VALUE) or type(now) is not type(then):
        return False
    return bool(now == then) or bool(now != now and then != then)


def _global_names(code: types.CodeType) -> Iterator[str]:
    """Every name that a code object, or one nested in it, may look up in its module."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)
