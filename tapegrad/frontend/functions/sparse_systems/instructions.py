"""Instructions of factored sparse matrices with one plan, and their derivatives on Tensors."""

import ctypes
from collections.abc import Callable

import numpy as np

from tapegrad.engine import kernel_table
from tapegrad.engine.kernels.fronts.factors import ROUTINES, failed_pivot
from tapegrad.engine.kernels.fronts.solutions import half_solutions
from tapegrad.engine.runtime import library_loops
from tapegrad.errors import UnsupportedError
from tapegrad.frontend.functions.reductions.reductions import sum
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.recording.record_structural import record_new
from tapegrad.frontend.recording.rules import (
    Step,
    Value,
    masked_multiply,
    rules_of_product,
    state_rules,
    total,
)
from tapegrad.frontend.recording.shape import in_c_order, reshape
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import Tensor, from_array
from tapegrad.ops import CODES
from tapegrad.ops.structural.sparse_systems import (
    MAX_DIRECTIONS,
    SparseCholeskyParams,
    SparseDerivativeParams,
    SparseLogdetParams,
    SparseOuterParams,
    SparseProductParams,
    SparseSolveParams,
)

_KERNEL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


def factored(entries: Tensor, plan: Tensor, elements: int, name: str) -> Tensor:
    """Record the factored matrix of the entries of a lower triangle."""
    entries = in_c_order(entries)
    count = entries.size
    params = SparseCholeskyParams(count, elements, plan.size, int(thread.mode.nan_on_failure))
    return record_new(CODES["sparse_cholesky"], [entries, plan], (count + elements,), params, name)


def failed_row(plan: np.ndarray, entries: Tensor, elements: int) -> int:
    """Return the row at which a matrix proves not to be positive definite, -1 if it does not in float64."""
    library_loops.ensure(ROUTINES)
    numbers, factor = np.ascontiguousarray(entries.data_or_traced(), np.float64), np.empty(elements)
    return _called(failed_pivot, plan, len(numbers), elements, numbers.ctypes.data, factor.ctypes.data)


def solve_half(plan: np.ndarray, entries: int, factor: np.ndarray, vectors: np.ndarray) -> None:
    """Solve with the transpose of a factor in place, for vectors in the order of the pivots; all float64 in C order."""
    numbers = factor.ctypes.data, vectors.ctypes.data, len(vectors)
    if _called(half_solutions, plan, entries, len(factor), *numbers):
        raise ValueError("the plan of the factor is damaged")


def _called(kernel: Callable[..., int], plan: np.ndarray, *numbers: int) -> int:
    """Call a kernel that takes a plan and, behind its length, sizes and addresses."""
    frame = np.array([plan.ctypes.data, len(plan), *numbers], np.int64)
    called = _KERNEL(kernel_table.address_of(kernel))
    return int(called(frame.ctypes.data, library_loops.table()))


def logdet(matrix: Tensor, plan: Tensor, params: SparseLogdetParams, name: str) -> Tensor:
    """Record the log-determinant of a factored matrix."""
    return record_new(CODES["sparse_logdet"], [matrix, plan], (), params, name)


def gradient(matrix: Tensor, plan: Tensor, params: SparseLogdetParams, name: str) -> Tensor:
    """Record the gradient of the log-determinant by the entries."""
    return record_new(CODES["sparse_gradient"], [matrix, plan], (params.entries,), params, name)


def derivative(
    matrix: Tensor, directions: list[Tensor], plan: Tensor, params: SparseLogdetParams, name: str
) -> Tensor:
    """Record the derivative of the gradient in some directions, entries each."""
    count = len(directions)
    if count > MAX_DIRECTIONS:
        raise UnsupportedError(
            f"{name}: derivatives of the log-determinant of a sparse matrix of order {count + 1} and above"
        )
    along = in_c_order(concatenate([reshape(each, (params.entries,)) for each in directions]))
    own = SparseDerivativeParams(*params, count)
    return record_new(CODES["sparse_derivative"], [matrix, along, plan], (params.entries,), own, name)


def solution(matrix: Tensor, b: Tensor, plan: Tensor, params: SparseSolveParams, name: str) -> Tensor:
    """Record the solutions with a factored matrix."""
    return record_new(CODES["sparse_solve"], [matrix, in_c_order(b), plan], b.shape, params, name)


def product(entries: Tensor, x: Tensor, plan: Tensor, params: SparseProductParams, name: str) -> Tensor:
    """Record the product of the matrix of some entries with columns."""
    operands = [in_c_order(entries), in_c_order(x), plan]
    return record_new(CODES["sparse_product"], operands, x.shape, params, name)


def outer(left: Tensor, right: Tensor, plan: Tensor, params: SparseOuterParams, name: str) -> Tensor:
    """Record the outer product of rows on the pattern, both elements of an entry summed."""
    operands = [in_c_order(left), in_c_order(right), plan]
    return record_new(CODES["sparse_outer"], operands, (params.entries,), params, name)


# --- derivatives -----------------------------------------------------------------------------------------------


def _zeros(count: int, like: Tensor) -> Tensor:
    return from_array(np.zeros(count, like.dtype), constant=True)


