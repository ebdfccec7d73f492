"""Derivatives of roots, fixed points and minima by further arguments, found by SciPy or in compiled code."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.optimize

import tapegrad as tg
from tapegrad.errors import NotConvergedError, UnsupportedError

WRAPS = [lambda f: f, tg.jit]
P, DIRECTION = np.array([1.0, 2.0, -1.0]), np.array([0.3, -0.5, 1.0])
WEIGHTS = np.array([1.0, 2.0, 3.0])


def slope(f, p, direction, step=1e-5):
    return (f(p + step * direction) - f(p - step * direction)) / (2 * step)


# --- root ----------------------------------------------------------------------------------------------------------


def cubic(x, p):
    return x**3 + x - p


@pytest.mark.parametrize("method", ["hybr", "lm", "broyden1", "newton"])
def test_roots_by_every_method(method):
    def f(p):
        found = tg.optimize.root(cubic, np.ones(3), args=(p,), method=method, tol=1e-11)
        return tg.sum(found.x * WEIGHTS)

    x = tg.optimize.root(cubic, np.ones(3), (P,), method=method, tol=1e-11).x
    assert type(x) is np.ndarray
    np.testing.assert_allclose(x**3 + x, P, rtol=1e-9)
    for wrap in WRAPS:
        np.testing.assert_allclose(tg.grad(wrap(f))(P), WEIGHTS / (3 * x**2 + 1), rtol=1e-8)
    np.testing.assert_allclose(
        tg.hessian(tg.jit(f))(P), np.diag(-6 * x * WEIGHTS / (3 * x**2 + 1) ** 3), atol=1e-8
    )


def test_a_recorded_newton_runs_no_python():
    calls = itertools.count()

    def equations(x, p):
        next(calls)
        return cubic(x, p)

    gradient = tg.grad(
        tg.jit(lambda p: tg.sum(tg.optimize.root(equations, np.ones(3), (p,), method="newton").x))
    )
    gradient(P)
    count = next(calls)
    np.testing.assert_allclose(gradient(2 * P), tg.grad(lambda p: tg.sum(real_roots(p)))(2 * P), rtol=1e-12)
    assert next(calls) == count + 1


def real_roots(p):
    """Cardano's formula."""
    half = tg.sqrt(p**2 / 4 + 1 / 27)
    return tg.cbrt(p / 2 + half) + tg.cbrt(p / 2 - half)


def test_newton_shortens_its_steps():
    for x0 in (1.0, 5.0, -30.0):  # where full steps diverge
        found = tg.optimize.root(lambda x, p: np.arctan(x) - p, [x0], (0.3,), method="newton")
        assert found.success
        np.testing.assert_allclose(found.x, np.tan(0.3), rtol=1e-14)


def test_structures():
    def equations(x, p):
        return {"b": x["a"] ** 2 - x["b"], "a": x["b"] - p["q"] * np.ones(2)}

    def f(p, method):
        found = tg.optimize.root(equations, {"a": np.ones(2), "b": np.ones(2)}, (p,), method=method)
        return tg.sum(found.x["a"])

    for method in ("hybr", "newton"):
        np.testing.assert_allclose(tg.grad(f)({"q": 4.0}, method)["q"], 0.5, rtol=1e-9)


@pytest.mark.parametrize("method", ["hybr", "newton"])
def test_a_root_that_was_not_found(method):
    def f(p, **options):
        return tg.optimize.root(lambda x, p: x * x + p, [0.7], (p,), method=method, **options).x[0]

    assert not tg.optimize.root(lambda x, p: x * x + p, [0.7], (1.0,), method=method).success
    for wrap in WRAPS:
        for transform in (tg.grad, tg.hessian, lambda f: lambda p: tg.jvp(f, (p,), (p,))[1]):
            with pytest.raises(NotConvergedError, match="success=False"):
                transform(wrap(f))(1.0)
        assert np.isfinite(tg.grad(wrap(lambda p: f(p, check=False)))(1.0))
    found = tg.vmap(tg.grad(tg.jit(f)))(np.array([-1.0, 1.0, -4.0]))
    np.testing.assert_allclose(found, [-0.5, np.nan, -0.25], rtol=1e-8)


