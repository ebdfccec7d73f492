"""`quad`: SciPy's numbers, and derivatives by arguments and ends."""

from typing import Any

import numpy as np
import pytest
import scipy.integrate
from scipy.integrate import IntegrationWarning

import tapegrad as tg
from tapegrad.errors import UnsupportedError
from tapegrad.integrate import quad


def bell(x: Any) -> Any:
    return np.exp(-x * x) * (1 + x)


def wave(x: Any, p: Any) -> Any:
    return np.exp(-p[0] * x * x) * np.cos(p[1] * x)


@pytest.mark.parametrize(
    ("function", "a", "b", "options"),
    [
        (bell, 0, 3, {}),
        (bell, 3, 0, {}),
        (bell, -np.inf, np.inf, {}),
        (bell, np.inf, -np.inf, {}),
        (bell, 0.5, np.inf, {}),
        (bell, -np.inf, 0.5, {}),
        (bell, np.inf, 0.5, {}),
        (lambda x: 1 / (1e-4 + x * x), -1, 1, {}),
        (lambda x: abs(x - 0.3), 0, 1, {"points": [0.3]}),
        (lambda x: abs(x - 0.3), 1, 0, {"points": [0.7, 0.3], "epsabs": 1e-12}),
        (lambda x: 3.0, 0, 1, {}),
        (lambda x: bell(x) if x > 1 else 2.0, 0, 2, {"points": [1.0]}),
    ],
)
def test_values_are_scipys(function, a, b, options):
    value, error = quad(function, a, b, **options)
    expected, expected_error = scipy.integrate.quad(function, a, b, **options)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(error, expected_error, rtol=1e-3, atol=1e-14)
    assert isinstance(value, np.float64)


def test_singularities_of_the_integrand():
    for function, expected in ((np.log, -1.0), (np.sqrt, 2 / 3), (lambda x: x**-0.25, 4 / 3)):
        value, error = quad(function, 0, 1)
        assert abs(value - expected) <= error <= 1.49e-8 * 2
    with pytest.warns(IntegrationWarning, match="limit=3, has been reached"):
        quad(lambda x: abs(np.sin(20 * x)), 0, 1, limit=3)


@pytest.mark.parametrize("wrap", [lambda f: f, tg.jit], ids=["plain", "jit"])
@pytest.mark.parametrize("transform", [tg.jacrev, tg.jacfwd], ids=["reverse", "forward"])
def test_derivatives(wrap, transform):
    def integral(z: Any) -> Any:
        return quad(wave, z[0], z[1], args=(z[2:],))[0]

    z = np.array([0.2, 1.5, 0.7, 2.0])
    by_p0, _ = scipy.integrate.quad(lambda x: -x * x * wave(x, z[2:]), z[0], z[1])
    by_p1, _ = scipy.integrate.quad(lambda x: -x * np.exp(-0.7 * x * x) * np.sin(2 * x), z[0], z[1])
    expected = [-wave(z[0], z[2:]), wave(z[1], z[2:]), by_p0, by_p1]
    np.testing.assert_allclose(transform(wrap(integral))(z), expected, rtol=1e-9)


def test_second_derivatives_and_instances():
    @tg.jit
    def integral(z: Any) -> Any:
        return quad(wave, z[0], z[1], args=(z[2:],))[0]

    z = np.array([0.2, 1.5, 0.7, 2.0])
    hessian, slope, step = tg.hessian(integral)(z), tg.grad(integral), 1e-5
    columns = [(slope(z + step * e) - slope(z - step * e)) / (2 * step) for e in np.eye(4)]
    np.testing.assert_allclose(hessian, np.stack(columns, 1), atol=1e-8)
    many = z + np.linspace(0, 3, 5)[:, None]
    np.testing.assert_allclose(tg.vmap(slope)(many), [slope(each) for each in many], rtol=1e-10)


def test_an_end_beside_infinity_and_a_closure():
    def tail(begin: Any, scale: Any) -> Any:
        return quad(lambda x: np.exp(-x * scale), begin, np.inf)[0]

    found = tg.grad(tg.jit(tail), argnums=(0, 1))(0.5, 2.0)
    np.testing.assert_allclose(found, [-np.exp(-1.0), -np.exp(-1.0) * (0.25 + 0.25)], rtol=1e-7)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match=r"returned shape \(2,\), but must return one number"):
        quad(lambda x: [x, x], 0, 1)
    with pytest.raises(ValueError, match="limit=1 is too small for 2 intervals"):
        quad(bell, 0, 1, limit=1, points=[0.5])
    with pytest.raises(ValueError, match="points are not between the ends"):
        quad(bell, 0, 1, points=[2.0])
    with pytest.raises(ValueError, match="points need finite ends"):
        quad(bell, 0, np.inf, points=[2.0])
    with pytest.raises(UnsupportedError, match="full_output is not supported"):
        quad(bell, 0, 1, full_output=1)


def test_a_tensor_may_be_an_infinite_end():
    def below(end: Any) -> Any:
        return quad(lambda x: np.exp(-x), 0.0, end)[0]

    def above(begin: Any) -> Any:
        return quad(np.exp, begin, 0.0)[0]

    ends = np.array([1.0, np.inf, 2.0])
    wanted = [1 - np.exp(-1), 1.0, 1 - np.exp(-2)]
    recorded = tg.jit(below)
    np.testing.assert_allclose([recorded(end) for end in ends], wanted, rtol=1e-8)
    np.testing.assert_allclose(tg.vmap(below)(ends), wanted, rtol=1e-8)
    np.testing.assert_allclose(tg.jit(above)(-np.inf), 1.0, rtol=1e-8)
    np.testing.assert_allclose(below(tg.tensor(np.inf)), 1.0, rtol=1e-8)
    np.testing.assert_allclose(tg.vmap(tg.grad(below))(ends), np.exp(-ends), rtol=1e-8)