def _in_factored(entries: Tensor, elements: int) -> Tensor:
    """Return a cotangent or a tangent of a factored matrix, given that of the entries."""
    return concatenate([entries, _zeros(elements, entries)])


def _cholesky_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    return {0: step.dense(y_bar, -1)[: step.params.entries]}


def _cholesky_forward(step: Step, x_dot: Value, *_: None) -> Value:
    return _in_factored(step.dense(x_dot, 0), step.params.elements)


state_rules("sparse_cholesky", _cholesky_reverse, _cholesky_forward)


def _logdet_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    p = step.params
    own = gradient(step.x(0), step.x(1), p, "sparse_logdet")
    return {0: _in_factored(masked_multiply(own, step.dense(y_bar, -1)), p.elements)}


def _logdet_forward(step: Step, x_dot: Value, *_: None) -> Value:
    p = step.params
    return sum(gradient(step.x(0), step.x(1), p, "sparse_logdet") * step.dense(x_dot, 0)[: p.entries])


state_rules("sparse_logdet", _logdet_reverse, _logdet_forward)


def _gradient_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    p, name = step.params, "sparse_gradient"
    own = derivative(step.x(0), [step.dense(y_bar, -1)], step.x(1), p, name)
    return {0: _in_factored(own, p.elements)}


def _gradient_forward(step: Step, x_dot: Value, *_: None) -> Value:
    p, name = step.params, "sparse_gradient"
    return derivative(step.x(0), [step.dense(x_dot, 0)[: p.entries]], step.x(1), p, name)


state_rules("sparse_gradient", _gradient_reverse, _gradient_forward)


def _directions(step: Step) -> list[Tensor]:
    p = step.params
    along = reshape(step.x(1), (p.directions, p.entries))
    return [along[i] for i in range(p.directions)]


def _derivative_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    p, directions, last = step.params, _directions(step), step.dense(y_bar, -1)
    own, name = SparseLogdetParams(*p[:3]), "sparse_derivative"
    bars: dict[int, Value] = {}
    if step.asks(0):
        found = derivative(step.x(0), [*directions, last], step.x(2), own, name)
        bars[0] = _in_factored(found, p.elements)
    if step.asks(1):
        each = [
            derivative(step.x(0), [*directions[:i], last, *directions[i + 1 :]], step.x(2), own, name)
            for i in range(p.directions)
        ]
        bars[1] = reshape(concatenate(each), step.x(1).shape)
    return bars


def _derivative_forward(step: Step, x_dot: Value | None, s_dot: Value | None, *_: None) -> Value:
    p, directions = step.params, _directions(step)
    own, name, terms = SparseLogdetParams(*p[:3]), "sparse_derivative", []
    if x_dot is not None:
        last = step.dense(x_dot, 0)[: p.entries]
        terms.append(derivative(step.x(0), [*directions, last], step.x(2), own, name))
    if s_dot is not None:
        moved = reshape(step.dense(s_dot, 1), (p.directions, p.entries))
        for i in range(p.directions):
            along = [*directions[:i], moved[i], *directions[i + 1 :]]
            terms.append(derivative(step.x(0), along, step.x(2), own, name))
    return total(terms)


state_rules("sparse_derivative", _derivative_reverse, _derivative_forward)


def _solve_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    p, plan, name = step.params, step.x(2), "sparse_solve"
    b_bar = solution(step.x(0), step.dense(y_bar, -1), plan, p, name)
    bars: dict[int, Value] = {1: b_bar} if step.asks(1) else {}
    if step.asks(0):
        on_pattern = outer(b_bar, step.y, plan, SparseOuterParams(p.entries, p.fields, p.n, p.k), name)
        bars[0] = _in_factored(-on_pattern, p.elements)
    return bars


def _solve_forward(step: Step, a_dot: Value | None, b_dot: Value | None, *_: None) -> Value:
    p, plan, name = step.params, step.x(2), "sparse_solve"
    terms = [] if b_dot is None else [step.dense(b_dot, 1)]
    if a_dot is not None:
        own = SparseProductParams(p.entries, p.fields, p.n, p.k)
        terms.append(-product(step.dense(a_dot, 0)[: p.entries], step.y, plan, own, name))
    return solution(step.x(0), total(terms), plan, p, name)


state_rules("sparse_solve", _solve_reverse, _solve_forward)


def _times(step: Step, entries: Tensor, x: Tensor) -> Tensor:
    return product(entries, x, step.x(2), SparseProductParams(*step.params), "sparse_product")


def _on_pattern(step: Step, left: Tensor, right: Tensor) -> Tensor:
    return outer(left, right, step.x(2), SparseOuterParams(*step.params), "sparse_outer")


_of_product = rules_of_product(_times, _on_pattern, _times)
_of_outer = rules_of_product(
    _on_pattern,
    lambda step, y_bar, right: _times(step, y_bar, right),
    lambda step, left, y_bar: _times(step, y_bar, left),
)
state_rules("sparse_product", _of_product.reverse, lambda step, a, b, *_: _of_product.forward(step, a, b))
state_rules("sparse_outer", _of_outer.reverse, lambda step, a, b, *_: _of_outer.forward(step, a, b))
