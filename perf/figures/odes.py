"""Differential equations: value and gradient by an adaptive solver, beside SciPy's solver for the value."""

from typing import Any

import numpy as np
from scipy import integrate

from perf.figures.base import Figure, Outcome, Settings, times_faster
from perf.peers import Unavailable, tapegrad
from perf.timer import Contender, race

OURS, VALUE, SCIPY = "tapegrad, value and gradient", "tapegrad, value", "SciPy, value"
TIMES = np.linspace(0.0, 10.0, 11)
RATES, START = np.array([1.5, 1.0, 3.0, 1.0]), np.array([1.0, 1.0])
TOLERANCE = 1e-4  # of the answers, which are as exact as the solver was asked to be
TOLERANCES = {"rtol": 1e-6, "atol": 1e-6}


def _slope(t: Any, u: Any, p: Any) -> Any:
    return [p[0] * u[0] - p[1] * u[0] * u[1], p[3] * u[0] * u[1] - p[2] * u[1]]


def _by_scipy(p: Any, **options: Any) -> float:
    found = integrate.solve_ivp(_slope, (0.0, 10.0), START, t_eval=TIMES, args=(p,), **options)
    return float(np.sum(found.y))


def _reference() -> tuple[float, np.ndarray]:
    """Return value and gradient by the equation with sensitivities, at a thousandth of the tolerance."""

    def with_sensitivities(t: float, z: np.ndarray) -> np.ndarray:
        (u, v), by = z[:2], z[2:].reshape(2, 4)
        jacobian = np.array(
            [[RATES[0] - RATES[1] * v, -RATES[1] * u], [RATES[3] * v, RATES[3] * u - RATES[2]]]
        )
        direct = np.array([[u, -u * v, 0.0, 0.0], [0.0, 0.0, -v, u * v]])
        return np.concatenate([_slope(t, (u, v), RATES), (jacobian @ by + direct).ravel()])

    begin = np.concatenate([START, np.zeros(8)])
    found = integrate.solve_ivp(
        with_sensitivities, (0.0, 10.0), begin, method="DOP853", t_eval=TIMES, rtol=1e-11, atol=1e-11
    )
    return float(np.sum(found.y[:2])), np.sum(found.y[2:].reshape(2, 4, -1), axis=(0, 2))


def _measure(settings: Settings) -> Outcome:
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    tg = tapegrad()

    def total(p: Any) -> Any:
        return tg.sum(
            tg.integrate.solve_ivp(_slope, (0.0, 10.0), START, t_eval=TIMES, args=(p,), **TOLERANCES).y
        )

    value = tg.jit(total)
    gradient = tg.value_and_grad(value)
    reference = _reference()
    contenders = [
        Contender(OURS, lambda: gradient(RATES)),
        Contender(VALUE, lambda: value(RATES), lambda found: (found,)),
        Contender(SCIPY, lambda: _by_scipy(RATES, **TOLERANCES), lambda found: (found,)),
    ]
    timings = race(contenders, [reference, reference[:1], reference[:1]], settings.budget, TOLERANCE)
    return Outcome(times_faster(OURS, [(SCIPY, 10)], timings), timings)


ODES = (Figure("ode", "Lotka-Volterra by solve_ivp, RK45, rtol 1e-6, 11 outputs", _measure),)
