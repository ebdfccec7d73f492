"""The parallel driver: one kernel over chunks of a frame, on all threads."""

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.frame import COUNT, OUTER, STRIDE, X_BAR
from tapegrad.engine.kernels.language.inlining import called_by_address
from tapegrad.engine.kernels.language.raw_memory import (
    call_kernel,
    free,
    load_i64,
    malloc,
    memset,
    stack_i64,
    store_i64,
)
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY
from tapegrad.engine.kernels.language.strided import reach
from tapegrad.engine.kernels.lines.accumulate import BLOCK
from tapegrad.engine.sweep.binding.control_fields import BLAS_LIMIT
from tapegrad.engine.sweep.binding.execute import elements, run_nested
from tapegrad.engine.sweep.threading.chunks import (
    CELLS,
    FRAME,
    INNER,
    KERNEL,
    LAUNCH_FIELDS,
    LENGTH,
    LIBRARY,
    OUTERMOST,
    SEGMENT,
    SERIAL,
    SPLIT,
    TASK,
    TOTAL,
    gather_sums,
    has_cotangent,
    run_chunk,
    second_part,
    summed,
)
from tapegrad.engine.sweep.threading.pool import MAX_CHUNKS, share
from tapegrad.engine.sweep.threading.segment_chunks import (
    BY_STEPS,
    CELL,
    IS_SEGMENT,
    elements_of,
    gather,
    sums_of,
)
from tapegrad.engine.sweep.threading.synchronization import call_count

_CHUNKS_PER_GRAIN = 8  # chunks of the smallest instruction that runs on several threads
SUMS_THRESHOLD = 32_768  # elements from which sums into one element are taken in chunks, whatever is summed


@inline_njit
def _run_serial(kernel, frame, loops):
    if load_i64(frame, OUTER) == 0:
        return call_kernel(kernel, frame, loops)
    return run_nested(kernel, frame, loops)


@inline_njit
def _bounds(frame, j):
    """Return the addresses of the lowest and the highest element of operand j's cotangent, or part of one."""
    outer, first = load_i64(frame, OUTER), load_i64(frame, X_BAR + j)
    below, above = reach(1, frame + 8 * COUNT, frame + 8 * (STRIDE + j))
    if outer != 0:
        m = load_i64(outer, 0)
        outer_below, outer_above = reach(m, outer + 8, outer + 8 * (1 + (1 + j) * m))
        below += outer_below
        above += outer_above
    return first + below, first + above + second_part(frame, j)


@inline_njit
def _same_loops(frame, j, k):
    """Return whether operands j and k go through the same elements in the same order."""
    same = load_i64(frame, X_BAR + j) == load_i64(frame, X_BAR + k)
    same &= load_i64(frame, STRIDE + j) == load_i64(frame, STRIDE + k)
    outer = load_i64(frame, OUTER)
    if outer != 0:
        m = load_i64(outer, 0)
        for d in range(m):
            same &= load_i64(outer, 1 + (1 + j) * m + d) == load_i64(outer, 1 + (1 + k) * m + d)
    return same


@inline_njit
def _may_race(frame):
    """Return whether two chunks could race on an element, because two operands' cotangents overlap."""
    for j in range(2):
        for k in range(j + 1, 3):
            both = has_cotangent(frame, j) and has_cotangent(frame, k)
            if both and not _same_loops(frame, j, k):
                (low, high), (other_low, other_high) = _bounds(frame, j), _bounds(frame, k)
                if low <= other_high and other_low <= high:
                    return True
    return False


@inline_njit
def _loop(frame, j, d):
    """Return the extent of a loop, and the bytes that operand j moves at each step of it; loop -1 is the inner one."""
    if d < 0:
        return load_i64(frame, COUNT), abs(load_i64(frame, STRIDE + j))
    outer = load_i64(frame, OUTER)
    return load_i64(outer, 1 + d), abs(load_i64(outer, 1 + (1 + j) * load_i64(outer, 0) + d))


@inline_njit
def _overlaps_itself(frame, j, loops):
    """Return whether operand j may visit an element twice by strides that are not 0, as sliding windows do.

    It does not if the steps of each loop are longer than all that the loops with shorter steps go through.
    """
    for d in range(-1, loops):
        extent, stride = _loop(frame, j, d)
        reached = second_part(frame, j)
        for other in range(-1, loops):
            count, shorter = _loop(frame, j, other)
            if other != d and shorter <= stride:
                reached += (count - 1) * shorter
        if extent > 1 and stride > 0 and reached >= stride:
            return True
    return False


@inline_njit
def _split(frame, splittable):
    """Return the loop to split over threads so that no two of them write to one element."""
    if _may_race(frame):
        return SERIAL
    outer = load_i64(frame, OUTER)
    if outer == 0:
        return INNER if splittable else SERIAL
    m = load_i64(outer, 0)
    shared, summed = False, False
    for j in range(3):
        if has_cotangent(frame, j):
            if _overlaps_itself(frame, j, m):
                return SERIAL
            shared |= load_i64(outer, 1 + (1 + j) * m) == 0
            summed |= load_i64(frame, STRIDE + j) == 0
    if not shared and load_i64(outer, 1) > 1:
        return OUTERMOST
    return INNER if splittable and not summed else SERIAL