def stuck(p, method="newton"):
    """Newton's method gets to 0 for p=1, where the Jacobian is 0."""
    return tg.optimize.root(lambda x, p: x * x + p, [1.0], (p,), method=method).x[0]


@pytest.mark.parametrize("method", ["hybr", "newton"])
def test_roots_that_were_not_found_where_the_jacobian_is_singular(method):
    found = tg.vmap(tg.grad(lambda p: stuck(p, method)))(np.array([-4.0, 1.0, -9.0]))
    np.testing.assert_allclose(found, [-0.25, np.nan, -1 / 6], rtol=1e-8)


def test_tangents_of_roots_that_were_not_found():
    def tangent(f):
        return lambda p: tg.jvp(f, (p,), (1.0,))[1]

    with pytest.raises(NotConvergedError, match="success=False"):
        tangent(stuck)(1.0)
    found = tg.vmap(tangent(tangent(stuck)))(np.array([1.0, -4.0]))
    np.testing.assert_allclose(found, [np.nan, -1 / 32], rtol=1e-8)


def test_files_hold_the_rules(tmp_path):
    def f(p):
        return tg.sum(tg.optimize.root(cubic, np.ones(3), (p,), method="newton").x * WEIGHTS)

    for transform in (tg.value_and_grad, lambda f: lambda p: tg.jvp(f, (p,), (DIRECTION,))):
        compiled = tg.compile(transform(f), P)
        compiled.save(tmp_path / "root.tape")
        loaded = tg.load(tmp_path / "root.tape")
        for own, expected in zip(loaded(2 * P), compiled(2 * P), strict=True):
            np.testing.assert_array_equal(own, expected)
    np.testing.assert_allclose(expected, tg.grad(f)(2 * P) @ DIRECTION, rtol=1e-12)


# --- fixed_point ---------------------------------------------------------------------------------------------------


def kepler(x, mean, e):
    return mean + e * np.sin(x)


@pytest.mark.parametrize("method", ["del2", "iteration"])
@pytest.mark.parametrize("solver", ["auto", "iterate"])
def test_fixed_points(method, solver):
    def f(e):
        return tg.optimize.fixed_point(kepler, 0.5, (0.5, e), xtol=1e-12, method=method, solver=solver)

    x = scipy.optimize.fixed_point(kepler, 0.5, (0.5, 0.1), xtol=1e-12, method=method)
    expected = np.sin(x) / (1 - 0.1 * np.cos(x))
    for wrap in WRAPS:
        value, gradient = tg.value_and_grad(wrap(f))(0.1)
        assert value == x
        np.testing.assert_allclose(gradient, expected, rtol=1e-10)
    np.testing.assert_allclose(tg.hessian(f)(0.1), slope(tg.grad(tg.jit(f)), 0.1, 1.0), rtol=1e-8)
    assert type(tg.optimize.fixed_point(kepler, 0.5, (0.5, 0.1))) is np.float64


def test_an_iteration_that_diverges():
    for wrap in WRAPS:
        f = wrap(lambda p: tg.optimize.fixed_point(lambda x, p: 2 * x + p, 0.5, (p,), 1e-8, 20, "iteration"))
        with pytest.raises(RuntimeError, match=r"fixed_point: .*=20 iterations"):
            tg.grad(f)(1.0)


# --- minima --------------------------------------------------------------------------------------------------------


def quartic(x, p):
    return tg.sum((x - p) ** 4) / 4 + tg.sum(x * x) / 2


TIGHT = {"gtol": 1e-10, "ftol": 1e-30}
BOUNDS = [(None, 0.4), (0.0, 0.5), (-0.1, None)]


