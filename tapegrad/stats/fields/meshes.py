"""Matérn fields on meshes of triangles."""

from typing import Any

import numpy as np

from tapegrad.frontend.functions.sparse_systems.cholesky import SparseCholesky
from tapegrad.stats.fields.matern import Matern
from tapegrad.stats.fields.precisions import Precision, draw
from tapegrad.stats.fields.triangles import read_triangles


class matern_mesh(Matern):
    """Matérn field in the plane on the points of a mesh of triangles, linear between them.

    Attributes
    ----------
    alpha : int
        Order of the equation.
    n : int
        Number of points.
    nu : float
        Smoothness: 1 for ``alpha=2``.
    points : ndarray, shape (n, 2)
        The points.
    mass : ndarray, shape (n,)
        Diagonal of the lumped mass matrix C.
    stiffness : scipy.sparse.csr_array, shape (n, n)
        The stiffness matrix G.

    Parameters
    ----------
    points : array_like, shape (n, 2)
        Points, each of them in some triangle.
    triangles : array_like of int, shape (m, 3)
        The points of each triangle, as ``scipy.spatial.Delaunay(points).simplices`` has them.
    alpha : {2, 1}
        Order of the equation.

    Raises
    ------
    ValueError
        If shapes or numbers do not fit, a triangle has no area, or a point is in no triangle.

    Notes
    -----
    As for `matern_grid`: let the mesh reach beyond the data by the range, with sides that are small against it.

    References
    ----------
    Lindgren, Rue, Lindström, *J. R. Stat. Soc. B* 73, 2011; R-INLA's ``inla.spde2.matern``.

    Examples
    --------
    >>> import tapegrad as tg
    >>> mesh = tg.stats.matern_mesh([[0, 0], [2, 0], [0, 2], [2, 2]], [[0, 1, 2], [1, 3, 2]])
    >>> mesh.mass
    array([0.66666667, 1.33333333, 1.33333333, 0.66666667])
    >>> mesh.logpdf([1.0, 0.0, 0.0, 0.0], range=2.0, sd=1.0)
    Tensor(-6.00738104)
    """

    def __init__(self, points: Any, triangles: Any, alpha: int = 2) -> None:
        import scipy.sparse

        self._triangles = read_triangles(points, triangles, self._name(""))
        mass, stiffness = self._triangles.mass(), self._triangles.stiffness()
        super().__init__(self._triangles.points, mass, stiffness, alpha)
        self._cholesky = SparseCholesky(scipy.sparse.tril(stiffness).tocsr())
        at = self._cholesky.rows, self._cholesky.columns
        self._mass_entries = np.where(at[0] == at[1], mass[at[0]], 0.0)
        self._stiffness_entries = np.asarray(stiffness[at]).reshape(-1)

    def _operator(self, kappa2: Any) -> Any:
        """Return the entries of K in the lower triangle."""
        return kappa2 * self._mass_entries + self._stiffness_entries

    def _logdet(self, kappa2: Any) -> Any:
        return self._cholesky.factor(self._operator(kappa2)).logdet()

    def _interpolation(self, points: np.ndarray) -> Any:
        return self._triangles.interpolation(points, self._name(".projection"))

    def _drawn(self, noise: np.ndarray, kappa2: float) -> np.ndarray:
        if self.alpha == 1:
            return draw(Precision(self._cholesky, self._operator(kappa2)), noise)
        import scipy.sparse
        from scipy.sparse.linalg import splu

        operator = scipy.sparse.csc_array(kappa2 * scipy.sparse.diags_array(self.mass) + self.stiffness)
        sides = (noise * np.sqrt(self.mass)).reshape(-1, self.n).T
        return np.ascontiguousarray(splu(operator).solve(sides).T).reshape(noise.shape)
