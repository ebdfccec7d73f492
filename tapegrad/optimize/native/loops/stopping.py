"""Stopping criteria of a fit: its cost is flat, or its step short."""

import math

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.optimize.native.loops.fit_fields import BY_BOTH, BY_FTOL, BY_XTOL, GOES_ON

_EPS = 2.220446049250313e-16


@inline_njit
def _is_flat(ftol, gained, predicted, cost):
    """Return whether a step has gained little in a good model, or may gain no more than rounding."""
    little = abs(gained) <= ftol * cost and gained > 0.25 * predicted
    return little or (ftol > 0.0 and math.isfinite(gained) and predicted <= 4.0 * _EPS * cost)


@inline_njit
def reason_to_stop(ftol, xtol, gained, predicted, cost, length, size):
    """Return the status with which a fit ends after a step.

    `length` is that of the step, and `size` that of the parameters; `gained` is not finite where the cost is not.
    """
    flat, short = _is_flat(ftol, gained, predicted, cost), length <= xtol * (xtol + size)
    if flat and short:
        return BY_BOTH
    if flat:
        return BY_FTOL
    return BY_XTOL if short else GOES_ON
