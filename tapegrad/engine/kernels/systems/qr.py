"""QR factors.

The result is, for each matrix, Q, then R, both column by column. Cotangents (Walter and Lehmann 2018; Roberts and
Roberts 2020 for wide matrices): ``A_bar = (Q_bar + Q M) R^-T``, where M is the symmetric matrix with the lower triangle
of ``R R_bar^T - Q_bar^T Q``. Further columns of a complete Q have no cotangents here.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.lanes.lanes import MIN_LANE_MATRICES, lane_count
from tapegrad.engine.kernels.lanes.qr_lanes import block_bytes, factor_block
from tapegrad.engine.kernels.language.frame import PARAMS, STORE, X_BAR, Y_BAR, X, Y
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
    info_word,
    is_singular,
    libraries,
    negate,
    part,
    put,
    substitute,
    write_identity,
)
from tapegrad.engine.kernels.language.matmul import Matrix, product, transposed
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
from tapegrad.ops.params import QrParams

LIBRARY = libraries(("qr",), "geqrf", "orgqr")
_BLOCK = 64  # columns of a block of LAPACK


# --- forward ---------------------------------------------------------------------------------------------------


@noinline
def _factor(loops: int, routines: Lapack, x: int, y: int, scratch: int, p: Any) -> None:
    """Write Q, of `full` columns, and R of one matrix. The scratch holds the matrix, square if it is tall, and work."""
    m, n, full, zero, size, info = p.m, p.n, p.full, routines.zero, size_of(routines.zero), info_word()
    k, wide = min(m, n), max(m, n)
    tau, work, words = scratch + m * wide * size, scratch + (m * wide + k) * size, np.int32(_BLOCK * wide)
    rows = np.int32(m)
    copy(by_rows(x, m, n, zero), by_columns(scratch, m, n, zero), zero)
    call_by_reference(loops, routines.geqrf, (rows, np.int32(n), scratch, rows, tau, work, words, info))
    r = by_columns(y + m * full * size, full, n, zero)
    memset(r.address, np.int32(0), full * n * size)
    copy(part(by_columns(scratch, m, n, zero), 0, 0, k, n), part(r, 0, 0, k, n), zero)
    clear_triangle(r, np.int64(1), zero)
    memcpy(y, scratch, m * min(full, n) * size)
    columns = np.int32(full)
    call_by_reference(loops, routines.orgqr, (rows, columns, np.int32(k), y, rows, tau, work, words, info))


@always_inline
def _result_bytes(p: Any, zero: Any) -> int:
    return (p.m * p.full + p.full * p.n) * size_of(zero)


@noinline
def _factor_each(loops: int, routines: Lapack, x: int, y: int, matrices: int, scratch: int, p: Any) -> None:
    """Write Q and R of matrices one by one."""
    for _ in range(matrices):
        _factor(loops, routines, x, y, scratch, p)
        x += p.m * p.n * size_of(routines.zero)
        y += _result_bytes(p, routines.zero)


@always_inline
def qr_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write the factors of each matrix of X[0] to Y."""
    p, x, y = load_record(load_i64(frame, PARAMS), QrParams), load_i64(frame, X), load_i64(frame, Y)
    zero, size, wide = routines.zero, size_of(routines.zero), max(p.m, p.n)
    if min(p.m, p.n) == 0:
        for _ in range(p.matrices):
            write_identity(by_columns(y, p.m, p.full, zero), zero)
            y += _result_bytes(p, zero)
        return 0
    in_lanes = wide <= MAX_SMALL_ROWS and p.matrices >= MIN_LANE_MATRICES
    scratch = malloc(max((p.m + 1 + _BLOCK) * wide * size, block_bytes(p)) + 8)
    if scratch == 0:
        return OUT_OF_MEMORY
    most = lane_count(zero) if in_lanes else max(p.matrices, 1)
    for first in range(0, p.matrices, most):
        count = min(most, p.matrices - first)
        if not (in_lanes and factor_block(scratch, x, y, count - 1, p, zero)):
            _factor_each(loops, routines, x, y, count, scratch, p)
        x += count * p.m * p.n * size
        y += count * _result_bytes(p, zero)
    free(scratch)
    return 0


