"""Runs of a loop, forward, in reverse and by tangents, as functions of an instruction's frame.

Each takes the packed operands of the instruction apart into a block of memory, and runs the program of the body
there, iteration by iteration, on workspaces that it keeps to the end. The reverse run pulls cotangents back from the
last iteration to the first, and sums over iterations are in that order. It takes the carry before each from the result
of the forward run, or computes it again from a few, its snapshots (A. Griewank and A. Walther, "Algorithm 799:
revolve", ACM Transactions on Mathematical Software 26(1), 2000). Of a known number of iterations the forward run takes
the first of them.
"""

import math

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.control.callback import CELL_FIELDS
from tapegrad.engine.kernels.language import frame as field
from tapegrad.engine.kernels.language import numba
from tapegrad.engine.kernels.language.inlining import called_by_address
from tapegrad.engine.kernels.language.raw_memory import (
    free,
    load_f64,
    load_i64,
    malloc,
    memcpy,
    memset,
    stack_i64,
    store_i64,
)
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY
from tapegrad.engine.sweep.replays import loop_fields as loop_field
from tapegrad.engine.sweep.replays.loop_iterations import (
    close_block,
    open_block,
    packed_bytes,
    states_of,
)
from tapegrad.engine.sweep.replays.loop_moves import (
    add_to_packed,
    copy_words,
    fill_packed,
    has_nonzero,
    load_packed,
    pack,
    store_packed,
    unpack,
)
from tapegrad.engine.sweep.replays.loop_pieces import (
    FRAMES_FIELDS,
    advance,
    connect_frames,
    pull_stored,
    run_by_programs,
    run_values,
)

# --- snapshots ---------------------------------------------------------------------------------------------------


@inline_njit
def next_snapshot(iterations, snapshots):
    """Return after how many of some iterations the next snapshot is best taken; the beginning counts as one.

    So many snapshots reverse C(snapshots + r, r) iterations of which none runs more than r times.
    """
    if snapshots + 1 >= iterations:
        return 1
    repetitions, fewer, reach = 0, 0, 1
    while reach < iterations:  # below 2**63 / (snapshots + repetitions)
        repetitions += 1
        fewer, reach = reach, reach * (snapshots + repetitions) // repetitions
    behind = fewer * snapshots // (snapshots + repetitions - 1)  # C(snapshots + r - 2, r - 1)
    return max(1, min(fewer, iterations - behind))


@inline_njit
def _following_stop(loop, k, iteration):
    """Return where the forward run stops after its stop number k: at snapshots, the last iteration, and the end."""
    length, kept = load_i64(loop, loop_field.LENGTH), load_i64(loop, loop_field.KEPT)
    if k + 1 < kept:
        return iteration + next_snapshot(length - iteration, kept - k)
    return length - 1 if k + 1 == kept else length


@inline_njit
def _run_to_snapshots(loop, block, x, y):
    """Run the iterations, and store snapshots and the carry before the last one. Return a status."""
    bytes_, carry = load_i64(loop, loop_field.CARRY_BYTES), block + load_i64(loop, loop_field.CARRY)
    states, iteration, status = states_of(loop, y), 0, 0
    for k in range(load_i64(loop, loop_field.KEPT) + 1):
        if status == 0:
            copy_words(states + k * bytes_, carry, bytes_)
            stop = _following_stop(loop, k, iteration)
            status = run_values(loop, block, x, y, iteration, stop)
            iteration = stop
    return status


# --- forward -----------------------------------------------------------------------------------------------------


@inline_njit
def _number_done(named, extent):
    """Return how many elements are done, of which the carry names the next one."""
    if named >= extent:
        return extent
    return numba.int64(named) if named > 0 else 0


@inline_njit
def _fill_rest(loop, moves, block, packed, value):
    """Fill the stacked results that no iteration has gone beyond, of a loop whose carry names the elements."""
    cursor = load_i64(loop, loop_field.CURSOR)
    if cursor != 0:
        extent = load_i64(loop, loop_field.EXTENT)
        fill_packed(loop, moves, packed, _number_done(load_f64(block + cursor, 0), extent), extent, value)


