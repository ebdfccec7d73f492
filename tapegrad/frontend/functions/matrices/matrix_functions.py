"""Exponentials, logarithms, square roots and sines of matrices, and the equations of Sylvester and Lyapunov."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.frontend.conversions.complex_views import adjoint, conjugate
from tapegrad.frontend.functions.matrices.matrices import (
    inverse,
    of_squares,
    square,
    sylvester,
    with_stack,
)
from tapegrad.frontend.functions.matrices.norms import matrix_norm
from tapegrad.frontend.functions.matrices.systems import solve
from tapegrad.frontend.functions.products.linalg import matmul
from tapegrad.frontend.functions.reductions.extremes import max as largest
from tapegrad.frontend.functions.reductions.reductions import sum
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.recording.elementwise import where
from tapegrad.frontend.recording.record_structural import as_numbers, in_common_dtype
from tapegrad.frontend.recording.rules import Step, Value, state_rules, total
from tapegrad.frontend.recording.shape import expand_dims, reshape
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import Tensor, from_array
from tapegrad.frontend.words.derived_docs import like, renamed

_MAX_DIRECT_ROWS = 10  # largest number of rows for which SciPy solves discrete Lyapunov equations directly
_MAX_NORM = 0.25  # largest norm of x for which that is exact in float64
_MAX_ROOTS = 40  # square roots after which a matrix counts as singular


def expm(A: Any) -> Tensor:  # noqa: N803  SciPy's name
    """Compute the exponentials of matrices.

    Parameters
    ----------
    A : Tensor or array_like, shape (..., n, n)
        Matrices.

    Returns
    -------
    Tensor, shape (..., n, n)
        The exponentials.

    Raises
    ------
    LinAlgError
        If the matrices are not square.

    Notes
    -----
    Scaling and squaring with the Pade approximant of degree 13 [1]_. A derivative is a block of the exponential of a
    matrix of twice the size [2]_.

    References
    ----------
    .. [1] N. J. Higham, The scaling and squaring method for the matrix exponential revisited, 2005.
    .. [2] I. Najfeld and T. F. Havel, Derivatives of the matrix exponential and their computation, 1995.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.expm(tg.tensor([[0.0, 1.0], [0.0, 0.0]]))
    Tensor([[1., 1.],
            [0., 1.]])
    """
    return of_squares("expm", A, "tapegrad.linalg.expm")


@like(
    expm,
    ("Matrices.", "Matrices, real ones without negative eigenvalues."),
    ("exponentials.", "square roots."),
    summary="Compute the principal square roots of matrices.",
    raises="""LinAlgError
    If the matrices are not square, if a square root of a real matrix is complex, or if an eigenvalue of 0 is
    repeated. In a derivative, if a matrix is singular.""",
    notes="""\
A negative eigenvalue of a complex matrix is on the branch cut: rounding decides which of its two roots is taken, if the
matrix is not triangular, as in SciPy's function of complex matrices.""",
    references="""\
A. Bjorck and S. Hammarling, A Schur method for the square root of a matrix, 1983; of real matrices N. J. Higham,
Computing real square roots of a real matrix, 1987.""",
    examples=""">>> tg.linalg.sqrtm(tg.tensor([[4.0, 0.0], [0.0, 9.0]]))
Tensor([[2., 0.],
        [0., 3.]])""",
)
def sqrtm(A: Any) -> Tensor:  # noqa: N803  SciPy's name
    return of_squares("sqrtm", A, "tapegrad.linalg.sqrtm")


