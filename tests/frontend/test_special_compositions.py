"""Special functions that are composed, of whole numbers, or with several results: SciPy's values, exact derivatives."""

import functools
import math
import re
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special

import tapegrad as tg
from helpers.hypergeometric_oracle import HYPERGEOMETRIC
from tapegrad.errors import UnsupportedError


def gamma_share(a: Any, x: Any) -> Any:
    return mp.gammainc(a, 0, x, regularized=True)


def gamma_rest(a: Any, x: Any) -> Any:
    return mp.gammainc(a, x, mp.inf, regularized=True)


def inverse(function: Callable[..., Any], near: Callable[..., Any]) -> Callable[..., Any]:
    """The inverse of a function by its last argument, near SciPy's number."""

    def value(*arguments: Any) -> Any:
        *rest, share = arguments
        start = mp.mpf(float(near(*map(float, arguments))))
        return mp.findroot(lambda x: function(*rest, x) - share, (start, start * (1 + mp.mpf(10) ** -8)))

    return value


def voigt(x: Any, sigma: Any, gamma: Any) -> Any:
    z = (x + 1j * gamma) / (sigma * mp.sqrt(2))
    return mp.re(mp.exp(-z * z) * mp.erfc(-1j * z)) / (sigma * mp.sqrt(2 * mp.pi))


def shifted_jacobi(n: Any, p: Any, q: Any, x: Any) -> Any:
    return mp.jacobi(n, p - q, q - 1, 2 * x - 1) / mp.binomial(2 * n + p - 1, n)


chdtri = inverse(lambda v, x: gamma_rest(v / 2, x / 2), scipy.special.chdtri)
gdtrix = inverse(lambda a, b, x: gamma_share(b, a * x), scipy.special.gdtrix)
pdtri = inverse(lambda k, m: gamma_rest(k + 1, m), scipy.special.pdtri)
# The exact function, points, and the first argument that is not a constant
CASES: dict[str, tuple[Callable[..., Any], list[tuple[float, ...]], int]] = {
    "chdtr": (lambda v, x: gamma_share(v / 2, x / 2), [(2.5, 3.0), (30.0, 1.0), (0.3, 1e-9)], 0),
    "chdtrc": (lambda v, x: gamma_rest(v / 2, x / 2), [(2.5, 3.0), (3.0, 60.0)], 0),
    "chdtri": (chdtri, [(2.5, 0.3), (9.0, 1e-5)], 0),
    "gdtr": (lambda a, b, x: gamma_share(b, a * x), [(1.5, 2.5, 0.7), (0.1, 20.0, 30.0)], 0),
    "gdtrc": (lambda a, b, x: gamma_rest(b, a * x), [(1.5, 2.5, 0.7), (2.0, 3.0, 20.0)], 0),
    "gdtrix": (gdtrix, [(1.5, 2.5, 0.7), (0.3, 4.0, 0.01)], 0),
    "pdtr": (lambda k, m: gamma_rest(k + 1, m), [(3, 2.5), (0, 1e-9), (20, 9.0)], 1),
    "pdtrc": (lambda k, m: gamma_share(k + 1, m), [(3, 2.5), (20, 9.0)], 1),
    "pdtri": (pdtri, [(3, 0.5), (2, 0.01)], 1),
    "bdtr": (HYPERGEOMETRIC["bdtr"], [(2, 5, 0.3), (0, 9, 1e-3), (8, 9, 0.99)], 2),
    "bdtrc": (HYPERGEOMETRIC["bdtrc"], [(2, 5, 0.3), (0, 9, 1e-3)], 2),
    "nbdtr": (HYPERGEOMETRIC["nbdtr"], [(2, 5, 0.3), (30, 2, 0.01)], 2),
    "nbdtrc": (HYPERGEOMETRIC["nbdtrc"], [(2, 5, 0.3), (30, 2, 0.9)], 2),
    "smirnov": (HYPERGEOMETRIC["smirnov"], [(5, 0.31), (12, 0.05), (1, 0.5)], 1),
    **{
        f"eval_{name}": (HYPERGEOMETRIC[f"eval_{name}"], [(5, 0.3), (4, 1.0), (3, -1.0), (0, 0.2), (30, 0.9)], 1)
        for name in ("legendre", "chebyt", "chebyu", "hermite", "hermitenorm")
    },
    "eval_laguerre": (functools.partial(lambda n, x: mp.laguerre(n, 0, x)), [(5, 0.3), (4, 0.0), (1, 9.0)], 1),
    "eval_genlaguerre": (mp.laguerre, [(5, 1.5, 0.3), (4, -0.5, 0.0)], 2),
    "eval_gegenbauer": (mp.gegenbauer, [(5, 1.5, 0.3), (4, 0.5, 1.0), (7, 2.5, -1.0)], 2),
    "eval_chebyc": (lambda n, x: 2 * mp.chebyt(n, x / 2), [(5, 0.3), (4, 2.0), (0, 1.0)], 1),
    "eval_chebys": (lambda n, x: mp.chebyu(n, x / 2), [(5, 0.3), (4, -2.0)], 1),
    "eval_sh_legendre": (lambda n, x: mp.legendre(n, 2 * x - 1), [(5, 0.3), (4, 0.0), (3, 1.0)], 1),
    "eval_sh_chebyt": (lambda n, x: mp.chebyt(n, 2 * x - 1), [(5, 0.3), (4, 0.0)], 1),
    "eval_sh_chebyu": (lambda n, x: mp.chebyu(n, 2 * x - 1), [(5, 0.3), (4, 1.0)], 1),
    "eval_jacobi": (mp.jacobi, [(5, 0.5, 1.5, 0.3), (3, 0.3, -0.2, 1.0), (4, 1.0, 2.0, -1.0), (1, 0.5, 1.5, 0.3)], 1),
    "eval_sh_jacobi": (shifted_jacobi, [(4, 2.5, 1.5, 0.3), (2, 3.0, 2.0, 1.0)], 1),
    "lpmv": (HYPERGEOMETRIC["lpmv"], [(1, 3.0, 0.3), (2, 4.5, -0.6), (0, 5.0, 1 - 1e-10), (-2, 3.0, 0.4)], 2),
    "voigt_profile": (voigt, [(0.5, 1.2, 0.3), (0.0, 0.4, 2.0), (30.0, 1.0, 1e-3), (0.3, 1e-3, 0.5)], 0),
    "hyp2f1": (mp.hyp2f1, [(1.3, 2.1, 3.2, 0.4), (0.7, 2.5, 1.1, -2.3), (0.4, 0.6, 1.9, -30.0)], 0),
}  # fmt: skip
LOOSE = {"lpmv": 1e-9, "gdtrix": 1e-11, "chdtri": 1e-11, "pdtri": 1e-11, "voigt_profile": 1e-8}
POINTS = [
    pytest.param(name, point, id=f"{name}{point}")
    for name, (_, points, _) in CASES.items()
    for point in points
]


