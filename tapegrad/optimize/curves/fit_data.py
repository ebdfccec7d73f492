"""Data of curve fits: what was fitted, what was left out, and what is left of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class FitData:
    """Data of fits, and the model that was fitted to them.

    Attributes
    ----------
    predict
        The model as a function of the vector of its parameters.
    t
        What the model is handed.
    data
        A row, or an image, for each fit.
    sigma, mask
        Standard deviations of the points, and which of these are left out, as far as they were given.
    """

    predict: Callable[[np.ndarray], np.ndarray]
    t: Any
    data: np.ndarray
    sigma: Any
    mask: Any

    def is_left_out(self, number: int) -> np.ndarray:
        """Return the mask of the points of a fit that do not count."""
        return self._of_fit(False if self.mask is None else self.mask, number)

    def errors(self, number: int) -> np.ndarray | None:
        """Return the standard deviations of the points of a fit, if they are known."""
        return None if self.sigma is None else self._of_fit(self.sigma, number)

    def residuals(self, number: int, x: np.ndarray) -> np.ndarray:
        """Return the model minus the data of a fit, in units of the standard deviations; nan for what is left out."""
        left: np.ndarray = np.asarray(self.predict(x)) - self.data[number]
        errors = self.errors(number)
        return np.where(self.is_left_out(number), np.nan, left if errors is None else left / errors)

    def abscissae(self) -> np.ndarray:
        """Return the abscissae of the points of a row: `t`, if it has a number for each of them."""
        shape = self.data.shape[1:]
        try:
            t = np.asarray(self.t if hasattr(self.t, "__len__") else (), np.float64)
        except (TypeError, ValueError):
            t = np.zeros(0)
        return (
            t if t.shape == shape and len(shape) == 1 else np.arange(np.prod(shape, dtype=int), dtype=float)
        )

    def _of_fit(self, given: Any, number: int) -> np.ndarray:
        one: np.ndarray = np.broadcast_to(given, self.data.shape)[number]
        return one
