"""Functions of Python's C interface, written as LLVM's instructions and compiled in milliseconds.

Nearly all values in them are words of 64 bits: addresses of objects, and integers. Functions of Python are called by
name, those of NumPy by their index in the table of addresses that its C interface consists of, which is the same in all
versions.
"""

import ctypes
import hashlib
from collections.abc import Callable
from typing import Any

from tapegrad.engine.codegen.ir.body import Operand, Value
from tapegrad.engine.codegen.ir.c_code import CCode
from tapegrad.engine.codegen.ir.memory import POINTER, word
from tapegrad.engine.codegen.ir.target import host
from tapegrad.engine.codegen.ir.types import I64
from tapegrad.engine.codegen.machine import machine, objects
from tapegrad.engine.codegen.machine.lock import compiling
from tapegrad.engine.runtime.object_layouts import TUPLE_ITEMS, TYPE, ensure_known, numpy_function

NULL = 0
_VOIDS = (
    "Py_IncRef", "Py_DecRef", "PyErr_Clear", "PyErr_SetString", "PyEval_RestoreThread", "PyMem_RawFree",
)  # fmt: skip
_INTS = (
    "PyDict_Next", "PyErr_ExceptionMatches", "PyList_Append", "PyList_SetSlice", "PyObject_IsTrue",
    "PyObject_RichCompareBool", "PySet_Contains", "PyTuple_SetItem", "memcmp",
)  # fmt: skip
# What functions return that do not return a word.
_RESULTS = dict.fromkeys(_VOIDS, "void") | dict.fromkeys(_INTS, "i32") | {"PyFloat_AsDouble": "double"}
# Functions of NumPy's table, and which of their arguments are of C's type `int`.
_NUMPY: dict[str, tuple[int, ...]] = {"PyArray_Empty": (0, 3), "PyArray_Return": ()}


class ExternalObjects:
    """Objects that code refers to by addresses that differ between processes: fields that are filled on loading.

    Parameters
    ----------
    objects
        Python objects by the names that code has for them. They have to live as long as the process.
    """

    def __init__(self, **objects: Any) -> None:
        self.names = (*_NUMPY, *objects)
        self._objects = objects

    def words(self) -> list[int]:
        return [*map(numpy_function, _NUMPY), *map(id, self._objects.values())]


class Module:
    """A module of C functions, which refers to external objects by a table that is filled when it is loaded."""

    def __init__(self, name: str, outside: ExternalObjects) -> None:
        self.name, self.outside = name, outside
        self.functions: dict[str, Code] = {}

    def symbol(self, name: str) -> str:
        """Return the symbol of a function, or of the table: no other module has it."""
        return f"{self.name}.{name}"

    @property
    def table(self) -> str:
        return self.symbol("outside")

    def text(self) -> str:
        """Write the module as LLVM's text."""
        table = f'@"{self.table}" = global [{len(self.outside.names)} x i64] zeroinitializer'
        return f"{table}\n{machine.module_text(code.body for code in self.functions.values())}"


class Code(CCode):
    """A function of Python's C interface under construction.

    Parameters
    ----------
    module
        Where it is written.
    name, arguments
        Its name, and the number of its arguments, which are words.
    own
        Whether only functions of the module call it.
    """

    def __init__(self, module: Module, name: str, arguments: int, own: bool = True) -> None:
        super().__init__(
            f'@"{module.symbol(name)}"', [I64] * arguments, linkage="internal" if own else "external"
        )
        self._module = module
        module.functions[name] = self

    def outside(self, name: str) -> Value:
        """Refer to an object outside of the module by its name."""
        table = self.body.named(POINTER, f'@"{self._module.table}"')
        return word(table, self._module.outside.names.index(name))

    # --- calls -----------------------------------------------------------------------------------------------------

    def call(self, name: str, *values: Operand) -> Value:
        """Call a function of Python, of NumPy or of the module."""
        if name in self._module.functions:
            return self.call_by_name(f'@"{self._module.symbol(name)}"', *values)
        if name in _NUMPY:
            return self._call_numpy(name, values)
        found = self.call_by_name(f"@{name}", *values, result=_RESULTS.get(name, "i64"))
        return self.body.convert("sext", found, "i64") if found.type.element == "i32" else found

    def _call_numpy(self, name: str, values: tuple[Operand, ...]) -> Value:
        ints = _NUMPY[name]
        given = [
            self.body.convert("trunc", self.word(value), "i32") if k in ints else value
            for k, value in enumerate(values)
        ]
        return self.call_at(self.outside(name), *given)

    def call_compiled(
        self, address: Value, *values: Operand, releases_gil: bool = True
    ) -> tuple[Value, Value]:
        """Call what Numba has compiled: its status, which is not 0 where it has raised, and the word it returns."""
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
        """Address of the words that name the objects in a tuple."""
        return values + TUPLE_ITEMS

    def tuple_around(self, items: Value) -> Value:
        """Make the tuple of the objects at these addresses."""
        return items - TUPLE_ITEMS

    def new_reference(self, value: Value) -> Value:
        self.call("Py_IncRef", value)
        return value

    def drop(self, value: Value) -> None:
        self.call("Py_DecRef", value)


_loaded: dict[str, list[int]] = {}  # the addresses of the functions of each module


def compiled(
    name: str, define: Callable[[Module], None], outside: ExternalObjects, *functions: str
) -> list[int]:
    """Compile functions of a module, or take them from the cache; return their addresses, which live for ever.

    Parameters
    ----------
    name
        Of the module. There is one of each name and names of functions and external objects in a process.
    define
        Writes the module.
    outside
        What it refers to.
    functions
        The names of the functions.
    """
    ensure_known()
    state = hashlib.sha256(repr((functions, outside.names)).encode()).hexdigest()[:8]
    module = Module(f"python.{name}.{state}", outside)
    with compiling:
        if module.name not in _loaded:
            _loaded[module.name] = _load(module, define, functions)
    return _loaded[module.name]


def _load(module: Module, define: Callable[[Module], None], functions: tuple[str, ...]) -> list[int]:
    def make() -> objects.ObjectCode:
        define(module)
        return objects.ObjectCode(machine.compile_text(module.text(), host()), (), ())

    found = objects.obtain(module.name, host(), make)
    table, *addresses = machine.load(found.code, module.table, *map(module.symbol, functions))
    words = module.outside.words()
    ctypes.memmove(table, (ctypes.c_int64 * len(words))(*words), 8 * len(words))
    return addresses
