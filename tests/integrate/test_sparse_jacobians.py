"""Stiff equations with sparse Jacobians, which are solved by bands: closed forms, SciPy, and dense matrices."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.sparse

import tapegrad as tg
from helpers.daily import daily
from tapegrad.integrate import solve_ivp
from tapegrad.integrate.systems import BandedJacobian, DenseJacobian, jacobian_of

METHODS = ("Radau", "Rodas5P")
N = 36


def inner(u: Any, ends: float = 0.0) -> Any:
    """Return the second differences of a line whose ends are held, in units of its length."""
    whole = np.concatenate([[ends], u, [ends]])
    return (whole[2:] - 2 * whole[1:-1] + whole[:-2]) * (len(u) + 1) ** 2


def diffusion(t: Any, u: Any, k: Any) -> Any:
    return k * inner(u)


def reaction(t: Any, u: Any, k: Any) -> Any:
    return k * inner(u) + u * (1 - u) * np.cos(t)


def ring(t: Any, u: Any, k: Any) -> Any:
    return k * (np.roll(u, 1) - 2 * u + np.roll(u, -1)) * 100 + u**2 * np.sin(3 * t)


def plane(t: Any, u: Any, k: Any) -> Any:
    """Return the slopes of a plate of 4 columns."""
    whole = np.pad(u.reshape(-1, 4), 1)
    beside = whole[2:, 1:-1] + whole[:-2, 1:-1] + whole[1:-1, 2:] + whole[1:-1, :-2]
    return (k * (beside - 4 * whole[1:-1, 1:-1]) * 50 + u.reshape(-1, 4) ** 2).reshape(-1)


SHUFFLED = np.random.default_rng(0).permutation(N)


def shuffled(t: Any, u: Any, k: Any) -> Any:
    return reaction(t, u[np.argsort(SHUFFLED)], k)[SHUFFLED]


def two_species(t: Any, u: Any, k: Any) -> Any:
    """Return the slopes of two species, one behind the other, of which one does not diffuse."""
    a, b = u[: N // 2], u[N // 2 :]
    return np.concatenate([k * inner(a, 1.0) / 4 - a * b, a - b])


START = 0.1 + np.sin(np.pi * (np.arange(N) + 0.5) / N)
PROBLEMS: dict[str, tuple[Callable[..., Any], np.ndarray]] = {
    "line": (reaction, START),
    "ring": (ring, START),
    "plane of 4 columns": (plane, np.tile(START, 4)),
    "shuffled line": (shuffled, START),
    "two species": (two_species, START),
}


DAILY = {("shuffled line", "Radau"), ("ring", "Rodas5P")}


def solved(fun: Callable[..., Any], method: str, start: Any, sparsity: Any = None) -> Callable[..., Any]:
    """Return the states at two times as a function of the rate and of the size of the start."""

    def states(k: Any, size: Any) -> Any:
        found = solve_ivp(
            fun, (0, 0.1), size * start, method, [0.05, 0.1], args=(k,), rtol=1e-7, atol=1e-9, jac_sparsity=sparsity
        )  # fmt: skip
        return found.y

    return states


def size_of(jacobian: Any, count: int) -> tuple[int, ...]:
    return tuple(jacobian.at_rest(np.zeros(count)).shape)


@pytest.mark.parametrize("name", PROBLEMS)
def test_bands_are_found_and_narrow(name: str) -> None:
    fun, start = PROBLEMS[name]
    jacobian = jacobian_of(lambda t, u: fun(t, u, 1.0), 0.0, tg.tensor(start, constant=True), None)  # type: ignore[arg-type]
    assert isinstance(jacobian, BandedJacobian)
    widths = {"line": 3, "ring": 5, "plane of 4 columns": 9, "shuffled line": 3, "two species": 9}
    assert size_of(jacobian, len(start))[0] <= widths[name]


@pytest.mark.parametrize("method", METHODS)
def test_a_mode_of_diffusion_decays_as_its_closed_form(method: str) -> None:
    """A sine is an eigenvector of second differences; value, derivatives and Hessian by both parameters are known."""
    places = np.arange(1, N + 1) / (N + 1)
    rate = 4 * np.sin(np.pi / (2 * (N + 1))) ** 2 * (N + 1) ** 2
    weights = np.cos(3 * places)
    states = solved(diffusion, method, np.sin(np.pi * places))
    f = tg.jit(lambda p: np.sum(weights * states(p[0], p[1])[:, 1]))
    x = np.array([0.8, 1.3])
    mode = weights @ np.sin(np.pi * places) * np.exp(-x[0] * rate * 0.1)
    slope = -rate * 0.1
    value, gradient = tg.value_and_grad(f)(x)
    assert value == pytest.approx(x[1] * mode, rel=1e-7)
    np.testing.assert_allclose(gradient, [slope * x[1] * mode, mode], rtol=1e-6)
    expected = [[slope**2 * x[1] * mode, slope * mode], [slope * mode, 0.0]]
    np.testing.assert_allclose(tg.hessian(f)(x), expected, rtol=1e-5, atol=1e-7)
    _, dot = tg.jvp(f, (x,), (np.array([1.0, 2.0]),))
    assert dot == pytest.approx(gradient @ [1.0, 2.0], rel=1e-10)


@daily(always=lambda name, method: (name, method) in DAILY, every=0)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_bands_give_the_numbers_of_dense_matrices(name: str, method: str) -> None:
    fun, start = PROBLEMS[name]
    banded, dense = (solved(fun, method, start, sparsity) for sparsity in (None, False))
    np.testing.assert_allclose(banded(1.1, 0.9), dense(1.1, 0.9), rtol=1e-10)
    results = []
    for states in (banded, dense):
        f = tg.jit(lambda k, size, states=states: np.sum(states(k, size) ** 2))
        value, gradient = tg.value_and_grad(f, argnums=(0, 1))(1.1, 0.9)
        lanes = tg.vmap(tg.grad(f), in_axes=(0, None))(np.array([0.9, 1.2]), 0.9)
        results.append((value, *gradient, *lanes, tg.jvp(f, (1.1, 0.9), (1.0, 0.5))[1]))
    np.testing.assert_allclose(*results, rtol=1e-9)


@pytest.mark.parametrize("name", ["line", "two species"])
def test_radau_takes_the_steps_of_scipy(name: str) -> None:
    fun, start = PROBLEMS[name]
    options = {"rtol": 1e-5, "atol": 1e-7, "args": (1.0,)}
    ours = solve_ivp(fun, (0, 0.5), start, "Radau", **options)
    scipys = scipy.integrate.solve_ivp(fun, (0, 0.5), start, "Radau", **options)
    assert len(ours.t) == len(scipys.t)
    np.testing.assert_allclose(ours.t, scipys.t, rtol=1e-4)
    np.testing.assert_allclose(ours.y, scipys.y, rtol=1e-6, atol=1e-9)


def test_a_pattern_of_the_caller() -> None:
    tridiagonal = scipy.sparse.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(N, N))
    expected = solved(reaction, "Radau", START, False)(1.0, 1.0)
    for pattern in (tridiagonal, tridiagonal.toarray(), tridiagonal.tocsc()):
        np.testing.assert_allclose(solved(reaction, "Radau", START, pattern)(1.0, 1.0), expected, rtol=1e-10)
    lower = scipy.sparse.tril(tridiagonal)
    for method in METHODS:
        with pytest.raises(ValueError, match="pattern"):
            solved(reaction, method, START, lower)(1.0, 1.0)
    with pytest.raises(ValueError, match="shape"):
        solved(reaction, "Radau", START, tridiagonal.tocsr()[:3])(1.0, 1.0)


def test_small_and_full_systems_are_dense() -> None:
    few = tg.tensor(np.ones(8), constant=True)
    many = tg.tensor(np.ones(40), constant=True)
    for fun, y in ((lambda t, u: -u, few), (lambda t, u: u * np.sum(u), many)):
        assert isinstance(jacobian_of(fun, 0.0, y, None), DenseJacobian)  # type: ignore[arg-type]


def test_branches_and_single_precision() -> None:
    """A pattern holds for the recording that it was found in; another way of a branch has one of its own."""

    def fun(t: Any, u: Any, k: Any) -> Any:
        return reaction(t, u, k) if k > 0 else u[::-1] + k * u

    for method in METHODS:
        f = tg.jit(solved(fun, method, START))
        for k in (0.7, -0.7, 0.5):
            np.testing.assert_allclose(f(k, 1.0), solved(fun, method, START, False)(k, 1.0), rtol=1e-9)
    single = solve_ivp(
        reaction, (0, 0.1), START.astype(np.float32), "Radau", [0.1], args=(np.float32(1.0),), rtol=1e-3, atol=1e-4
    )  # fmt: skip
    assert single.y.dtype == np.float32
    np.testing.assert_allclose(single.y[:, 0], solved(reaction, "Radau", START)(1.0, 1.0)[:, 1], rtol=3e-3)
