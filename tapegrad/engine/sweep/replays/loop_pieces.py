"""Pieces of a loop: many of its iterations, forward, in reverse and by tangents, on its block of memory.

A body that is one segment runs in one kernel, with the loop inside; of other bodies each iteration runs a program.
"""

from tapegrad.engine.codegen.translator.compiler import inline_njit, shared_njit
from tapegrad.engine.kernels.language.raw_memory import (
    call_kernel,
    free,
    load_i64,
    malloc,
    stack_i64,
    store_i64,
)
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY
from tapegrad.engine.sweep.replays import loop_fields as loop_field
from tapegrad.engine.sweep.replays.loop_fields import BASES, MAX_SLOTS
from tapegrad.engine.sweep.replays.loop_iterations import (
    element_of,
    goes_on,
    is_stopped,
    is_stopped_by_time,
    iterate,
    position_of,
    run_program,
    states_of,
)
from tapegrad.engine.sweep.replays.loop_moves import (
    add_in_block,
    add_to_packed,
    copy_words,
    hand_on,
    pack,
    unpack,
)

_FRAME_BYTES = 8 * (MAX_SLOTS + 1)
FRAMES_FIELDS = 2 * (MAX_SLOTS + 1 + BASES)

# --- bodies of one segment ------------------------------------------------------------------------------------------


@inline_njit
def _place_slot(segment, frame, bases, k, iteration, at):
    """Write the address of a slot, which is the memory of its base, by what the slot says of an iteration."""
    slot = segment + 8 * (loop_field.SEGMENT_FIELDS + loop_field.SLOT_FIELDS * k)
    base = load_i64(slot, loop_field.BASE)
    index = iteration if base == loop_field.OF_STATES else at
    offset = load_i64(slot, loop_field.BASE_OFFSET) + index * load_i64(slot, loop_field.BASE_STEP)
    store_i64(frame, 1 + k, load_i64(bases, base) + offset)


@inline_njit
def _run_segment(loop, segment, frame, bases, iteration, count):
    """Run iterations by the segment of a body, from one of them on or back. Return a status.

    `bases` leads to the memory of slots, by what these say of it; `frame` has room for the kernel's frame.
    """
    at = position_of(loop, iteration)
    store_i64(frame, 0, count)
    for k in range(load_i64(segment, loop_field.SLOTS)):
        _place_slot(segment, frame, bases, k, iteration, at)
    return call_kernel(load_i64(segment, loop_field.KERNEL), frame, 0)


@inline_njit
def _run_on(loop, segment, frame, bases, iteration, count):
    """Run other iterations by a frame that has been used, in which only the slots that move are written."""
    if load_i64(frame, 0) == 0:
        return _run_segment(loop, segment, frame, bases, iteration, count)
    at, slots = position_of(loop, iteration), load_i64(segment, loop_field.SLOTS)
    moving = segment + 8 * (loop_field.SEGMENT_FIELDS + loop_field.SLOT_FIELDS * slots)
    store_i64(frame, 0, count)
    for k in range(load_i64(segment, loop_field.MOVING)):
        _place_slot(segment, frame, bases, load_i64(moving, k), iteration, at)
    return call_kernel(load_i64(segment, loop_field.KERNEL), frame, 0)


@inline_njit
def _set_bases(bases, block, x, x_bar, y, states):
    store_i64(bases, loop_field.IN_BLOCK, block)
    store_i64(bases, loop_field.OF_X, x)
    store_i64(bases, loop_field.OF_X_BAR, x_bar)
    store_i64(bases, loop_field.OF_Y, y)
    store_i64(bases, loop_field.OF_STATES, states)
    store_i64(bases, loop_field.ABSOLUTE, 0)


@shared_njit
def _run_all_segment(loop, block, x, y, first, last):
    """Run iterations of a known number, looking at interrupts in between. Return a status."""
    segment, frame, bases = load_i64(loop, loop_field.SEGMENT_VALUES), stack_i64(256), stack_i64(BASES)
    _set_bases(bases, block, x, 0, y, states_of(loop, y))
    status = 0
    while first < last and status == 0:
        count = min(last - first, load_i64(loop, loop_field.PERIOD))
        status = _run_segment(loop, segment, frame, bases, first, count)
        first += count
        if status == 0:
            status = is_stopped(loop, block, count)
    store_i64(block, loop_field.REACHED, first)
    return status


