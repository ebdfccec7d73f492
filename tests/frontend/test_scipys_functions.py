"""Functions of `scipy.linalg` and `scipy.spatial.distance`: ours by their names, or refused with what to write."""

import functools
import importlib
import inspect
import itertools
import re
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.signal
import scipy.spatial.distance
import scipy.spatial.transform
import scipy.special
import scipy.stats
from mpmath import mp

import tapegrad as tg
from helpers.offenders import assert_none
from tapegrad.frontend.words.scipys_functions import CONSTANTS, EXPRESSIONS

M = np.random.default_rng(3).standard_normal((4, 3))
N = np.random.default_rng(4).standard_normal((4, 2))
SQUARE = np.random.default_rng(5).standard_normal((3, 3))
SYMMETRIC, BANDS = SQUARE + SQUARE.T + np.diag([0.0, 4.0, 9.0]), np.abs(M[:3]) + 1.0
V, U = np.array([1.5, 0.4, 2.0]), np.array([0.3, 1.1, 0.7])
MADE_OF_NUMBERS = {
    *("dft", "hadamard", "helmert", "hilbert", "invhilbert", "invpascal", "pascal"),
    *("get_blas_funcs", "get_lapack_funcs", "find_best_blas_type"),
}
# The arguments of the expressions, and SciPy's result where it is not that of the function of these arguments.
ARGUMENTS: dict[str, tuple[dict[str, Any], Callable[..., Any] | None]] = {
    "cholesky": ({"a": SQUARE @ SQUARE.T, "lower": False}, None),
    "companion": ({"a": V}, None),
    "convolution_matrix": ({"a": V, "n": 4}, None),
    "diagsvd": ({"s": V, "M": 4, "N": 3}, None),
    "directed_hausdorff": ({"u": M, "v": N @ SQUARE[:2]}, lambda f, u, v: f(u, v)[0]),
    "eig_banded": ({"a_band": BANDS}, lambda f, a_band: f(a_band, lower=True)),
    "eigvals_banded": ({"a_band": BANDS}, lambda f, a_band: f(a_band, lower=True)),
    "eigh_tridiagonal": ({"d": V, "e": U[:2]}, None),
    "eigvalsh_tridiagonal": ({"d": V, "e": U[:2]}, None),
    "expm_frechet": ({"A": SQUARE, "E": SYMMETRIC}, None),
    "fiedler": ({"a": V}, None),
    "fractional_matrix_power": ({"A": SQUARE @ SQUARE.T, "t": 0.3}, None),
    "funm": ({"A": SYMMETRIC, "func": np.sinh}, None),
    "jensenshannon": ({"p": V, "q": U}, None),
    "khatri_rao": ({"a": SQUARE, "b": M}, None),
    "kron": ({"a": M, "b": N}, None),
    "leslie": ({"f": V, "s": U[:2]}, None),
    "matmul_toeplitz": ({"c_or_cr": (V, U), "x": M[:3]}, None),
    "null_space": ({"A": M.T}, lambda f, **a: f(*a.values()) @ f(*a.values()).T),
    "orth": ({"A": M}, lambda f, **a: f(*a.values()) @ f(*a.values()).T),
    "orthogonal_procrustes": ({"A": M, "B": M @ SQUARE}, lambda f, **ab: f(**ab)[0]),
    "pinvh": ({"a": SYMMETRIC}, None),
    "polar": ({"a": M}, None),
    "qr": ({"a": SQUARE}, None),
    "qr_multiply": ({"a": M, "c": N.T}, lambda f, a, c: f(a, c)[0]),
    "rq": ({"a": SQUARE}, None),
    "signm": ({"A": SQUARE}, None),
    "solve_circulant": ({"c": V, "b": U}, None),
    "squareform": ({"x": M}, lambda f, x: f(scipy.spatial.distance.pdist(x))),
    "subspace_angles": ({"A": M[:, :2], "B": N}, None),
    "detrend": ({"data": np.append(V, U)}, None),
    "resample_poly": ({"x": np.append(V, U), "up": 3, "down": 2}, None),
    "savgol_filter": ({"x": np.append(V, U), "window_length": 5, "polyorder": 2}, None),
    "simpson": ({"y": V, "x": np.array([0.0, 1.0, 2.5])}, None),
    "trapezoid": ({"y": V, "x": np.array([0.0, 1.0, 2.5])}, None),
}


