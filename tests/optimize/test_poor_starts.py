"""Fits from poor starts: under every loss, in every box, the cost has no slope where they end; it is SciPy's."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import least_squares as scipy_least_squares

import tapegrad as tg

STARTS = 6
CONVEX = ["linear", "soft_l1", "huber"]
LOSSES = [*CONVEX, "cauchy", "arctan"]


def two_decays(t: Any, first: Any, fast: Any, second: Any, slow: Any) -> Any:
    return first * np.exp(-fast * t) + second * np.exp(-slow * t)


def decay(t: Any, first: Any, rate: Any) -> Any:
    return first * np.exp(-rate * t)


def saturation(t: Any, most: Any, half: Any, power: Any) -> Any:
    return most * t**power / (half**power + t**power)


def growth(t: Any, most: Any, rate: Any, middle: Any) -> Any:
    return most / (1 + np.exp(-rate * (t - middle)))


MODELS = {
    two_decays: (np.array([8, 1.2, 3, 0.15]), np.linspace(0.1, 20, 50)),
    decay: (np.array([3, 0.5]), np.linspace(0, 10, 50)),
    saturation: (np.array([5, 3, 2.0]), np.linspace(0.2, 12, 50)),
    growth: (np.array([6, 1.5, 4]), np.linspace(0, 10, 50)),
}
BOXES = {  # from the true parameters and the starts
    "free": lambda true, starts: (-np.inf, np.inf),
    "positive": lambda true, starts: (0.0, np.inf),
    "active": lambda true, starts: (0.0, np.maximum(0.9 * true, 1.01 * starts.max(axis=0))),
}


def derivatives(model: Any, t: np.ndarray, x: np.ndarray) -> np.ndarray:
    steps = x + 1e-30j * np.eye(len(x))
    return np.stack([model(t, *step).imag / 1e-30 for step in steps], axis=1)


def remaining_gain(model: Any, t: Any, y: Any, sigma: Any, x: Any, box: Any, loss: str) -> float:
    """Return about how much a step by each free parameter alone would lower the cost, as a part of it."""
    r = (model(t, *x) - y) / sigma
    z = r**2
    slopes = {
        "linear": np.ones_like(z),
        "soft_l1": 1 / np.sqrt(1 + z),
        "huber": 1 / np.sqrt(np.maximum(z, 1)),
        "cauchy": 1 / (1 + z),
        "arctan": 1 / (1 + z**2),
    }[loss]
    jac = derivatives(model, t, x) / np.reshape(sigma, (-1, 1))
    gradient, squares = jac.T @ (slopes * r), (jac**2).T @ slopes
    lower, upper = np.broadcast_arrays(*box, x)[:2]
    held = ((x <= lower) & (gradient > 0)) | ((x >= upper) & (gradient < 0))
    gone = squares < 1e-20 * squares.max()  # parameters on which nothing depends any more
    gains = np.where(held | gone, 0, gradient**2 / np.where(gone, 1, squares))
    return float(gains.sum())


def scipys_cost(model: Any, t: Any, y: Any, sigma: Any, start: Any, box: Any, loss: str) -> float:
    def residuals(x: np.ndarray) -> np.ndarray:
        return (model(t, *x) - y) / sigma

    def jac(x: np.ndarray) -> np.ndarray:
        return derivatives(model, t, x) / np.reshape(sigma, (-1, 1))

    with np.errstate(invalid="ignore"):  # powers of negative numbers on the way
        return float(scipy_least_squares(residuals, start, jac, box, loss=loss).cost)


def points(model: Any, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Data and their standard deviations: ones, of the noise, or a part of each point."""
    true, t = MODELS[model]
    draws, clean = np.random.default_rng(3), model(t, *true)
    noise = 0.03 * clean.max()
    y = clean + noise * draws.standard_normal(len(t))
    y[draws.choice(len(t), 5, replace=False)] += noise * draws.uniform(10, 40, 5)
    sigma = {"ones": np.ones(len(t)), "noise": np.full(len(t), noise), "parts": 0.03 * clean + 0.03 * noise}
    return y, sigma[kind]


