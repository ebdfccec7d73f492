"""Linear systems with sparse matrices without symmetry, by SuperLU: instructions that Python executes."""

from functools import partial
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from tapegrad.autodiff.custom.functions import Functions
from tapegrad.autodiff.custom.op import CustomOp
from tapegrad.frontend.tensor.tensor import is_tensor


class SparsePattern:
    """Positions of the entries of a square matrix, by rows.

    Parameters
    ----------
    pattern
        A matrix of SciPy in CSR format.
    """

    def __init__(self, pattern: Any) -> None:
        from scipy.sparse import csr_array

        self.n = int(pattern.shape[0])
        self.indptr, self.columns = pattern.indptr, pattern.indices
        self.rows = np.repeat(np.arange(self.n), np.diff(pattern.indptr))
        entries = np.arange(len(self.rows) + 1)
        # Sums over the entries of each row, and of each column
        ones = np.ones(len(self.rows))
        shape = self.n, len(self.rows)
        self.sums = csr_array((ones, entries[:-1], pattern.indptr), shape)
        self.column_sums = csr_array((ones, (self.columns, entries[:-1])), shape)


def solve_sparse(pattern: SparsePattern, entries: Any, right: Any, transposed: bool) -> Any:
    """Solve a system with a matrix that has these entries, or with its transpose.

    Raises
    ------
    LinAlgError
        If the matrix is singular.
    """
    return _op(pattern, transposed)(entries, right)


def _op(pattern: SparsePattern, transposed: bool) -> CustomOp:
    forward, vjp, jvp = (partial(each, pattern, transposed) for each in (_forward, _vjp, _jvp))
    return CustomOp(Functions("sparse_lu_solve", forward, vjp, jvp, True))


def _forward(pattern: SparsePattern, transposed: bool, entries: np.ndarray, right: np.ndarray) -> np.ndarray:
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    # by columns the lists are those of the transpose
    matrix = csc_array((entries, pattern.columns, pattern.indptr), (pattern.n, pattern.n))
    try:
        factors = splu(matrix)
    except RuntimeError as error:
        raise LinAlgError(f"sparse_lu_solve: a matrix is singular ({error})") from None
    found: np.ndarray = factors.solve(right, "N" if transposed else "T")
    return found


def _sides(pattern: SparsePattern, transposed: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return row and column of each entry in the matrix of the system."""
    rows, columns = pattern.rows, pattern.columns
    return (columns, rows) if transposed else (rows, columns)


def _vjp(pattern: SparsePattern, transposed: bool, y_bar: Any, y: Any, entries: Any, right: Any) -> Any:
    rows, columns = _sides(pattern, transposed)
    right_bar = solve_sparse(pattern, entries, y_bar, not transposed)
    y = y if is_tensor(y) else np.asarray(y)
    return -(right_bar[rows] * y[columns]), right_bar


def _jvp(pattern: SparsePattern, transposed: bool, x_dots: Any, y: Any, entries: Any, right: Any) -> Any:
    _, columns = _sides(pattern, transposed)
    sums = pattern.column_sums if transposed else pattern.sums
    moved = sums @ (x_dots[0] * y[columns])
    return solve_sparse(pattern, entries, x_dots[1] - moved, transposed)
