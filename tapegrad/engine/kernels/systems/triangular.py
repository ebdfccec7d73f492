"""Solutions of triangular systems, and their derivatives.

``T X = B`` has the cotangents ``B_bar = T^-H X_bar`` and ``T_bar = -B_bar X^H``, restricted to the triangle; H is the
conjugate transpose (Giles 2008).
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.frame import PARAMS, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    Lapack,
    add,
    at,
    by_rows,
    complex_libraries,
    is_singular,
    libraries,
    negate,
    put,
    substitute,
    substitute_adjoint,
)
from tapegrad.engine.kernels.language.matmul import Matrix, product, transposed
from tapegrad.engine.kernels.language.raw_memory import (
    free,
    load_i64,
    load_record,
    malloc,
    memcpy,
    memset,
    size_of,
)
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY, SINGULAR
from tapegrad.engine.kernels.systems.complex_products import product_by_adjoint
from tapegrad.engine.kernels.systems.stacks import Sizes, SystemFrame, for_each_system, write_nan
from tapegrad.ops.structural.matrices import TriangularParams

LIBRARY = libraries(("solve_triangular",)) | complex_libraries(("solve_triangular",))


@noinline
def _is_singular(triangle: int, p: Any, zero: Any) -> bool:
    return p.unit == 0 and is_singular(by_rows(triangle, p.n, p.n, zero), zero)


@noinline
def _solve(loops: int, routines: Lapack, triangle: int, x: Matrix, p: Any) -> None:
    """Solve in place with a triangle, or its transpose if `p` says so."""
    t = by_rows(triangle, p.n, p.n, routines.zero)
    if p.transpose:
        substitute(loops, routines, transposed(t), x, 1 - p.lower, p.unit)
    else:
        substitute(loops, routines, t, x, p.lower, p.unit)


@noinline
def _solve_adjoint(loops: int, routines: Lapack, triangle: int, x: Matrix, p: Any) -> None:
    """Solve in place with the conjugate transpose of what `_solve` solves with."""
    t = by_rows(triangle, p.n, p.n, routines.zero)
    if p.transpose:
        substitute_adjoint(loops, routines, transposed(t), x, p.lower, p.unit)
    else:
        substitute_adjoint(loops, routines, t, x, 1 - p.lower, p.unit)


@noinline
def add_triangle(source: Matrix, into: Matrix, p: Any, store: int, zero: Any) -> None:
    """Add (store: write) the triangle of a matrix; writing fills the rest with zeros."""
    for i in range(p.n):
        first, end = (0, i + 1 - p.unit) if p.lower else (i + p.unit, p.n)
        if store:
            for j in range(p.n):
                put(into, i, j, zero, zero)
        for j in range(first, end):
            put(into, i, j, at(into, i, j, zero) + at(source, i, j, zero), zero)


@noinline
def _add_outer(left: Matrix, right: Matrix, into: Matrix, p: Any, store: int, zero: Any) -> None:
    """Add the triangle of ``left @ right^H``, of two columns; if `p` means a transpose, of its conjugate."""
    for i in range(p.n):
        first, end = (0, i + 1 - p.unit) if p.lower else (i + p.unit, p.n)
        if store:
            for j in range(p.n):
                put(into, i, j, zero, zero)
        factor = at(left, i, 0, zero)
        for j in range(first, end):
            value = factor * np.conj(at(right, j, 0, zero))
            value = np.conj(value) if p.transpose else value
            put(into, i, j, at(into, i, j, zero) + value, zero)


@noinline
def _triangle_cotangent(
    loops: int,
    routines: Lapack,
    u: Matrix,
    y: Matrix,
    into: Matrix,
    scratch: Matrix,
    p: Any,
    store: int,
) -> int:
    """Add the triangle of ``u @ y^H``, or of its transpose; return a status."""
    if p.k == 1:
        left, right = (y, u) if p.transpose else (u, y)
        _add_outer(left, right, into, p, store, routines.zero)
        return 0
    whole = transposed(scratch) if p.transpose else scratch
    status = product_by_adjoint(loops, routines.products, u, y, whole, np.int64(1))
    add_triangle(scratch, into, p, store, routines.zero)
    return status


@always_inline
def solve_triangular_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write the solutions with the triangles X[0] and the right sides X[1] to Y."""
    p, zero = load_record(load_i64(frame, PARAMS), TriangularParams), routines.zero
    triangle, y, bytes_ = load_i64(frame, X), load_i64(frame, Y), p.n * p.k * size_of(zero)
    memcpy(y, load_i64(frame, X + 1), p.matrices * bytes_)
    for _ in range(p.matrices):
        if not _is_singular(triangle, p, zero):
            _solve(loops, routines, triangle, by_rows(y, p.n, p.k, zero), p)
        elif p.nan_on_failure:
            write_nan(y, bytes_, zero)
        else:
            return SINGULAR
        triangle += p.stride * p.n * p.n * size_of(zero)
        y += bytes_
    return 0


