"""Elementwise kernels in f32: hyperbolic.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

from numba import float32

from tapegrad.engine.kernels.arithmetic import absolute, masked_divide, masked_multiply, sqrt, square, where
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

ARCCOSH = entry("arccosh", "f")
ARCSINH = entry("arcsinh", "f")
ARCTANH = entry("arctanh", "f")
COSH = entry("cosh", "f")
SINH = entry("sinh", "f")
TANH = entry("tanh", "f")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "sinh_forward_f32": ("sinh",),
    "sinh_reverse_f32": ("add", "cosh", "positive"),
    "cosh_forward_f32": ("cosh",),
    "cosh_reverse_f32": ("add", "positive", "sinh"),
    "tanh_forward_f32": ("tanh",),
    "tanh_reverse_f32": ("add", "cosh", "positive"),
    "arcsinh_forward_f32": ("arcsinh",),
    "arcsinh_reverse_f32": ("add", "positive"),
    "arccosh_forward_f32": ("arccosh",),
    "arccosh_reverse_f32": ("add", "positive"),
    "arctanh_forward_f32": ("arctanh",),
    "arctanh_reverse_f32": ("add", "positive"),
}


def sinh_forward_f32(frame: int, loops: int) -> int:
    """y = sinh(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, SINH, count, arrays)
    return 0


def sinh_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (cosh(x0)) to x0_bar."""
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
            call_library(loops, COSH, n, (x0, 4, t4, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t4_i = load_f32(t4, i)
                value = masked_multiply(bar, t4_i)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def cosh_forward_f32(frame: int, loops: int) -> int:
    """y = cosh(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, COSH, count, arrays)
    return 0


def cosh_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (sinh(x0)) to x0_bar."""
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
            call_library(loops, SINH, n, (x0, 4, t4, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t4_i = load_f32(t4, i)
                value = masked_multiply(bar, t4_i)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def tanh_forward_f32(frame: int, loops: int) -> int:
    """y = tanh(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, TANH, count, arrays)
    return 0


def tanh_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (square(1 / cosh(x0))) to x0_bar."""
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
            call_library(loops, COSH, n, (x0, 4, t4, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t4_i = load_f32(t4, i)
                value = masked_multiply(bar, square(float32(1.0) / t4_i))
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def arcsinh_forward_f32(frame: int, loops: int) -> int:
    """y = arcsinh(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ARCSINH, count, arrays)
    return 0


def arcsinh_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (where(absolute(x0) < 1000000000.0, 1 / sqrt(1 + square(x0)), 1 / absolute(x0))) to
    x0_bar."""
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
                value = (
                    where(absolute(x0_i) < float32(1000000000.0), masked_divide(bar, sqrt(float32(1.0) +
                    square(x0_i))), masked_divide(bar, absolute(x0_i)))
                )
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def arccosh_forward_f32(frame: int, loops: int) -> int:
    """y = arccosh(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ARCCOSH, count, arrays)
    return 0


def arccosh_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (1 / (sqrt(x0 - 1) * sqrt(x0 + 1))) to x0_bar."""
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
                value = masked_divide(bar, sqrt(x0_i - float32(1.0)) * sqrt(x0_i + float32(1.0)))
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def arctanh_forward_f32(frame: int, loops: int) -> int:
    """y = arctanh(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ARCTANH, count, arrays)
    return 0


def arctanh_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (1 / where(absolute(x0) < 0.5, 1 - square(x0), (1 - x0) * (1 + x0))) to x0_bar."""
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
                value = (
                    masked_divide(bar, where(absolute(x0_i) < float32(0.5), float32(1.0) - square(x0_i),
                    (float32(1.0) - x0_i) * (float32(1.0) + x0_i)))
                )
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0
