"""Elementwise kernels in f32: trigonometric.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

from numba import float32

from tapegrad.engine.kernels.arithmetic import (
    absolute,
    masked_divide,
    masked_multiply,
    sign,
    sqrt,
    square,
    where,
)
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

ARCCOS = entry("arccos", "f")
ARCSIN = entry("arcsin", "f")
ARCTAN = entry("arctan", "f")
ARCTAN2 = entry("arctan2", "f")
COS = entry("cos", "f")
HYPOT = entry("hypot", "f")
SIN = entry("sin", "f")
TAN = entry("tan", "f")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "sin_forward_f32": ("sin",),
    "sin_reverse_f32": ("add", "cos", "positive"),
    "cos_forward_f32": ("cos",),
    "cos_reverse_f32": ("add", "positive", "sin"),
    "tan_forward_f32": ("tan",),
    "tan_reverse_f32": ("add", "positive"),
    "arcsin_forward_f32": ("arcsin",),
    "arcsin_reverse_f32": ("add", "positive"),
    "arccos_forward_f32": ("arccos",),
    "arccos_reverse_f32": ("add", "positive"),
    "arctan_forward_f32": ("arctan",),
    "arctan_reverse_f32": ("add", "positive"),
    "arctan2_forward_f32": ("arctan2",),
    "arctan2_reverse_f32": ("add", "positive"),
    "hypot_forward_f32": ("hypot",),
    "hypot_reverse_f32": ("add", "positive"),
    "sinc_forward_f32": ("positive", "sin"),
    "sinc_reverse_f32": ("add", "cos", "positive"),
}


def sin_forward_f32(frame: int, loops: int) -> int:
    """y = sin(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, SIN, count, arrays)
    return 0


def sin_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (cos(x0)) to x0_bar."""
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
            call_library(loops, COS, n, (x0, 4, t4, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t4_i = load_f32(t4, i)
                value = masked_multiply(bar, t4_i)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def cos_forward_f32(frame: int, loops: int) -> int:
    """y = cos(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, COS, count, arrays)
    return 0


def cos_reverse_f32(frame: int, loops: int) -> int:
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


def tan_forward_f32(frame: int, loops: int) -> int:
    """y = tan(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, TAN, count, arrays)
    return 0


def tan_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (1 + square(y)) to x0_bar."""
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
                value = masked_multiply(bar, float32(1.0) + square(y_i))
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def arcsin_forward_f32(frame: int, loops: int) -> int:
    """y = arcsin(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ARCSIN, count, arrays)
    return 0


def arcsin_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (1 / sqrt(where(absolute(x0) < 0.5, 1 - square(x0), (1 - x0) * (1 + x0)))) to x0_bar."""
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
                    masked_divide(bar, sqrt(where(absolute(x0_i) < float32(0.5), float32(1.0) -
                    square(x0_i), (float32(1.0) - x0_i) * (float32(1.0) + x0_i))))
                )
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def arccos_forward_f32(frame: int, loops: int) -> int:
    """y = arccos(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ARCCOS, count, arrays)
    return 0


def arccos_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (-1 / sqrt(where(absolute(x0) < 0.5, 1 - square(x0), (1 - x0) * (1 + x0)))) to x0_bar."""
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
                    masked_divide(-bar, sqrt(where(absolute(x0_i) < float32(0.5), float32(1.0) -
                    square(x0_i), (float32(1.0) - x0_i) * (float32(1.0) + x0_i))))
                )
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def arctan_forward_f32(frame: int, loops: int) -> int:
    """y = arctan(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ARCTAN, count, arrays)
    return 0


def arctan_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (1 / (1 + square(x0))) to x0_bar."""
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
                value = masked_divide(bar, float32(1.0) + square(x0_i))
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def arctan2_forward_f32(frame: int, loops: int) -> int:
    """y = arctan2(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ARCTAN2, count, arrays)
    return 0


def arctan2_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (where((x0 == 0) & (x1 == 0), 0, where(absolute(x1) >= absolute(x0), 1 / (x1 + x0 * (x0 /
    x1)), x1 / x0 / (x0 + x1 * (x1 / x0))))) to x0_bar; y_bar * (where((x0 == 0) & (x1 == 0), 0,
    -where(absolute(x0) >= absolute(x1), 1 / (x0 + x1 * (x1 / x0)), x0 / x1 / (x1 + x0 * (x0 / x1))))) to
    x1_bar."""
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
                    where((x0_i == float32(0.0)) & (x1_i == float32(0.0)), float32(0.0),
                    where(absolute(x1_i) >= absolute(x0_i), masked_divide(bar, x1_i + (x0_i * (x0_i /
                    x1_i))), masked_multiply(bar, (x1_i / x0_i) / (x0_i + (x1_i * (x1_i / x0_i))))))
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
                    where((x0_i == float32(0.0)) & (x1_i == float32(0.0)), float32(0.0),
                    -where(absolute(x0_i) >= absolute(x1_i), masked_divide(bar, x0_i + (x1_i * (x1_i /
                    x0_i))), masked_multiply(bar, (x0_i / x1_i) / (x1_i + (x0_i * (x0_i / x1_i))))))
                )
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 3072)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    end_f32(whole, frame, 1, x1_sum)
    return 0


