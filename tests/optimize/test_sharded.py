"""Sums over parts as objectives: values and derivatives, kinds of parts, solvers, and files of evaluations."""

import functools
import itertools
import pickle
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.optimize

import tapegrad as tg
from helpers.worker_functions import logistic, part_from
from tapegrad.optimize.sharding import journal
from tapegrad.optimize.sharding.tree import Node, joined, nodes_of, total
from tapegrad.testing import check_grads

W = np.array([0.3, -0.5, 0.8])


def whole(count: int, rows: int = 40) -> dict[str, np.ndarray]:
    parts = [part_from(k, rows) for k in range(count)]
    return {name: np.concatenate([part[name] for part in parts]) for name in ("x", "y")}


def by_hand(w: np.ndarray, data: dict[str, np.ndarray]) -> tuple[float, np.ndarray, np.ndarray]:
    """Return value, gradient and Hessian in NumPy."""
    eta = data["x"] @ w
    p = 1 / (1 + np.exp(-eta))
    hessian = data["x"].T @ (data["x"] * (p * (1 - p))[:, None])
    return np.sum(np.logaddexp(0, eta) - data["y"] * eta), data["x"].T @ (p - data["y"]), hessian


# --- the tree ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 13, 100])
def test_bits_do_not_depend_on_who_adds_which_terms(count: int) -> None:
    rng = np.random.default_rng(count)
    terms = rng.standard_normal((count, 2)) * 10.0 ** rng.integers(-8, 8, (count, 1))

    def nodes(first: int, end: int) -> list[Node]:
        return nodes_of(((term[0], term.copy()) for term in terms[first:end]), first)

    one, vector = total(nodes(0, count))
    for _ in range(20):
        cuts = [0, *sorted(rng.integers(0, count + 1, rng.integers(0, 5)).tolist()), count]
        pieces = [nodes(*pair) for pair in itertools.pairwise(cuts)]
        middle = len(pieces) // 2
        halves = [joined(itertools.chain.from_iterable(each)) for each in (pieces[:middle], pieces[middle:])]
        other, others = total(itertools.chain.from_iterable(halves))
        assert other == one
        np.testing.assert_array_equal(others, vector)
    exact = sum(map(Fraction, terms[:, 0].tolist()))
    bound = np.finfo(float).eps * np.ceil(np.log2(count) + 1) * np.abs(terms[:, 0]).sum()
    assert abs(Fraction(float(one)) - exact) <= bound


def test_terms_are_added_as_the_tree_says() -> None:
    values = [1.0, 1e16, -1e16, 1.0, 3.0]
    assert total(nodes_of(((value,) for value in values), 0)) == (((1.0 + 1e16) + (-1e16 + 1.0)) + 3.0,)


