"""Costs, gradients and matrices of Gauss and Newton for all lanes, from the model and its derivatives at the trials."""

import math

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.inlining import noinline_loop
from tapegrad.engine.kernels.language.raw_memory import load_f64, load_i64, memset, store_f64, store_i64
from tapegrad.engine.sweep.replays.handle_calls import column
from tapegrad.optimize.native.loops.batches.lanes import (
    add_masked_products,
    add_products,
    add_products_of_four,
    add_weighted_products,
)
from tapegrad.optimize.native.loops.cost import LINEAR, curvature, rho
from tapegrad.optimize.native.loops.fit_fields import F_SCALE
from tapegrad.optimize.native.loops.vectors import add_scaled, dot, take_column


@noinline_loop
def _subtract(values, data, slopes, costs, lanes):
    """Add a point of all lanes under least squares."""
    for lane in range(lanes):
        residual = load_f64(values, lane) - load_f64(data, lane)
        store_f64(slopes, lane, residual)
        store_f64(costs, lane, load_f64(costs, lane) + 0.5 * residual * residual)


@noinline_loop
def _weigh(values, data, weights, slopes, squares, costs, lanes):
    """Add a point of all lanes under least squares with weights."""
    for lane in range(lanes):
        weight = load_f64(weights, lane)
        residual = (load_f64(values, lane) - load_f64(data, lane)) * weight
        residual = residual if weight != 0.0 else 0.0
        store_f64(costs, lane, load_f64(costs, lane) + 0.5 * residual * residual)
        store_f64(slopes, lane, weight * residual)
        store_f64(squares, lane, weight * weight)


@inline_njit
def _weigh_robustly(batch, i):
    """Add a point of all lanes under a robust loss."""
    lanes, scale = batch.lanes, load_f64(batch.settings, F_SCALE)
    at = 8 * i * lanes
    for lane in range(lanes):
        weight = 1.0 if batch.weights == 0 else load_f64(batch.weights + at, lane)
        residual = 0.0
        if weight != 0.0:
            residual = (load_f64(batch.values + at, lane) - load_f64(batch.data + at, lane)) * weight
        z = (residual / scale) ** 2
        zeroth, first, second = rho(batch.loss, z)
        cost = load_f64(batch.tried_cost, lane) + 0.5 * scale * scale * zeroth
        store_f64(batch.tried_cost, lane, cost)
        store_f64(batch.slopes + at, lane, weight * first * residual)
        curved = curvature(z, first, second)
        store_f64(batch.squares + at, lane, curved * weight * weight)
        store_f64(batch.excesses + at, lane, (first - curved) * weight * weight)


@inline_njit
def _weigh_all(batch):
    """Write the costs, and for each point what the sums need."""
    row = 8 * batch.lanes
    memset(batch.tried_cost, 0, row)
    for i in range(batch.n):
        at = row * i
        if batch.loss != LINEAR:
            _weigh_robustly(batch, i)
        elif batch.weights == 0:
            _subtract(batch.values + at, batch.data + at, batch.slopes + at, batch.tried_cost, batch.lanes)
        else:
            _weigh(
                batch.values + at,
                batch.data + at,
                batch.weights + at,
                batch.slopes + at,
                batch.squares + at,
                batch.tried_cost,
                batch.lanes,
            )


@inline_njit
def _find_columns(batch):
    """List the addresses of the columns; 0 stands for zeros. Those of a program over lanes do not change."""
    for j in range(0 if batch.workspace != 0 else batch.k):
        if batch.rows != 0:
            target = batch.columns + 8 * j * batch.n
            take_column(target, batch.rows, j, batch.n, batch.k)
            store_i64(batch.column_addresses, j, target)
        else:
            store_i64(batch.column_addresses, j, column(batch.session, j))


