"""Scalar functions of elementwise kernels that are compiled in line and vectorise, as Numba intrinsics.

They keep the element type (Numba's own would widen float32 here and there) and have no branches.
"""

import math
from typing import Any

from numba import types
from numba.extending import intrinsic


def _unary(name: str) -> Any:
    """An intrinsic for LLVM's function `name` of one floating-point number."""

    @intrinsic
    def function(typingctx, x):
        def codegen(context, builder, signature, args):
            return builder.call(builder.module.declare_intrinsic(name, [args[0].type]), args)

        return x(x), codegen

    return function


absolute = _unary("llvm.fabs")
sqrt = _unary("llvm.sqrt")


@intrinsic
def square(typingctx, x):
    """`x` times `x`."""

    def codegen(context, builder, signature, args):
        return builder.fmul(args[0], args[0])

    return x(x), codegen


@intrinsic
def sign(typingctx, x):
    """1, -1 or 0, or nan."""

    def codegen(context, builder, signature, args):
        zero, one, minus_one = (args[0].type(value) for value in (0.0, 1.0, -1.0))
        positive = builder.fcmp_ordered(">", args[0], zero)
        negative = builder.fcmp_ordered("<", args[0], zero)
        missing = builder.fcmp_unordered("uno", args[0], args[0])
        rest = builder.select(missing, args[0], zero)
        return builder.select(positive, one, builder.select(negative, minus_one, rest))

    return x(x), codegen


@intrinsic
def where(typingctx, condition, x, y):
    """`x` if `condition` else `y`, both evaluated."""
    if not isinstance(condition, types.Boolean) or x != y:
        return None

    def codegen(context, builder, signature, args):
        return builder.select(*args)

    return x(condition, x, x), codegen


@intrinsic
def masked_multiply(typingctx, x, y):
    """`x` times `y`; zero times anything, inf and nan too, is zero."""
    if x != y:
        return None

    def codegen(context, builder, signature, args):
        zero = args[0].type(0.0)
        neither = builder.and_(*[builder.fcmp_unordered("!=", factor, zero) for factor in args])
        return builder.select(neither, builder.fmul(*args), zero)

    return x(x, x), codegen


@intrinsic
def masked_divide(typingctx, x, y):
    """`x` by `y`, which is `x` times the partial ``1/y``: zero where that is zero, and where `x` is."""
    if x != y:
        return None

    def codegen(context, builder, signature, args):
        zero, infinity = args[0].type(0.0), args[0].type(math.inf)
        size = builder.call(builder.module.declare_intrinsic("llvm.fabs", [args[1].type]), args[1:])
        finite = builder.fcmp_unordered("!=", size, infinity)
        neither = builder.and_(builder.fcmp_unordered("!=", args[0], zero), finite)
        return builder.select(neither, builder.fdiv(*args), zero)

    return x(x, x), codegen


def _extremum(ordered: str, yields: int) -> Any:
    """An intrinsic: the first operand if it is `ordered` to the second or operand `yields` is NaN."""

    @intrinsic
    def extremum(typingctx, x, y):
        if x != y:
            return None

        def codegen(context, builder, signature, args):
            first = builder.fcmp_ordered(ordered, *args)
            missing = builder.fcmp_unordered("uno", args[yields], args[yields])
            return builder.select(builder.or_(first, missing), *args)

        return x(x, x), codegen

    return extremum


maximum = _extremum(">=", 0)
minimum = _extremum("<=", 0)
fmax = _extremum(">=", 1)
fmin = _extremum("<=", 1)
