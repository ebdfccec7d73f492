"""Products, factors and solutions of matrices, each of which takes stacks."""

from typing import Any

import numpy as np

from tapegrad import linalg
from tapegrad.interop.packages import needed
from tapegrad.interop.pytensor_graphs.dispatch import Expression, register_texts, tapegrad_funcify

_blas: Any = needed("pytensor.tensor.blas", "pytensor")
_math: Any = needed("pytensor.tensor.math", "pytensor")
_nlinalg: Any = needed("pytensor.tensor.nlinalg", "pytensor")
_slinalg: Any = needed("pytensor.tensor.slinalg", "pytensor")

register_texts(
    {
        _math.Dot: "{0} @ {1}",
        _blas.BatchedDot: "{0} @ {1}",
        _blas.Dot22: "{0} @ {1}",
        _nlinalg.MatrixInverse: "np.linalg.inv({0})",
        _nlinalg.MatrixPinv: "np.linalg.pinv({0}, hermitian={op.hermitian})",
        _nlinalg.Det: "np.linalg.det({0})",
        _nlinalg.SLogDet: "np.linalg.slogdet({0})",
        _nlinalg.Eigh: "np.linalg.eigh({0}, UPLO='{op.UPLO}')",
        _nlinalg.SVD: "np.linalg.svd({0}, full_matrices={op.full_matrices}, compute_uv={op.compute_uv})",
        _slinalg.Expm: "<expm>({0})",
    },
    expm=linalg.expm,
)
# Ops whose text takes stacks of matrices, in which `inner_graphs` leaves them.
TAKES_STACKS: tuple[Any, ...] = (
    _slinalg.Cholesky, _slinalg.SolveTriangular, _slinalg.Solve, _slinalg.CholeskySolve, _nlinalg.MatrixInverse,
    _nlinalg.MatrixPinv, _nlinalg.Det, _nlinalg.SLogDet, _nlinalg.Eigh, _nlinalg.SVD, _slinalg.QR, _slinalg.Expm,
)  # fmt: skip


@tapegrad_funcify.register(_slinalg.Cholesky)
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


@tapegrad_funcify.register(_slinalg.SolveTriangular)
def _solve_triangular(op: Any, **_: Any) -> Expression:
    return Expression(
        f"<solve_triangular>({{0}}, {{1}}, {op.b_ndim}, lower={op.lower}, unit_diagonal={op.unit_diagonal})",
        {"solve_triangular": _solved_triangular},
    )


def _solved_triangular(a: Any, b: Any, b_ndim: int, lower: bool, unit_diagonal: bool) -> Any:
    return _by_columns(
        lambda a, b: linalg.solve_triangular(a, b, lower=lower, unit_diagonal=unit_diagonal), a, b, b_ndim
    )


@tapegrad_funcify.register(_slinalg.Solve)
def _solve(op: Any, **_: Any) -> Expression:
    """Return the text of a solution; of a matrix that is known by one triangle, of that."""
    triangle = f", lower={op.lower}" if op.assume_a in ("sym", "pos", "her") else ""
    return Expression(f"<solve>({{0}}, {{1}}, {op.b_ndim}{triangle})", {"solve": _solved})


def _solved(a: Any, b: Any, b_ndim: int, lower: bool | None = None) -> Any:
    if lower is None:
        return _by_columns(np.linalg.solve, a, b, b_ndim)
    return _by_columns(lambda a, b: linalg.solve(a, b, assume_a="sym", lower=lower), a, b, b_ndim)


@tapegrad_funcify.register(_slinalg.CholeskySolve)
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


@tapegrad_funcify.register(_slinalg.Eigvalsh)
def _eigvalsh(op: Any, node: Any = None, **_: Any) -> Expression:
    if len(node.inputs) == 2 and getattr(node.inputs[1].type, "ndim", None) is not None:
        raise NotImplementedError(
            "tapegrad.interop: eigenvalues of two matrices, scipy.linalg.eigvalsh(a, b), are not known here"
        )
    return Expression(f"np.linalg.eigvalsh({{0}}, UPLO='{'L' if op.lower else 'U'}')")


@tapegrad_funcify.register(_slinalg.QR)
def _qr(op: Any, node: Any = None, **_: Any) -> Any:
    if op.pivoting or op.mode not in ("full", "economic", "r"):
        raise NotImplementedError(
            f"tapegrad.interop: {op} of PyTensor's (pivoting, or mode 'raw') is not known here"
        )
    mode = {"full": "complete", "economic": "reduced", "r": "r"}[op.mode]
    return Expression(f"np.linalg.qr({{0}}, mode='{mode}')")
