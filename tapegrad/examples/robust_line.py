"""A straight line through points of which some are outliers, by a mixture of two normal distributions.

A point lies on the line up to noise, or it comes from a broad distribution that knows nothing of the line. What the fit
gives beside the line is for each point the probability that it is an outlier. See Hogg, Bovy and Lang, *Data analysis
recipes: Fitting a model to data* (2010), section 3.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

import tapegrad as tg
from tapegrad import special, stats
from tapegrad.examples.likelihood import Array, Estimate, maximise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TRUTH = {
    "intercept": 1.0,
    "slope": 0.5,
    "log noise": np.log(0.3),
    "outliers' mean": 7.0,
    "outliers' log width": np.log(2.0),
    "logit of their share": np.log(0.25),
}


def observe() -> tuple[Array, Array]:
    """Draw 100 points, about a fifth of them outliers."""
    rng = np.random.default_rng(5)
    x = rng.uniform(0.0, 10.0, 100)
    on_line = TRUTH["intercept"] + TRUTH["slope"] * x + rng.normal(0.0, 0.3, 100)
    return x, np.where(rng.uniform(size=100) < 0.2, rng.normal(7.0, 2.0, 100), on_line)


def log_densities(p: Any, x: Array, y: Array) -> Any:
    """Compute the logarithms of weight times density: a row for the line, a row for the outliers."""
    line = stats.norm.logpdf(y, p[0] + p[1] * x, np.exp(p[2])) + special.log_expit(-p[5])
    outliers = stats.norm.logpdf(y, p[3], np.exp(p[4])) + special.log_expit(p[5])
    return np.stack([line, outliers])


@tg.jit
def negative_log_likelihood(p: Any, x: Array, y: Array) -> Any:
    """Compute the negative log-likelihood of the parameters `p`."""
    return -tg.sum(special.logsumexp(log_densities(p, x, y), axis=0))


@tg.jit
def responsibilities(p: Any, x: Array, y: Array) -> Any:
    """Compute the probabilities that the points are on the line (first row) and outliers (second row)."""
    return special.softmax(log_densities(p, x, y), axis=0)


def fit(x: Array, y: Array) -> Estimate:
    """Estimate the parameters; the start is the line of least squares."""
    slope, intercept = np.polyfit(x, y, 1)
    start = np.array([intercept, slope, -1.0, np.mean(y), np.log(np.std(y)), -1.0])
    return maximise(negative_log_likelihood, start, (x, y))


def draw(axes: "Axes", estimate: Estimate, x: Array, y: Array) -> None:
    """Draw the points, coloured by their probability of being outliers, and the line beside that of least squares."""
    ends = np.array([0.0, 10.0])
    outlier = responsibilities(estimate.parameters, x, y)[1]
    axes.plot(ends, np.polyval(np.polyfit(x, y, 1), ends), "--", color="gray", label="least squares")
    axes.plot(ends, estimate.parameters[0] + estimate.parameters[1] * ends, color="black", label="mixture")
    points = axes.scatter(x, y, c=outlier, cmap="coolwarm", edgecolors="black", lw=0.4, s=24, zorder=3)
    axes.figure.colorbar(points, label="probability of being an outlier")
    axes.set(xlabel="x", ylabel="y", title="Line through outliers, by a mixture")
    axes.legend()
