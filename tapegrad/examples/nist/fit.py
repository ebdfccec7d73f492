"""Nonlinear least squares with exact Jacobians, which are replayed from a tape."""

import time
from dataclasses import dataclass

import numpy as np

import tapegrad as tg
from tapegrad.examples.nist.problems import Array, Problem
from tapegrad.examples.nist.timing import TimedResiduals

CERTIFIED_DIGITS = 11.0
# Tolerances below the rounding error: the optimiser stops where no digit improves any more.
SETTINGS = {
    "method": "trf",
    "x_scale": "jac",  # in one problem the parameters differ by ten orders of magnitude
    "ftol": 1e-15,
    "xtol": 1e-15,
    "gtol": 1e-15,
    "max_nfev": 20_000,
}


@dataclass(frozen=True, eq=False)
class Fit:
    """The result of fitting one problem from one starting point.

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
        Duration of the replays of residuals and Jacobian, without the first call of each, which records it.
    digits : float
        Digits to which the worst of the parameters agrees with the certified ones, 11 at most.
    rss : float
        Residual sum of squares.
    parameters : array
        The fitted parameters.
    success : bool
        Whether the optimiser reports that it converged.
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


def fit(problem: Problem, start: int) -> Fit:
    """Fit `problem` from its starting point 1 or 2.

    Raises
    ------
    ValueError
        For any other starting point.
    """
    if start not in (1, 2):
        raise ValueError(f"a problem has the starting points 1 and 2, not {start!r}")
    begun = time.perf_counter()
    x0 = problem.starts[start - 1]
    # Without a clock: tg.optimize.residuals(problem.residuals, x0)
    residuals = TimedResiduals(problem.residuals, x0)
    # A trial step may overflow: the optimiser rejects it and takes a shorter one
    with np.errstate(all="ignore"):
        result = tg.optimize.least_squares(residuals, x0, **SETTINGS)
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


def agreeing_digits(fitted: Array, certified: Array) -> float:
    """Return to how many digits all of `fitted` agree with `certified`, from 0 to the 11 that are certified."""
    error = float(np.max(np.abs(fitted - certified) / np.abs(certified)))
    if not np.isfinite(error):
        return 0.0
    return float(np.clip(-np.log10(max(error, 10.0**-CERTIFIED_DIGITS)), 0.0, CERTIFIED_DIGITS))
