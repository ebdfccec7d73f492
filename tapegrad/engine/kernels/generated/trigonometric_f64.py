"""Elementwise kernels in f64: trigonometric.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

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

ARCCOS = entry("arccos", "d")
ARCSIN = entry("arcsin", "d")
ARCTAN = entry("arctan", "d")
ARCTAN2 = entry("arctan2", "d")
COS = entry("cos", "d")
HYPOT = entry("hypot", "d")
SIN = entry("sin", "d")
TAN = entry("tan", "d")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "sin_forward_f64": ("sin",),
    "sin_reverse_f64": ("add", "cos", "positive"),
    "cos_forward_f64": ("cos",),
    "cos_reverse_f64": ("add", "positive", "sin"),
    "tan_forward_f64": ("tan",),
    "tan_reverse_f64": ("add", "positive"),
    "arcsin_forward_f64": ("arcsin",),
    "arcsin_reverse_f64": ("add", "positive"),
    "arccos_forward_f64": ("arccos",),
    "arccos_reverse_f64": ("add", "positive"),
    "arctan_forward_f64": ("arctan",),
    "arctan_reverse_f64": ("add", "positive"),
    "arctan2_forward_f64": ("arctan2",),
    "arctan2_reverse_f64": ("add", "positive"),
    "hypot_forward_f64": ("hypot",),
    "hypot_reverse_f64": ("add", "positive"),
    "sinc_forward_f64": ("positive", "sin"),
    "sinc_reverse_f64": ("add", "cos", "positive"),
}


def sin_forward_f64(frame: int, loops: int) -> int:
    """y = sin(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, SIN, count, arrays)
    return 0


def sin_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (cos(x0)) to x0_bar."""
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
            call_library(loops, COS, n, (x0, 8, t4, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t4_i = load_f64(t4, i)
                value = masked_multiply(bar, t4_i)
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def cos_forward_f64(frame: int, loops: int) -> int:
    """y = cos(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, COS, count, arrays)
    return 0


def cos_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (-sin(x0)) to x0_bar."""
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
            call_library(loops, SIN, n, (x0, 8, t4, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t4_i = load_f64(t4, i)
                value = -masked_multiply(bar, t4_i)
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def tan_forward_f64(frame: int, loops: int) -> int:
    """y = tan(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, TAN, count, arrays)
    return 0


def tan_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (1 + square(y)) to x0_bar."""
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
                value = masked_multiply(bar, 1.0 + square(y_i))
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def arcsin_forward_f64(frame: int, loops: int) -> int:
    """y = arcsin(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ARCSIN, count, arrays)
    return 0


def arcsin_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (1 / sqrt(where(absolute(x0) < 0.5, 1 - square(x0), (1 - x0) * (1 + x0)))) to x0_bar."""
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
                    masked_divide(bar, sqrt(where(absolute(x0_i) < 0.5, 1.0 - square(x0_i), (1.0 - x0_i)
                    * (1.0 + x0_i))))
                )
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def arccos_forward_f64(frame: int, loops: int) -> int:
    """y = arccos(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ARCCOS, count, arrays)
    return 0


def arccos_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (-1 / sqrt(where(absolute(x0) < 0.5, 1 - square(x0), (1 - x0) * (1 + x0)))) to x0_bar."""
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
                    masked_divide(-bar, sqrt(where(absolute(x0_i) < 0.5, 1.0 - square(x0_i), (1.0 -
                    x0_i) * (1.0 + x0_i))))
                )
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def arctan_forward_f64(frame: int, loops: int) -> int:
    """y = arctan(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ARCTAN, count, arrays)
    return 0


def arctan_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (1 / (1 + square(x0))) to x0_bar."""
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
                value = masked_divide(bar, 1.0 + square(x0_i))
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 4096)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0


def arctan2_forward_f64(frame: int, loops: int) -> int:
    """y = arctan2(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ARCTAN2, count, arrays)
    return 0


def arctan2_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (where((x0 == 0) & (x1 == 0), 0, where(absolute(x1) >= absolute(x0), 1 / (x1 + x0 * (x0 /
    x1)), x1 / x0 / (x0 + x1 * (x1 / x0))))) to x0_bar; y_bar * (where((x0 == 0) & (x1 == 0), 0,
    -where(absolute(x0) >= absolute(x1), 1 / (x0 + x1 * (x1 / x0)), x0 / x1 / (x1 + x0 * (x0 / x1))))) to
    x1_bar."""
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
                value = (
                    where((x0_i == 0.0) & (x1_i == 0.0), 0.0, where(absolute(x1_i) >= absolute(x0_i),
                    masked_divide(bar, x1_i + (x0_i * (x0_i / x1_i))), masked_multiply(bar, (x1_i /
                    x0_i) / (x0_i + (x1_i * (x1_i / x0_i))))))
                )
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 6144)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f64(block, 1, scratch + 6144)
            for i in range(n):
                bar = load_f64(y_bar, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    where((x0_i == 0.0) & (x1_i == 0.0), 0.0, -where(absolute(x0_i) >= absolute(x1_i),
                    masked_divide(bar, x0_i + (x1_i * (x1_i / x0_i))), masked_multiply(bar, (x0_i /
                    x1_i) / (x1_i + (x0_i * (x0_i / x1_i))))))
                )
                store_f64(x1_bar, i, load_masked_f64(x1_bar, i, x1_mask) + value)
            x1_sum += close_f64(block, 1, scratch + 6144)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    end_f64(whole, frame, 1, x1_sum)
    return 0


def hypot_forward_f64(frame: int, loops: int) -> int:
    """y = hypot(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, HYPOT, count, arrays)
    return 0


