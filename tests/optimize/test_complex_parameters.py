"""Optimisation by complex parameters, which are pairs of floats, and of complex residuals."""

import numpy as np
import pytest

import tapegrad as tg

_TARGET = np.array([1 + 2j, -0.5j])
_X0 = np.array([1j, 1 + 0j])
_T = np.linspace(0, 3, 20)
_DECAY = 2 * np.exp((-0.5 + 2j) * _T)


def _distance(z):
    return (abs(z - _TARGET) ** 2).sum() + abs(z[0] * z[1] - 1) ** 2


@pytest.mark.parametrize("method", [None, "native", "trust-ncg"])
def test_minimize(method):
    by_pairs = tg.optimize.minimize(lambda p: _distance(p.view(complex)), _X0.view(float), method=method)
    found = tg.optimize.minimize(_distance, _X0, method=method)
    assert found.x.dtype == np.complex128
    np.testing.assert_allclose(found.x.view(float), by_pairs.x, rtol=1e-10)
    assert np.abs(found.jac).max() < 1e-4
    assert found.jac.dtype == np.complex128


@pytest.mark.parametrize("method", ["trf", "native"])
def test_least_squares(method):
    start = {"a": 1 + 0j, "k": -0.3 + 1.8j}
    found = tg.optimize.least_squares(lambda p: p["a"] * np.exp(p["k"] * _T) - _DECAY, start, method=method)
    np.testing.assert_allclose([found.x["a"], found.x["k"]], [2, -0.5 + 2j], atol=1e-8)


def test_complex_residuals_of_real_parameters():
    found = tg.optimize.least_squares(
        lambda p: p[0] * np.exp((p[1] + 1j * p[2]) * _T) - _DECAY, [1.0, -0.3, 1.8]
    )
    np.testing.assert_allclose(found.x, [2, -0.5, 2], atol=1e-8)


_REFUSED = {
    "bounds": lambda: tg.optimize.minimize(_distance, _X0, bounds=[(0, 1)] * 2),
    "bounds of residuals": lambda: tg.optimize.least_squares(lambda z: z - _TARGET, _X0, bounds=(0, 1)),
    "objective": lambda: tg.optimize.minimize(lambda z: z[0] * z[1], _X0),
    "fixed point": lambda: tg.optimize.fixed_point(lambda z: z / 2, 1j),
}


@pytest.mark.parametrize("name", _REFUSED)
def test_refusals(name):
    with pytest.raises(TypeError, match=r"z\.view\(float\)|take abs"):
        _REFUSED[name]()


@pytest.mark.parametrize(("function", "x0"), [(lambda z: z**2 + 1j, 0.5), (lambda z: abs(z) - 1, 1j)])
def test_roots_have_as_many_equations_as_unknowns(function, x0):
    """A complex result counts twice: SciPy's messages speak of its wrapper, and of sizes that change."""
    for method in ("hybr", "lm"):
        with pytest.raises(ValueError, match=r"root: .* returned \d .*complex"):
            tg.optimize.root(function, np.array([x0]), method=method)


def test_flatten():
    structure = {"a": np.complex64(1j), "b": [1.0], "c": np.array([[1 + 2j]])}
    vector, build = tg.flatten(structure)
    np.testing.assert_array_equal(vector, [0, 1, 1, 1, 2])
    built = build(2 * vector)
    assert built["a"].dtype == np.complex64
    np.testing.assert_array_equal(built["c"], [[2 + 4j]])
    gradient = tg.grad(lambda v: abs(build(v)["c"]).sum())(vector)
    np.testing.assert_allclose(gradient, [0, 0, 0, 1 / np.sqrt(5), 2 / np.sqrt(5)], rtol=1e-15)
