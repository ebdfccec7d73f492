"""Moves of a loop: elements between the packed arrays of its instruction and the block that its body works on."""

import numpy as np

from tapegrad.engine.codegen.translator.compiler import inline_njit
from tapegrad.engine.kernels.language import numba
from tapegrad.engine.kernels.language.raw_memory import (
    load_f32,
    load_f64,
    load_i64,
    load_u8,
    memcpy,
    memset,
    store_f32,
    store_f64,
    store_i64,
    store_u8,
)
from tapegrad.engine.kernels.language.status import LARGE_INTEGER
from tapegrad.engine.sweep.replays import loop_fields as loop_field
from tapegrad.engine.tape.fields.layout import B8, F32, F64, I64

_EXACT = 9007199254740992.0  # float64 represents all smaller integers
_MAX_WORD_BYTES = 128  # copied faster without a call


@inline_njit
def copy_words(target, source, bytes_):
    """Copy memory; few bytes word by word, if they are whole words."""
    if bytes_ <= _MAX_WORD_BYTES and bytes_ & 7 == 0:
        for k in range(bytes_ >> 3):
            store_i64(target, k, load_i64(source, k))
    else:
        memcpy(target, source, bytes_)


@inline_njit
def bytes_of(dtype):
    if dtype == F32:
        return 4
    return 1 if dtype == B8 else 8


@inline_njit
def load_packed(packed, dtype, k):
    return numba.float64(load_f32(packed, k)) if dtype == F32 else load_f64(packed, k)


@inline_njit
def store_packed(packed, dtype, k, value):
    if dtype == F32:
        store_f32(packed, k, numba.float32(value))
    else:
        store_f64(packed, k, value)


@inline_njit
def _load_element(address, dtype, k):
    if dtype == F64:
        return load_f64(address, k)
    if dtype == F32:
        return numba.float64(load_f32(address, k))
    if dtype == I64:
        return numba.float64(load_i64(address, k))
    return numba.float64(load_u8(address, k))


@inline_njit
def _store_element(address, dtype, k, value):
    if dtype == F64:
        store_f64(address, k, value)
    elif dtype == F32:
        store_f32(address, k, numba.float32(value))
    elif dtype == I64:
        store_i64(address, k, numba.int64(value))
    elif value != 0:
        store_u8(address, k, np.uint8(1))
    else:
        store_u8(address, k, np.uint8(0))


@inline_njit
def unpack(loop, moves, block, packed, iteration):
    """Copy elements of a packed array to the block; zeros if there is no array."""
    table, packed_dtype = load_i64(loop, moves), load_i64(loop, loop_field.PACKED_DTYPE)
    for m in range(load_i64(table, 0)):
        move = table + 8 * (1 + loop_field.MOVE_FIELDS * m)
        dtype, count = load_i64(move, loop_field.DTYPE), load_i64(move, loop_field.COUNT)
        target = block + load_i64(move, loop_field.OFFSET)
        first = load_i64(move, loop_field.PACKED) + iteration * load_i64(move, loop_field.STEP)
        if packed == 0:
            memset(target, 0, count * bytes_of(dtype))
        elif dtype == packed_dtype:
            copy_words(target, packed + first * bytes_of(dtype), count * bytes_of(dtype))
        else:
            for k in range(count):
                _store_element(target, dtype, k, load_packed(packed, packed_dtype, first + k))


@inline_njit
def pack(loop, moves, block, packed, iteration):
    """Copy elements of the block to a packed array. Return LARGE_INTEGER for one that it cannot represent."""
    table, packed_dtype = load_i64(loop, moves), load_i64(loop, loop_field.PACKED_DTYPE)
    status = 0
    for m in range(load_i64(table, 0)):
        move = table + 8 * (1 + loop_field.MOVE_FIELDS * m)
        dtype, count = load_i64(move, loop_field.DTYPE), load_i64(move, loop_field.COUNT)
        source = block + load_i64(move, loop_field.OFFSET)
        first = load_i64(move, loop_field.PACKED) + iteration * load_i64(move, loop_field.STEP)
        if dtype == packed_dtype:
            copy_words(packed + first * bytes_of(dtype), source, count * bytes_of(dtype))
        else:
            for k in range(count):
                value = _load_element(source, dtype, k)
                if dtype == I64 and abs(value) >= _EXACT:
                    status = LARGE_INTEGER
                store_packed(packed, packed_dtype, first + k, value)
    return status


@inline_njit
def fill_packed(loop, moves, packed, first, last, value):
    """Fill the places of some iterations in a packed array, of what is moved there, with a number."""
    table, packed_dtype = load_i64(loop, moves), load_i64(loop, loop_field.PACKED_DTYPE)
    for m in range(load_i64(table, 0)):
        move = table + 8 * (1 + loop_field.MOVE_FIELDS * m)
        begin, step = load_i64(move, loop_field.PACKED), load_i64(move, loop_field.STEP)
        for k in range(begin + first * step, begin + last * step):
            store_packed(packed, packed_dtype, k, value)


@inline_njit
def has_nonzero(loop, moves, packed, first, last):
    """Return whether there is a number other than zero at the places of some iterations in a packed array."""
    table, packed_dtype = load_i64(loop, moves), load_i64(loop, loop_field.PACKED_DTYPE)
    for m in range(load_i64(table, 0)):
        move = table + 8 * (1 + loop_field.MOVE_FIELDS * m)
        begin, step = load_i64(move, loop_field.PACKED), load_i64(move, loop_field.STEP)
        for k in range(begin + first * step, begin + last * step):
            if load_packed(packed, packed_dtype, k) != 0:
                return True
    return False


@inline_njit
def add_to_packed(loop, moves, block, packed, iteration):
    """Add elements of the block to those of a packed array."""
    table, packed_dtype = load_i64(loop, moves), load_i64(loop, loop_field.PACKED_DTYPE)
    for m in range(load_i64(table, 0)):
        move = table + 8 * (1 + loop_field.MOVE_FIELDS * m)
        dtype = load_i64(move, loop_field.DTYPE)
        source = block + load_i64(move, loop_field.OFFSET)
        first = load_i64(move, loop_field.PACKED) + iteration * load_i64(move, loop_field.STEP)
        for k in range(load_i64(move, loop_field.COUNT)):
            before = load_packed(packed, packed_dtype, first + k)
            store_packed(packed, packed_dtype, first + k, before + _load_element(source, dtype, k))


@inline_njit
def hand_on(loop, moves, block):
    """Copy from one part of the block to another."""
    table = load_i64(loop, moves)
    for m in range(load_i64(table, 0)):
        move = table + 8 * (1 + loop_field.MOVE_FIELDS * m)
        bytes_ = load_i64(move, loop_field.COUNT) * bytes_of(load_i64(move, loop_field.DTYPE))
        copy_words(
            block + load_i64(move, loop_field.OFFSET), block + load_i64(move, loop_field.PACKED), bytes_
        )


@inline_njit
def add_in_block(loop, moves, block):
    """Add one part of the block to another."""
    table = load_i64(loop, moves)
    for m in range(load_i64(table, 0)):
        move = table + 8 * (1 + loop_field.MOVE_FIELDS * m)
        target, source = block + load_i64(move, loop_field.OFFSET), block + load_i64(move, loop_field.PACKED)
        if load_i64(move, loop_field.DTYPE) == F64:
            for k in range(load_i64(move, loop_field.COUNT)):
                store_f64(target, k, load_f64(target, k) + load_f64(source, k))
        else:
            for k in range(load_i64(move, loop_field.COUNT)):
                store_f32(target, k, load_f32(target, k) + load_f32(source, k))