# --- values and derivatives --------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1000, 40, 33, 7])
def test_value_and_derivatives_are_those_of_the_sum(rows: int) -> None:
    data = whole(5)
    value, gradient, hessian = by_hand(W, data)
    with tg.optimize.sharded(logistic, data, rows=rows) as f:
        assert f.parts == -(-200 // rows)
        np.testing.assert_allclose(f(W), value, rtol=1e-14)
        found, found_gradient = f.value_and_grad(W)
        assert found == f(W)
        np.testing.assert_allclose(found_gradient, gradient, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(f.grad(W), found_gradient)
        np.testing.assert_allclose(f.hessian(W), hessian, rtol=1e-12)
        np.testing.assert_allclose(f.hvp(W, gradient), hessian @ gradient, rtol=1e-12)
        matrix = f.hessian(W, sparse=True)
        np.testing.assert_allclose(matrix.toarray(), hessian, rtol=1e-12)


def test_against_thirty_digits() -> None:
    parts = [part_from(k, 5) for k in range(3)]

    def exact(*w: Any) -> Any:
        terms = mpmath.mpf(0)
        for part in parts:
            for x, y in zip(part["x"].tolist(), part["y"].tolist(), strict=True):
                eta = mpmath.fdot(x, w)
                terms += mpmath.log(1 + mpmath.exp(eta)) - y * eta
        return terms

    f = tg.optimize.sharded(logistic, parts)
    with mpmath.workdps(30):
        at = tuple(W.tolist())
        units = np.eye(3, dtype=int).tolist()
        gradient = [float(mpmath.diff(exact, at, tuple(unit))) for unit in units]
        third = float(mpmath.diff(exact, at, (2, 1, 0)))
        value = float(exact(*at))
    np.testing.assert_allclose(f(W), value, rtol=1e-14)
    np.testing.assert_allclose(f.grad(W), gradient, rtol=1e-10)
    # the op differentiates itself: third derivatives go through the sum of a derivative along two directions
    np.testing.assert_allclose(tg.jacobian(tg.hessian(f))(W)[0, 0, 1], third, rtol=1e-8)


def test_inside_of_other_functions_it_is_an_op() -> None:
    data = whole(3)
    f = tg.optimize.sharded(logistic, data, rows=50)
    value, gradient, hessian = by_hand(2 * W, data)

    def penalised(w: Any) -> Any:
        return f(2 * w) ** 2 + tg.sum(w**4)

    found, slopes = tg.value_and_grad(tg.jit(penalised))(W)
    np.testing.assert_allclose(found, value**2 + np.sum(W**4), rtol=1e-13)
    np.testing.assert_allclose(slopes, 4 * value * gradient + 4 * W**3, rtol=1e-12)
    second = 8 * np.outer(gradient, gradient) + 8 * value * hessian + np.diag(12 * W**2)
    np.testing.assert_allclose(tg.hessian(penalised)(W), second, rtol=1e-11)
    x = tg.tensor(W)
    f(x).backward()
    np.testing.assert_allclose(x.grad, by_hand(W, data)[1], rtol=1e-12)
    check_grads(penalised, W, order=2)
    with pytest.raises(tg.errors.UnsupportedError, match="bind them"):
        tg.grad(lambda w: f(w, 3.0))(W)


def scaled(p: Any, part: Any, factor: Any) -> Any:
    return factor * tg.sum((part - p["a"] * p["b"]) ** 2)


def test_parts_are_not_added_to() -> None:
    """A gradient that is a part itself is a copy of it, for sums are made in place."""
    parts = [np.ones(3), np.arange(3.0), np.full(3, 5.0)]
    f = tg.optimize.sharded(lambda w, part: part @ w, parts)
    for _ in range(2):
        np.testing.assert_array_equal(f.grad(W), [6.0, 7.0, 8.0])
    np.testing.assert_array_equal(parts[0], np.ones(3))


def test_structures_and_further_arguments() -> None:
    parts = [np.arange(3.0), np.ones(2), np.array([4.0])]
    p = {"a": 2.0, "b": 0.5}
    f = tg.optimize.sharded(scaled, parts, x0=p)
    value, gradient = f.value_and_grad(p, 3.0)
    assert value == 3 * (2 + 9)
    assert gradient == {"a": 3 * 2 * 0.5 * -3.0, "b": 3 * 2 * 2.0 * -3.0}
    vector = f.ravel(p)
    np.testing.assert_array_equal(f.grad(vector, 3.0), f.ravel(gradient))
    np.testing.assert_array_equal(f.hvp(p, p, 3.0)["a"], f.hessian(p, 3.0)[0] @ vector)
    assert f.at({"a": 1.0, "b": 1.0}) is f
    assert f.at(W).parts == 3
    assert f.at(W) is f.at(2 * W)


def test_lists_are_vectors_of_the_known_layout() -> None:
    recorded = 0

    def f(w: Any, part: Any) -> Any:
        nonlocal recorded
        recorded += 1
        return tg.sum((part - w) ** 2)

    total_of = tg.optimize.sharded(f, [np.zeros(2), np.ones(2)])
    for k in range(4):
        np.testing.assert_array_equal(total_of.grad([1.0, k]), [2.0, 4.0 * k - 2.0])
        np.testing.assert_array_equal(total_of.grad(np.array([1, k])), [2.0, 4.0 * k - 2.0])
    assert recorded < 5
    with pytest.raises(ValueError, match="but x0 has"):
        total_of(np.zeros(3))


def test_what_is_closed_is_computed_all_the_same(tmp_path: Path) -> None:
    f = tg.optimize.sharded(logistic, whole(5, 3000), rows=1000, checkpoint=tmp_path / "fit")
    before = f.grad(W)
    f.close()
    size = (tmp_path / "fit").stat().st_size
    for _ in range(2):
        np.testing.assert_array_equal(f.grad(W), before)
        f.grad(2 * W)
    assert (tmp_path / "fit").stat().st_size == size


def test_what_is_captured_is_seen_anew() -> None:
    weights = np.ones(3)
    settings = {"power": 2}

    def f(w: Any, part: Any) -> Any:
        return tg.sum(weights * (w - part) ** settings["power"])

    total_of = tg.optimize.sharded(f, [np.zeros(3), np.ones(3)])
    assert total_of(np.full(3, 3.0)) == 27 + 12
    weights[0] = 2.0
    assert total_of(np.full(3, 3.0)) == 36 + 16
    settings["power"] = 1
    assert total_of(np.full(3, 3.0)) == 12 + 8
    np.testing.assert_array_equal(total_of.grad(np.full(3, 3.0)), [4.0, 2.0, 2.0])


def test_branches_by_parameters_and_by_parts() -> None:
    def f(w: Any, part: Any) -> Any:
        return part[0] * w**2 if w > part[1] else -w

    parts = [np.array([2.0, 0.0]), np.array([3.0, 5.0])]
    total_of = tg.optimize.sharded(f, parts)
    for w in (1.0, -1.0, 6.0, 1.0):
        slopes = [2 * a * w if w > limit else -1.0 for a, limit in parts]
        assert total_of.grad(w) == sum(slopes), w


def test_failures_of_linear_algebra_are_as_the_caller_says() -> None:
    def f(w: Any, part: Any) -> Any:
        return tg.sum(tg.linalg.cholesky(part * w))

    total_of = tg.optimize.sharded(f, [np.eye(2) for _ in range(20)])
    with pytest.raises(np.linalg.LinAlgError):
        total_of(-1.0)
    with tg.linalg.errstate("nan"):
        assert np.isnan(total_of(-1.0))
    with pytest.raises(np.linalg.LinAlgError, match="part"):
        total_of(-1.0)


def test_many_threads_call_one_function() -> None:
    f = tg.optimize.sharded(logistic, whole(8, 500), rows=50)
    points = [W * k for k in range(6)]
    expected = [f.value_and_grad(w) for w in points]
    found: dict[int, Any] = {}
    threads = [
        threading.Thread(target=lambda k=k: found.update({k: f.value_and_grad(points[k])})) for k in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, (value, gradient) in enumerate(expected):
        assert found[k][0] == value
        np.testing.assert_array_equal(found[k][1], gradient)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_bits_do_not_depend_on_threads(threads: int) -> None:
    data = whole(4, 3000)
    f, one = (tg.optimize.sharded(logistic, data, rows=700, threads=count) for count in (threads, 1))
    with f, one:
        for _ in range(3):  # of which the later ones may have fewer threads
            np.testing.assert_array_equal(f.grad(W), one.grad(W))
            assert f(W) == one(W)


# --- parts -------------------------------------------------------------------------------------------------------


def test_parts_of_memory_mapped_files_and_functions(tmp_path: Path) -> None:
    data = whole(5)
    for name, array in data.items():
        np.save(tmp_path / f"{name}.npy", array)
    mapped = {name: np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in data}
    expected = tg.optimize.sharded(logistic, data, rows=40).grad(W)
    functions = [lambda k=k: part_from(k) for k in range(5)]
    mixed = [part_from(0), {name: mapped[name][40:80] for name in data}, *functions[2:]]
    for parts, options in ((mapped, {"rows": 40}), (functions, {}), (functions, {"keep": 0}), (mixed, {})):
        f = tg.optimize.sharded(logistic, parts, **options)
        np.testing.assert_array_equal(f.grad(W), expected)
        np.testing.assert_array_equal(f.grad(W), expected)


def test_what_fits_is_kept() -> None:
    read: list[int] = []

    def part(k: int) -> Any:
        read.append(k)
        return np.full(10, float(k))

    f = tg.optimize.sharded(
        lambda w, part: w * tg.sum(part), [lambda k=k: part(k) for k in range(4)], keep=170, threads=1
    )
    assert f.grad(1.0) == f.grad(2.0) == 60.0
    assert read.count(0) == read.count(1) == 1
    assert read.count(2) == read.count(3) == 2


class Chunked:
    """An array that is no NumPy array, such as one of zarr's."""

    chunks = (3, 2)

    def __init__(self, array: np.ndarray) -> None:
        self._array, self.shape = array, array.shape

    def __getitem__(self, key: Any) -> Any:
        return self._array[key]


def test_chunks_of_other_arrays() -> None:
    array = np.arange(14.0).reshape(7, 2)
    f = tg.optimize.sharded(lambda w, part: tg.sum(part @ w), Chunked(array))
    assert f.parts == 3
    np.testing.assert_array_equal(f.grad(np.ones(2)), array.sum(0))


def test_parts_that_are_none_are_refused() -> None:
    for parts, options, error, message in (
        (np.ones(3), {}, TypeError, "rows=n to cut"),
        ({"x": np.ones(3)}, {}, TypeError, "rows=n to cut"),
        (3.0, {}, TypeError, "are a float"),
        ([], {}, ValueError, "no parts"),
        (np.ones((0, 2)), {"rows": 2}, ValueError, "no parts"),
        (np.ones(3), {"rows": 0}, ValueError, "rows=0; it must be a positive integer"),
        ({"x": np.ones(3), "y": np.ones(4)}, {"rows": 2}, ValueError, r"data\['x'\]: 3, data\['y'\]: 4"),
        ({"x": np.ones(3), "y": 2.0}, {"rows": 2}, ValueError, r"data\['y'\]: None"),
        ([np.ones(3)], {"columns": ["a"]}, TypeError, "for Parquet files"),
        ([np.ones(3)], {"threads": 0}, ValueError, "threads=0"),
    ):
        with pytest.raises(error, match=message):
            tg.optimize.sharded(logistic, parts, **options)


def test_a_part_that_raises_is_named() -> None:
    def read(name: str, number: int) -> Any:
        if number == 2:
            raise FileNotFoundError(2, "No such file", name)
        return np.ones(2)

    parts = [functools.partial(read, f"{k}.dat", number=k) for k in range(4)]
    f = tg.optimize.sharded(lambda w, part: tg.sum(part * w), parts)
    for _ in range(2):
        with pytest.raises(FileNotFoundError) as info:
            f(1.0)
        (note,) = info.value.__notes__
        assert "in part 2 of 4 (" in note
        assert "read('2.dat', number=2))" in note
    wrong = tg.optimize.sharded(lambda w, part: tg.sum(part @ w), [np.ones((2, 3)), np.ones((2, 4))])
    with pytest.raises(ValueError, match="part 1 of 2"):
        wrong(np.ones(3))


# --- solvers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method", ["BFGS", "Newton-CG", "trust-exact", "L-BFGS-B", "native", "native-newton"]
)
def test_minimize_by_parts(method: str) -> None:
    data = whole(5, 100)
    f = tg.optimize.sharded(logistic, data, rows=30)
    found = tg.optimize.minimize(f, np.zeros(3), method=method, tol=1e-9)
    np.testing.assert_allclose(by_hand(found.x, data)[1], 0, atol=1e-4)
    one = tg.optimize.minimize(lambda w: logistic(w, data), np.zeros(3), method="trust-exact", tol=1e-12)
    np.testing.assert_allclose(found.x, one.x, atol=1e-6)


def test_in_densities_and_in_problems_with_constraints() -> None:
    data = whole(4)
    f = tg.optimize.sharded(logistic, data, rows=30)
    value, gradient, hessian = by_hand(W, data)
    log_density = tg.interop.emcee(lambda w: -f(w) - 0.5 * tg.sum(w**2), W)
    np.testing.assert_allclose(log_density(np.stack([W, W])), 2 * [-value - 0.5 * W @ W], rtol=1e-13)
    problem = tg.optimize.problem(f, W, lambda w: tg.sum(w), constraint_bounds=(1, 1))
    np.testing.assert_allclose(problem.objective(W), value, rtol=1e-14)
    np.testing.assert_allclose(problem.gradient(W), gradient, rtol=1e-12)
    rows, columns = problem.hessianstructure()
    lower = np.zeros((3, 3))
    lower[rows, columns] = problem.hessian(W, np.zeros(1), 1.0)
    np.testing.assert_allclose(lower, np.tril(hessian), rtol=1e-11)


T = np.linspace(0, 3, 50)
Y = 2.5 * np.exp(-1.3 * T) + 0.2 * np.sin(17 * T)


def decay_of(p: Any, part: Any) -> Any:
    return p["a"] * tg.exp(-p["k"] * part["t"]) - part["y"]


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_least_squares_by_normal_equations(method: str) -> None:
    f = tg.optimize.sharded(decay_of, {"t": T, "y": Y}, rows=7, residuals=True)
    start = {"a": 1.0, "k": 1.0}
    found = tg.optimize.least_squares(f, start, method=method, xtol=1e-14, ftol=1e-14, gtol=1e-14)
    plain = scipy.optimize.least_squares(
        lambda v: v[0] * np.exp(-v[1] * T) - Y, [1.0, 1.0], xtol=1e-14, ftol=1e-14, gtol=1e-14, method=method
    )
    np.testing.assert_allclose([found.x["a"], found.x["k"]], plain.x, rtol=1e-7)
    np.testing.assert_allclose(found.cost, plain.cost, rtol=1e-13)
    np.testing.assert_allclose(found.jac.T @ found.jac, plain.jac.T @ plain.jac, rtol=1e-6)
    cost, gradient, matrix = f.normal_equations(found.x)
    np.testing.assert_allclose(cost, plain.cost, rtol=1e-13)
    np.testing.assert_allclose(matrix, plain.jac.T @ plain.jac, rtol=1e-6)
    np.testing.assert_allclose(gradient, 0, atol=1e-6)
    np.testing.assert_allclose(f.value_and_grad(found.x)[0], cost, rtol=1e-14)


def test_least_squares_with_bounds_and_without_full_rank() -> None:
    f = tg.optimize.sharded(decay_of, {"t": T, "y": Y}, rows=7, residuals=True)
    bounds = ([0.0, 0.0], [2.0, 9.0])
    found = tg.optimize.least_squares(f, {"a": 1.0, "k": 1.0}, bounds=bounds)
    plain = scipy.optimize.least_squares(lambda v: v[0] * np.exp(-v[1] * T) - Y, [1.0, 1.0], bounds=bounds)
    np.testing.assert_allclose([found.x["a"], found.x["k"]], plain.x, rtol=1e-5)
    flat = tg.optimize.sharded(
        lambda x, part: part * (x[0] + x[1] - 3.0), [np.ones(2), np.ones(3)], residuals=True
    )
    x = tg.optimize.least_squares(flat, [0.0, 0.0]).x
    np.testing.assert_allclose(x, [1.5, 1.5])
    exact = tg.optimize.sharded(lambda x, part: part * x - part, [np.ones(2)], residuals=True)
    assert tg.optimize.least_squares(exact, [5.0]).cost < 1e-20


def test_least_squares_says_what_parts_do_not_have() -> None:
    f = tg.optimize.sharded(decay_of, {"t": T, "y": Y}, rows=7, residuals=True)
    start = {"a": 1.0, "k": 1.0}
    for options, message in (
        ({"method": "native"}, "leave out method='native'"),
        ({"sparse": True}, "sparse=True"),
        ({"loss": "soft_l1"}, "without a robust loss"),
    ):
        with pytest.raises(tg.errors.UnsupportedError, match=message):
            tg.optimize.least_squares(f, start, **options)
    with pytest.raises(TypeError, match="pass it to minimize"):
        tg.optimize.least_squares(tg.optimize.sharded(logistic, [part_from(0)]), np.zeros(3))
    with pytest.raises(TypeError, match="residuals=True"):
        tg.optimize.sharded(logistic, [part_from(0)]).normal_equations(W)


GROUPS, EACH = 4, 6


def counts(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(GROUPS), EACH)
    x = rng.standard_normal(GROUPS * EACH)
    rate = np.exp(0.5 + 0.3 * x + 0.7 * rng.standard_normal(GROUPS)[group])
    return {"x": x, "group": group, "y": rng.poisson(rate).astype(float)}


def joint(theta: Any, u: Any, part: Any) -> Any:
    """Compute minus the logarithm of the joint density of counts and effects."""
    eta = theta["mean"] + theta["slope"] * part["x"] + tg.exp(theta["log_sd"]) * u[part["group"]]
    effects = 0.5 * tg.sum(u**2) + 0.5 * u.size * np.log(2 * np.pi)
    return tg.sum(tg.exp(eta) - part["y"] * eta) + effects


def test_random_effects_by_parts() -> None:
    parts = [counts(seed) for seed in range(5)]
    one = {name: np.concatenate([part[name] for part in parts]) for name in ("x", "y")}
    one["group"] = np.concatenate([part["group"] + k * GROUPS for k, part in enumerate(parts)])
    start = {"mean": 0.0, "slope": 0.0, "log_sd": 0.0}
    whole_fit = tg.optimize.laplace(
        lambda theta, u: joint(theta, u, one), (start, np.zeros(5 * GROUPS)), random=1
    )
    f = tg.optimize.sharded(joint, parts)
    for effects in (np.zeros(GROUPS), lambda part: np.zeros(GROUPS)):
        fit = tg.optimize.laplace(f, (start, effects), random=1)
        assert fit.success
        np.testing.assert_allclose(fit.fun, whole_fit.fun, rtol=1e-12)
        for name in start:
            np.testing.assert_allclose(fit.x[name], whole_fit.x[name], atol=1e-5)
            np.testing.assert_allclose(fit.std_errors[name], whole_fit.std_errors[name], rtol=1e-4)
        assert [u.shape for u in fit.random] == [(GROUPS,)] * 5
        np.testing.assert_allclose(np.concatenate(fit.random), whole_fit.random, atol=1e-4)
        errors = np.concatenate(fit.random_std_errors)
        np.testing.assert_allclose(errors, whole_fit.random_std_errors, rtol=1e-4)
    with pytest.raises(tg.errors.UnsupportedError, match="close over what is fixed"):
        tg.optimize.laplace(f, (start, np.zeros(GROUPS)), random=1, map={"mean": -1})
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(fit)


# --- files of evaluations ----------------------------------------------------------------------------------------


class Counted:
    """Parts that count how often each of them is asked for."""

    def __init__(self) -> None:
        self.count = 0

    def parts(self) -> list[Any]:
        def part(k: int) -> Any:
            self.count += 1
            return part_from(k)

        return [lambda k=k: part(k) for k in range(4)]


def searched(f: Any) -> Any:
    return tg.optimize.minimize(f, np.zeros(3), method="BFGS", tol=1e-10)


def test_a_fit_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    path = tmp_path / "fit.evaluations"
    straight = searched(tg.optimize.sharded(logistic, Counted().parts()))

    class Interrupted(Exception):
        pass

    calls = 0

    def stopping(*args: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise Interrupted

    with tg.optimize.sharded(logistic, Counted().parts(), checkpoint=path) as f, pytest.raises(Interrupted):
        tg.optimize.minimize(f, np.zeros(3), method="BFGS", tol=1e-10, callback=stopping)
    written = path.read_bytes()
    path.write_bytes(written[:-5])  # the end of a process that was killed while it wrote
    counted = Counted()
    with tg.optimize.sharded(logistic, counted.parts(), checkpoint=path, keep=0) as f:
        found = searched(f)
        hessian, sparse = f.hessian(W), f.hessian(W, sparse=True)
    np.testing.assert_array_equal(found.x, straight.x)
    assert (found.nfev, found.fun) == (straight.nfev, straight.fun)
    assert 0 < counted.count < 4 * (straight.nfev + 2) + 1
    counted = Counted()
    with tg.optimize.sharded(logistic, counted.parts(), checkpoint=path, keep=0) as f:
        np.testing.assert_array_equal(searched(f).x, straight.x)
        assert counted.count <= 2 * 4  # the last evaluation is computed again, and a part may be recorded for
        np.testing.assert_array_equal(f.hessian(W), hessian)
        np.testing.assert_array_equal(f.hessian(W, sparse=True).toarray(), sparse.toarray())


def test_a_file_tells_arguments_and_directions_apart(tmp_path: Path) -> None:
    parts = [np.arange(3.0), np.ones(2)]
    p = {"a": 2.0, "b": 0.5}
    plain = tg.optimize.sharded(scaled, parts)
    for _ in range(2):
        with tg.optimize.sharded(scaled, parts, checkpoint=tmp_path / "fit") as f:
            for factor in (1.0, 3.0):
                assert f(p, factor) == plain(p, factor)
                assert f.grad(p, factor) == plain.grad(p, factor)
                for v in (p, {"a": 1.0, "b": 0.0}):
                    assert f.hvp(p, v, factor) == plain.hvp(p, v, factor)


def test_a_file_of_another_function_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fit.evaluations"
    with tg.optimize.sharded(logistic, [part_from(0), part_from(1)], checkpoint=path) as f:
        f.grad(np.zeros(3))
        f.grad(W)
        with pytest.raises(BlockingIOError, match="another function writes"):
            tg.optimize.sharded(logistic, [part_from(0)], checkpoint=path)
    for parts in ([part_from(0), part_from(2)], [part_from(0)]):
        with (
            tg.optimize.sharded(logistic, parts, checkpoint=path) as f,
            pytest.raises(ValueError, match="comes out differently now"),
        ):
            f.grad(np.zeros(3))
    with tg.optimize.sharded(logistic, [part_from(0), part_from(1)], checkpoint=path) as f:
        np.testing.assert_array_equal(f.grad(W), f.grad(W))
    other = tmp_path / "notes.txt"
    other.write_text("not a file of evaluations, but text")
    with pytest.raises(ValueError, match="is no file of evaluations"):
        tg.optimize.sharded(logistic, [part_from(0)], checkpoint=other)
    assert other.read_text().startswith("not a file")


def test_damage_in_the_middle_drops_what_follows(tmp_path: Path) -> None:
    path = tmp_path / "fit.evaluations"
    with tg.optimize.sharded(logistic, [part_from(0)], checkpoint=path) as f:
        sizes = []
        for k in range(3):
            f.grad(W * k)
            sizes.append(path.stat().st_size)
    content = bytearray(path.read_bytes())
    content[sizes[0] + 100] ^= 1
    path.write_bytes(content)
    with tg.optimize.sharded(logistic, [part_from(0)], checkpoint=path) as f:
        assert path.stat().st_size == sizes[0]
        np.testing.assert_array_equal(f.grad(W), tg.optimize.sharded(logistic, [part_from(0)]).grad(W))


class Full:
    """A file on a disk that is full."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, content: bytes) -> int:
        self._file.write(content[:10])
        self._file.flush()
        raise OSError(28, "No space left on device")


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "fit.evaluations"
    with tg.optimize.sharded(logistic, [part_from(0)], checkpoint=path) as f:
        f.grad(np.zeros(3))
        size = path.stat().st_size
        writer = f._journal
        assert isinstance(writer, journal.Journal)
        writer._file = Full(writer._file)  # type: ignore[assignment]
        with pytest.warns(RuntimeWarning, match="cannot be written .No space left on device"):
            gradient = f.grad(W)
        np.testing.assert_array_equal(gradient, tg.optimize.sharded(logistic, [part_from(0)]).grad(W))
        assert path.stat().st_size == size
        f.grad(2 * W)  # there is space again
    assert path.stat().st_size > size
    with tg.optimize.sharded(logistic, [part_from(0)], checkpoint=path) as f:
        np.testing.assert_array_equal(f.grad(W), gradient)


def test_a_function_that_is_gone_does_not_hold_its_file(tmp_path: Path) -> None:
    path = tmp_path / "fit.evaluations"
    f = tg.optimize.sharded(logistic, [part_from(0)], checkpoint=path)
    gradient = f.grad(W)
    del f
    again = tg.optimize.sharded(logistic, [part_from(0)], checkpoint=path)
    np.testing.assert_array_equal(again.grad(W), gradient)
    again.close()
    again.close()


def test_an_interrupt_returns_the_best_point() -> None:
    reads = itertools.count()

    def part(k: int) -> Any:
        if next(reads) == 25:
            raise KeyboardInterrupt
        return part_from(k)

    # by one thread, for Python raises it in the main one alone
    f = tg.optimize.sharded(logistic, [lambda k=k: part(k) for k in range(4)], keep=0, threads=1)
    found = tg.optimize.minimize(f, np.ones(3))
    assert not found.success
    assert found.status == 99
    assert f(found.x) < f(np.ones(3))
    assert tg.optimize.minimize(f, np.ones(3)).success


def test_complex_parameters_and_parts_that_do_not_count() -> None:
    def f(p: Any, part: Any) -> Any:
        if part[0] == 0:
            return 2.0
        return tg.sum(tg.abs(p["z"] - part) ** 2) + p["a"]

    parts = [np.array([1.0, 2.0]), np.array([0.0, 5.0])]
    f = tg.optimize.sharded(f, parts)
    value, gradient = f.value_and_grad({"z": 1.0 + 1.0j, "a": 3.0})
    assert value == 1 + 2 + 3 + 2
    assert gradient == {"z": 2 * (2 * (1 + 1j) - 3), "a": 1.0}


def test_a_sharded_function_is_not_pickled() -> None:
    with pytest.raises(TypeError, match="make it where it is used"):
        pickle.dumps(tg.optimize.sharded(logistic, [part_from(0)]))
