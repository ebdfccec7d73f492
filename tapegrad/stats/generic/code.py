"""Copies of functions and classes of distributions, with substitutes for their global names.

The private methods of SciPy's distributions and of users' subclasses are written in Python, of functions of arrays. A
copy has the same code. It looks its global names up in the same module, and where one leads to a function that does
not take Tensors, or to another function, class or distribution of this kind, it gets a substitute or a copy.
"""

import types
from collections.abc import Callable
from typing import Any

from tapegrad.stats.generic.substitutes import substitutes

_OF_CLASSES = ("__dict__", "__weakref__", "__init_subclass__")  # of a class, not of its body
_VIEWED = ("scipy.special", "scipy.stats", "scipy._lib.array_api_extra")


class _Names(dict[str, Any]):
    """Global names of copied functions: those of the module as they are now, replaced when they are looked up."""

    def __init__(self, names: dict[str, Any], replace: Callable[[Any], Any]) -> None:
        # Named as a module of the package, so that errors name the user's line, and the function that refuses.
        super().__init__(__builtins__=names["__builtins__"], __name__=__name__)
        self._names, self._replace = names, replace

    def __missing__(self, key: str) -> Any:
        return self._replace(self._names[key])


class _View:
    """A module whose functions are replaced when they are asked for."""

    def __init__(self, module: Any, replace: Callable[[Any], Any]) -> None:
        self._module, self._replace = module, replace

    def __getattr__(self, name: str) -> Any:
        return self._replace(getattr(self._module, name))


class Copies:
    """Copies of functions and classes.

    Parameters
    ----------
    distribution : callable
        Returns what stands for a distribution of SciPy in copied code.
    generic : dict
        Methods by the class of `scipy.stats` whose own methods of these names they replace; first by the class that
        all distributions inherit from.
    """

    def __init__(self, distribution: Callable[[Any], Any], generic: dict[type, dict[str, Any]]) -> None:
        self._distribution, self._generic, self._root = distribution, generic, next(iter(generic))
        self._names: dict[int, _Names] = {}
        self._made: dict[Any, Any] = {}
        self._packages = {"scipy.stats"}  # whose functions are copied

    def class_of(self, kind: type) -> type:
        """Return the copy of a class of distributions, or of one that such a class inherits from."""
        if kind is object or not (issubclass(kind, self._root) or self._is_own(kind.__module__)):
            return kind
        self._packages.add(_package(kind.__module__))
        if kind in self._made:
            return self._made[kind]  # type: ignore[no-any-return]  # a class
        copy = self._copied_class(kind, tuple(map(self.class_of, kind.__bases__)))
        if kind.__module__.startswith("scipy."):  # users assign methods anew, to the class
            self._made[kind] = copy
        return copy

    def _copied_class(self, kind: type, bases: tuple[type, ...]) -> type:
        copy = type(kind)(kind.__name__, bases, {"__module__": kind.__module__, "__doc__": kind.__doc__})
        body = {
            name: self._part(value, copy) for name, value in vars(kind).items() if name not in _OF_CLASSES
        }
        for name, value in {**body, **self._generic.get(kind, {})}.items():
            setattr(copy, name, value)
        return copy

    def _part(self, value: Any, kind: type) -> Any:
        """Return the copy of what the body of a class holds."""
        if isinstance(value, staticmethod | classmethod):
            return type(value)(self._part(value.__func__, kind))
        if isinstance(value, property) and value.fget is not None:
            return property(self._part(value.fget, kind), doc=value.__doc__)
        return self._copied_function(value, kind) if isinstance(value, types.FunctionType) else value

    def _copied_function(self, function: types.FunctionType, kind: type | None = None) -> types.FunctionType:
        """Return a function with replaced global names; `super` inside of it means the copied class."""
        names, closure = function.__globals__, function.__closure__
        if id(names) not in self._names:
            self._names[id(names)] = _Names(names, self.replace)
        if closure is not None and kind is not None:
            cells = zip(function.__code__.co_freevars, closure, strict=True)
            closure = tuple(types.CellType(kind) if name == "__class__" else cell for name, cell in cells)
        copy = types.FunctionType(
            function.__code__, self._names[id(names)], function.__name__, function.__defaults__, closure
        )
        copy.__kwdefaults__, copy.__doc__ = function.__kwdefaults__, function.__doc__
        return copy

    def replace(self, value: Any) -> Any:
        """Return what stands for the value of a global name."""
        if isinstance(value, types.ModuleType):
            return self._module(value)
        if isinstance(value, type):
            return substitutes().get(value) or (
                self.class_of(value) if issubclass(value, self._root) else value
            )
        if callable(value) and getattr(value, "__hash__", None) and value in substitutes():
            return substitutes()[value]
        if isinstance(value, types.FunctionType) and self._is_own(value.__module__):
            if value not in self._made:
                self._made[value] = self._copied_function(value)
            return self._made[value]
        return self._distribution(value)

    def _module(self, module: types.ModuleType) -> Any:
        name = module.__name__
        is_viewed = name in ("numpy", "scipy") or name.startswith(_VIEWED) or self._is_own(name)
        return _View(module, self.replace) if is_viewed else module

    def _is_own(self, module: str | None) -> bool:
        return module is not None and _package(module) in self._packages


def _package(module: str) -> str:
    """Return the first name of a module, of SciPy's also the second."""
    first, *rest = module.split(".")
    return ".".join([first, *rest[: first in ("scipy", "tapegrad")]])
