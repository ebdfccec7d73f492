"""Checks of a fit: whether it is a minimum, whether its mode is the only one, and whether the approximation holds."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad.optimize.random_effects.model import LatentModel
from tapegrad.optimize.random_effects.search import ModeToMode

_APART = 1e-6  # of values: another mode


class Check(NamedTuple):
    """Checks of a fit.

    Attributes
    ----------
    gradient : float
        Length of the gradient in standard errors: how far the parameters may be from the minimum.
    is_minimum : bool
        Whether the Hessian is positive definite.
    modes : numpy.ndarray
        Values of the marginal density's negative logarithm that searches from other effects have ended in, inf where
        one found no mode. They are all the same if the mode is the only one.
    p_value : float
        Probability of a mean gradient as long as that over simulated data, if the likelihood were the true one: the
        approximation is bad where it is small. nan without simulation.
    bias : numpy.ndarray or None
        Estimated bias of the free parameters by the approximation.
    """

    gradient: float
    is_minimum: bool
    modes: np.ndarray
    p_value: float = np.nan
    bias: np.ndarray | None = None

    @property
    def has_one_mode(self) -> bool:
        """True if all searches have ended in the same value."""
        return bool(np.ptp(self.modes) <= _APART * (1.0 + np.abs(self.modes).min()))

    def __str__(self) -> str:
        lines = [
            f"gradient: {self.gradient:.2g} standard errors from the minimum",
            f"Hessian of the marginal density: {'' if self.is_minimum else 'not '}positive definite",
            f"modes: {len(self.modes)} searches, {'one value' if self.has_one_mode else f'values {self.modes}'}",
        ]
        if self.bias is not None:
            lines.append(f"simulated gradient: p = {self.p_value:.3g}, estimated bias {self.bias.round(6)}")
        return "\n".join(lines)


def check(
    model: LatentModel,
    free: np.ndarray,
    effects: np.ndarray,
    cov: np.ndarray,
    deviations: np.ndarray,
    rng: np.random.Generator,
    searches: int,
) -> Check:
    """Check a fit without other data.

    Parameters
    ----------
    model, free, effects
        The fit.
    cov
        Covariance of the free parameters.
    deviations
        Standard deviation of each effect.
    rng, searches
        Where so many searches for the mode begin: within two standard deviations.
    """
    value, gradient = ModeToMode(model, effects)(free)
    starts = [effects + rng.uniform(-2.0, 2.0, len(effects)) * deviations for _ in range(searches)]
    modes = np.array([value, *(ModeToMode(model, start)(free)[0] for start in starts)])
    length = float(np.sqrt(max(gradient @ cov @ gradient, 0.0))) if np.isfinite(cov).all() else np.nan
    return Check(length, bool(np.isfinite(cov).all()), modes)


def simulated(
    model: LatentModel,
    free: np.ndarray,
    effects: np.ndarray,
    cov: np.ndarray,
    simulate: Callable[[], Any],
    size: int,
) -> tuple[float, np.ndarray]:
    """Return the probability of the mean gradient over simulated data, and the bias that it means.

    If the approximation were the likelihood itself, the gradient at the parameters that data are drawn with would be
    zero in the mean.
    """
    from scipy.stats import chi2

    gradients = []
    for _ in range(size):
        data = simulate()
        other = model.with_data(data if isinstance(data, tuple) else (data,))
        gradients.append(ModeToMode(other, effects)(free)[1])
    found = np.array(gradients)
    mean = found.mean(axis=0)
    covariance = np.atleast_2d(np.cov(found.T)) / size
    statistic = float(mean @ np.linalg.solve(covariance, mean))
    return float(chi2.sf(statistic, len(mean))), -cov @ mean
