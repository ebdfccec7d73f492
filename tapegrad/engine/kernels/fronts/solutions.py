"""Solutions of sparse systems by the factor, ``A = L L^T`` in the order of the pivots.

``A x = b`` has the cotangents ``b_bar = A^-1 x_bar`` and, by the entries, ``-b_bar x^T`` on the pattern.
"""

from typing import Any

import numpy as np

from tapegrad.engine.kernels.fronts.blocks import add_multiple
from tapegrad.engine.kernels.fronts.columns import backward_columns, forward_columns
from tapegrad.engine.kernels.fronts.entries import add_outer, add_product
from tapegrad.engine.kernels.fronts.plan import (
    ENTRIES,
    FRONTS,
    ROWS,
    FrontPlan,
    are_columns,
    has_lists,
    is_whole,
    load_plan,
    panel_columns,
)
from tapegrad.engine.kernels.language.frame import PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, called_by_address, noinline
from tapegrad.engine.kernels.language.lapack import F64, LOWER, PLAIN, RIGHT, TRANSPOSED, Lapack, libraries
from tapegrad.engine.kernels.language.raw_memory import (
    add_at,
    call_by_reference,
    free,
    load_at,
    load_i64,
    load_record,
    malloc,
    memcpy,
    memset,
    size_of,
    store_at,
)
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY, OUT_OF_RANGE
from tapegrad.engine.kernels.systems.stacks import are_zeros
from tapegrad.ops.structural.sparse_systems import SparseSolveParams

LIBRARY = libraries(("sparse_solve",))


# --- one column ------------------------------------------------------------------------------------------------


@noinline
def _forward_one(plan: FrontPlan, factor: int, x: int, zero: Any) -> None:
    """Solve ``L y = x`` in place for one column."""
    size, panel = size_of(zero), factor
    for s in range(plan.fronts):
        pivot, width, height = panel_columns(plan, s)
        rows, own = plan.rows + 8 * load_i64(plan.starts, s), x + pivot * size
        for j in range(width):
            value = load_at(own, j * size, zero) / load_at(panel, j * size, zero)
            store_at(own, j * size, value, zero)
            add_multiple(own + (j + 1) * size, panel + (j + 1) * size, width - j - 1, -value, zero)
            for i in range(height):
                offset = load_i64(rows, i) * size
                product = value * load_at(panel, (width + i) * size, zero)
                store_at(x, offset, load_at(x, offset, zero) - product, zero)
            panel += (width + height) * size


@noinline
def _backward_one(plan: FrontPlan, factor: int, x: int, zero: Any) -> None:
    """Solve ``L^T y = x`` in place for one column."""
    size, panel = size_of(zero), factor + plan.elements * size_of(zero)
    for step in range(plan.fronts):
        s = plan.fronts - 1 - step
        pivot, width, height = panel_columns(plan, s)
        rows, own = plan.rows + 8 * load_i64(plan.starts, s), x + pivot * size
        for back in range(width):
            j = width - 1 - back
            panel -= (width + height) * size
            total = load_at(own, j * size, zero)
            for i in range(j + 1, width):
                total -= load_at(panel, i * size, zero) * load_at(own, i * size, zero)
            for i in range(height):
                element = load_at(panel, (width + i) * size, zero)
                total -= element * load_at(x, load_i64(rows, i) * size, zero)
            store_at(own, j * size, total / load_at(panel, j * size, zero), zero)


# --- several columns -------------------------------------------------------------------------------------------
# The columns of x are contiguous in its rows: for BLAS x is transposed, with k rows.


@noinline
def _forward_many(
    loops: int, routines: Lapack, plan: FrontPlan, factor: int, x: int, k: int, scratch: int
) -> None:
    """Solve ``L y = x`` in place; the scratch has room for the rows of a front."""
    zero, one, panel = routines.zero, routines.one, factor
    size, columns = size_of(zero), np.int32(k)
    for s in range(plan.fronts):
        pivot, width, height = panel_columns(plan, s)
        own, leading, order = x + pivot * k * size, np.int32(width + height), np.int32(width)
        call_by_reference(
            loops, routines.trsm,
            (RIGHT, LOWER, TRANSPOSED, PLAIN, columns, order, one, panel, leading, own, columns),
        )  # fmt: skip
        if height > 0:
            below, rows = panel + width * size, plan.rows + 8 * load_i64(plan.starts, s)
            call_by_reference(
                loops, routines.products.gemm,
                (PLAIN, TRANSPOSED, columns, np.int32(height), order, one, own, columns, below, leading,
                 zero, scratch, columns),
            )  # fmt: skip
            for i in range(height):
                add_multiple(x + load_i64(rows, i) * k * size, scratch + i * k * size, k, -one, zero)
        panel += width * (width + height) * size


