"""Reverse sweep of a Cholesky factorisation, in place, by blocks of columns from the last one.

Contributions of a wide block to the rows below it are products with its inverse, which is built of the inverses of
narrow blocks. Narrow blocks are processed column by column (Murray 2016, "Differentiation of the Cholesky
decomposition").
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.lanes.lanes import lane_count, lanes_at, put_lanes, spread
from tapegrad.engine.kernels.lanes.transpose import transpose
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import at, by_rows, clear, part, put
from tapegrad.engine.kernels.language.matmul import Matrix, product, transposed
from tapegrad.engine.kernels.language.raw_memory import load_at, memcpy, size_of, store_at

_NARROW = 16  # columns of a narrow block: whole vector registers
_WIDE = 32  # columns of a wide block: 2**k narrow blocks


@always_inline
def scratch_bytes(zero: Any) -> int:
    """Return the bytes of the inverse of a wide block, then of two narrow blocks or a quarter of a wide one."""
    return (_WIDE * _WIDE + max(2 * _NARROW * _NARROW, _WIDE * _WIDE // 4)) * size_of(zero)


@always_inline
def _inverse_in(scratch: int, width: int, zero: Any) -> Matrix:
    """Invert a block; its rows have the length of those of a wide block: whole vector registers."""
    return part(by_rows(scratch, _WIDE, _WIDE, zero), np.int64(0), np.int64(0), width, width)


@always_inline
def _narrow_in(scratch: int, number: int, zero: Any) -> int:
    return scratch + (_WIDE * _WIDE + number * _NARROW * _NARROW) * size_of(zero)


@always_inline
def _add_multiple(factor: Any, source: int, into: int, pieces: int, zero: Any) -> None:
    """Add a multiple of a row of whole registers to another row."""
    factors = spread(factor, zero)
    for piece in range(pieces):
        put_lanes(into, piece, lanes_at(into, piece, zero) + factors * lanes_at(source, piece, zero))


@noinline
def _write_narrow_inverse(t: Matrix, into: Matrix, zero: Any) -> None:
    """Write the negative inverse of a lower triangle, row by row."""
    row, pieces = into.row_stride, _NARROW // lane_count(zero)
    for i in range(t.rows):
        own, pivots = into.address + i * row, spread(at(t, i, i, zero), zero)
        for piece in range(pieces):
            put_lanes(own, piece, spread(0, zero))
        store_at(own, i * size_of(zero), zero - 1, zero)
        for j in range(i):
            _add_multiple(-at(t, i, j, zero), into.address + j * row, own, pieces, zero)
        for piece in range(pieces):
            put_lanes(own, piece, lanes_at(own, piece, zero) / pivots)


@noinline
def _write_inverses(t: Matrix, inverse: Matrix, zero: Any) -> None:
    """Invert each narrow block on the diagonal of a wide block."""
    for i in range(0, t.rows, _NARROW):
        width = min(_NARROW, t.rows - i)
        _write_narrow_inverse(part(t, i, i, width, width), part(inverse, i, i, width, width), zero)


@noinline
def _join_inverses(loops: int, products: Any, t: Matrix, inverse: Matrix, scratch: int) -> None:
    """Combine the inverses of narrow blocks to that of a wide block: by pairs, by pairs of pairs, ..."""
    zero, n, size, store = products.zero, t.rows, np.int64(_NARROW), np.int64(1)
    while size < n:
        for i in range(0, n - size, 2 * size):
            middle, below = i + size, min(size, n - i - size)
            one, other = part(inverse, i, i, size, size), part(inverse, middle, middle, below, below)
            between = by_rows(_narrow_in(scratch, 0, zero), below, size, zero)
            product(loops, products, part(t, middle, i, below, size), one, between, store)
            product(loops, products, other, between, part(inverse, middle, i, below, size), store)
            clear(part(inverse, i, middle, size, below), zero)
        size *= 2


@always_inline
def _rows_in(a: Matrix, scratch: int, zero: Any) -> None:
    """Copy a matrix to rows of the length of a narrow block."""
    for i in range(a.rows):
        memcpy(scratch + i * _NARROW * size_of(zero), a.address + i * a.row_stride, a.columns * size_of(zero))


@noinline
def _go_back(factor: Matrix, bar: Matrix, scratch: int, zero: Any) -> None:
    """Run `back_by_blocks` on a narrow block, column by column from the last one.

    Copies are processed in whole registers. The numbers written after the remaining columns are never read.
    """
    n, row = factor.rows, _NARROW * size_of(zero)
    own, own_bar = _narrow_in(scratch, 0, zero), _narrow_in(scratch, 1, zero)
    _rows_in(factor, own, zero)
    _rows_in(bar, own_bar, zero)
    for j in range(n - 1, -1, -1):
        here, here_bar, column = own + j * row, own_bar + j * row, j * size_of(zero)
        pivot, pieces = load_at(here, column, zero), j // lane_count(zero) + 1
        for i in range(j + 1, n):
            value = -load_at(own_bar + i * row, column, zero) / pivot
            put(bar, i, j, value, zero)
            put(bar, j, i, value, zero)
            _add_multiple(value, here, own_bar + i * row, pieces, zero)
        for piece in range(pieces):
            total = lanes_at(here_bar, piece, zero)
            for i in range(j + 1, n):
                total = total + spread(at(bar, i, j, zero), zero) * lanes_at(own + i * row, piece, zero)
            put_lanes(here_bar, piece, total)
        value = -load_at(here_bar, column, zero) / pivot
        put(bar, j, j, value, zero)
        _add_multiple(value, here, here_bar, pieces, zero)


@noinline
def _finish_rows_below(
    loops: int, products: Any, factor: Matrix, bar: Matrix, inverse: Matrix, first: int, end: int
) -> None:
    """Reverse some columns below their diagonal block, and add their contributions to the block."""
    width, below = end - first, factor.rows - end
    under, beside = part(bar, end, first, below, width), part(bar, first, end, width, below)
    product(loops, products, transposed(inverse), transposed(under), beside, np.int64(1))
    corner = part(bar, first, first, width, width)
    product(loops, products, beside, part(factor, end, first, below, width), corner, np.int64(0))
    transpose(beside.address, beside.row_stride, under.address, under.row_stride, width, below, products.zero)


@noinline
def _add_to_columns(
    loops: int, products: Any, factor: Matrix, bar: Matrix, first: int, end: int, before: int
) -> None:
    """Add the contributions of finished columns to as many columns before them."""
    n, width, start, add = factor.rows, end - first, first - before, np.int64(0)
    own, left = part(bar, first, first, width, n - first), part(factor, first, start, n - first, before)
    product(loops, products, own, left, part(bar, first, start, width, before), add)
    under, beside = part(bar, end, first, n - end, width), part(factor, first, start, width, before)
    product(loops, products, under, beside, part(bar, end, start, n - end, before), add)


@always_inline
def _pass_on(
    loops: int, products: Any, factor: Matrix, bar: Matrix, first: int, done: int, width: int
) -> None:
    """Add the contributions of finished blocks to earlier blocks; those to the next block are complete afterwards.

    Contributions are matrix products, the faster the larger: those of one block to the next one are added at once,
    those of two blocks to the next two, of four to the next four, and so on.
    """
    due = width * (done & -done)
    if first > 0:
        _add_to_columns(loops, products, factor, bar, first, min(factor.rows, first + due), min(first, due))


@noinline
def _back_by_narrow_blocks(
    loops: int, products: Any, factor: Matrix, bar: Matrix, inverse: Matrix, scratch: int
) -> None:
    """Run `back_by_blocks` on a wide block, given the inverses of its narrow blocks."""
    end, done = factor.rows, 0
    while end > 0:
        first = (end - 1) // _NARROW * _NARROW
        width = end - first
        if end < factor.rows:
            corner = part(inverse, first, first, width, width)
            _finish_rows_below(loops, products, factor, bar, corner, first, end)
        corner, corner_bar = part(factor, first, first, width, width), part(bar, first, first, width, width)
        _go_back(corner, corner_bar, scratch, products.zero)
        done += 1
        _pass_on(loops, products, factor, bar, first, done, _NARROW)
        end = first


@noinline
def back_by_blocks(loops: int, products: Any, factor: Matrix, bar: Matrix, scratch: int) -> None:
    """Overwrite the cotangent of the factor, in the lower triangle, with ``-(S + S.T)``; S is the matrix's cotangent.

    Blocks of columns are processed from the last one.
    """
    end, done, zero = factor.rows, 0, products.zero
    while end > 0:
        first = max(0, end - _WIDE)
        width = end - first
        corner, corner_bar = part(factor, first, first, width, width), part(bar, first, first, width, width)
        inverse = _inverse_in(scratch, width, zero)
        if end < factor.rows or width > _NARROW:
            _write_inverses(corner, inverse, zero)
        if end < factor.rows:
            _join_inverses(loops, products, corner, inverse, scratch)
            _finish_rows_below(loops, products, factor, bar, inverse, first, end)
        _back_by_narrow_blocks(loops, products, corner, corner_bar, inverse, scratch)
        done += 1
        _pass_on(loops, products, factor, bar, first, done, _WIDE)
        end = first
