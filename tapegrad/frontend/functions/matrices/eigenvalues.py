"""Eigenvalues of square matrices that need not be symmetric."""

from typing import Any, NamedTuple

import numpy as np

from tapegrad.frontend.conversions.complex_views import conjugate, is_complex, part_dtype, real_of
from tapegrad.frontend.functions.matrices.decompositions import columns_of, eigen_parts, part_of, svdvals
from tapegrad.frontend.functions.matrices.matrices import record_packed, square, transposed
from tapegrad.frontend.functions.matrices.systems import solve
from tapegrad.frontend.functions.matrices.ties import (
    Ties,
    absolute,
    check_determined,
    column,
    diagonal_matrix,
    excess_of_phases,
    extent_of,
    joined,
    maximum,
    row,
)
from tapegrad.frontend.functions.products.linalg import matmul
from tapegrad.frontend.functions.reductions.reductions import sum
from tapegrad.frontend.functions.shapes.diagonals import diagonal
from tapegrad.frontend.recording.rules import Step, Value, state_rules
from tapegrad.frontend.tensor.modes import no_grad
from tapegrad.frontend.tensor.tensor import Tensor


class EigResult(NamedTuple):
    """Result of `eig`."""

    eigenvalues: Tensor
    eigenvectors: Tensor


def general_packed(x: Tensor, vectors: bool, name: str) -> Tensor:
    """Record eigenvalues and eigenvectors, packed with the eigenvectors as rows."""
    n = x.shape[-1]
    return record_packed("eig", x, n + n * n, (n, int(vectors)), name)


def eig(a: Any) -> EigResult:
    """Compute the eigenvalues and right eigenvectors of square matrices.

    Parameters
    ----------
    a : Tensor or array_like, shape (..., m, m)
        Matrices.

    Returns
    -------
    eigenvalues : Tensor, shape (..., m)
        In no particular order; complex, unless the matrices and all eigenvalues are real.
    eigenvectors : Tensor, shape (..., m, m)
        Columns of length 1.

    Raises
    ------
    LinAlgError
        If the matrices are not square, or not finite. In a derivative, if eigenvalues are equal and it is not
        determined by what is known there, if the eigenvectors are no basis, or if the function depends on the phases of
        complex ones. In a replay, if the matrices are real, and other than at the recording an eigenvalue is not:
        convert them with ``astype(complex)``, and all results are complex.

    See Also
    --------
    eigh : The same for symmetric matrices, which takes less time and has real eigenvalues only.

    Notes
    -----
    Derivatives are those of [1]_ and [2]_ for vectors of length 1. A vector is determined up to its sign, a complex one
    up to its phase.

    References
    ----------
    .. [1] M. B. Giles, Collected matrix derivative results for forward and reverse mode algorithmic differentiation,
       2008.
    .. [2] C. Boeddeker et al., On the computation of complex-valued gradients with application to statistically optimum
       beamforming, 2017.

    Examples
    --------
    >>> import tapegrad as tg
    >>> eigenvalues, eigenvectors = tg.linalg.eig(tg.tensor([[2.0, 0.0], [1.0, 3.0]]))
    >>> tg.sort(eigenvalues)
    Tensor([2., 3.])
    """
    x = square(a, "numpy.linalg.eig")
    packed, n = general_packed(x, True, "numpy.linalg.eig"), x.shape[-1]
    return EigResult(part_of(packed, 0, (n,)), columns_of(packed, n, n, n))


def eigvals(a: Any) -> Tensor:
    """Compute the eigenvalues of square matrices.

    Parameters
    ----------
    a : Tensor or array_like, shape (..., m, m)
        Matrices.

    Returns
    -------
    Tensor, shape (..., m)
        In no particular order; complex, unless the matrices and all eigenvalues are real.

    Raises
    ------
    LinAlgError
        If the matrices are not square, or not finite. In a derivative, if the eigenvectors are no basis. In a replay,
        if the matrices are real, and other than at the recording an eigenvalue is not: convert them with
        ``astype(complex)``, and all results are complex.

    See Also
    --------
    eigvalsh : The same for symmetric matrices.

    Notes
    -----
    Where eigenvalues are equal, functions that treat them alike have their derivatives. For other functions they share
    theirs equally.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.sort(tg.linalg.eigvals(tg.tensor([[2.0, 0.0], [1.0, 3.0]])))
    Tensor([2., 3.])
    """
    x = square(a, "numpy.linalg.eigvals")
    return part_of(general_packed(x, False, "numpy.linalg.eigvals"), 0, (x.shape[-1],))


LINALG = {"eig": eig, "eigvals": eigvals}


# --- derivatives -----------------------------------------------------------------------------------------------


def _eigen(step: Step) -> tuple[Tensor, Tensor, Ties]:
    """Return the parts of a result. Higher derivatives differentiate the eigenvectors too."""
    p = step.params
    return eigen_parts(step.y if p.vectors else general_packed(step.x(0), True, "eig"), p.n, False)


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
    values, rows, ties = _eigen(step)
    values_bar, rows_bar = part_of(bar, 0, (p.n,)), part_of(bar, p.n, (p.n, p.n))
    m = matmul(conjugate(rows), transposed(rows_bar))
    phases = excess_of_phases(m, [rows_bar], ties) if is_complex(m) else None
    m = m - matmul(conjugate(rows), transposed(rows)) * row(real_of(diagonal(m, 0, -2, -1)))

    def excess() -> Tensor:
        found = _excess(values_bar, m, ties)
        return found if phases is None else maximum(found, phases)

    values_bar = ties.determined(values_bar, p.vectors, excess)
    gaps = conjugate(row(values) - column(values))
    g = m * ties.inverse(gaps, ties.tied) + diagonal_matrix(values_bar)
    own = conjugate(_of_a_basis(rows))
    return {0: solve(own, matmul(g, conjugate(rows)))}


def _eig_forward(step: Step, x_dot: Value) -> Value:
    p, x_dot = step.params, step.dense(x_dot, 0)
    values, rows, ties = _eigen(step)
    m = solve(transposed(_of_a_basis(rows)), matmul(x_dot, transposed(rows)))
    values_dot = diagonal(m, 0, -2, -1)
    beside = m * (1 - np.eye(p.n, dtype=part_dtype(x_dot.dtype)))
    values_dot = ties.determined(values_dot, p.vectors, lambda: _excess(values_dot, beside, ties))
    c = beside * ties.inverse(row(values) - column(values), ties.tied)
    moved = matmul(transposed(c), rows)
    along = sum(real_of(moved * conjugate(rows)), -1, keepdims=True)
    return joined([values_dot, moved - along * rows])


state_rules("eig", _eig_reverse, _eig_forward)
