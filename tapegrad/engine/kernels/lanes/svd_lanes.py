"""Singular value decompositions of stacks of small matrices, as many at once as there are lanes.

One-sided Jacobi: pairs of columns (rows of a wide matrix) are rotated until all are orthogonal; their lengths are the
singular values (Demmel and Veselic 1992, "Jacobi's method is more accurate than QR").

A block has the columns, which become the vectors of the longer side, then the vectors of the shorter one, then the
values.
"""

from typing import Any

from tapegrad.engine.kernels.lanes.lane_blocks import (
    exchange,
    gather,
    gather_transposed,
    inner,
    is_ordinary,
    scatter_all,
    scatter_transposed,
    turn,
)
from tapegrad.engine.kernels.lanes.lanes import (
    LANE_BYTES,
    anywhere,
    at_most,
    lanes_at,
    less,
    put_lanes,
    roots,
    sizes,
    spread,
    where,
    with_signs_of,
)
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import eps_of
from tapegrad.engine.kernels.language.raw_memory import size_of

_SWEEPS = 30


@always_inline
def block_bytes(m: int, n: int) -> int:
    """Return the bytes of a block."""
    k = min(m, n)
    return (max(m, n) * k + k * k + k) * LANE_BYTES


@noinline
def _make_orthogonal(block: int, rows: int, k: int, i: int, j: int, zero: Any) -> bool:
    """Rotate two columns so that they are orthogonal; return False if they were."""
    none, one = spread(0, zero), spread(1, zero)
    first = inner(block, rows * i, rows * i, rows, zero)
    second = inner(block, rows * j, rows * j, rows, zero)
    both = inner(block, rows * i, rows * j, rows, zero)
    close = spread(eps_of(zero), zero) * roots(first) * roots(second)
    if not anywhere(less(close, sizes(both))):
        return False
    half = (second - first) / where(less(close, sizes(both)), both + both, one)
    tangent = with_signs_of(one, half) / (sizes(half) + roots(one + half * half))
    tangent = where(less(close, sizes(both)), tangent, none)
    c = one / roots(one + tangent * tangent)
    s = c * tangent
    turn(block, rows * i, rows * j, rows, c, s, zero)
    vectors = rows * k
    turn(block, vectors + k * i, vectors + k * j, k, c, s, zero)
    return True


@noinline
def _sweep(block: int, rows: int, k: int, zero: Any) -> bool:
    """Rotate all pairs of columns once; return whether all were orthogonal."""
    done = True
    for i in range(k):
        for j in range(i + 1, k):
            if _make_orthogonal(block, rows, k, i, j, zero):
                done = False
    return done


@noinline
def _sort(block: int, rows: int, k: int, zero: Any) -> None:
    """Write the lengths of the columns, and sort them in descending order."""
    vectors, values = rows * k, rows * k + k * k
    for j in range(k):
        put_lanes(block, values + j, roots(inner(block, rows * j, rows * j, rows, zero)))
    for i in range(k):
        for j in range(i + 1, k):
            a, b = lanes_at(block, values + i, zero), lanes_at(block, values + j, zero)
            exchange(block, rows * i, rows * j, rows, a, b, zero)
            exchange(block, vectors + k * i, vectors + k * j, k, a, b, zero)
            exchange(block, values + i, values + j, 1, a, b, zero)


@noinline
def _divide(block: int, rows: int, k: int, zero: Any) -> bool:
    """Divide the columns by their lengths; return False if a length is zero up to rounding."""
    values = rows * k + k * k
    close = spread(rows * eps_of(zero), zero) * lanes_at(block, values, zero)
    if anywhere(at_most(lanes_at(block, values + k - 1, zero), close)):
        return False
    for j in range(k):
        length = lanes_at(block, values + j, zero)
        for r in range(rows):
            put_lanes(block, rows * j + r, lanes_at(block, rows * j + r, zero) / length)
    return True


@noinline
def decompose_block(block: int, x: int, y: int, last: int, p: Any, zero: Any) -> bool:
    """Write singular values and vectors of a block of matrices; return False to leave it to LAPACK.

    The block is left to LAPACK if numbers are too large or small, or a matrix does not have full rank.
    """
    m, n, size, k, rows = p.m, p.n, size_of(zero), min(p.m, p.n), max(p.m, p.n)
    stride, of_result, vectors = m * n * size, (k + m * k + n * k) * size, rows * k
    if m >= n:
        gather_transposed(x, m, n, stride, last, block, zero)
    else:
        gather(x, m * n, stride, last, block, zero)
    if not is_ordinary(block, m * n, zero):
        return False
    for e in range(k * k):
        put_lanes(block, vectors + e, spread(e % (k + 1) == 0, zero))
    sweeps = 0
    while not _sweep(block, rows, k, zero):
        sweeps += 1
        if sweeps == _SWEEPS:
            return False
    _sort(block, rows, k, zero)
    if not _divide(block, rows, k, zero):
        return False
    long, short = block, block + vectors * LANE_BYTES
    left, right = (long, short) if m >= n else (short, long)
    scatter_all(short + k * k * LANE_BYTES, k, y, of_result, last, zero)
    scatter_all(left, m * k, y + k * size, of_result, last, zero)
    scatter_transposed(right, n, k, y + (k + m * k) * size, of_result, last, zero)
    return True
