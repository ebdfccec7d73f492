"""Distributions with a matrix as a parameter, by its Cholesky factor: multivariate normal and Wishart."""

import math
from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.frontend.functions.matrices.decompositions import eigh, eigvalsh
from tapegrad.frontend.functions.matrices.least_squares import pinv
from tapegrad.frontend.functions.matrices.matrices import lower_factor, transposed
from tapegrad.frontend.functions.matrices.norms import norm
from tapegrad.frontend.functions.matrices.triangles import solve_triangular
from tapegrad.frontend.functions.products.linalg import matmul
from tapegrad.frontend.functions.reductions.extremes import max as largest
from tapegrad.frontend.functions.reductions.reductions import sum
from tapegrad.frontend.functions.shapes.diagonals import diag, diagonal
from tapegrad.frontend.recording.shape import expand_dims, moveaxis, reshape, squeeze
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.frontend.words.derived_docs import like
from tapegrad.stats.functions import absolute, exp, gammaln, log, square, where
from tapegrad.stats.parameters import is_number, variable

HALF_LOG_2PI, _LOG_2 = 0.5 * math.log(2.0 * math.pi), math.log(2.0)


class _MultivariateNormal:
    """The normal distributions of vectors."""

    def __repr__(self) -> str:
        return "<tapegrad.stats.multivariate_normal>"

    def logpdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Tensor:
        """Compute the logarithm of the density.

        Parameters
        ----------
        x : Tensor or array_like, shape (..., k)
            Vectors along the last axis; for ``k = 1`` also a line of numbers.
        mean : Tensor or array_like, shape (k,), optional
            Mean; zeros by default.
        cov : Tensor or array_like, shape (k, k), (k,) or (), default 1
            Covariance matrix, of which the lower triangle is read, or its diagonal, or the one element of that.
        allow_singular : bool, default False
            Take the density on the subspace that the matrix spans: eigenvalues up to SciPy's cutoff, 1e6 (float32: 1e3)
            times the distance of 1 from the next number times the largest one, are taken for zero. A point that is
            further away than 1000 times that cutoff has the density 0. A matrix with a negative eigenvalue gives nan.

        Returns
        -------
        Tensor
            Without the last axis, and without axes of extent 1.

        Raises
        ------
        LinAlgError
            If the matrix is not positive definite, unless `allow_singular` is true.
        ValueError
            If the shapes do not fit.

        Notes
        -----
        Derivatives by a singular matrix are those among matrices of its rank, of which the pseudo-inverse and the
        product of the eigenvalues that are not zero are continuous.

        Examples
        --------
        >>> import tapegrad as tg
        >>> mean = tg.tensor([1.0, 0.0])
        >>> density = tg.stats.multivariate_normal.logpdf([2.0, 1.0], mean, [[2.0, 0.0], [0.0, 0.5]])
        >>> density.backward()
        >>> density, mean.grad
        (Tensor(-3.08787707), array([0.5, 2. ]))
        """
        name = "tapegrad.stats.multivariate_normal.logpdf"
        points = variable(x, name)
        centre, matrix = normal_parameters(points, mean, cov, name)
        distances = distances_from(points, centre, name)
        if allow_singular:
            return _log_density_on_subspace(distances, matrix)
        return _log_density_of_normal(distances, lower_factor(matrix, name))

    @like(
        logpdf,
        ("the logarithm of the density", "the density"),
        (
            "Vectors along the last axis; for ``k = 1`` also a line of numbers.",
            "Vectors along the last axis, as for `logpdf`.",
        ),
        (
            "Covariance matrix, of which the lower triangle is read, or its diagonal, or the one element of that.",
            "Covariance matrix, as for `logpdf`.",
        ),
        raises="",
        notes="",
        examples=""">>> tg.stats.multivariate_normal.pdf([[0.0, 0.0], [1.0, 0.0]], cov=[1.0, 4.0])
Tensor([0.07957747, 0.04826618])""",
    )
    def pdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Tensor:
        density: Tensor = exp(self.logpdf(x, mean, cov, allow_singular))
        return density

    def cdf(self, x: Any, mean: Any = None, cov: Any = 1, **kwds: Any) -> Tensor:
        """Raise an error: SciPy's is an integral by random points, with five digits and no derivative.

        Parameters
        ----------
        x : Tensor or array_like, shape (..., k)
            Vectors along the last axis.
        mean : Tensor or array_like, shape (k,), optional
            Mean.
        cov : Tensor or array_like, shape (k, k), (k,) or (), default 1
            Covariance matrix.
        **kwds
            SciPy's other arguments.

        Returns
        -------
        Tensor
            Never.

        Raises
        ------
        UnsupportedError
            Always.

        Examples
        --------
        >>> import tapegrad as tg
        >>> tg.stats.multivariate_normal.cdf([0.0, 0.0], cov=[[1.0, 0.5], [0.5, 1.0]])
        Traceback (most recent call last):
        tapegrad.errors.UnsupportedError: ...
        """
        raise _integral_by_random_points("cdf")

    @like(
        cdf,
        (
            "an integral by random points, with five digits and no derivative",
            "the logarithm of an integral by random points, without a derivative",
        ),
        ("multivariate_normal.cdf", "multivariate_normal.logcdf"),
    )
    def logcdf(self, x: Any, mean: Any = None, cov: Any = 1, **kwds: Any) -> Tensor:
        raise _integral_by_random_points("logcdf")


