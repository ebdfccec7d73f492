"""A mixture, a Gaussian process, and the eight schools."""

from typing import Any

import numpy as np

from perf.posteriors.densities import cauchy, gamma, normal
from perf.posteriors.model import Model
from perf.posteriors.transforms import Ordered, Positive, Real, UnitInterval

JITTER = 1e-10  # of the diagonal of a covariance, as in the model of posteriordb


def eight_schools(data: dict[str, Any]) -> Model:
    """Effects of coaching in eight schools (Rubin 1981), standardised."""
    y, errors = data["y"], data["sigma"]

    def derived(xp: Any, p: Any) -> Any:
        return {"theta": p["mu"] + p["tau"] * p["theta_trans"]}

    def density(xp: Any, p: Any) -> Any:
        prior = normal(xp, p["theta_trans"]) + normal(xp, p["mu"], 0.0, 5.0) + cauchy(xp, p["tau"], 5.0)
        return prior + normal(xp, y, derived(xp, p)["theta"], errors)

    return Model({"theta_trans": Real((len(y),)), "mu": Real(), "tau": Positive()}, density, derived)


def low_dim_gauss_mix(data: dict[str, Any]) -> Model:
    """Mixture of two normal distributions whose means are in order."""
    y = data["y"]

    def part(xp: Any, p: Any, k: int) -> Any:
        return -0.5 * ((y - p["mu"][k]) / p["sigma"][k]) ** 2 - xp.log(p["sigma"][k])

    def density(xp: Any, p: Any) -> Any:
        share = p["theta"]
        prior = normal(xp, p["sigma"], 0.0, 2.0) + normal(xp, p["mu"], 0.0, 2.0)
        weights = xp.log(share), xp.log(1 - share)
        mixed = xp.logaddexp(weights[0] + part(xp, p, 0), weights[1] + part(xp, p, 1))
        return prior + 4 * (weights[0] + weights[1]) + xp.sum(mixed)

    return Model({"mu": Ordered((2,)), "sigma": Positive((2,)), "theta": UnitInterval()}, density)


def gp_pois_regr(data: dict[str, Any]) -> Model:
    """Numbers of events whose logarithmic means are a Gaussian process with a squared exponential covariance."""
    x, counts = data["x"], data["k"]
    squares, jitter = (x[:, None] - x) ** 2, JITTER * np.eye(len(x))

    def derived(xp: Any, p: Any) -> Any:
        covariance = p["alpha"] ** 2 * xp.exp(squares * (-0.5 / p["rho"] ** 2)) + jitter
        return {"f": xp.linalg.cholesky(covariance) @ p["f_tilde"]}

    def density(xp: Any, p: Any) -> Any:
        f = derived(xp, p)["f"]
        prior = gamma(xp, p["rho"], 25.0, 4.0) + normal(xp, p["alpha"], 0.0, 2.0) + normal(xp, p["f_tilde"])
        return prior + xp.sum(counts * f - xp.exp(f))

    return Model({"rho": Positive(), "alpha": Positive(), "f_tilde": Real((len(x),))}, density, derived)
