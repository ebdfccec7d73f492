"""QR factors of stacks of small matrices, as many at once as there are lanes: LAPACK's reflections, signs included.

A block has the elements of the matrices column by column, with room for a complete Q, then the factors tau of the
reflections.
"""

from typing import Any

from tapegrad.engine.kernels.lanes.lane_blocks import (
    gather_transposed,
    is_ordinary,
    make_reflection,
    reflect,
    scatter_all,
)
from tapegrad.engine.kernels.lanes.lanes import LANE_BYTES, lanes_at, put_lanes, scatter, spread
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.raw_memory import size_of


@noinline
def _reflect(block: int, m: int, i: int, columns: int, tau: Any, zero: Any) -> None:
    """Apply reflection i to the columns after it."""
    reflect(block, (m + 1) * i, tau, (m + 1) * i + m, m, columns - i - 1, m - i, zero)


@noinline
def _factorize(block: int, m: int, n: int, taus: int, zero: Any) -> None:
    """Replace matrices by R and the vectors of the reflections."""
    for i in range(min(m, n)):
        length, tau = make_reflection(block, i + m * i, m - i, zero)
        put_lanes(block, i + m * i, length)
        put_lanes(block, taus + i, tau)
        _reflect(block, m, i, n, tau, zero)


@noinline
def _write_q(block: int, m: int, k: int, full: int, taus: int, zero: Any) -> None:
    """Replace the vectors of k reflections, and the triangle above them, by the orthonormal factor."""
    none, one = spread(0, zero), spread(1, zero)
    for j in range(k, full):
        for row in range(m):
            put_lanes(block, row + m * j, spread(row == j, zero))
    for step in range(k):
        i = k - 1 - step
        tau = lanes_at(block, taus + i, zero)
        _reflect(block, m, i, full, tau, zero)
        for row in range(i):
            put_lanes(block, row + m * i, none)
        put_lanes(block, i + m * i, one - tau)
        for row in range(i + 1, m):
            put_lanes(block, row + m * i, none - tau * lanes_at(block, row + m * i, zero))


@noinline
def _scatter_r(block: int, p: Any, y: int, stride: int, last: int, zero: Any) -> None:
    """Write R, with zeros below its diagonal."""
    none, k = spread(0, zero), min(p.m, p.n)
    for j in range(p.n):
        for i in range(p.full):
            value = lanes_at(block, i + p.m * j, zero) if i <= j and i < k else none
            scatter(y + (i + p.full * j) * size_of(zero), stride, last, value)


@always_inline
def block_bytes(p: Any) -> int:
    """Return the bytes of a block."""
    return (p.m * max(p.n, p.full) + min(p.m, p.n)) * LANE_BYTES


@noinline
def factor_block(block: int, x: int, y: int, last: int, p: Any, zero: Any) -> bool:
    """Write Q and R of a block of matrices; return False, writing nothing, if numbers are too large or small."""
    m, n, full, size = p.m, p.n, p.full, size_of(zero)
    k, taus, stride = min(m, n), m * max(n, full), full * (m + n) * size
    gather_transposed(x, m, n, m * n * size, last, block, zero)
    if not is_ordinary(block, m * n, zero):
        return False
    _factorize(block, m, n, taus, zero)
    _scatter_r(block, p, y + m * full * size, stride, last, zero)
    _write_q(block, m, k, full, taus, zero)
    scatter_all(block, m * full, y, stride, last, zero)
    return True
