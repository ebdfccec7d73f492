"""Elementwise kernels in f64: incomplete.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

from math import inf

from tapegrad.engine.kernels.arithmetic import masked_multiply, maximum, minimum, sqrt, square, where
from tapegrad.engine.kernels.blocks import BLOCK, Block, bar_f64, call_library, operand_f64, whole_f64
from tapegrad.engine.kernels.cotangents import (
    close_f64,
    contributions_f64,
    end_f64,
    load_masked_f64,
    open_f64,
)
from tapegrad.engine.kernels.frame import COUNT, STRIDE, X_BAR, Y_STRIDE, X, Y
from tapegrad.engine.kernels.library import entry
from tapegrad.engine.kernels.raw_memory import load_f64, load_i64, stack_words, store_f64

BETAINC = entry("betainc", "d")
BETAINCC = entry("betaincc", "d")
BETALN = entry("betaln", "d")
DIGAMMA = entry("digamma", "d")
EXP = entry("exp", "d")
GAMMAINC = entry("gammainc", "d")
GAMMAINCC = entry("gammaincc", "d")
IGAM_FAC = entry("igam_fac", "d")
LGAMMA = entry("lgamma", "d")
LOG = entry("log", "d")
LOG1P = entry("log1p", "d")
POCH = entry("poch", "d")
STDTR = entry("stdtr", "d")
XLOG1PY = entry("xlog1py", "d")
XLOGY = entry("xlogy", "d")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "igam_fac_forward_f64": ("igam_fac",),
    "igam_fac_reverse_f64": ("add", "digamma", "log", "positive"),
    "gammainc_forward_f64": ("gammainc",),
    "gammainc_reverse_f64": ("add", "igam_fac", "positive"),
    "gammaincc_forward_f64": ("gammaincc",),
    "gammaincc_reverse_f64": ("add", "igam_fac", "positive"),
    "betainc_forward_f64": ("betainc",),
    "betainc_reverse_f64": ("add", "betaln", "exp", "lgamma", "log", "log1p", "positive", "xlog1py", "xlogy"),
    "betaincc_forward_f64": ("betaincc",),
    "betaincc_reverse_f64": ("add", "betaln", "exp", "lgamma", "log", "log1p", "positive", "xlog1py", "xlogy"),
    "stdtr_forward_f64": ("stdtr",),
    "stdtr_reverse_f64": ("add", "exp", "log1p", "poch", "positive"),
}


def igam_fac_forward_f64(frame: int, loops: int) -> int:
    """y = igam_fac(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, IGAM_FAC, count, arrays)
    return 0


