"""QR factors.

The result is, for each matrix, Q, then R, both column by column. Cotangents (Walter and Lehmann 2018; Roberts and
Roberts 2020 for wide matrices): ``A_bar = (Q_bar + Q M) R^-H``, where M is the Hermitian matrix with the lower triangle
of ``R R_bar^H - Q_bar^H Q`` and the real part of its diagonal. The diagonal of R is real, as LAPACK has it. Further
columns of a complete Q have no cotangents here.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.lanes.lanes import MIN_LANE_MATRICES
from tapegrad.engine.kernels.lanes.qr_lanes import block_bytes, factor_block
from tapegrad.engine.kernels.language.frame import PARAMS, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    MAX_SMALL_ROWS,
    Lapack,
    add,
    at,
    by_columns,
    by_rows,
    clear_triangle,
    copy,
    info_i64,
    is_singular,
    libraries,
    negate,
    part,
    put,
    substitute,
    substitute_adjoint,
    write_identity,
)
from tapegrad.engine.kernels.language.matmul import Matrix, product, transposed
from tapegrad.engine.kernels.language.raw_memory import (
    call_by_reference,
    load_i64,
    load_record,
    memcpy,
    memset,
    size_of,
)
from tapegrad.engine.kernels.language.status import SINGULAR
from tapegrad.engine.kernels.systems.complex_products import product_by_adjoint, product_of_adjoint
from tapegrad.engine.kernels.systems.stacks import (
    COTANGENT,
    RESULT,
    TANGENT,
    MatrixFrame,
    Sizes,
    clear_if_written,
    for_each,
    for_each_block,
)
from tapegrad.ops.structural.matrices import QrParams

LIBRARY = libraries(("qr",), "geqrf", "orgqr")
_BLOCK = 64  # columns of a block of LAPACK


# --- forward ---------------------------------------------------------------------------------------------------


@noinline
def _factor(loops: int, routines: Lapack, own: MatrixFrame, p: Any) -> int:
    """Write Q, of `full` columns, and R of one matrix; return a status.

    The scratch memory holds the matrix, square if it is tall, and work.
    """
    m, n, full, zero, size, info = p.m, p.n, p.full, routines.zero, size_of(routines.zero), info_i64()
    y, scratch, k, wide = own.y, own.scratch, min(m, n), max(m, n)
    tau, work, lwork = scratch + m * wide * size, scratch + (m * wide + k) * size, np.int32(_BLOCK * wide)
    rows = np.int32(m)
    copy(by_rows(own.x, m, n, zero), by_columns(scratch, m, n, zero), zero)
    call_by_reference(loops, routines.geqrf, (rows, np.int32(n), scratch, rows, tau, work, lwork, info))
    r = by_columns(y + m * full * size, full, n, zero)
    memset(r.address, np.int32(0), full * n * size)
    copy(part(by_columns(scratch, m, n, zero), 0, 0, k, n), part(r, 0, 0, k, n), zero)
    clear_triangle(r, np.int64(1), zero)
    memcpy(y, scratch, m * min(full, n) * size)
    columns = np.int32(full)
    call_by_reference(loops, routines.orgqr, (rows, columns, np.int32(k), y, rows, tau, work, lwork, info))
    return 0


@always_inline
def _result_bytes(p: Any, zero: Any) -> int:
    return (p.m * p.full + p.full * p.n) * size_of(zero)


@noinline
def _write_empty(p: Any, y: int, zero: Any) -> int:
    """Write the factors of matrices without elements: Q is the identity."""
    for _ in range(p.matrices):
        write_identity(by_columns(y, p.m, p.full, zero), zero)
        y += _result_bytes(p, zero)
    return 0


@always_inline
def qr_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write the factors of each matrix of X[0] to Y."""
    p, zero = load_record(load_i64(frame, PARAMS), QrParams), routines.zero
    size, wide = size_of(zero), max(p.m, p.n)
    if min(p.m, p.n) == 0:
        return _write_empty(p, load_i64(frame, Y), zero)
    in_lanes = wide <= MAX_SMALL_ROWS and p.matrices >= MIN_LANE_MATRICES
    scratch = max((p.m + 1 + _BLOCK) * wide * size, block_bytes(p))
    sizes = Sizes(p.m * p.n * size, 0, _result_bytes(p, zero), scratch)
    return for_each_block(frame, loops, routines, p, sizes, in_lanes, factor_block, _factor)


