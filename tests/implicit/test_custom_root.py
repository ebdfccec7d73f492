"""`custom_root` and `custom_argmin`: derivatives of solutions, whoever has found them."""

import copy
import itertools
import warnings

import numpy as np
import pytest
import scipy.optimize
from numpy.linalg import LinAlgError

import tapegrad as tg
from tapegrad.errors import UnsupportedError

N = 4
MIXING = np.random.default_rng(3).normal(size=(N, N)) / 5
P = np.random.default_rng(4).normal(size=N)
WRAPS = [lambda f: f, tg.jit]


def residual(x, p, scale=1.0):
    return x + np.tanh(MIXING @ x) * scale - p


def newton(x, p, scale=1.0, steps=8):
    """Return Newton's iterates, which are differentiated through."""
    for _ in range(steps):
        x = x - tg.linalg.solve(tg.jacobian(residual)(x, p, scale), residual(x, p, scale))
    return x


@tg.custom_root(residual)
def by_scipy(x0, p, scale=1.0):
    return scipy.optimize.root(residual, x0, args=(p, scale), tol=1e-14).x


@tg.custom_root(residual)
def by_loop(x0, p, scale=1.0):
    def improved(x):
        return x - tg.linalg.solve(tg.jacobian(residual)(x, p, scale), residual(x, p, scale))

    return tg.while_loop(lambda x: tg.max(abs(residual(x, p, scale))) > 1e-13, improved, x0)


def loss(solver):
    return lambda p: tg.sum(solver(np.zeros(N), p, 1.5) ** 2)


