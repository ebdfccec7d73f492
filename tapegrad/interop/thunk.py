"""C functions that call a compiled function: a few instructions for each signature, made in milliseconds.

With user data, which is the handle's address, one function serves all compiled functions with arguments of the same
kinds. Without, each handle has a function of its own that knows its address. They are never freed.
"""

import ctypes
import functools
import itertools
import math

from tapegrad.engine.codegen.ir.body import Value
from tapegrad.engine.codegen.ir.c_code import CCode
from tapegrad.engine.codegen.ir.target import host
from tapegrad.engine.codegen.ir.types import I64, Type
from tapegrad.engine.codegen.machine import machine
from tapegrad.engine.codegen.machine.lock import compiling
from tapegrad.engine.kernels.language.status import (
    FIRST_OF_MATRICES,
    LAST_OF_MATRICES,
    NOT_FINITE_RESULT,
)
from tapegrad.engine.sweep.replays.handle_fields import FINITE_ENTRY, NAN_ENTRY, SIZES
from tapegrad.interop.assignment import Assignment
from tapegrad.interop.signatures import INPUT_SIZE, RESULT_SIZE, USER, CSignature, Parameter

_I32, _I8 = Type("i32"), Type("i8")
_TYPES = {
    "double": Type("double"), "float": Type("float"), "int": _I32, "unsigned": _I32, "unsigned int": _I32,
    "int32_t": _I32, "long": Type(f"i{8 * ctypes.sizeof(ctypes.c_long)}"), "bool": _I8, "size_t": I64, "int64_t": I64,
}  # fmt: skip
_RETURNED = {"void": "void", "bool": "zeroext i8"}
_UNSIGNED = {"unsigned", "unsigned int", "size_t"}
# Returned as int: RECOVERABLE if other inputs may have results, as after a matrix that is not positive definite; FATAL
# after an error of the program, such as a branch that was not recorded. nutpie (0.16.8, `ErrorCode::is_recoverable`)
# takes what is above 0 as a divergence, and ends all chains for what is below; SUNDIALS reads them alike.
RECOVERABLE, FATAL = 1, -1
_numbers = itertools.count()


class _Thunk:
    """Builder of one function.

    Parameters
    ----------
    symbol
        Its name.
    signature, assignment
        What it is called with, and what that is to the compiled function.
    inputs, count
        Inputs of the compiled function, and all arguments.
    handle
        Address of its handle; 0 if it is given as user data.
    """

    def __init__(
        self, symbol: str, signature: CSignature, assignment: Assignment, inputs: int, count: int, handle: int
    ) -> None:
        self._returned, self._assignment = signature.returned, assignment
        self._takes_nan = signature.takes_nan
        self._inputs, self._count = inputs, count
        types = [I64 if each.is_pointer else _TYPES[each.kind] for each in signature.parameters]
        self.code = CCode(f"@{symbol}", types, _RETURNED.get(self._returned) or str(_TYPES[self._returned]))
        self._given = list(zip(signature.parameters, self.code.arguments, assignment.arguments, strict=True))
        self._handle = self._user_data() if handle == 0 else self.code.field(handle)
        self._fill()

    def _user_data(self) -> Value:
        return next(value for parameter, value, _ in self._given if parameter.role == USER)

    def _fill(self) -> None:
        code = self.code
        self._check_pointer(self._handle)
        for parameter, value, k in self._given:
            if parameter.is_pointer and (
                parameter.role in (INPUT_SIZE, RESULT_SIZE) or 0 <= k < self._inputs
            ):
                self._check_pointer(value)
            if parameter.role in (INPUT_SIZE, RESULT_SIZE):
                self._check_size(parameter, value, k)
        arguments, room = code.room(max(self._count, 1)), code.room(1)
        for k in range(self._count):
            code.store(0, arguments, k)
        for parameter, value, k in self._given:
            if k >= 0 and parameter.role not in (INPUT_SIZE, RESULT_SIZE):
                code.store(value if parameter.is_pointer else self._on_stack(value), arguments, k)
        if self._assignment.returned >= 0:
            code.store(room, arguments, self._assignment.returned)
        is_checked = self._returned in ("int", "bool") and not self._takes_nan
        number = FINITE_ENTRY if is_checked else NAN_ENTRY
        self._return(code.call_at(code.load(self._handle, number), self._handle, arguments), room)

    def _check_pointer(self, value: Value) -> None:
        """Fail if a null pointer is given for memory that is read."""
        with self.code.where_null(value):
            self._fail()

    def _check_size(self, parameter: Parameter, value: Value, k: int) -> None:
        """Fail unless a number of elements is that of an argument."""
        code = self.code
        if parameter.is_pointer:
            value = code.load(value, 0, _TYPES[parameter.kind])
        value = code.body.convert("zext" if parameter.kind in _UNSIGNED else "sext", value, "i64")
        with code.where(value.unequal(code.load(code.load(self._handle, SIZES), k))):
            self._fail()

    def _on_stack(self, value: Value) -> Value:
        room = self.code.room(1)
        self.code.store(value, room)
        return room

    def _fail(self) -> None:
        """Return what stands for no result."""
        if self._returned == "void":
            self.code.ret(None)
        else:
            self.code.ret(self._constant({"int": FATAL, "bool": 0}.get(self._returned, math.nan)))

    def _constant(self, number: float) -> Value:
        return self.code.body.constant(_TYPES[self._returned], number)

    def _return(self, status: Value, room: Value) -> None:
        """Return the result, or what the status is in the caller's terms."""
        either, failed = self.code.body.either, status.unequal(0)
        if self._returned == "void":
            self.code.ret(None)
        elif self._returned == "bool":
            self.code.ret(either(failed, self._constant(0), self._constant(1)))
        elif self._returned == "int":
            recoverable = self._constant(0 if self._takes_nan else RECOVERABLE)
            fault = either(_is_recoverable(status), recoverable, self._constant(FATAL))
            self.code.ret(either(failed, fault, self._constant(0)))
        else:
            value = self.code.load(room, 0, _TYPES[self._returned])
            self.code.ret(either(failed, self._constant(math.nan), value))


def _is_recoverable(status: Value) -> Value:
    """Emit whether a status is due to the values of the inputs."""
    of_matrices = (status >= FIRST_OF_MATRICES) & (status <= LAST_OF_MATRICES)
    return of_matrices | status.equal(NOT_FINITE_RESULT)


@functools.cache
def address_of(signature: CSignature, assignment: Assignment, inputs: int, count: int, handle: int) -> int:
    """Address of the function of a signature; it is made once."""
    symbol = f"tapegrad.thunk.{next(_numbers)}"
    code = _Thunk(symbol, signature, assignment, inputs, count, handle).code
    text = machine.module_text([code.body])
    with compiling:
        (address,) = machine.load(
            machine.compile_source(machine.ModuleSource(text), host()), symbol
        )  # for as long as the process lives
    return address
