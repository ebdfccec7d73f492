"""From partials to the tangent of a result: what the generated tangent kernels share.

A tangent kernel computes the partials of a block of elements once and applies them to all tangents. PARAMS of its
frame is 0, for one tangent, or the address of ``[tangents, step of x0, of x1, of x2, of y]``: the bytes from one
tangent of an element to the next tangent of it. The BAR words hold the addresses of the first tangents, 0 for an
operand that has none. The result's tangent is written, never added to.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from tapegrad.engine.kernels.arithmetic import masked_multiply
from tapegrad.engine.kernels.blocks import Block, operand_block, target_at, unpack_block
from tapegrad.engine.kernels.cotangents import flush_result
from tapegrad.engine.kernels.frame import COUNT, PARAMS, STRIDE, X_BAR, Y_BAR, Y_STRIDE
from tapegrad.engine.kernels.inlining import always_inline, noinline_contracted
from tapegrad.engine.kernels.llvm_types import i64
from tapegrad.engine.kernels.raw_memory import load_at, load_i64, size_of, stack_words, store_at

_SHORT = 4  # elements up to which the inner loop goes along the tangents
_BLOCK_WORDS = 256
# The address of the partials of an operand without a tangent. A plain 0 would have a function compiled anew.
ABSENT = np.int64(0)


@always_inline
def tangent_count(frame: int) -> int:
    """Number of tangents."""
    params = load_i64(frame, PARAMS)
    return load_i64(params, 0) if params != 0 else 1


@always_inline
def _step(frame: int, operand: int) -> int:
    """Bytes from one tangent to the next of operand 0, 1, 2 or, as operand 3, of the result."""
    params = load_i64(frame, PARAMS)
    return load_i64(params, 1 + operand) if params != 0 else 0


@intrinsic
def tangent_block(typingctx, block, operand, base, scratch, zero):
    """Address of a block of elements, of the type of `zero`, of the tangent that begins at `base`."""

    def codegen(context, builder, signature, args):
        block_ = unpack_block(builder, args[0])
        return operand_block(builder, block_, zero.bitwidth // 8, args[1:4], refill=True)

    return types.int64(block, types.int64, types.int64, types.int64, zero), codegen


@intrinsic
def tangent_target(typingctx, block, base, scratch, zero):
    """Address to which a block of the result's tangent that begins at `base` is written: there or in scratch."""

    def codegen(context, builder, signature, args):
        block_ = unpack_block(builder, args[0])
        return target_at(builder, block_, zero.bitwidth // 8, (i64(3), *args[1:3]))

    return types.int64(block, types.int64, types.int64, zero), codegen


@intrinsic
def tangent_finish(typingctx, block, base, scratch, zero):
    """Bring a block of the result's tangent that begins at `base` from scratch to where it belongs."""

    def codegen(context, builder, signature, args):
        _, base_, scratch_, _ = args
        flush_result(builder, unpack_block(builder, args[0]), base_, scratch_, context.get_value_type(zero))
        return context.get_dummy_value()

    return types.void(block, types.int64, types.int64, zero), codegen


@noinline_contracted
def write_zeros(frame: int, zero: Any) -> None:
    """Write a tangent of zeros: of what no tangent flows into, or has the partial 0."""
    y_step = _step(frame, np.int64(3))
    for k in range(tangent_count(frame)):
        y_dot = load_i64(frame, Y_BAR) + k * y_step
        for i in range(load_i64(frame, COUNT)):
            store_at(y_dot, i * load_i64(frame, Y_STRIDE), zero, zero)


@always_inline
def _load_or_zero(address: int, offset: int, zero: Any) -> Any:
    return load_at(address, offset, zero) if address != 0 else zero


@always_inline
def _along(frame: int, operand: int, i: int, zero_word: int) -> Any:
    """Address of the first tangent of element `i` and the step to the next; a zero where there is none."""
    base = load_i64(frame, X_BAR + operand)
    if base == 0:
        return zero_word, 0
    return base + i * load_i64(frame, STRIDE + operand), _step(frame, operand)


@noinline_contracted
def _apply_along(block: Block, p0: int, p1: int, p2: int, zero: Any) -> None:
    """Apply partials to few elements: the inner loop goes along the tangents."""
    frame, start = block.frame, block.start
    zero_word = stack_words(1)
    store_at(zero_word, 0, zero, zero)
    y_step = _step(frame, np.int64(3))
    for i in range(block.n):
        a0, s0 = _along(frame, np.int64(0), start + i, zero_word)
        a1, s1 = _along(frame, np.int64(1), start + i, zero_word)
        a2, s2 = _along(frame, np.int64(2), start + i, zero_word)
        p0_i = _load_or_zero(p0, i * size_of(zero), zero)
        p1_i = _load_or_zero(p1, i * size_of(zero), zero)
        p2_i = _load_or_zero(p2, i * size_of(zero), zero)
        y = load_i64(frame, Y_BAR) + (start + i) * load_i64(frame, Y_STRIDE)
        for k in range(tangent_count(frame)):
            value = masked_multiply(p0_i, load_at(a0, k * s0, zero)) + masked_multiply(
                p1_i, load_at(a1, k * s1, zero)
            )
            store_at(y, k * y_step, value + masked_multiply(p2_i, load_at(a2, k * s2, zero)), zero)


@noinline_contracted
def _apply_one(block: Block, operand: int, p: int, scratch: int, zero: Any) -> None:
    frame = block.frame
    y_step, step = _step(frame, np.int64(3)), _step(frame, operand)
    y_dot, x_dot = load_i64(frame, Y_BAR), load_i64(frame, X_BAR + operand)
    target, size = scratch + _BLOCK_WORDS * size_of(zero), size_of(zero)
    for k in range(tangent_count(frame)):
        d = tangent_block(block, operand, x_dot + k * step, scratch, zero)
        y = tangent_target(block, y_dot + k * y_step, target, zero)
        for i in range(block.n):
            value = masked_multiply(load_at(p, i * size, zero), load_at(d, i * size, zero))
            store_at(y, i * size, value, zero)
        tangent_finish(block, y_dot + k * y_step, target, zero)


@noinline_contracted
def _apply_both(block: Block, j0: int, p0: int, j1: int, p1: int, scratch: int, zero: Any) -> None:
    frame = block.frame
    y_step, step0, step1 = _step(frame, np.int64(3)), _step(frame, j0), _step(frame, j1)
    y_dot, x0_dot, x1_dot = load_i64(frame, Y_BAR), load_i64(frame, X_BAR + j0), load_i64(frame, X_BAR + j1)
    size = size_of(zero)
    other, target = scratch + _BLOCK_WORDS * size, scratch + 2 * _BLOCK_WORDS * size
    for k in range(tangent_count(frame)):
        d0 = tangent_block(block, j0, x0_dot + k * step0, scratch, zero)
        d1 = tangent_block(block, j1, x1_dot + k * step1, other, zero)
        y = tangent_target(block, y_dot + k * y_step, target, zero)
        for i in range(block.n):
            value = masked_multiply(load_at(p0, i * size, zero), load_at(d0, i * size, zero))
            value += masked_multiply(load_at(p1, i * size, zero), load_at(d1, i * size, zero))
            store_at(y, i * size, value, zero)
        tangent_finish(block, y_dot + k * y_step, target, zero)


@noinline_contracted
def _apply_all(block: Block, p0: int, p1: int, p2: int, scratch: int, zero: Any) -> None:
    frame, size = block.frame, size_of(zero)
    y_step, y_dot = _step(frame, np.int64(3)), load_i64(frame, Y_BAR)
    d0, d1 = scratch, scratch + _BLOCK_WORDS * size
    d2, target = scratch + 2 * _BLOCK_WORDS * size, scratch + 3 * _BLOCK_WORDS * size
    for k in range(tangent_count(frame)):
        b0 = load_i64(frame, X_BAR) + k * _step(frame, np.int64(0))
        b1 = load_i64(frame, X_BAR + 1) + k * _step(frame, np.int64(1))
        b2 = load_i64(frame, X_BAR + 2) + k * _step(frame, np.int64(2))
        d0_k = tangent_block(block, np.int64(0), b0, d0, zero)
        d1_k = tangent_block(block, np.int64(1), b1, d1, zero)
        d2_k = tangent_block(block, np.int64(2), b2, d2, zero)
        y = tangent_target(block, y_dot + k * y_step, target, zero)
        for i in range(block.n):
            value = masked_multiply(load_at(p0, i * size, zero), load_at(d0_k, i * size, zero))
            value += masked_multiply(load_at(p1, i * size, zero), load_at(d1_k, i * size, zero))
            value += masked_multiply(load_at(p2, i * size, zero), load_at(d2_k, i * size, zero))
            store_at(y, i * size, value, zero)
        tangent_finish(block, y_dot + k * y_step, target, zero)


@noinline_contracted
def apply_partials(block: Block, p0: int, p1: int, p2: int, scratch: int, zero: Any) -> None:
    """Write all tangents of a block of the result; `scratch` has room for four blocks.

    `p0`, `p1` and `p2` are the addresses of the block's partials, 0 for an operand that has no tangent.
    """
    if block.n <= _SHORT:
        _apply_along(block, p0, p1, p2, zero)
    elif p0 != 0 and p1 != 0 and p2 != 0:
        _apply_all(block, p0, p1, p2, scratch, zero)
    elif (p0 != 0) + (p1 != 0) + (p2 != 0) == 2:
        j0, first = (np.int64(0), p0) if p0 != 0 else (np.int64(1), p1)
        j1, second = (np.int64(2), p2) if p2 != 0 else (np.int64(1), p1)
        _apply_both(block, j0, first, j1, second, scratch, zero)
    elif p0 != 0:
        _apply_one(block, np.int64(0), p0, scratch, zero)
    elif p1 != 0:
        _apply_one(block, np.int64(1), p1, scratch, zero)
    else:
        _apply_one(block, np.int64(2), p2, scratch, zero)


@always_inline
def _constants(block: int, constant: Any, zero: Any) -> int:
    """Few partials that are all `constant`; 0 where that is 0: no tangent."""
    for i in range(_SHORT):
        store_at(block, i * size_of(zero), constant, zero)
    return block if constant != zero else 0


@noinline_contracted
def apply_constants(block: Block, c0: Any, c1: Any, scratch: int, zero: Any) -> None:
    """`apply_partials` where the partials are constants; 0 for an operand that has no tangent."""
    frame, size = block.frame, size_of(zero)
    if block.n <= _SHORT:
        p0, p1 = _constants(scratch, c0, zero), _constants(scratch + _BLOCK_WORDS * size, c1, zero)
        _apply_along(block, p0, p1, np.int64(0), zero)
        return
    operand, constant = (np.int64(0), c0) if c0 != zero else (np.int64(1), c1)
    x0_dot, step0 = load_i64(frame, X_BAR + operand), _step(frame, operand)
    x1_dot, step1 = load_i64(frame, X_BAR + 1), _step(frame, np.int64(1))
    both = (c0 != zero) & (c1 != zero)
    y_step, y_dot = _step(frame, np.int64(3)), load_i64(frame, Y_BAR)
    other, target = scratch + _BLOCK_WORDS * size, scratch + 2 * _BLOCK_WORDS * size
    for k in range(tangent_count(frame)):
        d0 = tangent_block(block, operand, x0_dot + k * step0, scratch, zero)
        y = tangent_target(block, y_dot + k * y_step, target, zero)
        if both:
            d1 = tangent_block(block, np.int64(1), x1_dot + k * step1, other, zero)
            for i in range(block.n):
                value = constant * load_at(d0, i * size, zero) + c1 * load_at(d1, i * size, zero)
                store_at(y, i * size, value, zero)
        else:
            for i in range(block.n):
                store_at(y, i * size, constant * load_at(d0, i * size, zero), zero)
        tangent_finish(block, y_dot + k * y_step, target, zero)
