"""A posterior that is sampled by nutpie: what a gradient costs, sampler included."""

import importlib
import math
import time
from typing import Any

import numpy as np

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.peers import Unavailable, tapegrad

POINTS, COEFFICIENTS = 200, 8


def _log_density(library: Any) -> Any:
    """Logistic regression with a scale of the coefficients that is a parameter, too."""
    random = np.random.default_rng(0)
    x = random.normal(size=(POINTS, COEFFICIENTS))
    y = 1.0 * (random.random(POINTS) < 1 / (1 + np.exp(-x @ random.normal(size=COEFFICIENTS))))

    def log_density(p: Any) -> Any:
        slope, scale = p["slope"], p["log_scale"]
        line = x @ slope
        prior = 0.5 * library.sum((slope / library.exp(scale)) ** 2) + COEFFICIENTS * scale + 0.5 * scale**2
        return library.sum(y * line - library.logaddexp(0.0, line)) - prior

    return log_density


def _seconds_a_gradient(nutpie: Any, model: Any, seed: int) -> float:
    """CPU time of a gradient, on one thread."""
    options = {"chains": 2, "cores": 1, "tune": 500, "draws": 1_000, "progress_bar": False}
    start = time.process_time()
    trace = nutpie.sample(model, seed=seed, **options)
    seconds = time.process_time() - start
    return float(seconds / int(trace.sample_stats.n_steps.sum() + trace.warmup_sample_stats.n_steps.sum()))


def _measure(settings: Settings) -> Outcome:
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    try:
        nutpie = importlib.import_module("nutpie")
    except ImportError as error:
        raise Unavailable(f"nutpie: not installed ({error})") from error
    library = tapegrad()
    model = library.interop.nutpie(_log_density(library), {"slope": np.zeros(COEFFICIENTS), "log_scale": 0.0})
    best = math.inf
    for seed in range(settings.fewer(7, 2)):
        best = min(best, _seconds_a_gradient(nutpie, model, seed))
    return Outcome([Target("CPU time a gradient, sampler included", best, 8e-6, "s")])


SAMPLING = (Figure("nutpie", "nutpie: logistic regression, 9 parameters, 200 points", _measure),)
