"""Where an elementwise reverse kernel puts its contributions: the cotangent of one operand.

The kernel's one loop does ``target[i] = (target[i] masked) + contribution``. The mask is all ones to
add to what is there and zero to overwrite it, without a second loop and without a NaN that happened to
lie there. Where the cotangent is not adjacent in memory, the target is a scratch block that is
afterwards added to it, written to it, or, for a broadcast operand, summed in float64 and added once at
the end.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tapegrad.engine.kernels.blocks import (
    SMALL,
    Block,
    copy_call,
    each,
    element_pointer,
    frame_word,
    library_call,
    own_function,
    stride_of,
    strided_pointer,
    target_block,
    unless,
    unpack_block,
)
from tapegrad.engine.kernels.frame import STORE, X_BAR, Y
from tapegrad.engine.kernels.library import entry
from tapegrad.engine.kernels.llvm_types import f32, f64, i1, i8, i32, i64

_LANES = 8
_ADD = {8: entry("add", "d"), 4: entry("add", "f")}  # bytes of an element -> the library loop that adds
_BYTES = {f64: 8, f32: 4, i8: 1}
_WIDE = ir.VectorType(f64, _LANES)


def _is_stored(builder: Any, frame: Any, operand: Any) -> Any:
    """Whether the cotangent of operand `operand` is written rather than added to."""
    return builder.trunc(builder.lshr(frame_word(builder, frame, i64(STORE)), operand), i1)


def _open(size: int) -> Any:
    """An intrinsic: the mask of operand `operand`."""

    @intrinsic
    def open_cotangent(typingctx, whole, frame, operand):
        def codegen(context, builder, signature, args):
            adjacent = builder.icmp_signed("==", stride_of(builder, *args[1:]), i64(size))
            kept = builder.not_(_is_stored(builder, *args[1:]))
            return builder.sext(builder.and_(kept, builder.or_(adjacent, args[0])), i64)

        return types.int64(types.boolean, types.int64, types.int64), codegen

    return open_cotangent


def _masked(numba_type: Any, element: Any, bits: Any) -> Any:
    """An intrinsic: ``load(address, index)``, or zero where `mask` is zero."""

    @intrinsic
    def load_masked(typingctx, address, index, mask):
        def codegen(context, builder, signature, args):
            value = builder.load(element_pointer(builder, args[0], bits, args[1]))
            mask_ = args[2] if bits == i64 else builder.trunc(args[2], bits)
            return builder.bitcast(builder.and_(value, mask_), element)

        return numba_type(*[types.int64] * 3), codegen

    return load_masked


def flush(module: Any, adds: bool, element: Any) -> Any:
    """``flush(frame, loops, stored, operand, base, start, n, scratch)``: from scratch to memory.

    `base` is the address of the first block's first element. If it `adds`, what is not to be `stored` is added, and
    for a broadcast operand nothing is moved and the block's sum is returned, otherwise 0.
    """
    size = _BYTES[element]

    def build(builder: Any, arguments: Any) -> None:
        frame, loops, stored, operand, base, start, n, scratch = arguments
        stride = stride_of(builder, frame, operand)
        with builder.if_then(builder.icmp_signed("==", stride, i64(size))):
            builder.ret(f64(0.0))
        if adds:
            with builder.if_then(builder.icmp_signed("==", stride, i64(0))):
                builder.ret(_emit_sum(builder, element, size, scratch, n))
        memory = builder.add(base, builder.mul(start, stride))
        fresh, packed = builder.trunc(stored, i1), [scratch, i64(size), memory, stride]
        with builder.if_then(builder.icmp_signed("<=", n, i64(SMALL))):
            _emit_short(builder, element, fresh if adds else None, n, packed)
            builder.ret(f64(0.0))
        with builder.if_then(fresh):
            copy_call(builder, loops, n, packed, size)
            builder.ret(f64(0.0))
        if adds:
            add = i64(_ADD[size])
            builder.call(library_call(module, 3), [loops, add, n, memory, stride, *packed])
        builder.ret(f64(0.0))

    return own_function(module, f"tapegrad.flush.{adds}.{size}", f64, 8, build)


def _emit_short(builder: Any, element: Any, fresh: Any, n: Any, packed: Any) -> None:
    """Emit the loop that moves a short block: written if `fresh` or if that is None, otherwise added."""
    scratch, _, memory, stride = packed

    def body(i: Any) -> None:
        value = builder.load(element_pointer(builder, scratch, element, i))
        pointer = strided_pointer(builder, memory, element, i, stride)
        if fresh is not None:
            value = builder.select(fresh, value, builder.fadd(builder.load(pointer), value))
        builder.store(value, pointer)

    each(builder, n, body)


def _emit_sum(builder: Any, element: Any, size: int, scratch: Any, n: Any) -> Any:
    """Emit the sum of a block in float64, by eight partial sums that run side by side."""
    wide, rest = builder.alloca(_WIDE), builder.alloca(f64)
    builder.store(ir.Constant(_WIDE, [0.0] * _LANES), wide)
    lanes = ir.VectorType(element, _LANES).as_pointer()

    def add(total: Any, pointer: Any) -> None:
        value = builder.load(pointer, align=size)
        widened = value if element == f64 else builder.fpext(value, total.type.pointee)
        builder.store(builder.fadd(builder.load(total), widened), total)

    def at(i: Any) -> Any:
        return element_pointer(builder, scratch, element, i)

    end = each(builder, n, lambda i: add(wide, builder.bitcast(at(i), lanes)), step=_LANES)
    builder.store(_across(builder, builder.load(wide)), rest)
    each(builder, n, lambda i: add(rest, at(i)), start=end)
    return builder.load(rest)


def _across(builder: Any, wide: Any) -> Any:
    """Sum of the lanes of a vector."""
    sums = [builder.extract_element(wide, i32(lane)) for lane in range(_LANES)]
    while len(sums) > 1:
        sums = [builder.fadd(a, b) for a, b in zip(sums[::2], sums[1::2], strict=True)]
    return sums[0]


def _close(element: Any) -> Any:
    """An intrinsic: bring a block of contributions from scratch to operand `operand`'s cotangent."""

    @intrinsic
    def close(typingctx, block, operand, scratch):
        def codegen(context, builder, signature, args):
            whole, frame, loops, start, n = unpack_block(builder, args[0])
            operand_, scratch_ = args[1:]
            move = flush(builder.module, True, element)

            def flushed() -> Any:
                stored = builder.zext(_is_stored(builder, frame, operand_), i64)
                base = frame_word(builder, frame, builder.add(operand_, i64(X_BAR)))
                return builder.call(move, [frame, loops, stored, operand_, base, start, n, scratch_])

            return unless(builder, whole, f64(0.0), flushed)

        return types.float64(block, types.int64, types.int64), codegen

    return close


