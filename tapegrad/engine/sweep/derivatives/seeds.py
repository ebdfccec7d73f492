"""Seeding of a reverse sweep: the seed is added to the cotangent of the root."""

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language import numba
from tapegrad.engine.kernels.language.inlining import always_inline, noinline_loop
from tapegrad.engine.kernels.language.odometer import begin_index, next_index, step_to_next
from tapegrad.engine.kernels.language.raw_memory import (
    load_at,
    load_i64,
    memcpy,
    size_of,
    stack_i64,
    store_at,
)
from tapegrad.engine.tape.blocks import new_block, new_zero_block
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.geometry import is_complex, is_single, item_size, size
from tapegrad.engine.tape.fields.layout import F32, MAX_NDIM
from tapegrad.engine.tape.versions import covers_buffer, shows_all_once


@noinline_loop
def _fill_with_ones(target, count, zero):
    for i in range(count):
        store_at(target, i * size_of(zero), 1, zero)


@always_inline
def _add_elements(target, step, seed, seed_step, count, zero):
    for i in range(count):
        part = load_at(seed, i * seed_step, zero) if seed != 0 else zero + 1
        store_at(target, i * step, load_at(target, i * step, zero) + part, zero)


@noinline_loop
def _add_row(target, step, seed, seed_step, count, zero):
    """Add elements of the seed, `seed_step` bytes apart, or ones, to elements `step` bytes apart."""
    if step == size_of(zero) and seed_step == size_of(zero):  # constant steps let LLVM vectorise the loop
        _add_elements(target, size_of(zero), seed, size_of(zero), count, zero)
    else:
        _add_elements(target, step, seed, seed_step, count, zero)


@inline_njit
def _add_rows(header, root, seed, part, zero):
    """Add the seed row by row along the root's last dimension: of complex numbers the part at so many bytes."""
    ndim, geometry = col.ndim(header, root), col.geometry(header, root)
    strides, index = geometry + 8 * ndim, stack_i64(MAX_NDIM)
    length = load_i64(geometry, ndim - 1) if ndim > 0 else 1
    item = item_size(col.dtype(header, root))
    step = load_i64(strides, ndim - 1) if ndim > 0 else item
    target = col.cotangent(header, col.buffer(header, root)) + col.offset(header, root) + part
    begin_index(index, ndim - 1)
    for row in range(size(header, root) // max(length, 1)):
        _add_row(target, step, seed + part + row * length * item if seed != 0 else 0, item, length, zero)
        target += step_to_next(geometry, strides, next_index(index, geometry, ndim - 1), ndim - 1)


@inline_njit
def _begins_whole(header, root, seed):
    """Return whether the cotangent is new, and the seed has its elements in their order; ones are in any.

    Ones for complex numbers are real ones: they are added to zeros.
    """
    if col.cotangent(header, col.buffer(header, root)) != 0 or (
        seed == 0 and is_complex(col.dtype(header, root))
    ):
        return False
    return covers_buffer(header, root) or (seed == 0 and shows_all_once(header, root))


@inline_njit
def _begin(header, root, seed):
    """Give the root's buffer a cotangent that is the seed."""
    buffer = col.buffer(header, root)
    bytes_ = col.bytes(header, buffer)
    block = new_block(bytes_)
    if seed != 0:
        memcpy(block, seed, bytes_)
    elif col.dtype(header, root) == F32:
        _fill_with_ones(block, bytes_ // 4, numba.float32(0.0))
    else:
        _fill_with_ones(block, bytes_ // 8, 0.0)
    col.set_cotangent(header, buffer, block)


@inline_njit
def add_seed(header, root, seed):
    """Add the seed, an array of the root's shape in C order (0: ones), to the root's cotangent."""
    if _begins_whole(header, root, seed):
        _begin(header, root, seed)
        return
    buffer = col.buffer(header, root)
    if col.cotangent(header, buffer) == 0:
        col.set_cotangent(header, buffer, new_zero_block(col.bytes(header, buffer)))
    dtype = col.dtype(header, root)
    for part in range(2 if is_complex(dtype) and seed != 0 else 1):
        if is_single(dtype):
            _add_rows(header, root, seed, 4 * part, numba.float32(0.0))
        else:
            _add_rows(header, root, seed, 8 * part, 0.0)
