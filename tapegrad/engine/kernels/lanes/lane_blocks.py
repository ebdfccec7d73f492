"""Blocks of lanes: copies between stacks of small matrices and blocks, and vectors in a block."""

from typing import Any

from tapegrad.engine.kernels.lanes import lane_types
from tapegrad.engine.kernels.lanes.lanes import (
    LANE_BYTES,
    anywhere,
    equal,
    gathered,
    lane_count,
    lanes_at,
    less,
    offsets_of,
    put_lanes,
    roots,
    scatter,
    sizes,
    spread,
    where,
    with_signs_of,
)
from tapegrad.engine.kernels.lanes.transpose import move_transposed
from tapegrad.engine.kernels.language import types
from tapegrad.engine.kernels.language.inlining import always_inline, intrinsic, noinline
from tapegrad.engine.kernels.language.llvm_types import i64, pointer_to
from tapegrad.engine.kernels.language.raw_memory import size_of, stack_i64

_SQUARE = LANE_BYTES * LANE_BYTES // 32  # 64-bit integers of a square of lanes by lanes numbers, at most
# Bounds of numbers whose squares, and roundings of these, are neither 0 nor infinite
_MIN_SIZE, _MAX_SIZE = 1e-130, 1e130
_MIN_SINGLE, _MAX_SINGLE = 1e-10, 1e15

# --- squares of numbers: as many of each matrix as there are lanes ---------------------------------------------


def _pointers_to_matrices(builder: Any, lanes: Any, address: Any, stride: Any, last: Any) -> list[Any]:
    """Return the pointers to the numbers of the matrix of each lane."""
    offsets = offsets_of(builder, lanes, stride, last)
    return [pointer_to(builder, address, offset, lanes.vector) for offset in offsets]


def _pointers_to_block(builder: Any, lanes: Any, block: Any) -> list[Any]:
    """Return the pointers to the first vectors of a block, as many as there are lanes."""
    offsets = [i64(number * LANE_BYTES) for number in range(lanes.count)]
    return [pointer_to(builder, block, offset, lanes.vector) for offset in offsets]


@intrinsic
def gather_square(typingctx, address, stride, last, block, zero):
    """Copy as many adjacent numbers of each matrix as there are lanes to a block."""
    lanes = lane_types.Lanes(zero)

    def codegen(context, builder, signature, args):
        matrices = _pointers_to_matrices(builder, lanes, *args[:3])
        move_transposed(builder, matrices, _pointers_to_block(builder, lanes, args[3]), zero.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, types.int64, zero), codegen


@intrinsic
def scatter_square(typingctx, block, address, stride, last, zero):
    """Copy as many numbers of a block as there are lanes to adjacent memory of each matrix."""
    lanes = lane_types.Lanes(zero)

    def codegen(context, builder, signature, args):
        matrices = _pointers_to_matrices(builder, lanes, *args[1:4])
        move_transposed(builder, _pointers_to_block(builder, lanes, args[0]), matrices, zero.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, types.int64, zero), codegen


# --- from stacks to blocks, and back ---------------------------------------------------------------------------


@noinline
def gather(source: int, count: int, stride: int, last: int, block: int, zero: Any) -> None:
    """Copy adjacent numbers of each matrix to a block."""
    most, size = lane_count(zero), size_of(zero)
    whole = count // most * most
    for e in range(0, whole, most):
        gather_square(source + e * size, stride, last, block + e * LANE_BYTES, zero)
    for e in range(whole, count):
        put_lanes(block, e, gathered(source + e * size, stride, last, zero))


@noinline
def gather_transposed(source: int, m: int, n: int, stride: int, last: int, block: int, zero: Any) -> None:
    """Copy matrices in C order to a block, column by column."""
    most, size, square = lane_count(zero), size_of(zero), stack_i64(_SQUARE)
    whole, i, j = m * n // most * most, 0, 0
    for e in range(0, whole, most):
        gather_square(source + e * size, stride, last, square, zero)
        for lane in range(most):
            put_lanes(block, i + m * j, lanes_at(square, lane, zero))
            i, j = (i, j + 1) if j + 1 < n else (i + 1, 0)
    for e in range(whole, m * n):
        put_lanes(block, i + m * j, gathered(source + e * size, stride, last, zero))
        i, j = (i, j + 1) if j + 1 < n else (i + 1, 0)


