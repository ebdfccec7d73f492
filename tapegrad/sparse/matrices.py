"""Matrices in SciPy's older sense, whose ``*`` multiplies matrices: what operators of a `scipy.sparse.spmatrix` give.

They have the methods of sparse arrays. What SciPy returns as a `numpy.matrix` is refused.
"""

from typing import Any, NoReturn

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.foreign import is_sparse, is_sparse_matrix
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.sparse.arrays import MATRIX_KINDS, SparseArray, coo_array, csc_array, csr_array


class _SparseMatrix(SparseArray):
    """A sparse matrix whose ``*`` multiplies matrices."""

    def __repr__(self) -> str:
        return super().__repr__().replace("sparse array", "sparse matrix")

    def __mul__(self, other: Any) -> Any:
        return self @ other if np.ndim(other) else self.multiply(other)

    def __rmul__(self, other: Any) -> Any:
        of_elements = np.ndim(other) == 0 or (is_sparse(other) and not is_sparse_matrix(other))
        return super().__rmul__(other) if of_elements else other @ self

    def __pow__(self, n: Any) -> NoReturn:
        raise UnsupportedError(
            "S ** n of a sparse matrix is a product of matrices: write S @ S, or S.power(n) for elements"
        )

    def sum(self, axis: int | None = None) -> Tensor:
        if axis is not None:
            _refuse_dense(f"S.sum({axis})", f"S.toarray().sum({axis})")
        return super().sum()

    def todense(self) -> NoReturn:
        _refuse_dense("S.todense()", "S.toarray()")

    def _plus_dense(self, other: Any, sign: str) -> Any:
        if np.ndim(other):
            _refuse_dense(f"S {sign} t", f"S.toarray() {sign} t")
        return super()._plus_dense(other, sign)


def _refuse_dense(name: str, instead: str) -> NoReturn:
    """Raise for what SciPy returns as a `numpy.matrix`, whose operators multiply matrices."""
    raise UnsupportedError(
        f"{name} of a sparse matrix of SciPy's older kind is a numpy.matrix, which tapegrad does not follow: write"
        f" {instead}, or make the matrix by a function of scipy.sparse that ends in _array"
    )


class csr_matrix(_SparseMatrix, csr_array):
    """Sparse matrix in CSR format whose ``*`` multiplies matrices."""


class csc_matrix(_SparseMatrix, csc_array):
    """Sparse matrix in CSC format whose ``*`` multiplies matrices."""


class coo_matrix(_SparseMatrix, coo_array):
    """Sparse matrix in COO format whose ``*`` multiplies matrices."""


MATRIX_KINDS.update({kind.format: kind for kind in (csr_matrix, csc_matrix, coo_matrix)})
