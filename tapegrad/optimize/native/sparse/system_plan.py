"""Plan of the normal equations of a sparse Jacobian's pattern: the place of each block of J^T J."""

from typing import NamedTuple

import numpy as np

from tapegrad.engine.elimination.analysis import Lists, make_plan
from tapegrad.engine.kernels.fronts.factors import ROUTINES
from tapegrad.engine.kernels.fronts.plan import Header
from tapegrad.engine.runtime import library_loops
from tapegrad.optimize.native.blocks import Block
from tapegrad.optimize.native.loops.sparse import grouping
from tapegrad.optimize.native.loops.sparse.products import ROWS_TOGETHER
from tapegrad.optimize.native.loops.sparse.sparse_fields import SystemFields
from tapegrad.optimize.native.sparse.groups import Groups, addresses, alike, find_groups, spans

_MAX_ADDED = 4  # elements that elimination may add, by those of J^T J, from so many of these on:
_MANY_ELEMENTS = 10_000_000


class Classes(NamedTuple):
    """Classes of rows with the same columns.

    Attributes
    ----------
    rows
        The rows of each class.
    places
        Of each class, for its columns in the order of groups the place among the entries of a row.
    groups
        The groups of each class, in their order.
    """

    rows: Lists
    places: Lists
    groups: Lists


class Panels(NamedTuple):
    """Panels of the eliminated blocks: the groups that each meets, where panels begin, and where a group in one."""

    met: Lists
    starts: np.ndarray
    offsets: np.ndarray


