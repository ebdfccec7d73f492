"""Attributes that are computed on first access, and modules that are executed when something in them is asked for.

A folder says in its ``__init__`` which of its modules are executed late. Who needs one imports it like any other, as a
module (``from tapegrad.program.recording import svg``), and asks it for names in functions; ``from ... import name``
executes it at once. `importlib.util.LazyLoader` will not do: it executes a module that is asked for its ``__path__``,
as each import of a submodule does, and on Python 3.11 in two threads at once.
"""

import importlib.util
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any, Generic, TypeVar

from tapegrad.engine.runtime import sources
from tapegrad.engine.runtime.fork_locks import lock

T = TypeVar("T")


class lazy(Generic[T]):
    """`functools.cached_property` without its lock, which up to Python 3.11 all instances share."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> T:
        value = vars(instance)[self._function.__name__] = self._function(instance)
        return value


# What the import system has set, and what tools ask all modules of a process for
_KNOWN_AT_ONCE = frozenset({
    "__cached__", "__class__", "__file__", "__loader__", "__name__", "__package__", "__path__", "__spec__",
    "__warningregistry__",
})  # fmt: skip


class _Execution:
    """The execution of a module, which happens once, in one thread, while others wait."""

    def __init__(self) -> None:
        self.lock = lock()
        self.thread = 0  # that executes it: another one that holds the lock has been forked meanwhile


_executions: dict[str, _Execution] = {}
_followers: dict[str, str] = {}


class _LateModule(ModuleType):
    """A module that has not been executed yet. Afterwards its class is that of all others."""

    def __getattribute__(self, name: str) -> Any:
        if name not in _KNOWN_AT_ONCE:
            _execute(self)
        return ModuleType.__getattribute__(self, name)  # `super` would want the class that it had

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _KNOWN_AT_ONCE and not isinstance(value, ModuleType):  # which has just been imported
            _execute(self)
        ModuleType.__setattr__(self, name, value)

    def __dir__(self) -> list[str]:
        _execute(self)
        return [*ModuleType.__dir__(self)]


def load_later(package: str, *names: str) -> None:
    """Have modules of a package executed when something in them is first asked for.

    Parameters
    ----------
    package
        The name of the package that is being imported.
    *names
        Modules or folders in it. None of them may set anything that is reached without it.
    """
    for name in names:
        full = f"{package}.{name}"
        spec = importlib.util.find_spec(full)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {full!r}", name=full)
        module = importlib.util.module_from_spec(spec)
        _executions[full] = _Execution()
        module.__class__ = _LateModule
        sys.modules[full] = module
        setattr(sys.modules[package], name, module)


def follow(module: str, follower: str) -> None:
    """Have another module executed right after a late one, which knows nothing of it."""
    _followers[module] = follower


def _execute(module: ModuleType) -> None:
    name = module.__name__
    execution = _executions[name]
    with execution.lock:
        if type(module) is not _LateModule or execution.thread == threading.get_ident():
            return  # another thread has executed it, or this one does
        execution.thread = threading.get_ident()
        try:
            assert module.__spec__ is not None
            assert module.__spec__.loader is not None
            # It may have been edited or upgraded since the import of the package.
            sources.check(module.__file__ or "")
            module.__spec__.loader.exec_module(module)
            if name in _followers:
                vars(
                    importlib.import_module(_followers[name])
                )  # asking a late module for something executes it
            module.__class__ = ModuleType  # type: ignore[assignment]
        finally:
            execution.thread = 0
