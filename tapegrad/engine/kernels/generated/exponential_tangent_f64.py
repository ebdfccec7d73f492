"""Elementwise kernels in f64: exponential, tangent.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

from math import inf

from tapegrad.engine.kernels.arithmetic import absolute, masked_multiply, where
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

EXP = entry("exp", "d")
EXP2 = entry("exp2", "d")
LOG = entry("log", "d")
POWER = entry("power", "d")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "power_tangent_f64": ("log", "positive", "power"),
    "exp_tangent_f64": ("positive",),
    "exp2_tangent_f64": ("positive",),
    "expm1_tangent_f64": ("exp", "positive"),
    "log_tangent_f64": ("positive",),
    "log2_tangent_f64": ("positive",),
    "log10_tangent_f64": ("positive",),
    "log1p_tangent_f64": ("positive",),
    "logaddexp_tangent_f64": ("exp", "positive"),
    "logaddexp2_tangent_f64": ("exp2", "positive"),
    "sigmoid_tangent_f64": ("exp", "positive"),
    "softplus_tangent_f64": ("exp", "positive"),
}


def power_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (masked_multiply(x1, power(x0, x1 - 1))) * x0_dot + (where((x0 == 0) & (x1 >= 0), 0, y *
    log(x0))) * x1_dot."""
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
        y = operand_f64(block, 3, scratch + 4096)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t4 = scratch + 6144
                for i in range(n):
                    x1_i = load_f64(x1, i)
                    value = x1_i - 1.0
                    store_f64(t4, i, value)
                call_library(loops, POWER, n, (x0, 8, t4, 8, t4, 8))
                partial = scratch + 8192
                for i in range(n):
                    t4_i = load_f64(t4, i)
                    x1_i = load_f64(x1, i)
                    value = masked_multiply(x1_i, t4_i)
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            if x1_dot != 0:
                t6 = scratch + 10240
                call_library(loops, LOG, n, (x0, 8, t6, 8))
                partial = scratch + 12288
                for i in range(n):
                    t6_i = load_f64(t6, i)
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    y_i = load_f64(y, i)
                    value = where((x0_i == 0.0) & (x1_i >= 0.0), 0.0, y_i * t6_i)
                    store_f64(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 14336, 0.0)
        elif x0_dot != 0 and x1_dot != 0:
            t4 = scratch + 6144
            for i in range(n):
                x1_i = load_f64(x1, i)
                value = x1_i - 1.0
                store_f64(t4, i, value)
            call_library(loops, POWER, n, (x0, 8, t4, 8, t4, 8))
            t5 = scratch + 8192
            call_library(loops, LOG, n, (x0, 8, t5, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 10240, 0.0)
            d1 = tangent_block(block, 1, x1_dot, scratch + 12288, 0.0)
            target = tangent_target(block, y_dot, scratch + 14336, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                d1_i = load_f64(d1, i)
                t4_i = load_f64(t4, i)
                t5_i = load_f64(t5, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                y_i = load_f64(y, i)
                value = masked_multiply(masked_multiply(x1_i, t4_i), d0_i)
                term1 = masked_multiply(where((x0_i == 0.0) & (x1_i >= 0.0), 0.0, y_i * t5_i), d1_i)
                value += term1
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 14336, 0.0)
        elif x0_dot != 0:
            t4 = scratch + 6144
            for i in range(n):
                x1_i = load_f64(x1, i)
                value = x1_i - 1.0
                store_f64(t4, i, value)
            call_library(loops, POWER, n, (x0, 8, t4, 8, t4, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 8192, 0.0)
            target = tangent_target(block, y_dot, scratch + 10240, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t4_i = load_f64(t4, i)
                x1_i = load_f64(x1, i)
                value = masked_multiply(masked_multiply(x1_i, t4_i), d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 10240, 0.0)
        elif x1_dot != 0:
            t4 = scratch + 6144
            call_library(loops, LOG, n, (x0, 8, t4, 8))
            d1 = tangent_block(block, 1, x1_dot, scratch + 8192, 0.0)
            target = tangent_target(block, y_dot, scratch + 10240, 0.0)
            for i in range(n):
                d1_i = load_f64(d1, i)
                t4_i = load_f64(t4, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                y_i = load_f64(y, i)
                value = masked_multiply(where((x0_i == 0.0) & (x1_i >= 0.0), 0.0, y_i * t4_i), d1_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 10240, 0.0)
        start += n
    return 0


def exp_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (y) * x0_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1280)
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
                p0 = y
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 2048, 0.0)
        elif x0_dot != 0:
            d0 = tangent_block(block, 0, x0_dot, scratch + 2048, 0.0)
            target = tangent_target(block, y_dot, scratch + 4096, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                y_i = load_f64(y, i)
                value = masked_multiply(y_i, d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, 0.0)
        start += n
    return 0


def exp2_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (ln2 * y) * x0_dot."""
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
                    value = 0.6931471805599453 * y_i
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
                value = masked_multiply(0.6931471805599453 * y_i, d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, 0.0)
        start += n
    return 0


def expm1_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (exp(x0)) * x0_dot."""
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
                call_library(loops, EXP, n, (x0, 8, t2, 8))
                p0 = t2
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 4096, 0.0)
        elif x0_dot != 0:
            t2 = scratch + 2048
            call_library(loops, EXP, n, (x0, 8, t2, 8))
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


def log_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (1 / x0) * x0_dot."""
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
                    value = 1.0 / x0_i
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
                value = masked_multiply(1.0 / x0_i, d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, 0.0)
        start += n
    return 0


def log2_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (log2e / x0) * x0_dot."""
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
                    value = 1.4426950408889634 / x0_i
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
                value = masked_multiply(1.4426950408889634 / x0_i, d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, 0.0)
        start += n
    return 0


def log10_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (log10e / x0) * x0_dot."""
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
                    value = 0.4342944819032518 / x0_i
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
                value = masked_multiply(0.4342944819032518 / x0_i, d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, 0.0)
        start += n
    return 0


def log1p_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (1 / (1 + x0)) * x0_dot."""
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
                    value = 1.0 / (1.0 + x0_i)
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
                value = masked_multiply(1.0 / (1.0 + x0_i), d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, 0.0)
        start += n
    return 0


def logaddexp_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (where((x0 == x1) & (absolute(x0) == inf), 0.5, 1 / (1 + exp(x1 - x0)))) * x0_dot +
    (where((x0 == x1) & (absolute(x0) == inf), 0.5, 1 / (1 + exp(x0 - x1)))) * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(2560)
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
                    x1_i = load_f64(x1, i)
                    value = x1_i - x0_i
                    store_f64(t3, i, value)
                call_library(loops, EXP, n, (t3, 8, t3, 8))
                partial = scratch + 6144
                for i in range(n):
                    t3_i = load_f64(t3, i)
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = where((x0_i == x1_i) & (absolute(x0_i) == inf), 0.5, 1.0 / (1.0 + t3_i))
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            if x1_dot != 0:
                t5 = scratch + 8192
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = x0_i - x1_i
                    store_f64(t5, i, value)
                call_library(loops, EXP, n, (t5, 8, t5, 8))
                partial = scratch + 10240
                for i in range(n):
                    t5_i = load_f64(t5, i)
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = where((x0_i == x1_i) & (absolute(x0_i) == inf), 0.5, 1.0 / (1.0 + t5_i))
                    store_f64(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 12288, 0.0)
        elif x0_dot != 0 and x1_dot != 0:
            t3 = scratch + 4096
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x1_i - x0_i
                store_f64(t3, i, value)
            call_library(loops, EXP, n, (t3, 8, t3, 8))
            t4 = scratch + 6144
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x0_i - x1_i
                store_f64(t4, i, value)
            call_library(loops, EXP, n, (t4, 8, t4, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 8192, 0.0)
            d1 = tangent_block(block, 1, x1_dot, scratch + 10240, 0.0)
            target = tangent_target(block, y_dot, scratch + 12288, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                d1_i = load_f64(d1, i)
                t3_i = load_f64(t3, i)
                t4_i = load_f64(t4, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    masked_multiply(where((x0_i == x1_i) & (absolute(x0_i) == inf), 0.5, 1.0 / (1.0 +
                    t3_i)), d0_i)
                )
                term1 = (
                    masked_multiply(where((x0_i == x1_i) & (absolute(x0_i) == inf), 0.5, 1.0 / (1.0 +
                    t4_i)), d1_i)
                )
                value += term1
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 12288, 0.0)
        elif x0_dot != 0:
            t3 = scratch + 4096
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x1_i - x0_i
                store_f64(t3, i, value)
            call_library(loops, EXP, n, (t3, 8, t3, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 6144, 0.0)
            target = tangent_target(block, y_dot, scratch + 8192, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t3_i = load_f64(t3, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    masked_multiply(where((x0_i == x1_i) & (absolute(x0_i) == inf), 0.5, 1.0 / (1.0 +
                    t3_i)), d0_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 8192, 0.0)
        elif x1_dot != 0:
            t3 = scratch + 4096
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x0_i - x1_i
                store_f64(t3, i, value)
            call_library(loops, EXP, n, (t3, 8, t3, 8))
            d1 = tangent_block(block, 1, x1_dot, scratch + 6144, 0.0)
            target = tangent_target(block, y_dot, scratch + 8192, 0.0)
            for i in range(n):
                d1_i = load_f64(d1, i)
                t3_i = load_f64(t3, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    masked_multiply(where((x0_i == x1_i) & (absolute(x0_i) == inf), 0.5, 1.0 / (1.0 +
                    t3_i)), d1_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 8192, 0.0)
        start += n
    return 0


def logaddexp2_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (where((x0 == x1) & (absolute(x0) == inf), 0.5, 1 / (1 + exp2(x1 - x0)))) * x0_dot +
    (where((x0 == x1) & (absolute(x0) == inf), 0.5, 1 / (1 + exp2(x0 - x1)))) * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(2560)
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
                    x1_i = load_f64(x1, i)
                    value = x1_i - x0_i
                    store_f64(t3, i, value)
                call_library(loops, EXP2, n, (t3, 8, t3, 8))
                partial = scratch + 6144
                for i in range(n):
                    t3_i = load_f64(t3, i)
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = where((x0_i == x1_i) & (absolute(x0_i) == inf), 0.5, 1.0 / (1.0 + t3_i))
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            if x1_dot != 0:
                t5 = scratch + 8192
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = x0_i - x1_i
                    store_f64(t5, i, value)
                call_library(loops, EXP2, n, (t5, 8, t5, 8))
                partial = scratch + 10240
                for i in range(n):
                    t5_i = load_f64(t5, i)
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = where((x0_i == x1_i) & (absolute(x0_i) == inf), 0.5, 1.0 / (1.0 + t5_i))
                    store_f64(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 12288, 0.0)
        elif x0_dot != 0 and x1_dot != 0:
            t3 = scratch + 4096
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x1_i - x0_i
                store_f64(t3, i, value)
            call_library(loops, EXP2, n, (t3, 8, t3, 8))
            t4 = scratch + 6144
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x0_i - x1_i
                store_f64(t4, i, value)
            call_library(loops, EXP2, n, (t4, 8, t4, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 8192, 0.0)
            d1 = tangent_block(block, 1, x1_dot, scratch + 10240, 0.0)
            target = tangent_target(block, y_dot, scratch + 12288, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                d1_i = load_f64(d1, i)
                t3_i = load_f64(t3, i)
                t4_i = load_f64(t4, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    masked_multiply(where((x0_i == x1_i) & (absolute(x0_i) == inf), 0.5, 1.0 / (1.0 +
                    t3_i)), d0_i)
                )
                term1 = (
                    masked_multiply(where((x0_i == x1_i) & (absolute(x0_i) == inf), 0.5, 1.0 / (1.0 +
                    t4_i)), d1_i)
                )
                value += term1
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 12288, 0.0)
        elif x0_dot != 0:
            t3 = scratch + 4096
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x1_i - x0_i
                store_f64(t3, i, value)
            call_library(loops, EXP2, n, (t3, 8, t3, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 6144, 0.0)
            target = tangent_target(block, y_dot, scratch + 8192, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t3_i = load_f64(t3, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    masked_multiply(where((x0_i == x1_i) & (absolute(x0_i) == inf), 0.5, 1.0 / (1.0 +
                    t3_i)), d0_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 8192, 0.0)
        elif x1_dot != 0:
            t3 = scratch + 4096
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x0_i - x1_i
                store_f64(t3, i, value)
            call_library(loops, EXP2, n, (t3, 8, t3, 8))
            d1 = tangent_block(block, 1, x1_dot, scratch + 6144, 0.0)
            target = tangent_target(block, y_dot, scratch + 8192, 0.0)
            for i in range(n):
                d1_i = load_f64(d1, i)
                t3_i = load_f64(t3, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    masked_multiply(where((x0_i == x1_i) & (absolute(x0_i) == inf), 0.5, 1.0 / (1.0 +
                    t3_i)), d1_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 8192, 0.0)
        start += n
    return 0


def sigmoid_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (y / (1 + exp(x0))) * x0_dot."""
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
                call_library(loops, EXP, n, (x0, 8, t3, 8))
                partial = scratch + 6144
                for i in range(n):
                    t3_i = load_f64(t3, i)
                    y_i = load_f64(y, i)
                    value = y_i / (1.0 + t3_i)
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 8192, 0.0)
        elif x0_dot != 0:
            t3 = scratch + 4096
            call_library(loops, EXP, n, (x0, 8, t3, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 6144, 0.0)
            target = tangent_target(block, y_dot, scratch + 8192, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t3_i = load_f64(t3, i)
                y_i = load_f64(y, i)
                value = masked_multiply(y_i / (1.0 + t3_i), d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 8192, 0.0)
        start += n
    return 0


def softplus_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (1 / (1 + exp(-x0))) * x0_dot."""
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
                    value = -x0_i
                    store_f64(t2, i, value)
                call_library(loops, EXP, n, (t2, 8, t2, 8))
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
            for i in range(n):
                x0_i = load_f64(x0, i)
                value = -x0_i
                store_f64(t2, i, value)
            call_library(loops, EXP, n, (t2, 8, t2, 8))
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
