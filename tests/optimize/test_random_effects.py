"""Fits with random effects: published results, uncertainty, profiles, checks, and wrong arguments."""

import pickle

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from matplotlib.figure import Figure

import tapegrad as tg
from helpers.tables import columns
from tapegrad import special, stats
from tapegrad.errors import NoModeError
from tapegrad.optimize.random_effects import search
from tapegrad.optimize.random_effects.conditional import ConditionalEffects
from tapegrad.optimize.random_effects.model import LatentModel

CBPP = columns("cbpp.csv")
HERD = CBPP["herd"].astype(int) - 1
PERIODS = np.stack([np.ones(len(HERD)), *((CBPP["period"] == k) * 1.0 for k in (2, 3, 4))], axis=1)


def herds(theta, u):
    eta = PERIODS @ theta["beta"] + tg.exp(theta["log_sd"]) * u[HERD]
    cases = stats.binom.logpmf(CBPP["incidence"], CBPP["size"], special.expit(eta))
    return -tg.sum(cases) - tg.sum(stats.norm.logpdf(u))


HERDS_START = {"beta": np.zeros(4), "log_sd": 0.0}, np.zeros(15)


@pytest.fixture(scope="module")
def fit():
    return tg.optimize.laplace(herds, HERDS_START, random=1)


def test_no_minimum_has_no_standard_errors_and_says_so() -> None:
    fit = tg.optimize.laplace(
        lambda p, u: np.sum((u - p[0]) ** 2) + np.sum((u - np.arange(8.0)) ** 2) + 0.0 * p[1],
        (np.zeros(2), np.zeros(8)),
        random=1,
    )
    with pytest.warns(scipy.optimize.OptimizeWarning, match="not positive definite"):
        assert np.isnan(fit.std_errors).all()
    assert "nan" in fit.summary()


def test_cbpp_is_that_of_lme4(fit) -> None:
    """The estimates, standard errors and log-likelihood that `glmer` prints (Bates and others, 2015)."""
    assert fit.success
    np.testing.assert_allclose(fit.x["beta"], [-1.39853, -0.99233, -1.12867, -1.58031], atol=2e-5)
    assert np.exp(fit.x["log_sd"]) == pytest.approx(0.64226, abs=1e-5)
    assert -fit.fun == pytest.approx(-92.0263, abs=1e-4)
    np.testing.assert_allclose(fit.std_errors["beta"], [0.2325, 0.3066, 0.3266, 0.4274], atol=2e-4)


SLEEP = columns("sleepstudy.csv")
TIMES, DAYS, DRIVER = SLEEP["Reaction"], SLEEP["Days"], np.repeat(np.arange(18), 10)


def drivers(p):
    between, within = tg.exp(p["log_sd"]), tg.tanh(p["z"])
    first, second = p["b"][:, 0], p["b"][:, 1]
    intercepts = p["beta"][0] + between[0] * first
    slopes = p["beta"][1] + between[1] * (within * first + tg.sqrt(1 - within**2) * second)
    mean = intercepts[DRIVER] + slopes[DRIVER] * DAYS
    return -tg.sum(stats.norm.logpdf(TIMES, mean, tg.exp(p["log_noise"]))) - tg.sum(stats.norm.logpdf(p["b"]))


DRIVERS_START = {
    "beta": np.array([250.0, 10.0]), "log_sd": np.array([3.0, 1.5]), "z": 0.0, "log_noise": 3.0,
    "b": np.zeros((18, 2)),
}  # fmt: skip


@pytest.mark.parametrize(
    ("random", "deviance", "spread", "correlation"),
    [
        ("b", 1751.9393, [23.7806, 5.7168], 0.0813),  # maximum likelihood
        (("b", "beta"), 1743.6283, [24.740448, 5.922133], 0.0656),  # restricted
    ],
)
def test_sleepstudy_is_that_of_lme4(random, deviance, spread, correlation) -> None:
    found = tg.optimize.laplace(drivers, DRIVERS_START, random)
    assert 2 * found.fun == pytest.approx(deviance, abs=1e-4)
    np.testing.assert_allclose(np.exp(found.x["log_sd"]), spread, rtol=2e-5)
    assert np.tanh(found.x["z"]) == pytest.approx(correlation, abs=1e-4)
    assert np.exp(found.x["log_noise"]) == pytest.approx(25.59182, rel=1e-5)
    beta = found.random["beta"] if random != "b" else found.x["beta"]
    np.testing.assert_allclose(beta, [251.40510, 10.46729], rtol=1e-5)


