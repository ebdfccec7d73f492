"""Sorting of lines: positions of the elements in ascending order, and of the largest or the smallest.

Floats are compared as 64-bit integers of the same order: nan come last, -0.0 equals 0.0. The sorts are stable.
"""

import math
from typing import Any

import numpy as np

from tapegrad.engine.kernels.language.dtypes import Keys
from tapegrad.engine.kernels.language.frame import PARAMS, X, Y
from tapegrad.engine.kernels.language.inlining import always_inline, noinline
from tapegrad.engine.kernels.language.raw_memory import (
    free,
    load_at,
    load_i64,
    load_record,
    malloc,
    memcpy,
    memset,
    size_of,
    store_f64,
    store_i64,
)
from tapegrad.engine.kernels.language.status import OUT_OF_MEMORY
from tapegrad.ops.structural.lines import ArgextremeParams, ArgsortParams

_RUN = 16  # elements of a run that is sorted by insertion
_MIN_RADIX_KEYS = 64  # smallest number of elements for a radix sort
_BYTES, _VALUES = 8, 256  # of a key; of a byte
_FEW_BYTES, _MAX_FEW = 4, 1 << 16  # highest bytes that tell most floats apart, of up to so many
_MAX_MOVES = 4  # for each element, by insertion
_COUNTS = 8 * _BYTES * _VALUES  # bytes of memory for a count of each value of each byte
_LAST = 0x7FFFFFFFFFFFFFFF  # key of nan
_MAGNITUDE = 0x7FFFFFFFFFFFFFFF


@noinline
def _fill_keys(keys: int, line: int, count: int, zero: Any) -> None:
    """Write the keys of a line: integers of the same order."""
    for i in range(count):
        value = np.float64(load_at(line, i * size_of(zero), zero)) + 0.0  # no -0.0
        store_f64(keys, i, value)
        bits = load_i64(keys, i)
        store_i64(keys, i, _LAST if math.isnan(value) else bits ^ ((bits >> 63) & _MAGNITUDE))


@noinline
def _sort_run(keys: int, positions: int, start: int, end: int) -> None:
    """Sort by insertion."""
    for i in range(start + 1, end):
        key, position, k = load_i64(keys, i), load_i64(positions, i), i
        while k > start and load_i64(keys, k - 1) > key:
            store_i64(keys, k, load_i64(keys, k - 1))
            store_i64(positions, k, load_i64(positions, k - 1))
            k -= 1
        store_i64(keys, k, key)
        store_i64(positions, k, position)


@noinline
def _merge(
    keys: int, positions: int, to_keys: int, to_positions: int, start: int, middle: int, end: int
) -> None:
    """Merge two adjacent sorted runs to the same offset of other memory."""
    i, j, k = start, middle, start
    while i < middle and j < end:
        left, right = load_i64(keys, i), load_i64(keys, j)
        first = left <= right
        store_i64(to_keys, k, left if first else right)
        store_i64(to_positions, k, load_i64(positions, i if first else j))
        i += 1 if first else 0
        j += 0 if first else 1
        k += 1
    rest, count = (i, middle - i) if i < middle else (j, end - j)
    memcpy(to_keys + 8 * k, keys + 8 * rest, 8 * count)
    memcpy(to_positions + 8 * k, positions + 8 * rest, 8 * count)


@noinline
def _merge_sort(keys: int, positions: int, spare: int, count: int) -> int:
    """Sort keys and their positions; return the address of the positions: as given, or the second half of `spare`."""
    for start in range(0, count, _RUN):
        _sort_run(keys, positions, start, min(start + _RUN, count))
    other_keys, other_positions, width = spare, spare + 8 * count, _RUN
    while width < count:
        for start in range(0, count, 2 * width):
            middle, end = min(start + width, count), min(start + 2 * width, count)
            _merge(keys, positions, other_keys, other_positions, start, middle, end)
        keys, other_keys = other_keys, keys
        positions, other_positions = other_positions, positions
        width *= 2
    return positions