def flush_result(builder: Any, block: Block, base: Any, scratch: Any, element: Any) -> None:
    """Emit what brings a block of the result, whose first element is at `base`, from scratch to where it belongs."""
    move = flush(builder.module, False, element)
    arguments = [block.frame, block.loops, i64(1), i64(3), base, block.start, block.n, scratch]
    with builder.if_then(builder.not_(block.whole), likely=False):
        builder.call(move, arguments)


def _finish(element: Any) -> Any:
    """An intrinsic: bring a block of the result from scratch to where it belongs."""

    @intrinsic
    def finish(typingctx, block, scratch):
        def codegen(context, builder, signature, args):
            block_ = unpack_block(builder, args[0])
            base = frame_word(builder, block_.frame, i64(Y))
            flush_result(builder, block_, base, args[1], element)
            return context.get_dummy_value()

        return types.void(block, types.int64), codegen

    return finish


def _end(element: Any) -> Any:
    """An intrinsic: add the sum over all blocks to a broadcast operand's cotangent, or write it there."""

    @intrinsic
    def end_cotangent(typingctx, whole, frame, operand, total):
        def codegen(context, builder, signature, args):
            whole_, frame_, operand_, total_ = args
            with builder.if_then(builder.not_(whole_), likely=False):
                memory = frame_word(builder, frame_, builder.add(operand_, i64(X_BAR)))
                broadcast = builder.icmp_signed("==", stride_of(builder, frame_, operand_), i64(0))
                wanted = builder.icmp_signed("!=", memory, i64(0))
                with builder.if_then(builder.and_(broadcast, wanted)):
                    pointer = element_pointer(builder, memory, element, i64(0))
                    fresh = _is_stored(builder, frame_, operand_)
                    _emit_total(builder, element, pointer, fresh, total_)
            return context.get_dummy_value()

        return types.void(types.boolean, types.int64, types.int64, types.float64), codegen

    return end_cotangent


def _emit_total(builder: Any, element: Any, pointer: Any, fresh: Any, total: Any) -> None:
    """Emit ``*pointer = total`` or ``*pointer += total``, added in float64."""
    old = builder.load(pointer)
    old = old if element == f64 else builder.fpext(old, f64)
    value = builder.select(fresh, total, builder.fadd(old, total))
    builder.store(value if element == f64 else builder.fptrunc(value, element), pointer)


open_f64 = _open(8)
open_f32 = _open(4)
load_masked_f64 = _masked(types.float64, f64, i64)
load_masked_f32 = _masked(types.float32, f32, i32)
contributions_f64 = target_block(X_BAR, 8)
contributions_f32 = target_block(X_BAR, 4)
close_f64 = _close(f64)
close_f32 = _close(f32)
finish_f64 = _finish(f64)
finish_f32 = _finish(f32)
finish_u8 = _finish(i8)
end_f64 = _end(f64)
end_f32 = _end(f32)
