"""The derivatives of ops of matrices as expressions on Tensors.

The formulas are those of the kernels: Giles 2008 ("Collected matrix derivative results") for systems, inverses and
determinants, Murray 2016 ("Differentiation of the Cholesky decomposition").
"""

from collections.abc import Callable

import numpy as np

from tapegrad.autodiff.accumulator import Value
from tapegrad.autodiff.step import Step
from tapegrad.frontend.functions import joining, reductions
from tapegrad.frontend.functions.diagonals import tril
from tapegrad.frontend.functions.linalg import matmul
from tapegrad.frontend.functions.matrices import Systems, inverse, solved, triangle_solved
from tapegrad.frontend.record import apply
from tapegrad.frontend.shape import in_c_order, reshape, swapaxes
from tapegrad.frontend.tensor import Tensor, from_array
from tapegrad.ops import CODES

_MASKED_MULTIPLY = CODES["masked_multiply"]


def _turn(x: Tensor) -> Tensor:
    return swapaxes(x, -1, -2)


def _total(terms: list[Tensor]) -> Tensor:
    return terms[0] if len(terms) == 1 else terms[0] + terms[1]


def _each(factors: Tensor) -> Tensor:
    """Return a number for each matrix in a shape that multiplies matrices."""
    return reshape(factors, (*factors.shape, 1, 1))


# --- systems of equations --------------------------------------------------------------------------------------


def _columns(step: Step, x: Tensor) -> Tensor:
    """Return right sides, or solutions, as matrices."""
    return reshape(x, (*x.shape, 1)) if x.ndim == 1 else x


def _outer(left: Tensor, right: Tensor, transpose: int) -> Tensor:
    return matmul(right, _turn(left)) if transpose else matmul(left, _turn(right))


def _system(step: Step, b: Tensor) -> Systems:
    p = step.params
    return Systems(step.x(0), in_c_order(b), p.count, p.n, p.k, bool(p.stride))


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


def _of_systems(solution: Solution, part: Part) -> tuple[Callable[..., dict[int, Value]], Callable[..., Value]]:
    """Make the rules of systems whose matrices are read in part."""

    def reverse(step: Step, y_bar: Value) -> dict[int, Value]:
        transpose = step.params.transpose
        b_bar = solution(step, step.dense(y_bar, -1), 1 - transpose)
        bars: dict[int, Value] = {1: b_bar} if step.asks(1) else {}
        if step.asks(0):
            bars[0] = part(step, -_outer(_columns(step, b_bar), _columns(step, step.y), transpose))
        return bars

    def forward(step: Step, a_dot: Value | None, b_dot: Value | None, *_: None) -> Value:
        terms = [] if b_dot is None else [step.dense(b_dot, 1)]
        if a_dot is not None:
            matrices = part(step, step.dense(a_dot, 0))
            moved = matmul(_turn(matrices) if step.params.transpose else matrices, _columns(step, step.y))
            terms.append(-reshape(moved, step.y.shape))
        return solution(step, _total(terms), step.params.transpose)

    return reverse, forward


# --- inverses and determinants ---------------------------------------------------------------------------------


def _inv_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    y = _turn(step.y)
    return {0: -matmul(matmul(y, step.dense(y_bar, -1)), y)}


def _inv_forward(step: Step, x_dot: Value) -> Value:
    return -matmul(matmul(step.y, step.dense(x_dot, 0)), step.y)


def _slogdet_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    """The sign has no derivative."""
    y_bar = step.dense(y_bar, -1)[1]
    return {0: apply(_MASKED_MULTIPLY, _turn(inverse(step.x(0), "slogdet")), _each(y_bar))}


def _slogdet_forward(step: Step, x_dot: Value, *_: None) -> Value:
    product = _turn(inverse(step.x(0), "slogdet")) * step.dense(x_dot, 0)
    along = reductions.sum(product, (-1, -2))
    zeros = from_array(np.zeros(along.shape, along.dtype), constant=True)
    return joining.stack([zeros, along])


# --- Cholesky factors ------------------------------------------------------------------------------------------


def _lower_part(x: Tensor) -> Tensor:
    """Return the lower triangle with half of the diagonal."""
    n = x.shape[-1]
    return apply(_MASKED_MULTIPLY, x, (np.tril(np.ones((n, n))) - np.eye(n) / 2).astype(x.dtype))


def _by_factor(factor: Tensor, x: Tensor, transpose: bool) -> Tensor:
    """Solve with a lower factor, or with the transposed one."""
    n = factor.shape[-1]
    system = Systems(factor, in_c_order(x), factor.size // max(n * n, 1), n, n, True)
    return triangle_solved(system, transpose, True, False, "cholesky")


def _cholesky_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    factor = step.y
    inner = _lower_part(matmul(_turn(factor), tril(step.dense(y_bar, -1))))
    symmetric = (inner + _turn(inner)) / 2
    left = _by_factor(factor, symmetric, True)
    return {0: _by_factor(factor, _turn(left), True)}


def _cholesky_forward(step: Step, x_dot: Value) -> Value:
    factor, x_dot = step.y, step.dense(x_dot, 0)
    left = _by_factor(factor, (x_dot + _turn(x_dot)) / 2, False)
    return matmul(factor, _lower_part(_by_factor(factor, _turn(left), False)))


RULES: dict[str, tuple[Callable[..., dict[int, Value]], Callable[..., Value]]] = {
    "lu_solve": _of_systems(_lu_solved, _as_they_are),
    "solve_triangular": _of_systems(_triangle_solved, _triangle),
    "inv": (_inv_reverse, _inv_forward),
    "slogdet": (_slogdet_reverse, _slogdet_forward),
    "cholesky": (_cholesky_reverse, _cholesky_forward),
}
