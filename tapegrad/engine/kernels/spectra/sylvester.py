"""Sylvester equations, ``A X + X B = Q``, and square roots of matrices, by Schur factors.

``Q_bar`` solves the equation with the conjugate transposes and the right side ``X_bar``, and ``A_bar = -Q_bar X^H``,
``B_bar = -X^H Q_bar``. A square root is differentiated as the solution of ``X X_dot + X_dot X = A_dot``.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.frame import PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    ADJOINT,
    PLAIN,
    VECTORS,
    Lapack,
    add,
    at,
    by_columns,
    by_rows,
    complex_libraries,
    conjugate,
    copy,
    eps_of,
    info_i64,
    largest,
    libraries,
    negate,
    part,
    put,
)
from tapegrad.engine.kernels.language.matmul import Matrix, product, transposed
from tapegrad.engine.kernels.language.raw_memory import (
    call_by_reference,
    free,
    load_at,
    load_i32,
    load_i64,
    load_record,
    malloc,
    memset,
    size_of,
    stack_i64,
    store_at,
)
from tapegrad.engine.kernels.language.status import NO_REAL_RESULT, NOT_CONVERGED, OUT_OF_MEMORY, SINGULAR
from tapegrad.engine.kernels.systems.complex_products import product_by_adjoint, product_of_adjoint
from tapegrad.engine.kernels.systems.stacks import are_zeros, write_nan, write_nothing
from tapegrad.ops.structural.matrices import SquareParams, SylvesterParams

_OPS, _ROUTINES = ("sylvester", "sqrtm"), ("gees", "trsyl")
LIBRARY = libraries(_OPS, *_ROUTINES) | complex_libraries(_OPS, *_ROUTINES)


# --- Schur factors ---------------------------------------------------------------------------------------------


@always_inline
def _schur_bytes(n: int, zero: Any) -> int:
    """Return the bytes of the triangle, the vectors and their conjugates after it, and the routine's workspace."""
    return (3 * n * n + 10 * n + 8) * size_of(zero) + 16


@always_inline
def _vectors(factors: int, n: int, zero: Any) -> Matrix:
    """Return the Schur vectors behind a triangle."""
    return by_columns(factors + n * n * size_of(zero), n, n, zero)


@always_inline
def _adjoint_vectors(factors: int, n: int, zero: Any) -> Matrix:
    """Return the conjugate transpose of the Schur vectors, of real numbers the transpose."""
    own = _vectors(factors, n, zero)
    if np.iscomplexobj(zero):
        own = by_columns(own.address + n * n * size_of(zero), n, n, zero)
    return transposed(own)


@noinline
def _schur(loops: int, routines: Lapack, a: Matrix, scratch: int) -> int:
    """Write the Schur factors of a matrix in Fortran order: triangle, vectors, conjugates of complex ones.

    Of a real matrix they are real, and the triangle has blocks of conjugate pairs. Return a status.
    """
    n, zero, size, order, info = a.rows, routines.zero, size_of(routines.zero), np.int32(a.rows), info_i64()
    vectors = scratch + n * n * size
    values = vectors + 2 * n * n * size
    work, lwork, count = values + 2 * n * size, np.int32(8 * n), stack_i64(1)
    copy(a, by_columns(scratch, n, n, zero), zero)
    nothing, second = np.int64(0), values + n * size  # imaginary parts, of complex matrices real workspace
    if np.iscomplexobj(zero):
        call_by_reference(
            loops, routines.gees,
            (VECTORS, PLAIN, nothing, order, scratch, order, count, values, vectors, order, work, lwork, second,
             nothing, info),
        )  # fmt: skip
        conjugate(_vectors(scratch, n, zero), by_columns(vectors + n * n * size, n, n, zero), zero)
    else:
        call_by_reference(
            loops, routines.gees,
            (VECTORS, PLAIN, nothing, order, scratch, order, count, values, second, vectors, order, work, lwork,
             nothing, info),
        )  # fmt: skip
    return 0 if load_i32(info, 0) == 0 else NOT_CONVERGED


@noinline
def _solve_triangles(loops: int, routines: Lapack, a: int, b: int, x: Matrix, transpose: int) -> int:
    """Solve the equation with triangles in place, X in Fortran order; return a status."""
    zero, info, scale = routines.zero, info_i64(), stack_i64(1)
    letter = ADJOINT if transpose else PLAIN
    m, n = np.int32(x.rows), np.int32(x.columns)
    call_by_reference(
        loops, routines.trsyl, (letter, letter, np.int32(1), m, n, a, m, b, n, x.address, m, scale, info)
    )
    if load_i32(info, 0) != 0:
        return SINGULAR
    factor = load_at(scale, 0, zero.real)
    if factor != 1:
        for i in range(x.rows):
            for j in range(x.columns):
                put(x, i, j, at(x, i, j, zero) / factor, zero)
    return 0


