"""Lanes: a program of many instances at once, block by block.

A *lane* is the index of an instance in a block. A program over lanes has them in the last dimension of its arrays, so
what a block needs of the caller's arrays, where instances come first, is brought to memory of the workspace before the
streams run, and results from there. A block that is not full has its last instance several times.

A *job* is one call: so many instances, divided into chunks of blocks, which threads may share. Each chunk takes one of
the job's workspaces that is free.
"""

from typing import Any

import numpy as np

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.lanes.transpose import transpose
from tapegrad.engine.kernels.language.frame import FIELDS, PARAMS, Y_BAR, X
from tapegrad.engine.kernels.language.inlining import always_inline, called_by_address
from tapegrad.engine.kernels.language.raw_memory import (
    call_kernel,
    load_at,
    load_i64,
    load_u8,
    memcpy,
    memset,
    size_of,
    stack_i64,
    store_at,
    store_i64,
    store_u8,
)
from tapegrad.engine.kernels.language.status import GUARD_FAILED
from tapegrad.engine.sweep.replays.replay import (
    BINDING_FIELDS,
    BINDINGS,
    REVERSE_COUNT,
    bind_port,
    run_forward,
    run_rows,
)
from tapegrad.engine.sweep.threading.chunks import FRAME, KERNEL, LAUNCH_FIELDS, LENGTH, SPLIT, TASK, TOTAL
from tapegrad.engine.sweep.threading.pool import share
from tapegrad.engine.sweep.threading.synchronization import atomic_store, compare_and_swap

MAX_LANES = 128  # of a program that a job runs
_INSTANCES_AT_ONCE = 8  # whose listed elements are written: a cache line of lanes

# Fields of a job.
(
    LANES,  # in a block
    INSTANCES,
    CHUNK,  # instances in a chunk, a multiple of the lanes
    FAILED,  # address of a byte for each instance: 1 where its results are not computed
    PORTS,  # address of the ports
    PORT_COUNT,
    OUTSIDE,  # for each port: address of the caller's array, and bytes from an instance to the next
    WORKSPACES,  # address of the addresses of workspaces
    WORKSPACE_COUNT,
) = range(9)
JOB_FIELDS = 9

# Fields of a workspace. The first has its own cache line, because threads poll it.
TAKEN = 0  # 1 while a chunk runs on it
(
    PROGRAM,  # address of its program's block
    WIDTH,  # lanes
    MASK,  # address of a byte for each lane: 1 where a guard has failed
    INSIDE,  # address for each port of the memory that has the lanes
) = range(8, 12)
WORKSPACE_FIELDS = 16

# Fields of a port.
(
    DIRECTION,
    BINDING,  # of a shared array: which of the program's
    ITEM,  # bytes of an element; of an instance that is one behind another inside, all its bytes
    OUTER,  # elements of an instance: OUTER times INNER, one behind another inside
    INNER,
    OUTER_STEP,  # bytes between them outside
    INNER_STEP,
    LISTED,  # address of pairs: number of an element inside, and its offset outside; OUTER of them. 0: none
) = range(8)
PORT_FIELDS = 8
SHARED, TAKE, GIVE = range(3)  # used where it is by all lanes; brought in; brought out

# Fields behind PARAMS of a frame for `guard_over_lanes`, whose Y_BAR is the mask.
GUARD_LANES, GUARD_KERNEL, GUARD_PARAMS, GUARD_STEP = range(4)


@called_by_address
def guard_over_lanes(frame: int, loops: int) -> int:
    """Run a guard for each lane, and note for which of them it fails."""
    local, params = stack_i64(FIELDS), load_i64(frame, PARAMS)
    for field in range(FIELDS):
        store_i64(local, field, load_i64(frame, field))
    store_i64(local, PARAMS, load_i64(params, GUARD_PARAMS))
    for lane in range(load_i64(params, GUARD_LANES)):
        status = call_kernel(load_i64(params, GUARD_KERNEL), local, loops)
        if status == GUARD_FAILED:
            store_u8(load_i64(frame, Y_BAR), lane, np.uint8(1))
        elif status != 0:
            return status
        store_i64(local, X, load_i64(local, X) + load_i64(params, GUARD_STEP))
    return 0


