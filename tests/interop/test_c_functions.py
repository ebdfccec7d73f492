"""`Compiled.cfunc`: compiled functions as C function pointers, called by ctypes as C calls them."""

import ctypes
import gc
import math
import threading
from typing import Any

import numpy as np
import pytest

import tapegrad as tg

X = np.linspace(0.5, 1.5, 6)


def rosenbrock(x: Any) -> Any:
    return tg.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def logarithm(x: Any) -> Any:
    return tg.sum(tg.log(x))


BOTH = tg.compile(tg.value_and_grad(rosenbrock), X)
VALUE, GRADIENT = BOTH(X)


def pointer(array: np.ndarray | None) -> Any:
    kind = ctypes.c_float if array is not None and array.dtype == np.float32 else ctypes.c_double
    return None if array is None else array.ctypes.data_as(ctypes.POINTER(kind))


def new(n: int = 6) -> np.ndarray:
    return np.full(n, -1.0)


def test_nlopt() -> None:
    p, g = BOTH.cfunc("nlopt"), new()
    assert p.ctypes(6, pointer(X), pointer(g), p.user_data) == VALUE
    np.testing.assert_array_equal(g, GRADIENT)
    assert p.ctypes(6, pointer(X), None, p.user_data) == VALUE


def test_nutpie() -> None:
    h, g, v = tg.compile(tg.value_and_grad(logarithm), X), new(), new(1)
    p = h.cfunc("nutpie")
    assert p.ctypes(6, pointer(X), pointer(g), pointer(v), p.user_data) == 0
    assert (v[0], *g) == (h(X)[0], *h(X)[1])
    assert p.ctypes(6, pointer(np.zeros(6)), pointer(g), pointer(v), p.user_data) > 0
    assert p.ctypes(5, pointer(X), pointer(g), pointer(v), p.user_data) < 0
    p, y = tg.compile(lambda x: tg.exp(x[:3]), X).cfunc("nutpie"), new(3)
    assert p.ctypes(6, 3, pointer(X), pointer(y), p.user_data) == 0
    np.testing.assert_allclose(y, np.exp(X[:3]))
    assert p.ctypes(6, 4, pointer(X), pointer(y), p.user_data) < 0


def test_ipopt() -> None:
    value, gradient = tg.compile(logarithm, X), tg.compile(tg.grad(logarithm), X)
    p, v, g = value.cfunc("ipopt"), new(1), new()
    assert p.ctypes(6, pointer(X), True, pointer(v), p.user_data)
    assert v[0] == value(X)
    p = gradient.cfunc("ipopt")
    assert p.ctypes(6, pointer(X), False, pointer(g), p.user_data)
    np.testing.assert_array_equal(g, gradient(X))
    assert not p.ctypes(6, pointer(np.zeros(6)), False, pointer(g), p.user_data)


@pytest.mark.parametrize("name", ["numbalsoda", "odepack"])
def test_right_hand_sides(name: str) -> None:
    h, u, du = tg.compile(lambda t, u: tg.stack([u[1], -u[0] * t]), (0.0, X[:2])), X[:2].copy(), new(2)
    p, t = h.cfunc(name), 0.5
    if name == "odepack":
        p.ctypes(ctypes.byref(ctypes.c_int(2)), pointer(np.array([t])), pointer(u), pointer(du))
    else:
        p.ctypes(t, pointer(u), pointer(du), None)
    np.testing.assert_array_equal(du, h(t, u))
    assert p.user_data == 0


def test_right_hand_sides_with_parameters() -> None:
    h = tg.compile(lambda t, u, k: -u * k[0] * t, (0.0, X, np.ones(1)))
    p, du = h.cfunc("numbalsoda"), new()
    p.ctypes(2.0, pointer(X), pointer(du), pointer(np.array([3.0])))
    np.testing.assert_array_equal(du, -X * 6)


