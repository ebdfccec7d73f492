"""Visits of containers, arrays, modules, classes and objects."""

import abc
import builtins
import enum
import sys
import threading
import types
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.foreign import is_distribution, is_pandas, is_xarray
from tapegrad.program.captured import references
from tapegrad.program.captured.ambient import LibraryVariables, user_modules
from tapegrad.program.captured.hidden import (
    LRU_CACHE,
    has_changing_references,
    reading_of,
    referents,
)
from tapegrad.program.captured.methods import Methods
from tapegrad.program.captured.objects import is_holder, user_classes
from tapegrad.program.captured.origin import (
    is_immutable,
    is_library_file,
    is_library_module,
    is_machinery,
    package_of,
    variables_of,
)
from tapegrad.program.captured.paths import Path
from tapegrad.program.captured.tables import contents
from tapegrad.program.captured.walk import MAPPINGS, SEQUENCES, Walk

_FACTORY = vars(defaultdict)["default_factory"]
# What methods of distributions ask a user's subclass for, which the user's code does not name.
_OF_DISTRIBUTIONS = frozenset({
    "_argcheck", "_cdf", "_get_support", "_isf", "_logcdf", "_logpdf", "_logpmf", "_logsf", "_nonzero", "_pdf", "_pmf",
    "_ppf", "_sf", "a", "b", "badvalue",
})  # fmt: skip


