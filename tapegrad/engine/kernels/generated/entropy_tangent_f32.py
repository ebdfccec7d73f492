"""Elementwise kernels in f32: entropy, tangent.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

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
LOG = entry("log", "f")
LOG1P = entry("log1p", "f")
SIN = entry("sin", "f")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "xlogy_tangent_f32": ("log", "positive"),
    "xlog1py_tangent_f32": ("log1p", "positive"),
    "entr_tangent_f32": ("log", "positive"),
    "rel_entr_tangent_f32": ("log", "log1p", "positive"),
    "kl_div_tangent_f32": ("log", "log1p", "positive"),
    "exprel_tangent_f32": ("exp", "positive"),
    "cosm1_tangent_f32": ("positive", "sin"),
}


def xlogy_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (log(x1)) * x0_dot + (where(x0 == 0, 0, x0 / x1)) * x1_dot."""
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
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t3 = scratch + 2048
                call_library(loops, LOG, n, (x1, 4, t3, 4))
                p0 = t3
            p1 = ABSENT
            if x1_dot != 0:
                partial = scratch + 3072
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = where(x0_i == float32(0.0), float32(0.0), x0_i / x1_i)
                    store_f32(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 4096, float32(0.0))
        elif x0_dot != 0 and x1_dot != 0:
            t3 = scratch + 2048
            call_library(loops, LOG, n, (x1, 4, t3, 4))
            d0 = tangent_block(block, 0, x0_dot, scratch + 3072, float32(0.0))
            d1 = tangent_block(block, 1, x1_dot, scratch + 4096, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 5120, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                d1_i = load_f32(d1, i)
                t3_i = load_f32(t3, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = masked_multiply(t3_i, d0_i)
                term1 = masked_multiply(where(x0_i == float32(0.0), float32(0.0), x0_i / x1_i), d1_i)
                value += term1
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 5120, float32(0.0))
        elif x0_dot != 0:
            t3 = scratch + 2048
            call_library(loops, LOG, n, (x1, 4, t3, 4))
            d0 = tangent_block(block, 0, x0_dot, scratch + 3072, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 4096, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                t3_i = load_f32(t3, i)
                value = masked_multiply(t3_i, d0_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, float32(0.0))
        elif x1_dot != 0:
            d1 = tangent_block(block, 1, x1_dot, scratch + 2048, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 3072, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = masked_multiply(where(x0_i == float32(0.0), float32(0.0), x0_i / x1_i), d1_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 3072, float32(0.0))
        start += n
    return 0


def xlog1py_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (log1p(x1)) * x0_dot + (where(x0 == 0, 0, x0 / (1 + x1))) * x1_dot."""
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
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        x1 = operand_f32(block, 1, scratch + 1024)
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t3 = scratch + 2048
                call_library(loops, LOG1P, n, (x1, 4, t3, 4))
                p0 = t3
            p1 = ABSENT
            if x1_dot != 0:
                partial = scratch + 3072
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = where(x0_i == float32(0.0), float32(0.0), x0_i / (float32(1.0) + x1_i))
                    store_f32(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 4096, float32(0.0))
        elif x0_dot != 0 and x1_dot != 0:
            t3 = scratch + 2048
            call_library(loops, LOG1P, n, (x1, 4, t3, 4))
            d0 = tangent_block(block, 0, x0_dot, scratch + 3072, float32(0.0))
            d1 = tangent_block(block, 1, x1_dot, scratch + 4096, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 5120, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                d1_i = load_f32(d1, i)
                t3_i = load_f32(t3, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = masked_multiply(t3_i, d0_i)
                term1 = (
                    masked_multiply(where(x0_i == float32(0.0), float32(0.0), x0_i / (float32(1.0) +
                    x1_i)), d1_i)
                )
                value += term1
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 5120, float32(0.0))
        elif x0_dot != 0:
            t3 = scratch + 2048
            call_library(loops, LOG1P, n, (x1, 4, t3, 4))
            d0 = tangent_block(block, 0, x0_dot, scratch + 3072, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 4096, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                t3_i = load_f32(t3, i)
                value = masked_multiply(t3_i, d0_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, float32(0.0))
        elif x1_dot != 0:
            d1 = tangent_block(block, 1, x1_dot, scratch + 2048, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 3072, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    masked_multiply(where(x0_i == float32(0.0), float32(0.0), x0_i / (float32(1.0) +
                    x1_i)), d1_i)
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 3072, float32(0.0))
        start += n
    return 0


def entr_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (where(x0 < 0, 0, -1 - log(x0))) * x0_dot."""
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
                call_library(loops, LOG, n, (x0, 4, t2, 4))
                partial = scratch + 2048
                for i in range(n):
                    t2_i = load_f32(t2, i)
                    x0_i = load_f32(x0, i)
                    value = where(x0_i < float32(0.0), float32(0.0), -float32(1.0) - t2_i)
                    store_f32(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 3072, float32(0.0))
        elif x0_dot != 0:
            t2 = scratch + 1024
            call_library(loops, LOG, n, (x0, 4, t2, 4))
            d0 = tangent_block(block, 0, x0_dot, scratch + 2048, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 3072, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                t2_i = load_f32(t2, i)
                x0_i = load_f32(x0, i)
                value = (
                    masked_multiply(where(x0_i < float32(0.0), float32(0.0), -float32(1.0) - t2_i),
                    d0_i)
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 3072, float32(0.0))
        start += n
    return 0


def rel_entr_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (where((x0 < 0) | (x1 < 0), 0, 1 + where(absolute(x0 - x1) < 0.5 * x1, log1p((x0 - x1) / x1),
    log(x0 / x1)))) * x0_dot + (where((x0 < 0) | (x1 < 0) | (x0 == 0), 0, -x0 / x1)) * x1_dot."""
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
                    value = (x0_i - x1_i) / x1_i
                    store_f32(t3, i, value)
                call_library(loops, LOG1P, n, (t3, 4, t3, 4))
                t4 = scratch + 3072
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = x0_i / x1_i
                    store_f32(t4, i, value)
                call_library(loops, LOG, n, (t4, 4, t4, 4))
                partial = scratch + 4096
                for i in range(n):
                    t3_i = load_f32(t3, i)
                    t4_i = load_f32(t4, i)
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = (
                        where((x0_i < float32(0.0)) | (x1_i < float32(0.0)), float32(0.0), float32(1.0)
                        + where(absolute(x0_i - x1_i) < (float32(0.5) * x1_i), t3_i, t4_i))
                    )
                    store_f32(partial, i, value)
                p0 = partial
            p1 = ABSENT
            if x1_dot != 0:
                partial = scratch + 5120
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = (
                        where(((x0_i < float32(0.0)) | (x1_i < float32(0.0))) | (x0_i == float32(0.0)),
                        float32(0.0), -x0_i / x1_i)
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
                value = (x0_i - x1_i) / x1_i
                store_f32(t3, i, value)
            call_library(loops, LOG1P, n, (t3, 4, t3, 4))
            t4 = scratch + 3072
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = x0_i / x1_i
                store_f32(t4, i, value)
            call_library(loops, LOG, n, (t4, 4, t4, 4))
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
                    masked_multiply(where((x0_i < float32(0.0)) | (x1_i < float32(0.0)), float32(0.0),
                    float32(1.0) + where(absolute(x0_i - x1_i) < (float32(0.5) * x1_i), t3_i, t4_i)),
                    d0_i)
                )
                term1 = (
                    masked_multiply(where(((x0_i < float32(0.0)) | (x1_i < float32(0.0))) | (x0_i ==
                    float32(0.0)), float32(0.0), -x0_i / x1_i), d1_i)
                )
                value += term1
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, float32(0.0))
        elif x0_dot != 0:
            t3 = scratch + 2048
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (x0_i - x1_i) / x1_i
                store_f32(t3, i, value)
            call_library(loops, LOG1P, n, (t3, 4, t3, 4))
            t4 = scratch + 3072
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = x0_i / x1_i
                store_f32(t4, i, value)
            call_library(loops, LOG, n, (t4, 4, t4, 4))
            d0 = tangent_block(block, 0, x0_dot, scratch + 4096, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 5120, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                t3_i = load_f32(t3, i)
                t4_i = load_f32(t4, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    masked_multiply(where((x0_i < float32(0.0)) | (x1_i < float32(0.0)), float32(0.0),
                    float32(1.0) + where(absolute(x0_i - x1_i) < (float32(0.5) * x1_i), t3_i, t4_i)),
                    d0_i)
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 5120, float32(0.0))
        elif x1_dot != 0:
            d1 = tangent_block(block, 1, x1_dot, scratch + 2048, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 3072, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    masked_multiply(where(((x0_i < float32(0.0)) | (x1_i < float32(0.0))) | (x0_i ==
                    float32(0.0)), float32(0.0), -x0_i / x1_i), d1_i)
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 3072, float32(0.0))
        start += n
    return 0


def kl_div_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (where((x0 < 0) | (x1 < 0), 0, where(absolute(x0 - x1) < 0.5 * x1, log1p((x0 - x1) / x1),
    log(x0 / x1)))) * x0_dot + (where((x0 < 0) | (x1 < 0), 0, where(x0 == 0, 1, (x1 - x0) / x1))) *
    x1_dot."""
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
                    value = (x0_i - x1_i) / x1_i
                    store_f32(t3, i, value)
                call_library(loops, LOG1P, n, (t3, 4, t3, 4))
                t4 = scratch + 3072
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = x0_i / x1_i
                    store_f32(t4, i, value)
                call_library(loops, LOG, n, (t4, 4, t4, 4))
                partial = scratch + 4096
                for i in range(n):
                    t3_i = load_f32(t3, i)
                    t4_i = load_f32(t4, i)
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = (
                        where((x0_i < float32(0.0)) | (x1_i < float32(0.0)), float32(0.0),
                        where(absolute(x0_i - x1_i) < (float32(0.5) * x1_i), t3_i, t4_i))
                    )
                    store_f32(partial, i, value)
                p0 = partial
            p1 = ABSENT
            if x1_dot != 0:
                partial = scratch + 5120
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = (
                        where((x0_i < float32(0.0)) | (x1_i < float32(0.0)), float32(0.0), where(x0_i ==
                        float32(0.0), float32(1.0), (x1_i - x0_i) / x1_i))
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
                value = (x0_i - x1_i) / x1_i
                store_f32(t3, i, value)
            call_library(loops, LOG1P, n, (t3, 4, t3, 4))
            t4 = scratch + 3072
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = x0_i / x1_i
                store_f32(t4, i, value)
            call_library(loops, LOG, n, (t4, 4, t4, 4))
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
                    masked_multiply(where((x0_i < float32(0.0)) | (x1_i < float32(0.0)), float32(0.0),
                    where(absolute(x0_i - x1_i) < (float32(0.5) * x1_i), t3_i, t4_i)), d0_i)
                )
                term1 = (
                    masked_multiply(where((x0_i < float32(0.0)) | (x1_i < float32(0.0)), float32(0.0),
                    where(x0_i == float32(0.0), float32(1.0), (x1_i - x0_i) / x1_i)), d1_i)
                )
                value += term1
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, float32(0.0))
        elif x0_dot != 0:
            t3 = scratch + 2048
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (x0_i - x1_i) / x1_i
                store_f32(t3, i, value)
            call_library(loops, LOG1P, n, (t3, 4, t3, 4))
            t4 = scratch + 3072
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = x0_i / x1_i
                store_f32(t4, i, value)
            call_library(loops, LOG, n, (t4, 4, t4, 4))
            d0 = tangent_block(block, 0, x0_dot, scratch + 4096, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 5120, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                t3_i = load_f32(t3, i)
                t4_i = load_f32(t4, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    masked_multiply(where((x0_i < float32(0.0)) | (x1_i < float32(0.0)), float32(0.0),
                    where(absolute(x0_i - x1_i) < (float32(0.5) * x1_i), t3_i, t4_i)), d0_i)
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 5120, float32(0.0))
        elif x1_dot != 0:
            d1 = tangent_block(block, 1, x1_dot, scratch + 2048, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 3072, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    masked_multiply(where((x0_i < float32(0.0)) | (x1_i < float32(0.0)), float32(0.0),
                    where(x0_i == float32(0.0), float32(1.0), (x1_i - x0_i) / x1_i)), d1_i)
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 3072, float32(0.0))
        start += n
    return 0


def exprel_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (where(absolute(x0) < 0.5, 1 / 2 + x0 * (1 / 3 + x0 * (1 / 8 + x0 * (1 / 30 + x0 * (1 / 144 +
    x0 * (1 / 840 + x0 * (1 / 5760 + x0 * (1 / 45360 + x0 * (1 / 403200 + x0 * (1 / 3991680 + x0 * (1 /
    43545600 + x0 * (1 / 518918400 + x0 * (1 / 6706022400 + x0 * (1 / 93405312000))))))))))))), where(x0 >
    1, y * (1 - 1 / x0) + 1 / x0, (exp(x0) - y) / x0))) * x0_dot."""
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
                    x0_i = load_f32(x0, i)
                    y_i = load_f32(y, i)
                    value = (
                        where(absolute(x0_i) < float32(0.5), (float32(1.0) / float32(2.0)) + (x0_i *
                        ((float32(1.0) / float32(3.0)) + (x0_i * ((float32(1.0) / float32(8.0)) + (x0_i
                        * ((float32(1.0) / float32(30.0)) + (x0_i * ((float32(1.0) / float32(144.0)) +
                        (x0_i * ((float32(1.0) / float32(840.0)) + (x0_i * ((float32(1.0) /
                        float32(5760.0)) + (x0_i * ((float32(1.0) / float32(45360.0)) + (x0_i *
                        ((float32(1.0) / float32(403200.0)) + (x0_i * ((float32(1.0) /
                        float32(3991680.0)) + (x0_i * ((float32(1.0) / float32(43545600.0)) + (x0_i *
                        ((float32(1.0) / float32(518918400.0)) + (x0_i * ((float32(1.0) /
                        float32(6706022400.0)) + (x0_i * (float32(1.0) /
                        float32(93405312000.0))))))))))))))))))))))))))), where(x0_i > float32(1.0),
                        (y_i * (float32(1.0) - (float32(1.0) / x0_i))) + (float32(1.0) / x0_i), (t3_i -
                        y_i) / x0_i))
                    )
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
                x0_i = load_f32(x0, i)
                y_i = load_f32(y, i)
                value = (
                    masked_multiply(where(absolute(x0_i) < float32(0.5), (float32(1.0) / float32(2.0)) +
                    (x0_i * ((float32(1.0) / float32(3.0)) + (x0_i * ((float32(1.0) / float32(8.0)) +
                    (x0_i * ((float32(1.0) / float32(30.0)) + (x0_i * ((float32(1.0) / float32(144.0)) +
                    (x0_i * ((float32(1.0) / float32(840.0)) + (x0_i * ((float32(1.0) / float32(5760.0))
                    + (x0_i * ((float32(1.0) / float32(45360.0)) + (x0_i * ((float32(1.0) /
                    float32(403200.0)) + (x0_i * ((float32(1.0) / float32(3991680.0)) + (x0_i *
                    ((float32(1.0) / float32(43545600.0)) + (x0_i * ((float32(1.0) /
                    float32(518918400.0)) + (x0_i * ((float32(1.0) / float32(6706022400.0)) + (x0_i *
                    (float32(1.0) / float32(93405312000.0))))))))))))))))))))))))))), where(x0_i >
                    float32(1.0), (y_i * (float32(1.0) - (float32(1.0) / x0_i))) + (float32(1.0) /
                    x0_i), (t3_i - y_i) / x0_i)), d0_i)
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, float32(0.0))
        start += n
    return 0


def cosm1_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (-sin(x0)) * x0_dot."""
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
                call_library(loops, SIN, n, (x0, 4, t2, 4))
                partial = scratch + 2048
                for i in range(n):
                    t2_i = load_f32(t2, i)
                    value = -t2_i
                    store_f32(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 3072, float32(0.0))
        elif x0_dot != 0:
            t2 = scratch + 1024
            call_library(loops, SIN, n, (x0, 4, t2, 4))
            d0 = tangent_block(block, 0, x0_dot, scratch + 2048, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 3072, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                t2_i = load_f32(t2, i)
                value = masked_multiply(-t2_i, d0_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 3072, float32(0.0))
        start += n
    return 0
