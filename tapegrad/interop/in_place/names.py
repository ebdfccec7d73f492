"""Names in all modules: those of functions of SciPy and `math` are exchanged while a context is entered in any thread.

Modules of tapegrad, NumPy, Numba and the standard library keep their own, and so do those of SciPy that are private.
"""

import functools
import importlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from tapegrad.engine.runtime.fork_locks import lock
from tapegrad.interop.in_place.interpolators import METHODS
from tapegrad.interop.in_place.stand_ins import FunctionStandIn, has_tensor
from tapegrad.interop.in_place.table import stand_ins
from tapegrad.program.captured.origin import is_library_file, variables_of
from tapegrad.stats.scipys_place import inside

_KEPT = frozenset({"tapegrad", "numpy", "numba", "llvmlite", "scipy"}) | sys.stdlib_module_names - {"math"}


class _Module:
    """Variables of a module, and the names of those that are exchanged."""

    def __init__(self, name: str, module: Any) -> None:
        self.module, self._count = module, -1
        self._names: list[str] = []
        package = name.partition(".")[0]
        has_own = isinstance(module, types.ModuleType) and (package not in _KEPT or name in _public())
        self._variables = variables_of(module) if has_own else {}
        file = self._variables.get("__file__")
        self._may_change = has_own and package != "scipy" and not is_library_file(str(file))

    def exchange(self, table: dict[int, Any], known: dict[int, Any]) -> None:
        """Replace the variables that are in a table; `known` are those that may be exchanged at all."""
        if self._count != len(self._variables) or self._may_change:
            self._count = len(self._variables)
            self._names = [name for name, value in tuple(self._variables.items()) if id(value) in known]
        for name in self._names:
            value = table.get(id(self._variables.get(name)))
            if value is not None:
                self._variables[name] = value


class Names:
    """The names, exchanged as long as there are users."""

    def __init__(self) -> None:
        self._lock = lock()
        self._users = 0
        self._modules: dict[int, _Module] = {}
        self._methods: list[tuple[type, str, Any]] = []

    def add(self) -> None:
        """Enter a context: put in the stand-ins, also under names that have been imported since."""
        there = _tables()[0]
        with self._lock:
            self._users += 1
            self._exchange(there)
            if self._users == 1:
                for cls, name, method in _methods():
                    self._methods.append((cls, name, vars(cls).get(name)))
                    setattr(cls, name, method)

    def remove(self) -> None:
        """Leave a context; with the last one all is as before."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._exchange(_tables()[1])
                while self._methods:
                    cls, name, before = self._methods.pop()
                    delattr(cls, name) if before is None else setattr(cls, name, before)

    def _exchange(self, table: dict[int, Any]) -> None:
        before, known = self._modules, _tables()[2]
        self._modules = {}
        for name, module in tuple(sys.modules.items()):
            found = before.get(id(module))
            if found is None or found.module is not module:
                found = _Module(name, module)
            self._modules[id(module)] = found
            found.exchange(table, known)


names = Names()


@functools.lru_cache(1)
def _public() -> frozenset[str]:
    """Return the names of the modules of SciPy that stand-ins are found in."""
    return frozenset(
        each.name.rpartition(".")[0] for each in stand_ins() if isinstance(each, FunctionStandIn)
    )


@functools.lru_cache(1)
def _tables() -> tuple[dict[int, Any], dict[int, Any], dict[int, Any]]:
    """Return stand-ins by the ids of what they stand for, the reverse, and all of both."""
    there = {id(each.__wrapped__): each for each in stand_ins()}
    back = {id(each): each.__wrapped__ for each in stand_ins()}
    return there, back, there | back


@functools.lru_cache(1)
def _methods() -> tuple[tuple[type, str, Callable[..., Any]], ...]:
    return tuple(_patched_methods())


def _patched_methods() -> Iterator[tuple[type, str, Callable[..., Any]]]:
    """Yield the methods of SciPy's interpolators that dispatch on Tensors."""
    module = importlib.import_module("scipy.interpolate")
    for kind, name, ours in METHODS:
        cls = getattr(module, kind)
        cls = getattr(cls, "__wrapped__", cls)
        yield (cls, name, _dispatching(getattr(cls, name), ours))


def _dispatching(theirs: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(theirs)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if inside.get() and has_tensor((*args, *kwargs.values())):
            return ours(self)(*args, **kwargs)
        return theirs(self, *args, **kwargs)

    return method