@inline_njit
def _add_points(batch, at, points):
    """Add one point, or four, to the sums of all lanes: while they are in the cache, to all of them."""
    row, lanes = 8 * batch.lanes, batch.lanes
    slopes = batch.slopes + at
    for a in range(batch.k):
        first, gradient = load_i64(batch.column_addresses, a), batch.tried_gradient + row * a
        if first != 0:
            if points == 4:
                add_products_of_four(gradient, first + at, slopes, lanes)
            else:
                add_products(gradient, first + at, slopes, lanes)
        for b in range(a + 1):
            second, target = (
                load_i64(batch.column_addresses, b),
                batch.tried_matrix + row * (a * (a + 1) // 2 + b),
            )
            if first != 0 and second != 0:
                if points == 4:
                    add_products_of_four(target, first + at, second + at, lanes)
                else:
                    add_products(target, first + at, second + at, lanes)


@inline_njit
def _add_weighted_point(batch, at):
    """Add a point with its weights to the sums of all lanes."""
    row, lanes = 8 * batch.lanes, batch.lanes
    slopes, squares = batch.slopes + at, batch.squares + at
    for a in range(batch.k):
        first = load_i64(batch.column_addresses, a)
        if first != 0:
            add_masked_products(batch.tried_gradient + row * a, first + at, slopes, lanes)
        for b in range(a + 1):
            second, target = (
                load_i64(batch.column_addresses, b),
                batch.tried_matrix + row * (a * (a + 1) // 2 + b),
            )
            if first != 0 and second != 0:
                add_weighted_products(target, first + at, second + at, squares, lanes)
                if batch.loss != LINEAR:
                    target += batch.tried_excess - batch.tried_matrix
                    add_weighted_products(target, first + at, second + at, batch.excesses + at, lanes)


@inline_njit
def _sum_one_lane(batch):
    """Write the sums of the only lane, without weights."""
    for a in range(batch.k):
        first = load_i64(batch.column_addresses, a)
        if first != 0:
            store_f64(batch.tried_gradient, a, dot(first, batch.slopes, batch.n))
        for b in range(a + 1):
            second = load_i64(batch.column_addresses, b)
            if first != 0 and second != 0:
                store_f64(batch.tried_matrix, a * (a + 1) // 2 + b, dot(first, second, batch.n))


@inline_njit
def _sum_points(batch):
    """Write gradient and matrix of each lane's trial."""
    row, packed = 8 * batch.lanes, batch.k * (batch.k + 1) // 2
    memset(batch.tried_gradient, 0, row * batch.k)
    memset(batch.tried_matrix, 0, row * packed)
    if batch.loss != LINEAR:
        memset(batch.tried_excess, 0, row * packed)
    if batch.loss != LINEAR or batch.weights != 0:
        for i in range(batch.n):
            _add_weighted_point(batch, row * i)
    elif batch.lanes == 1:
        _sum_one_lane(batch)
    else:
        whole = batch.n // 4 * 4
        for i in range(0, whole, 4):
            _add_points(batch, row * i, 4)
        for i in range(whole, batch.n):
            _add_points(batch, row * i, 1)


@inline_njit
def sum_up(batch):
    """Write cost, gradient and matrix of each lane's trial, and a number that is finite if these are."""
    _find_columns(batch)
    _weigh_all(batch)
    _sum_points(batch)
    row, packed = 8 * batch.lanes, batch.k * (batch.k + 1) // 2
    memset(batch.check, 0, row)
    for a in range(batch.k):
        add_scaled(batch.check, 1.0, batch.tried_gradient + row * a, batch.lanes)
    for c in range(packed):
        add_scaled(batch.check, 1.0, batch.tried_matrix + row * c, batch.lanes)
        if batch.loss != LINEAR:
            add_scaled(batch.check, 1.0, batch.tried_excess + row * c, batch.lanes)


@inline_njit
def is_finite(batch, lane):
    """Return whether everything is finite at a lane's trial."""
    return math.isfinite(load_f64(batch.check, lane)) and math.isfinite(load_f64(batch.tried_cost, lane))
