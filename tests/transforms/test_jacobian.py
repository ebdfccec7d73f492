"""Jacobians against formulas and the complex step."""

import numpy as np
import pytest

import tapegrad as tg

PREPARE = {"plain": lambda f: f, "jit": tg.jit}


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def complex_step(function, x):
    """The Jacobian of a function of NumPy's, by a complex step along each coordinate."""
    columns = []
    for k in range(x.size):
        moved = x.astype(complex)
        moved.reshape(-1)[k] += 1e-30j
        columns.append(np.imag(function(moved)) / 1e-30)
    jacobian = np.stack(columns, axis=-1) if columns else np.zeros((*np.shape(function(x)), 0))
    return jacobian.reshape((*np.shape(function(x)), *x.shape))


FUNCTIONS = {
    "elementwise": (lambda x: np.sin(x) * np.exp(x), (5,)),
    "scalar": (lambda x: np.sum(x**3), (4,)),
    "of a scalar": (lambda x: np.sin(x) * x, ()),
    "tall": (lambda x: np.concatenate([np.sin(x * k) for k in range(1, 6)]), (2,)),
    "wide": (lambda x: np.sum(np.reshape(x * x, (2, 6)), axis=1), (12,)),
    "matrix to matrix": (lambda x: x @ x.T, (3, 2)),
    "matrix to vector": (lambda x: x @ np.arange(3.0), (4, 3)),
    "reduction": (lambda x: np.mean(x * x, axis=0, keepdims=True), (3, 4)),
    "view": (lambda x: np.transpose(x * x)[::-1, 1:], (3, 4)),
    "view of the input": (lambda x: x[::2, None], (5,)),
    "broadcast": (lambda x: np.broadcast_to(x * x, (3, 2)), (2,)),
    "identity": (lambda x: x, (3,)),
    "prod": (lambda x: np.prod(x, axis=1), (2, 3)),
    "cumsum": (lambda x: np.cumsum(x * x), (4,)),
    "gather": (lambda x: (x * x)[[2, 0, 2, 2]], (3, 2)),
    "empty input": (lambda x: np.concatenate([x, np.ones(2)]), (0,)),
    "empty output": (lambda x: x[:0] * 2, (3,)),
    "model": (lambda b: b[0] * (1 - np.exp(-b[1] * np.linspace(1, 8, 20))) + b[2], (3,)),
}


@pytest.mark.parametrize("how", PREPARE)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_against_the_complex_step(name, how, rng):
    function, shape = FUNCTIONS[name]
    jacobian = tg.jacobian(PREPARE[how](function))
    for scale in (1.0, 0.5, -1.5):
        x = np.asarray(rng.uniform(0.2, 1.2, shape) * scale)
        expected = complex_step(function, x)
        result = jacobian(x)
        assert np.shape(result) == expected.shape == np.shape(function(x)) + shape
        np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-13)
        assert isinstance(result, np.ndarray if expected.ndim else np.float64)


@pytest.mark.parametrize("how", PREPARE)
def test_float32(how, rng):
    jacobian = tg.jacobian(PREPARE[how](lambda x: tg.sin(x) * x[0]))
    x = rng.uniform(size=4).astype(np.float32)
    result = jacobian(x)
    assert result.dtype == np.float32
    expected = np.diag(np.cos(x) * x[0])
    expected[:, 0] += np.sin(x)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("how", PREPARE)
def test_mixed_dtypes(how, rng):
    jacobian = tg.jacobian(PREPARE[how](lambda x, y: x * y), (0, 1))
    x, y = rng.uniform(size=3).astype(np.float32), rng.uniform(size=3)
    x_rows, y_rows = jacobian(x, y)
    assert (x_rows.dtype, y_rows.dtype) == (np.float32, np.float64)
    np.testing.assert_allclose(x_rows, np.diag(y), rtol=1e-6)
    np.testing.assert_allclose(y_rows, np.diag(x.astype(float)), rtol=1e-15)


@pytest.mark.parametrize("how", PREPARE)
@pytest.mark.parametrize("argnums", [0, 1, -1, (0,), (1, 0), (0, 1)])
def test_argnums(how, argnums, rng):
    a, x = rng.normal(size=(3, 2)), rng.normal(size=2)
    jacobian = tg.jacobian(PREPARE[how](lambda a, x: a @ x), argnums)
    by_a = np.einsum("ij,k->ijk", np.eye(3), x)
    expected = {0: by_a, 1: a}
    for _ in range(2):
        result = jacobian(a, x)
        if isinstance(argnums, tuple):
            assert isinstance(result, tuple)
            for number, part in zip(argnums, result, strict=True):
                np.testing.assert_allclose(part, expected[number], rtol=1e-14)
        else:
            np.testing.assert_allclose(result, expected[argnums % 2], rtol=1e-14)


