"""Visits of functions, of their variables and of their descriptors."""

import builtins
import functools
import sys
import types
import weakref
from contextvars import ContextVar
from typing import Any

from tapegrad.errors import name_of
from tapegrad.program.captured import references
from tapegrad.program.captured.ambient import setting_read_by
from tapegrad.program.captured.code import (
    Named,
    asks_for_absence,
    named,
    reads_attributes_by_text,
    reads_variables_by_text,
)
from tapegrad.program.captured.hidden import (
    Unset,
    referents,
)
from tapegrad.program.captured.object_visits import ObjectVisits
from tapegrad.program.captured.origin import (
    is_library_file,
    is_numerical,
)
from tapegrad.program.captured.paths import Path
from tapegrad.program.captured.references import Missing


class FunctionVisits(ObjectVisits):
    """The part of the walk that goes through functions: their code, variables, defaults and wrappers."""

    def _visit_function(self, function: types.FunctionType) -> None:
        if is_library_file(function.__code__.co_filename):
            self._hand_over(function.__module__)
            self._visit_library_function(function)
        else:
            self._path = self._path.within(None)
            self._visit_own_function(function)

    def _visit_library_function(self, function: types.FunctionType) -> None:
        """Visit the variables of a library's function, which may wrap a function of the user's."""
        for name in ("__wrapped__", "registry"):
            self.see(function.__dict__.get(name), "attribute", name)
        if not is_numerical(function.__module__):
            for name, holder in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
                value = references.content(holder)
                if not isinstance(value, weakref.WeakKeyDictionary):  # a cache, that calls fill
                    self.see(value, "attribute", name)

    def _visit_own_function(self, function: types.FunctionType) -> None:
        self.functions.append(function)
        self.watch(references.body(function))
        self.note(function, function.__code__)
        self._learn(named(function.__code__), function.__globals__)
        for name, holder in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self._visit_cell(name, holder)
        for name in ("__defaults__", "__kwdefaults__"):
            self.see(getattr(function, name), "attribute", name)
        self.see(function.__dict__.get("__wrapped__"), "attribute", "__wrapped__")
        self._own(function, (function.__dict__,))
        self._hear(function)

    def _visit_cell(self, name: str, holder: Any) -> None:
        if self._first(id(holder), holder):
            value, path = references.content(holder), Path(None, "closure", name)
            self.watch(references.cell(holder, value), path)
            self.note(value)
            if name == "__class__" and isinstance(value, type):  # for `super()`, which does not call it
                self._visit_class_of(value)
            else:
                self._see(value, path)

    def _learn(self, code: Named, variables: dict[str, Any]) -> None:
        """Take up what code names."""
        self.names |= code.attributes
        self.any_attribute |= code.any_attribute
        self.asks_for_absence |= code.asks_for_absence
        self.calls.compares |= code.compares
        self.calls.constructs |= code.any_attribute
        self.calls.formats |= code.formats
        if "text" in code.formats:
            self.visit_setting(setting_read_by(str))
        for name in code.variables:
            if self.bound(variables, name, "global") is Missing:
                self.bound(_builtins_of(variables), name, "global")
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
            self.watch(references.slot(getattr(functools.partial, name), partial, value))
            self.see(value, "attribute", name)
        self._visit_object(partial)

    def _visit_property(self, value: property) -> None:
        for name in ("fget", "fset"):
            self.see(getattr(value, name), "attribute", name)

    def _visit_descriptor(self, value: Any) -> None:
        by_name = isinstance(value, functools.partialmethod | functools.cached_property)
        self.calls.constructs |= isinstance(value, classmethod)
        if isinstance(value, functools.partialmethod):
            for name in ("func", "args", "keywords"):
                self.bound(vars(value), name)
        self._see(value.func if by_name else value.__func__, self._path)

    def _visit_slot_method(self, value: Any) -> None:
        """Visit a method of a compiled class that is kept without an object: `object.__getattribute__`."""
        self.any_attribute |= reads_attributes_by_text({value.__name__})

    def _visit_builtin(self, value: Any) -> None:
        self._hand_over(value.__module__)
        owner, by_text = value.__self__, {value.__name__}
        if owner is builtins or isinstance(owner, type):
            self.any_attribute |= reads_attributes_by_text(by_text)
            self.asks_for_absence |= asks_for_absence(by_text)
        if owner is builtins and reads_variables_by_text(by_text):
            for function in self.functions:
                self.bound_data(function.__globals__, "global")
        if owner is not builtins:
            self.see(owner, "attribute", "__self__")

    def _visit_context_variable(self, variable: ContextVar[Any]) -> None:
        self.watch(reference := references.result(variable.get, Unset))
        self.note(reference.rows[0][-1])
        for part in referents(variable):
            self.see(part, "contents", ".get()")

    def _visit_attrgetter(self, value: Any) -> None:
        for text in value.__reduce__()[1]:
            if isinstance(text, str):
                self.names.update(text.split("."))


def _builtins_of(variables: dict[str, Any]) -> dict[str, Any]:
    """Return the names that functions with these variables find last."""
    found = variables.get("__builtins__", builtins)
    return found if isinstance(found, dict) else vars(found)


def _receiver(method: types.MethodType) -> Path:
    """Return the path to the receiver of a bound method, by the method's own name for it."""
    code = getattr(method.__func__, "__code__", None)
    names = code.co_varnames[: code.co_argcount] if isinstance(code, types.CodeType) else ()
    return Path(None, "self", names[0] if names else "self")


def _full_names(name: str, package: str) -> list[str]:
    """Return the modules that an import inside a function may load: absolute, or relative to a package."""
    parts = name.split(".")
    absolute = [".".join(parts[:k]) for k in range(1, len(parts) + 1)]
    above = package.split(".")
    relative = [".".join([*above[:k], *parts]).rstrip(".") for k in range(1, len(above) + 1)]
    known = [full for full in (*absolute, *relative) if full in sys.modules]
    return known or [name]
