"""Pseudo-inverses, least squares and condition numbers."""

from typing import Any

import numpy as np

from tapegrad.frontend.conversions.complex_views import adjoint, is_complex, part_dtype
from tapegrad.frontend.functions.matrices import norms
from tapegrad.frontend.functions.matrices.decompositions import by_lower_triangle, svd, svdvals
from tapegrad.frontend.functions.matrices.matrices import (
    count_of,
    inverse,
    matrices,
    record,
    square,
    transposed,
)
from tapegrad.frontend.functions.matrices.systems import solve
from tapegrad.frontend.functions.matrices.ties import column, diagonal_matrix, row
from tapegrad.frontend.functions.products.linalg import matmul
from tapegrad.frontend.functions.reductions import reductions
from tapegrad.frontend.functions.reductions.extremes import max as largest
from tapegrad.frontend.functions.reductions.predicates import matrix_rank
from tapegrad.frontend.recording.elementwise import where
from tapegrad.frontend.recording.record import unary
from tapegrad.frontend.recording.record_structural import as_numbers, in_common_dtype
from tapegrad.frontend.recording.rules import Step, Value, state_rules
from tapegrad.frontend.recording.shape import expand_dims, in_c_order
from tapegrad.frontend.tensor.modes import no_grad
from tapegrad.frontend.tensor.tensor import Tensor, from_array, is_tensor
from tapegrad.ops import COPY
from tapegrad.ops.structural.matrices import PinvParams


def _cutoffs(x: Tensor, rcond: Any, name: str) -> Tensor:
    """Return one cutoff, or one for each matrix, as constants."""
    dtype = part_dtype(x.dtype)
    given = rcond.detach() if is_tensor(rcond) else from_array(np.asarray(rcond, dtype), constant=True)
    given = given.astype(dtype, copy=False)
    if given.ndim == 0:
        return given
    if given.shape != x.shape[:-2]:
        raise ValueError(f"{name}: the cutoffs have shape {given.shape}, and the matrices {x.shape}")
    return in_c_order(given)


def _complex_pseudo_inverse(x: Tensor, cutoffs: Tensor) -> Tensor:
    """Return the pseudo-inverses of complex matrices of the rank that was found.

    A matrix of rank r is ``C M^-1 D`` for ``C = A V / s``, ``D = (U^H A) / s`` and ``M = (U^H A V) / (s s^T)``, with
    singular vectors that are constants here. C and D are orthonormal to rounding, so that no digits are lost in the
    inverses of their products. Vectors of singular values below the cutoff are left out, by zeros for ``1 / s``.
    """
    with no_grad():
        u, s, vh = svd(unary(COPY, x), full_matrices=False)
        is_kept = s > expand_dims(cutoffs, -1) * largest(s, -1, keepdims=True, initial=0.0)
        inverses = where(is_kept, 1.0 / where(is_kept, s, 1.0), 0.0)
        identity = diagonal_matrix(where(is_kept, np.zeros((), s.dtype), np.ones((), s.dtype)))
        right, left = adjoint(vh) * row(inverses), adjoint(u) * column(inverses)
    c, d = matmul(x, right), matmul(left, x)
    inner = matmul(d, right)
    first = solve(matmul(d, adjoint(d)) + identity, inner)
    second = solve(matmul(adjoint(c), c) + identity, adjoint(c))
    return matmul(matmul(adjoint(d), first), second)


def _pseudo_inverse(x: Tensor, rcond: Any, name: str) -> Tensor:
    x, cutoffs = in_c_order(x), _cutoffs(x, rcond, name)
    if is_complex(x):
        return _complex_pseudo_inverse(x, cutoffs)
    m, n = x.shape[-2:]
    params = PinvParams(count_of(x), m, n, int(cutoffs.ndim > 0))
    return record("pinv", [x, cutoffs], (*x.shape[:-2], n, m), params, name)


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> Tensor:
    """Compute the Moore-Penrose pseudo-inverses of matrices.

    Parameters
    ----------
    a : Tensor or array_like, shape (..., m, n)
        Matrices.
    rcond : float or array_like, optional
        Singular values up to this part of the largest one are taken for zero; 1e-15 by default.
    hermitian : bool, default False
        Take the matrices for symmetric: their lower triangles are read.
    rtol : float or array_like, optional
        The same as `rcond`; for None, ``max(m, n)`` times the distance of 1 from the next number.

    Returns
    -------
    Tensor, shape (..., n, m)
        The pseudo-inverses.

    Raises
    ------
    LinAlgError
        If LAPACK does not converge.
    ValueError
        If both `rcond` and `rtol` are given.

    Notes
    -----
    Derivatives are those of [1]_, with the rank that was found: a pseudo-inverse is not continuous where that changes.

    References
    ----------
    .. [1] G. H. Golub and V. Pereyra, The differentiation of pseudo-inverses and nonlinear least squares problems whose
       variables separate, 1973.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.pinv(tg.tensor([[2.0, 0.0], [0.0, 0.0]]))
    Tensor([[0.5, 0. ],
            [0. , 0. ]])
    """
    x = by_lower_triangle(a, "numpy.linalg.pinv") if hermitian else matrices(a, "numpy.linalg.pinv")
    if rcond is not None and rtol is not np._NoValue:
        raise ValueError("numpy.linalg.pinv: `rtol` and `rcond` can't be both set.")
    if rcond is None:
        eps = max(x.shape[-2:]) * float(np.finfo(x.dtype).eps)
        rcond = 1e-15 if rtol is np._NoValue else eps if rtol is None else rtol
    return _pseudo_inverse(x, rcond, "numpy.linalg.pinv")