def functions(module: str) -> dict[str, Any]:
    """Return the functions of a module that take arrays, by full name."""
    home = importlib.import_module(module)
    found = {name: getattr(home, name) for name in home.__all__ if name not in MADE_OF_NUMBERS}
    return {
        f"{module}.{name}": each
        for name, each in found.items()
        if isinstance(each, types.FunctionType) and each.__name__ == name  # not those with another name, too
    }


FUNCTIONS = functions("scipy.linalg") | functions("scipy.spatial.distance")


CALLED = {"scipy.linalg.cossin": functools.partial(scipy.linalg.cossin, p=1, q=1)}


def refusals(name: str) -> Iterator[str]:
    """Yield what calls with Tensors are refused with: vectors, matrices, pairs of them, and as many as are required."""
    function = CALLED.get(name, FUNCTIONS[name])
    required = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    count = max(1, sum(p.kind is not p.VAR_KEYWORD for p in required))
    vector, matrix = tg.tensor([1.0, 2.0]), tg.tensor(np.eye(2))
    for given in itertools.product((vector, matrix, (matrix, 1.0), (1, 1), 2), repeat=count):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                function(*given)
            except tg.UnsupportedError as error:
                yield str(error)
            except Exception:
                continue


def check_refusal(name: str) -> None:
    found = next(refusals(name), "it is not refused")
    home, _, short = name.rpartition(".")
    assert re.match(rf"{re.escape(name)} (asks|is not supported)", found), found
    if name in EXPRESSIONS:
        expected = f"; write {EXPRESSIONS[name]}"
    elif home == "scipy.linalg" and hasattr(tg.linalg, short):
        is_numpys = hasattr(np.linalg, short)
        expected = f"; write tapegrad.linalg.{short}" + ", which takes the arguments of NumPy" * is_numpys
    elif name in CONSTANTS:
        expected = f"; its result has no derivative: write {name}(t.data)"
    elif home == "scipy.linalg":
        expected = f"return {name}(x)\n"
    else:
        expected = f"; write tapegrad.linalg.cdist(u[None], v[None], {short!r})[0, 0]"
    assert found.endswith(expected), found


def test_every_function_is_refused_with_what_to_write() -> None:
    assert_none(check_refusal, FUNCTIONS)


def evaluated(expression: str, names: dict[str, Any]) -> Any:
    """Return the value of an expression, in which other names are assigned first."""
    code, _, given = re.sub(r", (for|of) (the|all|a|lower) .*|, of a .*", "", expression).partition(" with ")
    scope = {"tapegrad": tg, "np": np, "scipy": scipy, **names}
    if given:
        exec(given, scope)
    return eval(code, scope)


def flat(value: Any) -> list[Any]:
    """Return results without the signs of vectors, which are not determined."""
    if isinstance(value, tuple):
        return [each for part in value for each in flat(part)]
    return [abs(value) if len(value.shape) == 2 else value]


def attribute(name: str) -> Any:
    """Return SciPy's function; `None` if this version has none by that name."""
    home, _, short = name.rpartition(".")
    return getattr(importlib.import_module(home), short, None)


EVALUATED = [
    name
    for name, expression in EXPRESSIONS.items()
    if attribute(name) is not None and "changed matrix" not in expression and not name.endswith("dist")
]


@pytest.mark.parametrize("name", EVALUATED)
def test_expressions_are_scipys_functions(name: str) -> None:
    (names, call), theirs = ARGUMENTS[name.rpartition(".")[2]], attribute(name)
    expected = call(theirs, **names) if call else theirs(**names)
    expected = np.float64(expected) if isinstance(expected, float) else expected
    constant = re.findall(r"and a constant (\w+)", EXPRESSIONS[name])
    given = {key: v for key, v in names.items() if isinstance(v, np.ndarray) and key not in constant}

    def function(*arrays: Any) -> list[Any]:
        return flat(evaluated(EXPRESSIONS[name], {**names, **dict(zip(given, arrays, strict=True))}))

    def total(*arrays: Any) -> Any:
        return sum(tg.sum(tg.sin(y) * np.cos(np.arange(y.size)).reshape(y.shape)) for y in function(*arrays))

    found = function(*map(tg.tensor, given.values()))
    for a, b in zip(found, flat(expected), strict=True):
        np.testing.assert_allclose(plain(a), b, rtol=1e-9, atol=1e-9)
    if given:
        tg.check_grads(total, tuple(given.values()), order=1, atol=1e-6)


