"""Sets of seeds, as runs of consecutive numbers: which tangents of a buffer can be other than zero."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

SeedRanges = tuple[tuple[int, int], ...]  # (first, one past the last), in order, apart from one another

_MOST_RUNS = 8  # a set of more is rounded up to all that lies between the first seed and the last


def union(sets: Sequence[SeedRanges]) -> SeedRanges:
    """Seeds that are in any of the sets."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(run for runs in sets for run in runs):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return tuple(merged) if len(merged) <= _MOST_RUNS else ((merged[0][0], merged[-1][1]),)


def count(runs: SeedRanges) -> int:
    """How many seeds there are."""
    return sum(last - first for first, last in runs)


def rank(runs: SeedRanges, seed: int) -> int:
    """How many seeds of the set come before `seed`, which is one of them."""
    return sum(min(last, seed) - first for first, last in runs if first < seed)


def _holds(runs: SeedRanges, seed: int) -> bool:
    return any(first <= seed < last for first, last in runs)


def segments(
    result: SeedRanges, operands: dict[int, SeedRanges]
) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Cut the seeds of a result into runs with the same operands: (first, one past the last, the operands)."""
    cuts = sorted({seed for runs in (result, *operands.values()) for run in runs for seed in run})
    for first, last in pairwise(cuts):
        if _holds(result, first):
            yield first, last, tuple(j for j, runs in operands.items() if _holds(runs, first))
