"""Polynomials in six bases: values are NumPy's, and derivatives those of NumPy's functions of complex numbers."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.polynomial as plain
import pytest

import tapegrad as tg

C, D = np.array([1.0, 2.0, -0.5, 0.3]), np.array([0.4, -1.0, 2.0])
X = np.array([0.3, -0.7, 1.2, 0.5, 0.9])
MATRIX = np.outer(C, D) + 0.1
BASES = {
    "polynomial": ("poly", "Polynomial"),
    "chebyshev": ("cheb", "Chebyshev"),
    "legendre": ("leg", "Legendre"),
    "hermite": ("herm", "Hermite"),
    "hermite_e": ("herme", "HermiteE"),
    "laguerre": ("lag", "Laguerre"),
}
# Functions of a basis's functions and an array: `f("val")` is `chebval`, `s` is the class.
FUNCTIONS: dict[str, tuple[Callable[..., Any], np.ndarray]] = {
    "val by coefficients": (lambda f, s, t: f("val")(X, t), C),
    "val by argument": (lambda f, s, t: f("val")(t, C), X),
    "val of columns": (lambda f, s, t: f("val")(t, MATRIX), X),
    "val without columns": (lambda f, s, t: f("val")(t, MATRIX, tensor=False), X[:3]),
    "val2d": (lambda f, s, t: f("val2d")(X, X[::-1], t), MATRIX),
    "grid2d": (lambda f, s, t: f("grid2d")(X, t, MATRIX), X),
    "der": (lambda f, s, t: f("der")(t, 2), C),
    "int": (lambda f, s, t: f("int")(t, 1, [0.3], 0.2), C),
    "add": (lambda f, s, t: f("add")(t, D), C),
    "sub": (lambda f, s, t: f("sub")(D, t), C),
    "mul": (lambda f, s, t: f("mul")(t, D), C),
    "mulx": (lambda f, s, t: f("mulx")(t), C),
    "div": (lambda f, s, t: f("div")(t, D)[0], C),
    "pow": (lambda f, s, t: f("pow")(t, 3), C),
    "vander": (lambda f, s, t: f("vander")(t, 3), X),
    "vander2d": (lambda f, s, t: f("vander2d")(t, X, [1, 2]), X),
    "companion": (lambda f, s, t: f("companion")(t), C),
    "fromroots": (lambda f, s, t: f("fromroots")(t), D),
    "class by coefficients": (lambda f, s, t: s(t, domain=[0.0, 3.0])(X), C),
    "class by argument": (lambda f, s, t: s(C, domain=[0.0, 3.0])(t), X),
    "class, deriv": (lambda f, s, t: (s(t) * s(D)).deriv().integ(lbnd=0.1).coef, C),
}
OF_REAL_NUMBERS: dict[str, tuple[Callable[..., Any], np.ndarray]] = {
    "fit by values": (lambda f, s, t: f("fit")(X, t, 2, w=1.0 + X**2), np.sin(X)),
    "fit by argument": (lambda f, s, t: f("fit")(t, np.sin(X), 2), X),
    "class, fit": (lambda f, s, t: s.fit(X, t, 2)(0.4 * X), np.sin(X)),
    "roots": (lambda f, s, t: f("roots")(t), np.array([0.1, -1.0, 0.2, 0.9])),
}


def of_basis(package: Any, basis: str) -> tuple[Callable[[str], Any], Any]:
    prefix, kind = BASES[basis]
    module = getattr(package, basis)
    return lambda name: getattr(module, prefix + name), getattr(package, kind)


def weighted(function: Callable[..., Any], package: Any, basis: str) -> Callable[[Any], Any]:
    names = of_basis(package, basis)

    def total(t: Any) -> Any:
        result = function(*names, t)
        return (result * np.cos(np.arange(result.size)).reshape(result.shape)).sum()

    return total


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_complex_steps(name: str, basis: str, rng: np.random.Generator) -> None:
    function, at = FUNCTIONS[name]
    along = rng.standard_normal(at.shape)
    theirs = weighted(function, plain, basis)
    value, gradient = tg.value_and_grad(weighted(function, tg.polynomial, basis))(at)
    assert value == pytest.approx(theirs(at), rel=1e-12)
    expected = theirs(at + 1e-40j * along).imag / 1e-40
    assert np.sum(gradient * along) == pytest.approx(expected, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("name", OF_REAL_NUMBERS)
def test_derivatives_of_fits_and_roots(name: str, basis: str, rng: np.random.Generator) -> None:
    function, at = OF_REAL_NUMBERS[name]
    along = 1e-4 * rng.standard_normal(at.shape)
    theirs = weighted(function, plain, basis)
    value, gradient = tg.value_and_grad(weighted(function, tg.polynomial, basis))(at)
    assert value == pytest.approx(theirs(at), rel=1e-9)
    coarse, fine = ((theirs(at + h * along) - theirs(at - h * along)) / (2 * h) for h in (2, 1))
    assert np.sum(gradient * along) == pytest.approx((4 * fine - coarse) / 3, rel=1e-7)


@pytest.mark.parametrize("basis", ["polynomial", "laguerre"])
def test_functions_are_recorded(basis: str) -> None:
    def misfit(c: Any) -> Any:
        f, series = of_basis(tg.polynomial, basis)
        return tg.sum((f("val")(X, f("mul")(c, D)) - series(c).deriv()(X)) ** 2)

    replayed = tg.value_and_grad(tg.jit(misfit))
    for c in (C, 2.0 * C, C[::-1]):
        value, gradient = tg.value_and_grad(misfit)(c)
        again, same = replayed(c)
        assert again == pytest.approx(value, rel=1e-13)
        np.testing.assert_allclose(same, gradient, rtol=1e-12)


def test_names_are_numpys() -> None:
    assert set(plain.__all__) == set(tg.polynomial.__all__)
    for basis in BASES:
        assert getattr(tg.polynomial, basis).__all__ == getattr(plain, basis).__all__
    nodes, weights = tg.polynomial.legendre.leggauss(3)
    assert type(nodes) is type(weights) is np.ndarray
    with pytest.raises(AttributeError, match="Fourier"):
        tg.polynomial.Fourier  # noqa: B018


def test_series_are_printed_and_pickled() -> None:
    p = tg.polynomial.Chebyshev(tg.tensor([1.0, 2.0], constant=True))
    assert str(p) == repr(p) == "Chebyshev(Tensor([1., 2.]), domain=[-1.  1.], window=[-1.  1.])"
    assert pickle.loads(pickle.dumps(tg.polynomial.Chebyshev)) is tg.polynomial.Chebyshev
    assert isinstance(p, tg.polynomial.polynomial.ABCPolyBase)


def test_complex_roots_are_refused() -> None:
    with pytest.raises(tg.UnsupportedError, match="complex128"):
        tg.polynomial.Polynomial([1.0, 0.0, 1.0]).roots()


REFUSED = {
    "Polynomial": lambda t: plain.Polynomial(t),
    "Chebyshev": lambda t: plain.Chebyshev([1.0, 2.0])(t),
    "Legendre": lambda t: plain.Legendre.fit(t, t, 1),
    "polynomial.polyval": lambda t: plain.polynomial.polyval(2.0, t),
    "polynomial.polyval2d": lambda t: plain.polynomial.polyval2d(1.0, 2.0, t[None]),
    **{
        f"{basis}, columns": lambda t, basis=basis: of_basis(plain, basis)[0]("val")(t, MATRIX[:, :3])
        for basis in BASES
    },
    "chebyshev, columns of constants": lambda t: plain.chebyshev.chebval(t, MATRIX[:1]),
    "laguerre.lagroots": lambda t: plain.laguerre.lagroots(t),
}


def test_numpys_functions_of_an_argument_alone() -> None:
    for basis in BASES:
        f, _ = of_basis(plain, basis)
        np.testing.assert_allclose(f("val")(tg.tensor(X), C).data, f("val")(X, C), rtol=1e-14)


@pytest.mark.parametrize("name", REFUSED)
def test_numpys_functions_name_ours(name: str) -> None:
    with pytest.raises(tg.UnsupportedError, match=r"; write tapegrad\.polynomial for numpy\.polynomial"):
        REFUSED[name](tg.tensor([1.0, 2.0, 3.0]))
