"""Attributes of an object, a class or a module, and what it answers, looked for by the names that code mentions."""

import ctypes
import enum
import operator
import threading
import types
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, Protocol

import numpy as np

from tapegrad.foreign import is_masked, is_namespace, is_sparse, is_sparse_tensor
from tapegrad.program.captured import references
from tapegrad.program.captured.origin import is_compiled, is_library_class
from tapegrad.program.captured.paths import Owner, Path

_CDATA: Any = ctypes.c_int.__mro__[-2]  # the base of all that ctypes lays out in memory
# Classes of libraries whose methods show what is in an instance's attributes.
_HOLDERS = (
    Mapping,
    Sequence,
    Set,
    types.SimpleNamespace,
    enum.Enum,
    _CDATA,
)
_HOLDING_MODULES = frozenset({"multiprocessing.sharedctypes", "queue", "string"})  # all of whose classes do
_NEVER = frozenset({"__dict__", "__weakref__", "__class__", "__builtins__"})


def _defaults(function: types.FunctionType) -> Any:
    return function.__defaults__, function.__kwdefaults__ and tuple(function.__kwdefaults__.items())


# For each kind the names by which code asks, and how an answer is compared: as an object, or as a value or sequence.
_LOCKS = tuple(kind for kind in (type(threading.Lock()), type(threading.RLock())) if hasattr(kind, "locked"))
_LOCKED = {"locked": (references.called, operator.methodcaller("locked"))}
_ANSWERS: tuple[tuple[Any, dict[str, tuple[Callable[..., references.Captured], Any]]], ...] = (
    (
        types.FunctionType,
        {
            **{
                name: (references.result, operator.attrgetter(name))
                for name in ("__doc__", "__annotations__")
            },
            **{name: (references.called, operator.attrgetter(name)) for name in ("__name__", "__qualname__")},
            # A call that lacks an argument raises it: where code names it, a new default changes what it does.
            "TypeError": (references.called, _defaults),
        },
    ),
    (
        type,
        {
            "__subclasses__": (references.parts, type.__subclasses__),
            **{name: (references.called, operator.attrgetter(name)) for name in ("__name__", "__qualname__")},
        },
    ),
    (
        np.ndarray,
        dict.fromkeys(
            ("flags", "setflags", "readonly", "__array_interface__"),
            (references.called, operator.attrgetter("flags.num")),
        ),
    ),
    (_LOCKS, _LOCKED),
)


class Watcher(Protocol):
    """Interface for looking up attributes: the walk over all that a function can reach."""

    names: set[str]
    any_attribute: bool
    any_field: bool
    asks_for_absence: bool

    def see(self, value: Any, kind: str, key: Any) -> None:
        """Queue a value for a visit, one step from the visited one."""

    def watch(self, reference: references.Captured, path: Path | None = None) -> None:
        """Watch a reference, by default one of the value that is visited."""

    def bound(self, names: Any, name: Any, kind: str = "attribute") -> Any:
        """Watch what a namespace has under a name, and see it."""

    def bound_data(self, names: Any, kind: str = "attribute") -> None:
        """Watch all that a namespace has, and see what is neither code nor a module."""

    def note(self, *found: Any) -> None:
        """Remember what was found, by which two walks are compared."""


