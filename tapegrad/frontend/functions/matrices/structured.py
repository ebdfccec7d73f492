"""Structured matrices: block diagonals and constant diagonals, and linear systems with them."""

from typing import Any

import numpy as np

from tapegrad.frontend.functions.matrices.systems import solve
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.recording.record_structural import as_tensor, in_common_dtype
from tapegrad.frontend.recording.shape import reshape
from tapegrad.frontend.tensor.tensor import Tensor, from_array


def block_diag(*arrs: Any) -> Tensor:
    """Lay matrices along a diagonal, with zeros elsewhere.

    Parameters
    ----------
    *arrs : Tensor or array_like
        Matrices. A vector is taken as a row, and a number as a matrix of one element.

    Returns
    -------
    Tensor
        Of as many rows, and columns, as all of them have together.

    Raises
    ------
    ValueError
        For operands of more than two dimensions.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.block_diag(tg.tensor([[1.0, 2.0]]), 3.0)
    Tensor([[1., 2., 0.],
            [0., 0., 3.]])
    """
    name = "tapegrad.linalg.block_diag"
    blocks = [_matrix(as_tensor(each, name), name) for each in arrs] or [_zeros((1, 0), np.float64)]
    blocks = in_common_dtype(*blocks)
    dtype = blocks[0].dtype
    width, left, rows = sum(each.shape[1] for each in blocks), 0, []
    for each in blocks:
        height, own = each.shape
        beside = _zeros((height, left), dtype), _zeros((height, width - left - own), dtype)
        rows.append(concatenate([beside[0], each, beside[1]], 1))
        left += own
    return concatenate(rows, 0)


def _matrix(x: Tensor, name: str) -> Tensor:
    if x.ndim > 2:
        raise ValueError(f"{name}: an operand has shape {x.shape}, of more than two dimensions")
    return reshape(x, (1,) * (2 - x.ndim) + x.shape)


def _zeros(shape: tuple[int, ...], dtype: Any) -> Tensor:
    return from_array(np.zeros(shape, dtype), constant=True)


def toeplitz(c: Any, r: Any = None) -> Tensor:
    """Make matrices whose diagonals are constant.

    Parameters
    ----------
    c : Tensor or array_like, shape (..., m)
        The first column.
    r : Tensor or array_like, shape (..., n), optional
        The first row, whose first element is not read; `c` by default.

    Returns
    -------
    Tensor, shape (..., m, n)
        Matrices with ``c[i - j]`` on and below the diagonal, and ``r[j - i]`` above.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.toeplitz(tg.tensor([1.0, 2.0, 3.0]), [1.0, 4.0])
    Tensor([[1., 4.],
            [2., 1.],
            [3., 2.]])
    """
    column = _line(c, "tapegrad.linalg.toeplitz")
    row = column if r is None else _line(r, "tapegrad.linalg.toeplitz")
    column, row = in_common_dtype(column, row)
    m, n = column.shape[-1], row.shape[-1]
    if 0 in (m, n):
        return _zeros((*column.shape[:-1], m, n), column.dtype)
    diagonals = concatenate([row[..., :0:-1], column], -1)
    return diagonals[..., n - 1 + np.arange(m)[:, None] - np.arange(n)]


def circulant(c: Any) -> Tensor:
    """Make matrices of which each column is the one before it, rotated.

    Parameters
    ----------
    c : Tensor or array_like, shape (..., m)
        The first column.

    Returns
    -------
    Tensor, shape (..., m, m)
        Matrices with elements ``c[(i - j) % m]``.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.circulant(tg.tensor([1.0, 2.0, 3.0]))
    Tensor([[1., 3., 2.],
            [2., 1., 3.],
            [3., 2., 1.]])
    """
    column = _line(c, "tapegrad.linalg.circulant")
    places = np.arange(column.shape[-1])
    return column[..., (places[:, None] - places) % max(places.size, 1)]


def hankel(c: Any, r: Any = None) -> Tensor:
    """Make matrices whose antidiagonals are constant.

    Parameters
    ----------
    c : Tensor or array_like, shape (..., m)
        The first column.
    r : Tensor or array_like, shape (..., n), optional
        The last row, whose first element is not read; zeros by default, as many as `c` has elements.

    Returns
    -------
    Tensor, shape (..., m, n)
        Matrices with ``c[i + j]`` as far as there are such elements, and behind them those of `r`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.hankel(tg.tensor([1.0, 2.0]), [2.0, 3.0, 4.0])
    Tensor([[1., 2., 3.],
            [2., 3., 4.]])
    """
    name = "tapegrad.linalg.hankel"
    column = _line(c, name)
    column, row = in_common_dtype(column, _zeros(column.shape, column.dtype) if r is None else _line(r, name))
    antidiagonals = concatenate([column, row[..., 1:]], -1)
    return antidiagonals[..., np.arange(column.shape[-1])[:, None] + np.arange(row.shape[-1])]


def _line(x: Any, name: str) -> Tensor:
    tensor = as_tensor(x, name)
    return reshape(tensor, (1,)) if tensor.ndim == 0 else tensor


def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Tensor:
    """Solve systems of linear equations with matrices whose diagonals are constant.

    Parameters
    ----------
    c_or_cr : Tensor, array_like, or tuple of two of them, shape (..., m)
        The first column, or the first column and the first row, as for `toeplitz`.
    b : Tensor or array_like, shape (m,) or (..., m, k)
        Right sides.
    check_finite : bool, default True
        Of no effect: nothing is checked.

    Returns
    -------
    Tensor, shape (m,) or (..., m, k)
        The solutions.

    Raises
    ------
    LinAlgError
        If a matrix is singular.
    ValueError
        If the shapes do not fit.

    Notes
    -----
    By LU factors with row exchanges, which keep digits where the recursion of Levinson, which SciPy takes, loses them;
    in time that grows with ``m**3``.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.solve_toeplitz(tg.tensor([2.0, 1.0]), [4.0, 5.0])
    Tensor([1., 2.])
    """
    return solve(toeplitz(*c_or_cr) if isinstance(c_or_cr, tuple) else toeplitz(c_or_cr), b)
