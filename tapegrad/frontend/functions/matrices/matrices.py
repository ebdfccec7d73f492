"""Shared code of functions of matrices: checks of their operands, memory order, instructions."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from tapegrad.engine.sweep.eager import eager_matrices
from tapegrad.engine.tape.tape import DIFFERENTIABLE_KINDS
from tapegrad.frontend.conversions.complex_views import complex_dtype, conjugate
from tapegrad.frontend.functions.products.linalg import matmul
from tapegrad.frontend.functions.reductions.lines import floating
from tapegrad.frontend.recording.record_structural import (
    as_numbers,
    in_common_dtype,
    record_by,
    record_new,
    record_of_squares,
    record_two_by,
)
from tapegrad.frontend.recording.rules import Rules, Step, Value, state_transpose, total
from tapegrad.frontend.recording.shape import broadcast_to, in_c_order, reshape, swapaxes
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.ops import CODES
from tapegrad.ops.structural.matrices import (
    ExchangeParams,
    LuSolveParams,
    PivotParams,
    SquareParams,
    SylvesterParams,
    TriangularParams,
)

Shape = tuple[int, ...]
_FIELD_DTYPE = np.dtype(np.int64)
_LU_SOLVE = CODES["lu_solve"]


def record(
    op: str, operands: list[Tensor], shape: Shape, params: Any, name: str, dtype: Any = None
) -> Tensor:
    """Record an op of matrices. All operands, and the result, are in C order."""
    if thread.mode.nan_on_failure and hasattr(params, "nan_on_failure"):
        params = params._replace(nan_on_failure=1)
    return record_new(CODES[op], operands, shape, params, name, dtype)


def record_packed(op: str, x: Tensor, length: int, params: tuple[int, ...], name: str) -> Tensor:
    """Record an op whose result has one line of this length for each matrix, with its parameters between both ends.

    Where the result of real matrices is complex, so is the operand that is recorded.
    """
    own = (*params, int(thread.mode.nan_on_failure))
    packed = record_by(eager_matrices.record_packed, CODES[op], x, length, own, name)
    if packed is None:
        return record_packed(op, x.astype(complex_dtype(x.dtype)), length, params, name)
    return packed


# --- operands --------------------------------------------------------------------------------------------------


def as_inexact(a: Any, name: str) -> Tensor:
    """Return an operand as floats or complex numbers: integers and booleans become float64."""
    x = as_numbers(a, name)
    return x if x.dtype.kind in DIFFERENTIABLE_KINDS else floating(x, name)


def matrices(a: Any, name: str) -> Tensor:
    """Return an operand as matrices of floats or complex numbers."""
    x = as_inexact(a, name)
    if x.ndim < 2:
        raise LinAlgError(f"{name}: a matrix or a stack of matrices is needed, not shape {x.shape}")
    return x


def square(a: Any, name: str) -> Tensor:
    """Return an operand as square matrices of floats or complex numbers."""
    x = matrices(a, name)
    if x.shape[-1] != x.shape[-2]:
        raise LinAlgError(f"{name}: matrices must be square, not of shape {x.shape}")
    return x


def turned(x: Tensor) -> tuple[Tensor, bool]:
    """Return matrices in C order, and whether they are transposed: the memory of ``a.T`` is that of `a`."""
    flags = x.data_or_traced().flags
    if flags.c_contiguous:
        return x, False
    other = transposed(x)
    return (other, True) if other.data_or_traced().flags.c_contiguous else (in_c_order(x), False)


def transposed(x: Tensor) -> Tensor:
    """Return the transposed matrices, as a view."""
    return swapaxes(x, -1, -2)


def with_stack(x: Tensor, stack: Shape) -> Tensor:
    """Return matrices with the leading dimensions that their own broadcast to."""
    return x if x.shape[:-2] == stack else broadcast_to(x, (*stack, *x.shape[-2:]))


def count_of(x: Tensor) -> int:
    """Return the number of matrices in a stack."""
    return math.prod(x.shape[:-2])


# --- systems of equations --------------------------------------------------------------------------------------


class Systems(NamedTuple):
    """Linear systems: matrices and right sides of matching shapes.

    Attributes
    ----------
    a, b
        The matrices, and the right sides: stacks of matrices, or one vector.
    matrices, n, k
        Numbers of systems, of rows of a matrix, and of columns of a right side.
    each
        Whether each right side has a matrix of its own, and not all of them the same.
    """

    a: Tensor
    b: Tensor
    matrices: int
    n: int
    k: int
    each: bool


def systems(a: Tensor, b: Tensor, name: str) -> Systems:
    """Return linear systems; a right side with one dimension is a vector, any other one a stack of matrices."""
    n = a.shape[-1]
    if b.ndim == 0 or b.shape[-2:][0] != n:
        raise ValueError(f"{name}: the matrix has shape {a.shape}, and the right side {b.shape}")
    if b.ndim == 1:
        if a.ndim == 2:
            return Systems(a, b, 1, n, 1, True)
        b = reshape(b, (n, 1))
    a, b, each = _stacked(a, b, name)
    return Systems(a, b, count_of(b), n, b.shape[-1], each)


def prepared(a: Any, b: Any, name: str) -> tuple[Systems, Tensor, bool]:
    """Return systems in C order, their right side as given, and whether the matrices are stored transposed."""
    matrix, side = in_common_dtype(square(a, name), as_numbers(b, name))
    system = systems(matrix, side, name)
    own, is_turned = turned(system.a)
    return system._replace(a=own, b=in_c_order(system.b)), side, is_turned


def _stacked(a: Tensor, b: Tensor, name: str) -> tuple[Tensor, Tensor, bool]:
    own, others = a.shape[:-2], b.shape[:-2]
    if own == others:
        return a, b, True
    try:
        stack = np.broadcast_shapes(own, others)
    except ValueError:
        raise ValueError(
            f"{name}: the leading dimensions of {a.shape} and {b.shape} do not broadcast"
        ) from None
    b = with_stack(b, stack)
    return (a, b, False) if math.prod(own) == 1 else (with_stack(a, stack), b, True)


def like_vectors(solutions: Tensor, b: Tensor) -> Tensor:
    """Return solutions in the shape of a right side: a vector without the added dimension."""
    return reshape(solutions, solutions.shape[:-1]) if b.ndim == 1 != solutions.ndim else solutions


# --- instructions ----------------------------------------------------------------------------------------------


def lu_fields(n: int, dtype: Any) -> int:
    """Return the size of the LU factors of a matrix and its row exchanges, in 64-bit fields."""
    itemsize: int = np.dtype(dtype).itemsize
    return (n * n * itemsize + 7) // 8 + (4 * n + 7) // 8


def lu_factors(x: Tensor, name: str) -> Tensor:
    """Record the LU factors of square matrices in C order, as 64-bit fields."""
    n = x.shape[-1]
    shape = (*x.shape[:-2], lu_fields(n, x.dtype))
    return record("lu", [x], shape, SquareParams(count_of(x), n), name, _FIELD_DTYPE)


def pivots(factors: Tensor, n: int, name: str) -> Tensor:
    """Record the row that each row was exchanged with, as integers."""
    fields, stack = factors.shape[-1], factors.shape[:-1]
    return record(
        "lu_pivots", [factors], (*stack, n), PivotParams(math.prod(stack), n, fields), name, _FIELD_DTYPE
    )


def exchanged(x: Tensor, rows: Tensor, params: ExchangeParams, name: str) -> Tensor:
    """Record matrices, or a vector, with rows exchanged."""
    x = in_c_order(x)
    return record("exchange_rows", [x, in_c_order(rows)], x.shape, params, name)


def inverse(a: Any, name: str) -> Tensor:
    """Record the inverses of square matrices."""
    return of_squares("inv", a, name)


def solved(system: Systems, factors: Tensor, transpose: bool, name: str) -> Tensor:
    """Record the solutions of systems in C order, by the factors of their matrices or of the transposes."""
    a, b, count, n, k, each = system
    params = LuSolveParams(count, n, k, int(transpose), int(each))
    return record("lu_solve", [a, b, factors], b.shape, params, name)


def solved_at_once(a: Any, b: Tensor, name: str) -> Tensor | None:
    """Record the solution of one system by a call of the engine; `None` if the engine refuses."""
    if type(a) is not Tensor or a._tape is not thread.mode.tape or thread.mode.nan_on_failure:
        return None
    return record_two_by(eager_matrices.record_solution, _LU_SOLVE, a, b, name)


def triangle_solved(system: Systems, transpose: bool, lower: bool, unit: bool, name: str) -> Tensor:
    """Record the solutions of triangular systems in C order, or of the transposed ones."""
    a, b, count, n, k, each = system
    params = TriangularParams(count, n, k, int(transpose), int(each), int(lower), int(unit))
    return record("solve_triangular", [a, b], b.shape, params, name)


def lower_factor(a: Any, name: str) -> Tensor:
    """Record the lower Cholesky factors of matrices, given by their lower triangles."""
    return of_squares("cholesky", a, name)


def of_squares(op: str, a: Any, name: str, numbers: int = 0) -> Tensor:
    """Record a function from square matrices to square matrices or, by their LU factors, to numbers of each.

    Several numbers come before the dimensions of the stack. An operand that the engine refuses is converted.
    """
    code, result = CODES[op], None
    if type(a) is Tensor and a._tape is thread.mode.tape:
        result = record_of_squares(code, a, numbers, name)
    if result is None:
        result = record_of_squares(code, square(a, name), numbers, name)
    assert result is not None
    return result


def sylvester(a: Tensor, b: Tensor, q: Tensor, name: str) -> Tensor:
    """Record the solutions of ``a @ x + x @ b == q``."""
    a, b, q = in_c_order(a), in_c_order(b), in_c_order(q)
    return record("sylvester", [a, b, q], q.shape, SylvesterParams(count_of(q), *q.shape[-2:]), name)


# --- derivatives -----------------------------------------------------------------------------------------------


@state_transpose
def exchanged_back(step: Step, y_bar: Value) -> dict[int, Value]:
    """Transpose an exchange of rows: exchange back."""
    p = step.params
    return {0: exchanged(step.dense(y_bar, -1), step.x(1), p._replace(back=1 - p.back), "exchange_rows")}


def system_of(step: Step, b: Tensor) -> Systems:
    """Return the systems of an instruction with other right sides."""
    p = step.params
    return Systems(step.x(0), in_c_order(b), p.matrices, p.n, p.k, bool(p.stride))


def rules_of_systems(
    solution: Callable[[Step, Tensor, int], Tensor],
    part: Callable[[Step, Tensor], Tensor] = lambda step, x: x,
) -> Rules:
    """Make the rules of systems that read a part of their matrices, by default all of them.

    `solution` returns the solutions for other right sides, of the matrices or of the transposed ones.
    """

    def reverse(step: Step, y_bar: Value) -> dict[int, Value]:
        transpose = step.params.transpose
        b_bar = conjugate(solution(step, conjugate(step.dense(y_bar, -1)), 1 - transpose))
        bars: dict[int, Value] = {1: b_bar} if step.asks(1) else {}
        if step.asks(0):
            bars[0] = part(step, -_outer(columns(b_bar), columns(conjugate(step.y)), transpose))
        return bars

    def forward(step: Step, a_dot: Value | None, b_dot: Value | None, *_: None) -> Value:
        terms = [] if b_dot is None else [step.dense(b_dot, 1)]
        if a_dot is not None:
            own = part(step, step.dense(a_dot, 0))
            moved = matmul(transposed(own) if step.params.transpose else own, columns(step.y))
            terms.append(-reshape(moved, step.y.shape))
        return solution(step, total(terms), step.params.transpose)

    return Rules(reverse, forward)


def columns(x: Tensor) -> Tensor:
    """Return right sides or solutions as matrices."""
    return reshape(x, (*x.shape, 1)) if x.ndim == 1 else x


def _outer(left: Tensor, right: Tensor, transpose: int) -> Tensor:
    return matmul(right, transposed(left)) if transpose else matmul(left, transposed(right))
