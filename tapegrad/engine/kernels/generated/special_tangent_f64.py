"""Elementwise kernels in f64: special, tangent.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

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

ERF = entry("erf", "d")
ERFCX = entry("erfcx", "d")
EXP = entry("exp", "d")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "erf_tangent_f64": ("exp", "positive"),
    "erfc_tangent_f64": ("exp", "positive"),
    "erfcx_tangent_f64": ("positive",),
    "erfinv_tangent_f64": ("exp", "positive"),
    "erfcinv_tangent_f64": ("exp", "positive"),
    "ndtr_tangent_f64": ("exp", "positive"),
    "log_ndtr_tangent_f64": ("erfcx", "positive"),
    "ndtri_tangent_f64": ("exp", "positive"),
    "logit_tangent_f64": ("positive",),
    "log_expit_tangent_f64": ("exp", "positive"),
    "owens_t_tangent_f64": ("erf", "exp", "positive"),
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


def erfcx_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (two_over_sqrt_pi * where(x0 < 20, sqrt_pi * x0 * y - 1, 0.5 / square(x0) * (-1 + 0.5 /
    square(x0) * (3 + 0.5 / square(x0) * (-15 + 0.5 / square(x0) * (105 + 0.5 / square(x0) * (-945 + 0.5 /
    square(x0) * (10395 + 0.5 / square(x0) * (-135135 + 0.5 / square(x0) * 2027025))))))))) * x0_dot."""
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
        if n > BLOCK and not (whole and not several):
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        y = operand_f64(block, 3, scratch + 2048)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                partial = scratch + 4096
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    y_i = load_f64(y, i)
                    value = (
                        1.1283791670955126 * where(x0_i < 20.0, ((1.7724538509055159 * x0_i) * y_i) -
                        1.0, (0.5 / square(x0_i)) * (-1.0 + ((0.5 / square(x0_i)) * (3.0 + ((0.5 /
                        square(x0_i)) * (-15.0 + ((0.5 / square(x0_i)) * (105.0 + ((0.5 / square(x0_i))
                        * (-945.0 + ((0.5 / square(x0_i)) * (10395.0 + ((0.5 / square(x0_i)) *
                        (-135135.0 + ((0.5 / square(x0_i)) * 2027025.0)))))))))))))))
                    )
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 6144, 0.0)
        elif x0_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 4096, 0.0)
            target = tangent_target(block, y_dot, scratch + 6144, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                x0_i = load_f64(x0, i)
                y_i = load_f64(y, i)
                value = (
                    masked_multiply(1.1283791670955126 * where(x0_i < 20.0, ((1.7724538509055159 * x0_i)
                    * y_i) - 1.0, (0.5 / square(x0_i)) * (-1.0 + ((0.5 / square(x0_i)) * (3.0 + ((0.5 /
                    square(x0_i)) * (-15.0 + ((0.5 / square(x0_i)) * (105.0 + ((0.5 / square(x0_i)) *
                    (-945.0 + ((0.5 / square(x0_i)) * (10395.0 + ((0.5 / square(x0_i)) * (-135135.0 +
                    ((0.5 / square(x0_i)) * 2027025.0))))))))))))))), d0_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, 0.0)
        start += n
    return 0


def erfinv_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (exp(square(y)) / two_over_sqrt_pi) * x0_dot."""
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
        y = operand_f64(block, 3, scratch + 0)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t2 = scratch + 2048
                for i in range(n):
                    y_i = load_f64(y, i)
                    value = square(y_i)
                    store_f64(t2, i, value)
                call_library(loops, EXP, n, (t2, 8, t2, 8))
                partial = scratch + 4096
                for i in range(n):
                    t2_i = load_f64(t2, i)
                    value = t2_i / 1.1283791670955126
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 6144, 0.0)
        elif x0_dot != 0:
            t2 = scratch + 2048
            for i in range(n):
                y_i = load_f64(y, i)
                value = square(y_i)
                store_f64(t2, i, value)
            call_library(loops, EXP, n, (t2, 8, t2, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 4096, 0.0)
            target = tangent_target(block, y_dot, scratch + 6144, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t2_i = load_f64(t2, i)
                value = masked_multiply(t2_i / 1.1283791670955126, d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, 0.0)
        start += n
    return 0


def erfcinv_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (-exp(square(y)) / two_over_sqrt_pi) * x0_dot."""
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
        y = operand_f64(block, 3, scratch + 0)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t2 = scratch + 2048
                for i in range(n):
                    y_i = load_f64(y, i)
                    value = square(y_i)
                    store_f64(t2, i, value)
                call_library(loops, EXP, n, (t2, 8, t2, 8))
                partial = scratch + 4096
                for i in range(n):
                    t2_i = load_f64(t2, i)
                    value = -t2_i / 1.1283791670955126
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 6144, 0.0)
        elif x0_dot != 0:
            t2 = scratch + 2048
            for i in range(n):
                y_i = load_f64(y, i)
                value = square(y_i)
                store_f64(t2, i, value)
            call_library(loops, EXP, n, (t2, 8, t2, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 4096, 0.0)
            target = tangent_target(block, y_dot, scratch + 6144, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t2_i = load_f64(t2, i)
                value = masked_multiply(-t2_i / 1.1283791670955126, d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, 0.0)
        start += n
    return 0


def ndtr_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (one_over_sqrt_2pi * exp(-0.5 * square(x0))) * x0_dot."""
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
                    value = -0.5 * square(x0_i)
                    store_f64(t2, i, value)
                call_library(loops, EXP, n, (t2, 8, t2, 8))
                partial = scratch + 4096
                for i in range(n):
                    t2_i = load_f64(t2, i)
                    value = 0.3989422804014327 * t2_i
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 6144, 0.0)
        elif x0_dot != 0:
            t2 = scratch + 2048
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = -0.5 * square(x0_i)
                store_f64(t2, i, value)
            call_library(loops, EXP, n, (t2, 8, t2, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 4096, 0.0)
            target = tangent_target(block, y_dot, scratch + 6144, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t2_i = load_f64(t2, i)
                value = masked_multiply(0.3989422804014327 * t2_i, d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, 0.0)
        start += n
    return 0


def log_ndtr_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (sqrt_two_over_pi / erfcx(-sqrt_half * x0)) * x0_dot."""
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
                    value = -0.7071067811865476 * x0_i
                    store_f64(t2, i, value)
                call_library(loops, ERFCX, n, (t2, 8, t2, 8))
                partial = scratch + 4096
                for i in range(n):
                    t2_i = load_f64(t2, i)
                    value = 0.7978845608028654 / t2_i
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 6144, 0.0)
        elif x0_dot != 0:
            t2 = scratch + 2048
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = -0.7071067811865476 * x0_i
                store_f64(t2, i, value)
            call_library(loops, ERFCX, n, (t2, 8, t2, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 4096, 0.0)
            target = tangent_target(block, y_dot, scratch + 6144, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t2_i = load_f64(t2, i)
                value = masked_multiply(0.7978845608028654 / t2_i, d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, 0.0)
        start += n
    return 0


def ndtri_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (exp(0.5 * square(y)) / one_over_sqrt_2pi) * x0_dot."""
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
        y = operand_f64(block, 3, scratch + 0)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t2 = scratch + 2048
                for i in range(n):
                    y_i = load_f64(y, i)
                    value = 0.5 * square(y_i)
                    store_f64(t2, i, value)
                call_library(loops, EXP, n, (t2, 8, t2, 8))
                partial = scratch + 4096
                for i in range(n):
                    t2_i = load_f64(t2, i)
                    value = t2_i / 0.3989422804014327
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 6144, 0.0)
        elif x0_dot != 0:
            t2 = scratch + 2048
            for i in range(n):
                y_i = load_f64(y, i)
                value = 0.5 * square(y_i)
                store_f64(t2, i, value)
            call_library(loops, EXP, n, (t2, 8, t2, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 4096, 0.0)
            target = tangent_target(block, y_dot, scratch + 6144, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t2_i = load_f64(t2, i)
                value = masked_multiply(t2_i / 0.3989422804014327, d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, 0.0)
        start += n
    return 0


def logit_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (1 / (x0 * (1 - x0))) * x0_dot."""
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
                    value = 1.0 / (x0_i * (1.0 - x0_i))
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
                value = masked_multiply(1.0 / (x0_i * (1.0 - x0_i)), d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, 0.0)
        start += n
    return 0


def log_expit_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (1 / (1 + exp(x0))) * x0_dot."""
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
                call_library(loops, EXP, n, (x0, 8, t2, 8))
                partial = scratch + 4096
                for i in range(n):
                    t2_i = load_f64(t2, i)
                    value = 1.0 / (1.0 + t2_i)
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 6144, 0.0)
        elif x0_dot != 0:
            t2 = scratch + 2048
            call_library(loops, EXP, n, (x0, 8, t2, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 4096, 0.0)
            target = tangent_target(block, y_dot, scratch + 6144, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t2_i = load_f64(t2, i)
                value = masked_multiply(1.0 / (1.0 + t2_i), d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, 0.0)
        start += n
    return 0


def owens_t_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (-0.5 * one_over_sqrt_2pi * exp(-0.5 * square(x0)) * erf(sqrt_half * x0 * x1)) * x0_dot +
    (exp(-0.5 * square(x0) * (1 + square(x1))) / (2 * pi * (1 + square(x1)))) * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(2816)
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
                t3 = scratch + 4096
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    value = -0.5 * square(x0_i)
                    store_f64(t3, i, value)
                call_library(loops, EXP, n, (t3, 8, t3, 8))
                t4 = scratch + 6144
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = (0.7071067811865476 * x0_i) * x1_i
                    store_f64(t4, i, value)
                call_library(loops, ERF, n, (t4, 8, t4, 8))
                partial = scratch + 8192
                for i in range(n):
                    t3_i = load_f64(t3, i)
                    t4_i = load_f64(t4, i)
                    value = ((-0.5 * 0.3989422804014327) * t3_i) * t4_i
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            if x1_dot != 0:
                t6 = scratch + 10240
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = (-0.5 * square(x0_i)) * (1.0 + square(x1_i))
                    store_f64(t6, i, value)
                call_library(loops, EXP, n, (t6, 8, t6, 8))
                partial = scratch + 12288
                for i in range(n):
                    t6_i = load_f64(t6, i)
                    x1_i = load_f64(x1, i)
                    value = t6_i / ((2.0 * 3.141592653589793) * (1.0 + square(x1_i)))
                    store_f64(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 14336, 0.0)
        elif x0_dot != 0 and x1_dot != 0:
            t3 = scratch + 4096
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = -0.5 * square(x0_i)
                store_f64(t3, i, value)
            call_library(loops, EXP, n, (t3, 8, t3, 8))
            t4 = scratch + 6144
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (0.7071067811865476 * x0_i) * x1_i
                store_f64(t4, i, value)
            call_library(loops, ERF, n, (t4, 8, t4, 8))
            t5 = scratch + 8192
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (-0.5 * square(x0_i)) * (1.0 + square(x1_i))
                store_f64(t5, i, value)
            call_library(loops, EXP, n, (t5, 8, t5, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 10240, 0.0)
            d1 = tangent_block(block, 1, x1_dot, scratch + 12288, 0.0)
            target = tangent_target(block, y_dot, scratch + 14336, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                d1_i = load_f64(d1, i)
                t3_i = load_f64(t3, i)
                t4_i = load_f64(t4, i)
                t5_i = load_f64(t5, i)
                x1_i = load_f64(x1, i)
                value = masked_multiply(((-0.5 * 0.3989422804014327) * t3_i) * t4_i, d0_i)
                term1 = masked_multiply(t5_i / ((2.0 * 3.141592653589793) * (1.0 + square(x1_i))), d1_i)
                value += term1
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 14336, 0.0)
        elif x0_dot != 0:
            t3 = scratch + 4096
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = -0.5 * square(x0_i)
                store_f64(t3, i, value)
            call_library(loops, EXP, n, (t3, 8, t3, 8))
            t4 = scratch + 6144
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (0.7071067811865476 * x0_i) * x1_i
                store_f64(t4, i, value)
            call_library(loops, ERF, n, (t4, 8, t4, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 8192, 0.0)
            target = tangent_target(block, y_dot, scratch + 10240, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t3_i = load_f64(t3, i)
                t4_i = load_f64(t4, i)
                value = masked_multiply(((-0.5 * 0.3989422804014327) * t3_i) * t4_i, d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 10240, 0.0)
        elif x1_dot != 0:
            t3 = scratch + 4096
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (-0.5 * square(x0_i)) * (1.0 + square(x1_i))
                store_f64(t3, i, value)
            call_library(loops, EXP, n, (t3, 8, t3, 8))
            d1 = tangent_block(block, 1, x1_dot, scratch + 6144, 0.0)
            target = tangent_target(block, y_dot, scratch + 8192, 0.0)
            for i in range(n):
                d1_i = load_f64(d1, i)
                t3_i = load_f64(t3, i)
                x1_i = load_f64(x1, i)
                value = masked_multiply(t3_i / ((2.0 * 3.141592653589793) * (1.0 + square(x1_i))), d1_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 8192, 0.0)
        start += n
    return 0
