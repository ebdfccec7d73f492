"""Iterations of a loop on its block of memory: the programs of the body, and what comes between them."""

from tapegrad.engine.codegen.translator.compiler import inline_njit, shared_njit
from tapegrad.engine.kernels.language import numba
from tapegrad.engine.kernels.language.inlining import external_function
from tapegrad.engine.kernels.language.raw_memory import (
    calloc,
    free,
    load_f64,
    load_i64,
    load_u8,
    memcpy,
    store_i64,
)
from tapegrad.engine.kernels.language.status import (
    GUARD_FAILED,
    INTERRUPTED,
    OUT_OF_MEMORY,
    TOO_MANY_ITERATIONS,
)
from tapegrad.engine.sweep.replays import handle_fields as handle_field
from tapegrad.engine.sweep.replays import loop_fields as loop_field
from tapegrad.engine.sweep.replays.handle_calls import deliver, plug, run, specialization_at
from tapegrad.engine.sweep.replays.loop_moves import (
    bytes_of,
    copy_words,
    hand_on,
    unpack,
)
from tapegrad.engine.sweep.replays.workspace_pool import acquire, release
from tapegrad.engine.sweep.threading.synchronization import nanoseconds

# Python's own: the lock, and the interrupt that has come and is not handled yet
_take_gil = external_function("PyGILState_Ensure", "int32")
_leave_gil = external_function("PyGILState_Release", "void", "int32")
_has_interrupt = external_function("PyOS_InterruptOccurred", "int32")
_set_interrupt = external_function("PyErr_SetInterrupt", "void")

_WATCH_NS = 10_000_000  # between two looks at interrupts, for which Python's lock is taken
_FIRST_STRIDE = 8  # iterations by programs before the clock is read first


# --- programs of the body ----------------------------------------------------------------------------------------


@inline_njit
def connect(program, block):
    """Write the addresses of a program's arguments."""
    if program == 0:
        return
    offsets, addresses = (
        load_i64(program, loop_field.OFFSETS),
        block + load_i64(program, loop_field.ADDRESSES),
    )
    for k in range(load_i64(program, loop_field.ARGUMENTS)):
        store_i64(addresses, k, block + load_i64(offsets, k))


@inline_njit
def _run_one(handle, number, addresses, workspaces):
    """Run a specialization on the workspace that this loop has of it, whose ports are plugged once."""
    specialization = specialization_at(handle, number)
    workspace = load_i64(workspaces, number)
    if workspace == 0:
        workspace = acquire(specialization)
        if workspace == 0:
            return OUT_OF_MEMORY
        store_i64(workspaces, number, workspace)
        plug(handle, specialization, workspace, addresses)
    status = run(specialization, workspace)
    if status == 0 and load_i64(specialization, handle_field.COPY_COUNT) != 0:
        deliver(handle, specialization, workspace, addresses)
    return status


@inline_njit
def _copy_given(program, block, target, source):
    """Copy the arguments that a program adds to, to their copy or back."""
    bytes_ = load_i64(program, loop_field.GIVEN_BYTES)
    if bytes_ != 0:
        copy_words(block + load_i64(program, target), block + load_i64(program, source), bytes_)


@shared_njit
def _run_another(program, block):
    """Run a program of the body by another specialization than the last that was taken.

    Each begins with the arguments as they were: a fused program may have added to them when its guard failed.
    """
    handle = load_i64(program, loop_field.HANDLE)
    addresses = block + load_i64(program, loop_field.ADDRESSES)
    workspaces = block + load_i64(program, loop_field.WORKSPACES)
    last = load_i64(handle, handle_field.LAST)
    for number in range(load_i64(handle, handle_field.SPECIALIZATION_COUNT)):
        if number != last:
            _copy_given(program, block, loop_field.GIVEN, loop_field.GIVEN_COPY)
            status = _run_one(handle, number, addresses, workspaces)
            if status != GUARD_FAILED:
                store_i64(handle, handle_field.LAST, number)
                return status
    return GUARD_FAILED


@inline_njit
def run_program(program, block):
    """Run a program of the body by the specialization whose guards hold, beginning with the last that was taken."""
    handle = load_i64(program, loop_field.HANDLE)
    addresses = block + load_i64(program, loop_field.ADDRESSES)
    workspaces = block + load_i64(program, loop_field.WORKSPACES)
    if load_i64(handle, handle_field.SPECIALIZATION_COUNT) > 1:
        _copy_given(program, block, loop_field.GIVEN_COPY, loop_field.GIVEN)
    status = _run_one(handle, load_i64(handle, handle_field.LAST), addresses, workspaces)
    return status if status != GUARD_FAILED else _run_another(program, block)


@inline_njit
def disconnect(program, block):
    """Release the workspaces of a program."""
    if program == 0:
        return
    workspaces = block + load_i64(program, loop_field.WORKSPACES)
    handle = load_i64(program, loop_field.HANDLE)
    for k in range(load_i64(handle, handle_field.SPECIALIZATION_COUNT)):
        workspace = load_i64(workspaces, k)
        if workspace != 0:
            release(workspace)


