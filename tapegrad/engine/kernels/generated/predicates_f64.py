"""Elementwise kernels in f64: predicates.

Generated from tapegrad/ops/elementwise.py by `make gen`; do not edit.
"""

from tapegrad.engine.kernels.blocks import BLOCK, Block, call_library, target_u8, whole_f64
from tapegrad.engine.kernels.cotangents import finish_u8
from tapegrad.engine.kernels.frame import COUNT, STRIDE, Y_STRIDE, X, Y
from tapegrad.engine.kernels.library import entry
from tapegrad.engine.kernels.raw_memory import load_i64, stack_words

EQUAL = entry("equal", "d")
GREATER = entry("greater", "d")
GREATER_EQUAL = entry("greater_equal", "d")
ISFINITE = entry("isfinite", "d")
ISINF = entry("isinf", "d")
ISNAN = entry("isnan", "d")
LESS = entry("less", "d")
LESS_EQUAL = entry("less_equal", "d")
NOT_EQUAL = entry("not_equal", "d")

FLAGS: dict[str, set[str]] = {"fastmath": {"contract"}}
LIBRARY: dict[str, tuple[str, ...]] = {
    "less_forward_f64": ("less",),
    "less_equal_forward_f64": ("less_equal",),
    "greater_forward_f64": ("greater",),
    "greater_equal_forward_f64": ("greater_equal",),
    "equal_forward_f64": ("equal",),
    "not_equal_forward_f64": ("not_equal",),
    "isnan_forward_f64": ("absolute", "isnan"),
    "isinf_forward_f64": ("absolute", "isinf"),
    "isfinite_forward_f64": ("absolute", "isfinite"),
}


def less_forward_f64(frame: int, loops: int) -> int:
    """y = x0 < x1."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, LESS, count, arrays)
    return 0


def less_equal_forward_f64(frame: int, loops: int) -> int:
    """y = x0 <= x1."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, LESS_EQUAL, count, arrays)
    return 0


def greater_forward_f64(frame: int, loops: int) -> int:
    """y = x0 > x1."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, GREATER, count, arrays)
    return 0


def greater_equal_forward_f64(frame: int, loops: int) -> int:
    """y = x0 >= x1."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, GREATER_EQUAL, count, arrays)
    return 0


def equal_forward_f64(frame: int, loops: int) -> int:
    """y = x0 == x1."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, EQUAL, count, arrays)
    return 0


def not_equal_forward_f64(frame: int, loops: int) -> int:
    """y = x0 != x1."""
    count = load_i64(frame, COUNT)
    arrays = (
        load_i64(frame, X + 0), load_i64(frame, STRIDE + 0),
        load_i64(frame, X + 1), load_i64(frame, STRIDE + 1),
        load_i64(frame, Y), load_i64(frame, Y_STRIDE),
    )
    call_library(loops, NOT_EQUAL, count, arrays)
    return 0


def isnan_forward_f64(frame: int, loops: int) -> int:
    """y = x0 != x0."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(256)
    stride = load_i64(frame, STRIDE)
    whole = whole_f64(frame, 0, 8)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y = target_u8(block, 3, scratch + 0)
        call_library(loops, ISNAN, n, (load_i64(frame, X) + start * stride, stride, y, 1))
        finish_u8(block, scratch + 0)
        start += n
    return 0


def isinf_forward_f64(frame: int, loops: int) -> int:
    """y = absolute(x0) == inf."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(256)
    stride = load_i64(frame, STRIDE)
    whole = whole_f64(frame, 0, 8)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y = target_u8(block, 3, scratch + 0)
        call_library(loops, ISINF, n, (load_i64(frame, X) + start * stride, stride, y, 1))
        finish_u8(block, scratch + 0)
        start += n
    return 0


def isfinite_forward_f64(frame: int, loops: int) -> int:
    """y = absolute(x0) < inf."""
    count = load_i64(frame, COUNT)
    scratch = stack_words(256)
    stride = load_i64(frame, STRIDE)
    whole = whole_f64(frame, 0, 8)
    start = 0
    while start < count:
        n = count - start
        if n > BLOCK and not whole:
            n = BLOCK
        block = Block(whole, frame, loops, start, n)
        y = target_u8(block, 3, scratch + 0)
        call_library(loops, ISFINITE, n, (load_i64(frame, X) + start * stride, stride, y, 1))
        finish_u8(block, scratch + 0)
        start += n
    return 0
