"""Functions of `numpy.emath`: values are NumPy's, real and complex, and a recording goes both ways."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg

INSIDE, OUTSIDE = np.array([0.5, 0.9, 0.2]), np.array([-0.7, 0.4, -2.5])
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    **{
        name: getattr(np.emath, name)
        for name in ("sqrt", "log", "log2", "log10", "arccos", "arcsin", "arctanh")
    },
    "logn of x": lambda x: np.emath.logn(2.5, x),
    "logn by n": lambda n: np.emath.logn(n, [2.0, -3.0, 0.5]),
    "power of x": lambda x: np.emath.power(x, [1.5, 2.0, -2.0]),
    "power by p": lambda p: np.emath.power([2.0, 0.5, -3.0], p),
}


def part(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def total(x: Any) -> Any:
        y = function(x)
        return np.sum(y.real * np.array([1.0, -0.5, 2.0])) + np.sum(y.imag * np.array([0.3, 1.0, 0.7]))

    return total


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients(name: str, rng: np.random.Generator) -> None:
    function, replayed = FUNCTIONS[name], tg.value_and_grad(tg.jit(part(FUNCTIONS[name])))
    for x in (INSIDE, OUTSIDE, INSIDE[::-1], -OUTSIDE):
        expected, found = function(x), function(tg.tensor(x))
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.data, expected, rtol=1e-13, atol=1e-15)
        along = 1e-4 * rng.standard_normal(3)
        coarse, fine = (
            (part(function)(x + h * along) - part(function)(x - h * along)) / (2 * h) for h in (2, 1)
        )
        for value, gradient in (tg.value_and_grad(part(function))(x), replayed(x)):
            assert value == pytest.approx(part(function)(x), rel=1e-13)
            assert np.sum(gradient * along) == pytest.approx((4 * fine - coarse) / 3, rel=1e-7)


def test_dtypes_are_numpys() -> None:
    for x in (np.float32([-1.0, 2.0]), np.int64([-4, 2]), np.array([1j, 2.0])):
        for function in (
            np.emath.sqrt,
            np.emath.arcsin,
            lambda x: np.emath.power(x, 2),
            lambda x: np.emath.power(x, -2),
        ):
            expected, found = function(x), function(tg.tensor(x))
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found.data, expected, rtol=1e-6)
    assert np.emath.power(tg.tensor([2, 4]), -1).dtype == np.float64
