"""Intrinsic random walks of the first and of the second order."""

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from tapegrad.frontend.functions.reductions.reductions import sum
from tapegrad.frontend.functions.shapes.tiling import roll
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.stats.fields.arguments import HALF_LOG_2PI, field, normals, positive
from tapegrad.stats.functions import log, square
from tapegrad.stats.parameters import valid_or_nan


class _WalkConstants(NamedTuple):
    """Constants of the structure matrix of a walk: its rank, log of the product of its eigenvalues that are not zero.

    `log_variance` is the logarithm of the generalised variance, the geometric mean of the variances of the elements.
    """

    rank: int
    logdet: float
    log_variance: float


@functools.lru_cache(256)
def _constants(order: int, n: int, cyclic: bool) -> _WalkConstants:
    if cyclic:
        variance = (n**2 - 1) / (12 * n) if order == 1 else (n**2 - 1) * (n**2 + 11) / (720 * n)
        return _WalkConstants(n - 1, 2 * order * math.log(n), math.log(variance))
    if order == 1:
        return _WalkConstants(n - 1, math.log(n), float(np.mean(np.log(_variances_of_steps(n)))))
    logdet = 2 * math.log(n) + math.log((n - 1) * (n + 1) / 12)
    return _WalkConstants(n - 2, logdet, float(np.mean(np.log(_variances_of_turns(n)))))


def _variances_of_steps(n: int) -> np.ndarray:
    """Return the variances of a walk of unit steps, less its mean."""
    below = np.arange(n, dtype=float)
    squares = below * (below + 1) * (2 * below + 1) / 6
    return np.asarray((squares + squares[::-1]) / n**2)


def _variances_of_turns(n: int) -> np.ndarray:
    """Return the variances of a walk of unit second differences, less its line of least squares.

    A turn at k adds ``max(i - k, 0)`` less a line ``a + b t`` to element i; the sums over the turns are closed.
    """
    i = np.arange(n, dtype=float)
    k, t = i[1:-1], i - 0.5 * (n - 1)
    m = n - 1 - k  # elements behind a turn
    a = m * (m + 1) / 2 / n
    b = (m * (m + 1) / 2 * t[1:-1] + m * (m + 1) * (2 * m + 1) / 6) / (n * (n**2 - 1) / 12)
    squares = i * (i - 1) * (2 * i - 1) / 6
    mixed = _behind_turns(a) + t * _behind_turns(b)
    lines = np.sum(a**2) + 2 * t * np.sum(a * b) + t**2 * np.sum(b**2)
    return np.asarray(squares - 2 * mixed + lines)


def _behind_turns(weights: np.ndarray) -> np.ndarray:
    """Return the sums over k of ``weights[k - 1] * max(i - k, 0)``, shape (n,)."""
    return np.concatenate([[0.0, 0.0], np.cumsum(np.cumsum(weights))])


