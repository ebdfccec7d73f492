"""Latency of replays by rows while a thread in the background fuses their program."""

import os
import shutil
import tempfile
from functools import partial
from statistics import median
from typing import Any

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.processes import run
from perf.quantities import quantity

SAMPLES = (  # of 3, 30, 300 and 3,000 microseconds, and one of many segments
    ("rosenbrock", 100),
    ("sine-chain", 300),
    ("sine-chain", 3_000),
    ("rosenbrock", 300_000),
    ("lstm", 30),
)
QUICK = SAMPLES[:1]


def _measure(cores: int, settings: Settings) -> Outcome:
    """Measure each sample in processes of its own."""
    outcome = Outcome([])
    with tempfile.TemporaryDirectory(prefix="tapegrad-") as folder:
        for name, size in QUICK if settings.quick else SAMPLES:
            run("latency", name, size, 0, TAPEGRAD_CACHE_DIR=f"{folder}/rows")
            found = [
                _process(name, size, cores, f"{folder}/{name}-{size}-{k}")
                for k in range(settings.fewer(5, 1))
            ]
            _add(outcome, f"{name}, n = {size:,}", found)
    return outcome


def _process(name: str, size: int, cores: int, folder: str) -> dict[str, Any]:
    """Run a process whose cache folder has what rows need, and no segments: these it has to compile."""
    shutil.copytree(f"{folder.rpartition('/')[0]}/rows", folder)
    return run("latency", name, size, cores, TAPEGRAD_CACHE_DIR=folder, TAPEGRAD_FUSE="")[0]


def _add(outcome: Outcome, what: str, found: list[dict[str, Any]]) -> None:
    """Add what processes have found: the medians of their ratios."""
    for number, (statistic, limit) in enumerate((("median", 1.05), ("99th percentile", 2))):
        ratio = median(each["beside"][number] / each["alone"][number] for each in found)
        outcome.targets.append(Target(f"{what}: {statistic} by that of rows alone", ratio, limit, "x"))
    seconds, alone = (
        median(each["seconds"] for each in found),
        median(each["alone"][0] for each in found),
    )
    replays = sum(each["replays"] for each in found)
    outcome.notes.append(
        f"{what}: {quantity(alone, 's')} row by row; the thread in the background worked for"
        f" {quantity(seconds, 's')}, with {replays:,} replays beside it in {len(found)} processes"
    )


LATENCY = tuple(
    Figure(
        f"latency-{cores}",
        f"Replays while a thread in the background fuses, on {cores} core{'s' * (cores > 1)}",
        partial(_measure, cores),
    )
    for cores in (1, 2)
    if cores <= (os.cpu_count() or 1)
)
