"""Determinants of stacks of small matrices from LU factors, as many at once as there are lanes."""

from typing import Any

from tapegrad.engine.kernels.lanes.lanes import (
    LANE_BYTES,
    anywhere,
    equal,
    gathered,
    lane_count,
    lanes_at,
    less,
    scatter,
    sizes,
    spread,
    store_lanes,
    unless,
    where,
    with_signs_of,
)
from tapegrad.engine.kernels.lanes.lu_lanes import gather_exchanges
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.lapack import MAX_SMALL_ROWS, factor_bytes, triangle_bytes
from tapegrad.engine.kernels.language.raw_memory import size_of, stack_i64

MIN_PRODUCT, MAX_PRODUCT = 2.0**-1000, 2.0**1000  # bounds of partial products of pivots
_ROWS = MAX_SMALL_ROWS * LANE_BYTES // 8


@noinline
def _of_lanes(factor: int, n: int, last: int, zero: Any) -> tuple[Any, Any]:
    """Return the determinant in each lane, and the lanes in which a partial product nears overflow or underflow."""
    size, stride, rows = size_of(zero), factor_bytes(n, zero), stack_i64(_ROWS)
    gather_exchanges(factor + triangle_bytes(n, zero), n, stride, last, rows, zero)
    value, opposite, one = spread(1, zero), spread(-1, zero), spread(1, zero)
    extreme = unless(equal(one, one))
    for i in range(n):
        pivot = gathered(factor + (i + n * i) * size, stride, last, zero)
        value = value * where(equal(lanes_at(rows, i, zero), spread(i, zero)), one, opposite) * pivot
        inside = less(spread(MIN_PRODUCT, zero), sizes(value)) & less(sizes(value), spread(MAX_PRODUCT, zero))
        extreme = extreme | unless(inside)
    return value, extreme


@noinline
def det_of_stack(factor: int, n: int, matrices: int, y: int, zero: Any) -> None:
    """Write the determinants of matrices from their factors."""
    most, size = lane_count(zero), size_of(zero)
    for first in range(0, matrices, most):
        last = min(most, matrices - first) - 1
        value, _ = _of_lanes(factor, n, last, zero)
        scatter(y + first * size, size, last, value)
        factor += most * factor_bytes(n, zero)


@always_inline
def signs_and_products(factor: int, n: int, last: int, y: int, products: int, zero: Any) -> bool:
    """Write sign and absolute value of a determinant for each lane; return whether no product leaves its bounds."""
    value, extreme = _of_lanes(factor, n, last, zero)
    scatter(y, size_of(zero), last, with_signs_of(spread(1, zero), value))
    store_lanes(products, 0, sizes(value))
    return not anywhere(extreme)