def derivative(exact: Callable[..., Any], point: tuple[float, ...], orders: tuple[int, ...]) -> float:
    """Return a derivative; degrees and counts stay whole numbers."""
    moved = [j for j, order in enumerate(orders) if order]

    def along(*xs: Any) -> Any:
        values = [x if isinstance(x, int) else mp.mpf(x) for x in point]
        for j, x in zip(moved, xs, strict=True):
            values[j] = x
        return exact(*values)

    with mp.workdps(40):
        at = tuple(mp.mpf(point[j]) for j in moved)
        return float(mp.re(mp.diff(along, at, tuple(orders[j] for j in moved))))


@pytest.mark.parametrize(("name", "point"), POINTS)
def test_values_and_derivatives_of_compositions(name: str, point: tuple[float, ...]) -> None:
    exact, _, first = CASES[name]
    ours, theirs = getattr(tg.special, name), getattr(scipy.special, name)
    np.testing.assert_array_equal(ours(*point).data, theirs(*point))
    variables = range(first, len(point))
    tensors = [tg.tensor(x) if j >= first else x for j, x in enumerate(point)]
    assert theirs(*tensors).item() == ours(*point).item()

    def f(*xs: Any) -> Any:
        return ours(*point[:first], *xs)

    xs, argnums = tuple(map(float, point[first:])), tuple(range(len(variables)))
    want = [derivative(exact, point, tuple(int(j == k) for k in range(len(point)))) for j in variables]
    tolerance = LOOSE.get(name, 2e-12)
    scale = max(map(abs, want)) * 1e-3
    for gradient in (tg.grad(f, argnums), tg.jit(tg.grad(f, argnums))):
        np.testing.assert_allclose(gradient(*xs), want, rtol=tolerance, atol=tolerance * scale)
    tangent = tg.jvp(f, xs, tuple(1.0 for _ in xs))[1]
    np.testing.assert_allclose(tangent, sum(want), rtol=10 * tolerance, atol=tolerance * sum(map(abs, want)))


