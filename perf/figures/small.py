"""Value and gradient of small pieces, gathers and loops in time, by the time of the loop by hand.

tapegrad and the loop take one thread. JAX may take several; ``taskset -c 0 python -m perf small`` gives it one.
"""

from dataclasses import dataclass, replace
from functools import partial

import numba

from perf.figures.base import Figure, Outcome, Settings, Target, times_faster
from perf.peers import GRADIENTS, enter
from perf.quantities import quantity
from perf.small import CASES, Case
from perf.workloads import Answer
from tapegrad.testing.timer import Contender, Timing, race

OURS, BESIDE, HAND = "tapegrad replay", "tapegrad replay, beside", "by hand, compiled loop"
JAX, CASADI = "JAX jit, NumPy in and out", "CasADi, new arrays"
# Both read and write given arrays, and check nothing.
BUFFERS, CASADI_BUFFERS = "tapegrad C function, buffers", "CasADi, buffer API"


def contenders(
    case: Case, size: int, without: frozenset[str] = frozenset()
) -> tuple[list[Contender], list[Answer], list[str]]:
    """Return the contenders, the answer that each must give, which is that of the loop, and who is left out."""
    workload = case.workload(size)
    x = workload.build(size)
    found: list[Contender] = []
    notes: list[str] = []
    forms = {
        OURS: case.function,
        JAX: case.scan or case.function,
        CASADI: case.symbolic,
        BUFFERS: case.symbolic and case.function,
        CASADI_BUFFERS: case.symbolic,
    }
    for name, function in forms.items():
        if function is not None:
            entered, left_out = enter(GRADIENTS, replace(workload, function=function), x, without, (name,))
            found, notes = [*found, *entered], [*notes, *left_out]
    found.append(Contender(HAND, partial(case.loop, x, *workload.data)))
    answers = [workload.reference(x)] * len(found)
    if case.beside is not None:
        ours, others, _ = contenders(case.beside, size, without | {"jax", "casadi"})
        found += [replace(each, name=BESIDE) for each in ours if each.name == OURS]
        answers += others[: len(found) - len(answers)]
    return found, answers, notes


def ratio_of(timings: list[Timing], above: str, below: str) -> float | None:
    """Return a ratio of medians; `None` where a contender was missing."""
    medians = {timing.name: timing.median for timing in timings}
    return medians[above] / medians[below] if above in medians and below in medians else None


def table(timings: list[Timing]) -> list[tuple[str, ...]]:
    """Return the medians, each by that of the loop, and ours by each."""
    rows: list[tuple[str, ...]] = [("median", "by that of the loop", "tapegrad's by it", "contender")]
    for timing in timings:
        ratios = ratio_of(timings, timing.name, HAND), ratio_of(timings, OURS, timing.name)
        rows.append((quantity(timing.median, "s"), *(quantity(each, "x") for each in ratios), timing.name))
    return rows


@dataclass(frozen=True)
class SmallRace:
    """Targets of tapegrad: at most a multiple of the loop by hand, and not slower than some peers."""

    case: Case

    def __call__(self, settings: Settings) -> Outcome:
        found, answers, notes = contenders(self.case, self.case.size, settings.without)
        numba.set_num_threads(1)
        try:
            timings = race(found, answers, settings.budget)
        finally:
            numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
        return Outcome(self.targets(timings), timings, notes, table(timings))

    def targets(self, timings: list[Timing]) -> list[Target]:
        """Return the verdicts that follow from the medians."""
        case, found = self.case, times_faster(OURS, [(peer, 1) for peer in self.case.below], timings)
        if CASADI in case.below:
            found += times_faster(BUFFERS, [(CASADI_BUFFERS, 1)], timings)
        if case.limit is not None:
            other, what = (HAND, "the loop by hand") if case.beside is None else (BESIDE, case.beside.name)
            ratio = ratio_of(timings, OURS, other)
            found.insert(0, Target(f"time by that of {what}", ratio, case.limit, "x"))
        return found


SMALL = tuple(Figure(f"small-{name}", case.title, SmallRace(case)) for name, case in CASES.items())