@like(
    sqrtm,
    ("square roots.", "logarithms."),
    summary="Compute the principal logarithms of matrices.",
    raises="""LinAlgError
    If the matrices are not square, if a logarithm of a real matrix is complex, or if a matrix is singular.""",
    notes="""\
Square roots are taken until the matrices are near the identity, and then a Pade approximant in partial fractions
[1]_. Their distance to the identity is a quotient in which nothing cancels [2]_. A recording guards the number of
roots. Negative eigenvalues of a complex matrix are on the branch cut, as in `sqrtm`.""",
    references="""\
.. [1] N. J. Higham, Evaluating Pade approximants of the matrix logarithm, 2001.
.. [2] A. H. Al-Mohy, A more accurate Briggs method for the logarithm, 2012.""",
    examples=""">>> tg.linalg.logm(tg.linalg.expm(tg.tensor([[0.0, 2.0], [0.0, 0.0]])))
Tensor([[0., 2.],
        [0., 0.]])""",
)
def logm(A: Any) -> Tensor:  # noqa: N803  SciPy's name
    name = "tapegrad.linalg.logm"
    root = square(A, name)
    if root.size == 0:
        return root
    one = np.eye(root.shape[-1], dtype=root.dtype)
    x, scale = root - one, 1.0
    while largest(_norm(x)) > _MAX_NORM:
        if scale == 2.0**_MAX_ROOTS:
            x = _nan_where_singular(x, name)
        else:
            root, scale = of_squares("sqrtm", root, name), 2.0 * scale
            x = solve(root + one, x)  # root - one, in which digits of the root would cancel
    nodes, weights = (each.astype(root.dtype)[:, None, None] for each in _quadrature())
    x = expand_dims(x, -3)
    return (0.5 * scale) * sum(weights * solve(one + nodes * x, x), -3)


def _norm(x: Tensor) -> Tensor:
    """Return the norm of each distance to the identity; 0 for those with nan, which never get near."""
    norms = matrix_norm(x.detach(), ord=1)
    found: Tensor = where(norms == norms, norms, 0.0)
    return found


def _nan_where_singular(x: Tensor, name: str) -> Tensor:
    """Return nan in place of the distances that roots do not make small; raise unless nan is wanted."""
    if not thread.mode.nan_on_failure:
        raise np.linalg.LinAlgError(f"{name}: a matrix is singular")
    factor = where(_norm(x) > _MAX_NORM, np.asarray(np.nan, x.dtype), np.asarray(1, x.dtype))
    return x * reshape(factor, (*factor.shape, 1, 1))


@functools.cache
def _quadrature() -> tuple[np.ndarray, np.ndarray]:
    """Return the Gauss-Legendre nodes in [0, 1] and weights: the Pade approximant of degree 8 of ``log(1 + x)``."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    return 0.5 + 0.5 * nodes, weights


def _even_and_odd(A: Any, sign: float, name: str) -> tuple[Tensor, Tensor]:  # noqa: N803  SciPy's name
    """Return cosines and sines for the sign -1, hyperbolic ones for 1: blocks of one exponential."""
    a = square(A, name)
    n, zero = a.shape[-1], np.zeros(a.shape, a.dtype)
    rows = [concatenate(row, -1) for row in ([zero, sign * a], [a, zero])]
    packed = expm(concatenate(rows, -2))
    return packed[..., :n, :n], packed[..., n:, :n]


def _of_sines(name: str, sign: float, part: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Any], Tensor]:
    """Make a function of cosines and sines, trigonometric or hyperbolic."""

    def function(A: Any) -> Tensor:  # noqa: N803  SciPy's name
        return part(*_even_and_odd(A, sign, f"tapegrad.linalg.{name}"))

    return renamed(function, name)


def _derived(name: str, sign: float, words: str, part: Callable[[Tensor, Tensor], Tensor], entry: str) -> Any:
    example = (
        f">>> tg.linalg.{name}(tg.tensor([[0.0, 1.0], [0.0, 0.0]]))\n"
        f"Tensor([[{entry[0]}., {entry[1]}.],\n        [0., {entry[0]}.]])"
    )
    return like(cosm, ("cosines", words), examples=example)(_of_sines(name, sign, part))


cosm = like(
    expm,
    ("exponentials", "cosines"),
    notes="A block of the exponential of a matrix of twice the size.",
    references="",
    examples=""">>> tg.linalg.cosm(tg.tensor([[0.0, 1.0], [0.0, 0.0]]))
