"""`checkpoint`: the same values and derivatives, with less on the tape."""

import pickle

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.frontend.tensor.inspection import tape

x = np.array([0.5, 1.0, 2.0])
v = np.array([1.0, -1.0, 0.5])
WAYS = {"eager": lambda f: f, "recorded": tg.jit}


def step(u, rate=0.1):
    for _ in range(4):
        u = u + rate * tg.sin(u) * np.cos(u)
    return u


def chain(f):
    def run(u):
        for _ in range(5):
            u = f(u)
        return tg.sum(u * u)

    return run


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "derivative",
    [
        lambda f: f(x),
        lambda f: tg.grad(f)(x),
        lambda f: tg.value_and_grad(f)(x)[0],
        lambda f: tg.hvp(f)(x, v),
        lambda f: tg.hessian(f)(x),
        lambda f: tg.jvp(f, (x,), (v,))[1],
        lambda f: tg.vjp(f, x)[1](2.0)[0],
        lambda f: tg.jacobian(tg.grad(f))(x),
        lambda f: tg.grad(lambda u: tg.sum(tg.grad(f)(u) ** 2))(x),
    ],
)
def test_derivatives_are_those_of_the_function(derivative, way):
    found = derivative(WAYS[way](chain(tg.checkpoint(step))))
    np.testing.assert_allclose(getattr(found, "data", found), derivative(tg.jit(chain(step))), rtol=1e-12)


def test_derivatives_are_those_of_differences():
    f = tg.checkpoint(lambda u: tg.sin(u) * u)
    tg.check_grads(lambda u: f(u) ** 2, (x[:1],))


def test_backward_and_graphs_of_graphs():
    expected = tg.grad(chain(step))(x)
    t = tg.tensor(x)
    chain(tg.checkpoint(step))(t).backward()
    np.testing.assert_allclose(t.grad, expected, rtol=1e-13)
    t = tg.tensor(x)
    chain(tg.checkpoint(step))(t).backward(create_graph=True)
    gradient, t.grad = t.grad, None
    tg.sum(gradient).backward()
    np.testing.assert_allclose(t.grad, tg.hessian(tg.jit(chain(step)))(x).sum(0), rtol=1e-12)


def test_a_call_is_one_instruction_on_the_eager_tape():
    f = tg.checkpoint(step)
    t = tg.tensor(x)
    before = str(tape())
    y = f(f(t))
    after = str(tape())
    assert after.count("checkpoint(step)(") == before.count("checkpoint(step)(") + 2
    assert after.count("sin(") == before.count("sin(")
    assert y.shape == t.shape


def test_a_recording_has_all_instructions():
    text = str(tg.jit(tg.checkpoint(step)).tape(x))
    assert "checkpoint" not in text
    assert text.count("sin(") == 4


def test_the_function_runs_once_more_for_a_gradient():
    runs = []

    def counted(u):
        runs.append(1)
        return tg.exp(u)

    f = tg.checkpoint(counted)
    tg.grad(lambda u: tg.sum(f(u)))(x)
    assert len(runs) == 2
    f(x)
    f(tg.tensor(x, constant=True))
    with tg.no_grad():
        f(tg.tensor(x))
    assert len(runs) == 5


def test_structures_keywords_and_other_results():
    @tg.checkpoint
    def f(p, n, *, shift):
        y = p["a"] * p["b"] ** n + shift
        return {"y": y, "n": n, "none": None, "numbers": np.arange(3), "both": [tg.sum(y), p["a"]]}

    def loss(p):
        found = f(p, 2, shift=x)
        assert (found["n"], found["none"]) == (2, None)
        np.testing.assert_array_equal(found["numbers"], [0, 1, 2])
        return tg.sum(found["y"] * found["numbers"]) + found["both"][0] + tg.sum(found["both"][1])

    start = {"a": x, "b": v}
    expected = tg.grad(lambda p: tg.sum((p["a"] * p["b"] ** 2 + x) * (np.arange(3) + 1)) + tg.sum(p["a"]))(
        start
    )
    for g in (tg.grad(loss), tg.grad(tg.jit(loss))):
        for name, values in g(start).items():
            np.testing.assert_allclose(values, expected[name])


def test_single_precision_and_mixtures():
    f = tg.checkpoint(lambda u, w: (u * 2, tg.sum(u) * w))
    t, w = tg.tensor(x.astype("f4")), tg.tensor(v)
    first, second = f(t, w)
    assert (first.dtype, second.dtype) == (np.float32, np.float64)
    (tg.sum(first) + tg.sum(second)).backward()
    assert t.grad.dtype == np.float32
    np.testing.assert_allclose(t.grad, [2.5] * 3)
    np.testing.assert_allclose(w.grad, [3.5] * 3)


def test_a_tensor_that_is_no_argument_is_refused():
    outside = tg.tensor(x)
    f = tg.checkpoint(lambda u: u * outside)
    for use in (lambda: f(tg.tensor(x)), lambda: tg.grad(lambda u: tg.sum(f(u)))(x)):
        with pytest.raises(TypeError, match="not an argument of the op, so that its gradient would be lost"):
            use()
    with pytest.raises(TypeError, match="not an argument of the op"):
        tg.grad(lambda w: tg.sum(tg.checkpoint(lambda u: u * w)(w)))(x)


class Layer:
    scale = 3.0

    @tg.checkpoint
    def apply(self, u):
        return self.scale * u


def test_methods_copies_and_names():
    t = tg.tensor(x)
    tg.sum(Layer().apply(t)).backward()
    np.testing.assert_allclose(t.grad, [3.0] * 3)
    f = tg.checkpoint(step)
    assert f.__name__ == "step"
    assert repr(f).startswith("checkpoint(step")
    np.testing.assert_allclose(pickle.loads(pickle.dumps(f))(x).data, step(x).data)


def test_errors_of_the_function_are_raised():
    f = tg.checkpoint(lambda u: u @ np.ones((2, 2)))
    with pytest.raises(ValueError, match="matmul"):
        f(tg.tensor(x))


@pytest.mark.parametrize("constant", [3.0, 3, np.ones(2), {"a": (2.0, None)}, ()])
def test_constant_results_come_back_as_they_are(constant):
    f = tg.checkpoint(lambda u: constant)
    found = f(tg.tensor(x))
    assert type(found) is type(constant)
    np.testing.assert_equal(found, constant)


@pytest.mark.parametrize("way", WAYS)
def test_constant_results_have_gradients_of_zero(way):
    f = WAYS[way](tg.checkpoint(lambda u: 3.0))
    np.testing.assert_array_equal(tg.grad(f)(x), np.zeros(3))
    np.testing.assert_array_equal(tg.jvp(f, (x,), (v,)), [3.0, 0.0])
    np.testing.assert_array_equal(tg.hvp(lambda u: tg.sum(u * u) * f(u))(x, v), 6 * v)
