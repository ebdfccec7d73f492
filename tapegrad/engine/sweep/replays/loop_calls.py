"""Runs of a loop, forward, in reverse and by tangents, as functions of an instruction's frame.

Each takes the packed operands of the instruction apart into a block of memory, and runs the program of the body
there, iteration by iteration, on workspaces that it keeps to the end. The reverse run pulls cotangents back from the
last iteration to the first, and sums over iterations are in that order. It takes the carry before each from the result
of the forward run, or computes it again from a few that it stores (A. Griewank and A. Walther, "Algorithm 799:
revolve", ACM Transactions on Mathematical Software 26(1), 2000).
"""

import numba

from tapegrad.engine.codegen.translator.compiler import inline_njit, shared_njit
from tapegrad.engine.kernels.control.callback import CELL_FIELDS
from tapegrad.engine.kernels.language import frame as field
from tapegrad.engine.kernels.language.raw_memory import (
    call_kernel,
    free,
    load_i64,
    malloc,
    memset,
    stack_i64,
    store_i64,
)
from tapegrad.engine.kernels.language.status import (
    OUT_OF_MEMORY,
)
from tapegrad.engine.sweep.replays import loop_fields as loop_field
from tapegrad.engine.sweep.replays.loop_iterations import (
    close_block,
    goes_on,
    is_stopped,
    iterate,
    open_block,
    packed_bytes,
    position_of,
    run_program,
    states_of,
)
from tapegrad.engine.sweep.replays.loop_moves import (
    add_in_block,
    add_to_packed,
    copy_words,
    hand_on,
    load_packed,
    pack,
    store_packed,
    unpack,
)

_LIMIT = 1 << 40  # iterations


# --- straight bodies ---------------------------------------------------------------------------------------------


@inline_njit
def _run_straight(loop, straight, frame, bases, iteration, count):
    """Run iterations by the kernel of a straight body, from one of them on or back. Return a status.

    `bases` leads to the memory of slots, by what these say of it; `frame` has room for the kernel's frame.
    """
    at = position_of(loop, iteration)
    store_i64(frame, 0, count)
    for k in range(load_i64(straight, loop_field.SLOTS)):
        slot = straight + 8 * (loop_field.STRAIGHT_FIELDS + loop_field.SLOT_FIELDS * k)
        base = load_i64(slot, loop_field.BASE)
        index = iteration if base == loop_field.OF_STATES else at
        offset = load_i64(slot, loop_field.BASE_OFFSET) + index * load_i64(slot, loop_field.BASE_STEP)
        store_i64(frame, 1 + k, load_i64(bases, base) + offset)
    return call_kernel(load_i64(straight, loop_field.KERNEL), frame, 0)


@inline_njit
def _set_bases(bases, block, x, x_bar, y, states):
    store_i64(bases, loop_field.IN_BLOCK, block)
    store_i64(bases, loop_field.OF_X, x)
    store_i64(bases, loop_field.OF_X_BAR, x_bar)
    store_i64(bases, loop_field.OF_Y, y)
    store_i64(bases, loop_field.OF_STATES, states)
    store_i64(bases, loop_field.ABSOLUTE, 0)


@shared_njit
def _run_all_straight(loop, block, x, y, states, first, last):
    """Run iterations of a known number, looking at interrupts in between. Return a status."""
    straight, frame, bases = load_i64(loop, loop_field.STRAIGHT_VALUES), stack_i64(256), stack_i64(6)
    _set_bases(bases, block, x, 0, y, states)
    status = 0
    while first < last and status == 0:
        count = min(last - first, load_i64(loop, loop_field.PERIOD))
        status = _run_straight(loop, straight, frame, bases, first, count)
        first += count
        if status == 0 and first < last:
            store_i64(block, 0, 0)
            status = is_stopped(loop, block, first)
    return status


