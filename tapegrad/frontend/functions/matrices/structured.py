"""Structured matrices: block diagonals, constant diagonals and bands, and linear systems with them.

Bands are given as in `scipy.linalg`.
"""

from typing import Any

import numpy as np

from tapegrad.frontend.conversions.complex_views import conjugate
from tapegrad.frontend.functions.matrices.matrices import (
    Systems,
    as_inexact,
    columns,
    like_vectors,
    record,
    system_of,
    systems,
)
from tapegrad.frontend.functions.matrices.systems import solve
from tapegrad.frontend.functions.matrices.triangles import cho_factor, cho_solve, cholesky
from tapegrad.frontend.functions.reductions import reductions
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.recording.elementwise import where
from tapegrad.frontend.recording.record_structural import as_numbers, as_tensor, in_common_dtype
from tapegrad.frontend.recording.rules import Step, Value, state_rules, total
from tapegrad.frontend.recording.shape import in_c_order, reshape
from tapegrad.frontend.tensor.tensor import Tensor, from_array
from tapegrad.frontend.words.derived_docs import like
from tapegrad.ops.structural.matrices import BandedParams


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
    positions = np.arange(column.shape[-1])
    return column[..., (positions[:, None] - positions) % max(positions.size, 1)]


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


# --- bands -----------------------------------------------------------------------------------------------------


def _full(ab: Tensor, below: int, above: int) -> Tensor:
    """Return matrices whose element ``[i, j]`` is ``ab[above + i - j, j]``, and 0 outside of the bands."""
    n = ab.shape[-1]
    rows = above + np.arange(n)[:, None] - np.arange(n)
    is_inside = (rows >= 0) & (rows <= below + above)
    full: Tensor = where(is_inside, ab[..., np.where(is_inside, rows, 0), np.arange(n)], 0.0)
    return full


def _bands(ab: Any, name: str) -> Tensor:
    bands = as_inexact(ab, name)
    if bands.ndim < 2 or bands.shape[-2] == 0:
        raise ValueError(
            f"{name}: the bands must be the rows of a matrix, not an array of shape {bands.shape}"
        )
    return bands


def _triangle(ab: Any, lower: bool, name: str) -> Tensor:
    """Return the triangular matrices made of the bands on one side of the diagonal."""
    bands = _bands(ab, name)
    beside = bands.shape[-2] - 1
    return _full(bands, beside, 0) if lower else _full(bands, 0, beside)


