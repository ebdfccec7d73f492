"""Special methods of classes: operators and calls run them without naming them, each kind of call those of its kind."""

import functools
import types
from collections.abc import Iterator, Mapping
from typing import Any

from tapegrad.program.captured.objects import Watcher
from tapegrad.program.captured.paths import Owner, Path

DESCRIPTORS = (staticmethod, classmethod, functools.partialmethod, functools.cached_property)
_METHODS = (types.FunctionType, *DESCRIPTORS, property)
_PICKLERS = frozenset({"__reduce__", "__reduce_ex__", "__getstate__", "__setstate__"})
_UNCALLED = "__annotate_func__"  # from Python 3.14 on: names all annotated attributes, and is called once
_CONSTRUCTORS = frozenset({
    "__new__", "__init__", "__init_subclass__", "__class_getitem__", "__set_name__", "__del__",
})  # fmt: skip
_COMPARISONS = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"})
_TEXT = (frozenset({"%", "%-text"}), frozenset({"raised", "caught"}))  # kinds that make text together
_LIST = frozenset({"dir", "__dir__"})
_CLASS = frozenset({"type", "__class__"})  # names by which code comes from an object to its class


class Methods(Owner):
    """The special methods that a class defines, or one of its bases.

    Parameters
    ----------
    cls
        The class of the objects that have them.
    namespace
        Where they are defined.
    path
        How code comes to the class.
    """

    def __init__(self, cls: type, namespace: Mapping[str, Any], path: Path) -> None:
        super().__init__(path)
        self.cls = cls
        self.constructs = self.compares = self.formats = self.pickles = self.lists = False
        self._namespace = namespace

    def look_up(self, reach: Watcher) -> bool:
        """Watch those that may be called; return whether there are any that were not watched yet."""
        names = self._new({name for name in self._namespace if self._is_called(name)})
        for name in sorted(names):
            if isinstance(self._namespace[name], _METHODS):
                reach.bound(self._namespace, name)
        return bool(names)

    def _is_called(self, name: str) -> bool:
        if name in _CONSTRUCTORS:
            return self.constructs
        if name in _COMPARISONS:
            return self.compares
        if name in _PICKLERS:
            return self.pickles
        if name in ("__repr__", "__dir__"):
            return self.formats if name == "__repr__" else self.lists
        if name == "__replace__" and getattr(self._namespace[name], "__module__", "") == "dataclasses":
            return False  # from Python 3.13 on: `copy.replace` calls it, and counts as a reader of all fields itself
        return name[:2] == name[-2:] == "__" and name != _UNCALLED


class SpecialMethodCalls:
    """Calls of special methods that code does not name.

    An object that was made before does not run its constructor again: `__init__`, which names all attributes, counts
    only where code can come to the class.

    Attributes
    ----------
    called
        The classes that code may call.
    constructs, compares
        Whether code may call the class of any object; whether it may compare objects.
    by_others
        Whether objects may be handed to packages that do so.
    formats
        How code makes text of objects, as `code.Named` tells it; ``%-text`` for a text with fields of that operator.
    """

    def __init__(self) -> None:
        self.called: set[type] = set()
        self.constructs = self.compares = self.by_others = False
        self.formats: set[str] = set()
        self._methods: list[Methods] = []

    def add(self, methods: Methods) -> None:
        """Look for these too."""
        self._methods.append(methods)

    @property
    def _makes_text(self) -> bool:
        """True if code may make text of any object, and come to see it."""
        return "text" in self.formats or any(both <= self.formats for both in _TEXT)

    def methods(self, names: set[str], any_field: bool) -> Iterator[Methods]:
        """Yield the special methods, with what is known of calls, in code that mentions these names.

        `any_field` says whether a module that reads all fields of objects may get them.
        """
        others = any_field or self.by_others
        formats = others or self._makes_text
        lists = others or not _LIST.isdisjoint(names)
        constructs = self.constructs or self.by_others or not _CLASS.isdisjoint(names)
        for each in self._methods:
            each.constructs = constructs or each.cls in self.called
            each.compares = self.compares or self.by_others
            each.formats, each.pickles, each.lists = formats, others, lists
            yield each

    def copy(self) -> "SpecialMethodCalls":
        """Return the same, with a memory of its own."""
        other = SpecialMethodCalls()
        other.called, other.formats = set(self.called), set(self.formats)
        other.constructs, other.compares, other.by_others = self.constructs, self.compares, self.by_others
        other._methods = [each.copy() for each in self._methods]
        return other
