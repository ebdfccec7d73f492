"""The inverse of a sparse matrix on the pattern of its factor, from the last front to the first.

The inverse at the rows of a front is a part of that at the pivots and rows of its parent (Erisman, Tinney 1975; Rouet
2012). Columns of few rows use the list of updates: an update of an element of L is a read of that of the inverse.
"""

from tapegrad.engine.kernels.fronts.blocks import invert_panel
from tapegrad.engine.kernels.fronts.columns import invert_columns
from tapegrad.engine.kernels.fronts.plan import FrontPlan, are_columns, panel_columns
from tapegrad.engine.kernels.fronts.stacking import note_rows, places_in_parent, take_square
from tapegrad.engine.kernels.language.inlining import noinline
from tapegrad.engine.kernels.language.lapack import Lapack
from tapegrad.engine.kernels.language.raw_memory import (
    free,
    load_i64,
    malloc,
    memcpy,
    size_of,
    store_i64,
)
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY, OUT_OF_RANGE


@noinline
def list_children(plan: FrontPlan, child: int, sibling: int) -> None:
    """Write the first child of each front and the next sibling, -1 if there is none."""
    for s in range(plan.fronts + 1):
        store_i64(child, s, -1)
    for step in range(plan.fronts):
        s = plan.fronts - 1 - step
        parent = load_i64(plan.parents, s)
        store_i64(sibling, s, load_i64(child, parent))
        store_i64(child, parent, s)


@noinline
def _invert_fronts(
    loops: int, routines: Lapack, plan: FrontPlan, factor: int, inverse: int, scratch: int, w: int
) -> int:
    """Write the inverse front by front; return a status.

    `scratch` has the rows of a front, places of a child's rows, children and siblings; `w` has room for
    ``L21 L11^-1``, for the square of a front, and for the stack.
    """
    zero = routines.zero
    size = size_of(zero)
    places = scratch + 8 * plan.n
    child, sibling = places + 8 * plan.tallest, places + 8 * (plan.tallest + plan.fronts + 1)
    square = w + plan.widest * plan.tallest * size
    stack = square + plan.tallest * plan.tallest * size
    top, end = stack, stack + plan.stack * size
    list_children(plan, child, sibling)
    offset = plan.elements * size
    for step in range(plan.fronts):
        s = plan.fronts - 1 - step
        _, width, height = panel_columns(plan, s)
        offset -= width * (width + height) * size
        bytes_ = height * height * size
        if (load_i64(plan.parents, s) == plan.fronts and height > 0) or bytes_ > top - stack:
            return OUT_OF_RANGE  # rows of a root, or more than was put on the stack
        top -= bytes_
        memcpy(square, top, bytes_)
        panel = inverse + offset
        invert_panel(loops, routines, factor + offset, width, height, square, w, panel)
        below = load_i64(child, s)
        if below != -1:
            note_rows(plan, s, scratch)
        while below != -1:
            count = load_i64(plan.starts, below + 1) - load_i64(plan.starts, below)
            fits = count * count * size <= end - top
            if not (fits and places_in_parent(plan, below, s, scratch, places)):
                return OUT_OF_RANGE
            take_square(top, count, places, panel, square, width, height, zero)
            top += count * count * size
            below = load_i64(sibling, below)
    return 0


@noinline
def write_inverse(loops: int, routines: Lapack, plan: FrontPlan, factor: int, inverse: int) -> int:
    """Write the inverse on the pattern of the factor, in the factor's layout; return a status."""
    size = size_of(routines.zero)
    if are_columns(plan):
        invert_columns(plan, factor, inverse, routines.zero)
        return 0
    integers = 8 * (plan.n + plan.tallest + 2 * plan.fronts + 2)
    floats = plan.widest * plan.tallest + plan.tallest * plan.tallest + plan.stack
    scratch = malloc(integers + floats * size)
    if scratch == 0:
        return OUT_OF_MEMORY
    status = _invert_fronts(loops, routines, plan, factor, inverse, scratch, scratch + integers)
    free(scratch)
    return status