@pytest.mark.parametrize(
    "options",
    [
        {"method": "BFGS", "options": {"gtol": 1e-9}},
        {"method": "native", "options": TIGHT},
        {"method": "native", "options": TIGHT, "bounds": BOUNDS},
        {"method": "L-BFGS-B", "options": TIGHT, "bounds": scipy.optimize.Bounds(-0.1, 0.9)},
    ],
)
def test_minima(options):
    def x_of(p):
        return tg.optimize.minimize(quartic, np.zeros(3), (p,), differentiable=True, **options)

    x = tg.optimize.minimize(quartic, np.zeros(3), (P,), **options).x
    curvature = 3 * (x - P) ** 2
    own = curvature / (curvature + 1)
    if "bounds" in options:
        own[1:] = 0.0
    for wrap in WRAPS:
        np.testing.assert_allclose(
            tg.grad(wrap(lambda p: tg.sum(x_of(p).x * WEIGHTS)))(P), own * WEIGHTS, rtol=1e-6
        )
        by_value = tg.grad(wrap(lambda p: x_of(p).fun))(P)
        np.testing.assert_allclose(by_value, -((x - P) ** 3), rtol=1e-6)


def test_minima_of_structures_and_second_derivatives():
    def f(q):
        found = tg.optimize.minimize(
            lambda x, q: (x["a"] - q**2) ** 2 + tg.sum((x["b"] - 3 * x["a"]) ** 2),
            {"a": 0.0, "b": np.zeros(2)}, (q,), "BFGS", differentiable=True, options={"gtol": 1e-9},
        )  # fmt: skip
        return tg.sum(found.x["b"])

    np.testing.assert_allclose([f(2.0), tg.grad(f)(2.0), tg.hessian(f)(2.0)], [24, 24, 12], rtol=1e-7)


def test_a_minimum_that_was_not_found():
    def f(p, **options):
        own = {"options": {"maxiter": 1}, "differentiable": True, **options}
        return tg.sum(tg.optimize.minimize(quartic, np.zeros(3), (p,), "BFGS", **own).x)

    for wrap in WRAPS:
        with pytest.raises(NotConvergedError):
            tg.grad(wrap(f))(P)
    assert np.isfinite(tg.grad(lambda p: f(p, check=False))(P)).all()


T = np.linspace(0, 1, 20)
DATA = 2 * np.exp(-1.3 * T) + 0.1 * np.sin(20 * T)


def decay(x, y, scale):
    return x[0] * tg.exp(-x[1] * T) * scale - y


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "native"},
        {"loss": "soft_l1", "f_scale": 0.1},
        {"loss": "cauchy", "f_scale": 0.1},
        {"bounds": ([0, 0], [1.5, 5])},
    ],
)
def test_least_squares(options):
    def fit(y, scale, **others):
        tight = dict.fromkeys(("xtol", "ftol", "gtol"), 1e-15)
        return tg.optimize.least_squares(
            decay, [1.0, 1.0], (y, scale), differentiable=True, **tight, **options | others
        )

    def f(scale, **others):
        return tg.sum(fit(DATA * scale**2, scale, **others).x * WEIGHTS[:2])

    # SciPy's steps end closer to the minimum than differences need
    expected = slope(lambda scale: f(scale, method="trf"), 1.1, 1.0, 1e-4)
    for wrap in WRAPS:
        np.testing.assert_allclose(tg.grad(wrap(f))(1.1), expected, rtol=2e-5)
    by_data = tg.grad(lambda y: fit(y, 1.1).cost)(DATA)
    along = slope(lambda y: fit(y, 1.1).cost, DATA, np.cos(T))
    np.testing.assert_allclose(by_data @ np.cos(T), along, rtol=1e-5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda p: tg.optimize.minimize(quartic, P, (p,)), TypeError, "differentiable=True"),
        (
            lambda p: tg.optimize.minimize(
                quartic, P, (p,), differentiable=True, constraints=[{"type": "eq", "fun": lambda x: x[0]}]
            ),
            UnsupportedError, "custom_root",
        ),
        (
            lambda p: tg.optimize.minimize(quartic, P, (P,), differentiable=True, bounds=[(p[0], None)] * 3),
            UnsupportedError, "no derivative by bounds",
        ),
        (
            lambda p: tg.optimize.least_squares(decay, [1.0, 1.0], (p, 1.0), differentiable=True, loss=abs),
            UnsupportedError, "losses 'linear'",
        ),
        (lambda p: tg.optimize.root(cubic, P, (p,), jac=abs), TypeError, "Jacobian is computed"),
        (lambda p: tg.optimize.root(cubic, P, (p,), method="newton", options={"eps": 1}), UnsupportedError, "not eps"),
        (lambda p: tg.optimize.root(3, P), TypeError, "takes a function"),
        (lambda p: tg.optimize.fixed_point(cubic, P, (p,), method="secant"), ValueError, "method='secant'"),
    ],
)  # fmt: skip
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call(tg.tensor(P))