# --- a Gaussian model, in which all is known ----------------------------------------------------------------------

Y = np.random.default_rng(5).normal(1.0, 1.5, (8, 3))


def groups(theta, u, y=Y):
    """Rows with a common effect each, of known variances."""
    return 0.5 * tg.sum((y - theta[0] - u[:, np.newaxis]) ** 2) + 0.5 * tg.sum(u**2)


@pytest.fixture(scope="module")
def gaussian():
    return tg.optimize.laplace(groups, (np.zeros(1), np.zeros(8)), random=1)


def test_gaussian_uncertainty_is_exact(gaussian) -> None:
    """The joint posterior of mean and effects under a flat prior is normal, with a known precision."""
    precision = np.zeros((9, 9))
    precision[0, 0], precision[0, 1:], precision[1:, 0] = 24.0, 3.0, 3.0
    precision[1:, 1:] = 4.0 * np.eye(8)
    covariance = np.linalg.inv(precision)
    assert gaussian.x[0] == pytest.approx(Y.mean(), rel=1e-6)
    np.testing.assert_allclose(gaussian.cov, covariance[:1, :1], rtol=1e-7)
    np.testing.assert_allclose(gaussian.random_std_errors, np.sqrt(np.diag(covariance)[1:]), rtol=1e-7)
    values, errors = gaussian.predict(lambda theta, u: {"first": theta[0] + u[0], "all": 2.0 * u})
    assert values["first"] == pytest.approx(gaussian.x[0] + gaussian.random[0])
    assert errors["first"] == pytest.approx(np.sqrt(covariance[:2, :2].sum()), rel=1e-7)
    np.testing.assert_allclose(errors["all"], 2 * gaussian.random_std_errors, rtol=1e-9)


def test_draws_have_that_covariance(gaussian) -> None:
    theta, u = gaussian.sample(np.random.default_rng(0), 4000)
    assert theta.shape == (4000, 1)
    assert u.shape == (4000, 8)
    assert np.std(theta) == pytest.approx(gaussian.std_errors[0], rel=0.05)
    np.testing.assert_allclose(np.std(u, axis=0), gaussian.random_std_errors, rtol=0.06)
    correlation = np.corrcoef(theta[:, 0], u[:, 0])[0, 1]
    assert correlation == pytest.approx(
        -0.75 * gaussian.std_errors[0] / gaussian.random_std_errors[0], abs=0.05
    )


def test_simulated_data_have_drawn_effects(gaussian) -> None:
    means = [
        gaussian.simulate(np.random.default_rng(k), lambda rng, theta, u: theta[0] + u + 0.0 * rng.random())
        for k in range(400)
    ]
    np.testing.assert_allclose(np.std(means, axis=0), 0.5, rtol=0.15)


def test_profiles_of_gaussian_models_are_parabolas(gaussian) -> None:
    found = gaussian.profile(0)
    error = gaussian.std_errors[0]
    parabola = gaussian.fun + 0.5 * ((found.values - gaussian.x[0]) / error) ** 2
    np.testing.assert_allclose(found.fun, parabola, rtol=1e-7, atol=1e-7)
    low, high = found.interval()
    assert high - low == pytest.approx(2 * 1.959964 * error, rel=1e-6)


