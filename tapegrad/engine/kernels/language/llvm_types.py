"""LLVM's types, by LLVM's names, and instructions that several intrinsics need."""

from typing import Any

from llvmlite import ir

i1, i8, i32, i64 = (ir.IntType(bits) for bits in (1, 8, 32, 64))
f32, f64 = ir.FloatType(), ir.DoubleType()


def declared(module: ir.Module, kind: ir.FunctionType, name: str) -> ir.Function:
    """Return a function of a module, declared if it is not known yet."""
    return module.globals.get(name) or ir.Function(module, kind, name)


def unpacked(builder: ir.IRBuilder, packed: Any) -> list[Any]:
    """Return the items of a tuple."""
    return [builder.extract_value(packed, k) for k in range(len(packed.type))]
