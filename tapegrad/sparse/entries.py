"""Entries of sparse matrices: Tensors that are read, moved between patterns, and combined.

Plans say which entries a sum, an elementwise product or a product of matrices combines. They are made of two patterns
once, and kept with the first.
"""

from typing import Any, NamedTuple

import numpy as np

from tapegrad.frontend.functions.shapes.joining import concatenate
from tapegrad.frontend.indexing.indexing import gather, scatter_add
from tapegrad.frontend.recording.record import as_float
from tapegrad.frontend.recording.record_structural import as_tensor
from tapegrad.frontend.recording.shape import in_c_order
from tapegrad.frontend.tensor.array_checks import check_dtype
from tapegrad.frontend.tensor.modes import thread
from tapegrad.frontend.tensor.tensor import Tensor
from tapegrad.sparse.patterns import MatrixPattern, Move

_FLOAT64 = np.dtype(np.float64)


def read_entries(values: Any, count: int, name: str) -> Tensor:
    """Return what a user gives for the entries as a Tensor of floats."""
    x = as_tensor(values, name)
    if x.dtype.kind != "f":
        x = as_float(x, _FLOAT64, thread.mode.tape, True)
    check_dtype(x.dtype, name)
    if x.shape != (count,):
        raise ValueError(
            f"{name}: the pattern has {count} entries, so data needs the shape ({count},), not {x.shape}"
        )
    return x


def take(x: Tensor, numbers: np.ndarray) -> Tensor:
    """Gather entries by their numbers."""
    return gather(in_c_order(x), numbers, numbers.shape, 1)


def add_up(x: Tensor, groups: np.ndarray, count: int) -> Tensor:
    """Add up entries by the number of their group."""
    return scatter_add(x, groups, (count,))


def moved(x: Tensor, move: Move | None) -> Tensor:
    """Return the entries that a map leads to."""
    if move is None:
        return x
    return add_up(x, move.numbers, move.size) if move.summed else take(x, move.numbers)


# --- two matrices --------------------------------------------------------------------------------------------------


class Pairs(NamedTuple):
    """A pattern whose entries are sums of products of two matrices' entries.

    Attributes
    ----------
    pattern
        The pattern.
    first, second
        For each product the number of the entry of either matrix.
    move
        The map from products to entries; `None` if each is one.
    """

    pattern: MatrixPattern
    first: np.ndarray
    second: np.ndarray
    move: Move | None

    def of(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the entries."""
        return moved(take(x, self.first) * take(y, self.second), self.move)


def add_patterns(a: MatrixPattern, b: MatrixPattern, x: Tensor, y: Tensor) -> tuple[MatrixPattern, Tensor]:
    """Add matrices of one format: every position of either has an entry."""
    if a == b:
        return a, x + y
    pattern, move = a.once_with(b, "sum", lambda: _joined(a, b))
    return pattern, moved(concatenate([x, y]), move)


def _joined(a: MatrixPattern, b: MatrixPattern) -> tuple[MatrixPattern, Move | None]:
    rows, columns = np.concatenate([a.rows, b.rows]), np.concatenate([a.columns, b.columns])
    return MatrixPattern(a.format, a.shape, rows, columns).canonical()


def multiply_patterns(a: MatrixPattern, b: MatrixPattern) -> Pairs:
    """Return the plan of an elementwise product: matrices of one format, each position in one entry at most."""
    found: Pairs = a.once_with(b, "multiply", lambda: _common(a, b))
    return found


def _common(a: MatrixPattern, b: MatrixPattern) -> Pairs:
    _, first, second = np.intersect1d(a.keys, b.keys, assume_unique=True, return_indices=True)
    return Pairs(MatrixPattern(a.format, a.shape, a.rows[first], a.columns[first]), first, second, None)


def matmul_patterns(a: MatrixPattern, b: MatrixPattern) -> Pairs:
    """Return the plan of a product of two matrices in CSR format: each entry of it is a sum of products."""
    found: Pairs = a.once_with(b, "matmul", lambda: _products(a, b))
    return found


def _products(a: MatrixPattern, b: MatrixPattern) -> Pairs:
    counts = np.diff(b.starts)[a.columns]
    first = np.repeat(np.arange(a.nnz), counts)
    second = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
    second += np.repeat(b.starts[:-1][a.columns], counts)
    named = MatrixPattern("csr", (a.shape[0], b.shape[1]), a.rows[first], b.columns[second])
    pattern, move = named.canonical()
    if move is None or move.summed:
        return Pairs(pattern, first, second, move)
    return Pairs(pattern, first[move.numbers], second[move.numbers], None)
