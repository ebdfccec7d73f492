"""`tg.interop.ceres`: fits and bundle adjustment by Ceres Solver."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import least_squares

import tapegrad as tg

pyceres = pytest.importorskip("pyceres")
T = np.linspace(0, 5, 40)


def solve(problem: Any, **options: Any) -> Any:
    settings, summary = pyceres.SolverOptions(), pyceres.SolverSummary()
    settings.minimizer_progress_to_stdout = False
    settings.max_num_iterations = 100
    settings.function_tolerance = settings.parameter_tolerance = settings.gradient_tolerance = 1e-14
    for name, value in options.items():
        setattr(settings, name, value)
    pyceres.solve(settings, problem, summary)
    return summary


def exponential(m: Any, c: Any, data: Any) -> Any:
    return np.exp(m * T + c) - data


def test_fit_finds_the_parameters() -> None:
    cost = tg.interop.ceres(exponential, 0.0, 0.0, args=(np.exp(0.3 * T + 0.1),))
    assert repr(cost) == "<cost function of Ceres: exponential, blocks of 1, 1 -> 40>"
    problem, m, c = pyceres.Problem(), np.zeros(1), np.zeros(1)
    problem.add_residual_block(cost, None, [m, c])
    assert solve(problem).termination_type == pyceres.TerminationType.CONVERGENCE
    np.testing.assert_allclose([m[0], c[0]], [0.3, 0.1], rtol=1e-10)


def test_robust_fit_is_that_of_scipy() -> None:
    data = np.exp(0.3 * T + 0.1) + 0.1 * np.cos(37 * T)
    data[::9] += 6.0
    point = tg.jit(lambda m, c, t, y: np.exp(m * t + c) - y)
    problem, m, c = pyceres.Problem(), np.array([0.2]), np.array([0.3])
    for t, y in zip(T, data, strict=True):  # each has a loss of its own
        cost = tg.interop.ceres(point, 0.0, 0.0, args=(float(t), float(y)))
        problem.add_residual_block(cost, pyceres.CauchyLoss(0.5), [m, c])
    solve(problem)
    expected = least_squares(
        lambda p: np.exp(p[0] * T + p[1]) - data,
        [0.2, 0.3],
        loss="cauchy",
        f_scale=0.5,
        xtol=1e-14,
        ftol=1e-14,
    )
    np.testing.assert_allclose([m[0], c[0]], expected.x, rtol=1e-6)
    assert abs(m[0] - 0.3) < 0.01  # outliers would move it by more


def test_jacobians_are_those_by_complex_steps() -> None:
    def residuals(matrix: Any, p: Any, s: Any, w: Any) -> Any:
        return [np.sin(matrix @ p["v"]) * s, p["a"] ** 2 / w]

    rng = np.random.default_rng(0)
    x0 = rng.normal(size=(2, 3)), {"a": 0.7, "v": rng.normal(size=3)}, 1.3
    cost = tg.interop.ceres(residuals, *x0, args=(2.0,))
    vectors = [rng.normal(size=each) for each in (6, 4, 1)]

    def flat(matrix: Any, p: Any, s: Any) -> Any:
        parts = residuals(matrix.reshape(2, 3), {"a": p[0], "v": p[1:]}, s[0], 2.0)
        return np.hstack(parts)

    value, jacobians = cost.evaluate(*vectors)
    np.testing.assert_allclose(value[:, 0], flat(*vectors), rtol=1e-14)
    for block, jacobian in enumerate(jacobians):
        for column in range(vectors[block].size):
            moved = [each.astype(complex) for each in vectors]
            moved[block][column] += 1e-30j
            np.testing.assert_allclose(jacobian[:, column], flat(*moved).imag / 1e-30, rtol=1e-12, atol=1e-15)


def rotated(q: Any, x: Any) -> Any:
    """Rotate by a unit quaternion (w, x, y, z)."""
    return x + 2 * np.cross(q[1:], np.cross(q[1:], x) + q[0] * x)


def test_bundle_adjustment_with_shared_blocks() -> None:
    def reprojection(q: Any, t: Any, point: Any, seen: Any) -> Any:
        seen_from = rotated(q, point) + t
        return 500 * seen_from[:2] / seen_from[2] - seen

    rng = np.random.default_rng(1)
    points = rng.uniform(-1, 1, (8, 3)) + np.array([0, 0, 5])
    turns = np.array([[1, 0, 0, 0], [1, 0.1, -0.1, 0.05], [1, -0.1, 0.2, 0.0]])
    turns /= np.linalg.norm(turns, axis=1)[:, None]
    shifts = np.array([[0, 0, 0], [1.0, 0.1, 0.2], [-1.0, 0.2, 0.1]])
    quaternions = [turns[0].copy(), *(q + 0.02 * rng.normal(size=4) for q in turns[1:])]
    quaternions = [q / np.linalg.norm(q) for q in quaternions]
    translations = [shifts[0].copy(), shifts[1].copy(), shifts[2] + 0.05]
    guesses = [point + 0.1 * rng.normal(size=3) for point in points]
    problem, project = pyceres.Problem(), tg.jit(reprojection)
    for q, t, turn, shift in zip(quaternions, translations, turns, shifts, strict=True):
        for guess, point in zip(guesses, points, strict=True):
            seen_from = rotated(turn, point) + shift
            seen = 500 * seen_from[:2] / seen_from[2]
            cost = tg.interop.ceres(project, q, t, guess, args=(seen,))
            problem.add_residual_block(cost, None, [q, t, guess])
    for q in quaternions:
        problem.set_manifold(q, pyceres.QuaternionManifold())
    for fixed in (
        quaternions[0],
        translations[0],
        translations[1],
    ):  # position, direction and scale of the scene
        problem.set_parameter_block_constant(fixed)
    assert solve(problem).final_cost < 1e-20
    np.testing.assert_allclose(guesses, points, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(quaternions, axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(translations[2], shifts[2], atol=1e-9)


def test_residuals_alone_come_first() -> None:
    cost = tg.interop.ceres(exponential, 0.0, 0.0, args=(np.zeros(40),))
    problem, m, c = pyceres.Problem(), np.zeros(1), np.zeros(1)
    problem.add_residual_block(cost, None, [m, c])
    np.testing.assert_array_equal(problem.evaluate_residuals(), np.ones(40))
    problem.set_parameter_block_constant(m)
    problem.set_parameter_block_constant(c)
    assert solve(problem).final_cost == pytest.approx(20)


def test_single_jacobians_may_be_unwanted() -> None:
    cost = tg.interop.ceres(exponential, 0.0, 0.0, args=(np.zeros(40),))
    residuals, jacobian = np.empty(40), np.empty(40)
    assert cost.Evaluate([np.ones(1), np.ones(1)], residuals, [None, jacobian])
    np.testing.assert_allclose(jacobian, np.exp(T + 1), rtol=1e-14)


@pytest.mark.parametrize(
    "value", [lambda x: x, lambda x: tg.linalg.cholesky(tg.reshape(x, (1, 1)))[0, 0]], ids=["nan", "cholesky"]
)
def test_steps_to_where_there_is_no_value_are_taken_back(
    value: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    cost, x = (
        tg.interop.ceres(lambda x: tg.log(value(x)), 10.0),
        np.array([10.0]),
    )  # the full step ends at -13
    problem = pyceres.Problem()
    problem.add_residual_block(cost, None, [x])
    assert solve(problem).termination_type == pyceres.TerminationType.CONVERGENCE
    assert x[0] == pytest.approx(1, abs=1e-8)
    assert cost.error is None
    assert "Step failed to evaluate" in capfd.readouterr().err


@pytest.mark.parametrize("threads", [1, 2])
def test_exceptions_are_failed_evaluations(threads: int, capfd: pytest.CaptureFixture[str]) -> None:
    @tg.custom_op("small", vjp=lambda y_bar, y, x: y_bar)
    def small(x: Any) -> Any:
        if x < 5:
            raise ArithmeticError("below 5")
        return x

    cost, x, other = tg.interop.ceres(lambda x: small(x), 10.0), np.array([10.0]), np.array([1.0])
    problem = pyceres.Problem()
    problem.add_residual_block(cost, None, [x])
    for _ in range(8):
        problem.add_residual_block(tg.interop.ceres(lambda x: x - 1, 0.0), None, [other])
    solve(problem, num_threads=threads)
    assert x[0] >= 5
    assert "below 5" in "".join(map(str, (cost.error, cost.error.__cause__, cost.error.__context__)))
    assert "below 5" in capfd.readouterr().err
    x[0] = 1.0
    assert solve(problem, num_threads=threads).termination_type == pyceres.TerminationType.FAILURE


def test_what_is_refused() -> None:
    with pytest.raises(
        TypeError, match=r"takes an example of each parameter block: tg\.interop\.ceres\(f, x0, y0\)"
    ):
        tg.interop.ceres(lambda: 0.0)
    with pytest.raises(TypeError, match="returned None"):
        tg.interop.ceres(lambda x: None, 0.0)
    with pytest.raises(np.linalg.LinAlgError):
        tg.interop.ceres(lambda x: tg.linalg.cholesky(tg.reshape(x, (1, 1)))[0], -1.0)
