"""Loops over lanes: sums over points, and small systems of equations, one for each lane."""

import math

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.inlining import noinline_loop
from tapegrad.engine.kernels.language.raw_memory import load_f64, store_f64
from tapegrad.optimize.native.loops.vectors import multiply

FIRST_DAMPING = 1e-3
_TINY = 2.2250738585072014e-308


@noinline_loop
def take_where(flags, target, source, lanes):
    """Write elements of `source` in the lanes whose flag is not zero."""
    for lane in range(lanes):
        value = load_f64(source, lane)
        store_f64(target, lane, value if load_f64(flags, lane) != 0.0 else load_f64(target, lane))


@noinline_loop
def add_products_of_four(target, a, b, lanes):
    """Add the inner products of four points."""
    for lane in range(lanes):
        value = load_f64(a, lane) * load_f64(b, lane)
        value += load_f64(a, lanes + lane) * load_f64(b, lanes + lane)
        value += load_f64(a, 2 * lanes + lane) * load_f64(b, 2 * lanes + lane)
        value += load_f64(a, 3 * lanes + lane) * load_f64(b, 3 * lanes + lane)
        store_f64(target, lane, load_f64(target, lane) + value)


@noinline_loop
def add_products(target, a, b, lanes):
    """Add the products of a point."""
    for lane in range(lanes):
        store_f64(target, lane, load_f64(target, lane) + load_f64(a, lane) * load_f64(b, lane))


@noinline_loop
def add_weighted_products(target, a, b, weights, lanes):
    """Add the products of a point with weights; a product with weight zero is zero, even of nan."""
    for lane in range(lanes):
        weight = load_f64(weights, lane)
        value = load_f64(a, lane) * load_f64(b, lane) * weight
        store_f64(target, lane, load_f64(target, lane) + (value if weight != 0.0 else 0.0))


@noinline_loop
def add_masked_products(target, a, b, lanes):
    """Add the products of a point; a product with a zero of `b` is zero, even of nan."""
    for lane in range(lanes):
        factor = load_f64(b, lane)
        value = load_f64(a, lane) * factor
        store_f64(target, lane, load_f64(target, lane) + (value if factor != 0.0 else 0.0))


@noinline_loop
def raise_to(target, other, lanes):
    """Raise numbers to others where those are larger."""
    for lane in range(lanes):
        store_f64(target, lane, max(load_f64(target, lane), load_f64(other, lane)))


# --- Cholesky's decomposition, with the lower triangle packed by rows --------------------------------------------


@noinline_loop
def damp(target, damping, scale, lanes):
    """Add the damping to diagonal elements."""
    for lane in range(lanes):
        value = load_f64(scale, lane)
        damped = load_f64(damping, lane) * (value if value > 0.0 else 1.0)
        store_f64(target, lane, load_f64(target, lane) + damped)


@inline_njit
def share_of(damping):
    """Return the share of the excess of a robust loss that goes with a damping: all of it from the first one on."""
    return min(1.0, damping / FIRST_DAMPING)


@noinline_loop
def add_share(target, excess, damping, count, lanes):
    """Add the shares of the excess of a robust loss to so many elements."""
    for c in range(count):
        for lane in range(lanes):
            at = c * lanes + lane
            added = share_of(load_f64(damping, lane)) * load_f64(excess, at)
            store_f64(target, at, load_f64(target, at) + added)


@noinline_loop
def _subtract_products(target, a, b, lanes):
    for lane in range(lanes):
        store_f64(target, lane, load_f64(target, lane) - load_f64(a, lane) * load_f64(b, lane))


@noinline_loop
def _take_root(target, lanes):
    """Write one over the roots of the pivots."""
    for lane in range(lanes):
        store_f64(target, lane, 1.0 / math.sqrt(max(load_f64(target, lane), _TINY)))


@inline_njit
def decompose(factor, k, lanes):
    """Factor the matrices in place; the diagonal holds the reciprocals of the factor's."""
    row_bytes = 8 * lanes
    for i in range(k):
        row = factor + row_bytes * (i * (i + 1) // 2)
        for j in range(i + 1):
            other = factor + row_bytes * (j * (j + 1) // 2)
            for c in range(j):
                _subtract_products(row + row_bytes * j, row + row_bytes * c, other + row_bytes * c, lanes)
            if j < i:
                multiply(row + row_bytes * j, other + row_bytes * j, lanes)
        _take_root(row + row_bytes * i, lanes)


@inline_njit
def solve(factor, vector, k, lanes):
    """Solve the systems in place."""
    row_bytes = 8 * lanes
    for i in range(k):
        row, value = factor + row_bytes * (i * (i + 1) // 2), vector + row_bytes * i
        for j in range(i):
            _subtract_products(value, row + row_bytes * j, vector + row_bytes * j, lanes)
        multiply(value, row + row_bytes * i, lanes)
    for back in range(k):
        i = k - 1 - back
        value = vector + row_bytes * i
        for j in range(i + 1, k):
            other = factor + row_bytes * (j * (j + 1) // 2)
            _subtract_products(value, other + row_bytes * i, vector + row_bytes * j, lanes)
        multiply(value, factor + row_bytes * (i * (i + 1) // 2 + i), lanes)
