"""Sets of seeds as ranges of consecutive numbers: which tangents of a buffer can be other than zero."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

SeedRanges = tuple[tuple[int, int], ...]  # (first, one past the last), in order, apart from one another

_MAX_RANGES = 8  # a set of more ranges is rounded up to one range from the first seed to the last


def ranges_of(first: int, count: int) -> SeedRanges:
    """Return the set of `count` seeds from `first` on."""
    return ((first, first + count),) if count else ()


def union(sets: Sequence[SeedRanges]) -> SeedRanges:
    """Return the union of sets of seeds."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(each for ranges in sets for each in ranges):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return tuple(merged) if len(merged) <= _MAX_RANGES else ((merged[0][0], merged[-1][1]),)


def count(ranges: SeedRanges) -> int:
    """Return the number of seeds."""
    return sum(last - first for first, last in ranges)


def index_of(ranges: SeedRanges, seed: int) -> int:
    """Return the index of `seed`, which is in the set: how many seeds come before it."""
    return sum(min(last, seed) - first for first, last in ranges if first < seed)


def _holds(ranges: SeedRanges, seed: int) -> bool:
    return any(first <= seed < last for first, last in ranges)


def segments(
    result: SeedRanges, operands: dict[int, SeedRanges]
) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Cut the seeds of a result into runs with the same operands: (first, one past the last, the operands)."""
    cuts = sorted({seed for ranges in (result, *operands.values()) for each in ranges for seed in each})
    for first, last in pairwise(cuts):
        if _holds(result, first):
            yield first, last, tuple(j for j, ranges in operands.items() if _holds(ranges, first))
