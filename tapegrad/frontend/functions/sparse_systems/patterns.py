"""Patterns of sparse symmetric matrices, given by both triangles or by the lower one."""

from typing import Any, NamedTuple

import numpy as np

from tapegrad.foreign import is_sparse, is_sparse_tensor
from tapegrad.frontend.tensor.array_checks import can_change
from tapegrad.frontend.tensor.modes import watch_now

_NAME = "SparseCholesky"


class SymmetricPattern(NamedTuple):
    """Positions of the entries of a symmetric matrix, in the order in which their values are given.

    Attributes
    ----------
    n
        Rows of the matrix.
    rows, columns
        Position of each entry, (m,) int64.
    lower
        The numbers of the entries on and below the diagonal; `None` if all are.
    mirror
        For each of these the number of the entry on the other side of the diagonal, of one on it its own number; `None`
        if only the lower triangle is given.
    """

    n: int
    rows: np.ndarray
    columns: np.ndarray
    lower: np.ndarray | None
    mirror: np.ndarray | None


def read_pattern(matrix: Any) -> SymmetricPattern:
    """Return the checked pattern of a sparse matrix of SciPy, or of what has the attributes of one in CSR format.

    Raises
    ------
    TypeError
        For other arguments.
    ValueError
        If the pattern is not that of a symmetric matrix, or damaged.
    """
    n, rows, columns = _positions(matrix)
    for name, numbers in (("row", rows), ("column", columns)):
        if len(numbers) and not (numbers.min() >= 0 and numbers.max() < n):
            raise ValueError(f"{_NAME}: a {name} number is out of range for a matrix of {n} rows")
    keys = rows * n + columns
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    _refuse_duplicates(keys, n)
    if not np.any(columns > rows):
        return SymmetricPattern(n, _frozen(rows), _frozen(columns), None, None)
    found = np.minimum(np.searchsorted(keys, columns * n + rows), len(keys) - 1)
    alone = np.flatnonzero(keys[found] != columns * n + rows)
    if len(alone):
        i, j = rows[alone[0]], columns[alone[0]]
        raise ValueError(
            f"{_NAME}: the pattern is not symmetric: it has ({i}, {j}) and not ({j}, {i}). Give both triangles, as"
            " A + A.T has them, or the lower one alone, scipy.sparse.tril(A)"
        )
    lower = np.flatnonzero(rows >= columns)
    return SymmetricPattern(n, _frozen(rows), _frozen(columns), _frozen(lower), _frozen(order[found[lower]]))


def _frozen(numbers: np.ndarray) -> np.ndarray:
    numbers = np.array(numbers, np.int64)
    numbers.flags.writeable = False
    return numbers


def _refuse_duplicates(keys: np.ndarray, n: int) -> None:
    twice = np.flatnonzero(keys[1:] == keys[:-1])
    if len(twice):
        i, j = divmod(int(keys[twice[0]]), n)
        raise ValueError(
            f"{_NAME}: entry ({i}, {j}) is there twice; add duplicates up first, with A.sum_duplicates()"
        )


# --- positions of the entries ------------------------------------------------------------------------------------


def _positions(matrix: Any) -> tuple[int, np.ndarray, np.ndarray]:
    """Return the number of rows, and row and column of each entry as it is stored."""
    if is_sparse_tensor(matrix):
        matrix = matrix.tocsr().canonical()
    has_lists = all(hasattr(matrix, name) for name in ("shape", "indptr", "indices"))
    if not (is_sparse(matrix) or has_lists):
        raise TypeError(
            f"{_NAME}: a sparse matrix of SciPy is needed, or a pattern with shape, indptr and indices, not"
            f" {type(matrix).__name__}. Of a dense one: scipy.sparse.csr_array(A)"
        )
    shape = tuple(matrix.shape)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"{_NAME}: the matrix must be square, not of shape {shape}")
    form = getattr(matrix, "format", "csr")
    if form == "coo":
        return int(shape[0]), _numbers(matrix.row, "row"), _numbers(matrix.col, "col")
    if form not in ("csr", "csc"):
        matrix, form = matrix.tocsr(), "csr"
    major, minor = _by_lists(int(shape[0]), matrix.indptr, matrix.indices)
    return int(shape[0]), *((major, minor) if form == "csr" else (minor, major))


def _by_lists(n: int, indptr: Any, indices: Any) -> tuple[np.ndarray, np.ndarray]:
    starts, minor = _numbers(indptr, "indptr"), _numbers(indices, "indices")
    fits = len(starts) == n + 1 and starts[0] == 0 and starts[-1] <= len(minor)
    if not fits or np.any(starts[1:] < starts[:-1]):
        raise ValueError(
            f"{_NAME}: indptr must have {n + 1} numbers that ascend from 0 to the number of entries"
        )
    return np.repeat(np.arange(n), np.diff(starts)), minor[: starts[-1]]


def _numbers(values: Any, name: str) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise ValueError(
            f"{_NAME}: {name} must be integers in one dimension, not {array.dtype} of shape {array.shape}"
        )
    if can_change(array):  # the lists of a `Pattern` cannot
        watch_now(array)
    return array.astype(np.int64)
