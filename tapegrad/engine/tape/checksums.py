"""Checksums of the primals that reverse rules read, taken when an instruction is appended: a means of finding faults.

They are kept in a table beside the columns, four fields for each buffer that an instruction writes: of what the rule
reads of each operand and of the result, 0 where it reads nothing or nothing is known. The table is there only while
checks are switched on.
"""

import numpy as np

from tapegrad.engine.codegen.translator.compiler import entry_point, inline_njit
from tapegrad.engine.kernels.language.odometer import begin_index, next_index, step_to_next
from tapegrad.engine.kernels.language.raw_memory import (
    calloc,
    free,
    load_at,
    load_i64,
    malloc,
    memcpy,
    memset,
    stack_i64,
    store_i64,
)
from tapegrad.engine.tape.fields import columns as col
from tapegrad.engine.tape.fields.geometry import item_size, size
from tapegrad.engine.tape.fields.layout import BUFFER_CAPACITY, CHECKSUMS, MAX_NDIM
from tapegrad.engine.tape.history import contents_of, lies_in_history

READS = 4  # fields of an entry: three operands and the result
_CAPACITY = 0  # field of the table; the entries follow it
_SEED, _PRIME = 1469598103934665603, 1099511628211  # of the hash by Fowler, Noll and Vo


@inline_njit
def _bits(address, item):
    """Return the bits of the element at an address; of both parts of a complex128 a number that depends on each."""
    if item == 16:
        return (load_i64(address, 0) * _PRIME) ^ load_i64(address, 1)
    if item == 8:
        return load_i64(address, 0)
    if item == 4:
        return np.int64(load_at(address, 0, np.int32(0)))
    return np.int64(load_at(address, 0, np.uint8(0)))


@inline_njit
def checksum(header, slot):
    """Return a number that depends on each element of a slot's primal, never 0."""
    ndim, geometry, item = (
        col.ndim(header, slot),
        col.geometry(header, slot),
        item_size(col.dtype(header, slot)),
    )
    address = col.primal(header, col.buffer(header, slot)) + col.offset(header, slot)
    index, strides = stack_i64(MAX_NDIM), geometry + 8 * ndim
    begin_index(index, ndim)
    result = np.int64(_SEED)
    for _ in range(size(header, slot)):
        result = (result ^ _bits(address, item)) * _PRIME
        address += step_to_next(geometry, strides, next_index(index, geometry, ndim), ndim)
    return result | 1


@inline_njit
def _bytes_of(capacity):
    return 8 * (1 + READS * capacity)


@inline_njit
def _table(header):
    """Return the table, with room for every buffer."""
    table, capacity = load_i64(header, CHECKSUMS), load_i64(header, BUFFER_CAPACITY)
    if load_i64(table, _CAPACITY) < capacity:
        larger, used = malloc(_bytes_of(capacity)), _bytes_of(load_i64(table, _CAPACITY))
        memcpy(larger, table, used)
        memset(larger + used, 0, _bytes_of(capacity) - used)
        store_i64(larger, _CAPACITY, capacity)
        store_i64(header, CHECKSUMS, larger)
        free(table)
        table = larger
    return table


@inline_njit
def entry_of(header, result):
    """Return the address of the entry of the instruction that writes a slot."""
    return _table(header) + 8 * (1 + READS * col.buffer(header, result))


@inline_njit
def note_reads(header, instruction, mask):
    """Store checksums of the primals of an instruction that `mask` names."""
    entry = entry_of(header, instruction.result)
    store_i64(entry, 0, checksum(header, instruction.a) if mask & 1 else 0)
    store_i64(entry, 1, checksum(header, instruction.b) if mask & 2 else 0)
    store_i64(entry, 2, checksum(header, instruction.c) if mask & 4 else 0)
    store_i64(entry, 3, checksum(header, instruction.result) if mask & 8 else 0)


@inline_njit
def _has_changed(header, entry, k, slot):
    """Return whether operand `k` of an instruction, or its result, has changed; that memory still exists."""
    noted = load_i64(entry, k)
    if noted == 0 or slot < 0:
        return False
    buffer = col.buffer(header, slot)
    earlier = col.primal(header, buffer) == 0 and lies_in_history(header, buffer)
    if earlier:
        col.set_primal(header, buffer, contents_of(header, buffer))
    changed = col.primal(header, buffer) != 0 and checksum(header, slot) != noted
    if earlier:
        col.set_primal(header, buffer, 0)
    return changed


@entry_point()
def switch_checksums(header, on):
    """Begin to take checksums, or stop and forget them."""
    table = load_i64(header, CHECKSUMS)
    if on and table == 0:
        store_i64(header, CHECKSUMS, calloc(1, _bytes_of(0)))
    elif not on and table != 0:
        store_i64(header, CHECKSUMS, 0)
        free(table)


@entry_point()
def changed_read(header, a, b, c, result):
    """Return the operand that has changed since the instruction that writes a slot was appended.

    3 is the result itself; -1 if nothing has changed, or nothing is known.
    """
    if load_i64(header, CHECKSUMS) == 0:
        return -1
    entry = entry_of(header, result)
    for k in range(READS):
        slot = a if k == 0 else (b if k == 1 else (c if k == 2 else result))
        if _has_changed(header, entry, k, slot):
            return k
    return -1
