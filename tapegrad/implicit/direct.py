"""Systems with the Jacobian of a residual by factors: LU or Cholesky, dense, or sparse where its pattern says so."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapegrad.autodiff.custom.functions import Functions
from tapegrad.autodiff.custom.op import CustomOp
from tapegrad.autodiff.custom.tensor_rules import all_have_forward_rules
from tapegrad.autodiff.sparsity import compressed
from tapegrad.autodiff.sparsity.pattern import rows_of
from tapegrad.errors import DensePatternError
from tapegrad.frontend.functions.matrices.systems import solve
from tapegrad.frontend.functions.matrices.triangles import cho_solve, cholesky
from tapegrad.frontend.functions.reductions.reductions import sum as total
from tapegrad.frontend.functions.shapes.diagonals import diagonal
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.functions.sparse_systems.cholesky import SparseCholesky
from tapegrad.frontend.indexing.indexing import gather
from tapegrad.frontend.recording.elementwise import FUNCTIONS
from tapegrad.frontend.recording.record_structural import as_tensor
from tapegrad.frontend.recording.shape import in_c_order, transpose
from tapegrad.frontend.tensor.modes import errstate
from tapegrad.frontend.words.frames import program_level
from tapegrad.implicit.equation import Residual
from tapegrad.loops.cond import cond
from tapegrad.loops.scan import scanned
from tapegrad.sparse import superlu
from tapegrad.sparse.patterns import MatrixPattern
from tapegrad.transforms.calling.argnums import select
from tapegrad.transforms.jacobians.jacobian import jacobian
from tapegrad.transforms.jvp import jvp
from tapegrad.transforms.nested import NestedCall
from tapegrad.transforms.vjp import vjp

_MAX_UNROLLED = 16  # unknowns whose columns are instructions of their own
_MAX_SCATTERED = 100  # unknowns up to which a sparse Jacobian is factored as a dense one
_SPARSE_SHARE = 0.25  # of the entries that a sparse Jacobian has at most
_isfinite = FUNCTIONS["isfinite"]


@dataclass(frozen=True)
class DirectSystem:
    """Systems with the Jacobian, by its factors.

    Attributes
    ----------
    is_symmetric
        Whether the Jacobian is a Hessian: its Cholesky factor is taken, or the LU factors, with a warning, if it is not
        positive definite.
    """

    is_symmetric: bool = False

    def __call__(
        self, residual: Residual, root: Any, operands: Sequence[Any], right: Any, transposed: bool
    ) -> Any:
        def of_root(root: Any) -> Any:
            return residual(root, *operands)

        turned = transposed and not self.is_symmetric
        if root.shape[0] <= _MAX_UNROLLED:
            return self._dense(jacobian(of_root)(root), right, turned)
        sparse = _sparse_jacobian(of_root, root, self.is_symmetric)
        if sparse is None:
            return self._dense(_jacobian_by_loop(of_root, root), right, turned)
        pattern, entries = sparse
        if root.shape[0] <= _MAX_SCATTERED:
            return self._dense(_dense_of(pattern, entries), right, turned)
        return self._sparse(pattern, entries, right, turned)

    def _dense(self, matrix: Any, right: Any, transposed: bool) -> Any:
        if not self.is_symmetric:
            return solve(transpose(matrix) if transposed else matrix, right)
        with errstate("nan"):
            factor = cholesky(matrix)
            found = cho_solve((factor, True), right)
        is_definite = _isfinite(total(diagonal(factor)))
        return cond(is_definite, lambda: found, lambda: solve(matrix, _with_warning(right, is_definite)))

    def _sparse(self, pattern: Any, entries: Any, right: Any, transposed: bool) -> Any:
        solver = superlu.solver_of(
            MatrixPattern("csr", pattern.shape, rows_of(pattern.indptr), pattern.indices), None
        )
        if not self.is_symmetric:
            return (solver.solve_transposed if transposed else solver.solve)(entries, right)
        with errstate("nan"):
            factor = SparseCholesky(pattern).factor(entries)
            found, size = factor.solve(right), factor.logdet()
        is_definite = _isfinite(size)
        return cond(
            is_definite,
            lambda: found,
            lambda: solver.solve(entries, _with_warning(right, is_definite)),
        )


# --- the Jacobian --------------------------------------------------------------------------------------------------


def _sparse_jacobian(function: Callable[..., Any], root: Any, is_symmetric: bool) -> tuple[Any, Any] | None:
    """Return pattern and entries of the Jacobian; `None` if it is not sparse."""
    run = NestedCall(function, select((root,), 0))
    found = (run.tape, run.leaves, [run.value], is_symmetric)
    try:
        pattern = compressed.CompressedDerivative(*found, "reverse", None).pattern
    except DensePatternError:
        return None
    if pattern.nnz > _SPARSE_SHARE * root.shape[0] ** 2:
        return None
    mode = "auto" if all_have_forward_rules(run.tape) else "reverse"
    derivative = compressed.CompressedDerivative(*found, mode, None)
    entries = derivative.entries(run.pull, "the Jacobian of an equation")
    (pattern, taken), *_ = derivative.blocks()[0]
    if not np.array_equal(taken, np.arange(entries.size)):
        entries = gather(in_c_order(entries), taken, taken.shape, 1)
    return pattern, entries if entries.dtype == root.dtype else entries.astype(root.dtype)


def _dense_of(pattern: Any, entries: Any) -> Any:
    """Return a sparse matrix as a dense one."""
    n = pattern.shape[0]
    places = np.full((n, n), entries.size)
    places[rows_of(pattern.indptr), pattern.indices] = np.arange(entries.size)
    with_zero = concatenate([entries, np.zeros(1, entries.dtype)])
    return gather(in_c_order(with_zero), places.reshape(-1), (n, n), 1)


def _jacobian_by_loop(function: Callable[..., Any], root: Any) -> Any:
    """Return the Jacobian by a loop over its columns, or over its rows if an op on the way has no forward mode."""
    run = NestedCall(function, select((root,), 0))
    forward = all_have_forward_rules(run.tape)

    def column(none: Any, seed: Any) -> Any:
        return none, jvp(function, (root,), (seed,))[1] if forward else vjp(function, root)[1](seed)[0]

    found = scanned(column, (), np.eye(root.shape[0], dtype=root.dtype))[1]
    return transpose(found) if forward else found


# --- a Hessian that is not positive definite -----------------------------------------------------------------------


def _with_warning(right: Any, is_definite: Any) -> Any:
    """Return a right side, and warn if the Hessian is not positive definite.

    A branch that is not taken is computed, too, while it is recorded.
    """
    right, flag = (as_tensor(each, "custom_argmin") for each in (right, is_definite))
    return _WARNING(right, flag.astype(right.dtype))


def _warn(right: np.ndarray, is_definite: np.ndarray) -> np.ndarray:
    if not is_definite:
        warnings.warn(
            "custom_argmin: the Hessian of the objective is not positive definite at the solution, which may be no"
            " minimum; its derivative is that of the stationary point",
            RuntimeWarning,
            stacklevel=program_level(),
        )
    return right.copy()


_WARNING = CustomOp(
    Functions(
        "warn_of_indefinite_hessian",
        _warn,
        lambda y_bar, y, *_: (y_bar, None),
        lambda x_dots, y, *_: x_dots[0],
        True,
    )
)