@noinline
def _solve(
    loops: int, routines: Lapack, a: int, b: int, q: Matrix, x: Matrix, scratch: int, transpose: int
) -> int:
    """Solve the equation, or that of the conjugate transposes, by the Schur factors of both; return a status."""
    m, n, zero, products, write = q.rows, q.columns, routines.zero, routines.products, np.int64(1)
    size = size_of(zero)
    inner, half = by_columns(scratch, m, n, zero), by_rows(scratch + m * n * size, m, n, zero)
    product(loops, products, _adjoint_vectors(a, m, zero), q, half, write)
    product(loops, products, half, _vectors(b, n, zero), inner, write)
    status = _solve_triangles(loops, routines, a, b, inner, transpose)
    product(loops, products, _vectors(a, m, zero), inner, half, write)
    product(loops, products, half, _adjoint_vectors(b, n, zero), x, write)
    return status


@always_inline
def _work_bytes(m: int, n: int, zero: Any) -> int:
    return _schur_bytes(m, zero) + _schur_bytes(n, zero) + 3 * m * n * size_of(zero)


# --- equations -------------------------------------------------------------------------------------------------


@noinline
def _written_nan(address: int, count: int, zero: Any) -> int:
    """Write nan in place of a result; return the status of success."""
    write_nan(address, count * size_of(zero), zero)
    return 0


@always_inline
def _sylvester(frame: int, loops: int, routines: Lapack, direction: int) -> int:
    """Solve each equation for a direction: forward (0), reverse (1) or tangent (2)."""
    p, zero = load_record(load_i64(frame, PARAMS), SylvesterParams), routines.zero
    m, n, size, products, write, more = p.m, p.n, size_of(zero), routines.products, np.int64(1), np.int64(0)
    a, b, q, y = load_i64(frame, X), load_i64(frame, X + 1), load_i64(frame, X + 2), load_i64(frame, Y)
    a_bar, b_bar, q_bar = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1), load_i64(frame, X_BAR + 2)
    y_bar, store, status = load_i64(frame, Y_BAR), load_i64(frame, STORE), 0
    first = malloc(_work_bytes(m, n, zero) + m * n * size)
    if first == 0:
        return OUT_OF_MEMORY
    second = first + _schur_bytes(m, zero)
    work = second + _schur_bytes(n, zero)
    right = by_rows(work + 3 * m * n * size, m, n, zero)
    for _ in range(p.matrices if min(m, n) > 0 else 0):
        own, other, x = by_rows(a, m, m, zero), by_rows(b, n, n, zero), by_rows(y, m, n, zero)
        status = _schur(loops, routines, own, first)
        if status == 0:
            status = _schur(loops, routines, other, second)
        if status != 0 and p.nan_on_failure == 0:
            break
        if direction == 0:
            if status == 0:
                status = _solve(loops, routines, first, second, by_rows(q, m, n, zero), x, work, more)
            if status != 0 and p.nan_on_failure:
                status = _written_nan(y, m * n, zero)
            q += m * n * size
        elif direction == 1:
            into = by_rows(work + 2 * m * n * size, m, n, zero)
            if p.nan_on_failure and are_zeros(y_bar, m * n * size, zero):
                status = 0
                write_nothing(q_bar, m * n * size, store & 4)
                write_nothing(a_bar, m * m * size, store & 1)
                write_nothing(b_bar, n * n * size, store & 2)
            else:
                if status == 0:
                    bar = by_rows(y_bar, m, n, zero)
                    status = _solve(loops, routines, first, second, bar, into, work, write)
                if status != 0 and p.nan_on_failure:
                    status = _written_nan(into.address, m * n, zero)
                if q_bar != 0:
                    add(into, by_rows(q_bar, m, n, zero), store & 4, zero)
                negate(into, zero)
                if a_bar != 0 and status == 0:
                    bar = by_rows(a_bar, m, m, zero)
                    status = product_by_adjoint(loops, products, into, x, bar, store & 1)
                if b_bar != 0 and status == 0:
                    bar = by_rows(b_bar, n, n, zero)
                    status = product_of_adjoint(loops, products, x, into, bar, store & 2)
            q_bar += m * n * size if q_bar != 0 else 0
            a_bar += m * m * size if a_bar != 0 else 0
            b_bar += n * n * size if b_bar != 0 else 0
            y_bar += m * n * size
        else:
            memset(right.address, np.int32(0), m * n * size)
            if a_bar != 0:
                product(loops, products, by_rows(a_bar, m, m, zero), x, right, more)
                a_bar += m * m * size
            if b_bar != 0:
                product(loops, products, x, by_rows(b_bar, n, n, zero), right, more)
                b_bar += n * n * size
            negate(right, zero)
            if q_bar != 0:
                add(by_rows(q_bar, m, n, zero), right, more, zero)
                q_bar += m * n * size
            if status == 0:
                into = by_rows(y_bar, m, n, zero)
                status = _solve(loops, routines, first, second, right, into, work, more)
            if status != 0 and p.nan_on_failure:
                status = _written_nan(y_bar, m * n, zero)
            y_bar += m * n * size
        if status != 0:
            break
        a += m * m * size
        b += n * n * size
        y += m * n * size
    free(first)
    return status


