"""Patterns of sparse derivatives: where entries may be other than zero, and which columns were swept together."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from tapegrad.autodiff.sparsity.pattern_picture import blocks_of, draw_pattern
from tapegrad.engine.inspection.svg import Picture
from tapegrad.engine.runtime.lazy import lazy

_MAX_ROWS, _MAX_COLUMNS = 24, 72  # of characters in a print
_SHADES = ".:+#"  # by the share of entries that are there


class Pattern:
    """Places where entries of a sparse matrix may be other than zero.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns.
    indptr, indices : numpy.ndarray
        int32: for each row where its entries begin, and the end of the last; the column of each entry, in order.
    colors : numpy.ndarray
        int64: for each column the number of the forward sweep that it shared with others; -1 where there was none.

    Examples
    --------
    >>> import numpy as np, tapegrad as tg
    >>> pattern = tg.jacobian(lambda x: x[1:] * x[:-1], sparse=True).pattern(np.ones(5))
    >>> print(pattern)
    4 x 5, 8 entries (40 %), 2 colours
    ##...
    .##..
    ..##.
    ...##
    """

    def __init__(self, matrix: csr_array, colors: np.ndarray) -> None:
        self.shape: tuple[int, int] = matrix.shape
        self.indptr, self.indices = (_read_only(each, np.int32) for each in (matrix.indptr, matrix.indices))
        self.colors = _read_only(colors, np.int64)

    def __eq__(self, other: object) -> bool:
        """Return whether another pattern has the same entries."""
        return (
            isinstance(other, Pattern)
            and self.shape == other.shape
            and np.array_equal(self.indptr, other.indptr)
            and np.array_equal(self.indices, other.indices)
        )

    def __hash__(self) -> int:
        return self._hash

    @lazy
    def _hash(self) -> int:
        return hash((self.shape, self.indptr.tobytes(), self.indices.tobytes()))

    @property
    def nnz(self) -> int:
        """Number of entries."""
        return len(self.indices)

    @property
    def rows(self) -> np.ndarray:
        """Row of each entry, int32."""
        return rows_of(self.indptr)

    @property
    def cols(self) -> np.ndarray:
        """Column of each entry, int32."""
        return self.indices

    def matrix(self, entries: Any) -> csr_array:
        """Return the matrix with these entries, in the order of the pattern."""
        return csr_array((entries, self.indices, self.indptr), self.shape)

    def union(self, other: "Pattern") -> "Pattern":
        """Return the pattern of all entries that this one or another one has."""
        both = csr_array(self.matrix(np.ones(self.nnz)) + other.matrix(np.ones(other.nnz)))
        both.sort_indices()
        return Pattern(both, np.full(self.shape[1], -1))

    def __repr__(self) -> str:
        return f"<pattern of {self.summary}>"

    def __str__(self) -> str:
        return "\n".join([self.summary, *self._lines()])

    def _repr_svg_(self) -> str:
        return str(self.plot())

    def plot(self) -> Picture:
        """Draw the entries, each in the colour of the sweep that its column shares with others.

        Of a large pattern, squares are blocks of entries, and darker where more of them may be other than zero. Where
        the mouse points at a square, it says which rows and columns it has. A notebook shows the picture.

        Returns
        -------
        Picture
            ``save(path)`` writes it as SVG.

        Examples
        --------
        >>> import numpy as np, tapegrad as tg
        >>> pattern = tg.jacobian(lambda x: x[1:] * x[:-1], sparse=True).pattern(np.ones(5))
        >>> pattern.plot()
        <picture of 262 x 98 px; save(path) writes it as SVG>
        """
        return draw_pattern(self)

    @property
    def summary(self) -> str:
        """Shape, entries and colours in words."""
        m, n = self.shape
        share = 100 * self.nnz / (m * n) if m * n else 0.0
        percent = f"{share:.2g}" if share < 99.5 else "100"  # not 1e+02
        colours = len(np.unique(self.colors[self.colors >= 0]))
        return f"{m:,} x {n:,}, {self.nnz:,} entries ({percent} %), {colours} colours"

    def _lines(self) -> Iterable[str]:
        """Draw the entries, one character for each or for a block of them."""
        counts, blocks = self.counts(_MAX_ROWS, _MAX_COLUMNS)
        for line, sizes in zip(counts.tolist(), blocks.tolist(), strict=True):
            shades = (
                _SHADES[0] if not count else _SHADES[max(1, math.ceil(3 * count / size))]
                for count, size in zip(line, sizes, strict=True)
            )
            yield "".join(shades)

    def counts(self, most_rows: int, most_columns: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the entries in each of at most so many blocks of rows and columns, and the places in each block."""
        m, n = self.shape
        blocks = [blocks_of(m, most_rows), blocks_of(n, most_columns)]
        shape = min(m, most_rows), min(n, most_columns)
        places = blocks[0][self.rows] * max(shape[1], 1) + blocks[1][self.indices]
        counts = np.bincount(places, minlength=shape[0] * shape[1]).reshape(shape)
        sizes = np.outer(*(np.bincount(each, minlength=k) for each, k in zip(blocks, shape, strict=True)))
        return counts, sizes


def ones_at(indices: np.ndarray, starts: np.ndarray, shape: tuple[int, int]) -> csr_array:
    """Return a matrix of ones, given the columns of its entries, and where each row begins among them."""
    return csr_array((np.ones(len(indices), np.int8), indices, starts), shape)


def starts_of(counts: np.ndarray) -> np.ndarray:
    """Return where each row of so many entries begins, and the end of the last."""
    return np.concatenate([[0], np.cumsum(counts)])


def rows_of(starts: np.ndarray) -> np.ndarray:
    """Return the row of each entry, in the dtype of the places where the rows begin."""
    return np.repeat(np.arange(len(starts) - 1, dtype=starts.dtype), np.diff(starts))


def places_of(matrix: csr_array) -> np.ndarray:
    """Return the place of each entry among all elements, counted row by row: ascending, int64."""
    found: np.ndarray = rows_of(matrix.indptr.astype(np.int64)) * matrix.shape[1] + matrix.indices
    return found


def given_pattern(given: Any) -> Pattern:
    """Return a pattern that a user passes, in order and without repetitions.

    Raises
    ------
    TypeError
        For anything but a sparse matrix or a `Pattern`.
    ValueError
        For indices out of range.
    """
    if isinstance(given, Pattern):
        return given
    if not issparse(given):
        raise TypeError(f"pattern: a SciPy sparse matrix or a Pattern, not a {type(given).__name__}")
    made = csr_array(given)
    made.check_format(full_check=True)
    made = ones_at(made.indices.copy(), made.indptr.copy(), made.shape)
    made.sum_duplicates()
    return Pattern(made, np.full(made.shape[1], -1))


def matrix_of(pattern: Pattern, shape: tuple[int, int]) -> csr_array:
    """Return a pattern as a matrix of ones.

    Raises
    ------
    ValueError
        If the derivative has another shape.
    """
    if pattern.shape != shape:
        raise ValueError(f"pattern: its shape is {pattern.shape}, but the derivative's is {shape}")
    return ones_at(pattern.indices, pattern.indptr, shape)


def _read_only(array: np.ndarray, dtype: type[np.generic]) -> np.ndarray:
    """Return an array of a dtype that cannot be written to."""
    own = np.array(array, dtype)
    own.flags.writeable = False
    return own
