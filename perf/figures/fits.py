"""The 54 fits of NIST's regressions: what residuals and Jacobians cost in them, and what they would by peers."""

from collections.abc import Callable
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.peers import FUNCTIONS, Peer, Unavailable
from perf.timer import Contender, Timing, race
from perf.trails import Trail, Visit, follow
from perf.workloads import Answer, Array

CERTIFIED = 6  # digits that all fits must have


def _pass(peer: Peer, visits: list[Visit], scales: list[float]) -> Contender:
    """A contender that makes all `visits`, in their order."""
    problems = {visit.problem.name: visit.problem for visit in visits}
    functions = {name: peer.prepare(problem) for name, problem in problems.items()}
    steps = [(functions[visit.problem.name][visit.kind], visit.b) for visit in visits]

    def call() -> list[Array]:
        return [function(b) for function, b in steps]

    return Contender(peer.name, call, lambda results: _scaled(results, scales))


def _scaled(results: Any, scales: list[float]) -> Answer:
    """All results end to end, each in units of its own largest element."""
    return (np.concatenate([np.ravel(each) / scale for each, scale in zip(results, scales, strict=True)]),)


def _sample(visits: list[Visit], every: int) -> tuple[list[Visit], list[Array]]:
    """Some of the visits, evenly, with their answers; not those where something overflows."""
    with np.errstate(all="ignore"):
        pairs = [(visit, visit.reference()) for visit in visits[::every]]
    kept = [(visit, answer) for visit, answer in pairs if np.isfinite(answer).all()]
    return [visit for visit, _ in kept], [answer for _, answer in kept]


def _beside_peers(trail: Trail, settings: Settings) -> tuple[list[Timing], list[str]]:
    """All visits by every peer: the seconds of a sample, in proportion."""
    visits, answers = _sample(trail.visits, settings.fewer(40, 150))
    scales = [max(float(np.max(np.abs(answer))), 1e-300) for answer in answers]
    contenders, notes = [], []
    for peer in FUNCTIONS.values():
        try:
            if peer.package in settings.without:
                raise Unavailable("left out on request")
            contenders.append(_pass(peer, visits, scales))
        except Unavailable as reason:
            notes.append(f"{peer.name}: {reason}")
    timings = race(contenders, _scaled(answers, scales), settings.pace)
    notes.append(f"peers: {len(visits)} of {len(trail.visits):,} evaluations, in proportion")
    return [_times(timing, len(trail.visits) / len(visits)) for timing in timings], notes


def _times(timing: Timing, factor: float) -> Timing:
    return replace(timing, median=factor * timing.median, low=factor * timing.low, high=factor * timing.high)


def measure(settings: Settings) -> Outcome:
    """Fit them all, a few times; then visit the same points by peers."""
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    trails = [follow() for _ in range(settings.fewer(5, 1))]
    spent, own = (
        _median(trails, lambda t: sum(t.seconds)),
        _median(trails, lambda t: t.whole - sum(t.seconds)),
    )
    timings, notes = _beside_peers(trails[0], settings)
    residuals, jacobians = trails[0].calls
    each = [_median(trails, lambda t, kind=kind: t.seconds[kind]) for kind in (0, 1)]  # type: ignore[misc]
    notes += [
        f"{residuals:,} residuals in {each[0]:.3f} s, {jacobians:,} Jacobians in {each[1]:.3f} s",
        f"least_squares' own work: {own:.2f} s",
    ]
    targets = [
        Target("in residuals and Jacobians, all 54 fits", spent, 0.3, "s"),
        Target("digits of the worst parameter", trails[0].digits, CERTIFIED, "", at_least=True),
    ]
    return Outcome(targets, timings, notes)


def _median(trails: list[Trail], number: Callable[[Trail], float]) -> float:
    return median(map(number, trails))


FITS = (
    Figure("fits", "54 fits of NIST's regressions through least_squares: residuals and Jacobians", measure),
)