def igam_fac_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (y * (log(x1) - digamma(x0))) to x0_bar; y_bar * (y * ((x0 - x1) / x1)) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1792)
    whole = whole_f64(frame, 11, 0)
    x0_mask = open_f64(whole, frame, 0)
    x0_sum = 0.0
    x1_mask = open_f64(whole, frame, 1)
    x1_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f64(block, 3, scratch + 0)
        x0 = operand_f64(block, 0, scratch + 2048)
        x1 = operand_f64(block, 1, scratch + 4096)
        y = operand_f64(block, 3, scratch + 6144)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f64(block, 0, scratch + 8192)
            t6 = scratch + 10240
            call_library(loops, LOG, n, (x1, 8, t6, 8))
            t7 = scratch + 12288
            call_library(loops, DIGAMMA, n, (x0, 8, t7, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t6_i = load_f64(t6, i)
                t7_i = load_f64(t7, i)
                y_i = load_f64(y, i)
                value = masked_multiply(bar, y_i * (t6_i - t7_i))
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 8192)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f64(block, 1, scratch + 8192)
            for i in range(n):
                bar = load_f64(y_bar, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                y_i = load_f64(y, i)
                value = masked_multiply(bar, y_i * ((x0_i - x1_i) / x1_i))
                store_f64(x1_bar, i, load_masked_f64(x1_bar, i, x1_mask) + value)
            x1_sum += close_f64(block, 1, scratch + 8192)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    end_f64(whole, frame, 1, x1_sum)
    return 0


def gammainc_forward_f64(frame: int, loops: int) -> int:
    """y = gammainc(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, GAMMAINC, count, arrays)
    return 0


def gammainc_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (where(x1 == 0, where(x0 < 1, inf, where(x0 == 1, 1, 0)), igam_fac(x0, x1) / x1)) to
    x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1280)
    whole = whole_f64(frame, 11, 0)
    x1_mask = open_f64(whole, frame, 1)
    x1_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f64(block, 3, scratch + 0)
        x0 = operand_f64(block, 0, scratch + 2048)
        x1 = operand_f64(block, 1, scratch + 4096)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f64(block, 1, scratch + 6144)
            t5 = scratch + 8192
            call_library(loops, IGAM_FAC, n, (x0, 8, x1, 8, t5, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t5_i = load_f64(t5, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    where(x1_i == 0.0, where(x0_i < 1.0, masked_multiply(bar, inf), where(x0_i == 1.0,
                    bar, 0.0)), masked_multiply(bar, t5_i / x1_i))
                )
                store_f64(x1_bar, i, load_masked_f64(x1_bar, i, x1_mask) + value)
            x1_sum += close_f64(block, 1, scratch + 6144)
        start += n
    end_f64(whole, frame, 1, x1_sum)
    return 0


def gammaincc_forward_f64(frame: int, loops: int) -> int:
    """y = gammaincc(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, GAMMAINCC, count, arrays)
    return 0


def gammaincc_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (-where(x1 == 0, where(x0 < 1, inf, where(x0 == 1, 1, 0)), igam_fac(x0, x1) / x1)) to
    x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1280)
    whole = whole_f64(frame, 11, 0)
    x1_mask = open_f64(whole, frame, 1)
    x1_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f64(block, 3, scratch + 0)
        x0 = operand_f64(block, 0, scratch + 2048)
        x1 = operand_f64(block, 1, scratch + 4096)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f64(block, 1, scratch + 6144)
            t5 = scratch + 8192
            call_library(loops, IGAM_FAC, n, (x0, 8, x1, 8, t5, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t5_i = load_f64(t5, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    -where(x1_i == 0.0, where(x0_i < 1.0, masked_multiply(bar, inf), where(x0_i == 1.0,
                    bar, 0.0)), masked_multiply(bar, t5_i / x1_i))
                )
                store_f64(x1_bar, i, load_masked_f64(x1_bar, i, x1_mask) + value)
            x1_sum += close_f64(block, 1, scratch + 6144)
        start += n
    end_f64(whole, frame, 1, x1_sum)
    return 0


def betainc_forward_f64(frame: int, loops: int) -> int:
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


def betainc_reverse_f64(frame: int, loops: int) -> int:
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
    scratch = stack_words(3840)
    whole = whole_f64(frame, 15, 0)
    x2_mask = open_f64(whole, frame, 2)
    x2_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f64(block, 3, scratch + 0)
        x0 = operand_f64(block, 0, scratch + 2048)
        x1 = operand_f64(block, 1, scratch + 4096)
        x2 = operand_f64(block, 2, scratch + 6144)
        if load_i64(frame, X_BAR + 2) != 0:
            x2_bar = contributions_f64(block, 2, scratch + 8192)
            t6 = scratch + 10240
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                x2_i = load_f64(x2, i)
                value = ((x2_i * x1_i) - ((1.0 - x2_i) * x0_i)) / x0_i
                store_f64(t6, i, value)
            call_library(loops, LOG1P, n, (t6, 8, t6, 8))
            t7 = scratch + 12288
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                x2_i = load_f64(x2, i)
                value = -((x2_i * x1_i) - ((1.0 - x2_i) * x0_i)) / x1_i
                store_f64(t7, i, value)
            call_library(loops, LOG1P, n, (t7, 8, t7, 8))
            t8 = scratch + 14336
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = minimum(x0_i, x1_i)
                store_f64(t8, i, value)
            call_library(loops, LGAMMA, n, (t8, 8, t8, 8))
            t9 = scratch + 16384
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = minimum(x0_i, x1_i)
                store_f64(t9, i, value)
            call_library(loops, LOG, n, (t9, 8, t9, 8))
            t10 = scratch + 18432
            for i in range(n):
                t6_i = load_f64(t6, i)
                t7_i = load_f64(t7, i)
                t8_i = load_f64(t8, i)
                t9_i = load_f64(t9, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    (((((x0_i * t6_i) + (x1_i * t7_i)) + (((1.0 / 12.0) + (square(1.0 / (x0_i + x1_i)) *
                    ((-1.0 / 360.0) + (square(1.0 / (x0_i + x1_i)) * ((1.0 / 1260.0) + (square(1.0 /
                    (x0_i + x1_i)) * (-1.0 / 1680.0))))))) / (x0_i + x1_i))) - (((1.0 / 12.0) +
                    (square(1.0 / maximum(x0_i, x1_i)) * ((-1.0 / 360.0) + (square(1.0 / maximum(x0_i,
                    x1_i)) * ((1.0 / 1260.0) + (square(1.0 / maximum(x0_i, x1_i)) * (-1.0 /
                    1680.0))))))) / maximum(x0_i, x1_i))) - where(minimum(x0_i, x1_i) < 30.0, ((t8_i -
                    ((minimum(x0_i, x1_i) - 0.5) * t9_i)) + minimum(x0_i, x1_i)) - 0.9189385332046727,
                    ((1.0 / 12.0) + (square(1.0 / minimum(x0_i, x1_i)) * ((-1.0 / 360.0) + (square(1.0 /
                    minimum(x0_i, x1_i)) * ((1.0 / 1260.0) + (square(1.0 / minimum(x0_i, x1_i)) * (-1.0
                    / 1680.0))))))) / minimum(x0_i, x1_i))) - 0.9189385332046727
                )
                store_f64(t10, i, value)
            call_library(loops, EXP, n, (t10, 8, t10, 8))
            t11 = scratch + 20480
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = x0_i - 1.0
                store_f64(t11, i, value)
            call_library(loops, XLOGY, n, (t11, 8, x2, 8, t11, 8))
            t12 = scratch + 22528
            for i in range(n):
                x1_i = load_f64(x1, i)
                value = x1_i - 1.0
                store_f64(t12, i, value)
            t13 = scratch + 24576
            for i in range(n):
                x2_i = load_f64(x2, i)
                value = -x2_i
                store_f64(t13, i, value)
            call_library(loops, XLOG1PY, n, (t12, 8, t13, 8, t12, 8))
            t14 = scratch + 26624
            call_library(loops, BETALN, n, (x0, 8, x1, 8, t14, 8))
            t15 = scratch + 28672
            for i in range(n):
                t11_i = load_f64(t11, i)
                t12_i = load_f64(t12, i)
                t14_i = load_f64(t14, i)
                value = (t11_i + t12_i) - t14_i
                store_f64(t15, i, value)
            call_library(loops, EXP, n, (t15, 8, t15, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t10_i = load_f64(t10, i)
                t15_i = load_f64(t15, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                x2_i = load_f64(x2, i)
                value = (
                    where(((maximum(x0_i, x1_i) > 30.0) & (x2_i > 0.0)) & (x2_i < 1.0),
                    masked_multiply(bar, (t10_i * sqrt((x0_i / (x0_i + x1_i)) * x1_i)) / (x2_i * (1.0 -
                    x2_i))), masked_multiply(bar, t15_i))
                )
                store_f64(x2_bar, i, load_masked_f64(x2_bar, i, x2_mask) + value)
            x2_sum += close_f64(block, 2, scratch + 8192)
        start += n
    end_f64(whole, frame, 2, x2_sum)
    return 0


def betaincc_forward_f64(frame: int, loops: int) -> int:
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


def betaincc_reverse_f64(frame: int, loops: int) -> int:
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
    scratch = stack_words(3840)
    whole = whole_f64(frame, 15, 0)
    x2_mask = open_f64(whole, frame, 2)
    x2_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f64(block, 3, scratch + 0)
        x0 = operand_f64(block, 0, scratch + 2048)
        x1 = operand_f64(block, 1, scratch + 4096)
        x2 = operand_f64(block, 2, scratch + 6144)
        if load_i64(frame, X_BAR + 2) != 0:
            x2_bar = contributions_f64(block, 2, scratch + 8192)
            t6 = scratch + 10240
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                x2_i = load_f64(x2, i)
                value = ((x2_i * x1_i) - ((1.0 - x2_i) * x0_i)) / x0_i
                store_f64(t6, i, value)
            call_library(loops, LOG1P, n, (t6, 8, t6, 8))
            t7 = scratch + 12288
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                x2_i = load_f64(x2, i)
                value = -((x2_i * x1_i) - ((1.0 - x2_i) * x0_i)) / x1_i
                store_f64(t7, i, value)
            call_library(loops, LOG1P, n, (t7, 8, t7, 8))
            t8 = scratch + 14336
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = minimum(x0_i, x1_i)
                store_f64(t8, i, value)
            call_library(loops, LGAMMA, n, (t8, 8, t8, 8))
            t9 = scratch + 16384
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = minimum(x0_i, x1_i)
                store_f64(t9, i, value)
            call_library(loops, LOG, n, (t9, 8, t9, 8))
            t10 = scratch + 18432
            for i in range(n):
                t6_i = load_f64(t6, i)
                t7_i = load_f64(t7, i)
                t8_i = load_f64(t8, i)
                t9_i = load_f64(t9, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    (((((x0_i * t6_i) + (x1_i * t7_i)) + (((1.0 / 12.0) + (square(1.0 / (x0_i + x1_i)) *
                    ((-1.0 / 360.0) + (square(1.0 / (x0_i + x1_i)) * ((1.0 / 1260.0) + (square(1.0 /
                    (x0_i + x1_i)) * (-1.0 / 1680.0))))))) / (x0_i + x1_i))) - (((1.0 / 12.0) +
                    (square(1.0 / maximum(x0_i, x1_i)) * ((-1.0 / 360.0) + (square(1.0 / maximum(x0_i,
                    x1_i)) * ((1.0 / 1260.0) + (square(1.0 / maximum(x0_i, x1_i)) * (-1.0 /
                    1680.0))))))) / maximum(x0_i, x1_i))) - where(minimum(x0_i, x1_i) < 30.0, ((t8_i -
                    ((minimum(x0_i, x1_i) - 0.5) * t9_i)) + minimum(x0_i, x1_i)) - 0.9189385332046727,
                    ((1.0 / 12.0) + (square(1.0 / minimum(x0_i, x1_i)) * ((-1.0 / 360.0) + (square(1.0 /
                    minimum(x0_i, x1_i)) * ((1.0 / 1260.0) + (square(1.0 / minimum(x0_i, x1_i)) * (-1.0
                    / 1680.0))))))) / minimum(x0_i, x1_i))) - 0.9189385332046727
                )
                store_f64(t10, i, value)
            call_library(loops, EXP, n, (t10, 8, t10, 8))
            t11 = scratch + 20480
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = x0_i - 1.0
                store_f64(t11, i, value)
            call_library(loops, XLOGY, n, (t11, 8, x2, 8, t11, 8))
            t12 = scratch + 22528
            for i in range(n):
                x1_i = load_f64(x1, i)
                value = x1_i - 1.0
                store_f64(t12, i, value)
            t13 = scratch + 24576
            for i in range(n):
                x2_i = load_f64(x2, i)
                value = -x2_i
                store_f64(t13, i, value)
            call_library(loops, XLOG1PY, n, (t12, 8, t13, 8, t12, 8))
            t14 = scratch + 26624
            call_library(loops, BETALN, n, (x0, 8, x1, 8, t14, 8))
            t15 = scratch + 28672
            for i in range(n):
                t11_i = load_f64(t11, i)
                t12_i = load_f64(t12, i)
                t14_i = load_f64(t14, i)
                value = (t11_i + t12_i) - t14_i
                store_f64(t15, i, value)
            call_library(loops, EXP, n, (t15, 8, t15, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t10_i = load_f64(t10, i)
                t15_i = load_f64(t15, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                x2_i = load_f64(x2, i)
                value = (
                    -where(((maximum(x0_i, x1_i) > 30.0) & (x2_i > 0.0)) & (x2_i < 1.0),
                    masked_multiply(bar, (t10_i * sqrt((x0_i / (x0_i + x1_i)) * x1_i)) / (x2_i * (1.0 -
                    x2_i))), masked_multiply(bar, t15_i))
                )
                store_f64(x2_bar, i, load_masked_f64(x2_bar, i, x2_mask) + value)
            x2_sum += close_f64(block, 2, scratch + 8192)
        start += n
    end_f64(whole, frame, 2, x2_sum)
    return 0


def stdtr_forward_f64(frame: int, loops: int) -> int:
    """y = stdtr(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, STDTR, count, arrays)
    return 0


def stdtr_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (poch(0.5 * x0, 0.5) / (sqrt(x0) * sqrt_pi) * exp(-0.5 * (x0 + 1) * log1p(square(x1) / x0)))
    to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(2048)
    whole = whole_f64(frame, 11, 0)
    x1_mask = open_f64(whole, frame, 1)
    x1_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f64(block, 3, scratch + 0)
        x0 = operand_f64(block, 0, scratch + 2048)
        x1 = operand_f64(block, 1, scratch + 4096)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f64(block, 1, scratch + 6144)
            t5 = scratch + 8192
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = 0.5 * x0_i
                store_f64(t5, i, value)
            t6 = scratch + 10240
            for i in range(n):
                value = 0.5
                store_f64(t6, i, value)
            call_library(loops, POCH, n, (t5, 8, t6, 8, t5, 8))
            t7 = scratch + 12288
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = square(x1_i) / x0_i
                store_f64(t7, i, value)
            call_library(loops, LOG1P, n, (t7, 8, t7, 8))
            t8 = scratch + 14336
            for i in range(n):
                t7_i = load_f64(t7, i)
                x0_i = load_f64(x0, i)
                value = (-0.5 * (x0_i + 1.0)) * t7_i
                store_f64(t8, i, value)
            call_library(loops, EXP, n, (t8, 8, t8, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t5_i = load_f64(t5, i)
                t8_i = load_f64(t8, i)
                x0_i = load_f64(x0, i)
                value = masked_multiply(bar, (t5_i / (sqrt(x0_i) * 1.7724538509055159)) * t8_i)
                store_f64(x1_bar, i, load_masked_f64(x1_bar, i, x1_mask) + value)
            x1_sum += close_f64(block, 1, scratch + 6144)
        start += n
    end_f64(whole, frame, 1, x1_sum)
    return 0
