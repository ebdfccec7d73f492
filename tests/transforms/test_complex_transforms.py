"""Transforms of functions of complex numbers: every mode gives what the eager one gives."""

import ctypes
import functools

import numba
import numpy as np
import pytest

import tapegrad as tg
from helpers.complex_programs import COMPLEX, REAL, V, Z, real_inner
from tapegrad.engine.inspection.verify.rules import parameters_fit
from tapegrad.program.lanes.widening import Widening

_Y_BAR = np.array([1j, 2 - 1j, 3])


@numba.njit
def _call(function, z):
    return function(z)


@pytest.mark.parametrize("name", ["parts", "written", "quotient", "unit", "branch", "gathered"])
def test_all_modes_of_a_real_function(name, tmp_path):
    function = REAL[name]
    value, gradient = tg.value_and_grad(function)(Z)
    product, replayed = tg.hvp(function)(Z, V), tg.jit(function)
    np.testing.assert_allclose(tg.jvp(function, (Z,), (V,))[1], real_inner(gradient, V), rtol=1e-13)
    assert replayed(Z) == value
    for _ in range(2):
        np.testing.assert_array_equal(tg.value_and_grad(replayed)(Z)[1], gradient)
    np.testing.assert_array_equal(tg.vjp(replayed, Z)[1](1.0)[0], gradient)
    np.testing.assert_array_equal(tg.jvp(replayed, (Z,), (V,))[1], tg.jvp(function, (Z,), (V,))[1])
    np.testing.assert_array_equal(tg.hvp(replayed)(Z, V), product)
    compiled = tg.compile(tg.value_and_grad(function), Z)
    compiled.save(tmp_path / "function")
    for found in (compiled(Z), tg.load(tmp_path / "function")(Z), _call(compiled, Z)):
        assert found[0] == value
        np.testing.assert_array_equal(found[1], gradient)


@pytest.mark.parametrize("name", ["product", "conjugate", "written", "power"])
def test_all_modes_of_a_complex_function(name):
    function = COMPLEX[name]
    value, pullback = tg.vjp(function, Z)
    y_dot, replayed = tg.jvp(function, (Z,), (V,))[1], tg.jit(function)
    np.testing.assert_array_equal(replayed(Z), value)
    np.testing.assert_array_equal(tg.vjp(replayed, Z)[1](_Y_BAR)[0], pullback(_Y_BAR)[0])
    np.testing.assert_array_equal(tg.jvp(replayed, (Z,), (V,))[1], y_dot)
    np.testing.assert_allclose(real_inner(_Y_BAR, y_dot), real_inner(pullback(_Y_BAR)[0], V), rtol=1e-13)
    np.testing.assert_array_equal(pullback(np.ones(3))[0], pullback(np.ones(3, complex))[0])


@pytest.mark.parametrize("name", ["parts", "written", "branch", "gathered", "conjugate"])
def test_vmap(name):
    function, stack = REAL[name], np.stack([Z, 1 + 1j * Z, Z[::-1], V])
    gradients = [tg.grad(function)(z) for z in stack]
    np.testing.assert_allclose(tg.vmap(function)(stack), [tg.jit(function)(z) for z in stack], rtol=1e-13)
    np.testing.assert_allclose(tg.vmap(tg.grad(function))(stack), gradients, rtol=1e-13)
    np.testing.assert_allclose(tg.jit(tg.vmap(tg.grad(function)))(stack), gradients, rtol=1e-13)


SPECTRA = {
    "eigvals": lambda xp, a: xp.linalg.eigvals(a),
    "eig": lambda xp, a: xp.linalg.eig(a)[0],
    "components": lambda xp, a: abs(xp.linalg.eig(a)[1]),
    "signs": lambda xp, a: xp.linalg.slogdet(a)[0],
    "logabsdet": lambda xp, a: xp.linalg.slogdet(a)[1],
    "poly": lambda xp, a: xp.poly(a),
    "roots": lambda xp, a: xp.roots(a[:, 0]),
}


@pytest.mark.parametrize("name", SPECTRA)
def test_spectra_over_lanes(name, rng):
    """Values are NumPy's, and derivatives its central differences."""
    a, v = rng.standard_normal((2, 5, 3, 3, 2)).view(complex)[..., 0]
    function, h = functools.partial(SPECTRA[name], tg), 1e-6
    expected = np.stack([SPECTRA[name](np, x) for x in a])
    ahead, behind = (np.stack([SPECTRA[name](np, x) for x in a + step * v]) for step in (h, -h))
    value, slope = tg.vmap(lambda x, x_dot: tg.jvp(function, (x,), (x_dot,)))(a, v)
    np.testing.assert_allclose(tg.vmap(function)(a), expected, rtol=1e-12)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * h), rtol=1e-6, atol=1e-7)
    y_bar = (1 + np.arange(expected.size).reshape(expected.shape)).astype(expected.dtype)
    gradient = tg.vmap(lambda x, y_bar: tg.vjp(function, x)[1](y_bar)[0])(a, y_bar)
    for k in range(5):
        np.testing.assert_allclose(real_inner(gradient[k], v[k]), real_inner(y_bar[k], slope[k]), rtol=1e-9)


