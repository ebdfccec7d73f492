"""Special functions of complex numbers: SciPy's values, and derivatives in every mode along 1 and i."""

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special

import tapegrad as tg
from helpers.special_oracle import SPECIAL
from helpers.table_loops import grouped
from tapegrad.errors import UnsupportedError

OF_ONE = ("wofz", "loggamma", "erfi")
ALWAYS_COMPLEX = ("wofz", "hankel1", "hankel2", "hankel1e", "hankel2e")
OF_ORDER = ("hyp0f1", "hankel1", "hankel2", "hankel1e", "hankel2e", "jve", "yve", "ive")
SCALED = ("jve", "yve", "ive", "airye")
# The rows of functions of several results, in their order
RESULTS = {
    "airy": ("airy_ai", "airy_ai_dot", "airy_bi", "airy_bi_dot"),
    "airye": ("airye_ai", "airye_ai_dot", "airye_bi", "airye_bi_dot"),
    "fresnel": ("fresnel_s", "fresnel_c"),
    "sici": ("sici_s", "sici_c"),
    "shichi": ("shichi_s", "shichi_c"),
}
NAMES = (*OF_ONE, *OF_ORDER, *RESULTS)
ORDER = 1.3
Z = np.array([0.3 + 0.4j, 2.0 - 1.5j, -1.2 + 0.7j, -0.5 - 2.5j, 3.1 + 0.01j, 1e-3 - 1e-3j])
EDGES = (0.0, -0.0, 1.0, -1.0, -2.5, 30.0, 1e3, np.inf, -np.inf, np.nan)
every = pytest.mark.parametrize("name", NAMES)


def call(home: Any, name: str, z: Any) -> tuple[Any, ...]:
    """All results of a function, by SciPy's name or ours."""
    function = getattr(home, name)
    found = function(ORDER, z) if name in OF_ORDER else function(z)
    return found if isinstance(found, tuple) else (found,)


def exactly(name: str) -> list[Callable[[Any], Any]]:
    """The results at the digits that mpmath is set to."""
    if name in OF_ORDER:
        row = {"hyp0f1": "complex_hyp0f1"}.get(name, name)
        return [lambda z: SPECIAL[row](mp.mpf(ORDER), z)]
    return [SPECIAL[row] for row in RESULTS.get(name, (name,))]


def slopes(function: Callable[[Any], Any], z: complex, order: int = 1) -> list[complex]:
    """Derivatives of an order along 1 and along i."""

    def slope(way: complex) -> complex:
        return complex(mp.diff(lambda t: function(mp.mpmathify(z) + t * way), 0, order))

    with mp.workdps(40):
        return [slope(mp.mpc(1)), slope(mp.mpc(0, 1))]


def along(name: str, k: int, way: complex) -> Callable[[Any], Any]:
    """A result as a function of a real step along a direction, from given places."""
    return lambda t, z: call(tg.special, name, z + t * way)[k]


# --- values ------------------------------------------------------------------------------------------------------


@grouped("name")
@every
@pytest.mark.parametrize("dtype", ["c16", "c8", "f8", "f4", "i8"])
def test_values_are_scipys(name: str, dtype: str) -> None:
    z = Z.astype(dtype) if dtype[0] == "c" else np.array([1, 2, 3], dtype)
    expected = call(scipy.special, name, z)
    for home in (tg.special, scipy.special):
        for found, want in zip(call(home, name, tg.tensor(z)), expected, strict=True):
            assert isinstance(found, tg.Tensor)
            assert found.constant == (dtype == "i8")
            if (name, dtype) != ("wofz", "f4"):  # whose first loop in SciPy is in double precision
                assert found.dtype == want.dtype
            tolerance = 1e-6 if found.dtype in (np.float32, np.complex64) else 1e-13
            np.testing.assert_allclose(found.data, want, rtol=tolerance, atol=0)
    assert (name in ALWAYS_COMPLEX) <= (expected[0].dtype.kind == "c")


@every
def test_special_values_are_scipys(name: str) -> None:
    """Both sides of cuts, zeros, infinities and nan, eagerly and recorded, to the bit."""
    z = np.empty(len(EDGES) ** 2, complex)
    z.real, z.imag = np.repeat(EDGES, len(EDGES)), np.tile(EDGES, len(EDGES))
    with np.errstate(all="ignore"):
        expected = call(scipy.special, name, z)
    recorded = tg.jit(lambda z: call(tg.special, name, z))
    recorded(z[::-1].copy())
    for found in ([each.data for each in call(tg.special, name, tg.tensor(z))], recorded(z)):
        for got, want in zip(found, expected, strict=True):
            for part in ("real", "imag"):
                np.testing.assert_array_equal(getattr(got, part), getattr(want, part))
                number = ~np.isnan(getattr(want, part))
                signs = np.signbit(getattr(got, part)), np.signbit(getattr(want, part))
                np.testing.assert_array_equal(signs[0][number], signs[1][number])


def test_numbers_lists_and_outputs() -> None:
    assert tg.special.wofz(0.5).data == scipy.special.wofz(0.5)
    assert tg.special.wofz(1).dtype == tg.special.wofz(np.int8(1)).dtype == np.complex128
    np.testing.assert_array_equal(tg.special.hankel1(1, [0.5, 2]).data, scipy.special.hankel1(1, [0.5, 2]))
    x = tg.tensor(0.5)
    assert tg.special.wofz([x, 1.0])[0].data == scipy.special.wofz(0.5)
    out = tuple(tg.zeros(2, constant=True) for _ in range(4))
    found = tg.special.airy([0.5, 1.0], out=out)
    assert all(each is given for each, given in zip(found, out, strict=True))
    np.testing.assert_array_equal([each.data for each in out], scipy.special.airy([0.5, 1.0]))
    with pytest.raises(TypeError, match="unexpected keyword"):
        tg.special.airy(0.5, base=2)


