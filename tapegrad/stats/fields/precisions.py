"""Sparse precisions as users give them: by a matrix, or by a factorisation and entries."""

from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from tapegrad.foreign import is_sparse
from tapegrad.frontend.functions.products.sparse import product
from tapegrad.frontend.functions.reductions.reductions import sum
from tapegrad.frontend.functions.sparse_systems.cholesky import SparseCholesky
from tapegrad.frontend.recording.shape import reshape, transpose
from tapegrad.frontend.tensor.modes import eager_mode, no_grad, watch_now
from tapegrad.frontend.tensor.tensor import Tensor, is_tensor


def times(matrix: Any, x: Tensor) -> Tensor:
    """Multiply a symmetric constant matrix and vectors along the last axis."""
    if x.ndim == 1:
        return product(matrix, x)
    columns = transpose(reshape(x, (-1, x.shape[-1])))
    return reshape(transpose(product(matrix, columns)), x.shape)


class Precision(NamedTuple):
    """Sparse precision of a field.

    Attributes
    ----------
    cholesky
        The factorisation of its pattern.
    entries
        Its entries, in the order of `cholesky.rows`: a Tensor, or an array if they are constants.
    """

    cholesky: SparseCholesky
    entries: Any

    def lower(self) -> tuple[np.ndarray, np.ndarray, Any]:
        """Return rows, columns and entries of the lower triangle, which the factor reads."""
        rows, columns = self.cholesky.rows, self.cholesky.columns
        if not np.any(rows < columns):
            return rows, columns, self.entries
        lower = np.flatnonzero(rows >= columns)
        return rows[lower], columns[lower], self.entries[lower]

    def matrix(self) -> Any:
        """Return constant entries as a matrix in CSR format, of both triangles."""
        import scipy.sparse

        rows, columns, entries = self.lower()
        triangle = scipy.sparse.coo_array((entries, (rows, columns)), (self.cholesky.n,) * 2).tocsr()
        return scipy.sparse.csr_array(triangle + scipy.sparse.tril(triangle, -1).T)

    def quadratic(self, x: Tensor) -> Tensor:
        """Return the quadratic forms of vectors along the last axis.

        Both forms have a Hessian of the precision's pattern, which `SparseCholesky.matmul` does not have: its pattern
        is not known to the detection.
        """
        if not is_tensor(self.entries):
            return sum(x * times(self.matrix(), x), -1)
        rows, columns, entries = self.lower()
        doubled = np.where(rows == columns, 1.0, 2.0).astype(entries.dtype)
        return sum(x[..., rows] * x[..., columns] * (entries * doubled), -1)

    def logdet(self) -> Any:
        """Return the logarithm of the determinant: a float if the entries are constants."""
        if is_tensor(self.entries):
            return self.cholesky.factor(self.entries).logdet()
        watch_now(self.entries)
        with eager_mode(), no_grad():
            return float(self.cholesky.factor(self.entries).logdet().data)


def read_precision(given: Any, name: str) -> Precision:
    """Return a precision that is given as a sparse matrix, or as a pair of factorisation and entries.

    Raises
    ------
    TypeError
        For anything else.
    """
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], SparseCholesky):
        cholesky, entries = given
        return Precision(cholesky, entries if is_tensor(entries) else _array(entries))
    if not is_sparse(given) and getattr(given, "format", "") == "coo":
        given = given.tocsr()
    if is_sparse(given) or all(hasattr(given, each) for each in ("shape", "data", "indptr", "indices")):
        compressed = _compressed(given)
        return Precision(SparseCholesky(compressed), compressed.data)
    raise TypeError(
        f"{name}: the precision is a sparse matrix, or a pair (tg.linalg.SparseCholesky(pattern), entries), not"
        f" {type(given).__name__}. Of a dense one: scipy.sparse.csr_array(Q)"
    )


def _array(entries: Any) -> np.ndarray:
    array = np.asarray(entries)
    watch_now(array)
    return array


def _compressed(matrix: Any) -> Any:
    """Return a matrix whose entries are a list; in a recording its arrays are guarded.

    Raises
    ------
    ValueError
        If changes of the matrix cannot be guarded.
    """
    form = getattr(matrix, "format", "csr")
    if form in ("csr", "csc", "coo"):
        return matrix
    if form in ("dok", "lil"):
        raise ValueError(f"gmrf: a precision in {form!r} format: convert it once, with .tocsr()")
    for held in vars(matrix).values():
        if isinstance(held, np.ndarray):
            watch_now(held)
    return matrix.tocsr()


def draw(precision: Precision, normals: np.ndarray) -> np.ndarray:
    """Return vectors with a precision, made of standard normal numbers along the last axis.

    Raises
    ------
    LinAlgError
        If the precision is not positive definite.
    """
    with eager_mode(), no_grad():
        try:
            factor = precision.cholesky.factor(precision.entries)
        except LinAlgError as error:
            raise LinAlgError("gmrf.rvs: the precision is not positive definite") from error
        return factor.half_solve(normals)
