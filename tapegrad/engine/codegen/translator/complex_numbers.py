"""Arithmetic of complex numbers in plain functions, part by part, as Numba has it."""

import ast
from typing import Any

from llvmlite import ir

from tapegrad.engine.codegen.translator.values import NotPlainError, of_parts, parts_of


def operate_on_complex(builder: ir.IRBuilder, op: Any, one: Any, other: Any) -> Any:
    """Emit an operation on two complex numbers of one type."""
    (a, b), (c, d) = parts_of(builder, one), parts_of(builder, other)
    if op is ast.Add:
        return of_parts(builder, builder.fadd(a, c), builder.fadd(b, d))
    if op is ast.Sub:
        return of_parts(builder, builder.fsub(a, c), builder.fsub(b, d))
    if op is ast.Mult:
        real = builder.fsub(builder.fmul(a, c), builder.fmul(b, d))
        return of_parts(builder, real, builder.fadd(builder.fmul(a, d), builder.fmul(b, c)))
    if op is ast.Div:
        return _quotient(builder, (a, b), (c, d))
    raise NotPlainError(f"{op.__name__} of complex numbers")


def _quotient(builder: ir.IRBuilder, above: tuple[Any, Any], below: tuple[Any, Any]) -> Any:
    """Emit a quotient by Smith's method: both parts of the divisor are divided by the larger one."""
    (a, b), (c, d) = above, below
    size_c, size_d = (absolute(builder, part) for part in below)
    by_real = builder.fcmp_ordered(">=", size_c, size_d)
    larger, smaller = builder.select(by_real, c, d), builder.select(by_real, d, c)
    first, second = builder.select(by_real, a, b), builder.select(by_real, b, a)
    ratio = builder.fdiv(smaller, larger)
    scale = builder.fadd(larger, builder.fmul(smaller, ratio))
    real = builder.fdiv(builder.fadd(first, builder.fmul(second, ratio)), scale)
    rest = builder.fsub(second, builder.fmul(first, ratio))
    imag = builder.fdiv(builder.select(by_real, rest, builder.fneg(rest)), scale)
    return of_parts(builder, real, imag)


def absolute(builder: ir.IRBuilder, number: Any) -> Any:
    """Emit the absolute value of a float."""
    return builder.call(builder.module.declare_intrinsic("llvm.fabs", [number.type]), [number])


def compare_complex(builder: ir.IRBuilder, sign: str, one: Any, other: Any) -> Any:
    """Emit whether two complex numbers are equal, or differ."""
    pairs = list(zip(parts_of(builder, one), parts_of(builder, other), strict=True))
    if sign == "==":
        return builder.and_(*(builder.fcmp_ordered("==", *pair) for pair in pairs))
    if sign == "!=":
        return builder.or_(*(builder.fcmp_unordered("!=", *pair) for pair in pairs))
    raise NotPlainError("the order of complex numbers")