def test_checks_find_one_mode_and_no_bias(gaussian) -> None:
    def simulate(rng, theta):
        return theta[0] + rng.normal(size=(8, 1)) + rng.normal(size=(8, 3))

    model = tg.optimize.laplace(groups, (np.zeros(1), np.zeros(8)), random=1, args=(Y,))
    found = model.check(np.random.default_rng(2), simulate, size=50)
    assert found.is_minimum
    assert found.has_one_mode
    assert found.gradient < 1e-4
    assert 0.01 < found.p_value <= 1.0
    assert abs(found.bias[0]) < 0.2
    assert "one value" in str(found)
    assert gaussian.check().bias is None


def test_simulated_data_need_arguments(gaussian) -> None:
    with pytest.raises(ValueError, match="args="):
        gaussian.check(simulate=lambda rng, theta: Y)


def test_a_wrong_model_is_seen_by_simulation() -> None:
    """Data of another mean than that of the fit have a gradient in the mean."""
    model = tg.optimize.laplace(groups, (np.zeros(1), np.zeros(8)), random=1, args=(Y,))
    found = model.check(
        np.random.default_rng(2), lambda rng, theta: theta[0] + 3.0 + rng.normal(size=(8, 3)), size=30
    )
    assert found.p_value < 1e-6
    assert found.bias[0] == pytest.approx(3.0, abs=0.3)


# --- the rest of a result ----------------------------------------------------------------------------------------


def test_fixed_and_tied_parameters(fit) -> None:
    mapped = tg.optimize.laplace(
        herds, HERDS_START, random=1, map={"beta": np.array([0, 1, 1, -1])}, options={"gtol": 1e-4}
    )
    beta = mapped.x["beta"]
    assert all(isinstance(leaf, np.ndarray | np.floating) for leaf in mapped.x.values())
    assert beta[1] == beta[2] != 0.0
    assert beta[3] == 0.0
    assert mapped.fun > fit.fun
    assert mapped.cov.shape == (3, 3)
    assert np.isnan(mapped.std_errors["beta"][3])
    assert mapped.std_errors["beta"][1] == mapped.std_errors["beta"][2]


@pytest.mark.filterwarnings("ignore:delta_grad")
@pytest.mark.parametrize("method", ["L-BFGS-B", "trust-constr", "COBYLA"])
def test_methods_of_scipy_agree(fit, method: str) -> None:
    """With bounds that do nothing, and without a gradient: the result has its own."""
    bounds = {"beta": (-3.0, 3.0), "log_sd": (-3.0, 3.0)}
    found = tg.optimize.laplace(herds, HERDS_START, random=1, method=method, bounds=bounds)
    assert found.fun == pytest.approx(fit.fun, abs=1e-5)
    assert found.jac.shape == (5,)
    np.testing.assert_allclose(found.jac, np.zeros(5), atol=0.05)


def test_bounds_by_key_hold() -> None:
    bounds = {"beta": (-1.0, 3.0), "log_sd": (None, -1.0)}
    found = tg.optimize.laplace(herds, HERDS_START, random=1, method="L-BFGS-B", bounds=bounds)
    np.testing.assert_allclose(found.x["beta"][[0, 2, 3]], -1.0)
    assert found.x["log_sd"] == pytest.approx(-1.0)


def test_float32_starts_are_fitted_in_float64(fit) -> None:
    start = {"beta": np.zeros(4, np.float32), "log_sd": np.float32(0)}, np.zeros(15, np.float32)
    found = tg.optimize.laplace(herds, start, random=1)
    assert found.fun == fit.fun
    assert found.x["beta"].dtype == found.random.dtype == np.float64


def test_profiles_by_name(fit) -> None:
    found = fit.profile("log_sd", points=4)
    low, high = found.interval()
    assert low < fit.x["log_sd"] < high
    assert len(found.values) >= 9
    assert found.values[np.argmin(found.fun)] == found.x == fit.x["log_sd"]
    with pytest.raises(ValueError, match="beta"):
        fit.profile("beta")
    with pytest.raises(ValueError, match="no parameter 'gamma'"):
        fit.profile("gamma")


def test_what_is_shown(fit) -> None:
    text = fit.summary()
    assert "x['log_sd']" in text
    assert "-0.4427" in text
    assert "15 of sd" in text
    assert len(fit.plot(Figure()).axes) == 2
    assert "parameter" in fit._repr_html_()
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(fit)