@shared_njit
def _run_straight_while(loop, block, states, iteration):
    """Run iterations until the condition ends them, and leave their number in the block's first field.

    The kernel stores each carry: those that there is no room for go to memory that is thrown away. Return a status.
    """
    straight, frame, bases = load_i64(loop, loop_field.STRAIGHT_VALUES), stack_i64(256), stack_i64(6)
    bytes_, capacity = load_i64(loop, loop_field.CARRY_BYTES), load_i64(loop, loop_field.CAPACITY)
    period, most = load_i64(loop, loop_field.PERIOD), load_i64(loop, loop_field.MOST)
    _set_bases(bases, block, 0, 0, 0, states)
    status, done, count, room, left = 0, 0, 0, 0, period
    while status == 0 and done == count:
        count = period if most < 0 else min(period, most - iteration)
        if capacity > 0:
            if iteration < capacity:
                count = min(count, capacity - iteration)
            else:
                room = malloc(capacity * bytes_ + 1) if room == 0 else room
                count = min(count, capacity)
                store_i64(bases, loop_field.OF_STATES, room - iteration * bytes_)
                if room == 0:
                    status = OUT_OF_MEMORY
                    break
        if count == 0:
            more = goes_on(loop, block, iteration)
            status = -more if more < 0 else 0
            break
        status = _run_straight(loop, straight, frame, bases, iteration, count)
        done = load_i64(frame, 0)
        iteration += done
        left -= done
        if left < 0:
            store_i64(block, 0, 0)
            status, left = is_stopped(loop, block, iteration), period
    free(room)
    store_i64(block, 0, iteration)
    return status


@shared_njit
def _pull_straight(loop, block, x, x_bar, y_bar, first, last, states):
    """Pull the cotangents through iterations, whose carries are stored, from the last of them on. Return a status."""
    straight, frame, bases = load_i64(loop, loop_field.STRAIGHT_PULLBACK), stack_i64(256), stack_i64(6)
    _set_bases(bases, block, x, x_bar, y_bar, states)
    status = 0
    while first < last and status == 0:
        count = min(last - first, load_i64(loop, loop_field.PERIOD))
        status = _run_straight(loop, straight, frame, bases, last - 1, count)
        last -= count
        if status == 0 and first < last:
            store_i64(block, 0, 0)
            status = is_stopped(loop, block, last)
    return status


@inline_njit
def _pulls_straight(loop, y_bar):
    """Return whether the pullback has a straight body, which can read all that it needs."""
    straight = load_i64(loop, loop_field.STRAIGHT_PULLBACK)
    return straight != 0 and (y_bar != 0 or load_i64(straight, loop_field.HAS_STACKED) == 0)


@shared_njit
def _run_by_programs(loop, which, block, x, x_dot, y, states, most):
    """Run so many iterations of the values, or of the tangents, at most. Return a status.

    Their number is left in the block's first field. `y` gets the stacked results, or the tangents of these.
    """
    carry, program = block + load_i64(loop, loop_field.CARRY), load_i64(loop, which)
    bytes_, capacity = load_i64(loop, loop_field.CARRY_BYTES), load_i64(loop, loop_field.CAPACITY)
    iteration, status, pushes = 0, 0, which == loop_field.TANGENTS
    while status == 0 and iteration != most:
        more = goes_on(loop, block, iteration)
        if more <= 0:
            status = -more
            break
        at = position_of(loop, iteration)
        unpack(loop, loop_field.SEQUENCES, block, x, at)
        if pushes:
            unpack(loop, loop_field.DOT_SEQUENCES, block, x_dot, at)
        elif iteration < capacity:
            copy_words(states + iteration * bytes_, carry, bytes_)
        status = run_program(program, block)
        if status == 0:
            status = pack(loop, loop_field.DOT_STACKED if pushes else loop_field.STACKED, block, y, at)
        if status == 0:
            hand_on(loop, loop_field.HAND_ON, block)
            if pushes:
                hand_on(loop, loop_field.DOT_HAND_ON, block)
            status = is_stopped(loop, block, iteration)
            iteration += 1
    store_i64(block, 0, iteration)
    return status


def run_loop(frame: int, descriptor: int) -> int:
    """Compute the last carry, the stacked results, the number of iterations, and the first states."""
    loop = load_i64(descriptor, CELL_FIELDS)
    x, y = load_i64(frame, field.X), load_i64(frame, field.Y)
    block = open_block(loop, x)
    if block == 0:
        return OUT_OF_MEMORY
    straight, most = load_i64(loop, loop_field.STRAIGHT_VALUES), -1
    if straight != 0:
        most = load_i64(straight, loop_field.GUARDED)
    status = _run_by_programs(loop, loop_field.VALUES, block, x, 0, y, states_of(loop, y), most)
    iteration = load_i64(block, 0)
    if status == 0 and iteration == most:
        states, first, iteration = states_of(loop, y), iteration, load_i64(loop, loop_field.LENGTH)
        if iteration < 0:
            status = _run_straight_while(loop, block, states, first)
            iteration = load_i64(block, 0)
        else:
            status = _run_all_straight(loop, block, x, y, states, first, iteration)
    if status == 0:
        status = pack(loop, loop_field.FINAL, block, y, 0)
        counted = load_i64(loop, loop_field.COUNTED)
        store_packed(y, load_i64(loop, loop_field.PACKED_DTYPE), counted, numba.float64(iteration))
    close_block(loop, block, status, iteration)
    return status


