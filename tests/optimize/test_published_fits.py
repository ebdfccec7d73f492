"""Fits with random effects beside those that other packages and papers print for the same data.

Where a published criterion differs from minus the logarithm of the marginal density by a constant, the test adds it.
"""

import numpy as np
import pytest

import tapegrad as tg
from helpers.daily import not_daily
from helpers.tables import columns
from tapegrad import stats

# --- linear models: the approximation is exact --------------------------------------------------------------------

BATCHES = np.repeat(np.arange(6), 5)
DYESTUFF = np.array([
    1545, 1440, 1440, 1520, 1580, 1540, 1555, 1490, 1560, 1495, 1595, 1550, 1605, 1510, 1560,
    1445, 1440, 1595, 1465, 1545, 1595, 1630, 1515, 1635, 1625, 1520, 1455, 1450, 1480, 1445,
])  # fmt: skip
DYESTUFF2 = np.array([
    7.298, 3.846, 2.434, 9.566, 7.990, 5.220, 6.556, 0.608, 11.788, -0.892, 0.110, 10.386, 13.434, 5.510, 8.166,
    2.212, 4.852, 7.092, 9.288, 4.980, 0.282, 9.014, 4.458, 9.446, 7.198, 1.722, 4.782, 8.106, 0.758, 3.758,
])  # fmt: skip
PASTES = np.array([
    62.8, 62.6, 60.1, 62.3, 62.7, 63.1, 60.0, 61.4, 57.5, 56.9, 61.1, 58.9, 58.7, 57.5, 63.9, 63.1, 65.4, 63.7, 57.1,
    56.4, 56.9, 58.6, 64.7, 64.5, 55.1, 55.1, 54.7, 54.2, 58.8, 57.5, 63.4, 64.9, 59.3, 58.1, 60.5, 60.0, 62.5, 62.6,
    61.0, 58.7, 56.9, 57.7, 59.2, 59.4, 65.2, 66.0, 64.8, 64.1, 54.8, 54.8, 64.0, 64.0, 57.7, 56.8, 58.3, 59.3, 59.2,
    59.2, 58.9, 56.6,
])  # fmt: skip


def intercepts(measured: np.ndarray, *groups: np.ndarray):
    """Make a model: a mean, and a normal effect for each member of each group, with one deviation a group."""
    counts = [int(group.max()) + 1 for group in groups]
    ends = np.cumsum(counts)

    def nll(p):
        mean = p["mean"]
        for k, group in enumerate(groups):
            mean = mean + tg.exp(p["log_sd"][k]) * p["u"][group + (ends[k] - counts[k])]
        noise = stats.norm.logpdf(measured, mean, tg.exp(p["log_noise"]))
        return -tg.sum(noise) - tg.sum(stats.norm.logpdf(p["u"]))

    noise = np.log(np.std(measured))
    start = {"mean": np.mean(measured), "log_sd": np.full(len(groups), noise), "log_noise": noise}
    return nll, {**start, "u": np.zeros(ends[-1])}


def test_dyestuff_is_that_of_lme4() -> None:
    """Bates, *lme4: Mixed-effects Modeling with R* (2010), section 1.3; more digits in the tests of MixedModels.jl."""
    model, start = intercepts(DYESTUFF, BATCHES)
    found = tg.optimize.laplace(model, start, "u")
    assert 2 * found.fun == pytest.approx(327.3270598811, abs=1e-6)
    assert found.x["mean"] == pytest.approx(1527.5, abs=1e-3)
    assert np.exp(found.x["log_sd"][0]) == pytest.approx(37.26034, rel=1e-5)
    assert np.exp(found.x["log_noise"]) == pytest.approx(49.51010, rel=1e-5)
    assert found.std_errors["mean"] == pytest.approx(17.694552, rel=1e-4)
    restricted = tg.optimize.laplace(model, start, ("u", "mean"))
    assert 2 * restricted.fun == pytest.approx(319.6542768, abs=1e-6)
    assert np.exp(restricted.x["log_sd"][0]) == pytest.approx(42.00063, rel=2e-5)
    assert restricted.random_std_errors["mean"] > 19.38  # that of lme4, which takes the deviations as known


def test_a_deviation_of_zero_is_found() -> None:
    """Dyestuff2 of Box and Tiao (1973): batches do not differ; values of MixedModels.jl."""
    model, start = intercepts(DYESTUFF2, BATCHES)
    found = tg.optimize.laplace(model, start, "u")
    assert 2 * found.fun == pytest.approx(162.87303665, abs=1e-5)
    assert np.exp(found.x["log_sd"][0]) < 0.02
    assert np.exp(found.x["log_noise"]) == pytest.approx(3.65323, rel=1e-4)


