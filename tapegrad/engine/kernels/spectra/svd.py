"""Singular value decompositions.

The result is, for each matrix, its singular values s, then U column by column, then V^H column by column. With ``a = J
- J^H`` for ``J = U^H U_bar``, and b likewise for V, the cotangent is ``U G V^H``. G has s_bar on its diagonal, of
complex numbers plus ``(a - b) / (4 s)`` (Wan and Zhang 2019), and ``(a + b) / (2 (s_j - s_i)) + (a - b) / (2 (s_j +
s_i))`` elsewhere. If U or V is not square, the parts outside its space, divided by s, are added (Giles 2008; Seeger et
al. 2017; Townsend 2016). Further columns of complete factors have no cotangents here.

If only singular values are used, equal ones share their cotangent equally, and zeros have none, as in ``abs(0)``.
Otherwise the function must not depend on the basis of vectors of equal values, as in `eigh`, nor on vectors of zeros
that the derivative divides by. If it does, the status is NOT_DIFFERENTIABLE.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.lanes.lanes import MIN_LANE_MATRICES
from tapegrad.engine.kernels.lanes.svd_lanes import block_bytes, decompose_block
from tapegrad.engine.kernels.language.frame import PARAMS, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import (
    MAX_SMALL_ROWS,
    Lapack,
    at,
    by_columns,
    by_rows,
    conjugate,
    eps_of,
    largest,
    libraries,
    put,
    write_identity,
)
from tapegrad.engine.kernels.language.matmul import Matrix, product, transposed
from tapegrad.engine.kernels.language.raw_memory import (
    load_at,
    load_i64,
    load_record,
    memset,
    size_of,
)
from tapegrad.engine.kernels.language.status import NOT_DIFFERENTIABLE, PHASE_DEPENDENT
from tapegrad.engine.kernels.spectra.eigh import SAME, depends_on_phases, is_determined, share
from tapegrad.engine.kernels.spectra.singular import (
    decompose,
    left_count,
    left_vectors,
    result_bytes,
    right_count,
    right_vectors,
    scratch_bytes,
)
from tapegrad.engine.kernels.spectra.svd_ties import are_zero, clear_zeros, closest, ties_stay, zeros_are_out
from tapegrad.engine.kernels.systems.complex_products import product_by_adjoint, product_of_adjoint
from tapegrad.engine.kernels.systems.stacks import (
    COTANGENT,
    TANGENT,
    MatrixFrame,
    Sizes,
    clear_if_written,
    for_each,
    for_each_block,
)
from tapegrad.ops.structural.matrices import SvdParams

LIBRARY = libraries(("svd",), "gesdd")


@always_inline
def _values(address: int, p: Any, zero: Any) -> Matrix:
    """Describe the singular values as a column."""
    return by_rows(address, min(p.m, p.n), 1, zero)


# --- forward ---------------------------------------------------------------------------------------------------


@always_inline
def svd_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write singular values and vectors of each matrix of X[0] to Y."""
    p, x, y = load_record(load_i64(frame, PARAMS), SvdParams), load_i64(frame, X), load_i64(frame, Y)
    zero, size = routines.zero, size_of(routines.zero)
    if min(p.m, p.n) == 0:
        for _ in range(p.matrices):
            write_identity(by_columns(y, p.m, left_count(p), zero), zero)
            write_identity(by_columns(y + p.m * left_count(p) * size, right_count(p), p.n, zero), zero)
            y += result_bytes(p, zero)
        return 0
    in_lanes = (
        max(p.m, p.n) <= MAX_SMALL_ROWS and p.matrices >= MIN_LANE_MATRICES and (p.m == p.n or p.full == 0)
    )
    scratch = max(scratch_bytes(loops, routines, x, y, p), block_bytes(p.m, p.n))
    sizes = Sizes(p.m * p.n * size, 0, result_bytes(p, zero), scratch)
    return for_each_block(frame, loops, routines, p, sizes, in_lanes, decompose_block, decompose)


# --- reverse ---------------------------------------------------------------------------------------------------


@noinline
def _sum(a: Matrix, b: Matrix, into: Matrix, zero: Any) -> None:
    for i in range(into.rows):
        for j in range(into.columns):
            put(into, i, j, at(a, i, j, zero) + at(b, i, j, zero), zero)