def test_more_than_one_argument_of_parameters() -> None:
    def joint(mean, u, log_sd):
        return (
            groups([mean], tg.exp(log_sd) * u) + 0.5 * tg.sum(u**2) - 0.5 * tg.sum((tg.exp(log_sd) * u) ** 2)
        )

    found = tg.optimize.laplace(joint, (0.0, np.zeros(8), -0.5), random=1)
    assert isinstance(found.x, tuple)
    assert found.x[0] == pytest.approx(Y.mean(), rel=1e-4)
    total = 1.0 + 3.0 * np.exp(2 * found.x[1])
    between = 3.0 * np.sum((Y.mean(axis=1) - Y.mean()) ** 2) / 8
    assert total == pytest.approx(between, rel=1e-3)


def test_wrong_arguments_say_what_to_write() -> None:
    with pytest.raises(TypeError, match="tuple of all arguments"):
        tg.optimize.laplace(groups, np.zeros(1), random=1)
    with pytest.raises(ValueError, match="x0 has 2 arguments"):
        tg.optimize.laplace(groups, (np.zeros(1), np.zeros(8)), random=2)
    with pytest.raises(ValueError, match="must be a dict with 'b'"):
        tg.optimize.laplace(drivers, {"beta": np.zeros(2)}, random="b")
    with pytest.raises(ValueError, match="random='u' has no elements"):
        tg.optimize.laplace(lambda p: tg.sum(p["u"]), {"a": 1.0, "u": np.zeros(0)}, random="u")
    with pytest.raises(ValueError, match="no parameters"):
        tg.optimize.laplace(groups, (np.zeros(1), np.zeros(8)), random=(0, 1))
    with pytest.raises(ValueError, match="fixes all parameters"):
        tg.optimize.laplace(groups, (np.zeros(1), np.zeros(8)), random=1, map=np.array([-1]))
    with pytest.raises(ValueError, match="shape"):
        tg.optimize.laplace(groups, (np.zeros(1), np.zeros(8)), random=1, map=np.array([0, 1]))
    with pytest.raises(TypeError, match="integers"):
        tg.optimize.laplace(groups, (np.zeros(1), np.zeros(8)), random=1, map=np.array([0.5]))
    with pytest.raises(ValueError, match="bounds="):
        tg.optimize.laplace(groups, (np.zeros(1), np.zeros(8)), random=1, bounds={"mean": (0, 1)})
    for method, instead in (
        ("trust-ncg", "optimize.minimize"),
        ("dogleg", "optimize.minimize"),
        ("native", "'BFGS'"),
    ):
        with pytest.raises(ValueError, match=instead):
            tg.optimize.laplace(groups, (np.zeros(1), np.zeros(8)), random=1, method=method)
    with pytest.raises(TypeError, match="leave out jac="):
        tg.optimize.laplace(groups, (np.zeros(1), np.zeros(8)), random=1, jac=True)
    with pytest.raises(NoModeError, match="no mode at x0"):
        tg.optimize.laplace(lambda a, u: a[0] * tg.sum(u), (np.ones(1), np.zeros(2)), random=1)


def test_interrupts_lose_nothing(monkeypatch) -> None:
    calls = []
    own = search.ModeToMode.__call__

    def interrupted(self, free):
        calls.append(free)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return own(self, free)

    monkeypatch.setattr(search.ModeToMode, "__call__", interrupted)
    found = tg.optimize.laplace(herds, HERDS_START, random=1, progress=False)
    assert not found.success
    assert "interrupted" in found.message
    assert found.fun < 120.0
    assert np.isfinite(found.std_errors["beta"]).all()


def exact_profile_of_groups(y, log_sd):
    """Minus the largest log-likelihood given the spread of groups, by the distribution of each group's values."""
    cov = np.eye(y.shape[1]) + np.exp(2 * log_sd)
    return -float(np.sum(scipy.stats.multivariate_normal.logpdf(y - np.mean(y), np.zeros(y.shape[1]), cov)))


