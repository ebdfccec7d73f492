"""LLVM's types, by LLVM's names, for intrinsics."""

from llvmlite import ir

i1, i8, i32, i64 = (ir.IntType(bits) for bits in (1, 8, 32, 64))
f32, f64 = ir.FloatType(), ir.DoubleType()
