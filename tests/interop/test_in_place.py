"""Functions of SciPy and `math` by their own names, inside of `in_place_of_scipy`: values and gradients of each.

The oracle is SciPy's own function of plain numbers, and central differences of it.
"""

import math
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse.linalg
import scipy.spatial
import scipy.special
import scipy.stats

import tapegrad as tg
from helpers.daily import daily
from helpers.offenders import assert_none
from tapegrad.interop.in_place.table import stand_ins

_S = np.cos(np.arange(16.0) ** 2).reshape(4, 4)
# What expressions name, beside the modules: matrices that depend on p, and data
NAMES: dict[str, Any] = {
    "np": np,
    "I": np.eye(4),
    "N": _S + 4 * np.eye(4),  # regular
    "P": _S @ _S.T + 4 * np.eye(4),  # positive definite
    "D": np.arange(16.0).reshape(4, 4) / 10,
    "H": np.array([[4.0, 4.5, 5.0, 5.5], [1.0, 0.5, 0.3, 0.0]]),  # lower bands
    "b": np.array([1.0, -2.0, 0.5, 3.0]),
    "x": np.array([0.0, 0.7, 1.5, 2.0, 3.1]),
    "y": np.array([1.0, -0.5, 2.0, 0.3, 1.7]),
    "u": np.array([0.2, 0.5, 0.3, 0.7]),
    "K": np.array([[0.5, 1.0], [-0.3, 0.2]]),
}
MODULES = {
    "math": math, "special": scipy.special, "linalg": scipy.linalg, "interpolate": scipy.interpolate,
    "integrate": scipy.integrate, "ndimage": scipy.ndimage, "signal": scipy.signal, "fft": scipy.fft,
    "optimize": scipy.optimize, "stats": scipy.stats, "distance": scipy.spatial.distance, "spatial": scipy.spatial,
    "sparse_linalg": scipy.sparse.linalg,
}  # fmt: skip
_A = "(N + p[0] * D)"
_SYM = "(P + p[0] * (D + D.T))"
_V = "(b + p)"
_T = "1.5 + 0.1 * p[0]"
# Expressions in p, a vector of four numbers around (0.3, -0.2, 0.5, 0.1); some are of tuples
EXPRESSIONS = [
    # math
    *(f"math.{name}(p[0])" for name in (
        "sqrt", "exp", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
        "cosh", "tanh", "asinh", "atanh", "erf", "erfc", "gamma", "lgamma", "fabs", "degrees", "radians", "cbrt",
    )),
    "math.exp2(p[0])" if hasattr(math, "exp2") else "math.exp(p[0])",
    "math.acosh(1 + p[0])", "math.log(p[0], 3)", "math.log(2.0, 2 + p[0])", "math.pow(p[0], p[2])",
    "math.pow(2, p[1])",
    "math.atan2(p[0], p[1])", "math.hypot(p[0], p[1])", "math.hypot(p[0], 2.0, p[1])", "math.copysign(p[0], p[1])",
    "math.dist([p[0], p[1]], (1, 2))", "math.dist(p, b)", "math.fsum([p[0], 2.0, p[1] * p[2]])",
    "math.fsum(t * t for t in p)", "math.fmod(7.3, p[0])", "math.prod([p[0], p[1], 3])",
    "p[0] if math.isfinite(p[0]) and not math.isnan(p[1]) and not math.isinf(p[1]) else p[1]",
    "p[1] if math.isclose(p[0], 0.3, rel_tol=0.1) else p[2]",
    "p[1] if math.isclose(p[0], p[2], abs_tol=1e-3) else p[2]",
    # special
    "special.logsumexp(p)", "special.logsumexp([p[0], p[1], 0.3])", "special.softmax(p)", "special.log_softmax(p)",
    "special.multigammaln(3 + p[0], 2)", "special.polygamma(1, 2 + p)", "special.zeta(3, 1 + p[2])",
    "special.softplus(p)", "special.lambertw(0.5 + p).real", "special.comb(5.5 + p[0], 2)",
    "special.factorial(2.5 + p[0])",
    # linalg
    f"linalg.solve({_A}, {_V})", f"linalg.solve({_SYM}, b, assume_a='pos')",
    f"linalg.solve({_A}, b, overwrite_a=True)",
    f"linalg.inv({_A})", f"linalg.det({_A})", f"linalg.norm({_A})", f"linalg.norm({_V}, 3)", f"linalg.norm({_A}, 1)",
    f"linalg.cholesky({_SYM})", f"linalg.cholesky({_SYM}, lower=True)", f"linalg.cholesky({_A} + 9 * I, True)",
    f"linalg.cho_solve(linalg.cho_factor({_SYM}), {_V})",
    f"linalg.cho_solve((linalg.cholesky({_SYM}, lower=True), True), {_V})",
    f"linalg.solve_triangular({_A}, {_V}, lower=True)", f"linalg.lu_solve(linalg.lu_factor({_A}), {_V})",
    f"linalg.lu({_A})", f"linalg.qr({_A})", f"linalg.qr({_A}[:, :2], mode='economic')", f"linalg.qr({_A}, mode='r')",
    f"linalg.svd({_A}, full_matrices=False)[1]", f"linalg.svdvals({_A})",
    f"linalg.eigh({_SYM})[0]", f"linalg.eigh({_SYM}, eigvals_only=True)", f"linalg.eigh({_A}, lower=False)[0]",
    f"linalg.eigvalsh({_SYM})", f"abs(linalg.eigvals({_A})).sum()",
    f"abs(linalg.eig({_A})[0]).sum()", f"abs(linalg.eig({_A}, right=False)).sum()",
    f"linalg.expm({_A} / 5)", f"linalg.logm({_SYM})", f"linalg.sqrtm({_SYM})", f"linalg.cosm({_A})",
    f"linalg.sinm({_A})", f"linalg.tanm({_A} / 9)", f"linalg.coshm({_A} / 5)", f"linalg.sinhm({_A} / 5)",
    f"linalg.tanhm({_A} / 9)", f"linalg.pinv({_A}[:, :2])", f"linalg.pinvh({_SYM})",
    f"linalg.lstsq({_A}[:, :2], {_V})[0]", f"linalg.lstsq({_A}[:, :2], {_V})[1]",
    f"linalg.lstsq({_A}[:, :2], D)[1]", f"linalg.block_diag({_A}, [[p[1]]])", "linalg.toeplitz(p)",
    "linalg.circulant(p)",
    "linalg.hankel(p)", "linalg.solve_toeplitz(b + p, b)", "linalg.solve_circulant(b + p, b)",
    "linalg.companion(b + p)",
    f"linalg.khatri_rao({_A}, D)", f"linalg.signm({_A})", f"linalg.fractional_matrix_power({_SYM}, 0.3)",
    f"linalg.polar({_A})", f"linalg.subspace_angles({_A}[:, :2], D[:, 1:3])",
    f"linalg.expm_frechet({_A} / 9, D * p[1])", "linalg.leslie(b + p, p[1:])",
    "linalg.eigh_tridiagonal(b + p, b[1:])[0]", "linalg.eigvalsh_tridiagonal(b, b[1:] + p[1:])",
    "linalg.cholesky_banded(H + p[0] * H, lower=True)", "linalg.solveh_banded(H + p[0], b, lower=True)",
    "linalg.solve_banded((1, 0), H + p[0], b)", "linalg.cho_solve_banded((H + p[0], True), b)",
    f"linalg.solve_sylvester({_A}, N, D)", f"linalg.solve_continuous_lyapunov({_A}, D)",
    f"linalg.solve_lyapunov({_A}, D)",
    f"linalg.solve_discrete_lyapunov({_A} / 9, D)",
    # interpolate
    "interpolate.CubicSpline(x, y * p[0])(1.1)", f"interpolate.CubicSpline(x, y)({_T})",
    f"interpolate.CubicSpline(x, y)({_T}, 1)", "interpolate.CubicSpline(x, y, bc_type='natural')([p[0], 1 + p[1]])",
    "interpolate.CubicSpline(x, y).integrate(p[0], 2.5)", "interpolate.CubicSpline(x, y * p[0]).derivative()(0.3)",
    "interpolate.PchipInterpolator(x, y * p[0])(1.1)", f"interpolate.PchipInterpolator(x, y)({_T})",
    "interpolate.Akima1DInterpolator(x, y * p[0])(1.1)", f"interpolate.Akima1DInterpolator(x, y)({_T})",
    f"interpolate.CubicHermiteSpline(x, y, y * p[0])({_T})", "interpolate.make_interp_spline(x, y * p[0], 3)(1.1)",
    f"interpolate.make_interp_spline(x, y, k=2)({_T})",
    "interpolate.make_interp_spline(x, y).integrate(0.2, 1 + p[0])",
    f"interpolate.BSpline(np.arange(8.0), p, 3)(3.0 + {_T} / 9)",
    "interpolate.BSpline(np.arange(8.0), b, 3)(3.2 + p)",
    "interpolate.make_interp_spline(x, np.outer(b, y), axis=1)(1 + p)",
    f"interpolate.PPoly(K + p[0], [0.0, 1.0, 2.0])({_T})", f"interpolate.PPoly(K, [0.0, 1.0, 2.0])({_T})",
    "interpolate.RegularGridInterpolator((x, u.cumsum()), np.outer(y, b))([[1.0 + p[0], 0.8]])",
    "interpolate.RegularGridInterpolator((x, u.cumsum()), np.outer(y, b + p))([[1.0, 0.8]])",
    "interpolate.interp1d(x, y * p[0])(1.1)", f"interpolate.interp1d(x, y)({_T})",
    f"interpolate.interp1d(x, y, kind='cubic')({_T})", "interpolate.interp1d(x, y * p[0], kind='quadratic')(1.1)",
    f"interpolate.interp1d(x[::-1], y, kind=3)({_T})", f"interpolate.interp1d(x[::-1], y * p[0], kind=3)({_T})",
    "interpolate.interp1d(x, y, fill_value='extrapolate')([p[1], 9 + p[0]])",
    "interpolate.interp1d(x, np.outer(b, y))(1.1 + p[:3])",
    "interpolate.interp1d(x, np.outer(y, b), axis=0)(1.1 + p[:3])",
    f"interpolate.splev({_T}, interpolate.splrep(x, y))",
    f"interpolate.splev([{_T}, p[0]], interpolate.splrep(x, y), 1)",
    f"interpolate.UnivariateSpline(x, y, s=0.5)({_T})", f"interpolate.InterpolatedUnivariateSpline(x, y)({_T}, 1)",
    # integrate
    "integrate.quad(lambda t: np.exp(-p[0] * t * t), 0, 2)[0]", "integrate.quad(np.cos, p[0], p[2])[0]",
    "integrate.quad(lambda t, a: np.exp(-a * t), 0, np.inf, args=(p[0],))[0]",
    "integrate.quad(lambda t, a: np.exp(-a * t * t), 0, 1, (p[0],), 0, 1e-12, 1e-12)[0]",
    "integrate.fixed_quad(lambda t: t**3 * p[0], 0, 1 + p[1])[0]", "integrate.fixed_quad(np.exp, p[0], p[2], n=3)[0]",
    "integrate.trapezoid(y * p[0], x)", "integrate.trapezoid(D + p[0], dx=p[2], axis=0)",
    "integrate.trapezoid(b, b + p)",
    "integrate.simpson(y * p[0], x)", "integrate.simpson(p, dx=0.5)", "integrate.simpson(b, x=np.cumsum(u + p))",
    "integrate.simpson(y[:3] * p[0], x=x[:3] + p[:3] / 9)", "integrate.simpson(np.outer(y, p), x=x, axis=0)",
    "integrate.simpson(p[:2])",
    "integrate.cumulative_trapezoid(p, u.cumsum())", "integrate.cumulative_trapezoid(D * p[0], axis=0, initial=0)",
    "integrate.romb(y * p[0], dx=0.1 + p[1])", "integrate.romb(np.outer(y, b) * p[0], axis=0)",
    "integrate.solve_ivp(lambda t, z: -p[0] * z, (0, 1), [1.0], t_eval=[0.5, 1.0], rtol=1e-9, atol=1e-9).y",
    "integrate.solve_ivp(lambda t, z, k: -k * z, (0, 1), [1.0 + p[1]], 'DOP853', [1.0], args=(p[0],), rtol=1e-9).y",
    "integrate.odeint(lambda z, t: -p[0] * z, [1.0, 2.0], [0.0, 0.5, 1.0], rtol=1e-9, atol=1e-9)",
    # ndimage, signal, fft
    *(f"ndimage.{name}(D * p[0] ** 2, {args})" for name, args in (
        ("gaussian_filter", "1.0"), ("gaussian_filter1d", "1.0"), ("uniform_filter", "3"), ("uniform_filter1d", "3"),
        ("laplace", "mode='wrap'"), ("sobel", "0"), ("prewitt", "0"), ("gaussian_laplace", "1.0"),
        ("correlate", "K"), ("convolve", "K"), ("correlate1d", "u[:3]"), ("convolve1d", "u[:3]"), ("shift", "1"),
    )),
    "ndimage.gaussian_gradient_magnitude(D + 9 * D * p[0], 1.0)",
    "signal.convolve(p, y)", "signal.correlate(y, p, mode='same')", "signal.fftconvolve(p, y)",
    "signal.oaconvolve(p, y)",
    "signal.convolve2d(D * p[0], K)", "signal.correlate2d(D * p[0], K, 'valid')", "signal.lfilter(p, [1.0, 0.2], y)",
    "signal.lfilter_zi([1.0, 0.3 + p[0]], [1.0, 0.2])", "signal.sosfilt([[1, 0.2, 0.1, 1, 0.3, 0.1]], y * p[0])",
    "signal.filtfilt([1.0, 0.5], [1.0, 0.2], np.outer(y, p).ravel())", "abs(signal.hilbert(p))",
    "signal.sosfiltfilt([[1, 0.2, 0.1, 1, 0.3, 0.1]], np.outer(y, p).ravel())", "abs(signal.freqz(b + p, worN=5)[1])",
    "abs(signal.stft(np.outer(y, p).ravel(), nperseg=8)[2])",
    "signal.istft(np.outer(y, p) * np.ones((5, 1)), nperseg=8)[1]",
    *(f"abs(fft.{name}({x}))" for name, x in (
        ("fft", "b + p"), ("ifft", "b + p"), ("rfft", "b + p"), ("irfft", "b + p"), ("hfft", "b + p"), ("ihfft",
        "b + p"),
        ("fft2", "D + p"), ("ifft2", "D + p"), ("rfft2", "D + p"), ("irfft2", "D + p"), ("fftn", "D + p"),
        ("ifftn", "D + p"), ("rfftn", "D + p"), ("irfftn", "D + p"), ("hfft2", "D + p"), ("ihfft2", "D + p"),
        ("hfftn", "D + p"), ("ihfftn", "D + p"),
    )),
    "fft.dct(p)", "fft.idct(p, norm='ortho')", "fft.dst(p, 3)", "fft.idst(p, workers=1)", "fft.dctn(D + p)",
    "fft.idctn(D + p)", "fft.dstn(D + p)", "fft.idstn(D + p)", "fft.fftshift(p)", "fft.ifftshift(p)",
    # optimize
    *(f"optimize.{name}(lambda t: t**3 + t - p[0], -1, 2)" for name in ("brentq", "bisect", "brenth", "ridder",
    "toms748")),
    "optimize.brentq(lambda t, a: t**3 + t - a, p[1] - 1, 2, args=(p[0],), xtol=1e-13)",
    "optimize.newton(lambda t: t**3 + t - p[0], 0.5)", "optimize.newton(lambda t, a: t**3 + t - a, b, args=(p,))",
    "optimize.newton(lambda t: t**3 + t - p[0], 0.5, fprime=lambda t: 3 * t**2 + 1)",
    "optimize.root_scalar(lambda t: t**3 + t - p[0], bracket=(0, 1)).root",
    "optimize.root_scalar(lambda t, a: t**3 + t - a, args=(p[0],), x0=0.2, fprime=lambda t, a: 3 * t**2 + 1).root",
    "optimize.root_scalar(lambda t: t**3 + t - p[0], method='secant', x0=0.2, x1=0.3).root",
    "optimize.fsolve(lambda t: [t[0] ** 3 + t[0] + t[1] - p[0], t[1] * 3 - t[0] - p[1]], [0.1, 0.2])",
    "optimize.fsolve(lambda t, a: t**3 + t - a, 0.1, args=(p[0],))",
    "optimize.root(lambda t: t**3 + t - p, b).x",
    "optimize.root(lambda t, a: t**3 + t - a, b, args=(p,), method='lm').x",
    "optimize.minimize(lambda t: np.sum((t - p) ** 2 + t**4), b, tol=1e-8).x",
    "optimize.minimize(lambda t: np.sum((t - p) ** 2 + t**4), b, tol=1e-8).fun",
    "optimize.minimize(lambda t: np.sum((t - p) ** 2), b, bounds=[(0.2, 1)] * 4, method='L-BFGS-B').x",
    "optimize.minimize(lambda t: np.sum((t - p) ** 2), b, jac=lambda t: 2 * (t - p), tol=1e-10).x",
    "optimize.minimize_scalar(lambda t: (t - p[0]) ** 2 + t**4).x",
    "optimize.minimize_scalar(lambda t: (t + 2) ** 2 * p[0], bounds=(-1, 1), options={'xatol': 1e-9}).fun",
    "optimize.minimize_scalar(lambda t, a: (t - a) ** 2 + t**4, args=(p[0],)).fun",
    "optimize.minimize_scalar(lambda t: (t - p[0]) ** 2 + t**4, bounds=(-1, 1), options={'xatol': 1e-9}).x",
    "optimize.least_squares(lambda t: np.concatenate([t - p, t**2]), b, xtol=1e-12, ftol=1e-12, gtol=1e-12).x",
    "optimize.fixed_point(lambda t: np.cos(t * p[0]), 0.5)",
    # distances, sparse systems, distributions
    *(f"distance.{name}(b + p, u)" for name in (
        "euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation", "braycurtis", "canberra",
        "minkowski",
    )),
    "distance.minkowski(b, p, 3)", "distance.minkowski(b, p, p=2.5, w=u)", "distance.mahalanobis(b, p, P)",
    "distance.seuclidean(b, p, u)", "distance.jensenshannon(u + p**2, u)",
    "distance.cdist(D + p, N)", "distance.cdist(D + p, N, 'cityblock')", "distance.pdist(D * b + p[0] * N)",
    "distance.squareform(distance.pdist(D * b + p[0] * N))", "distance.squareform(np.outer(p, p) * (1 - I))",
    "spatial.distance_matrix(D + p, N)", "spatial.distance_matrix(D + p, N, 3)",
    "distance.euclidean([p[0], 1.0], [2, p[1]])",
    "stats.entropy(u + p)", "stats.entropy(u + p**2, u, base=2)",
    "sparse_linalg.spsolve(sparse_N, b + p)",
]  # fmt: skip
NAMES["sparse_N"] = scipy.sparse.csc_array(NAMES["N"])
P = np.array([0.3, -0.2, 0.5, 0.1])


