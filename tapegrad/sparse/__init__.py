"""SPARSE MATRICES with computed entries: a constant pattern, and a Tensor for the entries, by the names of SciPy.

In reading order; each imports only those above it:

    patterns                       positions of entries, checked once, and what is derived from them
    entries                        entries that are read, moved between patterns, and combined
    arrays                         `csr_array`, `csc_array` and `coo_array`
    matrices                       those whose ``*`` multiplies matrices
    making                         matrices of diagonals and blocks, and Kronecker products
    scipys_operators               operators of SciPy's sparse matrices and Tensors
    superlu                        the custom ops of SuperLU
    complex_superlu                those of complex numbers
    systems                        `spsolve`, which is in `tapegrad.linalg`

It imports `ops`, `engine`, `frontend` and `autodiff`.
"""

from tapegrad.engine.runtime.lazy import load_later
from tapegrad.frontend.recording.record import of_sparse_operands as _of_sparse_operands
from tapegrad.sparse import scipys_operators as _scipys_operators
from tapegrad.sparse.arrays import SparseArray as SparseArray
from tapegrad.sparse.arrays import coo_array as coo_array
from tapegrad.sparse.arrays import csc_array as csc_array
from tapegrad.sparse.arrays import csr_array as csr_array
from tapegrad.sparse.making import block_array as block_array
from tapegrad.sparse.making import diags as diags
from tapegrad.sparse.making import diags_array as diags_array
from tapegrad.sparse.making import eye as eye
from tapegrad.sparse.making import eye_array as eye_array
from tapegrad.sparse.making import hstack as hstack
from tapegrad.sparse.making import issparse as issparse
from tapegrad.sparse.making import kron as kron
from tapegrad.sparse.making import vstack as vstack

load_later(__name__, "superlu", "complex_superlu")  # which imports SciPy's solvers
_of_sparse_operands[:] = [_scipys_operators.operate]
