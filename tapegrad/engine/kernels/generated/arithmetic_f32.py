"""Elementwise kernels in f32: arithmetic.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

from numba import float32

from tapegrad.engine.kernels.arithmetic import masked_divide, masked_multiply, sign, sqrt, square, where
from tapegrad.engine.kernels.blocks import (
    BLOCK,
    Block,
    bar_f32,
    call_library,
    operand_f32,
    target_f32,
    whole_f32,
)
from tapegrad.engine.kernels.cotangents import (
    close_f32,
    contributions_f32,
    end_f32,
    finish_f32,
    load_masked_f32,
    open_f32,
)
from tapegrad.engine.kernels.frame import COUNT, STRIDE, X_BAR, Y_STRIDE, X, Y
from tapegrad.engine.kernels.library import entry
from tapegrad.engine.kernels.raw_memory import load_f32, load_i64, stack_words, store_f32

CBRT = entry("cbrt", "f")
CEIL = entry("ceil", "f")
FLOOR = entry("floor", "f")
RINT = entry("rint", "f")
TRUNC = entry("trunc", "f")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "add_forward_f32": ("positive",),
    "add_reverse_f32": ("add", "positive"),
    "subtract_forward_f32": ("positive",),
    "subtract_reverse_f32": ("add", "positive"),
    "multiply_forward_f32": ("positive",),
    "multiply_reverse_f32": ("add", "positive"),
    "masked_multiply_forward_f32": ("positive",),
    "masked_multiply_reverse_f32": ("add", "positive"),
    "divide_forward_f32": ("positive",),
    "divide_reverse_f32": ("add", "positive"),
    "negative_forward_f32": ("positive",),
    "negative_reverse_f32": ("add", "positive"),
    "positive_forward_f32": ("positive",),
    "positive_reverse_f32": ("add", "positive"),
    "reciprocal_forward_f32": ("positive",),
    "reciprocal_reverse_f32": ("add", "positive"),
    "square_forward_f32": ("positive",),
    "square_reverse_f32": ("add", "positive"),
    "sqrt_forward_f32": ("positive",),
    "sqrt_reverse_f32": ("add", "positive"),
    "cbrt_forward_f32": ("cbrt",),
    "cbrt_reverse_f32": ("add", "positive"),
    "floor_forward_f32": ("floor",),
    "floor_reverse_f32": ("add", "positive"),
    "ceil_forward_f32": ("ceil",),
    "ceil_reverse_f32": ("add", "positive"),
    "rint_forward_f32": ("rint",),
    "rint_reverse_f32": ("add", "positive"),
    "trunc_forward_f32": ("trunc",),
    "trunc_reverse_f32": ("add", "positive"),
    "sign_forward_f32": ("positive",),
    "sign_reverse_f32": ("add", "positive"),
    "normal_exponent_forward_f32": ("positive",),
    "normal_exponent_reverse_f32": ("add", "positive"),
}


def add_forward_f32(frame: int, loops: int) -> int:
    """y = x0 + x1."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(384)
    whole = whole_f32(frame, 11, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        y = target_f32(block, 3, scratch + 2048)
        for i in range(n):
            x0_i = load_f32(x0, i)
            x1_i = load_f32(x1, i)
            value = x0_i + x1_i
            store_f32(y, i, value)
        finish_f32(block, scratch + 2048)
        start += n
    return 0


def add_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (1) to x0_bar; y_bar * (1) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(256)
    whole = whole_f32(frame, 11, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    x1_mask = open_f32(whole, frame, 1)
    x1_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 1024)
            for i in range(n):
                bar = load_f32(y_bar, i)
                value = bar
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 1024)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 1024)
            for i in range(n):
                bar = load_f32(y_bar, i)
                value = bar
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 1024)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    end_f32(whole, frame, 1, x1_sum)
    return 0