def test_signatures_of_ones_own() -> None:
    g, v = new(), new(1)
    p = BOTH.cfunc("double(int n, const double *x, double *g)")
    assert p.ctypes(6, pointer(X), pointer(g)) == VALUE
    p = BOTH.cfunc("double f(void * data, double *x, double *g)")  # nothing is const: the input comes first
    assert p.ctypes(p.user_data, pointer(X), pointer(g)) == VALUE
    p = BOTH.cfunc("int (*)(const double *x, double *v, double *g, int64_t n);")
    assert p.ctypes(pointer(X), pointer(v), pointer(g), 6) == 0
    assert v[0] == VALUE
    np.testing.assert_array_equal(g, GRADIENT)
    single = X.astype(np.float32)
    h, y = tg.compile(tg.grad(logarithm), single), np.zeros(6, np.float32)
    h.cfunc("void(const float *x, float *y)").ctypes(pointer(single), pointer(y))
    np.testing.assert_array_equal(y, h(single))


def test_what_goes_wrong_is_said_in_the_terms_of_the_signature() -> None:
    h = tg.compile(tg.value_and_grad(lambda x: tg.sum(x) if x[0] > 0 else x[1] * 2), X)
    g, v = new(), new(1)
    p = h.cfunc("nlopt")
    assert math.isnan(p.ctypes(6, pointer(-X), pointer(g), p.user_data))
    assert np.isnan(g).all()
    g = new()
    assert math.isnan(p.ctypes(7, pointer(X), pointer(g), p.user_data))
    assert math.isnan(p.ctypes(6, None, pointer(g), p.user_data))
    assert math.isnan(p.ctypes(6, pointer(X), pointer(g), None))
    assert (g == -1).all()
    p = h.cfunc("nutpie")
    assert p.ctypes(6, pointer(-X), pointer(g), pointer(v), p.user_data) == -1
    p = h.cfunc("void(const double *x, double *g, double *v)")
    p.ctypes(pointer(-X), pointer(g), pointer(v))
    assert np.isnan([*g, *v]).all()


FAILING = {
    "not positive definite": (
        lambda x: tg.linalg.cholesky(tg.reshape(x, (2, 2)))[1, 1],
        [1.0, 0.0, 0.0, -1.0],
    ),
    "singular": (lambda x: tg.sum(tg.linalg.inv(tg.reshape(x, (2, 2)))), [1.0, 2.0, 2.0, 4.0]),
    "repeated eigenvalues": (lambda x: tg.linalg.eigh(tg.reshape(x, (2, 2)))[1][0, 1], [1.0, 0.0, 0.0, 1.0]),
    "repeated eigenvalues, or repeated or zero singular": (
        lambda x: tg.linalg.svd(tg.reshape(x, (2, 2)))[0][0, 1],
        [1.0, 0.0, 0.0, 1.0],
    ),
    "complex": (lambda x: tg.sum(tg.linalg.sqrtm(tg.reshape(x, (2, 2)))), [-1.0, 0.0, 0.0, 2.0]),
}


@pytest.mark.parametrize("reason", FAILING)
def test_an_int_is_above_0_where_other_arguments_have_a_result(reason: str) -> None:
    function, failing = FAILING[reason]
    good, bad = np.array([2.0, 0.5, 0.5, 3.0]), np.array(failing)
    h, g, v = tg.compile(tg.value_and_grad(function), good), new(4), new(1)
    for signature in ("nutpie", "int(int n, const double *x, double *g, double *v, void *user)"):
        p = h.cfunc(signature)
        assert p.ctypes(4, pointer(good), pointer(g), pointer(v), p.user_data) == 0
        assert p.ctypes(4, pointer(bad), pointer(g), pointer(v), p.user_data) == 1
        assert reason in h.last_failure()


def test_errors_of_the_program_are_below_0() -> None:
    @tg.custom_op("positive", vjp=lambda y_bar, y, x: y_bar)
    def positive(x: Any) -> Any:
        if x < 0:
            raise ArithmeticError
        return x

    branch = lambda x: tg.sum(x) if x[0] > 0 else x[1] * 2  # noqa: E731
    index = lambda x: tg.take(x, tg.astype(x[0], int))  # noqa: E731
    for function, bad in ((branch, -X), (index, X + 9), (lambda x: positive(x[0]), -X)):
        h = tg.compile(tg.value_and_grad(function), X)
        p = h.cfunc("nutpie")
        assert p.ctypes(6, pointer(bad), pointer(new()), pointer(new(1)), p.user_data) == -1
        assert h.last_failure()


