"""Functions of `scipy.linalg` that differ from NumPy's of the same name, or are composed of others."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad import linalg
from tapegrad.errors import UnsupportedError
from tapegrad.interop.in_place.arguments import array_of


def _adjoint(a: Any) -> Any:
    return np.conj(np.swapaxes(a, -1, -2))


def cholesky(a: Any, lower: bool = False) -> Any:
    """Compute the Cholesky factor, by default the upper one."""
    return linalg.cholesky(a, upper=not lower)


def qr(a: Any, mode: str = "full") -> Any:
    """Compute factors Q and R."""
    if mode == "r":
        return (linalg.qr(a, "complete")[1],)
    modes = {"full": "complete", "economic": "reduced"}
    if mode not in modes:
        raise UnsupportedError(
            f"scipy.linalg.qr: mode={mode!r} is not for Tensors; write 'full', 'economic' or 'r'"
        )
    return tuple(linalg.qr(a, modes[mode]))


def eig(a: Any, right: bool = True) -> Any:
    """Compute eigenvalues and right eigenvectors."""
    return tuple(linalg.eig(a)) if right else linalg.eigvals(a)


def eigh(
    a: Any, b: Any = None, lower: bool = True, eigvals_only: bool = False, subset_by_index: Any = None
) -> Any:
    """Compute eigenvalues and eigenvectors of one or two Hermitian matrices."""
    factor = None if b is None else linalg.cholesky(b, upper=not lower)
    if factor is not None:
        factor = factor if lower else _adjoint(factor)
        half = linalg.solve_triangular(factor, _whole(a, lower), lower=True)
        a, lower = linalg.solve_triangular(factor, _adjoint(half), lower=True), True
    values, vectors = linalg.eigh(a, "L" if lower else "U")
    if factor is not None:
        vectors = linalg.solve_triangular(_adjoint(factor), vectors, lower=False)
    if subset_by_index is not None:
        chosen = slice(subset_by_index[0], subset_by_index[1] + 1)
        values, vectors = values[..., chosen], vectors[..., chosen]
    return values if eigvals_only else (values, vectors)


def eigvalsh(a: Any, b: Any = None, lower: bool = True, subset_by_index: Any = None) -> Any:
    """Compute eigenvalues of one or two Hermitian matrices."""
    if b is None and subset_by_index is None:
        return linalg.eigvalsh(a, "L" if lower else "U")
    return eigh(a, b, lower, True, subset_by_index)


def _whole(a: Any, lower: bool) -> Any:
    """Return a Hermitian matrix by one triangle of it."""
    a = array_of(a)
    half, strict = (np.tril(a), np.tril(a, -1)) if lower else (np.triu(a), np.triu(a, 1))
    return half + _adjoint(strict)


def lstsq(a: Any, b: Any, cond: float | None = None) -> Any:
    """Solve a linear least-squares problem."""
    x, residues, rank, s = linalg.lstsq(a, b, np.finfo(float).eps if cond is None else cond)
    return x, residues[0] if np.ndim(b) == 1 and residues.size else residues, rank, s


def pinv(a: Any, rtol: Any = None) -> Any:
    """Compute the pseudo-inverse."""
    return linalg.pinv(a, rtol=rtol)


def pinvh(a: Any, rtol: Any = None, lower: bool = True) -> Any:
    """Compute the pseudo-inverse of a Hermitian matrix."""
    return linalg.pinv(_whole(a, lower), hermitian=True, rtol=rtol)


def _tridiagonal(d: Any, e: Any) -> Any:
    d, e = array_of(d), array_of(e)
    return np.diag(d) + np.diag(e, -1) + np.diag(np.conj(e), 1)


def eigh_tridiagonal(d: Any, e: Any, eigvals_only: bool = False) -> Any:
    """Compute eigenvalues and eigenvectors of a Hermitian tridiagonal matrix."""
    return eigh(_tridiagonal(d, e), eigvals_only=eigvals_only)


def eigvalsh_tridiagonal(d: Any, e: Any) -> Any:
    """Compute the eigenvalues of a Hermitian tridiagonal matrix."""
    return linalg.eigvalsh(_tridiagonal(d, e))


def polar(a: Any, side: str = "right") -> Any:
    """Compute a unitary and a positive semi-definite factor of a regular matrix."""
    a = array_of(a)
    p = linalg.sqrtm(_adjoint(a) @ a if side == "right" else a @ _adjoint(a))
    return (a @ linalg.inv(p) if side == "right" else linalg.inv(p) @ a), p


def orthogonal_procrustes(A: Any, B: Any) -> Any:  # noqa: N803  SciPy's names
    """Compute the rotation of a matrix to another one, and the scale, as SciPy calls it."""
    u, p = polar(_adjoint(array_of(A)) @ array_of(B))
    return u, np.trace(p)


def signm(A: Any) -> Any:  # noqa: N803
    """Compute the sign function of a matrix."""
    A = array_of(A)  # noqa: N806  SciPy's name
    return A @ linalg.inv(linalg.sqrtm(A @ A))


def fractional_matrix_power(A: Any, t: Any) -> Any:  # noqa: N803
    """Compute a power of a matrix."""
    return linalg.expm(t * linalg.logm(A))


def solve_circulant(c: Any, b: Any) -> Any:
    """Solve a circulant system."""
    return linalg.solve(linalg.circulant(c), b)


def matmul_toeplitz(c_or_cr: Any, x: Any) -> Any:
    """Multiply with a Toeplitz matrix."""
    return linalg.toeplitz(*(c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr,))) @ x


def companion(a: Any) -> Any:
    """Make the companion matrix of a polynomial."""
    a = array_of(a)
    return np.concatenate([-a[None, 1:] / a[0], np.eye(len(a) - 2, len(a) - 1)])


def khatri_rao(a: Any, b: Any) -> Any:
    """Compute the products of columns."""
    a, b = array_of(a), array_of(b)
    return np.reshape(a[:, None] * b, (-1, a.shape[1]))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: value
    for name, value in globals().items()
    if getattr(value, "__module__", "") == __name__ and name[0] != "_"
}