def subtract_forward_f32(frame: int, loops: int) -> int:
    """y = x0 - x1."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(384)
    whole = whole_f32(frame, 11, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        y = target_f32(block, 3, scratch + 2048)
        for i in range(n):
            x0_i = load_f32(x0, i)
            x1_i = load_f32(x1, i)
            value = x0_i - x1_i
            store_f32(y, i, value)
        finish_f32(block, scratch + 2048)
        start += n
    return 0


def subtract_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (1) to x0_bar; y_bar * (-1) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(256)
    whole = whole_f32(frame, 11, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    x1_mask = open_f32(whole, frame, 1)
    x1_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 1024)
            for i in range(n):
                bar = load_f32(y_bar, i)
                value = bar
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 1024)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 1024)
            for i in range(n):
                bar = load_f32(y_bar, i)
                value = -bar
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 1024)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    end_f32(whole, frame, 1, x1_sum)
    return 0


def multiply_forward_f32(frame: int, loops: int) -> int:
    """y = x0 * x1."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(384)
    whole = whole_f32(frame, 11, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        y = target_f32(block, 3, scratch + 2048)
        for i in range(n):
            x0_i = load_f32(x0, i)
            x1_i = load_f32(x1, i)
            value = x0_i * x1_i
            store_f32(y, i, value)
        finish_f32(block, scratch + 2048)
        start += n
    return 0


def multiply_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (x1) to x0_bar; y_bar * (x0) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(512)
    whole = whole_f32(frame, 11, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    x1_mask = open_f32(whole, frame, 1)
    x1_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x0 = operand_f32(block, 0, scratch + 1024)
        x1 = operand_f32(block, 1, scratch + 2048)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 3072)
            for i in range(n):
                bar = load_f32(y_bar, i)
                x1_i = load_f32(x1, i)
                value = masked_multiply(bar, x1_i)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 3072)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 3072)
            for i in range(n):
                bar = load_f32(y_bar, i)
                x0_i = load_f32(x0, i)
                value = masked_multiply(bar, x0_i)
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 3072)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    end_f32(whole, frame, 1, x1_sum)
    return 0


def masked_multiply_forward_f32(frame: int, loops: int) -> int:
    """y = where((x0 == 0) | (x1 == 0), 0, x0 * x1)."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(384)
    whole = whole_f32(frame, 11, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        y = target_f32(block, 3, scratch + 2048)
        for i in range(n):
            x0_i = load_f32(x0, i)
            x1_i = load_f32(x1, i)
            value = where((x0_i == float32(0.0)) | (x1_i == float32(0.0)), float32(0.0), x0_i * x1_i)
            store_f32(y, i, value)
        finish_f32(block, scratch + 2048)
        start += n
    return 0


def masked_multiply_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (x1) to x0_bar; y_bar * (x0) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(512)
    whole = whole_f32(frame, 11, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    x1_mask = open_f32(whole, frame, 1)
    x1_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x0 = operand_f32(block, 0, scratch + 1024)
        x1 = operand_f32(block, 1, scratch + 2048)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 3072)
            for i in range(n):
                bar = load_f32(y_bar, i)
                x1_i = load_f32(x1, i)
                value = masked_multiply(bar, x1_i)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 3072)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 3072)
            for i in range(n):
                bar = load_f32(y_bar, i)
                x0_i = load_f32(x0, i)
                value = masked_multiply(bar, x0_i)
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 3072)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    end_f32(whole, frame, 1, x1_sum)
    return 0


def divide_forward_f32(frame: int, loops: int) -> int:
    """y = x0 / x1."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(384)
    whole = whole_f32(frame, 11, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        y = target_f32(block, 3, scratch + 2048)
        for i in range(n):
            x0_i = load_f32(x0, i)
            x1_i = load_f32(x1, i)
            value = x0_i / x1_i
            store_f32(y, i, value)
        finish_f32(block, scratch + 2048)
        start += n
    return 0


def divide_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (1 / x1) to x0_bar; y_bar * (-y / x1) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(512)
    whole = whole_f32(frame, 11, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    x1_mask = open_f32(whole, frame, 1)
    x1_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        y = operand_f32(block, 3, scratch + 2048)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 3072)
            for i in range(n):
                bar = load_f32(y_bar, i)
                x1_i = load_f32(x1, i)
                value = masked_divide(bar, x1_i)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 3072)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 3072)
            for i in range(n):
                bar = load_f32(y_bar, i)
                x1_i = load_f32(x1, i)
                y_i = load_f32(y, i)
                value = masked_multiply(bar, -y_i / x1_i)
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 3072)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    end_f32(whole, frame, 1, x1_sum)
    return 0