@called_by_address
def run_loop(frame: int, descriptor: int) -> int:
    """Compute the last carry, the stacked results, the number of iterations, and the first states."""
    loop = load_i64(descriptor, CELL_FIELDS)
    x, y = load_i64(frame, field.X), load_i64(frame, field.Y)
    block = open_block(loop, x)
    if block == 0:
        return OUT_OF_MEMORY
    if load_i64(loop, loop_field.KEPT) != 0:
        status = _run_to_snapshots(loop, block, x, y)
    else:
        status = run_values(loop, block, x, y, 0, load_i64(loop, loop_field.LENGTH))
    iteration = load_i64(block, loop_field.REACHED)
    if status == 0:
        _fill_rest(loop, loop_field.STACKED, block, y, numba.float64(math.nan))
        status = pack(loop, loop_field.FINAL, block, y, 0)
        counted = load_i64(loop, loop_field.COUNTED)
        store_packed(y, load_i64(loop, loop_field.PACKED_DTYPE), counted, numba.float64(iteration))
    close_block(loop, block, status, iteration)
    return status


# --- reverse -----------------------------------------------------------------------------------------------------


@inline_njit
def _take_kept(loop, y, states, iterations):
    """Copy the carries that the forward run has stored, and note of which iterations they are."""
    kept, iteration = load_i64(loop, loop_field.KEPT), 0
    memcpy(states, states_of(loop, y), (kept + 1) * load_i64(loop, loop_field.CARRY_BYTES))
    for k in range(kept):
        store_i64(iterations, k, iteration)
        iteration = _following_stop(loop, k, iteration)


@inline_njit
def _pull_by_snapshots(loop, block, x, x_bar, y, y_bar, first, count):
    """Pull through iterations, with few carries stored at a time, from which others are computed again.

    The snapshots are a stack; that of the first iteration is the carry in the block.
    """
    bytes_, kept = load_i64(loop, loop_field.CARRY_BYTES), load_i64(loop, loop_field.KEPT)
    most = min(load_i64(loop, loop_field.SNAPSHOTS), count - first)
    carry = block + load_i64(loop, loop_field.CARRY)
    states, iterations = malloc((most + 1) * bytes_ + 1), malloc(8 * (most + 1))
    if states == 0 or iterations == 0:
        free(states)
        free(iterations)
        return OUT_OF_MEMORY
    last = states + most * bytes_  # memory for the carry that is pulled through
    top, status = 0, 0
    if kept != 0:
        _take_kept(loop, y, states, iterations)
        top, count = kept - 1, count - 1
        status = pull_stored(loop, block, x, x_bar, y_bar, count, count + 1, last)
    else:
        copy_words(states, carry, bytes_)
        store_i64(iterations, 0, first)
    while count > first and status == 0:
        state, at, room = states + top * bytes_, load_i64(iterations, top), most - top
        if count - at <= room + 1:  # there is room for all carries
            status = advance(loop, block, x, at, count - 1, state, state + (count - 1 - at) * bytes_, bytes_)
            if status == 0:
                status = pull_stored(loop, block, x, x_bar, y_bar, at, count, state)
            count = at
            top -= 1
        elif room > 1:
            reached = at + next_snapshot(count - at, room)
            status = advance(loop, block, x, at, reached, state, state + bytes_, 0)
            top += 1
            store_i64(iterations, top, reached)
        else:
            count -= 1
            status = advance(loop, block, x, at, count, state, last, 0)
            if status == 0:
                status = pull_stored(loop, block, x, x_bar, y_bar, count, count + 1, last)
    free(states)
    free(iterations)
    return status


@inline_njit
def _iterations_of(loop, y):
    """Return the number of iterations that a forward run has taken."""
    length = load_i64(loop, loop_field.LENGTH)
    if length >= 0:
        return length
    packed_dtype = load_i64(loop, loop_field.PACKED_DTYPE)
    return numba.int64(load_packed(y, packed_dtype, load_i64(loop, loop_field.COUNTED)))


@inline_njit
def _go_to_last_stored(loop, block, y):
    """Copy the last carry that the forward run has stored to the block. Return its iteration."""
    capacity, bytes_ = load_i64(loop, loop_field.CAPACITY), load_i64(loop, loop_field.CARRY_BYTES)
    if capacity == 0:
        return 0
    state = states_of(loop, y) + (capacity - 1) * bytes_
    copy_words(block + load_i64(loop, loop_field.CARRY), state, bytes_)
    return capacity - 1


