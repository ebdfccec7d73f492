"""The pool of threads: running threads claim the chunks of a launch one by one.

The caller publishes a range of chunks for each thread, goes through its own, then through what is left of the
others'. It waits for chunks that a helper has begun, never for a helper that the system has not let run yet, so a
machine whose processors are busy with other things costs a launch little. What is lost in waiting all the same is
counted against what the helpers have done: a caller that loses works alone for a time in proportion.

A helper spins for a moment between two launches and then sleeps. A range of chunks is one field, the *ticket*
``launch number | next chunk | end``, so that a helper that comes late finds it closed and touches nothing else.
"""

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.inlining import called_by_address
from tapegrad.engine.kernels.language.raw_memory import load_i64, store_i64
from tapegrad.engine.sweep.binding.control_fields import (
    ALONE_UNTIL,
    BALANCE,
    LOCK,
    POOL,
    THREAD_LIMIT,
    THREADS,
)
from tapegrad.engine.sweep.threading.chunks import run_chunk
from tapegrad.engine.sweep.threading.synchronization import (
    acquire_lock,
    atomic_add,
    atomic_load,
    atomic_store,
    call_count,
    compare_and_swap,
    nanoseconds,
    relax,
    release_lock,
)

# Byte offsets in the pool's block. What different threads write lies in different cache lines.
_LAUNCH = 0  # address of the launch under way, for the function that runs a chunk
_CHUNKS = 8  # number of its chunks
_PARTICIPANTS = 16  # number of threads that it is dealt out to
GENERATION = 24  # number of the launch
CLOSED = 32  # 1: the helpers shall end
_DONE = 64  # chunks that are done
_WAITING = 128  # 1 while the caller sleeps
FINISHED = 136  # the lock that ends the caller's sleep
_THREAD = 192  # the first thread's part
_THREAD_BYTES = 128
_TICKET = 0
_ASLEEP = 64  # 1 while the helper sleeps
_WAKE = 72  # the lock that ends the helper's sleep

MAX_THREADS = 64
MAX_CHUNKS = 64
BLOCK_BYTES = _THREAD + _THREAD_BYTES * MAX_THREADS

# Nanoseconds.
_HELPER_SPINS = 200_000  # before a helper sleeps: several times the cost of waking it
_CALLER_SPINS = 20_000
_PREEMPTED_NS = 50_000  # a longer gap between two clock reads means that the thread was descheduled
_CREDIT = 4_000_000  # maximum of BALANCE: one time slice of another process
_CAUTION = 8  # ns that a caller works alone for each ns lost: helpers cost an eighth of the time at most
_FOREVER = 1 << 40


def wake_lock(thread: int) -> int:
    """Return the offset of the lock on which a helper sleeps."""
    return _THREAD + _THREAD_BYTES * thread + _WAKE


@inline_njit
def _part(pool, thread):
    """Return the address of a thread's part of the block."""
    return pool + _THREAD + _THREAD_BYTES * thread


@inline_njit
def _open(ticket):
    """Return whether a ticket has chunks left."""
    return (ticket >> 16) & 0xFFFF < ticket & 0xFFFF


@inline_njit
def _claim(address, from_the_front):
    """Take a chunk from the range whose ticket is at `address`: the first or the last of it; -1 if none is left."""
    while True:
        ticket = atomic_load(address)
        if not _open(ticket):
            return -1
        if from_the_front:
            chunk, rest = (ticket >> 16) & 0xFFFF, ticket + (1 << 16)
        else:
            chunk, rest = (ticket & 0xFFFF) - 1, ticket - 1
        if compare_and_swap(address, ticket, rest) == 1:
            return chunk


