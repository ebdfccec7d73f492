"""The evals of points in groups: a mixture of Gaussians (`gmm`) and k-means (`kmeans`)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import multigammaln

import tapegrad as tg
from perf.gradbench.elementary import log_sum_exp
from perf.gradbench.served import Served, array

PARAMETERS = ("alpha", "mu", "q", "l")


def _factors(q: Any, below: Any) -> Any:
    """Lower triangular matrices: logarithms of their diagonals, and what is below these, column by column."""
    k, d = q.shape
    places = np.full((d, d), d + below.shape[1])  # of the zero that comes last
    places[np.arange(d), np.arange(d)] = np.arange(d)
    columns, rows = np.triu_indices(d, 1)
    places[rows, columns] = d + np.arange(len(rows))
    return np.concatenate([np.exp(q), below, np.zeros((k, 1))], axis=1)[:, places]


def log_posterior(p: dict[str, Any], x: Any, gamma: Any, freedom: Any) -> Any:
    """Logarithm of the posterior of a mixture, with Wishart's prior of the precisions."""
    alpha, mu, q = p["alpha"], p["mu"], p["q"]
    (points, d), k = x.shape, len(alpha)
    factors = _factors(q, p["l"])
    # Q (x - mu) for all points and components by one product
    whitened = (factors.reshape(k * d, d) @ x.T).reshape(k, d, points) - (factors @ mu[:, :, None])
    log_scales = np.sum(q, axis=1)
    parts = (alpha + log_scales)[:, None] - 0.5 * np.sum(whitened * whitened, axis=1)
    largest = np.max(parts, axis=0)
    mixture = np.sum(largest + np.log(np.sum(np.exp(parts - largest), axis=0)))
    prior = freedom * np.sum(log_scales) - 0.5 * gamma**2 * np.sum(factors * factors)
    return mixture + prior - points * log_sum_exp(alpha)


def _constant(points: int, d: int, k: int, gamma: float, freedom: int) -> float:
    """Return the part of the posterior that no parameter is in."""
    n = d + freedom + 1
    wishart = n * d * np.log(gamma / np.sqrt(2)) - multigammaln(0.5 * n, d)
    return float(k * wishart - 0.5 * points * d * np.log(2 * np.pi))


_posterior = tg.jit(log_posterior)
_slope = tg.grad(_posterior)


def _objective(p: Any, x: Any, gamma: float, freedom: float) -> Any:
    constant = _constant(len(x), x.shape[1], len(p["alpha"]), gamma, int(freedom))
    return _posterior(p, x, gamma, freedom) + constant


def _mixture(given: Mapping[str, Any]) -> tuple[Any, ...]:
    parameters = {name: array(given[name]) for name in PARAMETERS}
    return parameters, array(given["x"]), float(given["gamma"]), float(given["m"])


GMM = {
    "objective": Served(_objective, _mixture),
    "jacobian": Served(_slope, _mixture, lambda found: {name: each.tolist() for name, each in found.items()}),
}


def distances(centroids: Any, points: Any) -> Any:
    """Sum of the squares of the points' distances from the centroid that is nearest to each."""
    nearest = np.argmin(np.sum(centroids**2, axis=1)[:, None] - 2 * (centroids @ points.T), axis=0)
    return np.sum((points - centroids[nearest]) ** 2)


def newton_step(centroids: Any, points: Any) -> Any:
    """Gradient over the Hessian, which is diagonal: its product with ones is all of it."""
    slope = tg.grad(lambda c: distances(c, points))
    gradient, diagonal = tg.jvp(slope, (centroids,), (np.ones(centroids.shape),))
    return gradient / diagonal


def _groups(given: Mapping[str, Any]) -> tuple[Any, ...]:
    return array(given["centroids"]), array(given["points"])


KMEANS = {
    "cost": Served(tg.jit(distances), _groups),
    "dir": Served(tg.jit(newton_step), _groups),
}