# --- reverse ---------------------------------------------------------------------------------------------------


@noinline
def _copy_lower_up(a: Matrix, zero: Any) -> None:
    for i in range(a.rows):
        for j in range(i):
            put(a, j, i, at(a, i, j, zero), zero)


@noinline
def _inner_cotangent(
    loops: int, routines: Lapack, q_bar: Matrix, q: Matrix, r: Matrix, r_bar: Matrix, inner: Matrix
) -> None:
    """Write M from blocks below its diagonal; products skip the zeros of the triangle R."""
    k, zero, products = r.rows, routines.zero, routines.products
    for first in range(0, k, _BLOCK):
        width, below = min(_BLOCK, k - first), k - first
        into = part(inner, first, first, below, width)
        left, right = part(q_bar, 0, first, q.rows, below), part(q, 0, first, q.rows, width)
        product(loops, products, transposed(left), right, into, np.int64(1))
        negate(into, zero)
        left, right = part(r, first, first, below, below), part(r_bar, first, first, width, below)
        product(loops, products, left, transposed(right), into, np.int64(0))
    _copy_lower_up(inner, zero)


@noinline
def _cotangent(
    loops: int, routines: Lapack, y: int, y_bar: int, x: Matrix, into: Matrix, scratch: int, p: Any
) -> None:
    """Add the cotangent of one matrix. The scratch has room for the thin Q and for a square."""
    m, n, zero, size, products = p.m, p.n, routines.zero, size_of(routines.zero), routines.products
    k, more = min(m, n), np.int64(0)
    q, r = by_columns(y, m, k, zero), by_columns(y + m * p.full * size, p.full, n, zero)
    r_bar = by_columns(y_bar + m * p.full * size, p.full, n, zero)
    q_bar, inner = by_columns(scratch, m, k, zero), by_rows(scratch + m * k * size, k, k, zero)
    memcpy(scratch, y_bar, m * k * size)
    own, own_bar = part(r, 0, 0, k, k), part(r_bar, 0, 0, k, k)
    if n > k:  # the further columns are Q times those of R
        rest_bar = part(r_bar, 0, k, k, n - k)
        product(loops, products, part(x, 0, k, m, n - k), transposed(rest_bar), q_bar, more)
        product(loops, products, q, rest_bar, part(into, 0, k, m, n - k), more)
    _inner_cotangent(loops, routines, q_bar, q, own, own_bar, inner)
    product(loops, products, q, inner, q_bar, more)
    substitute(loops, routines, own, transposed(q_bar), np.int64(0), np.int64(0))
    add(q_bar, part(into, 0, 0, m, k), more, zero)


@always_inline
def qr_reverse(frame: int, loops: int, routines: Lapack) -> int:
    """Add (STORE: write) the cotangents of the matrices to X_BAR[0]."""
    p, y, y_bar = load_record(load_i64(frame, PARAMS), QrParams), load_i64(frame, Y), load_i64(frame, Y_BAR)
    x, x_bar, zero, k, status = load_i64(frame, X), load_i64(frame, X_BAR), routines.zero, min(p.m, p.n), 0
    bytes_ = p.m * p.n * size_of(zero)
    if load_i64(frame, STORE) & 1:
        memset(x_bar, np.int32(0), p.matrices * bytes_)
    scratch = malloc((p.m + k) * k * size_of(zero) + 8)
    if scratch == 0:
        return OUT_OF_MEMORY
    for _ in range(p.matrices):
        r = by_columns(y + p.m * p.full * size_of(zero), p.full, p.n, zero)
        if is_singular(part(r, 0, 0, k, k), zero):
            status = SINGULAR
            break
        into = by_rows(x_bar, p.m, p.n, zero)
        _cotangent(loops, routines, y, y_bar, by_rows(x, p.m, p.n, zero), into, scratch, p)
        x += bytes_
        x_bar += bytes_
        y += _result_bytes(p, zero)
        y_bar += _result_bytes(p, zero)
    free(scratch)
    return status


