"""Likelihood profiles: one parameter at some values, the others where the likelihood is largest given it."""

from typing import NamedTuple

import numpy as np

from tapegrad.optimize.random_effects.model import LatentModel
from tapegrad.optimize.random_effects.search import ModeToMode

_REACH = 3.0  # of a profile, in standard errors on each side
_QUANTILE_95 = 1.920729410347062  # half the 95 % quantile of chi-squared with one degree of freedom


class LikelihoodProfile(NamedTuple):
    """Profile of the likelihood along one parameter.

    Attributes
    ----------
    values : numpy.ndarray, shape (m,)
        Values of the parameter, ascending.
    fun : numpy.ndarray, shape (m,)
        Minus the logarithm of the largest likelihood at each.
    x : numpy.ndarray
        The value at which `fun` is smallest: the estimate.
    """

    values: np.ndarray
    fun: np.ndarray
    x: float
    least: float

    def interval(self) -> tuple[float, float]:
        """Return the ends of the 95 % confidence interval: -inf or inf where the profile does not reach that far.

        Returns
        -------
        low, high : float
            Where minus the log-likelihood is 1.92 above its minimum, interpolated in the square root of the difference.
        """
        roots = np.sqrt(np.maximum(self.fun - self.least, 0.0)) * np.sign(self.values - self.x)
        bound = np.sqrt(_QUANTILE_95)
        low, high = np.interp([-bound, bound], roots, self.values, left=-np.inf, right=np.inf)
        return float(low), float(high)


def profile_of(
    model: LatentModel,
    free: np.ndarray,
    effects: np.ndarray,
    least: float,
    group: int,
    spread: float,
    points: int,
) -> LikelihoodProfile:
    """Compute a profile.

    Parameters
    ----------
    model
        The model.
    free, effects, least
        The fit, and minus the logarithm of its likelihood.
    group
        Number of the free parameter.
    spread
        Its standard error.
    points
        How many values on each side.
    """
    found = [(float(free[group]), least)]
    for direction in (-1.0, 1.0):
        search, others = ModeToMode(model, effects), np.delete(free, group)
        for k in range(1, points + 1):
            value = float(free[group]) + direction * _REACH * spread * k / points
            others, fun = _fitted(search, others, group, value)
            found.append((value, fun))
    values, fun = np.array(sorted(found)).T
    return LikelihoodProfile(values, fun, float(free[group]), least)


def _fitted(search: ModeToMode, start: np.ndarray, group: int, value: float) -> tuple[np.ndarray, float]:
    """Return the other parameters where the likelihood is largest given one, and minus its logarithm."""
    from scipy.optimize import minimize

    def objective(others: np.ndarray) -> tuple[float, np.ndarray]:
        fun, slope = search(np.insert(others, group, value))
        return fun, np.delete(slope, group)

    search.begin_anew()
    if not len(start):
        return start, float(objective(start)[0])
    found = minimize(objective, start, jac=True, method="BFGS")
    return found.x, float(found.fun)
