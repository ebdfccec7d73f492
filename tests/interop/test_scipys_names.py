"""`in_place_of_scipy`: names imported before, threads, recordings, restoration, refusals, and whole programs."""

import copy
import ctypes
import math
import pickle
import sys
import threading
import types
import warnings
from concurrent.futures import ThreadPoolExecutor
from math import exp, lgamma, sqrt
from typing import Any

import numba
import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.spatial.distance
from scipy import integrate
from scipy.integrate import quad, solve_ivp
from scipy.interpolate import CubicSpline, RegularGridInterpolator
from scipy.linalg import cho_factor, cho_solve, cholesky, solve, solve_triangular
from scipy.optimize import brentq, minimize_scalar
from scipy.special import logsumexp
from scipy.stats import norm

import tapegrad as tg
from helpers.daily import not_daily
from tapegrad.foreign import StandIn

X = np.array([0.5, 1.5])
A = np.array([[2.0, 1.0], [1.0, 3.0]])
DATA = np.array([0.3, -0.4, 1.1, 0.8, 0.2])
PLACES = np.array([0.0, 0.4, 1.0, 1.3, 2.1])


def mixed(x: Any) -> Any:
    """Call names of this module, and of modules."""
    return sqrt(x[0]) * math.log(x[1]) + np.sum(solve(A, x) ** 2) + scipy.linalg.norm(x, 3) + logsumexp(x)


def in_numpy(x: Any) -> Any:
    solved = tg.linalg.solve(A, x)
    return (
        np.sqrt(x[0]) * np.log(x[1]) + np.sum(solved**2) + np.sum(x**3) ** (1 / 3) + np.log(np.sum(np.exp(x)))
    )


def differences(function: Any, p: np.ndarray, step: float = 1e-3) -> np.ndarray:
    """Return the gradient by central differences of order four."""
    units = step * np.eye(p.size)
    near = np.array([function(p + e) - function(p - e) for e in units])
    far = np.array([function(p + 2 * e) - function(p - 2 * e) for e in units])
    return (8 * near - far) / (12 * step)


# --- whole programs, as they are written without tapegrad -----------------------------------------------------------


def gaussian_process(p: Any) -> Any:
    """Log likelihood of a Gaussian process, with distances of SciPy and a Cholesky factor."""
    distances = scipy.spatial.distance.cdist(PLACES[:, None], PLACES[:, None], "sqeuclidean")
    covariance = p[0] ** 2 * np.exp(-distances / (2 * p[1] ** 2)) + p[2] ** 2 * np.eye(len(PLACES))
    factor = cho_factor(covariance, lower=True)
    half = solve_triangular(cholesky(covariance, lower=True), DATA, lower=True)
    fit = 0.5 * (DATA @ cho_solve(factor, DATA) + half @ half) / 2
    return -fit - np.sum(np.log(np.diag(factor[0]))) - 0.5 * len(DATA) * math.log(2 * math.pi)


def moved_points(p: Any) -> Any:
    """Sum of a kernel between places that are parameters."""
    return np.sum(np.exp(-scipy.spatial.distance.pdist(np.reshape(p, (3, 1)) * [1.0, 2.0], "euclidean")))


def luminosity_distance(p: Any) -> Any:
    """Distance in a flat universe: the integrand closes over the parameters."""

    def integrand(z: Any) -> Any:
        return 1 / np.sqrt(p[0] * (1 + z) ** 3 + 1 - p[0])

    total = 0.0
    for z in (0.3, 0.8):
        comoving, _ = quad(integrand, 0, z)
        total = total + 5 * math.log10((1 + z) * comoving / p[1])
    return total


def equilibrium(p: Any) -> Any:
    """A root inside of an objective."""

    def excess(price: Any) -> Any:
        return p[0] / price - price ** p[1] - 0.1

    price = brentq(excess, 0.01, 20.0, xtol=1e-13)
    return price * math.exp(-price)


def oscillator(p: Any) -> Any:
    """Squares of residuals of an ODE."""

    def slope(t: Any, state: Any) -> Any:
        position, speed = state
        return [speed, -p[0] * position - p[1] * speed]

    solution = solve_ivp(slope, (0, 2.1), [1.0, 0.0], t_eval=PLACES, rtol=1e-9, atol=1e-9)
    return np.sum((solution.y[0] - DATA) ** 2)