@pytest.mark.parametrize("method", ["hybr", "newton"])
def test_equations_in_a_list(method):
    def f(p):
        return tg.optimize.root(lambda x: [x[0] - p, x[1] * x[0] - 2.0], (1, 1), method=method).x[1]

    np.testing.assert_allclose([f(4.0), tg.grad(f)(4.0)], [0.5, -0.125])
    with pytest.raises(ValueError, match="root: fun returned 1 numbers, and x0 has 2"):
        tg.optimize.root(lambda x: x[:1], (1, 1), method=method)


def test_newton_says_how_it_has_ended():
    """A root, none at all, and too few iterations."""

    def ended(shift, **options):
        found = tg.optimize.root(lambda x: x * x + shift, np.ones(1), method="newton", options=options)
        return found.success, found.message

    assert ended(-2.0) == (True, "The solution converged.")
    assert ended(2.0) == (
        False,
        "No step makes the residual smaller, or the Jacobian is singular at the last iterate.",
    )
    assert ended(-2.0, maxiter=1) == (False, "The number of iterations has reached maxiter=1.")


# --- solutions that are found again --------------------------------------------------------------------------------

CALLS = itertools.count()
FACTOR = [1.0]


def counted(function):
    """Return a function, calls of which are counted, and which closes over it."""
    return lambda *args: (next(CALLS), function(*args))[1]


def shifted_cubic(x, p):
    next(CALLS)
    return x**3 + x - p * FACTOR[0]


class Model:
    def equations(self, x, p):
        return shifted_cubic(x, p)


MODEL = Model()
OF_CLOSURES = [counted(cubic), counted(kepler), counted(quartic)]
SOLVED = {
    "hybr": lambda p: tg.optimize.root(shifted_cubic, np.ones(3), (p,)).x,
    "newton": lambda p: tg.optimize.root(shifted_cubic, np.ones(3), (p,), method="newton").x,
    "made anew": lambda p: tg.optimize.root(lambda x, p: shifted_cubic(x, p), np.ones(3), (p,)).x,
    "method": lambda p: tg.optimize.root(MODEL.equations, P, (p,)).x,
    "closure": lambda p: tg.optimize.root(OF_CLOSURES[0], P, (p,)).x,
    "fixed_point": lambda p: tg.optimize.fixed_point(OF_CLOSURES[1], np.ones(3), (p, 0.1)),
    "minimize": lambda p: tg.optimize.minimize(
        OF_CLOSURES[2], P, (p,), differentiable=True, bounds=[(None, 0.4)] * 3
    ).x,
    "least_squares": lambda p: tg.optimize.least_squares(
        shifted_cubic, P, (p,), differentiable=True, loss="huber"
    ).x,
}  # fmt: skip


@pytest.mark.parametrize("name", SOLVED)
def test_functions_that_were_solved_before_are_replayed(name):
    def total(p):
        return tg.sum(SOLVED[name](p) * WEIGHTS)

    gradient = tg.grad(total)
    for _ in range(
        4
    ):  # closures are kept when they come again; rules are recorded when they are asked for again
        gradient(P)
    before = next(CALLS)
    found = gradient(P / 2)
    assert next(CALLS) - before < 4  # the value of the minimum is computed by Tensors
    np.testing.assert_allclose(found, tg.grad(tg.jit(total))(P / 2), rtol=1e-12)


