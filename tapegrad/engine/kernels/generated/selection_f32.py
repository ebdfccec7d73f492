"""Elementwise kernels in f32: selection.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

from numba import float32

from tapegrad.engine.kernels.arithmetic import (
    absolute,
    fmax,
    fmin,
    masked_multiply,
    maximum,
    minimum,
    sign,
    where,
)
from tapegrad.engine.kernels.blocks import (
    BLOCK,
    Block,
    bar_f32,
    operand_f32,
    operand_u8,
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
from tapegrad.engine.kernels.frame import COUNT, X_BAR
from tapegrad.engine.kernels.raw_memory import load_f32, load_i64, load_u8, stack_words, store_f32

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "absolute_forward_f32": ("positive",),
    "absolute_reverse_f32": ("add", "positive"),
    "maximum_forward_f32": ("positive",),
    "maximum_reverse_f32": ("add", "positive"),
    "minimum_forward_f32": ("positive",),
    "minimum_reverse_f32": ("add", "positive"),
    "fmax_forward_f32": ("positive",),
    "fmax_reverse_f32": ("add", "positive"),
    "fmin_forward_f32": ("positive",),
    "fmin_reverse_f32": ("add", "positive"),
    "where_forward_f32": ("absolute", "positive"),
    "where_reverse_f32": ("absolute", "add", "positive"),
    "clip_forward_f32": ("positive",),
    "clip_reverse_f32": ("add", "positive"),
    "relu_forward_f32": ("positive",),
    "relu_reverse_f32": ("add", "positive"),
}


def absolute_forward_f32(frame: int, loops: int) -> int:
    """y = absolute(x0)."""
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
            value = absolute(x0_i)
            store_f32(y, i, value)
        finish_f32(block, scratch + 1024)
        start += n
    return 0


def absolute_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (sign(x0)) to x0_bar."""
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
                value = masked_multiply(bar, sign(x0_i))
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def maximum_forward_f32(frame: int, loops: int) -> int:
    """y = maximum(x0, x1)."""
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
            value = maximum(x0_i, x1_i)
            store_f32(y, i, value)
        finish_f32(block, scratch + 2048)
        start += n
    return 0


def maximum_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (where(x0 == x1, 0.5, where((x0 > x1) | (x0 != x0), 1, 0))) to x0_bar; y_bar * (where(x1 ==
    x0, 0.5, where((x1 > x0) | (x1 != x1), 1, 0))) to x1_bar."""
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
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    where(x0_i == x1_i, bar * float32(0.5), where((x0_i > x1_i) | (x0_i != x0_i), bar,
                    float32(0.0)))
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
                    where(x1_i == x0_i, bar * float32(0.5), where((x1_i > x0_i) | (x1_i != x1_i), bar,
                    float32(0.0)))
                )
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 3072)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    end_f32(whole, frame, 1, x1_sum)
    return 0


def minimum_forward_f32(frame: int, loops: int) -> int:
    """y = minimum(x0, x1)."""
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
            value = minimum(x0_i, x1_i)
            store_f32(y, i, value)
        finish_f32(block, scratch + 2048)
        start += n
    return 0


def minimum_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (where(x0 == x1, 0.5, where((x0 < x1) | (x0 != x0), 1, 0))) to x0_bar; y_bar * (where(x1 ==
    x0, 0.5, where((x1 < x0) | (x1 != x1), 1, 0))) to x1_bar."""
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
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    where(x0_i == x1_i, bar * float32(0.5), where((x0_i < x1_i) | (x0_i != x0_i), bar,
                    float32(0.0)))
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
                    where(x1_i == x0_i, bar * float32(0.5), where((x1_i < x0_i) | (x1_i != x1_i), bar,
                    float32(0.0)))
                )
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 3072)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    end_f32(whole, frame, 1, x1_sum)
    return 0


def fmax_forward_f32(frame: int, loops: int) -> int:
    """y = fmax(x0, x1)."""
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
            value = fmax(x0_i, x1_i)
            store_f32(y, i, value)
        finish_f32(block, scratch + 2048)
        start += n
    return 0