def _integral_by_random_points(method: str) -> UnsupportedError:
    return UnsupportedError(
        f"tapegrad.stats.multivariate_normal.{method}: SciPy integrates by random points to five digits, and there is"
        f" no derivative; of one dimension take norm.{method}, of independent ones "
        + ("their product" if method == "cdf" else "their sum")
    )


def normal_parameters(x: Tensor, mean: Any, cov: Any, name: str) -> tuple[Any, Tensor]:
    """Return the mean, and the covariance as a matrix. A number says nothing of the dimension: it is 1."""
    matrix = parameter(1 if cov is None else cov, x, name)
    centre = None if mean is None else parameter(mean, x, name)
    size = centre.size if centre is not None else matrix.shape[0] if matrix.ndim else 1
    if centre is None:
        centre = parameter(np.zeros(size, x.dtype), x, name)
    centre = reshape(centre, 1) if size == 1 else centre
    matrix = square_matrix(matrix, size)
    if centre.shape != (size,) or matrix.shape != (size, size):
        raise ValueError(
            f"{name}: the mean is to be a vector, and the covariance a matrix of its size; the mean has"
            f" {size} elements, and their shapes are {centre.shape} and {matrix.shape}"
        )
    return centre, matrix


def parameter(value: Any, x: Tensor, name: str) -> Tensor:
    """Return a parameter as a Tensor of floats; a plain number takes the dtype of the variable."""
    return variable(np.asarray(value, x.dtype) if is_number(value) else value, name)


def square_matrix(value: Tensor, size: int) -> Tensor:
    """Return a matrix that is given whole, as its diagonal, or as the one element of that."""
    if value.size == size == 1:
        return reshape(value, (1, 1))
    if value.ndim == 0:
        return value * np.eye(size, dtype=value.dtype)
    matrix: Tensor = diag(value) if value.ndim == 1 else value
    return matrix


def distances_from(x: Tensor, mean: Tensor, name: str) -> Tensor:
    """Return the distances from the mean, along the last axis."""
    if x.ndim == 0 or (x.ndim == 1 and mean.shape == (1,)):
        x = expand_dims(x, -1)
    if x.shape[-1] not in (1, *mean.shape):
        raise ValueError(
            f"{name}: vectors along the last axis of the shape {x.shape} do not fit {mean.shape[0]} dimensions"
        )
    return x - mean


def _log_density_of_normal(distances: Tensor, factor: Tensor) -> Tensor:
    constant = sum(log(diagonal(factor))) + distances.shape[-1] * HALF_LOG_2PI
    return squeeze(-0.5 * whitened_squares(distances, factor) - constant)


def whitened_squares(distances: Tensor, factor: Tensor) -> Tensor:
    """Return the squared lengths of vectors along the last axis, by the factor of their covariance."""
    stack, size = distances.shape[:-1], distances.shape[-1]
    columns = transposed(reshape(distances, (math.prod(stack), size))) if stack else distances
    return reshape(sum(square(solve_triangular(factor, columns, lower=True)), 0), stack)


def _log_density_on_subspace(distances: Tensor, matrix: Tensor) -> Tensor:
    """Compute the density by eigenvalues and pseudo-inverse, whose derivatives need no eigenvectors of 0."""
    precision = float(np.finfo(matrix.dtype).eps) * (1e6 if matrix.dtype == np.float64 else 1e3)
    known, vectors = eigh(matrix.detach())
    cutoff = precision * largest(absolute(known))
    beside = norm(where(known <= cutoff, matmul(distances.detach(), vectors), 0.0), axis=-1)
    whitened = sum(matmul(distances, pinv(matrix, precision, hermitian=True)) * distances, -1)
    constant = sum(where(known > cutoff, log(eigvalsh(matrix)) + 2.0 * HALF_LOG_2PI, 0.0))
    density = where(beside < 1e3 * cutoff, -0.5 * (whitened + constant), -math.inf)
    return squeeze(where(known[0] < -cutoff, math.nan, density))


