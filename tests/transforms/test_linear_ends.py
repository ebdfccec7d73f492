"""Sparse derivatives of functions that gather and sum: products of three matrices, of which one varies."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import tapegrad as tg
from helpers.daily import random_seeds
from tapegrad.autodiff.sparsity import compressed, linear_ends

N, M = 30, 80
ENDS = np.random.default_rng(0).integers(0, N, (3, M))
ENDS[1, 5] = ENDS[0, 5]  # a term with one variable twice
WEIGHTS = np.random.default_rng(1).standard_normal(M)


def sums(values: Any, places: np.ndarray, count: int = N) -> Any:
    """Return the sums of elements by place, also of complex numbers, of which `numpy.bincount` takes none."""
    if isinstance(values, np.ndarray):
        found = np.zeros(count, values.dtype)
        np.add.at(found, places, values)
        return found
    return np.bincount(places, values, count)


def by_complex_steps(function: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    """Return the Jacobian of a function of plain NumPy."""
    return np.stack([function(x + 1e-30j * step).imag / 1e-30 for step in np.eye(x.size)], 1)


@pytest.fixture
def factored(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Tell of each sparse derivative whether it was made as a product."""
    found: list[bool] = []
    own = compressed.CompressedDerivative._factor
    monkeypatch.setattr(
        compressed.CompressedDerivative, "_factor", lambda self: found.append(own(self)) or found[-1]
    )
    return found


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let derivatives be products wherever they can."""
    monkeypatch.setattr(compressed, "_FEW_SWEEPS", -1)
    monkeypatch.setattr(compressed, "_WORTHWHILE", np.inf)


# --- functions -------------------------------------------------------------------------------------------------


def flows(x: Any) -> Any:
    """Branches of a network, sums of them at its nodes, and a constant part."""
    a, b = x[ENDS[0]], x[ENDS[1]]
    through = WEIGHTS * np.sin(a - b) * a
    return np.concatenate([through - 2.0 * x[ENDS[2]], sums(through, ENDS[0]) - x**2, a - b, x[3:5]])


def chained(x: Any) -> Any:
    """Linear values of linear values, both of which are read by what varies."""
    first = x[ENDS[0]] - x[ENDS[1]]
    second = 0.5 * first[1:] + first[:-1]
    return np.concatenate([np.cos(second) * first[1:], sums(np.sin(first), ENDS[1]), first + np.exp(first)])


def written(x: Any) -> Any:
    """Elements written in place before and after they are read."""
    y = x[ENDS[0]]
    before = np.sin(y) * x[ENDS[1]]
    y[:N] = np.cos(x) * 3.0
    y[N : N + 5] = x[:5]
    return np.concatenate([before, y * x[ENDS[2]], sums(y, ENDS[1])])


def mixed(x: Any) -> Any:
    """Sums of linear and other values, which are read once more."""
    a = x[ENDS[0]]
    both = a + np.sin(a) * x[ENDS[1]]
    return np.concatenate([sums(both * both, ENDS[2]), both, a])


def views(x: Any) -> Any:
    """Parts of the argument and of results."""
    y = (x[: N // 2] * x[N // 2 :]).reshape(3, -1)
    z = y.T[::2] + x[:9].reshape(3, 3)[:, 1]
    return np.concatenate([np.ravel(z), np.ravel(y[1]), sums(np.ravel(y), ENDS[0, : N // 2])])


def single(x: Any) -> Any:
    """One number of all, whose derivative has one row."""
    return np.sum(np.sin(x[ENDS[0]] * x[ENDS[1]])).reshape(1)


FUNCTIONS = {each.__name__: each for each in (flows, chained, written, mixed, views, single)}


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_jacobians_are_those_of_complex_steps(
    name: str, rng: np.random.Generator, factored: list[bool]
) -> None:
    function = FUNCTIONS[name]
    jacobian = tg.jacobian(function, sparse=True)
    for x in rng.standard_normal((3, N)):  # recorded, and replayed
        np.testing.assert_allclose(
            jacobian(x).toarray(), by_complex_steps(function, x), rtol=1e-12, atol=1e-13
        )
    assert factored[0]


def energy(x: Any) -> Any:
    """Terms of three variables each."""
    a, b, c = (x[places] for places in ENDS)
    return np.sum(WEIGHTS * np.sin(a * b) * c) + np.sum(x[1:] * x[:-1] ** 2)


def slope_of_energy(x: np.ndarray) -> np.ndarray:
    """The gradient of `energy`, by hand."""
    a, b, c = (x[places] for places in ENDS)
    of_terms = WEIGHTS * np.cos(a * b) * b * c, WEIGHTS * np.cos(a * b) * a * c, WEIGHTS * np.sin(a * b)
    found = sum(sums(each, places) for each, places in zip(of_terms, ENDS, strict=True))
    found[1:] += x[:-1] ** 2
    found[:-1] += 2 * x[1:] * x[:-1]
    return found


def test_hessians_of_sums_of_terms(rng: np.random.Generator, factored: list[bool]) -> None:
    hessian = tg.hessian(energy, sparse=True)
    for x in rng.standard_normal((3, N)):
        np.testing.assert_allclose(
            hessian(x).toarray(), by_complex_steps(slope_of_energy, x), rtol=1e-12, atol=1e-12
        )
    assert factored == [True]
    third = tg.jacobian(lambda x: hessian.values(x), sparse=True)(x)
    steps = [1e-6 * step for step in np.eye(N)]
    by_differences = np.stack([(hessian.values(x + s) - hessian.values(x - s)) / 2e-6 for s in steps], 1)
    np.testing.assert_allclose(third.toarray(), by_differences, rtol=1e-6, atol=1e-6)


@pytest.mark.usefixtures("always")
def test_a_gradient_may_be_linear(rng: np.random.Generator, factored: list[bool]) -> None:
    x, y = rng.standard_normal((2, N))
    found = tg.hessian(lambda x, y: energy(x) + np.sum(y * (x - 2.0 * x[ENDS[0, :N]])), (0, 1), sparse=True)(
        x, y
    )
    mixed = np.eye(N)
    np.add.at(mixed, (np.arange(N), ENDS[0, :N]), -2.0)
    expected = by_complex_steps(slope_of_energy, x), mixed.T, mixed, np.zeros((N, N))
    for matrix, whole in zip((*found[0], *found[1]), expected, strict=True):
        np.testing.assert_allclose(matrix.toarray(), whole, rtol=1e-12, atol=1e-12)
    assert factored == [True]


def test_sweeps_are_those_of_a_term(rng: np.random.Generator) -> None:
    """A term has three variables, so three sweeps do; a variable has many neighbours, so many colours."""
    size = 400
    places = rng.integers(0, size, (2, 4 * size))
    found = tg.hessian(lambda x: np.sum(np.sin(x[places[0]] * x[places[1]])), sparse=True)
    x = rng.standard_normal(size)
    parts: list[int] = []
    own = compressed.CompressedDerivative._push

    def push(self: Any, plan: Any, fixed: Any, varying: bool = True) -> None:
        if varying and self._within is not None and self._detection.varying.buffers:
            parts.append(plan.forward)
        own(self, plan, fixed, varying)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(compressed.CompressedDerivative, "_push", push)
        assert found.pattern(x).colors.max() > 8
    assert parts == [2]


def test_problems_have_the_lower_triangle(rng: np.random.Generator, factored: list[bool]) -> None:
    problem = tg.optimize.problem(
        energy, np.ones(N), lambda x: flows(x)[:N], constraint_bounds=(np.zeros(N), np.ones(N))
    )
    x, multipliers = rng.standard_normal((2, N))
    places = problem.hessianstructure()
    lower = scipy.sparse.csr_array((problem.hessian(x, multipliers, 2.0), places), (N, N)).toarray()
    slopes = by_complex_steps(slope_of_energy, x) * 2.0
    a, b, weights = x[ENDS[0, :N]], x[ENDS[1, :N]], WEIGHTS[:N] * multipliers
    for i, j, terms in (
        (0, 0, weights * (2 * np.cos(a - b) - a * np.sin(a - b))),
        (0, 1, weights * (a * np.sin(a - b) - np.cos(a - b))),
        (1, 0, weights * (a * np.sin(a - b) - np.cos(a - b))),
        (1, 1, -weights * a * np.sin(a - b)),
    ):
        np.add.at(slopes, (ENDS[i, :N], ENDS[j, :N]), terms)
    np.testing.assert_allclose(lower, np.tril(slopes), rtol=1e-11, atol=1e-11)
    assert any(factored)


def test_captured_arrays_may_change(rng: np.random.Generator, factored: list[bool]) -> None:
    scale, x = np.ones(M), rng.standard_normal(N)
    jacobian = tg.jacobian(lambda x: sums(scale * np.sin(x[ENDS[0]] * x[ENDS[1]]), ENDS[2]), sparse=True)
    first = jacobian(x).toarray()
    scale *= 3.0
    np.testing.assert_allclose(jacobian(x).toarray(), 3.0 * first, rtol=1e-14)
    assert True in factored


def test_several_arguments_of_single_precision(rng: np.random.Generator) -> None:
    x, y = rng.standard_normal((2, N)).astype(np.float32)
    found = tg.jacobian(lambda x, y: sums(np.sin(x[ENDS[0]] * y[ENDS[1]]), ENDS[2]), (0, 1), sparse=True)(
        x, y
    )
    a, b = np.float64(x[ENDS[0]]), np.float64(y[ENDS[1]])
    for matrix, places, terms in zip(found, ENDS, (np.cos(a * b) * b, np.cos(a * b) * a), strict=False):
        assert matrix.dtype == np.float32
        expected = np.zeros((N, N))
        np.add.at(expected, (ENDS[2], places), terms)
        np.testing.assert_allclose(matrix.toarray(), expected, rtol=1e-4, atol=1e-5)


def test_ends_of_too_many_terms_are_left(factored: list[bool]) -> None:
    """A cumulative sum has as many entries as a matrix can."""
    x = np.linspace(0.1, 1.0, N)

    def function(x: Any) -> Any:
        return np.cumsum(np.sin(np.cumsum(x[::-1])))

    np.testing.assert_allclose(
        tg.jacobian(function, sparse=True)(x).toarray(), by_complex_steps(function, x), rtol=1e-12
    )
    assert factored == [False]


def test_products_with_entries_outside_of_the_pattern_are_refused() -> None:
    ones, none = scipy.sparse.csr_array(np.ones((2, 2))), scipy.sparse.csr_array(np.eye(2))
    assert linear_ends.product_map(ones, none, none, ones, is_lower=False) is not None
    assert linear_ends.product_map(ones, none, none, none, is_lower=False) is None


def test_buffers_that_are_written_to_after_they_are_read_are_no_end() -> None:
    def step(result: int, operand: int) -> linear_ends._BufferStep:
        return linear_ends._BufferStep(result, {operand: None}, is_constant=True, is_elementwise=False)

    assert linear_ends._last_part([step(2, 1), step(3, 2)], set()) == {2, 3}
    assert linear_ends._last_part([step(2, 1), step(3, 2), step(2, 1)], set()) == {3}


# --- random programs -------------------------------------------------------------------------------------------


def drawn(seed: int) -> Callable[[Any], Any]:
    """Return a random function of gathers, sums by place, views, writes and a few functions of elements."""
    draws = np.random.default_rng(seed)
    steps = draws.integers(0, 9, 14)
    chosen = [draws.integers(0, 1 << 20, 3) for _ in steps]
    lists = [draws.integers(0, N, N) for _ in steps]

    def function(x: Any) -> Any:
        known = [x]
        for step, (i, j, _), places in zip(steps, chosen, lists, strict=True):
            a, b = known[i % len(known)], known[j % len(known)]
            if step == 0:
                made = np.sin(a)
            elif step == 1:
                made = a * b * 0.25
            elif step == 2:
                made = sums(a, places)
            elif step == 3:
                made = a - 0.5 * b
            elif step == 4:
                made = np.concatenate([a[5:], b[:5]])
            elif step == 5:
                made = a.copy()
                made[3:11] = b[7:15]
            elif step == 6:
                made = a + np.sum(b[:3])
            else:
                made = a[places]
            known.append(made)
        return np.concatenate(known[-3:])

    return function


@pytest.mark.usefixtures("always")
@random_seeds(0, 120, 6)
def test_random_functions(seeds: Any, factored: list[bool]) -> None:
    for seed in seeds:
        function, x = drawn(seed), np.random.default_rng(seed).uniform(0.2, 1.2, N)
        jacobian = tg.jacobian(function, sparse=True)
        for point in (x, x[::-1].copy()):
            expected = by_complex_steps(function, point)
            np.testing.assert_allclose(
                jacobian(point).toarray(),
                expected,
                rtol=1e-11,
                atol=1e-12 * (1 + abs(expected).max()),
                err_msg=str(seed),
            )
    assert any(factored)