def solve_banded(
    l_and_u: tuple[int, int],
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Tensor:
    """Solve systems of linear equations with banded matrices.

    Parameters
    ----------
    l_and_u : tuple of int
        How many diagonals are below the main one, and how many above.
    ab : Tensor or array_like, shape (..., l + u + 1, m)
        Diagonals: ``a[i, j]`` is ``ab[u + i - j, j]``. The corners that belong to no element are not read.
    b : Tensor or array_like, shape (m,) or (..., m, k)
        Right sides.
    overwrite_ab : bool, default False
        Of no effect.
    overwrite_b : bool, default False
        Of no effect.
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
    The band alone is eliminated, with exchanges of rows: in time that grows with ``m * l * (l + u)``.

    Examples
    --------
    >>> import tapegrad as tg
    >>> ab = tg.tensor([[0.0, 1.0], [2.0, 4.0], [1.0, 0.0]])
    >>> tg.linalg.solve_banded((1, 1), ab, [4.0, 9.0])
    Tensor([1., 2.])
    """
    name = "tapegrad.linalg.solve_banded"
    bands, (below, above) = _bands(ab, name), l_and_u
    if min(below, above) < 0 or below + above + 1 != bands.shape[-2]:
        raise ValueError(
            f"{name}: {below} diagonals below the main one and {above} above it are not as many as the rows of ab,"
            f" whose shape is {bands.shape}"
        )
    return band_solved(bands, b, below, above)


def band_solved(bands: Any, b: Any, below: int, above: int, transposed: bool = False) -> Tensor:
    """Return the solutions of systems with banded matrices, or with their transposes."""
    name = "tapegrad.linalg.solve_banded"
    bands, side = in_common_dtype(as_inexact(bands, name), as_numbers(b, name))
    system = systems(bands, side, name)
    own = system._replace(a=in_c_order(system.a), b=in_c_order(system.b))
    return like_vectors(_solved(own, transposed, below, above), side)


def _solved(system: Systems, transpose: bool, below: int, above: int) -> Tensor:
    """Record the solutions of systems in C order, or of the transposed ones."""
    a, b, count, n, k, each = system
    params = BandedParams(count, n, k, int(transpose), int(each), below, above)
    return record("solve_banded", [a, b], b.shape, params, "tapegrad.linalg.solve_banded")


def solveh_banded(
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Tensor:
    """Solve systems of linear equations with symmetric positive definite banded matrices.

    Parameters
    ----------
    ab : Tensor or array_like, shape (..., u + 1, m)
        The main diagonal and those on one side: ``a[i, j]`` is ``ab[u + i - j, j]`` for ``i <= j``, and with `lower`
        ``ab[i - j, j]`` for ``i >= j``. The corners that belong to no element are not read.
    b : Tensor or array_like, shape (m,) or (..., m, k)
        Right sides.
    overwrite_ab : bool, default False
        Of no effect.
    overwrite_b : bool, default False
        Of no effect.
    lower : bool, default False
        Whether the diagonals are those below the main one.
    check_finite : bool, default True
        Of no effect: nothing is checked.

    Returns
    -------
    Tensor, shape (m,) or (..., m, k)
        The solutions.

    Raises
    ------
    LinAlgError
        If a matrix is not positive definite.
    ValueError
        If the shapes do not fit.

    Notes
    -----
    The matrices are made, with their zeros, and solved by `cho_factor`: memory and time are as for `solve_banded`.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.solveh_banded(tg.tensor([[0.0, 1.0], [2.0, 4.0]]), [4.0, 9.0])
    Tensor([1., 2.])
    """
    return cho_solve(cho_factor(_triangle(ab, lower, "tapegrad.linalg.solveh_banded"), lower), b)


def cholesky_banded(
    ab: Any, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True
) -> Tensor:
    """Compute the Cholesky factors of symmetric positive definite banded matrices, by their bands.

    Parameters
    ----------
    ab : Tensor or array_like, shape (..., u + 1, m)
        Diagonals, as for `solveh_banded`.
    overwrite_ab : bool, default False
        Of no effect.
    lower : bool, default False
        Whether the diagonals are those below the main one, and the factors lower ones.
    check_finite : bool, default True
        Of no effect: nothing is checked.

    Returns
    -------
    Tensor, shape (..., u + 1, m)
        Diagonals of the factors, in the same order; 0 in the corners that belong to no element.

    Raises
    ------
    LinAlgError
        If a matrix is not positive definite.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.cholesky_banded(tg.tensor([[0.0, 2.0], [4.0, 5.0]]))
    Tensor([[0., 1.],
            [2., 2.]])
    """
    triangle = _triangle(ab, lower, "tapegrad.linalg.cholesky_banded")
    n, count = triangle.shape[-1], np.shape(ab)[-2]
    rows = np.arange(n) + np.arange(count)[:, None] - (0 if lower else count - 1)
    is_inside = (rows >= 0) & (rows < n)
    factor = cholesky(triangle, upper=not lower)
    bands: Tensor = where(is_inside, factor[..., np.where(is_inside, rows, 0), np.arange(n)], 0.0)
    return bands


@like(
    cho_solve,
    (
        """c_and_lower : tuple of (Tensor or array_like, bool)
    The factors, and whether they are lower ones, as `cho_factor` returns them.""",
        """cb_and_lower : tuple of (Tensor or array_like, bool)
    Diagonals of the factors, as `cholesky_banded` returns them, and whether they are lower ones.""",
    ),
    ("(..., m)", "(m,)"),
    summary="Solve systems of linear equations by the Cholesky factors of banded matrices.",
    examples=""">>> tg.linalg.cho_solve_banded((tg.tensor([[0.0, 1.0], [2.0, 2.0]]), False), [2.0, 9.0])
Tensor([-0.5,  2. ])""",
)
def cho_solve_banded(
    cb_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Tensor:
    cb, lower = cb_and_lower
    return cho_solve((_triangle(cb, lower, "tapegrad.linalg.cho_solve_banded"), lower), b)


# --- derivatives -----------------------------------------------------------------------------------------------


def _rows_of_band(params: BandedParams) -> tuple[np.ndarray, np.ndarray]:
    """Return the row of each element of a band, shape (diagonals, n), and which are elements of the matrix."""
    rows = np.arange(params.n) + np.arange(params.below + params.above + 1)[:, None] - params.above
    is_inside = (rows >= 0) & (rows < params.n)
    return np.where(is_inside, rows, 0), is_inside


def _solved_again(step: Step, b: Tensor, transpose: int) -> Tensor:
    return _solved(system_of(step, b), bool(transpose), step.params.below, step.params.above)


def _reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    b_bar = conjugate(_solved_again(step, conjugate(step.dense(y_bar, -1)), 1 - step.params.transpose))
    bars: dict[int, Value] = {1: b_bar} if step.asks(1) else {}
    if step.asks(0):
        left, right = columns(b_bar), columns(conjugate(step.y))
        left, right = (right, left) if step.params.transpose else (left, right)
        rows, is_inside = _rows_of_band(step.params)
        bars[0] = -where(is_inside, reductions.sum(left[..., rows, :] * right[..., None, :, :], axis=-1), 0.0)
    return bars


def _forward(step: Step, a_dot: Value | None, b_dot: Value | None) -> Value:
    terms = [] if b_dot is None else [step.dense(b_dot, 1)]
    if a_dot is not None:
        moved = _product(step.params, step.dense(a_dot, 0), columns(step.y))
        terms.append(-reshape(moved, step.y.shape))
    return _solved_again(step, total(terms), step.params.transpose)


def _product(params: BandedParams, bands: Tensor, x: Tensor) -> Tensor:
    """Return the product of banded matrices, or of their transposes, with columns."""
    rows, is_inside = _rows_of_band(params)
    if not params.transpose:  # of each row the elements of its diagonals, by column
        rows, is_inside = (
            each[::-1] for each in _rows_of_band(params._replace(below=params.above, above=params.below))
        )
        bands = bands[..., np.arange(len(rows))[:, None], rows]
    product: Tensor = reductions.sum(
        where(is_inside[..., None], bands[..., None] * x[..., rows, :], 0.0), axis=-3
    )
    return product


state_rules("solve_banded", _reverse, _forward)
