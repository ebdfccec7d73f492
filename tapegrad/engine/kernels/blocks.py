"""Blocks of an elementwise loop, as Numba intrinsics.

A generated kernel has one arithmetic loop, over adjacent elements, which LLVM vectorises. Where all
operands are adjacent in memory (the loop is `whole`) it runs straight over them. Otherwise it runs over
blocks of `BLOCK` elements: an operand that is not adjacent is packed into a scratch block on the stack,
by one of NumPy's strided loops or, in a block of at most `SMALL` elements, by a plain one. All that is
out of line: it is compiled small, not fast.

Operands are numbered as in the frame: 0, 1, 2, and 3 for the result.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from tapegrad.engine.kernels.frame import COUNT, STRIDE, X_BAR, X
from tapegrad.engine.kernels.library import entry
from tapegrad.engine.kernels.llvm_types import i8, i32, i64

BLOCK = 256
SMALL = 16
_LANES = 8
# Bytes of an element -> the library loop that copies elements of that size.
_COPY = {8: entry("positive", "d"), 4: entry("positive", "f"), 1: entry("absolute")}


class Block(NamedTuple):
    """A block of the loop: `n` elements from number `start` on."""

    whole: Any  # whether all operands are adjacent
    frame: Any
    loops: Any
    start: Any
    n: Any


def unpack_block(builder: Any, block: Any) -> Block:
    """The fields of a block as values of LLVM."""
    return Block(*cgutils.unpack_tuple(builder, block))


def element_pointer(builder: Any, address: Any, element: Any, index: Any) -> Any:
    return builder.gep(builder.inttoptr(address, element.as_pointer()), [index])


def frame_word(builder: Any, frame: Any, index: Any) -> Any:
    return builder.load(element_pointer(builder, frame, i64, index))


def stride_of(builder: Any, frame: Any, operand: Any) -> Any:
    return frame_word(builder, frame, builder.add(operand, i64(STRIDE)))


def own_function(module: Any, name: str, result: Any, arity: int, build: Callable[..., None]) -> Any:
    """The module's own function `name` of 64-bit integers, built once and kept out of line and small."""
    if name in module.globals:
        return module.globals[name]
    function = ir.Function(module, ir.FunctionType(result, [i64] * arity), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    function.attributes.add("optsize")
    build(ir.IRBuilder(function.append_basic_block("entry")), function.args)
    return function


def _words(builder: Any, values: Any) -> Any:
    """Address of an array on the stack that holds `values`."""
    block = builder.alloca(ir.ArrayType(i64, len(values)))
    for index, value in enumerate(values):
        builder.store(value, builder.gep(block, [i32(0), i32(index)]))
    return builder.ptrtoint(block, i64)


def library_call(module: Any, arrays: int) -> Any:
    """``call(loops, entry, n, address, stride, ...)``: a library loop over so many arrays, result last."""

    def build(builder: Any, arguments: Any) -> None:
        loops, entry_, count, *pairs = arguments
        table = builder.shl(entry_, i64(1))
        loop, data = (
            frame_word(builder, loops, table),
            frame_word(builder, loops, builder.add(table, i64(1))),
        )
        passed = _words(builder, pairs[::2]), _words(builder, [count]), _words(builder, pairs[1::2])
        with builder.if_then(builder.icmp_signed(">", count, i64(0))):
            signature = ir.FunctionType(ir.VoidType(), [i64] * 4).as_pointer()
            builder.call(builder.inttoptr(loop, signature), [*passed, data])
        builder.ret_void()

    return own_function(module, f"tapegrad.library.{arrays}", ir.VoidType(), 3 + 2 * arrays, build)


def copy_call(builder: Any, loops: Any, n: Any, pairs: list[Any], size: int) -> Any:
    """Emit a call of the library loop that copies `n` elements of `size` bytes; address and stride, from and to."""
    return builder.call(library_call(builder.module, 2), [loops, i64(_COPY[size]), n, *pairs])


@intrinsic
def call_library(typingctx, loops, entry, n, arrays):
    """Library loop `entry` over `n` elements; `arrays`: of each operand, then of the result, address and stride."""

    def codegen(context, builder, signature, args):
        pairs = [
            context.cast(builder, value, kind, types.int64)
            for value, kind in zip(cgutils.unpack_tuple(builder, args[3]), arrays, strict=True)
        ]
        builder.call(library_call(builder.module, len(pairs) // 2), [*args[:3], *pairs])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, arrays), codegen


def each(builder: Any, count: Any, body: Callable[[Any], None], step: int = 1, start: Any = None) -> Any:
    """Emit a loop over the indices up to `count` by `step` while there is room; the index where it ends."""
    before = builder.block
    test, loop, after = (builder.append_basic_block(name) for name in ("test", "loop", "after"))
    builder.branch(test)
    builder.position_at_end(test)
    index = builder.phi(i64)
    index.add_incoming(i64(0) if start is None else start, before)
    following = builder.add(index, i64(step))
    builder.cbranch(builder.icmp_signed("<=", following, count), loop, after)
    builder.position_at_end(loop)
    body(index)
    index.add_incoming(following, builder.block)
    builder.branch(test)
    builder.position_at_end(after)
    return index


def strided_pointer(builder: Any, address: Any, element: Any, index: Any, stride: Any) -> Any:
    """Pointer to the `index`-th element at a stride in bytes."""
    first = builder.inttoptr(address, i8.as_pointer())
    return builder.bitcast(builder.gep(first, [builder.mul(index, stride)]), element.as_pointer())


def pack(module: Any, size: int, refill: bool) -> Any:
    """``pack(frame, loops, operand, base, start, n, scratch)``: where the block's elements are adjacent.

    `base` is the address of the first block's first element. An absent operand is left alone. A broadcast one is
    packed only in the first block, which is the largest, unless `refill`.
    """
    element = ir.IntType(8 * size)

    def build(builder: Any, arguments: Any) -> None:
        frame, loops, operand, base, start, n, scratch = arguments
        stride = stride_of(builder, frame, operand)
        source = builder.add(base, builder.mul(start, stride))
        adjacent = builder.icmp_signed("==", stride, i64(size))
        with builder.if_then(builder.or_(adjacent, builder.icmp_signed("==", base, i64(0)))):
            builder.ret(source)
        with builder.if_then(builder.icmp_signed("==", stride, i64(0))):
            if not refill:
                with builder.if_then(builder.icmp_signed(">", start, i64(0))):
                    builder.ret(scratch)
            _emit_fill(
                builder, element, builder.load(element_pointer(builder, base, element, i64(0))), n, scratch
            )
            builder.ret(scratch)
        with builder.if_then(builder.icmp_signed("<=", n, i64(SMALL))):
            each(
                builder,
                n,
                lambda i: builder.store(
                    builder.load(strided_pointer(builder, source, element, i, stride)),
                    element_pointer(builder, scratch, element, i),
                ),
            )
            builder.ret(scratch)
        copy_call(builder, loops, n, [source, stride, scratch, i64(size)], size)
        builder.ret(scratch)

    return own_function(module, f"tapegrad.pack.{size}.{refill}", i64, 7, build)


def _emit_fill(builder: Any, element: Any, value: Any, n: Any, scratch: Any) -> None:
    """Emit the loop that fills a block with one element, eight at a time: a block has room for whole eights."""
    lanes = ir.VectorType(element, _LANES)
    wide = ir.Constant(lanes, ir.Undefined)
    for lane in range(_LANES):
        wide = builder.insert_element(wide, value, i32(lane))

    def body(i: Any) -> None:
        place = builder.bitcast(element_pointer(builder, scratch, element, i), lanes.as_pointer())
        builder.store(wide, place, align=element.width // 8)

    each(builder, builder.add(n, i64(_LANES - 1)), body, step=_LANES)


def operand_block(builder: Any, block: Block, size: int, place: Any, refill: bool) -> Any:
    """Address of a block of an operand: in memory where the loop is whole, else where `pack` says.

    `place` is the operand's number, the address of its first element, and a scratch block.
    """
    operand, base, scratch = place
    adjacent = builder.add(base, builder.mul(block.start, i64(size)))
    arguments = [block.frame, block.loops, operand, base, block.start, block.n, scratch]
    function = pack(builder.module, size, refill)
    return unless(builder, block.whole, adjacent, lambda: builder.call(function, arguments))


def _operand(first: int, size: int) -> Any:
    """An intrinsic: address of a block of elements of operand `operand`, for frame words from `first`."""

    @intrinsic
    def operand_at(typingctx, block, operand, scratch):
        def codegen(context, builder, signature, args):
            block_ = unpack_block(builder, args[0])
            base = frame_word(builder, block_.frame, builder.add(args[1], i64(first)))
            return operand_block(builder, block_, size, (args[1], base, args[2]), refill=False)

        return types.int64(block, types.int64, types.int64), codegen

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


def target_at(builder: Any, block: Block, size: int, place: Any) -> Any:
    """Address to which a block is written: in memory where that is adjacent, else in scratch.

    `place` is the operand's number, the address of its first element, and a scratch block.
    """
    operand, base, scratch = place
    memory = builder.add(base, builder.mul(block.start, i64(size)))
    adjacent = builder.icmp_signed("==", stride_of(builder, block.frame, operand), i64(size))
    return builder.select(builder.or_(block.whole, adjacent), memory, scratch)


def target_block(first: int, size: int) -> Any:
    """An intrinsic: address to which a block of operand `operand` is written, in memory or in scratch."""

    @intrinsic
    def target(typingctx, block, operand, scratch):
        def codegen(context, builder, signature, args):
            block_ = unpack_block(builder, args[0])
            base = frame_word(builder, block_.frame, builder.add(args[1], i64(first)))
            return target_at(builder, block_, size, (args[1], base, args[2]))

        return types.int64(block, types.int64, types.int64), codegen

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
            differences = i64(0)
            for operand, expected in sizes.items():
                stride = stride_of(builder, args[0], i64(operand))
                differences = builder.or_(differences, builder.xor(stride, i64(expected)))
            one = builder.icmp_signed("==", frame_word(builder, args[0], i64(COUNT)), i64(1))
            return builder.or_(one, builder.icmp_signed("==", differences, i64(0)))

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
