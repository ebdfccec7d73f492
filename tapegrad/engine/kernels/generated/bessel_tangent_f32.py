"""Elementwise kernels in f32: bessel, tangent.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

from numba import float32

from tapegrad.engine.kernels.arithmetic import absolute, masked_multiply, sign, sqrt, square, where
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

HYP0F1 = entry("hyp0f1", "f")
I0 = entry("i0", "f")
I0E = entry("i0e", "f")
I1 = entry("i1", "f")
I1E = entry("i1e", "f")
IV = entry("iv", "f")
IVE = entry("ive", "f")
J0 = entry("j0", "f")
J1 = entry("j1", "f")
JV = entry("jv", "f")
KV = entry("kv", "f")
KVE = entry("kve", "f")
Y0 = entry("y0", "f")
Y1 = entry("y1", "f")
YV = entry("yv", "f")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "j0_tangent_f32": ("j1", "positive"),
    "j1_tangent_f32": ("j0", "jv", "positive"),
    "y0_tangent_f32": ("positive", "y1"),
    "y1_tangent_f32": ("positive", "y0"),
    "i0_tangent_f32": ("i1", "positive"),
    "i1_tangent_f32": ("i0", "iv", "positive"),
    "i0e_tangent_f32": ("i1e", "positive"),
    "i1e_tangent_f32": ("i0e", "ive", "positive"),
    "jv_tangent_f32": ("jv", "positive"),
    "yv_tangent_f32": ("positive", "yv"),
    "iv_tangent_f32": ("iv", "positive"),
    "ive_tangent_f32": ("ive", "positive"),
    "kv_tangent_f32": ("kv", "positive"),
    "kve_tangent_f32": ("kve", "positive"),
    "hyp0f1_tangent_f32": ("hyp0f1", "i0", "positive"),
}


def j0_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (-j1(x0)) * x0_dot."""
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
                call_library(loops, J1, n, (x0, 4, t2, 4))
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
            call_library(loops, J1, n, (x0, 4, t2, 4))
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


def j1_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (0.5 * (j0(x0) - jv(2, x0))) * x0_dot."""
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
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t2 = scratch + 1024
                call_library(loops, J0, n, (x0, 4, t2, 4))
                t3 = scratch + 2048
                for i in range(n):
                    value = float32(2.0)
                    store_f32(t3, i, value)
                call_library(loops, JV, n, (t3, 4, x0, 4, t3, 4))
                partial = scratch + 3072
                for i in range(n):
                    t2_i = load_f32(t2, i)
                    t3_i = load_f32(t3, i)
                    value = float32(0.5) * (t2_i - t3_i)
                    store_f32(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 4096, float32(0.0))
        elif x0_dot != 0:
            t2 = scratch + 1024
            call_library(loops, J0, n, (x0, 4, t2, 4))
            t3 = scratch + 2048
            for i in range(n):
                value = float32(2.0)
                store_f32(t3, i, value)
            call_library(loops, JV, n, (t3, 4, x0, 4, t3, 4))
            d0 = tangent_block(block, 0, x0_dot, scratch + 3072, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 4096, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                t2_i = load_f32(t2, i)
                t3_i = load_f32(t3, i)
                value = masked_multiply(float32(0.5) * (t2_i - t3_i), d0_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, float32(0.0))
        start += n
    return 0


def y0_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (-y1(x0)) * x0_dot."""
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
                call_library(loops, Y1, n, (x0, 4, t2, 4))
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
            call_library(loops, Y1, n, (x0, 4, t2, 4))
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


