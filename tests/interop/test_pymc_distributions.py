"""Distributions of PyMC's as likelihoods: log density and derivatives by all parameters, against PyTensor's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg

pm = pytest.importorskip("pymc")
pytest.importorskip("nutpie")

import pytensor.tensor as pt  # noqa: E402  after it is known to be there

pytestmark = pytest.mark.filterwarnings("ignore")  # PyMC's own

REAL = np.array([-1.3, 0.2, 2.1])
POSITIVE = np.array([0.3, 1.1, 2.7])
UNIT = np.array([0.2, 0.5, 0.9])
COUNTS = np.array([0, 2, 5])


def real(name: str) -> Any:
    return pm.Normal(name, 0.3, 1.0)


def positive(name: str) -> Any:
    return pm.Gamma(name, 3.0, 2.0)


def unit(name: str) -> Any:
    return pm.Beta(name, 2.0, 3.0)


# Distributions, their free parameters with the kind of each, fixed parameters, and data.
CASES: dict[str, tuple[dict[str, Callable[[str], Any]], dict[str, Any], np.ndarray]] = {
    "Normal": ({"mu": real, "sigma": positive}, {}, REAL),
    "HalfNormal": ({"sigma": positive}, {}, POSITIVE),
    "Uniform": ({"upper": positive}, {"lower": -2.0}, np.array([-1.0])),
    "SkewNormal": ({"mu": real, "sigma": positive, "alpha": real}, {}, REAL),
    "Beta": ({"alpha": positive, "beta": positive}, {}, UNIT),
    "Kumaraswamy": ({"a": positive, "b": positive}, {}, UNIT),
    "LogitNormal": ({"mu": real, "sigma": positive}, {}, UNIT),
    "Exponential": ({"lam": positive}, {}, POSITIVE),
    "Laplace": ({"mu": real, "b": positive}, {}, REAL),
    "AsymmetricLaplace": ({"kappa": positive, "mu": real, "b": positive}, {}, REAL),
    "StudentT": ({"nu": positive, "mu": real, "sigma": positive}, {}, REAL),
    "SkewStudentT": ({"a": positive, "b": positive, "mu": real, "sigma": positive}, {}, REAL),
    "HalfStudentT": ({"nu": positive, "sigma": positive}, {}, POSITIVE),
    "Cauchy": ({"alpha": real, "beta": positive}, {}, REAL),
    "HalfCauchy": ({"beta": positive}, {}, POSITIVE),
    "Gamma": ({"alpha": positive, "beta": positive}, {}, POSITIVE),
    "InverseGamma": ({"alpha": positive, "beta": positive}, {}, POSITIVE),
    "ChiSquared": ({"nu": positive}, {}, POSITIVE),
    "Weibull": ({"alpha": positive, "beta": positive}, {}, POSITIVE),
    "LogNormal": ({"mu": real, "sigma": positive}, {}, POSITIVE),
    "ExGaussian": ({"mu": real, "sigma": positive, "nu": positive}, {}, REAL),
    "Wald": ({"mu": positive, "lam": positive}, {}, POSITIVE),
    "Pareto": ({"alpha": positive}, {"m": 0.1}, POSITIVE),
    "Gumbel": ({"mu": real, "beta": positive}, {}, REAL),
    "Logistic": ({"mu": real, "s": positive}, {}, REAL),
    "Moyal": ({"mu": real, "sigma": positive}, {}, REAL),
    "Rice": ({"nu": positive, "sigma": positive}, {}, POSITIVE),
    "Triangular": ({"c": unit}, {"lower": -2.0, "upper": 3.0}, REAL),
    "VonMises": ({"mu": real, "kappa": positive}, {}, REAL),
    "TruncatedNormal": ({"mu": real, "sigma": positive}, {"lower": -2.0, "upper": 3.0}, REAL),
    "Bernoulli": ({"p": unit}, {}, np.array([0, 1, 1])),
    "Binomial": ({"p": unit}, {"n": 6}, COUNTS),
    "BetaBinomial": ({"alpha": positive, "beta": positive}, {"n": 6}, COUNTS),
    "Poisson": ({"mu": positive}, {}, COUNTS),
    "NegativeBinomial": ({"mu": positive, "alpha": positive}, {}, COUNTS),
    "Geometric": ({"p": unit}, {}, COUNTS + 1),
    "HyperGeometric": ({}, {"N": 20, "k": 7, "n": 6}, COUNTS),
    "ZeroInflatedPoisson": ({"psi": unit, "mu": positive}, {}, COUNTS),
    "ZeroInflatedBinomial": ({"psi": unit, "p": unit}, {"n": 6}, COUNTS),
    "ZeroInflatedNegativeBinomial": ({"psi": unit, "mu": positive, "alpha": positive}, {}, COUNTS),
    "HurdlePoisson": ({"psi": unit, "mu": positive}, {}, COUNTS),
    "HurdleGamma": ({"psi": unit, "alpha": positive, "beta": positive}, {}, np.array([0.0, 1.1, 2.7])),
    "HurdleLogNormal": ({"psi": unit, "mu": real, "sigma": positive}, {}, np.array([0.0, 1.1, 2.7])),
    "HurdleNegativeBinomial": ({"psi": unit, "mu": positive, "alpha": positive}, {}, COUNTS),
}  # fmt: skip


FORMS = ("Censored", "Truncated")
CENSORED = {
    "Normal": {"mu": real, "sigma": positive},
    "Gamma": {"alpha": positive, "beta": positive},
    "Weibull": {"alpha": positive, "beta": positive},
    "StudentT": {"nu": positive, "mu": real, "sigma": positive},
    "Beta": {"alpha": positive, "beta": positive},
}


def made(name: str) -> Any:
    """Return the model of a case."""
    with pm.Model() as model:
        if name in CASES:
            free, fixed, data = CASES[name]
            values = {key: kind(key) for key, kind in free.items()}
            if not values:
                pm.Normal("z")
            getattr(pm, name)("y", **values, **fixed, observed=data)
        else:
            form, _, base = name.partition(" ")
            values = {key: kind(key) for key, kind in CENSORED[base].items()}
            inside = getattr(pm, base).dist(**values)
            bounds = (0.25, 0.8) if base == "Beta" else (0.4, 2.0)
            data = np.clip(UNIT, *bounds) if base == "Beta" else np.clip(POSITIVE, *bounds)
            getattr(pm, form)("y", inside, lower=bounds[0], upper=bounds[1], observed=data)
    return model


NAMES = [*CASES, *(f"{form} {base}" for form in FORMS for base in CENSORED)]


@pytest.mark.parametrize("name", NAMES)
def test_log_density_and_all_derivatives(name: str) -> None:
    model = made(name)
    compiled = tg.interop.pymc(model)
    values = [model.rvs_to_values[variable] for variable in model.free_RVs]
    logp = model.logp()
    expected = model.compile_fn(
        [logp, *pt.grad(logp, values)],
        inputs=values,
        mode="FAST_COMPILE",
        point_fn=False,
        on_unused_input="ignore",
    )
    rng = np.random.default_rng(5)
    for _ in range(5):
        x = compiled.x0 + 0.4 * rng.normal(size=compiled.n_dim)
        value, gradient = compiled.log_density(x)
        wanted, *by_each = expected(*x)
        assert np.isfinite(wanted)
        np.testing.assert_allclose(value, wanted, rtol=1e-9)
        np.testing.assert_allclose(gradient, np.array(by_each), rtol=1e-8, atol=1e-9)
