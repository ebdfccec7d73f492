"""Graphs of neighbours: their edges, connected components, and the scaling of their structure matrices.

The structure matrix is the graph's Laplacian, ``diag(sums of weights) - weights``. Each component of two nodes or more
has one eigenvalue of zero.
"""

from typing import Any, NamedTuple

import numpy as np

from tapegrad.foreign import is_sparse
from tapegrad.frontend.functions.sparse_systems.cholesky import SparseCholesky
from tapegrad.frontend.tensor.modes import eager_mode, no_grad
from tapegrad.stats.fields.arguments import read_only


class Graph(NamedTuple):
    """A graph whose edges have weights.

    Attributes
    ----------
    n
        Nodes.
    first, second
        Nodes of each edge, (edges,) int64; each edge is listed once.
    weights
        Weight of each edge, positive.
    """

    n: int
    first: np.ndarray
    second: np.ndarray
    weights: np.ndarray

    def structure(self, weights: np.ndarray) -> Any:
        """Return the Laplacian for some weights, a matrix in CSR format."""
        import scipy.sparse

        adjacency = scipy.sparse.coo_array((weights, (self.first, self.second)), (self.n, self.n))
        adjacency = (adjacency + adjacency.T).tocsr()
        return scipy.sparse.csr_array(scipy.sparse.diags_array(adjacency.sum(1)) - adjacency)

    def components(self) -> np.ndarray:
        """Return the number of the component of each node."""
        from scipy.sparse.csgraph import connected_components

        return np.asarray(connected_components(self.structure(self.weights), directed=False)[1])


def read_graph(given: Any, n: int | None, name: str) -> Graph:
    """Return a graph that is given by an adjacency matrix or by a list of edges.

    Raises
    ------
    ValueError
        If it is no undirected graph without loops.
    """
    first, second, weights, count = (
        _of_adjacency(given, name) if is_sparse(given) else _of_edges(given, n, name)
    )
    if n is not None and n != count:
        raise ValueError(f"{name}: n={n}, but the adjacency matrix has {count} rows")
    if np.any(first == second):
        raise ValueError(f"{name}: node {first[first == second][0]} is its own neighbour")
    if not (np.isfinite(weights) & (weights > 0)).all():
        raise ValueError(f"{name}: weights of edges are positive numbers")
    return Graph(count, first, second, weights)