def spline_of_knots(p: Any) -> Any:
    """A curve through parameters, and a fixed one at a parameter."""
    fixed = CubicSpline(PLACES, DATA)
    return CubicSpline([0.0, 1.0, 2.0], p, bc_type="natural")(0.7) ** 2 + fixed(p[1]) * fixed.integrate(
        0.1, p[2]
    )


def scalars(p: Any) -> Any:
    """Log density of Student's t, in functions of `math` alone."""
    degrees, x = exp(p[0]), (0.7 - p[1]) / p[2]
    normal = lgamma((degrees + 1) / 2) - lgamma(degrees / 2) - 0.5 * math.log(degrees * math.pi)
    return (
        normal
        - (degrees + 1) / 2 * math.log1p(x * x / degrees)
        - math.log(math.fabs(p[2]))
        + math.hypot(x, 1)
    )


def closest_point(p: Any) -> Any:
    """Distance from a parabola, by a search."""
    found = minimize_scalar(lambda t: (t - p[0]) ** 2 + (t * t - p[1]) ** 2, bracket=(0, 1), tol=1e-12)
    return sqrt(found.fun)


PROGRAMS = [
    (gaussian_process, [1.2, 0.8, 0.3]), (moved_points, [0.3, 1.0, 2.2]), (luminosity_distance, [0.3, 0.7]),
    (equilibrium, [1.3, 0.6]), (oscillator, [1.5, 0.2]), (spline_of_knots, [0.4, 1.1, 0.9]), (scalars, [1.1, 0.2, 1.4]),
    (closest_point, [1.0, 2.0]),
]  # fmt: skip


@pytest.mark.parametrize(("program", "p"), PROGRAMS, ids=[program.__name__ for program, _ in PROGRAMS])
def test_programs_as_they_are(program: Any, p: Any) -> None:
    p = np.array(p)
    expected, slopes = program(p), differences(program, p)
    with tg.in_place_of_scipy():
        assert program(p) == expected
        eager = tg.value_and_grad(program)(p)
        recorded = tg.value_and_grad(tg.jit(program))
        recorded(p)
    replayed = recorded(p * 1.01)
    for (value, gradient), point in ((eager, p), (replayed, p * 1.01)):
        np.testing.assert_allclose(value, program(point), rtol=1e-7)
        np.testing.assert_allclose(gradient, differences(program, point), rtol=1e-5, atol=1e-6)
    assert slopes.any()


# --- recordings ------------------------------------------------------------------------------------------------------


def recorded(function: Any) -> tuple[Any, list[int]]:
    """Return value and gradient of a recorded function, and a list that grows with each recording."""
    calls: list[int] = []

    def counted(x: Any) -> Any:
        calls.append(1)
        return function(x)

    return tg.value_and_grad(tg.jit(counted)), calls


def check(found: Any, x: Any) -> None:
    value, gradient = tg.value_and_grad(in_numpy)(x)
    np.testing.assert_allclose(found[0], value, rtol=1e-13)
    np.testing.assert_allclose(found[1], gradient, rtol=1e-12)


def test_recorded_inside_replayed_everywhere() -> None:
    function, calls = recorded(mixed)
    with tg.in_place_of_scipy():
        check(function(X), X)
        count = len(calls)
        check(function(X + 1), X + 1)
    for shift in (0.5, 1.5):
        check(function(X + shift), X + shift)
        with tg.in_place_of_scipy(), tg.in_place_of_scipy():
            check(function(X), X)
            with tg.in_place_of_scipy():
                check(function(X + shift), X + shift)
            check(function(X), X)
    with ThreadPoolExecutor(1) as pool, tg.in_place_of_scipy():
        check(pool.submit(function, X).result(), X)
    assert len(calls) == count


