"""Triangular systems of complex matrices, by BLAS's trsm.

With H the conjugate transpose, the cotangent of right sides b is ``u = T^-H x_bar``, that of triangles the triangle of
``-u x^H``.
"""

from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.kernels.complexes.systems import ADJOINT
from tapegrad.engine.kernels.language.frame import PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    LEFT,
    LOWER,
    PLAIN,
    RIGHT,
    TRANSPOSED,
    UNIT,
    UPPER,
    Complexes,
    add,
    by_rows,
    complex_libraries,
    is_singular,
    negate,
)
from tapegrad.engine.kernels.language.matmul import product, transposed
from tapegrad.engine.kernels.language.raw_memory import (
    call_by_reference,
    free,
    load_i64,
    load_record,
    malloc,
    memcpy,
    memset,
    size_of,
)
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY, SINGULAR
from tapegrad.engine.kernels.systems.complex_products import conjugate, product_by_adjoint
from tapegrad.engine.kernels.systems.stacks import are_zeros, write_failure, write_nan, write_nothing
from tapegrad.engine.kernels.systems.triangular import add_triangle
from tapegrad.ops.structural.matrices import TriangularParams

LIBRARY = complex_libraries(("solve_triangular",), "trsm")


class Division(NamedTuple):
    """Division by a triangle T: from which side, which triangle is read, and what of it divides.

    `letter` says T itself, its transpose, or its conjugate transpose; `unit` is 1 if all diagonal elements are 1.
    """

    from_right: Any
    lower: Any
    letter: Any
    unit: Any


@noinline
def divide(loops: int, routines: Complexes, t: int, n: int, x: int, k: int, how: Division) -> None:
    """Solve in place for a matrix in C order: ``op(T) X = B`` with k columns, or ``X op(T) = B`` with k rows.

    `t` is a square in C order, of which one triangle is read.
    """
    from_right, lower, letter, unit = how
    if n == 0 or k == 0:
        return
    # In Fortran order all matrices are transposed: the sides are exchanged, and so are the triangles
    side, uplo, diag = LEFT if from_right else RIGHT, UPPER if lower else LOWER, UNIT if unit else PLAIN
    rows, columns = np.int32(n if from_right else k), np.int32(k if from_right else n)
    call_by_reference(
        loops,
        routines.trsm,
        (side, uplo, letter, diag, rows, columns, routines.one, t, np.int32(n), x, rows),
    )


@noinline
def _is_singular(triangle: int, p: Any, zero: Any) -> bool:
    return p.unit == 0 and is_singular(by_rows(triangle, p.n, p.n, zero), zero)


@always_inline
def solve_triangular_forward(frame: int, loops: int, routines: Complexes) -> int:
    """Write the solutions with the triangles X[0] and the right sides X[1] to Y."""
    p, zero = load_record(load_i64(frame, PARAMS), TriangularParams), routines.zero
    t, y, bytes_ = load_i64(frame, X), load_i64(frame, Y), p.n * p.k * size_of(zero)
    letter = TRANSPOSED if p.transpose else PLAIN
    memcpy(y, load_i64(frame, X + 1), p.matrices * bytes_)
    for _ in range(p.matrices):
        if not _is_singular(t, p, zero):
            divide(loops, routines, t, p.n, y, p.k, Division(np.int64(0), p.lower, letter, p.unit))
        elif p.nan_on_failure:
            write_nan(y, bytes_, zero)
        else:
            return SINGULAR
        t += p.stride * p.n * p.n * size_of(zero)
        y += bytes_
    return 0


@noinline
def _solve_adjoint(loops: int, routines: Complexes, t: int, x: int, p: Any) -> None:
    """Solve with the conjugate transposes of the triangles that `p` means."""
    sides = by_rows(x, p.n, p.k, routines.zero)
    if p.transpose:
        conjugate(sides, sides, routines.zero)
        divide(loops, routines, t, p.n, x, p.k, Division(np.int64(0), p.lower, PLAIN, p.unit))
        conjugate(sides, sides, routines.zero)
    else:
        divide(loops, routines, t, p.n, x, p.k, Division(np.int64(0), p.lower, ADJOINT, p.unit))


