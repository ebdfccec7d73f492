"""Elementwise kernels in f64: selection.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

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
    bar_f64,
    operand_f64,
    operand_u8,
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
from tapegrad.engine.kernels.frame import COUNT, X_BAR
from tapegrad.engine.kernels.raw_memory import load_f64, load_i64, load_u8, stack_words, store_f64

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "absolute_forward_f64": ("positive",),
    "absolute_reverse_f64": ("add", "positive"),
    "maximum_forward_f64": ("positive",),
    "maximum_reverse_f64": ("add", "positive"),
    "minimum_forward_f64": ("positive",),
    "minimum_reverse_f64": ("add", "positive"),
    "fmax_forward_f64": ("positive",),
    "fmax_reverse_f64": ("add", "positive"),
    "fmin_forward_f64": ("positive",),
    "fmin_reverse_f64": ("add", "positive"),
    "where_forward_f64": ("absolute", "positive"),
    "where_reverse_f64": ("absolute", "add", "positive"),
    "clip_forward_f64": ("positive",),
    "clip_reverse_f64": ("add", "positive"),
    "relu_forward_f64": ("positive",),
    "relu_reverse_f64": ("add", "positive"),
}


def absolute_forward_f64(frame: int, loops: int) -> int:
    """y = absolute(x0)."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(512)
    whole = whole_f64(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        y = target_f64(block, 3, scratch + 2048)
        for i in range(n):
            x0_i = load_f64(x0, i)
            value = absolute(x0_i)
            store_f64(y, i, value)
        finish_f64(block, scratch + 2048)
        start += n
    return 0


def absolute_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (sign(x0)) to x0_bar."""
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
                value = masked_multiply(bar, sign(x0_i))
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def maximum_forward_f64(frame: int, loops: int) -> int:
    """y = maximum(x0, x1)."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(768)
    whole = whole_f64(frame, 11, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        x1 = operand_f64(block, 1, scratch + 2048)
        y = target_f64(block, 3, scratch + 4096)
        for i in range(n):
            x0_i = load_f64(x0, i)
            x1_i = load_f64(x1, i)
            value = maximum(x0_i, x1_i)
            store_f64(y, i, value)
        finish_f64(block, scratch + 4096)
        start += n
    return 0


def maximum_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (where(x0 == x1, 0.5, where((x0 > x1) | (x0 != x0), 1, 0))) to x0_bar; y_bar * (where(x1 ==
    x0, 0.5, where((x1 > x0) | (x1 != x1), 1, 0))) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1024)
    whole = whole_f64(frame, 11, 0)
    x0_mask = open_f64(whole, frame, 0)
    x0_sum = 0.0
    x1_mask = open_f64(whole, frame, 1)
    x1_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f64(block, 3, scratch + 0)
        x0 = operand_f64(block, 0, scratch + 2048)
        x1 = operand_f64(block, 1, scratch + 4096)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f64(block, 0, scratch + 6144)
            for i in range(n):
                bar = load_f64(y_bar, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = where(x0_i == x1_i, bar * 0.5, where((x0_i > x1_i) | (x0_i != x0_i), bar, 0.0))
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 6144)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f64(block, 1, scratch + 6144)
            for i in range(n):
                bar = load_f64(y_bar, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = where(x1_i == x0_i, bar * 0.5, where((x1_i > x0_i) | (x1_i != x1_i), bar, 0.0))
                store_f64(x1_bar, i, load_masked_f64(x1_bar, i, x1_mask) + value)
            x1_sum += close_f64(block, 1, scratch + 6144)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    end_f64(whole, frame, 1, x1_sum)
    return 0


def minimum_forward_f64(frame: int, loops: int) -> int:
    """y = minimum(x0, x1)."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(768)
    whole = whole_f64(frame, 11, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        x1 = operand_f64(block, 1, scratch + 2048)
        y = target_f64(block, 3, scratch + 4096)
        for i in range(n):
            x0_i = load_f64(x0, i)
            x1_i = load_f64(x1, i)
            value = minimum(x0_i, x1_i)
            store_f64(y, i, value)
        finish_f64(block, scratch + 4096)
        start += n
    return 0


def minimum_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (where(x0 == x1, 0.5, where((x0 < x1) | (x0 != x0), 1, 0))) to x0_bar; y_bar * (where(x1 ==
    x0, 0.5, where((x1 < x0) | (x1 != x1), 1, 0))) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1024)
    whole = whole_f64(frame, 11, 0)
    x0_mask = open_f64(whole, frame, 0)
    x0_sum = 0.0
    x1_mask = open_f64(whole, frame, 1)
    x1_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f64(block, 3, scratch + 0)
        x0 = operand_f64(block, 0, scratch + 2048)
        x1 = operand_f64(block, 1, scratch + 4096)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f64(block, 0, scratch + 6144)
            for i in range(n):
                bar = load_f64(y_bar, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = where(x0_i == x1_i, bar * 0.5, where((x0_i < x1_i) | (x0_i != x0_i), bar, 0.0))
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 6144)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f64(block, 1, scratch + 6144)
            for i in range(n):
                bar = load_f64(y_bar, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = where(x1_i == x0_i, bar * 0.5, where((x1_i < x0_i) | (x1_i != x1_i), bar, 0.0))
                store_f64(x1_bar, i, load_masked_f64(x1_bar, i, x1_mask) + value)
            x1_sum += close_f64(block, 1, scratch + 6144)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    end_f64(whole, frame, 1, x1_sum)
    return 0


def fmax_forward_f64(frame: int, loops: int) -> int:
    """y = fmax(x0, x1)."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(768)
    whole = whole_f64(frame, 11, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        x1 = operand_f64(block, 1, scratch + 2048)
        y = target_f64(block, 3, scratch + 4096)
        for i in range(n):
            x0_i = load_f64(x0, i)
            x1_i = load_f64(x1, i)
            value = fmax(x0_i, x1_i)
            store_f64(y, i, value)
        finish_f64(block, scratch + 4096)
        start += n
    return 0


def fmax_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (where(x0 == x1, 0.5, where((x0 > x1) | (x1 != x1), 1, 0))) to x0_bar; y_bar * (where(x1 ==
    x0, 0.5, where((x1 > x0) | (x0 != x0), 1, 0))) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1024)
    whole = whole_f64(frame, 11, 0)
    x0_mask = open_f64(whole, frame, 0)
    x0_sum = 0.0
    x1_mask = open_f64(whole, frame, 1)
    x1_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f64(block, 3, scratch + 0)
        x0 = operand_f64(block, 0, scratch + 2048)
        x1 = operand_f64(block, 1, scratch + 4096)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f64(block, 0, scratch + 6144)
            for i in range(n):
                bar = load_f64(y_bar, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = where(x0_i == x1_i, bar * 0.5, where((x0_i > x1_i) | (x1_i != x1_i), bar, 0.0))
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 6144)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f64(block, 1, scratch + 6144)
            for i in range(n):
                bar = load_f64(y_bar, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = where(x1_i == x0_i, bar * 0.5, where((x1_i > x0_i) | (x0_i != x0_i), bar, 0.0))
                store_f64(x1_bar, i, load_masked_f64(x1_bar, i, x1_mask) + value)
            x1_sum += close_f64(block, 1, scratch + 6144)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    end_f64(whole, frame, 1, x1_sum)
    return 0


def fmin_forward_f64(frame: int, loops: int) -> int:
    """y = fmin(x0, x1)."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(768)
    whole = whole_f64(frame, 11, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        x1 = operand_f64(block, 1, scratch + 2048)
        y = target_f64(block, 3, scratch + 4096)
        for i in range(n):
            x0_i = load_f64(x0, i)
            x1_i = load_f64(x1, i)
            value = fmin(x0_i, x1_i)
            store_f64(y, i, value)
        finish_f64(block, scratch + 4096)
        start += n
    return 0


def fmin_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (where(x0 == x1, 0.5, where((x0 < x1) | (x1 != x1), 1, 0))) to x0_bar; y_bar * (where(x1 ==
    x0, 0.5, where((x1 < x0) | (x0 != x0), 1, 0))) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1024)
    whole = whole_f64(frame, 11, 0)
    x0_mask = open_f64(whole, frame, 0)
    x0_sum = 0.0
    x1_mask = open_f64(whole, frame, 1)
    x1_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f64(block, 3, scratch + 0)
        x0 = operand_f64(block, 0, scratch + 2048)
        x1 = operand_f64(block, 1, scratch + 4096)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f64(block, 0, scratch + 6144)
            for i in range(n):
                bar = load_f64(y_bar, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = where(x0_i == x1_i, bar * 0.5, where((x0_i < x1_i) | (x1_i != x1_i), bar, 0.0))
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 6144)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f64(block, 1, scratch + 6144)
            for i in range(n):
                bar = load_f64(y_bar, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = where(x1_i == x0_i, bar * 0.5, where((x1_i < x0_i) | (x0_i != x0_i), bar, 0.0))
                store_f64(x1_bar, i, load_masked_f64(x1_bar, i, x1_mask) + value)
            x1_sum += close_f64(block, 1, scratch + 6144)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    end_f64(whole, frame, 1, x1_sum)
    return 0


def where_forward_f64(frame: int, loops: int) -> int:
    """y = where(x0, x1, x2)."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1024)
    whole = whole_f64(frame, 14, 1)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_u8(block, 0, scratch + 0)
        x1 = operand_f64(block, 1, scratch + 2048)
        x2 = operand_f64(block, 2, scratch + 4096)
        y = target_f64(block, 3, scratch + 6144)
        for i in range(n):
            x0_i = load_u8(x0, i) != 0
            x1_i = load_f64(x1, i)
            x2_i = load_f64(x2, i)
            value = where(x0_i, x1_i, x2_i)
            store_f64(y, i, value)
        finish_f64(block, scratch + 6144)
        start += n
    return 0


def where_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (where(x0, 1, 0)) to x1_bar; y_bar * (where(x0, 0, 1)) to x2_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(768)
    whole = whole_f64(frame, 14, 1)
    x1_mask = open_f64(whole, frame, 1)
    x1_sum = 0.0
    x2_mask = open_f64(whole, frame, 2)
    x2_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f64(block, 3, scratch + 0)
        x0 = operand_u8(block, 0, scratch + 2048)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f64(block, 1, scratch + 4096)
            for i in range(n):
                bar = load_f64(y_bar, i)
                x0_i = load_u8(x0, i) != 0
                value = where(x0_i, bar, 0.0)
                store_f64(x1_bar, i, load_masked_f64(x1_bar, i, x1_mask) + value)
            x1_sum += close_f64(block, 1, scratch + 4096)
        if load_i64(frame, X_BAR + 2) != 0:
            x2_bar = contributions_f64(block, 2, scratch + 4096)
            for i in range(n):
                bar = load_f64(y_bar, i)
                x0_i = load_u8(x0, i) != 0
                value = where(x0_i, 0.0, bar)
                store_f64(x2_bar, i, load_masked_f64(x2_bar, i, x2_mask) + value)
            x2_sum += close_f64(block, 2, scratch + 4096)
        start += n
    end_f64(whole, frame, 1, x1_sum)
    end_f64(whole, frame, 2, x2_sum)
    return 0


def clip_forward_f64(frame: int, loops: int) -> int:
    """y = minimum(maximum(x0, x1), x2)."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1024)
    whole = whole_f64(frame, 15, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        x1 = operand_f64(block, 1, scratch + 2048)
        x2 = operand_f64(block, 2, scratch + 4096)
        y = target_f64(block, 3, scratch + 6144)
        for i in range(n):
            x0_i = load_f64(x0, i)
            x1_i = load_f64(x1, i)
            x2_i = load_f64(x2, i)
            value = minimum(maximum(x0_i, x1_i), x2_i)
            store_f64(y, i, value)
        finish_f64(block, scratch + 6144)
        start += n
    return 0


def clip_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (where((x0 < x1) | (x0 > x2), 0, 1)) to x0_bar; y_bar * (where((x0 < x1) & (x1 <= x2), 1, 0))
    to x1_bar; y_bar * (where((x0 > x2) | (x1 > x2), 1, 0)) to x2_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1280)
    whole = whole_f64(frame, 15, 0)
    x0_mask = open_f64(whole, frame, 0)
    x0_sum = 0.0
    x1_mask = open_f64(whole, frame, 1)
    x1_sum = 0.0
    x2_mask = open_f64(whole, frame, 2)
    x2_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f64(block, 3, scratch + 0)
        x0 = operand_f64(block, 0, scratch + 2048)
        x1 = operand_f64(block, 1, scratch + 4096)
        x2 = operand_f64(block, 2, scratch + 6144)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f64(block, 0, scratch + 8192)
            for i in range(n):
                bar = load_f64(y_bar, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                x2_i = load_f64(x2, i)
                value = where((x0_i < x1_i) | (x0_i > x2_i), 0.0, bar)
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 8192)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f64(block, 1, scratch + 8192)
            for i in range(n):
                bar = load_f64(y_bar, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                x2_i = load_f64(x2, i)
                value = where((x0_i < x1_i) & (x1_i <= x2_i), bar, 0.0)
                store_f64(x1_bar, i, load_masked_f64(x1_bar, i, x1_mask) + value)
            x1_sum += close_f64(block, 1, scratch + 8192)
        if load_i64(frame, X_BAR + 2) != 0:
            x2_bar = contributions_f64(block, 2, scratch + 8192)
            for i in range(n):
                bar = load_f64(y_bar, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                x2_i = load_f64(x2, i)
                value = where((x0_i > x2_i) | (x1_i > x2_i), bar, 0.0)
                store_f64(x2_bar, i, load_masked_f64(x2_bar, i, x2_mask) + value)
            x2_sum += close_f64(block, 2, scratch + 8192)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    end_f64(whole, frame, 1, x1_sum)
    end_f64(whole, frame, 2, x2_sum)
    return 0


def relu_forward_f64(frame: int, loops: int) -> int:
    """y = maximum(x0, 0)."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(512)
    whole = whole_f64(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        y = target_f64(block, 3, scratch + 2048)
        for i in range(n):
            x0_i = load_f64(x0, i)
            value = maximum(x0_i, 0.0)
            store_f64(y, i, value)
        finish_f64(block, scratch + 2048)
        start += n
    return 0


def relu_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (where(x0 > 0, 1, 0)) to x0_bar."""
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
                value = where(x0_i > 0.0, bar, 0.0)
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0
