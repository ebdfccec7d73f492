"""Blocks of an elementwise loop, as Numba intrinsics.

A generated kernel has one arithmetic loop, over adjacent elements, which LLVM vectorises. Where all
operands are adjacent in memory (the loop is `whole`) it runs straight over them. Otherwise it runs over
blocks of `BLOCK` elements: an operand that is not adjacent is packed into a scratch block on the stack,
by one of NumPy's strided loops or, in a block of at most `SMALL` elements, by a plain one. All that is
out of line: it is compiled small, not fast.

Operands are numbered as in the frame: 0, 1, 2, and 3 for the result.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tapegrad.engine.kernels.frame import COUNT, STRIDE, X_BAR, X

BLOCK = 256
SMALL = 16
_LANES = 8

_I8 = ir.IntType(8)
_I32 = ir.IntType(32)
_I64 = ir.IntType(64)


def element_pointer(builder: Any, address: Any, element: Any, index: Any) -> Any:
    return builder.gep(builder.inttoptr(address, element.as_pointer()), [index])


def frame_word(builder: Any, frame: Any, index: Any) -> Any:
    return builder.load(element_pointer(builder, frame, _I64, index))


def stride_of(builder: Any, frame: Any, operand: Any) -> Any:
    return frame_word(builder, frame, builder.add(operand, _I64(STRIDE)))


def own_function(module: Any, name: str, result: Any, arity: int, build: Callable[..., None]) -> Any:
    """The module's own function `name` of 64-bit integers, built once and kept out of line and small."""
    if name in module.globals:
        return module.globals[name]
    function = ir.Function(module, ir.FunctionType(result, [_I64] * arity), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    function.attributes.add("optsize")
    build(ir.IRBuilder(function.append_basic_block("entry")), *function.args)
    return function


def _words(builder: Any, values: Any) -> Any:
    """Address of an array on the stack that holds `values`."""
    block = builder.alloca(ir.ArrayType(_I64, len(values)))
    for index, value in enumerate(values):
        builder.store(value, builder.gep(block, [_I32(0), _I32(index)]))
    return builder.ptrtoint(block, _I64)


def library_call(module: Any, operands: int) -> Any:
    """``call(loops, entry, n, address, stride, ...)``: a library loop over so many arrays, result last."""

    def build(builder: Any, loops: Any, entry: Any, count: Any, *pairs: Any) -> None:
        table = builder.shl(entry, _I64(1))
        loop, data = (
            frame_word(builder, loops, table),
            frame_word(builder, loops, builder.add(table, _I64(1))),
        )
        arguments = _words(builder, pairs[::2]), _words(builder, [count]), _words(builder, pairs[1::2])
        with builder.if_then(builder.icmp_signed(">", count, _I64(0))):
            signature = ir.FunctionType(ir.VoidType(), [_I64] * 4).as_pointer()
            builder.call(builder.inttoptr(loop, signature), [*arguments, data])
        builder.ret_void()

    return own_function(module, f"tapegrad.library.{operands}", ir.VoidType(), 3 + 2 * operands, build)


@intrinsic
def call_unary(typingctx, loops, entry, n, x0, x0_stride, y, y_stride):
    """Library loop `entry` over `n` elements at byte strides: one operand and the result."""

    def codegen(context, builder, signature, args):
        builder.call(library_call(builder.module, 2), args)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 7), codegen


@intrinsic
def call_binary(typingctx, loops, entry, n, x0, x0_stride, x1, x1_stride, y, y_stride):
    """Library loop `entry` over `n` elements at byte strides: two operands and the result."""

    def codegen(context, builder, signature, args):
        builder.call(library_call(builder.module, 3), args)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 9), codegen


def each(builder: Any, count: Any, body: Callable[[Any], None], step: int = 1, start: Any = None) -> Any:
    """Emit a loop over the indices up to `count` by `step` while there is room; the index where it ends."""
    before = builder.block
    test, loop, after = (builder.append_basic_block(name) for name in ("test", "loop", "after"))
    builder.branch(test)
    builder.position_at_end(test)
    index = builder.phi(_I64)
    index.add_incoming(_I64(0) if start is None else start, before)
    following = builder.add(index, _I64(step))
    builder.cbranch(builder.icmp_signed("<=", following, count), loop, after)
    builder.position_at_end(loop)
    body(index)
    index.add_incoming(following, builder.block)
    builder.branch(test)
    builder.position_at_end(after)
    return index


def strided_pointer(builder: Any, address: Any, element: Any, index: Any, stride: Any) -> Any:
    """Pointer to the `index`-th element at a stride in bytes."""
    first = builder.inttoptr(address, _I8.as_pointer())
    return builder.bitcast(builder.gep(first, [builder.mul(index, stride)]), element.as_pointer())


