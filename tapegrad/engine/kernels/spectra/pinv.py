"""Pseudo-inverses, by singular values.

At constant rank, ``P_dot = -P A_dot P + P P^T A_dot^T (I - A P) + (I - P A) A_dot^T P^T P`` (Golub and
Pereyra 1973). Both derivatives are sums of products.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.frame import PARAMS, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    Lapack,
    add,
    at,
    by_rows,
    libraries,
    negate,
    put,
)
from tapegrad.engine.kernels.language.matmul import Matrix, product, transposed
from tapegrad.engine.kernels.language.raw_memory import (
    load_at,
    load_i64,
    load_record,
    size_of,
)
from tapegrad.engine.kernels.spectra.singular import (
    decompose,
    left_vectors,
    result_bytes,
    right_vectors,
    scratch_bytes,
)
from tapegrad.engine.kernels.systems.stacks import (
    COTANGENT,
    RESULT,
    TANGENT,
    MatrixFrame,
    Sizes,
    clear_if_written,
    for_each,
)
from tapegrad.ops.structural.matrices import PinvParams, SvdParams

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
def _thin(p: Any) -> Any:
    """Return the parameters of the singular value decomposition."""
    return SvdParams(p.matrices, p.m, p.n, 0, 1, 0)


@noinline
def _invert(loops: int, routines: Lapack, own: MatrixFrame, p: Any) -> int:
    """Write the pseudo-inverse of one matrix, with the cutoff in its second operand; return a status."""
    thin, parts, zero = _thin(p), own.scratch, routines.zero
    scratch = parts + result_bytes(thin, zero)
    status = decompose(loops, routines, MatrixFrame(own.x, 0, parts, 0, 0, 0, scratch), thin)
    if status != 0:
        return status
    u, v = left_vectors(parts, thin, zero), right_vectors(parts, thin, zero)
    _divide(v, parts, load_at(own.other, 0, zero), zero)
    product(loops, routines.products, v, transposed(u), by_rows(own.y, p.n, p.m, zero), np.int64(1))
    return 0


@always_inline
def pinv_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write the pseudo-inverse of each matrix of X[0], with the cutoffs X[1], to Y."""
    p, zero = load_record(load_i64(frame, PARAMS), PinvParams), routines.zero
    if min(p.m, p.n) == 0:
        return 0
    thin, bytes_ = _thin(p), p.m * p.n * size_of(zero)
    work = scratch_bytes(loops, routines, load_i64(frame, X), load_i64(frame, Y), thin)
    sizes = Sizes(bytes_, p.stride * size_of(zero), bytes_, result_bytes(thin, zero) + work)
    return for_each(frame, loops, routines, p, sizes, _invert, RESULT)


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


@always_inline
def _sizes(p: Any, zero: Any) -> Sizes:
    """Return the bytes of a stack; the scratch memory holds a matrix and two squares."""
    bytes_, widest = p.m * p.n * size_of(zero), max(p.m, p.n)
    return Sizes(bytes_, 0, bytes_, bytes_ + 2 * widest * widest * size_of(zero))


@noinline
def _cotangent(loops: int, routines: Lapack, own: MatrixFrame, params: Any) -> int:
    """Add ``-P^T P_bar P^T + (I - (A P)^T) P_bar^T P P^T + P^T P P_bar^T (I - (P A)^T)``; return a status."""
    zero, products, write, more = routines.zero, routines.products, np.int64(1), np.int64(0)
    m, n = params.m, params.n
    a, into = by_rows(own.x, m, n, zero), by_rows(own.x_bar, m, n, zero)
    p, p_bar = by_rows(own.y, n, m, zero), by_rows(own.y_bar, n, m, zero)
    first, second = own.scratch, own.scratch + m * n * size_of(zero)
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
    return 0


@noinline
def _tangent(loops: int, routines: Lapack, own: MatrixFrame, params: Any) -> int:
    """Write the tangent of one pseudo-inverse; return a status."""
    zero, products, write = routines.zero, routines.products, np.int64(1)
    m, n = params.m, params.n
    a, a_dot = by_rows(own.x, m, n, zero), by_rows(own.x_bar, m, n, zero)
    p, into = by_rows(own.y, n, m, zero), by_rows(own.y_bar, n, m, zero)
    first, second = own.scratch, own.scratch + m * n * size_of(zero)
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
    return 0


@always_inline
def pinv_reverse(frame: int, loops: int, routines: Lapack) -> int:
    """Add (STORE: write) the cotangents of the matrices to X_BAR[0]."""
    p, zero = load_record(load_i64(frame, PARAMS), PinvParams), routines.zero
    clear_if_written(frame, p.matrices * p.m * p.n * size_of(zero))
    return for_each(frame, loops, routines, p, _sizes(p, zero), _cotangent, COTANGENT)


@always_inline
def pinv_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write the tangents of the pseudo-inverses to Y_BAR."""
    p = load_record(load_i64(frame, PARAMS), PinvParams)
    return for_each(frame, loops, routines, p, _sizes(p, routines.zero), _tangent, TANGENT)
