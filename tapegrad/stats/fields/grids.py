"""Matérn fields on regular grids."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.frontend.functions.reductions.reductions import sum
from tapegrad.stats.fields.arguments import read_only
from tapegrad.stats.fields.matern import Matern
from tapegrad.stats.functions import log


class matern_grid(Matern):
    """Matérn field on the cells of a regular grid in one, two or three dimensions.

    Its density takes linear time: the eigenvalues of the Laplacian are known, so that there is no factorisation.

    Attributes
    ----------
    shape : tuple of int
        Cells along each axis.
    spacing : ndarray, shape (d,)
        Distance of neighbours along each axis.
    alpha : int
        Order of the equation.
    n : int
        Number of cells.
    nu : float
        Smoothness, ``alpha - d / 2``: 1 in the plane, and 3/2 on a line.
    points : ndarray, shape (n, d)
        Centres of the cells in the order of ``ravel``: the first cell is at the origin.
    mass : ndarray, shape (n,)
        Sizes of the cells, the diagonal of C.
    stiffness : scipy.sparse.csr_array, shape (n, n)
        The Laplacian G.

    Parameters
    ----------
    shape : tuple of int
        Cells along each of d axes, one to three.
    spacing : float or sequence of float, default 1.0
        Distance of neighbours, along each axis or along all.
    alpha : {2, 1}
        Order of the equation.

    Raises
    ------
    ValueError
        If the arguments are none of a grid.

    Notes
    -----
    At the ends of the grid the field is reflected (Neumann's condition): up to a distance of about the range the
    variance is larger there, twice at an edge and four times in a corner. Let the grid reach as far beyond the data.
    Inside, the variance is larger than a Matérn field's, by 4 % for a range of 10 cells, and by 1 % for 20.

    References
    ----------
    Lindgren, Rue, Lindström, *J. R. Stat. Soc. B* 73, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> import tapegrad as tg
    >>> field = tg.stats.matern_grid((20, 20), spacing=0.5)
    >>> field.logpdf(np.zeros(400), range=4.0, sd=1.0)
    Tensor(5.131...)
    """

    def __init__(self, shape: Sequence[int], spacing: Any = 1.0, alpha: int = 2) -> None:
        import scipy.sparse

        self.shape = tuple(int(extent) for extent in shape)
        self.spacing = np.broadcast_to(np.asarray(spacing, float), (len(self.shape),)).copy()
        if not 1 <= len(self.shape) <= 3 or min(self.shape) < 1 or not (self.spacing > 0).all():
            raise ValueError(
                f"{self._name('')}: a grid has one to three extents and positive spacings, not {shape} and {spacing}"
            )
        points = np.indices(self.shape).reshape(len(self.shape), -1).T * self.spacing
        read_only(self.spacing)
        size, total = float(np.prod(self.spacing)), scipy.sparse.csr_array((1, 1))
        self._eigenvalues = np.zeros(self.shape)
        for axis, (extent, step) in enumerate(zip(self.shape, self.spacing, strict=True)):
            steps = scipy.sparse.eye_array(extent, format="csr")
            steps = (steps[1:] - steps[:-1]) / step
            total = scipy.sparse.kronsum(steps.T @ steps, total)  # its second matrix is the outer one
            waves = (2.0 * np.sin(0.5 * np.pi * np.arange(extent) / extent) / step) ** 2
            self._eigenvalues += waves.reshape([-1 if k == axis else 1 for k in range(len(self.shape))])
        super().__init__(points, np.full(len(points), size), scipy.sparse.csr_array(size * total), alpha)

    def _logdet(self, kappa2: Any) -> Any:
        return sum(log(kappa2 + self._eigenvalues.reshape(-1))) + float(np.log(self.mass).sum())

    def _interpolation(self, points: np.ndarray) -> Any:
        import scipy.sparse

        cells = points / self.spacing
        outside = np.flatnonzero(np.any((cells < -0.5) | (cells > np.array(self.shape) - 0.5), 1))
        if len(outside):
            raise ValueError(
                f"{self._name('.projection')}: point {outside[0]}, {points[outside[0]]}, is outside of the grid"
            )
        numbers, weights = _corners(np.clip(cells, 0, np.array(self.shape) - 1), self.shape)
        rows = np.repeat(np.arange(len(points)), numbers.shape[1])
        places = rows, numbers.reshape(-1)
        made = scipy.sparse.coo_array((weights.reshape(-1), places), (len(points), self.n)).tocsr()
        made.eliminate_zeros()
        return made

    def _drawn(self, noise: np.ndarray, kappa2: float) -> np.ndarray:
        from scipy.fft import idctn

        waves = noise.reshape(*noise.shape[:-1], *self.shape)
        waves /= (kappa2 + self._eigenvalues) ** (0.5 * self.alpha) * math.sqrt(self.mass[0])
        axes = tuple(range(-len(self.shape), 0))
        return np.asarray(idctn(waves, axes=axes, norm="ortho")).reshape(noise.shape)


def _corners(cells: np.ndarray, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the cells around each point, (k, 2**d), and their weights."""
    numbers, weights = np.zeros((len(cells), 1), np.int64), np.ones((len(cells), 1))
    for axis, extent in enumerate(shape):
        low = np.minimum(cells[:, axis].astype(np.int64), max(extent - 2, 0))
        share = cells[:, axis] - low
        ends = np.stack([low, np.minimum(low + 1, extent - 1)], 1)
        parts = np.stack([1 - share, share], 1)
        numbers = (numbers[:, :, None] * extent + ends[:, None, :]).reshape(len(cells), -1)
        weights = (weights[:, :, None] * parts[:, None, :]).reshape(len(cells), -1)
    return numbers, weights