class _RandomWalk:
    """The random walks of one order: normal, independent differences of this order."""

    def __init__(self, name: str, order: int) -> None:
        self._name, self._order = name, order

    def __repr__(self) -> str:
        return f"<tapegrad.stats.{self._name}>"

    def logpdf(self, x: Any, sd: Any = 1, scale_model: bool = True, cyclic: bool = False) -> Tensor:
        """Compute the logarithm of the density.

        Parameters
        ----------
        x : Tensor or array_like, shape (..., n)
            Walks along the last axis.
        sd : Tensor or array_like, shape (...) or (), default 1
            Standard deviation: with `scale_model` the typical one of an element, otherwise that of a difference.
        scale_model : bool, default True
            Scale the walk, as R-INLA does, so that the generalised variance (the geometric mean of the variances of the
            elements, less what the density does not see) is ``sd**2``: priors of `sd` mean the same for any `n`.
        cyclic : bool, default False
            Let the first element follow the last one.

        Returns
        -------
        Tensor
            Without the last axis; nan where `sd` is not positive.

        Raises
        ------
        ValueError
            If there are too few elements for a difference.

        Notes
        -----
        The density is improper: it does not change if a constant (`rw2`: a line; of a cyclic one a constant) is added
        to `x`. Counted is the density on the space across, as of a singular `multivariate_normal`: with the structure
        matrix R of rank r, `structure`, its logarithm is ``(-r * log(2 * pi * sd**2) + log(det*(R)) - x @ R @ x /
        sd**2) / 2``, where det* is the product of the eigenvalues other than zero (Rue and Held 2005, (3.18)). R-INLA
        leaves ``log(det*(R))`` out; derivatives are the same.

        In a model that also has an intercept (`rw2`: and a slope) leave that out, or penalise it: the walk has it.

        References
        ----------
        Rue, Held, *Gaussian Markov Random Fields*, 2005, chapter 3. Sørbye, Rue, *Spatial Statistics* 8, 2014.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.stats.rw1.logpdf([0.0, 1.0, 1.0], 2.0, scale_model=False)
        Tensor(-2.79986528)
        >>> tg.stats.rw2.logpdf([0.0, 1.0, 2.0, 3.0])
        Tensor(-2.24609976)
        """
        name = f"tapegrad.stats.{self._name}.logpdf"
        walk = field(x, name, None, self._fewest(cyclic))
        deviation, valid = positive(sd, name)
        rank, logdet, log_variance = _constants(self._order, walk.shape[-1], bool(cyclic))
        scale = math.exp(log_variance) if scale_model else 1.0
        constant = 0.5 * logdet + rank * (0.5 * math.log(scale) - HALF_LOG_2PI)
        quadratic = sum(square(self._differences(walk, cyclic)), -1)
        density = constant - rank * log(deviation) - (0.5 * scale) * quadratic / square(deviation)
        return valid_or_nan(density, valid)  # type: ignore[no-any-return]  # functions of the frontend take Any

    def _fewest(self, cyclic: bool) -> int:
        return 3 if cyclic else self._order + 1

    def _differences(self, x: Any, cyclic: bool) -> Any:
        """Return the differences of an order along the last axis."""
        if not cyclic:
            if self._order == 1:
                return x[..., 1:] - x[..., :-1]
            return x[..., :-2] - 2.0 * x[..., 1:-1] + x[..., 2:]
        after = roll(x, -1, -1)
        return after - x if self._order == 1 else roll(x, 1, -1) - 2.0 * x + after

    def structure(self, n: int, scale_model: bool = True, cyclic: bool = False) -> Any:
        """Make the structure matrix: the precision for ``sd=1``.

        Parameters
        ----------
        n : int
            Elements of a walk.
        scale_model, cyclic : bool
            As for `logpdf`.

        Returns
        -------
        scipy.sparse.csr_array, shape (n, n)
            The matrix, singular.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.stats.rw1.structure(3, scale_model=False).toarray()
        array([[ 1., -1.,  0.],
               [-1.,  2., -1.],
               [ 0., -1.,  1.]])
        """
        import scipy.sparse

        self._check(n, cyclic, "structure")
        same = scipy.sparse.eye_array(n, format="csr")
        after = same[(np.arange(n) + 1) % n]
        made = after - same if self._order == 1 else after.T - 2.0 * same + after
        if not cyclic:
            made = made.tocsr()[self._order - 1 : -1]
        scale = math.exp(_constants(self._order, n, bool(cyclic)).log_variance) if scale_model else 1.0
        return scipy.sparse.csr_array(scale * (made.T @ made))

    def rvs(
        self,
        n: int,
        sd: float = 1,
        scale_model: bool = True,
        cyclic: bool = False,
        size: int | tuple[int, ...] | None = None,
        random_state: Any = None,
    ) -> np.ndarray:
        """Draw random walks, less what the density does not see: the mean, of `rw2` a line.

        Parameters
        ----------
        n : int
            Elements of a walk.
        sd : float, default 1
            Standard deviation, as for `logpdf`.
        scale_model, cyclic : bool
            As for `logpdf`.
        size : int or tuple of int, optional
            How many walks: the shape before their axis. None is one walk without such an axis.
        random_state : None, int, Generator or RandomState, optional
            Generator of NumPy, or the seed of one.

        Returns
        -------
        ndarray, shape (..., n)
            The walks, constants.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.stats.rw2.rvs(100, size=3, random_state=0).shape
        (3, 100)
        """
        self._check(n, cyclic, "rvs")
        scale = math.exp(-0.5 * _constants(self._order, n, bool(cyclic)).log_variance) if scale_model else 1.0
        scale *= float(sd)
        if cyclic:
            waves = np.fft.rfft(normals(random_state, size, n))
            waves[..., 0] = 0.0
            waves[..., 1:] /= (2 * np.sin(np.pi * np.arange(1, n // 2 + 1) / n)) ** self._order
            return scale * np.fft.irfft(waves, n)
        walk = normals(random_state, size, n - self._order)
        for _ in range(self._order):
            walk = np.cumsum(walk, axis=-1)
            walk = np.concatenate([np.zeros((*walk.shape[:-1], 1)), walk], axis=-1)
        t = np.linspace(-1.0, 1.0, n)
        lines = np.stack([np.full(n, n**-0.5), t / np.linalg.norm(t)])[: self._order]
        return np.asarray(scale * (walk - walk @ lines.T @ lines))

    def _check(self, n: int, cyclic: bool, method: str) -> None:
        if n < self._fewest(cyclic):
            raise ValueError(
                f"tapegrad.stats.{self._name}.{method}: a walk has at least {self._fewest(cyclic)} elements, not {n}"
            )


rw1 = _RandomWalk("rw1", 1)
rw2 = _RandomWalk("rw2", 2)