@inline_njit
def _run_range(pool, thread, from_the_front):
    """Run all chunks that can be claimed of a thread's range; return their number, and the shortest time in ns."""
    done, quickest = 0, _FOREVER
    began = nanoseconds()
    while True:
        chunk = _claim(_part(pool, thread) + _TICKET, from_the_front)
        if chunk < 0:
            return done, quickest
        run_chunk(load_i64(pool, _LAUNCH // 8), chunk)
        ended = nanoseconds()
        done, quickest = done + 1, min(quickest, ended - began)
        began = ended


@inline_njit
def _take_part(pool, thread):
    """Run chunks of the thread's own range, then of the others', until none is left; return number and shortest ns.

    The time is that of the thread's own range: the last range may end with a chunk that is short.
    """
    participants = atomic_load(pool + _PARTICIPANTS)
    done, quickest = _run_range(pool, thread, True)
    for k in range(1, participants):
        done += _run_range(pool, (thread + k) % participants, False)[0]
    return done, quickest


@inline_njit
def _report(pool, done):
    """Count chunks as done, and wake the caller if they were the last and it sleeps.

    Nothing is read of the launch after the count: the caller may have gone on.
    """
    chunks = load_i64(pool, _CHUNKS // 8)
    last = atomic_add(pool + _DONE, done) + done == chunks
    if last and compare_and_swap(pool + _WAITING, 1, 0) == 1:
        release_lock(load_i64(pool, FINISHED // 8))


@inline_njit
def _spin(address):
    """Spin for a ticket with chunks; return whether there is one. A thread that was descheduled gives up."""
    began = nanoseconds()
    before = began
    while not _open(atomic_load(address)):
        relax()
        now = nanoseconds()
        if now - before > _PREEMPTED_NS or now - began > _HELPER_SPINS:
            return False
        before = now
    return True


@inline_njit
def _sleep(pool, part):
    """Sleep until the caller of a launch wants help."""
    atomic_store(part + _ASLEEP, 1)
    wanted = _open(atomic_load(part + _TICKET)) or atomic_load(pool + CLOSED) != 0
    if not wanted or compare_and_swap(part + _ASLEEP, 1, 0) == 0:  # 0: another thread is waking it already
        acquire_lock(load_i64(part, _WAKE // 8), 1)


@called_by_address
def help_out(arguments):
    """Run a thread of the pool. `arguments` is the address of two fields: address of the pool, number of the thread."""
    pool, thread = load_i64(arguments, 0), load_i64(arguments, 1)
    part = _part(pool, thread)
    while atomic_load(pool + CLOSED) == 0:
        done, _ = _take_part(pool, thread)
        if done > 0:
            _report(pool, done)
        if not _spin(part + _TICKET):
            _sleep(pool, part)
    return 0


@inline_njit
def _publish(pool, launch, chunks, threads):
    """Deal the chunks of a launch out to so many threads, and wake those that sleep."""
    generation = (load_i64(pool, GENERATION // 8) + 1) & 0x7FFF_FFFF
    store_i64(pool, GENERATION // 8, generation)
    store_i64(pool, _LAUNCH // 8, launch)
    store_i64(pool, _CHUNKS // 8, chunks)
    atomic_store(pool + _DONE, 0)
    atomic_store(pool + _PARTICIPANTS, threads)
    for t in range(threads - 1, -1, -1):
        first, end = t * chunks // threads, (t + 1) * chunks // threads
        atomic_store(_part(pool, t) + _TICKET, (generation << 32) | (first << 16) | end)
    for t in range(1, threads):
        part = _part(pool, t)
        if compare_and_swap(part + _ASLEEP, 1, 0) == 1:
            release_lock(load_i64(part, _WAKE // 8))


@inline_njit
def _await_helpers(pool, chunks):
    """Wait until the chunks that helpers have begun are done: spin for a moment, then sleep."""
    began = nanoseconds()
    while atomic_load(pool + _DONE) < chunks:
        relax()
        if nanoseconds() - began > _CALLER_SPINS:
            atomic_store(pool + _WAITING, 1)
            finished = atomic_load(pool + _DONE) == chunks
            if not finished or compare_and_swap(pool + _WAITING, 1, 0) == 0:
                acquire_lock(load_i64(pool, FINISHED // 8), 1)


@inline_njit
def _settle(control, gained, now):
    """Add what a launch gained by its helpers, or lost; after a loss the caller works alone for a time."""
    balance = min(load_i64(control, BALANCE) + gained, _CREDIT)
    if balance < 0:
        store_i64(control, ALONE_UNTIL, now - _CAUTION * balance)
        balance = 0
    store_i64(control, BALANCE, balance)


@inline_njit
def _run_with_helpers(control, launch, chunks, threads):
    """Run the chunks of a launch with helpers, and compare its time with that of the caller's chunks alone."""
    pool = load_i64(control, POOL)
    began = nanoseconds()
    _publish(pool, launch, chunks, threads)
    own, quickest = _take_part(pool, 0)
    _report(pool, own)
    _await_helpers(pool, chunks)
    now = nanoseconds()
    alone = quickest * chunks if quickest < _FOREVER else 0
    _settle(control, alone - (now - began), now)


@inline_njit
def _threads(control):
    """Return the number of threads for a launch of the calling thread, which `numba.set_num_threads` may limit."""
    threads, limit = load_i64(control, THREADS), load_i64(control, THREAD_LIMIT)
    if threads > 1 and limit != 0:
        mask = call_count(limit)
        if mask > 0:
            return min(threads, mask)
    return threads


@inline_njit
def share(control, launch, chunks):
    """Run the chunks of a launch on several threads, if that is possible now and pays; return whether they ran.

    One launch is shared at a time in a process: the caller of a second one works alone meanwhile.
    """
    threads = min(_threads(control), chunks)
    if threads < 2 or nanoseconds() < load_i64(control, ALONE_UNTIL):
        return False
    if compare_and_swap(control + 8 * LOCK, 0, 1) == 0:
        return False
    _run_with_helpers(control, launch, chunks, threads)
    atomic_store(control + 8 * LOCK, 0)
    return True
