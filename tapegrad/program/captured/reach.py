"""The walk over everything that a function can see: from its variables through containers, objects and functions."""

import builtins
import enum
import functools
import operator
import sys
import threading
import types
import weakref
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError, name_of
from tapegrad.foreign import is_pandas, is_xarray
from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.program.captured import places
from tapegrad.program.captured.ambient import LibraryVariables, is_question, setting_read_by, user_modules
from tapegrad.program.captured.ambient import answer as ambient_answer
from tapegrad.program.captured.code import (
    Named,
    asks_for_absence,
    named,
    reads_attributes_by_text,
    reads_variables_by_text,
)
from tapegrad.program.captured.hidden import (
    FIXED,
    LRU_CACHE,
    Unset,
    has_changing_references,
    reading_of,
    referents,
)
from tapegrad.program.captured.methods import DESCRIPTORS, Calls, Methods
from tapegrad.program.captured.objects import Attributes, is_holder, user_classes
from tapegrad.program.captured.origin import (  # fmt: skip
    is_immutable,
    is_library_file,
    is_library_module,
    is_machinery,
    is_made_here,
    is_numerical,
    is_trusted,
    package_of,
    reads_fields,
    variables_of,
)
from tapegrad.program.captured.paths import Path
from tapegrad.program.captured.places import Captured, Missing
from tapegrad.program.captured.tables import contents

MOST_PLACES = 100_000
_PLAIN = frozenset({bool, int, float, complex, str, bytes, range, types.CodeType, type(None), type(...)})
_SEQUENCES = (list, tuple, deque, set, frozenset)
_MAPPINGS = (dict, types.MappingProxyType)
_BUFFERS = (memoryview, bytearray)
_FACTORY = vars(defaultdict)["default_factory"]


