"""Elementwise kernels in f64: trigonometric, tangent.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

from tapegrad.engine.kernels.arithmetic import absolute, masked_multiply, sign, sqrt, square, where
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

COS = entry("cos", "d")
SIN = entry("sin", "d")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "sin_tangent_f64": ("cos", "positive"),
    "cos_tangent_f64": ("positive", "sin"),
    "tan_tangent_f64": ("positive",),
    "arcsin_tangent_f64": ("positive",),
    "arccos_tangent_f64": ("positive",),
    "arctan_tangent_f64": ("positive",),
    "arctan2_tangent_f64": ("positive",),
    "hypot_tangent_f64": ("positive",),
    "sinc_tangent_f64": ("cos", "positive"),
}


def sin_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (cos(x0)) * x0_dot."""
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
                call_library(loops, COS, n, (x0, 8, t2, 8))
                p0 = t2
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 4096, 0.0)
        elif x0_dot != 0:
            t2 = scratch + 2048
            call_library(loops, COS, n, (x0, 8, t2, 8))
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


def cos_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (-sin(x0)) * x0_dot."""
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
                call_library(loops, SIN, n, (x0, 8, t2, 8))
                partial = scratch + 4096
                for i in range(n):
                    t2_i = load_f64(t2, i)
                    value = -t2_i
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 6144, 0.0)
        elif x0_dot != 0:
            t2 = scratch + 2048
            call_library(loops, SIN, n, (x0, 8, t2, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 4096, 0.0)
            target = tangent_target(block, y_dot, scratch + 6144, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t2_i = load_f64(t2, i)
                value = masked_multiply(-t2_i, d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, 0.0)
        start += n
    return 0


def tan_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (1 + square(y)) * x0_dot."""
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
        y = operand_f64(block, 3, scratch + 0)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                partial = scratch + 2048
                for i in range(n):
                    y_i = load_f64(y, i)
                    value = 1.0 + square(y_i)
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
                y_i = load_f64(y, i)
                value = masked_multiply(1.0 + square(y_i), d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, 0.0)
        start += n
    return 0


def arcsin_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (1 / sqrt(where(absolute(x0) < 0.5, 1 - square(x0), (1 - x0) * (1 + x0)))) * x0_dot."""
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
                        1.0 / sqrt(where(absolute(x0_i) < 0.5, 1.0 - square(x0_i), (1.0 - x0_i) * (1.0 +
                        x0_i)))
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
                    masked_multiply(1.0 / sqrt(where(absolute(x0_i) < 0.5, 1.0 - square(x0_i), (1.0 -
                    x0_i) * (1.0 + x0_i))), d0_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, 0.0)
        start += n
    return 0


def arccos_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (-1 / sqrt(where(absolute(x0) < 0.5, 1 - square(x0), (1 - x0) * (1 + x0)))) * x0_dot."""
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
                        -1.0 / sqrt(where(absolute(x0_i) < 0.5, 1.0 - square(x0_i), (1.0 - x0_i) * (1.0
                        + x0_i)))
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
                    masked_multiply(-1.0 / sqrt(where(absolute(x0_i) < 0.5, 1.0 - square(x0_i), (1.0 -
                    x0_i) * (1.0 + x0_i))), d0_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, 0.0)
        start += n
    return 0


