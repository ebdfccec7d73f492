"""Dense blocks of a front, in Fortran order: few columns by loops, more by BLAS and LAPACK."""

from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.kernels.language.inlining import always_inline, noinline, noinline_loop
from tapegrad.engine.kernels.language.lapack import LEFT, LOWER, PLAIN, RIGHT, TRANSPOSED, Lapack, info_i64
from tapegrad.engine.kernels.language.raw_memory import (
    call_by_reference,
    load_at,
    load_i32,
    memcpy,
    size_of,
    store_at,
)


class PanelTriangle(NamedTuple):
    """Pivots of a panel for BLAS: address, leading dimension, number of them, and of rows below; 32-bit integers."""

    address: int
    leading: Any
    width: Any
    count: Any


_MAX_LOOP_COLUMNS = 6  # more pivots are factorised by LAPACK
_MAX_LOOP_PRODUCTS = 256  # multiplications of an update up to which a call of BLAS costs more


@noinline_loop
def add_multiple(target: int, source: int, count: int, factor: Any, zero: Any) -> None:
    """Add a multiple of adjacent numbers to others."""
    size = size_of(zero)
    for i in range(count):
        value = load_at(target, i * size, zero) + factor * load_at(source, i * size, zero)
        store_at(target, i * size, value, zero)


@noinline_loop
def scale(target: int, count: int, factor: Any, zero: Any) -> None:
    """Multiply adjacent numbers."""
    size = size_of(zero)
    for i in range(count):
        store_at(target, i * size, load_at(target, i * size, zero) * factor, zero)


# --- factors ---------------------------------------------------------------------------------------------------


@noinline
def _factor_columns(panel: int, width: int, rows: int, zero: Any) -> int:
    """Factorise a panel column by column; return the number of the first pivot that is not positive, or -1."""
    size = size_of(zero)
    for j in range(width):
        column = panel + (j * rows + j) * size
        for p in range(j):
            source = panel + (p * rows + j) * size
            add_multiple(column, source, rows - j, -load_at(source, 0, zero), zero)
        pivot = load_at(column, 0, zero)
        if not pivot > zero:
            return j
        root = np.sqrt(pivot)
        store_at(column, 0, root, zero)
        scale(column + size, rows - j - 1, (zero + 1) / root, zero)
    return -1


@noinline
def factor_panel(loops: int, routines: Lapack, panel: int, width: int, rows: int) -> int:
    """Factorise a panel; return the number of the first pivot that is not positive, or -1."""
    zero = routines.zero
    if width <= _MAX_LOOP_COLUMNS:
        return _factor_columns(panel, width, rows, zero)
    size, info, order, leading = size_of(zero), info_i64(), np.int32(width), np.int32(rows)
    call_by_reference(loops, routines.potrf, (LOWER, order, panel, leading, info))
    if load_i32(info, 0) != 0:
        return int(load_i32(info, 0)) - 1
    for j in range(width):  # some libraries let nan pass
        if not load_at(panel, j * (rows + 1) * size, zero) > zero:
            return j
    if rows > width:
        below, count = panel + width * size, np.int32(rows - width)
        _divide(loops, routines, TRANSPOSED, PanelTriangle(panel, leading, order, count), below, leading)
    return -1


@always_inline
def _divide(loops: int, routines: Lapack, letter: Any, f: PanelTriangle, b: int, leading: Any) -> None:
    """Replace B by B times the inverse of a lower triangle, or of its transpose."""
    call_by_reference(
        loops, routines.trsm,
        (RIGHT, LOWER, letter, PLAIN, f.count, f.width, routines.one, f.address, f.leading, b, leading),
    )  # fmt: skip


