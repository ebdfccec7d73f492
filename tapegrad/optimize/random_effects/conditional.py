"""Effects given the parameters: their Gaussian approximation, and its corrections by third derivatives.

With minus the logarithm of the joint density f, its Hessian H at the mode and the covariance S, its inverse, the mean
of the effects is the mode and ``-S @ grad(log(det(H)) / 2)``, and the third cumulant of an effect is ``-f'''`` along
its column of S, three times: both up to terms of higher order. These are the shift and the skewness of the simplified
Laplace approximation (Rue, Martino and Chopin, *J. R. Stat. Soc. B* 71(2), 2009, section 3.2.3), for densities of any
form: theirs are those of observations that each depend on one effect.
"""

from typing import Any

import numpy as np

from tapegrad.frontend.tensor.modes import errstate
from tapegrad.latent.joint import Joint
from tapegrad.latent.mode import FOUND, find_mode
from tapegrad.optimize.random_effects.model import LatentModel
from tapegrad.transforms.grad import grad
from tapegrad.transforms.jit import jit
from tapegrad.transforms.jvp import jvp

# Effects: the skewness of each takes a column of the covariance, and a third derivative along it.
_MAX_SKEWED = 2_000
_MAX_SKEWNESS = 0.9  # up to which a quadratic of a normal number rises as far as three deviations out


class ConditionalEffects:
    """Distribution of the effects given the parameters, whose skewness is that at one of them.

    Parameters
    ----------
    model
        The model.
    free, effects
        Parameters, and the mode of the effects there.
    is_corrected
        Whether shift and skewness are taken into account.
    """

    def __init__(self, model: LatentModel, free: np.ndarray, effects: np.ndarray, is_corrected: bool) -> None:
        self._model, self._is_corrected = model, is_corrected
        self._moments = jit(errstate("nan")(self._recorded_moments))
        self._skewness = np.zeros(len(effects))
        if is_corrected and len(effects) <= _MAX_SKEWED:
            self._skewness = self._skewness_at(free, effects)

    def draw(self, free: np.ndarray, start: np.ndarray, normal: np.ndarray) -> np.ndarray:
        """Return a draw of the effects, made of standard normal numbers; nan where the effects have no mode.

        The search for the mode begins at `start`. A draw about the mode is bent as far as its skewness says, by the
        first term of Cornish and Fisher's expansion.
        """
        mode, status, shift, variances = self._moments(free, start)
        if status != FOUND:
            return np.full(len(normal), np.nan)
        deviations, spreads = self._model.factor(free, mode).half_solve(normal), np.sqrt(variances)
        bend = self._skewness / 6 * (deviations**2 / spreads - spreads)
        effects: np.ndarray = mode + shift + deviations + bend
        return effects

    def _recorded_moments(self, free: Any, start: Any) -> tuple[Any, ...]:
        """Return the mode, what the search ended with, the mean's distance from the mode, and the variances."""
        joint = Joint(lambda effects: self._model.joint(free, effects))
        search = find_mode(joint, start)
        entries, cholesky = joint.entries(search.best)
        factor = cholesky.factor(entries)
        variances = factor.inverse_on_pattern()[cholesky.rows == cholesky.columns]
        if not self._is_corrected:
            return search.best, search.status, np.zeros(search.best.shape), variances
        slope = grad(lambda effects: 0.5 * joint.factor(effects).logdet())(search.best)
        return search.best, search.status, -factor.solve(slope), variances

    def _skewness_at(self, free: np.ndarray, effects: np.ndarray) -> np.ndarray:
        """Return the skewness of each effect, between the bounds of what a quadratic has."""
        along = jit(self._third_derivative)
        covariance = self._model.factor(free, effects).solve(np.eye(len(effects))).data
        cumulants = np.array([-along(free, effects, column) for column in covariance])
        return np.clip(cumulants / np.diag(covariance) ** 1.5, -_MAX_SKEWNESS, _MAX_SKEWNESS)

    def _third_derivative(self, free: Any, effects: Any, direction: Any) -> Any:
        def derivative(function: Any) -> Any:
            return lambda effects: jvp(function, (effects,), (direction,))[1]

        return derivative(derivative(derivative(lambda effects: self._model.joint(free, effects))))(effects)
