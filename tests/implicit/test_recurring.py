"""Functions that are made anew for each call of a solver: their recordings are found again, and never stale ones."""

import gc
import itertools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.frontend.tensor.static_keys import IdentityKey
from tapegrad.implicit.known import recurring

T = np.linspace(0.0, 1.0, 8)
CALLS = itertools.count()
FACTOR = 1.0


def line(slope: Any) -> Callable[..., Any]:
    """Return residuals that are new with each call, and count those that are recorded."""
    return lambda p: (next(CALLS), p[0] + p[1] * T - slope * T - 1.0)[1]


def scaled(slope: Any, scale: Callable[..., Any]) -> Callable[..., Any]:
    return lambda p: (next(CALLS), scale(p[0] + p[1] * T) - slope * T - 1.0)[1]


def square(residuals: Callable[..., Any]) -> Callable[..., Any]:
    return lambda p: np.sum(residuals(p) ** 2)


def recorded(call: Callable[[], Any]) -> int:
    """Return how often a function that counts was run by a call."""
    before = next(CALLS)
    call()
    return next(CALLS) - before - 1


def effects(slope: Any) -> Callable[..., Any]:
    residuals = line(slope)
    return lambda p, u: np.sum((residuals(p) - u) ** 2) + np.sum(u**2)


SOLVERS: dict[str, Callable[[Any], Any]] = {
    "minimize": lambda slope: tg.optimize.minimize(square(line(slope)), np.ones(2), tol=1e-12).x,
    "native": lambda slope: tg.optimize.minimize(square(line(slope)), np.ones(2), method="native").x,
    "least_squares": lambda slope: tg.optimize.least_squares(line(slope), np.ones(2)).x,
    "curve_fit": lambda slope: tg.optimize.curve_fit(
        lambda t, a, b: (next(CALLS), a + b * t - slope * t)[1], T, np.ones(len(T)), np.zeros(2)
    )[0],
    "laplace": lambda slope: tg.optimize.laplace(effects(slope), (np.ones(2), np.zeros(8)), random=1).x,
}


@pytest.mark.parametrize("name", SOLVERS)
def test_a_second_call_records_nothing(name: str) -> None:
    solve, slope = SOLVERS[name], 2.0 + len(name) / 8
    assert recorded(lambda: solve(slope)) > 0
    assert recorded(lambda: solve(slope)) == 0
    results = solve(slope), solve(slope + 1)
    for result, expected in zip(results, (slope, slope + 1), strict=True):
        np.testing.assert_allclose(result, [1.0, expected][: len(result)], rtol=1e-5)


