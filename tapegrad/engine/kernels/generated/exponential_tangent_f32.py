"""Elementwise kernels in f32: exponential, tangent.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

from math import inf

from numba import float32

from tapegrad.engine.kernels.arithmetic import absolute, masked_multiply, where
from tapegrad.engine.kernels.blocks import BLOCK, Block, call_library, operand_f32, whole_f32
from tapegrad.engine.kernels.frame import COUNT, X_BAR, Y_BAR
from tapegrad.engine.kernels.library import entry
from tapegrad.engine.kernels.raw_memory import load_f32, load_i64, stack_words, store_f32
from tapegrad.engine.kernels.tangents import (
    ABSENT,
    apply_partials,
    tangent_block,
    tangent_count,
    tangent_finish,
    tangent_target,
    write_zeros,
)

EXP = entry("exp", "f")
EXP2 = entry("exp2", "f")
LOG = entry("log", "f")
POWER = entry("power", "f")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "power_tangent_f32": ("log", "positive", "power"),
    "exp_tangent_f32": ("positive",),
    "exp2_tangent_f32": ("positive",),
    "expm1_tangent_f32": ("exp", "positive"),
    "log_tangent_f32": ("positive",),
    "log2_tangent_f32": ("positive",),
    "log10_tangent_f32": ("positive",),
    "log1p_tangent_f32": ("positive",),
    "logaddexp_tangent_f32": ("exp", "positive"),
    "logaddexp2_tangent_f32": ("exp2", "positive"),
    "sigmoid_tangent_f32": ("exp", "positive"),
    "softplus_tangent_f32": ("exp", "positive"),
}


def power_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (masked_multiply(x1, power(x0, x1 - 1))) * x0_dot + (where((x0 == 0) & (x1 >= 0), 0, y *
    log(x0))) * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1408)
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
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        y = operand_f32(block, 3, scratch + 2048)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t4 = scratch + 3072
                for i in range(n):
                    x1_i = load_f32(x1, i)
                    value = x1_i - float32(1.0)
                    store_f32(t4, i, value)
                call_library(loops, POWER, n, (x0, 4, t4, 4, t4, 4))
                partial = scratch + 4096
                for i in range(n):
                    t4_i = load_f32(t4, i)
                    x1_i = load_f32(x1, i)
                    value = masked_multiply(x1_i, t4_i)
                    store_f32(partial, i, value)
                p0 = partial
            p1 = ABSENT
            if x1_dot != 0:
                t6 = scratch + 5120
                call_library(loops, LOG, n, (x0, 4, t6, 4))
                partial = scratch + 6144
                for i in range(n):
                    t6_i = load_f32(t6, i)
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    y_i = load_f32(y, i)
                    value = where((x0_i == float32(0.0)) & (x1_i >= float32(0.0)), float32(0.0), y_i * t6_i)
                    store_f32(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 7168, float32(0.0))
        elif x0_dot != 0 and x1_dot != 0:
            t4 = scratch + 3072
            for i in range(n):
                x1_i = load_f32(x1, i)
                value = x1_i - float32(1.0)
                store_f32(t4, i, value)
            call_library(loops, POWER, n, (x0, 4, t4, 4, t4, 4))
            t5 = scratch + 4096
            call_library(loops, LOG, n, (x0, 4, t5, 4))
            d0 = tangent_block(block, 0, x0_dot, scratch + 5120, float32(0.0))
            d1 = tangent_block(block, 1, x1_dot, scratch + 6144, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 7168, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                d1_i = load_f32(d1, i)
                t4_i = load_f32(t4, i)
                t5_i = load_f32(t5, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                y_i = load_f32(y, i)
                value = masked_multiply(masked_multiply(x1_i, t4_i), d0_i)
                term1 = (
                    masked_multiply(where((x0_i == float32(0.0)) & (x1_i >= float32(0.0)), float32(0.0),
                    y_i * t5_i), d1_i)
                )
                value += term1
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 7168, float32(0.0))
        elif x0_dot != 0:
            t4 = scratch + 3072
            for i in range(n):
                x1_i = load_f32(x1, i)
                value = x1_i - float32(1.0)
                store_f32(t4, i, value)
            call_library(loops, POWER, n, (x0, 4, t4, 4, t4, 4))
            d0 = tangent_block(block, 0, x0_dot, scratch + 4096, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 5120, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                t4_i = load_f32(t4, i)
                x1_i = load_f32(x1, i)
                value = masked_multiply(masked_multiply(x1_i, t4_i), d0_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 5120, float32(0.0))
        elif x1_dot != 0:
            t4 = scratch + 3072
            call_library(loops, LOG, n, (x0, 4, t4, 4))
            d1 = tangent_block(block, 1, x1_dot, scratch + 4096, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 5120, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                t4_i = load_f32(t4, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                y_i = load_f32(y, i)
                value = (
                    masked_multiply(where((x0_i == float32(0.0)) & (x1_i >= float32(0.0)), float32(0.0),
                    y_i * t4_i), d1_i)
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 5120, float32(0.0))
        start += n
    return 0


def exp_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (y) * x0_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(640)
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
                p0 = y
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 1024, float32(0.0))
        elif x0_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 1024, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 2048, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                y_i = load_f32(y, i)
                value = masked_multiply(y_i, d0_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 2048, float32(0.0))
        start += n
    return 0


def exp2_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (ln2 * y) * x0_dot."""
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
                    value = float32(0.6931471805599453) * y_i
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
                value = masked_multiply(float32(0.6931471805599453) * y_i, d0_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 2048, float32(0.0))
        start += n
    return 0