@always_inline
def _take(outside: int, step: int, inside: int, port: int, count: int, lanes: int, zero: Any) -> None:
    """Bring the instances of a block to lanes; those that are too many get the last one."""
    elements, size = load_i64(port, INNER), size_of(zero)
    count = min(count, 1) if step == 0 else count
    transpose(outside, step, inside, lanes * size, count, elements, zero)
    for k in range(elements if count < lanes else 0):
        line = inside + k * lanes * size
        last = load_at(line, (count - 1) * size, zero)
        for lane in range(count, lanes):
            store_at(line, lane * size, last, zero)


@always_inline
def _give(outside: int, step: int, inside: int, port: int, count: int, lanes: int, zero: Any) -> None:
    """Bring the lanes of a block to the instances, in runs that lie side by side outside."""
    line = lanes * size_of(zero)
    runs, run, apart, stride = (
        load_i64(port, OUTER),
        load_i64(port, INNER),
        load_i64(port, INNER),
        np.int64(1),
    )
    run_step, in_run = load_i64(port, OUTER_STEP), load_i64(port, INNER_STEP)
    if runs > 1 and run_step == size_of(zero):  # the other way round
        runs, run, apart, stride = run, runs, np.int64(1), run
        run_step, in_run = in_run, run_step
    for k in range(runs):
        source, target = inside + k * apart * line, outside + k * run_step
        if in_run == size_of(zero):
            transpose(source, stride * line, target, step, run, count, zero)
        else:
            for j in range(run):
                transpose(source + j * stride * line, line, target + j * in_run, step, 1, count, zero)


@always_inline
def _give_listed(outside: int, step: int, inside: int, port: int, count: int, lanes: int, zero: Any) -> None:
    """Bring the lanes of a block to the listed elements of the instances, in few instances at a time."""
    listed, line = load_i64(port, LISTED), lanes * size_of(zero)
    for first in range(0, count, _INSTANCES_AT_ONCE):
        last = min(first + _INSTANCES_AT_ONCE, count)
        for k in range(load_i64(port, OUTER)):
            source, target = inside + load_i64(listed, 2 * k) * line, outside + load_i64(listed, 2 * k + 1)
            for lane in range(first, last):
                store_at(target, lane * step, load_at(source, lane * size_of(zero), zero), zero)


@inline_njit
def _move_stack(port, outside, step, inside, count, lanes):
    """Bring whole instances to lanes, or from there; lanes that are too many get the last one."""
    item = load_i64(port, ITEM)
    taken = load_i64(port, DIRECTION) == TAKE
    whole = count if step == item else 0  # instances that lie side by side outside, too
    if taken:
        memcpy(inside, outside, whole * item)
    else:
        memcpy(outside, inside, whole * item)
    for lane in range(whole, lanes if taken else count):
        if taken:
            memcpy(inside + lane * item, outside + min(lane, count - 1) * step, item)
        else:
            memcpy(outside + lane * step, inside + lane * item, item)


@always_inline
def _move_elements(
    outside: int, step: int, inside: int, port: int, count: int, lanes: int, zero: Any
) -> None:
    if load_i64(port, DIRECTION) == TAKE:
        _take(outside, step, inside, port, count, lanes, zero)
    elif load_i64(port, LISTED) != 0:
        _give_listed(outside, step, inside, port, count, lanes, zero)
    else:
        _give(outside, step, inside, port, count, lanes, zero)


@inline_njit
def _move(port, outside, step, inside, count, lanes):
    """Bring a block to lanes, or lanes to the block."""
    item = load_i64(port, ITEM)
    if item == 8:
        _move_elements(outside, step, inside, port, count, lanes, np.int64(0))
    elif item == 4:
        _move_elements(outside, step, inside, port, count, lanes, np.int32(0))
    elif item == 1:
        _move_elements(outside, step, inside, port, count, lanes, np.uint8(0))
    else:
        _move_stack(port, outside, step, inside, count, lanes)


