"""Python functions around compiled ones that take 64-bit integers and floats, and return an integer.

Numba's own wrappers take their arguments as a tuple, and convert each by way of a new object. These take them as the
interpreter has them at hand (``METH_FASTCALL``): 30 to 40 ns less a call, where a small operation is two calls and
takes 900 ns. Integers are taken by ``__index__``, so that no float is taken for one.

A tuple of integers is handed over as the address of its words, which live as long as the call; the word before them
says how many there are. A function can return a tuple as well: it writes the words, and returns how many.
"""

import ctypes
import functools
import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types

from tapegrad.engine.codegen.python_calls.python_code import ExternalObjects, Module, compiled

_I64, _I32, _F64 = ir.IntType(64), ir.IntType(32), ir.DoubleType()
_FASTCALL = 0x80  # METH_FASTCALL of Python's C interface
# What fits the word of zeros that a result is written to.
_RETURNED = (types.int64, types.boolean, types.none)


_EXCEPTIONS = ExternalObjects(TypeError=TypeError, SystemError=SystemError)
_ROOM = 128  # words that a function which returns a tuple can write


class WrapperKind(NamedTuple):
    """Properties in which wrappers differ.

    Attributes
    ----------
    arguments
        What stands for each argument: ``i`` an integer, ``f`` a float, ``t`` a tuple of integers.
    releases_gil
        Whether the GIL is released during the call.
    returns_tuple
        Whether the function has one argument more, the address that it writes the words of a tuple to.
    """

    arguments: str
    releases_gil: bool
    returns_tuple: bool

    @property
    def name(self) -> str:
        """Name of the wrapper in LLVM's module."""
        return f"call_{self.arguments}_{int(self.releases_gil)}{int(self.returns_tuple)}"


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
_addresses: dict[WrapperKind, int] = {}
expected: set[WrapperKind] = set()  # shapes of all entry points: their wrappers are made together


def fast_call(compiled: Any, shape: WrapperKind) -> Callable[..., int]:
    """Wrap a function that Numba has compiled in a Python function."""
    if compiled.signature.return_type not in _RETURNED:
        raise TypeError(f"{compiled.fndesc.qualname} returns {compiled.signature.return_type}, not a word")
    if shape not in _addresses:
        _compile((expected | {shape}) - _addresses.keys())
    address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    return python_function(compiled.fndesc.qualname, _addresses[shape], address)


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


def _compile(shapes: set[WrapperKind]) -> None:
    """Compile the wrappers of some shapes, a matter of milliseconds."""
    ordered = sorted(shapes)

    def define(module: Module) -> None:
        _define_words_of(module)
        _define_tuple_of(module)
        for shape in ordered:
            _define(module, shape)

    names = [shape.name for shape in ordered]
    name = f"fast_calls.{hashlib.sha256(repr(names).encode()).hexdigest()[:8]}"
    _addresses.update(zip(ordered, compiled(name, define, _EXCEPTIONS, *names), strict=True))


def _external(module: Module, name: str, result: Any, *arguments: Any) -> Any:
    """Declare a function of Python's C interface."""
    known = module.globals.get(name)
    return known or ir.Function(module, ir.FunctionType(result, arguments), name)


def _as_integer(module: Module) -> Any:
    return _external(module, "PyLong_AsLongLong", _I64, _I64)


def _define(module: Module, shape: WrapperKind) -> None:
    """Define ``PyObject *wrapper(PyObject *address, PyObject *const *arguments, Py_ssize_t count)``."""
    wrapper = ir.Function(module, ir.FunctionType(_I64, (_I64, _I64, _I64)), shape.name)
    builder = ir.IRBuilder(wrapper.append_basic_block())
    address, arguments, given = wrapper.args
    count = len(shape.arguments)
    with builder.if_then(builder.icmp_signed("!=", given, _I64(count)), likely=False):
        _raise(builder, TypeError, f"it takes {count} arguments")
    values, blocks = _converted(builder, shape, arguments)
    error = builder.call(_external(module, "PyErr_Occurred", _I64), [])
    with builder.if_then(builder.icmp_signed("!=", error, _I64(0)), likely=False):
        _free(builder, blocks)
        builder.ret(_I64(0))
    room = _words_on_stack(builder, _ROOM) if shape.returns_tuple else None
    outcome = builder.call(_as_integer(module), [address])
    status, result = _call(builder, shape, outcome, values if room is None else [*values, room])
    _free(builder, blocks)
    with builder.if_then(builder.icmp_signed("!=", status, _I32(0)), likely=False):
        _raise(builder, SystemError, "compiled code has raised an exception")
    if room is None:
        builder.ret(builder.call(_external(module, "PyLong_FromLongLong", _I64, _I64), [result]))
    else:
        builder.ret(builder.call(module.globals["tuple_of"], [room, result]))


def _converted(builder: ir.IRBuilder, shape: WrapperKind, arguments: Any) -> tuple[list[Any], list[Any]]:
    """Convert arguments to those of the compiled function; return also the blocks that hold the items of tuples."""
    module, place = builder.module, builder.inttoptr(arguments, _I64.as_pointer())
    convert = {
        "i": _as_integer(module),
        "f": _external(module, "PyFloat_AsDouble", _F64, _I64),
        "t": module.globals["words_of"],
    }
    values, blocks = [], []
    for k, kind in enumerate(shape.arguments):
        value = builder.call(convert[kind], [builder.load(builder.gep(place, [_I64(k)]))])
        if kind == "t":
            blocks.append(value)
            value = builder.add(value, _I64(8))
        values.append(value)
    return values, blocks


