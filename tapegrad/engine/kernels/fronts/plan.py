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
diagonal is zero. L consists of the panels in the order of the fronts. Children stand before their parents, and the
subtree of a front is contiguous.

Kernels check the plan before they read or write by it: one from a damaged file stops the sweep.
"""

from typing import Any, NamedTuple

import numpy as np

from tapegrad.engine.kernels.language.inlining import always_inline, noinline, noinline_loop
from tapegrad.engine.kernels.language.raw_memory import load_i64, load_record

HEADER_FIELDS = 9


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
def is_whole(address: int, fields: int, entries: int, elements: int) -> bool:
    """Return whether a plan is complete, all its numbers are in range, and it is for a matrix and a factor so large."""
    if not _sizes_fit(address, fields):
        return False
    plan = load_plan(address)
    if plan.entries != entries or (plan.elements != elements and elements >= 0):
        return False
    rows = (plan.targets - plan.rows) // 8
    if load_i64(plan.first, plan.fronts) != plan.n or load_i64(plan.starts, plan.fronts) != rows:
        return False
    if not (_are_below(plan.order, plan.n, plan.n) and _are_below(plan.rows, rows, plan.n)):
        return False
    if not (
        _are_below(plan.first, plan.fronts + 1, plan.n + 1)
        and _are_below(plan.starts, plan.fronts + 1, rows + 1)
        and _are_fronts(plan)
        and _are_below(plan.entry_rows, 2 * plan.entries, plan.n)
    ):
        return False
    return _are_below(plan.targets, plan.entries, plan.elements) and _have_pairs(plan)


@noinline
def _have_pairs(plan: FrontPlan) -> bool:
    """Return whether listed updates are as many as the columns have, if any are listed."""
    if plan.pairs == 0:
        return True
    count = np.int64(0)
    for s in range(plan.fronts):
        height = load_i64(plan.starts, s + 1) - load_i64(plan.starts, s)
        count += height * (height + 1) // 2
    return (
        plan.widest == 1 and bool(count == plan.pairs) and _are_below(plan.updates, plan.pairs, plan.elements)
    )


@always_inline
def panel_columns(plan: FrontPlan, s: int) -> Any:
    """Return the first pivot of a front, and its numbers of pivots and of rows below them."""
    pivot = load_i64(plan.first, s)
    width = load_i64(plan.first, s + 1) - pivot
    return pivot, width, load_i64(plan.starts, s + 1) - load_i64(plan.starts, s)
