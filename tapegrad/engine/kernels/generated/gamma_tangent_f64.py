"""Elementwise kernels in f64: gamma, tangent.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

from tapegrad.engine.kernels.arithmetic import masked_multiply, square, where
from tapegrad.engine.kernels.blocks import BLOCK, Block, call_library, operand_f64, whole_f64
from tapegrad.engine.kernels.frame import COUNT, X_BAR, Y_BAR
from tapegrad.engine.kernels.library import entry
from tapegrad.engine.kernels.raw_memory import load_f64, load_i64, stack_words, store_f64
from tapegrad.engine.kernels.tangents import (
    ABSENT,
    apply_partials,
    tangent_block,
    tangent_count,
    tangent_finish,
    tangent_target,
    write_zeros,
)

COS = entry("cos", "d")
DIGAMMA = entry("digamma", "d")
GAMMA = entry("gamma", "d")
LOG1P = entry("log1p", "d")
RINT = entry("rint", "d")
SIN = entry("sin", "d")
ZETA = entry("zeta", "d")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "lgamma_tangent_f64": ("digamma", "positive"),
    "digamma_tangent_f64": ("positive", "rint", "sin", "zeta"),
    "zeta_tangent_f64": ("positive", "zeta"),
    "riemann_zeta_tangent_f64": (),
    "gamma_tangent_f64": ("digamma", "positive"),
    "rgamma_tangent_f64": ("cos", "digamma", "gamma", "positive", "sin"),
    "gammasgn_tangent_f64": (),
    "poch_tangent_f64": ("digamma", "log1p", "positive"),
    "beta_tangent_f64": ("digamma", "log1p", "positive"),
    "betaln_tangent_f64": ("digamma", "log1p", "positive"),
    "lgamma_half_step_tangent_f64": ("digamma", "positive"),
}


def lgamma_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (digamma(x0)) * x0_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1536)
    x0_dot = load_i64(frame, X_BAR + 0)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0:
        write_zeros(frame, 0.0)
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f64(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t2 = scratch + 2048
                call_library(loops, DIGAMMA, n, (x0, 8, t2, 8))
                p0 = t2
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 4096, 0.0)
        elif x0_dot != 0:
            t2 = scratch + 2048
            call_library(loops, DIGAMMA, n, (x0, 8, t2, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 4096, 0.0)
            target = tangent_target(block, y_dot, scratch + 6144, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t2_i = load_f64(t2, i)
                value = masked_multiply(t2_i, d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, 0.0)
        start += n
    return 0


def digamma_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (where(x0 < 0, square(pi / sin(pi * where(x0 < 0, x0 - rint(x0), 0.5))), 0) + where(x0 < 0,
    -1, 1) * zeta(2, where(x0 < 0, 1 - x0, x0))) * x0_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(2560)
    x0_dot = load_i64(frame, X_BAR + 0)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0:
        write_zeros(frame, 0.0)
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f64(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t2 = scratch + 2048
                call_library(loops, RINT, n, (x0, 8, t2, 8))
                t3 = scratch + 4096
                for i in range(n):
                    t2_i = load_f64(t2, i)
                    x0_i = load_f64(x0, i)
                    value = 3.141592653589793 * where(x0_i < 0.0, x0_i - t2_i, 0.5)
                    store_f64(t3, i, value)
                call_library(loops, SIN, n, (t3, 8, t3, 8))
                t4 = scratch + 6144
                for i in range(n):
                    value = 2.0
                    store_f64(t4, i, value)
                t5 = scratch + 8192
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    value = where(x0_i < 0.0, 1.0 - x0_i, x0_i)
                    store_f64(t5, i, value)
                call_library(loops, ZETA, n, (t4, 8, t5, 8, t4, 8))
                partial = scratch + 10240
                for i in range(n):
                    t3_i = load_f64(t3, i)
                    t4_i = load_f64(t4, i)
                    x0_i = load_f64(x0, i)
                    value = (
                        where(x0_i < 0.0, square(3.141592653589793 / t3_i), 0.0) + (where(x0_i < 0.0,
                        -1.0, 1.0) * t4_i)
                    )
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 12288, 0.0)
        elif x0_dot != 0:
            t2 = scratch + 2048
            call_library(loops, RINT, n, (x0, 8, t2, 8))
            t3 = scratch + 4096
            for i in range(n):
                t2_i = load_f64(t2, i)
                x0_i = load_f64(x0, i)
                value = 3.141592653589793 * where(x0_i < 0.0, x0_i - t2_i, 0.5)
                store_f64(t3, i, value)
            call_library(loops, SIN, n, (t3, 8, t3, 8))
            t4 = scratch + 6144
            for i in range(n):
                value = 2.0
                store_f64(t4, i, value)
            t5 = scratch + 8192
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = where(x0_i < 0.0, 1.0 - x0_i, x0_i)
                store_f64(t5, i, value)
            call_library(loops, ZETA, n, (t4, 8, t5, 8, t4, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 10240, 0.0)
            target = tangent_target(block, y_dot, scratch + 12288, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t3_i = load_f64(t3, i)
                t4_i = load_f64(t4, i)
                x0_i = load_f64(x0, i)
                value = (
                    masked_multiply(where(x0_i < 0.0, square(3.141592653589793 / t3_i), 0.0) +
                    (where(x0_i < 0.0, -1.0, 1.0) * t4_i), d0_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 12288, 0.0)
        start += n
    return 0


def zeta_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (-x0 * zeta(x0 + 1, x1)) * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(2048)
    x1_dot = load_i64(frame, X_BAR + 1)
    y_dot = load_i64(frame, Y_BAR)
    if x1_dot == 0:
        write_zeros(frame, 0.0)
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f64(frame, 11, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        x1 = operand_f64(block, 1, scratch + 2048)
        if several:
            p0 = ABSENT
            p1 = ABSENT
            if x1_dot != 0:
                t3 = scratch + 4096
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    value = x0_i + 1.0
                    store_f64(t3, i, value)
                call_library(loops, ZETA, n, (t3, 8, x1, 8, t3, 8))
                partial = scratch + 6144
                for i in range(n):
                    t3_i = load_f64(t3, i)
                    x0_i = load_f64(x0, i)
                    value = -x0_i * t3_i
                    store_f64(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 8192, 0.0)
        elif x1_dot != 0:
            t3 = scratch + 4096
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = x0_i + 1.0
                store_f64(t3, i, value)
            call_library(loops, ZETA, n, (t3, 8, x1, 8, t3, 8))
            d1 = tangent_block(block, 1, x1_dot, scratch + 6144, 0.0)
            target = tangent_target(block, y_dot, scratch + 8192, 0.0)
            for i in range(n):
                d1_i = load_f64(d1, i)
                t3_i = load_f64(t3, i)
                x0_i = load_f64(x0, i)
                value = masked_multiply(-x0_i * t3_i, d1_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 8192, 0.0)
        start += n
    return 0


def riemann_zeta_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = ."""
    write_zeros(frame, 0.0)
    return 0