@inline_njit
def _move_all(job, workspace, direction, first, count):
    """Bring all that is taken, or given, of the block that begins with instance `first`."""
    for k in range(load_i64(job, PORT_COUNT)):
        port = load_i64(job, PORTS) + 8 * PORT_FIELDS * k
        if load_i64(port, DIRECTION) == direction:
            outside, step = (
                load_i64(load_i64(job, OUTSIDE), 2 * k),
                load_i64(load_i64(job, OUTSIDE), 2 * k + 1),
            )
            inside = load_i64(load_i64(workspace, INSIDE), k)
            _move(port, outside + first * step, step, inside, count, load_i64(job, LANES))


@inline_njit
def _bind_shared(job, workspace):
    """Bind the arrays that all lanes share, where they are."""
    bindings = load_i64(load_i64(workspace, PROGRAM), BINDINGS)
    for k in range(load_i64(job, PORT_COUNT)):
        port = load_i64(job, PORTS) + 8 * PORT_FIELDS * k
        if load_i64(port, DIRECTION) == SHARED:
            binding = bindings + 8 * BINDING_FIELDS * load_i64(port, BINDING)
            bind_port(binding, load_i64(load_i64(job, OUTSIDE), 2 * k))


@inline_njit
def run_block(workspace):
    """Run the streams for a block that lies in the workspace; return the status of the first kernel that has one."""
    program, lanes = load_i64(workspace, PROGRAM), load_i64(workspace, WIDTH)
    memset(load_i64(workspace, MASK), 0, lanes)
    if load_i64(program, REVERSE_COUNT) == 0:
        return run_forward(program)
    return run_rows(program, lanes)


# --- lanes that fail ----------------------------------------------------------------------------------------------


@inline_njit
def _is_wanted(statuses, lane):
    return load_i64(statuses, lane) == 0


@inline_njit
def _first_wanted(statuses, first, stop):
    """Return the first lane in [first, stop) that has no status yet; -1 if there is none."""
    for lane in range(first, stop):
        if _is_wanted(statuses, lane):
            return lane
    return -1


@inline_njit
def _note_guards(workspace, statuses, first, stop):
    """Note in which of some lanes guards have failed; return whether there are any."""
    found = False
    for lane in range(first, stop):
        if load_u8(load_i64(workspace, MASK), lane) != 0 and _is_wanted(statuses, lane):
            store_i64(statuses, lane, GUARD_FAILED)
            found = True
    return found


@inline_njit
def _fill(job, workspace, statuses, block, count, first, stop):
    """Give lanes [first, stop) without a status their own instances again, and all others one of those instances."""
    lanes, source = load_i64(workspace, WIDTH), _first_wanted(statuses, first, stop)
    for k in range(load_i64(job, PORT_COUNT)):
        port = load_i64(job, PORTS) + 8 * PORT_FIELDS * k
        if load_i64(port, DIRECTION) != TAKE:
            continue
        inside, item = load_i64(load_i64(workspace, INSIDE), k), load_i64(port, ITEM)
        outside, step = (
            load_i64(load_i64(job, OUTSIDE), 2 * k),
            load_i64(load_i64(job, OUTSIDE), 2 * k + 1),
        )
        for lane in range(lanes):
            own = first <= lane < stop and _is_wanted(statuses, lane)
            instance = outside + (block + min(lane if own else source, count - 1)) * step
            for element in range(load_i64(port, INNER)):
                memcpy(inside + (element * lanes + lane) * item, instance + element * item, item)


@inline_njit
def _try_lanes(job, workspace, statuses, block, count, first, stop):
    """Run lanes [first, stop), all others filled with copies of one. Return the status, 0 if none is pending."""
    if _first_wanted(statuses, first, stop) < 0:
        return np.int64(0)
    _fill(job, workspace, statuses, block, count, first, stop)
    status = run_block(workspace)
    if status == 0 or first + 1 == stop:
        _note_guards(workspace, statuses, first, stop)
    return status


