"""Elementwise kernels in f32: entropy.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

from numba import float32

from tapegrad.engine.kernels.arithmetic import absolute, masked_multiply, where
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

COSM1 = entry("cosm1", "f")
ENTR = entry("entr", "f")
EXP = entry("exp", "f")
EXPREL = entry("exprel", "f")
KL_DIV = entry("kl_div", "f")
LOG = entry("log", "f")
LOG1P = entry("log1p", "f")
REL_ENTR = entry("rel_entr", "f")
SIN = entry("sin", "f")
XLOG1PY = entry("xlog1py", "f")
XLOGY = entry("xlogy", "f")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "xlogy_forward_f32": ("xlogy",),
    "xlogy_reverse_f32": ("add", "log", "positive"),
    "xlog1py_forward_f32": ("xlog1py",),
    "xlog1py_reverse_f32": ("add", "log1p", "positive"),
    "entr_forward_f32": ("entr",),
    "entr_reverse_f32": ("add", "log", "positive"),
    "rel_entr_forward_f32": ("rel_entr",),
    "rel_entr_reverse_f32": ("add", "log", "log1p", "positive"),
    "kl_div_forward_f32": ("kl_div",),
    "kl_div_reverse_f32": ("add", "log", "log1p", "positive"),
    "exprel_forward_f32": ("exprel",),
    "exprel_reverse_f32": ("add", "exp", "positive"),
    "cosm1_forward_f32": ("cosm1",),
    "cosm1_reverse_f32": ("add", "positive", "sin"),
}


def xlogy_forward_f32(frame: int, loops: int) -> int:
    """y = xlogy(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, XLOGY, count, arrays)
    return 0


def xlogy_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (log(x1)) to x0_bar; y_bar * (where(x0 == 0, 0, x0 / x1)) to x1_bar."""
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
            t5 = scratch + 4096
            call_library(loops, LOG, n, (x1, 4, t5, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                value = masked_multiply(bar, t5_i)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 3072)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 3072)
            for i in range(n):
                bar = load_f32(y_bar, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = where(x0_i == float32(0.0), float32(0.0), masked_multiply(bar, x0_i / x1_i))
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 3072)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    end_f32(whole, frame, 1, x1_sum)
    return 0


def xlog1py_forward_f32(frame: int, loops: int) -> int:
    """y = xlog1py(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, XLOG1PY, count, arrays)
    return 0


def xlog1py_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (log1p(x1)) to x0_bar; y_bar * (where(x0 == 0, 0, x0 / (1 + x1))) to x1_bar."""
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
            t5 = scratch + 4096
            call_library(loops, LOG1P, n, (x1, 4, t5, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                value = masked_multiply(bar, t5_i)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 3072)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 3072)
            for i in range(n):
                bar = load_f32(y_bar, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    where(x0_i == float32(0.0), float32(0.0), masked_multiply(bar, x0_i / (float32(1.0)
                    + x1_i)))
                )
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 3072)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    end_f32(whole, frame, 1, x1_sum)
    return 0


def entr_forward_f32(frame: int, loops: int) -> int:
    """y = entr(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ENTR, count, arrays)
    return 0


def entr_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (where(x0 < 0, 0, -1 - log(x0))) to x0_bar."""
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
            call_library(loops, LOG, n, (x0, 4, t4, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t4_i = load_f32(t4, i)
                x0_i = load_f32(x0, i)
                value = where(x0_i < float32(0.0), float32(0.0), masked_multiply(bar, -float32(1.0) - t4_i))
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def rel_entr_forward_f32(frame: int, loops: int) -> int:
    """y = rel_entr(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, REL_ENTR, count, arrays)
    return 0


def rel_entr_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (where((x0 < 0) | (x1 < 0), 0, 1 + where(absolute(x0 - x1) < 0.5 * x1, log1p((x0 - x1) / x1),
    log(x0 / x1)))) to x0_bar; y_bar * (where((x0 < 0) | (x1 < 0) | (x0 == 0), 0, -x0 / x1)) to x1_bar."""
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
                x1_i = load_f32(x1, i)
                value = (x0_i - x1_i) / x1_i
                store_f32(t5, i, value)
            call_library(loops, LOG1P, n, (t5, 4, t5, 4))
            t6 = scratch + 5120
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = x0_i / x1_i
                store_f32(t6, i, value)
            call_library(loops, LOG, n, (t6, 4, t6, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                t6_i = load_f32(t6, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    where((x0_i < float32(0.0)) | (x1_i < float32(0.0)), float32(0.0),
                    masked_multiply(bar, float32(1.0) + where(absolute(x0_i - x1_i) < (float32(0.5) *
                    x1_i), t5_i, t6_i)))
                )
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 3072)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 3072)
            for i in range(n):
                bar = load_f32(y_bar, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    where(((x0_i < float32(0.0)) | (x1_i < float32(0.0))) | (x0_i == float32(0.0)),
                    float32(0.0), masked_multiply(bar, -x0_i / x1_i))
                )
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 3072)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    end_f32(whole, frame, 1, x1_sum)
    return 0


def kl_div_forward_f32(frame: int, loops: int) -> int:
    """y = kl_div(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, KL_DIV, count, arrays)
    return 0


