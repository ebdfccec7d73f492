"""`minimize(method="native")` and ``"native-newton"``: SciPy's minima, many starts, and what goes wrong."""

import importlib
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import tapegrad as tg
from tapegrad.engine.codegen.store import cache
from tapegrad.engine.codegen.translator.compiler import ENTRY_POINTS

METHODS = ("native", "native-newton")
N = 6


def rosenbrock(x: Any) -> Any:
    return tg.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def starts(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-2, 2, (count, N))


@pytest.mark.parametrize("loop", ["newton.run_newton", "quasi_newton.run_quasi_newton"])
def test_loops_are_kept_for_other_processes(loop: str) -> None:
    """Numba would leave addresses of this process in a function that is given functions."""
    module, function = f"tapegrad.optimize.native.loops.{loop}".rsplit(".", 1)
    importlib.import_module(module)
    ENTRY_POINTS[module, function].compiled()
    assert cache.holds(module, function)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("options", [{}, {"strong_wolfe": True}], ids=["", "strong"])
def test_minima_are_found(method: str, options: dict[str, Any]) -> None:
    options = {"gtol": 1e-7, "ftol": 0.0, **options}
    result = tg.optimize.minimize(rosenbrock, starts(1)[0], method=method, options=options)
    assert result.success
    assert result.status == 0
    np.testing.assert_allclose(result.jac, 0, atol=1e-6)
    assert result.nfev == result.njev >= result.nit > 5
    assert ("nhev" in result) == (method == "native-newton")


def test_evaluations_are_about_as_many_as_scipys() -> None:
    f = tg.optimize.objective(tg.jit(rosenbrock), np.zeros(N))
    settings = {"gtol": 1e-6, "ftol": 0.0}
    ours = tg.optimize.minimize(f, None, method="native", starts=starts(20), options=settings)
    scipys = [
        scipy.optimize.minimize(f.fun, x, jac=True, method="L-BFGS-B", options=settings) for x in starts(20)
    ]
    assert ours.all_nfev.sum() < 1.15 * sum(result.nfev for result in scipys)
    other = scipy.optimize.minimize(f.fun, [-1, 1, 1, 1, 1, 1], jac=True).fun  # there are two minima
    for found in (ours.all_fun, np.array([result.fun for result in scipys])):
        assert np.all((found < 1e-9) | (abs(found - other) < 1e-9))


def test_bounds_are_kept_and_minima_are_scipys() -> None:
    f = tg.optimize.objective(
        lambda x: tg.sum((x[1:] - 0.5 * x[:-1] ** 2) ** 2) + tg.sum(x**4 - x), np.zeros(N)
    )
    settings = {"gtol": 1e-9, "ftol": 1e-15}
    for seed in range(15):
        draws = np.random.default_rng(seed)
        lower = draws.uniform(-1.0, 0.5, N)
        bounds = scipy.optimize.Bounds(lower, lower + draws.uniform(0.2, 1.5, N))
        start = draws.uniform(bounds.lb, bounds.ub)
        expected = scipy.optimize.minimize(
            f.fun, start, jac=True, method="L-BFGS-B", bounds=bounds, options=settings
        )
        found = tg.optimize.minimize(f, start, method="native", bounds=bounds, options=settings)
        assert np.all((bounds.lb <= found.x) & (found.x <= bounds.ub))
        assert found.fun == pytest.approx(expected.fun, rel=1e-9)
        np.testing.assert_allclose(found.x, expected.x, atol=1e-5)


def test_bounds_may_be_pairs_with_none() -> None:
    bounds = [(None, 1), (0, None), (0, 0)]
    found = tg.optimize.minimize(lambda x: tg.sum((x - 2) ** 2), np.zeros(3), method="native", bounds=bounds)
    np.testing.assert_allclose(found.x, [1.0, 2.0, 0.0])


@pytest.mark.parametrize("method", METHODS)
def test_results_of_many_starts_are_those_of_each_on_any_number_of_threads(method: str) -> None:
    f = tg.optimize.objective(tg.jit(rosenbrock), np.zeros(N))
    many = tg.optimize.minimize(f, None, method=method, starts=starts(40), threads=1)
    shared = tg.optimize.minimize(f, None, method=method, starts=starts(40), threads=3)
    np.testing.assert_array_equal(many.all_x, shared.all_x)
    assert many.all_x.shape == many.all_jac.shape == (40, N)
    for number in (0, 39):
        one = tg.optimize.minimize(f, starts(40)[number], method=method)
        np.testing.assert_array_equal(one.x, many.all_x[number])
        assert (one.nfev, one.nit, one.fun) == (
            many.all_nfev[number],
            many.all_nit[number],
            many.all_fun[number],
        )
    assert many.fun == many.all_fun.min()


