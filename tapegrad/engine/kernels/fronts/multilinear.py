"""Derivatives of the inverse on a pattern, in any number of directions.

A matrix ``A + e1 S1 + e2 S2 + ...`` with ``ei**2 = 0`` has one coefficient for each subset of the directions; that of
all directions, in the inverse, is the derivative. Factorisation and inverse run on all coefficients at once, front by
front: the product of two numbers has, at a subset, the sum over all ways to split it.

Coefficient 0 of the factor is the factor. Subsets are bit masks, and subsets of a set come before it.
"""

from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.kernels.fronts.column_coefficients import (
    SCRATCH_NUMBERS,
    factor_coefficients,
    invert_coefficients,
)
from tapegrad.engine.kernels.fronts.inverses import list_children
from tapegrad.engine.kernels.fronts.plan import FrontPlan, are_columns, panel_columns
from tapegrad.engine.kernels.fronts.stacking import add_update, note_rows, places_in_parent, take_square
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    PLAIN,
    TRANSPOSED,
    Lapack,
    at,
    clear_triangle,
    put,
    substitute,
    write_identity,
)
from tapegrad.engine.kernels.language.matmul import Matrix, transposed
from tapegrad.engine.kernels.language.raw_memory import (
    call_by_reference,
    free,
    load_at,
    load_i64,
    malloc,
    memcpy,
    memmove,
    memset,
    size_of,
    store_at,
    store_i64,
)
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY, OUT_OF_RANGE


class Parts(NamedTuple):
    """Coefficients of the panels of a front, and scratch memory.

    Attributes
    ----------
    factor, others
        The panel of coefficient 0, and that of coefficient 1.
    step
        Bytes from one coefficient's panel to the next, from coefficient 1 on.
    coefficients
        Number of coefficients.
    width, height
        Pivots of the front, and rows below them.
    squares
        Squares of all coefficients at the rows of the front.
    scratch
        Room for blocks of the front.
    """

    factor: int
    others: int
    step: int
    coefficients: int
    width: int
    height: int
    squares: int
    scratch: int


@noinline
def _block(address: int, rows: int, columns: int, leading: int, zero: Any) -> Matrix:
    return Matrix(address, rows, columns, size_of(zero), leading * size_of(zero))


@noinline
def _triangle(f: Parts, mask: int, zero: Any) -> Matrix:
    """Describe the block of a coefficient's panel at the pivots."""
    address = f.factor if mask == 0 else f.others + (mask - 1) * f.step
    return _block(address, f.width, f.width, f.width + f.height, zero)


@noinline
def _below(f: Parts, mask: int, zero: Any) -> Matrix:
    """Describe the block of a coefficient's panel below the pivots."""
    address = f.factor if mask == 0 else f.others + (mask - 1) * f.step
    return _block(address + f.width * size_of(zero), f.height, f.width, f.width + f.height, zero)


@noinline
def _square(f: Parts, mask: int, zero: Any) -> Matrix:
    address = f.squares + mask * f.height * f.height * size_of(zero)
    return _block(address, f.height, f.height, f.height, zero)