@pytest.mark.parametrize("name", ["hybr", "newton", "made anew", "least_squares", "fixed_point"])
def test_what_a_function_sees_may_change_between_solutions(name):
    if name == "fixed_point":
        gradient = tg.grad(lambda p: tg.optimize.fixed_point(scaled_mean, 1.0, (p,), xtol=1e-14))
    else:
        gradient = tg.grad(lambda p: SOLVED[name](p * np.ones(3))[0])
    try:
        for factor in (1.0, 1.0, 1.0, 1.0, 2.0, 1.0, 3.0):
            FACTOR[0] = factor
            expected = factor / 2 if name == "fixed_point" else factor / 4
            np.testing.assert_allclose(gradient(2.0 / factor), expected, rtol=1e-7)
    finally:
        FACTOR[0] = 1.0


def test_arguments_of_other_values_shapes_and_types_are_told_apart():
    def solved(p, k):
        return tg.sum(tg.optimize.root(weighted, np.ones(len(p)), (p, k), method="newton").x)

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of many recordings
        for k in (*range(1, 20), 2.0, 3.0, True, np.array(2.5)):
            np.testing.assert_allclose(tg.grad(solved)(np.ones(1), k), [k], rtol=1e-12)
        for n in range(1, 20):
            np.testing.assert_allclose(tg.grad(solved)(np.ones(n), 2), np.full(n, 2.0), rtol=1e-12)


@pytest.mark.parametrize("method", ["hybr", "newton"])
def test_what_a_function_sees_may_become_a_tensor(method):
    def root(p):
        return tg.optimize.root(shifted_cubic, [1.0], (p,), method=method).x[0]

    def by_factor(factor):
        FACTOR[0] = factor
        return root(2.0)

    try:
        for _ in range(4):
            FACTOR[0] = 1.0
            np.testing.assert_allclose(tg.grad(root)(2.0), 0.25)
        for _ in range(3):
            FACTOR[0], p = tg.tensor(2.0), tg.tensor(1.0)
            root(p).backward()
            np.testing.assert_allclose([p.grad, FACTOR[0].grad], [0.5, 0.25])
            np.testing.assert_allclose(tg.grad(by_factor)(1.0), 0.5)
    finally:
        FACTOR[0] = 1.0


def scaled_mean(x, p):
    return 0.5 * x + 0.25 * p * FACTOR[0]


def weighted(x, p, k):
    return x - p * k


# --- closures ------------------------------------------------------------------------------------------------------

TENSOR = []


def of_closures(kind):
    """Return the solution of ``x**3 + x = p`` by equations that see the parameters without an argument."""

    def solved(p):
        parts = {"p": p, "scale": 1.0}
        solve = {
            "hybr": lambda: tg.optimize.root(lambda x: x**3 + x - p, np.ones(3)),
            "newton": lambda: tg.optimize.root(lambda x: x**3 + x - parts["p"], np.ones(3), method="newton"),
            "least_squares": lambda: tg.optimize.least_squares(
                lambda x, k: x**3 + x - k * p, np.ones(3), (1.0,), differentiable=True
            ),
            "minimize": lambda: tg.optimize.minimize(
                lambda x: tg.sum(x**4 / 4 + x**2 / 2 - p * x), np.ones(3), differentiable=True, tol=1e-12
            ),
        }
        if kind == "fixed_point":
            return tg.optimize.fixed_point(lambda x: (p - x**3 + 9 * x) / 10, np.ones(3), xtol=1e-12)
        return solve[kind]().x

    return solved


@pytest.mark.parametrize("kind", ["hybr", "newton", "least_squares", "minimize", "fixed_point"])
def test_functions_may_close_over_tensors(kind):
    solved = of_closures(kind)
    expected = WEIGHTS / (3 * np.asarray(real_roots(P)) ** 2 + 1)
    for _ in range(4):
        p = tg.tensor(P)
        tg.sum(solved(p) * WEIGHTS).backward()
        np.testing.assert_allclose(p.grad, expected, rtol=1e-4)
        for wrap in WRAPS:
            np.testing.assert_allclose(
                tg.grad(wrap(lambda p: tg.sum(solved(p) * WEIGHTS)))(P), expected, rtol=1e-4
            )
    found = tg.vmap(tg.grad(lambda p: tg.sum(solved(p) * WEIGHTS)))(np.stack([P, P / 2]))
    np.testing.assert_allclose(found[0], expected, rtol=1e-4)