@noinline
def _backward_many(
    loops: int, routines: Lapack, plan: FrontPlan, factor: int, x: int, k: int, scratch: int
) -> None:
    """Solve ``L^T y = x`` in place; the scratch has room for the rows of a front."""
    zero, one = routines.zero, routines.one
    size, columns = size_of(zero), np.int32(k)
    panel = factor + plan.elements * size
    for step in range(plan.fronts):
        s = plan.fronts - 1 - step
        pivot, width, height = panel_columns(plan, s)
        panel -= width * (width + height) * size
        own, leading, order = x + pivot * k * size, np.int32(width + height), np.int32(width)
        if height > 0:
            below, rows = panel + width * size, plan.rows + 8 * load_i64(plan.starts, s)
            for i in range(height):
                memcpy(scratch + i * k * size, x + load_i64(rows, i) * k * size, k * size)
            call_by_reference(
                loops, routines.products.gemm,
                (PLAIN, PLAIN, columns, order, np.int32(height), -one, scratch, columns, below, leading,
                 one, own, columns),
            )  # fmt: skip
        call_by_reference(
            loops, routines.trsm,
            (RIGHT, LOWER, PLAIN, PLAIN, columns, order, one, panel, leading, own, columns),
        )  # fmt: skip


@always_inline
def _copy_row(into: int, source: int, k: int, zero: Any) -> None:
    for c in range(k):
        store_at(into, c * size_of(zero), load_at(source, c * size_of(zero), zero), zero)


@noinline
def _to_pivots(plan: FrontPlan, source: int, into: int, k: int, zero: Any) -> None:
    """Copy rows in the order of the matrix to that of the pivots."""
    size, row = size_of(zero), k * size_of(zero)
    if k == 1:
        for p in range(plan.n):
            store_at(into, p * size, load_at(source, load_i64(plan.order, p) * size, zero), zero)
        return
    for p in range(plan.n):
        _copy_row(into + p * row, source + load_i64(plan.order, p) * row, k, zero)


@noinline
def _from_pivots(plan: FrontPlan, source: int, into: int, k: int, zero: Any) -> None:
    """Copy rows in the order of the pivots to that of the matrix."""
    size, row = size_of(zero), k * size_of(zero)
    if k == 1:
        for p in range(plan.n):
            store_at(into, load_i64(plan.order, p) * size, load_at(source, p * size, zero), zero)
        return
    for p in range(plan.n):
        _copy_row(into + load_i64(plan.order, p) * row, source + p * row, k, zero)


@noinline
def _substitute(
    loops: int, routines: Lapack, plan: FrontPlan, factor: int, x: int, k: int, scratch: int
) -> None:
    """Solve in place, in the order of the pivots; the scratch has room for the rows of a front."""
    if are_columns(plan):
        forward_columns(plan, factor, x, k, routines.zero)
        backward_columns(plan, factor, x, k, routines.zero)
    elif k == 1:
        _forward_one(plan, factor, x, routines.zero)
        _backward_one(plan, factor, x, routines.zero)
    else:
        _forward_many(loops, routines, plan, factor, x, k, scratch)
        _backward_many(loops, routines, plan, factor, x, k, scratch)


@noinline
def solve(loops: int, routines: Lapack, plan: FrontPlan, factor: int, b: int, x: int, k: int) -> bool:
    """Write the solutions for `k` right sides, in C order, to `x`, which may be `b`; return False without memory."""
    row = k * size_of(routines.zero)
    own = malloc((plan.n + plan.tallest) * row + 8)
    if own == 0:
        return False
    _to_pivots(plan, b, own, k, routines.zero)
    if k > 0:
        _substitute(loops, routines, plan, factor, own, k, own + plan.n * row)
    _from_pivots(plan, own, x, k, routines.zero)
    free(own)
    return True


