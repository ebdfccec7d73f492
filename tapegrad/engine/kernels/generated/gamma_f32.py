"""Elementwise kernels in f32: gamma.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

from numba import float32

from tapegrad.engine.kernels.arithmetic import masked_multiply, sqrt, square, where
from tapegrad.engine.kernels.blocks import (
    BLOCK,
    Block,
    bar_f32,
    call_library,
    operand_f32,
    target_f32,
    whole_f32,
)
from tapegrad.engine.kernels.cotangents import (
    close_f32,
    contributions_f32,
    end_f32,
    finish_f32,
    load_masked_f32,
    open_f32,
)
from tapegrad.engine.kernels.frame import COUNT, STRIDE, X_BAR, Y_STRIDE, X, Y
from tapegrad.engine.kernels.library import entry
from tapegrad.engine.kernels.raw_memory import load_f32, load_i64, stack_words, store_f32

BETA = entry("beta", "f")
BETALN = entry("betaln", "f")
COS = entry("cos", "f")
DIGAMMA = entry("digamma", "f")
GAMMA = entry("gamma", "f")
GAMMASGN = entry("gammasgn", "f")
LGAMMA = entry("lgamma", "f")
LOG = entry("log", "f")
LOG1P = entry("log1p", "f")
POCH = entry("poch", "f")
RGAMMA = entry("rgamma", "f")
RIEMANN_ZETA = entry("riemann_zeta", "f")
RINT = entry("rint", "f")
SIN = entry("sin", "f")
ZETA = entry("zeta", "f")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "lgamma_forward_f32": ("lgamma",),
    "lgamma_reverse_f32": ("add", "digamma", "positive"),
    "digamma_forward_f32": ("digamma",),
    "digamma_reverse_f32": ("add", "positive", "rint", "sin", "zeta"),
    "zeta_forward_f32": ("zeta",),
    "zeta_reverse_f32": ("add", "positive", "zeta"),
    "riemann_zeta_forward_f32": ("riemann_zeta",),
    "riemann_zeta_reverse_f32": (),
    "gamma_forward_f32": ("gamma",),
    "gamma_reverse_f32": ("add", "digamma", "positive"),
    "rgamma_forward_f32": ("rgamma",),
    "rgamma_reverse_f32": ("add", "cos", "digamma", "gamma", "positive", "sin"),
    "gammasgn_forward_f32": ("gammasgn",),
    "gammasgn_reverse_f32": ("add", "positive"),
    "poch_forward_f32": ("poch",),
    "poch_reverse_f32": ("add", "digamma", "log1p", "positive"),
    "beta_forward_f32": ("beta",),
    "beta_reverse_f32": ("add", "digamma", "log1p", "positive"),
    "betaln_forward_f32": ("betaln",),
    "betaln_reverse_f32": ("add", "digamma", "log1p", "positive"),
    "lgamma_half_step_forward_f32": ("gamma", "log", "log1p", "positive"),
    "lgamma_half_step_reverse_f32": ("add", "digamma", "positive"),
}


def lgamma_forward_f32(frame: int, loops: int) -> int:
    """y = lgamma(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, LGAMMA, count, arrays)
    return 0