UNROLLED = loss(newton)
GRADIENT, HESSIAN = tg.grad(UNROLLED)(P), tg.hessian(UNROLLED)(P)


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("solver", [by_scipy, by_loop])
def test_derivatives_are_those_of_the_unrolled_solve(solver, wrap):
    f = wrap(loss(solver))
    for _ in range(3):  # at first by Tensors, then recorded
        np.testing.assert_allclose(tg.grad(f)(P), GRADIENT, rtol=1e-10)
        np.testing.assert_allclose(tg.jvp(f, (P,), (MIXING[0],))[1], GRADIENT @ MIXING[0], rtol=1e-10)
    np.testing.assert_allclose(tg.hessian(f)(P), HESSIAN, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(tg.jacfwd(tg.grad(f))(P), HESSIAN, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(tg.jvp(tg.grad(f), (P,), (P,))[1], HESSIAN @ P, rtol=1e-9, atol=1e-12)


def test_derivatives_by_every_argument_agree_with_differences():
    solver = tg.custom_root(lambda x, p, scale: x * x * scale - p)(lambda x0, p, scale: np.sqrt(p / scale))
    tg.check_grads(lambda p: solver(np.ones(2), p[1:], scale=p[0]), np.array([0.7, 2.0, 5.0]))


@pytest.mark.parametrize("solver", [by_scipy, by_loop])
def test_each_instance_has_its_own_solution(solver):
    batch = np.stack([P, -P, 2 * P])
    own = [tg.grad(loss(solver))(p) for p in batch]
    for f in (loss(solver), tg.jit(loss(solver))):
        np.testing.assert_allclose(tg.vmap(tg.grad(f))(batch), own, rtol=1e-10)


def test_backward_and_plain_calls():
    p = tg.tensor(P)
    tg.sum(by_scipy(np.zeros(N), p, 1.5) ** 2).backward()
    np.testing.assert_allclose(p.grad, GRADIENT, rtol=1e-10)
    assert type(by_scipy(np.zeros(N), P)) is np.ndarray
    with tg.no_grad():
        assert by_scipy(np.zeros(N), p).constant


def test_a_solver_without_a_loop_is_one_instruction_that_calls_it():
    calls = []

    @tg.custom_root(lambda x, p: x * x - p)
    def root(x0, p):
        assert not isinstance(p, tg.Tensor)
        calls.append(p)
        return np.sqrt(p)

    f = tg.jit(lambda p: root(1.0, p))
    gradient = tg.grad(f)
    assert [gradient(p) for p in (4.0, 16.0)] == [0.25, 0.125]
    assert calls[-1] == 16.0


def test_a_solver_with_a_loop_is_recorded():
    calls = []

    @tg.custom_root(lambda x, p: x * x - p)
    def root(x0, p):
        calls.append(p)
        return tg.while_loop(lambda x: abs(x * x - p) > 1e-12 * p, lambda x: (x + p / x) / 2, x0)

    gradient = tg.grad(tg.jit(lambda p: root(1.0, p)))
    gradient(4.0)
    count = len(calls)
    np.testing.assert_allclose([gradient(p) for p in (9.0, 16.0)], [1 / 6, 1 / 8])
    assert len(calls) == count


# --- structures, closures ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", WRAPS)
def test_structures_and_what_else_the_solver_returns(wrap):
    def equations(x, p, scale):
        return {"b": x["b"] - p["v"][0] * x["a"].sum(), "a": x["a"] ** 2 - p["u"] * scale}

    @tg.custom_root(equations, has_aux=True)
    def solve(x0, p, scale):
        a = np.sqrt(p["u"] * scale)
        return {"a": a, "b": p["v"][0] * a.sum()}, (len(a), a.sum())

    def f(p, scale):
        x, (count, total) = solve({"a": np.ones(2), "b": 0.0}, p, scale)
        return x["b"] * count + total

    p = {"u": np.array([1.0, 4.0]), "v": (3.0,)}
    by_p, by_scale = tg.grad(wrap(f), argnums=(0, 1))(p, 4.0)
    np.testing.assert_allclose(by_p["u"], [6.0, 3.0])
    np.testing.assert_allclose([by_p["v"][0], by_scale], [12.0, 4.5])


@pytest.mark.parametrize("wrap", WRAPS)
def test_a_residual_may_close_over_tensors(wrap):
    def f(p):
        shift = p * 2

        @tg.custom_root(lambda x, q: x * x * x - shift * q)
        def cube_root(x0, q):
            return np.cbrt(4.0 * q)

        return cube_root(1.0, p)

    assert wrap(f)(2.0) == 2.0
    np.testing.assert_allclose(tg.grad(wrap(f))(2.0), 2 / 3, rtol=1e-14)
    np.testing.assert_allclose(tg.hessian(wrap(f))(2.0), -1 / 9, rtol=1e-13)


@pytest.mark.parametrize("decorator", [tg.custom_root, tg.custom_argmin])
def test_residuals_that_are_made_anew_are_replayed(decorator):
    calls = itertools.count()

    def f(p, q):
        scale = {"of p": 2.0, "q": q}

        def residual(x):
            next(calls)
            return x**3 - scale["of p"] * p * scale["q"]

        def energy(x, q):
            next(calls)
            return x**4 / 4 - scale["of p"] * p * x * q

        if decorator is tg.custom_root:
            return tg.custom_root(residual)(lambda x0: np.cbrt(3.0 * np.sign(x0)))(1.0)
        return tg.custom_argmin(energy)(lambda x0, q: np.cbrt(3.0))(1.0, q)

    by_p, by_q = 2 / 3 ** (5 / 3), 2 * 1.5 / 3 ** (5 / 3)
    for transform in (tg.grad(f, (0, 1)), tg.grad(tg.jit(f), (0, 1))):
        for _ in range(5):
            np.testing.assert_allclose(transform(1.5, 1.0), (by_p, by_q), rtol=1e-13)
    before = next(calls)
    tg.grad(f, (0, 1))(1.5, 1.0)
    assert next(calls) == before + 1
    second = tg.hessian(lambda p: f(p, 1.0))(1.5)
    np.testing.assert_allclose(second, -8 / 9 * 3 ** (-5 / 3), rtol=1e-12)


def test_what_a_residual_sees_may_change():
    factor = [1.0]

    @tg.custom_root(lambda x, p: factor[0] * x - p)
    def divide(x0, p):
        return p / factor[0]

    for gradient in (tg.grad(divide, argnums=1), tg.grad(tg.jit(lambda x0, p: divide(x0, p)), argnums=1)):
        factor[0] = 1.0
        assert [gradient(1.0, 3.0) for _ in range(4)] == [1.0] * 4
        factor[0] = 2.0
        assert gradient(1.0, 3.0) == 0.5


def test_arrays_may_be_written_to_before_the_reverse_sweep():
    @tg.custom_root(lambda x, p, a: a * x - p)
    def divide(x0, p, a):
        return p / a

    a, p = np.array([2.0]), tg.tensor([3.0])
    y = divide(np.ones(1), p, a)
    a[...] = 5.0
    y.sum().backward()
    assert p.grad == [0.5]


def test_branches_of_the_residual_are_recorded():
    @tg.custom_root(lambda x, p: x - p if p > 0 else x - 2 * p)
    def solve(x0, p):
        return p if p > 0 else 2 * p

    gradient = tg.grad(tg.jit(lambda p: solve(0.0, p)))
    assert [gradient(p) for p in (1.0, -1.0, 2.0)] == [1.0, 2.0, 1.0]
    assert tg.vmap(gradient)(np.array([1.0, -1.0])).tolist() == [1.0, 2.0]


def test_float32_stays_float32():
    @tg.custom_root(lambda x, p: x * x - p)
    def root(x0, p):
        return np.sqrt(p)

    for wrap in WRAPS:
        gradient = tg.grad(wrap(lambda p: tg.sum(root(p, p))))(np.array([4, 16], np.float32))
        assert gradient.dtype == np.float32
        assert gradient.tolist() == [0.25, 0.125]


def test_methods_and_copies():
    class Model:
        @tg.custom_root(lambda x, self, p: x * x - p)
        def root(x0, self, p):  # noqa: N805  the start comes first
            return np.sqrt(p)

    assert copy.deepcopy(by_scipy) is not None
    assert repr(by_scipy) == "custom_root(residual)(by_scipy)"
    assert tg.grad(lambda p: Model.root(1.0, None, p))(4.0) == 0.25


def test_compiled():
    value_and_gradient = tg.compile(tg.value_and_grad(tg.jit(loss(by_loop))), P)
    np.testing.assert_allclose(value_and_gradient(P)[1], GRADIENT, rtol=1e-10)


# --- systems -------------------------------------------------------------------------------------------------------


def chain(x, p):
    """A tridiagonal system without symmetry."""
    right, left = np.concatenate([x[1:], np.zeros(1)]), np.concatenate([np.zeros(1), x[:-1]])
    return p[0] * x + p[1] * x**3 - 0.5 * right - p[2] * left - 1


def full(x, p):
    return x * p[0] + np.tanh(np.sum(x) * p[1]) * np.linspace(0, 1, len(x)) - p[2]


def energy(x, p):
    """A convex function with a tridiagonal Hessian."""
    return tg.sum(p[0] * x**2 + p[1] * x**4 - x) + p[2] * tg.sum((x[1:] - x[:-1]) ** 2)


def saddle(x, p):
    return -energy(x, p)


PARAMETERS, DIRECTION = np.array([1.7, 1.2, 0.3]), np.array([0.3, -1.0, 0.5])
CASES = [
    *((tg.custom_root, chain, solve, n) for solve, n in (("auto", 20), ("auto", 120), ("gmres", 40))),
    *((tg.custom_root, full, solve, n) for solve, n in (("auto", 20), ("gmres", 40))),
    *((tg.custom_argmin, energy, solve, n) for solve, n in (("auto", 5), ("auto", 120), ("cg", 40))),
    *((tg.custom_argmin, saddle, "auto", n) for n in (5, 120)),
]


@pytest.mark.parametrize(("decorator", "function", "solve", "n"), CASES)
@pytest.mark.filterwarnings("ignore:custom_argmin")
def test_systems_of_every_kind(decorator, function, solve, n):
    equations = function if decorator is tg.custom_root else tg.grad(function)

    @decorator(function, solve=solve)
    def solver(x0, p):
        return scipy.optimize.root(equations, x0, args=(p,), tol=1e-13).x

    weights = np.linspace(0, 1, n)

    def f(p):
        return tg.sum(solver(np.zeros(n), p) ** 2 * weights)

    def slope(p):
        return tg.jvp(f, (p,), (DIRECTION,))[1]

    step = 1e-6 * DIRECTION
    expected = (f(PARAMETERS + step) - f(PARAMETERS - step)) / 2e-6
    second = (slope(PARAMETERS + step) - slope(PARAMETERS - step)) / 2e-6
    recorded = tg.jit(f)
    for own in (f, recorded):
        np.testing.assert_allclose(tg.grad(own)(PARAMETERS) @ DIRECTION, expected, rtol=1e-6)
    np.testing.assert_allclose(slope(PARAMETERS), expected, rtol=1e-6)
    if (function, n) == (saddle, 120):
        return  # SuperLU's second derivatives are those of `chain`
    found = tg.jvp(tg.grad(recorded), (PARAMETERS,), (DIRECTION,))[1] @ DIRECTION
    np.testing.assert_allclose(found, second, rtol=1e-5)


def test_a_hessian_that_is_not_positive_definite_warns():
    @tg.custom_argmin(lambda x, p: -((x - p) ** 2))
    def solver(x0, p):
        return p

    for wrap in WRAPS:
        with pytest.warns(RuntimeWarning, match="not positive definite"):
            assert tg.grad(wrap(lambda p: solver(0.0, p)))(2.0) == 1.0
    proper = tg.custom_argmin(lambda x, p: (x - p) ** 2)(lambda x0, p: p)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for wrap in WRAPS:
            assert tg.grad(wrap(lambda p: proper(0.0, p)))(2.0) == pytest.approx(1.0)


# --- messages ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transform", [tg.grad, tg.hessian, lambda f: lambda p: tg.jvp(f, (p,), (p,))])
@pytest.mark.parametrize("wrap", WRAPS)
def test_a_singular_jacobian(wrap, transform):
    @tg.custom_root(lambda x, p: x**2 - p)
    def root(x0, p):
        return np.sqrt(p)

    f = transform(wrap(lambda p: tg.sum(root(p, p))))
    f(np.array([1.0, 4.0]))
    with pytest.raises(LinAlgError, match=r"root\): the solution has no derivative, for the Jacobian"):
        f(np.array([0.0, 4.0]))
    with tg.linalg.errstate("nan"):
        found = f(np.array([0.0, 4.0]))
    assert np.isnan(found[-1] if isinstance(found, tuple) else found).any()


@pytest.mark.parametrize("n", [20, 120])
def test_a_singular_sparse_jacobian(n):
    root = tg.custom_root(lambda x, p: x**2 - p)(lambda x0, p: np.sqrt(p))
    p = np.ones(n)
    p[3] = 0
    with pytest.raises(LinAlgError, match="the solution has no derivative"):
        tg.grad(lambda p: tg.sum(root(p, p)))(p)


def two(x0, p):
    return np.ones(2) * p


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda p: tg.custom_root(lambda x, p: x[:1] - p)(two)(0, p),
            ValueError,
            "returned 1 .* for 2 unknowns",
        ),
        (
            lambda p: tg.custom_root(lambda x, p: x - p)(lambda x0, p: None)(0, p),
            UnsupportedError,
            "the solution x",
        ),
        (
            lambda p: tg.custom_root(lambda x, p: x - p, has_aux=True)(two)(0, p),
            TypeError,
            "must return a pair",
        ),
        (lambda p: tg.custom_root(lambda x, p: x - p, solve="qr"), ValueError, "solve='qr'; it must be"),
        (lambda p: tg.custom_root(3), TypeError, "takes a function, but was given int"),
        (lambda p: tg.custom_argmin(lambda x, p: tg.sum(x - p))(3), TypeError, "takes a function"),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call(tg.tensor(2.0))


@tg.custom_root(lambda x, a: x**2 - a)
def complex_root(x0, a):
    return np.sqrt(a)


@tg.custom_root(lambda x, a, b: abs(x - a) ** 2 - b)
def on_a_circle(x0, a, b):
    return np.real(a) + np.sqrt(b - np.imag(a) ** 2)


COMPLEX = [
    (lambda a: abs(complex_root(1j, a) - 1) ** 2, lambda a: abs(np.sqrt(a) - 1) ** 2),
    (lambda a: on_a_circle(1.0, a, 7.0) ** 2, lambda a: (a.real + np.sqrt(7 - a.imag**2)) ** 2),
]


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize(("solved", "explicit"), COMPLEX, ids=["complex", "real"])
def test_complex_solutions_and_arguments(solved, explicit, wrap):
    solved, direction = wrap(solved), 0.5 - 1j
    for a in (1 + 2j, 2 - 0.5j, 1 + 2j):
        np.testing.assert_allclose(tg.grad(solved)(a), tg.grad(explicit)(a), rtol=1e-13)
        found, expected = (tg.jvp(f, (a,), (direction,)) for f in (solved, explicit))
        np.testing.assert_allclose(found, expected, rtol=1e-13)
    second, expected = (tg.grad(lambda a, f=f: tg.grad(f)(a).imag)(1 + 2j) for f in (solved, explicit))
    np.testing.assert_allclose(second, expected, rtol=1e-12)


def test_what_a_replay_cannot_return_is_refused():
    @tg.custom_root(lambda x, p: x - p, has_aux=True)
    def solve(x0, p):
        return p, {"message": "converged"}

    def f(p):
        return solve(0.0, p)[0]

    assert tg.grad(f)(1.0) == 1.0
    with pytest.raises(UnsupportedError, match=r"returned str at result.*'message'"):
        tg.grad(tg.jit(f))(1.0)


def test_a_solver_that_closes_over_what_is_recorded_is_refused():
    def f(p):
        return tg.custom_root(lambda x: x - p)(lambda x0: np.asarray(p))(0.0)

    with pytest.raises(UnsupportedError) as caught:
        tg.grad(tg.jit(f))(1.0)
    assert any("pass that as an argument" in note for note in caught.value.__notes__)
