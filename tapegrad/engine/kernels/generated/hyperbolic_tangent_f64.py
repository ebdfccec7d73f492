"""Elementwise kernels in f64: hyperbolic, tangent.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

from tapegrad.engine.kernels.arithmetic import absolute, masked_multiply, sqrt, square, where
from tapegrad.engine.kernels.blocks import BLOCK, Block, call_library, operand_f64, whole_f64
from tapegrad.engine.kernels.frame import COUNT, X_BAR, Y_BAR
from tapegrad.engine.kernels.library import entry
from tapegrad.engine.kernels.raw_memory import load_f64, load_i64, stack_words, store_f64
from tapegrad.engine.kernels.tangents import (
    ABSENT,
    apply_partials,
    tangent_block,
    tangent_count,
    tangent_finish,
    tangent_target,
    write_zeros,
)

COSH = entry("cosh", "d")
SINH = entry("sinh", "d")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "sinh_tangent_f64": ("cosh", "positive"),
    "cosh_tangent_f64": ("positive", "sinh"),
    "tanh_tangent_f64": ("cosh", "positive"),
    "arcsinh_tangent_f64": ("positive",),
    "arccosh_tangent_f64": ("positive",),
    "arctanh_tangent_f64": ("positive",),
}


def sinh_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (cosh(x0)) * x0_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1536)
    x0_dot = load_i64(frame, X_BAR + 0)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0:
        write_zeros(frame, 0.0)
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f64(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t2 = scratch + 2048
                call_library(loops, COSH, n, (x0, 8, t2, 8))
                p0 = t2
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 4096, 0.0)
        elif x0_dot != 0:
            t2 = scratch + 2048
            call_library(loops, COSH, n, (x0, 8, t2, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 4096, 0.0)
            target = tangent_target(block, y_dot, scratch + 6144, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t2_i = load_f64(t2, i)
                value = masked_multiply(t2_i, d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, 0.0)
        start += n
    return 0


def cosh_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (sinh(x0)) * x0_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1536)
    x0_dot = load_i64(frame, X_BAR + 0)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0:
        write_zeros(frame, 0.0)
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f64(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t2 = scratch + 2048
                call_library(loops, SINH, n, (x0, 8, t2, 8))
                p0 = t2
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 4096, 0.0)
        elif x0_dot != 0:
            t2 = scratch + 2048
            call_library(loops, SINH, n, (x0, 8, t2, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 4096, 0.0)
            target = tangent_target(block, y_dot, scratch + 6144, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t2_i = load_f64(t2, i)
                value = masked_multiply(t2_i, d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, 0.0)
        start += n
    return 0


def tanh_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (square(1 / cosh(x0))) * x0_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1792)
    x0_dot = load_i64(frame, X_BAR + 0)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0:
        write_zeros(frame, 0.0)
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f64(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t2 = scratch + 2048
                call_library(loops, COSH, n, (x0, 8, t2, 8))
                partial = scratch + 4096
                for i in range(n):
                    t2_i = load_f64(t2, i)
                    value = square(1.0 / t2_i)
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 6144, 0.0)
        elif x0_dot != 0:
            t2 = scratch + 2048
            call_library(loops, COSH, n, (x0, 8, t2, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 4096, 0.0)
            target = tangent_target(block, y_dot, scratch + 6144, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t2_i = load_f64(t2, i)
                value = masked_multiply(square(1.0 / t2_i), d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, 0.0)
        start += n
    return 0


def arcsinh_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (where(absolute(x0) < 1000000000.0, 1 / sqrt(1 + square(x0)), 1 / absolute(x0))) * x0_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1536)
    x0_dot = load_i64(frame, X_BAR + 0)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0:
        write_zeros(frame, 0.0)
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f64(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not (whole and not several):
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                partial = scratch + 2048
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    value = (
                        where(absolute(x0_i) < 1000000000.0, 1.0 / sqrt(1.0 + square(x0_i)), 1.0 /
                        absolute(x0_i))
                    )
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 4096, 0.0)
        elif x0_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 2048, 0.0)
            target = tangent_target(block, y_dot, scratch + 4096, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                x0_i = load_f64(x0, i)
                value = (
                    masked_multiply(where(absolute(x0_i) < 1000000000.0, 1.0 / sqrt(1.0 + square(x0_i)),
                    1.0 / absolute(x0_i)), d0_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, 0.0)
        start += n
    return 0


def arccosh_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (1 / (sqrt(x0 - 1) * sqrt(x0 + 1))) * x0_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1536)
    x0_dot = load_i64(frame, X_BAR + 0)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0:
        write_zeros(frame, 0.0)
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f64(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not (whole and not several):
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                partial = scratch + 2048
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    value = 1.0 / (sqrt(x0_i - 1.0) * sqrt(x0_i + 1.0))
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 4096, 0.0)
        elif x0_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 2048, 0.0)
            target = tangent_target(block, y_dot, scratch + 4096, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                x0_i = load_f64(x0, i)
                value = masked_multiply(1.0 / (sqrt(x0_i - 1.0) * sqrt(x0_i + 1.0)), d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, 0.0)
        start += n
    return 0


def arctanh_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (1 / where(absolute(x0) < 0.5, 1 - square(x0), (1 - x0) * (1 + x0))) * x0_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1536)
    x0_dot = load_i64(frame, X_BAR + 0)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0:
        write_zeros(frame, 0.0)
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f64(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not (whole and not several):
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                partial = scratch + 2048
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    value = (
                        1.0 / where(absolute(x0_i) < 0.5, 1.0 - square(x0_i), (1.0 - x0_i) * (1.0 +
                        x0_i))
                    )
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 4096, 0.0)
        elif x0_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 2048, 0.0)
            target = tangent_target(block, y_dot, scratch + 4096, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                x0_i = load_f64(x0, i)
                value = (
                    masked_multiply(1.0 / where(absolute(x0_i) < 0.5, 1.0 - square(x0_i), (1.0 - x0_i) *
                    (1.0 + x0_i)), d0_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, 0.0)
        start += n
    return 0
