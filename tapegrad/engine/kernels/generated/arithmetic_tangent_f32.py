"""Elementwise kernels in f32: arithmetic, tangent.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

from numba import float32

from tapegrad.engine.kernels.arithmetic import masked_multiply, square
from tapegrad.engine.kernels.blocks import BLOCK, Block, operand_f32, whole_f32
from tapegrad.engine.kernels.frame import COUNT, X_BAR, Y_BAR
from tapegrad.engine.kernels.raw_memory import load_f32, load_i64, stack_words, store_f32
from tapegrad.engine.kernels.tangents import (
    ABSENT,
    apply_constants,
    apply_partials,
    tangent_block,
    tangent_count,
    tangent_finish,
    tangent_target,
    write_zeros,
)

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "add_tangent_f32": ("positive",),
    "subtract_tangent_f32": ("positive",),
    "multiply_tangent_f32": ("positive",),
    "masked_multiply_tangent_f32": ("positive",),
    "divide_tangent_f32": ("positive",),
    "negative_tangent_f32": ("positive",),
    "positive_tangent_f32": ("positive",),
    "reciprocal_tangent_f32": ("positive",),
    "square_tangent_f32": ("positive",),
    "sqrt_tangent_f32": ("positive",),
    "cbrt_tangent_f32": ("positive",),
    "floor_tangent_f32": (),
    "ceil_tangent_f32": (),
    "rint_tangent_f32": (),
    "trunc_tangent_f32": (),
    "sign_tangent_f32": (),
    "normal_exponent_tangent_f32": ("positive",),
}


def add_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (1) * x0_dot + (1) * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(512)
    x0_dot = load_i64(frame, X_BAR + 0)
    x1_dot = load_i64(frame, X_BAR + 1)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0 and x1_dot == 0:
        write_zeros(frame, float32(0.0))
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f32(frame, 11, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not (whole and not several):
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        if several:
            c0 = float32(1.0) if x0_dot != 0 else float32(0.0)
            c1 = float32(1.0) if x1_dot != 0 else float32(0.0)
            apply_constants(block, c0, c1, scratch + 0, float32(0.0))
        elif x0_dot != 0 and x1_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 0, float32(0.0))
            d1 = tangent_block(block, 1, x1_dot, scratch + 1024, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 2048, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                d1_i = load_f32(d1, i)
                value = d0_i
                term1 = d1_i
                value += term1
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 2048, float32(0.0))
        elif x0_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 0, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 1024, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                value = d0_i
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 1024, float32(0.0))
        elif x1_dot != 0:
            d1 = tangent_block(block, 1, x1_dot, scratch + 0, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 1024, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                value = d1_i
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 1024, float32(0.0))
        start += n
    return 0


def subtract_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (1) * x0_dot + (-1) * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(512)
    x0_dot = load_i64(frame, X_BAR + 0)
    x1_dot = load_i64(frame, X_BAR + 1)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0 and x1_dot == 0:
        write_zeros(frame, float32(0.0))
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f32(frame, 11, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not (whole and not several):
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        if several:
            c0 = float32(1.0) if x0_dot != 0 else float32(0.0)
            c1 = float32(-1.0) if x1_dot != 0 else float32(0.0)
            apply_constants(block, c0, c1, scratch + 0, float32(0.0))
        elif x0_dot != 0 and x1_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 0, float32(0.0))
            d1 = tangent_block(block, 1, x1_dot, scratch + 1024, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 2048, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                d1_i = load_f32(d1, i)
                value = d0_i
                term1 = -d1_i
                value += term1
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 2048, float32(0.0))
        elif x0_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 0, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 1024, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                value = d0_i
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 1024, float32(0.0))
        elif x1_dot != 0:
            d1 = tangent_block(block, 1, x1_dot, scratch + 0, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 1024, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                value = -d1_i
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 1024, float32(0.0))
        start += n
    return 0


def multiply_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (x1) * x0_dot + (x0) * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(768)
    x0_dot = load_i64(frame, X_BAR + 0)
    x1_dot = load_i64(frame, X_BAR + 1)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0 and x1_dot == 0:
        write_zeros(frame, float32(0.0))
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f32(frame, 11, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not (whole and not several):
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                p0 = x1
            p1 = ABSENT
            if x1_dot != 0:
                p1 = x0
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 2048, float32(0.0))
        elif x0_dot != 0 and x1_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 2048, float32(0.0))
            d1 = tangent_block(block, 1, x1_dot, scratch + 3072, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 4096, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                d1_i = load_f32(d1, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = masked_multiply(x1_i, d0_i)
                term1 = masked_multiply(x0_i, d1_i)
                value += term1
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, float32(0.0))
        elif x0_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 2048, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 3072, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                x1_i = load_f32(x1, i)
                value = masked_multiply(x1_i, d0_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 3072, float32(0.0))
        elif x1_dot != 0:
            d1 = tangent_block(block, 1, x1_dot, scratch + 2048, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 3072, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                x0_i = load_f32(x0, i)
                value = masked_multiply(x0_i, d1_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 3072, float32(0.0))
        start += n
    return 0


def masked_multiply_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (x1) * x0_dot + (x0) * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(768)
    x0_dot = load_i64(frame, X_BAR + 0)
    x1_dot = load_i64(frame, X_BAR + 1)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0 and x1_dot == 0:
        write_zeros(frame, float32(0.0))
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f32(frame, 11, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not (whole and not several):
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                p0 = x1
            p1 = ABSENT
            if x1_dot != 0:
                p1 = x0
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 2048, float32(0.0))
        elif x0_dot != 0 and x1_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 2048, float32(0.0))
            d1 = tangent_block(block, 1, x1_dot, scratch + 3072, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 4096, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                d1_i = load_f32(d1, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = masked_multiply(x1_i, d0_i)
                term1 = masked_multiply(x0_i, d1_i)
                value += term1
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, float32(0.0))
        elif x0_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 2048, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 3072, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                x1_i = load_f32(x1, i)
                value = masked_multiply(x1_i, d0_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 3072, float32(0.0))
        elif x1_dot != 0:
            d1 = tangent_block(block, 1, x1_dot, scratch + 2048, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 3072, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                x0_i = load_f32(x0, i)
                value = masked_multiply(x0_i, d1_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 3072, float32(0.0))
        start += n
    return 0


def divide_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (1 / x1) * x0_dot + (-y / x1) * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1024)
    x0_dot = load_i64(frame, X_BAR + 0)
    x1_dot = load_i64(frame, X_BAR + 1)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0 and x1_dot == 0:
        write_zeros(frame, float32(0.0))
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f32(frame, 11, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not (whole and not several):
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x1 = operand_f32(block, 1, scratch + 0)
        y = operand_f32(block, 3, scratch + 1024)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                partial = scratch + 2048
                for i in range(n):
                    x1_i = load_f32(x1, i)
                    value = float32(1.0) / x1_i
                    store_f32(partial, i, value)
                p0 = partial
            p1 = ABSENT
            if x1_dot != 0:
                partial = scratch + 3072
                for i in range(n):
                    x1_i = load_f32(x1, i)
                    y_i = load_f32(y, i)
                    value = -y_i / x1_i
                    store_f32(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 4096, float32(0.0))
        elif x0_dot != 0 and x1_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 2048, float32(0.0))
            d1 = tangent_block(block, 1, x1_dot, scratch + 3072, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 4096, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                d1_i = load_f32(d1, i)
                x1_i = load_f32(x1, i)
                y_i = load_f32(y, i)
                value = masked_multiply(float32(1.0) / x1_i, d0_i)
                term1 = masked_multiply(-y_i / x1_i, d1_i)
                value += term1
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, float32(0.0))
        elif x0_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 2048, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 3072, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                x1_i = load_f32(x1, i)
                value = masked_multiply(float32(1.0) / x1_i, d0_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 3072, float32(0.0))
        elif x1_dot != 0:
            d1 = tangent_block(block, 1, x1_dot, scratch + 2048, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 3072, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                x1_i = load_f32(x1, i)
                y_i = load_f32(y, i)
                value = masked_multiply(-y_i / x1_i, d1_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 3072, float32(0.0))
        start += n
    return 0


def negative_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (-1) * x0_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(512)
    x0_dot = load_i64(frame, X_BAR + 0)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0:
        write_zeros(frame, float32(0.0))
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f32(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not (whole and not several):
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        if several:
            c0 = float32(-1.0) if x0_dot != 0 else float32(0.0)
            c1 = float32(0.0)
            apply_constants(block, c0, c1, scratch + 0, float32(0.0))
        elif x0_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 0, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 1024, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                value = -d0_i
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 1024, float32(0.0))
        start += n
    return 0


def positive_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (1) * x0_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(512)
    x0_dot = load_i64(frame, X_BAR + 0)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0:
        write_zeros(frame, float32(0.0))
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f32(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not (whole and not several):
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        if several:
            c0 = float32(1.0) if x0_dot != 0 else float32(0.0)
            c1 = float32(0.0)
            apply_constants(block, c0, c1, scratch + 0, float32(0.0))
        elif x0_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 0, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 1024, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                value = d0_i
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 1024, float32(0.0))
        start += n
    return 0


def reciprocal_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (-square(y)) * x0_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(768)
    x0_dot = load_i64(frame, X_BAR + 0)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0:
        write_zeros(frame, float32(0.0))
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f32(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not (whole and not several):
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y = operand_f32(block, 3, scratch + 0)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                partial = scratch + 1024
                for i in range(n):
                    y_i = load_f32(y, i)
                    value = -square(y_i)
                    store_f32(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 2048, float32(0.0))
        elif x0_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 1024, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 2048, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                y_i = load_f32(y, i)
                value = masked_multiply(-square(y_i), d0_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 2048, float32(0.0))
        start += n
    return 0


def square_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (2 * x0) * x0_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(768)
    x0_dot = load_i64(frame, X_BAR + 0)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0:
        write_zeros(frame, float32(0.0))
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f32(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not (whole and not several):
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                partial = scratch + 1024
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    value = float32(2.0) * x0_i
                    store_f32(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 2048, float32(0.0))
        elif x0_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 1024, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 2048, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                x0_i = load_f32(x0, i)
                value = masked_multiply(float32(2.0) * x0_i, d0_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 2048, float32(0.0))
        start += n
    return 0


def sqrt_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (0.5 / y) * x0_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(768)
    x0_dot = load_i64(frame, X_BAR + 0)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0:
        write_zeros(frame, float32(0.0))
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f32(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not (whole and not several):
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y = operand_f32(block, 3, scratch + 0)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                partial = scratch + 1024
                for i in range(n):
                    y_i = load_f32(y, i)
                    value = float32(0.5) / y_i
                    store_f32(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 2048, float32(0.0))
        elif x0_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 1024, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 2048, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                y_i = load_f32(y, i)
                value = masked_multiply(float32(0.5) / y_i, d0_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 2048, float32(0.0))
        start += n
    return 0


def cbrt_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (1 / (3 * square(y))) * x0_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(768)
    x0_dot = load_i64(frame, X_BAR + 0)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0:
        write_zeros(frame, float32(0.0))
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f32(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not (whole and not several):
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y = operand_f32(block, 3, scratch + 0)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                partial = scratch + 1024
                for i in range(n):
                    y_i = load_f32(y, i)
                    value = float32(1.0) / (float32(3.0) * square(y_i))
                    store_f32(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 2048, float32(0.0))
        elif x0_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 1024, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 2048, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                y_i = load_f32(y, i)
                value = masked_multiply(float32(1.0) / (float32(3.0) * square(y_i)), d0_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 2048, float32(0.0))
        start += n
    return 0


def floor_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (0) * x0_dot."""
    write_zeros(frame, float32(0.0))
    return 0