def y1_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (y0(x0) - y / x0) * x0_dot."""
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
                call_library(loops, Y0, n, (x0, 4, t3, 4))
                partial = scratch + 3072
                for i in range(n):
                    t3_i = load_f32(t3, i)
                    x0_i = load_f32(x0, i)
                    y_i = load_f32(y, i)
                    value = t3_i - (y_i / x0_i)
                    store_f32(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 4096, float32(0.0))
        elif x0_dot != 0:
            t3 = scratch + 2048
            call_library(loops, Y0, n, (x0, 4, t3, 4))
            d0 = tangent_block(block, 0, x0_dot, scratch + 3072, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 4096, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                t3_i = load_f32(t3, i)
                x0_i = load_f32(x0, i)
                y_i = load_f32(y, i)
                value = masked_multiply(t3_i - (y_i / x0_i), d0_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, float32(0.0))
        start += n
    return 0


def i0_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (i1(x0)) * x0_dot."""
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
                call_library(loops, I1, n, (x0, 4, t2, 4))
                p0 = t2
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 2048, float32(0.0))
        elif x0_dot != 0:
            t2 = scratch + 1024
            call_library(loops, I1, n, (x0, 4, t2, 4))
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


def i1_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (0.5 * (i0(x0) + iv(2, x0))) * x0_dot."""
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
        if several:
            p0 = ABSENT
            if x0_dot != 0:
                t2 = scratch + 1024
                call_library(loops, I0, n, (x0, 4, t2, 4))
                t3 = scratch + 2048
                for i in range(n):
                    value = float32(2.0)
                    store_f32(t3, i, value)
                call_library(loops, IV, n, (t3, 4, x0, 4, t3, 4))
                partial = scratch + 3072
                for i in range(n):
                    t2_i = load_f32(t2, i)
                    t3_i = load_f32(t3, i)
                    value = float32(0.5) * (t2_i + t3_i)
                    store_f32(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 4096, float32(0.0))
        elif x0_dot != 0:
            t2 = scratch + 1024
            call_library(loops, I0, n, (x0, 4, t2, 4))
            t3 = scratch + 2048
            for i in range(n):
                value = float32(2.0)
                store_f32(t3, i, value)
            call_library(loops, IV, n, (t3, 4, x0, 4, t3, 4))
            d0 = tangent_block(block, 0, x0_dot, scratch + 3072, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 4096, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                t2_i = load_f32(t2, i)
                t3_i = load_f32(t3, i)
                value = masked_multiply(float32(0.5) * (t2_i + t3_i), d0_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, float32(0.0))
        start += n
    return 0


def i0e_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (where(absolute(x0) > 30, -y * (-(0.25 - 0) / (2 * (1 - absolute(x0)) - (2.25 - 0) / (2 * (2
    - absolute(x0)) - (6.25 - 0) / (2 * (3 - absolute(x0)) - (12.25 - 0) / (2 * (4 - absolute(x0)) - (20.25
    - 0) / (2 * (5 - absolute(x0)) - (30.25 - 0) / (2 * (6 - absolute(x0)))))))) + 0.5) / x0, i1e(x0) -
    sign(x0) * y)) * x0_dot."""
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
                call_library(loops, I1E, n, (x0, 4, t3, 4))
                partial = scratch + 3072
                for i in range(n):
                    t3_i = load_f32(t3, i)
                    x0_i = load_f32(x0, i)
                    y_i = load_f32(y, i)
                    value = (
                        where(absolute(x0_i) > float32(30.0), (-y_i * ((-(float32(0.25) - float32(0.0))
                        / ((float32(2.0) * (float32(1.0) - absolute(x0_i))) - ((float32(2.25) -
                        float32(0.0)) / ((float32(2.0) * (float32(2.0) - absolute(x0_i))) -
                        ((float32(6.25) - float32(0.0)) / ((float32(2.0) * (float32(3.0) -
                        absolute(x0_i))) - ((float32(12.25) - float32(0.0)) / ((float32(2.0) *
                        (float32(4.0) - absolute(x0_i))) - ((float32(20.25) - float32(0.0)) /
                        ((float32(2.0) * (float32(5.0) - absolute(x0_i))) - ((float32(30.25) -
                        float32(0.0)) / (float32(2.0) * (float32(6.0) - absolute(x0_i)))))))))))))) +
                        float32(0.5))) / x0_i, t3_i - (sign(x0_i) * y_i))
                    )
                    store_f32(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 4096, float32(0.0))
        elif x0_dot != 0:
            t3 = scratch + 2048
            call_library(loops, I1E, n, (x0, 4, t3, 4))
            d0 = tangent_block(block, 0, x0_dot, scratch + 3072, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 4096, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                t3_i = load_f32(t3, i)
                x0_i = load_f32(x0, i)
                y_i = load_f32(y, i)
                value = (
                    masked_multiply(where(absolute(x0_i) > float32(30.0), (-y_i * ((-(float32(0.25) -
                    float32(0.0)) / ((float32(2.0) * (float32(1.0) - absolute(x0_i))) - ((float32(2.25)
                    - float32(0.0)) / ((float32(2.0) * (float32(2.0) - absolute(x0_i))) -
                    ((float32(6.25) - float32(0.0)) / ((float32(2.0) * (float32(3.0) - absolute(x0_i)))
                    - ((float32(12.25) - float32(0.0)) / ((float32(2.0) * (float32(4.0) -
                    absolute(x0_i))) - ((float32(20.25) - float32(0.0)) / ((float32(2.0) * (float32(5.0)
                    - absolute(x0_i))) - ((float32(30.25) - float32(0.0)) / (float32(2.0) *
                    (float32(6.0) - absolute(x0_i)))))))))))))) + float32(0.5))) / x0_i, t3_i -
                    (sign(x0_i) * y_i)), d0_i)
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 4096, float32(0.0))
        start += n
    return 0


def i1e_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (where(absolute(x0) > 30, -y * (-(0.25 - 1) / (2 * (1 - absolute(x0)) - (2.25 - 1) / (2 * (2
    - absolute(x0)) - (6.25 - 1) / (2 * (3 - absolute(x0)) - (12.25 - 1) / (2 * (4 - absolute(x0)) - (20.25
    - 1) / (2 * (5 - absolute(x0)) - (30.25 - 1) / (2 * (6 - absolute(x0)))))))) + 0.5) / x0, 0.5 * (i0e(x0)
    + ive(2, x0)) - sign(x0) * y)) * x0_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1152)
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
                call_library(loops, I0E, n, (x0, 4, t3, 4))
                t4 = scratch + 3072
                for i in range(n):
                    value = float32(2.0)
                    store_f32(t4, i, value)
                call_library(loops, IVE, n, (t4, 4, x0, 4, t4, 4))
                partial = scratch + 4096
                for i in range(n):
                    t3_i = load_f32(t3, i)
                    t4_i = load_f32(t4, i)
                    x0_i = load_f32(x0, i)
                    y_i = load_f32(y, i)
                    value = (
                        where(absolute(x0_i) > float32(30.0), (-y_i * ((-(float32(0.25) - float32(1.0))
                        / ((float32(2.0) * (float32(1.0) - absolute(x0_i))) - ((float32(2.25) -
                        float32(1.0)) / ((float32(2.0) * (float32(2.0) - absolute(x0_i))) -
                        ((float32(6.25) - float32(1.0)) / ((float32(2.0) * (float32(3.0) -
                        absolute(x0_i))) - ((float32(12.25) - float32(1.0)) / ((float32(2.0) *
                        (float32(4.0) - absolute(x0_i))) - ((float32(20.25) - float32(1.0)) /
                        ((float32(2.0) * (float32(5.0) - absolute(x0_i))) - ((float32(30.25) -
                        float32(1.0)) / (float32(2.0) * (float32(6.0) - absolute(x0_i)))))))))))))) +
                        float32(0.5))) / x0_i, (float32(0.5) * (t3_i + t4_i)) - (sign(x0_i) * y_i))
                    )
                    store_f32(partial, i, value)
                p0 = partial
            p1 = ABSENT
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 5120, float32(0.0))
        elif x0_dot != 0:
            t3 = scratch + 2048
            call_library(loops, I0E, n, (x0, 4, t3, 4))
            t4 = scratch + 3072
            for i in range(n):
                value = float32(2.0)
                store_f32(t4, i, value)
            call_library(loops, IVE, n, (t4, 4, x0, 4, t4, 4))
            d0 = tangent_block(block, 0, x0_dot, scratch + 4096, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 5120, float32(0.0))
            for i in range(n):
                d0_i = load_f32(d0, i)
                t3_i = load_f32(t3, i)
                t4_i = load_f32(t4, i)
                x0_i = load_f32(x0, i)
                y_i = load_f32(y, i)
                value = (
                    masked_multiply(where(absolute(x0_i) > float32(30.0), (-y_i * ((-(float32(0.25) -
                    float32(1.0)) / ((float32(2.0) * (float32(1.0) - absolute(x0_i))) - ((float32(2.25)
                    - float32(1.0)) / ((float32(2.0) * (float32(2.0) - absolute(x0_i))) -
                    ((float32(6.25) - float32(1.0)) / ((float32(2.0) * (float32(3.0) - absolute(x0_i)))
                    - ((float32(12.25) - float32(1.0)) / ((float32(2.0) * (float32(4.0) -
                    absolute(x0_i))) - ((float32(20.25) - float32(1.0)) / ((float32(2.0) * (float32(5.0)
                    - absolute(x0_i))) - ((float32(30.25) - float32(1.0)) / (float32(2.0) *
                    (float32(6.0) - absolute(x0_i)))))))))))))) + float32(0.5))) / x0_i, (float32(0.5) *
                    (t3_i + t4_i)) - (sign(x0_i) * y_i)), d0_i)
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 5120, float32(0.0))
        start += n
    return 0


