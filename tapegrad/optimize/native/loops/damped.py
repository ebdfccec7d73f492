"""Linear least squares with damping, and the step that it limits to the radius of a trust region.

``min |A p + b|^2 + alpha |p|^2`` for many `alpha`: A is factored once, by Householder reflections with column pivoting,
or by a Cholesky decomposition of ``A^T A``; then each `alpha` takes Givens rotations of the triangle alone [1]_.

References
----------
.. [1] J. J. Moré, "The Levenberg-Marquardt algorithm: implementation and theory", Lecture Notes in Mathematics 630,
   1978.
"""

import math

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.raw_memory import (
    load_f64,
    load_i64,
    memcpy,
    memset,
    store_f64,
    store_i64,
)
from tapegrad.optimize.native.loops import fit_fields as fields
from tapegrad.optimize.native.loops.vectors import add_scaled, copy_scaled, dot, norm

_EPS, _TINY = 2.220446049250313e-16, 2.2250738585072014e-308
_NEAR = 0.1  # by how much the length of a step may differ from the radius, as a part of it
_MAX_TRIALS = 10  # of a damping


@inline_njit
def _swap(array, j, other):
    """Exchange two elements of 64 bits."""
    element = load_i64(array, j)
    store_i64(array, j, load_i64(array, other))
    store_i64(array, other, element)


@inline_njit
def _largest_from(norms, j, k):
    best = j
    for c in range(j + 1, k):
        if load_f64(norms, c) > load_f64(norms, best):
            best = c
    return best


@inline_njit
def _make_reflection(column, norms, j, n):
    """Make the reflection that clears a column below its diagonal, in the column itself; return the diagonal.

    The column's norm is replaced by the factor of the inner products in a reflection.
    """
    rest, length = column + 8 * j, n - j
    size = norm(rest, length)
    if size == 0.0:
        store_f64(norms, j, 0.0)
        return 0.0
    first = load_f64(rest, 0)
    diagonal = -size if first > 0.0 else size
    store_f64(rest, 0, first - diagonal)
    store_f64(norms, j, -1.0 / (size * (size + abs(first))))
    return diagonal


@inline_njit
def _reflect(column, factor, vector, j, n):
    """Apply the reflection that is kept in a column to a vector."""
    rest, target = column + 8 * j, vector + 8 * j
    if factor != 0.0:
        add_scaled(target, factor * dot(rest, target, n - j), rest, n - j)


@inline_njit
def _shorten(norms, c, element, column, j, n):
    """Take an element that has gone to the triangle out of the square of a column's norm."""
    before = load_f64(norms, c)
    after = before - element * element
    if after < 0.01 * before:  # digits were lost
        rest = column + 8 * (j + 1)
        after = dot(rest, rest, n - j - 1)
    store_f64(norms, c, after)


@inline_njit
def factor(columns, order, norms, triangle, n, k):
    """Factor the matrix of `k` columns at the addresses in `columns` with pivoting; return its rank.

    The reflections are left in the columns, which change places, as do their numbers in `order`.
    """
    memset(triangle, 0, 8 * k * k)
    for c in range(k):
        column = load_i64(columns, c)
        store_f64(norms, c, dot(column, column, n))
    for j in range(min(n, k)):
        best = _largest_from(norms, j, k)
        for array in (columns, order, norms):
            _swap(array, j, best)
        for row in range(j):
            _swap(triangle + 8 * row * k, j, best)
        pivot = load_i64(columns, j)
        store_f64(triangle, j * k + j, _make_reflection(pivot, norms, j, n))
        for c in range(j + 1, k):
            column = load_i64(columns, c)
            _reflect(pivot, load_f64(norms, j), column, j, n)
            element = load_f64(column, j)
            store_f64(triangle, j * k + c, element)
            _shorten(norms, c, element, column, j, n)
    return _rank(triangle, min(n, k), k)


@inline_njit
def _rank(triangle, rows, k):
    rank = 0
    while rank < rows:
        if abs(load_f64(triangle, rank * (k + 1))) <= 10.0 * _EPS * abs(load_f64(triangle, 0)):
            break
        rank += 1
    return rank


@inline_njit
def reflect_all(columns, norms, vector, n, k):
    """Apply all reflections to a vector of `n` elements: the first `k` become the right-hand side of the triangle."""
    for j in range(min(n, k)):
        _reflect(load_i64(columns, j), load_f64(norms, j), vector, j, n)


@inline_njit
def cholesky(columns, triangle, n, k):
    """Factor ``A^T A`` into an upper triangle and its transpose; return whether it is safely definite."""
    memset(triangle, 0, 8 * k * k)
    for i in range(k):
        square = 0.0
        for j in range(i, k):
            a, b = load_i64(columns, i), load_i64(columns, j)
            value = dot(a, b, n)
            if i == j:
                square = value
            for row in range(i):
                value -= load_f64(triangle, row * k + i) * load_f64(triangle, row * k + j)
            if i == j:
                if not value > 1e4 * _EPS * square:
                    return False
                store_f64(triangle, i * k + i, math.sqrt(value))
            else:
                store_f64(triangle, i * k + j, value / load_f64(triangle, i * k + i))
    return True


@inline_njit
def solve_upper(triangle, right, result, k):
    """Solve with an upper triangle; `right` may be `result`."""
    for back in range(k):
        i = k - 1 - back
        value = load_f64(right, i)
        for j in range(i + 1, k):
            value -= load_f64(triangle, i * k + j) * load_f64(result, j)
        store_f64(result, i, value / load_f64(triangle, i * k + i))