def test_instances_write_into_complex_memory_that_they_share(monkeypatch, rng):
    """Parameters of instructions over lanes fit their views: kernels that trust them leave their memory if not."""
    tapes, finished = [], Widening.finished

    def noted(widening, free):
        tapes.append(finished(widening, free))
        return tapes[-1]

    def written(z, q):
        y = q * 2.0
        y[2] = z[0] * z[1]
        y.real[4:] = abs(z)
        return y * y + q

    monkeypatch.setattr(Widening, "finished", noted)
    z, q = rng.standard_normal((5, 4)).view(complex), rng.standard_normal(12).view(complex)
    expected = np.stack([written(each, q) for each in z])
    np.testing.assert_allclose(tg.vmap(written, in_axes=(0, None))(z, q), expected, rtol=1e-14)
    checked = [(t.tape, i) for t in tapes for i in t.tape.live if i not in t.by_lane]
    assert checked
    assert not [wrong for tape, i in checked if (wrong := parameters_fit(tape.in_objects, i))]


def test_c_function():
    compiled = tg.compile(tg.value_and_grad(REAL["squares"]), Z)
    function = compiled.cfunc("double(int n, const double complex *z, double complex *g)").ctypes
    gradient, pointer = np.empty_like(Z), ctypes.POINTER(ctypes.c_double)
    value = function(3, Z.ctypes.data_as(pointer), gradient.ctypes.data_as(pointer))
    np.testing.assert_allclose(value, np.sum(abs(Z) ** 2), rtol=1e-15)
    np.testing.assert_allclose(gradient, 2 * Z, rtol=1e-15)
    with pytest.raises(ValueError, match="complex128"):
        compiled.cfunc("double(int n, const double *z, double *g)")
    with pytest.raises(ValueError, match="double complex"):
        compiled.cfunc("double(double complex z)")


@pytest.mark.parametrize("prepare", [lambda f: f, tg.jit])
def test_analytic_functions(prepare):
    z = 1 + 2j
    cube, spread = prepare(lambda z: z**3), prepare(lambda z: z * z[::-1] + z[0])
    np.testing.assert_allclose(tg.grad(cube, holomorphic=True)(z), 3 * z**2, rtol=1e-15)
    value, derivative = tg.value_and_grad(cube, holomorphic=True)(z)
    np.testing.assert_allclose([value, derivative], [z**3, 3 * z**2], rtol=1e-15)
    with_aux = tg.grad(prepare(lambda z: (z**3, 7.0)), holomorphic=True, has_aux=True)(z)
    assert with_aux == (derivative, 7.0)
    columns = [tg.jvp(spread, (Z,), (e,))[1] for e in np.eye(3)]
    np.testing.assert_allclose(tg.jacobian(spread, holomorphic=True)(Z), np.stack(columns, 1), rtol=1e-15)
    twice = tg.grad(tg.grad(cube, holomorphic=True), holomorphic=True)
    np.testing.assert_allclose(twice(z), 6 * z, rtol=1e-15)
    with pytest.raises(TypeError, match=r"argument 0 must be complex"):
        tg.grad(cube, holomorphic=True)(1.0)
    with pytest.raises(TypeError, match=r"must return complex numbers"):
        tg.grad(prepare(abs), holomorphic=True)(z)


_REFUSED = {
    "complex result": (lambda: tg.grad(lambda z: z**3)(1j), "the result is complex128; take `.real`"),
    "replayed": (lambda: tg.grad(tg.jit(lambda z: z**3))(1j), "the result is complex128; take `.real`"),
    "jacobian": (lambda: tg.jacobian(lambda z: z**3)(Z), r"z.view\(float\).*holomorphic=True"),
    "jacobian of real arguments": (lambda: tg.jacobian(lambda x: x * 1j)(np.ones(3)), "result is complex128"),
    "hessian": (lambda: tg.hessian(lambda z: abs(z) ** 2)(1j), r"z.view\(float\)"),
    "sparse jacobian": (lambda: tg.jacobian(abs, sparse=True)(Z), r"z.view\(float\)"),
    "cotangent": (lambda: tg.vjp(abs, 1 + 2j)[1](1j), "a cotangent: dtype complex128"),
    "tangent": (lambda: tg.jvp(lambda x: x * 1j, (2.0,), (1j,)), "tangent of argument 0: dtype complex128"),
}


@pytest.mark.parametrize("name", _REFUSED)
def test_refusals(name):
    call, message = _REFUSED[name]
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_jacobians_through_complex_numbers(mode):
    def function(x):
        z = x.view(complex)
        return (z[0] * np.exp(z[1] * np.arange(3.0))).view(float)

    x = np.array([1.0, 0.5, -0.3, 1.8])
    expected = np.stack([tg.jvp(function, (x,), (e,))[1] for e in np.eye(4)], 1)
    np.testing.assert_allclose(tg.jacobian(function, mode=mode)(x), expected, rtol=1e-14, atol=1e-15)


def test_real_arguments_and_precisions():
    np.testing.assert_array_equal(tg.vjp(lambda x: x * 1j, 2.0)[1](3 + 4j)[0], 4.0)
    single = tg.grad(tg.jit(lambda z: (abs(z) ** 2).sum()))(Z.astype(np.complex64))
    assert single.dtype == np.complex64
    product = tg.jit(lambda z, c: z * c)(Z.astype(np.complex64), 2j)
    assert product.dtype == np.complex64  # a Python number is weak


def test_checkpoint():
    function = tg.checkpoint(lambda z: z * z)
    expected = tg.grad(lambda z: abs(z * z).sum())(Z)
    np.testing.assert_array_equal(tg.grad(lambda z: abs(function(z)).sum())(Z), expected)
