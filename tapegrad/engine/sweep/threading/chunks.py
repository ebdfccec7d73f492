"""Launches: a bound instruction, or another task, cut into chunks."""

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.frame import COUNT, FIELDS, OUTER, STORE, STRIDE, X_BAR, Y_STRIDE
from tapegrad.engine.kernels.language.raw_memory import call_kernel, load_i64, stack_i64, store_i64
from tapegrad.engine.sweep.binding.bind import OUTER_FIELDS
from tapegrad.engine.sweep.binding.control_fields import ITEM_SHIFT, PAIRS_SHIFT, TANGENT
from tapegrad.engine.sweep.binding.execute import copy_frame, move, move_along, run_nested
from tapegrad.engine.sweep.threading.segment_chunks import CELL, add_up, run_part, sums_of

# Fields of a launch.
KERNEL, FRAME, LIBRARY, TOTAL, LENGTH, SPLIT, CELLS = range(7)
LAUNCH_FIELDS = 7
# Which loop is cut: the inner one, the outermost, none, or that of a segment. A task cuts itself: its kernel is given
# FRAME and the number of the chunk.
INNER, OUTERMOST, SERIAL, SEGMENT, TASK = range(5)


@inline_njit
def has_cotangent(frame, j):
    """Return whether operand j has a cotangent that is added to; tangents are only read."""
    return load_i64(frame, X_BAR + j) != 0 and load_i64(frame, STORE) & TANGENT == 0


@inline_njit
def second_part(frame, j):
    """Return the bytes from the first to the second part of an element of operand j: 0 if it is real."""
    bits = load_i64(frame, STORE)
    return (bits >> ITEM_SHIFT) & 15 if (bits >> (PAIRS_SHIFT + j)) & 1 else 0


@inline_njit
def summed(frame, j):
    """Return whether operand j's cotangent is one element that the inner loop sums into."""
    return has_cotangent(frame, j) and load_i64(frame, STRIDE + j) == 0


@inline_njit
def _take_inner_chunk(frame, local, start, count, cells):
    """Make `local`, a copy of `frame`, the chunk of the inner loop from `start` on; sums go to cells of its own."""
    store_i64(local, COUNT, count)
    move(
        local,
        start * load_i64(frame, STRIDE),
        start * load_i64(frame, STRIDE + 1),
        start * load_i64(frame, STRIDE + 2),
        start * load_i64(frame, Y_STRIDE),
    )
    for j in range(3):
        if summed(frame, j):
            store_i64(local, X_BAR + j, cells + j * CELL)


@inline_njit
def _run_outer_chunk(kernel, local, loops, start, count):
    """Run the part `start .. start + count` of the outermost loop."""
    outer = load_i64(local, OUTER)
    part = stack_i64(OUTER_FIELDS)
    for field in range(1 + 5 * load_i64(outer, 0)):
        store_i64(part, field, load_i64(outer, field))
    store_i64(part, 1, count)
    move_along(local, outer, 0, start)
    store_i64(local, OUTER, part)
    run_nested(kernel, local, loops)


@inline_njit
def gather_sums(frame, cells, chunks):
    """Add up the private sums in the order of the chunks, so that the result does not depend on the threads."""
    bits, target = load_i64(frame, STORE), 0
    item = (bits >> ITEM_SHIFT) & 15
    for j in range(3):
        if not summed(frame, j):
            continue
        for part in range(2 if second_part(frame, j) > 0 else 1):
            target = load_i64(frame, X_BAR + j) + part * item
            add_up(cells + j * CELL + part * item, 3 * CELL, chunks, target, item == 8, (bits >> j) & 1 != 0)


@inline_njit
def run_chunk(launch, c):
    """Run chunk `c` of a launch."""
    local = stack_i64(FIELDS)
    kernel, loops, split = load_i64(launch, KERNEL), load_i64(launch, LIBRARY), load_i64(launch, SPLIT)
    start = c * load_i64(launch, LENGTH)
    count = min(load_i64(launch, LENGTH), load_i64(launch, TOTAL) - start)
    if count <= 0:
        return
    frame = load_i64(launch, FRAME)
    if split == TASK:
        call_kernel(kernel, frame, c)
        return
    if split == SEGMENT:
        cells = load_i64(launch, CELLS) + sums_of(frame) * c * CELL
        run_part(kernel, frame, loops, start, start + count, cells)
        return
    copy_frame(frame, local)
    if split == INNER:
        _take_inner_chunk(frame, local, start, count, load_i64(launch, CELLS) + 3 * c * CELL)
    if split == OUTERMOST:
        _run_outer_chunk(kernel, local, loops, start, count)
    elif load_i64(local, OUTER) == 0:
        call_kernel(kernel, local, loops)
    else:
        run_nested(kernel, local, loops)