def starts_of(model: Any) -> np.ndarray:
    true = MODELS[model][0]
    starts: np.ndarray = true * np.exp(np.random.default_rng(4).uniform(-0.8, 0.8, (STARTS, len(true))))
    return starts


@pytest.mark.parametrize("spread", ["ones", "noise", "parts"])
@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_fits_end_at_minima(model: Any, loss: str, box: str, spread: str) -> None:
    (true, t), (y, sigma), starts = MODELS[model], points(model, spread), starts_of(model)
    bounds = BOXES[box](true, starts)
    options: dict[str, Any] = {"loss": loss, "bounds": bounds}
    fits = tg.optimize.curve_fit(model, t, np.tile(y, (STARTS, 1)), starts, sigma, **options)
    residuals = tg.optimize.residuals(
        lambda p: (model(t, *(p[j] for j in range(len(true)))) - y) / sigma, true
    )
    alone = [tg.optimize.least_squares(residuals, start, method="native", **options) for start in starts]
    cost = 0.5 * len(t) if spread != "ones" else 1e-3
    found = [(fit.x, fit.cost) for fit in alone if fit.success]
    found += [(x, cost) for x, cost, good in zip(fits.x, fits.cost, fits.success, strict=True) if good]
    assert len(found) >= 2 * STARTS - {"cauchy": 2, "arctan": 4}.get(loss, 0)  # what goes to infinity says so
    for x, value in found:
        assert remaining_gain(model, t, y, sigma, x, bounds, loss) < 1e-5 * (value + cost)
    known = [scipys_cost(model, t, y, sigma, start, bounds, loss) for start in starts]
    for costs in (fits.cost, np.array([fit.cost for fit in alone])):
        if loss in CONVEX:
            np.testing.assert_allclose(costs.min(), min(known), rtol=1e-4, atol=1e-5 * cost)
            assert np.mean(costs < np.array(known) * (1 + 1e-3)) > 0.8
        else:  # of many minima it may be another one
            assert costs.min() < 1.3 * min(known)


@pytest.mark.parametrize("count", [1, 3, 40], ids=["one row", "few rows", "lanes"])
@pytest.mark.parametrize("bounds", [(-np.inf, np.inf), (0, np.inf), (0, 9)], ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_points_that_all_begin_as_outliers_are_reached(loss: str, bounds: Any, count: int) -> None:
    """At the start no residual is below a standard deviation: the losses have no curvature there."""
    true, t = MODELS[two_decays]
    y, start = two_decays(t, *true), [5.0, 1.0, 1.0, 0.1]
    sigma, rows = 0.03 * y, y if count == 1 else np.tile(y, (count, 1))
    fits = tg.optimize.curve_fit(two_decays, t, rows, start, sigma, loss=loss, bounds=bounds)
    np.testing.assert_allclose(fits.x, np.broadcast_to(true, np.shape(fits.x)), rtol=1e-5)
    assert np.max(fits.cost) < 1e-12


def test_a_step_that_is_cut_at_bounds_ends_no_fit() -> None:
    """The cut step loses by the model, as it does in fact; that once passed for convergence."""
    true, t = MODELS[decay]
    fit = tg.optimize.curve_fit(decay, t, decay(t, *true), [1.0, 1.0], 0.01, loss="cauchy", bounds=(0, 5))
    np.testing.assert_allclose(fit.x, true, rtol=1e-6)
    t = MODELS[two_decays][1]
    y, _ = points(two_decays, "ones")
    box = (0.0, np.array([7.2, 2.0, 2.7, 1.0]))
    by_model = tg.optimize.curve_fit(two_decays, t, y, [5.0, 1.0, 1.0, 0.1], bounds=box)
    by_scipy = scipys_cost(two_decays, t, y, np.ones(len(t)), [5.0, 1.0, 1.0, 0.1], box, "linear")
    np.testing.assert_allclose(by_model.cost, by_scipy, rtol=1e-6)