@pytest.mark.parametrize("name", [name for name in CASES if name != "smirnov"])
def test_second_derivatives_of_compositions(name: str) -> None:
    exact, points, first = CASES[name]
    point = points[0]
    f = lambda v: getattr(tg.special, name)(*point[:first], *v)  # noqa: E731
    found = np.asarray(tg.hessian(f)(np.array(point[first:], float)))
    for j, k in np.ndindex(found.shape):
        orders = tuple(int(i == first + j) + int(i == first + k) for i in range(len(point)))
        want = derivative(exact, point, orders)
        np.testing.assert_allclose(found[j, k], want, rtol=1e-10, atol=1e-12, err_msg=f"by {j} and {k}")


def test_a_row_of_degrees_broadcasts() -> None:
    n, x = np.arange(5)[:, None], np.linspace(-1.0, 1.0, 7)
    for name, rest in (("eval_legendre", ()), ("eval_gegenbauer", (1.5,)), ("eval_jacobi", (0.5, 1.5))):
        ours, theirs = getattr(tg.special, name), getattr(scipy.special, name)
        np.testing.assert_array_equal(tg.jit(lambda x: ours(n, *rest, x))(x), theirs(n, *rest, x))  # noqa: B023
        assert np.isfinite(tg.grad(lambda x: tg.sum(ours(n, *rest, x)))(x)).all()  # noqa: B023
    narrow = np.linspace(0.1, 0.9, 5, dtype=np.float32)
    assert tg.special.eval_legendre(3, narrow).dtype == np.float32
    np.testing.assert_allclose(
        tg.special.eval_legendre(3, narrow).data, scipy.special.eval_legendre(3, narrow), rtol=1e-5
    )


# --- arguments that are refused ------------------------------------------------------------------------------------


def test_degrees_are_whole_constants() -> None:
    x = tg.tensor(0.3)
    with pytest.raises(
        ValueError, match=r"scipy\.special\.eval_legendre: n must be a whole number from 0 on, not 2\.5"
    ):
        tg.special.eval_legendre(2.5, x)
    with pytest.raises(ValueError, match="eval_jacobi: n must be a whole number from 0 on, not -1"):
        tg.special.eval_jacobi(-1, 0.5, 0.5, x)
    with pytest.raises(UnsupportedError, match=r"scipy\.special\.eval_chebyt: no derivative by 'n'"):
        tg.special.eval_chebyt(tg.tensor(2.0), x)
    with pytest.raises(UnsupportedError, match=r"scipy\.special\.eval_gegenbauer: no derivative by 'alpha'"):
        tg.special.eval_gegenbauer(2, tg.tensor(0.5), x)
    with pytest.raises(UnsupportedError, match=r"scipy\.special\.pdtr: no derivative by 'k'"):
        tg.special.pdtr(tg.tensor(2.0), x)
    with pytest.raises(UnsupportedError, match=r"scipy\.special\.bdtr: no derivative by 'n'"):
        tg.special.bdtr(1, tg.tensor(2.0), x)
    with pytest.raises(UnsupportedError, match=r"scipy\.special\.lpmv: no derivative by 'v'"):
        tg.special.lpmv(1, tg.tensor(2.0), x)


@pytest.mark.parametrize(
    ("f", "order", "message"),
    [
        (lambda d: tg.special.smirnov(4, d), 2, "smirnov: no second derivative by 'd'"),
        (lambda a: tg.special.hyp1f1(a, 1.5, 0.3), 3, "hyp1f1: no third derivative by 'a'"),
        (
            lambda a: tg.special.hyp2f1(a, 1.5, 2.5, 0.3),
            3,
            "hyp2f1: first and second derivatives by a, b and c",
        ),
    ],
)
def test_derivatives_of_too_high_order_are_refused(f: Any, order: int, message: str) -> None:
    for _ in range(order):
        f = tg.grad(f)
    with pytest.raises(UnsupportedError, match=re.escape(message)):
        f(0.4)


