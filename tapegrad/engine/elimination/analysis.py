"""Symbolic factorisation: from the pattern of a lower triangle to its plan.

Fronts of one column and few rows, as those of chains and of small blocks,
get a list of all updates instead of dense blocks.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tapegrad.engine.elimination import minimum_degree, positions, supernodes, tree
from tapegrad.engine.kernels.fronts.plan import HEADER_FIELDS, Header

_MAX_LISTED_ROWS = 8  # below the pivot of a front whose updates are listed


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


def make_plan(n: int, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the plan of a symmetric matrix, given the positions of the entries of its lower triangle, int64.

    No two entries have the same position.
    """
    order, parent, low, high = _in_postorder(n, *_fill_reducing(n, rows, columns))
    by_column = _bucket(low, n)
    scratch, counts = _integers(4 * n), _integers(n)
    listed = np.ascontiguousarray(high[by_column.listed])
    _call(tree.column_counts, n, parent, by_column.starts, listed, counts, scratch)
    fronts, pairs = _fronts(n, parent, counts, Lists(by_column.starts, listed))
    targets, elements = _targets(fronts, by_column, listed)
    stack = _call(
        positions.update_memory,
        len(fronts.above),
        fronts.above,
        fronts.starts,
        _integers(len(fronts.above)),
        _integers(len(fronts.above)),
    )
    widths, heights = np.diff(fronts.first), np.diff(fronts.starts)
    header = Header(
        n, len(rows), len(fronts.above), len(fronts.rows), elements, stack, len(pairs),
        int(np.max(widths, initial=0)), int(np.max(heights, initial=0)),
    )  # fmt: skip
    parts = (
        header,
        order,
        fronts.first,
        fronts.starts,
        fronts.above,
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


def _fill_reducing(
    n: int, rows: np.ndarray, columns: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the vertices in an order with little fill, and the ends of each entry in it."""
    order = _minimum_degree(n, rows, columns)
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    return order, place[rows], place[columns]


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


def _in_postorder(
    n: int, order: np.ndarray, left: np.ndarray, right: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return order and parents with subtrees contiguous, and the lower and the higher end of each entry."""
    low, high = np.minimum(left, right), np.maximum(left, right)
    by_row = _bucket(high, n)
    columns = low[by_row.listed]
    parent, scratch = _integers(n), [_integers(n) for _ in range(3)]
    _call(tree.elimination_tree, n, by_row.starts, columns, parent, scratch[0])
    found = _integers(n)
    _call(tree.postorder, n, parent, found, *scratch)
    found = found[:n]
    place = np.empty(n + 1, np.int64)
    place[found], place[n] = np.arange(n), -1  # of the vertex -1
    return order[found], place[parent[:n][found]], place[low], place[high]


# --- fronts ------------------------------------------------------------------------------------------------------


def _fronts(n: int, parent: np.ndarray, counts: np.ndarray, below: Lists) -> tuple[Fronts, np.ndarray]:
    """Return the fronts and, if they are of one column each and have few rows, the targets of all updates."""
    few = int(np.max(counts[:n], initial=1)) - 1 <= _MAX_LISTED_ROWS
    first, heights = np.arange(n + 1), counts[:n]
    if not few:
        first, heights, zeros = _integers(n + 1), _integers(n), _integers(n)
        count = _call(supernodes.join_columns, n, parent, counts, first, heights, zeros)
        first, heights = first[: count + 1].copy(), heights[:count]
    above = _integers(len(heights))[: len(heights)]
    _call(supernodes.front_parents, len(heights), first, parent, _integers(n), above)
    fronts = _with_rows(n, first, above, heights - np.diff(first), below)
    if not few:
        return fronts, np.empty(0, np.int64)
    many = np.diff(fronts.starts)
    pairs = np.empty(int(np.sum(many * (many + 1) // 2)), np.int64)
    _call(positions.update_targets, n, fronts.starts, fronts.rows, pairs)
    return fronts, pairs


def _with_rows(n: int, first: np.ndarray, above: np.ndarray, heights: np.ndarray, below: Lists) -> Fronts:
    count = len(above)
    starts = np.concatenate([[0], np.cumsum(heights)]).astype(np.int64)
    rows = _integers(starts[-1])[: starts[-1]]
    fronts = Fronts(first, above, starts, rows)
    scratch = _integers(n + 2 * count)
    wrong = _call(supernodes.front_rows, count, first, above, starts, *below, rows, scratch)
    assert wrong == 0, "the rows of a front are not as many as its columns have entries"
    _call(supernodes.sort_rows, count, starts, rows, n, _integers(n + 1), _integers(len(rows)))
    return fronts


def _targets(fronts: Fronts, by_column: Lists, high: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the element of L of each entry, and the number of elements of L."""
    targets = np.empty(len(high), np.int64)
    listed = np.ascontiguousarray(np.column_stack([by_column.listed, high]), np.int64)
    first, _, starts, rows = fronts
    local = _integers(len(by_column.starts))
    elements = _call(
        positions.entry_targets,
        len(fronts.above),
        first,
        starts,
        rows,
        by_column.starts,
        listed,
        targets,
        local,
    )
    return targets, elements