@always_inline
def factor_one_by_one(frame: int, loops: int, routines: Lapack) -> int:
    """Write the factors of each matrix of X[0] to Y, without lanes."""
    p, zero = load_record(load_i64(frame, PARAMS), QrParams), routines.zero
    size = size_of(zero)
    if min(p.m, p.n) == 0:
        return _write_empty(p, load_i64(frame, Y), zero)
    scratch = (p.m + 1 + _BLOCK) * max(p.m, p.n) * size
    sizes = Sizes(p.m * p.n * size, 0, _result_bytes(p, zero), scratch)
    return for_each(frame, loops, routines, p, sizes, _factor, RESULT)


# --- reverse ---------------------------------------------------------------------------------------------------


@noinline
def _mirror_lower(a: Matrix, zero: Any) -> None:
    """Write the Hermitian matrix with the lower triangle, and the real part of its diagonal."""
    for i in range(a.rows):
        if np.iscomplexobj(zero):
            put(a, i, i, at(a, i, i, zero).real, zero)
        for j in range(i):
            put(a, j, i, np.conj(at(a, i, j, zero)), zero)


@noinline
def _inner_cotangent(
    loops: int, routines: Lapack, q_bar: Matrix, q: Matrix, r: Matrix, r_bar: Matrix, inner: Matrix
) -> int:
    """Write M from blocks below its diagonal; products skip the zeros of the triangle R. Return a status."""
    k, zero, products, status = r.rows, routines.zero, routines.products, 0
    for first in range(0, k, _BLOCK):
        width, below = min(_BLOCK, k - first), k - first
        into = part(inner, first, first, below, width)
        left, right = part(q_bar, 0, first, q.rows, below), part(q, 0, first, q.rows, width)
        status = max(status, product_of_adjoint(loops, products, left, right, into, np.int64(1)))
        negate(into, zero)
        left, right = part(r, first, first, below, below), part(r_bar, first, first, width, below)
        status = max(status, product_by_adjoint(loops, products, left, right, into, np.int64(0)))
    _mirror_lower(inner, zero)
    return status


@always_inline
def _upper_square(y: int, p: Any, zero: Any) -> Matrix:
    """Describe the first columns of R, which are a triangle."""
    k = min(p.m, p.n)
    return part(by_columns(y + p.m * p.full * size_of(zero), p.full, p.n, zero), 0, 0, k, k)


@noinline
def _cotangent(loops: int, routines: Lapack, own: MatrixFrame, p: Any) -> int:
    """Add the cotangent of one matrix; return a status."""
    m, n, zero, size, products = p.m, p.n, routines.zero, size_of(routines.zero), routines.products
    k, more, x, into = min(m, n), np.int64(0), by_rows(own.x, m, n, zero), by_rows(own.x_bar, m, n, zero)
    q, r = by_columns(own.y, m, k, zero), _upper_square(own.y, p, zero)
    if is_singular(r, zero):
        return SINGULAR
    r_bar, status = by_columns(own.y_bar + m * p.full * size, p.full, n, zero), 0
    q_bar, inner = by_columns(own.scratch, m, k, zero), by_rows(own.scratch + m * k * size, k, k, zero)
    memcpy(own.scratch, own.y_bar, m * k * size)
    if n > k:  # the further columns are Q times those of R
        rest_bar = part(r_bar, 0, k, k, n - k)
        status = product_by_adjoint(loops, products, part(x, 0, k, m, n - k), rest_bar, q_bar, more)
        product(loops, products, q, rest_bar, part(into, 0, k, m, n - k), more)
    status = max(status, _inner_cotangent(loops, routines, q_bar, q, r, part(r_bar, 0, 0, k, k), inner))
    product(loops, products, q, inner, q_bar, more)
    substitute_adjoint(loops, routines, transposed(r), transposed(q_bar), np.int64(0), np.int64(0))
    add(q_bar, part(into, 0, 0, m, k), more, zero)
    return status


