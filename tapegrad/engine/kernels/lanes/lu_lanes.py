"""LU factors, solutions and inverses of stacks of small matrices, as many at once as there are lanes.

Operations and their order are those of `lu` for one small matrix. A block has the elements of the matrices column by
column, then the rows that were exchanged, and a column to solve for.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.lanes.lane_blocks import gather, gather_transposed, scatter_all
from tapegrad.engine.kernels.lanes.lanes import (
    LANE_BYTES,
    anywhere,
    equal,
    gathered,
    lane_count,
    lanes_at,
    less,
    put_lanes,
    scatter,
    sizes,
    spread,
    where,
)
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import factor_bytes, triangle_bytes
from tapegrad.engine.kernels.language.raw_memory import (
    free,
    load_at,
    load_i32,
    malloc,
    size_of,
    store_at,
    store_i32,
)
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY, SINGULAR

# --- row exchanges ---------------------------------------------------------------------------------------------


@noinline
def gather_exchanges(source: int, n: int, stride: int, last: int, rows: int, zero: Any) -> None:
    """Write the row exchanges of a block from LAPACK's row numbers, which count from 1."""
    count = lane_count(zero)
    for lane in range(count):
        exchanges = source + min(lane, last) * stride
        for i in range(n):
            store_at(rows, (i * count + lane) * size_of(zero), load_i32(exchanges, i) - 1, zero)


@noinline
def scatter_exchanges(rows: int, n: int, into: int, stride: int, last: int, zero: Any) -> None:
    """Write the row exchanges of a block as LAPACK's row numbers."""
    count = lane_count(zero)
    for lane in range(last + 1):
        for i in range(n):
            row = load_at(rows, (i * count + lane) * size_of(zero), zero)
            store_i32(into + lane * stride, i, np.int32(row) + np.int32(1))


# --- factors ---------------------------------------------------------------------------------------------------


@always_inline
def _pivot_rows(block: int, n: int, k: int, zero: Any) -> Any:
    """Return the row of the largest element of column k from row k on, in each lane."""
    found, largest = spread(k, zero), sizes(lanes_at(block, k + n * k, zero))
    for i in range(k + 1, n):
        value = sizes(lanes_at(block, i + n * k, zero))
        found = where(less(largest, value), spread(i, zero), found)
        largest = where(less(largest, value), value, largest)
    return found


@always_inline
def _exchange(block: int, n: int, k: int, found: Any, first: int, columns: int, zero: Any) -> None:
    """Exchange row k with the pivot row of each lane, in all columns from the first one given."""
    for i in range(k + 1, n):
        here = equal(found, spread(i, zero))
        for j in range(columns):
            one, other = first + n * j + k, first + n * j + i
            x, y = lanes_at(block, one, zero), lanes_at(block, other, zero)
            put_lanes(block, one, where(here, y, x))
            put_lanes(block, other, where(here, x, y))


@always_inline
def _factorize(block: int, n: int, zero: Any) -> None:
    none = spread(0, zero)
    for k in range(n):
        found = _pivot_rows(block, n, k, zero)
        put_lanes(block, n * n + k, found)
        _exchange(block, n, k, found, 0, n, zero)
        pivot = lanes_at(block, k + n * k, zero)
        for i in range(k + 1, n):
            factor = lanes_at(block, i + n * k, zero)
            put_lanes(block, i + n * k, where(equal(pivot, none), factor, factor / pivot))
        for j in range(k + 1, n):
            right = lanes_at(block, k + n * j, zero)
            for i in range(k + 1, n):
                value = lanes_at(block, i + n * j, zero) - lanes_at(block, i + n * k, zero) * right
                put_lanes(block, i + n * j, value)


# One function for each number of rows: in a single function with a branch for each, loops would not be unrolled.


@noinline
def _factorize_two(block: int, zero: Any) -> None:
    _factorize(block, 2, zero)


@noinline
def _factorize_three(block: int, zero: Any) -> None:
    _factorize(block, 3, zero)


@noinline
def _factorize_four(block: int, zero: Any) -> None:
    _factorize(block, 4, zero)


@noinline
def _factorize_more(block: int, n: int, zero: Any) -> None:
    _factorize(block, n, zero)


@noinline
def factorize_lanes(block: int, n: int, zero: Any) -> None:
    """Replace the matrices of a block by their triangles. Pivots of singular matrices are zero."""
    if n == 2:
        _factorize_two(block, zero)
    elif n == 3:
        _factorize_three(block, zero)
    elif n == 4:
        _factorize_four(block, zero)
    else:
        _factorize_more(block, n, zero)


@noinline
def has_zero_pivot(block: int, n: int, zero: Any) -> bool:
    """Return whether any matrix of a block is singular, by its triangles."""
    for i in range(n):
        if anywhere(equal(lanes_at(block, i + n * i, zero), spread(0, zero))):
            return True
    return False


# --- solutions -------------------------------------------------------------------------------------------------