def test_recorded_outside_called_inside() -> None:
    def plain(x: Any) -> Any:
        return norm.cdf(0.5) * sqrt(2.0) * np.sum(x * solve(A, X))  # of plain numbers alone

    function, calls = recorded(plain)
    before = function(X)
    count = len(calls)
    with tg.in_place_of_scipy():
        inside = function(X)
        fresh, _ = recorded(plain)
        np.testing.assert_array_equal(fresh(X)[1], before[1])
    for found in (inside, function(X), fresh(X)):
        np.testing.assert_array_equal(found[0], before[0])
    assert len(calls) == count


def test_a_branch_in_a_solver_is_no_guard() -> None:
    def kinked(p: Any) -> Any:
        return brentq(lambda x: 2 * (x - p[0]) if x > p[0] else x - p[0], -9, 9, xtol=1e-12) ** p[1]

    with tg.in_place_of_scipy():
        function, calls = recorded(kinked)
        function(X)
    count = len(calls)
    for p in (X, X - 0.3, X + 2.0):
        value, gradient = function(p)
        assert value == pytest.approx(p[0] ** p[1], rel=1e-9)
        np.testing.assert_allclose(gradient, [value * p[1] / p[0], value * np.log(p[0])], rtol=1e-9)
    assert len(calls) == count


def test_another_function_under_the_name_is_noticed() -> None:
    """A stand-in counts as what it stands for, and nothing else does."""
    module = types.ModuleType("module_that_changes")
    exec("from math import sqrt\ndef f(x):\n    return sqrt(x)", vars(module))
    sys.modules[module.__name__] = module
    try:
        with tg.in_place_of_scipy():
            function = tg.grad(tg.jit(module.f))
            assert function(4.0) == 0.25
            vars(module)["sqrt"] = math.exp
            with tg.in_place_of_scipy():
                assert function(0.0) == 1.0
        assert vars(module)["sqrt"] is math.exp
        vars(module)["sqrt"] = lambda x: x * x
        assert function(3.0) == 6.0
    finally:
        del sys.modules[module.__name__]


# --- names -----------------------------------------------------------------------------------------------------------


def refused() -> None:
    with pytest.raises(TypeError, match=r"scipy\.linalg\.solve"):
        tg.grad(lambda x: np.sum(solve(A, x)))(X)
    with pytest.raises(
        TypeError, match=r"tapegrad\.sqrt or np\.sqrt, or call it inside of `with tapegrad\.in_place_of_scipy"
    ):
        tg.grad(lambda x: math.sqrt(x[0]))(X)


def test_all_names_are_as_before_afterwards() -> None:
    modules = (math, scipy.linalg, scipy.optimize, integrate, sys.modules[__name__])
    before = [dict(vars(module)) for module in modules]
    classes = [cls for kind in (CubicSpline, RegularGridInterpolator) for cls in kind.__mro__[:-1]]
    methods = [dict(vars(cls)) for cls in classes]
    with tg.in_place_of_scipy(), tg.in_place_of_scipy():
        assert isinstance(solve, StandIn)
        assert isinstance(math.sqrt, StandIn)
    with pytest.raises(ZeroDivisionError), tg.in_place_of_scipy(), tg.in_place_of_scipy():
        math.sqrt(1 / 0)
    first, second = tg.in_place_of_scipy(), tg.in_place_of_scipy()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    tg.grad(mixed)(X)
    second.__exit__(None, None, None)
    refused()
    assert [dict(vars(module)) for module in modules] == before
    assert not any(isinstance(value, StandIn) for module in modules for value in vars(module).values())
    assert [dict(vars(cls)) for cls in classes] == methods


def test_threads_have_contexts_of_their_own() -> None:
    entered, left = threading.Event(), threading.Event()

    def inside() -> Any:
        with tg.in_place_of_scipy():
            entered.set()
            assert left.wait(300)
            return tg.grad(mixed)(X)

    with ThreadPoolExecutor(2) as pool:
        found = pool.submit(inside)
        try:
            assert entered.wait(300)
            refused()
            assert math.sqrt(4.0) == 2.0
            assert not np.any(solve(A, X) - np.linalg.solve(A, X))
            assert pool.submit(lambda: tg.in_place_of_scipy()(mixed)(X)).result(300) == mixed(X)
        finally:
            left.set()
        np.testing.assert_allclose(found.result(), tg.grad(in_numpy)(X), rtol=1e-12)
    refused()


