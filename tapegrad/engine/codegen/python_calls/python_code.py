"""Functions of Python's C interface, written as LLVM's instructions and compiled in milliseconds.

All values in them are words of 64 bits: addresses of objects, and integers. Functions of Python are called by name,
those of NumPy by their place in the table of addresses that its C interface consists of, which is the same in all
versions.
"""

import ctypes
import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from llvmlite import binding, ir

from tapegrad.engine.codegen.machine.machine import compile_plain, load_apart
from tapegrad.engine.codegen.store.cache import named_file, obtain
from tapegrad.engine.codegen.store.cache_files import DamagedObjectError
from tapegrad.engine.runtime.object_layouts import TUPLE_ITEMS, TYPE, ensure_known, numpy_function

I64, I32 = ir.IntType(64), ir.IntType(32)
NULL = ir.Constant(I64, 0)
# What functions return that do not return a word.
_VOID = frozenset({"Py_IncRef", "Py_DecRef", "PyEval_RestoreThread", "PyErr_Clear"})
_INT = frozenset({
    "PyDict_Next", "PyErr_ExceptionMatches", "PyList_Append", "PyList_SetSlice", "PyObject_IsTrue",
    "PyObject_RichCompareBool", "PySet_Contains", "PyTuple_SetItem", "memcmp",
})  # fmt: skip
_OUTSIDE = "outside"  # the name of the words in a module that are filled when it is loaded
# Functions of NumPy's table, and which of their arguments are of C's type `int`.
_NUMPY: dict[str, tuple[int, ...]] = {"PyArray_Empty": (0, 3), "PyArray_Return": ()}


def word(value: int) -> Any:
    """Return an integer constant."""
    return ir.Constant(I64, value)


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


class Module(ir.Module):
    """A module that refers to what is outside of it by words that are filled when it is loaded."""

    def __init__(self, outside: ExternalObjects) -> None:
        super().__init__("python")
        self.triple = binding.get_default_triple()
        self.outside = outside
        self.words = ir.GlobalVariable(self, ir.ArrayType(I64, len(outside.names)), _OUTSIDE)
        self.words.initializer = ir.Constant(self.words.value_type, None)

    def refer(self, builder: ir.IRBuilder, name: str) -> Any:
        """Refer to an external object by its name."""
        return builder.load(builder.gep(self.words, [I32(0), I32(self.outside.names.index(name))]))