@called_by_address
def half_solutions(frame: int, loops: int) -> int:
    """Solve ``L^T y = x`` in place for vectors one behind the other, in the order of the pivots.

    `frame` has a plan, its length, the numbers of entries and of elements of the factor, the factor in float64, the
    vectors and their number: addresses and sizes.
    """
    address, fields = load_i64(frame, 0), load_i64(frame, 1)
    if not is_whole(address, fields, load_i64(frame, 2), load_i64(frame, 3)):
        return OUT_OF_RANGE
    plan, factor, vectors = load_plan(address), load_i64(frame, 4), load_i64(frame, 5)
    for v in range(load_i64(frame, 6)):
        x = vectors + v * plan.n * size_of(F64.zero)
        if are_columns(plan):
            backward_columns(plan, factor, x, 1, F64.zero)
        else:
            _backward_one(plan, factor, x, F64.zero)
    return 0


# --- kernels ---------------------------------------------------------------------------------------------------


@always_inline
def _fits(address: int, p: Any, lists: int) -> bool:
    return has_lists(address, p.fields, p.entries, p.elements, lists) and load_i64(address, 0) == p.n


@always_inline
def sparse_solve_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write the solutions with the factored matrix X[0], the right sides X[1] and the plan X[2] to Y."""
    p, address = load_record(load_i64(frame, PARAMS), SparseSolveParams), load_i64(frame, X + 2)
    if not _fits(address, p, FRONTS | ROWS):
        return OUT_OF_RANGE
    factor = load_i64(frame, X) + p.entries * size_of(routines.zero)
    b, x = load_i64(frame, X + 1), load_i64(frame, Y)
    return 0 if solve(loops, routines, load_plan(address), factor, b, x, p.k) else OUT_OF_MEMORY


@always_inline
def sparse_solve_reverse(frame: int, loops: int, routines: Lapack) -> int:
    """Add (STORE: write) the cotangents of the factored matrix and of the right sides."""
    p, address = load_record(load_i64(frame, PARAMS), SparseSolveParams), load_i64(frame, X + 2)
    if not _fits(address, p, FRONTS | ROWS | ENTRIES):
        return OUT_OF_RANGE
    zero, store, plan = routines.zero, load_i64(frame, STORE), load_plan(address)
    size, count, y_bar = size_of(zero), p.n * p.k, load_i64(frame, Y_BAR)
    a_bar, b_bar = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1)
    own = malloc(count * size + 8)
    if own == 0:
        return OUT_OF_MEMORY
    # zero times anything is zero: nothing flows through a factor of nan that nothing depends on
    is_nothing, factor = are_zeros(y_bar, count * size, zero), load_i64(frame, X) + p.entries * size
    memset(own, np.int32(0), count * size)
    if not is_nothing and not solve(loops, routines, plan, factor, y_bar, own, p.k):
        free(own)
        return OUT_OF_MEMORY
    if b_bar != 0:
        for i in range(count):
            add_at(b_bar, i * size, load_at(own, i * size, zero), store & 2, zero)
    if a_bar != 0:
        if store & 1:
            memset(a_bar, np.int32(0), (p.entries + p.elements) * size)
        if not is_nothing:
            add_outer(plan, own, load_i64(frame, Y), a_bar, p.k, zero - 1, store & 1, zero)
    free(own)
    return 0


@always_inline
def sparse_solve_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write the solutions for ``b_dot - a_dot @ y`` to Y_BAR; either tangent may be absent."""
    p, address = load_record(load_i64(frame, PARAMS), SparseSolveParams), load_i64(frame, X + 2)
    if not _fits(address, p, FRONTS | ROWS | ENTRIES):
        return OUT_OF_RANGE
    zero, plan, y_dot = routines.zero, load_plan(address), load_i64(frame, Y_BAR)
    bytes_ = p.n * p.k * size_of(zero)
    a_dot, b_dot = load_i64(frame, X_BAR), load_i64(frame, X_BAR + 1)
    if b_dot != 0:
        memcpy(y_dot, b_dot, bytes_)
    else:
        memset(y_dot, np.int32(0), bytes_)
    if a_dot != 0:
        add_product(plan, a_dot, load_i64(frame, Y), y_dot, p.k, zero - 1, zero)
    factor = load_i64(frame, X) + p.entries * size_of(zero)
    return 0 if solve(loops, routines, plan, factor, y_dot, y_dot, p.k) else OUT_OF_MEMORY