def pack(module: Any, size: int, refill: bool) -> Any:
    """``pack(frame, loops, copy, operand, base, start, n, scratch)``: where the block's elements are adjacent.

    `base` is the address of the first block's first element. An absent operand is left alone. A broadcast one is
    packed only in the first block, which is the largest, unless `refill`.
    """
    element = ir.IntType(8 * size)

    def build(
        builder: Any, frame: Any, loops: Any, copy: Any, operand: Any, base: Any, start: Any, n: Any,
        scratch: Any,
    ) -> None:  # fmt: skip
        stride = stride_of(builder, frame, operand)
        source = builder.add(base, builder.mul(start, stride))
        adjacent = builder.icmp_signed("==", stride, _I64(size))
        with builder.if_then(builder.or_(adjacent, builder.icmp_signed("==", base, _I64(0)))):
            builder.ret(source)
        with builder.if_then(builder.icmp_signed("==", stride, _I64(0))):
            if not refill:
                with builder.if_then(builder.icmp_signed(">", start, _I64(0))):
                    builder.ret(scratch)
            _emit_fill(
                builder, element, builder.load(element_pointer(builder, base, element, _I64(0))), n, scratch
            )
            builder.ret(scratch)
        with builder.if_then(builder.icmp_signed("<=", n, _I64(SMALL))):
            each(
                builder,
                n,
                lambda i: builder.store(
                    builder.load(strided_pointer(builder, source, element, i, stride)),
                    element_pointer(builder, scratch, element, i),
                ),
            )
            builder.ret(scratch)
        builder.call(library_call(module, 2), [loops, copy, n, source, stride, scratch, _I64(size)])
        builder.ret(scratch)

    return own_function(module, f"tapegrad.pack.{size}.{refill}", _I64, 8, build)


def _emit_fill(builder: Any, element: Any, value: Any, n: Any, scratch: Any) -> None:
    """Emit the loop that fills a block with one element, eight at a time: a block has room for whole eights."""
    lanes = ir.VectorType(element, _LANES)
    wide = ir.Constant(lanes, ir.Undefined)
    for lane in range(_LANES):
        wide = builder.insert_element(wide, value, _I32(lane))

    def body(i: Any) -> None:
        place = builder.bitcast(element_pointer(builder, scratch, element, i), lanes.as_pointer())
        builder.store(wide, place, align=element.width // 8)

    each(builder, builder.add(n, _I64(_LANES - 1)), body, step=_LANES)


def operand_block(builder: Any, whole: Any, size: int, arguments: Any, refill: bool) -> Any:
    """Address of a block: in memory where the loop is `whole`, else where `pack`, given its `arguments`, says."""
    base, start = arguments[4:6]
    adjacent = builder.add(base, builder.mul(start, _I64(size)))
    function = pack(builder.module, size, refill)
    return unless(builder, whole, adjacent, lambda: builder.call(function, arguments))


def _operand(first: int, size: int) -> Any:
    """An intrinsic: address of a block of elements of operand `operand`, for frame words from `first`."""

    @intrinsic
    def operand_at(typingctx, whole, frame, loops, copy, operand, start, n, scratch):
        def codegen(context, builder, signature, args):
            whole_, frame_, loops_, copy_, operand_, *rest = args
            base = frame_word(builder, frame_, builder.add(operand_, _I64(first)))
            arguments = [frame_, loops_, copy_, operand_, base, *rest]
            return operand_block(builder, whole_, size, arguments, refill=False)

        return types.int64(types.boolean, *[types.int64] * 7), codegen

    return operand_at


def unless(builder: Any, condition: Any, value: Any, otherwise: Callable[[], Any]) -> Any:
    """`value` if `condition`, else what `otherwise` emits."""
    before = builder.block
    with builder.if_then(builder.not_(condition), likely=False):
        other, after = otherwise(), builder.block
    result = builder.phi(value.type)
    result.add_incoming(value, before)
    result.add_incoming(other, after)
    return result


def target_block(first: int, size: int) -> Any:
    """An intrinsic: address to which a block of operand `operand` is written, in memory or in scratch."""

    @intrinsic
    def target(typingctx, whole, frame, operand, start, scratch):
        def codegen(context, builder, signature, args):
            whole_, frame_, operand_, start_, scratch_ = args
            base = frame_word(builder, frame_, builder.add(operand_, _I64(first)))
            memory = builder.add(base, builder.mul(start_, _I64(size)))
            adjacent = builder.icmp_signed("==", stride_of(builder, frame_, operand_), _I64(size))
            return builder.select(builder.or_(whole_, adjacent), memory, scratch_)

        return types.int64(types.boolean, *[types.int64] * 4), codegen

    return target


def _whole(size: int) -> Any:
    """An intrinsic: whether the operands of the bit masks `elements` and `bytes_` (booleans) are adjacent."""

    @intrinsic
    def whole(typingctx, frame, elements, bytes_):
        if not (isinstance(elements, types.IntegerLiteral) and isinstance(bytes_, types.IntegerLiteral)):
            return None
        sizes = {j: size for j in range(4) if elements.literal_value >> j & 1}
        sizes |= {j: 1 for j in range(4) if bytes_.literal_value >> j & 1}

        def codegen(context, builder, signature, args):
            differences = _I64(0)
            for operand, expected in sizes.items():
                stride = stride_of(builder, args[0], _I64(operand))
                differences = builder.or_(differences, builder.xor(stride, _I64(expected)))
            one = builder.icmp_signed("==", frame_word(builder, args[0], _I64(COUNT)), _I64(1))
            return builder.or_(one, builder.icmp_signed("==", differences, _I64(0)))

        return types.boolean(types.int64, elements, bytes_), codegen

    return whole


operand_f64 = _operand(X, 8)
operand_f32 = _operand(X, 4)
operand_u8 = _operand(X, 1)
bar_f64 = _operand(X_BAR, 8)
bar_f32 = _operand(X_BAR, 4)
target_f64 = target_block(X, 8)
target_f32 = target_block(X, 4)
target_u8 = target_block(X, 1)
whole_f64 = _whole(8)
whole_f32 = _whole(4)