@pytest.mark.parametrize("seed", [1, 2])
def test_profiles_that_are_flat_on_one_side(seed) -> None:
    """A standard deviation near 0: the standard error of its logarithm is a hundred times the steep side's scale."""

    def density(theta, u, y):
        values = stats.norm.logpdf(y, theta["mean"] + tg.exp(theta["log_sd"]) * u[:, None], 1.0)
        return -tg.sum(values) - tg.sum(stats.norm.logpdf(u))

    y = np.random.default_rng(seed).normal(size=(8, 3))
    fit = tg.optimize.laplace(density, ({"mean": 0.0, "log_sd": -1.0}, np.zeros(8)), random=1, args=(y,))
    assert fit.std_errors["log_sd"] > 100
    low, high = fit.profile("log_sd").interval()
    exact = scipy.optimize.brentq(
        lambda v: exact_profile_of_groups(y, v) - fit.fun - 1.920729410347062, -3.0, 2.0
    )
    assert low == -np.inf
    assert high == pytest.approx(exact, abs=1e-3)


@pytest.mark.parametrize("coupled", [False, True])
def test_effects_given_parameters_have_the_corrections_of_third_derivatives(coupled):
    """Shift and skewness against sums over the tensor of third derivatives, written out."""
    rng = np.random.default_rng(3)
    n, a = 5, 0.2
    design = rng.normal(size=(7, n)) if coupled else np.eye(n)
    counts = rng.poisson(1.5, len(design)).astype(float)
    precision = np.eye(n) + (0.4 * (np.eye(n, k=1) + np.eye(n, k=-1)) if coupled else 0.0)

    def nll(theta, u):
        line = theta[0] + design @ u
        return tg.sum(tg.exp(line) - counts * line) + 0.5 * u @ (precision @ u)

    model = LatentModel(nll, (np.zeros(1), np.zeros(n)), 1, (), None)
    free = np.array([a])
    mode = tg.laplace(nll, random=1).mode(free, np.zeros(n))
    rates = np.exp(a + design @ mode)
    covariance = np.linalg.inv(np.einsum("i,ij,ik->jk", rates, design, design) + precision)
    third = np.einsum("i,ij,ik,il->jkl", rates, design, design, design)
    shift = -0.5 * covariance @ np.einsum("jkl,kl->j", third, covariance)
    cumulants = -np.einsum("jkl,ji,ki,li->i", third, covariance, covariance, covariance)
    spreads = np.sqrt(np.diag(covariance))
    skewness = np.clip(cumulants / spreads**3, -0.9, 0.9)
    corrected = ConditionalEffects(model, free, mode, True)
    center = corrected.draw(free, np.zeros(n), np.zeros(n))
    np.testing.assert_allclose(center, mode + shift - skewness * spreads / 6, rtol=1e-9)
    gaussian = ConditionalEffects(model, free, mode, False)
    np.testing.assert_allclose(gaussian.draw(free, np.zeros(n), np.zeros(n)), mode, rtol=1e-9)
    normal = rng.normal(size=n)
    deviations = gaussian.draw(free, mode, normal) - mode
    bend = skewness / 6 * (deviations**2 / spreads - spreads)
    np.testing.assert_allclose(
        corrected.draw(free, mode, normal), mode + shift + deviations + bend, rtol=1e-9
    )
    columns = np.array([gaussian.draw(free, mode, unit) - mode for unit in np.eye(n)])
    np.testing.assert_allclose(columns.T @ columns, covariance, rtol=1e-9, atol=1e-12)


def test_effects_without_a_mode_are_nan():
    model = LatentModel(lambda theta, u: theta[0] * tg.sum(u**2), (np.ones(1), np.zeros(2)), 1, (), None)
    conditional = ConditionalEffects(model, np.ones(1), np.zeros(2), True)
    assert np.isnan(conditional.draw(-np.ones(1), np.ones(2), np.ones(2))).all()
    np.testing.assert_allclose(conditional.draw(np.ones(1), np.ones(2), np.ones(2)), np.sqrt(0.5), rtol=1e-12)