@inline_njit
def _extent(frame, split):
    """Return the length of the loop that is cut."""
    return load_i64(load_i64(frame, OUTER), 1) if split == OUTERMOST else load_i64(frame, COUNT)


@inline_njit
def _most(n):
    """Return the steps of a chunk for the largest number of chunks."""
    return (n + MAX_CHUNKS - 1) // MAX_CHUNKS


@inline_njit
def _in_blocks(length):
    """Return the steps of a chunk, rounded so that each chunk of a sum begins a new block."""
    return (length + BLOCK - 1) & -BLOCK


def chunk_of_sums(n: int) -> int:
    """Return the elements of a chunk of a sum over `n` elements; 0 if the sum is not split."""
    least = SUMS_THRESHOLD // _CHUNKS_PER_GRAIN
    return 0 if n < SUMS_THRESHOLD else int(_in_blocks.py_func(max(least, _most.py_func(n))))


@inline_njit
def _length(frame, split, parallel_threshold):
    """Return the steps of a chunk. They do not depend on the number of threads, so sums do not either."""
    n = elements_of(frame) if split == SEGMENT else _extent(frame, split)
    least = max(abs(parallel_threshold) // _CHUNKS_PER_GRAIN * n // elements(frame), 1)
    length = max(least, _most(n))
    in_steps = split == OUTERMOST or (split == SEGMENT and parallel_threshold & BY_STEPS != 0)
    return length if in_steps else _in_blocks(length)


@inline_njit
def _has_sums(frame):
    """Return whether chunks of the inner loop add to one element."""
    return summed(frame, 0) or summed(frame, 1) or summed(frame, 2)


@inline_njit
def _run_in_cells(control, launch, chunks, sums):
    """Run the chunks of a launch in any order, each with zeroed cells of its own for so many sums."""
    bytes_ = sums * CELL * chunks
    cells = malloc(bytes_) if bytes_ > 0 else 0
    if cells == 0 and bytes_ > 0:
        return OUT_OF_MEMORY
    memset(cells, 0, bytes_)
    store_i64(launch, CELLS, cells)
    if not share(control, launch, chunks):
        for chunk in range(chunks):
            run_chunk(launch, chunk)
    if load_i64(launch, SPLIT) == SEGMENT:
        gather(load_i64(launch, FRAME), cells, chunks)
    else:
        gather_sums(load_i64(launch, FRAME), cells, chunks)
    free(cells)
    return 0


@called_by_address
def parallel_driver(kernel, frame, loops, control, parallel_threshold):
    """Run a bound instruction in chunks. The status of a kernel that can fail is never lost: such run serially.

    Sums are added up chunk by chunk, whether one thread runs them or many.
    """
    split = SEGMENT if parallel_threshold & IS_SEGMENT else _split(frame, parallel_threshold > 0)
    if split == SERIAL:
        return _run_serial(kernel, frame, loops)
    n = _extent(frame, split)
    if split == INNER and _has_sums(frame):
        if n < SUMS_THRESHOLD:
            return _run_serial(kernel, frame, loops)
        parallel_threshold = SUMS_THRESHOLD
    length = _length(frame, split, parallel_threshold)
    chunks = (n + length - 1) // length
    launch = stack_i64(LAUNCH_FIELDS)
    store_i64(launch, KERNEL, kernel)
    store_i64(launch, FRAME, frame)
    store_i64(launch, LIBRARY, loops)
    store_i64(launch, TOTAL, n)
    store_i64(launch, LENGTH, length)
    store_i64(launch, SPLIT, split)
    if split == SEGMENT:
        return _run_in_cells(control, launch, chunks, sums_of(frame))
    if split == INNER and _has_sums(frame):
        return _run_in_cells(control, launch, chunks, 3)
    return 0 if share(control, launch, chunks) else _run_serial(kernel, frame, loops)


@called_by_address
def share_parts(request: int, control: int) -> int:
    """Run all parts of a large call on several threads; return 0 if that is not possible now, or does not pay.

    A request is `[address of the function of a part, its frame, number of parts]`.
    """
    launch, parts = stack_i64(LAUNCH_FIELDS), load_i64(request, 2)
    store_i64(launch, KERNEL, load_i64(request, 0))
    store_i64(launch, FRAME, load_i64(request, 1))
    store_i64(launch, TOTAL, parts)
    store_i64(launch, LENGTH, 1)
    store_i64(launch, SPLIT, TASK)
    limit = load_i64(control, BLAS_LIMIT)
    if limit != 0 and call_count(limit) < 2:
        return 0
    return 1 if share(control, launch, parts) else 0
