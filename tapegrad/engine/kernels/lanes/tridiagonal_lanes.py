"""Reduction of symmetric matrices to tridiagonal form by reflections, as many at once as there are lanes.

A block has, column by column, the matrix and the vectors, then the diagonal and the off-diagonal, the factors of the
reflections, a vector, and the state of the lanes, which `eigh_lanes` uses.
"""

from typing import Any

from tapegrad.engine.kernels.lanes.lane_blocks import inner, make_reflection, reflect
from tapegrad.engine.kernels.lanes.lanes import LANE_BYTES, gathered, lanes_at, put_lanes, spread
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.raw_memory import size_of

STATES = 5


@always_inline
def block_bytes(n: int) -> int:
    """Return the bytes of a block."""
    return (2 * n * n + 4 * n + STATES) * LANE_BYTES


# --- offsets of the parts of a block ---------------------------------------------------------------------------


@always_inline
def at_vectors(n: int) -> int:
    return n * n


@always_inline
def at_diagonal(n: int) -> int:
    return 2 * n * n


@always_inline
def at_beside(n: int) -> int:
    return 2 * n * n + n


@always_inline
def at_taus(n: int) -> int:
    return 2 * n * n + 2 * n


@always_inline
def at_states(n: int) -> int:
    return 2 * n * n + 4 * n


# --- reduction to tridiagonal matrices -------------------------------------------------------------------------


@noinline
def gather_symmetric(x: int, n: int, lower: int, last: int, block: int, zero: Any) -> None:
    """Copy a triangle to both sides; an upper triangle is mirrored to a lower one."""
    for i in range(n):
        for j in range(i + 1):
            source = i * n + j if lower else (n - 1 - i) * n + n - 1 - j
            value = gathered(x + source * size_of(zero), n * n * size_of(zero), last, zero)
            put_lanes(block, i + n * j, value)
            put_lanes(block, j + n * i, value)


@noinline
def _reflect_both_sides(block: int, n: int, i: int, zero: Any) -> None:
    """Apply the reflections of column i to the rows and columns after it."""
    along, v, w = spread(0, zero), n * i, at_taus(n) + n
    tau = lanes_at(block, at_taus(n) + i, zero)
    for r in range(i + 1, n):
        total = inner(block, n * r + i + 1, v + i + 1, n - i - 1, zero)
        put_lanes(block, w + r, tau * total)
        along = along + tau * total * lanes_at(block, v + r, zero)
    half = spread(0.5, zero) * tau * along
    for r in range(i + 1, n):
        put_lanes(block, w + r, lanes_at(block, w + r, zero) - half * lanes_at(block, v + r, zero))
    for c in range(i + 1, n):
        v_c, w_c = lanes_at(block, v + c, zero), lanes_at(block, w + c, zero)
        for r in range(i + 1, n):
            moved = lanes_at(block, v + r, zero) * w_c + lanes_at(block, w + r, zero) * v_c
            put_lanes(block, r + n * c, lanes_at(block, r + n * c, zero) - moved)


@noinline
def _write_basis(block: int, n: int, zero: Any) -> None:
    """Write the product of the reflections."""
    for e in range(n * n):
        put_lanes(block, at_vectors(n) + e, spread(e % (n + 1) == 0, zero))
    for step in range(n - 1):
        i = n - 2 - step
        tau, below = lanes_at(block, at_taus(n) + i, zero), n - i - 1
        corner = at_vectors(n) + (n + 1) * (i + 1)
        reflect(block, n * i + i + 1, tau, corner, n, below, below, zero)


@noinline
def _reverse(block: int, first: int, count: int, zero: Any) -> None:
    for i in range(count // 2):
        before = lanes_at(block, first + i, zero)
        put_lanes(block, first + i, lanes_at(block, first + count - 1 - i, zero))
        put_lanes(block, first + count - 1 - i, before)


@noinline
def tridiagonalize(block: int, n: int, lower: int, vectors: int, zero: Any) -> None:
    """Write the tridiagonal matrices and, if vectors are wanted, the products of the reflections."""
    for i in range(n - 1):
        column = n * i + i + 1
        length, tau = make_reflection(block, column, n - i - 1, zero)
        put_lanes(block, column, spread(1, zero))
        put_lanes(block, at_beside(n) + i, length)
        put_lanes(block, at_taus(n) + i, tau)
        _reflect_both_sides(block, n, i, zero)
    for i in range(n):
        put_lanes(block, at_diagonal(n) + i, lanes_at(block, i + n * i, zero))
    if vectors:
        _write_basis(block, n, zero)
    if not lower:
        _reverse(block, at_diagonal(n), n, zero)
        _reverse(block, at_beside(n), n - 1, zero)
        if vectors:
            _reverse(block, at_vectors(n), n * n, zero)
