"""The derivatives of ops of matrices as expressions on Tensors.

The formulas are those of the kernels: Giles 2008 ("Collected matrix derivative results") for systems, inverses and
determinants, Murray 2016 ("Differentiation of the Cholesky decomposition").
"""

import functools
import operator
from collections.abc import Callable

import numpy as np

from tapegrad.autodiff.accumulator import Value
from tapegrad.autodiff.rules.step import Step
from tapegrad.autodiff.rules.triangles import half_of_triangle
from tapegrad.frontend.functions.matrices.matrices import (
    Systems,
    count_of,
    exchanged,
    inverse,
    of_squares,
    pivots,
    solved,
    sylvester,
    transposed,
    triangle_solved,
)
from tapegrad.frontend.functions.products.linalg import matmul
from tapegrad.frontend.functions.reductions import reductions
from tapegrad.frontend.functions.shapes import joining
from tapegrad.frontend.functions.shapes.diagonals import tril, triu
from tapegrad.frontend.recording.record import apply
from tapegrad.frontend.recording.shape import in_c_order, reshape
from tapegrad.frontend.tensor.tensor import Tensor, from_array
from tapegrad.ops import CODES
from tapegrad.ops.params import ExchangeParams

_MASKED_MULTIPLY = CODES["masked_multiply"]


def _total(terms: list[Tensor]) -> Tensor:
    return functools.reduce(operator.add, terms)


def _each(factors: Tensor) -> Tensor:
    """Return one number for each matrix in a shape that broadcasts against matrices."""
    return reshape(factors, (*factors.shape, 1, 1))


# --- systems of equations --------------------------------------------------------------------------------------


def _columns(x: Tensor) -> Tensor:
    """Return right sides or solutions as matrices."""
    return reshape(x, (*x.shape, 1)) if x.ndim == 1 else x


def _outer(left: Tensor, right: Tensor, transpose: int) -> Tensor:
    return matmul(right, transposed(left)) if transpose else matmul(left, transposed(right))


def _system(step: Step, b: Tensor) -> Systems:
    p = step.params
    return Systems(step.x(0), in_c_order(b), p.matrices, p.n, p.k, bool(p.stride))


def _lu_solved(step: Step, b: Tensor, transpose: int) -> Tensor:
    return solved(_system(step, b), step.x(2), bool(transpose), "solve")


def _triangle_solved(step: Step, b: Tensor, transpose: int) -> Tensor:
    p = step.params
    return triangle_solved(_system(step, b), bool(transpose), bool(p.lower), bool(p.unit), "solve_triangular")


def _triangle(step: Step, matrices: Tensor) -> Tensor:
    """Return the part of matrices that a system with triangles reads."""
    p = step.params
    ones = np.ones((p.n, p.n), matrices.dtype)
    read = np.tril(ones, -p.unit) if p.lower else np.triu(ones, p.unit)
    return apply(_MASKED_MULTIPLY, matrices, read)


def _as_they_are(step: Step, matrices: Tensor) -> Tensor:
    return matrices


Solution = Callable[[Step, Tensor, int], Tensor]
Part = Callable[[Step, Tensor], Tensor]


def _of_systems(
    solution: Solution, part: Part
) -> tuple[Callable[..., dict[int, Value]], Callable[..., Value]]:
    """Make the rules of systems that read a part of their matrices."""

    def reverse(step: Step, y_bar: Value) -> dict[int, Value]:
        transpose = step.params.transpose
        b_bar = solution(step, step.dense(y_bar, -1), 1 - transpose)
        bars: dict[int, Value] = {1: b_bar} if step.asks(1) else {}
        if step.asks(0):
            bars[0] = part(step, -_outer(_columns(b_bar), _columns(step.y), transpose))
        return bars

    def forward(step: Step, a_dot: Value | None, b_dot: Value | None, *_: None) -> Value:
        terms = [] if b_dot is None else [step.dense(b_dot, 1)]
        if a_dot is not None:
            matrices = part(step, step.dense(a_dot, 0))
            moved = matmul(transposed(matrices) if step.params.transpose else matrices, _columns(step.y))
            terms.append(-reshape(moved, step.y.shape))
        return solution(step, _total(terms), step.params.transpose)

    return reverse, forward


# --- inverses and determinants ---------------------------------------------------------------------------------


def _inv_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    y = transposed(step.y)
    return {0: -matmul(matmul(y, step.dense(y_bar, -1)), y)}


def _inv_forward(step: Step, x_dot: Value) -> Value:
    return -matmul(matmul(step.y, step.dense(x_dot, 0)), step.y)


def _slogdet_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    """Return the cotangent through the logarithm; the sign has no derivative."""
    y_bar = step.dense(y_bar, -1)[1]
    return {0: apply(_MASKED_MULTIPLY, transposed(inverse(step.x(0), "slogdet")), _each(y_bar))}


