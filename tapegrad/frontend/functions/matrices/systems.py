"""Systems of linear equations and inverses, by LU factors."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.frontend.conversions.complex_views import adjoint, conjugate, part_dtype
from tapegrad.frontend.functions.matrices.decompositions import by_lower_triangle
from tapegrad.frontend.functions.matrices.matrices import (
    Systems,
    as_inexact,
    count_of,
    exchanged,
    inverse,
    like_vectors,
    lu_factors,
    pivots,
    prepared,
    record,
    rules_of_systems,
    solved,
    solved_at_once,
    square,
    system_of,
    systems,
    transposed,
    triangle_solved,
    with_stack,
)
from tapegrad.frontend.functions.matrices.triangles import cho_factor, cho_solve
from tapegrad.frontend.functions.products.linalg import matmul
from tapegrad.frontend.functions.shapes.diagonals import tril, triu
from tapegrad.frontend.recording.record_structural import as_numbers, in_common_dtype
from tapegrad.frontend.recording.rules import Step, Value, state_rules
from tapegrad.frontend.recording.shape import broadcast_to, in_c_order, moveaxis, reshape
from tapegrad.frontend.tensor.tensor import Tensor, from_array
from tapegrad.ops.structural.matrices import ExchangeParams, SquareParams

# The matrix that is read under an assumed structure, by the operand and the triangle that is given.
_READ: dict[str, Callable[[Tensor, bool], Tensor]] = {
    **dict.fromkeys(("gen", "general", "banded"), lambda a, lower: a),
    **dict.fromkeys(
        ("sym", "symmetric", "her", "hermitian"),
        lambda a, lower: by_lower_triangle(a if lower else transposed(a), "tapegrad.linalg.solve"),
    ),
    "diagonal": lambda a, lower: triu(tril(a)),
    "tridiagonal": lambda a, lower: triu(tril(a, 1), -1),
    "upper triangular": lambda a, lower: triu(a),
    "lower triangular": lambda a, lower: tril(a),
}
_POSITIVE = ("pos", "positive definite")


def solve(
    a: Any, b: Any, *, lower: bool = False, assume_a: str | None = None, transposed: bool = False
) -> Tensor:
    """Solve systems of linear equations, ``a @ x == b``.

    Parameters
    ----------
    a : Tensor or array_like, shape (..., m, m)
        Coefficients.
    b : Tensor or array_like, shape (m,) or (..., m, k)
        Right sides. What has one dimension is a vector, all else a stack of matrices. Leading dimensions broadcast.
    lower : bool, default False
        Read the lower triangle of a matrix that is assumed to be symmetric.
    assume_a : str, optional
        Structure for which a part of the matrix is read, by SciPy's names: 'gen', 'sym', 'her', 'pos', 'diagonal',
        'tridiagonal', 'banded', 'upper triangular' or 'lower triangular'. By default all of it is read.
    transposed : bool, default False
        Solve ``a.T @ x == b`` instead.

    Returns
    -------
    Tensor, shape (..., m) or (..., m, k)
        The solutions.

    Raises
    ------
    LinAlgError
        If a matrix is singular or not square, or with ``assume_a='pos'`` not positive definite.
    ValueError
        If the shapes do not fit, or there is no such structure.

    Notes
    -----
    The matrix is factored once. The reverse sweep solves with the transposed factors: ``b_bar = solve(a.T, x_bar)``
    and ``a_bar = -outer(b_bar, x)`` [1]_.

    References
    ----------
    .. [1] M. B. Giles, Collected matrix derivative results for forward and reverse mode algorithmic differentiation,
       2008.

    Examples
    --------
    >>> import tapegrad as tg
    >>> a = tg.tensor([[2.0, 0.0], [1.0, 4.0]])
    >>> x = tg.linalg.solve(a, [2.0, 9.0])
    >>> x
    Tensor([1., 2.])
    >>> x.sum().backward()
    >>> a.grad
    array([[-0.375, -0.75 ],
           [-0.25 , -0.5  ]])
    """
    if assume_a is not None or transposed:
        return _solved_by_structure(a, b, (assume_a or "gen", lower, transposed))
    name = "numpy.linalg.solve"
    right = as_numbers(b, name)
    at_once = solved_at_once(a, right, name)
    if at_once is not None:
        return at_once
    system, side, is_turned = prepared(a, right, name)
    return like_vectors(solved(system, lu_factors(system.a, name), is_turned, name), side)


def _solved_by_structure(a: Any, b: Any, structure: tuple[str, bool, bool]) -> Tensor:
    kind, lower, is_turned = structure
    name = "tapegrad.linalg.solve"
    matrix = square(a, name)
    if kind in _POSITIVE:
        return cho_solve(cho_factor(matrix, lower), b)
    if kind not in _READ:
        raise ValueError(
            f"{name}: assume_a is one of {', '.join(map(repr, (*_READ, *_POSITIVE)))}, not {kind!r}"
        )
    read = _READ[kind](matrix, lower)
    return solve(transposed(read) if is_turned else read, b)


def inv(a: Any) -> Tensor:
    """Compute the inverses of matrices.

    Parameters
    ----------
    a : Tensor or array_like, shape (..., m, m)
        Matrices.

    Returns
    -------
    Tensor, shape (..., m, m)
        The inverses. To multiply by one, `solve` takes less time and keeps more digits.

    Raises
    ------
    LinAlgError
        If a matrix is singular or not square.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.inv(tg.tensor([[2.0, 0.0], [1.0, 4.0]]))
    Tensor([[ 0.5  ,  0.   ],
            [-0.125,  0.25 ]])
    """
    return inverse(a, "numpy.linalg.inv")


def tensorinv(a: Any, ind: int = 2) -> Tensor:
    """Compute the inverse of a Tensor that is seen as a matrix.

    Parameters
    ----------
    a : Tensor or array_like
        The product of its first `ind` extents is that of the others.
    ind : int, default 2
        Number of leading dimensions that form the rows.

    Returns
    -------
    Tensor, shape ``a.shape[ind:] + a.shape[:ind]``
        ``tensordot(tensorinv(a, ind), a, ind)`` is the identity.

    Raises
    ------
    LinAlgError
        If the matrix is singular or not square.
    ValueError
        If `ind` is not positive.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.tensorinv(tg.reshape(tg.eye(6), (2, 3, 6)), ind=2).shape
    (6, 2, 3)
    """
    x, name = as_numbers(a, "numpy.linalg.tensorinv"), "numpy.linalg.tensorinv"
    if ind <= 0:
        raise ValueError(f"{name}: ind must be positive, not {ind}")
    rows = math.prod(x.shape[:ind])
    matrix = square(reshape(x, (rows, x.size // max(rows, 1))), name)
    return reshape(inverse(matrix, name), x.shape[ind:] + x.shape[:ind])


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Tensor:
    """Solve ``tensordot(a, x, x.ndim) == b``.

    Parameters
    ----------
    a : Tensor or array_like, shape ``b.shape + x.shape``
        Coefficients; as many equations as unknowns.
    b : Tensor or array_like
        The right side.
    axes : tuple of int, optional
        Axes of `a` that are moved to the end first.

    Returns
    -------
    Tensor
        The solution.

    Raises
    ------
    LinAlgError
        If there are not as many equations as unknowns, or if they have no unique solution.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.tensorsolve(tg.reshape(tg.eye(4) * 2.0, (2, 2, 4)), tg.ones((2, 2)))
    Tensor([0.5, 0.5, 0.5, 0.5])
    """
    name = "numpy.linalg.tensorsolve"
    matrix, side = in_common_dtype(as_inexact(a, name), as_inexact(b, name))
    if axes is not None:
        last = (axes,) if hasattr(axes, "__index__") else tuple(axes)
        matrix = moveaxis(matrix, last, range(matrix.ndim - len(last), matrix.ndim))
    shape = matrix.shape[side.ndim :]
    unknowns = math.prod(shape)
    if matrix.size != unknowns**2 or side.size != unknowns:
        raise np.linalg.LinAlgError(
            f"{name}: shapes {matrix.shape} and {side.shape} do not form a square system"
        )
    return reshape(solve(reshape(matrix, (unknowns, unknowns)), reshape(side, unknowns)), shape)


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Tensor, Any]:
    """Compute LU factors with row exchanges, in the form that `lu_solve` takes.

    To solve with one matrix, `solve` takes fewer instructions.

    Parameters
    ----------
    a : Tensor or array_like, shape (..., m, m)
        Matrices.
    overwrite_a : bool, default False
        Of no effect.
    check_finite : bool, default True
        Of no effect: nothing is checked.

    Returns
    -------
    lu : Tensor, shape (..., m, m)
        The upper factor, and below the diagonal the lower one, whose diagonal is 1.
    piv : numpy.ndarray of int, shape (..., m)
        Row i was exchanged with row ``piv[i]``. While a function is being recorded, a Tensor of integers.

    Raises
    ------
    LinAlgError
        If the matrices are not square; and in a derivative, if one is singular.

    References
    ----------
    S. F. Walter and L. Lehmann, Algorithmic differentiation of linear algebra functions with application in optimum
    experimental design, 2010.

    Examples
    --------
    >>> import tapegrad as tg
    >>> factors = tg.linalg.lu_factor(tg.tensor([[1.0, 4.0], [2.0, 0.0]]))
    >>> factors
    (Tensor([[2. , 0. ],
            [0.5, 4. ]]), array([1, 1]))
    >>> tg.linalg.lu_solve(factors, [9.0, 2.0])
    Tensor([1., 2.])
    """
    return _packed_factors(a, "tapegrad.linalg.lu_factor")


def _packed_factors(a: Any, name: str) -> tuple[Tensor, Any]:
    x = in_c_order(square(a, name))
    factors = lu_factors(x, name)
    packed = record("lu_triangles", [x, factors], x.shape, SquareParams(count_of(x), x.shape[-1]), name)
    piv = pivots(factors, x.shape[-1], name)
    return packed, piv if piv._recorded() else piv.data


def lu(
    a: Any,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> tuple[Tensor, ...]:
    """Compute LU factors with row exchanges: ``a == p @ l @ u``.

    Parameters
    ----------
    a : Tensor or array_like, shape (..., m, m)
        Matrices.
    permute_l : bool, default False
        Return ``p @ l`` in place of both.
    overwrite_a : bool, default False
        Of no effect.
    check_finite : bool, default True
        Of no effect: nothing is checked.
    p_indices : bool, default False
        Not supported.

    Returns
    -------
    p : Tensor, shape (..., m, m)
        Permutations, constants; not returned with `permute_l`.
    l : Tensor, shape (..., m, m)
        Lower triangles with a diagonal of ones, or ``p @ l``.
    u : Tensor, shape (..., m, m)
        Upper triangles.

    Raises
    ------
    LinAlgError
        If the matrices are not square; and in a derivative, if one is singular.
    UnsupportedError
        If `p_indices` is true.

    Examples
    --------
    >>> import tapegrad as tg
    >>> p, l, u = tg.linalg.lu(tg.tensor([[1.0, 4.0], [2.0, 0.0]]))
    >>> l, u
    (Tensor([[1. , 0. ],
            [0.5, 1. ]]), Tensor([[2., 0.],
            [0., 4.]]))
    """
    name = "tapegrad.linalg.lu"
    if p_indices:
        raise UnsupportedError(
            f"{name}: p_indices=True is not supported; compute it from p by tapegrad.argmax(p, -1)"
        )
    packed, piv = _packed_factors(a, "tapegrad.linalg.lu")
    one = from_array(np.eye(packed.shape[-1], dtype=part_dtype(packed.dtype)), constant=True)
    system = systems(packed, with_stack(one, packed.shape[:-2]), name)
    rows = _rows(piv, system, name)
    lower, upper = tril(packed, -1) + one, triu(packed)
    if permute_l:
        return _exchanged(lower, rows, system, True, name), upper
    return _exchanged(system.b, rows, system, True, name), lower, upper


def lu_solve(
    lu_and_piv: tuple[Any, Any], b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Tensor:
    """Solve systems of linear equations by the LU factors of their matrices.

    Parameters
    ----------
    lu_and_piv : tuple of (Tensor or array_like, array_like of int)
        The factors and row exchanges, as `lu_factor` returns them.
    b : Tensor or array_like, shape (m,) or (..., m, k)
        Right sides.
    trans : {0, 1, 2}, default 0
        Whether to solve ``a.T @ x == b`` (1) or ``a.conj().T @ x == b`` (2) instead.
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
        If a matrix is singular.
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> import tapegrad as tg
    >>> factors = tg.linalg.lu_factor(tg.tensor([[1.0, 4.0], [2.0, 0.0]]))
    >>> tg.linalg.lu_solve(factors, [9.0, 2.0], trans=1)
    Tensor([0.5 , 4.25])
    """
    name = "tapegrad.linalg.lu_solve"
    if trans not in (0, 1, 2):
        raise ValueError(f"{name}: trans is 0, 1 or 2, not {trans!r}")
    lu, side = in_common_dtype(square(lu_and_piv[0], name), as_numbers(b, name))
    system = systems(lu, side, name)
    rows = _rows(lu_and_piv[1], system, name)
    own, x = in_c_order(conjugate(system.a) if trans == 2 else system.a), system.b
    for lower in (False, True) if trans else (True, False):
        if lower and not trans:
            x = _exchanged(x, rows, system, False, name)
        step = system._replace(a=own, b=in_c_order(x))
        x = triangle_solved(step, bool(trans), lower, lower, name)
    return like_vectors(_exchanged(x, rows, system, True, name) if trans else x, side)


def _rows(piv: Any, system: Systems, name: str) -> Tensor:
    """Return row exchanges as integers, one list or one for each matrix."""
    rows = piv if isinstance(piv, Tensor) else from_array(np.asarray(piv, np.int64), constant=True)
    shape = (*system.a.shape[:-2], system.n)
    if rows.shape == shape:
        return rows
    if rows.shape != shape[-rows.ndim :]:
        raise ValueError(
            f"{name}: the factors have shape {system.a.shape}, and the row exchanges {rows.shape}"
        )
    return broadcast_to(rows, shape)


def _exchanged(x: Tensor, rows: Tensor, system: Systems, back: bool, name: str) -> Tensor:
    params = ExchangeParams(system.matrices, system.n, system.k, int(system.each), int(back))
    return exchanged(x, rows, params, name)


LINALG = {"solve": solve, "inv": inv, "tensorinv": tensorinv, "tensorsolve": tensorsolve}


# --- derivatives -----------------------------------------------------------------------------------------------


def _lu_solved(step: Step, b: Tensor, transpose: int) -> Tensor:
    return solved(system_of(step, b), step.x(2), bool(transpose), "solve")


state_rules("lu_solve", *rules_of_systems(_lu_solved))


def _inv_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    y = adjoint(step.y)
    return {0: -matmul(matmul(y, step.dense(y_bar, -1)), y)}


def _inv_forward(step: Step, x_dot: Value) -> Value:
    return -matmul(matmul(step.y, step.dense(x_dot, 0)), step.y)


state_rules("inv", _inv_reverse, _inv_forward)


def _rows_exchanged(step: Step, x: Tensor, back: int) -> Tensor:
    p = step.params
    rows = pivots(step.x(1), p.n, "lu_factor")
    return exchanged(x, rows, ExchangeParams(p.matrices, p.n, p.n, 1, back), "lu_factor")


def _left_divided(y: Tensor, x: Tensor, transpose: bool, lower: bool) -> Tensor:
    """Solve with one of the triangles of LU factors; the lower one has a unit diagonal."""
    n = y.shape[-1]
    system = Systems(in_c_order(y), in_c_order(x), count_of(y), n, n, True)
    return triangle_solved(system, transpose, lower, lower, "lu_factor")


def _triangles(y: Tensor) -> tuple[Tensor, Tensor]:
    below = tril(y, -1)
    return below + np.eye(y.shape[-1], dtype=y.dtype), y - below


def _lu_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    y, y_bar = step.y, conjugate(step.dense(y_bar, -1))
    lower, upper = _triangles(y)
    g = tril(matmul(transposed(lower), tril(y_bar, -1)), -1) + triu(matmul(triu(y_bar), transposed(upper)))
    left = _left_divided(y, g, True, True)
    own = transposed(_left_divided(y, transposed(left), False, False))
    return {0: conjugate(_rows_exchanged(step, own, 1))}


def _lu_forward(step: Step, x_dot: Value, *_: None) -> Value:
    y = step.y
    lower, upper = _triangles(y)
    left = _left_divided(y, _rows_exchanged(step, step.dense(x_dot, 0), 0), False, True)
    g = transposed(_left_divided(y, transposed(left), True, False))
    return matmul(lower, tril(g, -1)) + matmul(triu(g), upper)


state_rules("lu_triangles", _lu_reverse, _lu_forward)
