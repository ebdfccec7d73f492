"""The parallel driver: one kernel over chunks of a frame, on all threads.

One launch runs at a time in a process, whoever asks: a second one, from another thread's replay, goes on serially
meanwhile. That keeps two replays from fighting over the cores, and Numba's `workqueue` threading layer, which
aborts the process when it is entered twice, from being entered twice.
"""

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tapegrad.compiler import helper
from tapegrad.kernels.frame import COUNT, OUTER, STORE, STRIDE, X_BAR, Y_STRIDE
from tapegrad.kernels.native import (
    call_kernel,
    compare_and_swap,
    free,
    load_f32,
    load_f64,
    load_i64,
    malloc,
    memset,
    stack_words,
    store_f32,
    store_f64,
    store_i64,
)
from tapegrad.sweep.execute import copy_frame, move, move_along, run_nested
from tapegrad.sweep.layout import CHUNKS, ITEM_SHIFT, LAUNCH, LOCK, TANGENT, THREADS

_I64 = ir.IntType(64)
_KERNEL, _FRAME, _LOOPS, _TOTAL, _LENGTH, _SPLIT, _CELLS = range(7)  # words of a launch
_CHUNKS_PER_THREAD = 2
_CELL = 64  # bytes between the private sums of two chunks: a cache line
_INNER, _OUTERMOST, _SERIAL = range(3)


@intrinsic
def call_parallel_for(typingctx, address, body, first, count, step, launch, threads):
    """Call the `parallel_for` of Numba's threading layer: ``body(first, count, step, launch)`` on all threads.

    `first`, `count` and `step` are addresses of one word each.
    """

    def codegen(context, builder, signature, args):
        function = ir.FunctionType(ir.VoidType(), [_I64] * 8).as_pointer()
        pointer = builder.inttoptr(args[0], function)
        inner_dimensions, arrays = _I64(0), _I64(1)
        builder.call(pointer, [*args[1:6], inner_dimensions, arrays, args[6]])
        return context.get_dummy_value()

    return types.void(*[types.int64] * 7), codegen


@helper
def _run_serial(kernel, frame, loops):
    if load_i64(frame, OUTER) == 0:
        return call_kernel(kernel, frame, loops)
    return run_nested(kernel, frame, loops)


@helper
def _has_cotangent(frame, j):
    """Whether something is added to operand j's cotangent; tangents are only read."""
    return load_i64(frame, X_BAR + j) != 0 and load_i64(frame, STORE) & TANGENT == 0


@helper
def _summed(frame, j):
    """Whether operand j's cotangent is one element that the inner loop sums into."""
    return _has_cotangent(frame, j) and load_i64(frame, STRIDE + j) == 0


@helper
def _reach(frame, j, upwards):
    """Bytes from the first element of operand j to its highest or its lowest."""
    reach, outer = 0, load_i64(frame, OUTER)
    step = load_i64(frame, STRIDE + j) * (load_i64(frame, COUNT) - 1)
    if upwards == (step > 0):
        reach += step
    if outer != 0:
        m = load_i64(outer, 0)
        for d in range(m):
            step = load_i64(outer, 1 + (1 + j) * m + d) * (load_i64(outer, 1 + d) - 1)
            if upwards == (step > 0):
                reach += step
    return reach


@helper
def _same_loops(frame, j, k):
    """Whether operands j and k go through the same elements in the same order."""
    same = load_i64(frame, X_BAR + j) == load_i64(frame, X_BAR + k)
    same &= load_i64(frame, STRIDE + j) == load_i64(frame, STRIDE + k)
    outer = load_i64(frame, OUTER)
    if outer != 0:
        m = load_i64(outer, 0)
        for d in range(m):
            same &= load_i64(outer, 1 + (1 + j) * m + d) == load_i64(outer, 1 + (1 + k) * m + d)
    return same


@helper
def _entangled(frame):
    """Whether two operands' cotangents overlap in such a way that two chunks could add to one element."""
    for j in range(2):
        for k in range(j + 1, 3):
            first, second = load_i64(frame, X_BAR + j), load_i64(frame, X_BAR + k)
            both = _has_cotangent(frame, j) and _has_cotangent(frame, k)
            if both and not _same_loops(frame, j, k):
                below = first + _reach(frame, j, True) < second + _reach(frame, k, False)
                above = second + _reach(frame, k, True) < first + _reach(frame, j, False)
                if not (below or above):
                    return True
    return False


@helper
def _split(frame, splittable):
    """Which loop can be dealt out to threads without two of them writing to one place."""
    if _entangled(frame):
        return _SERIAL
    outer = load_i64(frame, OUTER)
    if outer == 0:
        return _INNER if splittable else _SERIAL
    m = load_i64(outer, 0)
    shared, summed = False, False
    for j in range(3):
        if _has_cotangent(frame, j):
            shared |= load_i64(outer, 1 + (1 + j) * m) == 0
            summed |= load_i64(frame, STRIDE + j) == 0
    if not shared and load_i64(outer, 1) > 1:
        return _OUTERMOST
    return _INNER if splittable and not summed else _SERIAL


