"""`spsolve`: solutions of sparse systems whose entries are a Tensor."""

from typing import Any

import numpy as np

from tapegrad.errors import UnsupportedError
from tapegrad.foreign import is_sparse, is_sparse_tensor
from tapegrad.frontend.conversions.complex_views import complex_of, part_dtype
from tapegrad.frontend.functions.shapes.joining import stack
from tapegrad.frontend.recording.record_structural import as_numbers, as_tensor, in_common_dtype
from tapegrad.frontend.tensor.array_checks import check_dtype
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.sparse import complex_superlu, superlu
from tapegrad.sparse.arrays import as_sparse_array, made
from tapegrad.sparse.entries import read_entries
from tapegrad.sparse.patterns import FORMATS

_NAME = "spsolve"


def spsolve(A: Any, b: Any, data: Any = None, *, permc_spec: str | None = None) -> Tensor:  # noqa: N803
    """Solve ``A @ x = b`` for a sparse matrix A, of real or complex numbers, by SuperLU.

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
    if any(map(_is_complex, (A, b, data))):
        return _solved_complex(A, b, data, permc_spec)
    matrix = as_sparse_array(A, _NAME)
    if data is not None:
        if is_sparse(A) and A.format not in FORMATS:
            raise ValueError(f"{_NAME}: in {A.format!r} format entries have no order; write A.tocsr()")
        matrix = made(matrix.pattern, read_entries(data, matrix.nnz, _NAME))
    side = as_tensor(b, _NAME)
    _check_shapes(matrix.shape, side.shape)
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


def _check_shapes(shape: tuple[int, ...], side: tuple[int, ...]) -> None:
    n = shape[0]
    if shape != (n, n):
        raise ValueError(f"{_NAME}: a square matrix is needed, not one of shape {shape}")
    if len(side) not in (1, 2) or side[0] != n:
        raise ValueError(f"{_NAME}: b needs the shape ({n},) or ({n}, k), not {side}")


def _is_complex(x: Any) -> bool:
    return getattr(getattr(x, "dtype", None), "kind", "") == "c"


def _solved_complex(A: Any, b: Any, data: Any, permc_spec: str | None) -> Tensor:  # noqa: N803
    """Solve a system of complex numbers: real and imaginary parts of the entries are matrices of one pattern."""
    if is_sparse_tensor(A):
        if data is not None:
            A, data = made(A.pattern, data), None  # noqa: N806
        parts = [A, A * 0.0]
    elif data is None:
        parts = [as_sparse_array(each, _NAME) for each in (A.real, A.imag)]
    else:
        pattern = as_sparse_array(abs(A), _NAME).pattern
        entries = as_numbers(data, _NAME)
        parts = [
            made(pattern, read_entries(each, len(pattern.rows), _NAME))
            for each in (entries.real, entries.imag)
        ]
    side = as_numbers(b, _NAME)
    _check_shapes(parts[0].shape, side.shape)
    transposed = parts[0].format == "csc"
    real, imag = [(each.T if transposed else each.tocsr()).canonical() for each in parts]
    dtype = np.result_type(real.data.dtype, side.dtype, np.complex64)
    entries = complex_of(stack([real.data, imag.data], -1).astype(part_dtype(dtype), copy=False))
    systems = complex_superlu.systems_of(real.pattern, permc_spec)
    solve = systems.solve_transposed if transposed else systems.solve
    found: Tensor = solve(entries, side.astype(dtype, copy=False))
    return found
