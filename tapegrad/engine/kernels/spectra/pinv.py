"""Pseudo-inverses, by singular values.

At constant rank, ``P_dot = -P A_dot P + P P^T A_dot^T (I - A P) + (I - P A) A_dot^T P^T P`` (Golub and
Pereyra 1973). Both derivatives are sums of products.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.frame import PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    Lapack,
    add,
    at,
    by_columns,
    by_rows,
    copy,
    libraries,
    negate,
    put,
)
from tapegrad.engine.kernels.language.matmul import Matrix, product, transposed
from tapegrad.engine.kernels.language.raw_memory import (
    free,
    load_at,
    load_i64,
    load_record,
    malloc,
    memset,
    size_of,
)
from tapegrad.engine.kernels.language.status import NOT_CONVERGED, OUT_OF_MEMORY
from tapegrad.engine.kernels.spectra.singular import (
    decompose,
    left_vectors,
    result_bytes,
    right_vectors,
    work_words,
)
from tapegrad.ops.params import PinvParams, SvdParams

LIBRARY = libraries(("pinv",), "gesdd")


# --- forward ---------------------------------------------------------------------------------------------------


@noinline
def _divide(vectors: Matrix, values: int, cutoff: Any, zero: Any) -> None:
    """Divide columns by singular values; columns of singular values up to the cutoff become zeros."""
    limit = cutoff * load_at(values, 0, zero)
    for j in range(vectors.columns):
        value = load_at(values, j * size_of(zero), zero)
        for i in range(vectors.rows):
            put(vectors, i, j, at(vectors, i, j, zero) / value if value > limit else zero, zero)


@always_inline
def pinv_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write the pseudo-inverse of each matrix of X[0], with the cutoffs X[1], to Y."""
    own = load_record(load_i64(frame, PARAMS), PinvParams)
    p = SvdParams(own.matrices, own.m, own.n, 0, 1)
    x, cutoffs, y = load_i64(frame, X), load_i64(frame, X + 1), load_i64(frame, Y)
    zero, size, status = routines.zero, size_of(routines.zero), 0
    if min(p.m, p.n) == 0:
        return 0
    words = work_words(loops, routines, x, y, p)
    a = malloc((p.m * p.n + words) * size + result_bytes(p, zero) + 32 * min(p.m, p.n))
    if a == 0:
        return OUT_OF_MEMORY
    parts = a + p.m * p.n * size
    work = parts + result_bytes(p, zero)
    for _ in range(p.matrices):
        copy(by_rows(x, p.m, p.n, zero), by_columns(a, p.m, p.n, zero), zero)
        if decompose(loops, routines, a, parts, work, words, work + words * size, p) != 0:
            status = NOT_CONVERGED
            break
        u, v = left_vectors(parts, p, zero), right_vectors(parts, p, zero)
        _divide(v, parts, load_at(cutoffs, 0, zero), zero)
        product(loops, routines.products, v, transposed(u), by_rows(y, p.n, p.m, zero), np.int64(1))
        x += p.m * p.n * size
        y += p.m * p.n * size
        cutoffs += own.stride * size
    free(a)
    return status


# --- derivatives -----------------------------------------------------------------------------------------------


@noinline
def _outside(
    loops: int, products: Any, left: Matrix, middle: Matrix, right: Matrix, into: Matrix, inner: Matrix
) -> None:
    """Add ``middle - left @ right @ middle`` to a matrix, with room for ``right @ middle``."""
    zero, more = products.zero, np.int64(0)
    add(middle, into, more, zero)
    product(loops, products, right, middle, inner, np.int64(1))
    negate(inner, zero)
    product(loops, products, left, inner, into, more)


