"""The damping with which the step of a least-squares problem has the length of the trust region's radius [1]_.

References
----------
.. [1] J. J. Moré, "The Levenberg-Marquardt algorithm: implementation and theory", Lecture Notes in Mathematics 630,
   1978.
"""

import math

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_f64, store_f64
from tapegrad.optimize.native.loops.fit_fields import DAMPING, RADIUS
from tapegrad.optimize.native.loops.fits.damped import damped_triangle, solve_transposed, solve_upper
from tapegrad.optimize.native.loops.vectors import copy_scaled, dot

_NEAR = 0.1  # by how much the length may differ from the radius, as a part of it
_TINY = 2.2250738585072014e-308
_MAX_TRIALS = 10


@inline_njit
def _length(vector, q):
    return math.sqrt(dot(vector, vector, q))


@inline_njit
def _inverse_square(fit, triangle, length, q):
    """Return the squared length of the normalised step, divided by the triangle's transpose."""
    copy_scaled(fit.scratch, 1.0 / length, fit.step, q)
    solve_transposed(triangle, fit.scratch, q)
    return dot(fit.scratch, fit.scratch, q)


@inline_njit
def undamped_step(fit, q):
    """Write Gauss and Newton's step, which needs full rank; return its length."""
    copy_scaled(fit.step, -1.0, fit.right, q)
    solve_upper(fit.triangle, fit.step, fit.step, q)
    return _length(fit.step, q)


@inline_njit
def damped_step(fit, q, damping):
    """Write the step for a damping; return its length."""
    damped_triangle(fit.triangle, fit.right, damping, fit.damped, fit.damped_right, fit.row, q)
    copy_scaled(fit.step, -1.0, fit.damped_right, q)
    solve_upper(fit.damped, fit.step, fit.step, q)
    return _length(fit.step, q)


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
def step_within_radius(fit, q, rank):
    """Write the step of `q` free parameters that is not longer than the radius, or by a tenth; return its length.

    The damping is kept for the next time, where it is a good first guess.
    """
    radius = load_f64(fit.settings, RADIUS)
    least, excess = 0.0, 0.0
    if rank == q:
        length = undamped_step(fit, q)
        excess = length - radius
        if excess <= _NEAR * radius:
            store_f64(fit.settings, DAMPING, 0.0)
            return length
        least = excess / (radius * _inverse_square(fit, fit.triangle, length, q))
    steepest = _steepest(fit, q)
    if steepest == 0.0:
        return damped_step(fit, q, 1.0)
    most = max(steepest / radius, _TINY)
    damping = min(max(load_f64(fit.settings, DAMPING), least), most)
    if damping == 0.0:
        damping = max(0.001 * most, math.sqrt(least * most))
    length = 0.0
    for _ in range(_MAX_TRIALS):
        before = excess
        length = damped_step(fit, q, damping)
        excess = length - radius
        if abs(excess) <= _NEAR * radius or (least == 0.0 and excess <= before and before < 0.0):
            break
        change = excess / radius / _inverse_square(fit, fit.damped, length, q)
        if excess > 0.0:
            least = max(least, damping)
        else:
            most = min(most, damping)
        damping = min(max(least, damping + change), most)
        if damping == 0.0:
            damping = 0.001 * most
    store_f64(fit.settings, DAMPING, damping)
    return length
