"""Sparse Cholesky factors, by fronts or, for columns of few rows, by lists of updates.

A factored matrix is one vector: the entries, then L. Only its entries have a cotangent (`ops.structural.
sparse_systems`).
"""

import numpy as np

from tapegrad.engine.kernels.fronts.blocks import factor_panel, subtract_square
from tapegrad.engine.kernels.fronts.columns import factor_columns
from tapegrad.engine.kernels.fronts.plan import (
    FRONTS,
    TARGETS,
    FrontPlan,
    are_columns,
    has_lists,
    is_whole,
    load_plan,
    panel_columns,
)
from tapegrad.engine.kernels.fronts.stacking import add_update, note_rows, places_in_parent
from tapegrad.engine.kernels.language.frame import PARAMS, STORE, X_BAR, Y_BAR, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, called_by_address, noinline
from tapegrad.engine.kernels.language.lapack import F64, Lapack, libraries
from tapegrad.engine.kernels.language.raw_memory import (
    add_at,
    free,
    load_at,
    load_i64,
    load_record,
    malloc,
    memcpy,
    memmove,
    memset,
    size_of,
    store_at,
    store_i64,
)
from tapegrad.engine.kernels.language.status import NOT_POSITIVE_DEFINITE, OUT_OF_MEMORY, OUT_OF_RANGE
from tapegrad.engine.kernels.systems.stacks import write_nan
from tapegrad.ops.structural.sparse_systems import SparseCholeskyParams

LIBRARY = libraries(("sparse_cholesky",), "potrf", "syrk")
ROUTINES = ("dpotrf", "dtrsm", "dsyrk")  # that `failed_pivot` calls
_DAMAGED, _NO_MEMORY = -1, -2


@noinline
def _factor_fronts(loops: int, routines: Lapack, plan: FrontPlan, factor: int, scratch: int) -> int:
    """Factorise front by front; return a pivot's number as `factorise` does.

    The scratch has the rows of a front, the places of a child's rows, the fronts on the stack, and the stack.
    """
    zero, panel, depth = routines.zero, factor, np.int64(0)
    size = size_of(zero)
    places = scratch + 8 * plan.n
    owners = places + 8 * plan.tallest
    stack = owners + 8 * plan.fronts
    top, end = stack, stack + plan.stack * size
    for s in range(plan.fronts):
        pivot, width, height = panel_columns(plan, s)
        square, bytes_, low = top, height * height * size, top
        if bytes_ > end - top:
            return _DAMAGED
        if depth > 0 and load_i64(plan.parents, load_i64(owners, depth - 1)) == s:
            memset(square, np.int32(0), bytes_)
            note_rows(plan, s, scratch)
        while depth > 0 and load_i64(plan.parents, load_i64(owners, depth - 1)) == s:
            depth -= 1
            child = load_i64(owners, depth)
            count = load_i64(plan.starts, child + 1) - load_i64(plan.starts, child)
            low -= count * count * size
            if not places_in_parent(plan, child, s, scratch, places):
                return _DAMAGED
            add_update(low, count, places, panel, square, width, height, zero)
        failed = factor_panel(loops, routines, panel, width, width + height)
        if failed >= 0:
            return pivot + failed + 1
        if height > 0:
            subtract_square(loops, routines, panel, width, height, square, np.int64(low == top))
            if low != top:
                memmove(low, square, bytes_)
            store_i64(owners, depth, s)
            depth += 1
        top = low + bytes_
        panel += width * (width + height) * size
    return 0


@noinline
def factorise(loops: int, routines: Lapack, plan: FrontPlan, entries: int, factor: int) -> int:
    """Write the factor of a matrix with a checked plan.

    Returns
    -------
    int
        0; the number of the first pivot that is not positive (or nan), plus 1; or a negative number for a plan that is
        damaged, or too little memory.
    """
    zero = routines.zero
    size = size_of(zero)
    if plan.entries < plan.elements:
        memset(factor, np.int32(0), plan.elements * size)
    for k in range(plan.entries):
        target = load_i64(plan.targets, k) * size
        store_at(factor, target, load_at(entries, k * size, zero), zero)
    if are_columns(plan):
        return factor_columns(plan, factor, zero)
    scratch = malloc(8 * (plan.n + plan.tallest + plan.fronts + 1) + plan.stack * size)
    if scratch == 0:
        return _NO_MEMORY
    failed = _factor_fronts(loops, routines, plan, factor, scratch)
    free(scratch)
    return failed


# --- kernels ---------------------------------------------------------------------------------------------------


@always_inline
def sparse_cholesky_forward(frame: int, loops: int, routines: Lapack) -> int:
    """Write the entries X[0] and the factor of their matrix, by the plan X[1], to Y."""
    p, zero, y = load_record(load_i64(frame, PARAMS), SparseCholeskyParams), routines.zero, load_i64(frame, Y)
    entries, plan, own = load_i64(frame, X), load_i64(frame, X + 1), p.entries * size_of(zero)
    if not has_lists(plan, p.fields, p.entries, p.elements, FRONTS | TARGETS):
        return OUT_OF_RANGE
    memcpy(y, entries, own)
    failed = factorise(loops, routines, load_plan(plan), entries, y + own)
    if failed > 0 and p.nan_on_failure:
        write_nan(y, own + p.elements * size_of(zero), zero)
        return 0
    if failed > 0:
        return NOT_POSITIVE_DEFINITE
    if failed < 0:
        return OUT_OF_MEMORY if failed == _NO_MEMORY else OUT_OF_RANGE
    return 0


@always_inline
def sparse_cholesky_reverse(frame: int, loops: int, routines: Lapack) -> int:
    """Add (STORE: write) the cotangent of the entries to X_BAR[0]."""
    p, zero = load_record(load_i64(frame, PARAMS), SparseCholeskyParams), routines.zero
    x_bar, y_bar, store = load_i64(frame, X_BAR), load_i64(frame, Y_BAR), load_i64(frame, STORE) & 1
    for k in range(p.entries):
        offset = k * size_of(zero)
        add_at(x_bar, offset, load_at(y_bar, offset, zero), store, zero)
    return 0


@always_inline
def sparse_cholesky_tangent(frame: int, loops: int, routines: Lapack) -> int:
    """Write the tangent of the entries to Y_BAR, and zeros for that of the factor."""
    p, zero = load_record(load_i64(frame, PARAMS), SparseCholeskyParams), routines.zero
    own, y_dot = p.entries * size_of(zero), load_i64(frame, Y_BAR)
    memcpy(y_dot, load_i64(frame, X_BAR), own)
    memset(y_dot + own, np.int32(0), p.elements * size_of(zero))
    return 0


@called_by_address
def failed_pivot(frame: int, loops: int) -> int:
    """Return the row of the first pivot that is not positive, -1 if there is none; for messages.

    `frame` has a plan, its length, the numbers of entries and of elements of the factor, entries in float64, and room
    for the factor: addresses and sizes.
    """
    address, fields = load_i64(frame, 0), load_i64(frame, 1)
    if not is_whole(address, fields, load_i64(frame, 2), load_i64(frame, 3)):
        return -1
    plan = load_plan(address)
    pivot = factorise(loops, F64, plan, load_i64(frame, 4), load_i64(frame, 5))
    return load_i64(plan.order, pivot - 1) if pivot > 0 else -1