@inline_njit
def open_block(loop, x):
    """Take a block, with the arguments of all programs connected, and the first operands; 0 when memory is short."""
    block = calloc(1, load_i64(loop, loop_field.BLOCK_BYTES))
    if block != 0:
        store_i64(block, loop_field.LEFT, load_i64(loop, loop_field.PERIOD))
        stride = min(_FIRST_STRIDE, load_i64(loop, loop_field.PERIOD))
        store_i64(block, loop_field.UNTIMED, stride)
        store_i64(block, loop_field.STRIDE, stride)
        for which in (loop_field.CONDITION, loop_field.VALUES, loop_field.PULLBACK, loop_field.TANGENTS):
            connect(load_i64(loop, which), block)
        unpack(loop, loop_field.START, block, x, 0)
    return block


@inline_njit
def close_block(loop, block, status, iteration):
    """Free a block. Note where a run has failed, if that is not noted yet (-1), and the carry there."""
    if status != 0:
        if iteration >= 0:
            store_i64(loop, loop_field.FAILED_AT, iteration)
        memcpy(
            load_i64(loop, loop_field.FAILED_CARRY),
            block + load_i64(loop, loop_field.CARRY),
            load_i64(loop, loop_field.CARRY_BYTES),
        )
    for which in (loop_field.CONDITION, loop_field.VALUES, loop_field.PULLBACK, loop_field.TANGENTS):
        disconnect(load_i64(loop, which), block)
    free(block)


# --- iterations --------------------------------------------------------------------------------------------------


@inline_njit
def position_of(loop, iteration):
    """Return the element of the sequences that an iteration of a known number of them takes."""
    if load_i64(loop, loop_field.REVERSED) != 0:
        return load_i64(loop, loop_field.LENGTH) - 1 - iteration
    return iteration


@inline_njit
def element_of(loop, block, iteration):
    """Return the element that an iteration takes: the one that the carry in the block names, if the loop has that."""
    cursor = load_i64(loop, loop_field.CURSOR)
    if cursor == 0:
        return position_of(loop, iteration)
    named, last = load_f64(block + cursor, 0), load_i64(loop, loop_field.EXTENT) - 1
    if named >= last:
        return last
    return numba.int64(named) if named > 0 else 0


@inline_njit
def goes_on(loop, block, iteration):
    """Return 1 if there is another iteration, 0 if not, and minus a status if the condition fails."""
    condition = load_i64(loop, loop_field.CONDITION)
    if condition == 0:
        return 1 if iteration < load_i64(loop, loop_field.LENGTH) else 0
    status = run_program(condition, block)
    if status != 0:
        return -status
    if load_u8(block, load_i64(loop, loop_field.FLAG)) == 0:
        return 0
    most = load_i64(loop, loop_field.MAX_ITERATIONS)
    return -TOO_MANY_ITERATIONS if 0 <= most <= iteration else 1


@inline_njit
def is_stopped(loop, block, count):
    """Return a status if the process was interrupted, looking for that once in many iterations; so many are over."""
    left = load_i64(block, loop_field.LEFT) - count
    store_i64(block, loop_field.LEFT, left)
    if left > 0:
        return 0
    store_i64(block, loop_field.LEFT, load_i64(loop, loop_field.PERIOD))
    return _interruption()


@inline_njit
def is_stopped_by_time(loop, block):
    """Return a status if the process was interrupted, after an iteration by a program, which may take any time."""
    left = load_i64(block, loop_field.UNTIMED) - 1
    store_i64(block, loop_field.UNTIMED, left)
    return 0 if left > 0 else _watch(loop, block)


@shared_njit
def _watch(loop, block):
    """Read the clock, look at interrupts if it is time, and choose when to read it again."""
    now, before = nanoseconds(), load_i64(block, loop_field.TIMED_AT)
    stride, status = load_i64(block, loop_field.STRIDE), 0
    if before == 0:
        store_i64(block, loop_field.WATCHED_AT, now)
    elif now - before < _WATCH_NS // 4:
        stride = min(2 * stride, load_i64(loop, loop_field.PERIOD))
    elif now - before > _WATCH_NS:
        stride = max(1, stride // 2)
    store_i64(block, loop_field.TIMED_AT, now)
    store_i64(block, loop_field.STRIDE, stride)
    store_i64(block, loop_field.UNTIMED, stride)
    if now - load_i64(block, loop_field.WATCHED_AT) >= _WATCH_NS:
        store_i64(block, loop_field.WATCHED_AT, now)
        status = _interruption()
    return status


@inline_njit
def _interruption():
    """Return a status if the process was interrupted. Another thread may have Python for a while."""
    state = _take_gil()
    interrupted = _has_interrupt()
    if interrupted != 0:
        _set_interrupt()  # for Python, where the handler of the signal runs
    _leave_gil(state)
    return INTERRUPTED if interrupted != 0 else 0


@inline_njit
def iterate(loop, block, x, iteration):
    """Run an iteration of the loop, and hand the carry on. Return a status."""
    unpack(loop, loop_field.SEQUENCES, block, x, element_of(loop, block, iteration))
    status = run_program(load_i64(loop, loop_field.VALUES), block)
    if status == 0:
        hand_on(loop, loop_field.HAND_ON, block)
        status = is_stopped_by_time(loop, block)
    else:
        store_i64(loop, loop_field.FAILED_AT, iteration)
    return status


@inline_njit
def packed_bytes(loop, elements):
    """Return the bytes of so many packed elements, whose number is in a field."""
    return load_i64(loop, elements) * bytes_of(load_i64(loop, loop_field.PACKED_DTYPE))


@inline_njit
def states_of(loop, packed):
    """Return the address of the stored carries in a packed result."""
    return packed + packed_bytes(loop, loop_field.STATES)
