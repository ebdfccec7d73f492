"""Models of PyMC's beside nutpie's own backend, which compiles them by Numba: the first gradient, and later ones."""

import importlib.util
from functools import partial
from typing import Any

import numpy as np

from perf.figures.base import Figure, Outcome, Settings, Target
from perf.peers import Unavailable
from perf.processes import run

# At most so many times nutpie's time of a gradient, and CPU seconds from a model to its first one.
LIMITS = {
    "radon": (0.8, 0.8), "garch": (0.1, 0.8), "process": (0.4, 0.8), "gathers": (0.6, 0.8), "items": (0.5, 0.8),
    "volatility": (0.6, 0.6),
}  # fmt: skip


# CPU seconds of a fit, and at most so many times those that NUTS over all variables takes for as many effective draws.
INTEGRATED_LIMITS = {"counts": (0.5, 5.0), "field": (1.0, 8.0)}
MAX_SHIFT = (
    0.25  # of the mean of a scale, in its standard deviations: the approximation's own, and Monte Carlo's
)


def _check_installed(settings: Settings) -> None:
    if "tapegrad" in settings.without:
        raise Unavailable("tapegrad is left out")
    for package in ("pymc", "nutpie"):
        if package in settings.without or importlib.util.find_spec(package) is None:
            raise Unavailable(f"{package}: not installed")


def _measure(name: str, settings: Settings) -> Outcome:
    _check_installed(settings)
    found: dict[str, list[dict[str, Any]]] = {"ours": [], "nutpie": []}
    run("pymc_gradient", name, "ours", OPENBLAS_NUM_THREADS="1")  # compiles what is not in the cache
    for _ in range(settings.fewer(3, 1)):
        for kind, results in found.items():
            results.append(run("pymc_gradient", name, kind, OPENBLAS_NUM_THREADS="1")[0])
    _check(name, found)
    best = {
        kind: {key: min(each[key] for each in results) for key in ("first", "seconds")}
        for kind, results in found.items()
    }
    ours, theirs = best["ours"], best["nutpie"]
    ratio, first = LIMITS[name]
    return Outcome(
        [
            Target("a gradient: times nutpie's by Numba", ours["seconds"] / theirs["seconds"], ratio, "x"),
            Target("from a model to its first gradient, CPU", ours["first"], first, "s"),
        ],
        notes=[
            f"a gradient: {1e6 * ours['seconds']:.3g} us, nutpie's by Numba {1e6 * theirs['seconds']:.3g} us",
            f"first gradient: {ours['first']:.3g} s of CPU, nutpie's by Numba {theirs['first']:.3g} s",
        ],
    )


def _check(name: str, found: dict[str, list[dict[str, Any]]]) -> None:
    """Refuse contenders that differ."""
    ours, theirs = found["ours"][0], found["nutpie"][0]
    for key in ("value", "gradient"):
        np.testing.assert_allclose(
            ours[key], theirs[key], rtol=1e-9, atol=1e-9 * np.abs(theirs[key]).max(), err_msg=name
        )


def _measure_integrated(name: str, settings: Settings) -> Outcome:
    """Time a fit, and draws, of a model whose effects are integrated out; NUTS over all variables has its answer."""
    _check_installed(settings)
    found = run("pymc_laplace", name, OPENBLAS_NUM_THREADS="1")[0]
    ours, whole = found["integrated"], found["whole"]
    if abs(ours["mean"] - whole["mean"]) > MAX_SHIFT * whole["sd"]:
        raise AssertionError(f"{name}: means {ours['mean']} and {whole['mean']}, spread {whole['sd']}")
    seconds = [1000 * each["seconds"] / each["effective"] for each in (ours, whole)]
    fit, ratio = INTEGRATED_LIMITS[name]
    return Outcome(
        [
            Target("mode of the marginal density, CPU", found["find"], fit, "s"),
            Target("effective draws: times NUTS over all variables", seconds[0] / seconds[1], ratio, "x"),
        ],
        notes=[
            f"1,000 effective draws of the scale: {seconds[0]:.3g} s of CPU, of all variables {seconds[1]:.3g} s",
            f"means {ours['mean']:.4g} and {whole['mean']:.4g}, spread {whole['sd']:.3g}",
        ],
    )


PYMC_MODELS = tuple(
    Figure(f"pymc-{name}", f"PyMC model behind nutpie's C pointer: {name}", partial(_measure, name))
    for name in LIMITS
) + tuple(
    Figure(
        f"pymc-laplace-{name}",
        f"PyMC model, effects integrated out: {name}",
        partial(_measure_integrated, name),
    )
    for name in INTEGRATED_LIMITS
)