@noinline
def scatter_all(block: int, count: int, into: int, stride: int, last: int, zero: Any) -> None:
    """Copy numbers of a block to adjacent memory of each matrix."""
    most, size = lane_count(zero), size_of(zero)
    whole = count // most * most
    for e in range(0, whole, most):
        scatter_square(block + e * LANE_BYTES, into + e * size, stride, last, zero)
    for e in range(whole, count):
        scatter(into + e * size, stride, last, lanes_at(block, e, zero))


@noinline
def scatter_transposed(block: int, m: int, n: int, into: int, stride: int, last: int, zero: Any) -> None:
    """Copy the matrices of a block, which has them column by column, to matrices in C order."""
    for i in range(m):
        for j in range(n):
            scatter(into + (i * n + j) * size_of(zero), stride, last, lanes_at(block, i + m * j, zero))


# --- bounds ----------------------------------------------------------------------------------------------------


@noinline
def is_ordinary(block: int, count: int, zero: Any) -> bool:
    """Return whether all numbers of a block are finite, and zero or of a size whose squares lose no digits."""
    double = size_of(zero) == 8
    least = spread(_MIN_SIZE if double else _MIN_SINGLE, zero)
    most, none = spread(_MAX_SIZE if double else _MAX_SINGLE, zero), spread(0, zero)
    highest, lowest = none, most
    for e in range(count):
        value = sizes(lanes_at(block, e, zero))
        value_or_more = where(less(value, most), value, most + most)
        highest = where(less(highest, value_or_more), value_or_more, highest)
        lowest = where(less(none, value), where(less(value, lowest), value, lowest), lowest)
    return not (anywhere(less(most, highest)) or anywhere(less(lowest, least)))


# --- vectors of a block ----------------------------------------------------------------------------------------


@always_inline
def turn(block: int, one: int, other: int, count: int, c: Any, s: Any, zero: Any) -> None:
    """Rotate two vectors in their plane."""
    for r in range(count):
        x, y = lanes_at(block, one + r, zero), lanes_at(block, other + r, zero)
        put_lanes(block, one + r, c * x - s * y)
        put_lanes(block, other + r, s * x + c * y)


@always_inline
def exchange(block: int, one: int, other: int, count: int, a: Any, b: Any, zero: Any) -> None:
    """Exchange two vectors in lanes where a is less than b."""
    for r in range(count):
        x, y = lanes_at(block, one + r, zero), lanes_at(block, other + r, zero)
        put_lanes(block, one + r, where(less(a, b), y, x))
        put_lanes(block, other + r, where(less(a, b), x, y))


@always_inline
def inner(block: int, one: int, other: int, count: int, zero: Any) -> Any:
    """Return the inner product of two vectors."""
    total = spread(0, zero)
    for r in range(count):
        total = total + lanes_at(block, one + r, zero) * lanes_at(block, other + r, zero)
    return total


@always_inline
def make_reflection(block: int, first: int, count: int, zero: Any) -> tuple[Any, Any]:
    """Write the vector of the reflection of a vector onto the first axis, without its first number, which is 1.

    Return the first number of the reflected vector, and the factor of the reflection.
    """
    none, one, head = spread(0, zero), spread(1, zero), lanes_at(block, first, zero)
    rest = inner(block, first + 1, first + 1, count - 1, zero)
    length = where(equal(rest, none), head, none - with_signs_of(roots(head * head + rest), head))
    scale = one / where(equal(rest, none), one, head - length)
    for r in range(1, count):
        put_lanes(block, first + r, lanes_at(block, first + r, zero) * scale)
    return length, where(equal(rest, none), none, (length - head) / length)


@always_inline
def reflect(
    block: int, vector: int, tau: Any, first: int, step: int, columns: int, count: int, zero: Any
) -> None:
    """Apply a reflection to some vectors, `step` apart. The first number of its own vector is 1, and not read."""
    for j in range(columns):
        column = first + step * j
        total = lanes_at(block, column, zero)
        for r in range(1, count):
            total = total + lanes_at(block, vector + r, zero) * lanes_at(block, column + r, zero)
        total = total * tau
        put_lanes(block, column, lanes_at(block, column, zero) - total)
        for r in range(1, count):
            value = lanes_at(block, column + r, zero) - lanes_at(block, vector + r, zero) * total
            put_lanes(block, column + r, value)
