"""Models whose effects are a chain or a field: from TMB's examples."""

from typing import Any

import numpy as np
import scipy.sparse

import tapegrad as tg
from perf.template_models.groups import Arrays, Density
from tapegrad.linalg import SparseCholesky, solve_triangular
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


def survival_on_a_map(data: Arrays) -> Density:
    """Return Weibull survival times, some censored, with a Matern field by its sparse precision on a mesh."""
    parts = [data[f"spde.M{k}"] for k in range(3)]
    cholesky = SparseCholesky(scipy.sparse.csr_array(sum(abs(part) for part in parts)))
    entries = [part[cholesky.rows, cholesky.columns] for part in parts]
    place, dead, time = data["meshidxloc"].astype(int), data["notcens"], data["time"]

    def nll(p: Arrays) -> Any:
        squared, omega = np.exp(2.0 * p["log_kappa"]), np.exp(p["log_omega"])
        precision = squared**2 * entries[0] + 2.0 * squared * entries[1] + entries[2]
        x, factor = p["x"], cholesky.factor(precision)
        quadratic = tg.sum(precision * x[cholesky.rows] * x[cholesky.columns])
        prior = 0.5 * (quadratic - factor.logdet() + x.size * _LOG_2_PI)
        eta = data["X"] @ p["beta"] + x[place] * np.exp(-p["log_tau"])
        hazard = np.exp(eta + omega * np.log(time))
        return prior + tg.sum(hazard - dead * (eta + p["log_omega"] + (omega - 1.0) * np.log(time)))

    return nll
