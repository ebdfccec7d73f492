"""Symbolic factorisation: from the pattern of a lower triangle to its plan.

Fronts of one column and few rows, as those of chains and of small blocks,
get a list of all updates instead of dense blocks.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tapegrad.engine.elimination import minimum_degree, positions, supernodes, tree
from tapegrad.engine.kernels.fronts.plan import HEADER_FIELDS, MAX_LISTED_ROWS, Header


class Lists(NamedTuple):
    """Numbers from 0 on sorted by a key: the start of each key among them."""

    starts: np.ndarray
    listed: np.ndarray


class Fronts(NamedTuple):
    """Fronts: first columns, parents, the start of the rows of each below its pivots, and the rows."""

    first: np.ndarray
    above: np.ndarray
    starts: np.ndarray
    rows: np.ndarray


class Elimination(NamedTuple):
    """An order of elimination, and what it leads to.

    Attributes
    ----------
    order
        The vertex that is eliminated first, second, ...; all else is by these numbers.
    parent
        Parent of each pivot in the elimination tree, -1 for a root.
    below
        The numbers of the entries by their columns.
    rows
        The row of each entry in `below`.
    counts
        Entries of each column of L.
    """

    order: np.ndarray
    parent: np.ndarray
    below: Lists
    rows: np.ndarray
    counts: np.ndarray


def make_plan(n: int, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the plan of a symmetric matrix, given the positions of the entries of its lower triangle, int64.

    No two entries have the same position.
    """
    found = _fill_reducing(n, rows, columns)
    listed = int(np.max(found.counts, initial=1)) - 1 <= MAX_LISTED_ROWS
    if listed:
        found = _by_depth(n, _folded(n, found, rows, columns), rows, columns)
    fronts, pairs = _fronts(n, found, listed)
    targets, elements = _targets(fronts, found)
    above, count = fronts.above, len(fronts.above)
    scratch = [_integers(count) for _ in range(2)]
    stack = 0 if listed else _call(positions.update_memory, count, above, fronts.starts, *scratch)
    widths, heights = np.diff(fronts.first), np.diff(fronts.starts)
    header = Header(
        n, len(rows), count, len(fronts.rows), elements, stack, len(pairs),
        int(np.max(widths, initial=0)), int(np.max(heights, initial=0)),
    )  # fmt: skip
    parts = (
        header,
        found.order,
        fronts.first,
        fronts.starts,
        above,
        fronts.rows,
        targets,
        pairs,
        rows,
        columns,
    )
    return np.concatenate(parts, dtype=np.int64)