@shared_njit
def _run_segment_while(loop, block, x, y, iteration):
    """Run iterations until the condition ends them. Return a status.

    The kernel stores each carry: those that there is no room for go to memory that is thrown away.
    """
    segment, frame, bases = load_i64(loop, loop_field.SEGMENT_VALUES), stack_i64(256), stack_i64(BASES)
    bytes_, capacity = load_i64(loop, loop_field.CARRY_BYTES), load_i64(loop, loop_field.CAPACITY)
    period, most = load_i64(loop, loop_field.PERIOD), load_i64(loop, loop_field.MAX_ITERATIONS)
    _set_bases(bases, block, x, 0, y, states_of(loop, y))
    status, done, count, room = 0, 0, 0, 0
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
        status = _run_segment(loop, segment, frame, bases, iteration, count)
        done = load_i64(frame, 0)
        iteration += done
        if status == 0:
            status = is_stopped(loop, block, done)
    free(room)
    store_i64(block, loop_field.REACHED, iteration)
    return status


@shared_njit
def _run_segment_again(loop, block, x, first, last, state, target, step):
    """Run iterations from a stored carry to another. Return a status.

    The carry before each of them is stored, too, `step` bytes apart, or if that is 0 where it does no harm.
    """
    segment, frame = load_i64(loop, loop_field.SEGMENT_AGAIN), load_i64(block, loop_field.FRAMES)
    bases, status = frame + _FRAME_BYTES, 0
    while first < last and status == 0:
        count = min(last - first, load_i64(loop, loop_field.PERIOD))
        end = target if step == 0 else state + count * step
        _set_bases(bases, block, x, 0, 0, end if step == 0 else state)
        store_i64(bases, loop_field.FROM_STATE, state)
        store_i64(bases, loop_field.TO_STATE, end)
        store_i64(bases, loop_field.STATES_STEP, step)
        status = _run_on(loop, segment, frame, bases, first, count)
        first += count
        state = end
        if status == 0:
            status = is_stopped(loop, block, count)
    return status


@shared_njit
def _pull_segment(loop, block, x, x_bar, y_bar, first, last, states):
    """Pull the cotangents through iterations, from the last of them on. Return a status.

    `states` is where the carry of iteration 0 would be stored.
    """
    segment, frame = load_i64(loop, loop_field.SEGMENT_PULLBACK), load_i64(block, loop_field.FRAMES)
    frame += _FRAME_BYTES + 8 * BASES
    bases, status = frame + _FRAME_BYTES, 0
    _set_bases(bases, block, x, x_bar, y_bar, states)
    while first < last and status == 0:
        count = min(last - first, load_i64(loop, loop_field.PERIOD))
        status = _run_on(loop, segment, frame, bases, last - 1, count)
        last -= count
        if status == 0:
            status = is_stopped(loop, block, count)
    return status


@inline_njit
def connect_frames(block, memory):
    """Note where the frames of the reverse run are, and that nothing is in them."""
    store_i64(block, loop_field.FRAMES, memory)
    store_i64(memory, 0, 0)
    store_i64(memory + _FRAME_BYTES + 8 * BASES, 0, 0)


@inline_njit
def _pulls_segment(loop, y_bar):
    """Return whether the pullback is one segment, which can read all that it needs."""
    segment = load_i64(loop, loop_field.SEGMENT_PULLBACK)
    return segment != 0 and (y_bar != 0 or load_i64(segment, loop_field.HAS_STACKED) == 0)


# --- forward, and by tangents ------------------------------------------------------------------------------------


