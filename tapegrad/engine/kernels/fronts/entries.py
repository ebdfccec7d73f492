"""Products of a symmetric matrix, given by the entries of its lower triangle, and the transpose by the entries."""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.fronts.plan import ENTRIES, FrontPlan, has_lists, load_plan
from tapegrad.engine.kernels.language.frame import PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.raw_memory import (
    load_at,
    load_i64,
    load_record,
    memset,
    size_of,
    store_at,
)
from tapegrad.engine.kernels.language.status import OUT_OF_RANGE
from tapegrad.ops.structural.sparse_systems import SparseOuterParams, SparseProductParams


@always_inline
def _add_row(target: int, factor: Any, source: int, k: int, zero: Any) -> None:
    for c in range(k):
        value = load_at(target, c * size_of(zero), zero) + factor * load_at(source, c * size_of(zero), zero)
        store_at(target, c * size_of(zero), value, zero)


@noinline
def add_product(plan: FrontPlan, entries: int, x: int, y: int, k: int, sign: Any, zero: Any) -> None:
    """Add a multiple of a matrix times `k` columns to others."""
    row = k * size_of(zero)
    for e in range(plan.entries):
        i, j = load_i64(plan.entry_rows, e), load_i64(plan.entry_columns, e)
        entry = sign * load_at(entries, e * size_of(zero), zero)
        _add_row(y + i * row, entry, x + j * row, k, zero)
        if i != j:
            _add_row(y + j * row, entry, x + i * row, k, zero)


@noinline
def add_outer(
    plan: FrontPlan, left: int, right: int, into: int, k: int, sign: Any, store: int, zero: Any
) -> None:
    """Add (store: write) a multiple of the outer product of rows to entries, with both elements of each summed."""
    size = size_of(zero)
    row = k * size
    for e in range(plan.entries):
        i, j = load_i64(plan.entry_rows, e) * row, load_i64(plan.entry_columns, e) * row
        total = zero
        for c in range(k):
            total += load_at(left + i, c * size, zero) * load_at(right + j, c * size, zero)
        if i != j:
            for c in range(k):
                total += load_at(left + j, c * size, zero) * load_at(right + i, c * size, zero)
        before = zero if store else load_at(into, e * size, zero)
        store_at(into, e * size, before + sign * total, zero)


@always_inline
def _clear(address: int, bytes_: int, store: int) -> None:
    if store:
        memset(address, np.int32(0), bytes_)


@always_inline
def _fits(address: int, p: Any) -> bool:
    """Return whether a plan is for a matrix so large. Nothing of it is loaded before that."""
    return has_lists(address, p.fields, p.entries, np.int64(-1), ENTRIES) and load_i64(address, 0) == p.n


# --- matrix times columns --------------------------------------------------------------------------------------


@always_inline
def sparse_product_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the matrix of the entries X[0], with the plan X[2], times the columns X[1] to Y."""
    p, address = load_record(load_i64(frame, PARAMS), SparseProductParams), load_i64(frame, X + 2)
    if not _fits(address, p):
        return OUT_OF_RANGE
    y, plan = load_i64(frame, Y), load_plan(address)
    memset(y, np.int32(0), p.n * p.k * size_of(zero))
    add_product(plan, load_i64(frame, X), load_i64(frame, X + 1), y, p.k, zero + 1, zero)
    return 0


@always_inline
def sparse_product_reverse(frame: int, loops: int, zero: Any) -> int:
    """Add (STORE: write) the cotangents of the entries and of the columns."""
    p, address = load_record(load_i64(frame, PARAMS), SparseProductParams), load_i64(frame, X + 2)
    if not _fits(address, p):
        return OUT_OF_RANGE
    store, y_bar, plan = load_i64(frame, STORE), load_i64(frame, Y_BAR), load_plan(address)
    entries_bar, x_bar, one = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1), zero + 1
    if entries_bar != 0:
        add_outer(plan, y_bar, load_i64(frame, X + 1), entries_bar, p.k, one, store & 1, zero)
    if x_bar != 0:
        _clear(x_bar, p.n * p.k * size_of(zero), store & 2)
        add_product(plan, load_i64(frame, X), y_bar, x_bar, p.k, one, zero)
    return 0


@always_inline
def sparse_product_tangent(frame: int, loops: int, zero: Any) -> int:
    """Write the tangent of the product to Y_BAR; either tangent may be absent."""
    p, address = load_record(load_i64(frame, PARAMS), SparseProductParams), load_i64(frame, X + 2)
    if not _fits(address, p):
        return OUT_OF_RANGE
    y_dot, plan = load_i64(frame, Y_BAR), load_plan(address)
    entries_dot, x_dot, one = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1), zero + 1
    memset(y_dot, np.int32(0), p.n * p.k * size_of(zero))
    if entries_dot != 0:
        add_product(plan, entries_dot, load_i64(frame, X + 1), y_dot, p.k, one, zero)
    if x_dot != 0:
        add_product(plan, load_i64(frame, X), x_dot, y_dot, p.k, one, zero)
    return 0


# --- outer products on the pattern -----------------------------------------------------------------------------


@always_inline
def sparse_outer_forward(frame: int, loops: int, zero: Any) -> int:
    """Write the outer product of the rows X[0] and X[1] on the pattern of the plan X[2] to Y."""
    p, address = load_record(load_i64(frame, PARAMS), SparseOuterParams), load_i64(frame, X + 2)
    if not _fits(address, p):
        return OUT_OF_RANGE
    plan, store = load_plan(address), np.int64(1)
    left, right = load_i64(frame, X), load_i64(frame, X + 1)
    add_outer(plan, left, right, load_i64(frame, Y), p.k, zero + 1, store, zero)
    return 0


@always_inline
def sparse_outer_reverse(frame: int, loops: int, zero: Any) -> int:
    """Add (STORE: write) the cotangents of the rows: the matrix of the cotangent times the rows of the other."""
    p, address = load_record(load_i64(frame, PARAMS), SparseOuterParams), load_i64(frame, X + 2)
    if not _fits(address, p):
        return OUT_OF_RANGE
    store, y_bar, plan = load_i64(frame, STORE), load_i64(frame, Y_BAR), load_plan(address)
    for operand in range(2):
        x_bar = load_i64(frame, X_BAR + operand)
        if x_bar != 0:
            _clear(x_bar, p.n * p.k * size_of(zero), store & (1 << operand))
            add_product(plan, y_bar, load_i64(frame, X + 1 - operand), x_bar, p.k, zero + 1, zero)
    return 0


@always_inline
def sparse_outer_tangent(frame: int, loops: int, zero: Any) -> int:
    """Write the tangent of the outer product to Y_BAR; either tangent may be absent."""
    p, address = load_record(load_i64(frame, PARAMS), SparseOuterParams), load_i64(frame, X + 2)
    if not _fits(address, p):
        return OUT_OF_RANGE
    y_dot, plan, store = load_i64(frame, Y_BAR), load_plan(address), np.int64(1)
    memset(y_dot, np.int32(0), p.entries * size_of(zero))
    for operand in range(2):
        x_dot = load_i64(frame, X_BAR + operand)
        if x_dot != 0:
            other = load_i64(frame, X + 1 - operand)
            add_outer(plan, x_dot, other, y_dot, p.k, zero + 1, store - 1, zero)
    return 0
