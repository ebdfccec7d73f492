"""Transposition of matrices whose rows are adjacent elements, in squares that fit into registers."""

from typing import Any

import numpy as np
from llvmlite import ir

from tapegrad.engine.kernels.language import types
from tapegrad.engine.kernels.language.inlining import always_inline, intrinsic, noinline
from tapegrad.engine.kernels.language.llvm_types import i32, pointer_to
from tapegrad.engine.kernels.language.raw_memory import load_at, size_of, store_at


def _exchanged(builder: Any, rows: list[Any], distance: int) -> list[Any]:
    """Return rows after one stage: rows `distance` apart exchange blocks of `distance` elements."""
    width = len(rows)
    found = list(rows)
    low = [k if k & distance == 0 else width + k - distance for k in range(width)]
    high = [k + distance if k & distance == 0 else width + k for k in range(width)]
    for k in range(width):
        if k & distance == 0:
            found[k], found[k + distance] = (
                builder.shuffle_vector(
                    rows[k], rows[k + distance], ir.Constant(ir.VectorType(i32, width), indices)
                )
                for indices in (low, high)
            )
    return found


def move_transposed(builder: Any, sources: list[Any], targets: list[Any], align: int) -> None:
    """Emit the transposition of a square, from pointers to its rows to pointers to those of the result."""
    rows, distance = [builder.load(pointer, align=align) for pointer in sources], 1
    while distance < len(rows):
        rows = _exchanged(builder, rows, distance)
        distance *= 2
    for pointer, row in zip(targets, rows, strict=True):
        builder.store(row, pointer, align=align)


@intrinsic
def _square(typingctx, source, source_step, target, target_step, width, zero):
    """Transpose a square of `width` (a literal, a power of two) rows of adjacent elements of the type of `zero`.

    Rows are `source_step` bytes apart at address `source`, and `target_step` bytes at `target`.
    """
    if not isinstance(width, types.IntegerLiteral):
        return None
    count = width.literal_value

    def codegen(context, builder, signature, args):
        row = ir.VectorType(context.get_value_type(zero), count)

        def pointers(address, step):
            offsets = [builder.mul(step, ir.Constant(step.type, k)) for k in range(count)]
            return [pointer_to(builder, address, offset, row) for offset in offsets]

        move_transposed(builder, pointers(*args[:2]), pointers(*args[2:4]), zero.bitwidth // 8)
        return context.get_dummy_value()

    integers = [types.int64] * 4
    return types.void(*integers, width, zero), codegen


@always_inline
def _squares(
    source: int,
    source_step: int,
    target: int,
    target_step: int,
    rows: int,
    columns: int,
    width: int,
    zero: Any,
) -> None:
    """Transpose a matrix of at least `width` rows and columns. The last squares may overlap those before."""
    size: Any = size_of(zero)
    i: Any = np.int64(0)
    while i < rows:
        row: Any = min(i, rows - width)
        j: Any = np.int64(0)
        while j < columns:
            column: Any = min(j, columns - width)
            from_ = source + row * source_step + column * size
            _square(from_, source_step, target + column * target_step + row * size, target_step, width, zero)
            j += width
        i += width


@noinline
def _transpose_small(
    source: int, source_step: int, target: int, target_step: int, rows: int, columns: int, zero: Any
) -> None:
    size = size_of(zero)
    for i in range(rows):
        for j in range(columns):
            value = load_at(source, i * source_step + j * size, zero)
            store_at(target, j * target_step + i * size, value, zero)


@noinline
def transpose(
    source: int, source_step: int, target: int, target_step: int, rows: int, columns: int, zero: Any
) -> None:
    """Transpose a matrix of elements of the type of `zero`; its rows are `source_step` bytes apart.

    Rows of the result are `target_step` bytes apart.
    """
    least = min(rows, columns)
    if least >= 8:
        _squares(source, source_step, target, target_step, rows, columns, 8, zero)
    elif least >= 4:
        _squares(source, source_step, target, target_step, rows, columns, 4, zero)
    elif least >= 2:
        _squares(source, source_step, target, target_step, rows, columns, 2, zero)
    else:
        _transpose_small(source, source_step, target, target_step, rows, columns, zero)