# --- derivatives -------------------------------------------------------------------------------------------------


@every
def test_derivatives_in_every_mode(name: str) -> None:
    """Along 1 and i: forward, reverse, replayed, mapped, and of second order."""
    for k, exact in enumerate(exactly(name)):
        first = np.array([slopes(exact, z) for z in Z]).T
        second = np.array([slopes(exact, z, 2) for z in Z]).T
        for way, want, curved in zip((1.0, 1j), first, second, strict=True):
            check_modes(along(name, k, way), want, curved)


def check_modes(function: Callable[[Any, Any], Any], first: np.ndarray, second: np.ndarray) -> None:
    zeros = np.zeros(len(Z))
    close(tg.jvp(lambda t: function(t, Z), (zeros,), (zeros + 1.0,))[1], first)
    for name in ("real", "imag"):
        want, curved = getattr(first, name), getattr(second, name)

        def part(t: Any, z: Any, name: str = name) -> Any:
            return getattr(function(t, z), name)

        def total(t: Any, z: Any, part: Callable[[Any, Any], Any] = part) -> Any:
            return tg.sum(part(t, z))

        replay = tg.jit(tg.grad(total))
        replay(zeros, Z[::-1].copy())
        close(tg.grad(total)(zeros, Z), want)
        close(replay(zeros, Z), want)
        close(tg.vmap(tg.grad(part))(zeros, Z), want)
        close(tg.vmap(tg.grad(tg.grad(part)))(zeros, Z), curved, 1e-10)
        close(tg.jit(tg.hvp(total))(zeros, Z, zeros + 1.0), curved, 1e-10)


def close(found: Any, want: Any, rtol: float = 1e-12) -> None:
    """Compare relative to the largest, of which a component is a difference."""
    found = found.data if isinstance(found, tg.Tensor) else found
    assert (np.abs(found - want) <= rtol * (np.abs(want) + 1)).all(), (found, want)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in SCALED])
def test_analytic_functions_have_one_derivative(name: str) -> None:
    for k, exact in enumerate(exactly(name)):
        found = tg.grad(lambda z, k=k: call(tg.special, name, z)[k], holomorphic=True)(complex(Z[1]))
        want = slopes(exact, complex(Z[1]))[0]
        assert abs(complex(found) - want) <= 1e-12 * abs(want)


@every
def test_gradients_in_single_precision(name: str) -> None:
    for k, exact in enumerate(exactly(name)):
        z = tg.tensor(Z[:4].astype(np.complex64))
        call(tg.special, name, z)[k].real.sum().backward()
        assert z.grad.dtype == np.complex64
        want = [complex(along_1.real, along_i.real) for along_1, along_i in (slopes(exact, w) for w in Z[:4])]
        np.testing.assert_allclose(z.grad, want, rtol=2e-4)


# Where the usual form of a derivative cancels or overflows, and the error of it in units of 1e-16
FAR = [
    ("wofz", 1e3 + 1j, 30), ("wofz", -40.0 + 30.0j, 30), ("wofz", 9.0 + 0j, 30), ("erfi", 20.0 + 3j, 300),
    ("loggamma", 1e8 + 1e8j, 30), ("hankel1e", 1e4 + 0j, 30), ("hankel1e", 200.0 + 200.0j, 30),
    ("hankel2e", 1e4 + 0j, 30), ("hankel2e", 200.0 - 200.0j, 30),
]  # fmt: skip


@pytest.mark.parametrize(("name", "z", "units"), FAR)
def test_derivatives_far_out(name: str, z: complex, units: float) -> None:
    with mp.workdps(60):
        (exact,) = exactly(name)
        want = mp.diff(exact, mp.mpmathify(z), h=mp.mpf(10) ** -25)
        found = tg.grad(lambda z: call(tg.special, name, z)[0], holomorphic=True)(z)
        assert abs(mp.mpmathify(complex(found)) - want) <= units * 1e-16 * abs(want)


@pytest.mark.parametrize("row", ["sici", "shichi"])
def test_integrals_have_second_derivatives_near_0(row: str) -> None:
    sign = {"sici": -1, "shichi": 1}[row]
    function = getattr(tg.special, row)
    for x in (0.0, 1e-9, -1e-4):
        assert tg.grad(lambda x: function(x)[0])(x) == pytest.approx(1 + sign * x * x / 6, rel=1e-15)
        assert tg.grad(tg.grad(lambda x: function(x)[0]))(x) == pytest.approx(sign * x / 3, rel=1e-8)
    for x in (np.inf, -np.inf):
        assert tg.grad(lambda x: function(x)[0])(x) == (0.0 if sign < 0 else np.inf)


@pytest.mark.parametrize("name", OF_ORDER)
def test_orders_have_no_derivative(name: str) -> None:
    function = getattr(tg.special, name)
    with pytest.raises(UnsupportedError, match=rf"scipy\.special\.{name}: no derivative by 'v' is known"):
        function(tg.tensor(0.5), 1.0 + 1j)
    with pytest.raises(UnsupportedError, match=name):
        function(0.5 + 1j, 1.0)


def test_compiled_functions() -> None:
    z = Z[:3]
    compiled = tg.compile(lambda z: tg.special.wofz(z).real.sum() + tg.special.airy(z)[0].imag.sum(), z)
    want = scipy.special.wofz(z).real.sum() + scipy.special.airy(z)[0].imag.sum()
    assert compiled(z) == pytest.approx(want, rel=1e-13)
