"""Matérn fields as solutions of a stochastic partial differential equation.

A Matérn field of smoothness nu solves ``(kappa**2 - Laplacian)**(alpha / 2) (tau x) = white noise``, with
``alpha = nu + d / 2``. With linear elements, mass C (a diagonal) and stiffness G, the precision is ``tau**2 K`` for
alpha = 1, where ``K = kappa**2 C + G``, and ``tau**2 K C^-1 K`` for alpha = 2 (Lindgren, Rue, Lindström 2011). It need
not be made: the quadratic form is a sum of squares of ``K x``, and the log-determinant that of K, which has fewer
entries.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad.frontend.functions.reductions.reductions import sum
from tapegrad.frontend.functions.sparse_systems.cholesky import SparseCholesky
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.stats.fields.arguments import HALF_LOG_2PI, field, normals, one_number, read_only
from tapegrad.stats.fields.precisions import times
from tapegrad.stats.functions import log, power, square, where
from tapegrad.stats.parameters import both, valid_or_nan


class _Parameters(NamedTuple):
    """Squares of kappa and tau, 1 where the parameters are outside of their domain, and whether they are inside."""

    kappa2: Any
    tau2: Any
    valid: Any


class Matern:
    """Matérn field on the points of a discretised domain, base class of fields on grids and on meshes.

    Parameters
    ----------
    points
        Its points, (n, dimension).
    mass, stiffness
        Diagonal of C, and G in CSR format.
    alpha
        1 or 2.
    """

    def __init__(self, points: np.ndarray, mass: np.ndarray, stiffness: Any, alpha: int) -> None:
        self.points, self.mass, self.stiffness, self.alpha = (
            read_only(points),
            read_only(mass),
            stiffness,
            alpha,
        )
        for each in (stiffness.data, stiffness.indices, stiffness.indptr):
            read_only(each)
        if alpha not in (1, 2):
            raise ValueError(f"{self._name('')}: alpha is 1 or 2, not {alpha!r}")
        self._analysed: tuple[SparseCholesky, list[np.ndarray]] | None = None

    def _name(self, method: str) -> str:
        return f"tapegrad.stats.{type(self).__name__}{method}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={self.n}, nu={self.nu:g})"

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.points)

    @property
    def nu(self) -> float:
        """Smoothness: ``alpha - d / 2`` in d dimensions."""
        return float(self.alpha - self.points.shape[1] / 2)

    # --- parameters --------------------------------------------------------------------------------------------------

    def _parameters(self, range_: Any, sd: Any, kappa: Any, tau: Any, name: str) -> _Parameters:
        given = [each is not None for each in (range_, sd, kappa, tau)]
        if given not in ([True, True, False, False], [False, False, True, True]):
            raise TypeError(f"{name}: the parameters are range and sd, or kappa= and tau=")
        by_kappa = given[2]
        first, second = (one_number(each, name) for each in ((kappa, tau) if by_kappa else (range_, sd)))
        valid = both(first > 0, second > 0)
        first, second = where(valid, first, 1.0), where(valid, second, 1.0)
        if by_kappa:
            return _Parameters(square(first), square(second), valid)
        if self.nu <= 0:
            raise ValueError(
                f"{name}: a field of smoothness {self.nu:g} has no variance; give kappa= and tau="
            )
        kappa2 = 8.0 * self.nu / square(first)
        return _Parameters(kappa2, self._variance() / (power(kappa2, self.nu) * square(second)), valid)

    def _variance(self) -> float:
        """Return the variance of the field for ``kappa = tau = 1``."""
        dimension: int = self.points.shape[1]
        return math.gamma(self.nu) / (math.gamma(self.alpha) * float((4 * math.pi) ** (dimension / 2)))

    # --- methods -----------------------------------------------------------------------------------------------------

    def logpdf(
        self, x: Any, range: Any = None, sd: Any = None, *, kappa: Any = None, tau: Any = None
    ) -> Tensor:
        """Compute the logarithm of the density.

        Parameters
        ----------
        x : Tensor or array_like, shape (..., n)
            Fields along the last axis: a value for each of `points`.
        range : Tensor or float
            Distance at which the correlation is about 0.13, ``sqrt(8 * nu) / kappa``.
        sd : Tensor or float
            Standard deviation of the Matérn field.
        kappa, tau : Tensor or float, optional
            Parameters of the equation, in place of `range` and `sd`.

        Returns
        -------
        Tensor
            Without the last axis, and with all constants; nan where a parameter is not positive.

        Raises
        ------
        TypeError
            If not exactly one pair of parameters is given.
        ValueError
            If the shapes do not fit; for `range` and `sd`, if the smoothness is 0.

        Examples
        --------
        >>> import tapegrad as tg
        >>> field = tg.stats.matern_grid((3, 3))
        >>> by_range, by_sd = tg.grad(field.logpdf, argnums=(1, 2))([0.5] * 9, 4.0, 1.0)
        >>> print(by_range.round(6), by_sd.round(6))
        1.046618 -8.910475
        """
        name = self._name(".logpdf")
        values = field(x, name, self.n)
        kappa2, tau2, valid = self._parameters(range, sd, kappa, tau, name)
        applied = kappa2 * self.mass * values + times(self.stiffness, values)
        if self.alpha == 2:
            quadratic = sum(square(applied) / self.mass, -1)
            logdet = 2.0 * self._logdet(kappa2) - float(np.log(self.mass).sum())
        else:
            quadratic, logdet = sum(values * applied, -1), self._logdet(kappa2)
        density = 0.5 * (self.n * log(tau2) + logdet - tau2 * quadratic) - self.n * HALF_LOG_2PI
        return valid_or_nan(density, valid)  # type: ignore[no-any-return]  # functions of the frontend take Any

    def _logdet(self, kappa2: Any) -> Any:
        """Return the logarithm of the determinant of K."""
        raise NotImplementedError

    def precision(
        self, range: Any = None, sd: Any = None, *, kappa: Any = None, tau: Any = None
    ) -> tuple[SparseCholesky, Any]:
        """Make the precision as `gmrf` takes it; its pattern is analysed once.

        Parameters
        ----------
        range, sd : Tensor or float
            Range and standard deviation, as for `logpdf`.
        kappa, tau : Tensor or float, optional
            Parameters of the equation, in place of `range` and `sd`.

        Returns
        -------
        cholesky : SparseCholesky
            Factorisation of the pattern.
        entries : Tensor or ndarray, shape (m,)
            Entries at its `rows` and `columns`, the lower triangle.

        Raises
        ------
        TypeError
            If not exactly one pair of parameters is given.
        ValueError
            For `range` and `sd`, if the smoothness is 0.

        Examples
        --------
        Standard deviations of a field given observations of standard deviation 0.1 at all points.

        >>> import tapegrad as tg
        >>> cholesky, entries = tg.stats.matern_grid((5,)).precision(3.0, 1.0)
        >>> on_diagonal = cholesky.rows == cholesky.columns
        >>> inverse = cholesky.factor(entries + on_diagonal / 0.1**2).inverse_on_pattern()
        >>> tg.sqrt(inverse[on_diagonal]).data.round(3)
        array([0.09..., 0.09..., 0.09..., 0.09..., 0.09...])
        """
        kappa2, tau2, valid = self._parameters(range, sd, kappa, tau, self._name(".precision"))
        if self._analysed is None:
            self._analysed = self._analyse()
        cholesky, parts = self._analysed
        total = parts[0]
        for part in parts[1:]:
            total = kappa2 * total + part
        return cholesky, valid_or_nan(tau2 * total, valid)

    def _analyse(self) -> tuple[SparseCholesky, list[np.ndarray]]:
        """Return the factorisation, and for each power of ``kappa**2`` its entries, the highest first."""
        import scipy.sparse

        mass, stiff = scipy.sparse.diags_array(self.mass), self.stiffness
        parts = [mass, stiff]
        if self.alpha == 2:
            parts = [mass, 2.0 * stiff, stiff @ scipy.sparse.diags_array(1.0 / self.mass) @ stiff]
        pattern = scipy.sparse.tril(_sum_of_sizes(parts)).tocsr()
        cholesky = SparseCholesky(pattern)
        at = cholesky.rows, cholesky.columns
        return cholesky, [np.asarray(part.tocsr()[at]).reshape(-1) for part in parts]

    def projection(self, points: Any) -> Any:
        """Make the matrix that interpolates a field at points; R-INLA's A.

        Parameters
        ----------
        points : array_like, shape (k, d)
            The points, inside of the domain.

        Returns
        -------
        scipy.sparse.csr_array, shape (k, n)
            Weights of the field's points, linear between them.

        Raises
        ------
        ValueError
            If a point is outside.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.stats.matern_grid((3,), spacing=2.0).projection([[1.0], [3.5]]).toarray()
        array([[0.5 , 0.5 , 0.  ],
               [0.  , 0.25, 0.75]])
        """
        given = np.asarray(points, float)
        dimension = self.points.shape[1]
        if given.ndim != 2 or given.shape[1] != dimension or not np.isfinite(given).all():
            raise ValueError(
                f"{self._name('.projection')}: points are finite, of shape (k, {dimension}), not {given.shape}"
            )
        return self._interpolation(given)

    def _interpolation(self, points: np.ndarray) -> Any:
        raise NotImplementedError

    def rvs(
        self,
        range: float | None = None,
        sd: float | None = None,
        *,
        kappa: float | None = None,
        tau: float | None = None,
        size: int | tuple[int, ...] | None = None,
        random_state: Any = None,
    ) -> np.ndarray:
        """Draw random fields.

        Parameters
        ----------
        range, sd : float
            Range and standard deviation, as for `logpdf`.
        kappa, tau : float, optional
            Parameters of the equation, in place of `range` and `sd`.
        size : int or tuple of int, optional
            How many fields: the shape before their axis. None is one field without such an axis.
        random_state : None, int, Generator or RandomState, optional
            Generator of NumPy, or the seed of one.

        Returns
        -------
        ndarray, shape (..., n)
            The fields, constants.

        Raises
        ------
        TypeError
            If not exactly one pair of parameters is given.
        ValueError
            If a parameter is not positive; for `range` and `sd`, if the smoothness is 0.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.stats.matern_grid((4, 5)).rvs(3.0, 1.0, size=2, random_state=0).shape
        (2, 20)
        """
        name = self._name(".rvs")
        first, second, third, fourth = (
            None if each is None else float(each) for each in (range, sd, kappa, tau)
        )
        kappa2, tau2, valid = self._parameters(first, second, third, fourth, name)
        if not valid:
            raise ValueError(f"{name}: the parameters are positive numbers")
        return self._drawn(normals(random_state, size, self.n), kappa2) / math.sqrt(tau2)

    def _drawn(self, noise: np.ndarray, kappa2: float) -> np.ndarray:
        """Return fields of ``tau = 1``, made of standard normal numbers."""
        raise NotImplementedError


def _sum_of_sizes(matrices: Sequence[Any]) -> Any:
    """Add the sizes of the entries of sparse matrices, so that no entry of the pattern cancels."""
    total = abs(matrices[0])
    for each in matrices[1:]:
        total = total + abs(each)
    return total
