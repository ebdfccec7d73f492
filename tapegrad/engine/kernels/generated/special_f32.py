"""Elementwise kernels in f32: special.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

from numba import float32

from tapegrad.engine.kernels.arithmetic import masked_divide, masked_multiply, square, where
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

ERF = entry("erf", "f")
ERFC = entry("erfc", "f")
ERFCINV = entry("erfcinv", "f")
ERFCX = entry("erfcx", "f")
ERFINV = entry("erfinv", "f")
EXP = entry("exp", "f")
LOG_EXPIT = entry("log_expit", "f")
LOG_NDTR = entry("log_ndtr", "f")
LOGIT = entry("logit", "f")
NDTR = entry("ndtr", "f")
NDTRI = entry("ndtri", "f")
OWENS_T = entry("owens_t", "f")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "erf_forward_f32": ("erf",),
    "erf_reverse_f32": ("add", "exp", "positive"),
    "erfc_forward_f32": ("erfc",),
    "erfc_reverse_f32": ("add", "exp", "positive"),
    "erfcx_forward_f32": ("erfcx",),
    "erfcx_reverse_f32": ("add", "positive"),
    "erfinv_forward_f32": ("erfinv",),
    "erfinv_reverse_f32": ("add", "exp", "positive"),
    "erfcinv_forward_f32": ("erfcinv",),
    "erfcinv_reverse_f32": ("add", "exp", "positive"),
    "ndtr_forward_f32": ("ndtr",),
    "ndtr_reverse_f32": ("add", "exp", "positive"),
    "log_ndtr_forward_f32": ("log_ndtr",),
    "log_ndtr_reverse_f32": ("add", "erfcx", "positive"),
    "ndtri_forward_f32": ("ndtri",),
    "ndtri_reverse_f32": ("add", "exp", "positive"),
    "logit_forward_f32": ("logit",),
    "logit_reverse_f32": ("add", "positive"),
    "log_expit_forward_f32": ("log_expit",),
    "log_expit_reverse_f32": ("add", "exp", "positive"),
    "owens_t_forward_f32": ("owens_t",),
    "owens_t_reverse_f32": ("add", "erf", "exp", "positive"),
}


def erf_forward_f32(frame: int, loops: int) -> int:
    """y = erf(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ERF, count, arrays)
    return 0


