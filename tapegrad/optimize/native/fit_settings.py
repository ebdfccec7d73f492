"""Settings of fits: bounds, tolerances, the loss and the limit of evaluations, checked."""

from typing import Any

import numpy as np

from tapegrad.optimize.native.arguments import (
    TOLERANCE,
    UNBOUNDED,
    check_feasible,
    checked_bounds,
    checked_choice,
    checked_positive,
    checked_tolerances,
)
from tapegrad.optimize.native.loops import fit_fields as fields
from tapegrad.optimize.native.loops.cost import LOSSES


class FitSettings:
    """Checked settings of fits.

    Parameters
    ----------
    starts
        Starting points, k numbers or (m, k).
    options
        Options by name; those that all fits take are taken out.
    who
        The function that the user called, for messages.

    Attributes
    ----------
    lower, upper
        Bounds, k numbers each.
    bounded
        Whether any bound is finite.
    numbers
        Tolerances and the scale of the loss, as compiled code has them.
    loss
        Number of the loss.
    most
        The largest number of evaluations of each fit.
    """

    def __init__(self, starts: np.ndarray, options: dict[str, Any], who: str) -> None:
        take, size = options.pop, starts.shape[-1]
        bounds = take("bounds", UNBOUNDED)
        self.bounded = bounds is not UNBOUNDED
        if self.bounded:
            self.lower, self.upper = checked_bounds(bounds, size, who)
            check_feasible(starts, self.lower, self.upper, who)
            self.bounded = bool(np.isfinite(self.lower).any() or np.isfinite(self.upper).any())
        else:
            self.lower, self.upper = np.full(size, -np.inf), np.full(size, np.inf)
        tolerances = [take(name, TOLERANCE) for name in ("ftol", "xtol", "gtol")]
        self.numbers = np.zeros(fields.PREDICTED + 1)
        self.numbers[: fields.GTOL + 1] = checked_tolerances(tolerances, who)
        self.numbers[fields.F_SCALE] = checked_positive(take("f_scale", 1.0), "f_scale", who)
        self.loss = LOSSES[checked_choice(take("loss", "linear"), LOSSES, "loss", who)]
        most = take("max_nfev", None)
        self.max_evaluations = 100 * size if most is None else int(checked_positive(most, "max_nfev", who))