@always_inline
def _byte(key: int, number: int) -> int:
    """Return a byte of a key, in the order of the keys: the highest byte holds the sign."""
    value = (key >> (8 * number)) & (_VALUES - 1)
    return value ^ (_VALUES // 2) if number == _BYTES - 1 else value


@noinline
def _count_bytes(keys: int, count: int, counts: int, first: int) -> None:
    """Count the values of each byte of the keys, from number `first` on."""
    memset(counts, 0, _COUNTS)
    for i in range(count):
        key = load_i64(keys, i)
        for number in range(first, _BYTES):
            at = _VALUES * number + _byte(key, number)
            store_i64(counts, at, load_i64(counts, at) + 1)


@noinline
def _starts_of_values(counts: int) -> None:
    """Replace the counts of values by the offsets of their keys: a running sum."""
    total = 0
    for value in range(_VALUES):
        own = load_i64(counts, value)
        store_i64(counts, value, total)
        total += own


@always_inline
def _distribute(
    keys: int, positions: int, to_keys: int, to_positions: int, count: int, starts: int, number: int
) -> None:
    """Move keys and their positions to where the values of byte `number` start."""
    for i in range(count):
        key = load_i64(keys, i)
        value = _byte(key, number)
        at = load_i64(starts, value)
        store_i64(starts, value, at + 1)
        store_i64(to_keys, at, key)
        store_i64(to_positions, at, load_i64(positions, i))


@noinline
def _insert(keys: int, positions: int, count: int) -> bool:
    """Sort by insertion; return False if that takes too long, with what is equal still in its order."""
    left = _MAX_MOVES * count
    for i in range(1, count):
        key = load_i64(keys, i)
        if load_i64(keys, i - 1) > key:
            position, k = load_i64(positions, i), i
            while k > 0 and load_i64(keys, k - 1) > key:
                store_i64(keys, k, load_i64(keys, k - 1))
                store_i64(positions, k, load_i64(positions, k - 1))
                k -= 1
            store_i64(keys, k, key)
            store_i64(positions, k, position)
            left -= i - k
            if left < 0:
                return False
    return True


@noinline
def _tells_apart(counts: int, count: int) -> bool:
    """Return whether a byte has many values, or one, as that of round numbers, by their counts."""
    values = 0
    for value in range(_VALUES):
        values += 1 if load_i64(counts, value) > 0 else 0
    return values == 1 or 4 * values >= min(count, _VALUES)


@noinline
def _radix_sort(keys: int, positions: int, spare: int, count: int, counts: int, attempts: int) -> int:
    """Sort as `_merge_sort` does, by the bytes of the keys from the lowest on.

    Floats differ in their highest bytes as a rule. So the first of two attempts takes these alone, and insertion does
    the rest. All bytes follow where the highest do not tell elements apart, and where insertion would take long.
    """
    other_keys, other_positions = spare, spare + 8 * count
    for attempt in range(2 - attempts, 2):
        first = _BYTES - (_FEW_BYTES if count <= _MAX_FEW else _FEW_BYTES + 1) if attempt == 0 else 0
        _count_bytes(keys, count, counts, first)
        if attempt == 0 and not _tells_apart(counts + 8 * _VALUES * first, count):
            continue
        moved = False
        for number in range(first, _BYTES):
            own = counts + 8 * _VALUES * number
            if load_i64(own, _byte(load_i64(keys, 0), number)) == count:  # equal in all keys
                continue
            moved = True
            _starts_of_values(own)
            _distribute(keys, positions, other_keys, other_positions, count, own, number)
            keys, other_keys = other_keys, keys
            positions, other_positions = other_positions, positions
        if attempt == 0 and moved and _insert(keys, positions, count):
            break
    return positions


@always_inline
def argsort_forward(frame: int, loops: int, keys: Keys) -> int:
    """Write for each line of X[0] the numbers of its elements in ascending order."""
    x, y = load_i64(frame, X), load_i64(frame, Y)
    params = load_record(load_i64(frame, PARAMS), ArgsortParams)
    count = params.length
    memory = malloc(24 * count + _COUNTS)
    if memory == 0:
        return OUT_OF_MEMORY
    for line in range(params.lines):
        positions, first = y + 8 * line * count, line * count * params.numbered_through
        for i in range(count):
            store_i64(positions, i, first + i)
        source = x + line * count * size_of(keys.zero)
        if keys.are_integers:
            memcpy(memory, source, 8 * count)
        else:
            _fill_keys(memory, source, count, keys.zero)
        spare, counts = memory + 8 * count, memory + 24 * count
        if count < _MIN_RADIX_KEYS:
            found = _merge_sort(memory, positions, spare, count)
        else:
            found = _radix_sort(memory, positions, spare, count, counts, 1 if keys.are_integers else 2)
        if found != positions:
            memcpy(positions, found, 8 * count)
    free(memory)
    return 0


@noinline
def _extreme_at(line: int, count: int, sign: float, zero: Any) -> int:
    """Return the index of the first NaN of a line that is not empty, else of its first largest ``sign * element``."""
    best, at = sign * np.float64(load_at(line, 0, zero)), 0
    for i in range(1, count):
        if math.isnan(best):
            break
        value = sign * np.float64(load_at(line, i * size_of(zero), zero))
        if not value <= best:
            best, at = value, i
    return at


@always_inline
def argextreme_forward(frame: int, loops: int, zero: Any) -> int:
    """Write for each line of X[0] the number of its largest or smallest element, the first of several."""
    x, y = load_i64(frame, X), load_i64(frame, Y)
    params = load_record(load_i64(frame, PARAMS), ArgextremeParams)
    for line in range(params.lines):
        start = x + line * params.length * size_of(zero)
        store_i64(y, line, _extreme_at(start, params.length, np.float64(params.sign), zero))
    return 0
