"""`spsolve`: solutions of sparse systems whose entries are a Tensor."""

from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.foreign import is_sparse, is_sparse_tensor
from tapegrad.frontend.recording.record_structural import as_tensor, in_common_dtype
from tapegrad.frontend.tensor.array_checks import check_dtype
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.sparse import superlu
from tapegrad.sparse.arrays import as_sparse_array, made
from tapegrad.sparse.entries import read_entries
from tapegrad.sparse.patterns import FORMATS

_NAME = "spsolve"


def spsolve(A: Any, b: Any, data: Any = None, *, permc_spec: str | None = None) -> Tensor:  # noqa: N803
    """Solve ``A @ x = b`` for a sparse matrix A, by SuperLU.

    Parameters
    ----------
    A : sparse matrix, shape (n, n)
        The matrix, with computed entries or of SciPy.
    b : array_like, shape (n,) or (n, k)
        The right side, or several.
    data : array_like, shape (m,), optional
        The entries, in the order of ``A.data``, of which the pattern alone is used then.
    permc_spec : {"COLAMD", "MMD_AT_PLUS_A", "MMD_ATA", "NATURAL"}, optional
        The order of the columns, as SciPy's `splu` takes it; "COLAMD" by default. For a symmetric pattern
        "MMD_AT_PLUS_A" may fill in less.

    Returns
    -------
    Tensor, shape (n,) or (n, k)
        The solutions.

    Raises
    ------
    LinAlgError
        If the matrix is singular; in ``tapegrad.linalg.errstate("nan")`` the solution is nan then.
    ValueError
        If the matrix is not square, or shapes do not fit.

    See Also
    --------
    SparseCholesky : For symmetric positive definite matrices: the faster, without Python in replays.

    Notes
    -----
    The factors of the last matrices are kept with the pattern, so that a reverse sweep solves with those of the
    forward sweep: a gradient takes one factorisation.

    A replay calls SciPy, so programs with `spsolve` cannot be saved in a file. With `SparseCholesky` they can.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([2.0, 1.0, 4.0])
    >>> a = tg.sparse.coo_array((x, ([0, 0, 1], [0, 1, 1])))
    >>> y = tg.linalg.spsolve(a, [4.0, 8.0])
    >>> y
    Tensor([1., 2.])
    >>> y.sum().backward()
    >>> x.grad
    array([-0.5 , -1.  , -0.25])

    The entries apart from the matrix:

    >>> import numpy as np, scipy.sparse
    >>> A = scipy.sparse.csc_array([[2.0, 1.0], [0.0, 4.0]])
    >>> tg.grad(lambda d: tg.sum(tg.linalg.spsolve(A, np.array([4.0, 8.0]), d)))(A.data)
    array([-0.5 , -1.  , -0.25])
    """
    if not (is_sparse(A) or is_sparse_tensor(A)):
        raise TypeError(
            f"{_NAME}: a sparse matrix is needed, not {type(A).__name__}; write tapegrad.linalg.solve(A, b) for a"
            " dense one"
        )
    if is_sparse(b) or is_sparse_tensor(b):
        raise UnsupportedError(f"{_NAME}: the right side must be dense; write b.toarray()")
    matrix = as_sparse_array(A, _NAME)
    if data is not None:
        if is_sparse(A) and A.format not in FORMATS:
            raise ValueError(f"{_NAME}: in {A.format!r} format entries have no order; write A.tocsr()")
        matrix = made(matrix.pattern, read_entries(data, matrix.nnz, _NAME))
    n = matrix.shape[0]
    if matrix.shape != (n, n):
        raise ValueError(f"{_NAME}: a square matrix is needed, not one of shape {matrix.shape}")
    side = as_tensor(b, _NAME)
    if side.ndim not in (1, 2) or side.shape[0] != n:
        raise ValueError(f"{_NAME}: b needs the shape ({n},) or ({n}, k), not {side.shape}")
    if side.dtype.kind != "f":
        side = side.astype(np.float64)
    check_dtype(side.dtype, _NAME)
    # that of a matrix in CSC format is its transpose in CSR format, without moving an entry
    transposed = matrix.format == "csc"
    own = (matrix.T if transposed else matrix.tocsr()).canonical()
    entries, side = in_common_dtype(own.data, side)
    solver = superlu.solver_of(own.pattern, permc_spec)
    found: Tensor = (solver.solve_transposed if transposed else solver.solve)(entries, side)
    return found
