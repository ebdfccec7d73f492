"""Distances of `scipy.spatial`: between two vectors, of distributions, and between the rows of two matrices."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad import linalg
from tapegrad.interop.in_place.arguments import array_of
from tapegrad.special import rel_entr


def _between(metric: str) -> Callable[..., Any]:
    """Return the distance by a metric of `cdist` of two vectors."""

    def distance(u: Any, v: Any, w: Any = None) -> Any:
        u, v = (np.expand_dims(array_of(each), 0) for each in (u, v))
        return linalg.cdist(u, v, metric, **({} if w is None else {"w": w}))[0, 0]

    return distance


def _difference(u: Any, v: Any) -> Any:
    return np.subtract(array_of(u), array_of(v))


def minkowski(u: Any, v: Any, p: Any = 2, w: Any = None) -> Any:
    """Compute the p-norm of the difference."""
    powers = np.abs(_difference(u, v)) ** p
    return np.sum(powers if w is None else array_of(w) * powers) ** (1 / p)


def mahalanobis(u: Any, v: Any, VI: Any) -> Any:  # noqa: N803  SciPy's name
    """Compute the norm of the difference by the inverse of a covariance."""
    difference = _difference(u, v)
    return np.sqrt(difference @ VI @ difference)


def seuclidean(u: Any, v: Any, V: Any) -> Any:  # noqa: N803
    """Compute the distance in standard deviations."""
    return np.sqrt(np.sum(_difference(u, v) ** 2 / array_of(V)))


def jensenshannon(p: Any, q: Any, base: Any = None, *, axis: int = 0, keepdims: bool = False) -> Any:
    """Compute the Jensen-Shannon distance of two distributions."""
    p, q = (each / np.sum(each, axis=axis, keepdims=True) for each in map(array_of, (p, q)))
    middle = (p + q) / 2
    divergence = np.sum(rel_entr(p, middle) + rel_entr(q, middle), axis=axis, keepdims=keepdims) / 2
    return np.sqrt(divergence if base is None else divergence / np.log(base))


def squareform(X: Any) -> Any:  # noqa: N803
    """Convert distances of pairs into a symmetric matrix, or back."""
    X = array_of(X)  # noqa: N806  SciPy's name
    if X.ndim == 2:
        return X[np.triu_indices(len(X), 1)]
    n = (1 + round(np.sqrt(1 + 8 * len(X)))) // 2
    upper = np.zeros((n, n), np.int64)
    upper[np.triu_indices(n, 1)] = np.arange(1, len(X) + 1)
    return np.concatenate([np.zeros(1), X])[upper + upper.T]


def distance_matrix(x: Any, y: Any, p: Any = 2) -> Any:
    """Compute the distances of all pairs of rows."""
    return linalg.cdist(x, y, "minkowski", p=p)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: _between(name)
        for name in (
            "braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "euclidean", "sqeuclidean",
        )
    },
    "jensenshannon": jensenshannon,
    "mahalanobis": mahalanobis,
    "minkowski": minkowski,
    "seuclidean": seuclidean,
    "squareform": squareform,
    "cdist": linalg.cdist,
    "pdist": linalg.pdist,
}  # fmt: skip