@inline_njit
def solve_transposed(triangle, vector, k):
    """Solve with the transpose of an upper triangle, in place."""
    for i in range(k):
        value = load_f64(vector, i)
        for j in range(i):
            value -= load_f64(triangle, j * k + i) * load_f64(vector, j)
        store_f64(vector, i, value / load_f64(triangle, i * k + i))


@inline_njit
def _rotate(upper, right, row, i, k, value):
    """Rotate row `i` of the triangle and an extra row so that the extra one is zero at `i`; its new right-hand side."""
    extra, diagonal = load_f64(row, i), load_f64(upper, i * k + i)
    if extra == 0.0:
        return value
    length = math.hypot(diagonal, extra)
    cosine, sine = diagonal / length, extra / length
    for j in range(i, k):
        above, below = load_f64(upper, i * k + j), load_f64(row, j)
        store_f64(upper, i * k + j, cosine * above + sine * below)
        store_f64(row, j, cosine * below - sine * above)
    right_above = load_f64(right, i)
    store_f64(right, i, cosine * right_above + sine * value)
    return cosine * value - sine * right_above


@inline_njit
def _damped_triangle(triangle, right, damping, upper, upper_right, row, k):
    """Write the triangle, and the right-hand side, of the problem with `damping` times the identity below."""
    memcpy(upper, triangle, 8 * k * k)
    memcpy(upper_right, right, 8 * k)
    root = math.sqrt(damping)
    for first in range(k):
        memset(row, 0, 8 * k)
        store_f64(row, first, root)
        value = 0.0
        for i in range(first, k):
            value = _rotate(upper, upper_right, row, i, k, value)


# --- the step within a radius ---------------------------------------------------------------------------------------


@inline_njit
def _inverse_square(fit, q, damping, length):
    """Return the squared length of the normalised step, divided by the transpose of the triangle for a damping."""
    copy_scaled(fit.scratch, 1.0 / length, fit.step, q)
    solve_transposed(fit.triangle if damping == 0.0 else fit.damped, fit.scratch, q)
    return dot(fit.scratch, fit.scratch, q)


@inline_njit
def damped_step(fit, q, damping, factor):
    """Write a multiple of the solution for a damping, with the sign of the residuals; return its length."""
    _damped_triangle(fit.triangle, fit.right, damping, fit.damped, fit.damped_right, fit.row, q)
    copy_scaled(fit.step, factor, fit.damped_right, q)
    solve_upper(fit.damped, fit.step, fit.step, q)
    return norm(fit.step, q)


@inline_njit
def _solve(fit, q, damping):
    """Write the step for a damping; return its length."""
    if damping != 0.0:
        return damped_step(fit, q, damping, -1.0)
    copy_scaled(fit.step, -1.0, fit.right, q)
    solve_upper(fit.triangle, fit.step, fit.step, q)
    return norm(fit.step, q)


@inline_njit
def _steepest(fit, q):
    """Length of the gradient of the factored problem."""
    total = 0.0
    for j in range(q):
        slope = 0.0
        for i in range(j + 1):
            slope += load_f64(fit.triangle, i * q + j) * load_f64(fit.right, i)
        total += slope * slope
    return math.sqrt(total)


@inline_njit
def limit_step(fit, q, has_full_rank, solve, inverse_square, steepest):
    """Write the step of `q` free parameters that is not longer than the radius, or by a tenth.

    Without damping it is Gauss and Newton's step, which needs full rank. The damping is kept for the next time, where
    it is a good first guess. ``solve(fit, q, damping)`` writes a step and returns its length; by ``inverse_square(fit,
    q, damping, length)`` the length changes with the damping; ``steepest(fit, q)`` is the length of the gradient.
    """
    radius = load_f64(fit.settings, fields.RADIUS)
    least, excess = 0.0, 0.0
    if has_full_rank:
        length = solve(fit, q, 0.0)
        excess = length - radius
        if excess <= _NEAR * radius:
            store_f64(fit.settings, fields.DAMPING, 0.0)
            return
        least = excess / (radius * inverse_square(fit, q, 0.0, length))
    slope = steepest(fit, q)
    if slope == 0.0:
        solve(fit, q, 1.0)
        return
    most = max(slope / radius, _TINY)
    damping = min(max(load_f64(fit.settings, fields.DAMPING), least), most)
    if damping == 0.0:
        damping = max(0.001 * most, math.sqrt(least * most))
    for _ in range(_MAX_TRIALS):
        before = excess
        length = solve(fit, q, damping)
        excess = length - radius
        if abs(excess) <= _NEAR * radius or (least == 0.0 and excess <= before and before < 0.0):
            break
        change = excess / radius / inverse_square(fit, q, damping, length)
        if excess > 0.0:
            least = max(least, damping)
        else:
            most = min(most, damping)
        damping = min(max(least, damping + change), most)
        if damping == 0.0:
            damping = 0.001 * most
    store_f64(fit.settings, fields.DAMPING, damping)


@inline_njit
def step_within_radius(fit, q, rank):
    """Write the step of `q` free parameters, whose factored problem has this rank, within the radius."""
    limit_step(fit, q, rank == q, _solve, _inverse_square, _steepest)