def kl_div_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (where((x0 < 0) | (x1 < 0), 0, where(absolute(x0 - x1) < 0.5 * x1, log1p((x0 - x1) / x1),
    log(x0 / x1)))) to x0_bar; y_bar * (where((x0 < 0) | (x1 < 0), 0, where(x0 == 0, 1, (x1 - x0) / x1))) to
    x1_bar."""
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
                x1_i = load_f32(x1, i)
                value = (x0_i - x1_i) / x1_i
                store_f32(t5, i, value)
            call_library(loops, LOG1P, n, (t5, 4, t5, 4))
            t6 = scratch + 5120
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = x0_i / x1_i
                store_f32(t6, i, value)
            call_library(loops, LOG, n, (t6, 4, t6, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                t6_i = load_f32(t6, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    where((x0_i < float32(0.0)) | (x1_i < float32(0.0)), float32(0.0),
                    where(absolute(x0_i - x1_i) < (float32(0.5) * x1_i), masked_multiply(bar, t5_i),
                    masked_multiply(bar, t6_i)))
                )
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 3072)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 3072)
            for i in range(n):
                bar = load_f32(y_bar, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    where((x0_i < float32(0.0)) | (x1_i < float32(0.0)), float32(0.0), where(x0_i ==
                    float32(0.0), bar, masked_multiply(bar, (x1_i - x0_i) / x1_i)))
                )
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 3072)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    end_f32(whole, frame, 1, x1_sum)
    return 0


def exprel_forward_f32(frame: int, loops: int) -> int:
    """y = exprel(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, EXPREL, count, arrays)
    return 0


def exprel_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (where(absolute(x0) < 0.5, 1 / 2 + x0 * (1 / 3 + x0 * (1 / 8 + x0 * (1 / 30 + x0 * (1 / 144 +
    x0 * (1 / 840 + x0 * (1 / 5760 + x0 * (1 / 45360 + x0 * (1 / 403200 + x0 * (1 / 3991680 + x0 * (1 /
    43545600 + x0 * (1 / 518918400 + x0 * (1 / 6706022400 + x0 * (1 / 93405312000))))))))))))), where(x0 >
    1, y * (1 - 1 / x0) + 1 / x0, (exp(x0) - y) / x0))) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(640)
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
        y = operand_f32(block, 3, scratch + 2048)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 3072)
            t5 = scratch + 4096
            call_library(loops, EXP, n, (x0, 4, t5, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                x0_i = load_f32(x0, i)
                y_i = load_f32(y, i)
                value = (
                    where(absolute(x0_i) < float32(0.5), masked_multiply(bar, (float32(1.0) /
                    float32(2.0)) + (x0_i * ((float32(1.0) / float32(3.0)) + (x0_i * ((float32(1.0) /
                    float32(8.0)) + (x0_i * ((float32(1.0) / float32(30.0)) + (x0_i * ((float32(1.0) /
                    float32(144.0)) + (x0_i * ((float32(1.0) / float32(840.0)) + (x0_i * ((float32(1.0)
                    / float32(5760.0)) + (x0_i * ((float32(1.0) / float32(45360.0)) + (x0_i *
                    ((float32(1.0) / float32(403200.0)) + (x0_i * ((float32(1.0) / float32(3991680.0)) +
                    (x0_i * ((float32(1.0) / float32(43545600.0)) + (x0_i * ((float32(1.0) /
                    float32(518918400.0)) + (x0_i * ((float32(1.0) / float32(6706022400.0)) + (x0_i *
                    (float32(1.0) / float32(93405312000.0)))))))))))))))))))))))))))), where(x0_i >
                    float32(1.0), masked_multiply(bar, (y_i * (float32(1.0) - (float32(1.0) / x0_i))) +
                    (float32(1.0) / x0_i)), masked_multiply(bar, (t5_i - y_i) / x0_i)))
                )
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 3072)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def cosm1_forward_f32(frame: int, loops: int) -> int:
    """y = cosm1(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, COSM1, count, arrays)
    return 0


def cosm1_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (-sin(x0)) to x0_bar."""
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
            call_library(loops, SIN, n, (x0, 4, t4, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t4_i = load_f32(t4, i)
                value = -masked_multiply(bar, t4_i)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0
