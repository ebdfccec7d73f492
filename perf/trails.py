"""The 54 fits of NIST's regressions by `least_squares`: what they spend where, and every point that they visit."""

import importlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from perf.workloads import Array


@dataclass(frozen=True)
class Visit:
    """One evaluation: of the residuals (0) or their Jacobian (1) of a problem at a point."""

    problem: Any
    kind: int
    b: Array

    def reference(self) -> Array:
        """The answer by NumPy alone; a Jacobian by complex steps, which are exact to the last digits [1]_.

        References
        ----------
        .. [1] W. Squire, G. Trapp, "Using complex variables to estimate derivatives of real functions", SIAM
           Review 40(1), 1998.
        """
        if self.kind == 0:
            return self.problem.residuals(self.b)  # type: ignore[no-any-return]
        steps = 1e-30 * np.maximum(np.abs(self.b), 1e-300)
        columns = [self.problem.residuals(self.b + 1j * step).imag for step in np.diag(steps)]
        return np.stack(columns, axis=1) / steps


@dataclass
class Trail:
    """The 54 fits: seconds in residuals and in Jacobians, seconds of everything, digits of the worst."""

    visits: list[Visit] = field(default_factory=list)
    seconds: list[float] = field(default_factory=lambda: [0.0, 0.0])
    whole: float = 0.0
    digits: float = np.inf

    @property
    def calls(self) -> tuple[int, int]:
        """Evaluations of the residuals and of the Jacobian."""
        jacobians = sum(visit.kind for visit in self.visits)
        return len(self.visits) - jacobians, jacobians


def follow(names: Iterable[str] | None = None) -> Trail:
    """Fit problems, all by default, from both starts. The functions are recorded before the clock starts."""
    trail = Trail()
    with np.errstate(all="ignore"):  # a trial step may overflow: the optimiser takes a shorter one
        for problem, start in _fits(names):
            _fit(problem, start, trail)
    return trail


def _fits(names: Iterable[str] | None) -> Iterator[tuple[Any, Array]]:
    nist = importlib.import_module("tapegrad.examples.nist")
    for name in nist.names() if names is None else names:
        problem = nist.load(name)
        for start in problem.starts:
            yield problem, start


def _fit(problem: Any, start: Array, trail: Trail) -> None:
    nist, optimize = (
        importlib.import_module(f"tapegrad.{name}") for name in ("examples.nist.fit", "optimize")
    )
    residuals = optimize.residuals(problem.residuals, start)
    residuals.fun(residuals.x0), residuals.jac(residuals.x0)
    residuals.fun = _timed(residuals.fun, problem, 0, trail)
    residuals.jac = _timed(residuals.jac, problem, 1, trail)
    begun = perf_counter()
    result = optimize.least_squares(residuals, start, **nist.SETTINGS)
    trail.whole += perf_counter() - begun
    trail.digits = min(trail.digits, nist.agreeing_digits(result.x, problem.certified))


def _timed(function: Any, problem: Any, kind: int, trail: Trail) -> Any:
    """The function, but every call is noted."""
    visits, seconds = trail.visits, trail.seconds

    def call(b: Array) -> Array:
        begun = perf_counter()
        result = function(b)
        seconds[kind] += perf_counter() - begun
        visits.append(Visit(problem, kind, b.copy()))
        return result  # type: ignore[no-any-return]

    return call
