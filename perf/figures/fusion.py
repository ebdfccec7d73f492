"""Gain of fusion: rows and segments of one function, beside a hand-written loop and NumPy's function alone."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.peers import GRADIENTS, Unavailable, enter, tapegrad
from perf.workloads import WORKLOADS, Answer, Array
from tapegrad.testing.timer import Contender, Timing, race

HAND, TORCH = "by hand, fused Numba loop", "torch eager, one thread"
OTHERS = ("JAX jit, NumPy in and out", "PyTensor, by Numba", "CasADi, buffer API")
SEGMENTS, ROWS, ALONE = "tapegrad, segments", "tapegrad, row by row", "NumPy, the function alone"
SAMPLES = (
    ("rosenbrock", 10),
    ("rosenbrock", 1_000),
    ("rosenbrock", 100_000),
    ("rosenbrock", 1_000_000),
    ("sine-chain", 10_000),
    ("sine-chain", 1_000_000),
)


def _ours(workload: Any, x: Array) -> list[Contender]:
    library = tapegrad()
    return [
        Contender(name, partial(library.value_and_grad(library.jit(workload.over(library), fuse=fuse)), x))
        for name, fuse in ((SEGMENTS, True), (ROWS, False))
    ]


def contenders(
    name: str, size: int, without: frozenset[str]
) -> tuple[list[Contender], list[Answer], list[str]]:
    """Return the contenders, their answers, and those that are missing."""
    workload = WORKLOADS[name]
    x = workload.build(size)
    answer = workload.reference(x)
    peers, notes = enter(GRADIENTS, workload, x, without, (HAND, TORCH, *OTHERS))
    found = [*_ours(workload, x), *peers]
    alone = Contender(ALONE, partial(workload.over(np), x), lambda value: (float(value),))
    return [*found, alone], [*[answer] * len(found), answer[:1]], notes


def targets(timings: list[Timing], name: str, size: int) -> list[Target]:
    """Return the targets of our segments."""
    medians = {timing.name: timing.median for timing in timings}
    sample = f"{name}, n = {size:,}"

    def ratio(above: str, below: str) -> float | None:
        return medians[above] / medians[below] if above in medians and below in medians else None

    if name == "sine-chain":
        return [Target(f"{sample}: times faster than torch", ratio(TORCH, SEGMENTS), 6, "x", at_least=True)]
    found = [Target(f"{sample}: time by that of the loop by hand", ratio(SEGMENTS, HAND), 1.25, "x")]
    if size >= 100_000:
        found.append(Target(f"{sample}: time by that of NumPy's function", ratio(SEGMENTS, ALONE), 1, "x"))
    return found


def _measure(settings: Settings) -> Outcome:
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    outcome = Outcome([])
    for name, size in SAMPLES:
        found, answers, notes = contenders(name, size, settings.without)
        timings = race(found, answers, settings.budget)
        outcome.targets.extend(targets(timings, name, size))
        outcome.timings.extend(replace(timing, name=f"{name} {size:,}: {timing.name}") for timing in timings)
        outcome.notes.extend(note for note in notes if note not in outcome.notes)
    return outcome


FUSION = (Figure("fusion", "Segments and rows, a loop by hand, NumPy's function alone", _measure),)
