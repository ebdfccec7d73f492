"""Nonlinear least squares with exact Jacobians, by SciPy and by compiled code, from replayed tapes."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import tapegrad as tg
from tapegrad.examples.nist.problems import Array, Problem


class TimedResiduals(tg.optimize.Residuals):
    """Residuals that measure the time of their replays.

    The first call of `fun` and of `jac` records, and may compile, so it does not count.
    """

    seconds = 0.0
    recorded: frozenset[str] = frozenset()

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
        if kind in self.recorded:
            self.seconds += time.perf_counter() - begun
        self.recorded |= {kind}


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
NATIVE_SETTINGS = {"method": "native", "ftol": 1e-15, "xtol": 1e-10, "gtol": None, "max_nfev": 20_000}


@dataclass(frozen=True, eq=False)
class Fit:
    """The results of fitting one problem from one starting point: by SciPy, and by compiled code.

    Attributes
    ----------
    name, level : str
        The problem and its level of difficulty.
    start : int
        1 or 2.
    nfev, njev : int
        SciPy's evaluations of the residuals and of their Jacobian.
    milliseconds : float
        Duration of the whole fit by SciPy: recording, replays, and the optimiser's own work.
    function_milliseconds : float
        Duration of the replays of residuals and Jacobian, without the first call of each, which records it.
    digits : float
        Digits to which the worst of SciPy's parameters agrees with the certified ones, 11 at most.
    rss : float
        SciPy's residual sum of squares.
    parameters : array
        SciPy's parameters.
    success : bool
        Whether both optimisers report that they converged.
    native_nfev : int
        Evaluations of residuals with their Jacobian by compiled code.
    native_milliseconds : float
        Duration of the fit by compiled code, once the function is recorded.
    native_digits, native_rss, native_parameters
        The same as SciPy's, by compiled code.
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
    native_nfev: int
    native_milliseconds: float
    native_digits: float
    native_rss: float
    native_parameters: Array


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
    native, seconds = _native(residuals, x0)
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
        success=bool(result.success and native.success),
        native_nfev=int(native.nfev),
        native_milliseconds=1e3 * seconds,
        native_digits=agreeing_digits(native.x, problem.certified),
        native_rss=float(2 * native.cost),
        native_parameters=native.x,
    )


def _native(residuals: tg.optimize.Residuals, x0: Array) -> tuple[Any, float]:
    """Fit by compiled code: the result, and how long it took. A first evaluation records, and does not count."""
    tg.optimize.least_squares(residuals, x0, **{**NATIVE_SETTINGS, "max_nfev": 1})
    begun = time.perf_counter()
    result = tg.optimize.least_squares(residuals, x0, **NATIVE_SETTINGS)
    return result, time.perf_counter() - begun


def agreeing_digits(fitted: Array, certified: Array) -> float:
    """Return to how many digits all of `fitted` agree with `certified`, from 0 to the 11 that are certified."""
    error = float(np.max(np.abs(fitted - certified) / np.abs(certified)))
    if not np.isfinite(error):
        return 0.0
    return float(np.clip(-np.log10(max(error, 10.0**-CERTIFIED_DIGITS)), 0.0, CERTIFIED_DIGITS))
