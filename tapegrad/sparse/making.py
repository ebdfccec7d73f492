"""Functions that make sparse matrices with computed entries: of diagonals, blocks and products of others."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.foreign import is_sparse, is_sparse_tensor
from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.recording.record_structural import as_tensor, in_common_dtype
from tapegrad.frontend.recording.shape import broadcast_to
from tapegrad.frontend.tensor.tensor import Tensor, is_tensor
from tapegrad.sparse.arrays import SparseArray, as_sparse_array, made, relabelled
from tapegrad.sparse.entries import read_entries, take
from tapegrad.sparse.patterns import MatrixPattern, checked_shape


def diags_array(
    diagonals: Any, /, *, offsets: Any = 0, shape: Any = None, format: str | None = None, dtype: Any = None
) -> SparseArray:
    """Make a sparse matrix of its diagonals.

    Parameters
    ----------
    diagonals : sequence of array_like, or array_like
        The elements of each diagonal; a number fills it. If `offsets` is a number, one diagonal alone will do.
    offsets : int or sequence of int, default 0
        The diagonals: k is that of the elements (i, i + k).
    shape : tuple of int, optional
        Numbers of rows and columns. A square matrix that holds the first diagonal, if it is left out.
    format : {"csr", "csc", "coo"}, optional
        The format, "csr" by default.
    dtype : dtype, optional
        Dtype of the entries.

    Returns
    -------
    SparseArray
        The matrix.

    Raises
    ------
    ValueError
        If a diagonal has another length than the shape leaves for it, or is given twice.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor([1.0, 2.0, 3.0])
    >>> tg.sparse.diags_array([x, -1.0], offsets=[0, 1], shape=(3, 3)).toarray()
    Tensor([[ 1., -1.,  0.],
            [ 0.,  2., -1.],
            [ 0.,  0.,  3.]])
    """
    name = "diags_array"
    listed = [int(k) for k in np.atleast_1d(offsets)]
    if np.ndim(offsets) == 0:
        diagonals = [diagonals] if is_tensor(diagonals) or np.ndim(diagonals[0]) == 0 else diagonals
    parts = [as_tensor(each, name) for each in diagonals]
    if len(parts) != len(listed):
        raise ValueError(f"{name}: {len(parts)} diagonals and {len(listed)} offsets")
    if len(set(listed)) != len(listed):
        raise ValueError(f"{name}: an offset is given twice in {listed}")
    if shape is None:
        extent = (parts[0].shape[0] if parts[0].ndim else 1) + abs(listed[0])
        shape = extent, extent
    shape = checked_shape(shape, name)
    rows, filled = [], []
    for part, k in zip(parts, listed, strict=True):
        count = max(min(shape[0] + min(k, 0), shape[1] - max(k, 0)), 0)
        if part.ndim > 1 or part.size not in (1, count):
            raise ValueError(
                f"{name}: diagonal {k} of a matrix of shape {shape} has {count} elements, not the shape {part.shape}"
            )
        rows.append(np.arange(count) - min(k, 0))
        whole = part if part.dtype.kind == "f" else part.astype(np.float64)
        filled.append(broadcast_to(whole, (count,)) if part.shape != (count,) else whole)
    lines = np.concatenate(rows)
    columns = lines + np.repeat(listed, [len(each) for each in rows])
    data = read_entries(_joined(filled), len(lines), name)
    matrix = made(MatrixPattern("coo", shape, lines, columns), data).asformat(format or "csr")
    return matrix if dtype is None else matrix.astype(dtype)


def _joined(parts: Sequence[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else concatenate(in_common_dtype(*parts))


def diags(
    diagonals: Any, offsets: Any = 0, shape: Any = None, format: str | None = None, dtype: Any = None
) -> SparseArray:
    """Make a sparse matrix of its diagonals, as `diags_array` does.

    Parameters
    ----------
    diagonals, offsets, shape, format, dtype
        As for `diags_array`.

    Returns
    -------
    SparseArray
        The matrix.

    See Also
    --------
    diags_array : The same, with the examples.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.sparse.diags([[1.0, 2.0]], [0]).toarray()
    Tensor([[1., 0.],
            [0., 2.]])
    """
    return diags_array(diagonals, offsets=offsets, shape=shape, format=format, dtype=dtype)


def eye_array(
    m: int, n: int | None = None, *, k: int = 0, dtype: Any = float, format: str | None = None
) -> SparseArray:
    """Make a sparse matrix with ones on a diagonal, a constant.

    Parameters
    ----------
    m, n : int
        Numbers of rows and columns; as many columns as rows, if `n` is left out.
    k : int, default 0
        The diagonal: that of the elements (i, i + k).
    dtype : dtype, default float
        Dtype of the entries.
    format : {"csr", "csc", "coo"}, optional
        The format, "csr" by default.

    Returns
    -------
    SparseArray
        The matrix.

    Examples
    --------
    >>> import tapegrad as tg
    >>> x = tg.tensor(2.0)
    >>> (x * tg.sparse.eye_array(2)).toarray()
    Tensor([[2., 0.],
            [0., 2.]])
    """
    return diags_array([1.0], offsets=k, shape=(m, m if n is None else n), format=format, dtype=dtype)


def eye(
    m: int, n: int | None = None, k: int = 0, dtype: Any = float, format: str | None = None
) -> SparseArray:
    """Make a sparse matrix with ones on a diagonal, as `eye_array` does.

    Parameters
    ----------
    m, n, k, dtype, format
        As for `eye_array`.

    Returns
    -------
    SparseArray
        The matrix.

    See Also
    --------
    eye_array : The same, with the examples.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.sparse.eye(2, k=1).toarray()
    Tensor([[0., 1.],
            [0., 0.]])
    """
    return eye_array(m, n, k=k, dtype=dtype, format=format)


def block_array(blocks: Any, *, format: str | None = None) -> SparseArray:
    """Make a sparse matrix of blocks.

    Parameters
    ----------
    blocks : nested sequence
        Rows of blocks: sparse matrices, of SciPy or not, dense arrays that are constants, and None for zeros.
    format : {"csr", "csc", "coo"}, optional
        The format, "csr" by default.

    Returns
    -------
    SparseArray
        The matrix.

    Raises
    ------
    ValueError
        If the blocks of a row or of a column do not fit together.

    Examples
    --------
    >>> import tapegrad as tg
    >>> a = tg.sparse.diags_array([tg.tensor([1.0, 2.0])])
    >>> tg.sparse.block_array([[a, None], [None, -a]]).diagonal()
    Tensor([ 1.,  2., -1., -2.])
    """
    import scipy.sparse

    matrices: list[SparseArray] = []
    start = 0

    def labelled(block: Any) -> Any:
        nonlocal start
        if block is None:
            return None
        if not (is_sparse(block) or is_sparse_tensor(block)):
            block = scipy.sparse.csr_array(block)
        own = as_sparse_array(block, "block_array").canonical().tocoo()
        labels = scipy.sparse.coo_array(own.pattern.labels)
        labels.data = labels.data + start
        start += own.nnz
        matrices.append(own)
        return labels

    placed = scipy.sparse.block_array([[labelled(block) for block in row] for row in blocks], format="coo")
    data = _joined([each.data for each in matrices]) if matrices else as_tensor(np.zeros(0), "block_array")
    return made(*relabelled(placed, data)).asformat(format or "csr")


def hstack(blocks: Sequence[Any], format: str | None = None) -> SparseArray:
    """Join sparse matrices side by side.

    Parameters
    ----------
    blocks : sequence
        The matrices, as for `block_array`.
    format : {"csr", "csc", "coo"}, optional
        The format, "csr" by default.

    Returns
    -------
    SparseArray
        The matrix.

    See Also
    --------
    block_array : Blocks in both directions.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.sparse.hstack([tg.sparse.eye(1), tg.sparse.eye(1)]).toarray()
    Tensor([[1., 1.]])
    """
    return block_array([list(blocks)], format=format)


def vstack(blocks: Sequence[Any], format: str | None = None) -> SparseArray:
    """Join sparse matrices, one below the other.

    Parameters
    ----------
    blocks : sequence
        The matrices, as for `block_array`.
    format : {"csr", "csc", "coo"}, optional
        The format, "csr" by default.

    Returns
    -------
    SparseArray
        The matrix.

    See Also
    --------
    block_array : Blocks in both directions.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.sparse.vstack([tg.sparse.eye(1), tg.sparse.eye(1)]).shape
    (2, 1)
    """
    return block_array([[block] for block in blocks], format=format)


def kron(A: Any, B: Any, format: str | None = None) -> SparseArray:  # noqa: N803
    """Compute the Kronecker product of two sparse matrices.

    Parameters
    ----------
    A, B : sparse matrix
        The matrices, of SciPy or not.
    format : {"csr", "csc", "coo"}, optional
        The format, "csr" by default.

    Returns
    -------
    SparseArray
        The product.

    Examples
    --------
    >>> import tapegrad as tg
    >>> a = tg.sparse.diags_array([tg.tensor([1.0, 2.0])])
    >>> tg.sparse.kron(a, tg.sparse.eye_array(2)).diagonal()
    Tensor([1., 1., 2., 2.])
    """
    a, b = (as_sparse_array(each, "kron").tocoo() for each in (A, B))
    first, second = np.repeat(np.arange(a.nnz), b.nnz), np.tile(np.arange(b.nnz), a.nnz)
    p, q = a.pattern, b.pattern
    shape = checked_shape((a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]), "kron")
    rows = p.rows[first] * b.shape[0] + q.rows[second]
    columns = p.columns[first] * b.shape[1] + q.columns[second]
    data = take(a.data, first) * take(b.data, second)
    return made(MatrixPattern("coo", shape, rows, columns), data).asformat(format or "csr")


def issparse(x: Any) -> bool:
    """Return whether a value is a sparse matrix, of SciPy or with computed entries.

    Parameters
    ----------
    x : object
        The value.

    Returns
    -------
    bool
        Whether it is.

    Examples
    --------
    >>> import tapegrad as tg
    >>> tg.sparse.issparse(tg.sparse.eye_array(2)), tg.sparse.issparse([1.0])
    (True, False)
    """
    return is_sparse(x) or is_sparse_tensor(x)
