"""Elementwise kernels in f64: entropy, tangent.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

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
LOG = entry("log", "d")
LOG1P = entry("log1p", "d")
SIN = entry("sin", "d")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "xlogy_tangent_f64": ("log", "positive"),
    "xlog1py_tangent_f64": ("log1p", "positive"),
    "entr_tangent_f64": ("log", "positive"),
    "rel_entr_tangent_f64": ("log", "log1p", "positive"),
    "kl_div_tangent_f64": ("log", "log1p", "positive"),
    "exprel_tangent_f64": ("exp", "positive"),
    "cosm1_tangent_f64": ("positive", "sin"),
}


def xlogy_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (log(x1)) * x0_dot + (where(x0 == 0, 0, x0 / x1)) * x1_dot."""
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
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        x1 = operand_f64(block, 1, scratch + 2048)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t3 = scratch + 4096
                call_library(loops, LOG, n, (x1, 8, t3, 8))
                p0 = t3
            p1 = ABSENT
            if x1_dot != 0:
                partial = scratch + 6144
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = where(x0_i == 0.0, 0.0, x0_i / x1_i)
                    store_f64(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 8192, 0.0)
        elif x0_dot != 0 and x1_dot != 0:
            t3 = scratch + 4096
            call_library(loops, LOG, n, (x1, 8, t3, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 6144, 0.0)
            d1 = tangent_block(block, 1, x1_dot, scratch + 8192, 0.0)
            target = tangent_target(block, y_dot, scratch + 10240, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                d1_i = load_f64(d1, i)
                t3_i = load_f64(t3, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = masked_multiply(t3_i, d0_i)
                term1 = masked_multiply(where(x0_i == 0.0, 0.0, x0_i / x1_i), d1_i)
                value += term1
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 10240, 0.0)
        elif x0_dot != 0:
            t3 = scratch + 4096
            call_library(loops, LOG, n, (x1, 8, t3, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 6144, 0.0)
            target = tangent_target(block, y_dot, scratch + 8192, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t3_i = load_f64(t3, i)
                value = masked_multiply(t3_i, d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 8192, 0.0)
        elif x1_dot != 0:
            d1 = tangent_block(block, 1, x1_dot, scratch + 4096, 0.0)
            target = tangent_target(block, y_dot, scratch + 6144, 0.0)
            for i in range(n):
                d1_i = load_f64(d1, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = masked_multiply(where(x0_i == 0.0, 0.0, x0_i / x1_i), d1_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, 0.0)
        start += n
    return 0


def xlog1py_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (log1p(x1)) * x0_dot + (where(x0 == 0, 0, x0 / (1 + x1))) * x1_dot."""
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
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f64(block, 0, scratch + 0)
        x1 = operand_f64(block, 1, scratch + 2048)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t3 = scratch + 4096
                call_library(loops, LOG1P, n, (x1, 8, t3, 8))
                p0 = t3
            p1 = ABSENT
            if x1_dot != 0:
                partial = scratch + 6144
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = where(x0_i == 0.0, 0.0, x0_i / (1.0 + x1_i))
                    store_f64(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 8192, 0.0)
        elif x0_dot != 0 and x1_dot != 0:
            t3 = scratch + 4096
            call_library(loops, LOG1P, n, (x1, 8, t3, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 6144, 0.0)
            d1 = tangent_block(block, 1, x1_dot, scratch + 8192, 0.0)
            target = tangent_target(block, y_dot, scratch + 10240, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                d1_i = load_f64(d1, i)
                t3_i = load_f64(t3, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = masked_multiply(t3_i, d0_i)
                term1 = masked_multiply(where(x0_i == 0.0, 0.0, x0_i / (1.0 + x1_i)), d1_i)
                value += term1
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 10240, 0.0)
        elif x0_dot != 0:
            t3 = scratch + 4096
            call_library(loops, LOG1P, n, (x1, 8, t3, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 6144, 0.0)
            target = tangent_target(block, y_dot, scratch + 8192, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t3_i = load_f64(t3, i)
                value = masked_multiply(t3_i, d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 8192, 0.0)
        elif x1_dot != 0:
            d1 = tangent_block(block, 1, x1_dot, scratch + 4096, 0.0)
            target = tangent_target(block, y_dot, scratch + 6144, 0.0)
            for i in range(n):
                d1_i = load_f64(d1, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = masked_multiply(where(x0_i == 0.0, 0.0, x0_i / (1.0 + x1_i)), d1_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, 0.0)
        start += n
    return 0


def entr_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (where(x0 < 0, 0, -1 - log(x0))) * x0_dot."""
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
                call_library(loops, LOG, n, (x0, 8, t2, 8))
                partial = scratch + 4096
                for i in range(n):
                    t2_i = load_f64(t2, i)
                    x0_i = load_f64(x0, i)
                    value = where(x0_i < 0.0, 0.0, -1.0 - t2_i)
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 6144, 0.0)
        elif x0_dot != 0:
            t2 = scratch + 2048
            call_library(loops, LOG, n, (x0, 8, t2, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 4096, 0.0)
            target = tangent_target(block, y_dot, scratch + 6144, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t2_i = load_f64(t2, i)
                x0_i = load_f64(x0, i)
                value = masked_multiply(where(x0_i < 0.0, 0.0, -1.0 - t2_i), d0_i)
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, 0.0)
        start += n
    return 0


def rel_entr_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (where((x0 < 0) | (x1 < 0), 0, 1 + where(absolute(x0 - x1) < 0.5 * x1, log1p((x0 - x1) / x1),
    log(x0 / x1)))) * x0_dot + (where((x0 < 0) | (x1 < 0) | (x0 == 0), 0, -x0 / x1)) * x1_dot."""
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
                    value = (x0_i - x1_i) / x1_i
                    store_f64(t3, i, value)
                call_library(loops, LOG1P, n, (t3, 8, t3, 8))
                t4 = scratch + 6144
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = x0_i / x1_i
                    store_f64(t4, i, value)
                call_library(loops, LOG, n, (t4, 8, t4, 8))
                partial = scratch + 8192
                for i in range(n):
                    t3_i = load_f64(t3, i)
                    t4_i = load_f64(t4, i)
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = (
                        where((x0_i < 0.0) | (x1_i < 0.0), 0.0, 1.0 + where(absolute(x0_i - x1_i) < (0.5
                        * x1_i), t3_i, t4_i))
                    )
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            if x1_dot != 0:
                partial = scratch + 10240
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = where(((x0_i < 0.0) | (x1_i < 0.0)) | (x0_i == 0.0), 0.0, -x0_i / x1_i)
                    store_f64(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 12288, 0.0)
        elif x0_dot != 0 and x1_dot != 0:
            t3 = scratch + 4096
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (x0_i - x1_i) / x1_i
                store_f64(t3, i, value)
            call_library(loops, LOG1P, n, (t3, 8, t3, 8))
            t4 = scratch + 6144
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x0_i / x1_i
                store_f64(t4, i, value)
            call_library(loops, LOG, n, (t4, 8, t4, 8))
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
                    masked_multiply(where((x0_i < 0.0) | (x1_i < 0.0), 0.0, 1.0 + where(absolute(x0_i -
                    x1_i) < (0.5 * x1_i), t3_i, t4_i)), d0_i)
                )
                term1 = (
                    masked_multiply(where(((x0_i < 0.0) | (x1_i < 0.0)) | (x0_i == 0.0), 0.0, -x0_i /
                    x1_i), d1_i)
                )
                value += term1
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 12288, 0.0)
        elif x0_dot != 0:
            t3 = scratch + 4096
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (x0_i - x1_i) / x1_i
                store_f64(t3, i, value)
            call_library(loops, LOG1P, n, (t3, 8, t3, 8))
            t4 = scratch + 6144
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x0_i / x1_i
                store_f64(t4, i, value)
            call_library(loops, LOG, n, (t4, 8, t4, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 8192, 0.0)
            target = tangent_target(block, y_dot, scratch + 10240, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t3_i = load_f64(t3, i)
                t4_i = load_f64(t4, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    masked_multiply(where((x0_i < 0.0) | (x1_i < 0.0), 0.0, 1.0 + where(absolute(x0_i -
                    x1_i) < (0.5 * x1_i), t3_i, t4_i)), d0_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 10240, 0.0)
        elif x1_dot != 0:
            d1 = tangent_block(block, 1, x1_dot, scratch + 4096, 0.0)
            target = tangent_target(block, y_dot, scratch + 6144, 0.0)
            for i in range(n):
                d1_i = load_f64(d1, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    masked_multiply(where(((x0_i < 0.0) | (x1_i < 0.0)) | (x0_i == 0.0), 0.0, -x0_i /
                    x1_i), d1_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, 0.0)
        start += n
    return 0


def kl_div_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (where((x0 < 0) | (x1 < 0), 0, where(absolute(x0 - x1) < 0.5 * x1, log1p((x0 - x1) / x1),
    log(x0 / x1)))) * x0_dot + (where((x0 < 0) | (x1 < 0), 0, where(x0 == 0, 1, (x1 - x0) / x1))) *
    x1_dot."""
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
                    value = (x0_i - x1_i) / x1_i
                    store_f64(t3, i, value)
                call_library(loops, LOG1P, n, (t3, 8, t3, 8))
                t4 = scratch + 6144
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = x0_i / x1_i
                    store_f64(t4, i, value)
                call_library(loops, LOG, n, (t4, 8, t4, 8))
                partial = scratch + 8192
                for i in range(n):
                    t3_i = load_f64(t3, i)
                    t4_i = load_f64(t4, i)
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = (
                        where((x0_i < 0.0) | (x1_i < 0.0), 0.0, where(absolute(x0_i - x1_i) < (0.5 *
                        x1_i), t3_i, t4_i))
                    )
                    store_f64(partial, i, value)
                p0 = partial
            p1 = ABSENT
            if x1_dot != 0:
                partial = scratch + 10240
                for i in range(n):
                    x0_i = load_f64(x0, i)
                    x1_i = load_f64(x1, i)
                    value = (
                        where((x0_i < 0.0) | (x1_i < 0.0), 0.0, where(x0_i == 0.0, 1.0, (x1_i - x0_i) /
                        x1_i))
                    )
                    store_f64(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 12288, 0.0)
        elif x0_dot != 0 and x1_dot != 0:
            t3 = scratch + 4096
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (x0_i - x1_i) / x1_i
                store_f64(t3, i, value)
            call_library(loops, LOG1P, n, (t3, 8, t3, 8))
            t4 = scratch + 6144
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x0_i / x1_i
                store_f64(t4, i, value)
            call_library(loops, LOG, n, (t4, 8, t4, 8))
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
                    masked_multiply(where((x0_i < 0.0) | (x1_i < 0.0), 0.0, where(absolute(x0_i - x1_i)
                    < (0.5 * x1_i), t3_i, t4_i)), d0_i)
                )
                term1 = (
                    masked_multiply(where((x0_i < 0.0) | (x1_i < 0.0), 0.0, where(x0_i == 0.0, 1.0,
                    (x1_i - x0_i) / x1_i)), d1_i)
                )
                value += term1
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 12288, 0.0)
        elif x0_dot != 0:
            t3 = scratch + 4096
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (x0_i - x1_i) / x1_i
                store_f64(t3, i, value)
            call_library(loops, LOG1P, n, (t3, 8, t3, 8))
            t4 = scratch + 6144
            for i in range(n):
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = x0_i / x1_i
                store_f64(t4, i, value)
            call_library(loops, LOG, n, (t4, 8, t4, 8))
            d0 = tangent_block(block, 0, x0_dot, scratch + 8192, 0.0)
            target = tangent_target(block, y_dot, scratch + 10240, 0.0)
            for i in range(n):
                d0_i = load_f64(d0, i)
                t3_i = load_f64(t3, i)
                t4_i = load_f64(t4, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    masked_multiply(where((x0_i < 0.0) | (x1_i < 0.0), 0.0, where(absolute(x0_i - x1_i)
                    < (0.5 * x1_i), t3_i, t4_i)), d0_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 10240, 0.0)
        elif x1_dot != 0:
            d1 = tangent_block(block, 1, x1_dot, scratch + 4096, 0.0)
            target = tangent_target(block, y_dot, scratch + 6144, 0.0)
            for i in range(n):
                d1_i = load_f64(d1, i)
                x0_i = load_f64(x0, i)
                x1_i = load_f64(x1, i)
                value = (
                    masked_multiply(where((x0_i < 0.0) | (x1_i < 0.0), 0.0, where(x0_i == 0.0, 1.0,
                    (x1_i - x0_i) / x1_i)), d1_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, 0.0)
        start += n
    return 0


def exprel_tangent_f64(frame: int, loops: int) -> int:
    """y_dot = (where(absolute(x0) < 0.5, 1 / 2 + x0 * (1 / 3 + x0 * (1 / 8 + x0 * (1 / 30 + x0 * (1 / 144 +
    x0 * (1 / 840 + x0 * (1 / 5760 + x0 * (1 / 45360 + x0 * (1 / 403200 + x0 * (1 / 3991680 + x0 * (1 /
    43545600 + x0 * (1 / 518918400 + x0 * (1 / 6706022400 + x0 * (1 / 93405312000))))))))))))), where(x0 >
    1, y * (1 - 1 / x0) + 1 / x0, (exp(x0) - y) / x0))) * x0_dot."""
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
                    x0_i = load_f64(x0, i)
                    y_i = load_f64(y, i)
                    value = (
                        where(absolute(x0_i) < 0.5, (1.0 / 2.0) + (x0_i * ((1.0 / 3.0) + (x0_i * ((1.0 /
                        8.0) + (x0_i * ((1.0 / 30.0) + (x0_i * ((1.0 / 144.0) + (x0_i * ((1.0 / 840.0) +
                        (x0_i * ((1.0 / 5760.0) + (x0_i * ((1.0 / 45360.0) + (x0_i * ((1.0 / 403200.0) +
                        (x0_i * ((1.0 / 3991680.0) + (x0_i * ((1.0 / 43545600.0) + (x0_i * ((1.0 /
                        518918400.0) + (x0_i * ((1.0 / 6706022400.0) + (x0_i * (1.0 /
                        93405312000.0)))))))))))))))))))))))))), where(x0_i > 1.0, (y_i * (1.0 - (1.0 /
                        x0_i))) + (1.0 / x0_i), (t3_i - y_i) / x0_i))
                    )
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
                x0_i = load_f64(x0, i)
                y_i = load_f64(y, i)
                value = (
                    masked_multiply(where(absolute(x0_i) < 0.5, (1.0 / 2.0) + (x0_i * ((1.0 / 3.0) +
                    (x0_i * ((1.0 / 8.0) + (x0_i * ((1.0 / 30.0) + (x0_i * ((1.0 / 144.0) + (x0_i *
                    ((1.0 / 840.0) + (x0_i * ((1.0 / 5760.0) + (x0_i * ((1.0 / 45360.0) + (x0_i * ((1.0
                    / 403200.0) + (x0_i * ((1.0 / 3991680.0) + (x0_i * ((1.0 / 43545600.0) + (x0_i *
                    ((1.0 / 518918400.0) + (x0_i * ((1.0 / 6706022400.0) + (x0_i * (1.0 /
                    93405312000.0)))))))))))))))))))))))))), where(x0_i > 1.0, (y_i * (1.0 - (1.0 /
                    x0_i))) + (1.0 / x0_i), (t3_i - y_i) / x0_i)), d0_i)
                )
                store_f64(target, i, value)
            tangent_finish(block, y_dot, scratch + 8192, 0.0)
        start += n
    return 0


def cosm1_tangent_f64(frame: int, loops: int) -> int:
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
