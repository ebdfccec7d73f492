"""Patterns of sparse matrices: the positions of the entries, constant and checked once.

A pattern keeps copies of the index arrays that it was made of, read-only: what a program does to its own arrays later
does not reach a matrix, as in ``numpy.array``. What is derived from a pattern, such as its transpose or the lists that
kernels read, is computed once, and kept with it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from tapegrad.engine.runtime.lazy import lazy
from tapegrad.frontend.tensor.modes import watch_now

FORMATS = ("csr", "csc", "coo")


class Move(NamedTuple):
    """A map from the entries of a pattern to those of another one.

    Attributes
    ----------
    numbers
        If `summed`, for each entry the one that it is added to. If not, for each new entry the one that it is.
    size
        Number of new entries.
    summed
        Whether entries are added up.
    """

    numbers: np.ndarray
    size: int
    summed: bool


class MatrixPattern:
    """Positions of the entries of a sparse matrix, in the order of its `data`.

    Parameters
    ----------
    form
        The format: "csr", "csc" or "coo".
    shape
        Numbers of rows and columns.
    rows, columns
        Position of each entry, int64: for "csr" the rows ascend, for "csc" the columns. They are kept, not copied.
    """

    def __init__(self, form: str, shape: tuple[int, int], rows: np.ndarray, columns: np.ndarray) -> None:
        self.format, self.shape = form, shape
        self.rows, self.columns = _frozen(rows), _frozen(columns)
        self.derived: dict[Any, Any] = {}
        # By the other pattern, which it does not keep alive
        self._derived_with: WeakKeyDictionary[MatrixPattern, dict[str, Any]] = WeakKeyDictionary()

    def __reduce__(self) -> Any:
        return MatrixPattern, (self.format, self.shape, self.rows, self.columns)

    @property
    def nnz(self) -> int:
        """Number of entries."""
        return len(self.rows)

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what is derived from the pattern, made at the first call with this key."""
        if key not in self.derived:
            self.derived[key] = make()
        return self.derived[key]

    def once_with(self, other: "MatrixPattern", key: str, make: Callable[[], Any]) -> Any:
        """Return what is derived from the pattern and another one, made at the first call with this key."""
        known = self._derived_with.setdefault(other, {})
        if key not in known:
            known[key] = make()
        return known[key]

    def __eq__(self, other: object) -> bool:
        """Return whether another pattern has the same entries in the same order."""
        if self is other:
            return True
        if not isinstance(other, MatrixPattern):
            return NotImplemented
        same = (self.format, self.shape, self.nnz) == (other.format, other.shape, other.nnz)
        return same and bool(
            np.array_equal(self.rows, other.rows) and np.array_equal(self.columns, other.columns)
        )

    def __hash__(self) -> int:
        return self._hash

    @lazy
    def _hash(self) -> int:
        return hash((self.format, self.shape, self.rows.tobytes(), self.columns.tobytes()))

    # --- positions ---------------------------------------------------------------------------------------------------

    @property
    def minor(self) -> np.ndarray:
        """The column of each entry, or its row if the format is "csc"."""
        return self.rows if self.format == "csc" else self.columns

    @lazy
    def starts(self) -> np.ndarray:
        """Start of each row (or column) among the entries, and the end of the last one; not for "coo"."""
        major, extent = (self.columns, 1) if self.format == "csc" else (self.rows, 0)
        return _frozen(np.searchsorted(major, np.arange(self.shape[extent] + 1)))

    @lazy
    def lists(self) -> np.ndarray:
        """The list that kernels of products read: the starts, then `minor`."""
        return _frozen(np.concatenate([self.starts, self.minor]))

    @lazy
    def keys(self) -> np.ndarray:
        """Number of each position in the order of the format: by rows, or by columns."""
        if self.format == "csc":
            found: np.ndarray = self.columns * self.shape[0] + self.rows
        else:
            found = self.rows * self.shape[1] + self.columns
        return found

    @lazy
    def is_canonical(self) -> bool:
        """True if the entries are sorted, and no position has two."""
        return bool(np.all(self.keys[1:] > self.keys[:-1]))

    @lazy
    def labels(self) -> Any:
        """SciPy's matrix of this pattern whose entries are their own numbers, from 1 on.

        What SciPy makes of it, such as a part or a stack of blocks, says where each entry goes.
        """
        return self.scipys(np.arange(1, self.nnz + 1))

    def scipys(self, data: np.ndarray) -> Any:
        """Return SciPy's matrix of this pattern and its entries."""
        import scipy.sparse  # a process that solves dense systems does without

        if self.format == "coo":
            return scipy.sparse.coo_array((data, (self.rows, self.columns)), self.shape)
        kind = scipy.sparse.csr_array if self.format == "csr" else scipy.sparse.csc_array
        return kind((data, self.minor, self.starts), self.shape)

    # --- other patterns ----------------------------------------------------------------------------------------------

    def transposed(self) -> "MatrixPattern":
        """Return the pattern of the transpose: that of the same entries in the same order."""

        def make() -> MatrixPattern:
            form = {"csr": "csc", "csc": "csr", "coo": "coo"}[self.format]
            made = MatrixPattern(form, self.shape[::-1], self.columns, self.rows)
            made.derived["transposed"] = self
            return made

        pattern: MatrixPattern = self.once("transposed", make)
        return pattern

    def converted(self, form: str) -> tuple["MatrixPattern", Move | None]:
        """Return the pattern in another format, and the map to its entries; `None` if they stay as they are.

        As in SciPy, entries of one position are added up if the format was "coo".
        """
        if form == self.format:
            return self, None
        found: tuple[MatrixPattern, Move | None] = self.once(form, lambda: self._converted(form))
        return found

    def _converted(self, form: str) -> tuple["MatrixPattern", Move | None]:
        named = MatrixPattern(form, self.shape, self.rows, self.columns)
        if form == "coo":
            return named, None
        return named.canonical() if self.format == "coo" else named._in_order()

    def _in_order(self) -> tuple["MatrixPattern", Move | None]:
        """Return the entries ordered by rows, or columns, alone."""
        order = np.argsort(self.columns if self.format == "csc" else self.rows, kind="stable")
        made = MatrixPattern(self.format, self.shape, self.rows[order], self.columns[order])
        return made, Move(_frozen(order), len(order), False)

    def canonical(self) -> tuple["MatrixPattern", Move | None]:
        """Return the pattern with sorted entries, one for each position, and the map to them."""
        if self.is_canonical:
            return self, None
        found: tuple[MatrixPattern, Move] = self.once("canonical", self._canonical)
        return found

    def _canonical(self) -> tuple["MatrixPattern", Move]:
        keys, first, group = np.unique(self.keys, return_index=True, return_inverse=True)
        made = MatrixPattern(self.format, self.shape, self.rows[first], self.columns[first])
        if len(keys) == self.nnz:
            return made, Move(_frozen(first), len(keys), False)
        return made, Move(_frozen(group), len(keys), True)


