"""Optimisers in compiled code beside SciPy's, in CPU time on one thread, answers compared."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.optimize

import tapegrad as tg
from perf.figures.base import Figure, Outcome, Settings, Target
from perf.peers import Stopping, Unavailable, in_blocks
from perf.workloads import Array
from tapegrad.examples import bundle_adjustment, nist
from tapegrad.examples.nist.fit import NATIVE_SETTINGS, SETTINGS


class WrongFit(AssertionError):
    """A fit, or a minimum, that is not SciPy's."""


def _cpu(call: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """Return the least CPU time of some rounds, and the last result."""
    least, found = float("inf"), None
    for _ in range(rounds):
        begun = time.process_time()
        found = call()
        least = min(least, time.process_time() - begun)
    return least, found


# --- NIST's regressions --------------------------------------------------------------------------------------------


def _regressions(settings: Settings) -> Outcome:
    """Measure the 54 fits by compiled code and by SciPy, of functions that are recorded already."""
    problems = [nist.load(name) for name in nist.names()]
    fits = [
        (problem, tg.optimize.residuals(problem.residuals, start), start)
        for problem in problems
        for start in problem.starts
    ]
    totals, digits = {"native": 0.0, "SciPy": 0.0}, 11.0
    with np.errstate(all="ignore"):
        for problem, residuals, start in fits:
            for name, options in (("native", NATIVE_SETTINGS), ("SciPy", SETTINGS)):
                rounds = settings.fewer(7, 2) if name == "native" else 2
                seconds, found = _cpu(lambda: tg.optimize.least_squares(residuals, start, **options), rounds)  # noqa: B023  called at once
                totals[name] += seconds
                digits = min(digits, nist.agreeing_digits(found.x, problem.certified))
    targets = [
        Target("all 54 fits, CPU", totals["native"], 0.03, "s"),
        Target("digits of the worst parameter", digits, 6, "", at_least=True),
        *(
            Target(f"starts of 81 within 5 % that lead back, {steps} steps", _led_back(steps), 81, "", True)
            for steps in ("plain", "geodesic")
        ),
    ]
    return Outcome(targets, notes=[f"SciPy's trf on the same functions: {totals['SciPy']:.3f} s"])


def _led_back(steps: str) -> int:
    """Count the starts, of three for each problem around the certified values, from which a fit returns to these."""
    draws, found = np.random.default_rng(0), 0
    for problem in map(nist.load, nist.names()):
        residuals = tg.optimize.residuals(problem.residuals, problem.certified)
        size = len(problem.certified)
        for start in problem.certified * (1 + 0.05 * draws.uniform(-1, 1, (3, size))):
            fit = tg.optimize.least_squares(residuals, start, steps=steps, **NATIVE_SETTINGS)
            found += nist.agreeing_digits(fit.x, problem.certified) >= 6
    return found


# --- many fits -----------------------------------------------------------------------------------------------------


def _spot(at: Any, height: Any, cx: Any, cy: Any, width: Any, offset: Any) -> Any:
    x, y = at
    return height * np.exp(-((x - cx) ** 2 + (y - cy) ** 2) / (2 * width**2)) + offset


def _spots(count: int) -> tuple[Any, Any, Array, Array]:
    """Gpufit's benchmark: spots of 5 x 5 pixels with the noise of a microscope."""
    draws = np.random.default_rng(0)
    y, x = np.mgrid[:5, :5].astype(float)
    low, high = [500, 1.8, 1.8, 0.9, 8], [1500, 2.2, 2.2, 1.1, 12]
    true = draws.uniform(low, high, (count, 5))
    images = _spot((x, y), *true.T[:, :, None, None])
    images = images + np.sqrt(images) * draws.standard_normal(images.shape)
    return _spot, (x, y), images, true * draws.uniform(0.9, 1.1, true.shape)


def _peak(t: Any, height: Any, center: Any, width: Any, offset: Any) -> Any:
    return height * np.exp(-0.5 * ((t - center) / width) ** 2) + offset


def _peaks(count: int, spread: float = 0.1) -> tuple[Any, Any, Array, Array]:
    """Peaks of 50 points, with starts so far away."""
    draws, t = np.random.default_rng(0), np.linspace(-5, 5, 50)
    true = draws.uniform([5, 0.5, 0.7, 0.5], [10, 1, 1.5, 1], (count, 4))
    data = _peak(t, *true.T[:, :, None]) + 0.1 * draws.standard_normal((count, 50))
    return _peak, t, data, true * draws.uniform(1 - spread, 1 + spread, true.shape)


def _check_fits(fits: Any, problem: tuple[Any, Any, Array, Array]) -> float:
    """Compare some fits with SciPy's; how many thousands of these there are a second."""
    model, t, data, starts = problem

    def flat(at: Any, *p: Any) -> Array:
        return np.ravel(model(at, *p))

    begun, count = time.process_time(), 20
    for k in range(count):
        x, _ = scipy.optimize.curve_fit(flat, t, data[k].ravel(), starts[k])
        if fits.success[k] and np.max(np.abs(fits.x[k] - x)) > 1e-2 * np.max(np.abs(x)):
            raise WrongFit(f"fit {k} found {fits.x[k]}, SciPy {x}")
    return 1e-3 * count / (time.process_time() - begun)


def _beside_jax(
    problem: tuple[Any, Any, Array, Array], fits: Any, tol: float, settings: Settings
) -> list[str]:
    """Measure how many thousands of fits a second JAX does of the same algorithm, by the better of two programs."""
    if "jax" in settings.without:
        return ["JAX: left out on request"]
    model, t, data, starts = problem
    count, notes = 1 << 14, []
    rows = data.reshape(len(data), -1)[:count]
    for block, name in ((128, "in blocks of 128"), (count, "all at once")):
        try:
            run = in_blocks(model, t, rows, starts[:count], Stopping(tol, 51), block)
        except Unavailable as reason:
            return [f"JAX: {reason}"]
        found = run()
        both = fits.success[:count] & np.isfinite(found).all(axis=1)
        if np.median(np.abs(found - fits.x[:count])[both] / np.abs(fits.x[:count])[both]) > 1e-6:
            raise WrongFit("JAX has found other parameters")
        seconds, _ = _cpu(run, settings.fewer(3, 1))
        notes.append(f"the same algorithm by JAX, {name}: {1e-3 * count / seconds:.0f} thousand a second")
    return notes


def _many(make: Callable[[int], tuple[Any, Any, Array, Array]], tol: float, limit: float) -> Any:
    def measure(settings: Settings) -> Outcome:
        problem = make(settings.fewer(100_000, 20_000))
        options: dict[str, Any] = {"ftol": tol, "xtol": 0.0, "gtol": 0.0, "max_nfev": 51}
        seconds, fits = _cpu(
            lambda: tg.optimize.curve_fit(*problem, threads=1, **options), settings.fewer(5, 2)
        )
        scipys = _check_fits(fits, problem)
        rate = 1e-3 * len(fits) / seconds
        notes = [
            f"{fits.nfev.mean():.2f} evaluations a fit, {fits.success.mean():.1%} converged",
            f"scipy.optimize.curve_fit: {scipys:.1f} thousand a second",
            *_beside_jax(problem, fits, tol, settings),
        ]
        return Outcome(
            [Target("thousand fits a second, one core", rate, limit, "k/s", at_least=True)], notes=notes
        )

    return measure


# --- many starts ---------------------------------------------------------------------------------------------------


def _rosenbrock(x: Any) -> Any:
    return tg.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def _starts(settings: Settings) -> Outcome:
    """Rosenbrock's function from many starts, beside SciPy's L-BFGS-B with our gradient."""
    starts = np.random.default_rng(0).uniform(-2, 2, (settings.fewer(200, 30), 10))
    f = tg.optimize.objective(tg.jit(_rosenbrock), starts[0])
    options = {"gtol": 1e-6, "ftol": 0.0}

    def scipys() -> list[Any]:
        return [
            scipy.optimize.minimize(f.fun, x, jac=True, method="L-BFGS-B", options=options) for x in starts
        ]

    def ours() -> Any:
        return tg.optimize.minimize(f, None, method="native", starts=starts, threads=1, options=options)

    seconds, found = _cpu(ours, settings.fewer(20, 3))
    other, results = _cpu(scipys, 2)
    minima = f.value(np.ones(10)), min(result.fun for result in results if result.fun > 1)
    if not all(min(abs(value - each) for each in minima) < 1e-6 for value in found.all_fun):
        raise WrongFit("a start has led to no minimum")
    own, theirs = found.all_nfev.mean(), np.mean([result.nfev for result in results])
    targets = [
        Target("times faster than L-BFGS-B with our gradient", other / seconds, 30, "x", at_least=True)
    ]
    each = 1e6 * seconds / len(starts), 1e6 * other / len(starts)
    notes = [
        f"{each[0]:.0f} us and {own:.1f} evaluations a start",
        f"SciPy: {each[1]:.0f} us and {theirs:.1f} evaluations",
    ]
    return Outcome(targets, notes=notes)


# --- a sparse Jacobian ---------------------------------------------------------------------------------------------


def _bundle(settings: Settings) -> Outcome:
    """Adjust cameras and points of a drawn scene, with SciPy's solver for sparse Jacobians beside it."""
    _, scene = bundle_adjustment.draw_scene(*((6, 212, 800) if settings.quick else (21, 7860, 31_104)))
    start = {"cameras": scene.cameras, "points": scene.points}
    residuals = tg.optimize.residuals(tg.jit(scene.residuals, fuse=True), start)
    scipys = {"method": "trf", "tr_solver": "lsmr", "x_scale": "jac", "sparse": True}
    fits = [
        partial(tg.optimize.least_squares, residuals, start, **options)
        for options in (scipys, {"method": "native", "sparse": True})
    ]
    first = [_cpu(fit, 1)[0] for fit in fits]  # records
    (theirs, other), (seconds, found) = (_cpu(fit, settings.fewer(5, 2)) for fit in fits)
    if not (found.success and found.cost < other.cost * (1 + 1e-6)):
        raise WrongFit(f"the cost is {found.cost}, but SciPy's {other.cost}")
    shape = f"{found.jac.shape[0]:,} x {found.jac.shape[1]:,}"
    notes = [
        f"{shape}: {1e3 * seconds:.0f} ms, {found.nfev} evaluations, cost {found.cost:.7g}",
        f"SciPy's trf, lsmr: {1e3 * theirs:.0f} ms, {other.nfev} evaluations, cost {other.cost:.7g}",
        f"the first time {first[1]:.2f} s, after SciPy's {first[0]:.2f} s with the first recording",
    ]
    return Outcome([Target("of SciPy's time", seconds / theirs, 0.25, "x")], notes=notes)


NATIVE = (
    Figure("native-nist", "54 fits of NIST's regressions in compiled code", _regressions),
    Figure("native-spots", "Fits of spots, 5 x 5 pixels, 5 parameters", _many(_spots, 1e-4, 600)),
    Figure("native-peaks", "Fits of peaks, 50 points, 4 parameters", _many(_peaks, 1e-4, 400)),
    Figure(
        "native-hard",
        "The same from starts within 60 %",
        _many(lambda count: _peaks(count, 0.6), 1e-8, 200),
    ),
    Figure("native-starts", "Rosenbrock's function of 10 numbers from many starts", _starts),
    Figure("native-bundle", "A bundle adjustment by sparse normal equations", _bundle),
)