class Reach:
    """What a function, and the functions that it may call, can see beside its arguments.

    Attributes are watched by name wherever an object with such an attribute is reached: by every name, and every
    text, that occurs in the code of these functions. Attributes that no code names are not even
    looked at. Aliases, lists of objects, `super()` and `getattr` need no care then.

    Parameters
    ----------
    roots
        The function, or objects that it is called with.
    base
        The walk from the function, where this one is from objects: what that one has found is not watched again.

    Attributes
    ----------
    places
        What must not change.
    tokens
        What was found, in the order of the walk: equal for two walks that found the same.
    arrays
        The arrays that were reached, by their ids.
    paths
        How code comes to these, by the same.
    names
        The names of attributes in all the code that was reached.
    functions
        The functions of the user that were reached.
    opaque
        Whether there is something in which more arrays may be: a Tensor, or an object that is no container.
    """

    def __init__(self, roots: Iterable[Any], base: "Reach | None" = None) -> None:
        self.places: list[Captured] = []
        self.tokens: list[Any] = []
        self.arrays: dict[int, np.ndarray] = {} if base is None else dict(base.arrays)
        self.paths: dict[int, Path] = {} if base is None else dict(base.paths)
        self.functions: list[types.FunctionType] = [] if base is None else list(base.functions)
        self.names: set[str] = set() if base is None else set(base.names)
        self.any_attribute: bool = base is not None and base.any_attribute
        self.asks_for_absence: bool = base is not None and base.asks_for_absence
        self.opaque: bool = base is not None and base.opaque
        self.any_field: bool = base is not None and base.any_field
        self.calls: Calls = Calls() if base is None else base.calls.copy()
        self._seen: dict[Any, Any] = {} if base is None else dict(base._seen)
        self._owners: list[Attributes | LibraryVariables] = (
            [] if base is None else [owner.copy() for owner in base._owners]
        )
        self._namespaces: dict[type, Any] = {} if base is None else dict(base._namespaces)
        self._path = Path(None, "function", "")
        self._waiting: deque[tuple[Any, Path]] = deque((root, _root(root, base)) for root in roots)
        self._walk()

    # --- the walk ---------------------------------------------------------------------------------------------

    def _walk(self) -> None:
        """Visit what waits; when no object is left, look at each for the names that were met since."""
        found = True
        while self._waiting or found:
            while self._waiting:
                self._visit(*self._waiting.popleft())
            found = any([*map(self._look, self._owners), *map(self._look, self.calls.methods(self.names))])

    def _look(self, owner: Attributes | LibraryVariables | Methods) -> bool:
        self._path = owner.path
        return owner.look(self)

    def see(self, value: Any, kind: str, key: Any) -> None:
        """Visit a value later, to which a step leads from what is visited now."""
        self._see(value, self._path.step(kind, key))

    def _see(self, value: Any, path: Path) -> None:
        if type(value) in _PLAIN or places.is_dead(value):
            return
        if not isinstance(value, np.generic | np.dtype) or type(value) is np.void:
            self._waiting.append((value, path))

    def watch(self, place: Captured, path: Path | None = None) -> None:
        """Watch a place, by default of what is visited now."""
        if len(self.places) >= MOST_PLACES:
            raise UnsupportedError(
                f"a recorded function sees more than {MOST_PLACES} objects beside its arguments, each of which would be"
                " compared before every replay: pass large tables as arrays, or as arguments"
            )
        place.path = self._path if path is None else path
        self.places.append(place)

    def bound(self, names: Any, name: Any, kind: str = "attribute") -> Any:
        """Watch what a namespace has under a name, and see it."""
        value = names.get(name, Missing)
        if self._first(("entry", id(names), name), names):
            path = self._path.step(kind, name)
            self.watch(places.entry(names, name, value), path)
            self.note(name, value)
            self._see(value, path)
        return value

    def bound_data(self, names: Any, kind: str = "attribute") -> None:
        """Watch all that a namespace has, and see what is neither code nor a module."""
        if self._first(("entries", id(names)), names):
            self.watch(
                places.entries(names), self._path.step(kind, "globals()" if kind == "global" else "__dict__")
            )
        for name, value in tuple(names.items()):
            # A module's loader leads to all there is
            hidden = isinstance(name, str) and name.startswith("__")
            if not hidden and not isinstance(value, types.ModuleType | types.FunctionType | type):
                self.bound(names, name, kind)

    def note(self, *found: Any) -> None:
        """Remember what was found, by which two walks are compared."""
        self.tokens.extend(map(_token, found))

    def _first(self, key: Any, kept: Any) -> bool:
        """Whether something is met for the first time; `kept` stays alive, so that its id is not given anew."""
        if key in self._seen:
            return False
        self._seen[key] = kept
        return True

    def _visit(self, value: Any, path: Path) -> None:
        if not self._first(id(value), value) or value is Missing:
            return
        self._path = path
        if is_tensor(value):
            self.opaque = True
        else:
            self._visit_setting(setting_read_by(value))
            _visitor(value)(self, value)

    def _visit_setting(self, setting: Any) -> None:
        """A setting of the process that a function of a library reads."""
        if setting is Missing:
            return
        if not is_question(setting):
            self.see(setting, "contents", "")
        elif self._first(("setting", setting), setting):
            self.watch(place := ambient_answer(setting))
            self.tokens.append(place.rows[0][-1])

    # --- functions ----------------------------------------------------------------------------------------------

    def _visit_function(self, function: types.FunctionType) -> None:
        if is_library_file(function.__code__.co_filename):
            self._hand_over(function.__module__)
            self._visit_library_function(function)
        else:
            self._path = self._path.within(None)
            self._visit_own_function(function)

    def _visit_library_function(self, function: types.FunctionType) -> None:
        """A function of a library's may be one that it has made for the user's: look into its variables."""
        for name in ("__wrapped__", "registry"):
            self.see(function.__dict__.get(name), "attribute", name)
        if not is_numerical(function.__module__):
            for name, holder in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
                value = places.content(holder)
                if not isinstance(value, weakref.WeakKeyDictionary):  # a cache, that calls fill
                    self.see(value, "attribute", name)

    def _visit_own_function(self, function: types.FunctionType) -> None:
        self.functions.append(function)
        self.watch(places.body(function))
        self.note(function, function.__code__)
        self._learn(named(function.__code__), function.__globals__)
        for name, holder in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self._visit_cell(name, holder)
        for name in ("__defaults__", "__kwdefaults__"):
            self.see(getattr(function, name), "attribute", name)
        self.see(function.__dict__.get("__wrapped__"), "attribute", "__wrapped__")
        self._own(function, (function.__dict__,))

    def _visit_cell(self, name: str, holder: Any) -> None:
        if self._first(id(holder), holder):
            value, path = places.content(holder), Path(None, "closure", name)
            self.watch(places.cell(holder, value), path)
            self.note(value)
            if name == "__class__" and isinstance(value, type):  # for `super()`, which does not call it
                self._visit_class_of(value)
            else:
                self._see(value, path)

    def _own(self, owner: Any, namespaces: tuple[Any, ...]) -> None:
        """Look for the attributes of an owner, by the names that code mentions."""
        self._owners.append(Attributes(owner, namespaces, self._path))

    def _hand_over(self, module: Any) -> None:
        """What is reached may be handed to code of a package, which is not read."""
        self.calls.by_others |= not is_trusted(module)
        self.any_field |= reads_fields(module)

    def _learn(self, code: Named, variables: dict[str, Any]) -> None:
        """Take up what code names."""
        self.names |= code.attributes
        self.any_attribute |= code.any_attribute
        self.asks_for_absence |= code.asks_for_absence
        self.calls.compares |= code.compares
        self.calls.constructs |= code.any_attribute
        for name in code.variables:
            if self.bound(variables, name, "global") is Missing:
                self.bound(vars(builtins), name, "global")
        if code.any_variable:
            self.bound_data(variables, "global")
        package = variables.get("__package__") or ""
        for name in code.imports:
            for full in _full_names(name, package):
                self.bound(sys.modules, full, "import")

    def _visit_method(self, method: types.MethodType) -> None:
        self.note(method.__func__, method.__self__)
        self._see(method.__func__, Path(None, "function", name_of(method.__func__)))
        self._see(method.__self__, self._path if self._path.kind == "argument" else _receiver(method))

    def _visit_partial(self, partial: Any) -> None:
        self.note(partial.func)
        for name in ("func", "args", "keywords"):
            value = getattr(partial, name)
            self.watch(places.slot(getattr(functools.partial, name), partial, value))
            self.see(value, "attribute", name)
        self._visit_object(partial)

    def _visit_property(self, value: property) -> None:
        for name in ("fget", "fset"):
            self.see(getattr(value, name), "attribute", name)

    def _visit_descriptor(self, value: Any) -> None:
        by_name = isinstance(value, functools.partialmethod | functools.cached_property)
        self.calls.constructs |= isinstance(value, classmethod)
        self._see(value.func if by_name else value.__func__, self._path)

    def _visit_builtin(self, value: Any) -> None:
        self._hand_over(value.__module__)
        owner, by_text = value.__self__, {value.__name__}
        if owner is builtins or isinstance(owner, type):
            self.any_attribute |= reads_attributes_by_text(by_text)
            self.asks_for_absence |= asks_for_absence(by_text)
        if owner is builtins and reads_variables_by_text(by_text):
            for function in self.functions:
                self.bound_data(function.__globals__, "global")
        self.see(owner, "attribute", "__self__")

    def _visit_fixed(self, value: Any) -> None:
        """A compiled object that refers to the same objects as long as it lives."""
        for number, part in enumerate(referents(value)):
            self.see(part, "contents", f"<{number}>")

    def _visit_context_variable(self, variable: ContextVar[Any]) -> None:
        self.watch(place := places.result(variable.get, Unset))
        self.note(place.rows[0][-1])
        for part in referents(variable):
            self.see(part, "contents", ".get()")

    def _visit_attrgetter(self, value: Any) -> None:
        for text in value.__reduce__()[1]:
            if isinstance(text, str):
                self.names.update(text.split("."))

    # --- containers -----------------------------------------------------------------------------------------------

    def _visit_sequence(self, container: Any) -> None:
        if type(container) is not tuple and type(container) is not frozenset:
            self.watch(places.elements(container))
        parts = tuple(places.base_of(container).__iter__(container))
        self.note(type(container), len(parts), *parts)
        for number, part in enumerate(parts):
            self.see(part, "item", number)
        if type(container) not in _SEQUENCES:
            self._visit_object(container)

    def _visit_mapping(self, mapping: Any) -> None:
        if mapping is sys.modules:
            for name in user_modules():
                self.bound(mapping, name, "import")
            return
        base = places.base_of(mapping)
        self.watch(places.entries(mapping))
        keys, values = tuple(base.keys(mapping)), tuple(base.values(mapping))
        self.note(type(mapping), len(keys), *keys, *values)
        for key, value in zip(keys, values, strict=True):
            self.see(key, "key", key)
            self.see(value, "item", key)
        if isinstance(mapping, defaultdict):
            self.watch(places.slot(_FACTORY, mapping, mapping.default_factory))
            self.see(mapping.default_factory, "attribute", "default_factory")
        if type(mapping) not in _MAPPINGS:
            self._visit_object(mapping)

    def _visit_array(self, array: np.ndarray) -> None:
        self.arrays[id(array)] = array
        self.paths[id(array)] = self._path
        if array.dtype.hasobject:
            self.watch(places.parts(_flat_list, array))
            for number, part in enumerate(_flat_list(array)):
                self.see(part, "item", number)
        if type(array) is not np.ndarray:
            self._visit_object(array)

    def _visit_buffer(self, value: Any) -> None:
        self.watch(places.called(_bytes_of, value))
        self.note(_bytes_of(value))

    def _visit_reference(self, value: Any) -> None:
        self.watch(places.called(_Target, value))
        self.see(value(), "contents", "()")

    # --- modules, classes, objects ----------------------------------------------------------------------------------

    def _visit_module(self, module: types.ModuleType) -> None:
        if self._path.package is not None:
            return
        if is_library_module(module) or is_library_file(variables_of(module).get("__file__") or ""):
            self._hand_over(module.__name__)
        if is_library_module(module):
            self._owners.append(LibraryVariables(module, self._path))
            return
        path = self._path
        self.watch(places.nature(module, None))
        self._visit_class_of(type(module))
        self._path = path
        self._own(module, (variables_of(module),))
        if "__getattr__" in variables_of(module):
            self.bound(variables_of(module), "__getattr__")

    def _visit_class(self, cls: type) -> None:
        """A class that code may call."""
        if user_classes(cls):
            self._visit_class_of(cls)
            self.calls.called.add(cls)
        else:
            self._hand_over(cls.__module__)

    def _visit_class_of(self, cls: type) -> None:
        """The class of an object."""
        own = user_classes(cls)
        if not own or not self._first(("class", cls), cls):
            return
        self._path = Path(None, "class", cls.__qualname__)
        self.watch(places.ancestors(cls))
        self.note(*cls.__mro__)
        namespaces = tuple(self._namespaces.setdefault(each, vars(each)) for each in own)
        self._own(cls, namespaces)
        for namespace in namespaces:
            self.calls.add(Methods(cls, namespace, self._path))
        if issubclass(cls, enum.Enum):
            self.see(cls._member_map_, "attribute", "__members__")
        if type(cls) is not type:
            self._visit_class_of(type(cls))

    def _visit_replayed(self, value: Any) -> None:
        """A function that tapegrad has made of another: what that one sees."""
        self.note(value)
        self._see(getattr(value, "function", None), self._path)

    def _visit_object(self, value: Any) -> None:
        """An object of no kind that is known: by its attributes, by those of its class, and by its bytes."""
        self.opaque = True
        if is_pandas(value) or is_xarray(value):
            self._watch_contents(contents, value)
            return
        cls = type(value)
        by_user, package = user_classes(cls), package_of(cls)
        if not by_user and (is_machinery(package) or self._is_internal(value, package)):
            return
        self._path = self._path.within(None if by_user else package)
        attributes = getattr(value, "__dict__", None)
        own = (attributes,) if isinstance(attributes, dict) else ()
        if by_user or any(own) or isinstance(value, threading.local):
            path = self._path
            self.watch(places.nature(value, own[0] if own else None))
            self._visit_class_of(cls)
            self._path = path
            self._own(value, own)
        self._visit_hidden(value, own[0] if own else {})
        if _has_buffer(value):
            self._visit_buffer(value)
        elif not by_user and hasattr(cls, "__array__") and not isinstance(value, np.ndarray):
            self._visit_convertible(value, package)

    def _visit_hidden(self, value: Any, attributes: dict[str, Any]) -> None:
        """What an object holds beside its attributes."""
        self.see(attributes.get("__wrapped__"), "attribute", "__wrapped__")
        if type(value) is LRU_CACHE:
            self._visit_fixed(value)
        elif has_changing_references(value):
            self.watch(places.parts(referents, value))
            self.note(*referents(value))
            self._visit_fixed(value)
        read = reading_of(value)
        if read is not None:
            self._watch_contents(read, value)

    def _visit_convertible(self, value: Any, package: str) -> None:
        if not is_immutable(package):
            self.watch(places.converted(value))
            array = np.asarray(value)
            self.tokens.append((array.shape, array.dtype.str, array.tobytes()))

    def _is_internal(self, value: Any, package: str) -> bool:
        """Whether a package's object was found in one of another package's, and holds no data."""
        return self._path.package not in (None, package) and not (
            is_holder(value) or hasattr(value, "__array__")
        )

    def _watch_contents(self, ask: Callable[[Any], Any], value: Any) -> None:
        """Watch what a function says of an object."""
        place = places.called(ask, value)
        self.watch(place)
        self.tokens.append(place.rows[0][-1])


