"""`odeint`: SciPy's numbers at its tolerances."""

from typing import Any

import numpy as np
import pytest
import scipy.integrate

import tapegrad as tg
from tapegrad.integrate import odeint


def pendulum(y: Any, t: Any, b: Any, c: Any) -> Any:
    return [y[1], -b * y[1] - c * np.sin(y[0])]


@pytest.mark.parametrize("times", [np.linspace(0, 10, 21), np.linspace(3, -1, 5), np.array([2.0])])
def test_values_are_scipys(times):
    found = odeint(pendulum, [3.0, 0.0], times, args=(0.25, 5.0))
    expected = scipy.integrate.odeint(pendulum, [3.0, 0.0], times, args=(0.25, 5.0))
    np.testing.assert_allclose(found, expected, atol=3e-6)
    assert found.shape == expected.shape


def test_time_first_and_one_equation():
    times = np.linspace(0, 1, 3)
    found = odeint(lambda t, y, rate: rate * y, 2.0, times, args=-1.0, tfirst=True)
    np.testing.assert_allclose(found[:, 0], 2 * np.exp(-times), rtol=1e-7)
    assert found.shape == (3, 1)


def test_derivatives():
    def last(rate: Any) -> Any:
        return odeint(lambda y, t: rate * y, 1.0, [0.0, 0.5, 1.0])[-1, 0]

    for function in (last, tg.jit(last)):
        np.testing.assert_allclose(tg.grad(function)(0.5), np.exp(0.5), rtol=1e-7)


def test_what_is_not_reached_is_nan():
    found = odeint(lambda y, t: y * y, 1.0, [0.0, 0.5, 2.0])
    np.testing.assert_allclose(found[:2, 0], [1.0, 2.0], rtol=1e-6)
    assert np.isnan(found[2, 0])
    start = tg.tensor(1.0)
    found = odeint(lambda y, t: y * y, start, [0.0, 0.5, 2.0])
    tg.sum(found[:2]).backward(retain_graph=True)
    np.testing.assert_allclose(start.grad, 5.0, rtol=1e-5)
    with pytest.raises(tg.UnreachedOutputError, match="stopped at t="):
        tg.sum(found).backward()


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="t has shape"):
        odeint(pendulum, [3.0, 0.0], 1.0)
    with pytest.raises(TypeError, match="odeint takes a function"):
        odeint(None, [3.0, 0.0], [0.0, 1.0])


def test_names_that_are_not_there():
    with pytest.raises(AttributeError, match="there are solve_ivp, odeint and quad"):
        _ = tg.integrate.dblquad


@pytest.mark.parametrize(
    "times", [[0.0, 1.0, 1.0, 2.0], [0.0, 0.0, 1.0], [0.0, 1.0, 2.0, 2.0], [2.0, 1.0, 1.0, 0.0], [1.0, 1.0]]
)
def test_times_may_be_repeated(times):
    def states(y0):
        return odeint(lambda y, t: -y, y0, times)[:, 0]

    wanted = np.exp(times[0] - np.array(times))
    for found in (states(np.ones(1)), tg.jit(states)(np.ones(1)), tg.jacobian(states)(np.ones(1))[:, 0]):
        np.testing.assert_allclose(found, wanted, rtol=1e-7)


def test_times_in_no_order_are_refused():
    def states(times):
        return odeint(lambda y, t: -y, [1.0], times)

    for function in (states, tg.jit(states)):
        function(np.array([0.0, 1.0, 2.0]))
        with pytest.raises(ValueError, match="odeint: values of t must increase, or decrease"):
            function(np.array([0.0, 2.0, 1.0]))
