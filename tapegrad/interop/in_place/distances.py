"""Distances of `scipy.spatial`: between two vectors, of distributions, and between the rows of two matrices."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad import linalg
from tapegrad.interop.in_place.arguments import array_of, named
from tapegrad.interop.in_place.matrices import written

_METRICS = (
    "braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "euclidean", "mahalanobis",
    "minkowski", "seuclidean", "sqeuclidean",
)  # fmt: skip


def _between(metric: str) -> Callable[..., Any]:
    """Return the distance of two vectors by a metric of `cdist`."""

    def distance(u: Any, v: Any, **options: Any) -> Any:
        first, second = (np.expand_dims(array_of(each), 0) for each in (u, v))
        return linalg.cdist(first, second, metric, **options)[0, 0]

    return distance


def squareform(X: Any) -> Any:  # noqa: N803  SciPy's name
    """Convert distances of pairs into a symmetric matrix, or back."""
    if X.ndim == 2:
        return X[np.triu_indices(len(X), 1)]
    n = (1 + round(np.sqrt(1 + 8 * len(X)))) // 2
    numbers = np.zeros((n, n), np.int64)
    numbers[np.triu_indices(n, 1)] = np.arange(1, len(X) + 1)
    return np.concatenate([np.zeros(1), X])[numbers + numbers.T]


def functions() -> dict[str, Callable[..., Any]]:
    """Return the functions by their names."""
    from scipy.spatial.distance import jensenshannon

    divergence = written("scipy.spatial.distance.jensenshannon", jensenshannon)
    own = named(squareform, linalg.cdist, linalg.pdist) | {name: _between(name) for name in _METRICS}
    return own | {"jensenshannon": divergence}
