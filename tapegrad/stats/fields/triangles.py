"""Linear finite elements on triangles in the plane: mass, stiffness, and interpolation at any points."""

from typing import Any, NamedTuple

import numpy as np

_TOLERANCE = 1e-9  # of barycentric coordinates: points on an edge are inside


class Triangles(NamedTuple):
    """Triangles in the plane.

    Attributes
    ----------
    points
        Vertices, (n, 2) float64.
    corners
        The vertices of each triangle, (m, 3) int64.
    edges
        Sides opposite to each corner, (m, 3, 2).
    areas
        Areas, (m,).
    """

    points: np.ndarray
    corners: np.ndarray
    edges: np.ndarray
    areas: np.ndarray

    def mass(self) -> np.ndarray:
        """Return the lumped mass matrix, a diagonal: a third of the area of all triangles at a point."""
        shares = np.repeat(self.areas / 3, 3)
        return np.bincount(self.corners.reshape(-1), shares, len(self.points))

    def stiffness(self) -> Any:
        """Return the integrals of products of gradients of the hat functions, a matrix in CSR format."""
        import scipy.sparse

        products = np.einsum("tic,tjc->tij", self.edges, self.edges) / (4 * self.areas[:, None, None])
        rows, columns = np.repeat(self.corners, 3, 1), np.tile(self.corners, 3)
        places = rows.reshape(-1), columns.reshape(-1)
        return scipy.sparse.coo_array((products.reshape(-1), places), (len(self.points),) * 2).tocsr()

    def interpolation(self, at: np.ndarray, name: str) -> Any:
        """Return the matrix that interpolates values of the vertices at points, shape (k, n), in CSR format.

        Raises
        ------
        ValueError
            If a point is in no triangle.
        """
        import scipy.sparse

        query, triangle = self._candidates(at)
        weights = self._barycentric(at[query], triangle)
        order = np.lexsort((weights.min(1), query))
        last = np.flatnonzero(np.append(query[order][1:] != query[order][:-1], len(order) > 0))
        best = order[last]
        inside = best[weights[best].min(1) >= -_TOLERANCE]
        outside = np.setdiff1d(np.arange(len(at)), query[inside])
        if len(outside):
            raise ValueError(f"{name}: point {outside[0]}, {at[outside[0]]}, is in no triangle of the mesh")
        starts = 3 * np.arange(len(at) + 1)
        lists = weights[inside].reshape(-1), self.corners[triangle[inside]].reshape(-1), starts
        return scipy.sparse.csr_array(lists, (len(at), len(self.points)))

    def _barycentric(self, at: np.ndarray, triangle: np.ndarray) -> np.ndarray:
        """Return the weights of the corners of one triangle for each point, shape (k, 3)."""
        offsets = at[:, None, :] - self.points[np.roll(self.corners[triangle], -1, 1)]
        edges = self.edges[triangle]
        doubled = edges[..., 0] * offsets[..., 1] - edges[..., 1] * offsets[..., 0]
        return np.asarray(doubled / doubled.sum(1, keepdims=True))

    def _candidates(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs of points and triangles: those whose bounding boxes reach into the bin of the point."""
        low, high = self.points.min(0), self.points.max(0)
        count = max(1, int(np.sqrt(len(self.corners))))
        width = (high - low) / count

        def bins(points: np.ndarray) -> np.ndarray:
            return np.asarray(np.clip(((points - low) / width).astype(np.int64), 0, count - 1))

        boxes = self.points[self.corners]
        first, last = bins(boxes.min(1)), bins(boxes.max(1))
        spans = last - first + 1
        owner, number = _spread(spans[:, 0] * spans[:, 1])
        cells = (first[owner, 0] + number % spans[owner, 0]) * count
        cells += first[owner, 1] + number // spans[owner, 0]
        order = np.argsort(cells, kind="stable")
        own = bins(at)
        keys = own[:, 0] * count + own[:, 1]
        start, stop = (np.searchsorted(cells[order], keys, side) for side in ("left", "right"))
        query, number = _spread(stop - start)
        return query, owner[order[start[query] + number]]


def _spread(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each of some lists of given lengths its number, once for each item, and the numbers of the items."""
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)


def read_triangles(points: Any, triangles: Any, name: str) -> Triangles:
    """Return checked triangles.

    Raises
    ------
    ValueError
        If shapes or numbers do not fit, a triangle has no area, or a point is in no triangle.
    """
    vertices, corners = np.array(points, float), np.asarray(triangles)
    if vertices.ndim != 2 or vertices.shape[1] != 2 or not np.isfinite(vertices).all():
        raise ValueError(f"{name}: points are finite and have the shape (n, 2), not {vertices.shape}")
    if corners.ndim != 2 or corners.shape[1] != 3 or corners.dtype.kind not in "iu" or not len(corners):
        raise ValueError(f"{name}: triangles are numbers of points of shape (m, 3), not {corners.shape}")
    if corners.min() < 0 or corners.max() >= len(vertices):
        raise ValueError(
            f"{name}: triangles have points {corners.min()} to {corners.max()} of {len(vertices)}"
        )
    alone = np.setdiff1d(np.arange(len(vertices)), corners)
    if len(alone):
        raise ValueError(f"{name}: point {alone[0]} is in no triangle; leave it out")
    corners = corners.astype(np.int64)
    edges = vertices[np.roll(corners, -2, 1)] - vertices[np.roll(corners, -1, 1)]
    areas = 0.5 * abs(edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 0, 1] * edges[:, 1, 0])
    flat = np.flatnonzero(areas <= 1e-14 * np.square(edges).sum((1, 2)))
    if len(flat):
        raise ValueError(f"{name}: triangle {flat[0]} has no area: its points are on a line; leave it out")
    return Triangles(vertices, corners, edges, areas)
