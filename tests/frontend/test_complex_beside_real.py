"""A real operand beside a complex one: signs of zeros are NumPy's, so that results lie on its sides of branch cuts."""

import itertools
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import tapegrad as tg

Call = Callable[[Any, Any], Any]
PARTS = (0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan)


def in_place(name: str) -> Call:
    def call(z: Any, x: Any) -> Any:
        z = +z
        return getattr(z, name)(x)

    return call


NUMBERS = (0, -1, 2, -0.0, 0.5, 1.0, np.float32(2), np.float64(-1), np.int64(3), np.array(-2.0))
COMPLEX_NUMBERS = (0j, -1j, 1 + 0j, complex(-1, -0.0))
SUMS: dict[str, Call] = {
    "z+x": lambda z, x: z + x, "x+z": lambda z, x: x + z, "z-x": lambda z, x: z - x, "x-z": lambda z, x: x - z,
    "z+=x": in_place("__iadd__"), "z-=x": in_place("__isub__"), "np.add": np.add, "np.subtract": np.subtract,
    "x/z": lambda z, x: x / z, "where": lambda z, x: np.where(x > 0, z, x), "-z": lambda z, x: -z,
    **{f"z+{c!r}": lambda z, x, c=c: z + c for c in NUMBERS}, **{f"{c!r}+z": lambda z, x, c=c: c + z for c in NUMBERS},
    **{f"z-{c!r}": lambda z, x, c=c: z - c for c in NUMBERS}, **{f"{c!r}-z": lambda z, x, c=c: c - z for c in NUMBERS},
    **{f"x+{c}": lambda z, x, c=c: x + c for c in COMPLEX_NUMBERS},
    **{f"{c}-x": lambda z, x, c=c: c - x for c in COMPLEX_NUMBERS},
}  # fmt: skip
PRODUCTS: dict[str, Call] = {
    "z*x": lambda z, x: z * x, "x*z": lambda z, x: x * z, "z*=x": in_place("__imul__"), "np.multiply": np.multiply,
    **{f"z*{c!r}": lambda z, x, c=c: z * c for c in NUMBERS}, **{f"{c!r}*z": lambda z, x, c=c: c * z for c in NUMBERS},
    **{f"x*{c}": lambda z, x, c=c: x * c for c in COMPLEX_NUMBERS},
}  # fmt: skip
QUOTIENTS: dict[str, Call] = {
    "z/x": lambda z, x: z / x, "z/=x": in_place("__itruediv__"), "np.divide": np.divide,
    **{f"z/{c!r}": lambda z, x, c=c: z / c for c in NUMBERS},
}  # fmt: skip
POWERS: dict[str, Call] = {
    **{f"z**{c!r}": lambda z, x, c=c: z**c for c in (2, 0.5, -1, 1, 0, 3, 1.0)},
    **{f"power(z, {c!r})": lambda z, x, c=c: np.power(z, c) for c in (2, 0.5, -1, 1, 2.0)},
}
TIERS: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "eager": lambda f: lambda z, x: f(tg.tensor(z), tg.tensor(x)).data,
    "arrays": lambda f: lambda z, x: f(tg.tensor(z), x).data,
    "rows": lambda f: tg.jit(f, fuse=False),
    "fused": lambda f: tg.jit(lambda z, x: f(tg.positive(z), tg.positive(x)), fuse=True),
    "lanes": lambda f: tg.vmap(f),
    "beside tangents": lambda f: lambda z, x: tg.jvp(f, (z, x), (z, x))[0],
    "beside gradients": lambda f: lambda z, x: tg.vjp(f, z, x)[0],
}