Tensor([[1., 0.],
        [0., 1.]])""",
)(_of_sines("cosm", -1.0, lambda even, odd: even))
sinm = _derived("sinm", -1.0, "sines", lambda even, odd: odd, "01")
tanm = _derived("tanm", -1.0, "tangents", solve, "01")
coshm = _derived("coshm", 1.0, "hyperbolic cosines", lambda even, odd: even, "10")
sinhm = _derived("sinhm", 1.0, "hyperbolic sines", lambda even, odd: odd, "01")
tanhm = _derived("tanhm", 1.0, "hyperbolic tangents", solve, "01")


def solve_sylvester(a: Any, b: Any, q: Any) -> Tensor:
    """Solve Sylvester equations, ``a @ x + x @ b == q``.

    Parameters
    ----------
    a : Tensor or array_like, shape (..., m, m)
        Coefficients on the left.
    b : Tensor or array_like, shape (..., n, n)
        Coefficients on the right.
    q : Tensor or array_like, shape (..., m, n)
        Right sides. Leading dimensions broadcast.

    Returns
    -------
    Tensor, shape (..., m, n)
        The solutions.

    Raises
    ------
    LinAlgError
        If `a` and ``-b`` have an eigenvalue in common, or are not square.
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> import tapegrad as tg
    >>> a, b, q = tg.tensor([[1.0, 0.0], [0.0, 2.0]]), tg.tensor([[1.0]]), tg.tensor([[4.0], [9.0]])
    >>> tg.linalg.solve_sylvester(a, b, q)
    Tensor([[2.],
            [3.]])
    """
    return _sylvester(a, b, q, "tapegrad.linalg.solve_sylvester")


def _sylvester(a: Any, b: Any, q: Any, name: str) -> Tensor:
    left, right, side = in_common_dtype(square(a, name), square(b, name), as_numbers(q, name))
    if side.ndim < 2 or side.shape[-2:] != (left.shape[-1], right.shape[-1]):
        raise ValueError(
            f"{name}: the matrices have shapes {left.shape} and {right.shape}, and the right side {side.shape}"
        )
    try:
        stack = np.broadcast_shapes(left.shape[:-2], right.shape[:-2], side.shape[:-2])
    except ValueError:
        raise ValueError(
            f"{name}: the leading dimensions of {left.shape}, {right.shape} and {side.shape} do not broadcast"
        ) from None
    return sylvester(with_stack(left, stack), with_stack(right, stack), with_stack(side, stack), name)


def solve_continuous_lyapunov(a: Any, q: Any) -> Tensor:
    """Solve continuous Lyapunov equations, ``a @ x + x @ a.conj().T == q``.

    Parameters
    ----------
    a : Tensor or array_like, shape (..., m, m)
        Coefficients.
    q : Tensor or array_like, shape (..., m, m)
        Right sides.

    Returns
    -------
    Tensor, shape (..., m, m)
        The solutions.

    Raises
    ------
    LinAlgError
        If two eigenvalues of `a`, or one twice, add up to 0.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.solve_continuous_lyapunov(tg.tensor([[2.0]]), [[8.0]])
    Tensor([[2.]])
    """
    x = square(a, "tapegrad.linalg.solve_continuous_lyapunov")
    return _sylvester(x, adjoint(x), q, "tapegrad.linalg.solve_continuous_lyapunov")


def solve_discrete_lyapunov(a: Any, q: Any, method: str | None = None) -> Tensor:
    """Solve discrete Lyapunov equations, ``a @ x @ a.conj().T - x + q == 0``.

    Parameters
    ----------
    a : Tensor or array_like, shape (..., m, m)
        Coefficients.
    q : Tensor or array_like, shape (..., m, m)
        Constant terms.
    method : {'direct', 'bilinear'}, optional
        Whether to solve a linear system of ``m**2`` equations, the default for m below 10, or by a bilinear
        transformation, which needs that no eigenvalue of `a` is -1.

    Returns
    -------
    Tensor, shape (..., m, m)
        The solutions.

    Raises
    ------
    LinAlgError
        If the product of two eigenvalues of `a`, or the square of one, is 1.
    ValueError
        If there is no such method, or the shapes do not fit.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.linalg.solve_discrete_lyapunov(tg.tensor([[0.5]]), [[3.0]])
    Tensor([[4.]])
    """
    name = "tapegrad.linalg.solve_discrete_lyapunov"
    if method not in (None, "direct", "bilinear"):
        raise ValueError(f"{name}: method is 'direct' or 'bilinear', not {method!r}")
    x, side = in_common_dtype(square(a, name), square(q, name))
    if x.shape[-1] != side.shape[-1]:
        raise ValueError(f"{name}: shapes {x.shape} and {side.shape} differ")
    stack = np.broadcast_shapes(x.shape[:-2], side.shape[:-2])
    x, side = with_stack(x, stack), with_stack(side, stack)
    if method == "direct" or (method is None and x.shape[-1] < _MAX_DIRECT_ROWS):
        return _directly(x, side)
    return _by_a_bilinear_transformation(x, side, name)


def _directly(a: Tensor, q: Tensor) -> Tensor:
    """Solve a linear system for all elements of X in C order."""
    n = a.shape[-1]
    first = reshape(a, (*a.shape[:-2], n, 1, n, 1))
    second = reshape(conjugate(a), (*a.shape[:-2], 1, n, 1, n))
    products = reshape(first * second, (*a.shape[:-2], n * n, n * n))
    side = reshape(q, (*q.shape[:-2], n * n, 1))
    return reshape(solve(np.eye(n * n, dtype=a.dtype) - products, side), q.shape)


def _by_a_bilinear_transformation(a: Tensor, q: Tensor, name: str) -> Tensor:
    """Solve a continuous equation: with ``b = (a - 1)(a + 1)^-1``, ``b x + x b^H + 2 (a + 1)^-1 q (a + 1)^-H == 0``."""
    eye = np.eye(a.shape[-1], dtype=a.dtype)
    inverted = inverse(a + eye, name)
    b = matmul(inverted, a - eye)
    side = -2.0 * matmul(matmul(inverted, q), adjoint(inverted))
    return _sylvester(b, adjoint(b), side, name)


# --- derivatives -----------------------------------------------------------------------------------------------


def _expm_along(x: Tensor, direction: Tensor) -> Tensor:
    """Return the derivative of an exponential along a direction: a block of the exponential of a larger matrix."""
    n = x.shape[-1]
    zeros = from_array(np.zeros(x.shape, x.dtype), constant=True)
    top, bottom = concatenate([x, direction], -1), concatenate([zeros, x], -1)
    return of_squares("expm", concatenate([top, bottom], -2), "expm")[..., :n, n:]


def _expm_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    return {0: _expm_along(adjoint(step.x(0)), step.dense(y_bar, -1))}


def _expm_forward(step: Step, x_dot: Value) -> Value:
    return _expm_along(step.x(0), step.dense(x_dot, 0))


state_rules("expm", _expm_reverse, _expm_forward)


def _sqrtm_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    y = adjoint(step.y)
    return {0: sylvester(y, y, step.dense(y_bar, -1), "sqrtm")}


def _sqrtm_forward(step: Step, x_dot: Value) -> Value:
    return sylvester(step.y, step.y, step.dense(x_dot, 0), "sqrtm")


state_rules("sqrtm", _sqrtm_reverse, _sqrtm_forward)


def _sylvester_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    q_bar = sylvester(adjoint(step.x(0)), adjoint(step.x(1)), step.dense(y_bar, -1), "solve_sylvester")
    bars: dict[int, Value] = {2: q_bar} if step.asks(2) else {}
    if step.asks(0):
        bars[0] = -matmul(q_bar, adjoint(step.y))
    if step.asks(1):
        bars[1] = -matmul(adjoint(step.y), q_bar)
    return bars


def _sylvester_forward(step: Step, a_dot: Value | None, b_dot: Value | None, q_dot: Value | None) -> Value:
    terms = [] if q_dot is None else [step.dense(q_dot, 2)]
    if a_dot is not None:
        terms.append(-matmul(step.dense(a_dot, 0), step.y))
    if b_dot is not None:
        terms.append(-matmul(step.y, step.dense(b_dot, 1)))
    return sylvester(step.x(0), step.x(1), total(terms), "solve_sylvester")


state_rules("sylvester", _sylvester_reverse, _sylvester_forward)