# --- Gauss's function ----------------------------------------------------------------------------------------------


def test_the_hypergeometric_function_beside_one() -> None:
    """By z there are derivatives of any order; by the others the series would be too long."""
    by_z = tg.grad(lambda z: tg.special.hyp2f1(0.5, 0.3, 2.5, z))
    near = 1.0 - 1e-9
    assert by_z(near) == pytest.approx(derivative(mp.hyp2f1, (0.5, 0.3, 2.5, near), (0, 0, 0, 1)), rel=1e-9)
    third = derivative(mp.hyp2f1, (0.5, 0.3, 2.5, 0.2), (0, 0, 0, 3))
    assert tg.grad(tg.grad(by_z))(0.2) == pytest.approx(third, rel=1e-12)
    assert tg.jit(tg.grad(tg.grad(by_z)))(0.2) == pytest.approx(third, rel=1e-12)
    by_a = tg.grad(lambda a: tg.special.hyp2f1(a, 0.3, 2.5, near))
    with pytest.raises(ValueError, match=r"scipy\.special\.hyp2f1: the series .* hold a, b and c fixed"):
        by_a(0.5)


def test_the_hypergeometric_function_by_all_arguments() -> None:
    rng = np.random.default_rng(0)
    places = np.concatenate([rng.uniform(-3, 0.9, 10), [-30.0, -0.01, 0.0, 1e-8, 0.5, 0.99]])
    at = [*(rng.uniform(0.2, high, 16) for high in (6.0, 6.0, 9.0)), places]
    at[0][3], at[0][6], at[1][5] = -1.5, -2.0, -0.3  # a polynomial among them
    gradients = tg.jit(tg.grad(lambda *xs: tg.sum(tg.special.hyp2f1(*xs)), argnums=(0, 1, 2, 3)))(*at)
    for i, point in enumerate(zip(*at, strict=True)):
        for j, gradient in enumerate(gradients):
            want = derivative(mp.hyp2f1, tuple(map(float, point)), tuple(int(j == k) for k in range(4)))
            np.testing.assert_allclose(gradient[i], want, rtol=1e-12, err_msg=f"{point} by {j}")


def test_hessian_vector_products_of_the_hypergeometric_function() -> None:
    point, direction = np.array([1.3, 2.1, 3.2, 0.4]), np.array([1.0, -0.5, 0.3, 2.0])
    f = lambda v: tg.special.hyp2f1(*v)  # noqa: E731
    want = np.asarray(tg.hessian(f)(point)) @ direction
    np.testing.assert_allclose(tg.hvp(f)(point, direction), want, rtol=1e-12)
    np.testing.assert_allclose(tg.jvp(tg.grad(f), (point,), (direction,))[1], want, rtol=1e-12)


# --- the Voigt profile at its edges --------------------------------------------------------------------------------


