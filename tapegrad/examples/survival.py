"""A regression of survival times, some of which are censored: known only to be longer than they were observed for.

The time to the event is Weibull distributed, and covariates multiply its scale (accelerated failure time; Kalbfleisch
and Prentice, *The Statistical Analysis of Failure Time Data*, 2002, chapter 3). An event contributes its density to the
likelihood, a censored time the probability of surviving it.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

import tapegrad as tg
from tapegrad import stats
from tapegrad.examples.likelihood import Array, Estimate, maximise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TRUTH = {"log shape": 0.4, "intercept": 1.0, "treatment": 0.6, "age": -0.3}


def observe() -> tuple[Array, Array, Array]:
    """Draw covariates, times, and whether the event was seen, of 300 patients; they enter over five years."""
    rng = np.random.default_rng(1)
    covariates = np.column_stack([np.ones(300), rng.integers(0, 2, 300), rng.standard_normal(300)])
    log_shape, *effects = TRUTH.values()
    events = np.exp(covariates @ effects) * rng.weibull(np.exp(log_shape), 300)
    ends = rng.uniform(0.0, 8.0, 300)
    return covariates, np.minimum(events, ends), events <= ends


def log_survival(p: Any, covariates: Array, times: Array) -> Any:
    """Compute the logarithm of the probability of surviving `times`."""
    return stats.weibull_min.logsf(times, np.exp(p[0]), scale=np.exp(covariates @ p[1:]))


@tg.jit
def negative_log_likelihood(p: Any, covariates: Array, times: Array, seen: Array) -> Any:
    """Compute the negative log-likelihood of the parameters `p`."""
    at_event = stats.weibull_min.logpdf(times, np.exp(p[0]), scale=np.exp(covariates @ p[1:]))
    return -np.sum(np.where(seen, at_event, log_survival(p, covariates, times)))


def fit(covariates: Array, times: Array, seen: Array) -> Estimate:
    """Estimate the parameters."""
    start = np.zeros(1 + covariates.shape[1])
    return maximise(negative_log_likelihood, start, (covariates, times, seen))


@tg.jit
def log_hazard(p: Any, covariates: Array, times: Array) -> Any:
    """Compute the logarithm of the cumulative hazard of a group: its errors are nearly normal, for it is unbounded."""
    each = np.exp(log_survival(p, covariates, times[:, np.newaxis]))
    return np.log(-np.log(np.mean(each, axis=1)))


def survival_curve(estimate: Estimate, covariates: Array, times: Array) -> tuple[Array, Array, Array]:
    """Return a group's share of survivors, and both ends of its 95 % band, by the covariance of the parameters."""
    middle = log_hazard(estimate.parameters, covariates, times)
    slopes = tg.jacobian(log_hazard)(estimate.parameters, covariates, times)
    error = np.sqrt(np.sum(slopes @ estimate.covariance * slopes, axis=1))
    lower, curve, upper = (np.exp(-np.exp(middle + z * error)) for z in (1.96, 0.0, -1.96))
    return curve, lower, upper


def product_limit(times: Array, seen: Array) -> tuple[Array, Array]:
    """Return the times of events and the survival after each, without a model (Kaplan and Meier 1958)."""
    order = np.argsort(times)
    at_risk = np.arange(len(times), 0, -1)
    return times[order], np.cumprod(1 - seen[order] / at_risk)


def draw(axes: "Axes", estimate: Estimate, covariates: Array, times: Array, seen: Array) -> None:
    """Draw the share of survivors of both groups: as observed, and as fitted."""
    at = np.linspace(0.01, times.max(), 100)
    for treated, colour, name in ((0, "tab:orange", "control"), (1, "tab:blue", "treated")):
        group = covariates[:, 1] == treated
        axes.step(*product_limit(times[group], seen[group]), where="post", color=colour, lw=0.8)
        curve, lower, upper = survival_curve(estimate, covariates[group], at)
        axes.fill_between(at, lower, upper, color=colour, alpha=0.2, lw=0)
        axes.plot(at, curve, color=colour, label=name)
    axes.set(xlabel="years", ylabel="share surviving", ylim=(0.0, 1.0))
    axes.set_title("Weibull regression with censoring; steps: Kaplan-Meier")
    axes.legend()