@noinline
def _add_product(loops: int, routines: Lapack, factor: Any, a: Matrix, b: Matrix, c: Matrix) -> None:
    """Add a multiple of A @ B to C, whose columns are contiguous."""
    size, one = size_of(routines.zero), routines.one
    if c.rows == 0 or c.columns == 0 or a.columns == 0:
        return
    a_plain, b_plain = a.row_stride == size, b.row_stride == size
    a_leading = (a.column_stride if a_plain else a.row_stride) // size
    b_leading = (b.column_stride if b_plain else b.row_stride) // size
    call_by_reference(
        loops, routines.products.gemm,
        (PLAIN if a_plain else TRANSPOSED, PLAIN if b_plain else TRANSPOSED,
         np.int32(c.rows), np.int32(c.columns), np.int32(a.columns), factor, a.address, np.int32(a_leading),
         b.address, np.int32(b_leading), one, c.address, np.int32(c.column_stride // size)),
    )  # fmt: skip


@noinline
def _mirror(a: Matrix, zero: Any) -> None:
    """Copy the lower triangle to the upper one."""
    for j in range(a.columns):
        for i in range(j + 1, a.rows):
            put(a, j, i, at(a, i, j, zero), zero)


# --- factor ----------------------------------------------------------------------------------------------------


@noinline
def _factor_triangle(loops: int, routines: Lapack, f: Parts, mask: int) -> None:
    """Replace a coefficient of the matrix at the pivots by that of the factor."""
    zero, one, lower, not_unit = routines.zero, routines.one, np.int64(1), np.int64(0)
    own, r = _triangle(f, mask, zero), _block(f.scratch, f.width, f.width, f.width, zero)
    for j in range(f.width):
        for i in range(j, f.width):
            put(r, i, j, at(own, i, j, zero), zero)
            put(r, j, i, at(own, i, j, zero), zero)
    for split in range(1, mask):
        if split & mask == split:
            one_part, other = _triangle(f, split, zero), _triangle(f, mask - split, zero)
            _add_product(loops, routines, -one, one_part, transposed(other), r)
    triangle = _triangle(f, np.int64(0), zero)
    substitute(loops, routines, triangle, r, lower, not_unit)
    substitute(loops, routines, triangle, transposed(r), lower, not_unit)
    clear_triangle(r, np.int64(0), zero)
    for j in range(f.width):
        put(r, j, j, at(r, j, j, zero) / 2, zero)
        memset(own.address + j * own.column_stride, np.int32(0), f.width * size_of(zero))
    _add_product(loops, routines, one, triangle, r, own)


@noinline
def _factor_below(loops: int, routines: Lapack, f: Parts, mask: int) -> None:
    """Replace a coefficient of the matrix below the pivots by that of the factor, and update the square."""
    zero, one, lower, not_unit = routines.zero, routines.one, np.int64(1), np.int64(0)
    own, square = _below(f, mask, zero), _square(f, mask, zero)
    for split in range(1, mask + 1):
        if split & mask == split:
            left, right = _below(f, mask - split, zero), transposed(_triangle(f, split, zero))
            _add_product(loops, routines, -one, left, right, own)
    substitute(loops, routines, _triangle(f, np.int64(0), zero), transposed(own), lower, not_unit)
    for split in range(mask + 1):
        if split & mask == split:
            left, right = _below(f, split, zero), transposed(_below(f, mask - split, zero))
            _add_product(loops, routines, -one, left, right, square)


@noinline
def _factor_fronts(
    loops: int, routines: Lapack, plan: FrontPlan, factor: int, others: int, count: int, scratch: int
) -> int:
    """Replace all coefficients of the matrix by those of the factor; return a status."""
    zero, depth, offset = routines.zero, 0, 0
    size, step = size_of(zero), plan.elements * size_of(zero)
    places = scratch + 8 * plan.n
    owners = places + 8 * plan.tallest
    blocks = owners + 8 * (2 * plan.fronts + 2)
    stack = blocks + _block_elements(plan, count) * size
    top, end = stack, stack + plan.stack * count * size
    for s in range(plan.fronts):
        _, width, height = panel_columns(plan, s)
        bytes_, low = height * height * size, top
        if bytes_ * count > end - top:
            return OUT_OF_RANGE
        f = Parts(factor + offset, others + offset, step, count, width, height, top, blocks)
        memset(top, np.int32(0), bytes_ * count)
        note_rows(plan, s, scratch)
        while depth > 0 and load_i64(plan.parents, load_i64(owners, depth - 1)) == s:
            depth -= 1
            child = load_i64(owners, depth)
            rows = load_i64(plan.starts, child + 1) - load_i64(plan.starts, child)
            low -= rows * rows * size * count
            if not places_in_parent(plan, child, s, scratch, places):
                return OUT_OF_RANGE
            for mask in range(1, count):
                panel, square = _triangle(f, mask, zero).address, _square(f, mask, zero).address
                update = low + mask * rows * rows * size
                add_update(update, rows, places, panel, square, width, height, zero)
        for mask in range(1, count):
            _factor_triangle(loops, routines, f, mask)
            if height > 0:
                _factor_below(loops, routines, f, mask)
        if height > 0:
            memmove(low, top, bytes_ * count)
            store_i64(owners, depth, s)
            depth += 1
        top = low + bytes_ * count
        offset += width * (width + height) * size
    return 0


# --- inverse ---------------------------------------------------------------------------------------------------


@noinline
def _ratio(f: Parts, mask: int, zero: Any) -> Matrix:
    """Describe a coefficient of ``W = L21 L11^-1`` in the scratch memory."""
    address = f.scratch + mask * f.height * f.width * size_of(zero)
    return _block(address, f.height, f.width, f.height, zero)


@noinline
def _root(f: Parts, mask: int, zero: Any) -> Matrix:
    """Describe a coefficient of ``L11^-1`` in the scratch memory."""
    address = f.scratch + (f.coefficients * f.height + mask * f.width) * f.width * size_of(zero)
    return _block(address, f.width, f.width, f.width, zero)


@noinline
def _panel(f: Parts, mask: int, zero: Any) -> int:
    """Return the address of a coefficient of the inverse's panel in the scratch memory."""
    rows = f.width + f.height
    return f.scratch + (f.coefficients + mask) * rows * f.width * size_of(zero)


@noinline
def _write_ratio(loops: int, routines: Lapack, f: Parts, mask: int) -> None:
    """Write a coefficient of ``W`` and one of ``L11^-1``."""
    zero, one, lower, not_unit = routines.zero, routines.one, np.int64(1), np.int64(0)
    below, own, root = _below(f, mask, zero), _ratio(f, mask, zero), _root(f, mask, zero)
    triangle, size = _triangle(f, np.int64(0), zero), size_of(zero)
    for j in range(f.width):
        memcpy(own.address + j * own.column_stride, below.address + j * below.column_stride, f.height * size)
    memset(root.address, np.int32(0), f.width * f.width * size)
    if mask == 0:
        write_identity(root, zero)
    for split in range(1, mask + 1):
        if split & mask == split:
            other = _triangle(f, split, zero)
            _add_product(loops, routines, -one, _ratio(f, mask - split, zero), other, own)
            _add_product(loops, routines, -one, other, _root(f, mask - split, zero), root)
    if f.height > 0:
        substitute(loops, routines, transposed(triangle), transposed(own), np.int64(0), not_unit)
    substitute(loops, routines, triangle, root, lower, not_unit)


@noinline
def _write_panel(loops: int, routines: Lapack, f: Parts, mask: int) -> None:
    """Write a coefficient of the inverse's panel."""
    zero, one, rows = routines.zero, routines.one, f.width + f.height
    address = _panel(f, mask, zero)
    memset(address, np.int32(0), rows * f.width * size_of(zero))
    own = _block(address, f.width, f.width, rows, zero)
    below = _block(address + f.width * size_of(zero), f.height, f.width, rows, zero)
    for split in range(mask + 1):
        if split & mask == split:
            other = mask - split
            _add_product(loops, routines, -one, _square(f, split, zero), _ratio(f, other, zero), below)
            left, right = _root(f, split, zero), _root(f, other, zero)
            _add_product(loops, routines, one, transposed(left), right, own)
    for split in range(mask + 1):
        if split & mask == split:
            address = _panel(f, mask - split, zero) + f.width * size_of(zero)
            right = _block(address, f.height, f.width, rows, zero)
            _add_product(loops, routines, -one, transposed(_ratio(f, split, zero)), right, own)


@always_inline
def _block_elements(plan: FrontPlan, count: int) -> int:
    """Return the elements of scratch for the blocks of a front: ``W``, ``L11^-1``, panels of the inverse; squares."""
    rows = plan.widest + plan.tallest
    return count * (2 * rows * plan.widest + plan.tallest * plan.tallest)


@noinline
def _invert_fronts(
    loops: int,
    routines: Lapack,
    plan: FrontPlan,
    factor: int,
    others: int,
    inverse: int,
    count: int,
    scratch: int,
) -> int:
    """Write the coefficient of all directions of the inverse; return a status."""
    zero, step = routines.zero, plan.elements * size_of(routines.zero)
    size = size_of(zero)
    places = scratch + 8 * plan.n
    child, sibling = places + 8 * plan.tallest, places + 8 * (plan.tallest + plan.fronts + 1)
    blocks = sibling + 8 * (plan.fronts + 1)
    stack = blocks + _block_elements(plan, count) * size
    squares = stack - count * plan.tallest * plan.tallest * size
    top, end = stack, stack + plan.stack * count * size
    list_children(plan, child, sibling)
    offset = step
    for back in range(plan.fronts):
        s = plan.fronts - 1 - back
        _, width, height = panel_columns(plan, s)
        offset -= width * (width + height) * size
        bytes_ = height * height * size * count
        if (load_i64(plan.parents, s) == plan.fronts and height > 0) or bytes_ > top - stack:
            return OUT_OF_RANGE
        top -= bytes_
        memcpy(squares, top, bytes_)
        f = Parts(factor + offset, others + offset, step, count, width, height, squares, blocks)
        for mask in range(count):
            _mirror(_square(f, mask, zero), zero)
            _write_ratio(loops, routines, f, mask)
            _write_panel(loops, routines, f, mask)
        memcpy(inverse + offset, _panel(f, count - 1, zero), width * (width + height) * size)
        note_rows(plan, s, scratch)
        below = load_i64(child, s)
        while below != -1:
            rows = load_i64(plan.starts, below + 1) - load_i64(plan.starts, below)
            own = rows * rows * size
            fits = own * count <= end - top
            if not (fits and places_in_parent(plan, below, s, scratch, places)):
                return OUT_OF_RANGE
            for mask in range(count):
                panel, square = _panel(f, mask, zero), _square(f, mask, zero).address
                take_square(top + mask * own, rows, places, panel, square, width, height, zero)
            top += own * count
            below = load_i64(sibling, below)
    return 0


@noinline
def _write_directions(plan: FrontPlan, directions: int, count: int, others: int, zero: Any) -> None:
    """Write the coefficients of the matrix: each direction at the subset of it alone, zeros elsewhere."""
    size, bit = size_of(zero), np.int64(1)
    memset(others, np.int32(0), (count - 1) * plan.elements * size)
    while bit < count:
        part = others + (bit - 1) * plan.elements * size
        for e in range(plan.entries):
            value = load_at(directions, e * size, zero)
            store_at(part, load_i64(plan.targets, e) * size, value, zero)
        directions += plan.entries * size
        bit *= 2


@noinline
def _column_coefficients(
    plan: FrontPlan, factor: int, directions: int, count: int, inverse: int, zero: Any
) -> int:
    """Write the coefficient of all directions of the inverse, column by column; return a status."""
    size, bit = size_of(zero), np.int64(1)
    width = count * size
    numbers = malloc((plan.elements + SCRATCH_NUMBERS) * width)
    if numbers == 0:
        return OUT_OF_MEMORY
    memset(numbers, np.int32(0), plan.elements * width)
    for e in range(plan.elements):
        store_at(numbers, e * width, load_at(factor, e * size, zero), zero)
    while bit < count:
        for e in range(plan.entries):
            value = load_at(directions, e * size, zero)
            store_at(numbers, load_i64(plan.targets, e) * width + bit * size, value, zero)
        directions += plan.entries * size
        bit *= 2
    factor_coefficients(plan, numbers, count, zero)
    invert_coefficients(plan, numbers, count, numbers + plan.elements * width, zero)
    for e in range(plan.elements):
        store_at(inverse, e * size, load_at(numbers, e * width + width - size, zero), zero)
    free(numbers)
    return 0


@noinline
def write_multilinear(
    loops: int,
    routines: Lapack,
    plan: FrontPlan,
    factor: int,
    directions: int,
    directions_count: int,
    inverse: int,
) -> int:
    """Write the derivative of the inverse in some directions, in the layout of the factor; return a status."""
    zero, count = routines.zero, np.int64(1) << directions_count
    if are_columns(plan):
        return _column_coefficients(plan, factor, directions, count, inverse, zero)
    size = size_of(zero)
    integers = 8 * (plan.n + plan.tallest + 2 * plan.fronts + 2)
    floats = _block_elements(plan, count) + count * plan.stack + (count - 1) * plan.elements
    scratch = malloc(integers + floats * size)
    if scratch == 0:
        return OUT_OF_MEMORY
    others = scratch + integers + (_block_elements(plan, count) + count * plan.stack) * size
    _write_directions(plan, directions, count, others, zero)
    status = _factor_fronts(loops, routines, plan, factor, others, count, scratch)
    if status == 0:
        status = _invert_fronts(loops, routines, plan, factor, others, inverse, count, scratch)
    free(scratch)
    return status