@always_inline
def qr_reverse(frame: int, loops: int, routines: Lapack) -> int:
    """Add (STORE: write) the cotangents of the matrices to X_BAR[0]."""
    p, zero = load_record(load_i64(frame, PARAMS), QrParams), routines.zero
    bytes_, k = p.m * p.n * size_of(zero), min(p.m, p.n)
    clear_if_written(frame, p.matrices * bytes_)
    sizes = Sizes(bytes_, 0, _result_bytes(p, zero), (p.m + k) * k * size_of(zero))
    return for_each(frame, loops, routines, p, sizes, _cotangent, COTANGENT)


# --- tangent ---------------------------------------------------------------------------------------------------


@noinline
def _split(s: Matrix, upper: Matrix, zero: Any) -> None:
    """Split ``S = Q^H A_dot R^-1`` into ``Q^H Q_dot``, in place, and ``R_dot R^-1``, with a real diagonal."""
    for i in range(s.rows):
        turn = at(s, i, i, zero)
        put(upper, i, i, turn.real, zero)
        put(s, i, i, zero, zero)
        if np.iscomplexobj(zero):
            put(s, i, i, (turn - np.conj(turn)) / 2, zero)
        for j in range(i):
            below = np.conj(at(s, i, j, zero))
            put(upper, i, j, zero, zero)
            put(upper, j, i, at(s, j, i, zero) + below, zero)
            put(s, j, i, -below, zero)


@noinline
def _tangent(loops: int, routines: Lapack, own: MatrixFrame, p: Any) -> int:
    """Write the tangent of one matrix: ``Q_dot = A_dot R^-1 - Q U``, ``R_dot = U R`` with ``U = R_dot R^-1``."""
    m, n, zero, size, products = p.m, p.n, routines.zero, size_of(routines.zero), routines.products
    k, write, more, x_dot = min(m, n), np.int64(1), np.int64(0), by_rows(own.x_bar, m, n, zero)
    q, r = by_columns(own.y, m, k, zero), by_columns(own.y + m * p.full * size, p.full, n, zero)
    square = _upper_square(own.y, p, zero)
    if is_singular(square, zero):
        return SINGULAR
    memset(own.y_bar, np.int32(0), _result_bytes(p, zero))
    q_dot = by_columns(own.y_bar, m, k, zero)
    r_dot = by_columns(own.y_bar + m * p.full * size, p.full, n, zero)
    inner, upper = by_rows(own.scratch, k, k, zero), by_rows(own.scratch + k * k * size, k, k, zero)
    copy(part(x_dot, 0, 0, m, k), q_dot, zero)
    substitute(loops, routines, transposed(square), transposed(q_dot), np.int64(1), np.int64(0))
    status = product_of_adjoint(loops, products, q, q_dot, inner, write)
    _split(inner, upper, zero)
    product(loops, products, upper, square, part(r_dot, 0, 0, k, k), write)
    negate(upper, zero)
    product(loops, products, q, upper, q_dot, more)
    if n > k:  # Q^H (Y_dot - Q_dot V)
        rest, further = part(r_dot, 0, k, k, n - k), part(x_dot, 0, k, m, n - k)
        status = max(status, product_of_adjoint(loops, products, q_dot, q, inner, write))
        product(loops, products, inner, part(r, 0, k, k, n - k), rest, write)
        status = max(status, product_of_adjoint(loops, products, q, further, rest, more))
    return status


@always_inline
def qr_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write the tangents of the factors to Y_BAR."""
    p, zero = load_record(load_i64(frame, PARAMS), QrParams), routines.zero
    size, k = size_of(zero), min(p.m, p.n)
    sizes = Sizes(p.m * p.n * size, 0, _result_bytes(p, zero), 2 * k * k * size)
    return for_each(frame, loops, routines, p, sizes, _tangent, TANGENT)