def _free(builder: ir.IRBuilder, blocks: list[Any]) -> None:
    free = _external(builder.module, "PyMem_RawFree", ir.VoidType(), _I64)
    for block in blocks:
        builder.call(free, [block])


def _words_on_stack(builder: ir.IRBuilder, count: int) -> Any:
    return builder.ptrtoint(builder.alloca(_I64, _I64(count)), _I64)


def _call(builder: ir.IRBuilder, shape: WrapperKind, address: Any, values: list[Any]) -> tuple[Any, Any]:
    """Call a function as Numba's code does: it writes to its first argument, and returns a status."""
    module, place = builder.module, _I64.as_pointer()
    result, exception = builder.alloca(_I64), builder.alloca(_I64)
    builder.store(_I64(0), result)
    kind = ir.FunctionType(_I32, (place, place, *(value.type for value in values)))
    state = builder.call(_external(module, "PyEval_SaveThread", _I64), []) if shape.releases_gil else None
    status = builder.call(builder.inttoptr(address, kind.as_pointer()), [result, exception, *values])
    if state is not None:
        builder.call(_external(module, "PyEval_RestoreThread", ir.VoidType(), _I64), [state])
    return status, builder.load(result)


def _raise(builder: ir.IRBuilder, exception: type[Exception], message: str) -> None:
    """Return to Python with an exception."""
    module = builder.module
    text = ir.GlobalVariable(
        module, ir.ArrayType(ir.IntType(8), len(message) + 1), module.get_unique_name("text")
    )
    text.initializer = ir.Constant(text.value_type, bytearray(message.encode() + b"\0"))
    text.global_constant, text.linkage = True, "internal"
    set_string = _external(module, "PyErr_SetString", ir.VoidType(), _I64, _I64)
    builder.call(set_string, [module.refer(builder, exception.__name__), builder.ptrtoint(text, _I64)])
    builder.ret(_I64(0))


# --- tuples ------------------------------------------------------------------------------------------------------


def _define_words_of(module: Module) -> None:
    """Define ``words_of(tuple)``: a block with the number of integers in a tuple, then the integers.

    0 where it is no tuple. What went wrong is Python's to ask: an element that is no integer is an error as well.
    """
    function = ir.Function(module, ir.FunctionType(_I64, (_I64,)), "words_of")
    builder = ir.IRBuilder(function.append_basic_block())
    (given,) = function.args
    count = builder.call(_external(module, "PyTuple_Size", _I64, _I64), [given])
    with builder.if_then(builder.icmp_signed("<", count, _I64(0)), likely=False):
        _raise(builder, TypeError, "a tuple of integers is required")
    bytes_ = builder.mul(builder.add(count, _I64(1)), _I64(8))
    block = builder.call(_external(module, "PyMem_RawMalloc", _I64, _I64), [bytes_])
    with builder.if_then(builder.icmp_signed("==", block, _I64(0)), likely=False):
        builder.call(_external(module, "PyErr_NoMemory", _I64), [])
        builder.ret(_I64(0))
    words = builder.inttoptr(block, _I64.as_pointer())
    builder.store(count, words)
    take = _external(module, "PyTuple_GetItem", _I64, _I64, _I64)

    def body(k: Any) -> None:
        word = builder.call(_as_integer(module), [builder.call(take, [given, k])])
        builder.store(word, builder.gep(words, [builder.add(k, _I64(1))]))

    _for_each(builder, count, body)
    builder.ret(block)


def _define_tuple_of(module: Module) -> None:
    """Define ``tuple_of(words, count)``: a tuple of integers."""
    function = ir.Function(module, ir.FunctionType(_I64, (_I64, _I64)), "tuple_of")
    builder = ir.IRBuilder(function.append_basic_block())
    address, count = function.args
    words = builder.inttoptr(address, _I64.as_pointer())
    made = builder.call(_external(module, "PyTuple_New", _I64, _I64), [count])
    with builder.if_then(builder.icmp_signed("==", made, _I64(0)), likely=False):
        builder.ret(_I64(0))
    box = _external(module, "PyLong_FromLongLong", _I64, _I64)
    put = _external(module, "PyTuple_SetItem", _I32, _I64, _I64, _I64)

    def body(k: Any) -> None:
        builder.call(put, [made, k, builder.call(box, [builder.load(builder.gep(words, [k]))])])

    _for_each(builder, count, body)
    builder.ret(made)


def _for_each(builder: ir.IRBuilder, count: Any, body: Callable[[Any], None]) -> None:
    """Loop over the numbers from 0 up to `count`."""
    before = builder.block
    head, inside, after = (builder.append_basic_block() for _ in range(3))
    builder.branch(head)
    builder.position_at_end(head)
    k = builder.phi(_I64)
    k.add_incoming(_I64(0), before)
    builder.cbranch(builder.icmp_signed("<", k, count), inside, after)
    builder.position_at_end(inside)
    body(k)
    k.add_incoming(builder.add(k, _I64(1)), builder.block)
    builder.branch(head)
    builder.position_at_end(after)
