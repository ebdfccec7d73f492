"""Profiles: how close the sum of the rows comes to the plain replay, and that to a call."""

from functools import partial
from statistics import median
from typing import Any

import numpy as np

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.peers import Unavailable, tapegrad
from perf.workloads import rosenbrock
from tapegrad.testing.timer import Contender, Timing, race

_LIMIT = 0.10
_X = np.random.default_rng(0).uniform(-1.0, 1.0, 1000)


def _chain(xp: Any, x: Any) -> Any:
    """Return a long chain of elementwise ops, in rows or as a segment."""
    for _ in range(10):
        x = xp.sin(x) * 1.1 + xp.exp(-x * x)
    return xp.sum(x)


def _cholesky(xp: Any, x: Any) -> Any:
    m = x[:900].reshape(30, 30)
    return xp.sum(xp.linalg.cholesky(m @ m.T + 30 * np.eye(30)) ** 2)


def _cases() -> dict[str, tuple[Any, Any]]:
    """Return functions that are profiled, and their arguments."""
    library = tapegrad()
    chain, cholesky, smooth = (partial(each, library) for each in (_chain, _cholesky, rosenbrock))
    return {
        "a chain in 122 rows": (library.grad(library.jit(chain, fuse=False)), _X),
        "a chain as a segment": (library.grad(library.jit(chain, fuse=True)), _X),
        "a Cholesky factor": (library.grad(library.jit(cholesky, fuse=True)), _X),
        "a Hessian": (library.hessian(library.jit(smooth, fuse=True)), _X[:100]),
    }


def measure(settings: Settings) -> Outcome:
    """Compare the sum of each profile with its plain replay."""
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    targets, timings = [], []
    for name, (function, x) in _cases().items():
        contender = Contender(name, partial(function, x), lambda result: (result,))
        timings += race([contender], (function(x),), settings.budget)
        profiles = [function.profile(x) for _ in range(settings.fewer(7, 3))]
        error = max(abs(profile.total / profile.measured - 1) for profile in profiles)
        targets.append(Target(f"{name}: sum of the rows beside the plain replay", error, _LIMIT, ""))
        replay = median(profile.measured for profile in profiles)
        timings.append(Timing(f"{name}: plain replay", *(replay * 1e-9,) * 3, len(profiles), 1))
    return Outcome(targets, timings)


PROFILES = (Figure("profiles", "Sums of the rows of a profile", measure),)