def expm1_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (exp(x0)) * x0_dot."""
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
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t2 = scratch + 1024
                call_library(loops, EXP, n, (x0, 4, t2, 4))
                p0 = t2
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 2048, float32(0.0))
        elif x0_dot != 0:
            t2 = scratch + 1024
            call_library(loops, EXP, n, (x0, 4, t2, 4))
            d0 = tangent_block(block, 0, x0_dot, scratch + 2048, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 3072, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                t2_i = load_f32(t2, i)
                value = masked_multiply(t2_i, d0_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 3072, float32(0.0))
        start += n
    return 0


def log_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (1 / x0) * x0_dot."""
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
                    value = float32(1.0) / x0_i
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
                value = masked_multiply(float32(1.0) / x0_i, d0_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 2048, float32(0.0))
        start += n
    return 0


def log2_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (log2e / x0) * x0_dot."""
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
                    value = float32(1.4426950408889634) / x0_i
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
                value = masked_multiply(float32(1.4426950408889634) / x0_i, d0_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 2048, float32(0.0))
        start += n
    return 0


def log10_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (log10e / x0) * x0_dot."""
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
                    value = float32(0.4342944819032518) / x0_i
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
                value = masked_multiply(float32(0.4342944819032518) / x0_i, d0_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 2048, float32(0.0))
        start += n
    return 0