def _slogdet_forward(step: Step, x_dot: Value, *_: None) -> Value:
    product = transposed(inverse(step.x(0), "slogdet")) * step.dense(x_dot, 0)
    along = reductions.sum(product, (-1, -2))
    zeros = from_array(np.zeros(along.shape, along.dtype), constant=True)
    return joining.stack([zeros, along])


# --- Cholesky factors ------------------------------------------------------------------------------------------


def _by_factor(factor: Tensor, x: Tensor, transpose: bool) -> Tensor:
    """Solve with a lower factor, or with the transposed one."""
    n = factor.shape[-1]
    system = Systems(factor, in_c_order(x), factor.size // max(n * n, 1), n, n, True)
    return triangle_solved(system, transpose, True, False, "cholesky")


def _cholesky_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    factor = step.y
    inner = half_of_triangle(matmul(transposed(factor), tril(step.dense(y_bar, -1))), True)
    left = _by_factor(factor, inner + transposed(inner), True)
    return {0: half_of_triangle(_by_factor(factor, transposed(left), True), True)}


def _cholesky_forward(step: Step, x_dot: Value) -> Value:
    factor, half = step.y, half_of_triangle(step.dense(x_dot, 0), True)
    left = _by_factor(factor, half + transposed(half), False)
    return matmul(factor, half_of_triangle(_by_factor(factor, transposed(left), False), True))


# --- LU factors ------------------------------------------------------------------------------------------------


def _exchanged(step: Step, x: Tensor, back: int) -> Tensor:
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
    y, y_bar = step.y, step.dense(y_bar, -1)
    lower, upper = _triangles(y)
    g = tril(matmul(transposed(lower), tril(y_bar, -1)), -1) + triu(matmul(triu(y_bar), transposed(upper)))
    left = _left_divided(y, g, True, True)
    return {0: _exchanged(step, transposed(_left_divided(y, transposed(left), False, False)), 1)}


def _lu_forward(step: Step, x_dot: Value, *_: None) -> Value:
    y = step.y
    lower, upper = _triangles(y)
    left = _left_divided(y, _exchanged(step, step.dense(x_dot, 0), 0), False, True)
    g = transposed(_left_divided(y, transposed(left), True, False))
    return matmul(lower, tril(g, -1)) + matmul(triu(g), upper)


# --- functions of matrices -------------------------------------------------------------------------------------


def _expm_along(x: Tensor, direction: Tensor) -> Tensor:
    """Return the derivative of an exponential along a direction: a block of the exponential of a larger matrix."""
    n = x.shape[-1]
    zeros = from_array(np.zeros(x.shape, x.dtype), constant=True)
    top, bottom = joining.concatenate([x, direction], -1), joining.concatenate([zeros, x], -1)
    return of_squares("expm", joining.concatenate([top, bottom], -2), "expm")[..., :n, n:]


def _expm_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    return {0: _expm_along(transposed(step.x(0)), step.dense(y_bar, -1))}


def _expm_forward(step: Step, x_dot: Value) -> Value:
    return _expm_along(step.x(0), step.dense(x_dot, 0))


def _sqrtm_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    y = transposed(step.y)
    return {0: sylvester(y, y, step.dense(y_bar, -1), "sqrtm")}


def _sqrtm_forward(step: Step, x_dot: Value) -> Value:
    return sylvester(step.y, step.y, step.dense(x_dot, 0), "sqrtm")


def _sylvester_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    q_bar = sylvester(transposed(step.x(0)), transposed(step.x(1)), step.dense(y_bar, -1), "solve_sylvester")
    bars: dict[int, Value] = {2: q_bar} if step.asks(2) else {}
    if step.asks(0):
        bars[0] = -matmul(q_bar, transposed(step.y))
    if step.asks(1):
        bars[1] = -matmul(transposed(step.y), q_bar)
    return bars


def _sylvester_forward(step: Step, a_dot: Value | None, b_dot: Value | None, q_dot: Value | None) -> Value:
    terms = [] if q_dot is None else [step.dense(q_dot, 2)]
    if a_dot is not None:
        terms.append(-matmul(step.dense(a_dot, 0), step.y))
    if b_dot is not None:
        terms.append(-matmul(step.y, step.dense(b_dot, 1)))
    return sylvester(step.x(0), step.x(1), _total(terms), "solve_sylvester")


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


RULES: dict[str, tuple[Callable[..., dict[int, Value]], Callable[..., Value]]] = {
    "lu_solve": _of_systems(_lu_solved, _as_they_are),
    "solve_triangular": _of_systems(_triangle_solved, _triangle),
    "inv": (_inv_reverse, _inv_forward),
    "slogdet": (_slogdet_reverse, _slogdet_forward),
    "cholesky": (_cholesky_reverse, _cholesky_forward),
    "lu_triangles": (_lu_reverse, _lu_forward),
    "expm": (_expm_reverse, _expm_forward),
    "sqrtm": (_sqrtm_reverse, _sqrtm_forward),
    "sylvester": (_sylvester_reverse, _sylvester_forward),
    "pinv": (_pinv_reverse, _pinv_forward),
}