# --- reverse -----------------------------------------------------------------------------------------------------


@inline_njit
def _reach(snapshots, repetitions):
    """Return how many iterations so many snapshots reverse if none runs more often: a binomial coefficient."""
    if repetitions < 0:
        return 0
    found = 1
    for k in range(1, min(snapshots, repetitions) + 1):
        found = found * (max(snapshots, repetitions) + k) // k
        if found > _LIMIT:
            return _LIMIT
    return found


@inline_njit
def next_snapshot(iterations, snapshots):
    """Return after how many of some iterations the next snapshot is best taken; the beginning counts as one."""
    if snapshots + 1 >= iterations:
        return 1
    repetitions = 1
    while _reach(snapshots, repetitions) < iterations:
        repetitions += 1
    return max(
        1, min(_reach(snapshots, repetitions - 1), iterations - _reach(snapshots - 1, repetitions - 1))
    )


@shared_njit
def _pull_by_program(loop, block, x, x_bar, y_bar, iteration, state):
    """Pull the cotangents through an iteration by its program. Return a status."""
    at = position_of(loop, iteration)
    copy_words(block + load_i64(loop, loop_field.CARRY), state, load_i64(loop, loop_field.CARRY_BYTES))
    unpack(loop, loop_field.SEQUENCES, block, x, at)
    unpack(loop, loop_field.BAR_STACKED, block, y_bar, at)
    status = run_program(load_i64(loop, loop_field.PULLBACK), block)
    if status == 0:
        add_to_packed(loop, loop_field.BAR_SEQUENCES, block, x_bar, at)
        add_in_block(loop, loop_field.BAR_SUMS, block)
        hand_on(loop, loop_field.BAR_HAND_ON, block)
        status = is_stopped(loop, block, iteration)
    else:
        store_i64(loop, loop_field.FAILED_AT, iteration)
    return status


@inline_njit
def _pull_one(loop, block, x, x_bar, y_bar, iteration, state):
    """Pull the cotangents through an iteration that begins with a carry. Return a status."""
    straight = load_i64(loop, loop_field.STRAIGHT_PULLBACK)
    if _pulls_straight(loop, y_bar) and load_i64(straight, loop_field.GUARDED) == 0:
        begin = state - iteration * load_i64(loop, loop_field.CARRY_BYTES)
        return _pull_straight(loop, block, x, x_bar, y_bar, iteration, iteration + 1, begin)
    return _pull_by_program(loop, block, x, x_bar, y_bar, iteration, state)


@inline_njit
def _pull_stored(loop, block, x, x_bar, y_bar, count, states):
    """Pull through all iterations, whose carries are stored."""
    status, bytes_ = 0, load_i64(loop, loop_field.CARRY_BYTES)
    if _pulls_straight(loop, y_bar):
        guarded = load_i64(load_i64(loop, loop_field.STRAIGHT_PULLBACK), loop_field.GUARDED)
        if guarded != 0 and count > 0:
            count -= 1
            status = _pull_by_program(loop, block, x, x_bar, y_bar, count, states + count * bytes_)
        if status == 0:
            status = _pull_straight(loop, block, x, x_bar, y_bar, 0, count, states)
        return status
    while count > 0 and status == 0:
        count -= 1
        status = _pull_by_program(loop, block, x, x_bar, y_bar, count, states + count * bytes_)
    return status


@inline_njit
def _advance(loop, block, x, first, last):
    """Run iterations of the loop from the carry in the block. Return a status."""
    straight = load_i64(loop, loop_field.STRAIGHT_VALUES)
    is_plain = straight != 0 and load_i64(loop, loop_field.LENGTH) >= 0  # and so stores no carries
    if is_plain and load_i64(straight, loop_field.HAS_STACKED) | load_i64(straight, loop_field.GUARDED) == 0:
        return _run_all_straight(loop, block, x, 0, 0, first, last)
    status = 0
    while first < last and status == 0:
        status = iterate(loop, block, x, first)
        first += 1
    return status