@noinline
def _cotangent(
    loops: int, routines: Lapack, a: Matrix, p: Matrix, p_bar: Matrix, into: Matrix, scratch: int
) -> None:
    """Add ``-P^T P_bar P^T + (I - (A P)^T) P_bar^T P P^T + P^T P P_bar^T (I - (P A)^T)``.

    The scratch holds a matrix and two squares.
    """
    zero, products, write, more = routines.zero, routines.products, np.int64(1), np.int64(0)
    m, n = a.rows, a.columns
    side = m * n * size_of(zero)
    first, second = scratch, scratch + side
    square = second + max(m, n) ** 2 * size_of(zero)
    inner = by_rows(square, m, m, zero)
    product(loops, products, transposed(p), p_bar, inner, write)
    negate(inner, zero)
    product(loops, products, inner, transposed(p), into, more)
    inner = by_rows(square, n, n, zero)
    product(loops, products, p, transposed(p), inner, write)
    middle, part_ = by_rows(first, m, n, zero), by_rows(second, n, n, zero)
    product(loops, products, transposed(p_bar), inner, middle, write)
    _outside(loops, products, transposed(p), middle, transposed(a), into, part_)
    inner = by_rows(square, m, m, zero)
    product(loops, products, transposed(p), p, inner, write)
    product(loops, products, inner, transposed(p_bar), middle, write)
    part_ = by_rows(second, m, m, zero)
    _outside(loops, products, p, transposed(middle), a, transposed(into), part_)


@noinline
def _tangent_of(
    loops: int, routines: Lapack, a: Matrix, p: Matrix, a_dot: Matrix, into: Matrix, scratch: int
) -> None:
    """Write the tangent of one pseudo-inverse; the scratch is that of `_cotangent`."""
    zero, products, write = routines.zero, routines.products, np.int64(1)
    m, n = a.rows, a.columns
    side = m * n * size_of(zero)
    first, second = scratch, scratch + side
    square = second + max(m, n) ** 2 * size_of(zero)
    inner = by_rows(square, n, n, zero)
    product(loops, products, p, a_dot, inner, write)
    negate(inner, zero)
    product(loops, products, inner, p, into, write)
    product(loops, products, p, transposed(p), inner, write)
    middle = by_rows(first, n, m, zero)
    product(loops, products, inner, transposed(a_dot), middle, write)
    # middle (I - A P), as the transpose of (I - P^T A^T) middle^T
    part_ = by_rows(second, n, n, zero)
    _outside(loops, products, transposed(p), transposed(middle), transposed(a), transposed(into), part_)
    inner = by_rows(square, m, m, zero)
    product(loops, products, transposed(p), p, inner, write)
    product(loops, products, transposed(a_dot), inner, middle, write)
    part_ = by_rows(second, m, m, zero)
    _outside(loops, products, p, middle, a, into, part_)


@always_inline
def _derivative(frame: int, loops: int, routines: Lapack, reverse: bool) -> int:
    p, x, y = load_record(load_i64(frame, PARAMS), PinvParams), load_i64(frame, X), load_i64(frame, Y)
    m, n, zero, x_bar, y_bar = p.m, p.n, routines.zero, load_i64(frame, X_BAR), load_i64(frame, Y_BAR)
    bytes_, widest = m * n * size_of(zero), max(m, n)
    if reverse and load_i64(frame, STORE) & 1:
        memset(x_bar, np.int32(0), p.matrices * bytes_)
    scratch = malloc((m * n + 2 * widest * widest) * size_of(zero) + 8)
    if scratch == 0:
        return OUT_OF_MEMORY
    for _ in range(p.matrices):
        a, own = by_rows(x, m, n, zero), by_rows(y, n, m, zero)
        if reverse:
            _cotangent(
                loops, routines, a, own, by_rows(y_bar, n, m, zero), by_rows(x_bar, m, n, zero), scratch
            )
        else:
            _tangent_of(
                loops, routines, a, own, by_rows(x_bar, m, n, zero), by_rows(y_bar, n, m, zero), scratch
            )
        x += bytes_
        y += bytes_
        x_bar += bytes_
        y_bar += bytes_
    free(scratch)
    return 0


@always_inline
def pinv_reverse(frame: int, loops: int, routines: Lapack) -> int:
    """Add (STORE: write) the cotangents of the matrices to X_BAR[0]."""
    return _derivative(frame, loops, routines, True)


@always_inline
def pinv_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write the tangents of the pseudo-inverses to Y_BAR."""
    return _derivative(frame, loops, routines, False)
