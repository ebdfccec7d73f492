"""Plan of a sparse Cholesky factorisation: the symbolic part, a list of int64.

==================  ===============  ==========================================================================
part                integers         meaning
==================  ===============  ==========================================================================
`Header`            9                sizes
order               n                the row of the matrix that is eliminated as pivot 0, 1, ...
first               fronts + 1       the first pivot of each front
starts              fronts + 1       where the rows of each front begin
parents             fronts           the front that the updates of a front go to; `fronts` if it has none
rows                rows             rows of each front below its pivots, ascending, by pivot number
targets             entries          the element of L that each entry of the matrix is added to
pairs               pairs            for fronts of one pivot and few rows: the element of L of each update
entry rows          entries          row of each entry of the lower triangle in the matrix
entry columns       entries          its column
==================  ===============  ==========================================================================

A front of w pivots and r rows has a panel of ``w + r`` rows and w columns of L, in Fortran order; the part above the
diagonal is zero. L consists of the panels in the order of the fronts. Children stand before their parents. The subtree
of a front is contiguous or, where updates are listed, fronts are in the order of their depth in the tree.

Kernels check what they read of the plan before they read or write by it: one from a damaged file stops the sweep.
"""

from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.kernels.language.inlining import always_inline, noinline, noinline_loop
from tapegrad.engine.kernels.language.raw_memory import load_i64, load_record

HEADER_FIELDS = 9
MAX_LISTED_ROWS = 8  # below the pivot of a front whose updates are listed


class Header(NamedTuple):
    """Sizes of a plan; `stack` is the largest number of elements of updates at one time.

    `widest` and `tallest` are the largest numbers of pivots, and of rows below them, of a front.
    """

    n: int
    entries: int
    fronts: int
    rows: int
    elements: int
    stack: int
    pairs: int
    widest: int
    tallest: int


class FrontPlan(NamedTuple):
    """Sizes of a plan that kernels need, and the addresses of its parts."""

    n: int
    entries: int
    fronts: int
    elements: int
    stack: int
    pairs: int
    widest: int
    tallest: int
    order: int
    first: int
    starts: int
    parents: int
    rows: int
    targets: int
    updates: int
    entry_rows: int
    entry_columns: int


@always_inline
def load_plan(address: int) -> FrontPlan:
    """Return the plan at an address."""
    h = load_record(address, Header)
    order = address + 8 * HEADER_FIELDS
    first = order + 8 * h.n
    starts = first + 8 * (h.fronts + 1)
    parents = starts + 8 * (h.fronts + 1)
    rows = parents + 8 * h.fronts
    targets = rows + 8 * h.rows
    updates = targets + 8 * h.entries
    entry_rows = updates + 8 * h.pairs
    entry_columns = entry_rows + 8 * h.entries
    return FrontPlan(
        h.n, h.entries, h.fronts, h.elements, h.stack, h.pairs, h.widest, h.tallest,
        order, first, starts, parents, rows, targets, updates, entry_rows, entry_columns,
    )  # fmt: skip


@always_inline
def panel_columns(plan: FrontPlan, s: int) -> Any:
    """Return the first pivot of a front, and its numbers of pivots and of rows below them."""
    pivot = load_i64(plan.first, s)
    width = load_i64(plan.first, s + 1) - pivot
    return pivot, width, load_i64(plan.starts, s + 1) - load_i64(plan.starts, s)


@always_inline
def are_columns(plan: FrontPlan) -> Any:
    """Return whether all fronts have one pivot and few rows, and their updates are listed."""
    return plan.pairs > 0 or plan.elements == plan.n


# --- check -----------------------------------------------------------------------------------------------------
# A pass over all lists takes as long as the factor of a chain: kernels check those that they read.

FRONTS, TARGETS, ROWS, ENTRIES = 1, 2, 4, 8


@noinline_loop
def _are_below(address: int, count: int, bound: int) -> bool:
    """Return whether all integers of a list are at least 0, and less than a bound."""
    bad = np.int64(0)
    for k in range(count):
        value = load_i64(address, k)
        bad |= value | (bound - 1 - value)
    return bool(bad >= 0)