@noinline
def _inner_cotangent(j_: Matrix, k_: Matrix, g: Matrix, s: Matrix, close: float, zero: Any) -> None:
    """Write the off-diagonal elements of G."""
    for i in range(s.rows):
        for j in range(s.rows):
            if i != j:
                of_u = at(j_, i, j, zero) - np.conj(at(j_, j, i, zero))
                of_v = at(k_, i, j, zero) - np.conj(at(k_, j, i, zero))
                apart = (at(s, j, 0, zero) - at(s, i, 0, zero)).real
                together = (at(s, j, 0, zero) + at(s, i, 0, zero)).real
                value = zero if abs(apart) <= close else (of_u + of_v) / (apart + apart)
                value += zero if together <= close else (of_u - of_v) / (together + together)
                put(g, i, j, value, zero)


@noinline
def _add_turns(j_: Matrix, k_: Matrix, g: Matrix, s: Matrix, close: float, scale: float, zero: Any) -> bool:
    """Add what turns pairs of complex vectors; return whether none belongs to a zero singular value."""
    slack = SAME * s.rows * eps_of(zero) * scale
    for i in range(s.rows):
        turn, size = (at(j_, i, i, zero).imag - at(k_, i, i, zero).imag) / 2, at(s, i, 0, zero).real
        if size > close:
            put(g, i, i, at(g, i, i, zero) + 1j * (turn / size), zero)
        elif abs(turn) > slack:
            return False
    return True


@noinline
def _outside(
    loops: int,
    products: Any,
    vectors: Matrix,
    values: Matrix,
    inner: Matrix,
    s: Matrix,
    close: float,
    into: Matrix,
) -> bool:
    """Write the part of values outside the space of the vectors, divided by s.

    Return whether its columns for zero singular values are zero. `inner` holds the coordinates of the part inside.
    """
    zero = products.zero
    product(loops, products, vectors, inner, into, np.int64(1))
    for i in range(into.rows):
        for j in range(into.columns):
            put(into, i, j, at(values, i, j, zero) - at(into, i, j, zero), zero)
    if not are_zero(into, s, close, SAME * into.rows * eps_of(zero) * largest(values, zero), zero):
        return False
    for j in range(into.columns):
        value = at(s, j, 0, zero).real
        for i in range(into.rows):
            put(into, i, j, zero if value <= close else at(into, i, j, zero) / value, zero)
    return True


@always_inline
def _sizes(p: Any, zero: Any) -> Sizes:
    """Return the bytes of a stack; the scratch memory holds three squares and a side."""
    k, size = min(p.m, p.n), size_of(zero)
    return Sizes(p.m * p.n * size, 0, result_bytes(p, zero), (3 * k * k + max(p.m, p.n) * k) * size)


@noinline
def _cotangent(loops: int, routines: Lapack, own: MatrixFrame, p: Any) -> int:
    """Add the cotangent of one matrix; return a status."""
    zero, size, products, write, more = (
        routines.zero,
        size_of(routines.zero),
        routines.products,
        np.int64(1),
        np.int64(0),
    )
    k, into = min(p.m, p.n), by_rows(own.x_bar, p.m, p.n, zero)
    s, u, v = _values(own.y, p, zero), left_vectors(own.y, p, zero), right_vectors(own.y, p, zero)
    u_bar, v_bar = left_vectors(own.y_bar, p, zero), right_vectors(own.y_bar, p, zero)
    j_, k_ = by_rows(own.scratch, k, k, zero), by_rows(own.scratch + k * k * size, k, k, zero)
    g, close, side = (
        by_rows(own.scratch + 2 * k * k * size, k, k, zero),
        closest(s, p, zero),
        own.scratch + 3 * k * k * size,
    )
    status = product_of_adjoint(loops, products, u, u_bar, j_, write)
    status = max(status, product_of_adjoint(loops, products, v, v_bar, k_, write))
    if np.iscomplexobj(zero):
        conjugate(k_, k_, zero)  # the memory is that of V^H
    both = by_rows(side, k, k, zero)
    _sum(j_, k_, both, zero)
    memset(g.address, np.int32(0), k * k * size)
    for i in range(k):
        put(g, i, i, load_at(own.y_bar, i * size, zero), zero)
    if p.vectors:
        if not (is_determined(g, both, s, close, zero) and zeros_are_out(j_, k_, g, s, close, zero)):
            return NOT_DIFFERENTIABLE
        if depends_on_phases(both, u_bar, zero) and depends_on_phases(both, v_bar, zero):
            return PHASE_DEPENDENT
    else:
        share(g, s, close, zero)
        clear_zeros(g, s, close, zero)
    _inner_cotangent(j_, k_, g, s, close, zero)
    if np.iscomplexobj(zero):
        scale = max(largest(u_bar, zero), largest(v_bar, zero))
        if p.vectors and not _add_turns(j_, k_, g, s, close, scale, zero):
            return NOT_DIFFERENTIABLE
    outer = by_rows(side, p.m, k, zero)
    product(loops, products, u, g, outer, write)
    product(loops, products, outer, transposed(v), into, more)
    if p.vectors == 0:
        return status
    if p.m > k:
        if not _outside(loops, products, u, u_bar, j_, s, close, outer):
            return NOT_DIFFERENTIABLE
        product(loops, products, outer, transposed(v), into, more)
    if p.n > k:
        outer = by_rows(side, p.n, k, zero)
        if np.iscomplexobj(zero):
            conjugate(k_, k_, zero)
        if not _outside(loops, products, v, v_bar, k_, s, close, outer):
            return NOT_DIFFERENTIABLE
        product(loops, products, u, transposed(outer), into, more)
    return status