def _of_adjacency(matrix: Any, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    own = matrix.tocoo().copy()
    if own.ndim != 2 or own.shape[0] != own.shape[1]:
        raise ValueError(f"{name}: an adjacency matrix is square, not of shape {own.shape}")
    own.sum_duplicates()
    own.eliminate_zeros()
    data = own.data.astype(float)
    if abs(own.astype(float) - own.T.astype(float)).sum() != 0:
        raise ValueError(
            f"{name}: the adjacency matrix is not symmetric: neighbours have each other; A + A.T has both"
        )
    upper = own.row <= own.col
    return own.row[upper].astype(np.int64), own.col[upper].astype(np.int64), data[upper], int(own.shape[0])


def _of_edges(given: Any, n: int | None, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    edges = np.asarray(given)
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise ValueError(
            f"{name}: a graph is a sparse adjacency matrix, scipy.sparse.csr_array(A), or a list of edges, integers of"
            f" shape (m, 2), not {edges.dtype} of shape {edges.shape}"
        )
    pairs = np.unique(np.sort(edges.astype(np.int64), 1), axis=0)
    count = int(pairs.max(initial=-1)) + 1 if n is None else n
    if len(pairs) and not 0 <= pairs.min() <= pairs.max() < count:
        raise ValueError(f"{name}: edges of nodes {pairs.min()} to {pairs.max()} in a graph of {count} nodes")
    return pairs[:, 0], pairs[:, 1], np.ones(len(pairs)), count


class ScaledGraph:
    """A graph whose components are scaled, each to a generalised variance of 1.

    Attributes
    ----------
    graph : Graph
        The graph.
    labels : ndarray, shape (n,)
        Number of the component of each node.
    sizes : ndarray, shape (components,)
        Nodes of each component.
    variances : ndarray, shape (components,)
        Generalised variance of each component before it is scaled: the geometric mean of the diagonal of the pseudo-
        inverse of its structure matrix. It is 1 for an island.
    weights : ndarray, shape (edges,)
        Weights of the edges, scaled.
    logdet : float
        Logarithm of the product of the eigenvalues other than zero, scaled.
    """

    def __init__(self, graph: Graph, scale_model: bool) -> None:
        self.graph, self.labels = graph, graph.components()
        self.sizes = np.bincount(self.labels)
        self._grounded = _grounded(self.labels, self.sizes)
        structure = graph.structure(graph.weights)[self._grounded][:, self._grounded]
        logdet, diagonal, sums = _inverse_of(structure)
        self.variances = self._variances_of_components(diagonal, sums)
        scales = self.variances if scale_model else np.ones(len(self.sizes))
        self.weights = graph.weights * scales[self.labels[graph.first]]
        for each in (self.labels, self.sizes, self.variances, self.weights, graph.first, graph.second):
            read_only(each)
        # the matrix-tree theorem: all cofactors are the product of the eigenvalues divided by the number of nodes
        self.logdet = float(logdet + np.sum(np.log(self.sizes) + (self.sizes - 1) * np.log(scales)))

    @property
    def islands(self) -> np.ndarray:
        """Nodes without neighbours."""
        return np.flatnonzero(self.sizes[self.labels] == 1)

    def _variances_of_components(self, diagonal: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Return the generalised variances, given diagonal and sums of rows of the inverse without one node each."""
        whole = np.zeros((2, self.graph.n))
        whole[:, self._grounded] = diagonal, sums
        total = np.bincount(self.labels, whole[1])
        sizes = self.sizes[self.labels]
        variances = whole[0] - 2 * whole[1] / sizes + total[self.labels] / sizes**2
        variances[sizes == 1] = 1.0
        return np.asarray(np.exp(np.bincount(self.labels, np.log(variances)) / self.sizes))

    def centred(self, x: np.ndarray) -> np.ndarray:
        """Return nodes less the mean of their component, along the first axis."""
        means = np.stack([np.bincount(self.labels, column) for column in x.T], 1) / self.sizes[:, None]
        return np.asarray(x - means[self.labels])

    def draw(self, normals: np.ndarray) -> np.ndarray:
        """Return random fields along the last axis, made of normal numbers of the edges along it.

        A field is ``R^+ B z`` with the incidence matrix B, for which ``R = B B^T``.
        """
        import scipy.sparse
        from scipy.sparse.linalg import splu

        graph, count = self.graph, normals.shape[-1]
        edges = np.arange(count)
        ones = scipy.sparse.coo_array((np.sqrt(self.weights), (graph.first, edges)), (graph.n, count))
        others = scipy.sparse.coo_array((np.sqrt(self.weights), (graph.second, edges)), (graph.n, count))
        sides = (ones - others) @ normals.reshape(-1, count).T
        made = np.zeros(sides.shape)
        if len(self._grounded):
            structure = graph.structure(self.weights)[self._grounded][:, self._grounded]
            made[self._grounded] = splu(structure.tocsc()).solve(sides[self._grounded])
        return self.centred(made).T.reshape(*normals.shape[:-1], graph.n)


def _grounded(labels: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return all nodes but one of each component."""
    last = np.zeros(len(sizes), np.int64)
    last[labels] = np.arange(len(labels))
    return np.setdiff1d(np.arange(len(labels)), last)


def _inverse_of(matrix: Any) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the log-determinant of a positive definite matrix, and of its inverse the diagonal and the row sums."""
    if matrix.shape[0] == 0:
        return 0.0, np.zeros(0), np.zeros(0)
    with eager_mode(), no_grad():
        cholesky = SparseCholesky(matrix)
        factor = cholesky.factor(matrix.data)
        on_pattern = factor.inverse_on_pattern().data
        sums = factor.solve(np.ones(cholesky.n)).data
        on_diagonal = np.flatnonzero(cholesky.rows == cholesky.columns)
        diagonal = np.zeros(cholesky.n)
        diagonal[cholesky.rows[on_diagonal]] = on_pattern[on_diagonal]
        return float(factor.logdet().data), diagonal, sums
