"""Offsets of the blocks of a workspace: no two that are in use at one time overlap.

A linear scan in the order of first use, in which a block takes the smallest gap that it fits into, of several the
first. Gaps are kept twice, in the order of their lengths and in that of their offsets: pairs of integers, found by
bisection.
"""

from tapegrad.engine.codegen.translator.compiler import EVERY_RECORDING, entry_point, inline_njit
from tapegrad.engine.kernels.language.raw_memory import load_i64, memmove, store_i64

# Fields of a block. The offset is filled in.
(START, STOP, BYTES, OFFSET) = range(4)
BLOCK_FIELDS = 4
_PAIR = 16  # bytes


@inline_njit
def _rank(pairs, count, first, second):
    """Return the number of pairs that sort before this one."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        own = load_i64(pairs, 2 * middle)
        if own < first or (own == first and load_i64(pairs, 2 * middle + 1) < second):
            low = middle + 1
        else:
            high = middle
    return low


@inline_njit
def _insert(pairs, count, first, second):
    at = _rank(pairs, count, first, second)
    memmove(pairs + _PAIR * (at + 1), pairs + _PAIR * at, _PAIR * (count - at))
    store_i64(pairs, 2 * at, first)
    store_i64(pairs, 2 * at + 1, second)


@inline_njit
def _remove(pairs, count, first, second):
    at = _rank(pairs, count, first, second)
    memmove(pairs + _PAIR * at, pairs + _PAIR * (at + 1), _PAIR * (count - at - 1))


@inline_njit
def _take(lengths, offsets, count, bytes_, end):
    """Return the offset of a block, at `end` if no gap has room, and the number of gaps that are left."""
    at = _rank(lengths, count, bytes_, 0)
    if at == count:
        return end, count
    length, offset = load_i64(lengths, 2 * at), load_i64(lengths, 2 * at + 1)
    _remove(lengths, count, length, offset)
    _remove(offsets, count, offset, length)
    count -= 1
    if length > bytes_:
        _insert(lengths, count, length - bytes_, offset + bytes_)
        _insert(offsets, count, offset + bytes_, length - bytes_)
        count += 1
    return offset, count


@inline_njit
def _give_back(lengths, offsets, count, offset, bytes_):
    """Add a gap, merged with its neighbours; return the number of gaps."""
    for side in range(2):  # the gap behind, then the one before
        at = _rank(offsets, count, offset, 0) - side
        if 0 <= at < count:
            other, length = load_i64(offsets, 2 * at), load_i64(offsets, 2 * at + 1)
            if other == offset + bytes_ or other + length == offset:
                _remove(offsets, count, other, length)
                _remove(lengths, count, length, other)
                count -= 1
                offset, bytes_ = min(offset, other), bytes_ + length
    _insert(lengths, count, bytes_, offset)
    _insert(offsets, count, offset, bytes_)
    return count + 1


@entry_point(group=EVERY_RECORDING)
def assign_offsets(blocks, count, order, ends, lengths, offsets):
    """Fill in the offsets of blocks; return the bytes that all take together.

    `order` and `ends` are the addresses of the blocks' numbers in the order of starts and stops, `lengths` and
    `offsets` those of room for as many gaps as there are blocks, and one more.
    """
    size, gaps, done = 0, 0, 0
    for k in range(count):
        block = blocks + 8 * BLOCK_FIELDS * load_i64(order, k)
        while done < count:
            other = blocks + 8 * BLOCK_FIELDS * load_i64(ends, done)
            if load_i64(other, STOP) >= load_i64(block, START):
                break
            gaps = _give_back(lengths, offsets, gaps, load_i64(other, OFFSET), load_i64(other, BYTES))
            done += 1
        offset, gaps = _take(lengths, offsets, gaps, load_i64(block, BYTES), size)
        store_i64(block, OFFSET, offset)
        size = max(size, offset + load_i64(block, BYTES))
    return size