@always_inline
def sylvester_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write the solutions for X[0], X[1] and the right sides X[2] to Y."""
    return _sylvester(frame, loops, routines, 0)


@always_inline
def sylvester_reverse(frame: int, loops: int, routines: Lapack) -> int:
    """Add (STORE: write) the cotangents of both matrices and of the right sides."""
    return _sylvester(frame, loops, routines, 1)


@always_inline
def sylvester_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write the solutions for ``q_dot - a_dot @ y - y @ b_dot`` to Y_BAR; each tangent may be absent."""
    return _sylvester(frame, loops, routines, 2)


# --- square roots ----------------------------------------------------------------------------------------------


@noinline
def _root_of_block(t: Matrix, r: Matrix, close: float, zero: Any) -> bool:
    """Write the square root of a real block, or of a 2x2 block of a conjugate pair; return whether it is real."""
    if t.rows == 1:
        value = at(t, 0, 0, zero)
        if abs(value) <= close:
            value = zero
        put(r, 0, 0, np.sqrt(value), zero)
        return not value.real < 0
    mean = (at(t, 0, 0, zero) + at(t, 1, 1, zero)) / 2
    away = (at(t, 0, 0, zero) - at(t, 1, 1, zero)) / 2
    modulus = np.sqrt(mean * mean - away * away - at(t, 0, 1, zero) * at(t, 1, 0, zero))
    real = np.sqrt((mean + modulus) / 2)
    put(r, 0, 0, real + away / (2 * real), zero)
    put(r, 1, 1, real - away / (2 * real), zero)
    put(r, 0, 1, at(t, 0, 1, zero) / (2 * real), zero)
    put(r, 1, 0, at(t, 1, 0, zero) / (2 * real), zero)
    return True


@noinline
def _root_of_number(t: Matrix, r: Matrix, close: float, zero: Any) -> bool:
    """Write the principal square root of a complex number, which is on the side that the sign of a zero says."""
    value = at(t, 0, 0, zero)
    modulus, real, imag = np.float64(abs(value)), np.float64(value.real), np.float64(value.imag)
    if modulus <= close:
        put(r, 0, 0, zero, zero)
        return True
    root = np.sqrt((modulus + abs(real)) / 2)
    other = imag / (2 * root)
    if real < 0:
        other, root = (-root if 1 / imag < 0 else root), abs(other)
    store_at(r.address, np.int64(0), root, zero.real)
    store_at(r.address, size_of(zero.real), other, zero.real)
    return True


