"""Models with random effects: a marginal likelihood beside the joint density, and a fit beside statsmodels'.

Marginal likelihoods are checked against banded Newton steps and factors by SciPy, and their gradients against
differences of these.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cholesky_banded, solveh_banded

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.peers import Unavailable, load, tapegrad
from perf.processes import run
from perf.workloads import Answer
from tapegrad.testing.timer import Contender, race

LENGTH = 10_000
THETA = np.array([0.4, 1.2, -1.0])  # mean, correlation and spread on scales without bounds
TOLERANCE = 1e-5  # of gradients by differences


class Chain:
    """Counts with the logarithm of their mean an autoregressive process of order 1."""

    def __init__(self, length: int) -> None:
        rng = np.random.default_rng(0)
        states = np.zeros(length)
        for t in range(1, length):
            states[t] = 0.85 * states[t - 1] + 0.4 * rng.standard_normal()
        self.counts = rng.poisson(np.exp(0.5 + states)).astype(float)

    def joint(self, np: Any, theta: Any, u: Any) -> Any:
        """Return minus the logarithm of the joint density, up to a constant."""
        mean, rho, log_sd = theta[0], np.tanh(theta[1]), theta[2]
        steps = (u[1:] - rho * u[:-1]) / np.exp(log_sd)
        first = u[0] * np.sqrt(1 - rho**2) / np.exp(log_sd)
        prior = 0.5 * (np.sum(steps**2) + first**2) + len(self.counts) * log_sd - 0.5 * np.log(1 - rho**2)
        return prior + np.sum(np.exp(mean + u) - self.counts * (mean + u))

    def marginal(self, theta: np.ndarray, u: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the marginal density by banded matrices, and the mode."""
        rho, precision = np.tanh(theta[1]), np.exp(-2 * theta[2])
        bands = np.empty((2, len(u)))
        bands[0], inner = -rho * precision, np.full(len(u), (1 + rho**2) * precision)
        inner[[0, -1]] = precision
        for _ in range(30):
            slope = inner * u + np.exp(theta[0] + u) - self.counts
            slope[1:] += bands[0, 1:] * u[:-1]
            slope[:-1] += bands[0, 1:] * u[1:]
            bands[1] = inner + np.exp(theta[0] + u)
            u = u - solveh_banded(bands, slope)
        bands[1] = inner + np.exp(theta[0] + u)
        log_det = 2 * np.sum(np.log(cholesky_banded(bands)[1]))
        return float(self.joint(np, theta, u) + 0.5 * log_det - 0.5 * len(u) * np.log(2 * np.pi)), u

    def reference(self) -> tuple[Answer, np.ndarray]:
        """Return value and gradient of the marginal density, and the mode."""
        value, mode = self.marginal(THETA, np.zeros(len(self.counts)))
        slopes = [
            (self.marginal(THETA + step, mode)[0] - self.marginal(THETA - step, mode)[0]) / 2e-4
            for step in 1e-4 * np.eye(3)
        ]
        return (value, np.array(slopes)), mode


def _chain(settings: Settings) -> Outcome:
    """Time an evaluation from the mode, and of the joint density with its gradient."""
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    tg, chain = tapegrad(), Chain(settings.fewer(LENGTH, 500))
    answer, mode = chain.reference()
    joint = tg.jit(lambda theta, u: chain.joint(tg, theta, u))
    marginal, both = tg.value_and_grad(tg.laplace(joint, random=1)), tg.value_and_grad(joint, argnums=(0, 1))
    value = float(chain.joint(np, THETA, mode))
    by_theta = [
        (chain.joint(np, THETA + step, mode) - chain.joint(np, THETA - step, mode)) / 2e-6
        for step in 1e-6 * np.eye(3)
    ]
    contenders = [
        Contender("marginal density with its gradient", lambda: marginal(THETA, mode)),
        Contender("joint density with its gradient", lambda: both(THETA, mode), lambda y: (y[0], y[1][0])),
    ]
    timings = race(contenders, [answer, (value, np.array(by_theta))], settings.budget, TOLERANCE)
    ratio = timings[0].median / timings[1].median
    return Outcome([Target("times the joint density", ratio, 6.0, "x")], timings)


