"""Elementwise kernels in f32: incomplete.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

from math import inf

from numba import float32

from tapegrad.engine.kernels.arithmetic import masked_multiply, maximum, minimum, sqrt, square, where
from tapegrad.engine.kernels.blocks import BLOCK, Block, bar_f32, call_library, operand_f32, whole_f32
from tapegrad.engine.kernels.cotangents import (
    close_f32,
    contributions_f32,
    end_f32,
    load_masked_f32,
    open_f32,
)
from tapegrad.engine.kernels.frame import COUNT, STRIDE, X_BAR, Y_STRIDE, X, Y
from tapegrad.engine.kernels.library import entry
from tapegrad.engine.kernels.raw_memory import load_f32, load_i64, stack_words, store_f32

BETAINC = entry("betainc", "f")
BETAINCC = entry("betaincc", "f")
BETALN = entry("betaln", "f")
DIGAMMA = entry("digamma", "f")
EXP = entry("exp", "f")
GAMMAINC = entry("gammainc", "f")
GAMMAINCC = entry("gammaincc", "f")
IGAM_FAC = entry("igam_fac", "f")
LGAMMA = entry("lgamma", "f")
LOG = entry("log", "f")
LOG1P = entry("log1p", "f")
POCH = entry("poch", "f")
STDTR = entry("stdtr", "f")
XLOG1PY = entry("xlog1py", "f")
XLOGY = entry("xlogy", "f")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "igam_fac_forward_f32": ("igam_fac",),
    "igam_fac_reverse_f32": ("add", "digamma", "log", "positive"),
    "gammainc_forward_f32": ("gammainc",),
    "gammainc_reverse_f32": ("add", "igam_fac", "positive"),
    "gammaincc_forward_f32": ("gammaincc",),
    "gammaincc_reverse_f32": ("add", "igam_fac", "positive"),
    "betainc_forward_f32": ("betainc",),
    "betainc_reverse_f32": ("add", "betaln", "exp", "lgamma", "log", "log1p", "positive", "xlog1py", "xlogy"),
    "betaincc_forward_f32": ("betaincc",),
    "betaincc_reverse_f32": ("add", "betaln", "exp", "lgamma", "log", "log1p", "positive", "xlog1py", "xlogy"),
    "stdtr_forward_f32": ("stdtr",),
    "stdtr_reverse_f32": ("add", "exp", "log1p", "poch", "positive"),
}


def igam_fac_forward_f32(frame: int, loops: int) -> int:
    """y = igam_fac(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, IGAM_FAC, count, arrays)
    return 0


def igam_fac_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (y * (log(x1) - digamma(x0))) to x0_bar; y_bar * (y * ((x0 - x1) / x1)) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(896)
    whole = whole_f32(frame, 11, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    x1_mask = open_f32(whole, frame, 1)
    x1_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x0 = operand_f32(block, 0, scratch + 1024)
        x1 = operand_f32(block, 1, scratch + 2048)
        y = operand_f32(block, 3, scratch + 3072)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 4096)
            t6 = scratch + 5120
            call_library(loops, LOG, n, (x1, 4, t6, 4))
            t7 = scratch + 6144
            call_library(loops, DIGAMMA, n, (x0, 4, t7, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t6_i = load_f32(t6, i)
                t7_i = load_f32(t7, i)
                y_i = load_f32(y, i)
                value = masked_multiply(bar, y_i * (t6_i - t7_i))
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 4096)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 4096)
            for i in range(n):
                bar = load_f32(y_bar, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                y_i = load_f32(y, i)
                value = masked_multiply(bar, y_i * ((x0_i - x1_i) / x1_i))
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 4096)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    end_f32(whole, frame, 1, x1_sum)
    return 0


def gammainc_forward_f32(frame: int, loops: int) -> int:
    """y = gammainc(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, GAMMAINC, count, arrays)
    return 0


def gammainc_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (where(x1 == 0, where(x0 < 1, inf, where(x0 == 1, 1, 0)), igam_fac(x0, x1) / x1)) to
    x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(640)
    whole = whole_f32(frame, 11, 0)
    x1_mask = open_f32(whole, frame, 1)
    x1_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x0 = operand_f32(block, 0, scratch + 1024)
        x1 = operand_f32(block, 1, scratch + 2048)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 3072)
            t5 = scratch + 4096
            call_library(loops, IGAM_FAC, n, (x0, 4, x1, 4, t5, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    where(x1_i == float32(0.0), where(x0_i < float32(1.0), masked_multiply(bar,
                    float32(inf)), where(x0_i == float32(1.0), bar, float32(0.0))), masked_multiply(bar,
                    t5_i / x1_i))
                )
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 3072)
        start += n
    end_f32(whole, frame, 1, x1_sum)
    return 0


def gammaincc_forward_f32(frame: int, loops: int) -> int:
    """y = gammaincc(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, GAMMAINCC, count, arrays)
    return 0