def negative_forward_f32(frame: int, loops: int) -> int:
    """y = -x0."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(256)
    whole = whole_f32(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        y = target_f32(block, 3, scratch + 1024)
        for i in range(n):
            x0_i = load_f32(x0, i)
            value = -x0_i
            store_f32(y, i, value)
        finish_f32(block, scratch + 1024)
        start += n
    return 0


def negative_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (-1) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(256)
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
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 1024)
            for i in range(n):
                bar = load_f32(y_bar, i)
                value = -bar
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 1024)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def positive_forward_f32(frame: int, loops: int) -> int:
    """y = x0."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(256)
    whole = whole_f32(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        y = target_f32(block, 3, scratch + 1024)
        for i in range(n):
            x0_i = load_f32(x0, i)
            value = x0_i
            store_f32(y, i, value)
        finish_f32(block, scratch + 1024)
        start += n
    return 0


def positive_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (1) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(256)
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
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 1024)
            for i in range(n):
                bar = load_f32(y_bar, i)
                value = bar
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 1024)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def reciprocal_forward_f32(frame: int, loops: int) -> int:
    """y = 1 / x0."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(256)
    whole = whole_f32(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        y = target_f32(block, 3, scratch + 1024)
        for i in range(n):
            x0_i = load_f32(x0, i)
            value = float32(1.0) / x0_i
            store_f32(y, i, value)
        finish_f32(block, scratch + 1024)
        start += n
    return 0


def reciprocal_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (-square(y)) to x0_bar."""
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
        y = operand_f32(block, 3, scratch + 1024)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 2048)
            for i in range(n):
                bar = load_f32(y_bar, i)
                y_i = load_f32(y, i)
                value = -masked_multiply(bar, square(y_i))
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def square_forward_f32(frame: int, loops: int) -> int:
    """y = square(x0)."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(256)
    whole = whole_f32(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        y = target_f32(block, 3, scratch + 1024)
        for i in range(n):
            x0_i = load_f32(x0, i)
            value = square(x0_i)
            store_f32(y, i, value)
        finish_f32(block, scratch + 1024)
        start += n
    return 0


def square_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (2 * x0) to x0_bar."""
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
                value = masked_multiply(bar, float32(2.0) * x0_i)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def sqrt_forward_f32(frame: int, loops: int) -> int:
    """y = sqrt(x0)."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(256)
    whole = whole_f32(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        y = target_f32(block, 3, scratch + 1024)
        for i in range(n):
            x0_i = load_f32(x0, i)
            value = sqrt(x0_i)
            store_f32(y, i, value)
        finish_f32(block, scratch + 1024)
        start += n
    return 0


def sqrt_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (0.5 / y) to x0_bar."""
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
        y = operand_f32(block, 3, scratch + 1024)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 2048)
            for i in range(n):
                bar = load_f32(y_bar, i)
                y_i = load_f32(y, i)
                value = masked_divide(bar * float32(0.5), y_i)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def cbrt_forward_f32(frame: int, loops: int) -> int:
    """y = cbrt(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, CBRT, count, arrays)
    return 0


def cbrt_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (1 / (3 * square(y))) to x0_bar."""
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
        y = operand_f32(block, 3, scratch + 1024)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 2048)
            for i in range(n):
                bar = load_f32(y_bar, i)
                y_i = load_f32(y, i)
                value = masked_divide(bar, float32(3.0) * square(y_i))
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def floor_forward_f32(frame: int, loops: int) -> int:
    """y = floor(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, FLOOR, count, arrays)
    return 0


def floor_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (0) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(128)
    whole = whole_f32(frame, 9, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 0)
            for i in range(n):
                value = float32(0.0)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 0)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def ceil_forward_f32(frame: int, loops: int) -> int:
    """y = ceil(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, CEIL, count, arrays)
    return 0


