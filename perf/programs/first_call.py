"""``first_call NAME``: CPU seconds of a first call after the import, with a check of its answer."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tapegrad as tg

Check = Callable[[], bool]
X = np.linspace(0.5, 1.5, 10)


def _rosenbrock(x: Any) -> Any:
    return tg.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def gradient() -> Check:
    """Replay the gradient of Rosenbrock."""
    found = tg.grad(tg.jit(_rosenbrock))(X)
    wanted = np.zeros(10)
    wanted[:-1] = -400 * X[:-1] * (X[1:] - X[:-1] ** 2) - 2 * (1 - X[:-1])
    wanted[1:] += 200 * (X[1:] - X[:-1] ** 2)
    return lambda: np.allclose(found, wanted, rtol=1e-12)


def curve_fit() -> Check:
    """Fit a decay without noise."""
    t, known = np.linspace(0, 4, 50), np.array([2.5, 1.3, 0.5])
    y = known[0] * np.exp(-known[1] * t) + known[2]
    found, _ = tg.optimize.curve_fit(lambda t, a, b, c: a * np.exp(-b * t) + c, t, y, p0=np.ones(3))
    return lambda: np.allclose(found, known, rtol=1e-7)


def _steps(x: Any) -> Any:
    for _ in range(3000):
        x = x + 0.01 * np.sin(x) * x
    return x


def loop() -> Check:
    """Replay the gradient of a loop that is rolled up."""
    found = tg.grad(tg.jit(lambda x: tg.sum(_steps(x))))(X)
    return lambda: np.allclose(found, _steps(X + 1e-30j).imag / 1e-30, rtol=1e-12)


def solve_ivp() -> Check:
    """Compute the gradient of a predator and its prey's last state by four rates."""

    def last(rates: Any, backend: Any) -> Any:
        def slope(_: float, y: Any) -> Any:
            both = y[0] * y[1]
            return backend.stack([rates[0] * y[0] - rates[1] * both, rates[3] * both - rates[2] * y[1]])

        return tg.integrate.solve_ivp(slope, (0, 3.0), np.array([1.0, 0.5]), rtol=1e-9, atol=1e-9).y[0, -1]

    rates = np.array([1.0, 0.7, 0.9, 0.4])
    found = tg.grad(lambda rates: last(rates, tg))(rates)

    def is_right() -> bool:
        moved = [float(last(rates + sign * 1e-4 * e, np)) for e in np.eye(4) for sign in (1, -1)]
        return np.allclose(found, (np.array(moved[::2]) - moved[1::2]) / 2e-4, rtol=1e-5)

    return is_right


def laplace() -> Check:
    """Fit the cattle of Lesnoff and others (2004), whose answer glmer prints, with random effects."""
    file = Path(__file__).parents[2] / "docs" / "gallery" / "data" / "cbpp.csv"
    table = np.loadtxt(file, delimiter=",", skiprows=1, usecols=(1, 2, 3, 4))
    herd, cases, size, period = table[:, 0].astype(int) - 1, *table[:, 1:].T
    design = np.stack([np.ones(len(table)), *(period == k for k in (2, 3, 4))], axis=1)

    def nll(theta: Any, u: Any) -> Any:
        odds = design @ theta["beta"] + np.exp(theta["log_sd"]) * u[herd]
        of_cases = tg.stats.binom.logpmf(cases, size, tg.special.expit(odds))
        return -tg.sum(of_cases) - tg.sum(tg.stats.norm.logpdf(u))

    found = tg.optimize.laplace(nll, ({"beta": np.zeros(4), "log_sd": 0.0}, np.zeros(15)), random=1)
    known = [-1.3985, -0.9923, -1.1287, -1.5803]
    return lambda: np.allclose(found.x["beta"], known, rtol=1e-3)


def sparse_hessian() -> Check:
    """Compute the Hessian of Rosenbrock in 1,000 variables."""
    x = np.linspace(0.5, 1.5, 1000)
    found = tg.hessian(_rosenbrock, sparse=True)(x)
    wanted = np.zeros(1000)
    wanted[:-1] = 1200 * x[:-1] ** 2 - 400 * x[1:] + 2
    wanted[1:] += 200
    return lambda: np.allclose(found.diagonal(), wanted, rtol=1e-12)


CALLS = {call.__name__: call for call in (gradient, curve_fit, loop, solve_ivp, laplace, sparse_hessian)}


def main(name: str) -> None:
    """Print the seconds, those of the check not among them."""
    began = time.process_time()
    check = CALLS[name]()
    seconds = time.process_time() - began
    if not check():
        raise SystemExit(f"wrong answer of {name}")
    print(json.dumps({"seconds": seconds, "package": str(Path(tg.__file__).parent)}))


if __name__ == "__main__":
    main(sys.argv[1])
