"""Python functions around compiled ones that take 64-bit integers and floats, and return an integer.

Numba's own wrappers take their arguments as a tuple, and convert each by way of a new object. These take them as the
interpreter has them at hand (``METH_FASTCALL``): 30 to 40 ns less a call, where a small operation is two calls and
takes 900 ns. Integers are taken by ``__index__``, so that no float is taken for one.
"""

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

from llvmlite import binding, ir
from numba import types

_I64, _I32, _F64 = ir.IntType(64), ir.IntType(32), ir.DoubleType()
_FASTCALL = 0x80  # METH_FASTCALL of Python's C interface
_RETURNED = (
    types.int64,
    types.boolean,
    types.none,
)  # what fits the word of zeros that a result is written to


class Shape(NamedTuple):
    """What wrappers differ in: how many arguments, which of them are floats, whether the GIL is released."""

    arguments: int
    floats: tuple[int, ...]
    releases_gil: bool

    @property
    def name(self) -> str:
        """Name of the wrapper in LLVM's module."""
        return "call_" + "_".join(map(str, (self.arguments, *self.floats, "g" if self.releases_gil else "")))


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
_definitions: list[_MethodDef] = []  # Python refers to them
_addresses: dict[Shape, int] = {}
expected: set[Shape] = set()  # shapes of all entry points: their wrappers are made together


def fast_call(compiled: Any, shape: Shape) -> Callable[..., int]:
    """A Python function around what Numba has compiled; Numba's own where something else is returned, an array."""
    if compiled.signature.return_type not in _RETURNED:
        return compiled.entry_point
    if shape not in _addresses:
        _compile((expected | {shape}) - _addresses.keys())
    definition = _MethodDef(compiled.fndesc.qualname.encode(), _addresses[shape], _FASTCALL, None)
    _definitions.append(definition)
    address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    return _new_function(ctypes.addressof(definition), address, None)


def _compile(shapes: set[Shape]) -> None:
    """Compile the wrappers of some shapes, a matter of milliseconds."""
    module = ir.Module("fast_calls")
    module.triple = binding.get_default_triple()
    for shape in shapes:
        _define(module, shape)
    machine = binding.Target.from_default_triple().create_target_machine(opt=1)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(str(module)), machine)
    engine.finalize_object()
    _addresses.update({shape: engine.get_function_address(shape.name) for shape in shapes})
    engine.detach()  # its functions live as long as the process


def _external(module: ir.Module, name: str, result: Any, *arguments: Any) -> Any:
    """A function of Python's C interface."""
    known = module.globals.get(name)
    return known or ir.Function(module, ir.FunctionType(result, arguments), name)


def _define(module: ir.Module, shape: Shape) -> None:
    """Define ``PyObject *wrapper(PyObject *address, PyObject *const *arguments, Py_ssize_t count)``."""
    wrapper = ir.Function(module, ir.FunctionType(_I64, (_I64, _I64, _I64)), shape.name)
    builder = ir.IRBuilder(wrapper.append_basic_block())
    address, arguments, count = wrapper.args
    with builder.if_then(builder.icmp_signed("!=", count, _I64(shape.arguments)), likely=False):
        _raise(builder, TypeError, f"it takes {shape.arguments} arguments")
    place = builder.inttoptr(arguments, _I64.as_pointer())
    objects = [builder.load(builder.gep(place, [_I64(k)])) for k in range(shape.arguments)]
    as_float = _external(module, "PyFloat_AsDouble", _F64, _I64)
    as_integer = _external(module, "PyLong_AsLongLong", _I64, _I64)
    values = [builder.call(as_float if k in shape.floats else as_integer, [o]) for k, o in enumerate(objects)]
    error = builder.call(_external(module, "PyErr_Occurred", _I64), [])
    with builder.if_then(builder.icmp_signed("!=", error, _I64(0)), likely=False):
        builder.ret(_I64(0))
    result = _call(builder, shape, builder.call(as_integer, [address]), values)
    builder.ret(builder.call(_external(module, "PyLong_FromLongLong", _I64, _I64), [result]))


def _call(builder: ir.IRBuilder, shape: Shape, address: Any, values: list[Any]) -> Any:
    """Call a function as Numba's code does: it writes to its first argument, and returns a status."""
    module, place = builder.module, _I64.as_pointer()
    result, exception = builder.alloca(_I64), builder.alloca(_I64)
    builder.store(_I64(0), result)
    kind = ir.FunctionType(_I32, (place, place, *(value.type for value in values)))
    state = builder.call(_external(module, "PyEval_SaveThread", _I64), []) if shape.releases_gil else None
    status = builder.call(builder.inttoptr(address, kind.as_pointer()), [result, exception, *values])
    if state is not None:
        builder.call(_external(module, "PyEval_RestoreThread", ir.VoidType(), _I64), [state])
    with builder.if_then(builder.icmp_signed("!=", status, _I32(0)), likely=False):
        _raise(builder, SystemError, "compiled code has raised an exception")
    return builder.load(result)


def _raise(builder: ir.IRBuilder, exception: type[Exception], message: str) -> None:
    """Return to Python with an exception."""
    module = builder.module
    text = ir.GlobalVariable(
        module, ir.ArrayType(ir.IntType(8), len(message) + 1), module.get_unique_name("text")
    )
    text.initializer = ir.Constant(text.value_type, bytearray(message.encode() + b"\0"))
    text.global_constant, text.linkage = True, "internal"
    set_string = _external(module, "PyErr_SetString", ir.VoidType(), _I64, _I64)
    builder.call(set_string, [_I64(id(exception)), builder.ptrtoint(text, _I64)])
    builder.ret(_I64(0))