@inline_njit
def _find_failing(job, workspace, statuses, block, instances):
    """Find the lanes for which a kernel has a status, by halves of those among which some fail."""
    lanes = load_i64(workspace, WIDTH)
    first, count = np.int64(0), (lanes + 1) // 2
    while first < lanes:
        stop = min(first + count, lanes)
        status = _try_lanes(job, workspace, statuses, block, instances, first, stop)
        if status != 0 and stop - first > 1:
            count = (stop - first + 1) // 2
            continue
        if status != 0 and _is_wanted(statuses, first):
            store_i64(statuses, first, status)
        first, count = stop, 2 * count


@inline_njit
def _run_lanes(job, workspace, statuses, block, count):
    """Run the streams for `count` instances from `block` on that the workspace has, and write a status for each lane.

    A lane that fails stops no other one. `statuses` is the address of a field for each lane: 0 for results that
    count, GUARD_FAILED for a lane on another branch, otherwise the status of a kernel. Returns whether there may be
    other ones than 0.
    """
    lanes = load_i64(workspace, WIDTH)
    memset(statuses, 0, 8 * lanes)
    status = run_block(workspace)
    if not _note_guards(workspace, statuses, 0, lanes) and status == 0:
        return False
    # An instance on another branch computes garbage here, which may make a kernel fail: its guard decides.
    if status != 0 and _try_lanes(job, workspace, statuses, block, count, np.int64(0), lanes) != 0:
        _find_failing(job, workspace, statuses, block, count)
        status = _try_lanes(job, workspace, statuses, block, count, np.int64(0), lanes)
        for lane in range(lanes if status != 0 else 0):  # the block fails, no single lane does: fail all
            if _is_wanted(statuses, lane):
                store_i64(statuses, lane, status)
    return True


@inline_njit
def _run_instances(job, workspace, first, stop, statuses):
    """Run the blocks of some instances, and note of which the results are not computed."""
    lanes = load_i64(job, LANES)
    _bind_shared(job, workspace)
    while first < stop:
        count = min(lanes, stop - first)
        _move_all(job, workspace, TAKE, first, count)
        failed = _run_lanes(job, workspace, statuses, first, count)
        _move_all(job, workspace, GIVE, first, count)
        for lane in range(count if failed else 0):
            if not _is_wanted(statuses, lane):
                store_u8(load_i64(job, FAILED), first + lane, np.uint8(1))
        first += lanes


@inline_njit
def _free_workspace(job):
    """Return a free workspace; there are as many as threads."""
    k = 0
    while True:
        workspace = load_i64(load_i64(job, WORKSPACES), k)
        if compare_and_swap(workspace + 8 * TAKEN, 0, 1) == 1:
            return workspace
        k = (k + 1) % load_i64(job, WORKSPACE_COUNT)


@called_by_address
def lanes_chunk(job: int, chunk: int) -> int:
    """Run a chunk of a job."""
    workspace = _free_workspace(job)
    first = chunk * load_i64(job, CHUNK)
    stop = min(first + load_i64(job, CHUNK), load_i64(job, INSTANCES))
    _run_instances(job, workspace, first, stop, stack_i64(MAX_LANES))
    atomic_store(workspace + 8 * TAKEN, 0)
    return 0


@entry_point(nogil=True)
def replay_lanes(job, kernel, control, chunks):
    """Run all chunks of a job by `lanes_chunk`, whose address is `kernel`; return their number."""
    launch = stack_i64(LAUNCH_FIELDS)
    store_i64(launch, KERNEL, kernel)
    store_i64(launch, FRAME, job)
    store_i64(launch, TOTAL, chunks)
    store_i64(launch, LENGTH, 1)
    store_i64(launch, SPLIT, TASK)
    shared = chunks > 1 and share(control, launch, chunks)
    for chunk in range(0 if shared else chunks):
        call_kernel(kernel, job, chunk)
    return chunks
