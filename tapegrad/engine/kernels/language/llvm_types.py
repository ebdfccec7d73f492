"""LLVM's types, by LLVM's names, and instructions that several intrinsics need."""

from typing import Any

from llvmlite import ir

i1, i8, i32, i64 = (ir.IntType(bits) for bits in (1, 8, 32, 64))
f32, f64 = ir.FloatType(), ir.DoubleType()


def element_pointer(builder: ir.IRBuilder, address: Any, element: Any, index: Any) -> Any:
    """Emit a pointer to element `index` of those of a type that begin at an address."""
    return builder.gep(builder.inttoptr(address, element.as_pointer()), [index])


def pointer_to(builder: ir.IRBuilder, address: Any, offset: Any, kind: Any) -> Any:
    """Emit a pointer to a value of a type, `offset` bytes after an address."""
    return builder.bitcast(element_pointer(builder, address, i8, offset), kind.as_pointer())


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
