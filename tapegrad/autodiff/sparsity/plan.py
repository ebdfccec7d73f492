"""Plans of sparse derivatives: which columns share a forward sweep, which rows a reverse sweep, where entries stand."""

import math
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from tapegrad.autodiff.sparsity.pattern import ones_at, rows_of, starts_of
from tapegrad.engine.sweep.sparsity import colouring

# A line of more entries, and of so many times those of most, has a sweep of its own
_DENSE, _TIMES_MEDIAN = 64, 4
_MAX_COUNTED = 1 << 24  # places for a count of each row and colour, before sorting is better
DENSE_SHARE = 0.5  # of the entries: colours of such a matrix save nothing, and take long to find
_REVERSE_COST = 2.0  # of a reverse sweep, in forward sweeps


class SweepPlan(NamedTuple):
    """Sweeps that compute the entries of a sparse matrix.

    Attributes
    ----------
    columns
        For each column the number of its forward sweep, -1 for none.
    rows
        For each row the number of its reverse sweep, -1 for none.
    sources
        For each entry, in the order of the rows, its place among the results of the sweeps: those of the forward
        sweeps one after another, then those of the reverse sweeps.
    """

    columns: np.ndarray
    rows: np.ndarray
    sources: np.ndarray

    @property
    def forward(self) -> int:
        """Number of forward sweeps."""
        return int(self.columns.max(initial=-1)) + 1

    @property
    def reverse(self) -> int:
        """Number of reverse sweeps."""
        return int(self.rows.max(initial=-1)) + 1

    @property
    def cost(self) -> float:
        """Cost in forward sweeps."""
        return self.forward + _REVERSE_COST * self.reverse


def plan_of(pattern: csr_array, symmetric: bool, mode: str = "auto") -> SweepPlan:
    """Plan the sweeps for a pattern.

    Parameters
    ----------
    pattern
        The matrix, with sorted indices; its entries do not matter.
    symmetric
        Whether it is that of a symmetric matrix.
    mode
        "forward" for columns alone, "reverse" for rows alone, "auto" for what takes fewer sweeps.
    """
    if symmetric and mode != "reverse":
        return _by_stars(pattern)
    columns = None if mode == "reverse" else _sweeps(pattern, mode == "auto")
    if columns is not None and (mode == "forward" or columns.cost <= _least_cost_of_rows(pattern)):
        return _placed(pattern, columns.colours, columns.alone)
    rows = _sweeps(pattern.T.tocsr(), mode == "auto")
    if columns is not None and columns.cost <= _REVERSE_COST * rows.shared + rows.split:
        return _placed(pattern, columns.colours, columns.alone)
    return _placed(pattern, rows.alone, rows.colours, columns_first=True)


def _least_cost_of_rows(pattern: csr_array) -> float:
    """Return what reverse sweeps cost at least: one for each entry of a column, unless the column is computed alone."""
    lengths = np.bincount(pattern.indices, minlength=1)
    dense = _dense(lengths)
    return _REVERSE_COST * float(lengths[~dense].max(initial=0)) + int(dense.sum())


class _Sweeps(NamedTuple):
    """Sweeps along columns that share them, and those of single rows.

    Attributes
    ----------
    colours
        For each column its sweep.
    alone
        For each row its own sweep, -1 for those that are read from the columns.
    """

    colours: np.ndarray
    alone: np.ndarray

    @property
    def shared(self) -> int:
        """Number of sweeps along columns."""
        return int(self.colours.max(initial=-1)) + 1

    @property
    def split(self) -> int:
        """Number of rows by themselves."""
        return int(self.alone.max(initial=-1)) + 1

    @property
    def cost(self) -> float:
        """Cost if columns are swept forwards, in forward sweeps."""
        return self.shared + _REVERSE_COST * self.split


def _sweeps(pattern: csr_array, may_split: bool) -> _Sweeps:
    """Colour columns; rows that are dense are left out, to have sweeps of their own."""
    lengths = np.diff(pattern.indptr)
    dense = _dense(lengths) if may_split else np.zeros(len(lengths), np.bool_)
    rest = pattern
    if dense.any():
        keep = np.repeat(~dense, lengths)
        rest = ones_at(pattern.indices[keep], starts_of(np.where(dense, 0, lengths)), pattern.shape)
    return _Sweeps(_colour_columns(rest), np.where(dense, np.cumsum(dense) - 1, -1))


def _dense(lengths: np.ndarray) -> np.ndarray:
    """Return which lines are far longer than most."""
    there = lengths[lengths > 0]
    median = float(np.median(there)) if len(there) else 0.0
    found: np.ndarray = lengths > max(_DENSE, _TIMES_MEDIAN * median)
    return found


