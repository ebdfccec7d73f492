"""Linear models: designs have a row for each coefficient, so that the long axis is the last one."""

from typing import Any

import numpy as np

from perf.posteriors.densities import cauchy, normal, student
from perf.posteriors.model import Model
from perf.posteriors.transforms import Positive, Real


def logearn_interaction(data: dict[str, Any]) -> Model:
    """Logarithms of earnings by height, sex and their product, with flat priors (Gelman and Hill 2007)."""
    height, male, earned = data["height"], data["male"], np.log(data["earn"])
    design = np.stack([np.ones(len(height)), height, male, height * male])

    def density(xp: Any, p: Any) -> Any:
        return normal(xp, earned, p["beta"] @ design, p["sigma"])

    return Model({"beta": Real((4,)), "sigma": Positive()}, density)


def kidscore_momhsiq(data: dict[str, Any]) -> Model:
    """Scores of children by what their mothers have: a degree, and a score (Gelman and Hill 2007)."""
    design = np.stack([np.ones(len(data["mom_hs"])), data["mom_hs"], data["mom_iq"]])

    def density(xp: Any, p: Any) -> Any:
        return cauchy(xp, p["sigma"], 2.5) + normal(xp, data["kid_score"], p["beta"] @ design, p["sigma"])

    return Model({"beta": Real((3,)), "sigma": Positive()}, density)


def ar_k(data: dict[str, Any]) -> Model:
    """Autoregression of order K, given its first K values."""
    order, y = data["K"], data["y"]
    lags = np.stack([np.ones(len(y) - order), *(y[order - k : -k] for k in range(1, order + 1))])

    def density(xp: Any, p: Any) -> Any:
        coefficients = xp.concatenate([xp.reshape(p["alpha"], (1,)), p["beta"]])
        prior = normal(xp, coefficients, 0.0, 10.0) + cauchy(xp, p["sigma"], 2.5)
        return prior + normal(xp, y[order:], coefficients @ lags, p["sigma"])

    return Model({"alpha": Real(), "beta": Real((order,)), "sigma": Positive()}, density)


def diamonds(data: dict[str, Any]) -> Model:
    """Logarithms of prices of 5,000 diamonds by 24 centred columns."""
    design, price = data["X"][:, 1:] - data["X"][:, 1:].mean(0), data["Y"]

    def density(xp: Any, p: Any) -> Any:
        prior = normal(xp, p["b"]) + student(xp, p["Intercept"], 3, 8, 10) + student(xp, p["sigma"], 3, 0, 10)
        return prior + normal(xp, price, p["Intercept"] + design @ p["b"], p["sigma"])

    return Model({"b": Real((design.shape[1],)), "Intercept": Real(), "sigma": Positive()}, density)
