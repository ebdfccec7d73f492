"""Distances of `scipy.spatial`: between two vectors, of distributions, and between the rows of two matrices."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad import linalg
from tapegrad.interop.in_place.arguments import array_of
from tapegrad.special import rel_entr

_METRICS = (
    "braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "euclidean", "mahalanobis",
    "minkowski", "seuclidean", "sqeuclidean",
)  # fmt: skip


def _between(metric: str) -> Callable[..., Any]:
    """Return the distance of two vectors by a metric of `cdist`."""

    def distance(u: Any, v: Any, **options: Any) -> Any:
        rows = (np.expand_dims(array_of(each), 0) for each in (u, v))
        return linalg.cdist(*rows, metric, **options)[0, 0]

    return distance


def jensenshannon(p: Any, q: Any, base: Any = None, axis: int = 0, keepdims: bool = False) -> Any:
    """Compute the Jensen-Shannon distance of two distributions."""
    p, q = (each / np.sum(each, axis=axis, keepdims=True) for each in map(array_of, (p, q)))
    middle = (p + q) / 2
    divergence = np.sum(rel_entr(p, middle) + rel_entr(q, middle), axis=axis, keepdims=keepdims) / 2
    return np.sqrt(divergence if base is None else divergence / np.log(base))


def squareform(X: Any) -> Any:  # noqa: N803  SciPy's name
    """Convert distances of pairs into a symmetric matrix, or back."""
    if X.ndim == 2:
        return X[np.triu_indices(len(X), 1)]
    n = (1 + round(np.sqrt(1 + 8 * len(X)))) // 2
    numbers = np.zeros((n, n), np.int64)
    numbers[np.triu_indices(n, 1)] = np.arange(1, len(X) + 1)
    return np.concatenate([np.zeros(1), X])[numbers + numbers.T]


def distance_matrix(x: Any, y: Any, p: Any = 2) -> Any:
    """Compute the distances of all pairs of rows."""
    return linalg.cdist(x, y, "minkowski", p=p)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _between(name) for name in _METRICS},
    **{each.__name__: each for each in (jensenshannon, squareform, linalg.cdist, linalg.pdist)},
}