def _colour_columns(pattern: csr_array) -> np.ndarray:
    """Colour the columns that have entries by distance two, in their order, or the longest first if that is better."""
    by_column = pattern.T.tocsr()
    lengths = np.diff(by_column.indptr)
    used = np.flatnonzero(lengths)
    if pattern.nnz > DENSE_SHARE * math.prod(pattern.shape):
        return np.where(lengths > 0, np.cumsum(lengths > 0) - 1, -1)
    found = _coloured(used, by_column, pattern)
    if found.max(initial=-1) + 1 > 2 * np.diff(pattern.indptr).max(initial=0):
        other = _coloured(used[np.argsort(-lengths[used], kind="stable")], by_column, pattern)
        found = min(found, other, key=lambda colours: colours.max(initial=-1))
    return found


def _coloured(order: np.ndarray, by_column: csr_array, by_row: csr_array) -> np.ndarray:
    lists = [by_column.indptr, by_column.indices, by_row.indptr, by_row.indices]
    kept = [np.ascontiguousarray(each, np.int64) for each in (order, *lists)]
    colours, forbidden = (np.full(count, -1, np.int64) for count in (by_row.shape[1], by_row.shape[1] + 1))
    addresses = [each.ctypes.data for each in (*kept, colours, forbidden)]
    colouring.colour_columns(addresses[0], len(order), *addresses[1:])
    return colours


def _places(pattern: csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Return row and column of each entry, int64."""
    return rows_of(pattern.indptr.astype(np.int64)), pattern.indices.astype(np.int64)


def _placed(
    pattern: csr_array, columns: np.ndarray, rows: np.ndarray, columns_first: bool = False
) -> SweepPlan:
    """Return the plan in which entries of a row with a sweep are read from that, all others from their column's.

    With `columns_first` entries of a column with a sweep are read from that: where columns are alone, and rows share.
    """
    (count, width), forward = pattern.shape, int(columns.max(initial=-1)) + 1
    i, j = _places(pattern)
    own = rows[i]
    sources = np.where(
        columns[j] < 0 if columns_first else own >= 0,
        forward * count + own * width + j,
        columns[j] * count + i,
    )
    return SweepPlan(columns, rows, sources)


# --- symmetric matrices ----------------------------------------------------------------------------------------


def _by_stars(pattern: csr_array) -> SweepPlan:
    """Colour a symmetric matrix by stars. Vertices with very many neighbours have colours of their own."""
    n = pattern.shape[0]
    hubs = _dense(np.diff(pattern.indptr)) | (pattern.nnz > DENSE_SHARE * n**2)
    colours = _colour_stars(pattern, hubs)
    colours[hubs] = colours.max(initial=-1) + 1 + np.arange(int(hubs.sum()))
    colours[np.diff(pattern.indptr) == 0] = -1
    i, j = _places(pattern)
    # An entry is read where it stands if it is the only one of its row with its column's colour
    count = int(colours.max(initial=-1)) + 1
    keys = i * count + colours[j]
    if n * count <= _MAX_COUNTED:
        alone = np.bincount(keys)[keys] == 1
    else:
        _, inverse, times = np.unique(keys, return_inverse=True, return_counts=True)
        alone = times[inverse] == 1
    sources = np.where(alone, colours[j] * n + i, colours[i] * n + j)
    return SweepPlan(colours, np.full(n, -1), sources)


def _colour_stars(pattern: csr_array, hubs: np.ndarray) -> np.ndarray:
    """Colour the graph of a matrix without its diagonal and some vertices, those with most neighbours first."""
    n = pattern.shape[0]
    i, j = _places(pattern)
    edges = (i != j) & ~hubs[i] & ~hubs[j]
    i, j = i[edges], j[edges]
    degrees = np.bincount(i, minlength=n)
    starts = starts_of(degrees)
    # The pattern is symmetric: entry k by rows is the mirror image of entry k by columns
    mirrored = csr_array((np.arange(len(j)), j, starts), pattern.shape).tocsc().data
    order = np.flatnonzero(~hubs)
    order = order[np.argsort(-degrees[order], kind="stable")]
    none = [np.full(size, -1, np.int64) for size in (n, n + 1, n + 1, n + 1, n, len(i), len(i))]
    arrays = [np.ascontiguousarray(each, np.int64) for each in (starts, j, mirrored, *none)]
    addresses = np.array([each.ctypes.data for each in arrays], np.int64)
    colouring.colour_stars(addresses.ctypes.data, order.ctypes.data, len(order))
    return arrays[colouring.COLOURS]