@shared_njit
def run_by_programs(loop, which, block, x, x_dot, y, iteration, end):
    """Run iterations of the values, or of the tangents, from one of them to the end, or to another. Return a status.

    `y` gets the stacked results, or the tangents of these.
    """
    carry, program = block + load_i64(loop, loop_field.CARRY), load_i64(loop, which)
    bytes_, capacity = load_i64(loop, loop_field.CARRY_BYTES), load_i64(loop, loop_field.CAPACITY)
    status, pushes, states = 0, which == loop_field.TANGENTS, states_of(loop, y)
    while status == 0 and iteration != end:
        more = goes_on(loop, block, iteration)
        if more <= 0:
            status = -more
            break
        at = element_of(loop, block, iteration)
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
            status = is_stopped_by_time(loop, block)
            iteration += 1
    store_i64(block, loop_field.REACHED, iteration)
    return status


@shared_njit
def run_values(loop, block, x, y, first, last):
    """Run iterations from one of them to the last, -1 if a condition ends them. Return a status."""
    segment = load_i64(loop, loop_field.SEGMENT_VALUES)
    end = last if segment == 0 else first + load_i64(segment, loop_field.GUARDED)
    status = run_by_programs(loop, loop_field.VALUES, block, x, 0, y, first, end)
    if status == 0 and segment != 0 and load_i64(block, loop_field.REACHED) == end:
        if last < 0:
            return _run_segment_while(loop, block, x, y, end)
        return _run_all_segment(loop, block, x, y, end, last)
    return status


# --- in reverse --------------------------------------------------------------------------------------------------


@inline_njit
def advance(loop, block, x, first, last, state, target, step):
    """Run iterations once more, for the carry alone: from a stored one to another. Return a status.

    If `step` is not 0, the carry before each of them is stored, too, so many bytes apart from the first on.
    """
    if load_i64(loop, loop_field.SEGMENT_AGAIN) != 0:
        return _run_segment_again(loop, block, x, first, last, state, target, step)
    carry, bytes_, status = (
        block + load_i64(loop, loop_field.CARRY),
        load_i64(loop, loop_field.CARRY_BYTES),
        0,
    )
    copy_words(carry, state, bytes_)
    while first < last and status == 0:
        status = iterate(loop, block, x, first)
        first += 1
        if step != 0:
            state += step
            copy_words(state, carry, bytes_)
    copy_words(target, carry, bytes_)
    return status


@shared_njit
def _pull_by_program(loop, block, x, x_bar, y_bar, iteration, state):
    """Pull the cotangents through an iteration by its program. Return a status."""
    copy_words(block + load_i64(loop, loop_field.CARRY), state, load_i64(loop, loop_field.CARRY_BYTES))
    at = element_of(loop, block, iteration)
    unpack(loop, loop_field.SEQUENCES, block, x, at)
    unpack(loop, loop_field.BAR_STACKED, block, y_bar, at)
    status = run_program(load_i64(loop, loop_field.PULLBACK), block)
    if status == 0:
        add_to_packed(loop, loop_field.BAR_SEQUENCES, block, x_bar, at)
        add_in_block(loop, loop_field.BAR_SUMS, block)
        hand_on(loop, loop_field.BAR_HAND_ON, block)
        status = is_stopped_by_time(loop, block)
    else:
        store_i64(loop, loop_field.FAILED_AT, iteration)
    return status


@shared_njit
def pull_stored(loop, block, x, x_bar, y_bar, first, last, states):
    """Pull the cotangents through iterations whose carries are stored, from the last of them on. Return a status."""
    segment, bytes_ = _pulls_segment(loop, y_bar), load_i64(loop, loop_field.CARRY_BYTES)
    states -= first * bytes_
    by_program, status = last - first, 0
    if segment:
        unchecked = load_i64(load_i64(loop, loop_field.SEGMENT_PULLBACK), loop_field.GUARDED)
        by_program = min(by_program, unchecked * (1 - load_i64(block, loop_field.CHECKED)))
    while by_program > 0 and status == 0:
        last -= 1
        by_program -= 1
        status = _pull_by_program(loop, block, x, x_bar, y_bar, last, states + last * bytes_)
        store_i64(block, loop_field.CHECKED, 1)
    if status == 0 and segment:
        status = _pull_segment(loop, block, x, x_bar, y_bar, first, last, states)
    return status