@helper
def _take_chunk(frame, local, start, count, split, cells, c):
    """Make `local` the chunk of `frame` that starts at `start`; sums go to cells of the chunk's own."""
    copy_frame(frame, local)
    if split == _INNER:
        store_i64(local, COUNT, count)
        move(
            local,
            start * load_i64(frame, STRIDE),
            start * load_i64(frame, STRIDE + 1),
            start * load_i64(frame, STRIDE + 2),
            start * load_i64(frame, Y_STRIDE),
        )
        for j in range(3):
            if _summed(frame, j):
                store_i64(local, X_BAR + j, cells + (3 * c + j) * _CELL)


@helper
def _run_outer_chunk(kernel, local, loops, start, count):
    """Run the part `start .. start + count` of the outermost loop."""
    outer = load_i64(local, OUTER)
    part = stack_words(1 + 5 * 32)
    for word in range(1 + 5 * load_i64(outer, 0)):
        store_i64(part, word, load_i64(outer, word))
    store_i64(part, 1, count)
    move_along(local, outer, 0, start)
    store_i64(local, OUTER, part)
    run_nested(kernel, local, loops)


@helper
def _gather_sums(frame, cells, chunks):
    """Add up the private sums in the order of the chunks, so that the result does not depend on the threads."""
    double = load_i64(frame, STORE) >> ITEM_SHIFT == 8
    for j in range(3):
        if not _summed(frame, j):
            continue
        target = load_i64(frame, X_BAR + j)
        total = 0.0
        for c in range(chunks):
            cell = cells + (3 * c + j) * _CELL
            total += load_f64(cell, 0) if double else numba.float64(load_f32(cell, 0))
        if (load_i64(frame, STORE) >> j) & 1 == 0:
            total += load_f64(target, 0) if double else numba.float64(load_f32(target, 0))
        if double:
            store_f64(target, 0, total)
        else:
            store_f32(target, 0, numba.float32(total))


@helper
def _launch(control, chunks, launch):
    """Let the threading layer run all the chunks; it hands out numbers from 0 in steps of 1."""
    numbers = stack_words(3)
    store_i64(numbers, 0, 0)
    store_i64(numbers, 1, chunks)
    store_i64(numbers, 2, 1)
    body, threads = load_i64(control, CHUNKS), load_i64(control, THREADS)
    call_parallel_for(load_i64(control, LAUNCH), body, numbers, numbers + 8, numbers + 16, launch, threads)


@helper
def _extent_to_split(frame, split):
    return load_i64(frame, COUNT) if split == _INNER else load_i64(load_i64(frame, OUTER), 1)


@helper
def _run_chunk(launch, c):
    """Run chunk `c` of a launch."""
    local = stack_words(16)
    kernel, loops, split = load_i64(launch, _KERNEL), load_i64(launch, _LOOPS), load_i64(launch, _SPLIT)
    start = c * load_i64(launch, _LENGTH)
    count = min(load_i64(launch, _LENGTH), load_i64(launch, _TOTAL) - start)
    if count <= 0:
        return
    _take_chunk(load_i64(launch, _FRAME), local, start, count, split, load_i64(launch, _CELLS), c)
    if split == _OUTERMOST:
        _run_outer_chunk(kernel, local, loops, start, count)
    elif load_i64(local, OUTER) == 0:
        call_kernel(kernel, local, loops)
    else:
        run_nested(kernel, local, loops)


def run_chunks(first, count, step, launch):
    """What each thread runs, called as NumPy's inner loops are: some of the chunks of a launch."""
    c = load_i64(first, 0)
    for _ in range(load_i64(count, 0)):
        _run_chunk(launch, c)
        c += load_i64(step, 0)
    return 0


def parallel_driver(kernel, frame, loops, control, splittable):
    """Run a bound instruction in chunks. The status of a kernel that can fail is never lost: such run serially.

    The threading layer is called directly: a `prange` would let go of Python's lock, and another thread could
    append to the eager tape in the middle of an instruction or a sweep.
    """
    split = _split(frame, splittable)
    if split == _SERIAL or compare_and_swap(control + 8 * LOCK, 0, 1) == 0:
        return _run_serial(kernel, frame, loops)
    n = _extent_to_split(frame, split)
    chunks = min(n, load_i64(control, THREADS) * _CHUNKS_PER_THREAD)
    length = (n + chunks - 1) // chunks
    if split == _INNER:
        length = (length + 63) & ~63
    cells = malloc(3 * _CELL * chunks)
    memset(cells, 0, 3 * _CELL * chunks)
    launch = stack_words(7)
    store_i64(launch, _KERNEL, kernel)
    store_i64(launch, _FRAME, frame)
    store_i64(launch, _LOOPS, loops)
    store_i64(launch, _TOTAL, n)
    store_i64(launch, _LENGTH, length)
    store_i64(launch, _SPLIT, split)
    store_i64(launch, _CELLS, cells)
    _launch(control, chunks, launch)
    if split == _INNER:
        _gather_sums(frame, cells, chunks)
    free(cells)
    store_i64(control, LOCK, 0)
    return 0