def test_nan_is_a_result_of_the_trace() -> None:
    root = lambda x: tg.log(x)  # noqa: E731
    factor = lambda x: tg.reshape(tg.linalg.cholesky(tg.reshape(x, (2, 2))), (4,))  # noqa: E731
    for function, bad in ((root, [-1.0, 0.0, 1.0, np.e]), (factor, [1.0, 0.0, 0.0, -1.0])):
        p, y = tg.compile(function, np.eye(2).ravel() + 0.1).cfunc("nutpie"), new(4)
        assert p.ctypes(4, 4, pointer(np.array(bad)), pointer(y), p.user_data) == 0
        assert np.isnan(y).any()
    np.testing.assert_array_equal(y, np.full(4, np.nan))


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("cobyla", "neither one of nutpie, scipy"),
        ("", "neither one of"),
        ("double(int n", "is not a C signature"),
        ("char(const double *x)", "is not a C signature"),
        ("double(const double *)", "not a type and a name"),
        ("double(const double **x)", "not a type and a name"),
        ("double(int q, const double *x)", "'int q' .* stands for nothing known"),
        ("double(const char *x)", "nothing known"),
        ("double(void user)", "nothing known"),
        ("double(const double *x, const double *y, double *g, double *h)", "nothing in it that 'y' could be"),
        ("double(void *user)", "no parameter for 1 of the inputs"),
        ("double(double x, double *g)", "'x' is one number"),
        ("double(const float *x, double *g)", "'x' is of type float, but what it stands for float64"),
        ("float(const double *x, double *g)", "returns float, but the result is float64"),
        ("ipopt", "cannot be called as"),
        ("numbalsoda", "cannot be called as"),
    ],
)
def test_signatures_that_are_not_understood_or_do_not_fit(signature: str, message: str) -> None:
    h = tg.compile(tg.grad(rosenbrock), X) if signature == "scipy" else BOTH
    if signature == "ipopt":
        h = tg.compile(lambda x: "none", X)
    with pytest.raises(ValueError, match=message):
        h.cfunc(signature)
    with pytest.raises(TypeError, match="C signature is expected"):
        h.cfunc(3)


def test_one_function_for_many_and_one_for_each() -> None:
    other = tg.compile(tg.value_and_grad(logarithm), X[:3])
    assert BOTH.cfunc("nlopt").address == other.cfunc("nlopt").address
    plain = "double(const double *x, double *g)"
    assert BOTH.cfunc(plain).address != other.cfunc(plain).address
    assert other.cfunc(plain).ctypes(pointer(X[:3]), None) == other(X[:3])[0]


def test_what_nobody_keeps_says_so() -> None:
    p = tg.compile(tg.value_and_grad(logarithm), X).cfunc("nutpie")
    kind, address, user_data = type(p.ctypes), p.address, p.user_data
    g, v, function = new(), new(1), p.ctypes
    del p
    gc.collect()
    assert function(6, pointer(X), pointer(g), pointer(v), user_data) == 0  # it keeps all
    del function
    gc.collect()
    assert kind(address)(6, pointer(X), pointer(g), pointer(v), user_data) == -1


def test_many_foreign_threads() -> None:
    p, found = BOTH.cfunc("nlopt"), {}

    def work(k: int) -> None:
        g = new()
        for _ in range(200):
            value = p.ctypes(6, pointer(X + k), pointer(g), p.user_data)
        found[k] = value, g

    threads = [threading.Thread(target=work, args=(k,)) for k in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(12):
        value, gradient = BOTH(X + k)
        assert found[k][0] == value
        np.testing.assert_array_equal(found[k][1], gradient)
