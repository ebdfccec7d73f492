"""Origin of code: a library's does not change while a program runs. Its file's folder decides."""

import ctypes
import functools
import importlib.util
import os
import sys
import sysconfig
import types
from pathlib import Path
from typing import Any

_SPECS = tuple(map(importlib.util.find_spec, ("tapegrad", "numpy", "scipy", "numba", "llvmlite")))
_PACKAGES = tuple(Path(spec.origin).parent for spec in _SPECS if spec is not None and spec.origin)
_STANDARD = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))
_INSTALLED = ("site-packages", "dist-packages")

# Packages beside the standard library whose code neither calls the class of an object that it gets nor compares
# objects.
_NUMERICAL = frozenset({"numba", "numpy", "scipy", "tapegrad"})
# Modules of the standard library that compare objects, and those, with packages like them, that read all fields of an
# object by names that they compute, and may make another one of its class.
_COMPARE = frozenset({"bisect", "heapq", "statistics"})
_READ_FIELDS = frozenset({
    "attr", "attrs", "copy", "copyreg", "dataclasses", "inspect", "json", "msgspec", "pickle", "pprint", "pydantic",
})  # fmt: skip
_MACHINERY = frozenset({"llvmlite", "numba"})  # whose objects have nothing that a program changes
_IMMUTABLE = frozenset({"jaxlib", "pyarrow"})  # whose arrays do not change
# Attributes of the types of pointers and arrays that ctypes makes, once for all code in a process.
_OF_CTYPES = {"__module__", "__doc__", "__dict__", "__weakref__", "_type_", "_length_"}


def package_of(cls: type) -> str:
    """Return the name of the package that a class belongs to."""
    return _module_of(cls).partition(".")[0]


def is_machinery(package: str) -> bool:
    """Return whether the objects of a package are watched by identity alone, though they lead to a thousand others."""
    return package in _MACHINERY


def is_immutable(package: str) -> bool:
    """Return whether the arrays of a package never change."""
    return package in _IMMUTABLE


def is_trusted(module: Any) -> bool:
    """Return whether the code of a module neither calls the class of an object that it gets nor compares objects."""
    if not isinstance(module, str):
        return True
    package = module.partition(".")[0]
    return package in _NUMERICAL or package in sys.stdlib_module_names - _COMPARE - _READ_FIELDS


def reads_fields(module: Any) -> bool:
    """Return whether the code of a module reads attributes whose names its caller does not mention."""
    return isinstance(module, str) and module.partition(".")[0] in _READ_FIELDS


def is_numerical(module: Any) -> bool:
    """Return whether a module belongs to tapegrad or to what it stands on."""
    return isinstance(module, str) and module.partition(".")[0] in _NUMERICAL


def is_made_here(value: Any) -> bool:
    """Return whether an object is one of tapegrad's own, such as a recording or its memory."""
    return _module_of(type(value)).startswith("tapegrad.")


def _module_of(cls: type) -> str:
    """Return the name of the module of a class.

    The type of a pointer or of an array says whichever module needed it first, though it is one of ctypes. A metaclass
    may have a descriptor in place of the name, as Cython's has.
    """
    if issubclass(cls, ctypes._Pointer | ctypes.Array) and vars(cls).keys() <= _OF_CTYPES:
        return "ctypes"
    module: Any = cls.__module__
    return module if isinstance(module, str) else ""


@functools.lru_cache(4096)
def is_library_file(name: str) -> bool:
    """Return whether a file is a library's: installed, of the standard library, or a dependency of tapegrad."""
    return _is_standard(name) or not set(_INSTALLED).isdisjoint(Path(name).parts)


@functools.lru_cache(4096)
def _is_standard(name: str) -> bool:
    """Return whether a file belongs to the standard library or to a dependency of tapegrad."""
    if name.startswith("<"):
        return name.startswith(("<frozen ", "<__array_function__"))
    path = Path(os.path.abspath(name))
    if any(path.is_relative_to(folder) for folder in _PACKAGES):
        return True
    return any(
        path.is_relative_to(folder) and not set(_INSTALLED) & set(path.relative_to(folder).parts)
        for folder in _STANDARD
    )


def variables_of(module: types.ModuleType) -> dict[str, Any]:
    """Return the variables of a module, whatever its class says."""
    found: dict[str, Any] = _VARIABLES.__get__(module)
    return found


def is_library_module(module: types.ModuleType) -> bool:
    """Return whether not even the variables of a module are watched. A module without a file is the user's."""
    file = variables_of(module).get("__file__")
    if isinstance(file, str):
        return _is_standard(file)
    return module.__name__ in sys.builtin_module_names


def is_compiled(cls: type) -> bool:
    """Return whether a class is compiled, by the interpreter or an extension, without settable attributes."""
    return not cls.__flags__ & _HEAP


def is_library_class(cls: type) -> bool:
    """Return whether a class is defined in a library, or compiled."""
    if is_compiled(cls):
        return True
    name = _module_of(cls)
    module = sys.modules.get(name)
    if module is None or not issubclass(type(module), types.ModuleType) or name == "__main__":
        return False
    return is_library_module(module) or is_library_file(variables_of(module).get("__file__") or "")


_VARIABLES: Any = vars(types.ModuleType)["__dict__"]
_HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement, or by a newer C extension
