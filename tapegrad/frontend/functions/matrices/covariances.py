"""Covariances and correlations of variables."""

import warnings
from typing import Any

import numpy as np

from tapegrad.frontend.conversions.complex_views import adjoint, made_complex, pairs_of
from tapegrad.frontend.functions.products.linalg import matmul
from tapegrad.frontend.functions.reductions.lines import numbers
from tapegrad.frontend.functions.reductions.statistics import average
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.recording.elementwise import FUNCTIONS as ELEMENTWISE
from tapegrad.frontend.recording.record import read_now
from tapegrad.frontend.recording.shape import reshape, squeeze, transpose
from tapegrad.frontend.tensor.tensor import Tensor

_sqrt, _clip = ELEMENTWISE["sqrt"], ELEMENTWISE["clip"]


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Tensor:
    """Compute the covariances of variables.

    Parameters
    ----------
    m : Tensor or array_like
        Observations of several variables, at most two-dimensional: a row for each variable.
    y : Tensor or array_like, optional
        More variables, in the form of `m`.
    rowvar : bool, default True
        If False, a column for each variable.
    bias : bool, default False
        Divide by the number of observations, not by one less.
    ddof : int, optional
        What is subtracted from the number of observations, whatever `bias` says.
    fweights : array_like of int, optional
        How often each observation counts.
    aweights : array_like, optional
        The weight of each observation.
    dtype : data-type, optional
        Dtype of the result, at least float64 by default.

    Returns
    -------
    Tensor
        A matrix, Hermitian for complex variables; a number for one variable.

    Warns
    -----
    RuntimeWarning
        If there are no degrees of freedom left.

    Notes
    -----
    No gradient flows into the weights, which are read as plain arrays.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.cov(tg.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    Tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    x = _variables(m, y, rowvar, dtype)
    if x.shape[0] == 0:
        return reshape(x, (0, 0))
    weights = _weights(fweights, aweights, x.shape[1])
    lost = (0 if bias else 1) if ddof is None else ddof
    divisor = _divisor(weights, aweights, lost, x.shape[1])
    centred = x - average(x, axis=1, weights=weights, keepdims=True)
    weighted = centred if weights is None else centred * weights
    return squeeze(matmul(centred, adjoint(weighted)) / divisor)


def _variables(m: Any, y: Any, rowvar: bool, dtype: Any) -> Tensor:
    """Return the observations, with a row for each variable."""
    x = numbers(m, "cov")
    others = None if y is None else numbers(y, "cov")
    for name, each in (("m", x), ("y", others)):
        if each is not None and each.ndim > 2:
            raise ValueError(f"{name} has more than 2 dimensions")
    if dtype is None:
        dtype = np.result_type(x.dtype, x.dtype if others is None else others.dtype, np.float64)
    rows = _rows(x, dtype, rowvar or x.ndim == 1)
    if others is None or rows.shape[0] == 0:
        return rows
    more = _rows(others, dtype, True)
    return concatenate([rows, more if rowvar or more.shape[0] == 1 else transpose(more)], 0)


def _rows(x: Tensor, dtype: Any, as_they_are: bool) -> Tensor:
    x = x.astype(dtype, copy=False)
    x = x if x.ndim == 2 else reshape(x, (1, -1))
    return x if as_they_are else transpose(x)


def _weights(fweights: Any, aweights: Any, count: int) -> np.ndarray | None:
    """Return the products of both kinds of weights of the observations, None for none."""
    product = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        weights = read_now(given).astype(float)
        _check_weights(name, weights, count)
        product = weights if product is None else product * weights
    return product


def _check_weights(name: str, weights: np.ndarray, count: int) -> None:
    if name == "fweights" and not np.all(weights == np.around(weights)):
        raise TypeError("fweights must be integer")
    if weights.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if weights.shape != (count,):
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    if np.any(weights < 0):
        raise ValueError(f"{name} cannot be negative")


def _divisor(weights: np.ndarray | None, aweights: Any, lost: float, count: int) -> float:
    """Return the divisor of the sums of products."""
    total = float(count if weights is None else np.sum(weights))
    if weights is not None and aweights is not None and lost != 0:
        lost *= float(np.sum(weights * read_now(aweights))) / total
    if total > lost:
        return total - lost
    warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=3)
    return 0.0


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Tensor:
    """Compute the correlation coefficients of variables.

    Parameters
    ----------
    x : Tensor or array_like
        Observations of several variables, at most two-dimensional: a row for each variable.
    y : Tensor or array_like, optional
        More variables, in the form of `x`.
    rowvar : bool, default True
        If False, a column for each variable.
    dtype : data-type, optional
        Dtype of the result, at least float64 by default.

    Returns
    -------
    Tensor
        A matrix with numbers from -1 to 1, complex ones with such parts; a number for one variable.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.corrcoef(tg.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    Tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    covariances = cov(x, y, rowvar, dtype=dtype)
    if covariances.ndim == 0:
        return covariances / covariances
    variables = np.arange(covariances.shape[0])
    spread = _sqrt(covariances[variables, variables].real)
    ratios = covariances / reshape(spread, (-1, 1)) / spread
    if ratios.dtype.kind == "c":
        return made_complex(_clip(pairs_of(ratios), -1.0, 1.0))
    result: Tensor = _clip(ratios, -1.0, 1.0)
    return result


FUNCTIONS = {"cov": cov, "corrcoef": corrcoef}
