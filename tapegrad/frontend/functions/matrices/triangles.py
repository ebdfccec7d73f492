"""Cholesky factors, and triangular linear systems."""

from typing import Any, NamedTuple

import numpy as np

from tapegrad.frontend.conversions.complex_views import adjoint, conjugate
from tapegrad.frontend.functions.matrices.matrices import (
    Systems,
    like_vectors,
    lower_factor,
    prepared,
    rules_of_systems,
    square,
    system_of,
    triangle_solved,
)
from tapegrad.frontend.functions.products.linalg import matmul
from tapegrad.frontend.functions.shapes.diagonals import tril
from tapegrad.frontend.recording.record_structural import as_numbers
from tapegrad.frontend.recording.rules import Step, Value, masked_multiply, state_rules
from tapegrad.frontend.recording.shape import expand_dims, in_c_order, reshape
from tapegrad.frontend.tensor.tensor import Tensor

_PLAIN, _TRANSPOSED, _ADJOINT = range(3)
_TRANSPOSES = {
    0: _PLAIN,
    1: _TRANSPOSED,
    2: _ADJOINT,
    "N": _PLAIN,
    "T": _TRANSPOSED,
    "C": _ADJOINT,
}


def cholesky(a: Any, /, *, upper: bool = False) -> Tensor:
    """Compute the Cholesky factors of positive definite matrices: ``a == factor @ factor.T``, conjugated if complex.

    Parameters
    ----------
    a : Tensor or array_like, shape (..., m, m)
        Symmetric or Hermitian matrices, of which the lower triangle is read, or the upper one for ``upper=True``.
    upper : bool, default False
        Return the upper factor, ``a == factor.T @ factor``.

    Returns
    -------
    Tensor, shape (..., m, m)
        The factors, with zeros in the other triangle.

    Raises
    ------
    LinAlgError
        If a matrix is not positive definite or not square.

    Notes
    -----
    Derivatives are by the triangle that is read, whose elements stand for those of the other one too: there a gradient
    is zero. The reverse sweep goes through the factorisation backwards, by blocks [1]_.

    References
    ----------
    .. [1] I. Murray, Differentiation of the Cholesky decomposition, 2016.

    Examples
    --------
    >>> import tapegrad as tg
    >>> a = tg.tensor([[4.0, 2.0], [2.0, 5.0]])
    >>> factor = tg.linalg.cholesky(a)
    >>> factor
    Tensor([[2., 0.],
            [1., 2.]])
    >>> factor.sum().backward()
    >>> a.grad
    array([[0.1875, 0.    ],
           [0.25  , 0.25  ]])
    """
    return _factor(a, not upper, "numpy.linalg.cholesky")


def _factor(a: Any, lower: bool, name: str) -> Tensor:
    """Return the lower factors, from the lower triangle, or the upper ones."""
    return lower_factor(a, name) if lower else adjoint(lower_factor(adjoint(square(a, name)), name))


def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Tensor:
    """Solve systems of linear equations with triangles, ``a @ x == b``.

    Parameters
    ----------
    a : Tensor or array_like, shape (..., m, m)
        Coefficients, of which one triangle is read.
    b : Tensor or array_like, shape (m,) or (..., m, k)
        Right sides. What has one dimension is a vector, all else a stack of matrices. Leading dimensions broadcast.
    trans : {0, 1, 2, 'N', 'T', 'C'}, default 0
        Whether to solve ``a.T @ x == b`` instead, for all but 0 and 'N'; for 2 and 'C' ``a.conj().T @ x == b``.
    lower : bool, default False
        Read the lower triangle.
    unit_diagonal : bool, default False
        Take the diagonal for ones, without reading it.
    overwrite_b : bool, default False
        Of no effect.
    check_finite : bool, default True
        Of no effect: nothing is checked.

    Returns
    -------
    Tensor, shape (..., m) or (..., m, k)
        The solutions.

    Raises
    ------
    LinAlgError
        If an element of the diagonal is zero, or the matrices are not square.
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.solve_triangular(tg.tensor([[2.0, 0.0], [1.0, 4.0]]), [2.0, 9.0], lower=True)
    Tensor([1., 2.])
    """
    name = "tapegrad.linalg.solve_triangular"
    if trans not in _TRANSPOSES:
        raise ValueError(f"{name}: trans is 0, 1, 2, 'N', 'T' or 'C', not {trans!r}")
    return _solved(a, b, Triangle(_TRANSPOSES[trans], bool(lower), bool(unit_diagonal)), name)


class Triangle(NamedTuple):
    """Options for reading a triangle: transposed (1) or conjugate transposed (2), lower, with a unit diagonal."""

    transpose: int
    lower: bool
    unit: bool


def _solved(a: Any, b: Any, triangle: Triangle, name: str) -> Tensor:
    if triangle.transpose == _ADJOINT:
        own = triangle._replace(transpose=_TRANSPOSED)
        return conjugate(_solved(a, conjugate(as_numbers(b, name)), own, name))
    system, side, is_turned = prepared(a, b, name)
    transpose, lower = bool(triangle.transpose) != is_turned, triangle.lower != is_turned
    return like_vectors(triangle_solved(system, transpose, lower, triangle.unit, name), side)


