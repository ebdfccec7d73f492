"""Elementwise kernels in f32: selection, tangent.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

from numba import float32

from tapegrad.engine.kernels.arithmetic import masked_multiply, sign, where
from tapegrad.engine.kernels.blocks import BLOCK, Block, operand_f32, operand_u8, whole_f32
from tapegrad.engine.kernels.frame import COUNT, X_BAR, Y_BAR
from tapegrad.engine.kernels.raw_memory import load_f32, load_i64, load_u8, stack_words, store_f32
from tapegrad.engine.kernels.tangents import (
    ABSENT,
    apply_partials,
    tangent_block,
    tangent_count,
    tangent_finish,
    tangent_target,
    write_zeros,
)

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "absolute_tangent_f32": ("positive",),
    "maximum_tangent_f32": ("positive",),
    "minimum_tangent_f32": ("positive",),
    "fmax_tangent_f32": ("positive",),
    "fmin_tangent_f32": ("positive",),
    "where_tangent_f32": ("absolute", "positive"),
    "clip_tangent_f32": ("positive",),
    "relu_tangent_f32": ("positive",),
}


def absolute_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (sign(x0)) * x0_dot."""
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
                    value = sign(x0_i)
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
                value = masked_multiply(sign(x0_i), d0_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 2048, float32(0.0))
        start += n
    return 0


def maximum_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (where(x0 == x1, 0.5, where((x0 > x1) | (x0 != x0), 1, 0))) * x0_dot + (where(x1 == x0, 0.5,
    where((x1 > x0) | (x1 != x1), 1, 0))) * x1_dot."""
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
        x0 = operand_f32(block, 0, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                partial = scratch + 2048
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = (
                        where(x0_i == x1_i, float32(0.5), where((x0_i > x1_i) | (x0_i != x0_i),
                        float32(1.0), float32(0.0)))
                    )
                    store_f32(partial, i, value)
                p0 = partial
            p1 = ABSENT
            if x1_dot != 0:
                partial = scratch + 3072
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = (
                        where(x1_i == x0_i, float32(0.5), where((x1_i > x0_i) | (x1_i != x1_i),
                        float32(1.0), float32(0.0)))
                    )
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
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    where(x0_i == x1_i, float32(0.5) * d0_i, where((x0_i > x1_i) | (x0_i != x0_i), d0_i,
                    float32(0.0)))
                )
                term1 = (
                    where(x1_i == x0_i, float32(0.5) * d1_i, where((x1_i > x0_i) | (x1_i != x1_i), d1_i,
                    float32(0.0)))
                )
                value += term1
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, float32(0.0))
        elif x0_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 2048, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 3072, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    where(x0_i == x1_i, float32(0.5) * d0_i, where((x0_i > x1_i) | (x0_i != x0_i), d0_i,
                    float32(0.0)))
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 3072, float32(0.0))
        elif x1_dot != 0:
            d1 = tangent_block(block, 1, x1_dot, scratch + 2048, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 3072, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    where(x1_i == x0_i, float32(0.5) * d1_i, where((x1_i > x0_i) | (x1_i != x1_i), d1_i,
                    float32(0.0)))
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 3072, float32(0.0))
        start += n
    return 0


def minimum_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (where(x0 == x1, 0.5, where((x0 < x1) | (x0 != x0), 1, 0))) * x0_dot + (where(x1 == x0, 0.5,
    where((x1 < x0) | (x1 != x1), 1, 0))) * x1_dot."""
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
        x0 = operand_f32(block, 0, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                partial = scratch + 2048
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = (
                        where(x0_i == x1_i, float32(0.5), where((x0_i < x1_i) | (x0_i != x0_i),
                        float32(1.0), float32(0.0)))
                    )
                    store_f32(partial, i, value)
                p0 = partial
            p1 = ABSENT
            if x1_dot != 0:
                partial = scratch + 3072
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = (
                        where(x1_i == x0_i, float32(0.5), where((x1_i < x0_i) | (x1_i != x1_i),
                        float32(1.0), float32(0.0)))
                    )
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
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    where(x0_i == x1_i, float32(0.5) * d0_i, where((x0_i < x1_i) | (x0_i != x0_i), d0_i,
                    float32(0.0)))
                )
                term1 = (
                    where(x1_i == x0_i, float32(0.5) * d1_i, where((x1_i < x0_i) | (x1_i != x1_i), d1_i,
                    float32(0.0)))
                )
                value += term1
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, float32(0.0))
        elif x0_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 2048, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 3072, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    where(x0_i == x1_i, float32(0.5) * d0_i, where((x0_i < x1_i) | (x0_i != x0_i), d0_i,
                    float32(0.0)))
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 3072, float32(0.0))
        elif x1_dot != 0:
            d1 = tangent_block(block, 1, x1_dot, scratch + 2048, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 3072, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    where(x1_i == x0_i, float32(0.5) * d1_i, where((x1_i < x0_i) | (x1_i != x1_i), d1_i,
                    float32(0.0)))
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 3072, float32(0.0))
        start += n
    return 0