def jv_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (0.5 * (jv(x0 - 1, x1) - jv(x0 + 1, x1))) * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1152)
    x1_dot = load_i64(frame, X_BAR + 1)
    y_dot = load_i64(frame, Y_BAR)
    if x1_dot == 0:
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
            p1 = ABSENT
            if x1_dot != 0:
                t3 = scratch + 2048
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    value = x0_i - float32(1.0)
                    store_f32(t3, i, value)
                call_library(loops, JV, n, (t3, 4, x1, 4, t3, 4))
                t4 = scratch + 3072
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    value = x0_i + float32(1.0)
                    store_f32(t4, i, value)
                call_library(loops, JV, n, (t4, 4, x1, 4, t4, 4))
                partial = scratch + 4096
                for i in range(n):
                    t3_i = load_f32(t3, i)
                    t4_i = load_f32(t4, i)
                    value = float32(0.5) * (t3_i - t4_i)
                    store_f32(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 5120, float32(0.0))
        elif x1_dot != 0:
            t3 = scratch + 2048
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i - float32(1.0)
                store_f32(t3, i, value)
            call_library(loops, JV, n, (t3, 4, x1, 4, t3, 4))
            t4 = scratch + 3072
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i + float32(1.0)
                store_f32(t4, i, value)
            call_library(loops, JV, n, (t4, 4, x1, 4, t4, 4))
            d1 = tangent_block(block, 1, x1_dot, scratch + 4096, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 5120, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                t3_i = load_f32(t3, i)
                t4_i = load_f32(t4, i)
                value = masked_multiply(float32(0.5) * (t3_i - t4_i), d1_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 5120, float32(0.0))
        start += n
    return 0


def yv_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (0.5 * (yv(x0 - 1, x1) - yv(x0 + 1, x1))) * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1152)
    x1_dot = load_i64(frame, X_BAR + 1)
    y_dot = load_i64(frame, Y_BAR)
    if x1_dot == 0:
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
            p1 = ABSENT
            if x1_dot != 0:
                t3 = scratch + 2048
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    value = x0_i - float32(1.0)
                    store_f32(t3, i, value)
                call_library(loops, YV, n, (t3, 4, x1, 4, t3, 4))
                t4 = scratch + 3072
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    value = x0_i + float32(1.0)
                    store_f32(t4, i, value)
                call_library(loops, YV, n, (t4, 4, x1, 4, t4, 4))
                partial = scratch + 4096
                for i in range(n):
                    t3_i = load_f32(t3, i)
                    t4_i = load_f32(t4, i)
                    value = float32(0.5) * (t3_i - t4_i)
                    store_f32(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 5120, float32(0.0))
        elif x1_dot != 0:
            t3 = scratch + 2048
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i - float32(1.0)
                store_f32(t3, i, value)
            call_library(loops, YV, n, (t3, 4, x1, 4, t3, 4))
            t4 = scratch + 3072
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i + float32(1.0)
                store_f32(t4, i, value)
            call_library(loops, YV, n, (t4, 4, x1, 4, t4, 4))
            d1 = tangent_block(block, 1, x1_dot, scratch + 4096, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 5120, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                t3_i = load_f32(t3, i)
                t4_i = load_f32(t4, i)
                value = masked_multiply(float32(0.5) * (t3_i - t4_i), d1_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 5120, float32(0.0))
        start += n
    return 0


def iv_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (0.5 * (iv(x0 - 1, x1) + iv(x0 + 1, x1))) * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1152)
    x1_dot = load_i64(frame, X_BAR + 1)
    y_dot = load_i64(frame, Y_BAR)
    if x1_dot == 0:
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
            p1 = ABSENT
            if x1_dot != 0:
                t3 = scratch + 2048
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    value = x0_i - float32(1.0)
                    store_f32(t3, i, value)
                call_library(loops, IV, n, (t3, 4, x1, 4, t3, 4))
                t4 = scratch + 3072
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    value = x0_i + float32(1.0)
                    store_f32(t4, i, value)
                call_library(loops, IV, n, (t4, 4, x1, 4, t4, 4))
                partial = scratch + 4096
                for i in range(n):
                    t3_i = load_f32(t3, i)
                    t4_i = load_f32(t4, i)
                    value = float32(0.5) * (t3_i + t4_i)
                    store_f32(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 5120, float32(0.0))
        elif x1_dot != 0:
            t3 = scratch + 2048
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i - float32(1.0)
                store_f32(t3, i, value)
            call_library(loops, IV, n, (t3, 4, x1, 4, t3, 4))
            t4 = scratch + 3072
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i + float32(1.0)
                store_f32(t4, i, value)
            call_library(loops, IV, n, (t4, 4, x1, 4, t4, 4))
            d1 = tangent_block(block, 1, x1_dot, scratch + 4096, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 5120, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                t3_i = load_f32(t3, i)
                t4_i = load_f32(t4, i)
                value = masked_multiply(float32(0.5) * (t3_i + t4_i), d1_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 5120, float32(0.0))
        start += n
    return 0


def ive_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (where(absolute(x1) > 30 + 10 * absolute(x0), -y * (-(0.25 - square(x0)) / (2 * (1 -
    absolute(x1)) - (2.25 - square(x0)) / (2 * (2 - absolute(x1)) - (6.25 - square(x0)) / (2 * (3 -
    absolute(x1)) - (12.25 - square(x0)) / (2 * (4 - absolute(x1)) - (20.25 - square(x0)) / (2 * (5 -
    absolute(x1)) - (30.25 - square(x0)) / (2 * (6 - absolute(x1)))))))) + 0.5) / x1, 0.5 * (ive(x0 - 1, x1)
    + ive(x0 + 1, x1)) - sign(x1) * y)) * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1280)
    x1_dot = load_i64(frame, X_BAR + 1)
    y_dot = load_i64(frame, Y_BAR)
    if x1_dot == 0:
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
            p1 = ABSENT
            if x1_dot != 0:
                t4 = scratch + 3072
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    value = x0_i - float32(1.0)
                    store_f32(t4, i, value)
                call_library(loops, IVE, n, (t4, 4, x1, 4, t4, 4))
                t5 = scratch + 4096
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    value = x0_i + float32(1.0)
                    store_f32(t5, i, value)
                call_library(loops, IVE, n, (t5, 4, x1, 4, t5, 4))
                partial = scratch + 5120
                for i in range(n):
                    t4_i = load_f32(t4, i)
                    t5_i = load_f32(t5, i)
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    y_i = load_f32(y, i)
                    value = (
                        where(absolute(x1_i) > (float32(30.0) + (float32(10.0) * absolute(x0_i))), (-y_i
                        * ((-(float32(0.25) - square(x0_i)) / ((float32(2.0) * (float32(1.0) -
                        absolute(x1_i))) - ((float32(2.25) - square(x0_i)) / ((float32(2.0) *
                        (float32(2.0) - absolute(x1_i))) - ((float32(6.25) - square(x0_i)) /
                        ((float32(2.0) * (float32(3.0) - absolute(x1_i))) - ((float32(12.25) -
                        square(x0_i)) / ((float32(2.0) * (float32(4.0) - absolute(x1_i))) -
                        ((float32(20.25) - square(x0_i)) / ((float32(2.0) * (float32(5.0) -
                        absolute(x1_i))) - ((float32(30.25) - square(x0_i)) / (float32(2.0) *
                        (float32(6.0) - absolute(x1_i)))))))))))))) + float32(0.5))) / x1_i,
                        (float32(0.5) * (t4_i + t5_i)) - (sign(x1_i) * y_i))
                    )
                    store_f32(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 6144, float32(0.0))
        elif x1_dot != 0:
            t4 = scratch + 3072
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i - float32(1.0)
                store_f32(t4, i, value)
            call_library(loops, IVE, n, (t4, 4, x1, 4, t4, 4))
            t5 = scratch + 4096
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i + float32(1.0)
                store_f32(t5, i, value)
            call_library(loops, IVE, n, (t5, 4, x1, 4, t5, 4))
            d1 = tangent_block(block, 1, x1_dot, scratch + 5120, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 6144, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                t4_i = load_f32(t4, i)
                t5_i = load_f32(t5, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                y_i = load_f32(y, i)
                value = (
                    masked_multiply(where(absolute(x1_i) > (float32(30.0) + (float32(10.0) *
                    absolute(x0_i))), (-y_i * ((-(float32(0.25) - square(x0_i)) / ((float32(2.0) *
                    (float32(1.0) - absolute(x1_i))) - ((float32(2.25) - square(x0_i)) / ((float32(2.0)
                    * (float32(2.0) - absolute(x1_i))) - ((float32(6.25) - square(x0_i)) /
                    ((float32(2.0) * (float32(3.0) - absolute(x1_i))) - ((float32(12.25) - square(x0_i))
                    / ((float32(2.0) * (float32(4.0) - absolute(x1_i))) - ((float32(20.25) -
                    square(x0_i)) / ((float32(2.0) * (float32(5.0) - absolute(x1_i))) - ((float32(30.25)
                    - square(x0_i)) / (float32(2.0) * (float32(6.0) - absolute(x1_i)))))))))))))) +
                    float32(0.5))) / x1_i, (float32(0.5) * (t4_i + t5_i)) - (sign(x1_i) * y_i)), d1_i)
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, float32(0.0))
        start += n
    return 0


def kv_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (-0.5 * (kv(x0 - 1, x1) + kv(x0 + 1, x1))) * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1152)
    x1_dot = load_i64(frame, X_BAR + 1)
    y_dot = load_i64(frame, Y_BAR)
    if x1_dot == 0:
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
            p1 = ABSENT
            if x1_dot != 0:
                t3 = scratch + 2048
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    value = x0_i - float32(1.0)
                    store_f32(t3, i, value)
                call_library(loops, KV, n, (t3, 4, x1, 4, t3, 4))
                t4 = scratch + 3072
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    value = x0_i + float32(1.0)
                    store_f32(t4, i, value)
                call_library(loops, KV, n, (t4, 4, x1, 4, t4, 4))
                partial = scratch + 4096
                for i in range(n):
                    t3_i = load_f32(t3, i)
                    t4_i = load_f32(t4, i)
                    value = -float32(0.5) * (t3_i + t4_i)
                    store_f32(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 5120, float32(0.0))
        elif x1_dot != 0:
            t3 = scratch + 2048
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i - float32(1.0)
                store_f32(t3, i, value)
            call_library(loops, KV, n, (t3, 4, x1, 4, t3, 4))
            t4 = scratch + 3072
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i + float32(1.0)
                store_f32(t4, i, value)
            call_library(loops, KV, n, (t4, 4, x1, 4, t4, 4))
            d1 = tangent_block(block, 1, x1_dot, scratch + 4096, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 5120, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                t3_i = load_f32(t3, i)
                t4_i = load_f32(t4, i)
                value = masked_multiply(-float32(0.5) * (t3_i + t4_i), d1_i)
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 5120, float32(0.0))
        start += n
    return 0


def kve_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (where(absolute(x1) > 30 + 10 * absolute(x0), -y * (-(0.25 - square(x0)) / (2 * (1 +
    absolute(x1)) - (2.25 - square(x0)) / (2 * (2 + absolute(x1)) - (6.25 - square(x0)) / (2 * (3 +
    absolute(x1)) - (12.25 - square(x0)) / (2 * (4 + absolute(x1)) - (20.25 - square(x0)) / (2 * (5 +
    absolute(x1)) - (30.25 - square(x0)) / (2 * (6 + absolute(x1)))))))) + 0.5) / x1, y - 0.5 * (kve(x0 - 1,
    x1) + kve(x0 + 1, x1)))) * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1280)
    x1_dot = load_i64(frame, X_BAR + 1)
    y_dot = load_i64(frame, Y_BAR)
    if x1_dot == 0:
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
            p1 = ABSENT
            if x1_dot != 0:
                t4 = scratch + 3072
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    value = x0_i - float32(1.0)
                    store_f32(t4, i, value)
                call_library(loops, KVE, n, (t4, 4, x1, 4, t4, 4))
                t5 = scratch + 4096
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    value = x0_i + float32(1.0)
                    store_f32(t5, i, value)
                call_library(loops, KVE, n, (t5, 4, x1, 4, t5, 4))
                partial = scratch + 5120
                for i in range(n):
                    t4_i = load_f32(t4, i)
                    t5_i = load_f32(t5, i)
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    y_i = load_f32(y, i)
                    value = (
                        where(absolute(x1_i) > (float32(30.0) + (float32(10.0) * absolute(x0_i))), (-y_i
                        * ((-(float32(0.25) - square(x0_i)) / ((float32(2.0) * (float32(1.0) +
                        absolute(x1_i))) - ((float32(2.25) - square(x0_i)) / ((float32(2.0) *
                        (float32(2.0) + absolute(x1_i))) - ((float32(6.25) - square(x0_i)) /
                        ((float32(2.0) * (float32(3.0) + absolute(x1_i))) - ((float32(12.25) -
                        square(x0_i)) / ((float32(2.0) * (float32(4.0) + absolute(x1_i))) -
                        ((float32(20.25) - square(x0_i)) / ((float32(2.0) * (float32(5.0) +
                        absolute(x1_i))) - ((float32(30.25) - square(x0_i)) / (float32(2.0) *
                        (float32(6.0) + absolute(x1_i)))))))))))))) + float32(0.5))) / x1_i, y_i -
                        (float32(0.5) * (t4_i + t5_i)))
                    )
                    store_f32(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 6144, float32(0.0))
        elif x1_dot != 0:
            t4 = scratch + 3072
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i - float32(1.0)
                store_f32(t4, i, value)
            call_library(loops, KVE, n, (t4, 4, x1, 4, t4, 4))
            t5 = scratch + 4096
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i + float32(1.0)
                store_f32(t5, i, value)
            call_library(loops, KVE, n, (t5, 4, x1, 4, t5, 4))
            d1 = tangent_block(block, 1, x1_dot, scratch + 5120, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 6144, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                t4_i = load_f32(t4, i)
                t5_i = load_f32(t5, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                y_i = load_f32(y, i)
                value = (
                    masked_multiply(where(absolute(x1_i) > (float32(30.0) + (float32(10.0) *
                    absolute(x0_i))), (-y_i * ((-(float32(0.25) - square(x0_i)) / ((float32(2.0) *
                    (float32(1.0) + absolute(x1_i))) - ((float32(2.25) - square(x0_i)) / ((float32(2.0)
                    * (float32(2.0) + absolute(x1_i))) - ((float32(6.25) - square(x0_i)) /
                    ((float32(2.0) * (float32(3.0) + absolute(x1_i))) - ((float32(12.25) - square(x0_i))
                    / ((float32(2.0) * (float32(4.0) + absolute(x1_i))) - ((float32(20.25) -
                    square(x0_i)) / ((float32(2.0) * (float32(5.0) + absolute(x1_i))) - ((float32(30.25)
                    - square(x0_i)) / (float32(2.0) * (float32(6.0) + absolute(x1_i)))))))))))))) +
                    float32(0.5))) / x1_i, y_i - (float32(0.5) * (t4_i + t5_i))), d1_i)
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 6144, float32(0.0))
        start += n
    return 0


def hyp0f1_tangent_f32(frame: int, loops: int) -> int:
    """y_dot = (where((x0 + 1 == 1) & (x1 > 0), i0(2 * sqrt(x1)), hyp0f1(where((x0 + 1 == 1) & (x1 > 0), 2,
    x0 + 1), x1)) / x0) * x1_dot."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1152)
    x1_dot = load_i64(frame, X_BAR + 1)
    y_dot = load_i64(frame, Y_BAR)
    if x1_dot == 0:
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
            p1 = ABSENT
            if x1_dot != 0:
                t3 = scratch + 2048
                for i in range(n):
                    x1_i = load_f32(x1, i)
                    value = float32(2.0) * sqrt(x1_i)
                    store_f32(t3, i, value)
                call_library(loops, I0, n, (t3, 4, t3, 4))
                t4 = scratch + 3072
                for i in range(n):
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = (
                        where(((x0_i + float32(1.0)) == float32(1.0)) & (x1_i > float32(0.0)),
                        float32(2.0), x0_i + float32(1.0))
                    )
                    store_f32(t4, i, value)
                call_library(loops, HYP0F1, n, (t4, 4, x1, 4, t4, 4))
                partial = scratch + 4096
                for i in range(n):
                    t3_i = load_f32(t3, i)
                    t4_i = load_f32(t4, i)
                    x0_i = load_f32(x0, i)
                    x1_i = load_f32(x1, i)
                    value = (
                        where(((x0_i + float32(1.0)) == float32(1.0)) & (x1_i > float32(0.0)), t3_i,
                        t4_i) / x0_i
                    )
                    store_f32(partial, i, value)
                p1 = partial
            p2 = ABSENT
            apply_partials(block, p0, p1, p2, scratch + 5120, float32(0.0))
        elif x1_dot != 0:
            t3 = scratch + 2048
            for i in range(n):
                x1_i = load_f32(x1, i)
                value = float32(2.0) * sqrt(x1_i)
                store_f32(t3, i, value)
            call_library(loops, I0, n, (t3, 4, t3, 4))
            t4 = scratch + 3072
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    where(((x0_i + float32(1.0)) == float32(1.0)) & (x1_i > float32(0.0)), float32(2.0),
                    x0_i + float32(1.0))
                )
                store_f32(t4, i, value)
            call_library(loops, HYP0F1, n, (t4, 4, x1, 4, t4, 4))
            d1 = tangent_block(block, 1, x1_dot, scratch + 4096, float32(0.0))
            target = tangent_target(block, y_dot, scratch + 5120, float32(0.0))
            for i in range(n):
                d1_i = load_f32(d1, i)
                t3_i = load_f32(t3, i)
                t4_i = load_f32(t4, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    masked_multiply(where(((x0_i + float32(1.0)) == float32(1.0)) & (x1_i >
                    float32(0.0)), t3_i, t4_i) / x0_i, d1_i)
                )
                store_f32(target, i, value)
            tangent_finish(block, y_dot, scratch + 5120, float32(0.0))
        start += n
    return 0