def test_contexts_of_many_threads_end_in_any_order() -> None:
    expected = tg.grad(in_numpy)(X)

    def work(number: int) -> None:
        for k in range(20):
            if (number + k) % 3:
                with tg.in_place_of_scipy():
                    np.testing.assert_allclose(tg.grad(mixed)(X), expected, rtol=1e-12)
            else:
                refused()

    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(work, number) for number in range(3)]:
            done.result(300)
    assert not any(isinstance(value, StandIn) for value in (solve, math.sqrt, sqrt, scipy.linalg.solve))


def test_names_that_are_imported_inside() -> None:
    module = types.ModuleType("imported_inside")
    with tg.in_place_of_scipy():
        exec("from math import sqrt\nfrom scipy.linalg import solve", vars(module))
        sys.modules[module.__name__] = module

        def local(x: Any) -> Any:
            from math import hypot  # noqa: PLC0415

            import scipy.special  # noqa: PLC0415

            return hypot(x, 1) + module.sqrt(x) + scipy.special.softmax(np.stack([x, 2 * x]))[0]

        slope = tg.grad(local)(0.5)
    del sys.modules[module.__name__]
    sigmoid = 1 / (1 + math.exp(0.5))
    assert slope == pytest.approx(0.5 / math.hypot(0.5, 1) + 0.5 / sqrt(0.5) - sigmoid * (1 - sigmoid))
    assert vars(module)["sqrt"] == sqrt  # it was gone before the context ended
    assert vars(module)["sqrt"](4.0) == 2.0
    fresh = types.ModuleType("imported_inside_too")
    with tg.in_place_of_scipy():
        exec("from math import sqrt", vars(fresh))
        sys.modules[fresh.__name__] = fresh
    del sys.modules[fresh.__name__]
    assert vars(fresh)["sqrt"] is math.sqrt


def test_code_without_a_module() -> None:
    """Such as an example in a docstring: a function is found by the frame that calls it."""
    variables: dict[str, Any] = {"tg": tg}
    exec("from math import sqrt\ndef f(x):\n    return sqrt(x)", variables)
    exec("with tg.in_place_of_scipy():\n    slope = tg.grad(f)(4.0)", variables)
    assert variables["slope"] == 0.25
    assert variables["sqrt"] is math.sqrt


@numba.njit
def compiled(x: float) -> float:
    return math.sqrt(x) + math.log(x) + sqrt(x) + (1.0 if math.isnan(x) else 2.0)


def test_stand_ins_pass_for_what_they_stand_for() -> None:
    functions = {math.sqrt: "root", solve: "solution"}
    with tg.in_place_of_scipy():
        assert compiled(4.0) == 6.0 + math.log(4.0)  # Numba compiles it here
        assert functions[math.sqrt] == "root"
        assert functions[solve] == "solution"
        assert {math.sqrt: 1}[sqrt] == 1
        for each in (math.sqrt, solve, CubicSpline):
            for again in (pickle.loads(pickle.dumps(each)), copy.deepcopy(each)):
                assert not isinstance(again, StandIn)
                assert each == again
        assert repr(CubicSpline) == "<class 'scipy.interpolate._cubic.CubicSpline'>"
        assert isinstance(CubicSpline(PLACES, DATA), CubicSpline)
        assert isinstance(CubicSpline(PLACES, tg.tensor(DATA)), CubicSpline)
        assert not isinstance(DATA, CubicSpline)

        class Doubled(CubicSpline):
            def doubled(self, x: Any) -> Any:
                return 2 * self(x)

        curve = Doubled(PLACES, DATA)
        assert tg.grad(curve.doubled)(0.7) == pytest.approx(2 * curve(0.7, 1))
        assert CubicSpline.construct_fast(curve.c, curve.x)(0.7) == curve(0.7)
    assert Doubled.__mro__[1] is CubicSpline


