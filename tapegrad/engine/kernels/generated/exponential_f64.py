"""Elementwise kernels in f64: exponential.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

from math import inf

from tapegrad.engine.kernels.arithmetic import absolute, masked_divide, masked_multiply, maximum, where
from tapegrad.engine.kernels.blocks import (
    BLOCK,
    Block,
    bar_f64,
    call_library,
    operand_f64,
    target_f64,
    whole_f64,
)
from tapegrad.engine.kernels.cotangents import (
    close_f64,
    contributions_f64,
    end_f64,
    finish_f64,
    load_masked_f64,
    open_f64,
)
from tapegrad.engine.kernels.frame import COUNT, STRIDE, X_BAR, Y_STRIDE, X, Y
from tapegrad.engine.kernels.library import entry
from tapegrad.engine.kernels.raw_memory import load_f64, load_i64, stack_words, store_f64

EXP = entry("exp", "d")
EXP2 = entry("exp2", "d")
EXPM1 = entry("expm1", "d")
LOG = entry("log", "d")
LOG10 = entry("log10", "d")
LOG1P = entry("log1p", "d")
LOG2 = entry("log2", "d")
LOGADDEXP = entry("logaddexp", "d")
LOGADDEXP2 = entry("logaddexp2", "d")
POWER = entry("power", "d")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "power_forward_f64": ("power",),
    "power_reverse_f64": ("add", "log", "positive", "power"),
    "exp_forward_f64": ("exp",),
    "exp_reverse_f64": ("add", "positive"),
    "exp2_forward_f64": ("exp2",),
    "exp2_reverse_f64": ("add", "positive"),
    "expm1_forward_f64": ("expm1",),
    "expm1_reverse_f64": ("add", "exp", "positive"),
    "log_forward_f64": ("log",),
    "log_reverse_f64": ("add", "positive"),
    "log2_forward_f64": ("log2",),
    "log2_reverse_f64": ("add", "positive"),
    "log10_forward_f64": ("log10",),
    "log10_reverse_f64": ("add", "positive"),
    "log1p_forward_f64": ("log1p",),
    "log1p_reverse_f64": ("add", "positive"),
    "logaddexp_forward_f64": ("logaddexp",),
    "logaddexp_reverse_f64": ("add", "exp", "positive"),
    "logaddexp2_forward_f64": ("logaddexp2",),
    "logaddexp2_reverse_f64": ("add", "exp2", "positive"),
    "sigmoid_forward_f64": ("exp", "positive"),
    "sigmoid_reverse_f64": ("add", "exp", "positive"),
    "softplus_forward_f64": ("exp", "log1p", "positive"),
    "softplus_reverse_f64": ("add", "exp", "positive"),
}


def power_forward_f64(frame: int, loops: int) -> int:
    """y = power(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, POWER, count, arrays)
    return 0


def power_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (masked_multiply(x1, power(x0, x1 - 1))) to x0_bar; y_bar * (where((x0 == 0) & (x1 >= 0), 0,
    y * log(x0))) to x1_bar."""
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
        y = operand_f64(block, 3, scratch + 6144)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f64(block, 0, scratch + 8192)
            t6 = scratch + 10240
            for i in range(n):
                x1_i = load_f64(x1, i)
                value = x1_i - 1.0
                store_f64(t6, i, value)
            call_library(loops, POWER, n, (x0, 8, t6, 8, t6, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t6_i = load_f64(t6, i)
                x1_i = load_f64(x1, i)
                value = masked_multiply(bar, masked_multiply(x1_i, t6_i))
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 8192)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f64(block, 1, scratch + 8192)
            t6 = scratch + 10240
            call_library(loops, LOG, n, (x0, 8, t6, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t6_i = load_f64(t6, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                y_i = load_f64(y, i)
                value = where((x0_i == 0.0) & (x1_i >= 0.0), 0.0, masked_multiply(bar, y_i * t6_i))
                store_f64(x1_bar, i, load_masked_f64(x1_bar, i, x1_mask) + value)
            x1_sum += close_f64(block, 1, scratch + 8192)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    end_f64(whole, frame, 1, x1_sum)
    return 0


def exp_forward_f64(frame: int, loops: int) -> int:
    """y = exp(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, EXP, count, arrays)
    return 0


def exp_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (y) to x0_bar."""
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
        y = operand_f64(block, 3, scratch + 2048)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f64(block, 0, scratch + 4096)
            for i in range(n):
                bar = load_f64(y_bar, i)
                y_i = load_f64(y, i)
                value = masked_multiply(bar, y_i)
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def exp2_forward_f64(frame: int, loops: int) -> int:
    """y = exp2(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, EXP2, count, arrays)
    return 0


def exp2_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (ln2 * y) to x0_bar."""
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
        y = operand_f64(block, 3, scratch + 2048)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f64(block, 0, scratch + 4096)
            for i in range(n):
                bar = load_f64(y_bar, i)
                y_i = load_f64(y, i)
                value = masked_multiply(bar, 0.6931471805599453 * y_i)
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def expm1_forward_f64(frame: int, loops: int) -> int:
    """y = expm1(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, EXPM1, count, arrays)
    return 0


def expm1_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (exp(x0)) to x0_bar."""
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
                value = masked_multiply(bar, t4_i)
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def log_forward_f64(frame: int, loops: int) -> int:
    """y = log(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, LOG, count, arrays)
    return 0


def log_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (1 / x0) to x0_bar."""
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
                value = masked_divide(bar, x0_i)
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def log2_forward_f64(frame: int, loops: int) -> int:
    """y = log2(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, LOG2, count, arrays)
    return 0


def log2_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (log2e / x0) to x0_bar."""
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
                value = masked_divide(bar * 1.4426950408889634, x0_i)
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def log10_forward_f64(frame: int, loops: int) -> int:
    """y = log10(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, LOG10, count, arrays)
    return 0