def _frozen(numbers: np.ndarray) -> np.ndarray:
    """Return int64 numbers, read-only. Those that belong to others have been copied before."""
    numbers = np.ascontiguousarray(numbers, np.int64)
    if numbers.flags.writeable:
        numbers = numbers.view()
        numbers.flags.writeable = False
    return numbers


# --- from what users give ------------------------------------------------------------------------------------------


def index_array(values: Any, name: str, what: str) -> np.ndarray:
    """Return a copy of a user's index array as int64; a recording watches the array itself."""
    array = np.asarray(values)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise TypeError(
            f"{name}: {what} must be integers in one dimension, not {array.dtype} of shape {array.shape}; write"
            f" np.asarray({what}, int)"
        )
    watch_now(array)
    return array.astype(np.int64)


def compressed_pattern(form: str, indices: Any, indptr: Any, shape: Any, name: str) -> MatrixPattern:
    """Make the pattern of a matrix in CSR or CSC format of its index arrays."""
    starts, minor = index_array(indptr, name, "indptr"), index_array(indices, name, "indices")
    line = "row" if form == "csr" else "column"
    if len(starts) == 0 or starts[0] != 0 or np.any(starts[1:] < starts[:-1]) or starts[-1] > len(minor):
        raise ValueError(
            f"{name}: indptr must ascend from 0 to the number of indices, {len(minor)}: the {line} i has the entries"
            " indptr[i]:indptr[i + 1]"
        )
    minor = minor[: starts[-1]]
    if shape is None:
        shape = (len(starts) - 1, int(minor.max(initial=-1)) + 1)[:: 1 if form == "csr" else -1]
    shape = checked_shape(shape, name)
    count = shape[0] if form == "csr" else shape[1]
    if len(starts) != count + 1:
        raise ValueError(
            f"{name}: a matrix of shape {shape} has {count} {line}s, so indptr needs {count + 1} numbers, not"
            f" {len(starts)}"
        )
    major = np.repeat(np.arange(count), np.diff(starts))
    rows, columns = (major, minor) if form == "csr" else (minor, major)
    _check_bounds(rows, columns, shape, name)
    return MatrixPattern(form, shape, rows, columns)


def coordinate_pattern(rows: Any, columns: Any, shape: Any, name: str) -> MatrixPattern:
    """Make the pattern of a matrix in COO format of the positions of its entries."""
    i, j = index_array(rows, name, "rows"), index_array(columns, name, "columns")
    if len(i) != len(j):
        raise ValueError(
            f"{name}: {len(i)} row numbers and {len(j)} column numbers; an entry needs one of each"
        )
    if shape is None:
        if not len(i):
            raise ValueError(
                f"{name}: the shape of a matrix without entries is not known; pass shape=(rows, columns)"
            )
        shape = int(i.max()) + 1, int(j.max()) + 1
    shape = checked_shape(shape, name)
    _check_bounds(i, j, shape, name)
    return MatrixPattern("coo", shape, i, j)


def checked_shape(shape: Any, name: str) -> tuple[int, int]:
    """Return a shape as two numbers."""
    try:
        rows, columns = (int(extent) for extent in shape)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: shape=(rows, columns) is needed, not {shape!r}") from None
    if rows < 0 or columns < 0 or rows * columns >= 2**63:
        raise ValueError(f"{name}: a matrix of shape {(rows, columns)} cannot be")
    return rows, columns


def _check_bounds(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int], name: str) -> None:
    for what, numbers, extent in zip(("row", "column"), (rows, columns), shape, strict=True):
        wrong = np.flatnonzero((numbers < 0) | (numbers >= extent))
        if len(wrong):
            raise ValueError(
                f"{name}: {what} {numbers[wrong[0]]} of entry {wrong[0]} is out of range for a matrix of shape {shape};"
                " indices count from 0, and pass shape= for a larger one"
            )


def pattern_of(matrix: Any, name: str) -> MatrixPattern:
    """Return the pattern of a sparse matrix of SciPy in CSR, CSC or COO format, in the order of its `data`."""
    if len(matrix.shape) != 2:
        raise ValueError(
            f"{name}: a sparse matrix has two dimensions, not the shape {matrix.shape}; write s.reshape(1, -1)"
        )
    if matrix.format == "coo":
        return coordinate_pattern(matrix.row, matrix.col, matrix.shape, name)
    return compressed_pattern(matrix.format, matrix.indices, matrix.indptr, matrix.shape, name)
