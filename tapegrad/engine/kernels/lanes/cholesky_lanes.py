"""Cholesky factors of stacks of small matrices, as many at once as there are lanes."""

from typing import Any

from tapegrad.engine.kernels.lanes.lane_blocks import gather, scatter_all
from tapegrad.engine.kernels.lanes.lanes import (
    LANE_BYTES,
    anywhere,
    at_most,
    lane_count,
    lanes_at,
    put_lanes,
    roots,
    spread,
)
from tapegrad.engine.kernels.language.inlining import noinline
from tapegrad.engine.kernels.language.raw_memory import free, malloc, size_of
from tapegrad.engine.kernels.language.status import NOT_POSITIVE_DEFINITE, OUT_OF_MEMORY


@noinline
def _factorize(block: int, n: int, zero: Any) -> bool:
    """Replace the lower triangles of a block by the factors; return whether all matrices are positive definite.

    Operations and their order are those of `cholesky` for one small matrix. NaN pass.
    """
    none, positive = spread(0, zero), True
    for j in range(n):
        pivot = lanes_at(block, n * j + j, zero)
        for p in range(j):
            value = lanes_at(block, n * j + p, zero)
            pivot = pivot - value * value
        if anywhere(at_most(pivot, none)):
            positive = False
        root = roots(pivot)
        put_lanes(block, n * j + j, root)
        for i in range(j + 1, n):
            total = lanes_at(block, n * i + j, zero)
            for p in range(j):
                total = total - lanes_at(block, n * i + p, zero) * lanes_at(block, n * j + p, zero)
            put_lanes(block, n * i + j, total / root)
            put_lanes(block, n * j + i, none)
    return positive


@noinline
def factor_stack(x: int, matrices: int, n: int, y: int, zero: Any) -> int:
    """Write the lower factors of matrices; return a status."""
    block, most, bytes_ = malloc(n * n * LANE_BYTES), lane_count(zero), n * n * size_of(zero)
    if block == 0:
        return OUT_OF_MEMORY
    for first in range(0, matrices, most):
        last = min(most, matrices - first) - 1
        gather(x, n * n, bytes_, last, block, zero)
        if not _factorize(block, n, zero):
            free(block)
            return NOT_POSITIVE_DEFINITE
        scatter_all(block, n * n, y, bytes_, last, zero)
        x += most * bytes_
        y += most * bytes_
    free(block)
    return 0
