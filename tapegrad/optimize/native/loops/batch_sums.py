"""Costs, gradients and matrices of Gauss and Newton for all lanes, from the model and its derivatives at the trials."""

import math

from tapegrad.engine.kernels.inlining import noinline_loop
from tapegrad.engine.kernels.raw_memory import load_f64, load_i64, store_f64, store_i64
from tapegrad.engine.runtime.compiler import inline_njit
from tapegrad.engine.sweep.handle_calls import column
from tapegrad.optimize.native.loops.batch_words import F_SCALE
from tapegrad.optimize.native.loops.evaluation import take_column
from tapegrad.optimize.native.loops.lanes import (
    add_to,
    clear,
    masked_products,
    products,
    subtract,
    weighted_products,
)
from tapegrad.optimize.native.loops.losses import LINEAR, rho

_EPS = 2.220446049250313e-16


@noinline_loop
def _weigh(batch_values, data, weights, slopes, squares, costs, lanes):
    """One point of all lanes under least squares with weights."""
    for lane in range(lanes):
        weight = load_f64(weights, lane)
        residual = (load_f64(batch_values, lane) - load_f64(data, lane)) * weight
        residual = residual if weight != 0.0 else 0.0
        store_f64(costs, lane, load_f64(costs, lane) + 0.5 * residual * residual)
        store_f64(slopes, lane, weight * residual)
        store_f64(squares, lane, weight * weight)


@inline_njit
def _weigh_robustly(batch, i):
    """One point of all lanes under a robust loss."""
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
        square = max(first + 2.0 * z * second, _EPS) * weight * weight
        store_f64(batch.squares + at, lane, square)


@inline_njit
def _weigh_all(batch):
    """Write the costs, and for each point what the sums need."""
    row = 8 * batch.lanes
    if batch.loss == LINEAR and batch.weights == 0:
        subtract(batch.slopes, batch.values, batch.data, batch.n * batch.lanes)
        products(batch.tried_cost, batch.slopes, batch.slopes, batch.n, batch.lanes)
        for lane in range(batch.lanes):
            store_f64(batch.tried_cost, lane, 0.5 * load_f64(batch.tried_cost, lane))
        return
    clear(batch.tried_cost, batch.lanes)
    for i in range(batch.n):
        at = row * i
        if batch.loss == LINEAR:
            _weigh(
                batch.values + at,
                batch.data + at,
                batch.weights + at,
                batch.slopes + at,
                batch.squares + at,
                batch.tried_cost,
                batch.lanes,
            )
        else:
            _weigh_robustly(batch, i)


@inline_njit
def _find_columns(batch):
    """List the addresses of the columns; 0 stands for zeros."""
    for j in range(batch.k):
        if batch.rows != 0:
            target = batch.columns + 8 * j * batch.n
            take_column(target, batch.rows, j, batch.n, batch.k)
            store_i64(batch.column_words, j, target)
        else:
            store_i64(batch.column_words, j, column(batch.session, j))


@inline_njit
def _sum_pair(batch, target, a, b):
    """One element of the matrices."""
    first, second = load_i64(batch.column_words, a), load_i64(batch.column_words, b)
    if first == 0 or second == 0:
        clear(target, batch.lanes)
    elif batch.loss == LINEAR and batch.weights == 0:
        products(target, first, second, batch.n, batch.lanes)
    else:
        weighted_products(target, first, second, batch.squares, batch.n, batch.lanes)


@inline_njit
def _sum_slopes(batch, target, a):
    """One element of the gradients."""
    column = load_i64(batch.column_words, a)
    if column == 0:
        clear(target, batch.lanes)
    elif batch.loss == LINEAR and batch.weights == 0:
        products(target, column, batch.slopes, batch.n, batch.lanes)
    else:
        masked_products(target, column, batch.slopes, batch.n, batch.lanes)


@inline_njit
def sum_up(batch):
    """Write cost, gradient and matrix of each lane's trial, and a number that is finite if these are."""
    _find_columns(batch)
    _weigh_all(batch)
    clear(batch.check, batch.lanes)
    row = 8 * batch.lanes
    for a in range(batch.k):
        _sum_slopes(batch, batch.tried_gradient + row * a, a)
        add_to(batch.check, batch.tried_gradient + row * a, batch.lanes)
        for b in range(a + 1):
            target = batch.tried_matrix + row * (a * (a + 1) // 2 + b)
            _sum_pair(batch, target, a, b)
            add_to(batch.check, target, batch.lanes)


@inline_njit
def is_finite(batch, lane):
    """Whether everything is finite at a lane's trial."""
    return math.isfinite(load_f64(batch.check, lane)) and math.isfinite(load_f64(batch.tried_cost, lane))
