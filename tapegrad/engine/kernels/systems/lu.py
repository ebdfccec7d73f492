"""LU factors with row exchanges, and solutions of linear systems by them.

Factors are integers without a derivative, computed once. Instructions that read them are differentiated by the matrix:
the cotangents are solutions with the same factors, of complex matrices with the conjugate transposes (Giles 2008,
"Collected matrix derivative results for forward and reverse mode algorithmic differentiation").
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.lanes.lanes import MIN_LANE_MATRICES
from tapegrad.engine.kernels.lanes.lu_lanes import factor_stack, solve_stack
from tapegrad.engine.kernels.language.frame import PARAMS, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    MAX_SMALL_ROWS,
    Lapack,
    add,
    at,
    by_columns,
    by_rows,
    conjugate_in_place,
    copy,
    factor_bytes,
    is_singular,
    libraries,
    negate,
    put,
    substitute,
    triangle_bytes,
)
from tapegrad.engine.kernels.language.matmul import Matrix, product, transposed
from tapegrad.engine.kernels.language.raw_memory import (
    load_at,
    load_i32,
    load_i64,
    load_record,
    memcpy,
    memset,
    size_of,
    store_at,
    store_i32,
)
from tapegrad.engine.kernels.language.status import SINGULAR
from tapegrad.engine.kernels.systems.blocks import factor_lu
from tapegrad.engine.kernels.systems.complex_products import product_by_adjoint
from tapegrad.engine.kernels.systems.stacks import Sizes, SystemFrame, for_each_system, write_nan
from tapegrad.ops.structural.matrices import LuSolveParams, SquareParams

LIBRARY = libraries(("lu", "lu_solve"), "getrf")


# --- factors of one matrix -------------------------------------------------------------------------------------


@always_inline
def exchange_pair(a: Matrix, i: int, other: int, zero: Any) -> None:
    if i != other:
        for j in range(a.columns):
            before = at(a, i, j, zero)
            put(a, i, j, at(a, other, j, zero), zero)
            put(a, other, j, before, zero)


@always_inline
def pivot_size(value: Any) -> float:
    """Return the size by which rows are chosen; of a complex number LAPACK's, the sum of both parts' sizes."""
    if np.iscomplexobj(value):
        return abs(value.real) + abs(value.imag)
    return abs(value)


@always_inline
def _factor_fixed(a: int, exchanges: int, n: int, zero: Any) -> None:
    """Factor a matrix of few rows; inlined with a constant `n`, so that the loops are unrolled."""
    size = size_of(zero)
    for k in range(n):
        found, largest = k, pivot_size(load_at(a, (k + n * k) * size, zero))
        for i in range(k + 1, n):
            value = pivot_size(load_at(a, (i + n * k) * size, zero))
            if value > largest:
                found, largest = i, value
        store_i32(exchanges, k, np.int32(found + 1))
        if found != k:
            for j in range(n):
                before = load_at(a, (k + n * j) * size, zero)
                store_at(a, (k + n * j) * size, load_at(a, (found + n * j) * size, zero), zero)
                store_at(a, (found + n * j) * size, before, zero)
        pivot = load_at(a, (k + n * k) * size, zero)
        for i in range(k + 1, n):
            factor = load_at(a, (i + n * k) * size, zero)
            factor = factor / pivot if pivot != zero else factor
            store_at(a, (i + n * k) * size, factor, zero)
            for j in range(k + 1, n):
                at_ = (i + n * j) * size
                store_at(a, at_, load_at(a, at_, zero) - factor * load_at(a, (k + n * j) * size, zero), zero)


@noinline
def _factor_few(a: int, n: int, exchanges: int, zero: Any) -> None:
    if n == 2:
        _factor_fixed(a, exchanges, 2, zero)
    elif n == 3:
        _factor_fixed(a, exchanges, 3, zero)
    elif n == 4:
        _factor_fixed(a, exchanges, 4, zero)
    else:
        _factor_fixed(a, exchanges, n, zero)


@noinline
def factorize(loops: int, routines: Lapack, a: int, n: int, exchanges: int) -> None:
    """Replace a matrix in Fortran order by its triangles. Pivots of a singular matrix are zero."""
    if n <= MAX_SMALL_ROWS:
        _factor_few(a, n, exchanges, routines.zero)
        return
    factor_lu(loops, routines, a, n, exchanges)


@noinline
def exchange_rows(x: Matrix, exchanges: int, backwards: bool, zero: Any) -> None:
    for step in range(x.rows):
        i = x.rows - 1 - step if backwards else step
        exchange_pair(x, i, load_i32(exchanges, i) - 1, zero)


@always_inline
def _solve_fixed(factor: int, exchanges: int, x: int, n: int, zero: Any) -> None:
    """Solve for one column of few rows; inlined with a constant `n`, so that the loops are unrolled."""
    size = size_of(zero)
    for i in range(n):
        other = load_i32(exchanges, i) - 1
        before = load_at(x, i * size, zero)
        store_at(x, i * size, load_at(x, other * size, zero), zero)
        store_at(x, other * size, before, zero)
    for j in range(n):
        value = load_at(x, j * size, zero)
        for i in range(j + 1, n):
            store_at(
                x,
                i * size,
                load_at(x, i * size, zero) - load_at(factor, (i + n * j) * size, zero) * value,
                zero,
            )
    for step in range(n):
        j = n - 1 - step
        value = load_at(x, j * size, zero) / load_at(factor, (j + n * j) * size, zero)
        store_at(x, j * size, value, zero)
        for i in range(j):
            store_at(
                x,
                i * size,
                load_at(x, i * size, zero) - load_at(factor, (i + n * j) * size, zero) * value,
                zero,
            )


@noinline
def _solve_few(factor: int, exchanges: int, x: int, n: int, zero: Any) -> None:
    if n == 2:
        _solve_fixed(factor, exchanges, x, 2, zero)
    elif n == 3:
        _solve_fixed(factor, exchanges, x, 3, zero)
    elif n == 4:
        _solve_fixed(factor, exchanges, x, 4, zero)
    else:
        _solve_fixed(factor, exchanges, x, n, zero)


@noinline
def solve(loops: int, routines: Lapack, factor: int, x: Matrix, transpose: int) -> None:
    """Solve A X = B in place, or A^T X = B, with the factors of A."""
    n, zero = x.rows, routines.zero
    t, exchanges = by_columns(factor, n, n, zero), factor + triangle_bytes(n, zero)
    if n <= MAX_SMALL_ROWS and x.columns == 1 and transpose == 0 and x.row_stride == size_of(zero):
        _solve_few(factor, exchanges, x.address, n, zero)
    elif transpose:
        substitute(loops, routines, transposed(t), x, np.int64(1), np.int64(0))
        substitute(loops, routines, transposed(t), x, np.int64(0), np.int64(1))
        exchange_rows(x, exchanges, True, zero)
    else:
        exchange_rows(x, exchanges, False, zero)
        substitute(loops, routines, t, x, np.int64(1), np.int64(1))
        substitute(loops, routines, t, x, np.int64(0), np.int64(0))


@noinline
def solve_adjoint(loops: int, routines: Lapack, factor: int, x: Matrix, transpose: int) -> None:
    """Solve in place with the conjugate transpose of what `solve` solves with."""
    conjugate_in_place(x, routines.zero)
    solve(loops, routines, factor, x, 1 - transpose)
    conjugate_in_place(x, routines.zero)


# --- lu --------------------------------------------------------------------------------------------------------


@always_inline
def lu_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write the factors and row exchanges of each matrix of X[0] to Y."""
    p = load_record(load_i64(frame, PARAMS), SquareParams)
    if p.n <= MAX_SMALL_ROWS and p.matrices >= MIN_LANE_MATRICES:
        return factor_stack(load_i64(frame, X), p.matrices, p.n, load_i64(frame, Y), routines.zero)
    return factor_one_by_one(frame, loops, routines)


