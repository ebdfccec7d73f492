"""Elementwise kernels in f64: incomplete, tangent.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

from math import inf

from tapegrad.engine.kernels.arithmetic import masked_multiply, maximum, minimum, sqrt, square, where
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

BETALN = entry("betaln", "d")
DIGAMMA = entry("digamma", "d")
EXP = entry("exp", "d")
IGAM_FAC = entry("igam_fac", "d")
LGAMMA = entry("lgamma", "d")
LOG = entry("log", "d")
LOG1P = entry("log1p", "d")
POCH = entry("poch", "d")
XLOG1PY = entry("xlog1py", "d")
XLOGY = entry("xlogy", "d")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "igam_fac_tangent_f64": ("digamma", "log", "positive"),
    "gammainc_tangent_f64": ("igam_fac", "positive"),
    "gammaincc_tangent_f64": ("igam_fac", "positive"),
    "betainc_tangent_f64": ("betaln", "exp", "lgamma", "log", "log1p", "positive", "xlog1py", "xlogy"),
    "betaincc_tangent_f64": ("betaln", "exp", "lgamma", "log", "log1p", "positive", "xlog1py", "xlogy"),
    "stdtr_tangent_f64": ("exp", "log1p", "poch", "positive"),
}


def igam_fac_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (y * (log(x1) - digamma(x0))) * x0_dot + (y * ((x0 - x1) / x1)) * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(2816)
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
                call_library(loops, LOG, n, (x1, 8, t4, 8))
                t5 = scratch + 8192
                call_library(loops, DIGAMMA, n, (x0, 8, t5, 8))
                partial = scratch + 10240
                for i in range(n):
                    t4_i = load_f64(t4, i)
                    t5_i = load_f64(t5, i)
                    y_i = load_f64(y, i)
                    value = y_i * (t4_i - t5_i)
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            if x1_dot != 0:
                partial = scratch + 12288
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    y_i = load_f64(y, i)
                    value = y_i * ((x0_i - x1_i) / x1_i)
                    store_f64(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 14336, 0.0)
        elif x0_dot != 0 and x1_dot != 0:
            t4 = scratch + 6144
            call_library(loops, LOG, n, (x1, 8, t4, 8))
            t5 = scratch + 8192
            call_library(loops, DIGAMMA, n, (x0, 8, t5, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 10240, 0.0)
            d1 = tangent_block(block, 1, x1_dot, scratch + 12288, 0.0)
            target = tangent_target(block, y_dot, scratch + 14336, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                d1_i = load_f64(d1, i)
                t4_i = load_f64(t4, i)
                t5_i = load_f64(t5, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                y_i = load_f64(y, i)
                value = masked_multiply(y_i * (t4_i - t5_i), d0_i)
                term1 = masked_multiply(y_i * ((x0_i - x1_i) / x1_i), d1_i)
                value += term1
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 14336, 0.0)
        elif x0_dot != 0:
            t4 = scratch + 6144
            call_library(loops, LOG, n, (x1, 8, t4, 8))
            t5 = scratch + 8192
            call_library(loops, DIGAMMA, n, (x0, 8, t5, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 10240, 0.0)
            target = tangent_target(block, y_dot, scratch + 12288, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t4_i = load_f64(t4, i)
                t5_i = load_f64(t5, i)
                y_i = load_f64(y, i)
                value = masked_multiply(y_i * (t4_i - t5_i), d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 12288, 0.0)
        elif x1_dot != 0:
            d1 = tangent_block(block, 1, x1_dot, scratch + 6144, 0.0)
            target = tangent_target(block, y_dot, scratch + 8192, 0.0)
            for i in range(n):
                d1_i = load_f64(d1, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                y_i = load_f64(y, i)
                value = masked_multiply(y_i * ((x0_i - x1_i) / x1_i), d1_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 8192, 0.0)
        start += n
    return 0


def gammainc_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (where(x1 == 0, where(x0 < 1, inf, where(x0 == 1, 1, 0)), igam_fac(x0, x1) / x1)) *
    x1_dot."""
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
                call_library(loops, IGAM_FAC, n, (x0, 8, x1, 8, t3, 8))
                partial = scratch + 6144
                for i in range(n):
                    t3_i = load_f64(t3, i)
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = (
                        where(x1_i == 0.0, where(x0_i < 1.0, inf, where(x0_i == 1.0, 1.0, 0.0)), t3_i /
                        x1_i)
                    )
                    store_f64(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 8192, 0.0)
        elif x1_dot != 0:
            t3 = scratch + 4096
            call_library(loops, IGAM_FAC, n, (x0, 8, x1, 8, t3, 8))
            d1 = tangent_block(block, 1, x1_dot, scratch + 6144, 0.0)
            target = tangent_target(block, y_dot, scratch + 8192, 0.0)
            for i in range(n):
                d1_i = load_f64(d1, i)
                t3_i = load_f64(t3, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    masked_multiply(where(x1_i == 0.0, where(x0_i < 1.0, inf, where(x0_i == 1.0, 1.0,
                    0.0)), t3_i / x1_i), d1_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 8192, 0.0)
        start += n
    return 0


def gammaincc_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (-where(x1 == 0, where(x0 < 1, inf, where(x0 == 1, 1, 0)), igam_fac(x0, x1) / x1)) *
    x1_dot."""
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
                call_library(loops, IGAM_FAC, n, (x0, 8, x1, 8, t3, 8))
                partial = scratch + 6144
                for i in range(n):
                    t3_i = load_f64(t3, i)
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = (
                        -where(x1_i == 0.0, where(x0_i < 1.0, inf, where(x0_i == 1.0, 1.0, 0.0)), t3_i /
                        x1_i)
                    )
                    store_f64(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 8192, 0.0)
        elif x1_dot != 0:
            t3 = scratch + 4096
            call_library(loops, IGAM_FAC, n, (x0, 8, x1, 8, t3, 8))
            d1 = tangent_block(block, 1, x1_dot, scratch + 6144, 0.0)
            target = tangent_target(block, y_dot, scratch + 8192, 0.0)
            for i in range(n):
                d1_i = load_f64(d1, i)
                t3_i = load_f64(t3, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    masked_multiply(-where(x1_i == 0.0, where(x0_i < 1.0, inf, where(x0_i == 1.0, 1.0,
                    0.0)), t3_i / x1_i), d1_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 8192, 0.0)
        start += n
    return 0


def betainc_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (where((maximum(x0, x1) > 30) & (x2 > 0) & (x2 < 1), exp(x0 * log1p((x2 * x1 - (1 - x2) * x0)
    / x0) + x1 * log1p(-(x2 * x1 - (1 - x2) * x0) / x1) + (1 / 12 + square(1 / (x0 + x1)) * (-1 / 360 +
    square(1 / (x0 + x1)) * (1 / 1260 + square(1 / (x0 + x1)) * (-1 / 1680)))) / (x0 + x1) - (1 / 12 +
    square(1 / maximum(x0, x1)) * (-1 / 360 + square(1 / maximum(x0, x1)) * (1 / 1260 + square(1 /
    maximum(x0, x1)) * (-1 / 1680)))) / maximum(x0, x1) - where(minimum(x0, x1) < 30, lgamma(minimum(x0,
    x1)) - (minimum(x0, x1) - 0.5) * log(minimum(x0, x1)) + minimum(x0, x1) - half_log_2pi, (1 / 12 +
    square(1 / minimum(x0, x1)) * (-1 / 360 + square(1 / minimum(x0, x1)) * (1 / 1260 + square(1 /
    minimum(x0, x1)) * (-1 / 1680)))) / minimum(x0, x1)) - half_log_2pi) * sqrt(x0 / (x0 + x1) * x1) / (x2 *
    (1 - x2)), exp(xlogy(x0 - 1, x2) + xlog1py(x1 - 1, -x2) - betaln(x0, x1)))) * x2_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(4608)
    x2_dot = load_i64(frame, X_BAR + 2)
    y_dot = load_i64(frame, Y_BAR)
    if x2_dot == 0:
        write_zeros(frame, 0.0)
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f64(frame, 15, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        x1 = operand_f64(block, 1, scratch + 2048)
        x2 = operand_f64(block, 2, scratch + 4096)
        if several:
            p0 = ABSENT
            p1 = ABSENT
            p2 = ABSENT
            if x2_dot != 0:
                t4 = scratch + 6144
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    x2_i = load_f64(x2, i)
                    value = ((x2_i * x1_i) - ((1.0 - x2_i) * x0_i)) / x0_i
                    store_f64(t4, i, value)
                call_library(loops, LOG1P, n, (t4, 8, t4, 8))
                t5 = scratch + 8192
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    x2_i = load_f64(x2, i)
                    value = -((x2_i * x1_i) - ((1.0 - x2_i) * x0_i)) / x1_i
                    store_f64(t5, i, value)
                call_library(loops, LOG1P, n, (t5, 8, t5, 8))
                t6 = scratch + 10240
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = minimum(x0_i, x1_i)
                    store_f64(t6, i, value)
                call_library(loops, LGAMMA, n, (t6, 8, t6, 8))
                t7 = scratch + 12288
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = minimum(x0_i, x1_i)
                    store_f64(t7, i, value)
                call_library(loops, LOG, n, (t7, 8, t7, 8))
                t8 = scratch + 14336
                for i in range(n):
                    t4_i = load_f64(t4, i)
                    t5_i = load_f64(t5, i)
                    t6_i = load_f64(t6, i)
                    t7_i = load_f64(t7, i)
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = (
                        (((((x0_i * t4_i) + (x1_i * t5_i)) + (((1.0 / 12.0) + (square(1.0 / (x0_i +
                        x1_i)) * ((-1.0 / 360.0) + (square(1.0 / (x0_i + x1_i)) * ((1.0 / 1260.0) +
                        (square(1.0 / (x0_i + x1_i)) * (-1.0 / 1680.0))))))) / (x0_i + x1_i))) - (((1.0
                        / 12.0) + (square(1.0 / maximum(x0_i, x1_i)) * ((-1.0 / 360.0) + (square(1.0 /
                        maximum(x0_i, x1_i)) * ((1.0 / 1260.0) + (square(1.0 / maximum(x0_i, x1_i)) *
                        (-1.0 / 1680.0))))))) / maximum(x0_i, x1_i))) - where(minimum(x0_i, x1_i) <
                        30.0, ((t6_i - ((minimum(x0_i, x1_i) - 0.5) * t7_i)) + minimum(x0_i, x1_i)) -
                        0.9189385332046727, ((1.0 / 12.0) + (square(1.0 / minimum(x0_i, x1_i)) * ((-1.0
                        / 360.0) + (square(1.0 / minimum(x0_i, x1_i)) * ((1.0 / 1260.0) + (square(1.0 /
                        minimum(x0_i, x1_i)) * (-1.0 / 1680.0))))))) / minimum(x0_i, x1_i))) -
                        0.9189385332046727
                    )
                    store_f64(t8, i, value)
                call_library(loops, EXP, n, (t8, 8, t8, 8))
                t9 = scratch + 16384
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    value = x0_i - 1.0
                    store_f64(t9, i, value)
                call_library(loops, XLOGY, n, (t9, 8, x2, 8, t9, 8))
                t10 = scratch + 18432
                for i in range(n):
                    x1_i = load_f64(x1, i)
                    value = x1_i - 1.0
                    store_f64(t10, i, value)
                t11 = scratch + 20480
                for i in range(n):
                    x2_i = load_f64(x2, i)
                    value = -x2_i
                    store_f64(t11, i, value)
                call_library(loops, XLOG1PY, n, (t10, 8, t11, 8, t10, 8))
                t12 = scratch + 22528
                call_library(loops, BETALN, n, (x0, 8, x1, 8, t12, 8))
                t13 = scratch + 24576
                for i in range(n):
                    t10_i = load_f64(t10, i)
                    t12_i = load_f64(t12, i)
                    t9_i = load_f64(t9, i)
                    value = (t9_i + t10_i) - t12_i
                    store_f64(t13, i, value)
                call_library(loops, EXP, n, (t13, 8, t13, 8))
                partial = scratch + 26624
                for i in range(n):
                    t13_i = load_f64(t13, i)
                    t8_i = load_f64(t8, i)
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    x2_i = load_f64(x2, i)
                    value = (
                        where(((maximum(x0_i, x1_i) > 30.0) & (x2_i > 0.0)) & (x2_i < 1.0), (t8_i *
                        sqrt((x0_i / (x0_i + x1_i)) * x1_i)) / (x2_i * (1.0 - x2_i)), t13_i)
                    )
                    store_f64(partial, i, value)
                p2 = partial
            apply_partials(block, p0, p1, p2, scratch + 28672, 0.0)
        elif x2_dot != 0:
            t4 = scratch + 6144
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                x2_i = load_f64(x2, i)
                value = ((x2_i * x1_i) - ((1.0 - x2_i) * x0_i)) / x0_i
                store_f64(t4, i, value)
            call_library(loops, LOG1P, n, (t4, 8, t4, 8))
            t5 = scratch + 8192
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                x2_i = load_f64(x2, i)
                value = -((x2_i * x1_i) - ((1.0 - x2_i) * x0_i)) / x1_i
                store_f64(t5, i, value)
            call_library(loops, LOG1P, n, (t5, 8, t5, 8))
            t6 = scratch + 10240
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = minimum(x0_i, x1_i)
                store_f64(t6, i, value)
            call_library(loops, LGAMMA, n, (t6, 8, t6, 8))
            t7 = scratch + 12288
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = minimum(x0_i, x1_i)
                store_f64(t7, i, value)
            call_library(loops, LOG, n, (t7, 8, t7, 8))
            t8 = scratch + 14336
            for i in range(n):
                t4_i = load_f64(t4, i)
                t5_i = load_f64(t5, i)
                t6_i = load_f64(t6, i)
                t7_i = load_f64(t7, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    (((((x0_i * t4_i) + (x1_i * t5_i)) + (((1.0 / 12.0) + (square(1.0 / (x0_i + x1_i)) *
                    ((-1.0 / 360.0) + (square(1.0 / (x0_i + x1_i)) * ((1.0 / 1260.0) + (square(1.0 /
                    (x0_i + x1_i)) * (-1.0 / 1680.0))))))) / (x0_i + x1_i))) - (((1.0 / 12.0) +
                    (square(1.0 / maximum(x0_i, x1_i)) * ((-1.0 / 360.0) + (square(1.0 / maximum(x0_i,
                    x1_i)) * ((1.0 / 1260.0) + (square(1.0 / maximum(x0_i, x1_i)) * (-1.0 /
                    1680.0))))))) / maximum(x0_i, x1_i))) - where(minimum(x0_i, x1_i) < 30.0, ((t6_i -
                    ((minimum(x0_i, x1_i) - 0.5) * t7_i)) + minimum(x0_i, x1_i)) - 0.9189385332046727,
                    ((1.0 / 12.0) + (square(1.0 / minimum(x0_i, x1_i)) * ((-1.0 / 360.0) + (square(1.0 /
                    minimum(x0_i, x1_i)) * ((1.0 / 1260.0) + (square(1.0 / minimum(x0_i, x1_i)) * (-1.0
                    / 1680.0))))))) / minimum(x0_i, x1_i))) - 0.9189385332046727
                )
                store_f64(t8, i, value)
            call_library(loops, EXP, n, (t8, 8, t8, 8))
            t9 = scratch + 16384
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = x0_i - 1.0
                store_f64(t9, i, value)
            call_library(loops, XLOGY, n, (t9, 8, x2, 8, t9, 8))
            t10 = scratch + 18432
            for i in range(n):
                x1_i = load_f64(x1, i)
                value = x1_i - 1.0
                store_f64(t10, i, value)
            t11 = scratch + 20480
            for i in range(n):
                x2_i = load_f64(x2, i)
                value = -x2_i
                store_f64(t11, i, value)
            call_library(loops, XLOG1PY, n, (t10, 8, t11, 8, t10, 8))
            t12 = scratch + 22528
            call_library(loops, BETALN, n, (x0, 8, x1, 8, t12, 8))
            t13 = scratch + 24576
            for i in range(n):
                t10_i = load_f64(t10, i)
                t12_i = load_f64(t12, i)
                t9_i = load_f64(t9, i)
                value = (t9_i + t10_i) - t12_i
                store_f64(t13, i, value)
            call_library(loops, EXP, n, (t13, 8, t13, 8))
            d2 = tangent_block(block, 2, x2_dot, scratch + 26624, 0.0)
            target = tangent_target(block, y_dot, scratch + 28672, 0.0)
            for i in range(n):
                d2_i = load_f64(d2, i)
                t13_i = load_f64(t13, i)
                t8_i = load_f64(t8, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                x2_i = load_f64(x2, i)
                value = (
                    masked_multiply(where(((maximum(x0_i, x1_i) > 30.0) & (x2_i > 0.0)) & (x2_i < 1.0),
                    (t8_i * sqrt((x0_i / (x0_i + x1_i)) * x1_i)) / (x2_i * (1.0 - x2_i)), t13_i), d2_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 28672, 0.0)
        start += n
    return 0


def betaincc_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (-where((maximum(x0, x1) > 30) & (x2 > 0) & (x2 < 1), exp(x0 * log1p((x2 * x1 - (1 - x2) *
    x0) / x0) + x1 * log1p(-(x2 * x1 - (1 - x2) * x0) / x1) + (1 / 12 + square(1 / (x0 + x1)) * (-1 / 360 +
    square(1 / (x0 + x1)) * (1 / 1260 + square(1 / (x0 + x1)) * (-1 / 1680)))) / (x0 + x1) - (1 / 12 +
    square(1 / maximum(x0, x1)) * (-1 / 360 + square(1 / maximum(x0, x1)) * (1 / 1260 + square(1 /
    maximum(x0, x1)) * (-1 / 1680)))) / maximum(x0, x1) - where(minimum(x0, x1) < 30, lgamma(minimum(x0,
    x1)) - (minimum(x0, x1) - 0.5) * log(minimum(x0, x1)) + minimum(x0, x1) - half_log_2pi, (1 / 12 +
    square(1 / minimum(x0, x1)) * (-1 / 360 + square(1 / minimum(x0, x1)) * (1 / 1260 + square(1 /
    minimum(x0, x1)) * (-1 / 1680)))) / minimum(x0, x1)) - half_log_2pi) * sqrt(x0 / (x0 + x1) * x1) / (x2 *
    (1 - x2)), exp(xlogy(x0 - 1, x2) + xlog1py(x1 - 1, -x2) - betaln(x0, x1)))) * x2_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(4608)
    x2_dot = load_i64(frame, X_BAR + 2)
    y_dot = load_i64(frame, Y_BAR)
    if x2_dot == 0:
        write_zeros(frame, 0.0)
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f64(frame, 15, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        x1 = operand_f64(block, 1, scratch + 2048)
        x2 = operand_f64(block, 2, scratch + 4096)
        if several:
            p0 = ABSENT
            p1 = ABSENT
            p2 = ABSENT
            if x2_dot != 0:
                t4 = scratch + 6144
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    x2_i = load_f64(x2, i)
                    value = ((x2_i * x1_i) - ((1.0 - x2_i) * x0_i)) / x0_i
                    store_f64(t4, i, value)
                call_library(loops, LOG1P, n, (t4, 8, t4, 8))
                t5 = scratch + 8192
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    x2_i = load_f64(x2, i)
                    value = -((x2_i * x1_i) - ((1.0 - x2_i) * x0_i)) / x1_i
                    store_f64(t5, i, value)
                call_library(loops, LOG1P, n, (t5, 8, t5, 8))
                t6 = scratch + 10240
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = minimum(x0_i, x1_i)
                    store_f64(t6, i, value)
                call_library(loops, LGAMMA, n, (t6, 8, t6, 8))
                t7 = scratch + 12288
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = minimum(x0_i, x1_i)
                    store_f64(t7, i, value)
                call_library(loops, LOG, n, (t7, 8, t7, 8))
                t8 = scratch + 14336
                for i in range(n):
                    t4_i = load_f64(t4, i)
                    t5_i = load_f64(t5, i)
                    t6_i = load_f64(t6, i)
                    t7_i = load_f64(t7, i)
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = (
                        (((((x0_i * t4_i) + (x1_i * t5_i)) + (((1.0 / 12.0) + (square(1.0 / (x0_i +
                        x1_i)) * ((-1.0 / 360.0) + (square(1.0 / (x0_i + x1_i)) * ((1.0 / 1260.0) +
                        (square(1.0 / (x0_i + x1_i)) * (-1.0 / 1680.0))))))) / (x0_i + x1_i))) - (((1.0
                        / 12.0) + (square(1.0 / maximum(x0_i, x1_i)) * ((-1.0 / 360.0) + (square(1.0 /
                        maximum(x0_i, x1_i)) * ((1.0 / 1260.0) + (square(1.0 / maximum(x0_i, x1_i)) *
                        (-1.0 / 1680.0))))))) / maximum(x0_i, x1_i))) - where(minimum(x0_i, x1_i) <
                        30.0, ((t6_i - ((minimum(x0_i, x1_i) - 0.5) * t7_i)) + minimum(x0_i, x1_i)) -
                        0.9189385332046727, ((1.0 / 12.0) + (square(1.0 / minimum(x0_i, x1_i)) * ((-1.0
                        / 360.0) + (square(1.0 / minimum(x0_i, x1_i)) * ((1.0 / 1260.0) + (square(1.0 /
                        minimum(x0_i, x1_i)) * (-1.0 / 1680.0))))))) / minimum(x0_i, x1_i))) -
                        0.9189385332046727
                    )
                    store_f64(t8, i, value)
                call_library(loops, EXP, n, (t8, 8, t8, 8))
                t9 = scratch + 16384
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    value = x0_i - 1.0
                    store_f64(t9, i, value)
                call_library(loops, XLOGY, n, (t9, 8, x2, 8, t9, 8))
                t10 = scratch + 18432
                for i in range(n):
                    x1_i = load_f64(x1, i)
                    value = x1_i - 1.0
                    store_f64(t10, i, value)
                t11 = scratch + 20480
                for i in range(n):
                    x2_i = load_f64(x2, i)
                    value = -x2_i
                    store_f64(t11, i, value)
                call_library(loops, XLOG1PY, n, (t10, 8, t11, 8, t10, 8))
                t12 = scratch + 22528
                call_library(loops, BETALN, n, (x0, 8, x1, 8, t12, 8))
                t13 = scratch + 24576
                for i in range(n):
                    t10_i = load_f64(t10, i)
                    t12_i = load_f64(t12, i)
                    t9_i = load_f64(t9, i)
                    value = (t9_i + t10_i) - t12_i
                    store_f64(t13, i, value)
                call_library(loops, EXP, n, (t13, 8, t13, 8))
                partial = scratch + 26624
                for i in range(n):
                    t13_i = load_f64(t13, i)
                    t8_i = load_f64(t8, i)
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    x2_i = load_f64(x2, i)
                    value = (
                        -where(((maximum(x0_i, x1_i) > 30.0) & (x2_i > 0.0)) & (x2_i < 1.0), (t8_i *
                        sqrt((x0_i / (x0_i + x1_i)) * x1_i)) / (x2_i * (1.0 - x2_i)), t13_i)
                    )
                    store_f64(partial, i, value)
                p2 = partial
            apply_partials(block, p0, p1, p2, scratch + 28672, 0.0)
        elif x2_dot != 0:
            t4 = scratch + 6144
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                x2_i = load_f64(x2, i)
                value = ((x2_i * x1_i) - ((1.0 - x2_i) * x0_i)) / x0_i
                store_f64(t4, i, value)
            call_library(loops, LOG1P, n, (t4, 8, t4, 8))
            t5 = scratch + 8192
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                x2_i = load_f64(x2, i)
                value = -((x2_i * x1_i) - ((1.0 - x2_i) * x0_i)) / x1_i
                store_f64(t5, i, value)
            call_library(loops, LOG1P, n, (t5, 8, t5, 8))
            t6 = scratch + 10240
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = minimum(x0_i, x1_i)
                store_f64(t6, i, value)
            call_library(loops, LGAMMA, n, (t6, 8, t6, 8))
            t7 = scratch + 12288
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = minimum(x0_i, x1_i)
                store_f64(t7, i, value)
            call_library(loops, LOG, n, (t7, 8, t7, 8))
            t8 = scratch + 14336
            for i in range(n):
                t4_i = load_f64(t4, i)
                t5_i = load_f64(t5, i)
                t6_i = load_f64(t6, i)
                t7_i = load_f64(t7, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    (((((x0_i * t4_i) + (x1_i * t5_i)) + (((1.0 / 12.0) + (square(1.0 / (x0_i + x1_i)) *
                    ((-1.0 / 360.0) + (square(1.0 / (x0_i + x1_i)) * ((1.0 / 1260.0) + (square(1.0 /
                    (x0_i + x1_i)) * (-1.0 / 1680.0))))))) / (x0_i + x1_i))) - (((1.0 / 12.0) +
                    (square(1.0 / maximum(x0_i, x1_i)) * ((-1.0 / 360.0) + (square(1.0 / maximum(x0_i,
                    x1_i)) * ((1.0 / 1260.0) + (square(1.0 / maximum(x0_i, x1_i)) * (-1.0 /
                    1680.0))))))) / maximum(x0_i, x1_i))) - where(minimum(x0_i, x1_i) < 30.0, ((t6_i -
                    ((minimum(x0_i, x1_i) - 0.5) * t7_i)) + minimum(x0_i, x1_i)) - 0.9189385332046727,
                    ((1.0 / 12.0) + (square(1.0 / minimum(x0_i, x1_i)) * ((-1.0 / 360.0) + (square(1.0 /
                    minimum(x0_i, x1_i)) * ((1.0 / 1260.0) + (square(1.0 / minimum(x0_i, x1_i)) * (-1.0
                    / 1680.0))))))) / minimum(x0_i, x1_i))) - 0.9189385332046727
                )
                store_f64(t8, i, value)
            call_library(loops, EXP, n, (t8, 8, t8, 8))
            t9 = scratch + 16384
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = x0_i - 1.0
                store_f64(t9, i, value)
            call_library(loops, XLOGY, n, (t9, 8, x2, 8, t9, 8))
            t10 = scratch + 18432
            for i in range(n):
                x1_i = load_f64(x1, i)
                value = x1_i - 1.0
                store_f64(t10, i, value)
            t11 = scratch + 20480
            for i in range(n):
                x2_i = load_f64(x2, i)
                value = -x2_i
                store_f64(t11, i, value)
            call_library(loops, XLOG1PY, n, (t10, 8, t11, 8, t10, 8))
            t12 = scratch + 22528
            call_library(loops, BETALN, n, (x0, 8, x1, 8, t12, 8))
            t13 = scratch + 24576
            for i in range(n):
                t10_i = load_f64(t10, i)
                t12_i = load_f64(t12, i)
                t9_i = load_f64(t9, i)
                value = (t9_i + t10_i) - t12_i
                store_f64(t13, i, value)
            call_library(loops, EXP, n, (t13, 8, t13, 8))
            d2 = tangent_block(block, 2, x2_dot, scratch + 26624, 0.0)
            target = tangent_target(block, y_dot, scratch + 28672, 0.0)
            for i in range(n):
                d2_i = load_f64(d2, i)
                t13_i = load_f64(t13, i)
                t8_i = load_f64(t8, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                x2_i = load_f64(x2, i)
                value = (
                    masked_multiply(-where(((maximum(x0_i, x1_i) > 30.0) & (x2_i > 0.0)) & (x2_i < 1.0),
                    (t8_i * sqrt((x0_i / (x0_i + x1_i)) * x1_i)) / (x2_i * (1.0 - x2_i)), t13_i), d2_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 28672, 0.0)
        start += n
    return 0


def stdtr_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (poch(0.5 * x0, 0.5) / (sqrt(x0) * sqrt_pi) * exp(-0.5 * (x0 + 1) * log1p(square(x1) / x0)))
    * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(2816)
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
                    value = 0.5 * x0_i
                    store_f64(t3, i, value)
                t4 = scratch + 6144
                for i in range(n):
                    value = 0.5
                    store_f64(t4, i, value)
                call_library(loops, POCH, n, (t3, 8, t4, 8, t3, 8))
                t5 = scratch + 8192
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = square(x1_i) / x0_i
                    store_f64(t5, i, value)
                call_library(loops, LOG1P, n, (t5, 8, t5, 8))
                t6 = scratch + 10240
                for i in range(n):
                    t5_i = load_f64(t5, i)
                    x0_i = load_f64(x0, i)
                    value = (-0.5 * (x0_i + 1.0)) * t5_i
                    store_f64(t6, i, value)
                call_library(loops, EXP, n, (t6, 8, t6, 8))
                partial = scratch + 12288
                for i in range(n):
                    t3_i = load_f64(t3, i)
                    t6_i = load_f64(t6, i)
                    x0_i = load_f64(x0, i)
                    value = (t3_i / (sqrt(x0_i) * 1.7724538509055159)) * t6_i
                    store_f64(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 14336, 0.0)
        elif x1_dot != 0:
            t3 = scratch + 4096
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = 0.5 * x0_i
                store_f64(t3, i, value)
            t4 = scratch + 6144
            for i in range(n):
                value = 0.5
                store_f64(t4, i, value)
            call_library(loops, POCH, n, (t3, 8, t4, 8, t3, 8))
            t5 = scratch + 8192
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = square(x1_i) / x0_i
                store_f64(t5, i, value)
            call_library(loops, LOG1P, n, (t5, 8, t5, 8))
            t6 = scratch + 10240
            for i in range(n):
                t5_i = load_f64(t5, i)
                x0_i = load_f64(x0, i)
                value = (-0.5 * (x0_i + 1.0)) * t5_i
                store_f64(t6, i, value)
            call_library(loops, EXP, n, (t6, 8, t6, 8))
            d1 = tangent_block(block, 1, x1_dot, scratch + 12288, 0.0)
            target = tangent_target(block, y_dot, scratch + 14336, 0.0)
            for i in range(n):
                d1_i = load_f64(d1, i)
                t3_i = load_f64(t3, i)
                t6_i = load_f64(t6, i)
                x0_i = load_f64(x0, i)
                value = masked_multiply((t3_i / (sqrt(x0_i) * 1.7724538509055159)) * t6_i, d1_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 14336, 0.0)
        start += n
    return 0
