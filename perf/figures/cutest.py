"""CUTEst's problems by the package sif2jax, whose functions run on tapegrad's arrays as they are, beside JAX."""

import os
from collections.abc import Iterable

import numpy as np

from perf.cutest.examination import TOLERANCE, Examination, examine_all
from perf.cutest.loading import every_problem
from perf.cutest.times import COMPILED, FIRST, JAX, ON_DEVICE, QUANTITIES, REPLAYED
from perf.figures.base import Figure, Outcome, Settings, Target
from perf.peers import Unavailable, load

QUICK = (
    "unconstrained_minimisation.rosenbr.ROSENBR", "unconstrained_minimisation.beale.BEALE",
    "unconstrained_minimisation.kowosb.KOWOSB", "bounded_minimisation.branin.BRANIN",
    "bounded_minimisation.trigon1b.TRIGON1B", "constrained_minimisation.hs21.HS21",
    "constrained_minimisation.hs69.HS69", "constrained_minimisation.hs71.HS71",
    "constrained_minimisation.hs100.HS100", "quadratic_problems.table1.TABLE1",
    "nonlinear_equations.lanczos1.LANCZOS1", "nonlinear_equations.powellbs.POWELLBS",
)  # fmt: skip
SAMPLE = 100  # problems, the first ones of a seeded permutation
_HEAD = ("quantity", "problems", "agree", "largest difference of these", "ours is right", "told apart by neither",
         "JAX's is right", "fail")  # fmt: skip


def _measure(settings: Settings) -> Outcome:
    if left_out := settings.without & {"tapegrad", "jax"}:
        raise Unavailable(f"{', '.join(left_out)}: left out")
    load("jax")
    found = examine_all(_chosen(settings), settings.fewer(os.cpu_count() or 1, 1))
    targets, notes = _targets(found), _notes(found)
    return Outcome(targets, notes=notes, table=[_HEAD, *_rows(found)])


def _chosen(settings: Settings) -> tuple[str, ...]:
    """Return the problems to examine."""
    if settings.quick:
        return QUICK
    every = list(dict.fromkeys(every_problem()))
    mixed = [every[i] for i in np.random.default_rng(0).permutation(len(every))]
    return tuple(mixed if os.environ.get("TAPEGRAD_CUTEST") == "all" else mixed[:SAMPLE])


def _rows(found: list[Examination]) -> Iterable[tuple[str, ...]]:
    """Yield a row for each quantity."""
    for quantity in dict.fromkeys(name for each in found for name in (*each.distances, *each.failures)):
        gaps = [each.distances[quantity] for each in found if quantity in each.distances]
        failures = sum(quantity in each.failures for each in found)
        near = [gap for gap in gaps if gap <= TOLERANCE]
        right = [each.opinions.get(quantity) for each in found]
        counts = (right.count(name) for name in ("tapegrad", "neither", "JAX"))
        largest = f"{max(near, default=0.0):.1e}"
        yield quantity, str(len(gaps) + failures), str(len(near)), largest, *map(str, counts), str(failures)


def ratios(found: list[Examination], quantity: str, own: str, other: str) -> dict[str, float]:
    """Return the time of a contender in parts of another's, by problems, the largest first."""
    timed = {each.name: each.times[quantity] for each in found if each.times}
    slower = {name: seconds[own] / seconds[other] for name, seconds in timed.items()}
    return dict(sorted(slower.items(), key=lambda item: -item[1]))


def _mean(values: Iterable[float]) -> float | None:
    """Return the geometric mean."""
    logarithms = np.log(list(values))
    return float(np.exp(np.mean(logarithms))) if logarithms.size else None


def _targets(found: list[Examination]) -> list[Target]:
    wrong = sum("JAX" in each.opinions.values() for each in found)
    idle = sum(bool(each.error) and not each.distances for each in found)
    targets = [Target("problems that do not run", idle, 0, "")]
    targets.append(Target("problems with an answer that is wrong by differences", wrong, 0, ""))
    for quantity in QUANTITIES:
        for own in (COMPILED, REPLAYED):
            each = ratios(found, quantity, own, JAX)
            what = f"{quantity}, {own}: times JAX's"
            targets.append(Target(f"{what}, geometric mean", _mean(each.values()), 0.2, "x"))
            targets.append(Target(f"{what}, slowest", max(each.values(), default=None), 1.2, "x"))
    first = _mean(ratios(found, FIRST, REPLAYED, JAX).values())
    return [*targets, Target("first gradient: CPU, times JAX's, geometric mean", first, 1.0, "x")]


def _notes(found: list[Examination]) -> list[str]:
    timed = sum(bool(each.times) for each in found)
    notes = [
        f"{len(found)} problems, {timed} of them timed, each library on one thread; agree: to {TOLERANCE:g} of the "
        "largest element; JAX is called with NumPy's arrays, and its results are made such",
    ]
    for quantity in QUANTITIES:
        device = _mean(ratios(found, quantity, COMPILED, ON_DEVICE).values()) or 0
        slowest = list(ratios(found, quantity, COMPILED, JAX).items())[:10]
        notes.append(f"{quantity}: {device:.3g} of JAX's time on its own arrays, geometric mean, compiled")
        listed = ", ".join(f"{name} {ratio:.2g}" for name, ratio in slowest)
        notes.append(f"{quantity}: slowest, compiled, times JAX's: {listed}")
    notes += _grouped("does not run", ((each.error, each.name) for each in found if not each.distances))
    notes += _grouped("stopped", ((each.error, each.name) for each in found if each.error and each.distances))
    failures = [(f"{name}, {why}", each.name) for each in found for name, why in each.failures.items()]
    notes += _grouped("no answer", failures)
    said = [(right, name, each.name) for each in found for name, right in each.opinions.items()]
    for right in ("JAX", "neither", "tapegrad"):
        notes += _grouped(f"differences, right is {right}", (item[1:] for item in said if item[0] == right))
    return notes


def _grouped(title: str, reasons: Iterable[tuple[str, str]]) -> list[str]:
    """Return a note for each reason, with the names that it is true of."""
    groups: dict[str, list[str]] = {}
    for reason, name in reasons:
        groups.setdefault(reason, []).append(name)
    return [f"{title}: {reason}: {', '.join(names)}" for reason, names in groups.items()]


CUTEST = (Figure("cutest", "CUTEst: problems of sif2jax beside JAX", _measure),)