def _long_chain(settings: Settings) -> Outcome:
    """Time an evaluation over a long chain from the mode, in a process of its own, and take its memory."""
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    length = settings.fewer(1_000_000, 100_000)
    found, _ = run("long_laplace", length)
    what = f"{length:,} effects"
    targets = [
        Target(f"{what}: an evaluation with its gradient", found["seconds"], 0.3, "s"),
        Target(f"{what}: largest resident memory of the process", found["bytes"] / 1e9, 2.0, "GB"),
        Target(f"{what}: relative error of value and gradient", found["error"], TOLERANCE, ""),
    ]
    return Outcome(targets, notes=[f"first call {found['first']:.1f} s"])


class Slopes:
    """Measurements in groups, with an intercept and a slope for each."""

    def __init__(self) -> None:
        rng = np.random.default_rng(4)
        self.group, self.x = np.repeat(np.arange(18), 10), np.tile(np.arange(10.0), 18)
        effects = rng.standard_normal((18, 2)) @ np.array([[24.0, 0.5], [0.0, 5.7]])
        lines = 250 + effects[self.group, 0] + (10.5 + effects[self.group, 1]) * self.x
        self.y = lines + 25 * rng.standard_normal(180)

    def by_tapegrad(self) -> Callable[[], Any]:
        """Return a call that fits the model again, with what was recorded before."""
        tg = tapegrad()
        norm = tg.stats.norm

        def nll(theta: Any, u: Any) -> Any:
            sd, rho = tg.exp(theta[2:4]), tg.tanh(theta[4])
            intercepts = theta[0] + sd[0] * u[:, 0]
            slopes = theta[1] + sd[1] * (rho * u[:, 0] + tg.sqrt(1 - rho**2) * u[:, 1])
            mean = intercepts[self.group] + slopes[self.group] * self.x
            return -tg.sum(norm.logpdf(self.y, mean, tg.exp(theta[5]))) - tg.sum(norm.logpdf(u))

        joint = tg.jit(nll)
        start = np.array([250.0, 10.0, 3.0, 1.5, 0.0, 3.0]), np.zeros((18, 2))
        return lambda: tg.optimize.laplace(joint, start, random=1, progress=False)

    def by_statsmodels(self) -> Callable[[], Any]:
        """Return a call that fits the model by statsmodels."""
        mixed = load("statsmodels.regression.mixed_linear_model")
        design = np.column_stack([np.ones(180), self.x])
        model = mixed.MixedLM(self.y, design, self.group, exog_re=design)
        return lambda: model.fit(reml=False)


def _slopes(settings: Settings) -> Outcome:
    """Time whole fits by maximum likelihood; they must agree in their log-likelihood."""
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    data = Slopes()
    rival, own = data.by_statsmodels(), data.by_tapegrad()
    answer: Answer = (-float(rival().llf),)
    contenders = [
        Contender("tapegrad", own, lambda fit: (fit.fun,)),
        Contender("statsmodels", rival, lambda fit: (-fit.llf,)),
    ]
    timings = race(contenders, answer, settings.budget, 1e-7)
    ratio = timings[0].median / timings[1].median
    return Outcome([Target("of statsmodels' time", ratio, 0.3, "x")], timings)


RANDOM_EFFECTS = (
    Figure("laplace-chain", f"Marginal likelihood over a chain of {LENGTH:,} effects", _chain),
    Figure(
        "laplace-long", "Marginal likelihood over a chain of 1,000,000 effects, and its memory", _long_chain
    ),
    Figure("laplace-fit", "Random intercepts and slopes by maximum likelihood", _slopes),
)
