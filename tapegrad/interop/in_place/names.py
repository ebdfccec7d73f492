"""Names in all modules: those of functions of SciPy and `math` are exchanged while a context is entered in any thread.

Modules of tapegrad, NumPy, Numba and the standard library keep their own, and so do those of SciPy that are private.
"""

import functools
import importlib
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

from tapegrad.engine.runtime.fork_locks import lock
from tapegrad.foreign import original
from tapegrad.interop.in_place import jitted
from tapegrad.interop.in_place.interpolators import METHODS
from tapegrad.interop.in_place.stand_ins import has_tensor
from tapegrad.interop.in_place.table import PUBLIC, stand_ins
from tapegrad.program.captured.origin import is_library_file, variables_of
from tapegrad.stats.scipys_place import inside

_KEPT = frozenset({"tapegrad", "numpy", "numba", "llvmlite", "scipy"}) | sys.stdlib_module_names - {"math"}


class _Variables:
    """Variables of a module, or of code that is executed without one, and the names of those that are exchanged."""

    def __init__(self, name: str, module: Any, variables: Any = None) -> None:
        package = name.partition(".")[0]
        if (
            variables is None
            and issubclass(type(module), types.ModuleType)
            and (package not in _KEPT or name in PUBLIC)
        ):
            variables = variables_of(module)
        self.module, self._variables = module, variables or {}
        self._count, self._names = -1, [""]
        self._may_change = bool(variables) and not is_library_file(str(self._variables.get("__file__")))

    def exchange(self, table: dict[int, Any], known: dict[int, Any]) -> None:
        """Replace the variables that are in a table; `known` are those that may be exchanged at all."""
        if self._count != len(self._variables) or self._may_change:
            self._count = len(self._variables)
            self._names = [name for name, value in tuple(self._variables.items()) if id(value) in known]
        for name in self._names:
            value = table.get(id(self._variables.get(name)))
            if value is not None:
                self._variables[name] = value


def _without_module() -> dict[int, dict[str, Any]]:
    """Return the variables of running code that are no module's: of an example in a docstring."""
    found, frame = dict[int, dict[str, Any]](), inspect.currentframe()
    while frame is not None:
        module = sys.modules.get(frame.f_globals.get("__name__", ""))
        if (
            module is None
            or not issubclass(type(module), types.ModuleType)
            or variables_of(module) is not frame.f_globals
        ):
            found[id(frame.f_globals)] = frame.f_globals
        frame = frame.f_back
    return found


class ExchangedNames:
    """The names, exchanged as long as there are users."""

    def __init__(self) -> None:
        self._lock = lock()
        self._users = 0
        self._modules: dict[int, _Variables] = {}
        self._others: dict[int, dict[str, Any]] = {}
        self._methods: set[Any] = set()

    def add(self) -> None:
        """Enter a context: put in the stand-ins, also under names that have been imported since."""
        there, methods, others = _tables()[0], (*_methods(), *jitted.methods()), _without_module()
        with self._lock:
            self._users += 1
            self._others |= others
            self._exchange(there)
            self._methods.update(methods)
            for cls, name, _, method in methods:
                setattr(cls, name, method)

    def remove(self) -> None:
        """Leave a context; with the last one all is as before."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._exchange(_tables()[1])
                self._others = {}
                for cls, name, before, _ in self._methods:
                    delattr(cls, name) if before is None else setattr(cls, name, before)

    def _exchange(self, table: dict[int, Any]) -> None:
        before, known = self._modules, _tables()[2]
        self._modules = {}
        for name, module in tuple(sys.modules.items()):
            found = before.get(id(module))
            if found is None or found.module is not module:
                found = _Variables(name, module)
            self._modules[id(module)] = found
            found.exchange(table, known)
        for variables in self._others.values():
            _Variables("", None, variables).exchange(table, known)


names = ExchangedNames()


@functools.lru_cache(1)
def _tables() -> tuple[dict[int, Any], dict[int, Any], dict[int, Any]]:
    """Return stand-ins by the ids of what they stand for, the reverse, and all of both."""
    there = {id(each.__wrapped__): each for each in stand_ins()}
    back = {id(each): each.__wrapped__ for each in stand_ins()}
    return there, back, there | back


@functools.lru_cache(1)
def _methods() -> tuple[tuple[type, str, Any, Callable[..., Any]], ...]:
    """Return classes of SciPy, names of methods, what the classes have under these, and methods that take Tensors."""
    module = importlib.import_module("scipy.interpolate")
    found = [(original(getattr(module, kind)), name, ours) for kind, name, ours in METHODS]
    return tuple(
        (cls, name, vars(cls).get(name), _dispatching(getattr(cls, name), ours)) for cls, name, ours in found
    )


def _dispatching(theirs: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(theirs)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if inside.get() and has_tensor((*args, *kwargs.values())):
            return ours(self)(*args, **kwargs)
        return theirs(self, *args, **kwargs)

    return method
