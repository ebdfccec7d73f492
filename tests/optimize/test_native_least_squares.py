"""`least_squares(method="native")`: SciPy's answers, NIST's certified values, and what goes wrong."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds, curve_fit
from scipy.optimize import least_squares as scipy_least_squares

import tapegrad as tg
from tapegrad.examples import nist

TIGHT: dict[str, Any] = {"method": "native", "ftol": 1e-15, "xtol": 1e-10, "gtol": None, "max_nfev": 5000}
T = np.linspace(0, 4, 30)


def decay(p: Any) -> Any:
    return p[0] * np.exp(-p[1] * T) + p[2]


def noisy(seed: int = 0) -> np.ndarray:
    noise: np.ndarray = np.random.default_rng(seed).normal(size=len(T))
    noise[[4, 17]] += 12.0  # outliers
    return np.asarray(decay(np.array([3.0, 1.2, 0.5]))) + 0.05 * noise


def misfit(p: Any) -> Any:
    return decay(p) - noisy()


START = np.array([1.0, 0.5, 0.0])


@pytest.fixture(scope="module")
def problems() -> dict[str, tg.optimize.Residuals]:
    return {
        name: tg.optimize.residuals(nist.load(name).residuals, nist.load(name).starts[0])
        for name in nist.names()
    }


@pytest.mark.parametrize(
    "options",
    [{}, {"solver": "normal"}, {"steps": "geodesic"}],
    ids=["qr", "normal equations", "geodesic steps"],
)
def test_all_fits_of_nist_agree_to_six_digits(
    problems: dict[str, tg.optimize.Residuals], options: dict[str, Any]
) -> None:
    for name, residuals in problems.items():
        problem = nist.load(name)
        for start in problem.starts:
            result = tg.optimize.least_squares(residuals, start, **TIGHT, **options)
            assert nist.agreeing_digits(result.x, problem.certified) >= 6, name
            assert result.success
            assert 2 * result.cost == pytest.approx(problem.rss, rel=1e-6, abs=1e-20)


def starts_around(certified: np.ndarray, spread: float, draws: np.random.Generator) -> np.ndarray:
    """Three starts, drawn within a part of the certified values."""
    starts: np.ndarray = certified * (1 + spread * draws.uniform(-1, 1, (3, len(certified))))
    return starts


@pytest.mark.parametrize("steps", ["plain", "geodesic"])
def test_starts_around_the_certified_values_lead_back(
    problems: dict[str, tg.optimize.Residuals], steps: str
) -> None:
    draws = np.random.default_rng(0)
    for name, residuals in problems.items():
        certified = nist.load(name).certified
        for start in starts_around(certified, 0.05, draws):
            result = tg.optimize.least_squares(residuals, start, steps=steps, **TIGHT)
            assert nist.agreeing_digits(result.x, certified) >= 6, name


@pytest.mark.parametrize("steps", ["plain", "geodesic"])
def test_starts_farther_away_lead_back_or_to_another_minimum(
    problems: dict[str, tg.optimize.Residuals], steps: str
) -> None:
    draws, elsewhere = np.random.default_rng(0), 0
    for name, residuals in problems.items():
        problem = nist.load(name)
        for start in starts_around(problem.certified, 0.1, draws):
            result = tg.optimize.least_squares(residuals, start, steps=steps, **TIGHT)
            if nist.agreeing_digits(result.x, problem.certified) < 6:
                elsewhere += 1
                check_minimum(problem, result)
    assert elsewhere <= 3


def check_minimum(problem: nist.Problem, result: Any) -> None:
    """Check that the slopes are zero where a fit ended, and all curvatures positive."""
    lengths = np.linalg.norm(result.jac, axis=0)
    slopes = result.grad / (lengths * np.linalg.norm(result.fun))
    np.testing.assert_allclose(slopes, 0.0, atol=1e-6, err_msg=problem.name)
    cost = tg.optimize.objective(lambda b: 0.5 * tg.sum(problem.residuals(b) ** 2), result.x)
    curvatures = cost.hess(result.x) / np.outer(lengths, lengths)
    assert np.linalg.eigvalsh(curvatures)[0] > 0, problem.name


def test_geodesic_steps_go_along_narrow_valleys(problems: dict[str, tg.optimize.Residuals]) -> None:
    for name in ("Bennett5", "Eckerle4", "Rat43", "MGH10"):
        problem = nist.load(name)
        plain, bent = (
            tg.optimize.least_squares(problems[name], problem.starts[0], steps=steps, **TIGHT)
            for steps in ("plain", "geodesic")
        )
        assert nist.agreeing_digits(bent.x, problem.certified) >= 6
        if name == "Bennett5":
            assert bent.nfev < plain.nfev / 4


@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy", "arctan"])
@pytest.mark.parametrize(
    "bounds", [None, ([0, 0, 0], [2.5, 5, 5]), ([0, 1.3, 0.4], np.inf)], ids=["free", "upper", "lower"]
)
def test_losses_and_bounds_are_scipys(loss: str, bounds: Any) -> None:
    common = {"loss": loss, "f_scale": 0.1, "ftol": 1e-12, "xtol": 1e-12, "gtol": 1e-12}
    if bounds is not None:
        common["bounds"] = bounds
    start = np.array([2.4, 1.4, 0.6])
    residuals = tg.optimize.residuals(misfit, start)
    expected = scipy_least_squares(residuals.fun, start, residuals.jac, **common)
    found = tg.optimize.least_squares(residuals, start, method="native", **common)
    assert found.success
    np.testing.assert_allclose(found.cost, expected.cost, rtol=1e-7)
    np.testing.assert_allclose(found.x, expected.x, rtol=2e-4)
    np.testing.assert_allclose(found.fun, residuals.fun(found.x), rtol=1e-12)
    at_found = scipy_least_squares(residuals.fun, found.x, residuals.jac, loss=loss, f_scale=0.1, max_nfev=1)
    np.testing.assert_allclose(found.grad, at_found.grad, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.jac, at_found.jac, rtol=1e-9)
    if bounds is not None:
        lower, upper = np.broadcast_arrays(*bounds)
        assert np.all((lower <= found.x) & (found.x <= upper))
        np.testing.assert_array_equal(found.active_mask, expected.active_mask)


def test_random_problems_with_bounds_have_scipys_minima() -> None:
    draws = np.random.default_rng(1)
    for _ in range(25):
        n, k = draws.integers(4, 12), draws.integers(1, 5)
        a, b = draws.normal(size=(n, k)), draws.normal(size=n)
        lower = draws.normal(size=k) - 0.5
        bounds = Bounds(lower, lower + draws.uniform(0.1, 2, k))
        start = draws.uniform(bounds.lb, bounds.ub)
        settings: dict[str, Any] = {"bounds": bounds, "gtol": 1e-12, "ftol": 1e-14, "xtol": 1e-14}
        linear = tg.optimize.residuals(lambda p, a=a, b=b: a @ p + 0.1 * p.sum() ** 2 - b, start)
        found = tg.optimize.least_squares(linear, start, method="native", **settings)
        expected = scipy_least_squares(linear.fun, start, linear.jac, **settings)
        assert found.cost <= expected.cost * (1 + 1e-7)


def test_result_has_what_scipys_has() -> None:
    fit = tg.optimize.least_squares(misfit, START, method="native")
    scipys = tg.optimize.least_squares(misfit, START)
    assert set(scipys) <= set(fit)
    assert fit.status in (1, 2, 3, 4)
    assert fit.message
    assert fit.nfev == fit.njev
    np.testing.assert_allclose(fit.x, scipys.x, rtol=1e-6)
    np.testing.assert_allclose(fit.jac, scipys.jac, rtol=1e-5)
    _, covariance = curve_fit(lambda t, *p: decay(p), T, noisy(), START)
    np.testing.assert_allclose(fit.covariance, covariance, rtol=1e-4)


def test_structures_and_arguments_are_those_of_the_other_methods() -> None:
    def model(p: Any, t: Any, *, offset: float) -> Any:
        return [p["a"] * tg.exp(-p["b"] * t) - 2 * np.exp(-3 * t), p["c"] - offset]

    start = {"a": 1.0, "b": np.array([1.0]), "c": np.zeros(2)}
    fit = tg.optimize.least_squares(model, start, (T,), method="native", kwargs={"offset": 4.0})
    assert fit.x["a"] == pytest.approx(2.0)
    np.testing.assert_allclose(fit.x["b"], [3.0])
    np.testing.assert_allclose(fit.x["c"], [4.0, 4.0])


def test_arguments_may_change_from_call_to_call() -> None:
    model = tg.jit(lambda p, y: p - y)
    for value in (1.0, 2.0):
        fit = tg.optimize.least_squares(model, np.zeros(3), (np.full(3, value),), method="native")
        np.testing.assert_allclose(fit.x, value)


def test_a_closure_that_changes_is_seen() -> None:
    target = {"value": 1.0}
    model = tg.jit(lambda p: p - target["value"])
    assert tg.optimize.least_squares(model, np.zeros(1), method="native").x[0] == pytest.approx(1)
    target["value"] = 2.0
    assert tg.optimize.least_squares(model, np.zeros(1), method="native").x[0] == pytest.approx(2)


def test_branches_are_recorded_on_the_way() -> None:
    def model(p: Any) -> Any:
        return (p - 3.0) if p[0] < 1.0 else 2 * (p - 3.0) ** 3

    replayed = tg.jit(model)
    settings: dict[str, Any] = {"method": "native", "ftol": 1e-14, "xtol": 1e-14}
    fit, again = (tg.optimize.least_squares(replayed, np.array([-5.0]), **settings) for _ in range(2))
    assert fit.x[0] == pytest.approx(3.0, abs=1e-3)
    assert fit.nfev == again.nfev  # an evaluation that is begun again counts once


def test_branches_are_recorded_where_a_geodesic_step_looks_ahead() -> None:
    def model(p: Any) -> Any:
        return (p - 3.0) if p[0] < 0.05 or p[0] > 0.15 else p**2 - 3.0

    fit = tg.optimize.least_squares(model, np.zeros(1), method="native", steps="geodesic")
    assert fit.x[0] == pytest.approx(3.0)


@pytest.mark.parametrize("many", [3, 80], ids=["columns", "rows"])
def test_fewer_residuals_than_parameters(many: int) -> None:
    fit = tg.optimize.least_squares(lambda p: tg.sum(p) - 5.0 + 0 * p[:1], np.zeros(many), method="native")
    assert fit.success
    assert fit.cost < 1e-20
    assert np.isinf(fit.covariance).all()


def test_ops_without_a_forward_rule_go_by_rows() -> None:
    square = tg.custom_op("square", lambda x: x**2, vjp=lambda y_bar, y, x: 2 * x * y_bar)
    fit = tg.optimize.least_squares(lambda p: square(p) - 4.0, np.array([1.0, 3.0]), method="native")
    np.testing.assert_allclose(fit.x, 2.0, rtol=1e-6)


@pytest.mark.parametrize("solver", ["qr", "normal"])
def test_parameters_that_change_nothing_stay(solver: str) -> None:
    fit = tg.optimize.least_squares(
        lambda p: p[0] + p[1] * T + 0 * p[2] - 1.0, np.array([3.0, 2.0, 7.0]), method="native", solver=solver
    )
    assert fit.success
    assert fit.x[2] == 7.0
    np.testing.assert_allclose(fit.x[:2], [1.0, 0.0], atol=1e-8)
    assert np.isinf(fit.covariance).all()


def test_parameters_that_cannot_be_told_apart_share_what_there_is() -> None:
    fit = tg.optimize.least_squares(lambda p: (p[0] + p[1]) * T - T, np.array([3.0, 3.0]), method="native")
    assert fit.success
    assert fit.cost < 1e-20
    np.testing.assert_allclose(fit.x, [0.5, 0.5])


def test_steps_to_where_residuals_are_not_finite_are_shortened() -> None:
    fit = tg.optimize.least_squares(lambda p: tg.log(p) - 1.0, np.array([60.0]), method="native")
    assert fit.x[0] == pytest.approx(np.e)


def test_nothing_to_fit_is_fitted() -> None:
    fit = tg.optimize.least_squares(lambda p: p[:0] + np.zeros(0), np.ones(2), method="native")
    assert fit.status == 1
    assert fit.cost == 0
    assert fit.fun.shape == (0,)
    assert fit.jac.shape == (0, 2)


def test_the_maximum_of_evaluations_is_kept() -> None:
    fit = tg.optimize.least_squares(misfit, START, method="native", max_nfev=2)
    assert (fit.status, fit.success, fit.nfev) == (0, False, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bounds": ([0, 0], [1, 1])}, "shape"),
        ({"bounds": (2, 1)}, "greater"),
        ({"bounds": (0.1, 9)}, "infeasible"),
        ({"bounds": 3}, "pair"),
        ({"loss": "l1"}, "soft_l1"),
        ({"f_scale": 0}, "positive"),
        ({"ftol": -1}, "negative"),
        ({"ftol": None, "xtol": None, "gtol": None}, "one of"),
        ({"x_scale": [1, 2]}, "x_scale"),
        ({"solver": "svd"}, "qr"),
        ({"steps": "bent"}, "geodesic"),
        ({"steps": "geodesic", "loss": "huber"}, "plain"),
        ({"max_nfev": 0}, "max_nfev"),
    ],
)
def test_bad_settings_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tg.optimize.least_squares(misfit, START, method="native", **options)


def test_arguments_of_other_methods_are_refused() -> None:
    with pytest.raises(TypeError, match="tr_solver"):
        tg.optimize.least_squares(misfit, START, method="native", tr_solver="lsmr")


@pytest.mark.parametrize(
    ("model", "start"),
    [(lambda p: tg.log(p), [-1.0]), (lambda p: tg.sqrt(p), [0.0])],
    ids=["residuals", "derivatives"],
)
def test_a_start_that_is_not_finite_is_refused(model: Any, start: list[float]) -> None:
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="finite"):
        tg.optimize.least_squares(model, start, method="native")


def test_no_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match="no elements"):
        tg.optimize.least_squares(lambda p: p, np.zeros(0), method="native")