def plain(value: Any) -> np.ndarray:
    return value.data if isinstance(value, tg.Tensor) else np.asarray(value)


METRICS = [
    *(
        "braycurtis",
        "canberra",
        "chebyshev",
        "cityblock",
        "correlation",
        "cosine",
        "euclidean",
        "mahalanobis",
    ),
    *("minkowski", "seuclidean", "sqeuclidean"),
]


@pytest.mark.parametrize("metric", METRICS)
def test_metrics_are_scipys_functions(metric: str) -> None:
    name = f"scipy.spatial.distance.{metric}"
    message = next(refusals(name))
    given = {"V": V, "VI": np.diag(V)}
    more = {key: given[key] for key in inspect.signature(FUNCTIONS[name]).parameters if key in given}
    expression = message.partition("; write ")[2].replace(")[0, 0]", ", **more)[0, 0]")
    found = evaluated(expression, {"u": tg.tensor(V), "v": tg.tensor(U), "more": more})
    assert float(found.data) == pytest.approx(FUNCTIONS[name](V, U, **more), rel=1e-13)


def test_other_functions_name_ours() -> None:
    t = tg.tensor([2.0, 3.0])
    with pytest.raises(tg.UnsupportedError, match=r"; write tapegrad\.trapezoid\(y, x\)$"):
        scipy.integrate.trapezoid(t)
    with pytest.raises(tg.UnsupportedError, match=r"SCIPY_ARRAY_API=1 in the environment"):
        scipy.spatial.transform.Rotation.from_rotvec(t[[0, 1, 1]])
    with pytest.raises(tg.UnsupportedError, match=r"; write tapegrad\.stats\.entropy$"):
        scipy.stats.entropy(t)
    with pytest.raises(tg.UnsupportedError, match=r"; write tapegrad\.special\.multigammaln$"):
        scipy.special.multigammaln(t, 2)


EQUAL = np.array([[1.0, 2.0, 4.0], [1.0, 2.0, 4.0], [0.5, 3.0, 1.0], [2.0, 0.3, 0.7], [1.0, 0.6, 1.7]])


@pytest.mark.parametrize("metric", METRICS)
def test_distances_of_equal_vectors(metric: str) -> None:
    """Their derivatives are 0, of the second order too, but for squares."""
    first = tg.value_and_grad(lambda x: tg.linalg.cdist(x[None], EQUAL[:1], metric, **more(metric))[0, 0])
    value, slope = first(EQUAL[0])
    assert value == pytest.approx(0.0, abs=1e-15)
    np.testing.assert_allclose(slope, 0.0, atol=1e-15)
    every = tg.grad(lambda x: tg.sum(tg.linalg.cdist(x, x, metric) + tg.sum(tg.linalg.pdist(x, metric))))
    assert np.isfinite(every(EQUAL)).all()
    assert np.isfinite(tg.hessian(lambda x: tg.sum(tg.linalg.pdist(x, metric)))(EQUAL)).all()


def more(metric: str) -> dict[str, Any]:
    return {"seuclidean": {"V": V}, "mahalanobis": {"VI": np.diag(V)}}.get(metric, {})


@pytest.mark.parametrize("kind", ["positive", "complex"])
def test_logarithms_of_matrices_lose_no_digit_by_square_roots(kind: str) -> None:
    g = np.random.default_rng(0).standard_normal((5, 5))
    a = 1e-4 * (g @ g.T + np.eye(5)) if kind == "positive" else g + 1j * g[::-1] + 3 * np.eye(5)
    with mp.workdps(40):
        values, vectors = mp.eig(mp.matrix(a.tolist()))
        exact = vectors * mp.diag([mp.log(value) for value in values]) * mp.inverse(vectors)
    expected = np.array(exact.tolist(), complex)
    for logm in (tg.linalg.logm, tg.jit(tg.linalg.logm)):
        assert np.linalg.norm(np.asarray(logm(a)) - expected) < 5e-15 * np.linalg.norm(expected)


