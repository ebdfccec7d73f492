"""Elementwise kernels in f64: special.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

from tapegrad.engine.kernels.arithmetic import masked_divide, masked_multiply, square, where
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

ERF = entry("erf", "d")
ERFC = entry("erfc", "d")
ERFCINV = entry("erfcinv", "d")
ERFCX = entry("erfcx", "d")
ERFINV = entry("erfinv", "d")
EXP = entry("exp", "d")
LOG_EXPIT = entry("log_expit", "d")
LOG_NDTR = entry("log_ndtr", "d")
LOGIT = entry("logit", "d")
NDTR = entry("ndtr", "d")
NDTRI = entry("ndtri", "d")
OWENS_T = entry("owens_t", "d")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "erf_forward_f64": ("erf",),
    "erf_reverse_f64": ("add", "exp", "positive"),
    "erfc_forward_f64": ("erfc",),
    "erfc_reverse_f64": ("add", "exp", "positive"),
    "erfcx_forward_f64": ("erfcx",),
    "erfcx_reverse_f64": ("add", "positive"),
    "erfinv_forward_f64": ("erfinv",),
    "erfinv_reverse_f64": ("add", "exp", "positive"),
    "erfcinv_forward_f64": ("erfcinv",),
    "erfcinv_reverse_f64": ("add", "exp", "positive"),
    "ndtr_forward_f64": ("ndtr",),
    "ndtr_reverse_f64": ("add", "exp", "positive"),
    "log_ndtr_forward_f64": ("log_ndtr",),
    "log_ndtr_reverse_f64": ("add", "erfcx", "positive"),
    "ndtri_forward_f64": ("ndtri",),
    "ndtri_reverse_f64": ("add", "exp", "positive"),
    "logit_forward_f64": ("logit",),
    "logit_reverse_f64": ("add", "positive"),
    "log_expit_forward_f64": ("log_expit",),
    "log_expit_reverse_f64": ("add", "exp", "positive"),
    "owens_t_forward_f64": ("owens_t",),
    "owens_t_reverse_f64": ("add", "erf", "exp", "positive"),
}


def erf_forward_f64(frame: int, loops: int) -> int:
    """y = erf(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ERF, count, arrays)
    return 0