@always_inline
def _cotangents(loops: int, routines: Lapack, own: SystemFrame, p: Any) -> int:
    n, k, zero = p.n, p.k, routines.zero
    if p.nan_on_failure and _is_singular(own.a, p, zero):
        return SINGULAR
    x, y, status = by_rows(own.scratch, n, k, zero), by_rows(own.y, n, k, zero), 0
    _solve_adjoint(loops, routines, own.a, x, p)
    if own.b_bar != 0:
        add(x, by_rows(own.b_bar, n, k, zero), own.store & 2, zero)
    if own.a_bar != 0:
        negate(x, zero)
        into = by_rows(own.a_bar, n, n, zero)
        scratch = by_rows(own.scratch + n * k * size_of(zero), n, n, zero)
        status = _triangle_cotangent(loops, routines, x, y, into, scratch, p, own.store & 1)
    return status


@always_inline
def solve_triangular_reverse(frame: int, loops: int, routines: Lapack) -> int:
    """Add (STORE: write) the cotangents of triangles and right sides: solutions with the conjugate transposes."""
    p, zero = load_record(load_i64(frame, PARAMS), TriangularParams), routines.zero
    n, triangle, size = p.n, load_i64(frame, X), size_of(zero)
    sizes = Sizes(n * n * size, n * n * size, n * p.k * size, n * n * size)
    return for_each_system(frame, loops, routines, p, triangle, sizes, zero, _cotangents)


@always_inline
def solve_triangular_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write the solutions for ``b_dot - t_dot @ y`` to Y_BAR; either tangent may be absent."""
    p, zero = load_record(load_i64(frame, PARAMS), TriangularParams), routines.zero
    triangle, y, y_dot, n, k = load_i64(frame, X), load_i64(frame, Y), load_i64(frame, Y_BAR), p.n, p.k
    t_dot, b_dot, bytes_ = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1), n * k * size_of(zero)
    scratch = malloc(n * n * size_of(zero) + 8)
    if scratch == 0:
        return OUT_OF_MEMORY
    own = by_rows(scratch, n, n, zero)
    for _ in range(p.matrices):
        into = by_rows(y_dot, n, k, zero)
        memset(y_dot, np.int32(0), bytes_)
        if t_dot != 0:
            add_triangle(by_rows(t_dot, n, n, zero), own, p, np.int64(1), zero)
            turned = transposed(own) if p.transpose else own
            product(loops, routines.products, turned, by_rows(y, n, k, zero), into, np.int64(1))
            negate(into, zero)
            t_dot += p.stride * n * n * size_of(zero)
        if b_dot != 0:
            add(by_rows(b_dot, n, k, zero), into, np.int64(0), zero)
            b_dot += bytes_
        if p.nan_on_failure and _is_singular(triangle, p, zero):
            write_nan(y_dot, bytes_, zero)
        else:
            _solve(loops, routines, triangle, into, p)
        triangle += p.stride * n * n * size_of(zero)
        y += bytes_
        y_dot += bytes_
    free(scratch)
    return 0