def ceil_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (0) * x0_dot."""
    write_zeros(frame, float32(0.0))
    return 0


def rint_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (0) * x0_dot."""
    write_zeros(frame, float32(0.0))
    return 0


def trunc_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (0) * x0_dot."""
    write_zeros(frame, float32(0.0))
    return 0


def sign_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (0) * x0_dot."""
    write_zeros(frame, float32(0.0))
    return 0


def normal_exponent_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (-(x0 - x1) * (1 / x2) * (1 / x2)) * x0_dot + ((x0 - x1) * (1 / x2) * (1 / x2)) * x1_dot +
    (square((x0 - x1) * (1 / x2)) * (1 / x2)) * x2_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1280)
    x0_dot = load_i64(frame, X_BAR + 0)
    x1_dot = load_i64(frame, X_BAR + 1)
    x2_dot = load_i64(frame, X_BAR + 2)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0 and x1_dot == 0 and x2_dot == 0:
        write_zeros(frame, float32(0.0))
        return 0
    several = tangent_count(frame) != 1 or x1_dot != 0 or x2_dot != 0
    whole = whole_f32(frame, 15, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not (whole and not several):
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        x2 = operand_f32(block, 2, scratch + 2048)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                partial = scratch + 3072
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    x2_i = load_f32(x2, i)
                    value = (-(x0_i - x1_i) * (float32(1.0) / x2_i)) * (float32(1.0) / x2_i)
                    store_f32(partial, i, value)
                p0 = partial
            p1 = ABSENT
            if x1_dot != 0:
                partial = scratch + 4096
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    x2_i = load_f32(x2, i)
                    value = ((x0_i - x1_i) * (float32(1.0) / x2_i)) * (float32(1.0) / x2_i)
                    store_f32(partial, i, value)
                p1 = partial
            p2 = ABSENT
            if x2_dot != 0:
                partial = scratch + 5120
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    x2_i = load_f32(x2, i)
                    value = square((x0_i - x1_i) * (float32(1.0) / x2_i)) * (float32(1.0) / x2_i)
                    store_f32(partial, i, value)
                p2 = partial
            apply_partials(block, p0, p1, p2, scratch + 6144, float32(0.0))
        elif x0_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 3072, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 4096, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                x2_i = load_f32(x2, i)
                value = (
                    masked_multiply((-(x0_i - x1_i) * (float32(1.0) / x2_i)) * (float32(1.0) / x2_i),
                    d0_i)
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, float32(0.0))
        start += n
    return 0
