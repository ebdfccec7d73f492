"""Elementwise kernels in f32: bessel.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

from numba import float32

from tapegrad.engine.kernels.arithmetic import absolute, masked_multiply, sign, sqrt, square, where
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

HYP0F1 = entry("hyp0f1", "f")
I0 = entry("i0", "f")
I0E = entry("i0e", "f")
I1 = entry("i1", "f")
I1E = entry("i1e", "f")
IV = entry("iv", "f")
IVE = entry("ive", "f")
J0 = entry("j0", "f")
J1 = entry("j1", "f")
JV = entry("jv", "f")
KV = entry("kv", "f")
KVE = entry("kve", "f")
Y0 = entry("y0", "f")
Y1 = entry("y1", "f")
YV = entry("yv", "f")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "j0_forward_f32": ("j0",),
    "j0_reverse_f32": ("add", "j1", "positive"),
    "j1_forward_f32": ("j1",),
    "j1_reverse_f32": ("add", "j0", "jv", "positive"),
    "y0_forward_f32": ("y0",),
    "y0_reverse_f32": ("add", "positive", "y1"),
    "y1_forward_f32": ("y1",),
    "y1_reverse_f32": ("add", "positive", "y0"),
    "i0_forward_f32": ("i0",),
    "i0_reverse_f32": ("add", "i1", "positive"),
    "i1_forward_f32": ("i1",),
    "i1_reverse_f32": ("add", "i0", "iv", "positive"),
    "i0e_forward_f32": ("i0e",),
    "i0e_reverse_f32": ("add", "i1e", "positive"),
    "i1e_forward_f32": ("i1e",),
    "i1e_reverse_f32": ("add", "i0e", "ive", "positive"),
    "jv_forward_f32": ("jv",),
    "jv_reverse_f32": ("add", "jv", "positive"),
    "yv_forward_f32": ("yv",),
    "yv_reverse_f32": ("add", "positive", "yv"),
    "iv_forward_f32": ("iv",),
    "iv_reverse_f32": ("add", "iv", "positive"),
    "ive_forward_f32": ("ive",),
    "ive_reverse_f32": ("add", "ive", "positive"),
    "kv_forward_f32": ("kv",),
    "kv_reverse_f32": ("add", "kv", "positive"),
    "kve_forward_f32": ("kve",),
    "kve_reverse_f32": ("add", "kve", "positive"),
    "hyp0f1_forward_f32": ("hyp0f1", "i0", "positive"),
    "hyp0f1_reverse_f32": ("add", "hyp0f1", "i0", "positive"),
}


def j0_forward_f32(frame: int, loops: int) -> int:
    """y = j0(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, J0, count, arrays)
    return 0


def j0_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (-j1(x0)) to x0_bar."""
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
            call_library(loops, J1, n, (x0, 4, t4, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t4_i = load_f32(t4, i)
                value = -masked_multiply(bar, t4_i)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def j1_forward_f32(frame: int, loops: int) -> int:
    """y = j1(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, J1, count, arrays)
    return 0


def j1_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (0.5 * (j0(x0) - jv(2, x0))) to x0_bar."""
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
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 2048)
            t4 = scratch + 3072
            call_library(loops, J0, n, (x0, 4, t4, 4))
            t5 = scratch + 4096
            for i in range(n):
                value = float32(2.0)
                store_f32(t5, i, value)
            call_library(loops, JV, n, (t5, 4, x0, 4, t5, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t4_i = load_f32(t4, i)
                t5_i = load_f32(t5, i)
                value = masked_multiply(bar, float32(0.5) * (t4_i - t5_i))
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def y0_forward_f32(frame: int, loops: int) -> int:
    """y = y0(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, Y0, count, arrays)
    return 0


def y0_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (-y1(x0)) to x0_bar."""
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
            call_library(loops, Y1, n, (x0, 4, t4, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t4_i = load_f32(t4, i)
                value = -masked_multiply(bar, t4_i)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def y1_forward_f32(frame: int, loops: int) -> int:
    """y = y1(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, Y1, count, arrays)
    return 0


