"""Systems of linear equations with complex matrices, and inverses, by LU factors with row exchanges.

With H the conjugate transpose, the cotangent of right sides b is ``u = A^-H x_bar``, that of matrices ``-u x^H``.
Factors are integers without a derivative, computed once.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.frame import PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    PLAIN,
    TRANSPOSED,
    Complexes,
    add,
    by_columns,
    by_rows,
    complex_libraries,
    conjugate,
    copy,
    factor_bytes,
    info_i64,
    is_singular,
    negate,
    triangle_bytes,
    write_identity,
)
from tapegrad.engine.kernels.language.matmul import product, transposed
from tapegrad.engine.kernels.language.raw_memory import (
    call_by_reference,
    free,
    load_i64,
    load_record,
    malloc,
    memset,
    size_of,
)
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY, SINGULAR
from tapegrad.engine.kernels.systems.complex_products import product_by_adjoint, product_of_adjoint
from tapegrad.engine.kernels.systems.stacks import (
    COTANGENT,
    RESULT,
    TANGENT,
    MatrixFrame,
    Sizes,
    are_zeros,
    for_each,
    write_failure,
    write_nan,
    write_nothing,
)
from tapegrad.ops.structural.matrices import LuSolveParams, SquareParams

LIBRARY = complex_libraries(("lu", "lu_solve", "inv"), "getrf", "getrs")
ADJOINT = np.uint8(ord("C"))


# --- factors ---------------------------------------------------------------------------------------------------


@noinline
def factorize(loops: int, routines: Complexes, a: int, n: int) -> None:
    """Replace a matrix in Fortran order by its triangles; row exchanges follow. Pivots of singular ones are zero."""
    if n == 0:
        return
    order, exchanges = np.int32(n), a + triangle_bytes(n, routines.zero)
    call_by_reference(loops, routines.getrf, (order, order, a, order, exchanges, info_i64()))


@noinline
def solve(loops: int, routines: Complexes, factor: int, n: int, k: int, x: int, letter: Any) -> None:
    """Solve for `k` right sides in Fortran order in place; `letter` says PLAIN, TRANSPOSED or ADJOINT matrix."""
    if n == 0 or k == 0:
        return
    order = np.int32(n)
    exchanges = factor + triangle_bytes(n, routines.zero)
    call_by_reference(
        loops, routines.getrs, (letter, order, np.int32(k), factor, order, exchanges, x, order, info_i64())
    )


@noinline
def solve_adjoint(
    loops: int, routines: Complexes, factor: int, n: int, k: int, x: int, transpose: int
) -> None:
    """Solve with the conjugate transposes of the matrices that `transpose` means."""
    if transpose:
        sides = by_columns(x, n, k, routines.zero)
        conjugate(sides, sides, routines.zero)
        solve(loops, routines, factor, n, k, x, PLAIN)
        conjugate(sides, sides, routines.zero)
    else:
        solve(loops, routines, factor, n, k, x, ADJOINT)


@always_inline
def lu_forward(frame: int, loops: int, routines: Complexes) -> int:
    """Write the factors and row exchanges of each matrix of X[0] to Y."""
    p, x, y = load_record(load_i64(frame, PARAMS), SquareParams), load_i64(frame, X), load_i64(frame, Y)
    n, zero = p.n, routines.zero
    for _ in range(p.matrices if n > 0 else 0):
        copy(by_rows(x, n, n, zero), by_columns(y, n, n, zero), zero)
        factorize(loops, routines, y, n)
        x += n * n * size_of(zero)
        y += factor_bytes(n, zero)
    return 0


# --- solutions -------------------------------------------------------------------------------------------------


@always_inline
def lu_solve_forward(frame: int, loops: int, routines: Complexes) -> int:
    """Write the solutions with the factors X[2] and the right sides X[1] to Y."""
    p, zero = load_record(load_i64(frame, PARAMS), LuSolveParams), routines.zero
    n, k, factor, b, y = p.n, p.k, load_i64(frame, X + 2), load_i64(frame, X + 1), load_i64(frame, Y)
    bytes_, status = n * k * size_of(zero), 0
    scratch = malloc(bytes_ + 8)
    if scratch == 0:
        return OUT_OF_MEMORY
    x = by_columns(scratch, n, k, zero)
    for _ in range(p.matrices):
        if not is_singular(by_columns(factor, n, n, zero), zero):
            copy(by_rows(b, n, k, zero), x, zero)
            solve(loops, routines, factor, n, k, scratch, TRANSPOSED if p.transpose else PLAIN)
            copy(x, by_rows(y, n, k, zero), zero)
        elif p.nan_on_failure:
            write_nan(y, bytes_, zero)
        else:
            status = SINGULAR
            break
        factor += p.stride * factor_bytes(n, zero)
        b += bytes_
        y += bytes_
    free(scratch)
    return status


@always_inline
def lu_solve_reverse(frame: int, loops: int, routines: Complexes) -> int:
    """Add (STORE: write) the cotangents of matrices and right sides."""
    p, zero, store = (
        load_record(load_i64(frame, PARAMS), LuSolveParams),
        routines.zero,
        load_i64(frame, STORE),
    )
    n, k, factor, y, y_bar = p.n, p.k, load_i64(frame, X + 2), load_i64(frame, Y), load_i64(frame, Y_BAR)
    a_bar, b_bar, bytes_ = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1), n * k * size_of(zero)
    scratch, status = malloc(bytes_ + 8), 0
    if scratch == 0:
        return OUT_OF_MEMORY
    u, store_a, of_a = by_columns(scratch, n, k, zero), store & 1, n * n * size_of(zero)
    for _ in range(p.matrices):
        if p.nan_on_failure and are_zeros(y_bar, bytes_, zero):
            write_nothing(b_bar, bytes_, store & 2)
            write_nothing(a_bar, of_a, store_a)
        elif p.nan_on_failure and is_singular(by_columns(factor, n, n, zero), zero):
            write_failure(b_bar, bytes_, zero)
            write_failure(a_bar, of_a, zero)
        else:
            copy(by_rows(y_bar, n, k, zero), u, zero)
            solve_adjoint(loops, routines, factor, n, k, scratch, p.transpose)
            if b_bar != 0:
                add(u, by_rows(b_bar, n, k, zero), store & 2, zero)
            if a_bar != 0:
                negate(u, zero)
                into = by_rows(a_bar, n, n, zero)
                into = transposed(into) if p.transpose else into
                status = product_by_adjoint(
                    loops, routines.products, u, by_rows(y, n, k, zero), into, store_a
                )
                if status != 0:
                    break
        if b_bar != 0:
            b_bar += bytes_
        if a_bar != 0:
            a_bar += p.stride * of_a
            store_a &= p.stride
        factor += p.stride * factor_bytes(n, zero)
        y += bytes_
        y_bar += bytes_
    free(scratch)
    return status


@always_inline
def lu_solve_tangent(frame: int, loops: int, routines: Complexes) -> int:
    """Write the solutions for ``b_dot - a_dot @ y`` to Y_BAR; either tangent may be absent."""
    p, zero = load_record(load_i64(frame, PARAMS), LuSolveParams), routines.zero
    n, k, factor, y, y_dot = p.n, p.k, load_i64(frame, X + 2), load_i64(frame, Y), load_i64(frame, Y_BAR)
    a_dot, b_dot, bytes_ = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1), n * k * size_of(zero)
    scratch = malloc(bytes_ + 8)
    if scratch == 0:
        return OUT_OF_MEMORY
    x = by_columns(scratch, n, k, zero)
    for _ in range(p.matrices):
        memset(scratch, np.int32(0), bytes_)
        if a_dot != 0:
            moved = by_rows(a_dot, n, n, zero)
            moved = transposed(moved) if p.transpose else moved
            product(loops, routines.products, moved, by_rows(y, n, k, zero), x, np.int64(1))
            negate(x, zero)
            a_dot += p.stride * n * n * size_of(zero)
        if b_dot != 0:
            add(by_rows(b_dot, n, k, zero), x, np.int64(0), zero)
            b_dot += bytes_
        if p.nan_on_failure and is_singular(by_columns(factor, n, n, zero), zero):
            write_nan(y_dot, bytes_, zero)
        else:
            solve(loops, routines, factor, n, k, scratch, TRANSPOSED if p.transpose else PLAIN)
            copy(x, by_rows(y_dot, n, k, zero), zero)
        factor += p.stride * factor_bytes(n, zero)
        y += bytes_
        y_dot += bytes_
    free(scratch)
    return 0


# --- inverses --------------------------------------------------------------------------------------------------


@noinline
def invert(loops: int, routines: Complexes, factor: int, n: int, into: int) -> None:
    """Write the inverse in Fortran order, by the factors of the matrix."""
    write_identity(by_columns(into, n, n, routines.zero), routines.zero)
    solve(loops, routines, factor, n, n, into, PLAIN)


@noinline
def _inverse(loops: int, routines: Complexes, own: MatrixFrame, p: Any) -> int:
    """Write the inverse of one matrix; return a status."""
    n, zero = p.n, routines.zero
    t, inverse = by_columns(own.scratch, n, n, zero), own.scratch + factor_bytes(n, zero)
    copy(by_rows(own.x, n, n, zero), t, zero)
    factorize(loops, routines, own.scratch, n)
    if is_singular(t, zero):
        return SINGULAR
    invert(loops, routines, own.scratch, n, inverse)
    copy(by_columns(inverse, n, n, zero), by_rows(own.y, n, n, zero), zero)
    return 0


@noinline
def _cotangent(loops: int, routines: Complexes, own: MatrixFrame, p: Any) -> int:
    """Add (store: write) ``-Y^H Y_bar Y^H``; return a status."""
    n, zero, products = p.n, routines.zero, routines.products
    y, y_bar = by_rows(own.y, n, n, zero), by_rows(own.y_bar, n, n, zero)
    m = by_rows(own.scratch, n, n, zero)
    status = product_of_adjoint(loops, products, y, y_bar, m, np.int64(1))
    negate(m, zero)
    if status != 0:
        return status
    return product_by_adjoint(loops, products, m, y, by_rows(own.x_bar, n, n, zero), own.store)


@noinline
def _tangent(loops: int, routines: Complexes, own: MatrixFrame, p: Any) -> int:
    """Write ``-Y X_dot Y``; return a status."""
    n, zero, products, write = p.n, routines.zero, routines.products, np.int64(1)
    y, m = by_rows(own.y, n, n, zero), by_rows(own.scratch, n, n, zero)
    product(loops, products, y, by_rows(own.x_bar, n, n, zero), m, write)
    negate(m, zero)
    product(loops, products, m, y, by_rows(own.y_bar, n, n, zero), write)
    return 0


@always_inline
def _for_each(frame: int, loops: int, routines: Complexes, process: Any, written: int) -> int:
    """Process each matrix; the scratch memory holds the factors of one, and another one."""
    p, zero = load_record(load_i64(frame, PARAMS), SquareParams), routines.zero
    bytes_ = p.n * p.n * size_of(zero)
    sizes = Sizes(bytes_, 0, bytes_, factor_bytes(p.n, zero) + bytes_)
    return for_each(frame, loops, routines, p, sizes, process, written) if p.n > 0 else 0


@always_inline
def inv_forward(frame: int, loops: int, routines: Complexes) -> int:
    """Write the inverse of each matrix of X[0] to Y."""
    return _for_each(frame, loops, routines, _inverse, RESULT)


@always_inline
def inv_reverse(frame: int, loops: int, routines: Complexes) -> int:
    """Add (STORE: write) the cotangents of the matrices to X_BAR[0]."""
    return _for_each(frame, loops, routines, _cotangent, COTANGENT)


@always_inline
def inv_tangent(frame: int, loops: int, routines: Complexes) -> int:
    """Write the tangents of the inverses to Y_BAR."""
    return _for_each(frame, loops, routines, _tangent, TANGENT)