def gammaincc_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (-where(x1 == 0, where(x0 < 1, inf, where(x0 == 1, 1, 0)), igam_fac(x0, x1) / x1)) to
    x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(640)
    whole = whole_f32(frame, 11, 0)
    x1_mask = open_f32(whole, frame, 1)
    x1_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x0 = operand_f32(block, 0, scratch + 1024)
        x1 = operand_f32(block, 1, scratch + 2048)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 3072)
            t5 = scratch + 4096
            call_library(loops, IGAM_FAC, n, (x0, 4, x1, 4, t5, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    -where(x1_i == float32(0.0), where(x0_i < float32(1.0), masked_multiply(bar,
                    float32(inf)), where(x0_i == float32(1.0), bar, float32(0.0))), masked_multiply(bar,
                    t5_i / x1_i))
                )
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 3072)
        start += n
    end_f32(whole, frame, 1, x1_sum)
    return 0


def betainc_forward_f32(frame: int, loops: int) -> int:
    """y = betainc(x0, x1, x2)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, X + 2), load_i64(frame, STRIDE + 2),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, BETAINC, count, arrays)
    return 0


def betainc_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (where((maximum(x0, x1) > 30) & (x2 > 0) & (x2 < 1), exp(x0 * log1p((x2 * x1 - (1 - x2) * x0)
    / x0) + x1 * log1p(-(x2 * x1 - (1 - x2) * x0) / x1) + (1 / 12 + square(1 / (x0 + x1)) * (-1 / 360 +
    square(1 / (x0 + x1)) * (1 / 1260 + square(1 / (x0 + x1)) * (-1 / 1680)))) / (x0 + x1) - (1 / 12 +
    square(1 / maximum(x0, x1)) * (-1 / 360 + square(1 / maximum(x0, x1)) * (1 / 1260 + square(1 /
    maximum(x0, x1)) * (-1 / 1680)))) / maximum(x0, x1) - where(minimum(x0, x1) < 30, lgamma(minimum(x0,
    x1)) - (minimum(x0, x1) - 0.5) * log(minimum(x0, x1)) + minimum(x0, x1) - half_log_2pi, (1 / 12 +
    square(1 / minimum(x0, x1)) * (-1 / 360 + square(1 / minimum(x0, x1)) * (1 / 1260 + square(1 /
    minimum(x0, x1)) * (-1 / 1680)))) / minimum(x0, x1)) - half_log_2pi) * sqrt(x0 / (x0 + x1) * x1) / (x2 *
    (1 - x2)), exp(xlogy(x0 - 1, x2) + xlog1py(x1 - 1, -x2) - betaln(x0, x1)))) to x2_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1920)
    whole = whole_f32(frame, 15, 0)
    x2_mask = open_f32(whole, frame, 2)
    x2_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x0 = operand_f32(block, 0, scratch + 1024)
        x1 = operand_f32(block, 1, scratch + 2048)
        x2 = operand_f32(block, 2, scratch + 3072)
        if load_i64(frame, X_BAR + 2) != 0:
            x2_bar = contributions_f32(block, 2, scratch + 4096)
            t6 = scratch + 5120
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                x2_i = load_f32(x2, i)
                value = ((x2_i * x1_i) - ((float32(1.0) - x2_i) * x0_i)) / x0_i
                store_f32(t6, i, value)
            call_library(loops, LOG1P, n, (t6, 4, t6, 4))
            t7 = scratch + 6144
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                x2_i = load_f32(x2, i)
                value = -((x2_i * x1_i) - ((float32(1.0) - x2_i) * x0_i)) / x1_i
                store_f32(t7, i, value)
            call_library(loops, LOG1P, n, (t7, 4, t7, 4))
            t8 = scratch + 7168
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = minimum(x0_i, x1_i)
                store_f32(t8, i, value)
            call_library(loops, LGAMMA, n, (t8, 4, t8, 4))
            t9 = scratch + 8192
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = minimum(x0_i, x1_i)
                store_f32(t9, i, value)
            call_library(loops, LOG, n, (t9, 4, t9, 4))
            t10 = scratch + 9216
            for i in range(n):
                t6_i = load_f32(t6, i)
                t7_i = load_f32(t7, i)
                t8_i = load_f32(t8, i)
                t9_i = load_f32(t9, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    (((((x0_i * t6_i) + (x1_i * t7_i)) + (((float32(1.0) / float32(12.0)) +
                    (square(float32(1.0) / (x0_i + x1_i)) * ((-float32(1.0) / float32(360.0)) +
                    (square(float32(1.0) / (x0_i + x1_i)) * ((float32(1.0) / float32(1260.0)) +
                    (square(float32(1.0) / (x0_i + x1_i)) * (-float32(1.0) / float32(1680.0)))))))) /
                    (x0_i + x1_i))) - (((float32(1.0) / float32(12.0)) + (square(float32(1.0) /
                    maximum(x0_i, x1_i)) * ((-float32(1.0) / float32(360.0)) + (square(float32(1.0) /
                    maximum(x0_i, x1_i)) * ((float32(1.0) / float32(1260.0)) + (square(float32(1.0) /
                    maximum(x0_i, x1_i)) * (-float32(1.0) / float32(1680.0)))))))) / maximum(x0_i,
                    x1_i))) - where(minimum(x0_i, x1_i) < float32(30.0), ((t8_i - ((minimum(x0_i, x1_i)
                    - float32(0.5)) * t9_i)) + minimum(x0_i, x1_i)) - float32(0.9189385332046727),
                    ((float32(1.0) / float32(12.0)) + (square(float32(1.0) / minimum(x0_i, x1_i)) *
                    ((-float32(1.0) / float32(360.0)) + (square(float32(1.0) / minimum(x0_i, x1_i)) *
                    ((float32(1.0) / float32(1260.0)) + (square(float32(1.0) / minimum(x0_i, x1_i)) *
                    (-float32(1.0) / float32(1680.0)))))))) / minimum(x0_i, x1_i))) -
                    float32(0.9189385332046727)
                )
                store_f32(t10, i, value)
            call_library(loops, EXP, n, (t10, 4, t10, 4))
            t11 = scratch + 10240
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i - float32(1.0)
                store_f32(t11, i, value)
            call_library(loops, XLOGY, n, (t11, 4, x2, 4, t11, 4))
            t12 = scratch + 11264
            for i in range(n):
                x1_i = load_f32(x1, i)
                value = x1_i - float32(1.0)
                store_f32(t12, i, value)
            t13 = scratch + 12288
            for i in range(n):
                x2_i = load_f32(x2, i)
                value = -x2_i
                store_f32(t13, i, value)
            call_library(loops, XLOG1PY, n, (t12, 4, t13, 4, t12, 4))
            t14 = scratch + 13312
            call_library(loops, BETALN, n, (x0, 4, x1, 4, t14, 4))
            t15 = scratch + 14336
            for i in range(n):
                t11_i = load_f32(t11, i)
                t12_i = load_f32(t12, i)
                t14_i = load_f32(t14, i)
                value = (t11_i + t12_i) - t14_i
                store_f32(t15, i, value)
            call_library(loops, EXP, n, (t15, 4, t15, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t10_i = load_f32(t10, i)
                t15_i = load_f32(t15, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                x2_i = load_f32(x2, i)
                value = (
                    where(((maximum(x0_i, x1_i) > float32(30.0)) & (x2_i > float32(0.0))) & (x2_i <
                    float32(1.0)), masked_multiply(bar, (t10_i * sqrt((x0_i / (x0_i + x1_i)) * x1_i)) /
                    (x2_i * (float32(1.0) - x2_i))), masked_multiply(bar, t15_i))
                )
                store_f32(x2_bar, i, load_masked_f32(x2_bar, i, x2_mask) + value)
            x2_sum += close_f32(block, 2, scratch + 4096)
        start += n
    end_f32(whole, frame, 2, x2_sum)
    return 0


def betaincc_forward_f32(frame: int, loops: int) -> int:
    """y = betaincc(x0, x1, x2)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, X + 2), load_i64(frame, STRIDE + 2),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, BETAINCC, count, arrays)
    return 0