@always_inline
def solve_triangular_reverse(frame: int, loops: int, routines: Complexes) -> int:
    """Add (STORE: write) the cotangents of triangles and right sides."""
    p, zero, store = (
        load_record(load_i64(frame, PARAMS), TriangularParams),
        routines.zero,
        load_i64(frame, STORE),
    )
    t, y, y_bar, n, k = load_i64(frame, X), load_i64(frame, Y), load_i64(frame, Y_BAR), p.n, p.k
    t_bar, b_bar, bytes_ = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1), n * k * size_of(zero)
    of_t, store_t, status = n * n * size_of(zero), store & 1, 0
    scratch = malloc(bytes_ + of_t + 8)
    if scratch == 0:
        return OUT_OF_MEMORY
    u, whole = by_rows(scratch, n, k, zero), by_rows(scratch + bytes_, n, n, zero)
    for _ in range(p.matrices):
        if p.nan_on_failure and are_zeros(y_bar, bytes_, zero):
            write_nothing(b_bar, bytes_, store & 2)
            write_nothing(t_bar, of_t, store_t)
        elif p.nan_on_failure and _is_singular(t, p, zero):
            write_failure(b_bar, bytes_, zero)
            write_failure(t_bar, of_t, zero)
        else:
            memcpy(scratch, y_bar, bytes_)
            _solve_adjoint(loops, routines, t, scratch, p)
            if b_bar != 0:
                add(u, by_rows(b_bar, n, k, zero), store & 2, zero)
            if t_bar != 0:
                negate(u, zero)
                into = transposed(whole) if p.transpose else whole
                other, write = by_rows(y, n, k, zero), np.int64(1)
                status = product_by_adjoint(loops, routines.products, u, other, into, write)
                if status != 0:
                    break
                add_triangle(whole, by_rows(t_bar, n, n, zero), p, store_t, zero)
        if b_bar != 0:
            b_bar += bytes_
        if t_bar != 0:
            t_bar += p.stride * of_t
            store_t &= p.stride
        t += p.stride * of_t
        y += bytes_
        y_bar += bytes_
    free(scratch)
    return status


@always_inline
def solve_triangular_tangent(frame: int, loops: int, routines: Complexes) -> int:
    """Write the solutions for ``b_dot - t_dot @ y`` to Y_BAR; either tangent may be absent."""
    p, zero = load_record(load_i64(frame, PARAMS), TriangularParams), routines.zero
    t, y, y_dot, n, k = load_i64(frame, X), load_i64(frame, Y), load_i64(frame, Y_BAR), p.n, p.k
    t_dot, b_dot, bytes_ = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1), n * k * size_of(zero)
    letter, scratch = TRANSPOSED if p.transpose else PLAIN, malloc(n * n * size_of(zero) + 8)
    if scratch == 0:
        return OUT_OF_MEMORY
    own = by_rows(scratch, n, n, zero)
    for _ in range(p.matrices):
        into = by_rows(y_dot, n, k, zero)
        memset(y_dot, np.int32(0), bytes_)
        if t_dot != 0:
            add_triangle(by_rows(t_dot, n, n, zero), own, p, np.int64(1), zero)
            moved = transposed(own) if p.transpose else own
            product(loops, routines.products, moved, by_rows(y, n, k, zero), into, np.int64(1))
            negate(into, zero)
            t_dot += p.stride * n * n * size_of(zero)
        if b_dot != 0:
            add(by_rows(b_dot, n, k, zero), into, np.int64(0), zero)
            b_dot += bytes_
        if p.nan_on_failure and _is_singular(t, p, zero):
            write_nan(y_dot, bytes_, zero)
        else:
            divide(loops, routines, t, n, y_dot, k, Division(np.int64(0), p.lower, letter, p.unit))
        t += p.stride * n * n * size_of(zero)
        y += bytes_
        y_dot += bytes_
    free(scratch)
    return 0
