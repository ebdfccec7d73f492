"""Gradients by complex numbers: conventions, both sweeps, second derivatives, hooks and gradients that are added up."""

import numpy as np
import pytest

import tapegrad as tg
from helpers.complex_programs import COMPLEX, REAL, V, Z, real_inner

_CONVENTIONS = {
    "abs**2": (lambda z: abs(z) ** 2, 3 + 4j, 6 + 8j),
    "imaginary part": (lambda z: z.imag, 3 + 4j, 1j),
    "abs at 0": (abs, 0j, 0),
    "angle at 0": (np.angle, 0j, 0),
    "power 0": (lambda z: (z**0).real, 0j, 0),
    "power 1": (lambda z: (z**1).real, 0j, 1),
    "power 2": (lambda z: (z**2).real, 0j, 0),
    "root behind where": (lambda z: tg.where(abs(z) > 0, np.sqrt(z), 0).real, 0j, 0),
    "large abs": (abs, 1e200 + 1e200j, (1 + 1j) / np.sqrt(2)),
    "small abs": (abs, 1e-200 + 1e-200j, (1 + 1j) / np.sqrt(2)),
}


@pytest.mark.parametrize("name", _CONVENTIONS)
@pytest.mark.parametrize("create_graph", [False, True])
def test_conventions(name, create_graph):
    function, at, expected = _CONVENTIONS[name]
    z = tg.tensor(at)
    function(z).backward(create_graph=create_graph)
    gradient = z.grad.data if create_graph else z.grad
    assert gradient.dtype == np.complex128
    np.testing.assert_allclose(gradient, expected, rtol=1e-15, atol=0)


def _gradient(function, z):
    x = tg.tensor(z)
    function(x).backward()
    return x.grad


@pytest.mark.parametrize("name", REAL)
def test_sweeps_and_second_derivatives(name):
    """Second derivatives are differences of gradients; the sweep on Tensors gives the gradients of the other."""
    function = REAL[name]
    gradient = _gradient(function, Z)
    x = tg.tensor(Z)
    function(x).backward(create_graph=True)
    np.testing.assert_allclose(x.grad.data, gradient, rtol=1e-14)
    product = (x.grad.real * V.real + x.grad.imag * V.imag).sum()
    x.clear_grad()
    if not product.constant:  # as that of a linear function
        product.backward()
    h = 1e-6
    expected = (_gradient(function, Z + h * V) - _gradient(function, Z - h * V)) / (2 * h)
    np.testing.assert_allclose(x.grad.data, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", REAL)
def test_gradient_is_that_by_pairs(name):
    by_pairs = tg.grad(lambda p: REAL[name](p.view(complex)[..., 0]))(Z.view(float).reshape(-1, 2))
    np.testing.assert_array_equal(_gradient(REAL[name], Z).view(float).reshape(-1, 2), by_pairs)


@pytest.mark.parametrize("name", COMPLEX)
def test_tangents_and_cotangents_agree(name):
    function, y_bar = COMPLEX[name], np.array([1j, 2 - 1j, 3])
    y_dot = tg.jvp(function, (Z,), (V,))[1]
    x = tg.tensor(Z)
    function(x).backward(y_bar)
    np.testing.assert_allclose(real_inner(y_bar, y_dot), real_inner(x.grad, V), rtol=1e-13)


def test_backward_of_complex_results():
    z = tg.tensor(Z)
    with pytest.raises(TypeError, match=r"the result is complex128; take `.real`"):
        z.backward()
    with pytest.raises(TypeError, match="real numbers are needed"):
        abs(z).backward(1j)
    (2j * z).backward(1.0)
    np.testing.assert_array_equal(z.grad, np.full(3, -2j))


def test_a_real_operand_has_a_real_gradient():
    x = tg.tensor([1.0, 2.0])
    (x * np.array([1j, 2 + 1j])).backward(np.array([1 + 1j, 1j]))
    np.testing.assert_array_equal(x.grad, [1.0, 1.0])
    assert x.grad.dtype == np.float64


@pytest.mark.parametrize("number", [0j, complex(0, -0.0)])
def test_zero_times_anything_is_zero(number):
    z = tg.tensor([0j, 1 + 1j])
    (1 / z).backward(np.array([number, 1]))
    assert z.grad[0] == 0
    np.testing.assert_allclose(z.grad[1], np.conj(-1 / (1 + 1j) ** 2), rtol=1e-15)


def _hooked(z):
    y = z * 1.0
    y.register_hook(lambda g: g * 1j)
    return (y.real * y.imag).sum()


def _hooked_parts(z):
    y = z * 1.0
    y.real.register_hook(lambda g: g * 2)
    return (y.real * y.imag).sum()


def _hooked_view(z):
    """Hook complex numbers that begin at an odd float."""
    y = z.view(float) * 1.0
    pairs = y[1:5].view(complex)
    pairs.register_hook(lambda g: g * 1j)
    return (abs(pairs) ** 2).sum()


def _of_odd_view():
    expected = np.zeros(6)
    expected[1:5] = (2j * Z.view(float)[1:5].copy().view(complex)).view(float)
    return expected.view(complex)


_HOOKS = {
    "whole": (_hooked, 1j * (Z.imag + 1j * Z.real)),
    "real parts": (_hooked_parts, 2 * Z.imag + 1j * Z.real),
    "odd view": (_hooked_view, _of_odd_view()),
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", _HOOKS)
def test_hooks(name, create_graph):
    function, expected = _HOOKS[name]
    z = tg.tensor(Z)
    function(z).backward(create_graph=create_graph)
    np.testing.assert_array_equal(z.grad.data if create_graph else z.grad, expected)


def test_gradients_of_views_are_views():
    z = tg.tensor(Z)
    y = z.real
    (y**2).sum().backward()
    np.testing.assert_array_equal(y.grad, 2 * Z.real)
    assert np.shares_memory(y.grad, z.grad)
    (abs(z) ** 2).sum().backward(create_graph=True)
    np.testing.assert_array_equal(z.grad.data, 2 * Z + 2 * Z.real)
    z[:1].clear_grad()
    (abs(z) ** 2).sum().backward()
    np.testing.assert_array_equal(z.grad.data[0], 2 * Z[0])


def test_anomalies_are_found_in_either_part():
    with tg.detect_anomaly(), pytest.raises(tg.AnomalyError, match="divide gave"):
        1 / tg.tensor([0j])
