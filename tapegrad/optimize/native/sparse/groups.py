"""Groups of a sparse Jacobian's columns that have the same rows, and the choice of those that are eliminated.

A group that no residual joins with another chosen one is a block of a block-diagonal matrix in J^T J: the points of a
bundle adjustment, the individuals of a panel. They are eliminated if they have most of the columns.
"""

from typing import NamedTuple

import numpy as np

from tapegrad.engine.elimination.analysis import Lists
from tapegrad.optimize.native.loops.sparse import grouping

_MAX_ELIMINATED_COLUMNS = 8  # of a group: its block is factored without BLAS
_MIN_SHARE = 2  # of the columns that are eliminated, by those that are left


class Groups(NamedTuple):
    """Groups of columns, those that are eliminated first.

    Attributes
    ----------
    order
        The column in each place of the order of groups.
    first
        The first place of each group, and the end of the last.
    of_column
        The group of each column.
    eliminated
        Number of groups that are eliminated.
    """

    order: np.ndarray
    first: np.ndarray
    of_column: np.ndarray
    eliminated: int


def alike(lists: Lists) -> np.ndarray:
    """Return a number for each of some lists, the same for equal lists: numbers count them by first appearance.

    Lists without elements are each by itself.
    """
    counts = np.diff(lists.starts)
    seed = 0
    while True:
        keys = np.random.default_rng(seed).integers(1, 2**63, int(np.max(lists.listed, initial=0)) + 1)
        found = _by_sums(lists, keys.astype(np.uint64), counts)
        if found is not None:
            return found
        seed += 1


def _by_sums(lists: Lists, keys: np.ndarray, counts: np.ndarray) -> np.ndarray | None:
    """Return the numbers of lists by sums of keys; `None` if two lists with one sum differ."""
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(keys[lists.listed], dtype=np.uint64)])
    totals = sums[lists.starts[1:]] - sums[lists.starts[:-1]]
    _, first, inverse = np.unique(totals, return_index=True, return_inverse=True)
    first = np.where(counts > 0, first[inverse], np.arange(len(counts)))
    if np.any(counts[first] != counts):
        return None
    twins = np.repeat(lists.starts[:-1][first] - lists.starts[:-1], counts) + np.arange(len(lists.listed))
    if not np.array_equal(lists.listed[twins], lists.listed):
        return None
    return np.unique(first, return_inverse=True)[1].reshape(-1)


def find_groups(rows: int, by_column: Lists, eliminate: bool | None) -> Groups:
    """Return the groups of columns whose rows are listed in ascending order.

    `eliminate` says whether to eliminate some of them; `None`: where most columns can be.
    """
    group = alike(by_column)
    sizes = np.bincount(group)
    one = np.unique(group, return_index=True)[1]  # a column of each group
    chosen = np.empty(0, np.int64)
    if eliminate is not False:
        chosen = _independent(rows, by_column, one, sizes)
        taken = int(np.sum(sizes[chosen]))
        if eliminate is None and taken < _MIN_SHARE * (len(group) - taken):
            chosen = chosen[:0]
    return _in_order(group, sizes, chosen)


def _independent(rows: int, by_column: Lists, one: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return groups of which no row has two, those with few rows first."""
    counts = np.diff(by_column.starts)[one]
    candidates = np.flatnonzero(sizes <= _MAX_ELIMINATED_COLUMNS)
    candidates = candidates[np.argsort(counts[candidates], kind="stable")]
    listed = by_column.listed[spans(by_column.starts[:-1][one], counts)]
    starts = np.concatenate([[0], np.cumsum(counts)])
    taken, chosen = np.zeros(rows + 1, np.int64), np.empty(len(candidates) + 1, np.int64)
    number = grouping.choose_independent(
        len(candidates), *addresses(candidates, starts, listed, taken, chosen)
    )
    return np.sort(chosen[:number])


def _in_order(group: np.ndarray, sizes: np.ndarray, chosen: np.ndarray) -> Groups:
    last = np.ones(len(sizes), np.int64)
    last[chosen] = 0
    groups = np.argsort(last, kind="stable")
    number = np.empty(len(sizes), np.int64)
    number[groups] = np.arange(len(sizes))
    of_column = number[group]
    first = np.concatenate([[0], np.cumsum(sizes[groups])]).astype(np.int64)
    return Groups(np.argsort(of_column, kind="stable"), first, of_column, len(chosen))


def spans(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return adjacent integers from each start on, so many of each, one span after the other."""
    ends = np.cumsum(counts)
    return np.repeat(starts - ends + counts, counts) + np.arange(int(np.sum(counts)))


def addresses(*arrays: np.ndarray) -> list[int]:
    """Return the addresses of contiguous arrays of int64."""
    assert all(array.dtype == np.int64 and array.flags.c_contiguous for array in arrays)
    return [int(array.ctypes.data) for array in arrays]
