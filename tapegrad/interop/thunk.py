"""C functions that call a compiled function: a few instructions by llvmlite for each signature, made in milliseconds.

With user data, which is the handle's address, one function serves all compiled functions with arguments of the same
kinds. Without, each handle has a function of its own that knows its address. They are never freed.
"""

import ctypes
import functools
import math
from typing import Any

from llvmlite import binding, ir

from tapegrad.engine.codegen.machine.lock import compiling
from tapegrad.engine.codegen.machine.machine import compile_plain, load_apart
from tapegrad.engine.kernels.language.status import NOT_FINITE_RESULT
from tapegrad.engine.sweep.replays.handle_fields import FINITE_ENTRY, NAN_ENTRY, SIZES
from tapegrad.interop.assignment import Assignment
from tapegrad.interop.signatures import INPUT_SIZE, RESULT_SIZE, USER, CSignature, Parameter

_I64, _I32, _I8 = ir.IntType(64), ir.IntType(32), ir.IntType(8)
_REALS = {"double": ir.DoubleType(), "float": ir.FloatType()}
_TYPES: dict[str, Any] = {
    **_REALS, "void": ir.VoidType(), "int": _I32, "unsigned": _I32, "unsigned int": _I32, "int32_t": _I32,
    "long": ir.IntType(8 * ctypes.sizeof(ctypes.c_long)), "bool": _I8, "size_t": _I64, "int64_t": _I64,
}  # fmt: skip
_UNSIGNED = {"unsigned", "unsigned int", "size_t"}
RECOVERABLE, FATAL = (
    1,
    -1,
)  # what is returned as int for results that are not finite, and where there are none


class _Thunk:
    """Builder of one function.

    Parameters
    ----------
    signature, assignment
        What it is called with, and what that is to the compiled function.
    inputs, count
        Inputs of the compiled function, and all arguments.
    handle
        Address of its handle; 0 if it is given as user data.
    """

    def __init__(
        self, signature: CSignature, assignment: Assignment, inputs: int, count: int, handle: int
    ) -> None:
        self._signature, self._assignment = signature, assignment
        self._inputs, self._count = inputs, count
        self.module = ir.Module("thunk")
        self.module.triple = binding.get_default_triple()
        types = [_I64 if each.is_pointer else _TYPES[each.kind] for each in signature.parameters]
        kind = ir.FunctionType(_TYPES[signature.returned], types)
        self._function = ir.Function(self.module, kind, "thunk")
        if signature.returned == "bool":
            self._function.return_value.add_attribute("zeroext")
        self._builder = ir.IRBuilder(self._function.append_basic_block())
        self._handle = self._user_data() if handle == 0 else _I64(handle)
        self._fill()

    def _user_data(self) -> Any:
        values = zip(self._signature.parameters, self._function.args, strict=True)
        return next(value for parameter, value in values if parameter.role == USER)

    def _load(self, address: Any, index: int) -> Any:
        pointer = self._builder.inttoptr(address, _I64.as_pointer())
        return self._builder.load(self._builder.gep(pointer, [_I64(index)]))

    def _fill(self) -> None:
        builder = self._builder
        self._check_pointer(self._handle)
        for parameter, value, k in self._parameters():
            if parameter.is_pointer and (
                parameter.role in (INPUT_SIZE, RESULT_SIZE) or 0 <= k < self._inputs
            ):
                self._check_pointer(value)
            if parameter.role in (INPUT_SIZE, RESULT_SIZE):
                self._check_size(parameter, value, k)
        arguments = builder.alloca(ir.ArrayType(_I64, max(self._count, 1)))
        room = builder.alloca(_I64)
        builder.store(ir.Constant(arguments.type.pointee, None), arguments)
        for parameter, value, k in self._parameters():
            if k >= 0 and parameter.role not in (INPUT_SIZE, RESULT_SIZE):
                self._put(arguments, k, value if parameter.is_pointer else self._on_stack(value))
        if self._assignment.returned >= 0:
            self._put(arguments, self._assignment.returned, builder.ptrtoint(room, _I64))
        self._return(self._call(builder.ptrtoint(arguments, _I64)), room)

    def _parameters(self) -> Any:
        return zip(self._signature.parameters, self._function.args, self._assignment.arguments, strict=True)

    def _check_pointer(self, value: Any) -> None:
        """Fail if a null pointer is given for memory that is read."""
        with self._builder.if_then(self._builder.icmp_signed("==", value, _I64(0)), likely=False):
            self._fail()

    def _check_size(self, parameter: Parameter, value: Any, k: int) -> None:
        """Fail unless a number of elements is that of an argument."""
        builder, plain = self._builder, _TYPES[parameter.kind]
        if parameter.is_pointer:
            value = builder.load(builder.inttoptr(value, plain.as_pointer()))
        if plain != _I64:
            value = builder.zext(value, _I64) if parameter.kind in _UNSIGNED else builder.sext(value, _I64)
        expected = self._load(self._load(self._handle, SIZES), k)
        with builder.if_then(builder.icmp_signed("!=", value, expected), likely=False):
            self._fail()

    def _on_stack(self, value: Any) -> Any:
        pointer = self._builder.alloca(value.type)
        self._builder.store(value, pointer)
        return self._builder.ptrtoint(pointer, _I64)

    def _put(self, arguments: Any, k: int, value: Any) -> None:
        self._builder.store(value, self._builder.gep(arguments, [_I32(0), _I32(k)]))

    def _call(self, arguments: Any) -> Any:
        number = FINITE_ENTRY if self._signature.returned in ("int", "bool") else NAN_ENTRY
        kind = ir.FunctionType(_I64, [_I64, _I64]).as_pointer()
        entry = self._builder.inttoptr(self._load(self._handle, number), kind)
        return self._builder.call(entry, [self._handle, arguments])

    def _fail(self) -> None:
        """Return what stands for no result."""
        returned = self._signature.returned
        if returned == "void":
            self._builder.ret_void()
        else:
            value = {"int": FATAL, "bool": 0}.get(returned, math.nan)
            self._builder.ret(ir.Constant(_TYPES[returned], value))

    def _return(self, status: Any, room: Any) -> None:
        """Return the result, or what the status is in the caller's terms."""
        builder, returned = self._builder, self._signature.returned
        failed = builder.icmp_signed("!=", status, _I64(0))
        if returned == "void":
            builder.ret_void()
        elif returned == "bool":
            builder.ret(builder.select(failed, _I8(0), _I8(1)))
        elif returned == "int":
            recoverable = builder.icmp_signed("==", status, _I64(NOT_FINITE_RESULT))
            fault = builder.select(recoverable, _I32(RECOVERABLE), _I32(FATAL))
            builder.ret(builder.select(failed, fault, _I32(0)))
        else:
            plain = _REALS[returned]
            value = builder.load(builder.bitcast(room, plain.as_pointer()))
            builder.ret(builder.select(failed, ir.Constant(plain, math.nan), value))


@functools.cache
def address_of(signature: CSignature, assignment: Assignment, inputs: int, count: int, handle: int) -> int:
    """Address of the function of a signature; it is made once."""
    module = _Thunk(signature, assignment, inputs, count, handle).module
    with compiling:
        (address,) = load_apart(compile_plain(str(module)), "thunk")  # for as long as the process lives
    return address