@pytest.mark.parametrize("method", ["hybr", "newton"])
def test_solutions_of_solutions_and_functions_in_functions(method):
    def solved(fun):
        return tg.optimize.root(fun, [1.0], method=method).x

    def f(p):
        def power(x, n):
            return x * power(x, n - 1) if n else 1.0

        def inner(x):
            next(CALLS)
            return solved(lambda y: power(y, 3) + y - x * p)

        return solved(lambda x: x + inner(x) - 2 * p)[0]

    def by_scipy(p):
        def inner(x):
            return scipy.optimize.brentq(lambda y: y**3 + y - x * p, -9, 9, xtol=1e-14)

        return scipy.optimize.brentq(lambda x: x + inner(x) - 2 * p, -9, 9, xtol=1e-14)

    expected = slope(by_scipy, 1.3, 1.0)
    for wrap in WRAPS:
        gradient = tg.grad(wrap(f))
        np.testing.assert_allclose([gradient(1.3) for _ in range(3)], [expected] * 3, rtol=1e-8)


def test_local_functions_are_told_apart_by_what_they_close_over():
    def f(p, factor):
        def scaled(x):
            next(CALLS)
            return factor * x

        return tg.optimize.root(lambda x: scaled(x) - p, [1.0]).x[0]

    gradient = tg.grad(f)
    for factor in (1.0, 2.0, 1.0, 2.0, 1.0, 2.0):
        assert gradient(3.0, factor) == 1 / factor
    before = next(CALLS)
    assert [gradient(3.0, factor) for factor in (2.0, 1.0)] == [0.5, 1.0]
    assert next(CALLS) == before + 1


@pytest.mark.parametrize("solve", ["minimize", "least_squares", "custom_argmin"])
def test_minima_by_tensors_that_no_argument_holds(solve):
    TENSOR[:] = [tg.tensor(P)]
    if solve == "custom_argmin":
        x = tg.custom_argmin(lambda x: tg.sum((x - TENSOR[0]) ** 2))(lambda x0: P)(P)
    elif solve == "minimize":
        x = tg.optimize.minimize(
            lambda x: tg.sum((x - TENSOR[0]) ** 2), P, differentiable=True, bounds=[(None, 9)] * 3
        ).x
    else:
        x = tg.optimize.least_squares(lambda x: x - TENSOR[0], P, differentiable=True).x
    tg.sum(x * WEIGHTS).backward()
    np.testing.assert_allclose(TENSOR[0].grad, WEIGHTS, rtol=1e-12)


def test_closures_are_as_they_were_when_they_were_handed_over():
    found, count = [], 0
    for k in (1.0, 2.0, 2.0, 2.0, 3.0):
        factor, matrix = [k], np.eye(1)

        def equations(x, p):
            return matrix @ x * factor[0] - p  # noqa: B023

        found += [
            tg.grad(lambda p, f=equations: tg.optimize.root(f, [1.0], (p,)).x[0])(1.0) for _ in range(3)
        ]
        factor[0] = 2 * k
        found.append(tg.grad(lambda p, f=equations: tg.optimize.root(f, [1.0], (p,)).x[0])(1.0))
        matrix *= 2
        found.append(tg.grad(lambda p, f=equations: tg.optimize.root(f, [1.0], (p,)).x[0])(1.0))
    np.testing.assert_allclose(found, [w / k for k in (1, 2, 2, 2, 3) for w in (1, 1, 1, 0.5, 0.25)])

    def counting(x, p):
        nonlocal count
        count += 1
        return x - p

    tg.optimize.root(counting, [1.0], (2.0,))
    assert count > 0


def test_arguments_that_no_recording_takes():
    class Scale:
        __hash__ = None
        value = 3.0

    gradient = tg.grad(
        lambda p: tg.optimize.root(lambda x, p, s: x - s.value * p, [1.0], (p, Scale()), method="newton").x[0]
    )
    assert [gradient(2.0) for _ in range(3)] == [3.0] * 3
