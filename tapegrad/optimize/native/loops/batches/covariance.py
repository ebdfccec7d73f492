"""Covariance of fitted parameters, from the matrix of Gauss and Newton."""

import math

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_f64, load_i64, store_f64
from tapegrad.optimize.native.loops.vectors import fill

_EPS = 2.220446049250313e-16


@inline_njit
def _decompose(matrix, k):
    """Cholesky's decomposition in place, with one over its diagonal; whether the matrix is safely definite."""
    for i in range(k):
        for j in range(i + 1):
            value = load_f64(matrix, i * k + j)
            for c in range(j):
                value -= load_f64(matrix, i * k + c) * load_f64(matrix, j * k + c)
            if i == j:
                if not value > 16.0 * _EPS:  # of a matrix with ones on the diagonal
                    return False
                store_f64(matrix, i * k + i, 1.0 / math.sqrt(value))
            else:
                store_f64(matrix, i * k + j, value * load_f64(matrix, j * k + j))
    return True


@inline_njit
def _invert(factor, inverse, k):
    """Write the inverse of the decomposed matrix, whose factor is inverted in place."""
    for j in range(k):
        for i in range(j + 1, k):
            value = 0.0
            for c in range(j, i):
                value -= load_f64(factor, i * k + c) * load_f64(factor, c * k + j)
            store_f64(factor, i * k + j, value * load_f64(factor, i * k + i))
    for i in range(k):
        for j in range(i + 1):
            value = 0.0
            for c in range(i, k):
                value += load_f64(factor, c * k + i) * load_f64(factor, c * k + j)
            store_f64(inverse, i * k + j, value)
            store_f64(inverse, j * k + i, value)


@inline_njit
def _element(batch, lane, i, j):
    return load_f64(batch.matrix, (i * (i + 1) // 2 + j) * batch.lanes + lane)


@inline_njit
def _write_lengths(batch, lane):
    """Write one over the roots of the diagonal; return whether all of that is positive."""
    for i in range(batch.k):
        square = _element(batch, lane, i, i)
        if not square > 0.0:
            return False
        store_f64(batch.lengths, i, 1.0 / math.sqrt(square))
    return True


@inline_njit
def _invert_lane(batch, lane):
    """Write the inverse of a lane's matrix; return whether there is one."""
    k = batch.k
    if not _write_lengths(batch, lane):
        return False
    for i in range(k):
        for j in range(i + 1):
            size = load_f64(batch.lengths, i) * load_f64(batch.lengths, j)
            store_f64(batch.square, i * k + j, _element(batch, lane, i, j) * size)
    if not _decompose(batch.square, k):
        return False
    _invert(batch.square, batch.inverse, k)
    return True


@inline_njit
def _variance(batch, lane, cost):
    """Return the factor of the inverse of the matrix; infinity if there are not more points than parameters."""
    if batch.absolute != 0:
        return 1.0
    freedom = load_i64(batch.points, lane) - batch.k
    return 2.0 * cost / freedom if freedom > 0 else math.inf


@inline_njit
def write_covariance(batch, lane, problem, cost, known):
    """Write the covariance of a problem's parameters: nan where the fit never began, inf where data do not say."""
    k, variance = batch.k, _variance(batch, lane, cost)
    target = batch.out_covariance + 8 * k * k * problem
    if not (known and math.isfinite(variance) and _invert_lane(batch, lane)):
        fill(target, math.inf if known else math.nan, k * k)
        return
    for i in range(k):
        for j in range(k):
            size = variance * load_f64(batch.lengths, i) * load_f64(batch.lengths, j)
            store_f64(target, i * k + j, size * load_f64(batch.inverse, i * k + j))