class Code:
    """A function that is being written.

    Parameters
    ----------
    module
        Where it is written.
    name, arguments
        Its name, and the number of its arguments.
    own
        Whether only functions of the module call it.
    """

    def __init__(self, module: Module, name: str, arguments: int, own: bool = True) -> None:
        kind = ir.FunctionType(I64, [I64] * arguments)
        self._module = module
        function = ir.Function(module, kind, name)
        function.linkage = "internal" if own else "external"
        self.arguments: tuple[Any, ...] = tuple(function.args)
        self.builder = ir.IRBuilder(function.append_basic_block())

    # --- memory ----------------------------------------------------------------------------------------------------

    def load(self, address: Any, k: Any = 0) -> Any:
        """Word number `k` behind an address."""
        return self.builder.load(self._place(address, k))

    def outside(self, name: str) -> Any:
        """Refer to an object outside of the module by its name."""
        return self._module.refer(self.builder, name)

    def store(self, value: Any, address: Any, k: Any = 0) -> None:
        """Write word number `k` behind an address."""
        self.builder.store(value, self._place(address, k))

    def room(self, count: Any) -> Any:
        """Address of so many words, which live as long as the call."""
        return self.builder.ptrtoint(self.builder.alloca(I64, count), I64)

    def _place(self, address: Any, k: Any) -> Any:
        number = word(k) if isinstance(k, int) else k
        return self.builder.gep(self.builder.inttoptr(address, I64.as_pointer()), [number])

    # --- conditions ------------------------------------------------------------------------------------------------

    def equal(self, a: Any, b: Any) -> Any:
        return self.builder.icmp_signed("==", a, b)

    def differ(self, a: Any, b: Any) -> Any:
        return self.builder.icmp_signed("!=", a, b)

    def where(self, condition: Any) -> AbstractContextManager[Any]:
        """Emit a conditional block that is rarely run."""
        return self.builder.if_then(condition, likely=False)

    def where_null(self, value: Any) -> AbstractContextManager[Any]:
        return self.where(self.equal(value, NULL))

    def for_each(self, count: Any) -> "ForEach":
        """Emit a loop; its variable is a number from 0 up to `count`."""
        return ForEach(self.builder, count)

    def ret(self, value: Any) -> None:
        self.builder.ret(value)

    # --- calls -----------------------------------------------------------------------------------------------------

    def call(self, name: str, *values: Any) -> Any:
        """Call a function of Python, of NumPy or of the module."""
        if name in _NUMPY:
            return self._call_numpy(name, values)
        known = self._module.globals.get(name)
        result = ir.VoidType() if name in _VOID else I32 if name in _INT else I64
        function = known or ir.Function(self._module, ir.FunctionType(result, [I64] * len(values)), name)
        found = self.builder.call(function, values)
        return self.builder.sext(found, I64) if name in _INT else found

    def _call_numpy(self, name: str, values: tuple[Any, ...]) -> Any:
        ints = _NUMPY[name]
        given = [self.builder.trunc(value, I32) if k in ints else value for k, value in enumerate(values)]
        kind = ir.FunctionType(I64, [value.type for value in given])
        function = self.builder.inttoptr(self.outside(name), kind.as_pointer())
        return self.builder.call(function, given)

    def call_at(self, address: Any, *values: Any) -> Any:
        """Call a function by its address."""
        kind = ir.FunctionType(I64, [I64] * len(values))
        return self.builder.call(self.builder.inttoptr(address, kind.as_pointer()), values)

    def call_compiled(self, address: Any, *values: Any) -> Any:
        """Call what Numba has compiled, which raises nothing, without the global lock: the word that it returns."""
        result, exception = self.room(word(1)), self.room(word(1))
        kind = ir.FunctionType(I32, [I64] * (2 + len(values)))
        function = self.builder.inttoptr(address, kind.as_pointer())
        state = self.call("PyEval_SaveThread")
        self.builder.call(function, [result, exception, *values])
        self.call("PyEval_RestoreThread", state)
        return self.load(result)

    # --- objects ---------------------------------------------------------------------------------------------------

    def type_of(self, value: Any) -> Any:
        return self.load(self.builder.add(value, word(TYPE)))

    def items_of(self, values: Any) -> Any:
        """Address of the words that name the objects in a tuple."""
        return self.builder.add(values, word(TUPLE_ITEMS))

    def tuple_around(self, items: Any) -> Any:
        """Make the tuple of the objects at these addresses."""
        return self.builder.sub(items, word(TUPLE_ITEMS))

    def new_reference(self, value: Any) -> Any:
        self.call("Py_IncRef", value)
        return value

    def drop(self, value: Any) -> None:
        self.call("Py_DecRef", value)


class ForEach:
    """The body of a loop, as a context: ``with code.for_each(count) as k``."""

    def __init__(self, builder: ir.IRBuilder, count: Any) -> None:
        self._builder = builder
        self._count = count

    def __enter__(self) -> Any:
        builder, before = self._builder, self._builder.block
        self._head, inside, self._after = (builder.append_basic_block() for _ in range(3))
        builder.branch(self._head)
        builder.position_at_end(self._head)
        self._k = builder.phi(I64)
        self._k.add_incoming(NULL, before)
        builder.cbranch(builder.icmp_signed("<", self._k, self._count), inside, self._after)
        builder.position_at_end(inside)
        return self._k

    def __exit__(self, *exception: object) -> None:
        builder = self._builder
        self._k.add_incoming(builder.add(self._k, word(1)), builder.block)
        builder.branch(self._head)
        builder.position_at_end(self._after)


def compiled(
    name: str, define: Callable[[Module], None], outside: ExternalObjects, *functions: str
) -> list[int]:
    """Compile functions of a module, or take them from the cache; return their addresses, which live for ever.

    Parameters
    ----------
    name
        Of the file in the cache folder.
    define
        Writes the module.
    outside
        What it refers to.
    functions
        The names of the functions.
    """
    ensure_known()
    file = named_file(_file_name(name, outside))
    code = obtain(file, lambda: (_object_code(define, outside),), _checked)
    place, *addresses = load_apart(code, _OUTSIDE, *functions)
    words = outside.words()
    ctypes.memmove(place, (ctypes.c_int64 * len(words))(*words), 8 * len(words))
    return addresses


def _checked(parts: tuple[Any, ...]) -> bytes:
    (code,) = parts
    if type(code) is not bytes:
        raise DamagedObjectError(parts)
    return code


def _file_name(name: str, outside: ExternalObjects) -> str:
    """Name of the file that holds a module; the folder is of these sources, and of the size of Python's objects."""
    state = repr((binding.llvm_version_info, binding.get_default_triple(), TUPLE_ITEMS, outside.names))
    return f"python.{name}.{hashlib.sha256(state.encode()).hexdigest()[:16]}.o"


def _object_code(define: Callable[[Module], None], outside: ExternalObjects) -> bytes:
    module = Module(outside)
    define(module)
    return compile_plain(str(module))
