"""Elementwise kernels in f64: hyperbolic.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

from tapegrad.engine.kernels.arithmetic import absolute, masked_divide, masked_multiply, sqrt, square, where
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

ARCCOSH = entry("arccosh", "d")
ARCSINH = entry("arcsinh", "d")
ARCTANH = entry("arctanh", "d")
COSH = entry("cosh", "d")
SINH = entry("sinh", "d")
TANH = entry("tanh", "d")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "sinh_forward_f64": ("sinh",),
    "sinh_reverse_f64": ("add", "cosh", "positive"),
    "cosh_forward_f64": ("cosh",),
    "cosh_reverse_f64": ("add", "positive", "sinh"),
    "tanh_forward_f64": ("tanh",),
    "tanh_reverse_f64": ("add", "cosh", "positive"),
    "arcsinh_forward_f64": ("arcsinh",),
    "arcsinh_reverse_f64": ("add", "positive"),
    "arccosh_forward_f64": ("arccosh",),
    "arccosh_reverse_f64": ("add", "positive"),
    "arctanh_forward_f64": ("arctanh",),
    "arctanh_reverse_f64": ("add", "positive"),
}


def sinh_forward_f64(frame: int, loops: int) -> int:
    """y = sinh(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, SINH, count, arrays)
    return 0


def sinh_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (cosh(x0)) to x0_bar."""
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
            call_library(loops, COSH, n, (x0, 8, t4, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t4_i = load_f64(t4, i)
                value = masked_multiply(bar, t4_i)
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def cosh_forward_f64(frame: int, loops: int) -> int:
    """y = cosh(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, COSH, count, arrays)
    return 0


def cosh_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (sinh(x0)) to x0_bar."""
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
            call_library(loops, SINH, n, (x0, 8, t4, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t4_i = load_f64(t4, i)
                value = masked_multiply(bar, t4_i)
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def tanh_forward_f64(frame: int, loops: int) -> int:
    """y = tanh(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, TANH, count, arrays)
    return 0


def tanh_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (square(1 / cosh(x0))) to x0_bar."""
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
            call_library(loops, COSH, n, (x0, 8, t4, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t4_i = load_f64(t4, i)
                value = masked_multiply(bar, square(1.0 / t4_i))
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def arcsinh_forward_f64(frame: int, loops: int) -> int:
    """y = arcsinh(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ARCSINH, count, arrays)
    return 0


def arcsinh_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (where(absolute(x0) < 1000000000.0, 1 / sqrt(1 + square(x0)), 1 / absolute(x0))) to
    x0_bar."""
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
                value = (
                    where(absolute(x0_i) < 1000000000.0, masked_divide(bar, sqrt(1.0 + square(x0_i))),
                    masked_divide(bar, absolute(x0_i)))
                )
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def arccosh_forward_f64(frame: int, loops: int) -> int:
    """y = arccosh(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ARCCOSH, count, arrays)
    return 0


def arccosh_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (1 / (sqrt(x0 - 1) * sqrt(x0 + 1))) to x0_bar."""
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
                value = masked_divide(bar, sqrt(x0_i - 1.0) * sqrt(x0_i + 1.0))
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def arctanh_forward_f64(frame: int, loops: int) -> int:
    """y = arctanh(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ARCTANH, count, arrays)
    return 0


def arctanh_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (1 / where(absolute(x0) < 0.5, 1 - square(x0), (1 - x0) * (1 + x0))) to x0_bar."""
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
                value = (
                    masked_divide(bar, where(absolute(x0_i) < 0.5, 1.0 - square(x0_i), (1.0 - x0_i) *
                    (1.0 + x0_i)))
                )
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0