def test_voigt_profile_of_no_width() -> None:
    f = tg.special.voigt_profile
    x = np.array([0.5, -2.0, 0.0])
    for sigma, gamma in ((0.0, 0.3), (0.7, 0.0)):
        np.testing.assert_allclose(
            f(x, sigma, gamma).data, scipy.special.voigt_profile(x, sigma, gamma), rtol=1e-15
        )
    assert f(0.0, 0.0, 0.0).item() == math.inf
    by_all = tg.grad(f, (0, 1, 2))
    cauchy = lambda x, gamma: gamma / mp.pi / (x * x + gamma * gamma)  # noqa: E731
    by_x, by_gamma = (float(mp.diff(cauchy, (0.5, 0.3), order)) for order in ((1, 0), (0, 1)))
    np.testing.assert_allclose(by_all(0.5, 0.0, 0.3), (by_x, 0.0, by_gamma), rtol=1e-13)
    curvature = tg.grad(tg.grad(f, 1), 1)(0.5, 0.0, 0.3)
    assert curvature == pytest.approx(float(mp.diff(cauchy, (0.5, 0.3), (2, 0))), rel=1e-12)
    assert curvature == pytest.approx(tg.grad(tg.grad(f, 1), 1)(0.5, 1e-3, 0.3), rel=1e-4)
    want = [derivative(voigt, (0.5, 0.7, 0.0), order) for order in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    np.testing.assert_allclose(by_all(0.5, 0.7, 0.0), want, rtol=1e-12)


# --- several results, and functions that are no ufuncs -------------------------------------------------------------


def test_jacobis_elliptic_functions() -> None:
    u, m = np.array([0.5, -3.0, 9.0]), np.array([0.3, 0.0, 0.999])
    for found, expected in zip(tg.special.ellipj(u, m), scipy.special.ellipj(u, m), strict=True):
        np.testing.assert_array_equal(found.data, expected)
    sn, *_ = scipy.special.ellipj(tg.tensor(u), m)
    assert isinstance(sn, tg.Tensor)
    for k, name in enumerate(("sn", "cn", "dn", "ph")):
        for point in ((0.5, 0.3), (9.0, 0.7), (-1.0, 1e-9)):
            exact, f = HYPERGEOMETRIC[f"ellipj_{name}"], lambda u, m, k=k: tg.special.ellipj(u, m)[k]
            want = [derivative(exact, point, order) for order in ((1, 0), (0, 1))]
            np.testing.assert_allclose(tg.grad(f, (0, 1))(*point), want, rtol=1e-11)


@pytest.mark.parametrize("kind", "jyik")
def test_spherical_bessel_functions(kind: str) -> None:
    name = f"spherical_{kind}n"
    ours, theirs = getattr(tg.special, name), getattr(scipy.special, name)
    n, z = np.arange(5)[:, None], np.array([0.2, 1.0, 7.0])
    np.testing.assert_array_equal(ours(n, z).data, theirs(n, z))
    np.testing.assert_allclose(ours(n, z, derivative=True).data, theirs(n, z, derivative=True), rtol=2e-13)
    slope = derivative(HYPERGEOMETRIC[name], (2, 0.7), (0, 2))
    assert tg.grad(lambda z: ours(2, z, True))(0.7) == pytest.approx(slope, rel=1e-12)
    if kind in "ji":
        assert [tg.grad(lambda z: ours(n, z))(0.0) for n in range(3)] == pytest.approx([0.0, 1 / 3, 0.0])  # noqa: B023
    with pytest.raises(ValueError, match=f"{name}: n must be a whole number from 0 on"):
        ours(0.5, z)


def test_spherical_harmonics() -> None:
    n, m = np.array([(n, m) for n in range(5) for m in range(-5, 6)]).T
    theta, phi = np.random.default_rng(2).uniform(0.0, 3.0, (2, n.size))
    np.testing.assert_allclose(
        tg.special.sph_harm_y(n, m, theta, phi).data,
        scipy.special.sph_harm_y(n, m, theta, phi),
        rtol=1e-13,
        atol=1e-15,
    )

    def parts(angles: Any) -> Any:
        y = tg.special.sph_harm_y(n, m, angles[0], angles[1])
        return tg.concatenate([y.real, y.imag])

    for angles in ((0.7, 0.4), (0.0, 1.0), (math.pi, 0.5)):
        _, first, second = scipy.special.sph_harm_y(n, m, *angles, diff_n=2)
        want = np.concatenate([first.real, first.imag])
        np.testing.assert_allclose(tg.jacobian(parts)(np.array(angles)), want, rtol=1e-12, atol=1e-13)
        hessian = tg.jacobian(tg.jacobian(parts))(np.array(angles))
        np.testing.assert_allclose(
            hessian, np.concatenate([second.real, second.imag]), rtol=1e-11, atol=1e-12
        )
    with pytest.raises(UnsupportedError, match="sph_harm_y: diff_n must be 0"):
        tg.special.sph_harm_y(1, 0, 0.3, 0.4, diff_n=1)


def test_dirichlets_kernel() -> None:
    x = np.array([0.0, 0.3, 2 * np.pi, -40.0])
    for n in (1, 4, 7):
        np.testing.assert_allclose(
            tg.special.diric(x, n).data, scipy.special.diric(x, n), rtol=1e-12, atol=1e-15
        )
    assert tg.grad(tg.grad(lambda x: tg.special.diric(x, 5)))(0.0) == pytest.approx((1 - 25) / 12)
    with pytest.raises(ValueError, match="diric: n must be a whole number"):
        tg.special.diric(x, 0)


# --- rows at hard places -------------------------------------------------------------------------------------------

# Places where the usual form of a derivative has no digits, or no value.
HARD = [
    ("ellipkinc", (1.2, 0.0)), ("ellipkinc", (1.5707, 1 - 1e-9)), ("ellipkinc", (-9.0, -40.0)),
    ("ellipeinc", (0.3, 0.0)),
    ("ellipeinc", (1.2, 1.0)), ("ellipkm1", (1e-30,)), ("ellipkm1", (1.0,)), ("agm", (1.0, 1.0)), ("agm", (1.0, 1e-30)),
    ("k0e", (1e5,)), ("k1e", (1e-9,)), ("boxcox1p", (1e-12, 0.3)), ("boxcox1p", (2.0, 1e-9)),
    ("powm1", (1 + 1e-9, 2.0)),
    ("ndtri_exp", (-1e-3,)), ("wrightomega", (-40.0,)), ("wrightomega", (1e9,)), ("struve", (0.5, 1e-9)),
    ("struve", (2.0, 50.0)), ("modstruve", (1.5, 30.0)), ("tklmbda", (0.3, 1e-3)), ("kolmogorov", (0.79,)),
    ("kolmogorov", (0.81,)), ("kolmogorov", (3.0,)), ("chndtr", (0.01, 3.0, 2.0)), ("chndtr", (30.0, 3.0, 9.0)),
    ("fdtri", (3.0, 5.0, 0.01)), ("hyp1f1", (1.5, 2.5, -100.0)), ("hyp1f1", (-3.0, 2.5, 4.0)),
    ("hyp1f1", (1.5, 2.5, 300.0)), ("hyp1f1", (1e-9, 1.4, -3.0)), ("ber", (9.0,)), ("kei", (0.01,)), ("cotdg", (1e-9,)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "point"), HARD, ids=[f"{name}{point}" for name, point in HARD])
def test_derivatives_of_rows_at_hard_places(name: str, point: tuple[float, ...]) -> None:
    """First derivatives, and second ones by forward over reverse."""
    ours, exact = getattr(tg.special, name), HYPERGEOMETRIC[name]
    unknown = {"struve": (0,), "modstruve": (0,), "chndtr": (1,)}.get(name, ())
    for j in range(len(point)):
        if j in unknown:
            continue
        f = lambda x, j=j: ours(*point[:j], x, *point[j + 1 :])  # noqa: E731
        with mp.workdps(60):
            at = tuple(map(mp.mpf, point))
            step = (abs(at[j]) or 1) * mp.mpf(10) ** -20
            along = lambda x, j=j: exact(*at[:j], x, *at[j + 1 :])  # noqa: E731, B023
            first, second = (float(mp.re(mp.diff(along, at[j], order, h=step))) for order in (1, 2))
        assert tg.grad(f)(point[j]) == pytest.approx(first, rel=1e-11), j
        curvature = tg.jvp(tg.grad(f), (point[j],), (1.0,))[1]
        assert curvature == pytest.approx(second, rel=1e-9, abs=1e-11 * abs(first)), j


def test_derivatives_at_the_ends_are_infinite_or_finite() -> None:
    assert tg.grad(lambda b: tg.special.agm(1.0, b))(0.0) == math.inf
    assert tg.grad(tg.special.ellipkm1)(0.0) == -math.inf
    assert tg.grad(tg.special.k0e)(0.0) == -math.inf
    slopes = [tg.grad(lambda x: tg.special.lpmv(m, 3.0, x))(x) for m in range(4) for x in (1.0, -1.0)]  # noqa: B023
    assert slopes == [6.0, 6.0, math.inf, -math.inf, -30.0, -30.0, 0.0, 0.0]
    assert tg.grad(tg.special.beip)(0.0) == 0.5


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_jacobis_functions_where_results_are_computed_from_each_other(dtype: Any) -> None:
    """SciPy's loop reads the sine for dn near the quarter period: no two results may share memory."""
    u, m = np.meshgrid(np.linspace(-6, 6, 61), np.linspace(0.01, 0.99, 20))
    results = tg.special.ellipj(tg.tensor(u.astype(dtype)), tg.tensor(m.astype(dtype)))
    for ours, scipys in zip(results, scipy.special.ellipj(u.astype(dtype), m.astype(dtype)), strict=True):
        np.testing.assert_array_equal(ours.data, scipys)