@noinline
def _column_of_root(loops: int, routines: Lapack, t: Matrix, r: Matrix, j: int, width: int) -> int:
    """Write the part of the root above a diagonal block, by a Sylvester equation; return a status."""
    zero, size, info, scale = routines.zero, size_of(routines.zero), info_i64(), stack_i64(1)
    copy(part(t, 0, j, j, width), part(r, 0, j, j, width), zero)
    block, into, leading = (
        part(r, j, j, width, width),
        part(r, 0, j, j, width),
        np.int32(r.column_stride // size),
    )
    rows, columns = np.int32(j), np.int32(width)
    call_by_reference(
        loops,
        routines.trsyl,
        (PLAIN, PLAIN, np.int32(1), rows, columns, r.address, leading, block.address, leading, into.address, leading,
         scale, info),
    )  # fmt: skip
    return SINGULAR if load_i32(info, 0) != 0 else 0


@noinline
def _root_of_triangle(loops: int, routines: Lapack, t: Matrix, r: Matrix) -> int:
    """Write the square root of a Schur factor by blocks (Bjorck and Hammarling 1983, Higham 1987); return a status."""
    zero, n, j = routines.zero, t.rows, 0
    close = n * eps_of(zero) * largest(t, zero)
    memset(r.address, np.int32(0), n * n * size_of(zero))
    while j < n:
        width = 2 if j + 1 < n and at(t, j + 1, j, zero) != zero else 1
        block, into = part(t, j, j, width, width), part(r, j, j, width, width)
        if np.iscomplexobj(zero):
            found = _root_of_number(block, into, close, zero)
        else:
            found = _root_of_block(block, into, close, zero)
        if not found:
            return NO_REAL_RESULT
        if j > 0 and _column_of_root(loops, routines, t, r, j, width) != 0:
            return SINGULAR
        j += width
    return 0


@always_inline
def sqrtm_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write the principal square root of each matrix of X[0] to Y."""
    p, x, y = load_record(load_i64(frame, PARAMS), SquareParams), load_i64(frame, X), load_i64(frame, Y)
    n, zero, size, products, write = (
        p.n,
        routines.zero,
        size_of(routines.zero),
        routines.products,
        np.int64(1),
    )
    scratch, status = malloc(_schur_bytes(n, zero) + 2 * n * n * size), 0
    if scratch == 0:
        return OUT_OF_MEMORY
    t = by_columns(scratch, n, n, zero)
    r = by_columns(scratch + _schur_bytes(n, zero), n, n, zero)
    half = by_rows(r.address + n * n * size, n, n, zero)
    for _ in range(p.matrices if n > 0 else 0):
        status = _schur(loops, routines, by_rows(x, n, n, zero), scratch)
        if status == 0:
            status = _root_of_triangle(loops, routines, t, r)
        if status != 0 and p.nan_on_failure == 0:
            break
        if status == 0:
            product(loops, products, _vectors(scratch, n, zero), r, half, write)
            product(loops, products, half, _adjoint_vectors(scratch, n, zero), by_rows(y, n, n, zero), write)
        else:
            status = _written_nan(y, n * n, zero)
        x += n * n * size
        y += n * n * size
    free(scratch)
    return status


@always_inline
def _sqrtm_derivative(frame: int, loops: int, routines: Lapack, reverse: bool) -> int:
    p, y = load_record(load_i64(frame, PARAMS), SquareParams), load_i64(frame, Y)
    n, zero, x_bar, y_bar = p.n, routines.zero, load_i64(frame, X_BAR), load_i64(frame, Y_BAR)
    bytes_, status = n * n * size_of(zero), 0
    along, into = (y_bar, x_bar) if reverse else (x_bar, y_bar)
    store = load_i64(frame, STORE) & 1 if reverse else np.int64(1)
    factors = malloc(_work_bytes(n, n, zero))
    if factors == 0:
        return OUT_OF_MEMORY
    work = factors + _schur_bytes(n, zero)
    x = by_rows(work + 2 * bytes_, n, n, zero)
    for _ in range(p.matrices if n > 0 else 0):
        if p.nan_on_failure and reverse and are_zeros(along, bytes_, zero):
            memset(x.address, np.int32(0), bytes_)
        else:
            status = _schur(loops, routines, by_rows(y, n, n, zero), factors)
            if status == 0:
                side, transpose = by_rows(along, n, n, zero), np.int64(1 if reverse else 0)
                status = _solve(loops, routines, factors, factors, side, x, work, transpose)
            if status != 0 and p.nan_on_failure:
                status = _written_nan(x.address, n * n, zero)
        if status != 0:
            break
        add(x, by_rows(into, n, n, zero), store, zero)
        y += bytes_
        along += bytes_
        into += bytes_
    free(factors)
    return status


@always_inline
def sqrtm_reverse(frame: int, loops: int, routines: Lapack) -> int:
    """Add (STORE: write) the solutions of ``Y^H X + X Y^H = Y_BAR`` to X_BAR[0]."""
    return _sqrtm_derivative(frame, loops, routines, True)


@always_inline
def sqrtm_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write the solutions of ``Y X + X Y = X_BAR[0]`` to Y_BAR."""
    return _sqrtm_derivative(frame, loops, routines, False)