def erf_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (two_over_sqrt_pi * exp(-square(x0))) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(512)
    whole = whole_f32(frame, 9, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x0 = operand_f32(block, 0, scratch + 1024)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 2048)
            t4 = scratch + 3072
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = -square(x0_i)
                store_f32(t4, i, value)
            call_library(loops, EXP, n, (t4, 4, t4, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t4_i = load_f32(t4, i)
                value = masked_multiply(bar, float32(1.1283791670955126) * t4_i)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def erfc_forward_f32(frame: int, loops: int) -> int:
    """y = erfc(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ERFC, count, arrays)
    return 0


def erfc_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (-two_over_sqrt_pi * exp(-square(x0))) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(512)
    whole = whole_f32(frame, 9, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x0 = operand_f32(block, 0, scratch + 1024)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 2048)
            t4 = scratch + 3072
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = -square(x0_i)
                store_f32(t4, i, value)
            call_library(loops, EXP, n, (t4, 4, t4, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t4_i = load_f32(t4, i)
                value = masked_multiply(bar, -float32(1.1283791670955126) * t4_i)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def erfcx_forward_f32(frame: int, loops: int) -> int:
    """y = erfcx(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ERFCX, count, arrays)
    return 0


def erfcx_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (two_over_sqrt_pi * where(x0 < 20, sqrt_pi * x0 * y - 1, 0.5 / square(x0) * (-1 + 0.5 /
    square(x0) * (3 + 0.5 / square(x0) * (-15 + 0.5 / square(x0) * (105 + 0.5 / square(x0) * (-945 + 0.5 /
    square(x0) * (10395 + 0.5 / square(x0) * (-135135 + 0.5 / square(x0) * 2027025))))))))) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(512)
    whole = whole_f32(frame, 9, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x0 = operand_f32(block, 0, scratch + 1024)
        y = operand_f32(block, 3, scratch + 2048)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 3072)
            for i in range(n):
                bar = load_f32(y_bar, i)
                x0_i = load_f32(x0, i)
                y_i = load_f32(y, i)
                value = (
                    masked_multiply(bar, float32(1.1283791670955126) * where(x0_i < float32(20.0),
                    ((float32(1.7724538509055159) * x0_i) * y_i) - float32(1.0), (float32(0.5) /
                    square(x0_i)) * (-float32(1.0) + ((float32(0.5) / square(x0_i)) * (float32(3.0) +
                    ((float32(0.5) / square(x0_i)) * (-float32(15.0) + ((float32(0.5) / square(x0_i)) *
                    (float32(105.0) + ((float32(0.5) / square(x0_i)) * (-float32(945.0) + ((float32(0.5)
                    / square(x0_i)) * (float32(10395.0) + ((float32(0.5) / square(x0_i)) *
                    (-float32(135135.0) + ((float32(0.5) / square(x0_i)) *
                    float32(2027025.0)))))))))))))))))
                )
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 3072)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def erfinv_forward_f32(frame: int, loops: int) -> int:
    """y = erfinv(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ERFINV, count, arrays)
    return 0


def erfinv_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (exp(square(y)) / two_over_sqrt_pi) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(512)
    whole = whole_f32(frame, 9, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        y = operand_f32(block, 3, scratch + 1024)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 2048)
            t4 = scratch + 3072
            for i in range(n):
                y_i = load_f32(y, i)
                value = square(y_i)
                store_f32(t4, i, value)
            call_library(loops, EXP, n, (t4, 4, t4, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t4_i = load_f32(t4, i)
                value = masked_multiply(bar, t4_i / float32(1.1283791670955126))
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def erfcinv_forward_f32(frame: int, loops: int) -> int:
    """y = erfcinv(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ERFCINV, count, arrays)
    return 0


def erfcinv_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (-exp(square(y)) / two_over_sqrt_pi) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(512)
    whole = whole_f32(frame, 9, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        y = operand_f32(block, 3, scratch + 1024)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 2048)
            t4 = scratch + 3072
            for i in range(n):
                y_i = load_f32(y, i)
                value = square(y_i)
                store_f32(t4, i, value)
            call_library(loops, EXP, n, (t4, 4, t4, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t4_i = load_f32(t4, i)
                value = masked_multiply(bar, -t4_i / float32(1.1283791670955126))
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def ndtr_forward_f32(frame: int, loops: int) -> int:
    """y = ndtr(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, NDTR, count, arrays)
    return 0


def ndtr_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (one_over_sqrt_2pi * exp(-0.5 * square(x0))) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(512)
    whole = whole_f32(frame, 9, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x0 = operand_f32(block, 0, scratch + 1024)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 2048)
            t4 = scratch + 3072
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = -float32(0.5) * square(x0_i)
                store_f32(t4, i, value)
            call_library(loops, EXP, n, (t4, 4, t4, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t4_i = load_f32(t4, i)
                value = masked_multiply(bar, float32(0.3989422804014327) * t4_i)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def log_ndtr_forward_f32(frame: int, loops: int) -> int:
    """y = log_ndtr(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, LOG_NDTR, count, arrays)
    return 0


def log_ndtr_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (sqrt_two_over_pi / erfcx(-sqrt_half * x0)) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(512)
    whole = whole_f32(frame, 9, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x0 = operand_f32(block, 0, scratch + 1024)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 2048)
            t4 = scratch + 3072
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = -float32(0.7071067811865476) * x0_i
                store_f32(t4, i, value)
            call_library(loops, ERFCX, n, (t4, 4, t4, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t4_i = load_f32(t4, i)
                value = masked_divide(bar * float32(0.7978845608028654), t4_i)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def ndtri_forward_f32(frame: int, loops: int) -> int:
    """y = ndtri(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, NDTRI, count, arrays)
    return 0


def ndtri_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (exp(0.5 * square(y)) / one_over_sqrt_2pi) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(512)
    whole = whole_f32(frame, 9, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        y = operand_f32(block, 3, scratch + 1024)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 2048)
            t4 = scratch + 3072
            for i in range(n):
                y_i = load_f32(y, i)
                value = float32(0.5) * square(y_i)
                store_f32(t4, i, value)
            call_library(loops, EXP, n, (t4, 4, t4, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t4_i = load_f32(t4, i)
                value = masked_multiply(bar, t4_i / float32(0.3989422804014327))
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def logit_forward_f32(frame: int, loops: int) -> int:
    """y = logit(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, LOGIT, count, arrays)
    return 0


def logit_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (1 / (x0 * (1 - x0))) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(384)
    whole = whole_f32(frame, 9, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x0 = operand_f32(block, 0, scratch + 1024)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 2048)
            for i in range(n):
                bar = load_f32(y_bar, i)
                x0_i = load_f32(x0, i)
                value = masked_divide(bar, x0_i * (float32(1.0) - x0_i))
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def log_expit_forward_f32(frame: int, loops: int) -> int:
    """y = log_expit(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, LOG_EXPIT, count, arrays)
    return 0


def log_expit_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (1 / (1 + exp(x0))) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(512)
    whole = whole_f32(frame, 9, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x0 = operand_f32(block, 0, scratch + 1024)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 2048)
            t4 = scratch + 3072
            call_library(loops, EXP, n, (x0, 4, t4, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t4_i = load_f32(t4, i)
                value = masked_divide(bar, float32(1.0) + t4_i)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def owens_t_forward_f32(frame: int, loops: int) -> int:
    """y = owens_t(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, OWENS_T, count, arrays)
    return 0


def owens_t_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (-0.5 * one_over_sqrt_2pi * exp(-0.5 * square(x0)) * erf(sqrt_half * x0 * x1)) to x0_bar;
    y_bar * (exp(-0.5 * square(x0) * (1 + square(x1))) / (2 * pi * (1 + square(x1)))) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(768)
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
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 3072)
            t5 = scratch + 4096
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = -float32(0.5) * square(x0_i)
                store_f32(t5, i, value)
            call_library(loops, EXP, n, (t5, 4, t5, 4))
            t6 = scratch + 5120
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (float32(0.7071067811865476) * x0_i) * x1_i
                store_f32(t6, i, value)
            call_library(loops, ERF, n, (t6, 4, t6, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                t6_i = load_f32(t6, i)
                value = masked_multiply(bar, ((-float32(0.5) * float32(0.3989422804014327)) * t5_i) * t6_i)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 3072)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 3072)
            t5 = scratch + 4096
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (-float32(0.5) * square(x0_i)) * (float32(1.0) + square(x1_i))
                store_f32(t5, i, value)
            call_library(loops, EXP, n, (t5, 4, t5, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                x1_i = load_f32(x1, i)
                value = (
                    masked_multiply(bar, t5_i / ((float32(2.0) * float32(3.141592653589793)) *
                    (float32(1.0) + square(x1_i))))
                )
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 3072)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    end_f32(whole, frame, 1, x1_sum)
    return 0
