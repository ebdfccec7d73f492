"""Models with an effect for each group, or without effects: from TMB's examples, and two of glmmTMB's."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import gammaln

import tapegrad as tg
from tapegrad import special
from tapegrad.stats import binom, norm

Arrays = dict[str, Any]
Density = Callable[[Arrays], Any]  # minus the logarithm of the joint density of data and effects


def line(data: Arrays) -> Density:
    """Return a simple linear regression."""

    def nll(p: Arrays) -> Any:
        return -tg.sum(norm.logpdf(data["Y"], p["a"] + p["b"] * data["x"], np.exp(p["logSigma"])))

    return nll


def counted_with_gaps(data: Arrays) -> Density:
    """Return an N-mixture model: animals at sites are Poisson, each observer misses some of them."""
    sizes, seen, tiny = data["N"], data["y"], 1e-12
    firsts = np.cumsum(data["nID"]) - data["nID"]
    observer = data["ID"][(firsts[:, None] + data["IDind"]).astype(int)].astype(int)
    missed = sizes - seen[:, :, None]  # of shape (site, visit, number of animals)
    ways = gammaln(sizes + 1) - gammaln(seen[:, :, None] + 1) - gammaln(np.maximum(missed, 0) + 1)
    log_ways = np.where(np.all(missed >= 0, axis=1), np.sum(ways, axis=1), -1e4)
    factorial = gammaln(sizes + 1)

    def nll(p: Arrays) -> Any:
        eta = p["p0"] + p["p1"] * data["x"][:, None] + np.exp(p["log_sigma"]) * p["u"][observer]
        chance = special.expit(eta)
        found, lost = np.log(chance + tiny), np.log(1.0 + tiny - chance)
        once = tg.sum(seen * (found - lost), axis=1)
        binomial = log_ways + once[:, None] + tg.sum(lost, axis=1)[:, None] * sizes
        poisson = p["log_lambda"] * sizes - np.exp(p["log_lambda"]) - factorial
        return 0.5 * tg.sum(p["u"] ** 2) - tg.sum(np.log(tiny + tg.sum(np.exp(poisson + binomial), axis=1)))

    return nll


def growing_trees(data: Arrays) -> Density:
    """Return logistic growth of 5,000 trees, the same five a thousand times, with an effect on the final size."""
    tree = np.repeat(np.arange(int(data["M"][0])), data["ngroup"].astype(int))

    def nll(p: Arrays) -> Any:
        effects = p["u"].reshape(-1, len(data["ngroup"]))
        shares = 1.0 / (1.0 + np.exp((726.0 + p["beta"][1] - data["t"]) / (356.0 + p["beta"][2])))
        errors = (data["y"] - (192.0 + p["beta"][0] + effects[:, tree]) * shares) / np.exp(p["log_sigma"])
        prior = 0.5 * tg.sum((effects / np.exp(p["log_sigma_u"])) ** 2) + p["log_sigma_u"][0] * effects.size
        return prior + 0.5 * tg.sum(errors**2) + p["log_sigma"][0] * errors.size

    return nll


def ordered_answers(data: Arrays) -> Density:
    """Return an ordinal regression: answers in categories between thresholds, four of each person."""
    answer, group, last = data["y"].astype(int), data["group"].astype(int), int(data["S"][0]) - 1

    def nll(p: Arrays) -> Any:
        eta = data["X"] @ p["b"] + np.exp(p["logsigma"]) * p["u"][group]
        thresholds = np.cumsum(np.concatenate([p["tmpk"][:1], np.exp(p["tmpk"][1:])]))
        below = special.expit(thresholds[np.minimum(answer, last - 1)] - eta)
        lower = special.expit(thresholds[np.maximum(answer - 1, 0)] - eta)
        chances = np.where(answer == last, 1.0, below) - np.where(answer > 0, lower, 0.0)
        return -tg.sum(np.log(1e-20 + chances)) - tg.sum(norm.logpdf(p["u"]))

    return nll


def herds(data: Arrays) -> Density:
    """Return glmmTMB's binomial regression with an intercept for each herd."""

    def nll(p: Arrays) -> Any:
        eta = data["X"] @ p["beta"] + p["b"][data["group"]]
        cases = binom.logpmf(data["yobs"], data["size"], special.expit(eta))
        return -tg.sum(cases) - tg.sum(norm.logpdf(p["b"], 0.0, np.exp(p["theta"])))

    return nll


def drivers(data: Arrays) -> Density:
    """Return glmmTMB's linear regression with a correlated intercept and slope for each driver."""

    def nll(p: Arrays) -> Any:
        sd, within = np.exp(p["theta"][:2]), p["theta"][2] / np.sqrt(1.0 + p["theta"][2] ** 2)
        effects = p["b"].reshape(-1, 2)
        intercepts, slopes = effects[:, 0], effects[:, 1]
        mean = data["X"] @ p["beta"] + intercepts[data["group"]] + slopes[data["group"]] * data["X"][:, 1]
        rest = sd[1] * np.sqrt(1.0 - within**2)
        prior = norm.logpdf(intercepts, 0.0, sd[0])
        prior = prior + norm.logpdf(slopes, within * sd[1] / sd[0] * intercepts, rest)
        return -tg.sum(norm.logpdf(data["yobs"], mean, np.exp(0.5 * p["betad"]))) - tg.sum(prior)

    return nll
