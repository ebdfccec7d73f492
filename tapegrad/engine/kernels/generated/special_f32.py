"""Elementwise kernels in f32: special.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

from math import nan

from numba import float32

from tapegrad.engine.kernels.arithmetic import masked_multiply, square, where
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

DIGAMMA = entry("digamma", "f")
ERF = entry("erf", "f")
ERFC = entry("erfc", "f")
EXP = entry("exp", "f")
LGAMMA = entry("lgamma", "f")
RINT = entry("rint", "f")
SIN = entry("sin", "f")
ZETA = entry("zeta", "f")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "erf_forward_f32": ("erf",),
    "erf_reverse_f32": ("add", "exp", "positive"),
    "erfc_forward_f32": ("erfc",),
    "erfc_reverse_f32": ("add", "exp", "positive"),
    "lgamma_forward_f32": ("lgamma",),
    "lgamma_reverse_f32": ("add", "digamma", "positive"),
    "digamma_forward_f32": ("digamma",),
    "digamma_reverse_f32": ("add", "positive", "rint", "sin", "zeta"),
    "zeta_forward_f32": ("zeta",),
    "zeta_reverse_f32": ("add", "positive", "zeta"),
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


def lgamma_forward_f32(frame: int, loops: int) -> int:
    """y = lgamma(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, LGAMMA, count, arrays)
    return 0


def lgamma_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (digamma(x0)) to x0_bar."""
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
            call_library(loops, DIGAMMA, n, (x0, 4, t4, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t4_i = load_f32(t4, i)
                value = masked_multiply(bar, t4_i)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def digamma_forward_f32(frame: int, loops: int) -> int:
    """y = digamma(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, DIGAMMA, count, arrays)
    return 0


def digamma_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (where(x0 < 0, square(pi / sin(pi * where(x0 < 0, x0 - rint(x0), 0.5))), 0) + where(x0 < 0,
    -1, 1) * zeta(2, where(x0 < 0, 1 - x0, x0))) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(896)
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
            call_library(loops, RINT, n, (x0, 4, t4, 4))
            t5 = scratch + 4096
            for i in range(n):
                t4_i = load_f32(t4, i)
                x0_i = load_f32(x0, i)
                value = float32(3.141592653589793) * where(x0_i < float32(0.0), x0_i - t4_i, float32(0.5))
                store_f32(t5, i, value)
            call_library(loops, SIN, n, (t5, 4, t5, 4))
            t6 = scratch + 5120
            for i in range(n):
                value = float32(2.0)
                store_f32(t6, i, value)
            t7 = scratch + 6144
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = where(x0_i < float32(0.0), float32(1.0) - x0_i, x0_i)
                store_f32(t7, i, value)
            call_library(loops, ZETA, n, (t6, 4, t7, 4, t6, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                t6_i = load_f32(t6, i)
                x0_i = load_f32(x0, i)
                value = (
                    masked_multiply(bar, where(x0_i < float32(0.0), square(float32(3.141592653589793) /
                    t5_i), float32(0.0)) + (where(x0_i < float32(0.0), -float32(1.0), float32(1.0)) *
                    t6_i))
                )
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def zeta_forward_f32(frame: int, loops: int) -> int:
    """y = zeta(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ZETA, count, arrays)
    return 0


def zeta_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (nan) to x0_bar; y_bar * (-x0 * zeta(x0 + 1, x1)) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(640)
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
            for i in range(n):
                bar = load_f32(y_bar, i)
                value = masked_multiply(bar, float32(nan))
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 3072)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 3072)
            t5 = scratch + 4096
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i + float32(1.0)
                store_f32(t5, i, value)
            call_library(loops, ZETA, n, (t5, 4, x1, 4, t5, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                x0_i = load_f32(x0, i)
                value = masked_multiply(bar, -x0_i * t5_i)
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 3072)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    end_f32(whole, frame, 1, x1_sum)
    return 0
