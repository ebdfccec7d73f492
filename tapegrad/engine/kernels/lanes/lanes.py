"""Lanes: vectors with one number of each of several small matrices.

A stack is processed in blocks of as many matrices as a vector has lanes. An operation on numbers of one matrix is the
same in all lanes: a choice is `where` a mask holds, never a branch. If the last block is not full, its last matrix
fills several lanes.

Numbers of a block lie in scratch memory, `LANE_BYTES` bytes for a vector.
"""

from typing import Any

from llvmlite import ir

from tapegrad.engine.kernels.lanes import LANE_BYTES as LANE_BYTES
from tapegrad.engine.kernels.lanes import lane_types
from tapegrad.engine.kernels.language import types
from tapegrad.engine.kernels.language.inlining import always_inline, intrinsic
from tapegrad.engine.kernels.language.llvm_types import called, converted, i32, i64, pointer_to
from tapegrad.engine.kernels.language.raw_memory import size_of

MIN_LANE_MATRICES = 4  # matrices of smaller stacks are processed one by one


def _function_of(name: str, operands: int) -> Any:
    """Make an intrinsic of a function of LLVM on vectors."""

    def typed(*kinds: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            vector = kinds[0].vector
            whole = f"llvm.{name}.v{kinds[0].count}f{kinds[0].element.bitwidth}"
            return called(builder, whole, args, vector)

        return kinds[0](*kinds), codegen

    if operands == 1:
        return intrinsic(lambda typingctx, a: typed(a))
    return intrinsic(lambda typingctx, a, b: typed(a, b))


sizes = _function_of("fabs", 1)
roots = _function_of("sqrt", 1)
with_signs_of = _function_of("copysign", 2)


@intrinsic
def spread(typingctx, value, zero):
    """Broadcast a number to all lanes, converted to the type of `zero`."""
    lanes = lane_types.Lanes(zero)

    def codegen(context, builder, signature, args):
        number = converted(builder, args[0], context.get_value_type(zero))
        one = builder.insert_element(ir.Constant(lanes.vector, ir.Undefined), number, i32(0))
        zeros = ir.Constant(ir.VectorType(i32, lanes.count), [0] * lanes.count)
        return builder.shuffle_vector(one, one, zeros)

    return lanes(value, zero), codegen


# --- choices ---------------------------------------------------------------------------------------------------


def _holds(builder: Any, mask: Any) -> Any:
    """Pack a mask into a bit for each lane."""
    return builder.icmp_signed("<", mask, ir.Constant(mask.type, [0] * mask.type.count))


def _comparison(sign: str) -> Any:
    """Make an intrinsic that compares lanes; NaN is neither less nor equal."""

    @intrinsic
    def compare(typingctx, a, b):
        mask = lane_types.Mask(a.element.bitwidth)

        def codegen(context, builder, signature, args):
            return builder.sext(builder.fcmp_ordered(sign, *args), mask.vector)

        return mask(a, b), codegen

    return compare


less = _comparison("<")
at_most = _comparison("<=")
equal = _comparison("==")


@intrinsic
def below(typingctx, a, b):
    """Return the mask of ``a < b`` for finite numbers: the sign of their difference.

    Such masks are cheap to combine. Without AVX-512, comparisons that are combined would be packed to bits and
    unpacked.
    """
    mask = lane_types.Mask(a.element.bitwidth)

    def codegen(context, builder, signature, args):
        return builder.bitcast(builder.fsub(*args), mask.vector)

    return mask(a, b), codegen


@always_inline
def same(a: Any, b: Any) -> Any:
    """Return the mask of ``a == b`` for finite numbers."""
    return unless(below(a, b) | below(b, a))


@intrinsic
def unless(typingctx, mask):
    """Negate a mask."""

    def codegen(context, builder, signature, args):
        return builder.not_(args[0])

    return mask(mask), codegen


def _settled(builder: Any, value: Any) -> Any:
    """Freeze a value, by an instruction that LLVM's optimiser does not see through."""
    instruction = ir.Instruction(builder.block, value.type, "freeze", [value])
    builder._insert(instruction)
    return instruction


@intrinsic
def where(typingctx, mask, x, y):
    """Select x in lanes where the mask holds, else y.

    The operands are frozen: LLVM would turn a select between a loaded value and another one, stored to the same
    address, into a masked store, which takes dozens of cycles on some processors without AVX-512.
    """

    def codegen(context, builder, signature, args):
        mask, x, y = args
        return builder.select(_holds(builder, mask), _settled(builder, x), _settled(builder, y))

    return x(mask, x, y), codegen


@intrinsic
def anywhere(typingctx, mask):
    """Return whether a mask holds in any lane."""

    def codegen(context, builder, signature, args):
        bits = ir.IntType(mask.count)
        return builder.icmp_unsigned("!=", builder.bitcast(_holds(builder, args[0]), bits), bits(0))

    return types.boolean(mask), codegen


# --- memory ----------------------------------------------------------------------------------------------------


def offsets_of(builder: Any, lanes: Any, stride: Any, last: Any) -> list[Any]:
    """Return the offset of the matrix of each lane; lanes past the last matrix get that of the last one."""
    numbers = [i64(lane) for lane in range(lanes.count)]
    inside = [builder.icmp_signed("<", number, last) for number in numbers]
    return [
        builder.mul(builder.select(holds, number, last), stride)
        for holds, number in zip(inside, numbers, strict=True)
    ]


@intrinsic
def gathered(typingctx, address, stride, last, zero):
    """Load an element of each matrix: matrices are a stride apart, and `last` is the number of the last one."""
    lanes = lane_types.Lanes(zero)

    def codegen(context, builder, signature, args):
        result = ir.Constant(lanes.vector, ir.Undefined)
        for lane, offset in enumerate(offsets_of(builder, lanes, args[1], args[2])):
            value = builder.load(pointer_to(builder, args[0], offset, lanes.vector.element))
            result = builder.insert_element(result, value, i32(lane))
        return result

    return lanes(types.int64, types.int64, types.int64, zero), codegen


@intrinsic
def scatter(typingctx, address, stride, last, value):
    """Write an element of each matrix."""

    def codegen(context, builder, signature, args):
        for lane, offset in enumerate(offsets_of(builder, value, args[1], args[2])):
            number = builder.extract_element(args[3], i32(lane))
            builder.store(number, pointer_to(builder, args[0], offset, value.vector.element))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, value), codegen


@intrinsic
def load_lanes(typingctx, address, offset, zero):
    """Load a vector at `offset` bytes after an address."""
    lanes = lane_types.Lanes(zero)

    def codegen(context, builder, signature, args):
        pointer = pointer_to(builder, args[0], args[1], lanes.vector)
        return builder.load(pointer, align=zero.bitwidth // 8)

    return lanes(types.int64, types.int64, zero), codegen


@intrinsic
def store_lanes(typingctx, address, offset, value):
    """Store a vector at `offset` bytes after an address."""

    def codegen(context, builder, signature, args):
        pointer = pointer_to(builder, args[0], args[1], value.vector)
        builder.store(args[2], pointer, align=value.element.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, value), codegen


@always_inline
def lanes_at(block: int, index: int, zero: Any) -> Any:
    """Load a vector of a block."""
    return load_lanes(block, index * LANE_BYTES, zero)


@always_inline
def put_lanes(block: int, index: int, value: Any) -> None:
    """Store a vector of a block."""
    store_lanes(block, index * LANE_BYTES, value)


@always_inline
def lane_count(zero: Any) -> int:
    """Return the number of matrices of a block."""
    return LANE_BYTES // size_of(zero)