def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Tensor, bool]:
    """Compute Cholesky factors in the form that `cho_solve` takes.

    Parameters
    ----------
    a : Tensor or array_like, shape (..., m, m)
        Symmetric positive definite matrices, of which one triangle is read.
    lower : bool, default False
        Read the lower triangle, and return the lower factor.
    overwrite_a : bool, default False
        Of no effect.
    check_finite : bool, default True
        Of no effect: nothing is checked.

    Returns
    -------
    c : Tensor, shape (..., m, m)
        The factors, with zeros in the other triangle.
    lower : bool
        Which triangle it is.

    Raises
    ------
    LinAlgError
        If a matrix is not positive definite or not square.

    Examples
    --------
    >>> import tapegrad as tg
    >>> factor = tg.linalg.cho_factor(tg.tensor([[4.0, 2.0], [2.0, 5.0]]))
    >>> tg.linalg.cho_solve(factor, [2.0, 9.0])
    Tensor([-0.5,  2. ])
    """
    return _factor(a, bool(lower), "tapegrad.linalg.cho_factor"), bool(lower)


def cho_solve(
    c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Tensor:
    """Solve systems of linear equations by the Cholesky factors of their matrices.

    Parameters
    ----------
    c_and_lower : tuple of (Tensor or array_like, bool)
        The factors, and whether they are lower ones, as `cho_factor` returns them.
    b : Tensor or array_like, shape (m,) or (..., m, k)
        Right sides.
    overwrite_b : bool, default False
        Of no effect.
    check_finite : bool, default True
        Of no effect: nothing is checked.

    Returns
    -------
    Tensor, shape (..., m) or (..., m, k)
        The solutions.

    Raises
    ------
    LinAlgError
        If an element of the diagonal of a factor is zero.
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.cho_solve((tg.tensor([[2.0, 0.0], [1.0, 2.0]]), True), [2.0, 9.0])
    Tensor([-0.5,  2. ])
    """
    (c, lower), name = c_and_lower, "tapegrad.linalg.cho_solve"
    side = as_numbers(b, name)
    columns = (
        expand_dims(side, -1) if side.ndim == 1 else side
    )  # stacks of solutions are not stacks of vectors
    first, second = (_PLAIN, _ADJOINT) if lower else (_ADJOINT, _PLAIN)
    half = _solved(c, columns, Triangle(first, bool(lower), False), name)
    x = _solved(c, half, Triangle(second, bool(lower), False), name)
    return reshape(x, x.shape[:-1]) if side.ndim == 1 else x


LINALG = {"cholesky": cholesky}


# --- derivatives -----------------------------------------------------------------------------------------------


def half_of_triangle(x: Tensor, lower: bool) -> Tensor:
    """Return one triangle with half of the diagonal.

    Adding its conjugate transpose gives the Hermitian matrix. Twice this part of a Hermitian cotangent is the cotangent
    of the triangle.
    """
    ones = np.ones(x.shape[-2:])
    triangle = np.tril(ones) if lower else np.triu(ones)
    return masked_multiply(x, (triangle - np.eye(len(ones)) / 2).astype(x.dtype))


def _by_factor(factor: Tensor, x: Tensor, is_adjoint: bool) -> Tensor:
    """Solve with a lower factor, or with its conjugate transpose."""
    n = factor.shape[-1]
    if is_adjoint:
        x = conjugate(x)
    system = Systems(factor, in_c_order(x), factor.size // max(n * n, 1), n, n, True)
    found = triangle_solved(system, is_adjoint, True, False, "cholesky")
    return conjugate(found) if is_adjoint else found


def _cholesky_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    factor = step.y
    inner = half_of_triangle(matmul(adjoint(factor), tril(step.dense(y_bar, -1))), True)
    left = _by_factor(factor, inner + adjoint(inner), True)
    return {0: half_of_triangle(_by_factor(factor, adjoint(left), True), True)}


def _cholesky_forward(step: Step, x_dot: Value) -> Value:
    factor, half = step.y, half_of_triangle(step.dense(x_dot, 0), True)
    left = _by_factor(factor, half + adjoint(half), False)
    return matmul(factor, half_of_triangle(_by_factor(factor, adjoint(left), False), True))


state_rules("cholesky", _cholesky_reverse, _cholesky_forward)


def _triangle_solved(step: Step, b: Tensor, transpose: int) -> Tensor:
    p = step.params
    return triangle_solved(
        system_of(step, b), bool(transpose), bool(p.lower), bool(p.unit), "solve_triangular"
    )


def _triangle(step: Step, matrices: Tensor) -> Tensor:
    """Return the part of matrices that a system with triangles reads."""
    p = step.params
    ones = np.ones((p.n, p.n), matrices.dtype)
    read = np.tril(ones, -p.unit) if p.lower else np.triu(ones, p.unit)
    return masked_multiply(matrices, read)


state_rules("solve_triangular", *rules_of_systems(_triangle_solved, _triangle))
