"""Elementwise kernels in f64: special, tangent.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

from math import nan

from tapegrad.engine.kernels.arithmetic import masked_multiply, square, where
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

DIGAMMA = entry("digamma", "d")
EXP = entry("exp", "d")
RINT = entry("rint", "d")
SIN = entry("sin", "d")
ZETA = entry("zeta", "d")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "erf_tangent_f64": ("exp", "positive"),
    "erfc_tangent_f64": ("exp", "positive"),
    "lgamma_tangent_f64": ("digamma", "positive"),
    "digamma_tangent_f64": ("positive", "rint", "sin", "zeta"),
    "zeta_tangent_f64": ("positive", "zeta"),
}


def erf_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (two_over_sqrt_pi * exp(-square(x0))) * x0_dot."""
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
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    value = -square(x0_i)
                    store_f64(t2, i, value)
                call_library(loops, EXP, n, (t2, 8, t2, 8))
                partial = scratch + 4096
                for i in range(n):
                    t2_i = load_f64(t2, i)
                    value = 1.1283791670955126 * t2_i
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 6144, 0.0)
        elif x0_dot != 0:
            t2 = scratch + 2048
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = -square(x0_i)
                store_f64(t2, i, value)
            call_library(loops, EXP, n, (t2, 8, t2, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 4096, 0.0)
            target = tangent_target(block, y_dot, scratch + 6144, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t2_i = load_f64(t2, i)
                value = masked_multiply(1.1283791670955126 * t2_i, d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, 0.0)
        start += n
    return 0


def erfc_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (-two_over_sqrt_pi * exp(-square(x0))) * x0_dot."""
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
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    value = -square(x0_i)
                    store_f64(t2, i, value)
                call_library(loops, EXP, n, (t2, 8, t2, 8))
                partial = scratch + 4096
                for i in range(n):
                    t2_i = load_f64(t2, i)
                    value = -1.1283791670955126 * t2_i
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 6144, 0.0)
        elif x0_dot != 0:
            t2 = scratch + 2048
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = -square(x0_i)
                store_f64(t2, i, value)
            call_library(loops, EXP, n, (t2, 8, t2, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 4096, 0.0)
            target = tangent_target(block, y_dot, scratch + 6144, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t2_i = load_f64(t2, i)
                value = masked_multiply(-1.1283791670955126 * t2_i, d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, 0.0)
        start += n
    return 0


def lgamma_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (digamma(x0)) * x0_dot."""
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
                call_library(loops, DIGAMMA, n, (x0, 8, t2, 8))
                p0 = t2
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 4096, 0.0)
        elif x0_dot != 0:
            t2 = scratch + 2048
            call_library(loops, DIGAMMA, n, (x0, 8, t2, 8))
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


def digamma_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (where(x0 < 0, square(pi / sin(pi * where(x0 < 0, x0 - rint(x0), 0.5))), 0) + where(x0 < 0,
    -1, 1) * zeta(2, where(x0 < 0, 1 - x0, x0))) * x0_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(2560)
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
                call_library(loops, RINT, n, (x0, 8, t2, 8))
                t3 = scratch + 4096
                for i in range(n):
                    t2_i = load_f64(t2, i)
                    x0_i = load_f64(x0, i)
                    value = 3.141592653589793 * where(x0_i < 0.0, x0_i - t2_i, 0.5)
                    store_f64(t3, i, value)
                call_library(loops, SIN, n, (t3, 8, t3, 8))
                t4 = scratch + 6144
                for i in range(n):
                    value = 2.0
                    store_f64(t4, i, value)
                t5 = scratch + 8192
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    value = where(x0_i < 0.0, 1.0 - x0_i, x0_i)
                    store_f64(t5, i, value)
                call_library(loops, ZETA, n, (t4, 8, t5, 8, t4, 8))
                partial = scratch + 10240
                for i in range(n):
                    t3_i = load_f64(t3, i)
                    t4_i = load_f64(t4, i)
                    x0_i = load_f64(x0, i)
                    value = (
                        where(x0_i < 0.0, square(3.141592653589793 / t3_i), 0.0) + (where(x0_i < 0.0,
                        -1.0, 1.0) * t4_i)
                    )
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 12288, 0.0)
        elif x0_dot != 0:
            t2 = scratch + 2048
            call_library(loops, RINT, n, (x0, 8, t2, 8))
            t3 = scratch + 4096
            for i in range(n):
                t2_i = load_f64(t2, i)
                x0_i = load_f64(x0, i)
                value = 3.141592653589793 * where(x0_i < 0.0, x0_i - t2_i, 0.5)
                store_f64(t3, i, value)
            call_library(loops, SIN, n, (t3, 8, t3, 8))
            t4 = scratch + 6144
            for i in range(n):
                value = 2.0
                store_f64(t4, i, value)
            t5 = scratch + 8192
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = where(x0_i < 0.0, 1.0 - x0_i, x0_i)
                store_f64(t5, i, value)
            call_library(loops, ZETA, n, (t4, 8, t5, 8, t4, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 10240, 0.0)
            target = tangent_target(block, y_dot, scratch + 12288, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t3_i = load_f64(t3, i)
                t4_i = load_f64(t4, i)
                x0_i = load_f64(x0, i)
                value = (
                    masked_multiply(where(x0_i < 0.0, square(3.141592653589793 / t3_i), 0.0) +
                    (where(x0_i < 0.0, -1.0, 1.0) * t4_i), d0_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 12288, 0.0)
        start += n
    return 0


def zeta_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (nan) * x0_dot + (-x0 * zeta(x0 + 1, x1)) * x1_dot."""
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
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        x1 = operand_f64(block, 1, scratch + 2048)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                partial = scratch + 4096
                for i in range(n):
                    value = nan
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            if x1_dot != 0:
                t4 = scratch + 6144
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    value = x0_i + 1.0
                    store_f64(t4, i, value)
                call_library(loops, ZETA, n, (t4, 8, x1, 8, t4, 8))
                partial = scratch + 8192
                for i in range(n):
                    t4_i = load_f64(t4, i)
                    x0_i = load_f64(x0, i)
                    value = -x0_i * t4_i
                    store_f64(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 10240, 0.0)
        elif x0_dot != 0 and x1_dot != 0:
            t3 = scratch + 4096
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = x0_i + 1.0
                store_f64(t3, i, value)
            call_library(loops, ZETA, n, (t3, 8, x1, 8, t3, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 6144, 0.0)
            d1 = tangent_block(block, 1, x1_dot, scratch + 8192, 0.0)
            target = tangent_target(block, y_dot, scratch + 10240, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                d1_i = load_f64(d1, i)
                t3_i = load_f64(t3, i)
                x0_i = load_f64(x0, i)
                value = masked_multiply(nan, d0_i)
                term1 = masked_multiply(-x0_i * t3_i, d1_i)
                value += term1
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 10240, 0.0)
        elif x0_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 4096, 0.0)
            target = tangent_target(block, y_dot, scratch + 6144, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                value = masked_multiply(nan, d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, 0.0)
        elif x1_dot != 0:
            t3 = scratch + 4096
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = x0_i + 1.0
                store_f64(t3, i, value)
            call_library(loops, ZETA, n, (t3, 8, x1, 8, t3, 8))
            d1 = tangent_block(block, 1, x1_dot, scratch + 6144, 0.0)
            target = tangent_target(block, y_dot, scratch + 8192, 0.0)
            for i in range(n):
                d1_i = load_f64(d1, i)
                t3_i = load_f64(t3, i)
                x0_i = load_f64(x0, i)
                value = masked_multiply(-x0_i * t3_i, d1_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 8192, 0.0)
        start += n
    return 0