@always_inline
def svd_reverse(frame: int, loops: int, routines: Lapack) -> int:
    """Add (STORE: write) the cotangents of the matrices to X_BAR[0]."""
    p, zero = load_record(load_i64(frame, PARAMS), SvdParams), routines.zero
    clear_if_written(frame, p.matrices * p.m * p.n * size_of(zero))
    return for_each(frame, loops, routines, p, _sizes(p, zero), _cotangent, COTANGENT)


# --- tangent ---------------------------------------------------------------------------------------------------


@noinline
def _inner_tangents(m: Matrix, s: Matrix, of_u: Matrix, of_v: Matrix, close: float, zero: Any) -> None:
    """Write ``U^T U_dot`` and ``V^T V_dot``, from ``M = U^T A_dot V``."""
    for i in range(s.rows):
        for j in range(s.rows):
            apart = (at(s, j, 0, zero) - at(s, i, 0, zero)).real
            together = (at(s, j, 0, zero) + at(s, i, 0, zero)).real
            mirrored = np.conj(at(m, j, i, zero))
            even, odd = (at(m, i, j, zero) + mirrored) / 2, (at(m, i, j, zero) - mirrored) / 2
            first = zero if abs(apart) <= close else even / apart
            second = zero if together <= close else odd / together
            put(of_u, i, j, first + second, zero)
            put(of_v, i, j, np.conj(first - second), zero)  # beside the memory of V^H


@noinline
def _tangent(loops: int, routines: Lapack, own: MatrixFrame, p: Any) -> int:
    """Write the tangent of one matrix; return a status."""
    zero, size, products, write = routines.zero, size_of(routines.zero), routines.products, np.int64(1)
    k, x_dot = min(p.m, p.n), by_rows(own.x_bar, p.m, p.n, zero)
    s, u, v = _values(own.y, p, zero), left_vectors(own.y, p, zero), right_vectors(own.y, p, zero)
    u_dot, v_dot = left_vectors(own.y_bar, p, zero), right_vectors(own.y_bar, p, zero)
    m, of_u = by_rows(own.scratch, k, k, zero), by_rows(own.scratch + k * k * size, k, k, zero)
    of_v, close, side = (
        by_rows(own.scratch + 2 * k * k * size, k, k, zero),
        closest(s, p, zero),
        own.scratch + 3 * k * k * size,
    )
    memset(own.y_bar, np.int32(0), result_bytes(p, zero))
    moved = by_rows(side, p.m, k, zero)
    status = product_by_adjoint(loops, products, x_dot, transposed(v), moved, write)
    status = max(status, product_of_adjoint(loops, products, u, moved, m, write))
    if p.vectors == 0:
        share(m, s, close, zero)
        clear_zeros(m, s, close, zero)
    elif not ties_stay(m, s, close, zero):
        return NOT_DIFFERENTIABLE
    for i in range(k):
        put(_values(own.y_bar, p, zero), i, 0, at(m, i, i, zero).real, zero)
    if p.vectors == 0:
        return status
    _inner_tangents(m, s, of_u, of_v, close, zero)
    outside = False
    if p.m > k:
        if not _outside(loops, products, u, moved, m, s, close, u_dot):
            return NOT_DIFFERENTIABLE
        outside = True
    product(loops, products, u, of_u, u_dot, np.int64(not outside))
    moved, outside = by_rows(side, p.n, k, zero), False
    if p.n > k:
        status = max(
            status, product_by_adjoint(loops, products, transposed(x_dot), transposed(u), moved, write)
        )
        if not _outside(loops, products, v, moved, transposed(m), s, close, v_dot):
            return NOT_DIFFERENTIABLE
        outside = True
    product(loops, products, v, of_v, v_dot, np.int64(not outside))
    return status


@always_inline
def svd_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write the tangents of singular values and vectors to Y_BAR."""
    p = load_record(load_i64(frame, PARAMS), SvdParams)
    return for_each(frame, loops, routines, p, _sizes(p, routines.zero), _tangent, TANGENT)
