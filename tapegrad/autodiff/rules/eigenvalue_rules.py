"""Derivatives of eigenvalues and eigenvectors, as expressions on Tensors.

The formulas are those of the kernels. Where the kernels find a derivative undetermined, a sweep raises here too.
"""

from collections.abc import Callable

import numpy as np

from tapegrad.autodiff.accumulator import Value
from tapegrad.autodiff.rules.step import Step
from tapegrad.autodiff.rules.ties import (
    Ties,
    absolute,
    check_determined,
    column,
    diagonal_matrix,
    excess_of_pairs,
    extent_of,
    joined,
    maximum,
    row,
)
from tapegrad.autodiff.rules.triangles import half_of_triangle
from tapegrad.frontend.functions.matrices.decompositions import eigen_packed, part_of, svdvals
from tapegrad.frontend.functions.matrices.eigenvalues import general_packed
from tapegrad.frontend.functions.matrices.matrices import transposed
from tapegrad.frontend.functions.matrices.systems import solve
from tapegrad.frontend.functions.products.linalg import matmul
from tapegrad.frontend.functions.reductions import reductions
from tapegrad.frontend.functions.shapes.diagonals import diagonal
from tapegrad.frontend.recording.record import unary
from tapegrad.frontend.tensor.modes import no_grad
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.ops import COPY

Primals = tuple[Tensor, Tensor, Ties]


def _parts(packed: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Return eigenvalues, and eigenvectors as rows."""
    return part_of(packed, 0, (n,)), part_of(packed, n, (n, n))


def _primals(step: Step, with_vectors: Callable[[Tensor], Tensor]) -> Primals:
    """Return eigenvalues, eigenvectors as rows, and ties. Higher derivatives differentiate the eigenvectors too."""
    p = step.params
    values, rows = _parts(step.y if p.vectors else with_vectors(step.x(0)), p.n)
    with no_grad():
        ties = Ties(unary(COPY, values), p.n)
    return values, rows, ties


# --- symmetric matrices -----------------------------------------------------------------------------------------------


def _eigen(step: Step) -> Primals:
    return _primals(step, lambda x: eigen_packed(x, bool(step.params.lower), True, "eigh"))


def _eigh_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    p, bar = step.params, step.dense(y_bar, -1)
    values, rows, ties = _eigen(step)
    values_bar, rows_bar = _parts(bar, p.n)
    m = matmul(rows, transposed(rows_bar))
    values_bar = ties.determined(values_bar, p.vectors, lambda: excess_of_pairs(values_bar, m, ties))
    gaps = row(values) - column(values)
    g = (m - transposed(m)) * ties.inverse(2.0 * gaps, ties.tied) + diagonal_matrix(values_bar)
    return {0: 2.0 * half_of_triangle(matmul(matmul(transposed(rows), g), rows), bool(p.lower))}


def _eigh_forward(step: Step, x_dot: Value) -> Value:
    p, half = step.params, half_of_triangle(step.dense(x_dot, 0), bool(step.params.lower))
    values, rows, ties = _eigen(step)
    m = matmul(matmul(rows, half + transposed(half)), transposed(rows))
    values_dot = diagonal(m, 0, -2, -1)

    def excess() -> Tensor:
        mixed = maximum(absolute(m), absolute(row(values_dot) - column(values_dot)))
        found: Tensor = ties.others * (mixed - ties.slack * extent_of(m))
        return found

    values_dot = ties.determined(values_dot, p.vectors, excess)
    gaps = column(values) - row(values)
    return joined([values_dot, matmul(m * ties.inverse(gaps, ties.tied), rows)])


# --- other matrices --------------------------------------------------------------------------------------------


def _general(step: Step) -> Primals:
    return _primals(step, lambda x: general_packed(x, True, "eig"))


def _excess(values: Tensor, m: Tensor, ties: Ties) -> Tensor:
    """Return the amount by which equal eigenvalues are told apart, for each pair; see `kernels.eig`."""
    apart = absolute(row(values) - column(values)) - ties.slack * extent_of(column(values))
    excess: Tensor = ties.others * maximum(apart, absolute(m) - ties.slack * extent_of(m))
    return excess


def _of_a_basis(rows: Tensor) -> Tensor:
    """Return eigenvectors, checked to be a basis up to rounding."""
    with no_grad():
        s = svdvals(rows)
        slack = 8 * s.shape[-1] * float(np.finfo(s.dtype).eps)
        excess = slack * s[..., :1] - s[..., -1:]
    return check_determined(rows, excess)


def _eig_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    p, bar = step.params, step.dense(y_bar, -1)
    values, rows, ties = _general(step)
    values_bar, rows_bar = _parts(bar, p.n)
    m = matmul(rows, transposed(rows_bar))
    m = m - matmul(rows, transposed(rows)) * row(diagonal(m, 0, -2, -1))
    values_bar = ties.determined(values_bar, p.vectors, lambda: _excess(values_bar, m, ties))
    g = m * ties.inverse(row(values) - column(values), ties.tied) + diagonal_matrix(values_bar)
    return {0: solve(_of_a_basis(rows), matmul(g, rows))}


def _eig_forward(step: Step, x_dot: Value) -> Value:
    p, x_dot = step.params, step.dense(x_dot, 0)
    values, rows, ties = _general(step)
    m = solve(transposed(_of_a_basis(rows)), matmul(x_dot, transposed(rows)))
    values_dot = diagonal(m, 0, -2, -1)
    beside = m * (1 - np.eye(p.n, dtype=x_dot.dtype))
    values_dot = ties.determined(values_dot, p.vectors, lambda: _excess(values_dot, beside, ties))
    c = beside * ties.inverse(row(values) - column(values), ties.tied)
    moved = matmul(transposed(c), rows)
    along = reductions.sum(moved * rows, -1, keepdims=True)
    return joined([values_dot, moved - along * rows])


RULES: dict[str, tuple[Callable[..., dict[int, Value]], Callable[..., Value]]] = {
    "eigh": (_eigh_reverse, _eigh_forward),
    "eig": (_eig_reverse, _eig_forward),
}
