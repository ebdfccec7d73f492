"""Roots of polynomials, polynomials by their roots, and polynomials fitted to points."""

import warnings
from typing import Any

import numpy as np

from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.frontend.conversions.complex_views import real_of
from tapegrad.frontend.conversions.guarded_results import call_guarded
from tapegrad.frontend.functions.matrices.eigenvalues import eigvals
from tapegrad.frontend.functions.matrices.least_squares import lstsq
from tapegrad.frontend.functions.matrices.systems import inv
from tapegrad.frontend.functions.numerics.convolution import convolve
from tapegrad.frontend.functions.numerics.polynomials import coefficients_of, vander
from tapegrad.frontend.functions.products.linalg import matmul
from tapegrad.frontend.functions.reductions.reductions import sum as total
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.recording.record_structural import as_numbers, as_tensor
from tapegrad.frontend.recording.shape import expand_dims
from tapegrad.frontend.tensor.tensor import Tensor, from_array


def roots(p: Any) -> Tensor:
    """Compute the roots of a polynomial.

    Parameters
    ----------
    p : Tensor or array_like
        Coefficients, the highest power first. Zeros in front are left out, and zeros at the end are roots at 0; a
        recorded function guards which ones they are.

    Returns
    -------
    Tensor
        The roots, in no particular order; complex, unless all coefficients and roots are real.

    Raises
    ------
    ValueError
        If `p` has more than one dimension.
    LinAlgError
        In a replay, if the coefficients are real, and other than at the recording a root is not: convert them with
        ``astype(complex)``, and all results are complex.

    Notes
    -----
    They are the eigenvalues of the companion matrix.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.sort(tg.roots(tg.tensor([1.0, -3.0, 2.0])))
    Tensor([1., 2.])
    """
    line = coefficients_of(p, "numpy.roots")
    if line.dtype.kind not in DIFFERENTIABLE_KINDS:
        line = line.astype(np.float64)
    present = call_guarded(_nonzero, line)
    if not present:
        return from_array(np.zeros(0, line.dtype), constant=True)
    first, last = present[0], present[-1]
    at_zero = np.zeros(line.size - 1 - last, line.dtype)
    line = line[first : last + 1]
    if line.size == 1:
        return from_array(at_zero, constant=True)
    top = expand_dims(-line[1:] / line[0], 0)
    below = np.eye(line.size - 2, line.size - 1, dtype=line.dtype)
    found = eigvals(concatenate([top, below]))
    return concatenate([found, at_zero.astype(found.dtype)]) if at_zero.size else found


def _nonzero(line: np.ndarray) -> list[int]:
    """Return the indices of nonzero coefficients."""
    positions: list[int] = np.flatnonzero(line).tolist()
    return positions


def poly(seq_of_zeros: Any) -> Tensor:
    """Compute the coefficients of a polynomial by its roots, or of the characteristic polynomial of a matrix.

    Parameters
    ----------
    seq_of_zeros : Tensor or array_like
        Roots, or a square matrix.

    Returns
    -------
    Tensor
        Coefficients, the highest power first, which is 1; complex for complex roots and matrices.

    Raises
    ------
    ValueError
        If there are neither roots nor a square matrix.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.poly(tg.tensor([1.0, 2.0]))
    Tensor([ 1., -3.,  2.])
    """
    zeros = as_numbers(seq_of_zeros, "numpy.poly")
    is_complex = zeros.dtype.kind == "c"
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] and zeros.shape[0] != 0:
        zeros = eigvals(zeros)
    elif zeros.ndim > 1:
        raise ValueError(
            f"numpy.poly: give a vector of roots or a square matrix, not an array of shape {zeros.shape}"
        )
    zeros = zeros.reshape(-1)
    zeros = zeros if zeros.dtype.kind in DIFFERENTIABLE_KINDS else zeros.astype(np.float64)
    one = np.ones(1, zeros.dtype)
    result: Tensor = from_array(one, constant=True)
    for k in range(zeros.size):
        result = convolve(result, concatenate([one, -zeros[k : k + 1]]))
    return (
        result if is_complex else real_of(result)
    )  # complex eigenvalues of a real matrix are conjugate pairs


