"""Nonlinear least squares with exact Jacobians from a replayed tape."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tapegrad.examples.nist.problems import Array, Problem
from tapegrad.optimize import Residuals, least_squares

CERTIFIED_DIGITS = 11.0
# Tolerances that ask for all the digits there are.
SETTINGS: dict[str, Any] = {
    "method": "trf",
    "x_scale": "jac",
    "ftol": 1e-15,
    "xtol": 1e-15,
    "gtol": 1e-15,
    "max_nfev": 20_000,
}


@dataclass(frozen=True, eq=False)
class Fit:
    """What became of one problem from one starting point.

    Attributes
    ----------
    name, level : str
        The problem and its level of difficulty.
    start : int
        1 or 2.
    nfev, njev : int
        Evaluations of the residuals and of their Jacobian.
    milliseconds : float
        Duration of the whole fit: recording, replays, and the optimiser's own work.
    function_milliseconds : float
        The part of it that went by in replays of the residuals and the Jacobian. Their first calls, which record
        and may compile, do not count.
    digits : float
        Digits to which the worst of the parameters agrees with the certified ones, 11 at most.
    rss : float
        Residual sum of squares.
    parameters : array
        The fitted parameters.
    success : bool
        Whether the optimiser says that it converged.
    """

    name: str
    level: str
    start: int
    nfev: int
    njev: int
    milliseconds: float
    function_milliseconds: float
    digits: float
    rss: float
    parameters: Array
    success: bool


def agreeing_digits(fitted: NDArray[np.float64], certified: NDArray[np.float64]) -> float:
    """Digits to which all of `fitted` agree with `certified`, from 0 to the 11 that are certified."""
    error = float(np.max(np.abs(fitted - certified) / np.abs(certified)))
    if not np.isfinite(error):
        return 0.0
    return float(np.clip(-np.log10(max(error, 10.0**-CERTIFIED_DIGITS)), 0.0, CERTIFIED_DIGITS))


class _Timed(Residuals):
    """Residuals that add up the time in replays: in all calls but the first of each kind, which record."""

    seconds = 0.0
    started: frozenset[str] = frozenset()

    def fun(self, x: Any, *args: Any, **kwargs: Any) -> Array:
        begun = time.perf_counter()
        values = super().fun(x, *args, **kwargs)
        self._count("fun", begun)
        return values

    def jac(self, x: Any, *args: Any, **kwargs: Any) -> Array:
        begun = time.perf_counter()
        rows = super().jac(x, *args, **kwargs)
        self._count("jac", begun)
        return rows

    def _count(self, kind: str, begun: float) -> None:
        if kind in self.started:
            self.seconds += time.perf_counter() - begun
        self.started |= {kind}


def fit(problem: Problem, start: int) -> Fit:
    """Fit `problem` from its starting point 1 or 2.

    The trust region reflective method of SciPy, with the parameters scaled by the columns of the Jacobian: in
    one problem their sizes differ by up to ten orders of magnitude.

    Raises
    ------
    ValueError
        For any other starting point.
    """
    if start not in (1, 2):
        raise ValueError(f"a problem has the starting points 1 and 2, not {start!r}")
    begun = time.perf_counter()
    residuals = _Timed(problem.residuals, problem.starts[start - 1])
    # A trial step may overflow: the optimiser rejects it and takes a shorter one.
    with np.errstate(all="ignore"):
        result = least_squares(residuals, problem.starts[start - 1], **SETTINGS)
    elapsed = time.perf_counter() - begun
    return Fit(
        name=problem.name,
        level=problem.level,
        start=start,
        nfev=int(result.nfev),
        njev=int(result.njev),
        milliseconds=1e3 * elapsed,
        function_milliseconds=1e3 * residuals.seconds,
        digits=agreeing_digits(result.x, problem.certified),
        rss=float(2 * result.cost),
        parameters=result.x,
        success=bool(result.success),
    )