def _root(root: Any, base: Reach | None) -> Path:
    """The path to a function that is recorded, or to an object among the arguments of its call."""
    if base is not None:
        return Path(None, "argument", f"argument of type {type(root).__name__}")
    return Path(None, "function", name_of(root) if callable(root) else "")


def _receiver(method: types.MethodType) -> Path:
    """The path to what a method is bound to: by the name that the method has for it."""
    code = getattr(method.__func__, "__code__", None)
    names = code.co_varnames[: code.co_argcount] if isinstance(code, types.CodeType) else ()
    return Path(None, "self", names[0] if names else "self")


def _token(value: Any) -> Any:
    """What is found in a walk, containers by their type only: what is in them follows."""
    if not places.is_dead(value) and isinstance(value, (*_SEQUENCES, *_MAPPINGS)):
        return type(value)
    return places.token(value)


class _Target:
    """What a weak reference leads to."""

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


def _full_names(name: str, package: str) -> list[str]:
    """The modules that an import inside a function may load: absolute, or relative to a package."""
    parts = name.split(".")
    absolute = [".".join(parts[:k]) for k in range(1, len(parts) + 1)]
    above = package.split(".")
    relative = [".".join([*above[:k], *parts]).rstrip(".") for k in range(1, len(above) + 1)]
    known = [full for full in (*absolute, *relative) if full in sys.modules]
    return known or [name]