def ceil_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (0) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(128)
    whole = whole_f32(frame, 9, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 0)
            for i in range(n):
                value = float32(0.0)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 0)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def rint_forward_f32(frame: int, loops: int) -> int:
    """y = rint(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, RINT, count, arrays)
    return 0


def rint_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (0) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(128)
    whole = whole_f32(frame, 9, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 0)
            for i in range(n):
                value = float32(0.0)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 0)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def trunc_forward_f32(frame: int, loops: int) -> int:
    """y = trunc(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, TRUNC, count, arrays)
    return 0


def trunc_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (0) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(128)
    whole = whole_f32(frame, 9, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 0)
            for i in range(n):
                value = float32(0.0)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 0)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def sign_forward_f32(frame: int, loops: int) -> int:
    """y = sign(x0)."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(256)
    whole = whole_f32(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        y = target_f32(block, 3, scratch + 1024)
        for i in range(n):
            x0_i = load_f32(x0, i)
            value = sign(x0_i)
            store_f32(y, i, value)
        finish_f32(block, scratch + 1024)
        start += n
    return 0


def sign_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (0) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(128)
    whole = whole_f32(frame, 9, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 0)
            for i in range(n):
                value = float32(0.0)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 0)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def normal_exponent_forward_f32(frame: int, loops: int) -> int:
    """y = -0.5 * square((x0 - x1) / x2) - half_log_2pi."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(512)
    whole = whole_f32(frame, 15, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        x2 = operand_f32(block, 2, scratch + 2048)
        y = target_f32(block, 3, scratch + 3072)
        for i in range(n):
            x0_i = load_f32(x0, i)
            x1_i = load_f32(x1, i)
            x2_i = load_f32(x2, i)
            value = (-float32(0.5) * square((x0_i - x1_i) / x2_i)) - float32(0.9189385332046727)
            store_f32(y, i, value)
        finish_f32(block, scratch + 3072)
        start += n
    return 0


def normal_exponent_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (-(x0 - x1) * (1 / x2) * (1 / x2)) to x0_bar; y_bar * ((x0 - x1) * (1 / x2) * (1 / x2)) to
    x1_bar; y_bar * (square((x0 - x1) * (1 / x2)) * (1 / x2)) to x2_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(640)
    whole = whole_f32(frame, 15, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    x1_mask = open_f32(whole, frame, 1)
    x1_sum = 0.0
    x2_mask = open_f32(whole, frame, 2)
    x2_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x0 = operand_f32(block, 0, scratch + 1024)
        x1 = operand_f32(block, 1, scratch + 2048)
        x2 = operand_f32(block, 2, scratch + 3072)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 4096)
            for i in range(n):
                bar = load_f32(y_bar, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                x2_i = load_f32(x2, i)
                value = (
                    masked_multiply(bar, (-(x0_i - x1_i) * (float32(1.0) / x2_i)) * (float32(1.0) /
                    x2_i))
                )
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 4096)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 4096)
            for i in range(n):
                bar = load_f32(y_bar, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                x2_i = load_f32(x2, i)
                value = (
                    masked_multiply(bar, ((x0_i - x1_i) * (float32(1.0) / x2_i)) * (float32(1.0) /
                    x2_i))
                )
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 4096)
        if load_i64(frame, X_BAR + 2) != 0:
            x2_bar = contributions_f32(block, 2, scratch + 4096)
            for i in range(n):
                bar = load_f32(y_bar, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                x2_i = load_f32(x2, i)
                value = (
                    masked_multiply(bar, square((x0_i - x1_i) * (float32(1.0) / x2_i)) * (float32(1.0) /
                    x2_i))
                )
                store_f32(x2_bar, i, load_masked_f32(x2_bar, i, x2_mask) + value)
            x2_sum += close_f32(block, 2, scratch + 4096)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    end_f32(whole, frame, 1, x1_sum)
    end_f32(whole, frame, 2, x2_sum)
    return 0