def fmax_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (where(x0 == x1, 0.5, where((x0 > x1) | (x1 != x1), 1, 0))) * x0_dot + (where(x1 == x0, 0.5,
    where((x1 > x0) | (x0 != x0), 1, 0))) * x1_dot."""
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
        x0 = operand_f32(block, 0, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                partial = scratch + 2048
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = (
                        where(x0_i == x1_i, float32(0.5), where((x0_i > x1_i) | (x1_i != x1_i),
                        float32(1.0), float32(0.0)))
                    )
                    store_f32(partial, i, value)
                p0 = partial
            p1 = ABSENT
            if x1_dot != 0:
                partial = scratch + 3072
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = (
                        where(x1_i == x0_i, float32(0.5), where((x1_i > x0_i) | (x0_i != x0_i),
                        float32(1.0), float32(0.0)))
                    )
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
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    where(x0_i == x1_i, float32(0.5) * d0_i, where((x0_i > x1_i) | (x1_i != x1_i), d0_i,
                    float32(0.0)))
                )
                term1 = (
                    where(x1_i == x0_i, float32(0.5) * d1_i, where((x1_i > x0_i) | (x0_i != x0_i), d1_i,
                    float32(0.0)))
                )
                value += term1
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, float32(0.0))
        elif x0_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 2048, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 3072, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    where(x0_i == x1_i, float32(0.5) * d0_i, where((x0_i > x1_i) | (x1_i != x1_i), d0_i,
                    float32(0.0)))
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 3072, float32(0.0))
        elif x1_dot != 0:
            d1 = tangent_block(block, 1, x1_dot, scratch + 2048, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 3072, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    where(x1_i == x0_i, float32(0.5) * d1_i, where((x1_i > x0_i) | (x0_i != x0_i), d1_i,
                    float32(0.0)))
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 3072, float32(0.0))
        start += n
    return 0


def fmin_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (where(x0 == x1, 0.5, where((x0 < x1) | (x1 != x1), 1, 0))) * x0_dot + (where(x1 == x0, 0.5,
    where((x1 < x0) | (x0 != x0), 1, 0))) * x1_dot."""
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
        x0 = operand_f32(block, 0, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                partial = scratch + 2048
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = (
                        where(x0_i == x1_i, float32(0.5), where((x0_i < x1_i) | (x1_i != x1_i),
                        float32(1.0), float32(0.0)))
                    )
                    store_f32(partial, i, value)
                p0 = partial
            p1 = ABSENT
            if x1_dot != 0:
                partial = scratch + 3072
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = (
                        where(x1_i == x0_i, float32(0.5), where((x1_i < x0_i) | (x0_i != x0_i),
                        float32(1.0), float32(0.0)))
                    )
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
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    where(x0_i == x1_i, float32(0.5) * d0_i, where((x0_i < x1_i) | (x1_i != x1_i), d0_i,
                    float32(0.0)))
                )
                term1 = (
                    where(x1_i == x0_i, float32(0.5) * d1_i, where((x1_i < x0_i) | (x0_i != x0_i), d1_i,
                    float32(0.0)))
                )
                value += term1
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, float32(0.0))
        elif x0_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 2048, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 3072, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    where(x0_i == x1_i, float32(0.5) * d0_i, where((x0_i < x1_i) | (x1_i != x1_i), d0_i,
                    float32(0.0)))
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 3072, float32(0.0))
        elif x1_dot != 0:
            d1 = tangent_block(block, 1, x1_dot, scratch + 2048, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 3072, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    where(x1_i == x0_i, float32(0.5) * d1_i, where((x1_i < x0_i) | (x0_i != x0_i), d1_i,
                    float32(0.0)))
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 3072, float32(0.0))
        start += n
    return 0