def test_a_decorator_and_the_name_in_stats() -> None:
    assert tg.stats.in_place_of_scipy is tg.in_place_of_scipy

    @tg.in_place_of_scipy()
    def decorated(x: Any) -> Any:
        return mixed(x) - norm.logpdf(x[0])

    expected = tg.grad(lambda x: in_numpy(x) + 0.5 * x[0] ** 2)(X)
    np.testing.assert_allclose(tg.grad(decorated)(X), expected, rtol=1e-12)
    np.testing.assert_allclose(tg.grad(tg.jit(decorated))(X), expected, rtol=1e-12)
    assert decorated(X) == mixed(X) - norm.logpdf(X[0])
    refused()


def test_entering_again_goes_over_modules_alone() -> None:
    """The first time goes over all that they have, which takes some 70 calls of Python a module; later ones two."""
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    with tg.in_place_of_scipy():
        pass
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        with tg.in_place_of_scipy():
            pass
    finally:
        sys.setprofile(before)
    assert calls < 5 * len(sys.modules)


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda t: solve(A), TypeError, "missing 1 required positional argument: 'b'"),
        (lambda t: scipy.linalg.eigh(A * t, A), tg.UnsupportedError, r"scipy\.linalg\.eigh: b cannot be given"),
        (lambda t: scipy.linalg.qr(A * t, pivoting=True), tg.UnsupportedError, r"linalg\.qr: pivoting .* leave out"),
        (lambda t: scipy.linalg.qr(A * t, mode="raw"), tg.UnsupportedError, r"mode='raw' .* one of full, economic, r"),
        (lambda t: quad(lambda x: x * t, 0, 1, weight="cos", wvar=2), tg.UnsupportedError, r"weight, wvar cannot"),
        (lambda t: scipy.linalg.schur(A * t), tg.UnsupportedError, r"scipy\.linalg\.schur asks"),
        (lambda t: scipy.interpolate.interp1d(PLACES, DATA * t, "nearest"), tg.UnsupportedError, "kind='nearest'"),
        (lambda t: scipy.interpolate.interp1d(PLACES, DATA)(9 + t), ValueError, "outside of the interpolation range"),
        (lambda t: scipy.optimize.fsolve(lambda x: x - t, [1.0], full_output=True), tg.UnsupportedError, "full_output"),
        (
            lambda t: scipy.optimize.root_scalar(lambda x: (x - t, 1.0), fprime=True, x0=0.5),
            Exception, "root_scalar",
        ),
        (lambda t: brentq(lambda x: x - t, 0, 1, full_output=True), Exception, "."),
        (lambda t: scipy.spatial.distance.cdist(A * t, A, out=A), Exception, "out"),
        (lambda t: scipy.optimize.minimize(lambda x: (x - t, 1), X, jac=True), TypeError, "leave out the argument jac"),
        (lambda t: integrate.cumulative_trapezoid(DATA * t, initial=1), ValueError, "initial=1 must be None or 0"),
        (lambda t: math.sqrt(np.ones(3) * t), TypeError, r"math\.sqrt takes one real number, .* of shape \(3,\)"),
        (lambda t: math.exp(1j * t), TypeError, r"math\.exp takes one real number, .* complex128"),
        (lambda t: math.sqrt("t"), TypeError, "must be real number, not str"),
        (lambda t: math.log(-1.0), ValueError, "."),
        (lambda t: brentq(lambda x: x - t, 2, 3), ValueError, "must have different signs"),
    ],
)  # fmt: skip
def test_what_is_refused(call: Any, error: type[Exception], words: str) -> None:
    with tg.in_place_of_scipy(), pytest.raises(error, match=words):
        call(tg.tensor(0.5))
    assert not isinstance(solve, StandIn)


def test_math_follows_numpy_outside_of_the_domain() -> None:
    with tg.in_place_of_scipy():
        assert math.isnan(math.log(tg.tensor(-1.0)))
        assert math.isinf(math.exp(tg.tensor(1e3)))
        assert math.sqrt(tg.tensor(np.float32(4.0))).dtype == np.float64
        assert type(math.isfinite(tg.tensor(1.0))) is bool
        assert math.floor(tg.tensor(1.5)) == 1