def hypot_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (where(y == 0, 0, where(absolute(x0) > absolute(x1), sign(x0), x0 / absolute(x1)) / sqrt(1 +
    square(where(absolute(x0) > absolute(x1), x1 / x0, x0 / x1))))) to x0_bar; y_bar * (where(y == 0, 0,
    where(absolute(x1) > absolute(x0), sign(x1), x1 / absolute(x0)) / sqrt(1 + square(where(absolute(x1) >
    absolute(x0), x0 / x1, x1 / x0))))) to x1_bar."""
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
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f64(block, 3, scratch + 0)
        x0 = operand_f64(block, 0, scratch + 2048)
        x1 = operand_f64(block, 1, scratch + 4096)
        y = operand_f64(block, 3, scratch + 6144)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f64(block, 0, scratch + 8192)
            for i in range(n):
                bar = load_f64(y_bar, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                y_i = load_f64(y, i)
                value = (
                    where(y_i == 0.0, 0.0, masked_multiply(bar, where(absolute(x0_i) > absolute(x1_i),
                    sign(x0_i), x0_i / absolute(x1_i)) / sqrt(1.0 + square(where(absolute(x0_i) >
                    absolute(x1_i), x1_i / x0_i, x0_i / x1_i)))))
                )
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 8192)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f64(block, 1, scratch + 8192)
            for i in range(n):
                bar = load_f64(y_bar, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                y_i = load_f64(y, i)
                value = (
                    where(y_i == 0.0, 0.0, masked_multiply(bar, where(absolute(x1_i) > absolute(x0_i),
                    sign(x1_i), x1_i / absolute(x0_i)) / sqrt(1.0 + square(where(absolute(x1_i) >
                    absolute(x0_i), x0_i / x1_i, x1_i / x0_i)))))
                )
                store_f64(x1_bar, i, load_masked_f64(x1_bar, i, x1_mask) + value)
            x1_sum += close_f64(block, 1, scratch + 8192)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    end_f64(whole, frame, 1, x1_sum)
    return 0


def sinc_forward_f64(frame: int, loops: int) -> int:
    """y = where(x0 == 0, 1, sin(pi * x0) / (pi * x0))."""
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
            value = 3.141592653589793 * x0_i
            store_f64(t3, i, value)
        call_library(loops, SIN, n, (t3, 8, t3, 8))
        for i in range(n):
            t3_i = load_f64(t3, i)
            x0_i = load_f64(x0, i)
            value = where(x0_i == 0.0, 1.0, t3_i / (3.141592653589793 * x0_i))
            store_f64(y, i, value)
        finish_f64(block, scratch + 2048)
        start += n
    return 0


def sinc_reverse_f64(frame: int, loops: int) -> int:
    """y_bar * (where(absolute(x0) < 0.25, -pi * (pi * x0) * (1 / 3 - square(pi * x0) * (1 / 30 - square(pi
    * x0) * (1 / 840 - square(pi * x0) * (1 / 45360 - square(pi * x0) * (1 / 3991680 - square(pi * x0) * (1
    / 518918400 - square(pi * x0) * (1 / 93405312000))))))), (cos(pi * x0) - y) / x0)) to x0_bar."""
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
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = 3.141592653589793 * x0_i
                store_f64(t5, i, value)
            call_library(loops, COS, n, (t5, 8, t5, 8))
            for i in range(n):
                bar = load_f64(y_bar, i)
                t5_i = load_f64(t5, i)
                x0_i = load_f64(x0, i)
                y_i = load_f64(y, i)
                value = (
                    where(absolute(x0_i) < 0.25, masked_multiply(bar, (-3.141592653589793 *
                    (3.141592653589793 * x0_i)) * ((1.0 / 3.0) - (square(3.141592653589793 * x0_i) *
                    ((1.0 / 30.0) - (square(3.141592653589793 * x0_i) * ((1.0 / 840.0) -
                    (square(3.141592653589793 * x0_i) * ((1.0 / 45360.0) - (square(3.141592653589793 *
                    x0_i) * ((1.0 / 3991680.0) - (square(3.141592653589793 * x0_i) * ((1.0 /
                    518918400.0) - (square(3.141592653589793 * x0_i) * (1.0 /
                    93405312000.0)))))))))))))), masked_multiply(bar, (t5_i - y_i) / x0_i))
                )
                store_f64(x0_bar, i, load_masked_f64(x0_bar, i, x0_mask) + value)
            x0_sum += close_f64(block, 0, scratch + 6144)
        start += n
    end_f64(whole, frame, 0, x0_sum)
    return 0
