"""Copies of functions in which the modules of another library stand for NumPy and tapegrad."""

import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from tapegrad.transforms.base import without_jit

_HOMES = "numpy", "tapegrad"  # modules whose functions may have been imported by name


class PeerNames:
    """Module of a library under NumPy's names: `own` where the library has another name for a thing."""

    def __init__(self, library: Any, own: Mapping[str, Any]) -> None:
        self._library, self._own = library, own

    def __getattr__(self, name: str) -> Any:
        return self._own[name] if name in self._own else getattr(self._library, name)


class NamespaceCopies:
    """Copies of a function and of the functions of its module that it reaches, by globals, closures and defaults.

    They have the code of the originals. Each global, variable of a closure and default that is NumPy, tapegrad, a
    module in them or one of their functions is replaced by what the other library has of that name; each array by its
    conversion. What a function imports in its body, and what containers and objects hold, stays as it is.

    Parameters
    ----------
    modules : dict
        Stand-ins by the full name of the module that they replace.
    asarray : callable
        Converts an array of NumPy's.
    """

    def __init__(self, modules: Mapping[str, Any], asarray: Callable[[np.ndarray], Any]) -> None:
        self._modules, self._asarray = modules, asarray
        self._names: dict[int, dict[str, Any]] = {}  # globals of copies by the identity of the originals'
        self._copies: dict[types.FunctionType, types.FunctionType] = {}

    def function(self, function: types.FunctionType) -> types.FunctionType:
        """Return the copy of a function."""
        if function in self._copies:
            return self._copies[function]
        own, closure = function.__globals__, function.__closure__ or ()
        names = self._names.setdefault(id(own), dict(own))
        cells = tuple(types.CellType() for _ in closure)
        copy = types.FunctionType(function.__code__, names, function.__name__, closure=cells)
        self._copies[function] = copy  # before what it reaches, which may reach it
        names.update({name: self._stand_in(own[name]) for name in own.keys() & _mentioned(function.__code__)})
        for cell, original in zip(cells, closure, strict=True):
            cell.cell_contents = self._stand_in(original.cell_contents)
        copy.__defaults__ = tuple(map(self._stand_in, function.__defaults__ or ()))
        copy.__kwdefaults__ = {
            k: self._stand_in(value) for k, value in (function.__kwdefaults__ or {}).items()
        }
        return copy

    def _stand_in(self, value: Any) -> Any:
        """Return the stand-in for a value, or the value itself."""
        value = without_jit(value)
        if isinstance(value, types.FunctionType) and id(value.__globals__) in self._names:
            return self.function(value)
        if type(value) is np.ndarray and value.dtype.kind in "fiub":
            return self._asarray(value)
        if isinstance(value, types.ModuleType):
            return self._named(value.__name__, value)
        name = getattr(value, "__name__", "")
        homes = [
            home for home in _HOMES if callable(value) and getattr(sys.modules[home], name, None) is value
        ]
        return self._named(f"{homes[0]}.{name}", value) if homes and not isinstance(value, type) else value

    def _named(self, full: str, value: Any) -> Any:
        """Return what stands for a full name: part of the stand-in for a module around it, or else `value`."""
        module, _, name = full.rpartition(".")
        if full in self._modules or not module:
            return self._modules.get(full, value)
        return getattr(self._named(module, None), name, value)


def _mentioned(code: types.CodeType) -> Iterator[str]:
    """Yield the names that a function mentions, and the functions in it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _mentioned(constant)
