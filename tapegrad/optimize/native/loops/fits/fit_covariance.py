"""Covariance of the parameters of a fit, from its factored Jacobian."""

import math

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_f64, load_i64, memset, store_f64, store_i64
from tapegrad.optimize.native.loops.fit_fields import COST
from tapegrad.optimize.native.loops.fits import damped
from tapegrad.optimize.native.loops.fits.fit_steps import factor_free
from tapegrad.optimize.native.loops.vectors import fill


@inline_njit
def _invert_triangle(fit):
    """Write the inverse of the triangle, column by column as rows of `damped`."""
    for c in range(fit.k):
        column = fit.damped + 8 * fit.k * c
        memset(column, 0, 8 * fit.k)
        store_f64(column, c, 1.0)
        damped.solve_upper(fit.triangle, column, column, fit.k)


@inline_njit
def write_covariance(fit):
    """Write the covariance of the parameters; inf where the data do not determine it."""
    for j in range(fit.k):
        store_i64(fit.free, j, j)
    determined = fit.n > fit.k and factor_free(fit, fit.k, fit.r) == fit.k
    if not determined:
        fill(fit.covariance, math.inf, fit.k * fit.k)
        return
    _invert_triangle(fit)
    variance = 2.0 * load_f64(fit.settings, COST) / (fit.n - fit.k)
    for a in range(fit.k):
        for b in range(fit.k):
            i, j, total = load_i64(fit.free, a), load_i64(fit.free, b), 0.0
            for c in range(max(a, b), fit.k):
                total += load_f64(fit.damped, c * fit.k + a) * load_f64(fit.damped, c * fit.k + b)
            scale = load_f64(fit.scale, i) * load_f64(fit.scale, j)
            store_f64(fit.covariance, i * fit.k + j, variance * total / scale)