@inline_njit
def _lacks_results(loop, y, y_bar):
    """Return whether cotangents are asked of stacked results that no iteration has computed."""
    if load_i64(loop, loop_field.CURSOR) == 0 or y_bar == 0:
        return False
    dtype, extent = load_i64(loop, loop_field.PACKED_DTYPE), load_i64(loop, loop_field.EXTENT)
    done = _number_done(load_packed(y, dtype, load_i64(loop, loop_field.FINAL_CURSOR)), extent)
    return has_nonzero(loop, loop_field.BAR_STACKED, y_bar, done, extent)


@inline_njit
def _pull(loop, x, y, x_bar, y_bar):
    """Add the cotangents of the operands to `x_bar`. Return a status."""
    if _lacks_results(loop, y, y_bar):
        for k in range(load_i64(loop, loop_field.OPERAND_SIZE)):
            store_packed(x_bar, load_i64(loop, loop_field.PACKED_DTYPE), k, numba.float64(math.nan))
        return 0
    block = open_block(loop, x)
    if block == 0:
        return OUT_OF_MEMORY
    connect_frames(block, stack_i64(FRAMES_FIELDS))
    unpack(loop, loop_field.BAR_START, block, y_bar, 0)
    count, capacity, status = _iterations_of(loop, y), load_i64(loop, loop_field.CAPACITY), 0
    if count > capacity:
        first = _go_to_last_stored(loop, block, y)
        status = _pull_by_snapshots(loop, block, x, x_bar, y, y_bar, first, count)
        count = first
    if status == 0:
        status = pull_stored(loop, block, x, x_bar, y_bar, 0, count, states_of(loop, y))
    if status == 0:
        add_to_packed(loop, loop_field.BAR_FINAL, block, x_bar, 0)
        add_to_packed(loop, loop_field.BAR_TOTALS, block, x_bar, 0)
    close_block(loop, block, status, -1)
    return status


@called_by_address
def pull_loop(frame: int, descriptor: int) -> int:
    """Accumulate the cotangents of the operands, after a forward run."""
    loop = load_i64(descriptor, CELL_FIELDS)
    x_bar = load_i64(frame, field.X_BAR)
    if x_bar == 0:
        return 0
    if load_i64(frame, field.STORE) & 1 != 0:
        memset(x_bar, 0, packed_bytes(loop, loop_field.OPERAND_SIZE))
    return _pull(
        loop, load_i64(frame, field.X), load_i64(frame, field.Y), x_bar, load_i64(frame, field.Y_BAR)
    )


@called_by_address
def pull_to_result(frame: int, descriptor: int) -> int:
    """Compute the cotangents of the operands as a result; X is operands, results and their cotangents."""
    loop = load_i64(descriptor, CELL_FIELDS)
    operand_bytes = packed_bytes(loop, loop_field.OPERAND_SIZE)
    x, x_bar = load_i64(frame, field.X), load_i64(frame, field.Y)
    y = x + operand_bytes
    memset(x_bar, 0, operand_bytes)
    return _pull(loop, x, y, x_bar, y + packed_bytes(loop, loop_field.RESULT_SIZE))


# --- tangents ----------------------------------------------------------------------------------------------------


@called_by_address
def push_loop(frame: int, descriptor: int) -> int:
    """Compute the tangents of the results."""
    loop = load_i64(descriptor, CELL_FIELDS)
    x, x_dot, y_dot = load_i64(frame, field.X), load_i64(frame, field.X_BAR), load_i64(frame, field.Y_BAR)
    block = open_block(loop, x)
    if block == 0:
        return OUT_OF_MEMORY
    unpack(loop, loop_field.DOT_START, block, x_dot, 0)
    status = run_by_programs(loop, loop_field.TANGENTS, block, x, x_dot, y_dot, 0, -1)
    iteration = load_i64(block, loop_field.REACHED)
    if status == 0:
        _fill_rest(loop, loop_field.DOT_STACKED, block, y_dot, numba.float64(math.nan))
        pack(loop, loop_field.DOT_FINAL, block, y_dot, 0)
        counted = packed_bytes(loop, loop_field.COUNTED)
        memset(y_dot + counted, 0, packed_bytes(loop, loop_field.RESULT_SIZE) - counted)
    close_block(loop, block, status, iteration)
    return status
