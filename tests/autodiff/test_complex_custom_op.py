"""Ops of the user's own that take or return complex numbers: derivatives, precisions, orders, compiled functions."""

import numba
import numpy as np
import pytest

import tapegrad as tg
from helpers.complex_programs import V, Z
from tapegrad.autodiff.custom import call as calls

X = np.array([0.5, -1.5, 2.0])


def square_vjp(y_bar, y, z):
    return 2 * np.conj(z) * y_bar


def square_jvp(z_dots, y, z):
    return 2 * z * z_dots[0]


def mixed(z, x):
    return z * x, abs(z) ** 2 + x


def mixed_vjp(bars, ys, z, x):
    p, q = bars
    return np.conj(x) * p + 2 * z * q, (np.conj(z) * p).real + q


def mixed_jvp(dots, ys, z, x):
    z_dot, x_dot = dots
    return z_dot * x + z * x_dot, 2 * (np.conj(z) * z_dot).real + x_dot


square = tg.custom_op("square", lambda z: z * z, square_vjp, square_jvp, differentiable=True)
parts = tg.custom_op("parts", mixed, mixed_vjp, mixed_jvp, differentiable=True)
to_real = tg.custom_op("to_real", lambda z: abs(z) ** 2, lambda b, y, z: 2 * z * b, differentiable=True)
to_complex = tg.custom_op("to_complex", lambda x: np.exp(1j * x), lambda b, y, x: (np.conj(1j * y) * b).real)
on_arrays = tg.custom_op("on_arrays", lambda z: z * z, square_vjp, square_jvp)


def _sum_of(first, second):
    return tg.sum((first * (1 - 2j)).real ** 2 + second)


# The function with an op, and the same of tapegrad's functions; all are real, and take z and x
CASES = {
    "complex to complex": (lambda z, x: _sum_of(square(z), x), lambda z, x: _sum_of(z * z, x)),
    "to complex and real": (lambda z, x: _sum_of(*parts(z, x)), lambda z, x: _sum_of(*mixed(z, x))),
    "complex to real": (lambda z, x: tg.sum(to_real(z * x)), lambda z, x: tg.sum(abs(z * x) ** 2)),
    "real to complex": (lambda z, x: _sum_of(to_complex(x) * z, 0), lambda z, x: _sum_of(np.exp(1j * x) * z, 0)),
    "on arrays": (lambda z, x: _sum_of(on_arrays(z) * x, x), lambda z, x: _sum_of(z * z * x, x)),
    "views": (
        lambda z, x: _sum_of(square(z[::-1])[1:], x[0]) + to_real(z[0]),
        lambda z, x: _sum_of((z[::-1] ** 2)[1:], x[0]) + abs(z[0]) ** 2,
    ),
    "number": (
        lambda z, x: _sum_of(*parts(2 - 1j, x[0] * z[0].real)),
        lambda z, x: _sum_of(*mixed(2 - 1j, x[0] * z[0].real)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("replayed", [False, True], ids=["eager", "replayed"])
@pytest.mark.parametrize("case", CASES)
def test_gradients(case, replayed):
    own, plain = (tg.jit(f) if replayed else f for f in CASES[case])
    for z, x in ((Z, X), (Z * 1j + 0.2, X - 0.3)):
        gradient = tg.grad(own, argnums=(0, 1))
        for _ in range(2):
            found = gradient(z, x)
        expected = tg.grad(plain, argnums=(0, 1))(z, x)
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("case", ["complex to complex", "to complex and real", "on arrays"])
def test_tangents(case):
    own, plain = CASES[case]
    dots = V, X[::-1].copy()
    np.testing.assert_allclose(tg.jvp(own, (Z, X), dots), tg.jvp(plain, (Z, X), dots), rtol=1e-13)


@pytest.mark.parametrize("case", ["complex to complex", "to complex and real", "complex to real"])
def test_second_derivatives(case):
    own, plain = CASES[case]
    np.testing.assert_allclose(_second(own), _second(plain), rtol=1e-12)


def _second(function):
    """Return the derivative of the gradient by z along V."""

    def along(z):
        first = tg.grad(lambda w: function(w, X))(z)
        return tg.sum(first.real * V.real + first.imag * V.imag)

    return tg.grad(along)(Z)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_precisions(dtype):
    z, x = tg.tensor(Z.astype(dtype)), tg.tensor(X.astype(dtype(0).real.dtype))
    first, second = parts(z, x)
    assert (first.dtype, second.dtype) == (z.dtype, x.dtype)
    _sum_of(first, second).backward()
    assert (z.grad.dtype, x.grad.dtype) == (z.dtype, x.dtype)
    np.testing.assert_allclose(z.grad, tg.grad(CASES["to complex and real"][1])(Z, X), rtol=1e-5)
    assert parts(z, 2.0)[0].dtype == parts(2 + 1j, x)[0].dtype == dtype


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (2, 3)])
def test_shapes(shape):
    z = tg.tensor(np.full(shape, 2 - 1j))
    y = square(z)
    assert (y.shape, y.dtype) == (shape, np.complex128)
    tg.sum(y).real.backward()
    np.testing.assert_array_equal(z.grad, np.full(shape, 4 + 2j))


def test_the_result_is_no_view():
    z = tg.tensor(Z)
    y = square(z)
    y *= 2j
    y.backward(np.ones(3))
    np.testing.assert_allclose(z.grad, np.conj(4j * Z), rtol=1e-15)


def test_integers_beside_complex_numbers():
    op = tg.custom_op("power", lambda z, n: z**n, lambda b, y, z, n: (np.conj(n * z ** (n - 1)) * b, None))
    gradient = tg.grad(tg.jit(lambda z, n: tg.sum(op(z, n)).real))
    for n in (2, 3, 2):
        np.testing.assert_allclose(gradient(Z, n), np.conj(n * Z ** (n - 1)), rtol=1e-14)


@numba.njit
def _jitted(z, x):
    return z * x[0]


@numba.njit
def _jitted_vjp(y_bar, y, z, x):
    x_bar = np.zeros_like(x)
    x_bar[0] = (np.conj(z) * y_bar).sum().real
    return y_bar * x[0], x_bar


def test_functions_compiled_by_numba_are_called_without_python():
    op = tg.custom_op("jitted", _jitted, _jitted_vjp)
    gradient = tg.grad(tg.jit(lambda z, x: _sum_of(op(z, x), x)), argnums=(0, 1))
    before = set(calls._calls)
    for shift in range(3):
        found = gradient(Z + shift, X)
        expected = tg.grad(lambda z, x: _sum_of(z * x[0], x), argnums=(0, 1))(Z + shift, X)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13)
        (call,) = [calls._calls[address] for address in set(calls._calls) - before]
    assert call.descriptor[0] != 0
    assert call.descriptor[1] != 0


def test_a_complex_cotangent_of_a_real_input_is_refused():
    op = tg.custom_op("wrong", lambda x: 1j * x, lambda b, y, x: -1j * b)
    with pytest.raises(
        TypeError, match="complex128 instead of float64; the input is real, so return the real part"
    ):
        op(tg.tensor(X)).backward(np.ones(3))


def test_a_real_cotangent_of_a_complex_input_is_refused():
    op = tg.custom_op("wrong", lambda z: z * 1, lambda b, y, z: b.real)
    with pytest.raises(
        TypeError, match=r"float64 instead of complex128; convert it with .astype\(np.complex128\)"
    ):
        op(tg.tensor(Z)).backward(np.ones(3))


def test_check_grads():
    tg.check_grads(lambda z, x: _sum_of(*parts(z, x)), (Z, X), order=2)
