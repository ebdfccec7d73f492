"""LLVM's types, by LLVM's names, and instructions that several intrinsics need."""

from typing import Any

from llvmlite import ir
from llvmlite.binding import ffi

i1, i8, i32, i64 = (ir.IntType(bits) for bits in (1, 8, 32, 64))
f32, f64 = ir.FloatType(), ir.DoubleType()


def element_pointer(builder: ir.IRBuilder, address: Any, element: Any, index: Any) -> Any:
    """Emit a pointer to element `index` of those of a type that begin at an address."""
    return builder.gep(builder.inttoptr(address, element.as_pointer()), [index])


def pointer_to(builder: ir.IRBuilder, address: Any, offset: Any, kind: Any) -> Any:
    """Emit a pointer to a value of a type, `offset` bytes after an address."""
    return builder.bitcast(element_pointer(builder, address, i8, offset), kind.as_pointer())


def converted(builder: ir.IRBuilder, number: Any, wanted: Any) -> Any:
    """Convert a number to another type, as Numba does it: bytes and booleans have no sign.

    Numba's own conversions are known to it only once half of its modules are imported.
    """
    given = number.type
    if given == wanted:
        return number
    if isinstance(wanted, ir.LiteralStructType):  # a complex number
        parts = unpacked(builder, number) if isinstance(given, ir.LiteralStructType) else [number, given(0)]
        whole = ir.Constant(wanted, ir.Undefined)
        for k, part in enumerate(parts):
            whole = builder.insert_value(whole, converted(builder, part, wanted.elements[k]), k)
        return whole
    if isinstance(given, ir.IntType):
        return _converted_integer(builder, number, wanted)
    if isinstance(wanted, ir.IntType):
        return (builder.fptoui if wanted == i8 else builder.fptosi)(number, wanted)
    return (builder.fpext if wanted == f64 else builder.fptrunc)(number, wanted)


def _converted_integer(builder: ir.IRBuilder, number: Any, wanted: Any) -> Any:
    has_sign = number.type.width > i8.width
    if wanted == i1:
        return builder.icmp_unsigned("!=", number, number.type(0))
    if not isinstance(wanted, ir.IntType):
        return (builder.sitofp if has_sign else builder.uitofp)(number, wanted)
    if wanted.width < number.type.width:
        return builder.trunc(number, wanted)
    return (builder.sext if has_sign else builder.zext)(number, wanted)


def called(builder: ir.IRBuilder, name: str, arguments: Any, result: Any) -> Any:
    """Emit a call of a function by its name, and declare it if need be."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    return builder.call(function, arguments)


def called_at(builder: ir.IRBuilder, address: Any, arguments: Any, result: Any = i64) -> Any:
    """Emit a call of the C function at an address."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(builder.inttoptr(address, kind.as_pointer()), arguments)


def unpacked(builder: ir.IRBuilder, packed: Any) -> list[Any]:
    """Return the items of a tuple."""
    return [builder.extract_value(packed, k) for k in range(len(packed.type))]


def unlocked(name: str) -> Any:
    """Return a function of llvmlite's library without its lock, which would let one thread compile at a time.

    LLVM asks for no lock where threads work on modules of different contexts.
    """
    function = getattr(ffi.lib, name)
    return getattr(function, "_cfn", function)
