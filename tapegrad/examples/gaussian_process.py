"""A Gaussian process, whose hyperparameters maximise the marginal likelihood.

The covariance of the function is squared exponential; its hyperparameters are logarithms, so that they are free. See
Rasmussen and Williams, *Gaussian Processes for Machine Learning* (2006), algorithm 2.1 and section 5.4.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

import tapegrad as tg
from tapegrad.examples.likelihood import Array, Estimate, maximise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TRUTH = {"log amplitude": 0.0, "log length": 0.0, "log noise": np.log(0.2)}


def observe() -> tuple[Array, Array]:
    """Draw 60 noisy values of one function from the process."""
    rng = np.random.default_rng(2)
    x = np.sort(rng.uniform(0.0, 10.0, 60))
    return x, rng.multivariate_normal(np.zeros(60), _of_observations(np.array(list(TRUTH.values())), x))


def covariance(p: Any, a: Array, b: Array) -> Any:
    """Compute the covariance of the function at the places `a` with that at `b`."""
    amplitude, length = np.exp(p[0]), np.exp(p[1])
    return amplitude**2 * np.exp(-0.5 * ((a[:, np.newaxis] - b) / length) ** 2)


def _of_observations(p: Any, x: Array) -> Any:
    return covariance(p, x, x) + np.exp(2 * p[2]) * np.eye(len(x))


def _whitened(p: Any, x: Array, y: Array) -> tuple[Any, Any]:
    """Return the Cholesky factor of the covariance of the observations, and it divided into them."""
    factor = np.linalg.cholesky(_of_observations(p, x))
    return factor, tg.linalg.solve_triangular(factor, y, lower=True)


@tg.jit
def negative_log_likelihood(p: Any, x: Array, y: Array) -> Any:
    """Compute the negative logarithm of the marginal likelihood of the hyperparameters `p`."""
    factor, white = _whitened(p, x, y)
    return 0.5 * white @ white + np.sum(np.log(np.diagonal(factor))) + 0.5 * len(x) * np.log(2 * np.pi)


@tg.jit
def predict(p: Any, x: Array, y: Array, at: Array) -> tuple[Any, Any]:
    """Return mean and standard deviation of the function at other places, given the observations."""
    factor, white = _whitened(p, x, y)
    known = tg.linalg.solve_triangular(factor, covariance(p, x, at), lower=True)
    return known.T @ white, np.sqrt(np.exp(2 * p[0]) - np.sum(known**2, axis=0))


def fit(x: Array, y: Array) -> Estimate:
    """Estimate the hyperparameters."""
    return maximise(negative_log_likelihood, np.array([0.5, 0.5, -0.5]), (x, y))


def draw(axes: "Axes", estimate: Estimate, x: Array, y: Array) -> None:
    """Draw the observations, the predicted mean, and a band of two standard deviations."""
    at = np.linspace(-1.0, 13.0, 300)
    mean, deviation = predict(estimate.parameters, x, y, at)
    axes.fill_between(at, mean - 2 * deviation, mean + 2 * deviation, alpha=0.2, lw=0, label="95 %")
    axes.plot(at, mean, label="mean of the function")
    axes.plot(x, y, "o", ms=3, color="black", label="observations")
    axes.set(xlabel="x", ylabel="y", title="Gaussian process, hyperparameters by maximum likelihood")
    axes.legend(ncols=3)