class _Wishart:
    """The Wishart distributions, of symmetric positive definite matrices."""

    def __repr__(self) -> str:
        return "<tapegrad.stats.wishart>"

    def logpdf(self, x: Any, df: Any, scale: Any) -> Tensor:
        """Compute the logarithm of the density.

        Parameters
        ----------
        x : Tensor or array_like, shape (k, k), (k, k, n), (k,) or ()
            Matrices along the first two axes, of which the lower triangles are read, or a diagonal, or the one element
            of that; for ``k = 1`` also a line of numbers.
        df : Tensor or float
            Degrees of freedom, more than ``k - 1``; `k` if it is None.
        scale : Tensor or array_like, shape (k, k), (k,) or ()
            Scale matrix, of which the lower triangle is read, or its diagonal, or a number for ``k = 1``.

        Returns
        -------
        Tensor
            Of shape ``(n,)`` or ``()``.

        Raises
        ------
        LinAlgError
            If a matrix is not positive definite.
        ValueError
            If the shapes do not fit, or `df` is no number or too small.

        Examples
        --------
        >>> import tapegrad as tg
        >>> df = tg.tensor(3.0)
        >>> density = tg.stats.wishart.logpdf([[2.0, 0.5], [0.5, 1.0]], df, [1.0, 2.0])
        >>> density.backward()
        >>> density, df.grad
        (Tensor(-4.82074502), array(-0.48955003))
        """
        name = "tapegrad.stats.wishart.logpdf"
        points = variable(x, name)
        matrix = scale_matrix(parameter(1 if scale is None else scale, points, name), name)
        size = matrix.shape[0]
        factors = lower_factor(_matrices(points, size, name), name)
        return _log_density_of_wishart(
            factors, degrees_of_freedom(df, size, name), lower_factor(matrix, name)
        )

    @like(
        logpdf,
        ("the logarithm of the density", "the density"),
        raises="",
        examples=">>> tg.stats.wishart.pdf([1.0, 2.0], 3.0, 1.0)\nTensor([0.24197072, 0.20755375])",
    )
    def pdf(self, x: Any, df: Any, scale: Any) -> Tensor:
        density: Tensor = exp(self.logpdf(x, df, scale))
        return density


def scale_matrix(value: Tensor, name: str, size: int = 1) -> Tensor:
    """Return a matrix that is given whole, as its diagonal, or as a number, of which the matrix has a size."""
    matrix = square_matrix(value, size if value.ndim == 0 else value.shape[0])
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"{name}: the scale is to be a square matrix or a diagonal, not of shape {value.shape}"
        )
    return matrix


def _matrices(x: Tensor, size: int, name: str) -> Tensor:
    """Return matrices along the last two axes."""
    if x.ndim == 1 and size == 1:
        return reshape(x, (-1, 1, 1))
    stack = moveaxis(x, 2, 0) if x.ndim == 3 else square_matrix(x, size)
    if stack.ndim > 3 or stack.shape[-2:] != (size, size):
        raise ValueError(
            f"{name}: x is to have matrices of shape {(size, size)} along its first two axes, or a diagonal; its shape"
            f" is {x.shape}"
        )
    return stack


def degrees_of_freedom(df: Any, size: int, name: str) -> Any:
    """Return the degrees of freedom: a plain number, or a Tensor of no dimension."""
    degrees: Any = size if df is None else df if is_number(df) else variable(df, name)
    if not is_number(degrees) and degrees.ndim:
        raise ValueError(f"{name}: the degrees of freedom are to be one number, not of shape {degrees.shape}")
    if degrees <= size - 1:
        raise ValueError(
            f"{name}: the degrees of freedom are to be more than {size - 1} for matrices of this size"
        )
    return degrees


def _log_density_of_wishart(factor: Tensor, df: Any, of_scale: Tensor) -> Tensor:
    """Compute the density by Cholesky factors: the trace of ``scale^-1 @ x`` is a sum of squares."""
    size = of_scale.shape[0]
    roots, root = sum(log(diagonal(factor, 0, -2, -1)), -1), sum(log(diagonal(of_scale)))
    trace = sum(square(solve_triangular(of_scale, factor, lower=True)), (-1, -2))
    normalizer = df * root + 0.5 * size * _LOG_2 * df + _log_multigamma(0.5 * df, size)
    return squeeze((df - (size + 1.0)) * roots - 0.5 * trace - normalizer)


def _log_multigamma(a: Any, size: int) -> Any:
    constant = 0.25 * size * (size - 1) * math.log(math.pi)
    if is_number(a):
        return constant + math.fsum(gammaln(a - 0.5 * j) for j in range(size))
    return sum(gammaln(a - 0.5 * np.arange(size, dtype=a.dtype))) + constant


multivariate_normal = _MultivariateNormal()
wishart = _Wishart()