def fmax_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (where(x0 == x1, 0.5, where((x0 > x1) | (x1 != x1), 1, 0))) to x0_bar; y_bar * (where(x1 ==
    x0, 0.5, where((x1 > x0) | (x0 != x0), 1, 0))) to x1_bar."""
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
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    where(x0_i == x1_i, bar * float32(0.5), where((x0_i > x1_i) | (x1_i != x1_i), bar,
                    float32(0.0)))
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
                    where(x1_i == x0_i, bar * float32(0.5), where((x1_i > x0_i) | (x0_i != x0_i), bar,
                    float32(0.0)))
                )
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 3072)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    end_f32(whole, frame, 1, x1_sum)
    return 0


def fmin_forward_f32(frame: int, loops: int) -> int:
    """y = fmin(x0, x1)."""
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
            value = fmin(x0_i, x1_i)
            store_f32(y, i, value)
        finish_f32(block, scratch + 2048)
        start += n
    return 0


def fmin_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (where(x0 == x1, 0.5, where((x0 < x1) | (x1 != x1), 1, 0))) to x0_bar; y_bar * (where(x1 ==
    x0, 0.5, where((x1 < x0) | (x0 != x0), 1, 0))) to x1_bar."""
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
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    where(x0_i == x1_i, bar * float32(0.5), where((x0_i < x1_i) | (x1_i != x1_i), bar,
                    float32(0.0)))
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
                    where(x1_i == x0_i, bar * float32(0.5), where((x1_i < x0_i) | (x0_i != x0_i), bar,
                    float32(0.0)))
                )
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 3072)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    end_f32(whole, frame, 1, x1_sum)
    return 0


def where_forward_f32(frame: int, loops: int) -> int:
    """y = where(x0, x1, x2)."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(512)
    whole = whole_f32(frame, 14, 1)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_u8(block, 0, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        x2 = operand_f32(block, 2, scratch + 2048)
        y = target_f32(block, 3, scratch + 3072)
        for i in range(n):
            x0_i = load_u8(x0, i) != 0
            x1_i = load_f32(x1, i)
            x2_i = load_f32(x2, i)
            value = where(x0_i, x1_i, x2_i)
            store_f32(y, i, value)
        finish_f32(block, scratch + 3072)
        start += n
    return 0


def where_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (where(x0, 1, 0)) to x1_bar; y_bar * (where(x0, 0, 1)) to x2_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(384)
    whole = whole_f32(frame, 14, 1)
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
        x0 = operand_u8(block, 0, scratch + 1024)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 2048)
            for i in range(n):
                bar = load_f32(y_bar, i)
                x0_i = load_u8(x0, i) != 0
                value = where(x0_i, bar, float32(0.0))
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 2048)
        if load_i64(frame, X_BAR + 2) != 0:
            x2_bar = contributions_f32(block, 2, scratch + 2048)
            for i in range(n):
                bar = load_f32(y_bar, i)
                x0_i = load_u8(x0, i) != 0
                value = where(x0_i, float32(0.0), bar)
                store_f32(x2_bar, i, load_masked_f32(x2_bar, i, x2_mask) + value)
            x2_sum += close_f32(block, 2, scratch + 2048)
        start += n
    end_f32(whole, frame, 1, x1_sum)
    end_f32(whole, frame, 2, x2_sum)
    return 0


def clip_forward_f32(frame: int, loops: int) -> int:
    """y = minimum(maximum(x0, x1), x2)."""
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
            value = minimum(maximum(x0_i, x1_i), x2_i)
            store_f32(y, i, value)
        finish_f32(block, scratch + 3072)
        start += n
    return 0


def clip_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (where((x0 < x1) | (x0 > x2), 0, 1)) to x0_bar; y_bar * (where((x0 < x1) & (x1 <= x2), 1, 0))
    to x1_bar; y_bar * (where((x0 > x2) | (x1 > x2), 1, 0)) to x2_bar."""
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
                value = where((x0_i < x1_i) | (x0_i > x2_i), float32(0.0), bar)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 4096)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 4096)
            for i in range(n):
                bar = load_f32(y_bar, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                x2_i = load_f32(x2, i)
                value = where((x0_i < x1_i) & (x1_i <= x2_i), bar, float32(0.0))
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 4096)
        if load_i64(frame, X_BAR + 2) != 0:
            x2_bar = contributions_f32(block, 2, scratch + 4096)
            for i in range(n):
                bar = load_f32(y_bar, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                x2_i = load_f32(x2, i)
                value = where((x0_i > x2_i) | (x1_i > x2_i), bar, float32(0.0))
                store_f32(x2_bar, i, load_masked_f32(x2_bar, i, x2_mask) + value)
            x2_sum += close_f32(block, 2, scratch + 4096)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    end_f32(whole, frame, 1, x1_sum)
    end_f32(whole, frame, 2, x2_sum)
    return 0


def relu_forward_f32(frame: int, loops: int) -> int:
    """y = maximum(x0, 0)."""
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
            value = maximum(x0_i, float32(0.0))
            store_f32(y, i, value)
        finish_f32(block, scratch + 1024)
        start += n
    return 0


def relu_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (where(x0 > 0, 1, 0)) to x0_bar."""
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
                value = where(x0_i > float32(0.0), bar, float32(0.0))
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0
