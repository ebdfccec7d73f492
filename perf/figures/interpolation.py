"""Interpolation at many places: value and gradient by values and places, beside interpax's and SciPy's values."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import interpolate

from perf.figures.base import Figure, Outcome, Settings, times_faster
from perf.peers import Unavailable, tapegrad
from perf.peers.base import jax, load
from perf.workloads import Answer
from tapegrad.testing.timer import Contender, race

KNOTS, PLACES = 100, 10_000


@dataclass(frozen=True)
class Problem:
    """Sum of squares of an interpolant at places.

    Attributes
    ----------
    kind
        Class of the interpolator, by SciPy's name.
    faster
        How many times faster than interpax and SciPy it is to be.
    """

    kind: str
    faster: tuple[float, float]

    def total(self, library: Any, x: np.ndarray, y: Any, places: Any, **options: Any) -> Any:
        """Return the sum by a library."""
        return (getattr(library, self.kind)(x, y, **options)(places) ** 2).sum()

    def reference(self, x: np.ndarray, y: np.ndarray, places: np.ndarray) -> Answer:
        """Return value and gradient, that by values by differences of SciPy's interpolators."""
        make = getattr(interpolate, self.kind)
        curve = make(x, y)
        value, slope = curve(places), curve(places, 1)
        steps = 1e-6 * np.eye(len(y))
        by_values = [np.sum(value * (make(x, y + h)(places) - make(x, y - h)(places)) / 1e-6) for h in steps]
        return float(np.sum(value**2)), np.concatenate([by_values, 2 * value * slope])


CUBIC, PCHIP = Problem("CubicSpline", (2, 1)), Problem("PchipInterpolator", (2, 1))


def _data(sort: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = np.cumsum(rng.uniform(0.5, 1.5, KNOTS))
    places = rng.uniform(x[0], x[-1], PLACES)
    return x, np.sin(0.3 * x) + 0.1 * x, np.sort(places) if sort else places


def _joined(found: Any) -> Answer:
    value, gradients = found
    return float(value), np.concatenate([np.asarray(each) for each in gradients])


def _by_interpax(problem: Problem, x: np.ndarray) -> Callable[..., Any]:
    """Return a function for value and gradient by interpax."""
    rival, library = jax(), load("interpax")
    total = partial(problem.total, library, x, check=False)
    run = rival.jit(rival.value_and_grad(total, argnums=(0, 1)))
    return lambda y, places: rival.tree.map(np.asarray, run(y, places))


def _measure(problem: Problem, settings: Settings) -> Outcome:
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    tg, notes, targets, timings = tapegrad(), [], [], []
    for order in ("random", "sorted"):
        x, y, places = _data(order == "sorted")
        answer = problem.reference(x, y, places)
        ours = tg.value_and_grad(tg.jit(partial(problem.total, tg.interpolate, x)), argnums=(0, 1))
        contenders = [Contender(f"tapegrad, {order}", partial(ours, y, places), _joined)]
        answers = [answer]
        try:
            theirs = _by_interpax(problem, x)
            contenders.append(Contender(f"interpax, {order}", partial(theirs, y, places), _joined))
            answers.append(answer)
        except Unavailable as reason:
            notes.append(f"interpax: {reason}")
        alone = partial(problem.total, interpolate, x, y, places)
        contenders.append(Contender(f"SciPy, value alone, {order}", alone, lambda value: (float(value),)))
        answers.append(answer[:1])
        own = race(contenders, answers, settings.budget, 1e-7)
        rivals = zip(("interpax", "SciPy"), problem.faster, strict=True)
        targets += times_faster(f"tapegrad, {order}", rivals, own)
        timings += own
    return Outcome(targets, timings, notes)


INTERPOLATION = tuple(
    Figure(
        f"interpolate-{slug}",
        f"{problem.kind} with {KNOTS} knots at {PLACES:,} places: value and gradient by values and places",
        partial(_measure, problem),
    )
    for slug, problem in (("cubic", CUBIC), ("pchip", PCHIP))
)
