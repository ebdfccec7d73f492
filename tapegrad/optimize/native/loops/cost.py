"""Cost of a least-squares fit: SciPy's robust losses, and the criteria by which a fit has converged.

Residuals and rows of the Jacobian are rescaled such that Gauss and Newton's matrix and the gradient are those of the
robust cost [1]_. A row's weight in that matrix is the *curvature* of the loss along its residual, which is zero for an
outlier: where all points are outliers, as from a poor start, the matrix says nothing about the length of a step. The
weights of iteratively reweighted least squares are the *slopes* of the loss, and their matrix bounds the cost from
above [2]_, but steps by it converge linearly. So steps take the curvatures, and a share of what the slopes exceed them
by: all of that at first, and ever less of it while steps are accepted. Covariances take the curvatures alone.

References
----------
.. [1] B. Triggs, P. McLauchlan, R. Hartley, A. Fitzgibbon, "Bundle adjustment: a modern synthesis", Lecture Notes in
   Computer Science 1883, 2000.
.. [2] P. W. Holland, R. E. Welsch, "Robust regression using iteratively reweighted least-squares", Communications in
   Statistics - Theory and Methods 6, 1977.
"""

import math

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_f64, store_f64
from tapegrad.optimize.native.loops import fit_fields as fields

LOSSES = {"linear": 0, "soft_l1": 1, "huber": 2, "cauchy": 3, "arctan": 4}
LINEAR, SOFT_L1, HUBER, CAUCHY, ARCTAN = range(5)
_EPS = 2.220446049250313e-16


@inline_njit
def rho(loss, z):
    """Return a loss of a squared residual, and its first and second derivatives."""
    if loss == SOFT_L1:
        root = math.sqrt(1.0 + z)
        return 2.0 * (root - 1.0), 1.0 / root, -0.5 / (root * (1.0 + z))
    if loss == HUBER and z > 1.0:
        root = math.sqrt(z)
        return 2.0 * root - 1.0, 1.0 / root, -0.5 / (z * root)
    if loss == CAUCHY:
        return math.log1p(z), 1.0 / (1.0 + z), -1.0 / (1.0 + z) ** 2
    if loss == ARCTAN:
        return math.atan(z), 1.0 / (1.0 + z * z), -2.0 * z / (1.0 + z * z) ** 2
    return z, 1.0, 0.0


@inline_njit
def curvature(z, first, second):
    """Return the weight of a row in Gauss and Newton's matrix, from the derivatives of the loss."""
    return max(first + 2.0 * z * second, _EPS)


@inline_njit
def robust_cost(loss, scale, r, n):
    """Return the cost of residuals under a loss."""
    cost = 0.0
    for i in range(n):
        zeroth, _, _ = rho(loss, (load_f64(r, i) / scale) ** 2)
        cost += zeroth
    return 0.5 * scale * scale * cost


@inline_njit
def rescale(fit, r, factors):
    """Rescale residuals in place, and write the factors for the rows of the Jacobian, for the slopes as weights.

    Write also the curvature of each row, as a part of its slope.
    """
    scale = load_f64(fit.settings, fields.F_SCALE)
    for i in range(fit.n):
        value = load_f64(r, i)
        z = (value / scale) ** 2
        _, first, second = rho(fit.loss, z)
        factor = math.sqrt(first)
        store_f64(factors, i, factor)
        store_f64(r, i, value * factor)
        store_f64(fit.curvatures, i, curvature(z, first, second) / max(first, _EPS))


@inline_njit
def _is_flat(ftol, gained, predicted, cost):
    """Return whether a step has gained little in a good model, or may gain no more than rounding.

    A step that was cut at bounds may even lose by the model: that says nothing of shorter ones.
    """
    little = abs(gained) <= ftol * cost and predicted > 0.0 and gained > 0.25 * predicted
    return little or (ftol > 0.0 and math.isfinite(gained) and abs(predicted) <= 4.0 * _EPS * cost)


@inline_njit
def reason_to_stop(settings, gained, predicted, cost, length, size):
    """Return the status with which a fit ends after a step, or GOES_ON.

    `length` is that of the step, and `size` that of the parameters; `gained` is not finite where the cost is not.
    """
    xtol = load_f64(settings, fields.XTOL)
    flat = _is_flat(load_f64(settings, fields.FTOL), gained, predicted, cost)
    short = length <= xtol * (xtol + size)
    if flat and short:
        return fields.BY_BOTH
    if flat:
        return fields.BY_FTOL
    return fields.BY_XTOL if short else fields.GOES_ON
