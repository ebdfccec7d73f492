"""Profiles: how close the sum of the rows comes to the replay as a caller measures it."""

from functools import partial
from statistics import median
from typing import Any

import numpy as np

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.peers import Unavailable, tapegrad
from perf.timer import Contender, race
from perf.workloads import rosenbrock

_LIMIT = 0.10
_X = np.random.default_rng(0).uniform(-1.0, 1.0, 1000)


def _chain(x: Any) -> Any:
    """Return a long chain of elementwise ops, in rows or as a segment."""
    xp = tapegrad()
    for _ in range(10):
        x = xp.sin(x) * 1.1 + xp.exp(-x * x)
    return xp.sum(x)


def _cholesky(x: Any) -> Any:
    xp = tapegrad()
    m = x[:900].reshape(30, 30)
    return xp.sum(xp.linalg.cholesky(m @ m.T + 30 * np.eye(30)) ** 2)


def _cases() -> dict[str, tuple[Any, Any]]:
    """Return functions that are profiled, and their arguments."""
    library = tapegrad()
    smooth = partial(rosenbrock, library)
    return {
        "a chain in 122 rows": (library.grad(library.jit(_chain, fuse=False)), _X),
        "a chain as a segment": (library.grad(library.jit(_chain, fuse=True)), _X),
        "a Cholesky factor": (library.grad(library.jit(_cholesky, fuse=True)), _X),
        "a Hessian": (library.hessian(library.jit(smooth, fuse=True)), _X[:100]),
    }


def measure(settings: Settings) -> Outcome:
    """Compare the sum of each profile with the time of a call."""
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    targets, timings = [], []
    for name, (function, x) in _cases().items():
        contender = Contender(name, partial(function, x), lambda result: (result,))
        ratios = []
        for _ in range(settings.fewer(7, 3)):
            (timing,) = race([contender], (function(x),), settings.budget)
            # The faster half of the replays is what a profile has
            ratios.append(function.profile(x).total * 1e-9 / timing.low)
        targets.append(Target(f"{name}: difference from a call", abs(median(ratios) - 1), _LIMIT, ""))
        timings.append(timing)
    return Outcome(targets, timings)


PROFILES = (Figure("profiles", "Sums of the rows of a profile", measure),)
