"""Methods for stiff equations: SciPy's Radau, and derivatives of the numbers that are computed."""

import functools
from typing import Any

import numpy as np
import pytest
import scipy.integrate
from scipy.linalg import expm

import tapegrad as tg
from tapegrad.errors import UnsupportedError
from tapegrad.integrate import solve_ivp

METHODS = ("Radau", "Rodas5P")
RATES = np.array([0.04, 3e7, 1e4])
TIMES = np.array([0.0, 40.0, 4e3, 4e5])
MATRIX = np.array([[-0.5, 20.0], [-1.5, -30.0]])


def robertson(t: Any, y: Any, k: Any) -> Any:
    made, lost = k[0] * y[0], k[2] * y[1] * y[2]
    return [lost - made, made - lost - k[1] * y[1] ** 2, k[1] * y[1] ** 2]


def robertson_jacobian(t: Any, y: Any, k: Any) -> Any:
    return [
        [-k[0], k[2] * y[2], k[2] * y[1]],
        [k[0], -k[2] * y[2] - 2 * k[1] * y[1], -k[2] * y[1]],
        [0, 2 * k[1] * y[1], 0],
    ]


def oscillator(t: Any, y: Any, mu: Any) -> Any:
    return [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]]


def oscillator_jacobian(t: Any, y: Any, mu: Any) -> Any:
    return [[0, 1], [-2 * mu * y[0] * y[1] - 1, mu * (1 - y[0] ** 2)]]


def linear(t: Any, y: Any, matrix: Any) -> Any:
    return matrix @ y


PROBLEMS = {
    "Robertson": (robertson, robertson_jacobian, [1.0, 0.0, 0.0], RATES, TIMES),
    "van der Pol": (oscillator, oscillator_jacobian, [2.0, 0.0], 1e3, np.array([0.0, 500.0, 1000.0])),
}


TIGHT = {"rtol": 3e-12, "atol": 1e-14}