def log10_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (log10e / x0) to x0_bar."""
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
                value = masked_divide(bar * 0.4342944819032518, x0_i)
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def log1p_forward_f64(frame: int, loops: int) -> int:
    """y = log1p(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, LOG1P, count, arrays)
    return 0


def log1p_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (1 / (1 + x0)) to x0_bar."""
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
                value = masked_divide(bar, 1.0 + x0_i)
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def logaddexp_forward_f64(frame: int, loops: int) -> int:
    """y = logaddexp(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, LOGADDEXP, count, arrays)
    return 0


def logaddexp_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (where((x0 == x1) & (absolute(x0) == inf), 0.5, 1 / (1 + exp(x1 - x0)))) to x0_bar; y_bar *
    (where((x0 == x1) & (absolute(x0) == inf), 0.5, 1 / (1 + exp(x0 - x1)))) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1280)
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
                x1_i = load_f64(x1, i)
                value = x1_i - x0_i
                store_f64(t5, i, value)
            call_library(loops, EXP, n, (t5, 8, t5, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t5_i = load_f64(t5, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    where((x0_i == x1_i) & (absolute(x0_i) == inf), bar * 0.5, masked_divide(bar, 1.0 +
                    t5_i))
                )
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 6144)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f64(block, 1, scratch + 6144)
            t5 = scratch + 8192
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x0_i - x1_i
                store_f64(t5, i, value)
            call_library(loops, EXP, n, (t5, 8, t5, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t5_i = load_f64(t5, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    where((x0_i == x1_i) & (absolute(x0_i) == inf), bar * 0.5, masked_divide(bar, 1.0 +
                    t5_i))
                )
                store_f64(x1_bar, i, load_masked_f64(x1_bar, i, x1_mask) + value)
            x1_sum += close_f64(block, 1, scratch + 6144)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    end_f64(whole, frame, 1, x1_sum)
    return 0


def logaddexp2_forward_f64(frame: int, loops: int) -> int:
    """y = logaddexp2(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, LOGADDEXP2, count, arrays)
    return 0


def logaddexp2_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (where((x0 == x1) & (absolute(x0) == inf), 0.5, 1 / (1 + exp2(x1 - x0)))) to x0_bar; y_bar *
    (where((x0 == x1) & (absolute(x0) == inf), 0.5, 1 / (1 + exp2(x0 - x1)))) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1280)
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
                x1_i = load_f64(x1, i)
                value = x1_i - x0_i
                store_f64(t5, i, value)
            call_library(loops, EXP2, n, (t5, 8, t5, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t5_i = load_f64(t5, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    where((x0_i == x1_i) & (absolute(x0_i) == inf), bar * 0.5, masked_divide(bar, 1.0 +
                    t5_i))
                )
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 6144)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f64(block, 1, scratch + 6144)
            t5 = scratch + 8192
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x0_i - x1_i
                store_f64(t5, i, value)
            call_library(loops, EXP2, n, (t5, 8, t5, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t5_i = load_f64(t5, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    where((x0_i == x1_i) & (absolute(x0_i) == inf), bar * 0.5, masked_divide(bar, 1.0 +
                    t5_i))
                )
                store_f64(x1_bar, i, load_masked_f64(x1_bar, i, x1_mask) + value)
            x1_sum += close_f64(block, 1, scratch + 6144)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    end_f64(whole, frame, 1, x1_sum)
    return 0


def sigmoid_forward_f64(frame: int, loops: int) -> int:
    """y = 1 / (1 + exp(-x0))."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(768)
    whole = whole_f64(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        y = target_f64(block, 3, scratch + 2048)
        t3 = scratch + 4096
        for i in range(n):
            x0_i = load_f64(x0, i)
            value = -x0_i
            store_f64(t3, i, value)
        call_library(loops, EXP, n, (t3, 8, t3, 8))
        for i in range(n):
            t3_i = load_f64(t3, i)
            value = 1.0 / (1.0 + t3_i)
            store_f64(y, i, value)
        finish_f64(block, scratch + 2048)
        start += n
    return 0


def sigmoid_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (y / (1 + exp(x0))) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1280)
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
        y = operand_f64(block, 3, scratch + 4096)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f64(block, 0, scratch + 6144)
            t5 = scratch + 8192
            call_library(loops, EXP, n, (x0, 8, t5, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t5_i = load_f64(t5, i)
                y_i = load_f64(y, i)
                value = masked_multiply(bar, y_i / (1.0 + t5_i))
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 6144)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def softplus_forward_f64(frame: int, loops: int) -> int:
    """y = maximum(x0, 0) + log1p(exp(-absolute(x0)))."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1024)
    whole = whole_f64(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        y = target_f64(block, 3, scratch + 2048)
        t3 = scratch + 4096
        for i in range(n):
            x0_i = load_f64(x0, i)
            value = -absolute(x0_i)
            store_f64(t3, i, value)
        call_library(loops, EXP, n, (t3, 8, t3, 8))
        t4 = scratch + 6144
        call_library(loops, LOG1P, n, (t3, 8, t4, 8))
        for i in range(n):
            t4_i = load_f64(t4, i)
            x0_i = load_f64(x0, i)
            value = maximum(x0_i, 0.0) + t4_i
            store_f64(y, i, value)
        finish_f64(block, scratch + 2048)
        start += n
    return 0


def softplus_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (1 / (1 + exp(-x0))) to x0_bar."""
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
                value = -x0_i
                store_f64(t4, i, value)
            call_library(loops, EXP, n, (t4, 8, t4, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t4_i = load_f64(t4, i)
                value = masked_divide(bar, 1.0 + t4_i)
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0