def lgamma_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (digamma(x0)) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(512)
    whole = whole_f32(frame, 9, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x0 = operand_f32(block, 0, scratch + 1024)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 2048)
            t4 = scratch + 3072
            call_library(loops, DIGAMMA, n, (x0, 4, t4, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t4_i = load_f32(t4, i)
                value = masked_multiply(bar, t4_i)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def digamma_forward_f32(frame: int, loops: int) -> int:
    """y = digamma(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, DIGAMMA, count, arrays)
    return 0


def digamma_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (where(x0 < 0, square(pi / sin(pi * where(x0 < 0, x0 - rint(x0), 0.5))), 0) + where(x0 < 0,
    -1, 1) * zeta(2, where(x0 < 0, 1 - x0, x0))) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(896)
    whole = whole_f32(frame, 9, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x0 = operand_f32(block, 0, scratch + 1024)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 2048)
            t4 = scratch + 3072
            call_library(loops, RINT, n, (x0, 4, t4, 4))
            t5 = scratch + 4096
            for i in range(n):
                t4_i = load_f32(t4, i)
                x0_i = load_f32(x0, i)
                value = float32(3.141592653589793) * where(x0_i < float32(0.0), x0_i - t4_i, float32(0.5))
                store_f32(t5, i, value)
            call_library(loops, SIN, n, (t5, 4, t5, 4))
            t6 = scratch + 5120
            for i in range(n):
                value = float32(2.0)
                store_f32(t6, i, value)
            t7 = scratch + 6144
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = where(x0_i < float32(0.0), float32(1.0) - x0_i, x0_i)
                store_f32(t7, i, value)
            call_library(loops, ZETA, n, (t6, 4, t7, 4, t6, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                t6_i = load_f32(t6, i)
                x0_i = load_f32(x0, i)
                value = (
                    masked_multiply(bar, where(x0_i < float32(0.0), square(float32(3.141592653589793) /
                    t5_i), float32(0.0)) + (where(x0_i < float32(0.0), -float32(1.0), float32(1.0)) *
                    t6_i))
                )
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def zeta_forward_f32(frame: int, loops: int) -> int:
    """y = zeta(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, ZETA, count, arrays)
    return 0


def zeta_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (-x0 * zeta(x0 + 1, x1)) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(640)
    whole = whole_f32(frame, 11, 0)
    x1_mask = open_f32(whole, frame, 1)
    x1_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x0 = operand_f32(block, 0, scratch + 1024)
        x1 = operand_f32(block, 1, scratch + 2048)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 3072)
            t5 = scratch + 4096
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i + float32(1.0)
                store_f32(t5, i, value)
            call_library(loops, ZETA, n, (t5, 4, x1, 4, t5, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                x0_i = load_f32(x0, i)
                value = masked_multiply(bar, -x0_i * t5_i)
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 3072)
        start += n
    end_f32(whole, frame, 1, x1_sum)
    return 0


def riemann_zeta_forward_f32(frame: int, loops: int) -> int:
    """y = riemann_zeta(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, RIEMANN_ZETA, count, arrays)
    return 0


def riemann_zeta_reverse_f32(frame: int, loops: int) -> int:
    """."""
    return 0


def gamma_forward_f32(frame: int, loops: int) -> int:
    """y = gamma(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, GAMMA, count, arrays)
    return 0


def gamma_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (y * digamma(x0)) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(640)
    whole = whole_f32(frame, 9, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x0 = operand_f32(block, 0, scratch + 1024)
        y = operand_f32(block, 3, scratch + 2048)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 3072)
            t5 = scratch + 4096
            call_library(loops, DIGAMMA, n, (x0, 4, t5, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                y_i = load_f32(y, i)
                value = masked_multiply(bar, y_i * t5_i)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 3072)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def rgamma_forward_f32(frame: int, loops: int) -> int:
    """y = rgamma(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, RGAMMA, count, arrays)
    return 0


def rgamma_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (where(x0 < 0.5, gamma(1 - x0) * (cos(pi * x0) - sin(pi * x0) * digamma(1 - x0) / pi), -y *
    digamma(x0))) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1152)
    whole = whole_f32(frame, 9, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x0 = operand_f32(block, 0, scratch + 1024)
        y = operand_f32(block, 3, scratch + 2048)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 3072)
            t5 = scratch + 4096
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = float32(1.0) - x0_i
                store_f32(t5, i, value)
            call_library(loops, GAMMA, n, (t5, 4, t5, 4))
            t6 = scratch + 5120
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = float32(3.141592653589793) * x0_i
                store_f32(t6, i, value)
            call_library(loops, COS, n, (t6, 4, t6, 4))
            t7 = scratch + 6144
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = float32(3.141592653589793) * x0_i
                store_f32(t7, i, value)
            call_library(loops, SIN, n, (t7, 4, t7, 4))
            t8 = scratch + 7168
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = float32(1.0) - x0_i
                store_f32(t8, i, value)
            call_library(loops, DIGAMMA, n, (t8, 4, t8, 4))
            t9 = scratch + 8192
            call_library(loops, DIGAMMA, n, (x0, 4, t9, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                t6_i = load_f32(t6, i)
                t7_i = load_f32(t7, i)
                t8_i = load_f32(t8, i)
                t9_i = load_f32(t9, i)
                x0_i = load_f32(x0, i)
                y_i = load_f32(y, i)
                value = (
                    where(x0_i < float32(0.5), masked_multiply(bar, t5_i * (t6_i - ((t7_i * t8_i) /
                    float32(3.141592653589793)))), masked_multiply(bar, -y_i * t9_i))
                )
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 3072)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def gammasgn_forward_f32(frame: int, loops: int) -> int:
    """y = gammasgn(x0)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, GAMMASGN, count, arrays)
    return 0


def gammasgn_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (0) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(128)
    whole = whole_f32(frame, 9, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 0)
            for i in range(n):
                value = float32(0.0)
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 0)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0


def poch_forward_f32(frame: int, loops: int) -> int:
    """y = poch(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, POCH, count, arrays)
    return 0


def poch_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (y * where((x0 > 64) & (x0 + x1 > 64), log1p(x1 / x0) + x1 / x0 / (x0 + x1) * (0.5 + (1 / x0
    + 1 / (x0 + x1)) * (1 / 12 - (square(1 / x0) + square(1 / (x0 + x1))) / 120 + (square(1 / x0) * square(1
    / x0) + square(1 / x0) * square(1 / (x0 + x1)) + square(1 / (x0 + x1)) * square(1 / (x0 + x1))) / 252)),
    digamma(x0 + x1) - digamma(x0))) to x0_bar; y_bar * (y * digamma(x0 + x1)) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1024)
    whole = whole_f32(frame, 11, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    x1_mask = open_f32(whole, frame, 1)
    x1_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x0 = operand_f32(block, 0, scratch + 1024)
        x1 = operand_f32(block, 1, scratch + 2048)
        y = operand_f32(block, 3, scratch + 3072)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 4096)
            t6 = scratch + 5120
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = x1_i / x0_i
                store_f32(t6, i, value)
            call_library(loops, LOG1P, n, (t6, 4, t6, 4))
            t7 = scratch + 6144
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = x0_i + x1_i
                store_f32(t7, i, value)
            call_library(loops, DIGAMMA, n, (t7, 4, t7, 4))
            t8 = scratch + 7168
            call_library(loops, DIGAMMA, n, (x0, 4, t8, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t6_i = load_f32(t6, i)
                t7_i = load_f32(t7, i)
                t8_i = load_f32(t8, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                y_i = load_f32(y, i)
                value = (
                    masked_multiply(bar, y_i * where((x0_i > float32(64.0)) & ((x0_i + x1_i) >
                    float32(64.0)), t6_i + (((x1_i / x0_i) / (x0_i + x1_i)) * (float32(0.5) +
                    (((float32(1.0) / x0_i) + (float32(1.0) / (x0_i + x1_i))) * (((float32(1.0) /
                    float32(12.0)) - ((square(float32(1.0) / x0_i) + square(float32(1.0) / (x0_i +
                    x1_i))) / float32(120.0))) + ((((square(float32(1.0) / x0_i) * square(float32(1.0) /
                    x0_i)) + (square(float32(1.0) / x0_i) * square(float32(1.0) / (x0_i + x1_i)))) +
                    (square(float32(1.0) / (x0_i + x1_i)) * square(float32(1.0) / (x0_i + x1_i)))) /
                    float32(252.0)))))), t7_i - t8_i))
                )
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 4096)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 4096)
            t6 = scratch + 5120
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = x0_i + x1_i
                store_f32(t6, i, value)
            call_library(loops, DIGAMMA, n, (t6, 4, t6, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t6_i = load_f32(t6, i)
                y_i = load_f32(y, i)
                value = masked_multiply(bar, y_i * t6_i)
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 4096)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    end_f32(whole, frame, 1, x1_sum)
    return 0


def beta_forward_f32(frame: int, loops: int) -> int:
    """y = beta(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, BETA, count, arrays)
    return 0


def beta_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (-y * where((x0 > 64) & (x0 + x1 > 64), log1p(x1 / x0) + x1 / x0 / (x0 + x1) * (0.5 + (1 / x0
    + 1 / (x0 + x1)) * (1 / 12 - (square(1 / x0) + square(1 / (x0 + x1))) / 120 + (square(1 / x0) * square(1
    / x0) + square(1 / x0) * square(1 / (x0 + x1)) + square(1 / (x0 + x1)) * square(1 / (x0 + x1))) / 252)),
    digamma(x0 + x1) - digamma(x0))) to x0_bar; y_bar * (-y * where((x1 > 64) & (x1 + x0 > 64), log1p(x0 /
    x1) + x0 / x1 / (x1 + x0) * (0.5 + (1 / x1 + 1 / (x1 + x0)) * (1 / 12 - (square(1 / x1) + square(1 / (x1
    + x0))) / 120 + (square(1 / x1) * square(1 / x1) + square(1 / x1) * square(1 / (x1 + x0)) + square(1 /
    (x1 + x0)) * square(1 / (x1 + x0))) / 252)), digamma(x1 + x0) - digamma(x1))) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(1024)
    whole = whole_f32(frame, 11, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    x1_mask = open_f32(whole, frame, 1)
    x1_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x0 = operand_f32(block, 0, scratch + 1024)
        x1 = operand_f32(block, 1, scratch + 2048)
        y = operand_f32(block, 3, scratch + 3072)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 4096)
            t6 = scratch + 5120
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = x1_i / x0_i
                store_f32(t6, i, value)
            call_library(loops, LOG1P, n, (t6, 4, t6, 4))
            t7 = scratch + 6144
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = x0_i + x1_i
                store_f32(t7, i, value)
            call_library(loops, DIGAMMA, n, (t7, 4, t7, 4))
            t8 = scratch + 7168
            call_library(loops, DIGAMMA, n, (x0, 4, t8, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t6_i = load_f32(t6, i)
                t7_i = load_f32(t7, i)
                t8_i = load_f32(t8, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                y_i = load_f32(y, i)
                value = (
                    masked_multiply(bar, -y_i * where((x0_i > float32(64.0)) & ((x0_i + x1_i) >
                    float32(64.0)), t6_i + (((x1_i / x0_i) / (x0_i + x1_i)) * (float32(0.5) +
                    (((float32(1.0) / x0_i) + (float32(1.0) / (x0_i + x1_i))) * (((float32(1.0) /
                    float32(12.0)) - ((square(float32(1.0) / x0_i) + square(float32(1.0) / (x0_i +
                    x1_i))) / float32(120.0))) + ((((square(float32(1.0) / x0_i) * square(float32(1.0) /
                    x0_i)) + (square(float32(1.0) / x0_i) * square(float32(1.0) / (x0_i + x1_i)))) +
                    (square(float32(1.0) / (x0_i + x1_i)) * square(float32(1.0) / (x0_i + x1_i)))) /
                    float32(252.0)))))), t7_i - t8_i))
                )
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 4096)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 4096)
            t6 = scratch + 5120
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = x0_i / x1_i
                store_f32(t6, i, value)
            call_library(loops, LOG1P, n, (t6, 4, t6, 4))
            t7 = scratch + 6144
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = x1_i + x0_i
                store_f32(t7, i, value)
            call_library(loops, DIGAMMA, n, (t7, 4, t7, 4))
            t8 = scratch + 7168
            call_library(loops, DIGAMMA, n, (x1, 4, t8, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t6_i = load_f32(t6, i)
                t7_i = load_f32(t7, i)
                t8_i = load_f32(t8, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                y_i = load_f32(y, i)
                value = (
                    masked_multiply(bar, -y_i * where((x1_i > float32(64.0)) & ((x1_i + x0_i) >
                    float32(64.0)), t6_i + (((x0_i / x1_i) / (x1_i + x0_i)) * (float32(0.5) +
                    (((float32(1.0) / x1_i) + (float32(1.0) / (x1_i + x0_i))) * (((float32(1.0) /
                    float32(12.0)) - ((square(float32(1.0) / x1_i) + square(float32(1.0) / (x1_i +
                    x0_i))) / float32(120.0))) + ((((square(float32(1.0) / x1_i) * square(float32(1.0) /
                    x1_i)) + (square(float32(1.0) / x1_i) * square(float32(1.0) / (x1_i + x0_i)))) +
                    (square(float32(1.0) / (x1_i + x0_i)) * square(float32(1.0) / (x1_i + x0_i)))) /
                    float32(252.0)))))), t7_i - t8_i))
                )
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 4096)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    end_f32(whole, frame, 1, x1_sum)
    return 0


def betaln_forward_f32(frame: int, loops: int) -> int:
    """y = betaln(x0, x1)."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, BETALN, count, arrays)
    return 0


def betaln_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (-where((x0 > 64) & (x0 + x1 > 64), log1p(x1 / x0) + x1 / x0 / (x0 + x1) * (0.5 + (1 / x0 + 1
    / (x0 + x1)) * (1 / 12 - (square(1 / x0) + square(1 / (x0 + x1))) / 120 + (square(1 / x0) * square(1 /
    x0) + square(1 / x0) * square(1 / (x0 + x1)) + square(1 / (x0 + x1)) * square(1 / (x0 + x1))) / 252)),
    digamma(x0 + x1) - digamma(x0))) to x0_bar; y_bar * (-where((x1 > 64) & (x1 + x0 > 64), log1p(x0 / x1) +
    x0 / x1 / (x1 + x0) * (0.5 + (1 / x1 + 1 / (x1 + x0)) * (1 / 12 - (square(1 / x1) + square(1 / (x1 +
    x0))) / 120 + (square(1 / x1) * square(1 / x1) + square(1 / x1) * square(1 / (x1 + x0)) + square(1 / (x1
    + x0)) * square(1 / (x1 + x0))) / 252)), digamma(x1 + x0) - digamma(x1))) to x1_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(896)
    whole = whole_f32(frame, 11, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    x1_mask = open_f32(whole, frame, 1)
    x1_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x0 = operand_f32(block, 0, scratch + 1024)
        x1 = operand_f32(block, 1, scratch + 2048)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 3072)
            t5 = scratch + 4096
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = x1_i / x0_i
                store_f32(t5, i, value)
            call_library(loops, LOG1P, n, (t5, 4, t5, 4))
            t6 = scratch + 5120
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = x0_i + x1_i
                store_f32(t6, i, value)
            call_library(loops, DIGAMMA, n, (t6, 4, t6, 4))
            t7 = scratch + 6144
            call_library(loops, DIGAMMA, n, (x0, 4, t7, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                t6_i = load_f32(t6, i)
                t7_i = load_f32(t7, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    -where((x0_i > float32(64.0)) & ((x0_i + x1_i) > float32(64.0)),
                    masked_multiply(bar, t5_i + (((x1_i / x0_i) / (x0_i + x1_i)) * (float32(0.5) +
                    (((float32(1.0) / x0_i) + (float32(1.0) / (x0_i + x1_i))) * (((float32(1.0) /
                    float32(12.0)) - ((square(float32(1.0) / x0_i) + square(float32(1.0) / (x0_i +
                    x1_i))) / float32(120.0))) + ((((square(float32(1.0) / x0_i) * square(float32(1.0) /
                    x0_i)) + (square(float32(1.0) / x0_i) * square(float32(1.0) / (x0_i + x1_i)))) +
                    (square(float32(1.0) / (x0_i + x1_i)) * square(float32(1.0) / (x0_i + x1_i)))) /
                    float32(252.0))))))), masked_multiply(bar, t6_i - t7_i))
                )
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 3072)
        if load_i64(frame, X_BAR + 1) != 0:
            x1_bar = contributions_f32(block, 1, scratch + 3072)
            t5 = scratch + 4096
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = x0_i / x1_i
                store_f32(t5, i, value)
            call_library(loops, LOG1P, n, (t5, 4, t5, 4))
            t6 = scratch + 5120
            for i in range(n):
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = x1_i + x0_i
                store_f32(t6, i, value)
            call_library(loops, DIGAMMA, n, (t6, 4, t6, 4))
            t7 = scratch + 6144
            call_library(loops, DIGAMMA, n, (x1, 4, t7, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t5_i = load_f32(t5, i)
                t6_i = load_f32(t6, i)
                t7_i = load_f32(t7, i)
                x0_i = load_f32(x0, i)
                x1_i = load_f32(x1, i)
                value = (
                    -where((x1_i > float32(64.0)) & ((x1_i + x0_i) > float32(64.0)),
                    masked_multiply(bar, t5_i + (((x0_i / x1_i) / (x1_i + x0_i)) * (float32(0.5) +
                    (((float32(1.0) / x1_i) + (float32(1.0) / (x1_i + x0_i))) * (((float32(1.0) /
                    float32(12.0)) - ((square(float32(1.0) / x1_i) + square(float32(1.0) / (x1_i +
                    x0_i))) / float32(120.0))) + ((((square(float32(1.0) / x1_i) * square(float32(1.0) /
                    x1_i)) + (square(float32(1.0) / x1_i) * square(float32(1.0) / (x1_i + x0_i)))) +
                    (square(float32(1.0) / (x1_i + x0_i)) * square(float32(1.0) / (x1_i + x0_i)))) /
                    float32(252.0))))))), masked_multiply(bar, t6_i - t7_i))
                )
                store_f32(x1_bar, i, load_masked_f32(x1_bar, i, x1_mask) + value)
            x1_sum += close_f32(block, 1, scratch + 3072)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    end_f32(whole, frame, 1, x1_sum)
    return 0


def lgamma_half_step_forward_f32(frame: int, loops: int) -> int:
    """y = where(x0 < 8, log(gamma(x0 + 0.5) / (gamma(x0) * sqrt(x0))), 0.5 * log1p((1 / (8 * x0 - 2 + 9 /
    (8 * x0 - 2 + 25 / (8 * x0 - 2 + 49 / (8 * x0 - 2 + 81 / (8 * x0 - 2 + 121 / (8 * x0 - 2 + 169 / (8 * x0
    - 2 + 225 / (8 * x0 - 2 + 289 / (8 * x0 - 2))))))))) - 1) / (4 * x0)))."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(768)
    whole = whole_f32(frame, 9, 0)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        x0 = operand_f32(block, 0, scratch + 0)
        y = target_f32(block, 3, scratch + 1024)
        t3 = scratch + 2048
        for i in range(n):
            x0_i = load_f32(x0, i)
            value = x0_i + float32(0.5)
            store_f32(t3, i, value)
        call_library(loops, GAMMA, n, (t3, 4, t3, 4))
        t4 = scratch + 3072
        call_library(loops, GAMMA, n, (x0, 4, t4, 4))
        t5 = scratch + 4096
        for i in range(n):
            t3_i = load_f32(t3, i)
            t4_i = load_f32(t4, i)
            x0_i = load_f32(x0, i)
            value = t3_i / (t4_i * sqrt(x0_i))
            store_f32(t5, i, value)
        call_library(loops, LOG, n, (t5, 4, t5, 4))
        t6 = scratch + 5120
        for i in range(n):
            x0_i = load_f32(x0, i)
            value = (
                ((float32(1.0) / (((float32(8.0) * x0_i) - float32(2.0)) + (float32(9.0) /
                (((float32(8.0) * x0_i) - float32(2.0)) + (float32(25.0) / (((float32(8.0) * x0_i) -
                float32(2.0)) + (float32(49.0) / (((float32(8.0) * x0_i) - float32(2.0)) +
                (float32(81.0) / (((float32(8.0) * x0_i) - float32(2.0)) + (float32(121.0) /
                (((float32(8.0) * x0_i) - float32(2.0)) + (float32(169.0) / (((float32(8.0) * x0_i) -
                float32(2.0)) + (float32(225.0) / (((float32(8.0) * x0_i) - float32(2.0)) +
                (float32(289.0) / ((float32(8.0) * x0_i) - float32(2.0))))))))))))))))))) -
                float32(1.0)) / (float32(4.0) * x0_i)
            )
            store_f32(t6, i, value)
        call_library(loops, LOG1P, n, (t6, 4, t6, 4))
        for i in range(n):
            t5_i = load_f32(t5, i)
            t6_i = load_f32(t6, i)
            x0_i = load_f32(x0, i)
            value = where(x0_i < float32(8.0), t5_i, float32(0.5) * t6_i)
            store_f32(y, i, value)
        finish_f32(block, scratch + 1024)
        start += n
    return 0


def lgamma_half_step_reverse_f32(frame: int, loops: int) -> int:
    """y_bar * (where(x0 < 8, digamma(x0 + 0.5) - digamma(x0) - 0.5 / x0, (1 - 1 / (4 * x0 - 1 + 4 / (4 * x0
    - 1 + 9 / (4 * x0 - 1 + 16 / (4 * x0 - 1 + 25 / (4 * x0 - 1 + 36 / (4 * x0 - 1 + 49 / (4 * x0 - 1 + 64 /
    (4 * x0 - 1 + 81 / (4 * x0 - 1)))))))))) / (2 * x0 * (4 * x0 - 1 + 1 / (4 * x0 - 1 + 4 / (4 * x0 - 1 + 9
    / (4 * x0 - 1 + 16 / (4 * x0 - 1 + 25 / (4 * x0 - 1 + 36 / (4 * x0 - 1 + 49 / (4 * x0 - 1 + 64 / (4 * x0
    - 1 + 81 / (4 * x0 - 1))))))))))))) to x0_bar."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(640)
    whole = whole_f32(frame, 9, 0)
    x0_mask = open_f32(whole, frame, 0)
    x0_sum = 0.0
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y_bar = bar_f32(block, 3, scratch + 0)
        x0 = operand_f32(block, 0, scratch + 1024)
        if load_i64(frame, X_BAR + 0) != 0:
            x0_bar = contributions_f32(block, 0, scratch + 2048)
            t4 = scratch + 3072
            for i in range(n):
                x0_i = load_f32(x0, i)
                value = x0_i + float32(0.5)
                store_f32(t4, i, value)
            call_library(loops, DIGAMMA, n, (t4, 4, t4, 4))
            t5 = scratch + 4096
            call_library(loops, DIGAMMA, n, (x0, 4, t5, 4))
            for i in range(n):
                bar = load_f32(y_bar, i)
                t4_i = load_f32(t4, i)
                t5_i = load_f32(t5, i)
                x0_i = load_f32(x0, i)
                value = (
                    where(x0_i < float32(8.0), masked_multiply(bar, (t4_i - t5_i) - (float32(0.5) /
                    x0_i)), masked_multiply(bar, (float32(1.0) - (float32(1.0) / (((float32(4.0) * x0_i)
                    - float32(1.0)) + (float32(4.0) / (((float32(4.0) * x0_i) - float32(1.0)) +
                    (float32(9.0) / (((float32(4.0) * x0_i) - float32(1.0)) + (float32(16.0) /
                    (((float32(4.0) * x0_i) - float32(1.0)) + (float32(25.0) / (((float32(4.0) * x0_i) -
                    float32(1.0)) + (float32(36.0) / (((float32(4.0) * x0_i) - float32(1.0)) +
                    (float32(49.0) / (((float32(4.0) * x0_i) - float32(1.0)) + (float32(64.0) /
                    (((float32(4.0) * x0_i) - float32(1.0)) + (float32(81.0) / ((float32(4.0) * x0_i) -
                    float32(1.0)))))))))))))))))))) / ((float32(2.0) * x0_i) * (((float32(4.0) * x0_i) -
                    float32(1.0)) + (float32(1.0) / (((float32(4.0) * x0_i) - float32(1.0)) +
                    (float32(4.0) / (((float32(4.0) * x0_i) - float32(1.0)) + (float32(9.0) /
                    (((float32(4.0) * x0_i) - float32(1.0)) + (float32(16.0) / (((float32(4.0) * x0_i) -
                    float32(1.0)) + (float32(25.0) / (((float32(4.0) * x0_i) - float32(1.0)) +
                    (float32(36.0) / (((float32(4.0) * x0_i) - float32(1.0)) + (float32(49.0) /
                    (((float32(4.0) * x0_i) - float32(1.0)) + (float32(64.0) / (((float32(4.0) * x0_i) -
                    float32(1.0)) + (float32(81.0) / ((float32(4.0) * x0_i) -
                    float32(1.0)))))))))))))))))))))))
                )
                store_f32(x0_bar, i, load_masked_f32(x0_bar, i, x0_mask) + value)
            x0_sum += close_f32(block, 0, scratch + 2048)
        start += n
    end_f32(whole, frame, 0, x0_sum)
    return 0
