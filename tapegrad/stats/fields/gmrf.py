"""Gaussian Markov random fields with a given precision."""

from typing import Any

import numpy as np

from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.stats.fields.arguments import HALF_LOG_2PI, field, normals
from tapegrad.stats.fields.precisions import draw, read_precision
from tapegrad.stats.parameters import variable


class _Gmrf:
    """The normal distributions of vectors with a sparse precision, the inverse of the covariance."""

    def __repr__(self) -> str:
        return "<tapegrad.stats.gmrf>"

    def logpdf(self, x: Any, Q: Any, mean: Any = 0) -> Tensor:  # noqa: N803  the field's letter, and TMB's
        """Compute the logarithm of the density; TMB's ``-GMRF(Q)(x)``.

        Parameters
        ----------
        x : Tensor or array_like, shape (..., n)
            Fields along the last axis.
        Q : sparse matrix, or tuple of SparseCholesky and entries
            Precision, positive definite. A sparse matrix of SciPy, or an object with its attributes `shape`, `indptr`,
            `indices` and `data`, whose entries may be a Tensor; or a pair ``(cholesky, entries)`` of a
            `tg.linalg.SparseCholesky` and the entries at its `rows` and `columns`, which saves the analysis of the
            pattern. The lower triangle is read, and has the derivative.
        mean : Tensor or array_like, shape (..., n) or (), default 0
            Mean.

        Returns
        -------
        Tensor
            Without the last axis, and with all constants:
            ``(log(det(Q)) - n * log(2 * pi) - (x - mean) @ Q @ (x - mean)) / 2``.

        Raises
        ------
        LinAlgError
            If the precision is not positive definite.
        TypeError
            If it is no sparse matrix.
        ValueError
            If the shapes do not fit.

        Notes
        -----
        The gradient of the log-determinant by the entries is the inverse on the pattern: derivatives by parameters of
        the precision take the time of about two factorisations. A constant precision is factorised once for a
        recording, which is made anew when its entries change. The Hessian by `x` has the pattern of the precision.

        References
        ----------
        Rue, Held, *Gaussian Markov Random Fields*, 2005. Kristensen et al., *J. Stat. Softw.* 70(5), 2016 (TMB).

        Examples
        --------
        >>> import scipy.sparse
        >>> import tapegrad as tg
        >>> Q = scipy.sparse.csr_array([[2.0, -1.0], [-1.0, 2.0]])
        >>> tg.stats.gmrf.logpdf([1.0, 0.0], Q)
        Tensor(-2.28857092)
        >>> cholesky = tg.linalg.SparseCholesky(Q)
        >>> print(tg.grad(lambda tau: tg.stats.gmrf.logpdf([1.0, 0.0], (cholesky, tau * Q.data)))(0.5).round(6))
        1.0
        """
        name = "tapegrad.stats.gmrf.logpdf"
        precision = read_precision(Q, name)
        n = precision.cholesky.n
        distances = field(x, name, n)
        if not (type(mean) in (int, float) and mean == 0):
            distances = field(distances - variable(mean, name), name, n)
        density: Tensor = 0.5 * (precision.logdet() - precision.quadratic(distances)) - n * HALF_LOG_2PI
        return density

    def rvs(
        self,
        Q: Any,  # noqa: N803
        mean: Any = 0,
        size: int | tuple[int, ...] | None = None,
        random_state: Any = None,
    ) -> np.ndarray:
        """Draw random fields.

        Parameters
        ----------
        Q : sparse matrix, or tuple of SparseCholesky and entries
            Precision, as for `logpdf`, of numbers.
        mean : array_like, shape (n,) or (), default 0
            Mean.
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
        LinAlgError
            If the precision is not positive definite.

        Examples
        --------
        >>> import scipy.sparse
        >>> import tapegrad as tg
        >>> tg.stats.gmrf.rvs(scipy.sparse.eye_array(3), size=2, random_state=0).shape
        (2, 3)
        """
        precision = read_precision(Q, "tapegrad.stats.gmrf.rvs")
        made = draw(precision, normals(random_state, size, precision.cholesky.n))
        return np.asarray(made + np.asarray(mean, float))


gmrf = _Gmrf()