def y1_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (y0(x0) - y / x0) to x0_bar."""
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
            call_library(loops, Y0, n, (x0, 4, t5, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                x0_i = load_f32(x0, i)
                y_i = load_f32(y, i)
                value = masked_multiply(bar, t5_i - (y_i / x0_i))
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 3072)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def i0_forward_f32(frame: int, loops: int) -> int:
    """y = i0(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, I0, count, arrays)
    return 0


def i0_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (i1(x0)) to x0_bar."""
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
            call_library(loops, I1, n, (x0, 4, t4, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t4_i = load_f32(t4, i)
                value = masked_multiply(bar, t4_i)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def i1_forward_f32(frame: int, loops: int) -> int:
    """y = i1(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, I1, count, arrays)
    return 0


def i1_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (0.5 * (i0(x0) + iv(2, x0))) to x0_bar."""
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
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 2048)
            t4 = scratch + 3072
            call_library(loops, I0, n, (x0, 4, t4, 4))
            t5 = scratch + 4096
            for i in range(n):
                value = float32(2.0)
                store_f32(t5, i, value)
            call_library(loops, IV, n, (t5, 4, x0, 4, t5, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t4_i = load_f32(t4, i)
                t5_i = load_f32(t5, i)
                value = masked_multiply(bar, float32(0.5) * (t4_i + t5_i))
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def i0e_forward_f32(frame: int, loops: int) -> int:
    """y = i0e(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, I0E, count, arrays)
    return 0


def i0e_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (where(absolute(x0) > 30, -y * (-(0.25 - 0) / (2 * (1 - absolute(x0)) - (2.25 - 0) / (2 * (2
    - absolute(x0)) - (6.25 - 0) / (2 * (3 - absolute(x0)) - (12.25 - 0) / (2 * (4 - absolute(x0)) - (20.25
    - 0) / (2 * (5 - absolute(x0)) - (30.25 - 0) / (2 * (6 - absolute(x0)))))))) + 0.5) / x0, i1e(x0) -
    sign(x0) * y)) to x0_bar."""
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
            call_library(loops, I1E, n, (x0, 4, t5, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                x0_i = load_f32(x0, i)
                y_i = load_f32(y, i)
                value = (
                    where(absolute(x0_i) > float32(30.0), masked_multiply(bar, (-y_i * ((-(float32(0.25)
                    - float32(0.0)) / ((float32(2.0) * (float32(1.0) - absolute(x0_i))) -
                    ((float32(2.25) - float32(0.0)) / ((float32(2.0) * (float32(2.0) - absolute(x0_i)))
                    - ((float32(6.25) - float32(0.0)) / ((float32(2.0) * (float32(3.0) -
                    absolute(x0_i))) - ((float32(12.25) - float32(0.0)) / ((float32(2.0) * (float32(4.0)
                    - absolute(x0_i))) - ((float32(20.25) - float32(0.0)) / ((float32(2.0) *
                    (float32(5.0) - absolute(x0_i))) - ((float32(30.25) - float32(0.0)) / (float32(2.0)
                    * (float32(6.0) - absolute(x0_i)))))))))))))) + float32(0.5))) / x0_i),
                    masked_multiply(bar, t5_i - (sign(x0_i) * y_i)))
                )
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 3072)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def i1e_forward_f32(frame: int, loops: int) -> int:
    """y = i1e(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, I1E, count, arrays)
    return 0


