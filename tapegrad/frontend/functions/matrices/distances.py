"""Distances between vectors: all pairs of two sets, or of one."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.frontend.functions.matrices.covariances import cov
from tapegrad.frontend.functions.matrices.matrices import inverse
from tapegrad.frontend.functions.matrices.norms import norm
from tapegrad.frontend.functions.products.linalg import matmul
from tapegrad.frontend.functions.reductions.lines import floating, root_of_sum
from tapegrad.frontend.functions.reductions.reductions import mean, sum
from tapegrad.frontend.functions.reductions.statistics import var
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.recording.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.recording.elementwise import where as select
from tapegrad.frontend.recording.record_structural import as_tensor, in_common_dtype
from tapegrad.frontend.recording.shape import expand_dims
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.derived_docs import like

_absolute, _sqrt = ELEMENTWISE["absolute"], ELEMENTWISE["sqrt"]
# SciPy's metrics that count elements: constant almost everywhere.
_COUNTS = (
    "dice", "hamming", "jaccard", "matching", "rogerstanimoto", "russellrao", "sokalmichener", "sokalsneath", "yule",
)  # fmt: skip


def _weighted(terms: Tensor, w: Any) -> Tensor:
    """Sum along the last axis, with weights if they are given."""
    return sum(terms if w is None else terms * as_tensor(w, "tapegrad.linalg.cdist"), -1)


def _root(total: Tensor) -> Tensor:
    return root_of_sum(total, _sqrt(total))


def _sqeuclidean(u: Tensor, v: Tensor, w: Any = None) -> Tensor:
    d = u - v
    return _weighted(d * d, w)


def _euclidean(u: Tensor, v: Tensor, w: Any = None) -> Tensor:
    return _root(_sqeuclidean(u, v, w))


def _cityblock(u: Tensor, v: Tensor, w: Any = None) -> Tensor:
    return _weighted(_absolute(u - v), w)


def _minkowski(u: Tensor, v: Tensor, p: float = 2, w: Any = None) -> Tensor:
    if not p > 0:
        raise ValueError(f"tapegrad.linalg.cdist: p of the metric 'minkowski' must be positive, not {p!r}")
    if w is None:
        return norm(u - v, p, -1)
    if p == np.inf:
        raise UnsupportedError(
            "tapegrad.linalg.cdist: the metric 'minkowski' takes no weights for p=inf; leave w out"
        )
    total = _weighted(_absolute(u - v) ** p, w)
    return root_of_sum(total, total ** (1.0 / p))


def _chebyshev(u: Tensor, v: Tensor) -> Tensor:
    return norm(u - v, np.inf, -1)


def _canberra(u: Tensor, v: Tensor, w: Any = None) -> Tensor:
    """Compute the Canberra distance; a pair of zeros contributes 0."""
    sizes = _absolute(u) + _absolute(v)
    return _weighted(select(sizes == 0, 0.0, _absolute(u - v) / sizes), w)


def _braycurtis(u: Tensor, v: Tensor, w: Any = None) -> Tensor:
    return _weighted(_absolute(u - v), w) / _weighted(_absolute(u + v), w)


def _cosine(u: Tensor, v: Tensor) -> Tensor:
    """Compute half of the square of the distance on the unit sphere: ``1 - cos`` loses the digits of small angles."""
    return 0.5 * _sqeuclidean(*(x / norm(x, axis=-1, keepdims=True) for x in (u, v)))


def _correlation(u: Tensor, v: Tensor) -> Tensor:
    return _cosine(*(x - mean(x, -1, keepdims=True) for x in (u, v)))


def _seuclidean(u: Tensor, v: Tensor, V: Any) -> Tensor:  # noqa: N803  SciPy's name
    d = u - v
    return _root(sum(d * d / as_tensor(V, "tapegrad.linalg.cdist"), -1))


def _mahalanobis(u: Tensor, v: Tensor, VI: Any) -> Tensor:  # noqa: N803  SciPy's name
    d = u - v
    return _root(sum(matmul(d, VI) * d, -1))


_METRICS: dict[str, Callable[..., Tensor]] = {
    "braycurtis": _braycurtis,
    "canberra": _canberra,
    "chebyshev": _chebyshev,
    "cityblock": _cityblock,
    "correlation": _correlation,
    "cosine": _cosine,
    "euclidean": _euclidean,
    "mahalanobis": _mahalanobis,
    "minkowski": _minkowski,
    "seuclidean": _seuclidean,
    "sqeuclidean": _sqeuclidean,
}


def _metric(metric: Any, points: Callable[[], Tensor], options: dict[str, Any], name: str) -> Any:
    """Return the function of two vectors along the last axis; its scales are estimated from `points`."""
    if metric in _COUNTS:
        raise UnsupportedError(
            f"{name}: the metric {metric!r} counts elements, and has no derivative: write"
            f" scipy.spatial.distance.{name.rpartition('.')[2]}(t.data, ..., {metric!r})"
        )
    if callable(metric) or metric not in _METRICS:
        raise ValueError(
            f"{name}: metric is one of {', '.join(map(repr, _METRICS))}, not {metric!r}; for one of your own write"
            " tapegrad.vmap(lambda u: tapegrad.vmap(lambda v: metric(u, v))(b))(a)"
        )
    given = {key: value for key, value in options.items() if value is not None}
    if metric == "seuclidean" and "V" not in given:
        given["V"] = var(points(), 0, ddof=1)
    if metric == "mahalanobis" and "VI" not in given:
        given["VI"] = inverse(cov(points(), rowvar=False), name)
    return functools.partial(_METRICS[metric], **given)


def _points(x: Any, name: str) -> Tensor:
    points = floating(x, name)
    if points.ndim != 2:
        raise ValueError(
            f"{name}: the vectors must be the rows of a matrix, not an array of shape {points.shape}"
        )
    return points


def cdist(XA: Any, XB: Any, metric: str = "euclidean", **kwargs: Any) -> Tensor:  # noqa: N803  SciPy's names
    """Compute the distance of each vector of a set from each one of another set.

    Parameters
    ----------
    XA : Tensor or array_like, shape (m, k)
        Vectors, a row each.
    XB : Tensor or array_like, shape (n, k)
        Others.
    metric : str, default 'euclidean'
        'braycurtis', 'canberra', 'chebyshev', 'cityblock', 'correlation', 'cosine', 'euclidean', 'mahalanobis',
        'minkowski', 'seuclidean' or 'sqeuclidean'.
    **kwargs
        Of the metric: `p` of 'minkowski' (2 by default); `V`, variances of 'seuclidean', and `VI`, the inverse of the
        covariance matrix of 'mahalanobis', estimated of all vectors by default; weights `w` of 'braycurtis',
        'canberra', 'cityblock', 'euclidean', 'minkowski' and 'sqeuclidean'.

    Returns
    -------
    Tensor, shape (m, n)
        The distances.

    Raises
    ------
    TypeError
        For an argument that the metric does not take.
    UnsupportedError
        For a metric that counts elements, such as 'hamming': it has no derivative.
    ValueError
        If there is no such metric, or the shapes do not fit.

    See Also
    --------
    pdist : The distances inside of one set.

    Notes
    -----
    Distances are those of differences, which keeps the digits of small ones; eagerly these take ``m * n * k`` elements
    of memory. The derivatives of the distance of equal vectors are 0.

    Examples
    --------
    >>> import tapegrad as tg
    >>> a = tg.tensor([[0.0, 0.0], [3.0, 4.0]])
    >>> tg.linalg.cdist(a, [[3.0, 4.0]])
    Tensor([[5.],
            [0.]])
    """
    name = "tapegrad.linalg.cdist"
    u, v = in_common_dtype(_points(XA, name), _points(XB, name))
    if u.shape[1] != v.shape[1]:
        raise ValueError(f"{name}: the vectors must have the same length, not {u.shape[1]} and {v.shape[1]}")
    distance = _metric(metric, lambda: concatenate([u, v]), kwargs, name)
    return _called(distance, expand_dims(u, 1), expand_dims(v, 0), metric)


@like(
    cdist,
    ("the shapes do not fit.", "`X` is no matrix."),
    summary="Compute the distances of all pairs of vectors.",
    parameters="""X : Tensor or array_like, shape (m, k)
    Vectors, a row each.
metric : str, default 'euclidean'
    As for `cdist`.
**kwargs
    Of the metric, as for `cdist`.""",
    returns="""Tensor, shape (m * (m - 1) / 2,)
    The distance of row i from row j, for ``i < j`` in lexical order.""",
    see_also="cdist : The distances as a matrix: ``cdist(X, X)``.",
    notes="",
    examples=""">>> tg.linalg.pdist(tg.tensor([[0.0, 0.0], [3.0, 4.0], [3.0, 0.0]]), "cityblock")
Tensor([7., 3., 4.])""",
)
def pdist(X: Any, metric: str = "euclidean", **kwargs: Any) -> Tensor:  # noqa: N803  SciPy's name
    name = "tapegrad.linalg.pdist"
    x = _points(X, name)
    first, second = np.triu_indices(x.shape[0], 1)
    return _called(_metric(metric, lambda: x, kwargs, name), x[first], x[second], metric)


def _called(distance: Callable[..., Tensor], u: Tensor, v: Tensor, metric: str) -> Tensor:
    try:
        return distance(u, v)
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        unknown = str(error).rpartition(" ")[2]
        raise TypeError(f"the metric {metric!r} takes no argument {unknown}; leave it out") from None
