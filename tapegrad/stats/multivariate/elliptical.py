"""Distributions with the ellipsoids of the normal one: Student's of vectors, and the normal one of matrices.

Covariances are taken by their Cholesky factors, and must be positive definite.
"""

import functools
import math
import operator
from typing import Any

from tapegrad.frontend.functions.matrices.matrices import lower_factor
from tapegrad.frontend.functions.matrices.triangles import solve_triangular
from tapegrad.frontend.functions.reductions.reductions import sum
from tapegrad.frontend.functions.shapes.diagonals import diagonal
from tapegrad.frontend.recording.shape import reshape, squeeze, swapaxes
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.derived_docs import like
from tapegrad.stats.functions import exp, half_step, log, log1p, square
from tapegrad.stats.multivariate.matrices import (
    HALF_LOG_2PI,
    degrees_of_freedom,
    distances_from,
    multivariate_normal,
    normal_parameters,
    parameter,
    scale_matrix,
    whitened_squares,
)
from tapegrad.stats.parameters import is_number, variable


class _MultivariateT:
    """Student's distributions of vectors."""

    def __repr__(self) -> str:
        return "<tapegrad.stats.multivariate_t>"

    def logpdf(self, x: Any, loc: Any = None, shape: Any = 1, df: Any = 1) -> Tensor:
        """Compute the logarithm of the density.

        Parameters
        ----------
        x : Tensor or array_like, shape (..., k)
            Vectors along the last axis.
        loc : Tensor or array_like, shape (k,), optional
            Location; 0 if it is missing.
        shape : Tensor or array_like, shape (k, k), (k,) or ()
            Positive definite matrix, of which the lower triangle is read, or its diagonal, or a number.
        df : Tensor or float
            Degrees of freedom; of infinity, the density is that of `multivariate_normal`.

        Returns
        -------
        Tensor
            Without the last axis.

        Raises
        ------
        LinAlgError
            If the matrix is not positive definite.
        ValueError
            If the shapes do not fit, or `df` is not a positive number.

        Examples
        --------
        >>> import tapegrad as tg
        >>> df = tg.tensor(3.0)
        >>> density = tg.stats.multivariate_t.logpdf([1.0, 0.0], None, [[2.0, 0.5], [0.5, 1.0]], df)
        >>> density.backward()
        >>> density, df.grad
        (Tensor(-2.55356843), array(0.04615664))
        """
        name = "tapegrad.stats.multivariate_t.logpdf"
        points = variable(x, name)
        centre, matrix = normal_parameters(points, loc, shape, name)
        degrees = degrees_of_freedom(df, 1, name)
        if is_number(degrees) and degrees == math.inf:
            return multivariate_normal.logpdf(points, centre, matrix)
        size, factor = matrix.shape[0], lower_factor(matrix, name)
        distance = whitened_squares(distances_from(points, centre, name), factor)
        constant = _log_gamma_step(0.5 * degrees, size) - size * HALF_LOG_2PI - sum(log(diagonal(factor)))
        return squeeze(constant - 0.5 * (degrees + size) * log1p(distance / degrees))

    @like(
        logpdf,
        ("the logarithm of the density", "the density"),
        raises="",
        examples=">>> tg.stats.multivariate_t.pdf([1.0, 0.0], [0.0, 0.0], 1.0, 2.0)\nTensor(0.07073553)",
    )
    def pdf(self, x: Any, loc: Any = None, shape: Any = 1, df: Any = 1) -> Tensor:
        density: Tensor = exp(self.logpdf(x, loc, shape, df))
        return density


def _log_gamma_step(a: Any, size: int) -> Any:
    """Return ``log(gamma(a + size / 2) / gamma(a) / a**(size / 2))``, without a difference of large numbers."""
    half = 0.5 * (size % 2)
    steps = (log1p((half + j) / a) for j in range(size // 2))
    return functools.reduce(operator.add, steps, half_step(a) if half else 0.0)


class _MatrixNormal:
    """The normal distributions of matrices, whose covariance is a Kronecker product."""

    def __repr__(self) -> str:
        return "<tapegrad.stats.matrix_normal>"

    def logpdf(self, X: Any, mean: Any = None, rowcov: Any = 1, colcov: Any = 1) -> Tensor:  # noqa: N803  SciPy's name
        """Compute the logarithm of the density.

        Parameters
        ----------
        X : Tensor or array_like, shape (..., m, n)
            Matrices along the last two axes.
        mean : Tensor or array_like, shape (m, n), optional
            Mean; 0 if it is missing.
        rowcov, colcov : Tensor or array_like, shape (m, m) and (n, n), (m,) and (n,), or ()
            Positive definite covariances of rows and of columns, of which the lower triangles are read, or their
            diagonals, or numbers.

        Returns
        -------
        Tensor
            Without the last two axes.

        Raises
        ------
        LinAlgError
            If a covariance is not positive definite.
        ValueError
            If the shapes do not fit.

        Examples
        --------
        >>> import tapegrad as tg
        >>> rows = tg.tensor(2.0)
        >>> density = tg.stats.matrix_normal.logpdf([[1.0, 0.0]], [[0.0, 0.0]], rows)
        >>> density.backward()
        >>> density, rows.grad
        (Tensor(-2.78102425), array(-0.375))
        """
        name = "tapegrad.stats.matrix_normal.logpdf"
        points = variable(X, name)
        centre = None if mean is None else parameter(mean, points, name)
        if centre is not None and centre.ndim != 2:
            raise ValueError(f"{name}: the mean is to be a matrix, not of shape {centre.shape}")
        sizes = (1, 1) if centre is None else centre.shape
        rows, columns = (
            scale_matrix(parameter(1 if value is None else value, points, name), name, size)
            for value, size in zip((rowcov, colcov), sizes, strict=True)
        )
        form = (rows.shape[0], columns.shape[0])
        if points.ndim < 2 or points.shape[-2:] != form or (centre is not None and centre.shape != form):
            shape = None if centre is None else centre.shape
            raise ValueError(
                f"{name}: the covariances are of matrices of shape {form}, but X has the shape {points.shape}, and the"
                f" mean {shape}"
            )
        distances = points if centre is None else points - centre
        return squeeze(
            _log_density_of_matrices(distances, lower_factor(rows, name), lower_factor(columns, name))
        )

    @like(
        logpdf,
        ("the logarithm of the density", "the density"),
        raises="",
        examples=">>> tg.stats.matrix_normal.pdf([[1.0, 0.0]], [[0.0, 0.0]])\nTensor(0.09653235)",
    )
    def pdf(self, X: Any, mean: Any = None, rowcov: Any = 1, colcov: Any = 1) -> Tensor:  # noqa: N803
        density: Tensor = exp(self.logpdf(X, mean, rowcov, colcov))
        return density


def _log_density_of_matrices(distances: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    stack, (m, n) = distances.shape[:-2], distances.shape[-2:]
    halves = solve_triangular(rows, reshape(distances, (-1, m, n)), lower=True)
    whitened = solve_triangular(columns, swapaxes(halves, 1, 2), lower=True)
    roots = n * sum(log(diagonal(rows))) + m * sum(log(diagonal(columns)))
    constant = HALF_LOG_2PI * m * n + roots
    return reshape(-0.5 * sum(square(whitened), (1, 2)) - constant, stack)


multivariate_t = _MultivariateT()
matrix_normal = _MatrixNormal()