def betaincc_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (-where((maximum(x0, x1) > 30) & (x2 > 0) & (x2 < 1), exp(x0 * log1p((x2 * x1 - (1 - x2) *
    x0) / x0) + x1 * log1p(-(x2 * x1 - (1 - x2) * x0) / x1) + (1 / 12 + square(1 / (x0 + x1)) * (-1 / 360 +
    square(1 / (x0 + x1)) * (1 / 1260 + square(1 / (x0 + x1)) * (-1 / 1680)))) / (x0 + x1) - (1 / 12 +
    square(1 / maximum(x0, x1)) * (-1 / 360 + square(1 / maximum(x0, x1)) * (1 / 1260 + square(1 /
    maximum(x0, x1)) * (-1 / 1680)))) / maximum(x0, x1) - where(minimum(x0, x1) < 30, lgamma(minimum(x0,
    x1)) - (minimum(x0, x1) - 0.5) * log(minimum(x0, x1)) + minimum(x0, x1) - half_log_2pi, (1 / 12 +
    square(1 / minimum(x0, x1)) * (-1 / 360 + square(1 / minimum(x0, x1)) * (1 / 1260 + square(1 /
    minimum(x0, x1)) * (-1 / 1680)))) / minimum(x0, x1)) - half_log_2pi) * sqrt(x0 / (x0 + x1) * x1) / (x2 *
    (1 - x2)), exp(xlogy(x0 - 1, x2) + xlog1py(x1 - 1, -x2) - betaln(x0, x1)))) to x2_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1920)
    whole = whole_f32(frame, 15, 0)
    x2_mask = open_f32(whole, frame, 2)
    x2_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x0 = operand_f32(block, 0, scratch + 1024)
        x1 = operand_f32(block, 1, scratch + 2048)
        x2 = operand_f32(block, 2, scratch + 3072)
        if load_i64(frame, X_BAR + 2) != 0:
            x2_bar = contributions_f32(block, 2, scratch + 4096)
            t6 = scratch + 5120
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                x2_i = load_f32(x2, i)
                value = ((x2_i * x1_i) - ((float32(1.0) - x2_i) * x0_i)) / x0_i
                store_f32(t6, i, value)
            call_library(loops, LOG1P, n, (t6, 4, t6, 4))
            t7 = scratch + 6144
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                x2_i = load_f32(x2, i)
                value = -((x2_i * x1_i) - ((float32(1.0) - x2_i) * x0_i)) / x1_i
                store_f32(t7, i, value)
            call_library(loops, LOG1P, n, (t7, 4, t7, 4))
            t8 = scratch + 7168
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = minimum(x0_i, x1_i)
                store_f32(t8, i, value)
            call_library(loops, LGAMMA, n, (t8, 4, t8, 4))
            t9 = scratch + 8192
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = minimum(x0_i, x1_i)
                store_f32(t9, i, value)
            call_library(loops, LOG, n, (t9, 4, t9, 4))
            t10 = scratch + 9216
            for i in range(n):
                t6_i = load_f32(t6, i)
                t7_i = load_f32(t7, i)
                t8_i = load_f32(t8, i)
                t9_i = load_f32(t9, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    (((((x0_i * t6_i) + (x1_i * t7_i)) + (((float32(1.0) / float32(12.0)) +
                    (square(float32(1.0) / (x0_i + x1_i)) * ((-float32(1.0) / float32(360.0)) +
                    (square(float32(1.0) / (x0_i + x1_i)) * ((float32(1.0) / float32(1260.0)) +
                    (square(float32(1.0) / (x0_i + x1_i)) * (-float32(1.0) / float32(1680.0)))))))) /
                    (x0_i + x1_i))) - (((float32(1.0) / float32(12.0)) + (square(float32(1.0) /
                    maximum(x0_i, x1_i)) * ((-float32(1.0) / float32(360.0)) + (square(float32(1.0) /
                    maximum(x0_i, x1_i)) * ((float32(1.0) / float32(1260.0)) + (square(float32(1.0) /
                    maximum(x0_i, x1_i)) * (-float32(1.0) / float32(1680.0)))))))) / maximum(x0_i,
                    x1_i))) - where(minimum(x0_i, x1_i) < float32(30.0), ((t8_i - ((minimum(x0_i, x1_i)
                    - float32(0.5)) * t9_i)) + minimum(x0_i, x1_i)) - float32(0.9189385332046727),
                    ((float32(1.0) / float32(12.0)) + (square(float32(1.0) / minimum(x0_i, x1_i)) *
                    ((-float32(1.0) / float32(360.0)) + (square(float32(1.0) / minimum(x0_i, x1_i)) *
                    ((float32(1.0) / float32(1260.0)) + (square(float32(1.0) / minimum(x0_i, x1_i)) *
                    (-float32(1.0) / float32(1680.0)))))))) / minimum(x0_i, x1_i))) -
                    float32(0.9189385332046727)
                )
                store_f32(t10, i, value)
            call_library(loops, EXP, n, (t10, 4, t10, 4))
            t11 = scratch + 10240
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i - float32(1.0)
                store_f32(t11, i, value)
            call_library(loops, XLOGY, n, (t11, 4, x2, 4, t11, 4))
            t12 = scratch + 11264
            for i in range(n):
                x1_i = load_f32(x1, i)
                value = x1_i - float32(1.0)
                store_f32(t12, i, value)
            t13 = scratch + 12288
            for i in range(n):
                x2_i = load_f32(x2, i)
                value = -x2_i
                store_f32(t13, i, value)
            call_library(loops, XLOG1PY, n, (t12, 4, t13, 4, t12, 4))
            t14 = scratch + 13312
            call_library(loops, BETALN, n, (x0, 4, x1, 4, t14, 4))
            t15 = scratch + 14336
            for i in range(n):
                t11_i = load_f32(t11, i)
                t12_i = load_f32(t12, i)
                t14_i = load_f32(t14, i)
                value = (t11_i + t12_i) - t14_i
                store_f32(t15, i, value)
            call_library(loops, EXP, n, (t15, 4, t15, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t10_i = load_f32(t10, i)
                t15_i = load_f32(t15, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                x2_i = load_f32(x2, i)
                value = (
                    -where(((maximum(x0_i, x1_i) > float32(30.0)) & (x2_i > float32(0.0))) & (x2_i <
                    float32(1.0)), masked_multiply(bar, (t10_i * sqrt((x0_i / (x0_i + x1_i)) * x1_i)) /
                    (x2_i * (float32(1.0) - x2_i))), masked_multiply(bar, t15_i))
                )
                store_f32(x2_bar, i, load_masked_f32(x2_bar, i, x2_mask) + value)
            x2_sum += close_f32(block, 2, scratch + 4096)
        start += n
    end_f32(whole, frame, 2, x2_sum)
    return 0


def stdtr_forward_f32(frame: int, loops: int) -> int:
    """y = stdtr(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, STDTR, count, arrays)
    return 0


def stdtr_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (poch(0.5 * x0, 0.5) / (sqrt(x0) * sqrt_pi) * exp(-0.5 * (x0 + 1) * log1p(square(x1) / x0)))
    to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1024)
    whole = whole_f32(frame, 11, 0)
    x1_mask = open_f32(whole, frame, 1)
    x1_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x0 = operand_f32(block, 0, scratch + 1024)
        x1 = operand_f32(block, 1, scratch + 2048)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 3072)
            t5 = scratch + 4096
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = float32(0.5) * x0_i
                store_f32(t5, i, value)
            t6 = scratch + 5120
            for i in range(n):
                value = float32(0.5)
                store_f32(t6, i, value)
            call_library(loops, POCH, n, (t5, 4, t6, 4, t5, 4))
            t7 = scratch + 6144
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = square(x1_i) / x0_i
                store_f32(t7, i, value)
            call_library(loops, LOG1P, n, (t7, 4, t7, 4))
            t8 = scratch + 7168
            for i in range(n):
                t7_i = load_f32(t7, i)
                x0_i = load_f32(x0, i)
                value = (-float32(0.5) * (x0_i + float32(1.0))) * t7_i
                store_f32(t8, i, value)
            call_library(loops, EXP, n, (t8, 4, t8, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                t8_i = load_f32(t8, i)
                x0_i = load_f32(x0, i)
                value = masked_multiply(bar, (t5_i / (sqrt(x0_i) * float32(1.7724538509055159))) * t8_i)
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 3072)
        start += n
    end_f32(whole, frame, 1, x1_sum)
    return 0