def operands(dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return complex and real numbers, so that all combinations of parts occur."""
    re, im, x = np.array([*itertools.product(PARTS, repeat=3)], dtype).T.copy()
    z = np.empty(re.shape, np.result_type(dtype, 1j))
    z.real, z.imag = re, im
    return z, x


def part_by_part(expected: np.ndarray, function: Call, z: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Replace NaN by what a part gives beside a finite one: a zero times inf stays out of the other part."""
    found = expected.copy()
    for part, other in (("real", "imag"), ("imag", "real")):
        beside_finite = z.copy()
        setattr(beside_finite, other, np.copysign(1.0, getattr(z, other)))
        alone = getattr(function(beside_finite, x), part)
        getattr(found, part)[...] = np.where(
            np.isnan(getattr(expected, part)), alone, getattr(expected, part)
        )
    return found


def offenders(function: Call, expected: np.ndarray, z: np.ndarray, x: np.ndarray) -> list[str]:
    """Name the tiers in which a number differs, or the sign of a zero or of an infinity."""
    wrong = []
    b = expected.view(x.dtype).ravel()
    size = np.nanmax(np.where(np.isfinite(b), np.abs(b), 0.0).reshape(-1, 2), axis=1).repeat(2)
    for tier, make in TIERS.items():
        a = np.asarray(make(function)(z.copy(), x)).view(x.dtype).ravel()
        close = (np.abs(a - b) <= 8 * np.finfo(x.dtype).eps * size) | (a == b) | (np.isnan(a) & np.isnan(b))
        signed = (b == 0) | np.isinf(b)
        for k in np.flatnonzero(~close | (signed & (np.signbit(a) != np.signbit(b))))[:1]:
            at = k // (b.size // z.size)
            wrong.append(f"{tier}: z={z[at]}, x={x[at]}: part {a[k]}, not {b[k]}")
    return wrong


def stacked(table: dict[str, Call]) -> Call:
    def function(z: Any, x: Any) -> Any:
        xp = tg if isinstance(z, tg.Tensor) or isinstance(x, tg.Tensor) else np
        return xp.stack([call(z, x) for call in table.values()], -1)

    return function


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["sums", "products", "quotients", "powers"])
def test_signs_of_zeros_are_numpys_in_all_tiers(kind: str, dtype: Any) -> None:
    table = {"sums": SUMS, "products": PRODUCTS, "quotients": QUOTIENTS, "powers": POWERS}[kind]
    z, x = operands(dtype)
    wrong = {}
    expected = {name: np.asarray(call(z.copy(), x)) for name, call in table.items()}
    if kind in ("products", "quotients"):
        for name, call in table.items():
            if "x*" not in name or name == "x*z":
                expected[name] = part_by_part(expected[name], call, z, x)
    names = [name for name, values in expected.items() if values.dtype == z.dtype]
    whole = stacked({name: table[name] for name in names})
    if offenders(whole, np.stack([expected[name] for name in names], -1), z, x):
        wrong = {name: found for name in names if (found := offenders(table[name], expected[name], z, x))}
        assert wrong, "the calls differ from NumPy's together, but not alone"
    assert not wrong


# --- behind branch cuts ----------------------------------------------------------------------------------------------


def refracted(n: Any) -> Any:
    """Snell's law beyond the critical angle: the transmission coefficient of a plane wave."""
    sine = n * 0.9
    cosine = np.sqrt(1 - sine**2)
    return np.real(2 * n * 0.436 / (n * 0.436 + cosine))


CUTS: dict[str, Callable[[Any], Any]] = {
    "sqrt(1-z)": lambda z: np.sqrt(1 - z),
    "log(1-z)": lambda z: np.log(1 - z),
    "sqrt(0+z)": lambda z: np.sqrt(0 + z),
    "log(z/2)": lambda z: np.log(z / 2),
    "log(-1*z)": lambda z: np.log(-1 * z),
    "sqrt(x*(1+0j))": lambda z: np.sqrt(np.real(z) * (1 + 0j)),
    "log(x-0j)": lambda z: np.log(np.real(z) - 0j),
    "einsum": lambda z: np.sqrt(np.einsum("i,i->i", np.ones(z.shape), z)),
    "einsum of an outer product": lambda z: np.log(np.einsum("i,j->ij", np.ones(2), z)),
    "tensordot": lambda z: np.log(np.tensordot(np.ones(2), z, 0)),
    "matmul": lambda z: np.log(np.ones((1, 1)) @ z[None]),
    "gradient": lambda z: np.log(np.gradient(z - np.array([1, 5, 9, 20, 30, 50]))),
    "refracted": refracted,
}


