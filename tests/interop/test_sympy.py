"""Functions that SymPy writes: values and derivatives against SymPy's own."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg

sp = pytest.importorskip("sympy")  # holds mpmath back, and is in the environment of other packages alone

x, y = sp.symbols("x y", real=True)
n = sp.Symbol("n", integer=True)
AT = (0.7, 1.3)
EXPRESSIONS = (
    sp.sin(x) * sp.exp(-(y**2)),
    sp.Piecewise((x**2, x > 0), (y, True)),
    sp.sqrt(x**2 + y**2) + sp.Abs(x),
    sp.log(1 + sp.exp(x)) + sp.atan2(y, x),
    sp.erf(x) + sp.gamma(y) + sp.loggamma(y),
    sp.Max(x, y, 0) * sp.Min(x, y),
    sp.Heaviside(x - 1) * y + x,
    sp.pi * x + sp.E * y,
    sp.Sum(x**n / sp.factorial(n), (n, 0, 5)) * y,
    sp.sec(x) + sp.asinh(y),
    sp.besselj(0, x) * sp.bessely(1, y),
    sp.erfinv(x / 9) + sp.digamma(y) + sp.beta(x, y) + sp.LambertW(x),
    sp.Matrix([[x, y], [y, x + 5]]).det() / x,
)


def written(expression: Any) -> Any:
    return sp.lambdify((x, y), expression, modules=[tg, tg.special, "scipy", "numpy"])


def exactly(expression: Any) -> float:
    values = {x: sp.Rational(7, 10), y: sp.Rational(13, 10)}
    return float(sp.N(expression.doit().subs(values), 20))


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
def test_values_and_gradients(expression: Any) -> None:
    value, gradient = tg.value_and_grad(tg.jit(written(expression)), argnums=(0, 1))(*AT)
    assert value == pytest.approx(exactly(expression), rel=1e-13)
    for found, symbol in zip(gradient, (x, y), strict=True):
        assert found == pytest.approx(exactly(sp.diff(expression, symbol)), rel=1e-12)


def test_matrices_of_arrays() -> None:
    rotation = sp.Matrix([[sp.cos(x), -sp.sin(x)], [sp.sin(x), sp.cos(x)]])
    f = written(rotation * sp.Matrix([y, 1]))
    found = tg.jacobian(lambda p: f(p[0], p[1])[:, 0])(np.array(AT))
    expected = [[exactly(sp.diff(row, symbol)) for symbol in (x, y)] for row in rotation * sp.Matrix([y, 1])]
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_functions_of_arrays() -> None:
    f = written(sp.exp(-x) * y)
    grid = np.linspace(0, 1, 5)
    found = tg.grad(lambda b: tg.sum(f(grid, b)))(2.0)
    assert found == pytest.approx(np.exp(-grid).sum(), rel=1e-14)
