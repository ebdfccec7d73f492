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

# --- symmetric matrices -----------------------------------------------------------------------------------------------


def _eigen(step: Step) -> tuple[Tensor, Tensor, Ties]:
    """Return eigenvalues, eigenvectors as rows, and ties. Higher derivatives differentiate the eigenvectors too."""
    p = step.params
    packed = step.y if p.vectors else eigen_packed(step.x(0), bool(p.lower), True, "eigh")
    values, rows = part_of(packed, 0, (p.n,)), part_of(packed, p.n, (p.n, p.n))
    with no_grad():
        ties = Ties(unary(COPY, values), p.n)
    return values, rows, ties


def _eigh_reverse(step: Step, y_bar: Value) -> dict[int, Value]:
    p, bar = step.params, step.dense(y_bar, -1)
    values, rows, ties = _eigen(step)
    values_bar, rows_bar = part_of(bar, 0, (p.n,)), part_of(bar, p.n, (p.n, p.n))
    m = matmul(rows, transposed(rows_bar))
    if p.vectors:
        with no_grad():
            excess = excess_of_pairs(values_bar, m, ties)
        values_bar = check_determined(values_bar, excess)
    else:
        values_bar = ties.shared(values_bar)
    gaps = row(values) - column(values)
    g = (m - transposed(m)) * ties.inverse(2.0 * gaps, ties.tied) + diagonal_matrix(values_bar)
    return {0: 2.0 * half_of_triangle(matmul(matmul(transposed(rows), g), rows), bool(p.lower))}


def _eigh_forward(step: Step, x_dot: Value) -> Value:
    p, half = step.params, half_of_triangle(step.dense(x_dot, 0), bool(step.params.lower))
    values, rows, ties = _eigen(step)
    m = matmul(matmul(rows, half + transposed(half)), transposed(rows))
    values_dot = diagonal(m, 0, -2, -1)
    if p.vectors:
        with no_grad():
            mixed = maximum(absolute(m), absolute(row(values_dot) - column(values_dot)))
            excess = ties.others * (mixed - ties.slack * extent_of(m))
        values_dot = check_determined(values_dot, excess)
    else:
        values_dot = ties.shared(values_dot)
    gaps = column(values) - row(values)
    return joined([values_dot, matmul(m * ties.inverse(gaps, ties.tied), rows)])


# --- other matrices --------------------------------------------------------------------------------------------


def _general(step: Step) -> tuple[Tensor, Tensor, Ties]:
    """Return eigenvalues, eigenvectors as rows, and ties. Higher derivatives differentiate the eigenvectors too."""
    p = step.params
    packed = step.y if p.vectors else general_packed(step.x(0), True, "eig")
    values, rows = part_of(packed, 0, (p.n,)), part_of(packed, p.n, (p.n, p.n))
    with no_grad():
        ties = Ties(unary(COPY, values), p.n)
    return values, rows, ties


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
    values_bar, rows_bar = part_of(bar, 0, (p.n,)), part_of(bar, p.n, (p.n, p.n))
    m = matmul(rows, transposed(rows_bar))
    m = m - matmul(rows, transposed(rows)) * row(diagonal(m, 0, -2, -1))
    if p.vectors:
        with no_grad():
            excess = _excess(values_bar, m, ties)
        values_bar = check_determined(values_bar, excess)
    else:
        values_bar = ties.shared(values_bar)
    g = m * ties.inverse(row(values) - column(values), ties.tied) + diagonal_matrix(values_bar)
    return {0: solve(_of_a_basis(rows), matmul(g, rows))}


def _eig_forward(step: Step, x_dot: Value) -> Value:
    p, x_dot = step.params, step.dense(x_dot, 0)
    values, rows, ties = _general(step)
    m = solve(transposed(_of_a_basis(rows)), matmul(x_dot, transposed(rows)))
    values_dot = diagonal(m, 0, -2, -1)
    beside = m * (1 - np.eye(p.n, dtype=x_dot.dtype))
    if p.vectors:
        with no_grad():
            excess = _excess(values_dot, beside, ties)
        values_dot = check_determined(values_dot, excess)
    else:
        values_dot = ties.shared(values_dot)
    c = beside * ties.inverse(row(values) - column(values), ties.tied)
    moved = matmul(transposed(c), rows)
    along = reductions.sum(moved * rows, -1, keepdims=True)
    return joined([values_dot, moved - along * rows])


RULES: dict[str, tuple[Callable[..., dict[int, Value]], Callable[..., Value]]] = {
    "eigh": (_eigh_reverse, _eigh_forward),
    "eig": (_eig_reverse, _eig_forward),
}