@pytest.mark.parametrize("tier", ["eager", "rows", "fused", "lanes"])
def test_compositions_lie_on_numpys_sides_of_cuts(tier: str) -> None:
    z = np.array([complex(a, b) for a in (2.0, -2.0, 1.5) for b in (0.0, -0.0)])
    if tier == "lanes":
        z = np.stack([z, z])
    wrong = []
    for name, call in CUTS.items():
        expected = np.stack([*map(call, z)]) if tier == "lanes" else call(z)
        found = np.asarray(TIERS[tier](lambda z, x, call=call: call(z))(z, z.real))
        if not np.allclose(found, expected, rtol=1e-13):
            wrong.append(name)
    assert not wrong


def test_loops_in_registers_stay_on_numpys_sides() -> None:
    def body(c: Any, x: Any) -> tuple[Any, Any]:
        return (1 - c * x) * 0.5 + 0 * c, np.sqrt(1 - c)

    factors = np.array([1.0, 2.0, -1.0, 0.5])
    for start in (complex(2, 0.0), complex(2, -0.0), complex(-3, -0.0)):
        c, expected = np.complex128(start), []
        for x in factors:
            c, y = body(c, x)
            expected.append(y)
        for scan in (tg.scan, tg.jit(tg.scan, static_argnums=0)):
            found = scan(body, np.array(start), factors)
            np.testing.assert_array_equal([*map(np.asarray, found[1])], expected)
            assert found[0] == c


INVERSE = {
    "arcsin": mpmath.asin, "arccos": mpmath.acos, "arctan": mpmath.atan, "arcsinh": mpmath.asinh,
    "arccosh": mpmath.acosh, "arctanh": mpmath.atanh, "sqrt": mpmath.sqrt, "log": mpmath.ln,
    "log1p": lambda z: mpmath.ln(1 + z),
}  # fmt: skip


def beside_cut(oracle: Callable[[Any], Any], z: complex, is_imaginary: bool) -> tuple[complex, complex]:
    """Return first and second derivative by central differences at 30 digits, on the side that a zero's sign says."""
    with mpmath.workdps(30):
        side = np.copysign(1.0, z.real) if is_imaginary else mpmath.mpc(0, np.copysign(1.0, z.imag))
        near, step = mpmath.mpc(z) + side * mpmath.mpf(1e-9), side * mpmath.mpf(1e-10)
        below, at, above = (oracle(near + k * step) for k in (-1, 0, 1))
        return complex((above - below) / (2 * step)), complex((above - 2 * at + below) / step**2)


def slope_of(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda z: tg.jvp(f, (z,), (np.ones(np.shape(z), complex),))[1]


@pytest.mark.parametrize("name", INVERSE)
def test_derivatives_of_inverse_functions_are_those_of_the_side_of_the_cut(name: str) -> None:
    is_imaginary = name in ("arctan", "arcsinh")
    points = [complex(a, b) for a in (3.0, -3.0) for b in (0.0, -0.0)]
    z = np.array([complex(p.imag, p.real) if is_imaginary else p for p in points])
    first, second = np.array([beside_cut(INVERSE[name], complex(each), is_imaginary) for each in z]).T
    slope = slope_of(getattr(np, name))
    for derivative, expected in ((slope, first), (slope_of(slope), second)):
        for found in (derivative(z), tg.jit(derivative)(z)):
            np.testing.assert_allclose(found, expected, rtol=1e-6)
