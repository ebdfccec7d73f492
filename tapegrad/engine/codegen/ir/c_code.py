"""Code of a C function: fields of structs in memory, calls by name and by address, loops, and returns wherever it ends.

Most of its values are fields: integers of 64 bits, addresses among them, with Python's operators (see `body`).
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager

from tapegrad.engine.codegen.ir.body import Body, Operand, Value
from tapegrad.engine.codegen.ir.memory import POINTER, element_at, load, store
from tapegrad.engine.codegen.ir.target import host
from tapegrad.engine.codegen.ir.types import I64, Type


class CCode:
    """A C function under construction.

    Parameters
    ----------
    symbol
        Its name, as LLVM writes it.
    arguments
        The types of its arguments.
    result
        The type of its result, as LLVM writes it.
    linkage
        LLVM's keyword for who can call it: ``internal`` for functions of its module alone.
    """

    def __init__(
        self, symbol: str, arguments: Sequence[Type], result: str = "i64", linkage: str = ""
    ) -> None:
        named = [f"{type_} %a{k}" for k, type_ in enumerate(arguments)]
        self.body = Body(host(), f"define {linkage} {result} {symbol}({', '.join(named)})")
        self.arguments = [self.body.named(type_, f"%a{k}") for k, type_ in enumerate(arguments)]

    def field(self, value: Operand) -> Value:
        """Return an integer as a constant; a value as it is."""
        return value if isinstance(value, Value) else self.body.constant(I64, value)

    # --- memory ----------------------------------------------------------------------------------------------------

    def load(self, address: Value, k: Operand = 0, type_: Type = I64) -> Value:
        """Load field number `k` behind an address; fields have the size of their type."""
        return load(self._pointer(address, k, type_), type_)

    def store(self, value: Operand, address: Value, k: Operand = 0) -> None:
        """Write field number `k` behind an address."""
        value = self.field(value)
        store(value, self._pointer(address, k, value.type))

    def room(self, count: Operand) -> Value:
        """Allocate so many fields, which live as long as the call; return their address."""
        if isinstance(count, Value):
            slot = self.body.load(POINTER, f"alloca i64, {count}, align 8")
        else:
            slot = self.body.on_stack(f"[{count} x i64]", 8)
        return self.address_of(slot)

    def address_of(self, pointer: Value) -> Value:
        """Return a pointer as a field."""
        return self.body.convert("ptrtoint", pointer, "i64")

    def _pointer(self, address: Value, k: Operand, type_: Type) -> Value:
        return element_at(self.body.convert("inttoptr", address, "ptr"), type_, self.field(k))

    # --- blocks ----------------------------------------------------------------------------------------------------

    def where(self, condition: Value) -> AbstractContextManager[None]:
        """Emit a conditional block that is rarely run; it may end in a return."""
        return self.body.when(condition, rarely=True)

    def where_null(self, value: Value) -> AbstractContextManager[None]:
        return self.where(value.equal(0))

    def for_each(self, count: Value) -> AbstractContextManager[Value]:
        """Emit a loop; its variable is a number from 0 up to `count`."""
        return self.body.loop(self.field(0), count, 1)

    def ret(self, value: Operand | None) -> None:
        """Return a value, a field, or nothing."""
        self.body.ret("void" if value is None else self.field(value))

    # --- calls -----------------------------------------------------------------------------------------------------

    def call_by_name(self, symbol: str, *values: Operand, result: str = "i64") -> Value:
        """Call a function of any module by its name, as LLVM writes it; the value of ``void`` is not to be used."""
        return self._called(result, self.body.call(result, symbol, [self.field(value) for value in values]))

    def call_at(self, address: Value, *values: Operand, result: str = "i64") -> Value:
        """Call a function by its address."""
        given = ", ".join(str(self.field(value)) for value in values)
        slot = self.body.convert("inttoptr", address, "ptr")
        return self._called(result, f"call {result} {slot.text}({given})")

    def _called(self, result: str, text: str) -> Value:
        if result == "void":
            self.body.do(text)
            return self.field(0)
        return self.body.load(Type(result), text)