def i1e_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (where(absolute(x0) > 30, -y * (-(0.25 - 1) / (2 * (1 - absolute(x0)) - (2.25 - 1) / (2 * (2
    - absolute(x0)) - (6.25 - 1) / (2 * (3 - absolute(x0)) - (12.25 - 1) / (2 * (4 - absolute(x0)) - (20.25
    - 1) / (2 * (5 - absolute(x0)) - (30.25 - 1) / (2 * (6 - absolute(x0)))))))) + 0.5) / x0, 0.5 * (i0e(x0)
    + ive(2, x0)) - sign(x0) * y)) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(768)
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
            call_library(loops, I0E, n, (x0, 4, t5, 4))
            t6 = scratch + 5120
            for i in range(n):
                value = float32(2.0)
                store_f32(t6, i, value)
            call_library(loops, IVE, n, (t6, 4, x0, 4, t6, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                t6_i = load_f32(t6, i)
                x0_i = load_f32(x0, i)
                y_i = load_f32(y, i)
                value = (
                    where(absolute(x0_i) > float32(30.0), masked_multiply(bar, (-y_i * ((-(float32(0.25)
                    - float32(1.0)) / ((float32(2.0) * (float32(1.0) - absolute(x0_i))) -
                    ((float32(2.25) - float32(1.0)) / ((float32(2.0) * (float32(2.0) - absolute(x0_i)))
                    - ((float32(6.25) - float32(1.0)) / ((float32(2.0) * (float32(3.0) -
                    absolute(x0_i))) - ((float32(12.25) - float32(1.0)) / ((float32(2.0) * (float32(4.0)
                    - absolute(x0_i))) - ((float32(20.25) - float32(1.0)) / ((float32(2.0) *
                    (float32(5.0) - absolute(x0_i))) - ((float32(30.25) - float32(1.0)) / (float32(2.0)
                    * (float32(6.0) - absolute(x0_i)))))))))))))) + float32(0.5))) / x0_i),
                    masked_multiply(bar, (float32(0.5) * (t5_i + t6_i)) - (sign(x0_i) * y_i)))
                )
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 3072)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def jv_forward_f32(frame: int, loops: int) -> int:
    """y = jv(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, JV, count, arrays)
    return 0


def jv_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (0.5 * (jv(x0 - 1, x1) - jv(x0 + 1, x1))) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(768)
    whole = whole_f32(frame, 11, 0)
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
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 3072)
            t5 = scratch + 4096
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i - float32(1.0)
                store_f32(t5, i, value)
            call_library(loops, JV, n, (t5, 4, x1, 4, t5, 4))
            t6 = scratch + 5120
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i + float32(1.0)
                store_f32(t6, i, value)
            call_library(loops, JV, n, (t6, 4, x1, 4, t6, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                t6_i = load_f32(t6, i)
                value = masked_multiply(bar, float32(0.5) * (t5_i - t6_i))
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 3072)
        start += n
    end_f32(whole, frame, 1, x1_sum)
    return 0


def yv_forward_f32(frame: int, loops: int) -> int:
    """y = yv(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, YV, count, arrays)
    return 0


def yv_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (0.5 * (yv(x0 - 1, x1) - yv(x0 + 1, x1))) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(768)
    whole = whole_f32(frame, 11, 0)
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
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 3072)
            t5 = scratch + 4096
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i - float32(1.0)
                store_f32(t5, i, value)
            call_library(loops, YV, n, (t5, 4, x1, 4, t5, 4))
            t6 = scratch + 5120
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i + float32(1.0)
                store_f32(t6, i, value)
            call_library(loops, YV, n, (t6, 4, x1, 4, t6, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                t6_i = load_f32(t6, i)
                value = masked_multiply(bar, float32(0.5) * (t5_i - t6_i))
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 3072)
        start += n
    end_f32(whole, frame, 1, x1_sum)
    return 0


def iv_forward_f32(frame: int, loops: int) -> int:
    """y = iv(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, IV, count, arrays)
    return 0


def iv_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (0.5 * (iv(x0 - 1, x1) + iv(x0 + 1, x1))) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(768)
    whole = whole_f32(frame, 11, 0)
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
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 3072)
            t5 = scratch + 4096
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i - float32(1.0)
                store_f32(t5, i, value)
            call_library(loops, IV, n, (t5, 4, x1, 4, t5, 4))
            t6 = scratch + 5120
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i + float32(1.0)
                store_f32(t6, i, value)
            call_library(loops, IV, n, (t6, 4, x1, 4, t6, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                t6_i = load_f32(t6, i)
                value = masked_multiply(bar, float32(0.5) * (t5_i + t6_i))
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 3072)
        start += n
    end_f32(whole, frame, 1, x1_sum)
    return 0


def ive_forward_f32(frame: int, loops: int) -> int:
    """y = ive(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, IVE, count, arrays)
    return 0


def ive_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (where(absolute(x1) > 30 + 10 * absolute(x0), -y * (-(0.25 - square(x0)) / (2 * (1 -
    absolute(x1)) - (2.25 - square(x0)) / (2 * (2 - absolute(x1)) - (6.25 - square(x0)) / (2 * (3 -
    absolute(x1)) - (12.25 - square(x0)) / (2 * (4 - absolute(x1)) - (20.25 - square(x0)) / (2 * (5 -
    absolute(x1)) - (30.25 - square(x0)) / (2 * (6 - absolute(x1)))))))) + 0.5) / x1, 0.5 * (ive(x0 - 1, x1)
    + ive(x0 + 1, x1)) - sign(x1) * y)) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(896)
    whole = whole_f32(frame, 11, 0)
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
        y = operand_f32(block, 3, scratch + 3072)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 4096)
            t6 = scratch + 5120
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i - float32(1.0)
                store_f32(t6, i, value)
            call_library(loops, IVE, n, (t6, 4, x1, 4, t6, 4))
            t7 = scratch + 6144
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i + float32(1.0)
                store_f32(t7, i, value)
            call_library(loops, IVE, n, (t7, 4, x1, 4, t7, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t6_i = load_f32(t6, i)
                t7_i = load_f32(t7, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                y_i = load_f32(y, i)
                value = (
                    where(absolute(x1_i) > (float32(30.0) + (float32(10.0) * absolute(x0_i))),
                    masked_multiply(bar, (-y_i * ((-(float32(0.25) - square(x0_i)) / ((float32(2.0) *
                    (float32(1.0) - absolute(x1_i))) - ((float32(2.25) - square(x0_i)) / ((float32(2.0)
                    * (float32(2.0) - absolute(x1_i))) - ((float32(6.25) - square(x0_i)) /
                    ((float32(2.0) * (float32(3.0) - absolute(x1_i))) - ((float32(12.25) - square(x0_i))
                    / ((float32(2.0) * (float32(4.0) - absolute(x1_i))) - ((float32(20.25) -
                    square(x0_i)) / ((float32(2.0) * (float32(5.0) - absolute(x1_i))) - ((float32(30.25)
                    - square(x0_i)) / (float32(2.0) * (float32(6.0) - absolute(x1_i)))))))))))))) +
                    float32(0.5))) / x1_i), masked_multiply(bar, (float32(0.5) * (t6_i + t7_i)) -
                    (sign(x1_i) * y_i)))
                )
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 4096)
        start += n
    end_f32(whole, frame, 1, x1_sum)
    return 0


def kv_forward_f32(frame: int, loops: int) -> int:
    """y = kv(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, KV, count, arrays)
    return 0


def kv_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (-0.5 * (kv(x0 - 1, x1) + kv(x0 + 1, x1))) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(768)
    whole = whole_f32(frame, 11, 0)
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
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 3072)
            t5 = scratch + 4096
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i - float32(1.0)
                store_f32(t5, i, value)
            call_library(loops, KV, n, (t5, 4, x1, 4, t5, 4))
            t6 = scratch + 5120
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i + float32(1.0)
                store_f32(t6, i, value)
            call_library(loops, KV, n, (t6, 4, x1, 4, t6, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                t6_i = load_f32(t6, i)
                value = masked_multiply(bar, -float32(0.5) * (t5_i + t6_i))
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 3072)
        start += n
    end_f32(whole, frame, 1, x1_sum)
    return 0


def kve_forward_f32(frame: int, loops: int) -> int:
    """y = kve(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, KVE, count, arrays)
    return 0


def kve_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (where(absolute(x1) > 30 + 10 * absolute(x0), -y * (-(0.25 - square(x0)) / (2 * (1 +
    absolute(x1)) - (2.25 - square(x0)) / (2 * (2 + absolute(x1)) - (6.25 - square(x0)) / (2 * (3 +
    absolute(x1)) - (12.25 - square(x0)) / (2 * (4 + absolute(x1)) - (20.25 - square(x0)) / (2 * (5 +
    absolute(x1)) - (30.25 - square(x0)) / (2 * (6 + absolute(x1)))))))) + 0.5) / x1, y - 0.5 * (kve(x0 - 1,
    x1) + kve(x0 + 1, x1)))) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(896)
    whole = whole_f32(frame, 11, 0)
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
        y = operand_f32(block, 3, scratch + 3072)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 4096)
            t6 = scratch + 5120
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i - float32(1.0)
                store_f32(t6, i, value)
            call_library(loops, KVE, n, (t6, 4, x1, 4, t6, 4))
            t7 = scratch + 6144
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i + float32(1.0)
                store_f32(t7, i, value)
            call_library(loops, KVE, n, (t7, 4, x1, 4, t7, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t6_i = load_f32(t6, i)
                t7_i = load_f32(t7, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                y_i = load_f32(y, i)
                value = (
                    where(absolute(x1_i) > (float32(30.0) + (float32(10.0) * absolute(x0_i))),
                    masked_multiply(bar, (-y_i * ((-(float32(0.25) - square(x0_i)) / ((float32(2.0) *
                    (float32(1.0) + absolute(x1_i))) - ((float32(2.25) - square(x0_i)) / ((float32(2.0)
                    * (float32(2.0) + absolute(x1_i))) - ((float32(6.25) - square(x0_i)) /
                    ((float32(2.0) * (float32(3.0) + absolute(x1_i))) - ((float32(12.25) - square(x0_i))
                    / ((float32(2.0) * (float32(4.0) + absolute(x1_i))) - ((float32(20.25) -
                    square(x0_i)) / ((float32(2.0) * (float32(5.0) + absolute(x1_i))) - ((float32(30.25)
                    - square(x0_i)) / (float32(2.0) * (float32(6.0) + absolute(x1_i)))))))))))))) +
                    float32(0.5))) / x1_i), masked_multiply(bar, y_i - (float32(0.5) * (t6_i + t7_i))))
                )
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 4096)
        start += n
    end_f32(whole, frame, 1, x1_sum)
    return 0


def hyp0f1_forward_f32(frame: int, loops: int) -> int:
    """y = where((x0 == 1) & (x1 > 0), i0(2 * sqrt(x1)), hyp0f1(where((x0 == 1) & (x1 > 0), 2, x0), x1))."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(640)
    whole = whole_f32(frame, 11, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        y = target_f32(block, 3, scratch + 2048)
        t4 = scratch + 3072
        for i in range(n):
            x1_i = load_f32(x1, i)
            value = float32(2.0) * sqrt(x1_i)
            store_f32(t4, i, value)
        call_library(loops, I0, n, (t4, 4, t4, 4))
        t5 = scratch + 4096
        for i in range(n):
            x0_i = load_f32(x0, i)
            x1_i = load_f32(x1, i)
            value = where((x0_i == float32(1.0)) & (x1_i > float32(0.0)), float32(2.0), x0_i)
            store_f32(t5, i, value)
        call_library(loops, HYP0F1, n, (t5, 4, x1, 4, t5, 4))
        for i in range(n):
            t4_i = load_f32(t4, i)
            t5_i = load_f32(t5, i)
            x0_i = load_f32(x0, i)
            x1_i = load_f32(x1, i)
            value = where((x0_i == float32(1.0)) & (x1_i > float32(0.0)), t4_i, t5_i)
            store_f32(y, i, value)
        finish_f32(block, scratch + 2048)
        start += n
    return 0


def hyp0f1_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (where((x0 + 1 == 1) & (x1 > 0), i0(2 * sqrt(x1)), hyp0f1(where((x0 + 1 == 1) & (x1 > 0), 2,
    x0 + 1), x1)) / x0) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(768)
    whole = whole_f32(frame, 11, 0)
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
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 3072)
            t5 = scratch + 4096
            for i in range(n):
                x1_i = load_f32(x1, i)
                value = float32(2.0) * sqrt(x1_i)
                store_f32(t5, i, value)
            call_library(loops, I0, n, (t5, 4, t5, 4))
            t6 = scratch + 5120
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    where(((x0_i + float32(1.0)) == float32(1.0)) & (x1_i > float32(0.0)), float32(2.0),
                    x0_i + float32(1.0))
                )
                store_f32(t6, i, value)
            call_library(loops, HYP0F1, n, (t6, 4, x1, 4, t6, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                t6_i = load_f32(t6, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    masked_multiply(bar, where(((x0_i + float32(1.0)) == float32(1.0)) & (x1_i >
                    float32(0.0)), t5_i, t6_i) / x0_i)
                )
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 3072)
        start += n
    end_f32(whole, frame, 1, x1_sum)
    return 0
