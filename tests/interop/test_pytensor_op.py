"""`pytensor_op`: functions of ours in PyTensor's graphs and PyMC's models."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg

pytensor = pytest.importorskip("pytensor")

import pytensor.tensor as pt  # noqa: E402  after it is known to be there

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTensor's own
T = np.linspace(0, 4, 20)
DATA = 3.0 * np.exp(-T / 1.5) + 0.1 * np.cos(17 * T)


def log_likelihood(theta: Any, sigma: Any) -> Any:
    residual = (theta[0] * np.exp(-T / theta[1]) - DATA) / sigma
    return -0.5 * np.sum(residual**2) - T.size * np.log(sigma)


def two_results(x: Any) -> Any:
    return np.sin(x), np.sum(x**2)


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "FAST_RUN", "NUMBA"])
def test_value_and_gradient(mode: str) -> None:
    op = tg.interop.pytensor_op(log_likelihood, np.array([1.0, 1.0]), 1.0)
    theta, sigma = pt.vector("theta"), pt.scalar("sigma")
    value = op(theta, sigma)
    f = pytensor.function([theta, sigma], [value, *pt.grad(value, [theta, sigma])], mode=mode)
    at = np.array([2.0, 1.2]), 0.4
    wanted, gradient = tg.value_and_grad(log_likelihood, argnums=(0, 1))(*at)
    found = f(*at)
    np.testing.assert_allclose(found[0], wanted, rtol=1e-13)
    for one, other in zip(found[1:], gradient, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_second_derivatives() -> None:
    op = tg.interop.pytensor_op(lambda x: np.sum(np.sin(x) ** 3), np.zeros(3))
    x = pt.vector("x")
    f = pytensor.function([x], pytensor.gradient.hessian(op(x), x))
    at = np.array([0.3, 1.0, -2.0])
    np.testing.assert_allclose(
        f(at), tg.hessian(lambda x: np.sum(np.sin(x) ** 3))(at), rtol=1e-12, atol=1e-14
    )


def test_several_results_of_which_one_has_a_cotangent() -> None:
    op = tg.interop.pytensor_op(two_results, np.zeros(3))
    x = pt.vector("x")
    first, second = op(x)
    f = pytensor.function([x], [first, second, pt.grad(second, x), pt.grad(pt.sum(first), x)])
    at = np.array([0.3, 1.0, -2.0])
    for one, other in zip(f(at), (np.sin(at), np.sum(at**2), 2 * at, np.cos(at)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


def test_integers_have_no_gradient() -> None:
    op = tg.interop.pytensor_op(lambda x, i: np.sum(x[i] ** 2), np.zeros(4), np.array([0, 2, 2]))
    x, i = pt.vector("x"), pt.lvector("i")
    f = pytensor.function([x, i], pt.grad(op(x, i), x))
    np.testing.assert_allclose(f(np.arange(4.0), np.array([1, 1, 3])), [0, 4, 0, 6])
    with pytest.raises(Exception, match="it is no float"):
        pytensor.function([x, i], pt.grad(op(x, i), i))


def test_wrong_arguments_are_refused() -> None:
    op = tg.interop.pytensor_op(np.sin, np.zeros(3))
    with pytest.raises(TypeError, match=r"argument 0 has 2 axes, but its example has shape \(3,\)"):
        op(pt.matrix())
    with pytest.raises(TypeError, match="takes 1 arguments, but got 2"):
        op(pt.vector(), pt.vector())
    with pytest.raises(TypeError, match="needs an example of each argument of sin"):
        tg.interop.pytensor_op(np.sin)


def test_other_shapes_are_another_recording() -> None:
    op = tg.interop.pytensor_op(np.square, np.zeros(3))
    x = pt.vector("x")
    f = pytensor.function([x], op(x), mode="FAST_COMPILE")
    np.testing.assert_array_equal(f(np.arange(5.0)), np.arange(5.0) ** 2)


def test_likelihood_in_a_model_of_pymc() -> None:
    pm, nutpie = pytest.importorskip("pymc"), pytest.importorskip("nutpie")
    op = tg.interop.pytensor_op(log_likelihood, np.array([1.0, 1.0]), 1.0)
    with pm.Model() as model:
        theta, sigma = pm.LogNormal("theta", shape=2), pm.HalfNormal("sigma")
        pm.Potential("likelihood", op(theta, sigma))
    compiled = tg.interop.pymc(model)
    x = np.array([0.7, 0.2, -1.0])
    values = [model.rvs_to_values[variable] for variable in model.free_RVs]
    logp = model.logp()
    expected = model.compile_fn(
        [logp, *pt.grad(logp, values)], inputs=values, mode="FAST_COMPILE", point_fn=False
    )
    value, gradient = compiled.log_density(x)
    wanted, by_theta, by_sigma = expected(x[:2], x[2])
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    np.testing.assert_allclose(gradient, [*by_theta, by_sigma], rtol=1e-11)
    for each in (compiled, nutpie.compile_pymc_model(model)):  # the second by Numba
        trace = nutpie.sample(each, draws=300, tune=300, chains=2, seed=1, progress_bar=False)
        np.testing.assert_allclose(trace.posterior["theta"].mean(["chain", "draw"]), [3.0, 1.5], rtol=0.1)
