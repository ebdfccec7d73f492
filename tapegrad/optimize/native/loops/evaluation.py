"""Residuals and their Jacobian at a point, taken from a session of a compiled function."""

import math

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.inlining import noinline_loop
from tapegrad.engine.kernels.language.raw_memory import (
    load_f64,
    load_i64,
    memcpy,
    memset,
    store_f64,
    store_i64,
)
from tapegrad.engine.kernels.language.status import CALL_FAILED, GUARD_FAILED
from tapegrad.engine.sweep.replays.handle_calls import column, evaluate
from tapegrad.optimize.native.loops.fit_fields import NFEV, NJEV
from tapegrad.optimize.native.loops.vectors import dot


@inline_njit
def is_for_python(status):
    """Return whether Python has to act: to record a new specialization, or to raise a user's exception."""
    return status == GUARD_FAILED or status == CALL_FAILED


@inline_njit
def count(counts, what):
    """Count one more."""
    store_i64(counts, what, load_i64(counts, what) + 1)


@inline_njit
def evaluate_trial(fit):
    """Evaluate residuals and derivatives where the fit tries."""
    count(fit.counts, NFEV)
    count(fit.counts, NJEV)
    return evaluate(fit.session)


@noinline_loop
def take_column(target, rows, j, n, k):
    """Write a column of a matrix that is stored row by row."""
    for i in range(n):
        store_f64(target, i, load_f64(rows, i * k + j))


@inline_njit
def copy_column(fit, j, target):
    """Write the derivatives by parameter `j` at the point that was evaluated last."""
    if fit.rows != 0:
        take_column(target, fit.rows, j, fit.n, fit.k)
        return
    source = column(fit.session, j)
    if source == 0:
        memset(target, 0, 8 * fit.n)
    else:
        memcpy(target, source, 8 * fit.n)


@inline_njit
def are_finite(fit):
    """Return whether all derivatives at the point that was evaluated last are finite."""
    if fit.rows != 0:
        return math.isfinite(dot(fit.rows, fit.rows, fit.n * fit.k))
    square = 0.0
    for j in range(fit.k):
        source = column(fit.session, j)
        if source != 0:
            square += dot(source, source, fit.n)
    return math.isfinite(square)


@inline_njit
def copy_columns(fit, target):
    """Write all derivatives at the point that was evaluated last."""
    for j in range(fit.k):
        copy_column(fit, j, target + 8 * j * fit.n)