@always_inline
def factor_one_by_one(frame: int, loops: int, routines: Lapack) -> int:
    """Write the factors and row exchanges of each matrix of X[0] to Y, without lanes."""
    p, x, y = load_record(load_i64(frame, PARAMS), SquareParams), load_i64(frame, X), load_i64(frame, Y)
    n, zero = p.n, routines.zero
    for _ in range(p.matrices):
        copy(by_rows(x, n, n, zero), by_columns(y, n, n, zero), zero)
        factorize(loops, routines, y, n, y + triangle_bytes(n, zero))
        x += n * n * size_of(zero)
        y += factor_bytes(n, zero)
    return 0


# --- solutions -------------------------------------------------------------------------------------------------


@always_inline
def lu_solve_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write the solutions with the factors X[2] and the right sides X[1] to Y."""
    p = load_record(load_i64(frame, PARAMS), LuSolveParams)
    if p.n <= MAX_SMALL_ROWS and p.matrices >= MIN_LANE_MATRICES and p.transpose == 0:
        factor, b, y = load_i64(frame, X + 2), load_i64(frame, X + 1), load_i64(frame, Y)
        status = solve_stack(p, factor, b, y, routines.zero)
        if status != SINGULAR or p.nan_on_failure == 0:
            return status  # else one by one, to tell which
    return solve_one_by_one(frame, loops, routines)


@always_inline
def solve_one_by_one(frame: int, loops: int, routines: Lapack) -> int:
    """Write the solutions with the factors X[2] and the right sides X[1] to Y, without lanes."""
    p, zero = load_record(load_i64(frame, PARAMS), LuSolveParams), routines.zero
    n, factor, y = p.n, load_i64(frame, X + 2), load_i64(frame, Y)
    bytes_ = n * p.k * size_of(zero)
    memcpy(y, load_i64(frame, X + 1), p.matrices * bytes_)
    for _ in range(p.matrices):
        if not is_singular(by_columns(factor, n, n, zero), zero):
            solve(loops, routines, factor, by_rows(y, n, p.k, zero), p.transpose)
        elif p.nan_on_failure:
            write_nan(y, bytes_, zero)
        else:
            return SINGULAR
        factor += p.stride * factor_bytes(n, zero)
        y += bytes_
    return 0


@always_inline
def _solution_cotangents(loops: int, routines: Lapack, own: SystemFrame, p: Any) -> int:
    n, k, zero = p.n, p.k, routines.zero
    if p.nan_on_failure and is_singular(by_columns(own.a, n, n, zero), zero):
        return SINGULAR
    x, y, status = by_rows(own.scratch, n, k, zero), by_rows(own.y, n, k, zero), 0
    solve_adjoint(loops, routines, own.a, x, p.transpose)
    if own.b_bar != 0:
        add(x, by_rows(own.b_bar, n, k, zero), own.store & 2, zero)
    if own.a_bar != 0:
        negate(x, zero)
        into = by_rows(own.a_bar, n, n, zero)
        into = transposed(into) if p.transpose else into
        status = product_by_adjoint(loops, routines.products, x, y, into, own.store & 1)
    return status


@always_inline
def lu_solve_reverse(frame: int, loops: int, routines: Lapack) -> int:
    """Add (STORE: write) the cotangents of matrices and right sides: solutions with the conjugate transposes."""
    p, zero = load_record(load_i64(frame, PARAMS), LuSolveParams), routines.zero
    n, factor, size = p.n, load_i64(frame, X + 2), size_of(zero)
    sizes = Sizes(factor_bytes(n, zero), n * n * size, n * p.k * size, 0)
    return for_each_system(frame, loops, routines, p, factor, sizes, zero, _solution_cotangents)


@always_inline
def lu_solve_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write the solutions for ``b_dot - a_dot @ y`` to Y_BAR; either tangent may be absent."""
    p, zero = load_record(load_i64(frame, PARAMS), LuSolveParams), routines.zero
    n, k, factor, y, y_dot = p.n, p.k, load_i64(frame, X + 2), load_i64(frame, Y), load_i64(frame, Y_BAR)
    a_dot, b_dot, bytes_ = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1), n * k * size_of(zero)
    for _ in range(p.matrices):
        into = by_rows(y_dot, n, k, zero)
        memset(y_dot, np.int32(0), bytes_)
        if a_dot != 0:
            turned = by_rows(a_dot, n, n, zero)
            turned = transposed(turned) if p.transpose else turned
            product(loops, routines.products, turned, by_rows(y, n, k, zero), into, np.int64(1))
            negate(into, zero)
            a_dot += p.stride * n * n * size_of(zero)
        if b_dot != 0:
            add(by_rows(b_dot, n, k, zero), into, np.int64(0), zero)
            b_dot += bytes_
        if p.nan_on_failure and is_singular(by_columns(factor, n, n, zero), zero):
            write_nan(y_dot, bytes_, zero)
        else:
            solve(loops, routines, factor, into, p.transpose)
        factor += p.stride * factor_bytes(n, zero)
        y += bytes_
        y_dot += bytes_
    return 0