def positions_of_elements(plan: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the row and the column of each stored element of L, by the number of the pivot.

    Elements above the diagonal, of blocks of pivots, are zero.
    """
    header = Header(*map(int, plan[:HEADER_FIELDS]))
    begin = HEADER_FIELDS + header.n
    first, starts = plan[begin : begin + header.fronts + 1], plan[begin + header.fronts + 1 :]
    rows = starts[2 * header.fronts + 1 :]
    starts = starts[: header.fronts + 1]
    widths, heights = np.diff(first), np.diff(starts)
    sizes = widths * (widths + heights)
    front = np.repeat(np.arange(header.fronts), sizes)
    place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    column, row = np.divmod(place, (widths + heights)[front])
    below = row >= widths[front]
    found = first[front] + row
    found[below] = rows[(starts[front] + row - widths[front])[below]]
    return found, first[front] + column


def _integers(count: int) -> np.ndarray:
    return np.empty(max(count, 1), np.int64)


def _call(function: Callable[..., int], *args: int | np.ndarray) -> int:
    """Call compiled code with integers and the addresses of lists; the lists, scratch too, live until it returns."""
    return function(*[arg if isinstance(arg, int) else int(arg.ctypes.data) for arg in args])


def _bucket(keys: np.ndarray, n: int) -> Lists:
    keys = np.ascontiguousarray(keys, np.int64)
    found = Lists(np.empty(n + 1, np.int64), np.empty(len(keys), np.int64))
    _call(tree.bucket, len(keys), keys, n, *found)
    return found


# --- order -------------------------------------------------------------------------------------------------------


def _fill_reducing(n: int, rows: np.ndarray, columns: np.ndarray) -> Elimination:
    """Return an elimination with little fill: in the order of the matrix, if there is none."""
    by_column, scratch = _bucket(columns, n), [_integers(n) for _ in range(3)]
    fills_in = _call(tree.fills_in, n, by_column.starts, rows[by_column.listed], *scratch)
    order = _minimum_degree(n, rows, columns) if fills_in else np.arange(n)
    return _eliminate(n, order, rows, columns)


def _eliminate(n: int, order: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> Elimination:
    """Return the elimination in an order, its pivots renumbered so that subtrees are contiguous."""
    low, high = _ends(n, order, rows, columns)
    by_row = _bucket(high, n)
    parent, scratch = _integers(n)[:n], [_integers(n) for _ in range(3)]
    _call(tree.elimination_tree, n, by_row.starts, low[by_row.listed], parent, scratch[0])
    found = _integers(n)[:n]
    _call(tree.postorder, n, parent, found, *scratch)
    counts, place = _integers(n)[:n], np.empty(n + 1, np.int64)
    place[found], place[n] = np.arange(n), -1  # of the vertex -1
    order, parent, low, high = order[found], place[parent[found]], place[low], place[high]
    below = _bucket(low, n)
    listed = high[below.listed]
    _call(tree.column_counts, n, parent, below.starts, listed, counts, _integers(4 * n))
    return Elimination(order, parent, below, listed, counts)


def _ends(n: int, order: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and the higher end of each entry in an order."""
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    left, right = place[rows], place[columns]
    return np.minimum(left, right), np.maximum(left, right)


def _depths(n: int, parent: np.ndarray) -> np.ndarray:
    depths = _integers(n)[:n]
    _call(tree.depths, n, parent, depths)
    return depths


def _folded(n: int, found: Elimination, rows: np.ndarray, columns: np.ndarray) -> Elimination:
    """Return an elimination from both ends, if that shortens the tree of a single chain, and adds no fill."""
    depth = int(np.max(_depths(n, found.parent), initial=0))
    if 2 * depth <= n:
        return found
    numbers = np.arange(n)
    ends = np.where(numbers % 2 == 0, numbers // 2, n - 1 - numbers // 2)
    other = _eliminate(n, found.order[ends], rows, columns)
    worse = (
        int(np.sum(other.counts)) > int(np.sum(found.counts))
        or int(np.max(_depths(n, other.parent))) >= depth
    )
    return found if worse else other


def _by_depth(n: int, found: Elimination, rows: np.ndarray, columns: np.ndarray) -> Elimination:
    """Return an elimination of the same fill, in which the pivots that are deepest in the tree come first."""
    depths = _depths(n, found.parent)
    moved = _bucket(np.max(depths, initial=0) - depths, n).listed
    place = np.empty(n + 1, np.int64)
    place[moved], place[n] = np.arange(n), -1
    order = found.order[moved]
    low, high = _ends(n, order, rows, columns)
    below = _bucket(low, n)
    return Elimination(order, place[found.parent[moved]], below, high[below.listed], found.counts[moved])


def _minimum_degree(n: int, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return an order by minimum degree; rows that meet very many others come last, for they cost each step."""
    off = rows != columns
    i, j = rows[off], columns[off]
    is_dense = np.bincount(np.concatenate([i, j]), minlength=n) > max(16.0, 10.0 * math.sqrt(n))
    sparse = ~(is_dense[i] | is_dense[j])
    i, j = i[sparse], j[sparse]
    edges = _bucket(np.concatenate([i, j]), n)
    neighbours = np.concatenate([j, i])[edges.listed]
    order, lists = _integers(n), _integers(minimum_degree.LISTS_PER_VERTEX * n)
    room, other = (_integers(2 * len(neighbours) + n) for _ in range(2))
    _call(minimum_degree.minimum_degree, n, edges.starts, neighbours, order, lists, room, other)
    order = order[:n]
    return np.concatenate([order[~is_dense[order]], np.flatnonzero(is_dense)])


# --- fronts ------------------------------------------------------------------------------------------------------


def _fronts(n: int, found: Elimination, listed: bool) -> tuple[Fronts, np.ndarray]:
    """Return the fronts, and the targets of all updates, if these are listed: fronts have one column each then."""
    first, heights = np.arange(n + 1), found.counts
    if not listed:
        first, heights, zeros = _integers(n + 1), _integers(n), _integers(n)
        count = _call(supernodes.join_columns, n, found.parent, found.counts, first, heights, zeros)
        first, heights = first[: count + 1].copy(), heights[:count]
    above = _integers(len(heights))[: len(heights)]
    _call(supernodes.front_parents, len(heights), first, found.parent, _integers(n), above)
    fronts = _with_rows(n, first, above, heights - np.diff(first), found)
    if not listed:
        return fronts, np.empty(0, np.int64)
    many = np.diff(fronts.starts)
    pairs = np.empty(int(np.sum(many * (many + 1) // 2)), np.int64)
    _call(positions.update_targets, n, fronts.starts, fronts.rows, pairs)
    return fronts, pairs


def _with_rows(
    n: int, first: np.ndarray, above: np.ndarray, heights: np.ndarray, found: Elimination
) -> Fronts:
    count = len(above)
    starts = np.concatenate([[0], np.cumsum(heights)]).astype(np.int64)
    rows = _integers(starts[-1])[: starts[-1]]
    scratch = _integers(n + 2 * count)
    begins = found.below.starts
    wrong = _call(supernodes.front_rows, count, first, above, starts, begins, found.rows, rows, scratch)
    assert wrong == 0, "the rows of a front are not as many as its columns have entries"
    _call(supernodes.sort_rows, count, starts, rows, n, _integers(n + 1), _integers(len(rows)))
    return Fronts(first, above, starts, rows)


def _targets(fronts: Fronts, found: Elimination) -> tuple[np.ndarray, int]:
    """Return the element of L of each entry, and the number of elements of L."""
    targets = np.empty(len(found.rows), np.int64)
    listed = np.ascontiguousarray(np.column_stack([found.below.listed, found.rows]), np.int64)
    first, above, starts, rows = fronts
    begins = found.below.starts
    local = _integers(len(begins))
    elements = _call(positions.entry_targets, len(above), first, starts, rows, begins, listed, targets, local)
    return targets, elements
