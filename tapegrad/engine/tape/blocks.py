"""Blocks of element memory with a reference count in front of the data.

A buffer of the tape holds one reference to the block of its primal, NumPy arrays made on the same memory hold
others. The two fields before the data are the count and the size in bytes; a block of a kilobyte or more starts on
a cache line, and keeps the allocator's address in the field before those two.
"""

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language.inlining import noinline_loop
from tapegrad.engine.kernels.language.raw_memory import (
    calloc,
    free,
    load_f32,
    load_f64,
    load_i64,
    malloc,
    memset,
    store_f32,
    store_f64,
    store_i64,
)
from tapegrad.engine.tape.fields.geometry import is_single

_MIN_ALIGNED_BYTES = 1024
_LINE = 64
_LINE_AND_FIELDS = (
    24 + _LINE - 8
)  # maximum of bytes from the allocator's address, a multiple of 8, to the data


@inline_njit
def new_block(bytes_):
    """Allocate `bytes_` uninitialised bytes with one reference; return 0 when memory is short."""
    if bytes_ < _MIN_ALIGNED_BYTES:
        base = malloc(bytes_ + 16)
        data = base + 16
    else:
        base = malloc(bytes_ + _LINE_AND_FIELDS)
        data = (base + 24 + _LINE - 1) & ~(_LINE - 1)
        if base != 0:
            store_i64(data - 24, 0, base)
    if base == 0:
        return 0
    store_i64(data - 16, 0, 1)
    store_i64(data - 16, 1, bytes_)
    return data


@inline_njit
def new_zero_block(bytes_):
    """Allocate a block of zeros; large ones come from fresh pages, which the system has cleared already."""
    if bytes_ < _MIN_ALIGNED_BYTES:
        data = new_block(bytes_)
        if data != 0:
            memset(data, 0, bytes_)
        return data
    base = calloc(bytes_ + _LINE_AND_FIELDS, 1)
    if base == 0:
        return 0
    data = (base + 24 + _LINE - 1) & ~(_LINE - 1)
    store_i64(data - 24, 0, base)
    store_i64(data - 16, 0, 1)
    store_i64(data - 16, 1, bytes_)
    return data


@inline_njit
def block_bytes(data):
    """Return the size of a block."""
    return load_i64(data - 16, 1)


@inline_njit
def references(data):
    """Return the number of references."""
    return load_i64(data - 16, 0)


@inline_njit
def retain(data):
    """Add a reference."""
    store_i64(data - 16, 0, load_i64(data - 16, 0) + 1)


@inline_njit
def release_block(data):
    """Drop a reference; the last one frees the block."""
    left = load_i64(data - 16, 0) - 1
    store_i64(data - 16, 0, left)
    if left == 0:
        if block_bytes(data) < _MIN_ALIGNED_BYTES:
            free(data - 16)
        else:
            free(load_i64(data - 24, 0))


@noinline_loop
def add_block(source, target, bytes_, dtype):
    """Add a block of cotangents to another of the same dtype."""
    if is_single(dtype):
        for k in range(bytes_ // 4):
            store_f32(target, k, load_f32(target, k) + load_f32(source, k))
    else:
        for k in range(bytes_ // 8):
            store_f64(target, k, load_f64(target, k) + load_f64(source, k))
