"""The 54 fits of NIST's regressions: what residuals and Jacobians cost in them, and what they would by peers."""

from collections.abc import Callable
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.nist_fits import Evaluation, Fits, run_fits
from perf.peers import FUNCTIONS, Peer, Unavailable
from perf.workloads import Answer, Array
from tapegrad.testing.timer import Contender, Timing, race

CERTIFIED = 6  # digits that all fits must have


def _pass(peer: Peer, evaluations: list[Evaluation], scales: list[float]) -> Contender:
    """Make a contender that repeats all `evaluations`, in their order."""
    problems = {each.problem.name: each.problem for each in evaluations}
    functions = {name: peer.prepare(problem) for name, problem in problems.items()}
    steps = [(functions[each.problem.name][each.kind], each.b) for each in evaluations]

    def call() -> list[Array]:
        return [function(b) for function, b in steps]

    return Contender(peer.name, call, lambda results: _scaled(results, scales))


def _scaled(results: Any, scales: list[float]) -> Answer:
    """Return all results end to end, each in units of its own largest element."""
    return (np.concatenate([np.ravel(each) / scale for each, scale in zip(results, scales, strict=True)]),)


def _sample(evaluations: list[Evaluation], every: int) -> tuple[list[Evaluation], list[Array]]:
    """Return every so many of the evaluations with their answers, except those that overflow."""
    with np.errstate(all="ignore"):
        pairs = [(each, each.reference()) for each in evaluations[::every]]
    kept = [(each, answer) for each, answer in pairs if np.isfinite(answer).all()]
    return [each for each, _ in kept], [answer for _, answer in kept]


def _beside_peers(fits: Fits, settings: Settings) -> tuple[list[Timing], list[str]]:
    """Time a sample of the evaluations by every peer, and scale the seconds to all of them."""
    evaluations, answers = _sample(fits.evaluations, settings.fewer(40, 150))
    scales = [max(float(np.max(np.abs(answer))), 1e-300) for answer in answers]
    contenders, notes = [], []
    for peer in FUNCTIONS.values():
        try:
            if peer.package in settings.without:
                raise Unavailable("left out on request")
            contenders.append(_pass(peer, evaluations, scales))
        except Unavailable as reason:
            notes.append(f"{peer.name}: {reason}")
    timings = race(contenders, _scaled(answers, scales), settings.budget)
    notes.append(f"peers: {len(evaluations)} of {len(fits.evaluations):,} evaluations, in proportion")
    return [_times(timing, len(fits.evaluations) / len(evaluations)) for timing in timings], notes


def _times(timing: Timing, factor: float) -> Timing:
    return replace(timing, median=factor * timing.median, low=factor * timing.low, high=factor * timing.high)


def measure(settings: Settings) -> Outcome:
    """Fit them all, a few times; then evaluate the same points by peers."""
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    runs = [run_fits() for _ in range(settings.fewer(5, 1))]
    spent, own = (
        _median(runs, lambda run: sum(run.seconds)),
        _median(runs, lambda run: run.total_seconds - sum(run.seconds)),
    )
    timings, notes = _beside_peers(runs[0], settings)
    residuals, jacobians = runs[0].calls
    each = _median(runs, lambda run: run.seconds[0]), _median(runs, lambda run: run.seconds[1])
    notes += [
        f"{residuals:,} residuals in {each[0]:.3f} s, {jacobians:,} Jacobians in {each[1]:.3f} s",
        f"least_squares' own work: {own:.2f} s",
    ]
    targets = [
        Target("in residuals and Jacobians, all 54 fits", spent, 0.3, "s"),
        Target("digits of the worst parameter", runs[0].digits, CERTIFIED, "", at_least=True),
    ]
    return Outcome(targets, timings, notes)


def _median(runs: list[Fits], number: Callable[[Fits], float]) -> float:
    return median(map(number, runs))


FITS = (
    Figure("fits", "54 fits of NIST's regressions through least_squares: residuals and Jacobians", measure),
)
