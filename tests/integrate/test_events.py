"""Events: SciPy's times and states, and their derivatives."""

from typing import Any

import numpy as np
import pytest
import scipy.integrate

import tapegrad as tg
from tapegrad.errors import UnsupportedError
from tapegrad.integrate import solve_ivp

METHODS = ("DOP853", "Radau")


def event(function: Any, terminal: Any = False, direction: float = 0) -> Any:
    function.terminal, function.direction = terminal, direction
    return function


def swing(t: Any, y: Any, p: Any) -> Any:
    return [y[1], -p * np.sin(y[0])]


def throw(t: Any, y: Any, p: Any) -> Any:
    return [y[1], -p]


def height(t: Any, y: Any, p: Any) -> Any:
    return y[0]


def speed(t: Any, y: Any, p: Any) -> Any:
    return y[1] - 0.1


def check(method: str, events: Any, **options: Any) -> Any:
    options = {"args": (2.0,), "rtol": 1e-6, "atol": 1e-6, **options}
    found = solve_ivp(swing, (0, 9), [1.0, 0.0], method, events=events, **options)
    expected = scipy.integrate.solve_ivp(swing, (0, 9), [1.0, 0.0], method, events=events, **options)
    assert (found.status, found.message) == (expected.status, expected.message)
    for x, y in zip(found.t_events + found.y_events, expected.t_events + expected.y_events, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(found.t, expected.t, rtol=1e-6)
    np.testing.assert_allclose(found.y, expected.y, rtol=1e-5, atol=1e-6)
    return found, expected


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("direction", "terminal"), [(0, False), (1, True), (-1, 2)])
def test_one_event_is_scipys(method, direction, terminal):
    check(method, event(lambda t, y, p: y[0] - 0.3, terminal, direction))


@pytest.mark.parametrize("options", [{"t_eval": np.linspace(0, 9, 19)}, {"dense_output": True}])
def test_several_events_are_scipys(options):
    events = [
        event(lambda t, y, p: y[0] - 0.3),
        event(lambda t, y, p: y[1], 3),
        event(lambda t, y, p: y[0] - 7),
    ]
    found, expected = check("RK45", events, **options)
    assert [len(times) for times in found.t_events] == [len(times) for times in expected.t_events]
    if found.sol is not None:
        np.testing.assert_allclose(found.sol.t_max, expected.sol.t_max)
        np.testing.assert_allclose(found.sol(1.5), expected.sol(1.5), rtol=1e-6)


def test_backwards_and_two_in_one_step():
    events = [event(lambda t, y: y[0] - 0.5, True), event(lambda t, y: y[0] - 0.6)]
    for span in ((0, 1), (0, -1)):
        options = {"events": events, "first_step": 0.9, "rtol": 1.0, "atol": 1.0}
        sign = np.sign(span[1])
        found = solve_ivp(lambda t, y, sign=sign: [sign], span, [0.0], "RK23", **options)
        expected = scipy.integrate.solve_ivp(lambda t, y, sign=sign: [sign], span, [0.0], "RK23", **options)
        assert [x.shape for x in found.t_events] == [x.shape for x in expected.t_events]
        np.testing.assert_allclose(found.t, expected.t)


@pytest.mark.parametrize("wrap", [lambda f: f, tg.jit], ids=["plain", "jit"])
def test_derivatives_of_time_and_state(wrap):
    landing = event(lambda t, y, p: height(t, y, p), True, -1)

    def landed(p: Any) -> Any:
        start = tg.stack([0 * p[0], p[1]])
        found = solve_ivp(
            throw, (0, 9), start, "RK45", [0.5, 8.0][: 1 + (wrap is tg.jit)], events=landing, args=(p[0],)
        )
        return tg.stack([found.t_events[0][0], found.y_events[0][0][1]])

    g, v = p = np.array([9.81, 10.0])
    time = np.array([-2 * v / g**2, 2 / g])
    for transform in (tg.jacrev, tg.jacfwd):
        np.testing.assert_allclose(transform(wrap(landed))(p), [time, [0.0, -1.0]], atol=1e-12)
    np.testing.assert_allclose(landed(p), [2 * v / g, -v])
    hessian = tg.hessian(wrap(lambda p: landed(p)[0]))(p)
    np.testing.assert_allclose(hessian, [[4 * v / g**3, -2 / g**2], [-2 / g**2, 0]], atol=1e-12)


def test_recordings():
    landing = event(lambda t, y, p: y[0], True, -1)

    @tg.jit
    def flight(p: Any) -> Any:
        start = tg.stack([0 * p, 10 + 0 * p])
        found = solve_ivp(
            throw, (0, 9), start, t_eval=[1.0, 5.0], events=[landing, event(speed, True)], args=(p,)
        )
        return found.t_events, found.y_events, found.y, found.status

    times, states, y, status = tg.vmap(flight)(np.array([9.81, 1.0]))
    assert np.isnan(times[0]).all()
    np.testing.assert_allclose(times[1][:, 0], [9.9 / 9.81, np.nan])
    np.testing.assert_allclose(states[1][0, 0], [(100 - 0.01) / 2 / 9.81, 0.1], rtol=1e-9)
    np.testing.assert_allclose(y[0, :, 0], [10 - 9.81 / 2, 10 - 9.81])
    assert np.isnan(y[0, :, 1]).all()
    assert np.isfinite(y[1]).all()
    assert status.tolist() == [1, 0]


def test_bad_events_are_refused():
    with pytest.raises(ValueError, match="must be a boolean or a positive integer"):
        solve_ivp(throw, (0, 1), [0.0, 1.0], args=(1.0,), events=event(lambda t, y, p: y[0], -1))
    with pytest.raises(ValueError, match=r"returned shape \(2,\), but must return one number"):
        solve_ivp(throw, (0, 1), [0.0, 1.0], args=(1.0,), events=lambda t, y, p: y)
    with pytest.raises(UnsupportedError, match=r"event\.terminal = True"):
        tg.jit(lambda p: solve_ivp(throw, (0, 1), [0.0, 1.0], t_eval=[1.0], args=(p,), events=height).y)(1.0)