@noinline
def subtract_square(
    loops: int, routines: Lapack, panel: int, width: int, height: int, square: int, store: int
) -> None:
    """Subtract ``L21 @ L21.T`` from the lower triangle of a square (store: write the negative)."""
    zero, rows = routines.zero, width + height
    size = size_of(zero)
    below = panel + width * size
    if height * height * width > _MAX_LOOP_PRODUCTS:
        beta, order, count, leading = (
            zero if store else routines.one,
            np.int32(height),
            np.int32(width),
            np.int32(rows),
        )
        call_by_reference(
            loops, routines.syrk,
            (LOWER, PLAIN, order, count, -routines.one, below, leading, beta, square, order),
        )  # fmt: skip
        return
    for j in range(height):
        target = square + (j * height + j) * size
        if store:
            clear_column(target, height - j, zero)
        for p in range(width):
            source = below + (p * rows + j) * size
            add_multiple(target, source, height - j, -load_at(source, 0, zero), zero)


@always_inline
def clear_column(target: int, count: int, zero: Any) -> None:
    """Write zeros."""
    for i in range(count):
        store_at(target, i * size_of(zero), zero, zero)


# --- inverses --------------------------------------------------------------------------------------------------


@noinline
def _invert_one(panel: int, height: int, square: int, w: int, z: int, zero: Any) -> None:
    """Write the inverse's panel of a front of one pivot."""
    size, root = size_of(zero), load_at(panel, 0, zero)
    scaled = (zero + 1) / root
    for i in range(height):
        store_at(w, i * size, load_at(panel, (i + 1) * size, zero) * scaled, zero)
        store_at(z, (i + 1) * size, zero, zero)
    for j in range(height):
        column, factor = square + (j * height + j) * size, load_at(w, j * size, zero)
        total = load_at(column, 0, zero) * factor
        for i in range(1, height - j):
            element = load_at(column, i * size, zero)
            total += element * load_at(w, (j + i) * size, zero)
            offset = (1 + j + i) * size
            store_at(z, offset, load_at(z, offset, zero) - element * factor, zero)
        store_at(z, (1 + j) * size, load_at(z, (1 + j) * size, zero) - total, zero)
    total = scaled * scaled
    for i in range(height):
        total -= load_at(w, i * size, zero) * load_at(z, (i + 1) * size, zero)
    store_at(z, 0, total, zero)


@noinline
def invert_panel(
    loops: int, routines: Lapack, panel: int, width: int, height: int, square: int, w: int, z: int
) -> None:
    """Write the inverse's panel of a front to `z`, given the square of the inverse at its rows.

    With ``W = L21 L11^-1`` (in `w`, scratch) it is ``Z21 = -Z22 W`` and ``Z11 = (L11 L11^T)^-1 - W^T Z21``.
    """
    zero, one, rows = routines.zero, routines.one, width + height
    size = size_of(zero)
    if width == 1:
        _invert_one(panel, height, square, w, z, zero)
        return
    order, leading, count, info = np.int32(width), np.int32(rows), np.int32(height), info_i64()
    for j in range(width):
        memcpy(z + j * rows * size, panel + j * rows * size, width * size)
    call_by_reference(loops, routines.potri, (LOWER, order, z, leading, info))
    if height == 0:
        return
    for j in range(width):
        memcpy(w + j * height * size, panel + (j * rows + width) * size, height * size)
    _divide(loops, routines, PLAIN, PanelTriangle(panel, leading, order, count), w, count)
    below = z + width * size
    call_by_reference(
        loops, routines.symm,
        (LEFT, LOWER, count, order, -one, square, count, w, count, zero, below, leading),
    )  # fmt: skip
    call_by_reference(
        loops, routines.products.gemm,
        (TRANSPOSED, PLAIN, order, order, count, -one, w, count, below, leading, one, z, leading),
    )  # fmt: skip
    _clear_above(z, width, rows, zero)


@noinline
def _clear_above(panel: int, width: int, rows: int, zero: Any) -> None:
    """Write zeros above the diagonal of a panel."""
    for j in range(1, width):
        clear_column(panel + j * rows * size_of(zero), j, zero)