A, B = np.ones(1), np.ones(1)
DIFFERENT: dict[str, tuple[Any, Any]] = {
    "numbers": (1.25, 1.5),
    "types of numbers": (1, True),
    "zeros": (0.0, -0.0),
    "arrays that are equal": (A, B),
    "functions over other numbers": (line(1.0), line(1.5)),
    "other functions": (lambda p: p, lambda p: -p),
    "objects": (object(), object()),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_functions_that_see_something_else_are_others(name: str) -> None:
    one, other = DIFFERENT[name]

    def closing(value: Any) -> Callable[..., Any]:
        return lambda p: (p, value)

    def by_default(value: Any) -> Callable[..., Any]:
        return lambda p, value=value: (p, value)

    for make in (closing, by_default):
        known = [recurring(make(value)) for value in (one, one, one)]
        assert known[1] is known[2], "kept from the second time on"
        assert recurring(make(other)) is not known[2]
        assert recurring(make(one)) is known[2]


def test_functions_in_closures_are_compared_by_what_they_see() -> None:
    def made(number: float) -> Callable[..., Any]:
        return scaled(2.0, lambda y: number * y)

    assert recurring(made(3.0)) is recurring(made(3.0))
    assert recurring(made(3.0)) is not recurring(made(4.0))


def test_what_changes_in_what_is_seen_is_noticed() -> None:
    weights, factors = [1.0], np.array([1.0])

    def solve() -> Any:
        return tg.optimize.minimize(
            lambda p: FACTOR * (p[0] - weights[0] * factors[0]) ** 2 + p[0] ** 2, np.zeros(1), tol=1e-12
        ).x[0]

    global FACTOR
    assert solve() == pytest.approx(0.5)
    weights[0] = 2.0
    assert solve() == pytest.approx(1.0)
    factors[0] = 3.0
    assert solve() == pytest.approx(3.0)
    FACTOR = 3.0
    try:
        assert solve() == pytest.approx(4.5)
    finally:
        FACTOR = 1.0


def test_a_callback_may_assign_to_what_the_function_reads() -> None:
    target = 1.0

    def callback(x: Any) -> None:
        nonlocal target
        target = 2.0

    def search() -> Any:
        return tg.optimize.minimize(
            lambda p: (next(CALLS), (p[0] - target) ** 2)[1], np.zeros(1), callback=callback
        )

    for _ in range(3):
        target = 1.0
        assert recorded(search) == 2


def test_a_function_that_assigns_to_what_it_reads_is_run_anew() -> None:
    runs = 0

    def count() -> None:
        nonlocal runs
        runs += 1

    def assigning() -> Callable[..., Any]:
        def function(p: Any) -> Any:
            nonlocal runs
            runs += 1
            return p + runs

        return function

    for make in (assigning, lambda: lambda p: (count(), p + runs)[1]):
        known = [recurring(make()) for _ in range(3)]
        assert len(set(known)) == 3
        assert known[0].stated.__closure__ is not None
        assert all(each.stated(1.0) == 1.0 + runs for each in known), (
            "with the variables of the function around"
        )


class Model:
    """A model with its data."""

    def __init__(self, target: float) -> None:
        self.target = target

    def __call__(self, p: Any) -> Any:
        next(CALLS)
        return (p[0] - self.target) ** 2

    loss = __call__


def test_ufuncs_methods_and_objects_are_kept() -> None:
    assert recurring(np.square) is recurring(np.square)
    model = Model(2.0)
    for function in (model, model.loss):
        counts = [recorded(lambda: tg.optimize.minimize(function, np.zeros(1))) for _ in range(3)]  # noqa: B023
        assert counts == [1, 1, 0], "kept from the second time on"
    assert recorded(lambda: tg.optimize.minimize(model.loss, np.zeros(1))) == 0
    model.target = 3.0
    assert tg.optimize.minimize(model.loss, np.zeros(1)).x[0] == pytest.approx(3.0)


def test_tensors_in_closures_are_those_of_the_call() -> None:
    def search(target: Any) -> Any:
        return tg.optimize.minimize(lambda p: (p[0] - target) ** 2, np.zeros(1), tol=1e-10).x[0]

    for number in (1.0, 2.0):
        assert search(tg.tensor(number, constant=True)) == pytest.approx(number)


def test_a_fit_keeps_the_function_that_it_was_made_of() -> None:
    slope = 2.0

    def fit() -> Any:
        return tg.optimize.laplace(
            lambda p, u: np.sum((p[0] + p[1] * T - slope * T - u) ** 2) + np.sum(u**2),
            (np.ones(2), np.zeros(8)),
            random=1,
        )

    first = fit()
    cov = first.cov.copy()
    slope = 5.0
    second = fit()
    assert second.x[1] == pytest.approx(5.0, rel=1e-4)
    assert first.x[1] == pytest.approx(2.0, rel=1e-4)
    np.testing.assert_array_equal(first.cov, cov)
    _, deviations = first.sample(np.random.default_rng(0), 2000)
    np.testing.assert_allclose(deviations.mean(axis=0), first.random, atol=0.1)


class Holder:
    """An object that may hold much."""


def fitted(data: Any) -> Any:
    """Return a reference to what an objective closes over, after it was minimised."""
    tg.optimize.minimize(lambda p: (data, p[0] ** 2)[1], np.zeros(1))
    return weakref.ref(data[0] if isinstance(data, list) else data)


@pytest.mark.parametrize("size", [100, 3_000_000])
def test_only_small_data_are_kept_for_one_call(size: int) -> None:
    owner = fitted(np.ones(size))
    gc.collect()
    assert (owner() is not None) == (size == 100)
    owner = fitted(Holder())
    gc.collect()
    assert owner() is None


@pytest.mark.parametrize("make", [Holder, lambda: np.ones(3_000_000), lambda: [Holder()]])
def test_data_at_the_address_of_data_that_are_gone_come_for_the_first_time(
    make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(IdentityKey, "__hash__", lambda key: 0)  # as if at one address
    owners = [fitted(make()) for _ in range(3)]
    gc.collect()
    assert [owner() for owner in owners] == [None] * 3
    data = make()
    owner, data = [fitted(data), fitted(data)][1], None
    gc.collect()
    assert owner() is not None, "what comes again is kept"


def test_functions_may_close_over_themselves_and_over_what_has_no_value_yet() -> None:
    def model(p: Any) -> Any:
        return later(p) + model(p) if p.size > 1 else (p[0] - 1.0) ** 2

    assert tg.optimize.minimize(model, np.zeros(1)).x[0] == pytest.approx(1.0)
    later = model
