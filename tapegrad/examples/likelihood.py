"""Maximum likelihood: estimates, and their standard errors by the Hessian."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import tapegrad as tg

Array = NDArray[Any]


class Estimate(NamedTuple):
    """Parameters where the likelihood is greatest.

    Attributes
    ----------
    parameters : array
        The estimates.
    covariance : array
        The covariance of their errors: the inverse of the Hessian of the negative log-likelihood.
    """

    parameters: Array
    covariance: Array

    @property
    def errors(self) -> Array:
        """The standard errors of the parameters."""
        errors: Array = np.sqrt(np.diagonal(self.covariance))
        return errors


def maximise(negative_log_likelihood: Callable[..., Any], start: Array, data: tuple[Array, ...]) -> Estimate:
    """Minimise ``negative_log_likelihood(parameters, *data)`` from `start`.

    Raises
    ------
    ArithmeticError
        If the optimiser does not find a minimum.
    """
    found = tg.optimize.minimize(negative_log_likelihood, start, args=data, method="trust-exact")
    if not found.success:
        raise ArithmeticError(f"no maximum of the likelihood was found: {found.message}")
    return Estimate(found.x, np.linalg.inv(tg.hessian(negative_log_likelihood)(found.x, *data)))
