"""Cost of a least-squares fit: SciPy's robust losses, and the criteria by which a fit has converged.

Residuals and rows of the Jacobian are rescaled such that Gauss and Newton's matrix and the gradient are those of the
robust cost [1]_.

References
----------
.. [1] B. Triggs, P. McLauchlan, R. Hartley, A. Fitzgibbon, "Bundle adjustment: a modern synthesis", Lecture Notes in
   Computer Science 1883, 2000.
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
def rescale(loss, scale, r, factors, n):
    """Rescale residuals in place; write the factors for the rows of the Jacobian, and return the cost."""
    cost = 0.0
    for i in range(n):
        value = load_f64(r, i)
        z = (value / scale) ** 2
        zeroth, first, second = rho(loss, z)
        cost += zeroth
        factor = math.sqrt(max(first + 2.0 * z * second, _EPS))
        store_f64(factors, i, factor)
        store_f64(r, i, value * first / factor)
    return 0.5 * scale * scale * cost


@inline_njit
def _is_flat(ftol, gained, predicted, cost):
    """Return whether a step has gained little in a good model, or may gain no more than rounding."""
    little = abs(gained) <= ftol * cost and gained > 0.25 * predicted
    return little or (ftol > 0.0 and math.isfinite(gained) and predicted <= 4.0 * _EPS * cost)


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
