"""Functions of Python's C interface, written as LLVM's instructions and compiled in milliseconds.

Nearly all values in them are fields: addresses of objects, and integers. Functions of Python and of NumPy are called by
name, and objects are referred to by names that are given their addresses before the code is loaded.
"""

import hashlib
from collections.abc import Callable
from typing import Any

from llvmlite import binding

from tapegrad.engine.codegen.ir.body import Operand, Value
from tapegrad.engine.codegen.ir.c_code import CCode
from tapegrad.engine.codegen.ir.target import host
from tapegrad.engine.codegen.ir.types import I64
from tapegrad.engine.codegen.machine import machine, objects
from tapegrad.engine.codegen.machine.lock import compiling
from tapegrad.engine.runtime.lazy import lazy
from tapegrad.engine.runtime.object_layouts import TUPLE_ITEMS, TYPE, ensure_known, numpy_function

NULL = 0
_VOIDS = (
    "Py_IncRef", "Py_DecRef", "PyErr_Clear", "PyErr_Fetch", "PyErr_Restore", "PyErr_SetString", "PyErr_WriteUnraisable",
    "PyEval_RestoreThread", "PyMem_RawFree",
)  # fmt: skip
_INTS = (
    "PyArray_SetBaseObject", "PyDict_Next", "PyDict_SetItem", "PyErr_ExceptionMatches", "PyList_Append",
    "PyList_SetItem", "PyList_SetSlice", "PyObject_RichCompareBool", "PySet_Add", "PySet_Contains",
    "PyTuple_SetItem", "memcmp",
)  # fmt: skip
# What functions return that do not return a field.
_RESULTS = dict.fromkeys(_VOIDS, "void") | dict.fromkeys(_INTS, "i32") | {"PyFloat_AsDouble": "double"}
# Functions of NumPy's table, which have no names of their own.
_NUMPY = ("PyArray_Empty", "PyArray_NewFromDescr", "PyArray_Return", "PyArray_SetBaseObject")

_Define = Callable[..., None]
MODULES: dict[str, "Module"] = {}  # those that have been made, by their names


class Module:
    """A module of C functions, compiled or taken from the cache when the first address is needed.

    Parameters
    ----------
    name
        Its name. A process has one module of a name and these names of functions and objects.
    later
        Names that code has for Python objects which are given when the first address is needed.
    objects
        Python objects by the names that code has for them. They have to live as long as the process.
    """

    def __init__(self, name: str, *later: str, **objects: Any) -> None:
        self._kind, self._objects = name, dict.fromkeys(later) | objects
        MODULES[name] = self
        self._internal: dict[str, _Define] = {}
        self._exported: dict[str, _Define] = {}
        self._addresses: dict[str, int] = {}

    def internal(self, define: _Define) -> _Define:
        """Add a function that others of the module call: ``define(code, *arguments)`` emits it, under its own name."""
        self._internal[define.__name__.lstrip("_")] = define
        return define

    def exported(self, define: _Define, name: str = "") -> _Define:
        """Add a function that is called from outside, by its address; under its own name, or another one."""
        self._exported[name or define.__name__.lstrip("_")] = define
        return define

    def addresses(self, **given: Any) -> dict[str, int]:
        """Return the addresses of the functions that are called from outside; they live for ever.

        Parameters
        ----------
        given
            The Python objects whose names alone are known so far.
        """
        if not self._addresses:
            self._objects |= given
            ensure_known()
            code = objects.obtain(self.unit, host()).code
            with compiling:  # another thread may have loaded it meanwhile
                self._addresses = self._addresses or self._load(code)
        return self._addresses

    @property
    def unit(self) -> objects.Unit:
        """Its unit of compilation."""
        return objects.Unit(
            self._name, lambda: objects.Definition(machine.ModuleSource(self._text()), self._name)
        )

    def _load(self, code: bytes) -> dict[str, int]:
        for name, each in self._objects.items():
            binding.add_symbol(self.object_symbol(name), id(each))
        for name in _NUMPY:
            binding.add_symbol(self.symbol(name), numpy_function(name))
        return dict(zip(self._exported, machine.load(code, *map(self.symbol, self._exported)), strict=True))

    @lazy
    def _name(self) -> str:
        """Its name, and a digest of those of functions and objects. What emits them is in the state of all sources."""
        state = hashlib.sha256(repr((*self._exported, *self._objects)).encode()).hexdigest()[:8]
        return f"python.{self._kind}.{state}"

    def _text(self) -> str:
        bodies = []
        for name, define in (self._internal | self._exported).items():
            code = Code(self, name, define.__code__.co_argcount - 1, is_internal=name in self._internal)
            define(code, *code.arguments)
            bodies.append(code.body)
        return machine.module_text(bodies)

    def symbol(self, name: str) -> str:
        """Return the symbol of a function of the module, of NumPy or of Python."""
        is_ours = name in self._internal or name in self._exported
        return f"{self._name}.{name}" if is_ours else f"numpy.{name}" if name in _NUMPY else name

    def object_symbol(self, name: str) -> str:
        """Return the symbol of an object."""
        return f"{self._name}.object.{name}"


class Code(CCode):
    """A function of Python's C interface under construction.

    Parameters
    ----------
    module
        Where it is written.
    name, arguments
        Its name, and the number of its arguments, which are fields.
    is_internal
        Whether only functions of the module call it.
    """

    def __init__(self, module: Module, name: str, arguments: int, is_internal: bool) -> None:
        linkage = "internal" if is_internal else "external"
        super().__init__(f'@"{module.symbol(name)}"', [I64] * arguments, linkage=linkage)
        self._module = module

    def outside(self, name: str) -> Value:
        """Refer to an object outside of the module by its name."""
        return self.address_of(self.body.external(f'@"{self._module.object_symbol(name)}"'))

    def call(self, name: str, *values: Operand) -> Value:
        """Call a function of Python, of NumPy or of the module."""
        symbol = f'@"{self._module.symbol(name)}"'
        found = self.call_by_name(symbol, *values, result=_RESULTS.get(name, "i64"))
        return self.body.convert("sext", found, "i64") if found.type.element == "i32" else found

    def call_compiled(
        self, address: Value, *values: Operand, releases_gil: bool = True
    ) -> tuple[Value, Value]:
        """Call what Numba has compiled: its status, which is not 0 where it has raised, and the field it returns."""
        result, exception = self.room(1), self.room(1)
        self.store(0, result)
        state = self.call("PyEval_SaveThread") if releases_gil else None
        status = self.call_at(address, result, exception, *values, result="i32")
        if state is not None:
            self.call("PyEval_RestoreThread", state)
        return status, self.load(result)

    def fail(self, exception: str, message: str) -> None:
        """Return to Python with an exception, an external object, and a message of plain characters."""
        text = self.body.data(f'"{message}"', f'[{len(message) + 1} x i8] c"{message}\\00"')
        self.call("PyErr_SetString", self.outside(exception), self.address_of(text))
        self.ret(0)

    # --- objects ---------------------------------------------------------------------------------------------------

    def type_of(self, value: Value) -> Value:
        return self.load(value + TYPE)

    def items_of(self, values: Value) -> Value:
        """Address of the fields that name the objects in a tuple."""
        return values + TUPLE_ITEMS

    def tuple_around(self, items: Value) -> Value:
        """Make the tuple of the objects at these addresses."""
        return items - TUPLE_ITEMS

    def new_reference(self, value: Value) -> Value:
        self.call("Py_IncRef", value)
        return value

    def drop(self, value: Value) -> None:
        self.call("Py_DecRef", value)