class Attributes(Owner):
    """The attributes of an owner that a walk has looked for, and those that it has still to look for.

    Parameters
    ----------
    owner
        An object, a class or a module.
    namespaces
        The dicts in which its own attributes are: of a class, those of its bases too.
    path
        How code comes to the owner.
    """

    def __init__(self, owner: Any, namespaces: tuple[Any, ...], path: Path) -> None:
        super().__init__(path)
        self._owner = owner
        self._namespaces = namespaces
        self._members = {} if self._is_code() else _members(type(owner))
        self._has_all = False

    def look_up(self, reach: Watcher) -> bool:
        """Watch the attributes with names that were met since; return whether there were any."""
        if reach.any_attribute and not self._has_all:
            self._has_all = True
            for namespace in self._namespaces:
                if self._is_code():
                    reach.bound_data(namespace)
                else:
                    reach.watch(references.parts(dict.keys, namespace), self.path)
        names = self._new(self._wanted(reach) - _NEVER)
        there = {name for name in names if name in self._members or any(name in n for n in self._namespaces)}
        absent = self._that_matter(names - there, reach)
        missing = [set(absent) for _ in self._namespaces]
        for name in sorted(there):
            self._look_for(name, reach, missing)
        for namespace, without in zip(self._namespaces, missing, strict=True):
            _watch_absence(namespace, without, reach)
        return bool(names)

    def _wanted(self, reach: Watcher) -> set[str]:
        if self._is_code() or not (reach.any_attribute or reach.any_field or self._is_holder()):
            return reach.names
        own = [name for names in self._namespaces for name in names if isinstance(name, str)]
        return reach.names.union(own, self._members)

    def _is_holder(self) -> bool:
        """Return whether a library's methods may show any attribute of the owner."""
        cls = type(self._owner)
        is_run = any(callable(getattr(cls, name, None)) for name in ("__call__", "__get__", "__enter__"))
        by_library = (is_run or cls.__module__ in _HOLDING_MODULES) and not user_classes(cls)
        return by_library or is_holder(self._owner)

    def _is_module(self) -> bool:
        return isinstance(self._owner, types.ModuleType)

    def _is_code(self) -> bool:
        return isinstance(self._owner, type | types.ModuleType | types.FunctionType)

    def _look_for(self, name: str, reach: Watcher, missing: list[set[str]]) -> None:
        """Watch an attribute wherever it is, and that it does not come to be where it would be found first."""
        member = self._members.get(name)
        if member is not None:
            value = references.slot_value(member, self._owner)
            reach.watch(references.slot(member, self._owner, value), self.path.step("attribute", name))
            reach.note(name, value)
            reach.see(value, "attribute", name)
        holding = [k for k, namespace in enumerate(self._namespaces) if name in namespace]
        for k in holding:  # not the first alone: `super()` goes on behind it
            reach.bound(self._namespaces[k], name)
        for k in range(holding[-1] if holding else len(self._namespaces)):
            if k not in holding:
                missing[k].add(name)

    def _that_matter(self, names: set[str], reach: Watcher) -> set[str]:
        """Return the names, among absent ones, that would shadow an attribute if they appeared."""
        if reach.asks_for_absence or any("__getattr__" in n for n in self._namespaces if self._is_module()):
            return names
        classes = type(self._owner).__mro__[:-1]
        return {name for name in names if any(name in vars(cls) for cls in classes)}


class Answers(Owner):
    """Attributes of an owner by the names that code mentions.

    Parameters
    ----------
    owner
        A function, a class or a compiled object.
    path
        How code comes to the owner.
    """

    def __init__(self, owner: Any, path: Path) -> None:
        super().__init__(path)
        self._owner = owner
        self.asks = next((asks for kinds, asks in _ANSWERS if isinstance(owner, kinds)), {})

    def look_up(self, reach: Watcher) -> bool:
        """Watch the answers to names that were met since; return whether there were any."""
        names = self._new(reach.names & self.asks.keys())
        for name in sorted(names):
            make, ask = self.asks[name]
            reference = make(ask, self._owner)
            reach.watch(reference, self.path.step("attribute", name))
            reach.note(reference.rows[0][-1])
            reach.see(reference.rows[0][-1], "attribute", name)
        return bool(names)


def is_holder(value: Any) -> bool:
    """Return whether an object of a library's serves to hold others."""
    by_library = is_sparse(value) or is_sparse_tensor(value) or is_masked(value) or is_namespace(value)
    return by_library or isinstance(value, _HOLDERS)


def _watch_absence(namespace: Any, missing: set[str], reach: Watcher) -> None:
    """Watch that no new attribute shadows another: by name, or the whole namespace where that is smaller."""
    if len(missing) > len(namespace):
        reach.watch(references.absence(namespace, frozenset(missing)))
    else:
        for name in sorted(missing):
            reach.bound(namespace, name)


def user_classes(cls: type) -> tuple[type, ...]:
    """Return the classes of a class's ancestry that are no library's."""
    if is_compiled(cls):  # so are the classes that it inherits from
        return ()
    return tuple(each for each in cls.__mro__ if each is not object and not is_library_class(each))


def _members(cls: type) -> dict[str, Any]:
    """Return the members that `__slots__` of a class and its bases have made, by the names that code uses."""
    return {
        name: value
        for each in reversed(user_classes(cls))
        for name, value in vars(each).items()
        if isinstance(value, types.MemberDescriptorType)
    }
