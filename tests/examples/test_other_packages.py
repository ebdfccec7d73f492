"""tapegrad's functions given to other packages: fits, samplers, solvers; and other packages' functions of Tensors."""

import os
import subprocess
import sys

import emcee
import iminuit
import lmfit
import numpy as np
import pandas as pd
import pytest
import scipy.integrate
import scipy.optimize

import tapegrad as tg

t = np.linspace(0.0, 4.0, 12)
TRUTH = np.array([2.0, 0.7])
data = TRUTH[0] * np.exp(-TRUTH[1] * t) + 0.01 * np.cos(7 * t)


def decay(x, amplitude, rate):
    """A model as its users write it; it takes arrays and Tensors."""
    return amplitude * np.exp(-rate * x)


def misfit(p):
    return 0.5 * np.sum((decay(t, p[0], p[1]) - data) ** 2) / 0.01**2


value_and_gradient = tg.value_and_grad(tg.jit(misfit))
BEST = scipy.optimize.least_squares(
    lambda p: decay(t, *p) - data, TRUTH, xtol=1e-15, ftol=1e-15, gtol=1e-15
).x


# --- functions for arrays of any library -------------------------------------------------------------------------

OF_ANY_LIBRARY = """
import numpy as np, tapegrad as tg
from scipy import integrate, spatial, special, stats

x = np.array([3.1, 2.2, 4.7, 3.3])
functions = {
    "gmean": stats.gmean,
    "zscore": lambda x: tg.sum(stats.zscore(x) ** 3),
    "tmean": tg.jit(lambda x: stats.tmean(x, (2.5, 5.0))),
    "logsumexp": special.logsumexp,
    "ufuncs": lambda x: special.erf(0.1 * x) @ special._ufuncs.xlogy(x, 2.0),
    "entropy": stats.entropy,
    "simpson": lambda x: integrate.cumulative_simpson(x)[-1],
    "rotation": lambda x: tg.sum(spatial.transform.Rotation.from_rotvec(x[:3] / 4).as_matrix()[0]),
}
for name, f in functions.items():
    along = (f(x + 1e-5) - f(x - 1e-5)) / 2e-5
    np.testing.assert_allclose(tg.grad(f)(x).sum(), along, rtol=1e-6, atol=1e-8, err_msg=name)
"""


def test_scipys_functions_for_arrays_of_any_library_are_differentiated():
    # SciPy reads the variable when it is imported
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    subprocess.run([sys.executable, "-c", OF_ANY_LIBRARY], env=environment, check=True, timeout=300)


# --- SciPy -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "SLSQP", "TNC"])
def test_minimize_takes_value_and_gradient(method):
    found = scipy.optimize.minimize(value_and_gradient, [1.0, 1.0], jac=True, method=method)
    np.testing.assert_allclose(found.x, BEST, rtol=1e-3)


def test_minimize_takes_hessians_and_products():
    f = tg.jit(misfit)
    for second in ({"hess": tg.hessian(f)}, {"hessp": tg.hvp(f)}):
        found = scipy.optimize.minimize(f, [1.0, 1.0], jac=tg.grad(f), method="trust-ncg", **second)
        np.testing.assert_allclose(found.x, BEST, rtol=1e-5)


def test_least_squares_and_curve_fit_take_jacobians():
    residuals = tg.jit(lambda p: decay(t, p[0], p[1]) - data)
    found = scipy.optimize.least_squares(residuals, [1.0, 1.0], jac=tg.jacobian(residuals))
    np.testing.assert_allclose(found.x, BEST, rtol=1e-6)
    by_parameters = tg.jacobian(tg.jit(lambda p, x: decay(x, p[0], p[1])))
    popt, pcov = scipy.optimize.curve_fit(
        decay, t, data, [1.0, 1.0], jac=lambda x, *p: by_parameters(np.array(p), x)
    )
    np.testing.assert_allclose(popt, BEST, rtol=1e-6)
    j = by_parameters(BEST, t)
    scale = np.sum((decay(t, *BEST) - data) ** 2) / (len(t) - 2)
    np.testing.assert_allclose(pcov, scale * np.linalg.inv(j.T @ j), rtol=1e-4)


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_root_takes_a_jacobian(method):
    equations = tg.jit(
        lambda x: np.stack([x[0] + 0.5 * (x[0] - x[1]) ** 3 - 1.0, 0.5 * (x[1] - x[0]) ** 3 + x[1]])
    )
    found = scipy.optimize.root(equations, [0.0, 0.0], jac=tg.jacobian(equations), method=method)
    np.testing.assert_allclose(found.x, [0.8411639, 0.1588361], rtol=1e-6)
    found = scipy.optimize.root_scalar(
        tg.jit(lambda x: np.cos(x) - x),
        fprime=tg.grad(tg.jit(lambda x: np.cos(x) - x)),
        x0=1.0,
        method="newton",
    )
    assert found.root == pytest.approx(0.7390851332151607)


