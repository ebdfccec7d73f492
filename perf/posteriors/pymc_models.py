"""Some of the models in PyMC, with the names of their parameters, and the same transforms by default."""

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from perf.posteriors.mixtures import JITTER

Data = dict[str, Any]


def _eight_schools(pm: Any, pt: Any, data: Data) -> None:
    effects = pm.Normal("mu", 0, 5) + pm.HalfCauchy("tau", 5) * pm.Normal("theta_trans", shape=8)
    pm.Normal("y", effects, data["sigma"], observed=data["y"])


def _logearn_interaction(pm: Any, pt: Any, data: Data) -> None:
    beta, sigma = pm.Flat("beta", shape=4), pm.HalfFlat("sigma")
    columns = np.ones(len(data["male"])), data["height"], data["male"], data["height"] * data["male"]
    pm.Normal("y", np.column_stack(columns) @ beta, sigma, observed=np.log(data["earn"]))


def _diamonds(pm: Any, pt: Any, data: Data) -> None:
    design = data["X"][:, 1:] - data["X"][:, 1:].mean(0)
    line = pm.StudentT("Intercept", 3, 8, sigma=10) + design @ pm.Normal("b", shape=24)
    pm.Normal("y", line, pm.HalfStudentT("sigma", 3, 10), observed=data["Y"])


def _ar_k(pm: Any, pt: Any, data: Data) -> None:
    y, order = data["y"], data["K"]
    lags = np.column_stack([y[order - k : -k] for k in range(1, order + 1)])
    mean = pm.Normal("alpha", 0, 10) + lags @ pm.Normal("beta", 0, 10, shape=order)
    pm.Normal("y", mean, pm.HalfCauchy("sigma", 2.5), observed=y[order:])


def _garch(pm: Any, pt: Any, data: Data) -> None:
    alpha, share, mu = pm.Uniform("alpha1", 0, 1), pm.Uniform("share", 0, 1), pm.Flat("mu")
    squares, first = (pt.as_tensor(data["y"]) - mu) ** 2, pt.as_tensor(np.float64(data["sigma1"] ** 2))
    constants = [pm.HalfFlat("alpha0"), alpha, (1 - alpha) * share]
    scan = partial(importlib.import_module("pytensor").scan, return_updates=False)
    later = scan(lambda square, v, a, b, c: a + b * square + c * v, [squares[:-1]], [first], constants)
    variances = pt.concatenate([first[None], later])
    pm.Potential("jacobian", pt.log(1 - alpha))
    pm.Normal("y", mu, pt.sqrt(variances), observed=data["y"])


def _low_dim_gauss_mix(pm: Any, pt: Any, data: Data) -> None:
    ordered, theta = pm.distributions.transforms.ordered, pm.Beta("theta", 5, 5)
    mu = pm.Normal("mu", 0, 2, shape=2, transform=ordered, initval=np.array([-1.0, 1.0]))
    weights, sigma = pt.stack([theta, 1 - theta]), pm.HalfNormal("sigma", 2, shape=2)
    pm.NormalMixture("y", weights, mu, sigma, observed=data["y"])


def _gp_pois_regr(pm: Any, pt: Any, data: Data) -> None:
    squares, rho = (data["x"][:, None] - data["x"]) ** 2, pm.Gamma("rho", 25, 4)
    covariance = pm.HalfNormal("alpha", 2) ** 2 * pt.exp(-0.5 * squares / rho**2)
    factor = pt.linalg.cholesky(covariance + JITTER * np.eye(len(squares)))
    f = factor @ pm.Normal("f_tilde", shape=len(squares))
    pm.Poisson("k", pt.exp(f), observed=data["k"].astype(int))


MODELS: dict[str, Callable[[Any, Any, Data], None]] = {
    "eight_schools-eight_schools_noncentered": _eight_schools,
    "earnings-logearn_interaction": _logearn_interaction,
    "diamonds-diamonds": _diamonds,
    "arK-arK": _ar_k,
    "garch-garch11": _garch,
    "low_dim_gauss_mix-low_dim_gauss_mix": _low_dim_gauss_mix,
    "gp_pois_regr-gp_pois_regr": _gp_pois_regr,
}