@functools.cache
def reference(problem: str) -> np.ndarray:
    """Return SciPy's states, which take it seconds."""
    fun, jacobian, start, argument, times = PROBLEMS[problem]
    return scipy.integrate.solve_ivp(
        fun, (0, times[-1]), start, "Radau", times, args=(argument,), jac=jacobian, **TIGHT
    ).y


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_known_problems(method, problem):
    fun, _, start, argument, times = PROBLEMS[problem]
    options = {"t_eval": times, "args": (argument,), **TIGHT}
    found = solve_ivp(fun, (0, times[-1]), start, method, **options)
    np.testing.assert_allclose(found.y, reference(problem), rtol=1e-10, atol=1e-10)
    assert found.status == 0


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("options", [{}, {"rtol": 1e-6, "max_step": 50.0, "first_step": 1e-3}])
def test_radau_takes_scipys_steps(problem, options):
    fun, jacobian, start, argument, _ = PROBLEMS[problem]
    options = {"args": (argument,), "dense_output": True, **options}
    span = (0.0, 700.0)  # of van der Pol's oscillator before it jumps, which makes much of roundings
    found = solve_ivp(fun, span, start, "Radau", **options)
    expected = scipy.integrate.solve_ivp(fun, span, start, "Radau", jac=jacobian, **options)
    assert found.t.shape == expected.t.shape
    np.testing.assert_allclose(found.t, expected.t, rtol=1e-6)
    np.testing.assert_allclose(found.y, expected.y, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(found.sol(123.4), expected.sol(123.4), rtol=1e-6)
    assert (found.nfev, found.njev, found.nlu) == (expected.nfev, expected.njev, expected.nlu)


@pytest.mark.parametrize(("method", "span"), [("Radau", (1.0, 0.0)), ("Rodas5P", (0.0, 1.0))])
def test_dense_output(method, span):
    times = np.linspace(*span, 9)
    found = solve_ivp(
        linear, span, [1.0, 2.0], method, args=(MATRIX,), rtol=1e-9, atol=1e-9, dense_output=True
    )
    expected = np.stack([expm(MATRIX * (t - span[0])) @ [1.0, 2.0] for t in times], 1)
    np.testing.assert_allclose(found.sol(times), expected, rtol=2e-6)
    given = solve_ivp(linear, span, [1.0, 2.0], method, times, args=(MATRIX,), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(given.y, found.sol(times), rtol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_orders(method):
    """The steps of both are of order 5, and the interpolant of Rodas5P of order 4."""

    def error(step: float, time: float) -> float:
        options = {"first_step": step, "max_step": step, "rtol": 1e3, "atol": 1e3, "dense_output": True}
        found = solve_ivp(lambda t, y: [-2 * t * y[0] ** 2], (0, 1), [1.0], method, **options)
        return float(abs(found.sol(time)[0] - 1 / (1 + time**2)))

    assert error(0.1, 1.0) < 1e-5
    if method == "Rodas5P":
        assert error(0.1, 1.0) / error(0.05, 1.0) == pytest.approx(32, rel=0.2)
        assert error(0.1, 0.55) / error(0.05, 0.525) > 12


@pytest.mark.parametrize("method", METHODS)
def test_many_equations(method):
    """The heat equation, of more equations than matrices that are inverted."""

    def heat(t: Any, u: Any) -> Any:
        return 400 * (np.roll(u, 1) - 2 * u + np.roll(u, -1)) - u**2

    start = np.sin(np.arange(20.0))
    found = solve_ivp(heat, (0, 1), start, method, [0.1, 1.0], rtol=1e-9, atol=1e-9)
    expected = scipy.integrate.solve_ivp(heat, (0, 1), start, "Radau", [0.1, 1.0], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.y, expected.y, atol=1e-8)
    assert found.nfev < 6000


@pytest.mark.parametrize("method", METHODS)
def test_float32(method):
    found = solve_ivp(oscillator, (0, 2), np.array([2.0, 0.0], np.float32), method, [2.0], args=(5.0,))
    expected = solve_ivp(oscillator, (0, 2), [2.0, 0.0], method, [2.0], args=(5.0,))
    assert found.y.dtype == np.float32
    np.testing.assert_allclose(found.y, expected.y, rtol=1e-2)


@pytest.mark.parametrize("method", METHODS)
def test_an_interval_of_no_length(method):
    found = solve_ivp(linear, (1, 1), [1.0, 2.0], method, args=(MATRIX,), dense_output=True)
    assert found.y.T.tolist() == [[1, 2], [1, 2]]
    assert found.sol(1.0).tolist() == [1, 2]


def test_a_slope_with_branches():
    def bent(t: Any, y: Any, p: Any) -> Any:
        if t > 1.0:
            return [-p * y[0]]
        return [-2 * p * y[0]]

    def left(p: Any) -> Any:
        return solve_ivp(bent, (0, 2), [1.0], "Radau", [2.0], args=(p,), rtol=1e-6, atol=1e-8).y[0, 0]

    value, slope = tg.value_and_grad(tg.jit(left))(0.5)
    np.testing.assert_allclose([value, slope], [np.exp(-1.5), -3 * np.exp(-1.5)], rtol=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_steps_that_are_rejected_for_a_nan_leave_derivatives_alone(method):
    def drained(t: Any, y: Any, p: Any) -> Any:
        return [-p * np.sqrt(y[0]), y[0] ** 2 - y[1]]

    def level(p: Any) -> Any:
        options = {"args": (p,), "rtol": 1e-8, "atol": 1e-8, "first_step": 1.5}
        return solve_ivp(drained, (0, 1.5), [1.0, 0.0], method, [1.5], **options).y[0, 0]

    value, slope = tg.value_and_grad(tg.jit(level))(1.2)
    np.testing.assert_allclose([value, slope], [0.01, -0.15], rtol=1e-5)


# --- failures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_solution_that_ends(method):
    times = [0.0, 0.5, 2.0]
    found = solve_ivp(lambda t, y: y * y, (0, 3), [1.0], method, times)
    assert (found.status, found.success) == (-1, False)
    assert found.message.startswith(
        "Required step size is less than spacing between numbers. It has stopped at t=1"
    )
    assert found.t.tolist() == [0.0, 0.5]
    assert solve_ivp(lambda t, y: y * np.nan, (0, 3), [1.0], method, [2.0]).status == -1


def test_methods_that_are_not_there():
    for method in ("BDF", "LSODA"):
        with pytest.raises(UnsupportedError, match="write method='Radau' or method='Rodas5P'"):
            solve_ivp(linear, (0, 1), [1.0, 2.0], method, args=(MATRIX,))


# --- derivatives -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_derivatives_of_robertson(method):
    @tg.jit
    def states(rates: Any, start: Any) -> Any:
        return solve_ivp(
            robertson, (0, 40), start, method, [0.4, 40.0], args=(rates,), rtol=1e-9, atol=1e-12
        ).y

    start = np.array([1.0, 0.0, 0.0])
    reverse = tg.jacrev(states, argnums=(0, 1))(RATES, start)
    forward = tg.jacfwd(states, argnums=(0, 1))(RATES, start)
    for x, y in zip(reverse, forward, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-12)

    def with_sensitivities(t: float, z: np.ndarray) -> np.ndarray:
        y, by = z[:3], z[3:].reshape(3, 3)
        direct = np.array([[-y[0], 0, y[1] * y[2]], [y[0], -(y[1] ** 2), -y[1] * y[2]], [0, y[1] ** 2, 0]])
        slopes = np.asarray(robertson_jacobian(t, y, RATES)) @ by + direct
        return np.concatenate([robertson(t, y, RATES), slopes.ravel()])

    whole = np.concatenate([start, np.zeros(9)])
    expected = scipy.integrate.solve_ivp(
        with_sensitivities, (0, 40), whole, "Radau", [0.4, 40.0], rtol=1e-9, atol=1e-14
    ).y[3:]
    expected = expected.reshape(3, 3, 2).transpose(0, 2, 1)
    np.testing.assert_allclose(reverse[0] * RATES, expected * RATES, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize(("method", "wrap"), [("Radau", tg.jit), ("Rodas5P", lambda f: f)])
def test_derivatives_by_times(method, wrap):
    def end(begin: Any, last: Any) -> Any:
        return solve_ivp(
            linear, (begin, last), [1.0, 2.0], method, [last], args=(MATRIX,), rtol=1e-10, atol=1e-10
        ).y[:, 0]

    by_begin, by_end = tg.jacrev(wrap(end), argnums=(0, 1))(0.3, 0.8)
    slope = MATRIX @ expm(0.5 * MATRIX) @ [1.0, 2.0]
    np.testing.assert_allclose(by_begin, -slope, rtol=1e-6)
    np.testing.assert_allclose(by_end, slope, rtol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_second_derivatives(method):
    @tg.jit
    def energy(p: Any) -> Any:
        y = solve_ivp(oscillator, (0, 2), p[1:], method, [1.0, 2.0], args=(p[0],), rtol=1e-9, atol=1e-9).y
        return tg.sum(y**2)

    p = np.array([5.0, 2.0, 0.1])
    hessian = tg.hessian(energy)(p)
    step = 1e-4
    slope = tg.grad(energy)
    columns = [(slope(p + step * e) - slope(p - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(hessian, np.stack(columns, 1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_lanes(method):
    @tg.jit
    def end(mu: Any) -> Any:
        return solve_ivp(oscillator, (0, 3), [2.0, 0.0], method, [3.0], args=(mu,)).y[0, 0]

    many = np.array([1.0, 10.0, 300.0])
    values, slopes = tg.vmap(tg.value_and_grad(end))(many)
    for k, mu in enumerate(many):
        value, slope = tg.value_and_grad(end)(mu)
        np.testing.assert_allclose([values[k], slopes[k]], [value, slope], rtol=1e-9)
