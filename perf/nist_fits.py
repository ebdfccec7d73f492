"""The 54 fits of NIST's regressions by `least_squares`: where the time is spent, and every evaluation on the way."""

import importlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from perf.workloads import Array


@dataclass(frozen=True)
class Evaluation:
    """An evaluation of the residuals (kind 0) or their Jacobian (1) of a problem at a point."""

    problem: Any
    kind: int
    b: Array

    def reference(self) -> Array:
        """Return the answer by NumPy alone; a Jacobian by complex steps, which are exact to the last digits [1]_.

        References
        ----------
        .. [1] W. Squire, G. Trapp, "Using complex variables to estimate derivatives of real functions", SIAM
           Review 40(1), 1998.
        """
        if self.kind == 0:
            residuals: Array = self.problem.residuals(self.b)
            return residuals
        steps = 1e-30 * np.maximum(np.abs(self.b), 1e-300)
        columns = [self.problem.residuals(self.b + 1j * step).imag for step in np.diag(steps)]
        return np.stack(columns, axis=1) / steps


@dataclass
class Fits:
    """Evaluations of the fits.

    Attributes
    ----------
    evaluations
        All of them, in order.
    seconds
        In the residuals, and in their Jacobian.
    total_seconds
        These, and the optimiser's own work.
    digits
        Digits to which the worst parameter of all agrees with the certified ones.
    """

    evaluations: list[Evaluation] = field(default_factory=list)
    seconds: list[float] = field(default_factory=lambda: [0.0, 0.0])
    total_seconds: float = 0.0
    digits: float = np.inf

    @property
    def calls(self) -> tuple[int, int]:
        """Evaluations of the residuals and of the Jacobian."""
        jacobians = sum(each.kind for each in self.evaluations)
        return len(self.evaluations) - jacobians, jacobians


def run_fits(names: Iterable[str] | None = None) -> Fits:
    """Fit problems, all by default, from both starts. The functions are recorded before the clock starts."""
    fits = Fits()
    with np.errstate(all="ignore"):  # a trial step may overflow: the optimiser takes a shorter one
        for problem, start in _fits(names):
            _fit(problem, start, fits)
    return fits


def _fits(names: Iterable[str] | None) -> Iterator[tuple[Any, Array]]:
    nist = importlib.import_module("tapegrad.examples.nist")
    for name in nist.names() if names is None else names:
        problem = nist.load(name)
        for start in problem.starts:
            yield problem, start


def _fit(problem: Any, start: Array, fits: Fits) -> None:
    nist, optimize = (
        importlib.import_module(f"tapegrad.{name}") for name in ("examples.nist.fit", "optimize")
    )
    residuals = optimize.residuals(problem.residuals, start)
    residuals.fun(residuals.x0), residuals.jac(residuals.x0)
    residuals.fun = _timed(residuals.fun, problem, 0, fits)
    residuals.jac = _timed(residuals.jac, problem, 1, fits)
    begun = perf_counter()
    result = optimize.least_squares(residuals, start, **nist.SETTINGS)
    fits.total_seconds += perf_counter() - begun
    fits.digits = min(fits.digits, nist.agreeing_digits(result.x, problem.certified))


def _timed(function: Any, problem: Any, kind: int, fits: Fits) -> Any:
    """Return the function, with every call timed and listed."""
    evaluations, seconds = fits.evaluations, fits.seconds

    def call(b: Array) -> Array:
        begun = perf_counter()
        result: Array = function(b)
        seconds[kind] += perf_counter() - begun
        evaluations.append(Evaluation(problem, kind, b.copy()))
        return result

    return call
