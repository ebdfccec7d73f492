"""Models of PyMC's with random effects integrated out, against densities written by hand and quadrature."""

from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.stats

import tapegrad as tg

pm = pytest.importorskip("pymc")
nutpie = pytest.importorskip("nutpie")

pytestmark = pytest.mark.filterwarnings("ignore:.*(scan|numba|cores).*")  # PyMC's own
LABELS = list("abcdef")
OF = np.repeat(np.arange(6), 4)
Y = np.random.default_rng(5).normal(size=24) + 0.8 * np.random.default_rng(6).normal(size=6)[OF]
COUNTS = np.random.default_rng(7).poisson(2.0, 24)


def groups() -> Any:
    """Return a model that is Gaussian in its effects: y = a + u[group] + noise."""
    with pm.Model(coords={"group": LABELS}) as model:
        a, s = pm.Normal("a", 0.0, 1.7), pm.HalfNormal("s", 1.0)
        u = pm.Normal("u", 0.0, s, dims="group")
        pm.Deterministic("line", a + u, dims="group")
        pm.Normal("y", (a + u)[OF], 0.7, observed=Y)
    return model


def marginal_of_groups(a: Any, log_s: Any, jacobian: bool = True) -> Any:
    """Return the logarithm of the marginal density of `groups`, for complex numbers as well."""
    s = np.exp(log_s)
    covariance = s**2 * (OF[:, None] == OF) + 0.49 * np.eye(24)
    residual = Y - a
    density = -0.5 * (
        residual @ np.linalg.solve(covariance, residual) + np.log(np.linalg.det(2 * np.pi * covariance))
    )
    priors = -0.5 * a**2 / 1.7**2 - np.log(1.7 * np.sqrt(2 * np.pi)) - 0.5 * s**2 + 0.5 * np.log(2 / np.pi)
    return density + priors + (log_s if jacobian else 0.0)


@pytest.fixture(scope="module")
def gaussian() -> Any:
    return tg.interop.pymc(groups()).laplace("u")


def test_names(gaussian: Any) -> None:
    assert gaussian.names == {"a": (), "s_log__": ()}
    assert gaussian.effects == {"u": (6,)}
    assert repr(gaussian) == "<marginal density of a, s_log__; integrated out: u (6,)>"
    assert list(gaussian.x0) == ["a", "s_log__"]