def log1p_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (1 / (1 + x0)) * x0_dot."""
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
                    value = float32(1.0) / (float32(1.0) + x0_i)
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
                value = masked_multiply(float32(1.0) / (float32(1.0) + x0_i), d0_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 2048, float32(0.0))
        start += n
    return 0


def logaddexp_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (where((x0 == x1) & (absolute(x0) == inf), 0.5, 1 / (1 + exp(x1 - x0)))) * x0_dot +
    (where((x0 == x1) & (absolute(x0) == inf), 0.5, 1 / (1 + exp(x0 - x1)))) * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1280)
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
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t3 = scratch + 2048
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = x1_i - x0_i
                    store_f32(t3, i, value)
                call_library(loops, EXP, n, (t3, 4, t3, 4))
                partial = scratch + 3072
                for i in range(n):
                    t3_i = load_f32(t3, i)
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = (
                        where((x0_i == x1_i) & (absolute(x0_i) == float32(inf)), float32(0.5),
                        float32(1.0) / (float32(1.0) + t3_i))
                    )
                    store_f32(partial, i, value)
                p0 = partial
            p1 = ABSENT
            if x1_dot != 0:
                t5 = scratch + 4096
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = x0_i - x1_i
                    store_f32(t5, i, value)
                call_library(loops, EXP, n, (t5, 4, t5, 4))
                partial = scratch + 5120
                for i in range(n):
                    t5_i = load_f32(t5, i)
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = (
                        where((x0_i == x1_i) & (absolute(x0_i) == float32(inf)), float32(0.5),
                        float32(1.0) / (float32(1.0) + t5_i))
                    )
                    store_f32(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 6144, float32(0.0))
        elif x0_dot != 0 and x1_dot != 0:
            t3 = scratch + 2048
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = x1_i - x0_i
                store_f32(t3, i, value)
            call_library(loops, EXP, n, (t3, 4, t3, 4))
            t4 = scratch + 3072
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = x0_i - x1_i
                store_f32(t4, i, value)
            call_library(loops, EXP, n, (t4, 4, t4, 4))
            d0 = tangent_block(block, 0, x0_dot, scratch + 4096, float32(0.0))
            d1 = tangent_block(block, 1, x1_dot, scratch + 5120, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 6144, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                d1_i = load_f32(d1, i)
                t3_i = load_f32(t3, i)
                t4_i = load_f32(t4, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    masked_multiply(where((x0_i == x1_i) & (absolute(x0_i) == float32(inf)),
                    float32(0.5), float32(1.0) / (float32(1.0) + t3_i)), d0_i)
                )
                term1 = (
                    masked_multiply(where((x0_i == x1_i) & (absolute(x0_i) == float32(inf)),
                    float32(0.5), float32(1.0) / (float32(1.0) + t4_i)), d1_i)
                )
                value += term1
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, float32(0.0))
        elif x0_dot != 0:
            t3 = scratch + 2048
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = x1_i - x0_i
                store_f32(t3, i, value)
            call_library(loops, EXP, n, (t3, 4, t3, 4))
            d0 = tangent_block(block, 0, x0_dot, scratch + 3072, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 4096, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                t3_i = load_f32(t3, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    masked_multiply(where((x0_i == x1_i) & (absolute(x0_i) == float32(inf)),
                    float32(0.5), float32(1.0) / (float32(1.0) + t3_i)), d0_i)
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, float32(0.0))
        elif x1_dot != 0:
            t3 = scratch + 2048
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = x0_i - x1_i
                store_f32(t3, i, value)
            call_library(loops, EXP, n, (t3, 4, t3, 4))
            d1 = tangent_block(block, 1, x1_dot, scratch + 3072, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 4096, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                t3_i = load_f32(t3, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    masked_multiply(where((x0_i == x1_i) & (absolute(x0_i) == float32(inf)),
                    float32(0.5), float32(1.0) / (float32(1.0) + t3_i)), d1_i)
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, float32(0.0))
        start += n
    return 0


def logaddexp2_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (where((x0 == x1) & (absolute(x0) == inf), 0.5, 1 / (1 + exp2(x1 - x0)))) * x0_dot +
    (where((x0 == x1) & (absolute(x0) == inf), 0.5, 1 / (1 + exp2(x0 - x1)))) * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1280)
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
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t3 = scratch + 2048
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = x1_i - x0_i
                    store_f32(t3, i, value)
                call_library(loops, EXP2, n, (t3, 4, t3, 4))
                partial = scratch + 3072
                for i in range(n):
                    t3_i = load_f32(t3, i)
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = (
                        where((x0_i == x1_i) & (absolute(x0_i) == float32(inf)), float32(0.5),
                        float32(1.0) / (float32(1.0) + t3_i))
                    )
                    store_f32(partial, i, value)
                p0 = partial
            p1 = ABSENT
            if x1_dot != 0:
                t5 = scratch + 4096
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = x0_i - x1_i
                    store_f32(t5, i, value)
                call_library(loops, EXP2, n, (t5, 4, t5, 4))
                partial = scratch + 5120
                for i in range(n):
                    t5_i = load_f32(t5, i)
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = (
                        where((x0_i == x1_i) & (absolute(x0_i) == float32(inf)), float32(0.5),
                        float32(1.0) / (float32(1.0) + t5_i))
                    )
                    store_f32(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 6144, float32(0.0))
        elif x0_dot != 0 and x1_dot != 0:
            t3 = scratch + 2048
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = x1_i - x0_i
                store_f32(t3, i, value)
            call_library(loops, EXP2, n, (t3, 4, t3, 4))
            t4 = scratch + 3072
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = x0_i - x1_i
                store_f32(t4, i, value)
            call_library(loops, EXP2, n, (t4, 4, t4, 4))
            d0 = tangent_block(block, 0, x0_dot, scratch + 4096, float32(0.0))
            d1 = tangent_block(block, 1, x1_dot, scratch + 5120, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 6144, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                d1_i = load_f32(d1, i)
                t3_i = load_f32(t3, i)
                t4_i = load_f32(t4, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    masked_multiply(where((x0_i == x1_i) & (absolute(x0_i) == float32(inf)),
                    float32(0.5), float32(1.0) / (float32(1.0) + t3_i)), d0_i)
                )
                term1 = (
                    masked_multiply(where((x0_i == x1_i) & (absolute(x0_i) == float32(inf)),
                    float32(0.5), float32(1.0) / (float32(1.0) + t4_i)), d1_i)
                )
                value += term1
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, float32(0.0))
        elif x0_dot != 0:
            t3 = scratch + 2048
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = x1_i - x0_i
                store_f32(t3, i, value)
            call_library(loops, EXP2, n, (t3, 4, t3, 4))
            d0 = tangent_block(block, 0, x0_dot, scratch + 3072, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 4096, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                t3_i = load_f32(t3, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    masked_multiply(where((x0_i == x1_i) & (absolute(x0_i) == float32(inf)),
                    float32(0.5), float32(1.0) / (float32(1.0) + t3_i)), d0_i)
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, float32(0.0))
        elif x1_dot != 0:
            t3 = scratch + 2048
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = x0_i - x1_i
                store_f32(t3, i, value)
            call_library(loops, EXP2, n, (t3, 4, t3, 4))
            d1 = tangent_block(block, 1, x1_dot, scratch + 3072, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 4096, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                t3_i = load_f32(t3, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    masked_multiply(where((x0_i == x1_i) & (absolute(x0_i) == float32(inf)),
                    float32(0.5), float32(1.0) / (float32(1.0) + t3_i)), d1_i)
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, float32(0.0))
        start += n
    return 0


def sigmoid_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (y / (1 + exp(x0))) * x0_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1024)
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
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        y = operand_f32(block, 3, scratch + 1024)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t3 = scratch + 2048
                call_library(loops, EXP, n, (x0, 4, t3, 4))
                partial = scratch + 3072
                for i in range(n):
                    t3_i = load_f32(t3, i)
                    y_i = load_f32(y, i)
                    value = y_i / (float32(1.0) + t3_i)
                    store_f32(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 4096, float32(0.0))
        elif x0_dot != 0:
            t3 = scratch + 2048
            call_library(loops, EXP, n, (x0, 4, t3, 4))
            d0 = tangent_block(block, 0, x0_dot, scratch + 3072, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 4096, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                t3_i = load_f32(t3, i)
                y_i = load_f32(y, i)
                value = masked_multiply(y_i / (float32(1.0) + t3_i), d0_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, float32(0.0))
        start += n
    return 0


def softplus_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (1 / (1 + exp(-x0))) * x0_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(896)
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
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t2 = scratch + 1024
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    value = -x0_i
                    store_f32(t2, i, value)
                call_library(loops, EXP, n, (t2, 4, t2, 4))
                partial = scratch + 2048
                for i in range(n):
                    t2_i = load_f32(t2, i)
                    value = float32(1.0) / (float32(1.0) + t2_i)
                    store_f32(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 3072, float32(0.0))
        elif x0_dot != 0:
            t2 = scratch + 1024
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = -x0_i
                store_f32(t2, i, value)
            call_library(loops, EXP, n, (t2, 4, t2, 4))
            d0 = tangent_block(block, 0, x0_dot, scratch + 2048, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 3072, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                t2_i = load_f32(t2, i)
                value = masked_multiply(float32(1.0) / (float32(1.0) + t2_i), d0_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 3072, float32(0.0))
        start += n
    return 0
