"""Fits of models whose random effects belong to parts of the data: each part is integrated by itself."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.engine.runtime.lazy import lazy
from tapegrad.errors import UnsupportedError
from tapegrad.frontend.functions.matrices import systems
from tapegrad.frontend.functions.reductions import reductions
from tapegrad.frontend.functions.shapes.flat_structures import flatten
from tapegrad.latent.effects import checked_random
from tapegrad.latent.laplace import Marginal, laplace
from tapegrad.optimize.minimize import minimize
from tapegrad.optimize.random_effects.roles import ArgumentRoles, roles_of
from tapegrad.optimize.random_effects.uncertainty import inverse_or_nan
from tapegrad.optimize.searches.search_result import SearchResult
from tapegrad.optimize.sharding.objective import Sharded
from tapegrad.transforms.jacobians.hessian import hessian
from tapegrad.transforms.jacobians.jacobian import jacobian


class LatentParts:
    """Joint density of data and effects of one part, and what follows from it.

    Parameters
    ----------
    joint
        Minus the logarithm of the joint density: takes what `roles` says, a part, and further arguments.
    roles
        Which of its arguments are parameters, and which are effects.
    effects
        Where the search for the mode begins: effects of a part, or a function of it that returns them.
    """

    def __init__(self, joint: Callable[..., Any], roles: ArgumentRoles, effects: Any) -> None:
        self._joint, self._roles, self._effects = joint, roles, effects
        self._marginal: Marginal = laplace(self._of_vector, 1)

    def _start(self, part: Any) -> Any:
        return self._effects(part) if callable(self._effects) else self._effects

    def _of_vector(self, parameters: Any, vector: Any, part: Any, *args: Any) -> Any:
        structure = flatten(self._start(part))[1](vector)
        return self._joint(*self._roles.join(parameters, structure), part, *args)

    def marginal(self, parameters: Any, part: Any, *args: Any) -> Any:
        """Return minus the logarithm of the marginal density."""
        return self._marginal(parameters, flatten(self._start(part))[0], part, *args)

    def mode(self, parameters: Any, part: Any, *args: Any) -> Any:
        """Return the effects with the largest joint density, as a vector."""
        return self._marginal.mode(parameters, flatten(self._start(part))[0], part, *args)

    def variances(
        self, slopes: Any, parameters: Any, mode: Any, covariance: Any, part: Any, *args: Any
    ) -> Any:
        """Return the variances of the effects, given the slopes of their mode and the covariance of the parameters."""
        inverse = systems.inv(hessian(self._of_vector, 1)(parameters, mode, part, *args))
        return reductions.sum(slopes @ covariance * slopes, 1) + inverse.diagonal()

    def structure(self, vector: np.ndarray, part: Any) -> Any:
        """Return effects of a part in their structure."""
        return flatten(self._start(part))[1](vector)


class ShardedLaplaceFit(SearchResult):
    """Result of `laplace` for parts: SciPy's, with its attributes and keys, and more of the model.

    Attributes
    ----------
    x
        The parameters, in the structure that the function takes.
    fun : float
        Minus the logarithm of the marginal likelihood.
    jac
        Its gradient.
    """

    def __init__(self, result: Any, latent: LatentParts, marginal: Sharded, args: tuple[Any, ...]) -> None:
        super().__init__(result)
        object.__setattr__(self, "_model", (latent, marginal, args))

    def __reduce__(self) -> Any:
        raise TypeError(
            "a fit with random effects holds its model, and is not pickled; keep x, random and cov"
        )

    @lazy
    def cov(self) -> np.ndarray:
        """Covariance of the parameters, of shape (k, k): nan if the fit is no minimum."""
        _, marginal, args = self._model
        return inverse_or_nan(marginal.hessian(self.x, *args))

    @property
    def std_errors(self) -> Any:
        """Standard errors of the parameters, in their structure."""
        return self._model[1].unravel(np.sqrt(np.diag(self.cov)))

    @lazy
    def random(self) -> list[Any]:
        """The effects of each part at their mode."""
        return self._by_part("modes", self._mode)

    @lazy
    def random_std_errors(self) -> list[Any]:
        """Standard errors of the effects of each part, those of the parameters taken into account."""
        return self._by_part("errors of effects", self._errors, self.cov)

    def _mode(self, x: Any, part: Any, *args: Any) -> Any:
        latent, marginal, _ = self._model
        return latent.mode(marginal.unravel(x), part, *args)

    def _errors(self, x: Any, part: Any, covariance: Any, *args: Any) -> Any:
        latent, marginal, _ = self._model
        slopes = jacobian(self._mode)(x, part, *args)
        mode = self._mode(x, part, *args)
        return np.sqrt(latent.variances(slopes, marginal.unravel(x), mode, covariance, part, *args))

    def _by_part(self, name: str, function: Callable[..., Any], *leading: Any) -> list[Any]:
        latent, marginal, args = self._model
        vectors = marginal.of_each(name, function, self.x, *leading, *args)
        return [latent.structure(vector, marginal.part(number)) for number, vector in enumerate(vectors)]


def fit(
    total: Sharded,
    x0: Any,
    random: Any,
    args: tuple[Any, ...],
    method: str,
    map_: Any,
    progress: bool,
    options: Any,
) -> ShardedLaplaceFit:
    """Fit a model to parts.

    Raises
    ------
    UnsupportedError
        For `map`.
    """
    if map_ is not None:
        raise UnsupportedError("laplace: map= is not for sharded densities; close over what is fixed")
    roles, given = roles_of(x0, checked_random(random))
    parameters, effects = roles.split(given)
    latent = LatentParts(total.of_part.function, roles, effects)
    marginal = total.beside(latent.marginal, parameters, "the marginal density")
    result = minimize(marginal, parameters, args, method, progress=progress, **options)
    return ShardedLaplaceFit(result, latent, marginal, args)
