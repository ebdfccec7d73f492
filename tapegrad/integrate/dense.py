"""Dense output: the solution at any time, from the steps that were made."""

from typing import Any

import numpy as np

from tapegrad.frontend.tensor.tensor import is_tensor
from tapegrad.integrate.arguments import numbers
from tapegrad.integrate.method import AcceptedStep, RightSide, StepMethod


class OdeSolution:
    """Solution as a function of time, as SciPy has it.

    Parameters
    ----------
    method, fun
        The method, and the right side.
    steps
        Begin, size, state at the begin, state at the end and memory of each step, stacked.
    ends
        Times at the begin and at the end of all steps, numbers.

    Attributes
    ----------
    t_min, t_max
        The interval.
    """

    def __init__(self, method: StepMethod, fun: RightSide, steps: AcceptedStep, ends: np.ndarray) -> None:
        self._method, self._fun, self._steps, self._ends = method, fun, steps, ends
        self.t_min, self.t_max = float(ends.min()), float(ends.max())

    def __call__(self, t: Any) -> Any:
        """Return the solution, of shape ``(n,)`` at one time and ``(n, len(t))`` at several."""
        times = numbers(t).astype(float)
        if times.ndim > 1:
            raise ValueError(
                f"OdeSolution: t has shape {times.shape}, but must be a number or have one dimension"
            )
        given = t if is_tensor(t) else times
        columns = [self._at(given[k], float(time)) for k, time in enumerate(times)] if times.ndim else []
        if not times.ndim:
            return self._at(given, float(times))
        first = self._steps.y
        return np.stack(columns, axis=1) if columns else np.zeros((first.shape[1], 0), first.dtype)

    def _at(self, t: Any, time: float) -> Any:
        forwards = self._ends[-1] >= self._ends[0]
        place = np.searchsorted(self._ends, time) if forwards else np.searchsorted(-self._ends, -time)
        k = int(np.clip(place - 1, 0, len(self._ends) - 2))
        return self._method.interpolated(self._fun, self._steps.at(k), t)