def covered(text: str) -> set[str]:
    return set(re.findall(r"\b(?:" + "|".join(MODULES) + r")\.\w+", text))


@pytest.fixture(scope="module")
def written() -> Iterator[Callable[[str, bool], Callable[[Any], Any]]]:
    """Functions of expressions, in a module that has imported SciPy's modules, or the names of their functions."""
    module = types.ModuleType("written_by_strangers")
    variables = vars(module)
    variables.update(NAMES, **MODULES)
    for text in EXPRESSIONS:
        for name in covered(text):
            owner, _, short = name.partition(".")
            variables[f"{owner}__{short}"] = getattr(MODULES[owner], short)
    sys.modules[module.__name__] = module

    def write(text: str, by_name: bool) -> Callable[[Any], Any]:
        body = re.sub(r"\b(" + "|".join(MODULES) + r")\.(\w+)", r"\1__\2", text) if by_name else text
        exec(f"def written(p):\n    return {body}", variables)
        return variables["written"]

    yield write
    del sys.modules[module.__name__]


def total(value: Any) -> Any:
    """Return one number that depends on all elements of a result."""
    parts = value if isinstance(value, list | tuple) else [value]
    flat = [np.ravel(part) for part in parts]
    return sum(np.sum(each * np.cos(1.0 + np.arange(each.size))) for each in flat)