@pytest.mark.parametrize("method", METHODS)
def test_a_start_that_fails_has_a_status_and_no_others_are_lost(method: str) -> None:
    begun = [[2.0], [-1.0], [3.0], [np.nan]]
    found = tg.optimize.minimize(
        lambda x: tg.sum(x - tg.log(x)),
        None,
        method=method,
        starts=begun,
        options={"gtol": 1e-8},
    )
    np.testing.assert_array_equal(found.all_status, [0, 2, 0, 2])
    np.testing.assert_allclose(found.all_x[[0, 2]], 1.0, atol=1e-6)
    assert found.success


@pytest.mark.parametrize("method", METHODS)
def test_infinity_is_a_wall(method: str) -> None:
    wall = tg.optimize.minimize(
        lambda x: tg.sum((x - 1) ** 2) - tg.sum(tg.log(x)), np.array([30.0]), method=method
    )
    assert wall.x[0] == pytest.approx((1 + 3**0.5) / 2, abs=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_branches_are_recorded_on_the_way(method: str) -> None:
    def bent(x: Any) -> Any:
        return 2 * tg.sum((x - 3.0) ** 2) - 4 if x[0] < 1.0 else tg.sum((x - 3.0) ** 2)

    found = tg.optimize.minimize(bent, None, method=method, starts=np.linspace(-4, 4, 30)[:, None], threads=2)
    np.testing.assert_allclose(found.all_x, 3.0, atol=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_errors_of_the_users_functions_are_raised(method: str) -> None:
    def refuse(x: np.ndarray) -> np.ndarray:
        if x[0] < 2:
            raise ArithmeticError("too small")
        return x.copy()

    op = tg.custom_op(
        "refuse", refuse, lambda y_bar, y, x: y_bar, jvp=lambda dots, y, x: dots[0], differentiable=True
    )
    with pytest.raises(ArithmeticError, match="too small"):
        tg.optimize.minimize(lambda x: tg.sum(op(x) ** 2), np.array([8.0]), method=method)


def test_structures_are_those_of_the_other_methods() -> None:
    found = tg.optimize.minimize(
        lambda p, c: (p["a"] - c) ** 2 + tg.sum(p["b"] ** 2),
        {"a": 0.0, "b": np.ones(2)},
        (3.0,),
        method="native",
    )
    assert found.x["a"] == pytest.approx(3.0)
    np.testing.assert_allclose(found.x["b"], 0, atol=1e-6)
    assert found.jac["b"].shape == (2,)


def test_limits_are_kept() -> None:
    start = starts(1)[0]
    assert tg.optimize.minimize(rosenbrock, start, method="native", options={"maxiter": 3}).nit == 3
    found = tg.optimize.minimize(rosenbrock, start, method="native", options={"maxfun": 4})
    assert (found.nfev, found.status, found.success) == (4, 1, False)


def test_progress_is_told() -> None:
    seen: list[tuple[int, int]] = []
    tg.optimize.minimize(
        rosenbrock,
        None,
        method="native",
        starts=starts(50),
        progress=lambda *told: seen.append(told),
        threads=1,
    )
    assert seen[-1] == (50, 50)
    assert len(seen) > 5


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"bounds": [(0, 1)]}, ValueError, "6 pairs"),
        ({"bounds": scipy.optimize.Bounds(3, 4)}, ValueError, "infeasible"),
        ({"options": {"eps": 1}}, TypeError, "eps"),
        ({"hess": np.eye}, TypeError, "hess"),
        ({"constraints": ({},)}, TypeError, "constraints"),
        ({"options": {"gtol": -1}}, ValueError, "negative"),
        ({"starts": np.zeros((3, 2))}, ValueError, "6 elements"),
        ({"starts": np.zeros((0, N))}, ValueError, "a row of parameters"),
        ({"starts": np.zeros(N)}, ValueError, "a row of parameters"),
        ({"starts": starts(2), "threads": 0}, ValueError, "threads"),
        ({"starts": starts(2), "progress": 3}, TypeError, "progress"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tg.optimize.minimize(rosenbrock, starts(1)[0], method="native", **options)


def test_other_methods_take_no_starts_and_newton_no_bounds() -> None:
    with pytest.raises(TypeError, match="starts"):
        tg.optimize.minimize(rosenbrock, np.zeros(N), starts=starts(2))
    with pytest.raises(ValueError, match="bounds"):
        tg.optimize.minimize(rosenbrock, np.zeros(N), method="native-newton", bounds=[(0, 1)] * N)