def _visitor(value: Any) -> "_Visit":
    """What visits a value of this kind."""
    if is_made_here(value):
        return Reach._visit_replayed
    cls = type(value)
    return next((visit for kinds, visit in _VISITS if issubclass(cls, kinds)), Reach._visit_object)


_Visit = Callable[[Reach, Any], None]
_VISITS: tuple[tuple[Any, _Visit], ...] = (
    (types.FunctionType, Reach._visit_function),
    (types.MethodType, Reach._visit_method),
    (functools.partial, Reach._visit_partial),
    (property, Reach._visit_property),
    (DESCRIPTORS, Reach._visit_descriptor),
    (types.BuiltinFunctionType, Reach._visit_builtin),
    ((operator.attrgetter, operator.methodcaller), Reach._visit_attrgetter),
    (_SEQUENCES, Reach._visit_sequence),
    (_MAPPINGS, Reach._visit_mapping),
    (np.ndarray, Reach._visit_array),
    (_BUFFERS, Reach._visit_buffer),
    (weakref.ref, Reach._visit_reference),
    (types.ModuleType, Reach._visit_module),
    (type, Reach._visit_class),
    (weakref.ProxyTypes, lambda reach, value: reach.see(value.__init__.__self__, "contents", "")),
    (ContextVar, Reach._visit_context_variable),
    (FIXED, Reach._visit_fixed),
    ((types.GetSetDescriptorType, types.MemberDescriptorType), lambda reach, value: None),
)