def test_penicillin_is_that_of_mixedmodels() -> None:
    """Crossed effects of 24 plates and 6 samples (Davies and Goldsmith, 1972); values of MixedModels.jl, and lme4."""
    table = np.stack(list(columns("penicillin.csv").values()), axis=1)
    plate, sample = np.indices(table.shape).reshape(2, -1)
    model, start = intercepts(table.ravel(), plate, sample)
    found = tg.optimize.laplace(model, start, "u")
    assert 2 * found.fun == pytest.approx(332.18834867, abs=1e-6)
    np.testing.assert_allclose(np.exp(found.x["log_sd"]), [0.8455646, 1.7706478], rtol=2e-5)
    assert np.exp(2 * found.x["log_noise"]) == pytest.approx(0.3024264, rel=2e-5)
    assert found.std_errors["mean"] == pytest.approx(0.7445960, rel=1e-4)
    restricted = tg.optimize.laplace(model, start, ("u", "mean"))
    assert 2 * restricted.fun == pytest.approx(330.86, abs=5e-3)
    np.testing.assert_allclose(np.exp(restricted.x["log_sd"]), [0.8467, 1.9316], atol=1e-4)


def test_pastes_are_those_of_mixedmodels() -> None:
    """Nested effects of 30 casks in 10 batches (Davies and Goldsmith, 1972); values of MixedModels.jl."""
    cask = np.arange(60) // 2
    model, start = intercepts(PASTES, cask, cask // 3)
    found = tg.optimize.laplace(model, start, "u")
    assert 2 * found.fun == pytest.approx(247.99446586, abs=1e-6)
    np.testing.assert_allclose(np.exp(found.x["log_sd"]), [2.904069, 1.0950704], rtol=5e-5)
    assert np.exp(found.x["log_noise"]) == pytest.approx(0.8234088, rel=2e-5)
    assert found.std_errors["mean"] == pytest.approx(0.6421360, rel=1e-4)


# --- nonlinear models whose effects enter linearly: exact, too ----------------------------------------------------

AGES = np.array([118.0, 484.0, 664.0, 1004.0, 1231.0, 1372.0, 1582.0])  # days
ORANGES = np.array([
    [30, 58, 87, 115, 120, 142, 145], [33, 69, 111, 156, 172, 203, 203], [30, 51, 75, 108, 115, 139, 140],
    [32, 62, 112, 167, 179, 209, 214], [30, 49, 81, 125, 142, 174, 177],
])  # fmt: skip


def orchard(copies: int):
    """Make the model of TMB's example `orange_big`: five trees again and again, with one effect a tree.

    It leaves out the factors of the normal densities that depend on no parameter.
    """
    girths = np.tile(ORANGES, (copies, 1))

    def nll(theta, u):
        beta, noise, spread = theta["beta"], theta["log_noise"], tg.exp(theta["log_sd"])
        curve = 1 / (1 + tg.exp(-(AGES - 726.0 - beta[1]) / (356.0 + beta[2])))
        residuals = (girths - (192.0 + beta[0] + spread * u)[:, np.newaxis] * curve) * tg.exp(-noise)
        return 0.5 * tg.sum(u**2) + noise * girths.size + 0.5 * tg.sum(residuals**2)

    return nll, ({"beta": np.zeros(3), "log_noise": 1.0, "log_sd": 2.0}, np.zeros(len(girths)))


@pytest.mark.parametrize("copies", [1, pytest.param(1000, marks=not_daily)])
def test_orange_trees_are_those_of_tmb(copies: int) -> None:
    """The log-likelihood of a copy is that of TMB's data, -94.8143; with 5,000 effects its expected 94814.3438."""
    model, start = orchard(copies)
    found = tg.optimize.laplace(model, start, random=1)
    assert found.fun / copies == pytest.approx(94.8143438, abs=1e-6)


HEIGHTS = np.array([
    [4.51, 10.89, 28.72, 41.74, 52.70, 60.92], [4.55, 10.92, 29.07, 42.83, 53.88, 63.39],
    [4.79, 11.37, 30.21, 44.40, 55.82, 64.10], [3.91, 9.48, 25.66, 39.07, 50.78, 59.07],
    [4.81, 11.20, 28.66, 41.66, 53.31, 63.05], [3.88, 9.40, 25.99, 39.55, 51.46, 59.64],
    [4.32, 10.43, 27.16, 40.85, 51.33, 60.07], [4.57, 10.57, 27.90, 41.13, 52.43, 60.69],
    [3.77, 9.03, 25.45, 38.98, 49.76, 60.28], [4.33, 10.79, 28.97, 42.44, 53.17, 61.62],
    [4.38, 10.48, 27.93, 40.20, 50.06, 58.49], [4.12, 9.92, 26.54, 37.82, 48.43, 56.81],
    [3.93, 9.34, 26.08, 37.79, 48.31, 56.43], [3.46, 9.05, 25.85, 39.15, 49.12, 59.49],
])  # fmt: skip


def pines(p):
    years = np.array([3.0, 5.0, 10.0, 15.0, 20.0, 25.0])
    asymptote = (p["asym"] + tg.exp(p["log_sd"]) * p["u"])[:, np.newaxis]
    mean = asymptote + (p["r0"] - asymptote) * tg.exp(-tg.exp(p["lrc"]) * years)
    noise = stats.norm.logpdf(HEIGHTS, mean, tg.exp(p["log_noise"]))
    return -tg.sum(noise) - tg.sum(stats.norm.logpdf(p["u"]))


def test_loblolly_pines_are_those_of_nlme() -> None:
    """Example of `nlme` in the R package nlme (Pinheiro and Bates, 2000), fitted by maximum likelihood.

    At its estimates the likelihood is the one that it prints. But it alternates between two approximations of the
    model, and does not end at the maximum.
    """
    start = {"asym": 103.0, "r0": -8.5, "lrc": -3.3, "log_sd": 1.0, "log_noise": 0.0, "u": np.zeros(14)}
    published = {"asym": 101.44960, "r0": -8.62733, "lrc": -3.23375}
    deviations = {"log_sd": np.log(3.650642), "log_noise": np.log(0.7188625)}
    value = tg.laplace(pines, random="u")({**start, **published, **deviations})
    assert -value == pytest.approx(-114.7428, abs=1e-4)
    found = tg.optimize.laplace(pines, start, "u")
    assert value - 0.1 < found.fun < value - 0.04
    for key in published:
        assert found.x[key] == pytest.approx(published[key], abs=0.4 * found.std_errors[key])


# --- counts and successes -----------------------------------------------------------------------------------------


def test_salamanders_are_those_of_lme4() -> None:
    """Crossed effects of 60 females and 60 males (McCullagh and Nelder, 1989, section 14.5): `glmer` of lme4."""
    table = columns("salamander.csv")
    animals = np.stack([table["female"], table["male"]]).astype(int) - 1
    female, male = np.concatenate([animals + 20 * k for k in range(3)], axis=1)
    mated = np.concatenate([table[key] for key in ("first", "second", "third")])
    cross = 2 * (female % 20 // 10) + male % 20 // 10  # rough butt or whiteside, of either
    assert np.bincount(cross, mated).tolist() == [60, 50, 19, 60]

    def pairs(p):
        spread = tg.exp(p["log_sd"])
        eta = p["beta"][cross] + spread[0] * p["u"][0][female] + spread[1] * p["u"][1][male]
        return tg.sum(tg.logaddexp(0.0, eta) - mated * eta) - tg.sum(stats.norm.logpdf(p["u"]))

    found = tg.optimize.laplace(
        pairs, {"beta": np.zeros(4), "log_sd": np.zeros(2), "u": np.zeros((2, 60))}, "u"
    )
    assert -found.fun == pytest.approx(-209.3, abs=0.05)
    np.testing.assert_allclose(found.x["beta"], [1.0082, 0.3062, -1.8960, 0.9904], atol=2e-4)
    np.testing.assert_allclose(np.exp(2 * found.x["log_sd"]), [1.174, 1.041], atol=1e-3)
    np.testing.assert_allclose(found.std_errors["beta"], [0.3937, 0.3747, 0.4460, 0.3912], atol=2e-3)


def test_grouse_ticks_are_those_of_lme4() -> None:
    """Effects of 403 chicks in 118 broods at 63 places (Elston and others, 2001): test `elston` of lme4."""
    table = {key: values.astype(int) for key, values in columns("grouseticks.csv").items()}
    ticks, height = table["ticks"], table["height"] - table["height"].mean()
    brood, place = (np.unique(table[key], return_inverse=True)[1] for key in ("brood", "location"))
    years = np.stack([np.ones(403), table["year"] == 96, table["year"] == 97, height], axis=1)

    def chicks(p):
        spread = tg.exp(p["log_sd"])
        eta = years @ p["beta"] + spread[0] * p["chick"] + spread[1] * p["brood"][brood]
        eta = eta + spread[2] * p["place"][place]
        counts = stats.poisson.logpmf(ticks, tg.exp(eta))
        return -tg.sum(counts) - sum(tg.sum(stats.norm.logpdf(p[key])) for key in ("chick", "brood", "place"))

    start = {
        "beta": np.zeros(4), "log_sd": np.full(3, -0.5),
        "chick": np.zeros(403), "brood": np.zeros(118), "place": np.zeros(63),
    }  # fmt: skip
    found = tg.optimize.laplace(chicks, start, ("chick", "brood", "place"))
    saturated = float(
        np.sum(stats.poisson.logpmf(ticks, ticks))
    )  # lme4 of that time took the deviance for -2 log L
    assert -found.fun - saturated == pytest.approx(-424.771990, abs=1e-5)
    # Centred heights move the intercept
    intercept = found.x["beta"][0] - found.x["beta"][3] * table["height"].mean()
    assert intercept == pytest.approx(11.35591, abs=1e-4)
    np.testing.assert_allclose(found.x["beta"][1:], [1.1804106, -0.9787043, -0.0237607], atol=2e-5)
    np.testing.assert_allclose(np.exp(2 * found.x["log_sd"]), [0.2932325, 0.5625516, 0.2795482], rtol=5e-5)


# Crowder, "Beta-binomial Anova for proportions", *Applied Statistics* 27, 1978: germinated seeds and all, of 21 plates
GERMINATED = np.array([10, 23, 23, 26, 17, 5, 53, 55, 32, 46, 10, 8, 10, 8, 23, 0, 3, 22, 15, 32, 3])
SEEDS = np.array([39, 62, 81, 51, 39, 6, 74, 72, 51, 79, 13, 16, 30, 28, 45, 4, 12, 41, 30, 51, 7])


def test_seeds_are_those_of_bugs() -> None:
    """Example "Seeds" of BUGS, volume 1, which prints estimates by maximum likelihood beside its own."""
    second, cucumber = np.repeat([0.0, 1.0], [11, 10]), np.repeat([0.0, 1.0, 0.0, 1.0], [5, 6, 5, 5])
    design = np.stack([np.ones(21), second, cucumber, second * cucumber], axis=1)

    def plates(p):
        eta = design @ p["beta"] + tg.exp(p["log_sd"]) * p["u"]
        return tg.sum(SEEDS * tg.logaddexp(0.0, eta) - GERMINATED * eta) - tg.sum(stats.norm.logpdf(p["u"]))

    found = tg.optimize.laplace(plates, {"beta": np.zeros(4), "log_sd": -1.0, "u": np.zeros(21)}, "u")
    np.testing.assert_allclose(found.x["beta"], [-0.548, 0.097, 1.337, -0.811], atol=2e-3)
    np.testing.assert_allclose(found.std_errors["beta"], [0.167, 0.278, 0.237, 0.385], atol=0.02)
    assert np.exp(found.x["log_sd"]) == pytest.approx(0.236, abs=5e-3)


def test_theta_logistic_is_that_of_tmb() -> None:
    """States of a population over 200 steps: TMB's example `thetalog` and its expected results."""
    observed = columns("thetalog.csv")["log_size"]

    def nll(p):
        growth, theta, capacity, process, noise = (tg.exp(p[key]) for key in ("r0", "theta", "k", "q", "r"))
        x = p["x"]
        mean = x[:-1] + growth * (1.0 - (tg.exp(x[:-1]) / capacity) ** theta)
        steps = stats.norm.logpdf(x[1:], mean, tg.sqrt(process))
        return -tg.sum(steps) - tg.sum(stats.norm.logpdf(observed, x, tg.sqrt(noise)))

    start = {"r0": 0.0, "theta": 0.0, "k": 6.0, "q": 0.0, "r": 0.0, "x": np.zeros(200)}
    found = tg.optimize.laplace(nll, start, "x")
    assert found.fun == pytest.approx(2.97119305, abs=1e-8)
    estimates = [found.x[key] for key in ("r0", "theta", "k", "q", "r")]
    published = [-2.60329439, 0.76256891, 6.72500748, -4.74960143, -3.18892381]
    np.testing.assert_allclose(estimates, published, rtol=1e-7, atol=1e-7)