@always_inline
def _solve(block: int, n: int, zero: Any) -> None:
    x = n * n + n
    for k in range(n):
        _exchange(block, n, k, lanes_at(block, n * n + k, zero), x, 1, zero)
    for j in range(n):
        value = lanes_at(block, x + j, zero)
        for i in range(j + 1, n):
            put_lanes(block, x + i, lanes_at(block, x + i, zero) - lanes_at(block, i + n * j, zero) * value)
    for step in range(n):
        j = n - 1 - step
        value = lanes_at(block, x + j, zero) / lanes_at(block, j + n * j, zero)
        put_lanes(block, x + j, value)
        for i in range(j):
            put_lanes(block, x + i, lanes_at(block, x + i, zero) - lanes_at(block, i + n * j, zero) * value)


@noinline
def _solve_two(block: int, zero: Any) -> None:
    _solve(block, 2, zero)


@noinline
def _solve_three(block: int, zero: Any) -> None:
    _solve(block, 3, zero)


@noinline
def _solve_four(block: int, zero: Any) -> None:
    _solve(block, 4, zero)


@noinline
def _solve_more(block: int, n: int, zero: Any) -> None:
    _solve(block, n, zero)


@noinline
def solve_lanes(block: int, n: int, zero: Any) -> None:
    """Solve for the column of a block."""
    if n == 2:
        _solve_two(block, zero)
    elif n == 3:
        _solve_three(block, zero)
    elif n == 4:
        _solve_four(block, zero)
    else:
        _solve_more(block, n, zero)


# --- stacks ----------------------------------------------------------------------------------------------------


@always_inline
def _new_block(n: int) -> int:
    return malloc((n * n + 2 * n) * LANE_BYTES)


@noinline
def factor_stack(x: int, matrices: int, n: int, y: int, zero: Any) -> int:
    """Write the factors of matrices and their row exchanges; return a status."""
    block, most, size = _new_block(n), lane_count(zero), size_of(zero)
    if block == 0:
        return OUT_OF_MEMORY
    stride = factor_bytes(n, zero)
    for first in range(0, matrices, most):
        last = min(most, matrices - first) - 1
        gather_transposed(x, n, n, n * n * size, last, block, zero)
        factorize_lanes(block, n, zero)
        scatter_all(block, n * n, y, stride, last, zero)
        exchanges = y + triangle_bytes(n, zero)
        scatter_exchanges(block + n * n * LANE_BYTES, n, exchanges, stride, last, zero)
        x += most * n * n * size
        y += most * stride
    free(block)
    return 0


@noinline
def _solve_columns(block: int, n: int, b: int, y: int, k: int, last: int, zero: Any) -> None:
    """Solve for each column of the right sides of a block."""
    size, x = size_of(zero), n * n + n
    stride = n * k * size
    for c in range(k):
        for i in range(n):
            put_lanes(block, x + i, gathered(b + (i * k + c) * size, stride, last, zero))
        solve_lanes(block, n, zero)
        for i in range(n):
            scatter(y + (i * k + c) * size, stride, last, lanes_at(block, x + i, zero))


@noinline
def solve_stack(p: Any, factors: int, b: int, y: int, zero: Any) -> int:
    """Write the solutions of systems by the factors of their matrices; return a status."""
    n, block, most = p.n, _new_block(p.n), lane_count(zero)
    if block == 0:
        return OUT_OF_MEMORY
    stride, bytes_ = p.stride * factor_bytes(n, zero), most * n * p.k * size_of(zero)
    for first in range(0, p.matrices, most):
        last = min(most, p.matrices - first) - 1
        gather(factors, n * n, stride, last, block, zero)
        exchanges = factors + triangle_bytes(n, zero)
        gather_exchanges(exchanges, n, stride, last, block + n * n * LANE_BYTES, zero)
        if has_zero_pivot(block, n, zero):
            free(block)
            return SINGULAR
        _solve_columns(block, n, b, y, p.k, last, zero)
        factors += most * stride
        b += bytes_
        y += bytes_
    free(block)
    return 0


@noinline
def _invert_block(block: int, n: int, y: int, last: int, zero: Any) -> None:
    """Write the inverses of the matrices of a block by their factors."""
    size, x = size_of(zero), n * n + n
    for c in range(n):
        for i in range(n):
            put_lanes(block, x + i, spread(i == c, zero))
        solve_lanes(block, n, zero)
        for i in range(n):
            scatter(y + (i * n + c) * size, n * n * size, last, lanes_at(block, x + i, zero))


@noinline
def invert_stack(x: int, matrices: int, n: int, y: int, zero: Any) -> int:
    """Write the inverses of matrices; return a status."""
    block, most, bytes_ = _new_block(n), lane_count(zero), n * n * size_of(zero)
    if block == 0:
        return OUT_OF_MEMORY
    for first in range(0, matrices, most):
        last = min(most, matrices - first) - 1
        gather_transposed(x, n, n, bytes_, last, block, zero)
        factorize_lanes(block, n, zero)
        if has_zero_pivot(block, n, zero):
            free(block)
            return SINGULAR
        _invert_block(block, n, y, last, zero)
        x += most * bytes_
        y += most * bytes_
    free(block)
    return 0
