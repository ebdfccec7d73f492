"""`tapegrad.interop`: other packages do their work with compiled functions. What is not installed is skipped."""

import sys
from typing import Any

import emcee
import iminuit
import numpy as np
import pytest
import scipy.integrate

import tapegrad as tg
from tapegrad import interop


def rosenbrock(x: Any) -> Any:
    return tg.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def normal(p: Any) -> Any:
    return -0.5 * tg.sum((p["x"] - p["m"]) ** 2) - 0.5 * (p["m"] - 1) ** 2


START = {"x": np.zeros(3), "m": 0.0}


def test_scipy_integrates() -> None:
    h = tg.compile(lambda x: tg.exp(-(x**2)), 0.5)
    found = scipy.integrate.quad(interop.scipy(h), 0, 2)[0]
    np.testing.assert_allclose(found, scipy.integrate.quad(lambda x: np.exp(-(x**2)), 0, 2)[0], rtol=1e-12)
    plane = tg.compile(lambda x: x[0] * x[1] ** 2, np.ones(2))
    np.testing.assert_allclose(scipy.integrate.nquad(interop.scipy(plane), [(0, 2), (0, 3)])[0], 18)
    with pytest.raises(ValueError, match="cannot be called as"):
        interop.scipy(tg.compile(tg.grad(rosenbrock), np.ones(2)))


def oscillator(t: Any, y: Any, mu: Any) -> Any:
    return tg.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])


@pytest.mark.parametrize("method", ["LSODA", "Radau"])
def test_scipy_solves_stiff_equations(method: str) -> None:
    rhs = interop.ode(oscillator, 0.0, np.array([2.0, 0.0]), 30.0)
    options = {"method": method, "args": (30.0,), "rtol": 1e-8, "atol": 1e-8}
    found = scipy.integrate.solve_ivp(rhs, (0, 20), [2.0, 0.0], jac=rhs.jac, **options)

    def plain(t: Any, y: Any, mu: Any) -> Any:
        return [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]]

    expected = scipy.integrate.solve_ivp(plain, (0, 20), [2.0, 0.0], **options)
    np.testing.assert_allclose(found.y[:, -1], expected.y[:, -1], rtol=1e-4)
    np.testing.assert_allclose(rhs.jac(0.0, np.array([2.0, 0.5]), 30.0), [[0, 1], [-61, -90]])


def test_iminuit_fits() -> None:
    minuit = interop.iminuit(lambda p: -2 * normal(p), START)
    minuit.errordef = iminuit.Minuit.LEAST_SQUARES
    minuit.migrad()
    assert minuit.valid
    assert minuit.ngrad > 0
    assert minuit.parameters == ("m", "x_0", "x_1", "x_2")
    np.testing.assert_allclose(np.array(minuit.values), np.ones(4), atol=1e-6)


def test_nlopt_minimises() -> None:
    nlopt = pytest.importorskip("nlopt")
    for algorithm in (nlopt.LD_SLSQP, nlopt.LN_BOBYQA):
        opt = nlopt.opt(algorithm, 3)
        opt.set_min_objective(interop.nlopt(rosenbrock, np.zeros(3)))
        opt.set_xtol_rel(1e-10)
        opt.set_maxeval(5000)
        np.testing.assert_allclose(opt.optimize(np.array([-1.0, 1.0, 0.5])), np.ones(3), rtol=1e-4)


def test_emcee_samples() -> None:
    def density(p: Any) -> Any:
        return -0.5 * tg.sum((p - 1) ** 2) if p[0] > -9 else -np.inf

    log_density = interop.emcee(density, np.zeros(2), ways=[np.full(2, -10.0)])
    sampler = emcee.EnsembleSampler(16, 2, log_density, vectorize=True)
    sampler.random_state = np.random.RandomState(5).get_state()
    sampler.run_mcmc(np.random.default_rng(3).standard_normal((16, 2)), 300)
    np.testing.assert_allclose(sampler.get_chain(discard=50, flat=True).mean(axis=0), 1, atol=0.2)
    np.testing.assert_array_equal(log_density(np.array([[1.0, 1.0], [-20.0, 0.0]])), [0, -np.inf])
    with pytest.raises(ValueError, match=r"2 parameters, but points of shape \(3,\)"):
        log_density(np.ones(3))


def test_what_is_not_finite_or_known_in_a_log_density() -> None:
    log_density = interop.emcee(lambda x: tg.sum(tg.sqrt(x)), np.ones(2))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(log_density(np.array([[-1.0, 1.0], [4.0, 1.0]])), [-np.inf, 3])
    log_density = interop.emcee(lambda x: tg.sum(x) if x[0] > 0 else 0.0, np.ones(2))
    with pytest.raises(tg.UnrecordedWayError):
        log_density(np.array([[1.0, 1.0], [-1.0, 1.0]]))


def test_nutpie_samples() -> None:
    nutpie = pytest.importorskip("nutpie")

    def expand(p: Any) -> Any:
        return {"x": p["x"], "m": p["m"], "s": tg.exp(p["x"][:2])}

    model = interop.nutpie(normal, START, expand=expand, coords={"k": ["a", "b", "c"]}, dims={"x": ("k",)})
    trace = nutpie.sample(model, chains=4, cores=4, tune=200, draws=500, seed=1, progress_bar=False)
    posterior = trace.posterior
    assert posterior["x"].dims == ("chain", "draw", "k")
    np.testing.assert_allclose(posterior["x"].mean(), 1, atol=0.2)
    np.testing.assert_allclose(posterior["m"].std(), 1, atol=0.2)
    np.testing.assert_allclose(posterior["s"].values[..., 0], np.exp(posterior["x"].values[..., 0]))
    plain = nutpie.sample(
        interop.nutpie(normal, START), chains=1, tune=50, draws=50, seed=1, progress_bar=False
    )
    assert plain.posterior["x"].shape == (1, 50, 3)


def test_blackjax_takes_a_callback() -> None:
    blackjax, jax = pytest.importorskip("blackjax"), pytest.importorskip("jax")
    log_density = interop.jax(lambda x: -0.5 * tg.sum((x - 1) ** 2), np.zeros(2))
    x = jax.numpy.array([3.0, 0.5])
    np.testing.assert_allclose(jax.jit(jax.grad(log_density))(x), [-2, 0.5])
    np.testing.assert_allclose(jax.vmap(log_density)(jax.numpy.ones((2, 2))), [0, 0])
    kernel = blackjax.hmc(log_density, 0.5, np.ones(2), 5)
    state, _ = jax.jit(kernel.step)(jax.random.key(0), kernel.init(x))
    assert np.isfinite(state.logdensity)


@pytest.mark.parametrize("name", ["nutpie", "jax", "iminuit"])
def test_a_package_that_is_missing_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ModuleNotFoundError, match=rf"pip install 'tapegrad\[{name}\]'"):
        getattr(interop, name)(normal, START)
