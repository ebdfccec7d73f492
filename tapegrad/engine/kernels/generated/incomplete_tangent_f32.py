"""Elementwise kernels in f32: incomplete, tangent.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

from math import inf

from numba import float32

from tapegrad.engine.kernels.arithmetic import masked_multiply, maximum, minimum, sqrt, square, where
from tapegrad.engine.kernels.blocks import BLOCK, Block, call_library, operand_f32, whole_f32
from tapegrad.engine.kernels.frame import COUNT, X_BAR, Y_BAR
from tapegrad.engine.kernels.library import entry
from tapegrad.engine.kernels.raw_memory import load_f32, load_i64, stack_words, store_f32
from tapegrad.engine.kernels.tangents import (
    ABSENT,
    apply_partials,
    tangent_block,
    tangent_count,
    tangent_finish,
    tangent_target,
    write_zeros,
)

BETALN = entry("betaln", "f")
DIGAMMA = entry("digamma", "f")
EXP = entry("exp", "f")
IGAM_FAC = entry("igam_fac", "f")
LGAMMA = entry("lgamma", "f")
LOG = entry("log", "f")
LOG1P = entry("log1p", "f")
POCH = entry("poch", "f")
XLOG1PY = entry("xlog1py", "f")
XLOGY = entry("xlogy", "f")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "igam_fac_tangent_f32": ("digamma", "log", "positive"),
    "gammainc_tangent_f32": ("igam_fac", "positive"),
    "gammaincc_tangent_f32": ("igam_fac", "positive"),
    "betainc_tangent_f32": ("betaln", "exp", "lgamma", "log", "log1p", "positive", "xlog1py", "xlogy"),
    "betaincc_tangent_f32": ("betaln", "exp", "lgamma", "log", "log1p", "positive", "xlog1py", "xlogy"),
    "stdtr_tangent_f32": ("exp", "log1p", "poch", "positive"),
}


def igam_fac_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (y * (log(x1) - digamma(x0))) * x0_dot + (y * ((x0 - x1) / x1)) * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1408)
    x0_dot = load_i64(frame, X_BAR + 0)
    x1_dot = load_i64(frame, X_BAR + 1)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0 and x1_dot == 0:
        write_zeros(frame, float32(0.0))
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f32(frame, 11, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        y = operand_f32(block, 3, scratch + 2048)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t4 = scratch + 3072
                call_library(loops, LOG, n, (x1, 4, t4, 4))
                t5 = scratch + 4096
                call_library(loops, DIGAMMA, n, (x0, 4, t5, 4))
                partial = scratch + 5120
                for i in range(n):
                    t4_i = load_f32(t4, i)
                    t5_i = load_f32(t5, i)
                    y_i = load_f32(y, i)
                    value = y_i * (t4_i - t5_i)
                    store_f32(partial, i, value)
                p0 = partial
            p1 = ABSENT
            if x1_dot != 0:
                partial = scratch + 6144
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    y_i = load_f32(y, i)
                    value = y_i * ((x0_i - x1_i) / x1_i)
                    store_f32(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 7168, float32(0.0))
        elif x0_dot != 0 and x1_dot != 0:
            t4 = scratch + 3072
            call_library(loops, LOG, n, (x1, 4, t4, 4))
            t5 = scratch + 4096
            call_library(loops, DIGAMMA, n, (x0, 4, t5, 4))
            d0 = tangent_block(block, 0, x0_dot, scratch + 5120, float32(0.0))
            d1 = tangent_block(block, 1, x1_dot, scratch + 6144, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 7168, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                d1_i = load_f32(d1, i)
                t4_i = load_f32(t4, i)
                t5_i = load_f32(t5, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                y_i = load_f32(y, i)
                value = masked_multiply(y_i * (t4_i - t5_i), d0_i)
                term1 = masked_multiply(y_i * ((x0_i - x1_i) / x1_i), d1_i)
                value += term1
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 7168, float32(0.0))
        elif x0_dot != 0:
            t4 = scratch + 3072
            call_library(loops, LOG, n, (x1, 4, t4, 4))
            t5 = scratch + 4096
            call_library(loops, DIGAMMA, n, (x0, 4, t5, 4))
            d0 = tangent_block(block, 0, x0_dot, scratch + 5120, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 6144, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                t4_i = load_f32(t4, i)
                t5_i = load_f32(t5, i)
                y_i = load_f32(y, i)
                value = masked_multiply(y_i * (t4_i - t5_i), d0_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, float32(0.0))
        elif x1_dot != 0:
            d1 = tangent_block(block, 1, x1_dot, scratch + 3072, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 4096, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                y_i = load_f32(y, i)
                value = masked_multiply(y_i * ((x0_i - x1_i) / x1_i), d1_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, float32(0.0))
        start += n
    return 0


def gammainc_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (where(x1 == 0, where(x0 < 1, inf, where(x0 == 1, 1, 0)), igam_fac(x0, x1) / x1)) *
    x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1024)
    x1_dot = load_i64(frame, X_BAR + 1)
    y_dot = load_i64(frame, Y_BAR)
    if x1_dot == 0:
        write_zeros(frame, float32(0.0))
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f32(frame, 11, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        if several:
            p0 = ABSENT
            p1 = ABSENT
            if x1_dot != 0:
                t3 = scratch + 2048
                call_library(loops, IGAM_FAC, n, (x0, 4, x1, 4, t3, 4))
                partial = scratch + 3072
                for i in range(n):
                    t3_i = load_f32(t3, i)
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = (
                        where(x1_i == float32(0.0), where(x0_i < float32(1.0), float32(inf), where(x0_i
                        == float32(1.0), float32(1.0), float32(0.0))), t3_i / x1_i)
                    )
                    store_f32(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 4096, float32(0.0))
        elif x1_dot != 0:
            t3 = scratch + 2048
            call_library(loops, IGAM_FAC, n, (x0, 4, x1, 4, t3, 4))
            d1 = tangent_block(block, 1, x1_dot, scratch + 3072, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 4096, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                t3_i = load_f32(t3, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    masked_multiply(where(x1_i == float32(0.0), where(x0_i < float32(1.0), float32(inf),
                    where(x0_i == float32(1.0), float32(1.0), float32(0.0))), t3_i / x1_i), d1_i)
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, float32(0.0))
        start += n
    return 0


def gammaincc_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (-where(x1 == 0, where(x0 < 1, inf, where(x0 == 1, 1, 0)), igam_fac(x0, x1) / x1)) *
    x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1024)
    x1_dot = load_i64(frame, X_BAR + 1)
    y_dot = load_i64(frame, Y_BAR)
    if x1_dot == 0:
        write_zeros(frame, float32(0.0))
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f32(frame, 11, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        if several:
            p0 = ABSENT
            p1 = ABSENT
            if x1_dot != 0:
                t3 = scratch + 2048
                call_library(loops, IGAM_FAC, n, (x0, 4, x1, 4, t3, 4))
                partial = scratch + 3072
                for i in range(n):
                    t3_i = load_f32(t3, i)
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = (
                        -where(x1_i == float32(0.0), where(x0_i < float32(1.0), float32(inf), where(x0_i
                        == float32(1.0), float32(1.0), float32(0.0))), t3_i / x1_i)
                    )
                    store_f32(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 4096, float32(0.0))
        elif x1_dot != 0:
            t3 = scratch + 2048
            call_library(loops, IGAM_FAC, n, (x0, 4, x1, 4, t3, 4))
            d1 = tangent_block(block, 1, x1_dot, scratch + 3072, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 4096, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                t3_i = load_f32(t3, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    masked_multiply(-where(x1_i == float32(0.0), where(x0_i < float32(1.0),
                    float32(inf), where(x0_i == float32(1.0), float32(1.0), float32(0.0))), t3_i /
                    x1_i), d1_i)
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, float32(0.0))
        start += n
    return 0


def betainc_tangent_f32(frame: int, loops: int) -> int:
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
    scratch = stack_words(2304)
    x2_dot = load_i64(frame, X_BAR + 2)
    y_dot = load_i64(frame, Y_BAR)
    if x2_dot == 0:
        write_zeros(frame, float32(0.0))
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f32(frame, 15, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        x2 = operand_f32(block, 2, scratch + 2048)
        if several:
            p0 = ABSENT
            p1 = ABSENT
            p2 = ABSENT
            if x2_dot != 0:
                t4 = scratch + 3072
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    x2_i = load_f32(x2, i)
                    value = ((x2_i * x1_i) - ((float32(1.0) - x2_i) * x0_i)) / x0_i
                    store_f32(t4, i, value)
                call_library(loops, LOG1P, n, (t4, 4, t4, 4))
                t5 = scratch + 4096
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    x2_i = load_f32(x2, i)
                    value = -((x2_i * x1_i) - ((float32(1.0) - x2_i) * x0_i)) / x1_i
                    store_f32(t5, i, value)
                call_library(loops, LOG1P, n, (t5, 4, t5, 4))
                t6 = scratch + 5120
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = minimum(x0_i, x1_i)
                    store_f32(t6, i, value)
                call_library(loops, LGAMMA, n, (t6, 4, t6, 4))
                t7 = scratch + 6144
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = minimum(x0_i, x1_i)
                    store_f32(t7, i, value)
                call_library(loops, LOG, n, (t7, 4, t7, 4))
                t8 = scratch + 7168
                for i in range(n):
                    t4_i = load_f32(t4, i)
                    t5_i = load_f32(t5, i)
                    t6_i = load_f32(t6, i)
                    t7_i = load_f32(t7, i)
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = (
                        (((((x0_i * t4_i) + (x1_i * t5_i)) + (((float32(1.0) / float32(12.0)) +
                        (square(float32(1.0) / (x0_i + x1_i)) * ((-float32(1.0) / float32(360.0)) +
                        (square(float32(1.0) / (x0_i + x1_i)) * ((float32(1.0) / float32(1260.0)) +
                        (square(float32(1.0) / (x0_i + x1_i)) * (-float32(1.0) / float32(1680.0))))))))
                        / (x0_i + x1_i))) - (((float32(1.0) / float32(12.0)) + (square(float32(1.0) /
                        maximum(x0_i, x1_i)) * ((-float32(1.0) / float32(360.0)) + (square(float32(1.0)
                        / maximum(x0_i, x1_i)) * ((float32(1.0) / float32(1260.0)) +
                        (square(float32(1.0) / maximum(x0_i, x1_i)) * (-float32(1.0) /
                        float32(1680.0)))))))) / maximum(x0_i, x1_i))) - where(minimum(x0_i, x1_i) <
                        float32(30.0), ((t6_i - ((minimum(x0_i, x1_i) - float32(0.5)) * t7_i)) +
                        minimum(x0_i, x1_i)) - float32(0.9189385332046727), ((float32(1.0) /
                        float32(12.0)) + (square(float32(1.0) / minimum(x0_i, x1_i)) * ((-float32(1.0) /
                        float32(360.0)) + (square(float32(1.0) / minimum(x0_i, x1_i)) * ((float32(1.0) /
                        float32(1260.0)) + (square(float32(1.0) / minimum(x0_i, x1_i)) * (-float32(1.0)
                        / float32(1680.0)))))))) / minimum(x0_i, x1_i))) - float32(0.9189385332046727)
                    )
                    store_f32(t8, i, value)
                call_library(loops, EXP, n, (t8, 4, t8, 4))
                t9 = scratch + 8192
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    value = x0_i - float32(1.0)
                    store_f32(t9, i, value)
                call_library(loops, XLOGY, n, (t9, 4, x2, 4, t9, 4))
                t10 = scratch + 9216
                for i in range(n):
                    x1_i = load_f32(x1, i)
                    value = x1_i - float32(1.0)
                    store_f32(t10, i, value)
                t11 = scratch + 10240
                for i in range(n):
                    x2_i = load_f32(x2, i)
                    value = -x2_i
                    store_f32(t11, i, value)
                call_library(loops, XLOG1PY, n, (t10, 4, t11, 4, t10, 4))
                t12 = scratch + 11264
                call_library(loops, BETALN, n, (x0, 4, x1, 4, t12, 4))
                t13 = scratch + 12288
                for i in range(n):
                    t10_i = load_f32(t10, i)
                    t12_i = load_f32(t12, i)
                    t9_i = load_f32(t9, i)
                    value = (t9_i + t10_i) - t12_i
                    store_f32(t13, i, value)
                call_library(loops, EXP, n, (t13, 4, t13, 4))
                partial = scratch + 13312
                for i in range(n):
                    t13_i = load_f32(t13, i)
                    t8_i = load_f32(t8, i)
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    x2_i = load_f32(x2, i)
                    value = (
                        where(((maximum(x0_i, x1_i) > float32(30.0)) & (x2_i > float32(0.0))) & (x2_i <
                        float32(1.0)), (t8_i * sqrt((x0_i / (x0_i + x1_i)) * x1_i)) / (x2_i *
                        (float32(1.0) - x2_i)), t13_i)
                    )
                    store_f32(partial, i, value)
                p2 = partial
            apply_partials(block, p0, p1, p2, scratch + 14336, float32(0.0))
        elif x2_dot != 0:
            t4 = scratch + 3072
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                x2_i = load_f32(x2, i)
                value = ((x2_i * x1_i) - ((float32(1.0) - x2_i) * x0_i)) / x0_i
                store_f32(t4, i, value)
            call_library(loops, LOG1P, n, (t4, 4, t4, 4))
            t5 = scratch + 4096
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                x2_i = load_f32(x2, i)
                value = -((x2_i * x1_i) - ((float32(1.0) - x2_i) * x0_i)) / x1_i
                store_f32(t5, i, value)
            call_library(loops, LOG1P, n, (t5, 4, t5, 4))
            t6 = scratch + 5120
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = minimum(x0_i, x1_i)
                store_f32(t6, i, value)
            call_library(loops, LGAMMA, n, (t6, 4, t6, 4))
            t7 = scratch + 6144
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = minimum(x0_i, x1_i)
                store_f32(t7, i, value)
            call_library(loops, LOG, n, (t7, 4, t7, 4))
            t8 = scratch + 7168
            for i in range(n):
                t4_i = load_f32(t4, i)
                t5_i = load_f32(t5, i)
                t6_i = load_f32(t6, i)
                t7_i = load_f32(t7, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    (((((x0_i * t4_i) + (x1_i * t5_i)) + (((float32(1.0) / float32(12.0)) +
                    (square(float32(1.0) / (x0_i + x1_i)) * ((-float32(1.0) / float32(360.0)) +
                    (square(float32(1.0) / (x0_i + x1_i)) * ((float32(1.0) / float32(1260.0)) +
                    (square(float32(1.0) / (x0_i + x1_i)) * (-float32(1.0) / float32(1680.0)))))))) /
                    (x0_i + x1_i))) - (((float32(1.0) / float32(12.0)) + (square(float32(1.0) /
                    maximum(x0_i, x1_i)) * ((-float32(1.0) / float32(360.0)) + (square(float32(1.0) /
                    maximum(x0_i, x1_i)) * ((float32(1.0) / float32(1260.0)) + (square(float32(1.0) /
                    maximum(x0_i, x1_i)) * (-float32(1.0) / float32(1680.0)))))))) / maximum(x0_i,
                    x1_i))) - where(minimum(x0_i, x1_i) < float32(30.0), ((t6_i - ((minimum(x0_i, x1_i)
                    - float32(0.5)) * t7_i)) + minimum(x0_i, x1_i)) - float32(0.9189385332046727),
                    ((float32(1.0) / float32(12.0)) + (square(float32(1.0) / minimum(x0_i, x1_i)) *
                    ((-float32(1.0) / float32(360.0)) + (square(float32(1.0) / minimum(x0_i, x1_i)) *
                    ((float32(1.0) / float32(1260.0)) + (square(float32(1.0) / minimum(x0_i, x1_i)) *
                    (-float32(1.0) / float32(1680.0)))))))) / minimum(x0_i, x1_i))) -
                    float32(0.9189385332046727)
                )
                store_f32(t8, i, value)
            call_library(loops, EXP, n, (t8, 4, t8, 4))
            t9 = scratch + 8192
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i - float32(1.0)
                store_f32(t9, i, value)
            call_library(loops, XLOGY, n, (t9, 4, x2, 4, t9, 4))
            t10 = scratch + 9216
            for i in range(n):
                x1_i = load_f32(x1, i)
                value = x1_i - float32(1.0)
                store_f32(t10, i, value)
            t11 = scratch + 10240
            for i in range(n):
                x2_i = load_f32(x2, i)
                value = -x2_i
                store_f32(t11, i, value)
            call_library(loops, XLOG1PY, n, (t10, 4, t11, 4, t10, 4))
            t12 = scratch + 11264
            call_library(loops, BETALN, n, (x0, 4, x1, 4, t12, 4))
            t13 = scratch + 12288
            for i in range(n):
                t10_i = load_f32(t10, i)
                t12_i = load_f32(t12, i)
                t9_i = load_f32(t9, i)
                value = (t9_i + t10_i) - t12_i
                store_f32(t13, i, value)
            call_library(loops, EXP, n, (t13, 4, t13, 4))
            d2 = tangent_block(block, 2, x2_dot, scratch + 13312, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 14336, float32(0.0))
            for i in range(n):
                d2_i = load_f32(d2, i)
                t13_i = load_f32(t13, i)
                t8_i = load_f32(t8, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                x2_i = load_f32(x2, i)
                value = (
                    masked_multiply(where(((maximum(x0_i, x1_i) > float32(30.0)) & (x2_i >
                    float32(0.0))) & (x2_i < float32(1.0)), (t8_i * sqrt((x0_i / (x0_i + x1_i)) * x1_i))
                    / (x2_i * (float32(1.0) - x2_i)), t13_i), d2_i)
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 14336, float32(0.0))
        start += n
    return 0


def betaincc_tangent_f32(frame: int, loops: int) -> int:
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
    scratch = stack_words(2304)
    x2_dot = load_i64(frame, X_BAR + 2)
    y_dot = load_i64(frame, Y_BAR)
    if x2_dot == 0:
        write_zeros(frame, float32(0.0))
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f32(frame, 15, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        x2 = operand_f32(block, 2, scratch + 2048)
        if several:
            p0 = ABSENT
            p1 = ABSENT
            p2 = ABSENT
            if x2_dot != 0:
                t4 = scratch + 3072
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    x2_i = load_f32(x2, i)
                    value = ((x2_i * x1_i) - ((float32(1.0) - x2_i) * x0_i)) / x0_i
                    store_f32(t4, i, value)
                call_library(loops, LOG1P, n, (t4, 4, t4, 4))
                t5 = scratch + 4096
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    x2_i = load_f32(x2, i)
                    value = -((x2_i * x1_i) - ((float32(1.0) - x2_i) * x0_i)) / x1_i
                    store_f32(t5, i, value)
                call_library(loops, LOG1P, n, (t5, 4, t5, 4))
                t6 = scratch + 5120
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = minimum(x0_i, x1_i)
                    store_f32(t6, i, value)
                call_library(loops, LGAMMA, n, (t6, 4, t6, 4))
                t7 = scratch + 6144
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = minimum(x0_i, x1_i)
                    store_f32(t7, i, value)
                call_library(loops, LOG, n, (t7, 4, t7, 4))
                t8 = scratch + 7168
                for i in range(n):
                    t4_i = load_f32(t4, i)
                    t5_i = load_f32(t5, i)
                    t6_i = load_f32(t6, i)
                    t7_i = load_f32(t7, i)
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = (
                        (((((x0_i * t4_i) + (x1_i * t5_i)) + (((float32(1.0) / float32(12.0)) +
                        (square(float32(1.0) / (x0_i + x1_i)) * ((-float32(1.0) / float32(360.0)) +
                        (square(float32(1.0) / (x0_i + x1_i)) * ((float32(1.0) / float32(1260.0)) +
                        (square(float32(1.0) / (x0_i + x1_i)) * (-float32(1.0) / float32(1680.0))))))))
                        / (x0_i + x1_i))) - (((float32(1.0) / float32(12.0)) + (square(float32(1.0) /
                        maximum(x0_i, x1_i)) * ((-float32(1.0) / float32(360.0)) + (square(float32(1.0)
                        / maximum(x0_i, x1_i)) * ((float32(1.0) / float32(1260.0)) +
                        (square(float32(1.0) / maximum(x0_i, x1_i)) * (-float32(1.0) /
                        float32(1680.0)))))))) / maximum(x0_i, x1_i))) - where(minimum(x0_i, x1_i) <
                        float32(30.0), ((t6_i - ((minimum(x0_i, x1_i) - float32(0.5)) * t7_i)) +
                        minimum(x0_i, x1_i)) - float32(0.9189385332046727), ((float32(1.0) /
                        float32(12.0)) + (square(float32(1.0) / minimum(x0_i, x1_i)) * ((-float32(1.0) /
                        float32(360.0)) + (square(float32(1.0) / minimum(x0_i, x1_i)) * ((float32(1.0) /
                        float32(1260.0)) + (square(float32(1.0) / minimum(x0_i, x1_i)) * (-float32(1.0)
                        / float32(1680.0)))))))) / minimum(x0_i, x1_i))) - float32(0.9189385332046727)
                    )
                    store_f32(t8, i, value)
                call_library(loops, EXP, n, (t8, 4, t8, 4))
                t9 = scratch + 8192
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    value = x0_i - float32(1.0)
                    store_f32(t9, i, value)
                call_library(loops, XLOGY, n, (t9, 4, x2, 4, t9, 4))
                t10 = scratch + 9216
                for i in range(n):
                    x1_i = load_f32(x1, i)
                    value = x1_i - float32(1.0)
                    store_f32(t10, i, value)
                t11 = scratch + 10240
                for i in range(n):
                    x2_i = load_f32(x2, i)
                    value = -x2_i
                    store_f32(t11, i, value)
                call_library(loops, XLOG1PY, n, (t10, 4, t11, 4, t10, 4))
                t12 = scratch + 11264
                call_library(loops, BETALN, n, (x0, 4, x1, 4, t12, 4))
                t13 = scratch + 12288
                for i in range(n):
                    t10_i = load_f32(t10, i)
                    t12_i = load_f32(t12, i)
                    t9_i = load_f32(t9, i)
                    value = (t9_i + t10_i) - t12_i
                    store_f32(t13, i, value)
                call_library(loops, EXP, n, (t13, 4, t13, 4))
                partial = scratch + 13312
                for i in range(n):
                    t13_i = load_f32(t13, i)
                    t8_i = load_f32(t8, i)
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    x2_i = load_f32(x2, i)
                    value = (
                        -where(((maximum(x0_i, x1_i) > float32(30.0)) & (x2_i > float32(0.0))) & (x2_i <
                        float32(1.0)), (t8_i * sqrt((x0_i / (x0_i + x1_i)) * x1_i)) / (x2_i *
                        (float32(1.0) - x2_i)), t13_i)
                    )
                    store_f32(partial, i, value)
                p2 = partial
            apply_partials(block, p0, p1, p2, scratch + 14336, float32(0.0))
        elif x2_dot != 0:
            t4 = scratch + 3072
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                x2_i = load_f32(x2, i)
                value = ((x2_i * x1_i) - ((float32(1.0) - x2_i) * x0_i)) / x0_i
                store_f32(t4, i, value)
            call_library(loops, LOG1P, n, (t4, 4, t4, 4))
            t5 = scratch + 4096
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                x2_i = load_f32(x2, i)
                value = -((x2_i * x1_i) - ((float32(1.0) - x2_i) * x0_i)) / x1_i
                store_f32(t5, i, value)
            call_library(loops, LOG1P, n, (t5, 4, t5, 4))
            t6 = scratch + 5120
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = minimum(x0_i, x1_i)
                store_f32(t6, i, value)
            call_library(loops, LGAMMA, n, (t6, 4, t6, 4))
            t7 = scratch + 6144
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = minimum(x0_i, x1_i)
                store_f32(t7, i, value)
            call_library(loops, LOG, n, (t7, 4, t7, 4))
            t8 = scratch + 7168
            for i in range(n):
                t4_i = load_f32(t4, i)
                t5_i = load_f32(t5, i)
                t6_i = load_f32(t6, i)
                t7_i = load_f32(t7, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    (((((x0_i * t4_i) + (x1_i * t5_i)) + (((float32(1.0) / float32(12.0)) +
                    (square(float32(1.0) / (x0_i + x1_i)) * ((-float32(1.0) / float32(360.0)) +
                    (square(float32(1.0) / (x0_i + x1_i)) * ((float32(1.0) / float32(1260.0)) +
                    (square(float32(1.0) / (x0_i + x1_i)) * (-float32(1.0) / float32(1680.0)))))))) /
                    (x0_i + x1_i))) - (((float32(1.0) / float32(12.0)) + (square(float32(1.0) /
                    maximum(x0_i, x1_i)) * ((-float32(1.0) / float32(360.0)) + (square(float32(1.0) /
                    maximum(x0_i, x1_i)) * ((float32(1.0) / float32(1260.0)) + (square(float32(1.0) /
                    maximum(x0_i, x1_i)) * (-float32(1.0) / float32(1680.0)))))))) / maximum(x0_i,
                    x1_i))) - where(minimum(x0_i, x1_i) < float32(30.0), ((t6_i - ((minimum(x0_i, x1_i)
                    - float32(0.5)) * t7_i)) + minimum(x0_i, x1_i)) - float32(0.9189385332046727),
                    ((float32(1.0) / float32(12.0)) + (square(float32(1.0) / minimum(x0_i, x1_i)) *
                    ((-float32(1.0) / float32(360.0)) + (square(float32(1.0) / minimum(x0_i, x1_i)) *
                    ((float32(1.0) / float32(1260.0)) + (square(float32(1.0) / minimum(x0_i, x1_i)) *
                    (-float32(1.0) / float32(1680.0)))))))) / minimum(x0_i, x1_i))) -
                    float32(0.9189385332046727)
                )
                store_f32(t8, i, value)
            call_library(loops, EXP, n, (t8, 4, t8, 4))
            t9 = scratch + 8192
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i - float32(1.0)
                store_f32(t9, i, value)
            call_library(loops, XLOGY, n, (t9, 4, x2, 4, t9, 4))
            t10 = scratch + 9216
            for i in range(n):
                x1_i = load_f32(x1, i)
                value = x1_i - float32(1.0)
                store_f32(t10, i, value)
            t11 = scratch + 10240
            for i in range(n):
                x2_i = load_f32(x2, i)
                value = -x2_i
                store_f32(t11, i, value)
            call_library(loops, XLOG1PY, n, (t10, 4, t11, 4, t10, 4))
            t12 = scratch + 11264
            call_library(loops, BETALN, n, (x0, 4, x1, 4, t12, 4))
            t13 = scratch + 12288
            for i in range(n):
                t10_i = load_f32(t10, i)
                t12_i = load_f32(t12, i)
                t9_i = load_f32(t9, i)
                value = (t9_i + t10_i) - t12_i
                store_f32(t13, i, value)
            call_library(loops, EXP, n, (t13, 4, t13, 4))
            d2 = tangent_block(block, 2, x2_dot, scratch + 13312, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 14336, float32(0.0))
            for i in range(n):
                d2_i = load_f32(d2, i)
                t13_i = load_f32(t13, i)
                t8_i = load_f32(t8, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                x2_i = load_f32(x2, i)
                value = (
                    masked_multiply(-where(((maximum(x0_i, x1_i) > float32(30.0)) & (x2_i >
                    float32(0.0))) & (x2_i < float32(1.0)), (t8_i * sqrt((x0_i / (x0_i + x1_i)) * x1_i))
                    / (x2_i * (float32(1.0) - x2_i)), t13_i), d2_i)
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 14336, float32(0.0))
        start += n
    return 0


def stdtr_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (poch(0.5 * x0, 0.5) / (sqrt(x0) * sqrt_pi) * exp(-0.5 * (x0 + 1) * log1p(square(x1) / x0)))
    * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1408)
    x1_dot = load_i64(frame, X_BAR + 1)
    y_dot = load_i64(frame, Y_BAR)
    if x1_dot == 0:
        write_zeros(frame, float32(0.0))
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f32(frame, 11, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        if several:
            p0 = ABSENT
            p1 = ABSENT
            if x1_dot != 0:
                t3 = scratch + 2048
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    value = float32(0.5) * x0_i
                    store_f32(t3, i, value)
                t4 = scratch + 3072
                for i in range(n):
                    value = float32(0.5)
                    store_f32(t4, i, value)
                call_library(loops, POCH, n, (t3, 4, t4, 4, t3, 4))
                t5 = scratch + 4096
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = square(x1_i) / x0_i
                    store_f32(t5, i, value)
                call_library(loops, LOG1P, n, (t5, 4, t5, 4))
                t6 = scratch + 5120
                for i in range(n):
                    t5_i = load_f32(t5, i)
                    x0_i = load_f32(x0, i)
                    value = (-float32(0.5) * (x0_i + float32(1.0))) * t5_i
                    store_f32(t6, i, value)
                call_library(loops, EXP, n, (t6, 4, t6, 4))
                partial = scratch + 6144
                for i in range(n):
                    t3_i = load_f32(t3, i)
                    t6_i = load_f32(t6, i)
                    x0_i = load_f32(x0, i)
                    value = (t3_i / (sqrt(x0_i) * float32(1.7724538509055159))) * t6_i
                    store_f32(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 7168, float32(0.0))
        elif x1_dot != 0:
            t3 = scratch + 2048
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = float32(0.5) * x0_i
                store_f32(t3, i, value)
            t4 = scratch + 3072
            for i in range(n):
                value = float32(0.5)
                store_f32(t4, i, value)
            call_library(loops, POCH, n, (t3, 4, t4, 4, t3, 4))
            t5 = scratch + 4096
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = square(x1_i) / x0_i
                store_f32(t5, i, value)
            call_library(loops, LOG1P, n, (t5, 4, t5, 4))
            t6 = scratch + 5120
            for i in range(n):
                t5_i = load_f32(t5, i)
                x0_i = load_f32(x0, i)
                value = (-float32(0.5) * (x0_i + float32(1.0))) * t5_i
                store_f32(t6, i, value)
            call_library(loops, EXP, n, (t6, 4, t6, 4))
            d1 = tangent_block(block, 1, x1_dot, scratch + 6144, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 7168, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                t3_i = load_f32(t3, i)
                t6_i = load_f32(t6, i)
                x0_i = load_f32(x0, i)
                value = masked_multiply((t3_i / (sqrt(x0_i) * float32(1.7724538509055159))) * t6_i, d1_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 7168, float32(0.0))
        start += n
    return 0