def gamma_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (y * digamma(x0)) * x0_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(2048)
    x0_dot = load_i64(frame, X_BAR + 0)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0:
        write_zeros(frame, 0.0)
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f64(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        y = operand_f64(block, 3, scratch + 2048)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t3 = scratch + 4096
                call_library(loops, DIGAMMA, n, (x0, 8, t3, 8))
                partial = scratch + 6144
                for i in range(n):
                    t3_i = load_f64(t3, i)
                    y_i = load_f64(y, i)
                    value = y_i * t3_i
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 8192, 0.0)
        elif x0_dot != 0:
            t3 = scratch + 4096
            call_library(loops, DIGAMMA, n, (x0, 8, t3, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 6144, 0.0)
            target = tangent_target(block, y_dot, scratch + 8192, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t3_i = load_f64(t3, i)
                y_i = load_f64(y, i)
                value = masked_multiply(y_i * t3_i, d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 8192, 0.0)
        start += n
    return 0


def rgamma_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (where(x0 < 0.5, gamma(1 - x0) * (cos(pi * x0) - sin(pi * x0) * digamma(1 - x0) / pi), -y *
    digamma(x0))) * x0_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(3072)
    x0_dot = load_i64(frame, X_BAR + 0)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0:
        write_zeros(frame, 0.0)
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f64(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        y = operand_f64(block, 3, scratch + 2048)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t3 = scratch + 4096
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    value = 1.0 - x0_i
                    store_f64(t3, i, value)
                call_library(loops, GAMMA, n, (t3, 8, t3, 8))
                t4 = scratch + 6144
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    value = 3.141592653589793 * x0_i
                    store_f64(t4, i, value)
                call_library(loops, COS, n, (t4, 8, t4, 8))
                t5 = scratch + 8192
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    value = 3.141592653589793 * x0_i
                    store_f64(t5, i, value)
                call_library(loops, SIN, n, (t5, 8, t5, 8))
                t6 = scratch + 10240
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    value = 1.0 - x0_i
                    store_f64(t6, i, value)
                call_library(loops, DIGAMMA, n, (t6, 8, t6, 8))
                t7 = scratch + 12288
                call_library(loops, DIGAMMA, n, (x0, 8, t7, 8))
                partial = scratch + 14336
                for i in range(n):
                    t3_i = load_f64(t3, i)
                    t4_i = load_f64(t4, i)
                    t5_i = load_f64(t5, i)
                    t6_i = load_f64(t6, i)
                    t7_i = load_f64(t7, i)
                    x0_i = load_f64(x0, i)
                    y_i = load_f64(y, i)
                    value = (
                        where(x0_i < 0.5, t3_i * (t4_i - ((t5_i * t6_i) / 3.141592653589793)), -y_i *
                        t7_i)
                    )
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 16384, 0.0)
        elif x0_dot != 0:
            t3 = scratch + 4096
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = 1.0 - x0_i
                store_f64(t3, i, value)
            call_library(loops, GAMMA, n, (t3, 8, t3, 8))
            t4 = scratch + 6144
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = 3.141592653589793 * x0_i
                store_f64(t4, i, value)
            call_library(loops, COS, n, (t4, 8, t4, 8))
            t5 = scratch + 8192
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = 3.141592653589793 * x0_i
                store_f64(t5, i, value)
            call_library(loops, SIN, n, (t5, 8, t5, 8))
            t6 = scratch + 10240
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = 1.0 - x0_i
                store_f64(t6, i, value)
            call_library(loops, DIGAMMA, n, (t6, 8, t6, 8))
            t7 = scratch + 12288
            call_library(loops, DIGAMMA, n, (x0, 8, t7, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 14336, 0.0)
            target = tangent_target(block, y_dot, scratch + 16384, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t3_i = load_f64(t3, i)
                t4_i = load_f64(t4, i)
                t5_i = load_f64(t5, i)
                t6_i = load_f64(t6, i)
                t7_i = load_f64(t7, i)
                x0_i = load_f64(x0, i)
                y_i = load_f64(y, i)
                value = (
                    masked_multiply(where(x0_i < 0.5, t3_i * (t4_i - ((t5_i * t6_i) /
                    3.141592653589793)), -y_i * t7_i), d0_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 16384, 0.0)
        start += n
    return 0


def gammasgn_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (0) * x0_dot."""
    write_zeros(frame, 0.0)
    return 0


def poch_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (y * where((x0 > 64) & (x0 + x1 > 64), log1p(x1 / x0) + x1 / x0 / (x0 + x1) * (0.5 + (1 / x0
    + 1 / (x0 + x1)) * (1 / 12 - (square(1 / x0) + square(1 / (x0 + x1))) / 120 + (square(1 / x0) * square(1
    / x0) + square(1 / x0) * square(1 / (x0 + x1)) + square(1 / (x0 + x1)) * square(1 / (x0 + x1))) / 252)),
    digamma(x0 + x1) - digamma(x0))) * x0_dot + (y * digamma(x0 + x1)) * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(3328)
    x0_dot = load_i64(frame, X_BAR + 0)
    x1_dot = load_i64(frame, X_BAR + 1)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0 and x1_dot == 0:
        write_zeros(frame, 0.0)
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f64(frame, 11, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        x1 = operand_f64(block, 1, scratch + 2048)
        y = operand_f64(block, 3, scratch + 4096)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t4 = scratch + 6144
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = x1_i / x0_i
                    store_f64(t4, i, value)
                call_library(loops, LOG1P, n, (t4, 8, t4, 8))
                t5 = scratch + 8192
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = x0_i + x1_i
                    store_f64(t5, i, value)
                call_library(loops, DIGAMMA, n, (t5, 8, t5, 8))
                t6 = scratch + 10240
                call_library(loops, DIGAMMA, n, (x0, 8, t6, 8))
                partial = scratch + 12288
                for i in range(n):
                    t4_i = load_f64(t4, i)
                    t5_i = load_f64(t5, i)
                    t6_i = load_f64(t6, i)
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    y_i = load_f64(y, i)
                    value = (
                        y_i * where((x0_i > 64.0) & ((x0_i + x1_i) > 64.0), t4_i + (((x1_i / x0_i) /
                        (x0_i + x1_i)) * (0.5 + (((1.0 / x0_i) + (1.0 / (x0_i + x1_i))) * (((1.0 / 12.0)
                        - ((square(1.0 / x0_i) + square(1.0 / (x0_i + x1_i))) / 120.0)) + ((((square(1.0
                        / x0_i) * square(1.0 / x0_i)) + (square(1.0 / x0_i) * square(1.0 / (x0_i +
                        x1_i)))) + (square(1.0 / (x0_i + x1_i)) * square(1.0 / (x0_i + x1_i)))) /
                        252.0))))), t5_i - t6_i)
                    )
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            if x1_dot != 0:
                t8 = scratch + 14336
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = x0_i + x1_i
                    store_f64(t8, i, value)
                call_library(loops, DIGAMMA, n, (t8, 8, t8, 8))
                partial = scratch + 16384
                for i in range(n):
                    t8_i = load_f64(t8, i)
                    y_i = load_f64(y, i)
                    value = y_i * t8_i
                    store_f64(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 18432, 0.0)
        elif x0_dot != 0 and x1_dot != 0:
            t4 = scratch + 6144
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x1_i / x0_i
                store_f64(t4, i, value)
            call_library(loops, LOG1P, n, (t4, 8, t4, 8))
            t5 = scratch + 8192
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x0_i + x1_i
                store_f64(t5, i, value)
            call_library(loops, DIGAMMA, n, (t5, 8, t5, 8))
            t6 = scratch + 10240
            call_library(loops, DIGAMMA, n, (x0, 8, t6, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 12288, 0.0)
            d1 = tangent_block(block, 1, x1_dot, scratch + 14336, 0.0)
            target = tangent_target(block, y_dot, scratch + 16384, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                d1_i = load_f64(d1, i)
                t4_i = load_f64(t4, i)
                t5_i = load_f64(t5, i)
                t6_i = load_f64(t6, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                y_i = load_f64(y, i)
                value = (
                    masked_multiply(y_i * where((x0_i > 64.0) & ((x0_i + x1_i) > 64.0), t4_i + (((x1_i /
                    x0_i) / (x0_i + x1_i)) * (0.5 + (((1.0 / x0_i) + (1.0 / (x0_i + x1_i))) * (((1.0 /
                    12.0) - ((square(1.0 / x0_i) + square(1.0 / (x0_i + x1_i))) / 120.0)) +
                    ((((square(1.0 / x0_i) * square(1.0 / x0_i)) + (square(1.0 / x0_i) * square(1.0 /
                    (x0_i + x1_i)))) + (square(1.0 / (x0_i + x1_i)) * square(1.0 / (x0_i + x1_i)))) /
                    252.0))))), t5_i - t6_i), d0_i)
                )
                term1 = masked_multiply(y_i * t5_i, d1_i)
                value += term1
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 16384, 0.0)
        elif x0_dot != 0:
            t4 = scratch + 6144
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x1_i / x0_i
                store_f64(t4, i, value)
            call_library(loops, LOG1P, n, (t4, 8, t4, 8))
            t5 = scratch + 8192
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x0_i + x1_i
                store_f64(t5, i, value)
            call_library(loops, DIGAMMA, n, (t5, 8, t5, 8))
            t6 = scratch + 10240
            call_library(loops, DIGAMMA, n, (x0, 8, t6, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 12288, 0.0)
            target = tangent_target(block, y_dot, scratch + 14336, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t4_i = load_f64(t4, i)
                t5_i = load_f64(t5, i)
                t6_i = load_f64(t6, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                y_i = load_f64(y, i)
                value = (
                    masked_multiply(y_i * where((x0_i > 64.0) & ((x0_i + x1_i) > 64.0), t4_i + (((x1_i /
                    x0_i) / (x0_i + x1_i)) * (0.5 + (((1.0 / x0_i) + (1.0 / (x0_i + x1_i))) * (((1.0 /
                    12.0) - ((square(1.0 / x0_i) + square(1.0 / (x0_i + x1_i))) / 120.0)) +
                    ((((square(1.0 / x0_i) * square(1.0 / x0_i)) + (square(1.0 / x0_i) * square(1.0 /
                    (x0_i + x1_i)))) + (square(1.0 / (x0_i + x1_i)) * square(1.0 / (x0_i + x1_i)))) /
                    252.0))))), t5_i - t6_i), d0_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 14336, 0.0)
        elif x1_dot != 0:
            t4 = scratch + 6144
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x0_i + x1_i
                store_f64(t4, i, value)
            call_library(loops, DIGAMMA, n, (t4, 8, t4, 8))
            d1 = tangent_block(block, 1, x1_dot, scratch + 8192, 0.0)
            target = tangent_target(block, y_dot, scratch + 10240, 0.0)
            for i in range(n):
                d1_i = load_f64(d1, i)
                t4_i = load_f64(t4, i)
                y_i = load_f64(y, i)
                value = masked_multiply(y_i * t4_i, d1_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 10240, 0.0)
        start += n
    return 0


def beta_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (-y * where((x0 > 64) & (x0 + x1 > 64), log1p(x1 / x0) + x1 / x0 / (x0 + x1) * (0.5 + (1 / x0
    + 1 / (x0 + x1)) * (1 / 12 - (square(1 / x0) + square(1 / (x0 + x1))) / 120 + (square(1 / x0) * square(1
    / x0) + square(1 / x0) * square(1 / (x0 + x1)) + square(1 / (x0 + x1)) * square(1 / (x0 + x1))) / 252)),
    digamma(x0 + x1) - digamma(x0))) * x0_dot + (-y * where((x1 > 64) & (x1 + x0 > 64), log1p(x0 / x1) + x0
    / x1 / (x1 + x0) * (0.5 + (1 / x1 + 1 / (x1 + x0)) * (1 / 12 - (square(1 / x1) + square(1 / (x1 + x0)))
    / 120 + (square(1 / x1) * square(1 / x1) + square(1 / x1) * square(1 / (x1 + x0)) + square(1 / (x1 +
    x0)) * square(1 / (x1 + x0))) / 252)), digamma(x1 + x0) - digamma(x1))) * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(3840)
    x0_dot = load_i64(frame, X_BAR + 0)
    x1_dot = load_i64(frame, X_BAR + 1)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0 and x1_dot == 0:
        write_zeros(frame, 0.0)
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f64(frame, 11, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        x1 = operand_f64(block, 1, scratch + 2048)
        y = operand_f64(block, 3, scratch + 4096)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t4 = scratch + 6144
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = x1_i / x0_i
                    store_f64(t4, i, value)
                call_library(loops, LOG1P, n, (t4, 8, t4, 8))
                t5 = scratch + 8192
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = x0_i + x1_i
                    store_f64(t5, i, value)
                call_library(loops, DIGAMMA, n, (t5, 8, t5, 8))
                t6 = scratch + 10240
                call_library(loops, DIGAMMA, n, (x0, 8, t6, 8))
                partial = scratch + 12288
                for i in range(n):
                    t4_i = load_f64(t4, i)
                    t5_i = load_f64(t5, i)
                    t6_i = load_f64(t6, i)
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    y_i = load_f64(y, i)
                    value = (
                        -y_i * where((x0_i > 64.0) & ((x0_i + x1_i) > 64.0), t4_i + (((x1_i / x0_i) /
                        (x0_i + x1_i)) * (0.5 + (((1.0 / x0_i) + (1.0 / (x0_i + x1_i))) * (((1.0 / 12.0)
                        - ((square(1.0 / x0_i) + square(1.0 / (x0_i + x1_i))) / 120.0)) + ((((square(1.0
                        / x0_i) * square(1.0 / x0_i)) + (square(1.0 / x0_i) * square(1.0 / (x0_i +
                        x1_i)))) + (square(1.0 / (x0_i + x1_i)) * square(1.0 / (x0_i + x1_i)))) /
                        252.0))))), t5_i - t6_i)
                    )
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            if x1_dot != 0:
                t8 = scratch + 14336
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = x0_i / x1_i
                    store_f64(t8, i, value)
                call_library(loops, LOG1P, n, (t8, 8, t8, 8))
                t9 = scratch + 16384
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = x1_i + x0_i
                    store_f64(t9, i, value)
                call_library(loops, DIGAMMA, n, (t9, 8, t9, 8))
                t10 = scratch + 18432
                call_library(loops, DIGAMMA, n, (x1, 8, t10, 8))
                partial = scratch + 20480
                for i in range(n):
                    t10_i = load_f64(t10, i)
                    t8_i = load_f64(t8, i)
                    t9_i = load_f64(t9, i)
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    y_i = load_f64(y, i)
                    value = (
                        -y_i * where((x1_i > 64.0) & ((x1_i + x0_i) > 64.0), t8_i + (((x0_i / x1_i) /
                        (x1_i + x0_i)) * (0.5 + (((1.0 / x1_i) + (1.0 / (x1_i + x0_i))) * (((1.0 / 12.0)
                        - ((square(1.0 / x1_i) + square(1.0 / (x1_i + x0_i))) / 120.0)) + ((((square(1.0
                        / x1_i) * square(1.0 / x1_i)) + (square(1.0 / x1_i) * square(1.0 / (x1_i +
                        x0_i)))) + (square(1.0 / (x1_i + x0_i)) * square(1.0 / (x1_i + x0_i)))) /
                        252.0))))), t9_i - t10_i)
                    )
                    store_f64(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 22528, 0.0)
        elif x0_dot != 0 and x1_dot != 0:
            t4 = scratch + 6144
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x1_i / x0_i
                store_f64(t4, i, value)
            call_library(loops, LOG1P, n, (t4, 8, t4, 8))
            t5 = scratch + 8192
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x0_i + x1_i
                store_f64(t5, i, value)
            call_library(loops, DIGAMMA, n, (t5, 8, t5, 8))
            t6 = scratch + 10240
            call_library(loops, DIGAMMA, n, (x0, 8, t6, 8))
            t7 = scratch + 12288
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x0_i / x1_i
                store_f64(t7, i, value)
            call_library(loops, LOG1P, n, (t7, 8, t7, 8))
            t8 = scratch + 14336
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x1_i + x0_i
                store_f64(t8, i, value)
            call_library(loops, DIGAMMA, n, (t8, 8, t8, 8))
            t9 = scratch + 16384
            call_library(loops, DIGAMMA, n, (x1, 8, t9, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 18432, 0.0)
            d1 = tangent_block(block, 1, x1_dot, scratch + 20480, 0.0)
            target = tangent_target(block, y_dot, scratch + 22528, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                d1_i = load_f64(d1, i)
                t4_i = load_f64(t4, i)
                t5_i = load_f64(t5, i)
                t6_i = load_f64(t6, i)
                t7_i = load_f64(t7, i)
                t8_i = load_f64(t8, i)
                t9_i = load_f64(t9, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                y_i = load_f64(y, i)
                value = (
                    masked_multiply(-y_i * where((x0_i > 64.0) & ((x0_i + x1_i) > 64.0), t4_i + (((x1_i
                    / x0_i) / (x0_i + x1_i)) * (0.5 + (((1.0 / x0_i) + (1.0 / (x0_i + x1_i))) * (((1.0 /
                    12.0) - ((square(1.0 / x0_i) + square(1.0 / (x0_i + x1_i))) / 120.0)) +
                    ((((square(1.0 / x0_i) * square(1.0 / x0_i)) + (square(1.0 / x0_i) * square(1.0 /
                    (x0_i + x1_i)))) + (square(1.0 / (x0_i + x1_i)) * square(1.0 / (x0_i + x1_i)))) /
                    252.0))))), t5_i - t6_i), d0_i)
                )
                term1 = (
                    masked_multiply(-y_i * where((x1_i > 64.0) & ((x1_i + x0_i) > 64.0), t7_i + (((x0_i
                    / x1_i) / (x1_i + x0_i)) * (0.5 + (((1.0 / x1_i) + (1.0 / (x1_i + x0_i))) * (((1.0 /
                    12.0) - ((square(1.0 / x1_i) + square(1.0 / (x1_i + x0_i))) / 120.0)) +
                    ((((square(1.0 / x1_i) * square(1.0 / x1_i)) + (square(1.0 / x1_i) * square(1.0 /
                    (x1_i + x0_i)))) + (square(1.0 / (x1_i + x0_i)) * square(1.0 / (x1_i + x0_i)))) /
                    252.0))))), t8_i - t9_i), d1_i)
                )
                value += term1
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 22528, 0.0)
        elif x0_dot != 0:
            t4 = scratch + 6144
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x1_i / x0_i
                store_f64(t4, i, value)
            call_library(loops, LOG1P, n, (t4, 8, t4, 8))
            t5 = scratch + 8192
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x0_i + x1_i
                store_f64(t5, i, value)
            call_library(loops, DIGAMMA, n, (t5, 8, t5, 8))
            t6 = scratch + 10240
            call_library(loops, DIGAMMA, n, (x0, 8, t6, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 12288, 0.0)
            target = tangent_target(block, y_dot, scratch + 14336, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t4_i = load_f64(t4, i)
                t5_i = load_f64(t5, i)
                t6_i = load_f64(t6, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                y_i = load_f64(y, i)
                value = (
                    masked_multiply(-y_i * where((x0_i > 64.0) & ((x0_i + x1_i) > 64.0), t4_i + (((x1_i
                    / x0_i) / (x0_i + x1_i)) * (0.5 + (((1.0 / x0_i) + (1.0 / (x0_i + x1_i))) * (((1.0 /
                    12.0) - ((square(1.0 / x0_i) + square(1.0 / (x0_i + x1_i))) / 120.0)) +
                    ((((square(1.0 / x0_i) * square(1.0 / x0_i)) + (square(1.0 / x0_i) * square(1.0 /
                    (x0_i + x1_i)))) + (square(1.0 / (x0_i + x1_i)) * square(1.0 / (x0_i + x1_i)))) /
                    252.0))))), t5_i - t6_i), d0_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 14336, 0.0)
        elif x1_dot != 0:
            t4 = scratch + 6144
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x0_i / x1_i
                store_f64(t4, i, value)
            call_library(loops, LOG1P, n, (t4, 8, t4, 8))
            t5 = scratch + 8192
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x1_i + x0_i
                store_f64(t5, i, value)
            call_library(loops, DIGAMMA, n, (t5, 8, t5, 8))
            t6 = scratch + 10240
            call_library(loops, DIGAMMA, n, (x1, 8, t6, 8))
            d1 = tangent_block(block, 1, x1_dot, scratch + 12288, 0.0)
            target = tangent_target(block, y_dot, scratch + 14336, 0.0)
            for i in range(n):
                d1_i = load_f64(d1, i)
                t4_i = load_f64(t4, i)
                t5_i = load_f64(t5, i)
                t6_i = load_f64(t6, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                y_i = load_f64(y, i)
                value = (
                    masked_multiply(-y_i * where((x1_i > 64.0) & ((x1_i + x0_i) > 64.0), t4_i + (((x0_i
                    / x1_i) / (x1_i + x0_i)) * (0.5 + (((1.0 / x1_i) + (1.0 / (x1_i + x0_i))) * (((1.0 /
                    12.0) - ((square(1.0 / x1_i) + square(1.0 / (x1_i + x0_i))) / 120.0)) +
                    ((((square(1.0 / x1_i) * square(1.0 / x1_i)) + (square(1.0 / x1_i) * square(1.0 /
                    (x1_i + x0_i)))) + (square(1.0 / (x1_i + x0_i)) * square(1.0 / (x1_i + x0_i)))) /
                    252.0))))), t5_i - t6_i), d1_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 14336, 0.0)
        start += n
    return 0


def betaln_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (-where((x0 > 64) & (x0 + x1 > 64), log1p(x1 / x0) + x1 / x0 / (x0 + x1) * (0.5 + (1 / x0 + 1
    / (x0 + x1)) * (1 / 12 - (square(1 / x0) + square(1 / (x0 + x1))) / 120 + (square(1 / x0) * square(1 /
    x0) + square(1 / x0) * square(1 / (x0 + x1)) + square(1 / (x0 + x1)) * square(1 / (x0 + x1))) / 252)),
    digamma(x0 + x1) - digamma(x0))) * x0_dot + (-where((x1 > 64) & (x1 + x0 > 64), log1p(x0 / x1) + x0 / x1
    / (x1 + x0) * (0.5 + (1 / x1 + 1 / (x1 + x0)) * (1 / 12 - (square(1 / x1) + square(1 / (x1 + x0))) / 120
    + (square(1 / x1) * square(1 / x1) + square(1 / x1) * square(1 / (x1 + x0)) + square(1 / (x1 + x0)) *
    square(1 / (x1 + x0))) / 252)), digamma(x1 + x0) - digamma(x1))) * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(3584)
    x0_dot = load_i64(frame, X_BAR + 0)
    x1_dot = load_i64(frame, X_BAR + 1)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0 and x1_dot == 0:
        write_zeros(frame, 0.0)
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f64(frame, 11, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        x1 = operand_f64(block, 1, scratch + 2048)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t3 = scratch + 4096
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = x1_i / x0_i
                    store_f64(t3, i, value)
                call_library(loops, LOG1P, n, (t3, 8, t3, 8))
                t4 = scratch + 6144
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = x0_i + x1_i
                    store_f64(t4, i, value)
                call_library(loops, DIGAMMA, n, (t4, 8, t4, 8))
                t5 = scratch + 8192
                call_library(loops, DIGAMMA, n, (x0, 8, t5, 8))
                partial = scratch + 10240
                for i in range(n):
                    t3_i = load_f64(t3, i)
                    t4_i = load_f64(t4, i)
                    t5_i = load_f64(t5, i)
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = (
                        -where((x0_i > 64.0) & ((x0_i + x1_i) > 64.0), t3_i + (((x1_i / x0_i) / (x0_i +
                        x1_i)) * (0.5 + (((1.0 / x0_i) + (1.0 / (x0_i + x1_i))) * (((1.0 / 12.0) -
                        ((square(1.0 / x0_i) + square(1.0 / (x0_i + x1_i))) / 120.0)) + ((((square(1.0 /
                        x0_i) * square(1.0 / x0_i)) + (square(1.0 / x0_i) * square(1.0 / (x0_i +
                        x1_i)))) + (square(1.0 / (x0_i + x1_i)) * square(1.0 / (x0_i + x1_i)))) /
                        252.0))))), t4_i - t5_i)
                    )
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            if x1_dot != 0:
                t7 = scratch + 12288
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = x0_i / x1_i
                    store_f64(t7, i, value)
                call_library(loops, LOG1P, n, (t7, 8, t7, 8))
                t8 = scratch + 14336
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = x1_i + x0_i
                    store_f64(t8, i, value)
                call_library(loops, DIGAMMA, n, (t8, 8, t8, 8))
                t9 = scratch + 16384
                call_library(loops, DIGAMMA, n, (x1, 8, t9, 8))
                partial = scratch + 18432
                for i in range(n):
                    t7_i = load_f64(t7, i)
                    t8_i = load_f64(t8, i)
                    t9_i = load_f64(t9, i)
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = (
                        -where((x1_i > 64.0) & ((x1_i + x0_i) > 64.0), t7_i + (((x0_i / x1_i) / (x1_i +
                        x0_i)) * (0.5 + (((1.0 / x1_i) + (1.0 / (x1_i + x0_i))) * (((1.0 / 12.0) -
                        ((square(1.0 / x1_i) + square(1.0 / (x1_i + x0_i))) / 120.0)) + ((((square(1.0 /
                        x1_i) * square(1.0 / x1_i)) + (square(1.0 / x1_i) * square(1.0 / (x1_i +
                        x0_i)))) + (square(1.0 / (x1_i + x0_i)) * square(1.0 / (x1_i + x0_i)))) /
                        252.0))))), t8_i - t9_i)
                    )
                    store_f64(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 20480, 0.0)
        elif x0_dot != 0 and x1_dot != 0:
            t3 = scratch + 4096
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x1_i / x0_i
                store_f64(t3, i, value)
            call_library(loops, LOG1P, n, (t3, 8, t3, 8))
            t4 = scratch + 6144
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x0_i + x1_i
                store_f64(t4, i, value)
            call_library(loops, DIGAMMA, n, (t4, 8, t4, 8))
            t5 = scratch + 8192
            call_library(loops, DIGAMMA, n, (x0, 8, t5, 8))
            t6 = scratch + 10240
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x0_i / x1_i
                store_f64(t6, i, value)
            call_library(loops, LOG1P, n, (t6, 8, t6, 8))
            t7 = scratch + 12288
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x1_i + x0_i
                store_f64(t7, i, value)
            call_library(loops, DIGAMMA, n, (t7, 8, t7, 8))
            t8 = scratch + 14336
            call_library(loops, DIGAMMA, n, (x1, 8, t8, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 16384, 0.0)
            d1 = tangent_block(block, 1, x1_dot, scratch + 18432, 0.0)
            target = tangent_target(block, y_dot, scratch + 20480, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                d1_i = load_f64(d1, i)
                t3_i = load_f64(t3, i)
                t4_i = load_f64(t4, i)
                t5_i = load_f64(t5, i)
                t6_i = load_f64(t6, i)
                t7_i = load_f64(t7, i)
                t8_i = load_f64(t8, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    masked_multiply(-where((x0_i > 64.0) & ((x0_i + x1_i) > 64.0), t3_i + (((x1_i /
                    x0_i) / (x0_i + x1_i)) * (0.5 + (((1.0 / x0_i) + (1.0 / (x0_i + x1_i))) * (((1.0 /
                    12.0) - ((square(1.0 / x0_i) + square(1.0 / (x0_i + x1_i))) / 120.0)) +
                    ((((square(1.0 / x0_i) * square(1.0 / x0_i)) + (square(1.0 / x0_i) * square(1.0 /
                    (x0_i + x1_i)))) + (square(1.0 / (x0_i + x1_i)) * square(1.0 / (x0_i + x1_i)))) /
                    252.0))))), t4_i - t5_i), d0_i)
                )
                term1 = (
                    masked_multiply(-where((x1_i > 64.0) & ((x1_i + x0_i) > 64.0), t6_i + (((x0_i /
                    x1_i) / (x1_i + x0_i)) * (0.5 + (((1.0 / x1_i) + (1.0 / (x1_i + x0_i))) * (((1.0 /
                    12.0) - ((square(1.0 / x1_i) + square(1.0 / (x1_i + x0_i))) / 120.0)) +
                    ((((square(1.0 / x1_i) * square(1.0 / x1_i)) + (square(1.0 / x1_i) * square(1.0 /
                    (x1_i + x0_i)))) + (square(1.0 / (x1_i + x0_i)) * square(1.0 / (x1_i + x0_i)))) /
                    252.0))))), t7_i - t8_i), d1_i)
                )
                value += term1
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 20480, 0.0)
        elif x0_dot != 0:
            t3 = scratch + 4096
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x1_i / x0_i
                store_f64(t3, i, value)
            call_library(loops, LOG1P, n, (t3, 8, t3, 8))
            t4 = scratch + 6144
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x0_i + x1_i
                store_f64(t4, i, value)
            call_library(loops, DIGAMMA, n, (t4, 8, t4, 8))
            t5 = scratch + 8192
            call_library(loops, DIGAMMA, n, (x0, 8, t5, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 10240, 0.0)
            target = tangent_target(block, y_dot, scratch + 12288, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t3_i = load_f64(t3, i)
                t4_i = load_f64(t4, i)
                t5_i = load_f64(t5, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    masked_multiply(-where((x0_i > 64.0) & ((x0_i + x1_i) > 64.0), t3_i + (((x1_i /
                    x0_i) / (x0_i + x1_i)) * (0.5 + (((1.0 / x0_i) + (1.0 / (x0_i + x1_i))) * (((1.0 /
                    12.0) - ((square(1.0 / x0_i) + square(1.0 / (x0_i + x1_i))) / 120.0)) +
                    ((((square(1.0 / x0_i) * square(1.0 / x0_i)) + (square(1.0 / x0_i) * square(1.0 /
                    (x0_i + x1_i)))) + (square(1.0 / (x0_i + x1_i)) * square(1.0 / (x0_i + x1_i)))) /
                    252.0))))), t4_i - t5_i), d0_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 12288, 0.0)
        elif x1_dot != 0:
            t3 = scratch + 4096
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x0_i / x1_i
                store_f64(t3, i, value)
            call_library(loops, LOG1P, n, (t3, 8, t3, 8))
            t4 = scratch + 6144
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x1_i + x0_i
                store_f64(t4, i, value)
            call_library(loops, DIGAMMA, n, (t4, 8, t4, 8))
            t5 = scratch + 8192
            call_library(loops, DIGAMMA, n, (x1, 8, t5, 8))
            d1 = tangent_block(block, 1, x1_dot, scratch + 10240, 0.0)
            target = tangent_target(block, y_dot, scratch + 12288, 0.0)
            for i in range(n):
                d1_i = load_f64(d1, i)
                t3_i = load_f64(t3, i)
                t4_i = load_f64(t4, i)
                t5_i = load_f64(t5, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    masked_multiply(-where((x1_i > 64.0) & ((x1_i + x0_i) > 64.0), t3_i + (((x0_i /
                    x1_i) / (x1_i + x0_i)) * (0.5 + (((1.0 / x1_i) + (1.0 / (x1_i + x0_i))) * (((1.0 /
                    12.0) - ((square(1.0 / x1_i) + square(1.0 / (x1_i + x0_i))) / 120.0)) +
                    ((((square(1.0 / x1_i) * square(1.0 / x1_i)) + (square(1.0 / x1_i) * square(1.0 /
                    (x1_i + x0_i)))) + (square(1.0 / (x1_i + x0_i)) * square(1.0 / (x1_i + x0_i)))) /
                    252.0))))), t4_i - t5_i), d1_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 12288, 0.0)
        start += n
    return 0


def lgamma_half_step_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (where(x0 < 8, digamma(x0 + 0.5) - digamma(x0) - 0.5 / x0, (1 - 1 / (4 * x0 - 1 + 4 / (4 * x0
    - 1 + 9 / (4 * x0 - 1 + 16 / (4 * x0 - 1 + 25 / (4 * x0 - 1 + 36 / (4 * x0 - 1 + 49 / (4 * x0 - 1 + 64 /
    (4 * x0 - 1 + 81 / (4 * x0 - 1)))))))))) / (2 * x0 * (4 * x0 - 1 + 1 / (4 * x0 - 1 + 4 / (4 * x0 - 1 + 9
    / (4 * x0 - 1 + 16 / (4 * x0 - 1 + 25 / (4 * x0 - 1 + 36 / (4 * x0 - 1 + 49 / (4 * x0 - 1 + 64 / (4 * x0
    - 1 + 81 / (4 * x0 - 1))))))))))))) * x0_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(2048)
    x0_dot = load_i64(frame, X_BAR + 0)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0:
        write_zeros(frame, 0.0)
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f64(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t2 = scratch + 2048
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    value = x0_i + 0.5
                    store_f64(t2, i, value)
                call_library(loops, DIGAMMA, n, (t2, 8, t2, 8))
                t3 = scratch + 4096
                call_library(loops, DIGAMMA, n, (x0, 8, t3, 8))
                partial = scratch + 6144
                for i in range(n):
                    t2_i = load_f64(t2, i)
                    t3_i = load_f64(t3, i)
                    x0_i = load_f64(x0, i)
                    value = (
                        where(x0_i < 8.0, (t2_i - t3_i) - (0.5 / x0_i), (1.0 - (1.0 / (((4.0 * x0_i) -
                        1.0) + (4.0 / (((4.0 * x0_i) - 1.0) + (9.0 / (((4.0 * x0_i) - 1.0) + (16.0 /
                        (((4.0 * x0_i) - 1.0) + (25.0 / (((4.0 * x0_i) - 1.0) + (36.0 / (((4.0 * x0_i) -
                        1.0) + (49.0 / (((4.0 * x0_i) - 1.0) + (64.0 / (((4.0 * x0_i) - 1.0) + (81.0 /
                        ((4.0 * x0_i) - 1.0))))))))))))))))))) / ((2.0 * x0_i) * (((4.0 * x0_i) - 1.0) +
                        (1.0 / (((4.0 * x0_i) - 1.0) + (4.0 / (((4.0 * x0_i) - 1.0) + (9.0 / (((4.0 *
                        x0_i) - 1.0) + (16.0 / (((4.0 * x0_i) - 1.0) + (25.0 / (((4.0 * x0_i) - 1.0) +
                        (36.0 / (((4.0 * x0_i) - 1.0) + (49.0 / (((4.0 * x0_i) - 1.0) + (64.0 / (((4.0 *
                        x0_i) - 1.0) + (81.0 / ((4.0 * x0_i) - 1.0)))))))))))))))))))))
                    )
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 8192, 0.0)
        elif x0_dot != 0:
            t2 = scratch + 2048
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = x0_i + 0.5
                store_f64(t2, i, value)
            call_library(loops, DIGAMMA, n, (t2, 8, t2, 8))
            t3 = scratch + 4096
            call_library(loops, DIGAMMA, n, (x0, 8, t3, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 6144, 0.0)
            target = tangent_target(block, y_dot, scratch + 8192, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t2_i = load_f64(t2, i)
                t3_i = load_f64(t3, i)
                x0_i = load_f64(x0, i)
                value = (
                    masked_multiply(where(x0_i < 8.0, (t2_i - t3_i) - (0.5 / x0_i), (1.0 - (1.0 / (((4.0
                    * x0_i) - 1.0) + (4.0 / (((4.0 * x0_i) - 1.0) + (9.0 / (((4.0 * x0_i) - 1.0) + (16.0
                    / (((4.0 * x0_i) - 1.0) + (25.0 / (((4.0 * x0_i) - 1.0) + (36.0 / (((4.0 * x0_i) -
                    1.0) + (49.0 / (((4.0 * x0_i) - 1.0) + (64.0 / (((4.0 * x0_i) - 1.0) + (81.0 / ((4.0
                    * x0_i) - 1.0))))))))))))))))))) / ((2.0 * x0_i) * (((4.0 * x0_i) - 1.0) + (1.0 /
                    (((4.0 * x0_i) - 1.0) + (4.0 / (((4.0 * x0_i) - 1.0) + (9.0 / (((4.0 * x0_i) - 1.0)
                    + (16.0 / (((4.0 * x0_i) - 1.0) + (25.0 / (((4.0 * x0_i) - 1.0) + (36.0 / (((4.0 *
                    x0_i) - 1.0) + (49.0 / (((4.0 * x0_i) - 1.0) + (64.0 / (((4.0 * x0_i) - 1.0) + (81.0
                    / ((4.0 * x0_i) - 1.0))))))))))))))))))))), d0_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 8192, 0.0)
        start += n
    return 0