def arctan_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (1 / (1 + square(x0))) * x0_dot."""
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
                    value = 1.0 / (1.0 + square(x0_i))
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
                value = masked_multiply(1.0 / (1.0 + square(x0_i)), d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, 0.0)
        start += n
    return 0


def arctan2_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (where((x0 == 0) & (x1 == 0), 0, where(absolute(x1) >= absolute(x0), 1 / (x1 + x0 * (x0 /
    x1)), x1 / x0 / (x0 + x1 * (x1 / x0))))) * x0_dot + (where((x0 == 0) & (x1 == 0), 0, -where(absolute(x0)
    >= absolute(x1), 1 / (x0 + x1 * (x1 / x0)), x0 / x1 / (x1 + x0 * (x0 / x1))))) * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(2048)
    x0_dot = load_i64(frame, X_BAR + 0)
    x1_dot = load_i64(frame, X_BAR + 1)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0 and x1_dot == 0:
        write_zeros(frame, 0.0)
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f64(frame, 11, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not (whole and not several):
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        x1 = operand_f64(block, 1, scratch + 2048)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                partial = scratch + 4096
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = (
                        where((x0_i == 0.0) & (x1_i == 0.0), 0.0, where(absolute(x1_i) >=
                        absolute(x0_i), 1.0 / (x1_i + (x0_i * (x0_i / x1_i))), (x1_i / x0_i) / (x0_i +
                        (x1_i * (x1_i / x0_i)))))
                    )
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            if x1_dot != 0:
                partial = scratch + 6144
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = (
                        where((x0_i == 0.0) & (x1_i == 0.0), 0.0, -where(absolute(x0_i) >=
                        absolute(x1_i), 1.0 / (x0_i + (x1_i * (x1_i / x0_i))), (x0_i / x1_i) / (x1_i +
                        (x0_i * (x0_i / x1_i)))))
                    )
                    store_f64(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 8192, 0.0)
        elif x0_dot != 0 and x1_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 4096, 0.0)
            d1 = tangent_block(block, 1, x1_dot, scratch + 6144, 0.0)
            target = tangent_target(block, y_dot, scratch + 8192, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                d1_i = load_f64(d1, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    masked_multiply(where((x0_i == 0.0) & (x1_i == 0.0), 0.0, where(absolute(x1_i) >=
                    absolute(x0_i), 1.0 / (x1_i + (x0_i * (x0_i / x1_i))), (x1_i / x0_i) / (x0_i + (x1_i
                    * (x1_i / x0_i))))), d0_i)
                )
                term1 = (
                    masked_multiply(where((x0_i == 0.0) & (x1_i == 0.0), 0.0, -where(absolute(x0_i) >=
                    absolute(x1_i), 1.0 / (x0_i + (x1_i * (x1_i / x0_i))), (x0_i / x1_i) / (x1_i + (x0_i
                    * (x0_i / x1_i))))), d1_i)
                )
                value += term1
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 8192, 0.0)
        elif x0_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 4096, 0.0)
            target = tangent_target(block, y_dot, scratch + 6144, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    masked_multiply(where((x0_i == 0.0) & (x1_i == 0.0), 0.0, where(absolute(x1_i) >=
                    absolute(x0_i), 1.0 / (x1_i + (x0_i * (x0_i / x1_i))), (x1_i / x0_i) / (x0_i + (x1_i
                    * (x1_i / x0_i))))), d0_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, 0.0)
        elif x1_dot != 0:
            d1 = tangent_block(block, 1, x1_dot, scratch + 4096, 0.0)
            target = tangent_target(block, y_dot, scratch + 6144, 0.0)
            for i in range(n):
                d1_i = load_f64(d1, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    masked_multiply(where((x0_i == 0.0) & (x1_i == 0.0), 0.0, -where(absolute(x0_i) >=
                    absolute(x1_i), 1.0 / (x0_i + (x1_i * (x1_i / x0_i))), (x0_i / x1_i) / (x1_i + (x0_i
                    * (x0_i / x1_i))))), d1_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, 0.0)
        start += n
    return 0


def hypot_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (where(y == 0, 0, where(absolute(x0) > absolute(x1), sign(x0), x0 / absolute(x1)) / sqrt(1 +
    square(where(absolute(x0) > absolute(x1), x1 / x0, x0 / x1))))) * x0_dot + (where(y == 0, 0,
    where(absolute(x1) > absolute(x0), sign(x1), x1 / absolute(x0)) / sqrt(1 + square(where(absolute(x1) >
    absolute(x0), x0 / x1, x1 / x0))))) * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(2304)
    x0_dot = load_i64(frame, X_BAR + 0)
    x1_dot = load_i64(frame, X_BAR + 1)
    y_dot = load_i64(frame, Y_BAR)
    if x0_dot == 0 and x1_dot == 0:
        write_zeros(frame, 0.0)
        return 0
    several = tangent_count(frame) != 1
    whole = whole_f64(frame, 11, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not (whole and not several):
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        x1 = operand_f64(block, 1, scratch + 2048)
        y = operand_f64(block, 3, scratch + 4096)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                partial = scratch + 6144
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    y_i = load_f64(y, i)
                    value = (
                        where(y_i == 0.0, 0.0, where(absolute(x0_i) > absolute(x1_i), sign(x0_i), x0_i /
                        absolute(x1_i)) / sqrt(1.0 + square(where(absolute(x0_i) > absolute(x1_i), x1_i
                        / x0_i, x0_i / x1_i))))
                    )
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            if x1_dot != 0:
                partial = scratch + 8192
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    y_i = load_f64(y, i)
                    value = (
                        where(y_i == 0.0, 0.0, where(absolute(x1_i) > absolute(x0_i), sign(x1_i), x1_i /
                        absolute(x0_i)) / sqrt(1.0 + square(where(absolute(x1_i) > absolute(x0_i), x0_i
                        / x1_i, x1_i / x0_i))))
                    )
                    store_f64(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 10240, 0.0)
        elif x0_dot != 0 and x1_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 6144, 0.0)
            d1 = tangent_block(block, 1, x1_dot, scratch + 8192, 0.0)
            target = tangent_target(block, y_dot, scratch + 10240, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                d1_i = load_f64(d1, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                y_i = load_f64(y, i)
                value = (
                    masked_multiply(where(y_i == 0.0, 0.0, where(absolute(x0_i) > absolute(x1_i),
                    sign(x0_i), x0_i / absolute(x1_i)) / sqrt(1.0 + square(where(absolute(x0_i) >
                    absolute(x1_i), x1_i / x0_i, x0_i / x1_i)))), d0_i)
                )
                term1 = (
                    masked_multiply(where(y_i == 0.0, 0.0, where(absolute(x1_i) > absolute(x0_i),
                    sign(x1_i), x1_i / absolute(x0_i)) / sqrt(1.0 + square(where(absolute(x1_i) >
                    absolute(x0_i), x0_i / x1_i, x1_i / x0_i)))), d1_i)
                )
                value += term1
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 10240, 0.0)
        elif x0_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 6144, 0.0)
            target = tangent_target(block, y_dot, scratch + 8192, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                y_i = load_f64(y, i)
                value = (
                    masked_multiply(where(y_i == 0.0, 0.0, where(absolute(x0_i) > absolute(x1_i),
                    sign(x0_i), x0_i / absolute(x1_i)) / sqrt(1.0 + square(where(absolute(x0_i) >
                    absolute(x1_i), x1_i / x0_i, x0_i / x1_i)))), d0_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 8192, 0.0)
        elif x1_dot != 0:
            d1 = tangent_block(block, 1, x1_dot, scratch + 6144, 0.0)
            target = tangent_target(block, y_dot, scratch + 8192, 0.0)
            for i in range(n):
                d1_i = load_f64(d1, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                y_i = load_f64(y, i)
                value = (
                    masked_multiply(where(y_i == 0.0, 0.0, where(absolute(x1_i) > absolute(x0_i),
                    sign(x1_i), x1_i / absolute(x0_i)) / sqrt(1.0 + square(where(absolute(x1_i) >
                    absolute(x0_i), x0_i / x1_i, x1_i / x0_i)))), d1_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 8192, 0.0)
        start += n
    return 0


def sinc_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (where(absolute(x0) < 0.25, -pi * (pi * x0) * (1 / 3 - square(pi * x0) * (1 / 30 - square(pi
    * x0) * (1 / 840 - square(pi * x0) * (1 / 45360 - square(pi * x0) * (1 / 3991680 - square(pi * x0) * (1
    / 518918400 - square(pi * x0) * (1 / 93405312000))))))), (cos(pi * x0) - y) / x0)) * x0_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(2048)
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
        y = operand_f64(block, 3, scratch + 2048)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t3 = scratch + 4096
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    value = 3.141592653589793 * x0_i
                    store_f64(t3, i, value)
                call_library(loops, COS, n, (t3, 8, t3, 8))
                partial = scratch + 6144
                for i in range(n):
                    t3_i = load_f64(t3, i)
                    x0_i = load_f64(x0, i)
                    y_i = load_f64(y, i)
                    value = (
                        where(absolute(x0_i) < 0.25, (-3.141592653589793 * (3.141592653589793 * x0_i)) *
                        ((1.0 / 3.0) - (square(3.141592653589793 * x0_i) * ((1.0 / 30.0) -
                        (square(3.141592653589793 * x0_i) * ((1.0 / 840.0) - (square(3.141592653589793 *
                        x0_i) * ((1.0 / 45360.0) - (square(3.141592653589793 * x0_i) * ((1.0 /
                        3991680.0) - (square(3.141592653589793 * x0_i) * ((1.0 / 518918400.0) -
                        (square(3.141592653589793 * x0_i) * (1.0 / 93405312000.0))))))))))))), (t3_i -
                        y_i) / x0_i)
                    )
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 8192, 0.0)
        elif x0_dot != 0:
            t3 = scratch + 4096
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = 3.141592653589793 * x0_i
                store_f64(t3, i, value)
            call_library(loops, COS, n, (t3, 8, t3, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 6144, 0.0)
            target = tangent_target(block, y_dot, scratch + 8192, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t3_i = load_f64(t3, i)
                x0_i = load_f64(x0, i)
                y_i = load_f64(y, i)
                value = (
                    masked_multiply(where(absolute(x0_i) < 0.25, (-3.141592653589793 *
                    (3.141592653589793 * x0_i)) * ((1.0 / 3.0) - (square(3.141592653589793 * x0_i) *
                    ((1.0 / 30.0) - (square(3.141592653589793 * x0_i) * ((1.0 / 840.0) -
                    (square(3.141592653589793 * x0_i) * ((1.0 / 45360.0) - (square(3.141592653589793 *
                    x0_i) * ((1.0 / 3991680.0) - (square(3.141592653589793 * x0_i) * ((1.0 /
                    518918400.0) - (square(3.141592653589793 * x0_i) * (1.0 /
                    93405312000.0))))))))))))), (t3_i - y_i) / x0_i), d0_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 8192, 0.0)
        start += n
    return 0