def compose(outer: Callable[[Any], Any], inner: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda p: outer(inner(p))


def differences(function: Callable[[Any], Any], p: np.ndarray, step: float) -> np.ndarray:
    """Return the gradient by central differences of order four."""

    def along(k: int) -> Any:
        e = step * np.eye(p.size)[k]
        near, far = function(p + e) - function(p - e), function(p + 2 * e) - function(p - 2 * e)
        return (8 * near - far) / (12 * step)

    return np.array([along(k) for k in range(p.size)])


# Whose results are rounded by tolerances
ITERATIVE = ("optimize.", "solve_ivp", "odeint", "quad(")


@daily(every=3)
@pytest.mark.parametrize("text", EXPRESSIONS)
def test_values_and_gradients(text: str, written: Any) -> None:
    function = written(text, False)
    expected = total(function(P))
    rough = any(word in text for word in ITERATIVE)
    slopes = differences(lambda p: total(function(p)), P, 3e-3 if rough else 1e-3)
    tolerance = 2e-6 if rough else 1e-7
    with tg.in_place_of_scipy():
        assert total(function(P)) == expected  # of plain numbers: SciPy's own, to the bit
        for by_name in (False, True):
            value, gradient = tg.value_and_grad(compose(total, written(text, by_name)))(P)
            np.testing.assert_allclose(value, expected, rtol=1e-6 if rough else 1e-10)
            np.testing.assert_allclose(gradient, slopes, rtol=tolerance, atol=tolerance)
        recorded = tg.value_and_grad(tg.jit(lambda p: total(function(p))))
        recorded(P)
    for p in (P, P + 0.01):  # a replay, outside
        by_replay = recorded(p)
        with tg.in_place_of_scipy():
            eager = tg.value_and_grad(lambda p: total(function(p)))(p)
        np.testing.assert_allclose(by_replay[0], eager[0], rtol=1e-9)
        np.testing.assert_allclose(by_replay[1], eager[1], rtol=1e-6, atol=1e-9)


@np.errstate(all="ignore")
def same_inside(name: str) -> None:
    """Refuse a function of this library that computes something else of an array inside."""
    x = np.random.default_rng(0).uniform(0.1, 0.9, (3, 3))
    try:
        outside = tg.jit(getattr(tg, name))(x)
    except Exception:  # a function of other arguments
        return
    with tg.in_place_of_scipy():
        inside = tg.jit(getattr(tg, name))(x)
    for a, b in zip(
        *(each if isinstance(each, tuple) else (each,) for each in (inside, outside)), strict=True
    ):
        assert np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind in "fc")


@pytest.mark.filterwarnings("ignore")
def test_functions_of_this_library_are_the_same_inside() -> None:
    """Their own code names NumPy's functions, in whose place others are there."""
    names = [name for name in dir(np) if callable(getattr(np, name)) and hasattr(tg, name)]
    functions = [
        name for name in names if not isinstance(getattr(np, name), type) and not name.startswith("empty")
    ]
    assert len(functions) > 200
    assert_none(same_inside, functions)


def test_each_function_has_a_case() -> None:
    """Special functions, distributions and NumPy's converters have theirs in tests of their own."""
    named = {
        name.replace("distance.", "spatial.distance.").replace("sparse_linalg", "sparse.linalg")
        for text in EXPRESSIONS
        for name in covered(text)
    }
    there = {vars(each)["name"].removeprefix("scipy.") for each in stand_ins()}
    assert not {name for name in there - named if not name.startswith(("special.", "numpy."))}
