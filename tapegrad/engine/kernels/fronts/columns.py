"""Factors, solutions and inverses column by column, for fronts of one pivot and few rows: chains, bands, trees, blocks.

Columns are in the order of their depth in the elimination tree: most of those next to each other do not depend on each
other, so that the processor works on several at a time.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.fronts.plan import FrontPlan
from tapegrad.engine.kernels.language.inlining import always_inline, noinline, noinline_loop
from tapegrad.engine.kernels.language.raw_memory import load_at, load_i64, size_of, store_at

# --- factor ----------------------------------------------------------------------------------------------------


@noinline_loop
def factor_columns(plan: FrontPlan, factor: int, zero: Any) -> int:
    """Factorise column by column; return the number of the first pivot that is not positive plus 1, or 0."""
    size, updates, begin = size_of(zero), plan.updates, np.int64(0)
    for j in range(plan.n):
        end = load_i64(plan.starts, j + 1)
        column, height = factor + (j + begin) * size, end - begin
        pivot, begin = load_at(column, 0, zero), end
        if not pivot > zero:
            return j + 1
        root = np.sqrt(pivot)
        store_at(column, 0, root, zero)
        for b in range(1, height + 1):
            ratio = load_at(column, b * size, zero) / pivot
            for a in range(b, height + 1):
                target = load_i64(updates, 0) * size
                product = ratio * load_at(column, a * size, zero)
                store_at(factor, target, load_at(factor, target, zero) - product, zero)
                updates += 8
            store_at(column, b * size, ratio * root, zero)
    return 0


# --- solutions -------------------------------------------------------------------------------------------------


# Divisions and products that do not wait for the solution come first: what depends on what is one product and one sum.


@noinline_loop
def _forward_one(plan: FrontPlan, factor: int, x: int, zero: Any) -> None:
    """Solve ``L y = x`` in place for one right side."""
    size, begin = size_of(zero), np.int64(0)
    for j in range(plan.n):
        end = load_i64(plan.starts, j + 1)
        column, height, rows = factor + (j + begin) * size, end - begin, plan.rows + 8 * begin
        scaled, value = (zero + 1) / load_at(column, 0, zero), load_at(x, j * size, zero)
        for i in range(height):
            offset, ratio = load_i64(rows, i) * size, load_at(column, (i + 1) * size, zero) * scaled
            store_at(x, offset, load_at(x, offset, zero) - value * ratio, zero)
        store_at(x, j * size, value * scaled, zero)
        begin = end


@noinline_loop
def _backward_one(plan: FrontPlan, factor: int, x: int, zero: Any) -> None:
    """Solve ``L^T y = x`` in place for one right side."""
    size, end = size_of(zero), load_i64(plan.starts, plan.n)
    for step in range(plan.n):
        j = plan.n - 1 - step
        begin = load_i64(plan.starts, j)
        column, height, rows = factor + (j + begin) * size, end - begin, plan.rows + 8 * begin
        scaled = (zero + 1) / load_at(column, 0, zero)
        total = load_at(x, j * size, zero) * scaled
        for back in range(height):  # the number that was computed last is needed last
            ratio = load_at(column, (height - back) * size, zero) * scaled
            total -= ratio * load_at(x, load_i64(rows, height - 1 - back) * size, zero)
        store_at(x, j * size, total, zero)
        end = begin


@noinline
def forward_columns(plan: FrontPlan, factor: int, x: int, k: int, zero: Any) -> None:
    """Solve ``L y = x`` in place for `k` right sides, the rows of x."""
    if k == 1:
        _forward_one(plan, factor, x, zero)
        return
    size, row, begin = size_of(zero), k * size_of(zero), np.int64(0)
    for j in range(plan.n):
        end = load_i64(plan.starts, j + 1)
        column, own = factor + (j + begin) * size, x + j * row
        _scale_row(own, (zero + 1) / load_at(column, 0, zero), k, zero)
        for p in range(begin, end):
            element = load_at(column, (p + 1 - begin) * size, zero)
            _subtract_row(x + load_i64(plan.rows, p) * row, element, own, k, zero)
        begin = end


@noinline
def backward_columns(plan: FrontPlan, factor: int, x: int, k: int, zero: Any) -> None:
    """Solve ``L^T y = x`` in place for `k` right sides, the rows of x."""
    if k == 1:
        _backward_one(plan, factor, x, zero)
        return
    size, row, end = size_of(zero), k * size_of(zero), load_i64(plan.starts, plan.n)
    for step in range(plan.n):
        j = plan.n - 1 - step
        begin = load_i64(plan.starts, j)
        column, own = factor + (j + begin) * size, x + j * row
        for p in range(begin, end):
            element = load_at(column, (p + 1 - begin) * size, zero)
            _subtract_row(own, element, x + load_i64(plan.rows, p) * row, k, zero)
        _scale_row(own, (zero + 1) / load_at(column, 0, zero), k, zero)
        end = begin


@always_inline
def _scale_row(row: int, factor: Any, k: int, zero: Any) -> None:
    size = size_of(zero)
    for c in range(k):
        store_at(row, c * size, load_at(row, c * size, zero) * factor, zero)


@always_inline
def _subtract_row(row: int, factor: Any, other: int, k: int, zero: Any) -> None:
    size = size_of(zero)
    for c in range(k):
        value = load_at(row, c * size, zero) - factor * load_at(other, c * size, zero)
        store_at(row, c * size, value, zero)


# --- inverse ---------------------------------------------------------------------------------------------------


@always_inline
def _invert_column(
    updates: int, column: int, inverse: int, own: int, height: int, scaled: Any, zero: Any
) -> None:
    """Write a column of the inverse, given the columns of its rows: an update of L is a read of the inverse."""
    size, total = size_of(zero), scaled * scaled
    for a in range(1, height + 1):
        below, listed = zero, updates + 8 * (a - 1)
        for b in range(1, a):
            element = load_at(inverse, load_i64(listed, 0) * size, zero)
            below -= element * (scaled * load_at(column, b * size, zero))
            listed += 8 * (height - b)
        for b in range(a, height + 1):
            element = load_at(inverse, load_i64(listed, b - a) * size, zero)
            below -= element * (scaled * load_at(column, b * size, zero))
        store_at(own, a * size, below, zero)
        total -= scaled * load_at(column, a * size, zero) * below
    store_at(own, 0, total, zero)


@noinline_loop
def invert_columns(plan: FrontPlan, factor: int, inverse: int, zero: Any) -> None:
    """Write the inverse on the pattern of the factor column by column, from the last one."""
    size, end = size_of(zero), load_i64(plan.starts, plan.n)
    updates = plan.updates + 8 * plan.pairs
    for step in range(plan.n):
        j = plan.n - 1 - step
        begin = load_i64(plan.starts, j)
        height, offset = end - begin, (j + begin) * size
        column, own, end = factor + offset, inverse + offset, begin
        scaled = (zero + 1) / load_at(column, 0, zero)
        updates -= 4 * height * (height + 1)
        # the loops of the usual heights are unrolled
        if height == 1:
            _invert_column(updates, column, inverse, own, 1, scaled, zero)
        elif height == 2:
            _invert_column(updates, column, inverse, own, 2, scaled, zero)
        elif height == 3:
            _invert_column(updates, column, inverse, own, 3, scaled, zero)
        elif height == 4:
            _invert_column(updates, column, inverse, own, 4, scaled, zero)
        else:
            _invert_column(updates, column, inverse, own, height, scaled, zero)