# --- tangent ---------------------------------------------------------------------------------------------------


@noinline
def _split(a: Matrix, zero: Any) -> None:
    """Replace ``S = Q^T A_dot R^-1`` by ``Q^T Q_dot``: its strict lower triangle minus the transpose of that."""
    for i in range(a.rows):
        put(a, i, i, zero, zero)
        for j in range(i):
            put(a, j, i, -at(a, i, j, zero), zero)


@noinline
def _tangent_of(
    loops: int, routines: Lapack, y: int, x_dot: Matrix, y_dot: int, scratch: int, p: Any
) -> None:
    """Write the tangent of one matrix: ``Q_dot = A_dot R^-1 - Q (S - Q^T Q_dot)``, ``R_dot = (S - Q^T Q_dot) R``."""
    m, n, zero, size, products, write = (
        p.m,
        p.n,
        routines.zero,
        size_of(routines.zero),
        routines.products,
        np.int64(1),
    )
    k, more = min(m, n), np.int64(0)
    q, r = by_columns(y, m, k, zero), by_columns(y + m * p.full * size, p.full, n, zero)
    memset(y_dot, np.int32(0), _result_bytes(p, zero))
    q_dot, r_dot = by_columns(y_dot, m, k, zero), by_columns(y_dot + m * p.full * size, p.full, n, zero)
    inner, upper = by_rows(scratch, k, k, zero), by_rows(scratch + k * k * size, k, k, zero)
    copy(part(x_dot, 0, 0, m, k), q_dot, zero)
    substitute(loops, routines, transposed(part(r, 0, 0, k, k)), transposed(q_dot), np.int64(1), np.int64(0))
    product(loops, products, transposed(q), q_dot, inner, write)
    copy(inner, upper, zero)
    _split(inner, zero)
    negate(inner, zero)
    add(inner, upper, more, zero)
    clear_triangle(upper, np.int64(1), zero)
    product(loops, products, upper, part(r, 0, 0, k, k), part(r_dot, 0, 0, k, k), write)
    negate(upper, zero)
    product(loops, products, q, upper, q_dot, more)
    if n > k:  # Q^T (Y_dot - Q_dot V)
        rest = part(r_dot, 0, k, k, n - k)
        product(loops, products, transposed(q_dot), q, inner, write)
        product(loops, products, inner, part(r, 0, k, k, n - k), rest, write)
        product(loops, products, transposed(q), part(x_dot, 0, k, m, n - k), rest, more)


@always_inline
def qr_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write the tangents of the factors to Y_BAR."""
    p, y, y_dot = load_record(load_i64(frame, PARAMS), QrParams), load_i64(frame, Y), load_i64(frame, Y_BAR)
    x_dot, zero, k, status = load_i64(frame, X_BAR), routines.zero, min(p.m, p.n), 0
    scratch = malloc(2 * k * k * size_of(zero) + 8)
    if scratch == 0:
        return OUT_OF_MEMORY
    for _ in range(p.matrices):
        r = by_columns(y + p.m * p.full * size_of(zero), p.full, p.n, zero)
        if is_singular(part(r, 0, 0, k, k), zero):
            status = SINGULAR
            break
        _tangent_of(loops, routines, y, by_rows(x_dot, p.m, p.n, zero), y_dot, scratch, p)
        x_dot += p.m * p.n * size_of(zero)
        y += _result_bytes(p, zero)
        y_dot += _result_bytes(p, zero)
    free(scratch)
    return status