class ObjectVisits(Walk):
    """The part of the walk that goes through containers, modules, classes and objects."""

    def _visit_sequence(self, container: Any) -> None:
        if type(container) is not tuple and type(container) is not frozenset:
            self.watch(references.elements(container))
        parts = tuple(references.base_of(container).__iter__(container))
        self.note(type(container), len(parts), *parts)
        for number, part in enumerate(parts):
            self.see(part, "item", number)
        if type(container) not in SEQUENCES:
            self._visit_object(container)

    def _visit_mapping(self, mapping: Any) -> None:
        if mapping is sys.modules:
            for name in user_modules():
                self.bound(mapping, name, "import")
            return
        if mapping is vars(builtins):
            self._owners.append(LibraryVariables(builtins, self._path))
            return
        base = references.base_of(mapping)
        self.watch(references.entries(mapping))
        keys, values = tuple(base.keys(mapping)), tuple(base.values(mapping))
        self.note(type(mapping), len(keys), *keys, *values)
        for key, value in zip(keys, values, strict=True):
            self.see(key, "key", key)
            self.see(value, "item", key)
        if isinstance(mapping, defaultdict):
            self.watch(references.slot(_FACTORY, mapping, mapping.default_factory))
            self.see(mapping.default_factory, "attribute", "default_factory")
        if type(mapping) not in MAPPINGS:
            self._visit_object(mapping)

    def _visit_array(self, array: np.ndarray) -> None:
        self.arrays[id(array)] = array
        self.paths[id(array)] = self._path
        if array.dtype.hasobject:
            self.watch(references.parts(_flat_list, array))
            for number, part in enumerate(_flat_list(array)):
                self.see(part, "item", number)
        self._hear(array)
        if type(array) is not np.ndarray:
            self._visit_object(array)

    def _visit_buffer(self, value: Any) -> None:
        self.watch(references.called(_bytes_of, value))
        self.note(_bytes_of(value))

    def _visit_reference(self, value: Any) -> None:
        self.watch(references.called(_Target, value))
        self.see(value(), "contents", "()")

    def _visit_module(self, module: types.ModuleType) -> None:
        if self._path.package is not None:
            return
        if is_library_module(module) or is_library_file(variables_of(module).get("__file__") or ""):
            self._hand_over(module.__name__)
        if is_library_module(module):
            self._owners.append(LibraryVariables(module, self._path))
            return
        path = self._path
        self.watch(references.nature(module, None))
        self._visit_class_of(type(module))
        self._path = path
        self._own(module, (variables_of(module),))
        if "__getattr__" in variables_of(module):
            self.bound(variables_of(module), "__getattr__")

    def _visit_class(self, cls: type) -> None:
        """Visit a class that code may call, or test instances and subclasses of."""
        if isinstance(cls, abc.ABCMeta):
            self.visit_setting(abc.get_cache_token)
        if user_classes(cls):
            self._visit_class_of(cls)
            self.calls.called.add(cls)
        else:
            self._hand_over(cls.__module__)

    def _visit_class_of(self, cls: type) -> None:
        """Visit the class of an object."""
        own = user_classes(cls)
        if not own or not self._first(("class", cls), cls):
            return
        self._path = Path(None, "class", cls.__qualname__)
        self.watch(references.ancestors(cls))
        self.note(*cls.__mro__)
        namespaces = tuple(self._namespaces.setdefault(each, vars(each)) for each in own)
        self._own(cls, namespaces)
        self._hear(cls)
        for namespace in namespaces:
            self.calls.add(Methods(cls, namespace, self._path))
        if issubclass(cls, enum.Enum):
            self.see(cls._member_map_, "attribute", "__members__")
        if type(cls) is not type:
            self._visit_class_of(type(cls))

    def _visit_replayed(self, value: Any) -> None:
        """Visit the function that a function of tapegrad wraps."""
        self.note(value)
        self._see(getattr(value, "function", None), self._path)

    def _visit_object(self, value: Any) -> None:
        """Visit an object of an unknown kind: its attributes, those of its class, and its bytes."""
        self.opaque = True
        if is_pandas(value) or is_xarray(value):
            self._watch_contents(contents, value)
            return
        cls = type(value)
        by_user, package = user_classes(cls), package_of(cls)
        if not by_user and (is_machinery(package) or self._is_internal(value, package)):
            return
        self._path = self._path.within(None if by_user else package)
        if is_distribution(value):
            self.names |= _OF_DISTRIBUTIONS
        attributes = getattr(value, "__dict__", None)
        own = (attributes,) if isinstance(attributes, dict) else ()
        if by_user or any(own) or isinstance(value, threading.local):
            path = self._path
            self.watch(references.nature(value, own[0] if own else None))
            self._visit_class_of(cls)
            self._path = path
            self._own(value, own)
        self._visit_hidden(value, own[0] if own else {})
        if _has_buffer(value):
            self._visit_buffer(value)
        elif not by_user and hasattr(cls, "__array__") and not isinstance(value, np.ndarray):
            self._visit_convertible(value, package)

    def _visit_hidden(self, value: Any, attributes: dict[str, Any]) -> None:
        """Visit the references of an object beside its attributes."""
        self.see(attributes.get("__wrapped__"), "attribute", "__wrapped__")
        if type(value) is LRU_CACHE:
            self._visit_fixed(value)
        elif has_changing_references(value):
            self.watch(references.parts(referents, value))
            self.note(*referents(value))
            self._visit_fixed(value)
        self._hear(value)
        if package_of(type(value)) == "pandas":  # ``s.iloc``, kept
            self.see(getattr(value, "obj", None), "attribute", "obj")
        read = reading_of(value)
        if read is not None:
            self._watch_contents(read, value)

    def _visit_fixed(self, value: Any) -> None:
        """Visit a compiled object that refers to the same objects as long as it lives."""
        for number, part in enumerate(referents(value)):
            self.see(part, "contents", f"<{number}>")

    def _visit_convertible(self, value: Any, package: str) -> None:
        if not is_immutable(package):
            self.watch(references.converted(value))
            array = np.asarray(value)
            self.tokens.append((array.shape, array.dtype.str, array.tobytes()))

    def _is_internal(self, value: Any, package: str) -> bool:
        """Return whether a package's object was found in one of another package's, and holds no data."""
        return self._path.package not in (None, package) and not (
            is_holder(value) or hasattr(value, "__array__")
        )

    def _watch_contents(self, ask: Callable[[Any], Any], value: Any) -> None:
        """Watch what a function says of an object."""
        reference = references.called(ask, value)
        self.watch(reference)
        self.tokens.append(reference.rows[0][-1])


class _Target:
    """Target of a weak reference."""

    def __init__(self, reference: Any) -> None:
        self._id = id(reference())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Target) and other._id == self._id


def _bytes_of(value: Any) -> bytes:
    return memoryview(value).tobytes()


def _flat_list(array: np.ndarray) -> list[Any]:
    return array.ravel().tolist()


def _has_buffer(value: Any) -> bool:
    try:
        memoryview(value)
    except TypeError:
        return False
    return True