def test_solve_ivp_takes_a_jacobian():
    """Robertson's stiff reaction."""

    def rates(time, u):
        a, b, c = u
        return np.stack([-0.04 * a + 1e4 * b * c, 0.04 * a - 1e4 * b * c - 3e7 * b**2, 3e7 * b**2])

    f = tg.jit(rates)
    start = np.array([1.0, 0.0, 0.0])
    found = scipy.integrate.solve_ivp(
        f, (0.0, 40.0), start, method="BDF", jac=tg.jacobian(f, 1), rtol=1e-8, atol=1e-12
    )
    np.testing.assert_allclose(found.y[:, -1], [0.7158271, 9.185535e-06, 0.2841638], rtol=1e-5)
    assert found.njev > 0


def test_quad_takes_a_derivative():
    """The derivative of an integral by a parameter is the integral of the derivative."""
    f = tg.grad(tg.jit(lambda p, x: np.exp(-p * x**2)))
    found, _ = scipy.integrate.quad(lambda x: f(1.5, x), 0.0, np.inf)
    assert found == pytest.approx(-np.sqrt(np.pi) / 4 * 1.5**-1.5)
    assert scipy.integrate.quad(tg.jit(np.cos), 0.0, 1.0)[0] == pytest.approx(np.sin(1.0))


# --- packages that stand on these -----------------------------------------------------------------------------------


def test_lmfit_fits_a_model_with_an_exact_jacobian():
    model = lmfit.Model(decay)
    jacobian = tg.jacobian(tg.jit(lambda p: data - decay(t, p[0], p[1])))
    calls = []

    def derivatives(parameters, *_args, **_kwargs):
        calls.append(1)
        return jacobian(np.array([parameters["amplitude"].value, parameters["rate"].value]))

    fit = model.fit(data, x=t, amplitude=1.0, rate=1.0, fit_kws={"Dfun": derivatives})
    assert calls
    np.testing.assert_allclose([fit.params["amplitude"].value, fit.params["rate"].value], BEST, rtol=1e-5)
    assert fit.params["rate"].stderr is not None


def test_lmfit_minimizes_residuals_that_are_replayed():
    residuals = tg.jit(lambda amplitude, rate: decay(t, amplitude, rate) - data)
    parameters = lmfit.create_params(amplitude=1.0, rate=1.0)
    fit = lmfit.minimize(lambda p: residuals(p["amplitude"].value, p["rate"].value), parameters)
    np.testing.assert_allclose([p.value for p in fit.params.values()], BEST, rtol=1e-5)


def test_iminuit_takes_a_gradient():
    f = tg.jit(misfit)
    minuit = iminuit.Minuit(f, np.array([1.0, 1.0]), grad=tg.grad(f), name=("amplitude", "rate"))
    minuit.errordef = iminuit.Minuit.LIKELIHOOD
    minuit.migrad()
    assert minuit.valid
    assert minuit.ngrad > 0
    np.testing.assert_allclose(np.array(minuit.values), BEST, rtol=1e-4)
    minuit.hesse()
    covariance = np.linalg.inv(tg.hessian(f)(np.array(minuit.values)))
    np.testing.assert_allclose(np.array(minuit.covariance), covariance, rtol=1e-2)


def test_emcee_samples_a_replayed_density():
    log_density = tg.jit(lambda p: -0.5 * np.sum((p - np.array([1.0, -2.0])) ** 2 / np.array([0.5, 2.0])))
    state = np.random.default_rng(3).standard_normal((8, 2))
    sampler = emcee.EnsembleSampler(8, 2, log_density)
    sampler.random_state = np.random.RandomState(5).get_state()
    sampler.run_mcmc(state, 400)
    chain = sampler.get_chain(discard=50, flat=True)
    np.testing.assert_allclose(chain.mean(axis=0), [1.0, -2.0], atol=0.3)
    expected = log_density(chain[-1])
    assert sampler.get_log_prob(flat=True)[-1] == expected


def test_a_fit_of_the_columns_of_a_table():
    frame = pd.DataFrame({"time": t, "seen": data})
    loss = tg.jit(lambda p: ((frame["seen"] - p[0] * np.exp(-p[1] * frame["time"])) ** 2).sum())
    start = pd.Series({"amplitude": 1.0, "rate": 1.0})
    found = tg.optimize.minimize(loss, start, tol=1e-12)
    assert list(found.x.index) == ["amplitude", "rate"]
    np.testing.assert_allclose(found.x.to_numpy(), BEST, rtol=1e-4)
