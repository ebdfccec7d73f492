"""Operators of Tensors and of objects that ask for them by NumPy's attributes, as quantities with units do."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import UnsupportedError


class Quantity:
    """A number, an array or a Tensor with a unit."""

    __array_priority__ = 17

    def __init__(self, magnitude: Any, unit: str) -> None:
        self.magnitude, self.unit = magnitude, unit

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Quantity):
            return Quantity(self.magnitude * other.magnitude, self.unit + other.unit)
        return Quantity(self.magnitude * other, self.unit)

    __rmul__ = __mul__

    def __rsub__(self, other: Any) -> Any:
        raise TypeError(f"numbers have no unit, but this has {self.unit}")


class WithoutUfuncs(Quantity):
    __array_priority__ = 0
    __array_ufunc__ = None


class Unknown:
    def __rmul__(self, other: Any) -> Any:
        return "a product"


@pytest.mark.parametrize("kind", [Quantity, WithoutUfuncs])
def test_operators_are_left_to_classes_that_ask_for_them(kind: Any) -> None:
    meter = kind(1.0, "m")

    def area(x: Any) -> Any:
        sides = x * meter, x[0] * kind(2.0, "m")
        product = sides[0] * sides[1]
        assert product.unit == "mm"
        return np.sum(product.magnitude)

    x = np.array([1.5, 2.0])
    expected = 2 * (x[0] * np.ones(2) + np.array([x.sum(), 0.0]))
    for function in (area, tg.jit(area)):
        np.testing.assert_allclose(tg.grad(function)(x), expected)
    t = tg.tensor(x)
    area(t).backward()
    np.testing.assert_allclose(t.grad, expected)
    with pytest.raises(TypeError, match="this has m"):
        t - meter


def test_other_objects_are_refused() -> None:
    """NumPy makes an array of objects, which has no gradient."""
    with pytest.raises(UnsupportedError, match="dtype object"):
        tg.tensor([1.0, 2.0]) * Unknown()
