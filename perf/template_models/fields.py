"""Models whose effects are a chain or a field: from TMB's examples."""

from typing import Any

import numpy as np

import tapegrad as tg
from perf.template_models.groups import Arrays, Density
from tapegrad.linalg import solve_triangular
from tapegrad.stats import norm

_LOG_2_PI = float(np.log(2 * np.pi))


def theta_logistic(data: Arrays) -> Density:
    """Return the theta-logistic model of a population's size, whose logarithm is observed 200 times."""

    def nll(p: Arrays) -> Any:
        x, growth = p["X"], np.exp(p["logr0"])
        mean = x[:-1] + growth * (1.0 - (np.exp(x[:-1]) / np.exp(p["logK"])) ** np.exp(p["logtheta"]))
        steps = norm.logpdf(x[1:], mean, np.exp(0.5 * p["logQ"]))
        return -tg.sum(steps) - tg.sum(norm.logpdf(data["Y"], x, np.exp(0.5 * p["logR"])))

    return nll


def linear_diffusion(data: Arrays) -> Density:
    """Return a linear stochastic differential equation by Euler's steps, observed at every tenth of them."""
    steps, at = np.diff(data["tsim"]), data["iobs"].astype(int)

    def nll(p: Arrays) -> Any:
        x = p["X"]
        moved = norm.logpdf(x[1:], x[:-1] * (1.0 + p["lambda"] * steps), np.exp(p["logsX"]) * np.sqrt(steps))
        return -tg.sum(moved) - tg.sum(norm.logpdf(data["Y"], x[at], np.exp(p["logsY"])))

    return nll


def correlated_walks(data: Arrays) -> Density:
    """Return three random walks with correlated increments, observed with noise."""
    observed = data["obs"][:, 1:]

    def nll(p: Arrays) -> Any:
        u, rho, sds = p["u"], np.tanh(p["transf_rho"]), np.exp(p["logsds"])
        z = (u[:, 1:] - u[:, :-1]) / sds[:, None]
        innovations = norm.logpdf(z[1:], rho * z[:-1], np.sqrt(1.0 - rho**2))
        walk = tg.sum(norm.logpdf(z[0])) + tg.sum(innovations) - z.shape[1] * tg.sum(p["logsds"])
        seen = norm.logpdf(observed, u[:, 1:], np.exp(p["logsdObs"])[:, None])
        return -tg.sum(norm.logpdf(u[:, 0])) - walk - tg.sum(seen)

    return nll


def counts_on_a_map(data: Arrays) -> Density:
    """Return Poisson counts at 100 places, with a field whose correlation falls exponentially with distance."""

    def nll(p: Arrays) -> Any:
        u, eta = p["u"], data["X"] @ p["b"] + np.exp(p["log_sigma"]) * p["u"]
        lower = np.linalg.cholesky(np.exp(-p["a"] * data["dd"]))
        white = solve_triangular(lower, u, lower=True)
        prior = 0.5 * tg.sum(white**2) + tg.sum(np.log(np.diagonal(lower))) + 0.5 * u.size * _LOG_2_PI
        return prior + tg.sum(np.exp(eta) - data["y"] * eta)

    return nll