def erf_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (two_over_sqrt_pi * exp(-square(x0))) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1024)
    whole = whole_f64(frame, 9, 0)
    x0_mask = open_f64(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f64(block, 3, scratch + 0)
        x0 = operand_f64(block, 0, scratch + 2048)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f64(block, 0, scratch + 4096)
            t4 = scratch + 6144
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = -square(x0_i)
                store_f64(t4, i, value)
            call_library(loops, EXP, n, (t4, 8, t4, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t4_i = load_f64(t4, i)
                value = masked_multiply(bar, 1.1283791670955126 * t4_i)
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def erfc_forward_f64(frame: int, loops: int) -> int:
    """y = erfc(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ERFC, count, arrays)
    return 0


def erfc_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (-two_over_sqrt_pi * exp(-square(x0))) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1024)
    whole = whole_f64(frame, 9, 0)
    x0_mask = open_f64(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f64(block, 3, scratch + 0)
        x0 = operand_f64(block, 0, scratch + 2048)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f64(block, 0, scratch + 4096)
            t4 = scratch + 6144
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = -square(x0_i)
                store_f64(t4, i, value)
            call_library(loops, EXP, n, (t4, 8, t4, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t4_i = load_f64(t4, i)
                value = masked_multiply(bar, -1.1283791670955126 * t4_i)
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def erfcx_forward_f64(frame: int, loops: int) -> int:
    """y = erfcx(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ERFCX, count, arrays)
    return 0


def erfcx_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (two_over_sqrt_pi * where(x0 < 20, sqrt_pi * x0 * y - 1, 0.5 / square(x0) * (-1 + 0.5 /
    square(x0) * (3 + 0.5 / square(x0) * (-15 + 0.5 / square(x0) * (105 + 0.5 / square(x0) * (-945 + 0.5 /
    square(x0) * (10395 + 0.5 / square(x0) * (-135135 + 0.5 / square(x0) * 2027025))))))))) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1024)
    whole = whole_f64(frame, 9, 0)
    x0_mask = open_f64(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f64(block, 3, scratch + 0)
        x0 = operand_f64(block, 0, scratch + 2048)
        y = operand_f64(block, 3, scratch + 4096)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f64(block, 0, scratch + 6144)
            for i in range(n):
                bar = load_f64(y_bar, i)
                x0_i = load_f64(x0, i)
                y_i = load_f64(y, i)
                value = (
                    masked_multiply(bar, 1.1283791670955126 * where(x0_i < 20.0, ((1.7724538509055159 *
                    x0_i) * y_i) - 1.0, (0.5 / square(x0_i)) * (-1.0 + ((0.5 / square(x0_i)) * (3.0 +
                    ((0.5 / square(x0_i)) * (-15.0 + ((0.5 / square(x0_i)) * (105.0 + ((0.5 /
                    square(x0_i)) * (-945.0 + ((0.5 / square(x0_i)) * (10395.0 + ((0.5 / square(x0_i)) *
                    (-135135.0 + ((0.5 / square(x0_i)) * 2027025.0))))))))))))))))
                )
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 6144)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def erfinv_forward_f64(frame: int, loops: int) -> int:
    """y = erfinv(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ERFINV, count, arrays)
    return 0


def erfinv_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (exp(square(y)) / two_over_sqrt_pi) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1024)
    whole = whole_f64(frame, 9, 0)
    x0_mask = open_f64(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f64(block, 3, scratch + 0)
        y = operand_f64(block, 3, scratch + 2048)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f64(block, 0, scratch + 4096)
            t4 = scratch + 6144
            for i in range(n):
                y_i = load_f64(y, i)
                value = square(y_i)
                store_f64(t4, i, value)
            call_library(loops, EXP, n, (t4, 8, t4, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t4_i = load_f64(t4, i)
                value = masked_multiply(bar, t4_i / 1.1283791670955126)
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def erfcinv_forward_f64(frame: int, loops: int) -> int:
    """y = erfcinv(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ERFCINV, count, arrays)
    return 0


def erfcinv_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (-exp(square(y)) / two_over_sqrt_pi) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1024)
    whole = whole_f64(frame, 9, 0)
    x0_mask = open_f64(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f64(block, 3, scratch + 0)
        y = operand_f64(block, 3, scratch + 2048)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f64(block, 0, scratch + 4096)
            t4 = scratch + 6144
            for i in range(n):
                y_i = load_f64(y, i)
                value = square(y_i)
                store_f64(t4, i, value)
            call_library(loops, EXP, n, (t4, 8, t4, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t4_i = load_f64(t4, i)
                value = masked_multiply(bar, -t4_i / 1.1283791670955126)
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def ndtr_forward_f64(frame: int, loops: int) -> int:
    """y = ndtr(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, NDTR, count, arrays)
    return 0


def ndtr_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (one_over_sqrt_2pi * exp(-0.5 * square(x0))) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1024)
    whole = whole_f64(frame, 9, 0)
    x0_mask = open_f64(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f64(block, 3, scratch + 0)
        x0 = operand_f64(block, 0, scratch + 2048)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f64(block, 0, scratch + 4096)
            t4 = scratch + 6144
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = -0.5 * square(x0_i)
                store_f64(t4, i, value)
            call_library(loops, EXP, n, (t4, 8, t4, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t4_i = load_f64(t4, i)
                value = masked_multiply(bar, 0.3989422804014327 * t4_i)
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def log_ndtr_forward_f64(frame: int, loops: int) -> int:
    """y = log_ndtr(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, LOG_NDTR, count, arrays)
    return 0


def log_ndtr_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (sqrt_two_over_pi / erfcx(-sqrt_half * x0)) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1024)
    whole = whole_f64(frame, 9, 0)
    x0_mask = open_f64(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f64(block, 3, scratch + 0)
        x0 = operand_f64(block, 0, scratch + 2048)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f64(block, 0, scratch + 4096)
            t4 = scratch + 6144
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = -0.7071067811865476 * x0_i
                store_f64(t4, i, value)
            call_library(loops, ERFCX, n, (t4, 8, t4, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t4_i = load_f64(t4, i)
                value = masked_divide(bar * 0.7978845608028654, t4_i)
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def ndtri_forward_f64(frame: int, loops: int) -> int:
    """y = ndtri(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, NDTRI, count, arrays)
    return 0


def ndtri_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (exp(0.5 * square(y)) / one_over_sqrt_2pi) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1024)
    whole = whole_f64(frame, 9, 0)
    x0_mask = open_f64(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f64(block, 3, scratch + 0)
        y = operand_f64(block, 3, scratch + 2048)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f64(block, 0, scratch + 4096)
            t4 = scratch + 6144
            for i in range(n):
                y_i = load_f64(y, i)
                value = 0.5 * square(y_i)
                store_f64(t4, i, value)
            call_library(loops, EXP, n, (t4, 8, t4, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t4_i = load_f64(t4, i)
                value = masked_multiply(bar, t4_i / 0.3989422804014327)
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def logit_forward_f64(frame: int, loops: int) -> int:
    """y = logit(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, LOGIT, count, arrays)
    return 0


def logit_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (1 / (x0 * (1 - x0))) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(768)
    whole = whole_f64(frame, 9, 0)
    x0_mask = open_f64(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f64(block, 3, scratch + 0)
        x0 = operand_f64(block, 0, scratch + 2048)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f64(block, 0, scratch + 4096)
            for i in range(n):
                bar = load_f64(y_bar, i)
                x0_i = load_f64(x0, i)
                value = masked_divide(bar, x0_i * (1.0 - x0_i))
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def log_expit_forward_f64(frame: int, loops: int) -> int:
    """y = log_expit(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, LOG_EXPIT, count, arrays)
    return 0


def log_expit_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (1 / (1 + exp(x0))) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1024)
    whole = whole_f64(frame, 9, 0)
    x0_mask = open_f64(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f64(block, 3, scratch + 0)
        x0 = operand_f64(block, 0, scratch + 2048)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f64(block, 0, scratch + 4096)
            t4 = scratch + 6144
            call_library(loops, EXP, n, (x0, 8, t4, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t4_i = load_f64(t4, i)
                value = masked_divide(bar, 1.0 + t4_i)
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def owens_t_forward_f64(frame: int, loops: int) -> int:
    """y = owens_t(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, OWENS_T, count, arrays)
    return 0


def owens_t_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (-0.5 * one_over_sqrt_2pi * exp(-0.5 * square(x0)) * erf(sqrt_half * x0 * x1)) to x0_bar;
    y_bar * (exp(-0.5 * square(x0) * (1 + square(x1))) / (2 * pi * (1 + square(x1)))) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1536)
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
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f64(block, 0, scratch + 6144)
            t5 = scratch + 8192
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = -0.5 * square(x0_i)
                store_f64(t5, i, value)
            call_library(loops, EXP, n, (t5, 8, t5, 8))
            t6 = scratch + 10240
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (0.7071067811865476 * x0_i) * x1_i
                store_f64(t6, i, value)
            call_library(loops, ERF, n, (t6, 8, t6, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t5_i = load_f64(t5, i)
                t6_i = load_f64(t6, i)
                value = masked_multiply(bar, ((-0.5 * 0.3989422804014327) * t5_i) * t6_i)
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 6144)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f64(block, 1, scratch + 6144)
            t5 = scratch + 8192
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (-0.5 * square(x0_i)) * (1.0 + square(x1_i))
                store_f64(t5, i, value)
            call_library(loops, EXP, n, (t5, 8, t5, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t5_i = load_f64(t5, i)
                x1_i = load_f64(x1, i)
                value = masked_multiply(bar, t5_i / ((2.0 * 3.141592653589793) * (1.0 + square(x1_i))))
                store_f64(x1_bar, i, load_masked_f64(x1_bar, i, x1_mask) + value)
            x1_sum += close_f64(block, 1, scratch + 6144)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    end_f64(whole, frame, 1, x1_sum)
    return 0