def where_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (where(x0, 1, 0)) * x1_dot + (where(x0, 0, 1)) * x2_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(896)
    x1_dot = load_i64(frame, X_BAR + 1)
    x2_dot = load_i64(frame, X_BAR + 2)
    y_dot = load_i64(frame, Y_BAR)
    if x1_dot == 0 and x2_dot == 0:
        write_zeros(frame, float32(0.0))
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f32(frame, 14, 1)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not (whole and not several):
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_u8(block, 0, scratch + 0)
        if several:
            p0 = ABSENT
            p1 = ABSENT
            if x1_dot != 0:
                partial = scratch + 1024
                for i in range(n):
                    x0_i = load_u8(x0, i) != 0
                    value = where(x0_i, float32(1.0), float32(0.0))
                    store_f32(partial, i, value)
                p1 = partial
            p2 = ABSENT
            if x2_dot != 0:
                partial = scratch + 2048
                for i in range(n):
                    x0_i = load_u8(x0, i) != 0
                    value = where(x0_i, float32(0.0), float32(1.0))
                    store_f32(partial, i, value)
                p2 = partial
            apply_partials(block, p0, p1, p2, scratch + 3072, float32(0.0))
        elif x1_dot != 0 and x2_dot != 0:
            d1 = tangent_block(block, 1, x1_dot, scratch + 1024, float32(0.0))
            d2 = tangent_block(block, 2, x2_dot, scratch + 2048, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 3072, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                d2_i = load_f32(d2, i)
                x0_i = load_u8(x0, i) != 0
                value = where(x0_i, d1_i, float32(0.0))
                term2 = where(x0_i, float32(0.0), d2_i)
                value += term2
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 3072, float32(0.0))
        elif x1_dot != 0:
            d1 = tangent_block(block, 1, x1_dot, scratch + 1024, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 2048, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                x0_i = load_u8(x0, i) != 0
                value = where(x0_i, d1_i, float32(0.0))
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 2048, float32(0.0))
        elif x2_dot != 0:
            d2 = tangent_block(block, 2, x2_dot, scratch + 1024, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 2048, float32(0.0))
            for i in range(n):
                d2_i = load_f32(d2, i)
                x0_i = load_u8(x0, i) != 0
                value = where(x0_i, float32(0.0), d2_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 2048, float32(0.0))
        start += n
    return 0


def clip_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (where((x0 < x1) | (x0 > x2), 0, 1)) * x0_dot + (where((x0 < x1) & (x1 <= x2), 1, 0)) *
    x1_dot + (where((x0 > x2) | (x1 > x2), 1, 0)) * x2_dot."""
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
                    value = where((x0_i < x1_i) | (x0_i > x2_i), float32(0.0), float32(1.0))
                    store_f32(partial, i, value)
                p0 = partial
            p1 = ABSENT
            if x1_dot != 0:
                partial = scratch + 4096
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    x2_i = load_f32(x2, i)
                    value = where((x0_i < x1_i) & (x1_i <= x2_i), float32(1.0), float32(0.0))
                    store_f32(partial, i, value)
                p1 = partial
            p2 = ABSENT
            if x2_dot != 0:
                partial = scratch + 5120
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    x2_i = load_f32(x2, i)
                    value = where((x0_i > x2_i) | (x1_i > x2_i), float32(1.0), float32(0.0))
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
                value = where((x0_i < x1_i) | (x0_i > x2_i), float32(0.0), d0_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, float32(0.0))
        start += n
    return 0


def relu_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (where(x0 > 0, 1, 0)) * x0_dot."""
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
                    value = where(x0_i > float32(0.0), float32(1.0), float32(0.0))
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
                value = where(x0_i > float32(0.0), d0_i, float32(0.0))
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 2048, float32(0.0))
        start += n
    return 0
