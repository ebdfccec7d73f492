"""Parts of a segment for several threads, each with cells of its own for sums.

A segment goes through part of its elements, or of its first outer loop, where its frame says so. Threads write to
elements of their own, but for sums over all elements: each part has cells of its own for these, which are added up in
the order of the parts.

A segment's frame points to ``[fields of the frame, elements from which parts are cut, sums, (field with the
address, bytes of the element, whether it is written instead of added to) of each sum]``.
"""

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language import numba
from tapegrad.engine.kernels.language.raw_memory import (
    call_kernel,
    load_f32,
    load_f64,
    load_i64,
    stack_i64,
    store_f32,
    store_f64,
    store_i64,
)
from tapegrad.engine.kernels.language.segment_frame import SHARED, START, STOP

PAIR = 16  # bit of the bytes of an element: it is a complex number with parts of so many bytes
CELL = 64  # bytes between two private sums: a cache line
MAX_FRAME_FIELDS = 2048  # more than the operands of all rows of the longest segment need
IS_SEGMENT, BY_STEPS = 1, 2  # bits of a parallel threshold; parts are of steps of a loop, or of 256 elements
_FIELDS, _ELEMENTS, _SUMS, _FIRST = range(4)
_FIELD, _BYTES, _STORED, _EACH = range(4)


def description(fields: int, elements: int, sums: list[tuple[int, int, bool]]) -> list[int]:
    """Return the description of a segment that a frame points to."""
    assert fields <= MAX_FRAME_FIELDS
    return [fields, elements, len(sums), *(int(number) for each in sums for number in each)]


@inline_njit
def run_part(kernel, frame, loops, start, stop, cells):
    """Run a segment from element `start` to `stop`, with its sums in cells."""
    shared, local = load_i64(frame, SHARED), stack_i64(MAX_FRAME_FIELDS)
    for field in range(load_i64(shared, _FIELDS)):
        store_i64(local, field, load_i64(frame, field))
    store_i64(local, START, start)
    store_i64(local, STOP, stop)
    for k in range(load_i64(shared, _SUMS)):
        store_i64(local, load_i64(shared, _FIRST + _EACH * k + _FIELD), cells + k * CELL)
    return call_kernel(kernel, local, loops)


@inline_njit
def _element(address, double):
    return load_f64(address, 0) if double else numba.float64(load_f32(address, 0))


@inline_njit
def add_up(cells, step, parts, target, double, stored):
    """Add cells `step` bytes apart, one after the other, to an element, or write their sum there."""
    total = 0.0
    for part in range(parts):
        total += _element(cells + part * step, double)
    if not stored:
        total += _element(target, double)
    if double:
        store_f64(target, 0, total)
    else:
        store_f32(target, 0, numba.float32(total))


@inline_njit
def elements_of(frame):
    """Return the number of elements that the length of a segment's chunks follows from."""
    return load_i64(load_i64(frame, SHARED), _ELEMENTS)


@inline_njit
def sums_of(frame):
    """Return the number of sums of a segment."""
    return load_i64(load_i64(frame, SHARED), _SUMS)


@inline_njit
def gather(frame, cells, parts):
    """Add up the cells in the order of the parts, so that the result does not depend on the threads."""
    shared, sums = load_i64(frame, SHARED), sums_of(frame)
    for k in range(sums):
        first = _FIRST + _EACH * k
        target = load_i64(frame, load_i64(shared, first + _FIELD))
        bytes_, stored = load_i64(shared, first + _BYTES), load_i64(shared, first + _STORED) != 0
        part = bytes_ & ~PAIR
        add_up(cells + k * CELL, sums * CELL, parts, target, part == 8, stored)
        if bytes_ & PAIR:
            add_up(cells + k * CELL + part, sums * CELL, parts, target + part, part == 8, stored)