@noinline
def _sizes_fit(address: int, fields: int) -> bool:
    """Return whether a plan is as long as its sizes say."""
    if fields < HEADER_FIELDS:
        return False
    h = load_record(address, Header)
    bad = h.n | h.entries | h.fronts | h.rows | h.elements | h.stack | h.pairs | h.widest | h.tallest
    most = max(h.n, h.entries, h.fronts, h.rows, h.pairs, h.widest, h.tallest)
    if bad < 0 or most > fields:
        return False
    total = HEADER_FIELDS + h.n + 3 * h.fronts + 2 + h.rows + 3 * h.entries + h.pairs
    return fields == total


@noinline_loop
def _are_heights(plan: FrontPlan) -> bool:
    """Return whether the columns of a plan without wider fronts have as many rows and updates as its lists."""
    bad, pairs = np.int64(0), np.int64(0)
    for j in range(plan.n):
        height = load_i64(plan.starts, j + 1) - load_i64(plan.starts, j)
        bad |= height | (plan.tallest - height)
        pairs += height * (height + 1)
    return bool(bad >= 0 and pairs == 2 * plan.pairs)


@noinline
def _are_fronts(plan: FrontPlan) -> bool:
    """Return whether the fronts have all pivots, parents after them, and panels of as many elements as L."""
    elements, squares = np.int64(0), np.int64(0)
    bad = load_i64(plan.first, 0) | load_i64(plan.starts, 0)
    for s in range(plan.fronts):
        width = load_i64(plan.first, s + 1) - load_i64(plan.first, s)
        height = load_i64(plan.starts, s + 1) - load_i64(plan.starts, s)
        bad |= (width - 1) | height | (plan.widest - width) | (plan.tallest - height)
        parent = load_i64(plan.parents, s)
        bad |= (parent - s - 1) | (plan.fronts - parent)
        elements += width * (width + height)
        squares += height * height
    return bool(bad >= 0 and elements == plan.elements and plan.stack <= squares)


@noinline
def _fit_together(plan: FrontPlan, rows: int) -> bool:
    """Return whether the fronts, or the columns, are those of the lists."""
    if load_i64(plan.starts, plan.fronts) != rows:
        return False
    if are_columns(plan):
        sizes = plan.fronts == plan.n and plan.elements == plan.n + rows and plan.tallest <= MAX_LISTED_ROWS
        return sizes and load_i64(plan.starts, 0) == 0 and _are_heights(plan)
    return (
        load_i64(plan.first, plan.fronts) == plan.n
        and _are_below(plan.first, plan.fronts + 1, plan.n + 1)
        and _are_below(plan.starts, plan.fronts + 1, rows + 1)
        and _are_below(plan.rows, rows, plan.n)
        and _are_fronts(plan)
    )


@noinline
def has_lists(address: int, fields: int, entries: int, elements: int, lists: int) -> bool:
    """Return whether a plan is for a matrix and a factor so large, and all numbers in some of its lists are in range.

    `elements` is negative for a factor of any size.
    """
    if not _sizes_fit(address, fields):
        return False
    plan = load_plan(address)
    rows = (plan.targets - plan.rows) // 8
    if plan.entries != entries or (plan.elements != elements and elements >= 0):
        return False
    if lists & FRONTS and not _fit_together(plan, rows):
        return False
    if lists & TARGETS and not (
        _are_below(plan.targets, plan.entries, plan.elements)
        and _are_below(plan.updates, plan.pairs, plan.elements)
    ):
        return False
    if lists & ROWS and not (_are_below(plan.order, plan.n, plan.n) and _are_below(plan.rows, rows, plan.n)):
        return False
    return lists & ENTRIES == 0 or _are_below(plan.entry_rows, 2 * plan.entries, plan.n)


@noinline
def is_whole(address: int, fields: int, entries: int, elements: int) -> bool:
    """Return whether a plan is complete, all its numbers are in range, and it is for a matrix and a factor so large."""
    return has_lists(address, fields, entries, elements, FRONTS | TARGETS | ROWS | ENTRIES)