def test_cosine_keeps_the_digits_of_small_angles() -> None:
    u, v = np.array([1.0, 0.0]), np.array([1.0, 1e-9])
    assert tg.linalg.cdist([u], [v], "cosine").item() == pytest.approx(5e-19, rel=1e-9)


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (
            lambda: tg.linalg.cdist(M, M, "hamming"),
            tg.UnsupportedError,
            r"write scipy\.spatial\.distance\.cdist",
        ),
        (lambda: tg.linalg.pdist(M, "jaccard"), tg.UnsupportedError, "'jaccard' counts elements"),
        (lambda: tg.linalg.pdist(M, "euclid"), ValueError, "'sqeuclidean', not 'euclid'"),
        (lambda: tg.linalg.cdist(M, M, lambda u, v: 1.0), ValueError, r"write tapegrad\.vmap"),
        (lambda: tg.linalg.cdist(M, N), ValueError, "same length, not 3 and 2"),
        (lambda: tg.linalg.cdist(M, V), ValueError, r"rows of a matrix, not an array of shape \(3,\)"),
        (lambda: tg.linalg.cdist(M, M, "cosine", w=V), TypeError, "'cosine' takes no argument 'w'"),
        (lambda: tg.linalg.cdist(M, M, "minkowski", p=0), ValueError, "positive, not 0"),
        (lambda: tg.linalg.cdist(M, M, "minkowski", p=np.inf, w=V), tg.UnsupportedError, "leave w out"),
        (lambda: tg.linalg.solve(SQUARE, V, assume_a="hermit"), ValueError, "not 'hermit'"),
        (lambda: tg.linalg.solve(SQUARE - SQUARE, V, assume_a="pos"), np.linalg.LinAlgError, "positive"),
        (lambda: tg.linalg.solve_banded((1, 2), M[:3], V), ValueError, "1 diagonals below"),
        (lambda: tg.linalg.solveh_banded(V, V), ValueError, r"not an array of shape \(3,\)"),
        (lambda: tg.linalg.lu(SQUARE, p_indices=True), tg.UnsupportedError, r"argmax\(p, -1\)"),
        (lambda: tg.linalg.logm(np.diag([1.0, 0.0])), np.linalg.LinAlgError, "singular"),
        (lambda: tg.linalg.logm(-np.eye(2)), np.linalg.LinAlgError, "complex"),
    ],
)
def test_what_is_refused(call: Any, error: Any, sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        call()


def test_permutations_of_lu_factors() -> None:
    stack = np.stack([SQUARE, SYMMETRIC])
    for found, expected in zip(tg.linalg.lu(stack), scipy.linalg.lu(stack), strict=True):
        np.testing.assert_allclose(found.data, expected, rtol=1e-13, atol=1e-15)
    p, lower, upper = tg.jit(tg.linalg.lu)(stack)
    np.testing.assert_allclose(p @ lower @ upper, stack, rtol=1e-13, atol=1e-15)
    np.testing.assert_array_equal(np.argmax(p[0], -1), scipy.linalg.lu(SQUARE, p_indices=True)[0])


@pytest.mark.parametrize("name", ["CubicSpline", "PchipInterpolator", "make_interp_spline"])
def test_interpolators_name_ours(name: str) -> None:
    x, make = np.arange(4.0), getattr(scipy.interpolate, name)
    with pytest.raises(tg.UnsupportedError, match=rf"; write tapegrad\.interpolate\.{name}$"):
        make(x, tg.tensor(x))
    with pytest.raises(tg.TracedValueError, match=rf"; write tapegrad\.interpolate\.{name}$"):
        tg.jit(lambda y: make(x, y))(x)
    spline = make(x, x)
    with pytest.raises(
        tg.UnsupportedError,
        match=rf"{type(spline).__name__} .* write tapegrad\.interpolate\.{type(spline).__name__}$",
    ):
        spline(tg.tensor(x))