def test_an_error_of_the_users_function_is_theirs() -> None:
    def wrong(x: Any) -> Any:
        raise KeyError("theirs")

    with tg.in_place_of_scipy(), pytest.raises(KeyError, match="theirs"):
        quad(wrong, 0, 1)


def test_solvers_of_plain_functions_are_scipys_own() -> None:
    """Events with attributes, objects of SciPy, C functions, classes of methods, and callbacks by name."""

    def decay(t: float, y: np.ndarray) -> np.ndarray:
        return -y

    def half(t: float, y: np.ndarray) -> float:
        return float(y[0]) - 0.5

    def seen(intermediate_result: Any) -> None:
        values.append(intermediate_result.fun)

    half.terminal = True  # type: ignore[attr-defined]
    sine = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(math.sin)
    curve, values = CubicSpline(PLACES, DATA), list[float]()

    def results() -> list[Any]:
        solution = solve_ivp(decay, (0, 5), [1.0], method=integrate.RK23, events=half)
        found = scipy.optimize.minimize(scipy.optimize.rosen, X, jac=scipy.optimize.rosen_der, callback=seen)
        return [solution.y, solution.t_events[0], quad(sine, 0, 1), quad(curve, 0, 2), found.x, found.nfev]

    expected = results()
    with tg.in_place_of_scipy():
        for before, now in zip(expected, results(), strict=True):
            np.testing.assert_array_equal(now, before)
    assert len(values) == 2 * len(set(values))


TWO = tg.tensor(2.0)


@pytest.mark.parametrize(
    "solve_square",
    [
        lambda f: brentq(f, 0, 3),
        lambda f: scipy.optimize.newton(f, 1.0, fprime=lambda x: 2 * x),
        lambda f: scipy.optimize.fsolve(f, 1.0)[0],
        lambda f: scipy.optimize.fsolve(lambda x: [f(x[0])], [1.0])[0],
        lambda f: scipy.optimize.root(f, [1.0]).x[0],
        lambda f: minimize_scalar(lambda x: x**3 / 3 - x * TWO, bracket=(0, 1), tol=1e-12).x,
        lambda f: scipy.optimize.least_squares(lambda x: [f(x[0])], [1.0]).x[0],
    ],
)
def test_eager_tensors_that_are_global_variables(solve_square: Any) -> None:
    TWO.null_grad()
    with tg.in_place_of_scipy(), warnings.catch_warnings():
        warnings.simplefilter("error")
        root = solve_square(lambda x: x**2 - TWO)
        root.backward()
    assert TWO.grad == pytest.approx(0.5 / math.sqrt(2), rel=1e-5)


@not_daily
def test_a_solver_inside_of_another_one() -> None:
    """The inner one gets plain numbers; what the outer one integrates closes over a Tensor."""

    def inner(x: float) -> float:
        return brentq(lambda y: y**3 + y - x, -9, 9)

    def outer(p: Any) -> Any:
        return quad(lambda x: p * x, 0, inner(2.0))[0]

    def nested(p: Any) -> Any:
        return brentq(lambda y: quad(lambda x: p * x, 0, y)[0] - 1.0, 0.1, 9)

    with tg.in_place_of_scipy():
        assert tg.grad(outer)(3.0) == pytest.approx(0.5, rel=1e-9)
        assert tg.grad(nested)(2.0) == pytest.approx(-0.25, rel=1e-6)  # y = sqrt(2 / p)


def test_sparse_systems() -> None:
    sparse = scipy.sparse.csc_array(A)
    with tg.in_place_of_scipy():
        slope = tg.grad(lambda b: np.sum(scipy.sparse.linalg.spsolve(sparse, b)))(X)
        np.testing.assert_allclose(slope, np.linalg.solve(A.T, np.ones(2)), rtol=1e-13)

        def of_entries(d: Any) -> Any:
            return np.sum(
                scipy.sparse.linalg.spsolve(tg.sparse.csc_array((d, sparse.indices, sparse.indptr)), X)
            )

        slopes = tg.grad(of_entries)(sparse.data)
    expected = -np.outer(np.linalg.solve(A.T, np.ones(2)), np.linalg.solve(A, X)).T.ravel()
    np.testing.assert_allclose(slopes, expected, rtol=1e-12)