def hypot_forward_f32(frame: int, loops: int) -> int:
    """y = hypot(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, HYPOT, count, arrays)
    return 0


def hypot_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (where(y == 0, 0, where(absolute(x0) > absolute(x1), sign(x0), x0 / absolute(x1)) / sqrt(1 +
    square(where(absolute(x0) > absolute(x1), x1 / x0, x0 / x1))))) to x0_bar; y_bar * (where(y == 0, 0,
    where(absolute(x1) > absolute(x0), sign(x1), x1 / absolute(x0)) / sqrt(1 + square(where(absolute(x1) >
    absolute(x0), x0 / x1, x1 / x0))))) to x1_bar."""
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
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x0 = operand_f32(block, 0, scratch + 1024)
        x1 = operand_f32(block, 1, scratch + 2048)
        y = operand_f32(block, 3, scratch + 3072)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 4096)
            for i in range(n):
                bar = load_f32(y_bar, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                y_i = load_f32(y, i)
                value = (
                    where(y_i == float32(0.0), float32(0.0), masked_multiply(bar, where(absolute(x0_i) >
                    absolute(x1_i), sign(x0_i), x0_i / absolute(x1_i)) / sqrt(float32(1.0) +
                    square(where(absolute(x0_i) > absolute(x1_i), x1_i / x0_i, x0_i / x1_i)))))
                )
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 4096)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 4096)
            for i in range(n):
                bar = load_f32(y_bar, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                y_i = load_f32(y, i)
                value = (
                    where(y_i == float32(0.0), float32(0.0), masked_multiply(bar, where(absolute(x1_i) >
                    absolute(x0_i), sign(x1_i), x1_i / absolute(x0_i)) / sqrt(float32(1.0) +
                    square(where(absolute(x1_i) > absolute(x0_i), x0_i / x1_i, x1_i / x0_i)))))
                )
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 4096)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    end_f32(whole, frame, 1, x1_sum)
    return 0


def sinc_forward_f32(frame: int, loops: int) -> int:
    """y = where(x0 == 0, 1, sin(pi * x0) / (pi * x0))."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(384)
    whole = whole_f32(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        y = target_f32(block, 3, scratch + 1024)
        t3 = scratch + 2048
        for i in range(n):
            x0_i = load_f32(x0, i)
            value = float32(3.141592653589793) * x0_i
            store_f32(t3, i, value)
        call_library(loops, SIN, n, (t3, 4, t3, 4))
        for i in range(n):
            t3_i = load_f32(t3, i)
            x0_i = load_f32(x0, i)
            value = where(x0_i == float32(0.0), float32(1.0), t3_i / (float32(3.141592653589793) * x0_i))
            store_f32(y, i, value)
        finish_f32(block, scratch + 1024)
        start += n
    return 0


def sinc_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (where(absolute(x0) < 0.25, -pi * (pi * x0) * (1 / 3 - square(pi * x0) * (1 / 30 - square(pi
    * x0) * (1 / 840 - square(pi * x0) * (1 / 45360 - square(pi * x0) * (1 / 3991680 - square(pi * x0) * (1
    / 518918400 - square(pi * x0) * (1 / 93405312000))))))), (cos(pi * x0) - y) / x0)) to x0_bar."""
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
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = float32(3.141592653589793) * x0_i
                store_f32(t5, i, value)
            call_library(loops, COS, n, (t5, 4, t5, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                x0_i = load_f32(x0, i)
                y_i = load_f32(y, i)
                value = (
                    where(absolute(x0_i) < float32(0.25), masked_multiply(bar,
                    (-float32(3.141592653589793) * (float32(3.141592653589793) * x0_i)) * ((float32(1.0)
                    / float32(3.0)) - (square(float32(3.141592653589793) * x0_i) * ((float32(1.0) /
                    float32(30.0)) - (square(float32(3.141592653589793) * x0_i) * ((float32(1.0) /
                    float32(840.0)) - (square(float32(3.141592653589793) * x0_i) * ((float32(1.0) /
                    float32(45360.0)) - (square(float32(3.141592653589793) * x0_i) * ((float32(1.0) /
                    float32(3991680.0)) - (square(float32(3.141592653589793) * x0_i) * ((float32(1.0) /
                    float32(518918400.0)) - (square(float32(3.141592653589793) * x0_i) * (float32(1.0) /
                    float32(93405312000.0))))))))))))))), masked_multiply(bar, (t5_i - y_i) / x0_i))
                )
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 3072)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0
