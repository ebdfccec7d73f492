"""Products, factors and solutions of matrices, each of which takes stacks."""

from typing import Any

import numpy as np

from tapegrad import linalg
from tapegrad.interop.packages import needed
from tapegrad.interop.pytensor_graphs.dispatch import Expression, register_texts, tapegrad_funcify
from tapegrad.interop.pytensor_graphs.functions import dense, lu, permutation
from tapegrad.interop.pytensor_graphs.generations import MovedNames, triangle
from tapegrad.interop.pytensor_graphs.generations import linalg as _linalg

_blas: Any = needed("pytensor.tensor.blas", "pytensor")
_sparse: Any = MovedNames("pytensor.sparse.math", "pytensor.sparse.basic")
_math: Any = needed("pytensor.tensor.math", "pytensor")

register_texts(
    {
        _math.Dot: "{0} @ {1}",
        _blas.BatchedDot: "{0} @ {1}",
        _blas.Dot22: "{0} @ {1}",
        _linalg.MatrixInverse: "np.linalg.inv({0})",
        _linalg.MatrixPinv: "np.linalg.pinv({0}, hermitian={op.hermitian})",
        _linalg.Det: "np.linalg.det({0})",
        _linalg.SLogDet: "np.linalg.slogdet({0})",
        _linalg.SVD: "np.linalg.svd({0}, full_matrices={op.full_matrices}, compute_uv={op.compute_uv})",
        _linalg.Expm: "<expm>({0})",
        _linalg.LU: "<lu>({0}, {op.permute_l}, {op.p_indices})",
        _linalg.LUFactor: "<lu_factor>({0})",
        _linalg.PivotToPermutations: "<permutation>({0}, {op.inverse})",
        # of constant sparse matrices; a product that PyTensor keeps sparse is an array here
        _sparse.StructuredDot: "{0} @ {1}",
        _sparse.Dot: "{0} @ {1}",
        _sparse.TrueDot: "<dense>({0} @ {1})",
        _sparse.DenseFromSparse: "<dense>({0})",
    },
    expm=linalg.expm,
    lu=lu,
    lu_factor=linalg.lu_factor,
    permutation=permutation,
    dense=dense,
)
# Ops whose text takes stacks of matrices, in which `inner_graphs` leaves them.
TAKES_STACKS: tuple[Any, ...] = (
    _linalg.Cholesky, _linalg.SolveTriangular, _linalg.Solve, _linalg.CholeskySolve, _linalg.MatrixInverse,
    _linalg.MatrixPinv, _linalg.Det, _linalg.SLogDet, _linalg.Eigh, _linalg.SVD, _linalg.QR, _linalg.Expm,
)  # fmt: skip


@tapegrad_funcify.register(_linalg.BlockDiagonal)
def _block_diagonal(op: Any, node: Any = None, **_: Any) -> Any:
    return linalg.block_diag


@tapegrad_funcify.register(_linalg.Cholesky)
def _cholesky(op: Any, **_: Any) -> Expression:
    """Return the text of a factor, which is computed of one triangle, and has a derivative by that one alone."""
    text = "np.linalg.cholesky({0})" if op.lower else "np.linalg.cholesky({0}, upper=True)"
    if getattr(op, "on_error", "raise") == "nan":
        return Expression("<cholesky>({0}, <lower>)", {"cholesky": _cholesky_or_nan, "lower": op.lower})
    return Expression(text)


def _cholesky_or_nan(a: Any, lower: bool) -> Any:
    """Return Cholesky factors, of a matrix that is not positive definite nan."""
    with linalg.errstate("nan"):
        return linalg.cholesky(a, upper=not lower)


@tapegrad_funcify.register(_linalg.SolveTriangular)
def _solve_triangular(op: Any, **_: Any) -> Expression:
    return Expression(
        f"<solve_triangular>({{0}}, {{1}}, {op.b_ndim}, lower={op.lower}, unit_diagonal={op.unit_diagonal})",
        {"solve_triangular": _solved_triangular},
    )


def _solved_triangular(a: Any, b: Any, b_ndim: int, lower: bool, unit_diagonal: bool) -> Any:
    return _by_columns(
        lambda a, b: linalg.solve_triangular(a, b, lower=lower, unit_diagonal=unit_diagonal), a, b, b_ndim
    )


@tapegrad_funcify.register(_linalg.Solve)
def _solve(op: Any, **_: Any) -> Expression:
    """Return the text of a solution; of a matrix that is known by one triangle, of that."""
    triangle = f", lower={op.lower}" if op.assume_a in ("sym", "pos", "her") else ""
    return Expression(f"<solve>({{0}}, {{1}}, {op.b_ndim}{triangle})", {"solve": _solved})


def _solved(a: Any, b: Any, b_ndim: int, lower: bool | None = None) -> Any:
    if lower is None:
        return _by_columns(np.linalg.solve, a, b, b_ndim)
    return _by_columns(lambda a, b: linalg.solve(a, b, assume_a="sym", lower=lower), a, b, b_ndim)


@tapegrad_funcify.register(_linalg.CholeskySolve)
def _cholesky_solve(op: Any, **_: Any) -> Expression:
    return Expression(
        f"<cholesky_solve>({{0}}, {{1}}, {op.b_ndim}, {op.lower})", {"cholesky_solve": _solved_by_factor}
    )


def _solved_by_factor(factor: Any, b: Any, b_ndim: int, lower: bool) -> Any:
    return _by_columns(lambda factor, b: linalg.cho_solve((factor, lower), b), factor, b, b_ndim)


def _by_columns(solve: Any, a: Any, b: Any, b_ndim: int) -> Any:
    """Solve for vectors as for matrices of one column, so that stacks of them are not taken for a matrix."""
    if b_ndim == 2 or np.ndim(b) == 1:
        return solve(a, b)
    return solve(a, b[..., None])[..., 0]


@tapegrad_funcify.register(_linalg.Eigh)
@tapegrad_funcify.register(_linalg.Eigvalsh)
def _eigenvalues(op: Any, node: Any = None, **_: Any) -> Expression:
    name = "eigh" if isinstance(op, _linalg.Eigh) else "eigvalsh"
    if len(node.inputs) == 2 and getattr(node.inputs[1].type, "ndim", None) is not None:
        raise NotImplementedError(
            f"tapegrad.interop: eigenvalues of two matrices, scipy.linalg.{name}(a, b), are not known here"
        )
    return Expression(f"np.linalg.{name}({{0}}, UPLO='{triangle(op)}')")


@tapegrad_funcify.register(_linalg.QR)
def _qr(op: Any, node: Any = None, **_: Any) -> Any:
    if op.pivoting or op.mode not in ("full", "economic", "r"):
        raise NotImplementedError(
            f"tapegrad.interop: {op} of PyTensor's (pivoting, or mode 'raw') is not known here"
        )
    mode = {"full": "complete", "economic": "reduced", "r": "r"}[op.mode]
    return Expression(f"np.linalg.qr({{0}}, mode='{mode}')")