def _weighted(matrix: Tensor, y: Tensor, w: Any) -> tuple[Tensor, Tensor]:
    """Return the rows of equations times the weights of the points."""
    weights = as_tensor(w, "numpy.polyfit")
    if weights.ndim != 1:
        raise TypeError("numpy.polyfit: expected a 1-d array for weights")
    if weights.shape[0] != y.shape[0]:
        raise TypeError("numpy.polyfit: expected w and y to have the same length")
    column = expand_dims(weights, 1)
    return matrix * column, y * (column if y.ndim == 2 else weights)


def _checked_points(x: Any, y: Any, deg: Any) -> tuple[Tensor, Tensor, int]:
    """Return points and the number of coefficients; raise NumPy's errors for what does not fit."""
    order = int(deg) + 1
    x, y = (0.0 + as_numbers(each, "numpy.polyfit") for each in (x, y))
    if order < 1:
        raise ValueError("numpy.polyfit: expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("numpy.polyfit: expected 1D vector for x")
    if x.size == 0:
        raise TypeError("numpy.polyfit: expected non-empty vector for x")
    if y.ndim < 1 or y.ndim > 2:
        raise TypeError("numpy.polyfit: expected 1D or 2D array for y")
    if x.shape[0] != y.shape[0]:
        raise TypeError("numpy.polyfit: expected x and y to have same length")
    return x, y, order


def _variances(residuals: Tensor, points: int, order: int) -> Tensor:
    """Return the variance of the points of each fit."""
    if points <= order:
        raise ValueError(
            "numpy.polyfit: the number of data points must exceed order to scale the covariance matrix"
        )
    return residuals / (points - order)


def polyfit(
    x: Any, y: Any, deg: Any, rcond: float | None = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    """Compute the polynomial that fits points best by least squares.

    Parameters
    ----------
    x : Tensor or array_like, shape (m,)
        Abscissas of the points.
    y : Tensor or array_like, shape (m,) or (m, k)
        Values there; of several fits, a column each.
    deg : int
        The degree of the polynomial.
    rcond : float, optional
        Singular values up to this part of the largest one are taken for zero; the number of points times the distance
        of 1 from the next number by default.
    full : bool, default False
        Whether to return what `tapegrad.linalg.lstsq` finds beside the coefficients.
    w : Tensor or array_like, shape (m,), optional
        Weights of the differences, not of their squares.
    cov : bool or 'unscaled', default False
        Whether to return the covariances of the coefficients, scaled by the residuals or not. It is of no effect with
        `full`.

    Returns
    -------
    p : Tensor, shape (deg + 1,) or (deg + 1, k)
        Coefficients, the highest power first.
    residuals, rank, singular_values, rcond
        With `full`: sums of squares of differences, the rank and the singular values of the scaled Vandermonde matrix,
        and the cutoff.
    V : Tensor, shape (deg + 1, deg + 1) or (deg + 1, deg + 1, k)
        With `cov`: the covariances.

    Raises
    ------
    TypeError
        If the points do not fit each other.
    ValueError
        If the degree is negative, or there are too few points for covariances.

    Warns
    -----
    RankWarning
        If the rank is less than the number of coefficients.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.round(tg.polyfit([0.0, 1.0, 2.0], tg.tensor([1.0, 3.0, 5.0]), 1), 6)
    Tensor([2., 1.])
    """
    x, y, order = _checked_points(x, y, deg)
    cutoff = len(x) * float(np.finfo(x.dtype).eps) if rcond is None else rcond
    matrix = vander(x, order)
    if w is not None:
        matrix, y = _weighted(matrix, y, w)
    scale = total(matrix * matrix, 0) ** 0.5
    matrix = matrix / scale
    c, residuals, rank, s = lstsq(matrix, y, cutoff)
    c = (c.T / scale).T
    if rank != order and not full:
        warnings.warn("Polyfit may be poorly conditioned", np.exceptions.RankWarning, stacklevel=2)
    if full:
        return c, residuals, rank, s, cutoff
    if not cov:
        return c
    base = inv(matmul(matrix.T, matrix)) / (expand_dims(scale, 1) * expand_dims(scale, 0))
    variances: Any = 1.0 if cov == "unscaled" else _variances(residuals, len(x), order)
    return c, (base if y.ndim == 1 else expand_dims(base, -1)) * variances


FUNCTIONS = {function.__name__: function for function in (roots, poly, polyfit)}
