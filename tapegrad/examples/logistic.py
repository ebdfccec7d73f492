"""A Bayesian logistic regression, whose posterior is sampled by nutpie.

nutpie runs a no-U-turn sampler in compiled code; log density and gradient are handed to it as a C function, so that no
Python runs while it samples. It has to be installed: ``pip install nutpie``. The priors
are those of Gelman and others, "A weakly informative default prior distribution for logistic and other regression
models", *Annals of Applied Statistics* 2 (2008), with normal distributions in place of Cauchy's.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

import tapegrad as tg
from tapegrad import special
from tapegrad.examples.likelihood import Array, Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TRUTH = {
    "intercept": -0.5,
    "age": 1.0,
    "weight": -0.8,
    "dose": 0.6,
    "pressure": 0.3,
    "sugar": 0.0,
    "iron": -0.4,
    "sleep": 0.2,
    "noise": 0.0,
}
_WIDTHS = np.array([10.0] + [2.5] * 8)  # standard deviations of the priors


def observe() -> tuple[Array, Array]:
    """Draw covariates and outcomes of 400 patients."""
    rng = np.random.default_rng(6)
    covariates = np.column_stack([np.ones(400), rng.standard_normal((400, len(TRUTH) - 1))])
    chance = 1 / (1 + np.exp(-covariates @ np.array(list(TRUTH.values()))))
    return covariates, np.where(rng.uniform(size=400) < chance, 1.0, 0.0)


@tg.jit
def log_posterior(p: Any, covariates: Array, outcomes: Array) -> Any:
    """Compute the logarithm of the posterior density of the parameters `p`, up to a constant."""
    signs = 2 * outcomes - 1
    return tg.sum(special.log_expit(signs * (covariates @ p))) - 0.5 * tg.sum((p / _WIDTHS) ** 2)


def sample(covariates: Array, outcomes: Array, draws: int = 1000) -> Any:
    """Sample the posterior by four chains; return nutpie's trace, for ArviZ.

    Raises
    ------
    ModuleNotFoundError
        If nutpie is not installed; the text says how to install it.
    """
    model = tg.interop.nutpie(
        lambda p: log_posterior(p["effects"], covariates, outcomes),
        {"effects": np.zeros(len(TRUTH))},
        expand=lambda p: {"effects": p["effects"], "odds_ratios": tg.exp(p["effects"])},
        coords={"covariate": list(TRUTH)},
        dims={"effects": ("covariate",), "odds_ratios": ("covariate",)},
    )
    import nutpie  # noqa: PLC0415  an extra

    return nutpie.sample(model, draws=draws, tune=500, chains=4, cores=2, seed=7, progress_bar=False)


def reduction_of_scale(chains: Array) -> Array:
    """Compute how much larger the spread of all chains is than that within each (Gelman and Rubin 1992)."""
    within = np.mean(np.var(chains, axis=1, ddof=1), axis=0)
    between = np.var(np.mean(chains, axis=1), axis=0, ddof=1)
    reduction: Array = np.sqrt((chains.shape[1] - 1) / chains.shape[1] + between / within)
    return reduction


def fit(covariates: Array, outcomes: Array) -> Estimate:
    """Return mean and covariance of the posterior.

    Raises
    ------
    ArithmeticError
        If the chains diverge, or do not agree.
    """
    trace = sample(covariates, outcomes)
    chains = trace.posterior["effects"].values
    divergences = int(trace.sample_stats["diverging"].values.sum())
    if divergences or np.any(reduction_of_scale(chains) > 1.02):
        raise ArithmeticError(f"the chains have not converged: {divergences} divergences; sample longer")
    together = chains.reshape(-1, len(TRUTH))
    return Estimate(together.mean(axis=0), np.cov(together.T))


def laplace(covariates: Array, outcomes: Array) -> Estimate:
    """Approximate the posterior by a normal distribution at its maximum, without sampling."""

    def negative(p: Any) -> Any:
        return -log_posterior(p, covariates, outcomes)

    found = tg.optimize.minimize(negative, np.zeros(len(TRUTH)), method="trust-exact")
    return Estimate(found.x, np.linalg.inv(tg.hessian(tg.jit(negative))(found.x)))


def draw(axes: "Axes", estimate: Estimate, covariates: Array, outcomes: Array) -> None:
    """Draw the effects with two standard deviations, sampled and by a normal approximation, and the true ones."""
    places, normal = np.arange(len(TRUTH)), laplace(covariates, outcomes)
    axes.axvline(0.0, color="gray", lw=0.5)
    for found, name, shift in (
        (estimate, "posterior, by nutpie", 0.12),
        (normal, "normal approximation", -0.12),
    ):
        axes.errorbar(found.parameters, places + shift, xerr=2 * found.errors, fmt="o", ms=4, label=name)
    axes.plot(list(TRUTH.values()), places, "x", color="black", label="truth")
    axes.set_yticks(places, list(TRUTH))
    axes.invert_yaxis()
    axes.set(xlabel="logarithm of the odds ratio", title="Bayesian logistic regression")
    axes.legend()
