"""The pool of a specialization's workspaces, made as they are needed and taken by any thread, without Python.

A slot is taken by a compare-and-swap. If all are taken, a workspace is made for this one call: no call waits, for the
thread with a workspace may itself be waiting for a lock that the caller holds. In a forked child slots that threads of
the parent had taken stay taken.
"""

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.language.raw_memory import free, load_i64, malloc, memcpy, stack_i64, store_i64
from tapegrad.engine.sweep.replays.handle_fields import (
    IMAGE,
    IMAGE_FIELDS,
    LOCK,
    RELOCATION_COUNT,
    RELOCATIONS,
    SLOT_BYTES,
    SLOT_COUNT,
    SLOTS,
    WORKSPACE,
    WORKSPACE_BYTES,
)
from tapegrad.engine.sweep.threading.synchronization import atomic_load, compare_and_swap, release_store

_LINE = 64
_BLOCK, _SLOT = -1, -2  # fields before a workspace: the allocator's block, the slot or 0
_STACK_SHIFT = 16  # stacks of threads are further apart than this many bits tell
_SPREAD = 0x9E3779B1


@inline_njit
def make_workspace(specialization):
    """Make a workspace of a specialization; 0 when memory is short."""
    block = malloc(load_i64(specialization, WORKSPACE_BYTES) + 2 * _LINE)
    if block == 0:
        return 0
    workspace = (block + 2 * _LINE - 1) // _LINE * _LINE
    memcpy(workspace, load_i64(specialization, IMAGE), 8 * load_i64(specialization, IMAGE_FIELDS))
    relocations = load_i64(specialization, RELOCATIONS)
    for k in range(load_i64(specialization, RELOCATION_COUNT)):
        field = load_i64(relocations, k)
        store_i64(workspace, field, load_i64(workspace, field) + workspace)
    store_i64(workspace, _BLOCK, block)
    store_i64(workspace, _SLOT, 0)
    return workspace


@inline_njit
def free_workspace(workspace):
    """Free the memory of a workspace."""
    free(load_i64(workspace, _BLOCK))


@inline_njit
def _fill(slot, specialization):
    """Return the workspace of a slot that was taken, made if there is none yet."""
    workspace = load_i64(slot, WORKSPACE)
    if workspace == 0:
        workspace = make_workspace(specialization)
        if workspace == 0:
            release_store(slot + 8 * LOCK, 0)
            return 0
        store_i64(workspace, _SLOT, slot)
        store_i64(slot, WORKSPACE, workspace)
    return workspace


@inline_njit
def acquire(specialization):
    """Acquire a workspace of a specialization for one call, 0 when memory is short.

    Threads begin at different slots.
    """
    slots, last = load_i64(specialization, SLOTS), load_i64(specialization, SLOT_COUNT) - 1
    first = ((stack_i64(1) >> _STACK_SHIFT) * _SPREAD) >> _STACK_SHIFT
    for k in range(last + 1):
        slot = slots + SLOT_BYTES * ((first + k) & last)
        if atomic_load(slot + 8 * LOCK) == 0 and compare_and_swap(slot + 8 * LOCK, 0, 1) != 0:
            return _fill(slot, specialization)
    return make_workspace(specialization)


@inline_njit
def release(workspace):
    """Release a workspace to the pool."""
    slot = load_i64(workspace, _SLOT)
    if slot == 0:
        free_workspace(workspace)
    else:
        release_store(slot + 8 * LOCK, 0)


@entry_point()
def free_slots(slots, count):
    """Free the workspaces of a pool that are no longer used."""
    for k in range(count):
        slot = slots + SLOT_BYTES * k
        workspace = load_i64(slot, WORKSPACE)
        if workspace != 0:
            free_workspace(workspace)
            store_i64(slot, WORKSPACE, 0)
