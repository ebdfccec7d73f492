"""Python functions around compiled ones that take 64-bit integers and floats, and return an integer.

Numba's own wrappers take their arguments as a tuple, and convert each by way of a new object. These take them as the
interpreter has them at hand (``METH_FASTCALL``): 30 to 40 ns less a call, where a small operation is two calls and
takes 900 ns. Integers are taken by ``__index__``, so that no float is taken for one.

A tuple of integers is handed over as the address of its fields, which live as long as the call; the field before them
says how many there are. A function can return a tuple as well: it writes the fields, and returns how many.
"""

import ctypes
import functools
from collections.abc import Callable
from typing import Any

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.python_calls.python_code import Code, Module
from tapegrad.engine.codegen.python_calls.wrapper_kinds import WrapperKind

_FASTCALL = 0x80  # METH_FASTCALL of Python's C interface
_ROOM = 128  # fields that a function which returns a tuple can write


class _MethodDef(ctypes.Structure):
    """``PyMethodDef`` of Python's C interface."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_new_function = ctypes.pythonapi.PyCFunction_NewEx
_new_function.restype = ctypes.py_object
_new_function.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)


def fast_call(name: str, address: int, shape: WrapperKind) -> Callable[..., int]:
    """Wrap a compiled function in a Python function."""
    return python_function(name, module_of(shape).addresses()[shape.name], address)


def python_function(name: str, address: int, fixed: Any) -> Callable[..., Any]:
    """Wrap ``PyObject *function(PyObject *fixed, PyObject *const *arguments, Py_ssize_t count)`` for Python."""
    made: Callable[..., Any] = _new_function(ctypes.addressof(_definition(name, address)), fixed, None)
    return made


def address_of(function: Any) -> int:
    """Address of the compiled function that a Python function calls."""
    return int(function.__self__)


@functools.cache  # Python refers to them
def _definition(name: str, address: int) -> _MethodDef:
    return _MethodDef(name.encode(), address, _FASTCALL, None)


@functools.cache
def module_of(shape: WrapperKind) -> Module:
    """Return the module of the wrapper of a shape."""
    module = Module(f"fast_calls.{shape.name}", TypeError=TypeError, SystemError=SystemError)
    if "t" in shape.arguments:
        module.internal(_fields_of)
    if shape.returns_tuple:
        module.internal(_tuple_of)
    module.exported(_wrapper(shape), shape.name)
    return module


def _wrapper(shape: WrapperKind) -> Callable[[Code, Value, Value, Value], None]:
    """Return what emits ``PyObject *(PyObject *address, PyObject *const *arguments, Py_ssize_t count)``."""

    def define(code: Code, address: Value, arguments: Value, given: Value) -> None:
        count = len(shape.arguments)
        with code.where(given.unequal(count)):
            code.fail("TypeError", f"it takes {count} arguments")
        values, blocks = _converted(code, shape, arguments)
        with code.where(code.call("PyErr_Occurred").unequal(0)):
            _free(code, blocks)
            code.ret(0)
        room = [code.room(_ROOM)] if shape.returns_tuple else []
        function = code.call("PyLong_AsLongLong", address)
        status, result = code.call_compiled(function, *values, *room, releases_gil=shape.releases_gil)
        _free(code, blocks)
        with code.where(status.unequal(0)):
            code.fail("SystemError", "compiled code has raised an exception")
        code.ret(code.call("tuple_of" if room else "PyLong_FromLongLong", *room, result))

    return define


_CONVERSIONS = {"i": "PyLong_AsLongLong", "f": "PyFloat_AsDouble", "t": "fields_of"}


def _converted(code: Code, shape: WrapperKind, arguments: Value) -> tuple[list[Value], list[Value]]:
    """Convert arguments to those of the compiled function; return also the blocks that hold the items of tuples."""
    values, blocks = [], []
    for k, kind in enumerate(shape.arguments):
        value = code.call(_CONVERSIONS[kind], code.load(arguments, k))
        if kind == "t":
            blocks.append(value)
            value = value + 8
        values.append(value)
    return values, blocks


def _free(code: Code, blocks: list[Value]) -> None:
    for block in blocks:
        code.call("PyMem_RawFree", block)


# --- tuples ------------------------------------------------------------------------------------------------------


def _fields_of(code: Code, given: Value) -> None:
    """``fields_of(tuple)``: a block with the number of integers in a tuple, then the integers.

    0 where it is no tuple. What went wrong is Python's to ask: an element that is no integer is an error as well.
    """
    count = code.call("PyTuple_Size", given)
    with code.where(count < 0):
        code.fail("TypeError", "a tuple of integers is required")
    block = code.call("PyMem_RawMalloc", (count + 1) * 8)
    with code.where_null(block):
        code.call("PyErr_NoMemory")
        code.ret(0)
    code.store(count, block)
    with code.for_each(count) as k:
        item = code.call("PyTuple_GetItem", given, k)
        code.store(code.call("PyLong_AsLongLong", item), block, k + 1)
    code.ret(block)


def _tuple_of(code: Code, fields: Value, count: Value) -> None:
    """``tuple_of(fields, count)``: a tuple of integers."""
    made = code.call("PyTuple_New", count)
    with code.where_null(made):
        code.ret(0)
    with code.for_each(count) as k:
        code.call("PyTuple_SetItem", made, k, code.call("PyLong_FromLongLong", code.load(fields, k)))
    code.ret(made)