class SystemPlan:
    """Normal equations of a pattern, for fits one after the other.

    Parameters
    ----------
    shape
        Rows and columns of the Jacobian.
    indptr, indices
        Its pattern, by rows.
    eliminate
        Whether to eliminate a block-diagonal part; `None`: where it pays.

    Attributes
    ----------
    eliminated
        Columns that are eliminated.
    """

    def __init__(
        self, shape: tuple[int, int], indptr: np.ndarray, indices: np.ndarray, eliminate: bool | None
    ) -> None:
        starts, columns = indptr.astype(np.int64), indices.astype(np.int64)
        rows = np.repeat(np.arange(shape[0]), np.diff(starts))
        by_column = _listed(columns, rows, shape[1])
        groups = find_groups(shape[0], by_column, eliminate)
        if not self._lay_out(groups, Lists(starts, columns)) and eliminate is None:
            groups = find_groups(shape[0], by_column, False)
            self._lay_out(groups, Lists(starts, columns))
        self.eliminated = int(groups.first[groups.eliminated])

    def _lay_out(self, groups: Groups, by_row: Lists) -> bool:
        """Find the place of each block; return whether what elimination adds is not too much."""
        sizes = np.diff(groups.first)
        classes = _classes(groups, by_row)
        later, earlier = _pairs(classes.groups)
        panels = _panels(groups, sizes, later, earlier)
        of_classes, count = later * len(sizes) + earlier, groups.eliminated
        of_panels = _keys(*_pairs(panels.met), len(sizes))
        own = np.arange(count, len(sizes)) * (len(sizes) + 1)
        of_others = np.unique(of_classes[earlier >= count])
        blocks = np.unique(np.concatenate([of_others, of_panels, own]))
        lengths = _block_sizes(blocks, sizes)
        before = int(np.sum(_block_sizes(of_others, sizes)))
        if np.sum(lengths) > max(_MAX_ADDED * (before + panels.starts[-1]), _MANY_ELEMENTS):
            return False
        triangles = _starts(sizes[:count] * (sizes[:count] + 1) // 2)
        starts = _starts(lengths)
        rest = int(triangles[-1] + panels.starts[-1])
        self._groups, self._classes, self._panels, self._triangles = groups, classes, panels, triangles
        self._strides = np.where(later == earlier, 0, sizes[later]).astype(np.int32)
        self._targets = (
            rest + starts[np.searchsorted(blocks, of_classes) % len(blocks)] if len(blocks) else later * 0
        )
        self._to_panels(sizes, later, earlier)
        self._pair_targets = starts[np.searchsorted(blocks, of_panels)]
        own_blocks = rest + starts[np.searchsorted(blocks, own)]
        self._diagonal = _diagonal(sizes, np.concatenate([triangles[:-1], own_blocks]))
        self._sizes = int(triangles[-1]), rest, rest + int(starts[-1])
        self._plan = make_plan(int(np.sum(sizes[count:])), *_positions(blocks, starts, groups))
        return True

    def _to_panels(self, sizes: np.ndarray, later: np.ndarray, earlier: np.ndarray) -> None:
        """Enter the targets of pairs with an eliminated group."""
        own = later < self._groups.eliminated
        self._targets[own] = self._triangles[later[own]]
        pair = ~own & (earlier < self._groups.eliminated)
        met, starts, offsets = self._panels
        block = np.repeat(np.arange(len(met.starts) - 1), np.diff(met.starts))
        place = np.searchsorted(block * len(sizes) + met.listed, earlier[pair] * len(sizes) + later[pair])
        self._targets[pair] = self._triangles[-1] + starts[earlier[pair]] + offsets[place]
        widths = np.diff(starts) // sizes[: self._groups.eliminated]
        self._strides[pair] = widths[earlier[pair]]

    def system(self) -> Block:
        """Return a new system: its record, with arrays of its own for numbers."""
        library_loops.ensure(ROUTINES)
        (panels, rest, elements), k = self._sizes, len(self._groups.order)
        header = Header(*self._plan[: len(Header._fields)].tolist())
        width = int(np.max(np.diff(self._classes.places.starts), initial=1))
        numbers = {
            "k": k, "eliminated": self._groups.eliminated, "inner": int(self._groups.first[self._groups.eliminated]),
            "classes": len(self._classes.rows.starts) - 1, "loops": library_loops.table(),
            "elements": elements, "panels": panels, "rest": rest,
        }  # fmt: skip
        shapes = {
            **dict.fromkeys(("products", "reduced"), elements), "factor": header.elements,
            **dict.fromkeys(("added", "right"), k), "gathered": ROWS_TOGETHER * width,
        }  # fmt: skip
        return Block(SystemFields, shapes, numbers, self._lists())

    def _lists(self) -> dict[str, np.ndarray]:
        rows, places, groups = self._classes
        met, starts, _ = self._panels
        counts = np.diff(met.starts)
        return {
            "plan": self._plan, "order": self._groups.order, "first": self._groups.first,
            "class_rows": rows.starts, "rows": rows.listed, "class_groups": groups.starts,
            "groups": groups.listed, "class_entries": places.starts, "places": places.listed,
            "targets": self._targets, "strides": self._strides, "blocks": self._triangles,
            "own_panels": starts, "members": met.starts, "met": met.listed,
            "pair_starts": _starts(counts * (counts + 1) // 2), "pair_targets": self._pair_targets,
            "diagonal": self._diagonal,
        }  # fmt: skip


def _starts(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _listed(keys: np.ndarray, values: np.ndarray, count: int) -> Lists:
    """List the values of each key, in their order."""
    order = np.argsort(keys, kind="stable")
    return Lists(_starts(np.bincount(keys, minlength=count)), np.ascontiguousarray(values[order]))


def _keys(later: np.ndarray, earlier: np.ndarray, count: int) -> np.ndarray:
    found: np.ndarray = later * count + earlier
    return found


def _classes(groups: Groups, by_row: Lists) -> Classes:
    """Return the classes of rows that have entries."""
    counts = np.diff(by_row.starts)
    kind = alike(by_row)
    filled = np.flatnonzero(counts > 0)
    numbers, one, kind = np.unique(kind[filled], return_index=True, return_inverse=True)
    rows = _listed(kind.reshape(-1), filled, len(numbers))
    one = filled[one]
    places = np.empty(len(groups.order), np.int64)
    places[groups.order] = np.arange(len(groups.order))
    widths = counts[one]
    column = places[by_row.listed[spans(by_row.starts[:-1][one], widths)]]
    owner, entry = np.repeat(np.arange(len(one)), widths), spans(np.zeros(len(one), np.int64), widths)
    order = np.lexsort((column, owner))
    column, owner = column[order], owner[order]
    group = np.searchsorted(groups.first, column, side="right") - 1
    is_first = groups.first[group] == column
    return Classes(
        Lists(rows.starts, rows.listed.astype(np.int32)),
        Lists(_starts(widths), entry[order].astype(np.int32)),
        Lists(_starts(np.bincount(owner[is_first], minlength=len(one))), group[is_first]),
    )


def _pairs(lists: Lists) -> tuple[np.ndarray, np.ndarray]:
    """Return for each list the pairs of its members, each with itself and with those before it."""
    counts = np.diff(lists.starts)
    total = int(np.sum(counts * (counts + 1) // 2))
    later, earlier = np.empty(total, np.int64), np.empty(total, np.int64)
    members = np.ascontiguousarray(lists.listed, np.int64)
    grouping.list_pairs(len(counts), *addresses(lists.starts, members, later, earlier))
    return later, earlier


def _panels(groups: Groups, sizes: np.ndarray, later: np.ndarray, earlier: np.ndarray) -> Panels:
    joined = (earlier < groups.eliminated) & (later >= groups.eliminated)
    keys = np.unique(earlier[joined] * len(sizes) + later[joined])
    block, member = np.divmod(keys, max(len(sizes), 1))
    met = Lists(_starts(np.bincount(block, minlength=groups.eliminated)), member)
    ends = _starts(sizes[member])
    offsets = ends[:-1] - ends[met.starts[block]]
    widths = ends[met.starts[1:]] - ends[met.starts[:-1]]
    return Panels(met, _starts(widths * sizes[: groups.eliminated]), offsets)


def _block_sizes(keys: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the elements of blocks: of a triangle or of a rectangle."""
    later, earlier = np.divmod(keys, max(len(sizes), 1))
    is_triangle = later == earlier
    found: np.ndarray = np.where(
        is_triangle, sizes[later] * (sizes[later] + 1) // 2, sizes[later] * sizes[earlier]
    )
    return found


def _diagonal(sizes: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the places of the diagonal's elements, given where the triangles of the groups begin."""
    i = spans(np.zeros(len(sizes), np.int64), sizes)
    found: np.ndarray = np.repeat(starts, sizes) + i * (i + 1) // 2 + i
    return found


def _positions(blocks: np.ndarray, starts: np.ndarray, groups: Groups) -> tuple[np.ndarray, np.ndarray]:
    """Return row and column of each element of the blocks, among the columns that are not eliminated."""
    later, earlier = np.divmod(blocks, max(len(groups.first) - 1, 1))
    counts = np.diff(starts)
    element = spans(np.zeros(len(counts), np.int64), counts)
    owner = np.repeat(np.arange(len(counts)), counts)
    width = np.diff(groups.first)[later[owner]]
    in_triangle = (np.sqrt(8.0 * element + 1.0) - 1.0).astype(np.int64) // 2
    is_triangle = later[owner] == earlier[owner]
    i = np.where(is_triangle, in_triangle, element % width)
    j = np.where(is_triangle, element - in_triangle * (in_triangle + 1) // 2, element // width)
    inner = groups.first[groups.eliminated]
    return groups.first[later[owner]] + i - inner, groups.first[earlier[owner]] + j - inner