@inline_njit
def _pull_by_snapshots(loop, block, x, x_bar, y_bar, count):
    """Pull through all iterations, with few carries stored at a time, from which others are computed again.

    The snapshots are a stack; that of the first iteration is the carry in the block.
    """
    bytes_, most = load_i64(loop, loop_field.CARRY_BYTES), load_i64(loop, loop_field.SNAPSHOTS)
    most = count if most == 0 else min(most, count)
    carry = block + load_i64(loop, loop_field.CARRY)
    states, iterations = malloc((most + 1) * bytes_ + 1), malloc(8 * (most + 1))
    if states == 0 or iterations == 0:
        free(states)
        free(iterations)
        return OUT_OF_MEMORY
    last = states + most * bytes_  # memory for the carry that is pulled through
    copy_words(states, carry, bytes_)
    store_i64(iterations, 0, 0)
    top, status = 0, 0
    while count > 0 and status == 0:
        state, at = states + top * bytes_, load_i64(iterations, top)
        if at == count - 1:
            count -= 1
            status = _pull_one(loop, block, x, x_bar, y_bar, count, state)
            top -= 1
            continue
        copy_words(carry, state, bytes_)
        room = most - top - 1
        if room > 0:
            reached = at + next_snapshot(count - at, room + 1)
            status = _advance(loop, block, x, at, reached)
            top += 1
            copy_words(states + top * bytes_, carry, bytes_)
            store_i64(iterations, top, reached)
        else:
            status = _advance(loop, block, x, at, count - 1)
            if status == 0:
                copy_words(last, carry, bytes_)
                count -= 1
                status = _pull_one(loop, block, x, x_bar, y_bar, count, last)
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
def _pull(loop, x, y, x_bar, y_bar):
    """Add the cotangents of the operands to `x_bar`. Return a status."""
    block = open_block(loop, x)
    if block == 0:
        return OUT_OF_MEMORY
    unpack(loop, loop_field.BAR_START, block, y_bar, 0)
    count = _iterations_of(loop, y)
    if count <= load_i64(loop, loop_field.CAPACITY):
        status = _pull_stored(loop, block, x, x_bar, y_bar, count, states_of(loop, y))
    else:
        status = _pull_by_snapshots(loop, block, x, x_bar, y_bar, count)
    if status == 0:
        add_to_packed(loop, loop_field.BAR_FINAL, block, x_bar, 0)
        add_to_packed(loop, loop_field.BAR_TOTALS, block, x_bar, 0)
    close_block(loop, block, status, -1)
    return status


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


def pull_to_result(frame: int, descriptor: int) -> int:
    """Compute the cotangents of the operands as a result; X is operands, results and their cotangents."""
    loop = load_i64(descriptor, CELL_FIELDS)
    operand_bytes = packed_bytes(loop, loop_field.OPERAND_SIZE)
    x, x_bar = load_i64(frame, field.X), load_i64(frame, field.Y)
    y = x + operand_bytes
    memset(x_bar, 0, operand_bytes)
    return _pull(loop, x, y, x_bar, y + packed_bytes(loop, loop_field.RESULT_SIZE))


# --- tangents ----------------------------------------------------------------------------------------------------


def push_loop(frame: int, descriptor: int) -> int:
    """Compute the tangents of the results."""
    loop = load_i64(descriptor, CELL_FIELDS)
    x, x_dot, y_dot = load_i64(frame, field.X), load_i64(frame, field.X_BAR), load_i64(frame, field.Y_BAR)
    block = open_block(loop, x)
    if block == 0:
        return OUT_OF_MEMORY
    unpack(loop, loop_field.DOT_START, block, x_dot, 0)
    status = _run_by_programs(loop, loop_field.TANGENTS, block, x, x_dot, y_dot, 0, -1)
    iteration = load_i64(block, 0)
    if status == 0:
        pack(loop, loop_field.DOT_FINAL, block, y_dot, 0)
        counted = packed_bytes(loop, loop_field.COUNTED)
        memset(y_dot + counted, 0, packed_bytes(loop, loop_field.RESULT_SIZE) - counted)
    close_block(loop, block, status, iteration)
    return status