@pytest.mark.parametrize("at", [(0.3, -0.2), (-1.0, 0.8), (0.0, -3.0)])
def test_density_of_a_gaussian_model_is_exact(gaussian: Any, at: tuple[float, float]) -> None:
    value, gradient = tg.value_and_grad(gaussian.log_density)(dict(zip(gaussian.names, at, strict=True)))
    np.testing.assert_allclose(value, marginal_of_groups(*at), rtol=1e-11)
    step = 1e-30j
    wanted = [marginal_of_groups(*(np.array(at) + step * direction)).imag / 1e-30 for direction in np.eye(2)]
    np.testing.assert_allclose([gradient["a"], gradient["s_log__"]], wanted, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("jacobian", [False, True])
def test_mode_and_standard_errors(gaussian: Any, jacobian: bool) -> None:
    fit = gaussian.find(jacobian=jacobian, progress=False)
    wanted = scipy.optimize.minimize(
        lambda x: -marginal_of_groups(*x, jacobian=jacobian), [0.0, 0.0], method="BFGS", tol=1e-9
    )
    np.testing.assert_allclose([fit.x["a"], fit.x["s_log__"]], wanted.x, atol=2e-5)
    np.testing.assert_allclose(fit.variables["s"], np.exp(fit.x["s_log__"]), rtol=1e-12)
    np.testing.assert_allclose(
        fit.variable_errors["s"], fit.variables["s"] * fit.std_errors["s_log__"], rtol=1e-6
    )
    np.testing.assert_allclose(fit.variables["line"], fit.x["a"] + fit.random["u"], rtol=1e-12)
    assert list(fit.variables) == ["a", "u", "s", "line"]
    lines = fit.summary().splitlines()
    assert [line.split()[0] for line in lines[3:]] == [
        "a",
        *(f"u[{k}]" for k in range(6)),
        "s",
        *(f"line[{k}]" for k in range(6)),
    ]
    draws = fit.draws(np.random.default_rng(0), 400)
    assert {name: array.shape for name, array in draws.items()} == {
        "a": (400,),
        "u": (400, 6),
        "s": (400,),
        "line": (400, 6),
    }
    error = fit.variable_errors["line"]
    np.testing.assert_allclose(draws["line"].mean(axis=0), fit.variables["line"], atol=5 * error.max() / 20)
    np.testing.assert_allclose(draws["line"].std(axis=0), error, rtol=0.2)


def test_trace_is_the_posterior(gaussian: Any) -> None:
    trace = gaussian.sample(draws=1000, tune=300, chains=4, seed=3, cores=1)
    posterior = trace.posterior
    assert set(posterior.data_vars) == {"a", "s", "u", "line"}
    assert posterior["u"].dims == ("chain", "draw", "group")
    assert list(posterior["line"].coords["group"].values) == LABELS
    assert posterior["u"].shape == (4, 1000, 6)
    assert "diverging" in trace.sample_stats
    np.testing.assert_allclose(posterior["line"], posterior["a"] + posterior["u"], rtol=1e-12, atol=1e-12)
    # By quadrature over s, given which everything is Gaussian
    grid = np.linspace(-6.0, 2.0, 161)
    moments = np.array([_given(log_s) for log_s in grid])
    weights = np.exp(moments[:, 0] - moments[:, 0].max())
    weights /= weights.sum()
    mean = weights @ moments[:, 1:8]
    spread = np.sqrt(weights @ (moments[:, 8:] + moments[:, 1:8] ** 2) - mean**2)
    draws = np.column_stack([np.ravel(posterior["a"]), np.reshape(posterior["u"].values, (-1, 6))])
    np.testing.assert_allclose((draws.mean(axis=0) - mean) / spread, 0.0, atol=0.08)
    np.testing.assert_allclose(draws.std(axis=0) / spread, 1.0, atol=0.06)
    log_s = np.log(posterior["s"].values)
    assert abs(log_s.mean() - weights @ grid) < 0.08 * log_s.std()


def _given(log_s: float) -> np.ndarray:
    """Return the log density of log(s), and means and variances of a and u given it."""
    design = np.column_stack([np.ones(24), OF[:, None] == np.arange(6)]).astype(float)
    precision = design.T @ design / 0.49 + np.diag([1 / 1.7**2, *6 * [np.exp(-2 * log_s)]])
    covariance = np.linalg.inv(precision)
    mean = covariance @ design.T @ Y / 0.49
    prior = -0.5 * np.exp(2 * log_s) + log_s
    value = prior + 0.5 * (Y @ design @ mean / 0.49 + np.linalg.slogdet(covariance)[1]) - 6 * log_s
    return np.array([value, *mean, *np.diag(covariance)])


def test_effects_with_a_transform() -> None:
    """Effects are integrated out on their unconstrained scale, with the Jacobian determinants of their transforms."""
    with pm.Model() as model:
        shape = pm.Exponential("shape", 1.0)
        rate = pm.Gamma("rate", shape, shape, shape=24)
        pm.Poisson("y", 2.0 * rate, observed=COUNTS)
    marginal = tg.interop.pymc(model).laplace(["rate"])
    value = marginal.log_density({"shape_log__": 0.4})
    k = np.exp(0.4)
    expected = scipy.stats.expon.logpdf(k) + 0.4
    for count in COUNTS:  # the mode of v = log(rate): k + count = (k + 2) exp(v); second derivative k + count
        v = np.log((k + count) / (k + 2))
        joint = (
            scipy.stats.gamma.logpdf(np.exp(v), k, scale=1 / k)
            + v
            + scipy.stats.poisson.logpmf(count, 2 * np.exp(v))
        )
        expected += joint + 0.5 * np.log(2 * np.pi) - 0.5 * np.log(k + count)
    np.testing.assert_allclose(value, expected, rtol=1e-10)


def test_jacobian_of_a_transform_that_depends_on_a_variable() -> None:
    with pm.Model() as model:
        top = pm.Exponential("top", 1.0)
        x = pm.Uniform("x", 0.0, top)
        u = pm.Normal("u", x, 1.0, shape=3)
        pm.Normal("y", u, 1.0, observed=[0.1, 0.2, 0.4])
    marginal = tg.interop.pymc(model).laplace("u")
    parameters = {"top_log__": np.array(0.3), "x_interval__": np.array(-0.6)}
    arguments = parameters, {"u": np.array([0.1, 0.0, 0.2])}
    with_jacobian, without = marginal._minus_joint(*arguments), marginal._minus_joint_of_variables(*arguments)
    chance = 1 / (1 + np.exp(0.6))
    np.testing.assert_allclose(
        float(without) - float(with_jacobian), 0.3 + np.log(np.exp(0.3) * chance * (1 - chance)), rtol=1e-9
    )


def test_other_data() -> None:
    with pm.Model() as model:
        y = pm.Data("counts", COUNTS)
        u = pm.Normal("u", 0.0, pm.HalfNormal("s"), shape=24)
        pm.Poisson("y", pm.math.exp(u), observed=y)
    first = tg.interop.pymc(model)
    second = first.with_data(counts=COUNTS[::-1].copy())
    at = {"s_log__": -0.4}
    assert second.laplace("u").log_density(at) == pytest.approx(first.laplace("u").log_density(at), rel=1e-12)
    third = first.with_data(counts=COUNTS + 1)
    assert third.laplace("u").log_density(at) != pytest.approx(first.laplace("u").log_density(at), rel=1e-3)


def test_refusals(gaussian: Any) -> None:
    model = gaussian._model
    with pytest.raises(ValueError, match="random has line, but the free variables of the model are a, s, u"):
        model.laplace(["u", "line"])
    with pytest.raises(ValueError, match="some of the free variables and not all"):
        model.laplace(["a", "s", "u"])
    with pytest.raises(ValueError, match="some of the free variables and not all"):
        model.laplace([])