def lstsq(a: Any, b: Any, rcond: float | None = None) -> tuple[Tensor, Tensor, Any, Tensor]:
    """Solve least squares problems: the smallest `x` of those for which ``norm(b - a @ x)`` is smallest.

    Parameters
    ----------
    a : Tensor or array_like, shape (m, n)
        Coefficients.
    b : Tensor or array_like, shape (m,) or (m, k)
        Right sides, a column each.
    rcond : float, optional
        Singular values up to this part of the largest one are taken for zero. By default, ``max(m, n)`` times the
        distance of 1 from the next number.

    Returns
    -------
    x : Tensor, shape (n,) or (n, k)
        The solutions.
    residuals : Tensor, shape (k,), (1,) or (0,)
        Sums of squares of ``b - a @ x``; empty if the rank of `a` is below n, or m not above n.
    rank : int
        The rank of `a`.
    s : Tensor, shape (min(m, n),)
        The singular values of `a`.

    Raises
    ------
    LinAlgError
        If operands do not have these dimensions, or numbers of rows differ.

    Notes
    -----
    The solution is ``pinv(a) @ b``. In a recording the rank is guarded: for another one the function is recorded again.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x, residuals, rank, s = tg.linalg.lstsq(tg.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), [1.0, 3.0, 5.0])
    >>> tg.round(x, 6), rank
    (Tensor([1., 2.]), 2)
    """
    name = "numpy.linalg.lstsq"
    matrix, side = in_common_dtype(matrices(a, name), as_numbers(b, name))
    _check_one_problem(matrix, side, name)
    m, n = matrix.shape
    cutoff = max(m, n) * float(np.finfo(matrix.dtype).eps) if rcond is None else rcond
    s = svdvals(matrix)
    rank = int(matrix_rank(matrix, rtol=cutoff)) if matrix.size else 0
    x = matmul(_pseudo_inverse(matrix, cutoff, name), side)
    if rank < n or m <= n:
        return x, from_array(np.zeros(0, matrix.dtype), constant=True), rank, s
    left = side - matmul(matrix, x)
    return x, reductions.sum(norms.squares(left), 0, keepdims=side.ndim == 1), rank, s


def _check_one_problem(a: Tensor, b: Tensor, name: str) -> None:
    if a.ndim != 2 or b.ndim not in (1, 2):
        raise np.linalg.LinAlgError(
            f"{name}: a and b must be one matrix and one right side, not of shapes {a.shape} and {b.shape}"
        )
    if a.shape[0] != b.shape[0]:
        raise np.linalg.LinAlgError(f"{name}: the matrix has shape {a.shape}, and the right side {b.shape}")


def cond(x: Any, p: Any = None) -> Tensor:
    """Compute the condition numbers of matrices.

    Parameters
    ----------
    x : Tensor or array_like, shape (..., m, n)
        Matrices; square ones for all norms but 2 and -2.
    p : {None, 2, -2, 1, -1, inf, -inf, 'fro', 'nuc'}, optional
        By which norm; 2 by default, the ratio of the largest and the smallest singular value.

    Returns
    -------
    Tensor, shape (...)
        The condition numbers.

    Raises
    ------
    LinAlgError
        If there are no elements, and for other norms than 2 and -2, if a matrix is singular or not square.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.cond(tg.tensor([[2.0, 0.0], [0.0, 0.5]]))
    Tensor(4.)
    """
    matrix = matrices(x, "numpy.linalg.cond")
    if matrix.size == 0:
        raise np.linalg.LinAlgError(f"numpy.linalg.cond: not defined for the shape {matrix.shape}")
    if p in (None, 2, -2):
        s = svdvals(matrix)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    if p not in (1, -1, np.inf, -np.inf, "fro", "nuc"):
        raise ValueError(f"numpy.linalg.cond: unknown norm {p!r} of matrices")
    matrix = square(matrix, "numpy.linalg.cond")
    inverted = inverse(matrix, "numpy.linalg.cond")
    return norms.matrix_norm(matrix, ord=p) * norms.matrix_norm(inverted, ord=p)


LINALG = {"pinv": pinv, "lstsq": lstsq, "cond": cond}


# --- derivatives -----------------------------------------------------------------------------------------------


def _beside(x: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """Return ``x - left @ right @ x``."""
    return x - matmul(left, matmul(right, x))


def _pinv_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    a, p, p_bar = step.x(0), step.y, step.dense(y_bar, -1)
    first = -matmul(matmul(transposed(p), p_bar), transposed(p))
    second = _beside(matmul(transposed(p_bar), matmul(p, transposed(p))), transposed(p), transposed(a))
    third = transposed(_beside(matmul(p_bar, matmul(transposed(p), p)), p, a))
    return {0: first + second + third}


def _pinv_forward(step: Step, x_dot: Value, *_: None) -> Value:
    a, p, a_dot = step.x(0), step.y, step.dense(x_dot, 0)
    second = transposed(_beside(matmul(a_dot, matmul(p, transposed(p))), transposed(p), transposed(a)))
    third = _beside(matmul(transposed(a_dot), matmul(transposed(p), p)), p, a)
    return second + third - matmul(matmul(p, a_dot), p)


state_rules("pinv", _pinv_reverse, _pinv_forward)