@pytest.mark.parametrize("how", PREPARE)
def test_structures(how, rng):
    jacobian = tg.jacobian(PREPARE[how](lambda p, *, k: p["w"] * p["b"][0] ** k))
    for k in (2, 3):
        p = {"w": rng.normal(size=3), "b": [1.5, rng.normal(size=(2, 2))]}
        result = jacobian(p, k=k)
        assert list(result) == ["w", "b"]
        np.testing.assert_allclose(result["w"], np.eye(3) * 1.5**k)
        np.testing.assert_allclose(result["b"][0], p["w"] * k * 1.5 ** (k - 1))
        assert result["b"][1].shape == (3, 2, 2)
        assert not result["b"][1].any()


@pytest.mark.parametrize("how", PREPARE)
def test_results_are_the_callers_own(how):
    jacobian = tg.jacobian(PREPARE[how](lambda x: x * x))
    x = np.array([1.0, 2.0])
    first = jacobian(x)
    first[...] = 7
    x[0] = 3
    np.testing.assert_array_equal(jacobian(x), [[6, 0], [0, 4]])
    assert (first == 7).all()


@pytest.mark.parametrize("how", PREPARE)
def test_in_place_writes_and_shared_results(how, rng):
    def function(x):
        y = x * 2
        z = y[1:]
        y[1] = y[0] * x[2]
        z[1] *= y[1]
        x[0] = 0.0
        return y + x

    jacobian = tg.jacobian(PREPARE[how](function))
    for _ in range(3):
        a, _, c = x = rng.normal(size=3)
        expected = [[2, 0, 0], [2 * c, 1, 2 * a], [4 * c**2, 0, 8 * a * c + 1]]
        np.testing.assert_allclose(jacobian(x), expected, rtol=1e-13)


@pytest.mark.parametrize("how", PREPARE)
def test_zero_cotangents_do_not_meet_infinite_partials(how):
    jacobian = tg.jacobian(PREPARE[how](lambda x: tg.stack([tg.sqrt(x[0]), x[1] ** 2])))
    with np.errstate(all="raise"):
        result = jacobian(np.array([0.0, 3.0]))
    assert result[0, 0] == np.inf
    assert result[0, 1] == result[1, 0] == 0
    assert result[1, 1] == 6


@pytest.mark.parametrize("how", PREPARE)
def test_constant_and_unused(how):
    result = tg.jacobian(PREPARE[how](lambda x, y: tg.ones(3) * 2 + y), (0, 1))(np.ones(2), np.ones(3))
    assert not result[0].any()
    assert result[0].shape == (3, 2)
    np.testing.assert_array_equal(result[1], np.eye(3))


@pytest.mark.parametrize("how", PREPARE)
@pytest.mark.parametrize("function", [lambda x: (x, x), lambda x: [x], lambda x: x > 0])
def test_results_that_have_no_jacobian(how, function):
    with pytest.raises(TypeError, match=r"jacobian(: the function returned booleans| needs one array)"):
        tg.jacobian(PREPARE[how](function))(np.ones(2))


def test_rows_of_a_large_jacobian(rng):
    a = rng.normal(size=(300, 40))
    jacobian = tg.jacobian(tg.jit(lambda x: tg.tanh(a @ x)))
    x = rng.normal(size=40) * 0.1
    np.testing.assert_allclose(jacobian(x), (1 - np.tanh(a @ x) ** 2)[:, None] * a, rtol=1e-10)


def test_one_function_in_every_transform(rng):
    f = tg.jit(lambda x: tg.sum(tg.sin(x) * x))
    for _ in range(3):
        x = rng.normal(size=4)
        expected = np.sin(x) + x * np.cos(x)
        np.testing.assert_allclose(tg.grad(f)(x), expected, rtol=1e-13)
        np.testing.assert_allclose(tg.jacobian(f)(x), expected, rtol=1e-13)
        assert f(x) == pytest.approx(tg.value_and_grad(f)(x)[0], rel=1e-15)
